"""Folds what is young into new relations and dictionary blocks, in the background, and saves a checkpoint of it.

Works from a snapshot, so transactions do not wait for it; the writer takes the result over between two groups.
Readers keep the relations they have for as long as they hold their snapshots. Of several processes on one log one
folds (`store.checkpoint.coordination`); the others take over what it wrote, and fold in memory what has waited too
long.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from adalog.datalog.errors import AdalogError
from adalog.store.checkpoint.attribute_fold import Elsewhere, folded, is_unsaved
from adalog.store.checkpoint.checkpoint import Checkpoint, MappedCheckpoint, Trust, mapped
from adalog.store.checkpoint.coordination import FoldCoordinator
from adalog.store.checkpoint.fold_memory import FOLD_BYTES
from adalog.store.checkpoint.named_files import NamedFiles
from adalog.store.checkpoint.rechecks import UnreadFiles
from adalog.store.files.folder import Folder
from adalog.store.files.segment import Segment
from adalog.store.files.verified import VerifiedFiles
from adalog.store.log.log import Log
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.head import Counters
from adalog.store.tries.columns import Columns
from adalog.store.tries.relation import Relation, parts_in_files
from adalog.store.tries.relation_files import save_blocks, save_deltas, save_relation
from adalog.store.values.blocks.block import Block
from adalog.store.values.bootstrap import BARRING

_LOGGER: Final = logging.getLogger("adalog.store")
# A delta is folded when it has this share of its relation, within bounds: below, a fold is not worth its files;
# above, it takes more memory than in a file.
_SHARE: Final = 0.25
_LEAST: Final = 1024
_MOST: Final = 131_072
# So many new datoms start a fold.
_ENOUGH: Final = 8192
# What is young is written again with each checkpoint, so the next waits until it has grown by this share.
_GROWN: Final = 0.5
# Files that were held are looked at again, and so are others' checkpoints.
_LOOK_AGAIN_SECONDS: Final = 1.0
# So many times as much may be young where another process is to fold it.
_PATIENCE: Final = 8


@dataclass(frozen=True)
class FoldPoint:
    snapshot: Snapshot
    counters: Counters


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What a fold made: relations by attribute, with the ones they were made from, and dictionary blocks by tag.
    excised: the last excision before it."""

    relations: Mapping[int, tuple[Relation, Relation]]
    blocks: Mapping[int, tuple[Block, ...]]
    excised: int = 0


