"""The newest state of a folder: from its checkpoint and the log after it, or from the log alone.

A long replay makes checkpoints on the way, so that the next one, after a kill say, goes on where they are.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from adalog.datalog.errors import AdalogError, Code
from adalog.store.checkpoint.checkpoint import Checkpoint, MappedCheckpoint, restored
from adalog.store.checkpoint.compactor import Compactor, FoldPoint, FoldResult
from adalog.store.checkpoint.coordination import FoldCoordinator
from adalog.store.checkpoint.rechecks import UnreadFiles
from adalog.store.excision.pending import StaleStateError, pending
from adalog.store.files.folder import Folder, FolderLayout
from adalog.store.files.progress import Progress
from adalog.store.files.segment import DamagedSegment
from adalog.store.files.verified import VerifiedFiles
from adalog.store.log.entry import LogEntry
from adalog.store.log.log import Log
from adalog.store.log.reader import damaged
from adalog.store.state.head import Head
from adalog.store.values.attribute import MERGED

_LOGGER: Final = logging.getLogger("adalog.store")
_MERGED: Final = (
    "an earlier version of adalog made one entity of several in this database: after a client had chosen the id "
    "%d, every new entity became %d. New ones have ids of their own again. What was said of the others is still in "
    "the log: see the transactions that assert something of %d, transact it anew with tempids, then retract entity "
    "%d"
)
# Checkpoints on the way are so far apart, and at least this many times as far as one takes.
_APART_SECONDS: Final = 5.0
_APART: Final = 4.0


@dataclass(frozen=True)
class ReplayedState:
    """The newest state. unsaved: how many datoms and values of it no checkpoint has, or not as they are kept today.
    named: the files that the checkpoint names; None where it could not be read. unread: files of it that were
    trusted, and were not read for a day."""

    head: Head
    unsaved: int
    named: Collection[str] | None
    unread: UnreadFiles


def opened(
    folder: FolderLayout | None,
    log: Log,
    *,
    is_copy: bool = False,
    progress: Progress | None = None,
    saves: Folder | None = None,
) -> ReplayedState:
    """The newest state. is_copy: the folder's checkpoint is of use only where it fits the log. saves: the same
    folder, where checkpoints may be made on the way.

    From the checkpoint and the log after it, or from the log alone where there is no folder, segments are damaged,
    or the checkpoint is older than what retention has left of the log.

    Raises INTERNAL where the log is damaged or lacks transactions that the checkpoint has seen, OpeningStopped
    where the progress was told to stop.
    """
    head, checksum = _empty(log), 0
    named: Collection[str] | None = None
    unread = UnreadFiles()
    try:
        checkpoint = None if folder is None else Checkpoint.load(folder)
        named = () if checkpoint is None else checkpoint.files()
        if folder is not None and checkpoint is not None:
            try:
                _check_same_history(checkpoint, log)
            except AdalogError as error:
                if is_copy and error.code is Code.INTERNAL:
                    raise DamagedSegment("the copy's checkpoint", "the log does not have what it has") from None
                raise
            verified, segments = VerifiedFiles(folder.verified), checkpoint.segments()
            head, checksum = restored(checkpoint, log.dictionary_secret, verified.knows), checkpoint.log_checksum
            unread = UnreadFiles(verified.due(segments), None if saves is None else verified)
            if saves is not None:
                verified.save(segments, read=True)
    except DamagedSegment as error:
        _LOGGER.warning("%s; rebuilding from the log", error.message)
    unsaved: int | None = None
    while unsaved is None:
        try:
            unsaved, named = _replayed(head, checksum, log, progress, saves, named, unread)
        except StaleStateError:
            _LOGGER.warning("history was folded away since the checkpoint was made; rebuilding from the log")
            head, checksum, unread = _empty(log), 0, UnreadFiles()
    if head.has_merged():
        _LOGGER.warning(_MERGED, MERGED - 1, MERGED, MERGED, MERGED)
    return ReplayedState(head, unsaved, named, unread)


def _empty(log: Log) -> Head:
    """The state before the first transaction."""
    head = Head.empty(log.dictionary_secret)
    head.read_from = log.newest()
    return head


def rebuilt(log: Log, until: int) -> Head:
    """The state after a transaction, from the log alone. Raises as `opened`."""
    while True:
        head = _empty(log)
        try:
            for entry in log.entries_of(range(1, until + 1)):
                _apply(head, log, entry)
            return head
        except StaleStateError:
            # There was another retention meanwhile.
            continue


def _apply(head: Head, log: Log, entry: LogEntry) -> int:
    """Applies the next entry. Returns how many datoms came and went. Raises StaleStateError."""
    logged, count = log.opened(entry), 0
    for excision in pending(log, logged, head.excised, head.read_from, entry.t):
        head.excise(excision)
        count += excision.count
    head.replay(entry.t, entry.instant, logged)
    if logged.excision is not None and entry.t > head.excised:
        head.excise(logged.excision)
        count += logged.excision.count
    return count + logged.count


def _replayed(
    head: Head,
    checksum: int,
    log: Log,
    progress: Progress | None,
    saves: Folder | None,
    named: Collection[str] | None,
    unread: UnreadFiles,
) -> tuple[int, Collection[str] | None]:
    """Brings a state to the newest transaction; `unsaved` and `named`, as in `ReplayedState`. Raises as `opened`,
    and StaleStateError."""
    unsaved = _hashed_anew(head)
    if progress is not None:
        progress.check()
        progress.begin(*log.extent(head.t))
    saving = None if saves is None else _Saving(saves, log, head, named, unread)
    try:
        for entry in log.replay(head.t, checksum):
            count = _apply(head, log, entry)
            unsaved += count
            if progress is not None:
                progress.replayed(count, len(entry.payload))
                progress.check()
            if saving is not None and saving.is_due and saving.save():
                unsaved = 0
    finally:
        if saving is not None:
            named = saving.close()
    return unsaved, named


class _Saving:
    """Makes checkpoints between the transactions of a replay, on its thread."""

    def __init__(
        self, folder: Folder, log: Log, head: Head, named: Collection[str] | None, unread: UnreadFiles
    ) -> None:
        self._folder, self._log, self._head, self._named = folder, log, head, named
        self._unread = unread
        self._compactor: Compactor | None = None
        self._next = time.monotonic() + _APART_SECONDS

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def save(self) -> bool:
        """Whether there is a checkpoint of all that was replayed."""
        began = time.monotonic()
        if self._compactor is None:
            self._compactor = Compactor(
                *(self._log, self._folder, FoldCoordinator(), self._moment, self._take_over, _nobody, self._named),
                unread=self._unread,
            )
        done = self._compactor.run()
        now = time.monotonic()
        self._next = now + max(_APART_SECONDS, _APART * (now - began))
        return done

    def close(self) -> Collection[str] | None:
        """The files that the last checkpoint names, as in `ReplayedState`."""
        if self._compactor is None:
            return self._named
        self._compactor.close()
        return self._compactor.named

    def _moment(self) -> FoldPoint:
        return FoldPoint(self._head.published(), self._head.counters)

    def _take_over(self, folded: FoldResult) -> None:
        self._head.take_over(folded.blocks, folded.relations)


def _nobody(_: MappedCheckpoint) -> None:
    """There are no others."""


def _hashed_anew(head: Head) -> int:
    blocks = (block for each in head.codes.dictionaries().values() for block in each.parts()[0])
    return sum(len(block.arrays.order) for block in blocks if block.segment is None)


def _check_same_history(checkpoint: Checkpoint, log: Log) -> None:
    t = checkpoint.counters.t
    checksum = log.checksum_at(t)
    if checksum is None:
        raise damaged("the log", f"it lacks transaction {t}, which the checkpoint has seen")
    if checksum != checkpoint.log_checksum:
        raise damaged("the log", f"its transaction {t} is not the one that the checkpoint has seen")
