"""Compiles the kernels and keeps them on disk, so that no first query waits: `python -m adalog.executor.warm`.

A server calls `ensure_kernels` before it says that it is ready; the parent of Spark's workers loads all. With
`--background` it begins after a while, at the lowest priority, and ends at once if another process does the same.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import Final

from numba.core.event import Event, Listener, install_listener

from adalog.executor.kernels import disk
from adalog.executor.kernels.loading import load_kernels
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database

# Between lines of progress.
_PAUSE_SECONDS: Final = 10.0
_LOWEST: Final = 19
_PATIENCE_SECONDS: Final = 10.0


def main(arguments: Sequence[str] = ()) -> None:
    """Compiles every kernel, and sees that rules need no other."""
    if "--background" not in arguments:
        with install_listener("numba:compile", _Progress()):
            load_kernels()
            _recursions()
        return
    folder = disk.writable()
    if folder is None:
        return
    with (folder / "lock").open("w") as lock, suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.nice(_LOWEST)
        # The program that found kernels missing compiles those that it needs meanwhile, without a rival; they are
        # not compiled twice.
        sleep(_PATIENCE_SECONDS)
        load_kernels()
        disk.forget_other_editions()


class _Progress(Listener):
    """Prints the number of compiled kernels every few seconds, without those that are loaded from disk."""

    def __init__(self) -> None:
        self._begun = self._said = monotonic()
        self._compiled = 0

    def on_start(self, event: Event) -> None:
        pass

    def on_end(self, event: Event) -> None:
        self._compiled += 1
        if monotonic() - self._said >= _PAUSE_SECONDS:
            self._said = monotonic()
            print(f"  kernels compiled: {self._compiled}, in {self._said - self._begun:.0f} s", flush=True)


def _recursions() -> None:
    """Runs rules over a ring of so many nodes that each way of evaluating them is taken."""
    edges = " ".join(f"[:db/add {i} :to {i % 100 + 1}]" for i in range(1, 101))
    steps = ("(r ?a ?b) [?b :to ?c]", "(r ?c ?b) (r ?b ?a)")
    distance = "[(d ?a (min ?n)) [?a :to 1] [(ground 1) ?n]] [(d ?a (min ?n)) [?a :to ?b] (d ?b ?m) [(inc ?m) ?n]]"
    with Database.open(":memory:") as database:
        database.transact("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
        database.transact(f"[{edges}]")
        pool = Pool(database)
        for step in steps:
            rules = f":rules [[(r ?a ?b) [?a :to ?b]] [(r ?a ?c) {step}]]"
            pool.run(QueryRequest(f"[:find (count ?b) :with ?a :where (r ?a ?b) {rules}]"))
            pool.run(QueryRequest(f"[:find ?b :where (r 1 ?b) {rules}]"))
        pool.run(QueryRequest(f"[:find ?a ?n :where (d ?a ?n) :rules [{distance}]]"))
        pool.close()


if __name__ == "__main__":
    main(sys.argv[1:])