class Compactor:
    """moment: asks for the newest state. adopt: has the writer take a result over, and returns when it has.
    take_over: likewise, what another process wrote. named: the files that the folder's checkpoint names; None where
    that is not known. unread: files that are read before they are folded."""

    def __init__(
        self,
        log: Log,
        folder: Folder | None,
        folding: FoldCoordinator,
        moment: Callable[[], FoldPoint],
        adopt: Callable[[FoldResult], None],
        take_over: Callable[[MappedCheckpoint], None],
        named: Collection[str] | None,
        unread: UnreadFiles,
    ) -> None:
        self._log = log
        self._folder = folder
        self._folding = folding
        self._moment = moment
        self._adopt = adopt
        self._take_over = take_over
        self._young = 0
        self._wanted = threading.Event()
        self._closed = False
        self._turn = threading.Lock()
        self._enough = _ENOUGH
        self._files = NamedFiles(named)
        self._unread = unread
        self._forget: Callable[[], bool] | None = None
        # Excisions that were heard of, and how many of them have left nothing on disk.
        self._excisions = self._cleaned = 0
        # Two at once would wait for each other's reading of the log, and one of them give up.
        self._cleaning = threading.Lock()
        self._elsewhere: Elsewhere | None = None
        # What one process may take for an attribute that is folded, or imported.
        self.fold_bytes = FOLD_BYTES
        self._sweep()
        self._thread = threading.Thread(target=self._run, name="adalog-compactor", daemon=True)
        self._thread.start()

    def have_folded(self, elsewhere: Elsewhere, most: int = FOLD_BYTES) -> None:
        """Has others fold attributes of which a fold in this process would take more than so many bytes."""
        self._elsewhere, self.fold_bytes = elsewhere, most

    def begin_files(self, folder: Folder) -> None:
        """Folds into files of a new folder from now on; until now into memory."""
        with self._turn:
            self._folder = folder
            self._files.name(())

    def wrote(self, datoms: int) -> None:
        """Count what was written; enough of it starts a fold."""
        self._young += datoms
        if self._young >= self._enough:
            self._wanted.set()

    def want(self) -> None:
        """Starts a fold."""
        self._wanted.set()

    def forget_with(self, forget: Callable[[], bool]) -> None:
        """Sets what else is done after an excision, once no file beside the log has what went: it returns whether
        nothing is left."""
        self._forget = forget

    def may_fold(self) -> bool:
        """Whether this process is the one that makes checkpoints. Raises OSError."""
        with self._turn:
            return self._folding.may_fold()

    def clean(self) -> None:
        """Leaves nothing of an excision on disk, as soon as that can be."""
        self._excisions += 1
        self._wanted.set()

    @property
    def _is_unclean(self) -> bool:
        return self._cleaned < self._excisions

    def begin_clean(self) -> None:
        """The same at once for an excision of an earlier process, while no other process has the folder: files that
        the checkpoint does not name are of no use."""
        self._files.release_held()
        self.clean()
        self._clean()

    def _clean(self) -> None:
        with self._cleaning:
            if self._is_unclean:
                self._clean_once()

    def _clean_once(self) -> None:
        excisions = self._excisions
        try:
            if self._is_behind() and (not self.run() or self._is_behind()):
                return
            with self._turn:
                self._sweep(forced=True)
                self._folding.forget()
            if self._forget is None or self._forget():
                self._cleaned = excisions
        except (OSError, AdalogError) as error:
            _LOGGER.warning("what was excised is still on disk, until the next attempt: %s", str(error))
        except Exception:
            _LOGGER.exception("what was excised is still on disk, until the next attempt")

    def forget_imports(self) -> None:
        """Removes the files of imports that the log does not name from where gateways share them. In the turn to
        append."""
        self._folding.forget_imports(self._log.unnamed)

    def _is_behind(self) -> bool:
        """Whether the folder's checkpoint is of before an excision."""
        if self._folder is None:
            return False
        checkpoint = Checkpoint.load(self._folder)
        return checkpoint is None or checkpoint.counters.excised < self._moment().counters.excised

    def _run(self) -> None:
        while True:
            looks_again = self._files.has_held or self._folding.has_others or self._is_unclean
            wanted = self._wanted.wait(_LOOK_AGAIN_SECONDS if looks_again else None)
            self._wanted.clear()
            if self._closed:
                return
            if self._folding.has_others:
                self.follow()
            if self._is_unclean:
                self._clean()
            elif wanted:
                self.run()
            else:
                self.make_room()

    def run(self) -> bool:
        """Fold now; whether that went well. What goes wrong is logged: the log has everything, and the next fold
        tries again."""
        done = False
        with self._turn:
            self._young = 0
            try:
                self._fold(self._moment())
                done = True
            except (OSError, AdalogError) as error:
                _LOGGER.warning("no checkpoint was made: %s", str(error))
            except Exception:
                _LOGGER.exception("no checkpoint was made")
            # After the fold's own hold on what it replaced has ended, and also where it failed half way.
            self._sweep()
        return done

    @property
    def named(self) -> Collection[str] | None:
        """The files that the folder's checkpoint names; None where that is not known."""
        return self._files.named

    def follow(self) -> None:
        """Take over a checkpoint that another process has made since, if one has."""
        with self._turn:
            try:
                # No file of it goes before it is mapped.
                with self._folding.holding():
                    checkpoint = self._folding.newest()
                    if checkpoint is None:
                        return
                    data = self._moment().snapshot.data().values()
                    known = parts_in_files(each.relation for each in data)
                    self._take_over(mapped(checkpoint, self._trusts(), known))
                    self._files.name(checkpoint.files())
            except (OSError, AdalogError) as error:
                _LOGGER.warning("another process's checkpoint cannot be used: %s", str(error))
            except Exception:
                _LOGGER.exception("another process's checkpoint cannot be used")

    def _trusts(self) -> Trust:
        return (lambda _: False) if self._folder is None else VerifiedFiles(self._folder.verified).knows

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No fold is under way, and none begins, until the end."""
        with self._turn:
            yield

    def make_room(self) -> bool:
        """Removes the files that are not needed any more, unless a fold is under way, which does it at its end.
        Returns whether there were any."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            return self._sweep()
        finally:
            self._turn.release()

    def _sweep(self, *, forced: bool = False) -> bool:
        """forced: also files that are held, if a checkpoint has named them: readers keep what they have mapped."""
        if self._folder is None or self.named is None or not self._folding.may_remove():
            return False
        try:
            return self._files.sweep(self._folder.segments, forced=forced)
        except OSError as error:
            _LOGGER.warning("unused files could not be removed: %s", error)
            return False

    def _begin_fold(self) -> Folder | None:
        """The folder that this process may write to. Raises OSError."""
        if self._folder is None or not self._folding.may_fold():
            return None
        if self._folding.has_others:
            # Another process may have folded until now.
            checkpoint = Checkpoint.load(self._folder)
            self._files.name(() if checkpoint is None else checkpoint.files())
        return self._folder

    def close(self) -> None:
        """Finish, with a last checkpoint where opening again would otherwise take long."""
        self._closed = True
        self._wanted.set()
        self._thread.join()
        if self._is_unclean:
            self._clean()
        if self._folder is not None and self._young >= _ENOUGH:
            self.run()

    def _fold(self, moment: FoldPoint) -> None:
        snapshot = moment.snapshot
        t = snapshot.t
        data = snapshot.data()
        folder = self._begin_fold()
        waits = folder is None and self._folder is not None
        patience = _PATIENCE if waits else 1
        relations = {
            id_: (each.relation, folded(snapshot, id_, each, folder, self._elsewhere, self.fold_bytes))
            for id_, each in data.items()
            if each.delta.length_at(t) >= patience * min(max(_SHARE * each.relation.count, _LEAST), _MOST)
            or (folder is not None and is_unsaved(each.relation))
        }
        if waits and not relations:
            return
        dictionaries = snapshot.codes.dictionaries()
        blocks = {tag: dictionary.folded() for tag, dictionary in dictionaries.items()}
        replaced = {each for old, new in relations.values() for each in set(old.segments) - set(new.segments)}
        for tag, dictionary in dictionaries.items():
            replaced |= _segments(dictionary.parts()[0]) - _segments(blocks[tag])
        # What was made of a damaged file would be right from then on.
        self._unread.check(replaced)
        if folder is not None:
            # Those that were folded elsewhere are in files.
            relations = {
                id_: (old, save_relation(folder.segments, id_, new, snapshot.codes))
                for id_, (old, new) in relations.items()
            }
            blocks = save_blocks(folder.segments, t, blocks)
            self._save(folder, moment, relations, blocks)
        self._adopt(FoldResult(relations, blocks, snapshot.origin.excised))

    def _save(
        self,
        folder: Folder,
        moment: FoldPoint,
        relations: Mapping[int, tuple[Relation, Relation]],
        blocks: Mapping[int, tuple[Block, ...]],
    ) -> None:
        t, data = moment.snapshot.t, moment.snapshot.data()
        young: dict[int, Columns] = {}
        in_use = {id_: new for id_, (_, new) in relations.items()}
        for id_, each in data.items():
            if id_ not in relations:
                in_use[id_] = each.relation
                young[id_] = each.delta.events(0, each.delta.length_at(t))
        log_checksum = self._log.checksum_at(t)
        assert log_checksum is not None
        checkpoint = Checkpoint(
            moment.counters,
            log_checksum,
            {id_: each.segments for id_, each in in_use.items() if each.segments},
            {tag: [(b.start, b.segment) for b in own if b.segment is not None] for tag, own in blocks.items()},
            save_deltas(folder.segments, t, {id_: events for id_, events in young.items() if len(events)}),
            is_barred=any(moment.snapshot.plain.ident(id_) is not None for id_ in BARRING),
        )
        try:
            checkpoint.save(folder)
        except OSError:
            if not _is_sure_to_be_another(folder, checkpoint):
                # The disk may have this one or the one before.
                self._files.name_also(checkpoint.files())
            raise
        VerifiedFiles(folder.verified).save(checkpoint.segments(), read=False)
        self._folding.saved(checkpoint)
        self._files.name(checkpoint.files())
        self._enough = max(_ENOUGH, int(_GROWN * sum(map(len, young.values()))))


def _is_sure_to_be_another(folder: Folder, checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint that could not be saved has left the one before in its place."""
    try:
        found = Checkpoint.load(folder)
    except (OSError, AdalogError):
        return False
    return found is None or found.files() != checkpoint.files()


def _segments(blocks: Iterable[Block]) -> set[Segment]:
    return {block.segment for block in blocks if block.segment is not None}
