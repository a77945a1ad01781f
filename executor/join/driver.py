"""Drives a join to its end: chunks of prefixes depth first, on one or several threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.failure import emptied
from adalog.executor.bounds.running import RUNNING
from adalog.executor.join.batch import Batch, concatenate
from adalog.executor.join.generic_join import GenericJoin

_WORTH_SHARING = 2048
# A join that is done sooner is not worth another thread. In seconds.
_WORTH_A_THREAD = 0.002
# Chunks of fewer prefixes are not worth counting: there are few at any time.
_COUNTED = 4096


def _counted(batch: Batch) -> int:
    """The bytes of a chunk that a query's budget is asked for."""
    return batch.nbytes if batch.size > _COUNTED else 0


class Driver:
    """Runs a join to the end, its chunks depth first, on one or several threads.

    A thread goes down with the chunk it has just made; it hands a chunk over only to a thread with nothing to do.
    Where a level merges rows, chunks are gathered until there are enough to be worth going on with, so that rows
    which became equal in different chunks are extended once.
    """

    def __init__(self, join: GenericJoin, sink: Callable[[Batch], bool], cancel: Cancel, threads: int = 1) -> None:
        """`sink` takes finished rows, one call at a time, and returns False when it wants no more."""
        self.join = join
        self.sink = sink
        self.cancel = cancel
        self.threads = threads
        self._helpers: list[threading.Thread] = []
        self._stopped = False
        self._failure: BaseException | None = None

    def run(self, batch: Batch, depth: int = 0) -> None:
        """Drives the prefixes in `batch` to the last variable; `depth` of their variables are bound by levels."""
        self.cancel.check()
        small = self.join.begun(batch) if depth == 0 else self.join.extended(batch, depth)
        self.go_on(batch, depth, small)

    def go_on(self, batch: Batch, depth: int, small: tuple[Batch, int] | None) -> None:
        """The same from where a small join led, if it did anything."""
        levels = len(self.join.levels)
        if small is None:
            first = batch if depth else self.join.start(batch)
        else:
            first, depth = small
            if depth == levels and first.size:
                self.sink(first)
                return
        if not first.size:
            return
        self._lock = threading.Condition()
        self._pending: list[list[Batch]] = [[] for _ in range(levels + 1)]
        self._rows = [0] * (levels + 1)
        self._idle = 0
        self._began = time.perf_counter()
        self._waiting = Held(self.cancel.budget)
        # What the small join left is not for it.
        self._left = depth if small is not None else -1
        # What has no helpers and leaves nothing to gather, as most joins do, is done by this.
        self._busy = 1
        self._attempt(depth, first)
        if self._helpers or (any(self._pending) and self._failure is None):
            self._work()
            for helper in self._helpers:
                helper.join()
        self._pending.clear()
        self._waiting.become(0)
        failure, self._failure = self._failure, None
        if failure is not None:
            emptied(failure)
            try:
                raise failure
            finally:
                # Its traceback holds this frame, which must not hold it.
                del failure

    def _gathers(self, depth: int) -> bool:
        # Finished rows are the sink's to merge.
        return 0 < depth < len(self.join.levels) and self.join.levels[depth - 1].merge

    def _put(self, depth: int, batch: Batch) -> None:
        self._waiting.grow(_counted(batch))
        self._pending[depth].append(batch)
        self._rows[depth] += batch.size

    def _share(self, depth: int, batch: Batch) -> bool:
        """Hands a chunk to the other threads if it is large enough and one of them waits."""
        if self.threads == 1 or batch.size < _WORTH_SHARING:
            return False
        with self._lock:
            if not self._helpers:
                if time.perf_counter() - self._began < _WORTH_A_THREAD:
                    return False
                self._helpers = [
                    threading.Thread(target=self._help, name="join", daemon=True) for _ in range(self.threads - 1)
                ]
                self._idle = len(self._helpers)
                for helper in self._helpers:
                    helper.start()
            elif not self._idle:
                return False
            step = -(-batch.size // (4 * self.threads))
            for at in range(0, batch.size, step):
                self._put(depth, batch.slice(at, at + step))
            self._lock.notify_all()
        return True

    def _next(self) -> tuple[int, Batch] | None:
        """The deepest work that is worth doing now; None when there is none (for now, if others are busy)."""
        for depth in range(len(self._pending) - 1, -1, -1):
            if self._pending[depth] and (not self._gathers(depth) or self._rows[depth] >= self.join.budget):
                return depth, self._pop(depth)
        if not self._busy:
            # Nothing more will be gathered: go on with the shallowest level that has rows.
            for depth, waiting in enumerate(self._pending):
                if waiting:
                    return depth, self._pop(depth)
        return None

    def _pop(self, depth: int) -> Batch:
        if self._gathers(depth):
            batches, self._pending[depth] = self._pending[depth], []
            self._rows[depth] = 0
            self._waiting.become(self._waiting.nbytes - sum(map(_counted, batches)))
            return concatenate(batches).distinct(self.cancel.check) if len(batches) > 1 else batches[0]
        batch = self._pending[depth].pop()
        self._rows[depth] -= batch.size
        self._waiting.become(self._waiting.nbytes - _counted(batch))
        return batch

    def _step(self, depth: int, batch: Batch) -> None:
        self.cancel.check()
        if depth > self._left:
            small = self.join.extended(batch, depth)
            if small is not None:
                batch, depth = small
                if not batch.size:
                    return
        if depth == len(self.join.levels):
            with self._lock:
                if not self._stopped and not self.sink(batch):
                    self._stopped = True
            return
        held = _counted(batch)
        if held:
            self.cancel.budget.take(held)
        for extended in self.join.extend(batch, depth):
            self.cancel.check()
            # A helper that failed has ended, so batches shared with it would stay.
            if self._stopped or self._failure is not None:
                break
            if self._gathers(depth + 1):
                with self._lock:
                    self._put(depth + 1, extended)
                    gathered = self._pop(depth + 1) if self._rows[depth + 1] >= self.join.budget else None
                if gathered is not None:
                    self._step(depth + 1, gathered)
            elif depth + 1 == len(self.join.levels) or not self._share(depth + 1, extended):
                self._step(depth + 1, extended)
        if held:
            self.cancel.budget.give(held)

    def _help(self) -> None:
        RUNNING.set(self.cancel)
        self._work()

    def _work(self) -> None:
        waiting = threading.current_thread() in self._helpers
        while True:
            with self._lock:
                self._idle += not waiting
                waiting = False
                while True:
                    done = self._stopped or self._failure is not None
                    task = None if done else self._next()
                    if done or task is not None or self._busy == 0:
                        break
                    self._lock.wait()
                if task is None:
                    self._lock.notify_all()
                    return
                self._idle -= 1
                self._busy += 1
            self._attempt(*task)

    def _attempt(self, depth: int, batch: Batch) -> None:
        """Goes down with a chunk, as one of those that are busy."""
        failed: BaseException | None = None
        try:
            self._step(depth, batch)
        except BaseException as failure:  # noqa: BLE001 - raised again by run, on the caller's thread
            failed = failure
        with self._lock:
            self._failure = self._failure or failed
            self._busy -= 1
            if self._helpers:
                self._lock.notify_all()
        del failed


def drive_few(
    join: GenericJoin, sink: Callable[[Batch], bool], cancel: Cancel, batch: Batch, threads: int = 1
) -> None:
    """Runs a join from prefixes that are probably few, mostly as one small join, and does not count what it does at
    each level."""
    cancel.check()
    if not (join.levels or join.body.parts):
        # The prefixes are the rows.
        sink(join.start(batch))
        return
    small = join.begun(batch, counted=False)
    if small is None or small[1] < len(join.levels):
        Driver(join, sink, cancel, threads).go_on(batch, 0, small)
    elif small[0].size:
        sink(small[0])
