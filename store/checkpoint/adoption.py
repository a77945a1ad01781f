"""Data that was made into segments elsewhere, taken over as one transaction.

`prepared` says what that transaction will find: ids, attributes, how many values there are. Others then write
segments to fit, into the folder for what is not finished. The writer adopts them, all at once, if nothing else was
written meanwhile; whatever is not adopted goes with its folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from adalog.datalog.errors import AdalogError, Code, limit_exceeded
from adalog.datalog.values import Keyword
from adalog.store.files.folder import Folder
from adalog.store.files.permissions import FOLDER_MODE
from adalog.store.files.segment import Segment, open_segment, synced
from adalog.store.log.imported import LoggedFile
from adalog.store.log.log import Log
from adalog.store.snapshot.free_ids import Interval
from adalog.store.snapshot.manifest import Manifest
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.head import Head
from adalog.store.state.settings import Evaluation, TransactionSettings
from adalog.store.transact.resolve import Transaction, resolve
from adalog.store.tries.relation import Part, Relation, parts_in_files
from adalog.store.tries.relation_files import block_of, load_relation
from adalog.store.tries.trie import distinct
from adalog.store.values import bootstrap
from adalog.store.values.arrays import Int64s
from adalog.store.values.blocks.block import Block
from adalog.store.values.schema import Schema


@dataclass(frozen=True, eq=False)
class PreparedImport:
    """What a transaction that begins with `forms` finds. t: its number. snapshot: the database before it, whose
    files stay for as long as it is held. manifest: the database after the forms. schema: likewise. keys: by tag,
    how many keys there are then. secrets: by tag, of the dictionary's hashes. ids: those for new entities. changes:
    how many datoms the forms change. idents: the forms may choose ids of entities with an ident that are below this
    one. before: by tag, how many keys there were before the forms. principal: whose transaction it is. types: as
    in `resolve`."""

    forms: Sequence[Any]
    t: int
    snapshot: Snapshot
    manifest: Manifest
    schema: Schema
    keys: Mapping[int, int]
    secrets: Mapping[int, bytes]
    ids: Interval
    changes: int
    idents: int = 0
    before: Mapping[int, int] = field(default_factory=dict)
    principal: str | None = None
    types: Collection[Keyword] = ()


@dataclass(frozen=True, eq=False)
class Adoption:
    """Segments for the transaction that `prepared` describes.

    relations: by attribute, the files of its relation, that of its base first, then its runs, the newest first: new
    ones, and those it had. blocks: by tag, (first number, file) in order. logged: the transaction's datoms.
    entities: so many are new, with ids from `first` on. chosen: other ids in it that may be new, in order; of ids
    that lie close together the first and the last are enough.
    """

    prepared: PreparedImport
    relations: Mapping[int, Sequence[Segment]]
    blocks: Mapping[int, Sequence[tuple[int, Segment]]]
    logged: Sequence[LoggedFile]
    entities: int
    chosen: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    first: int | None = None

    @property
    def ids(self) -> Int64s:
        """Those that new entities must not get any more."""
        return distinct(np.concatenate((self.made, self.chosen))) if len(self.chosen) else self.made

    @property
    def made(self) -> Int64s:
        """Those of the entities that are new."""
        first = self.prepared.ids.start if self.first is None else self.first
        return np.arange(first, first + self.entities)


def prepared(
    forms: Sequence[Any],
    head: Head,
    setting: TransactionSettings,
    idents: int = 0,
    principal: str | None = None,
    types: Collection[Keyword] = (),
) -> PreparedImport:
    """Resolves the forms, and takes everything back. On the writer's thread. Raises as `transact` does. idents,
    principal, types: as in `PreparedImport`."""
    snapshot, mark, before = head.published(), head.mark(), _lengths(head)
    t = head.t + 1
    try:
        head.next_ident = max(head.next_ident, idents)
        transaction, evaluation = Transaction.of(forms, setting.limits), Evaluation(setting)
        resolved = resolve(transaction, head, evaluation, setting.import_policy, principal=principal, types=types)
        effects = head.codes.trimmed(resolved.effects, mark.codes)
        head.apply(effects, t, resolved.instant)
        after = head.snapshot()
        return PreparedImport(
            forms=forms,
            t=t,
            snapshot=snapshot,
            manifest=after.manifest(),
            schema=head.schema,
            keys=_lengths(head),
            secrets={tag: own.secret for tag, own in head.codes.durable.dictionaries().items()},
            ids=head.free.next(0),
            changes=sum(not bootstrap.is_of_server(each.e, each.a) for each in effects),
            idents=idents,
            before=before,
            principal=principal,
            types=types,
        )
    finally:
        head.rolled_back(mark)


def _lengths(head: Head) -> dict[int, int]:
    return {tag: len(own) for tag, own in head.codes.dictionaries().items()}


def check_fits(adoption: Adoption, head: Head) -> None:
    """Raises BASIS_CONFLICT unless the head, to which the forms were applied, is what was prepared, LIMIT_EXCEEDED
    where the chosen ids would leave too few for new entities."""
    expected = adoption.prepared
    if head.t != expected.t or _lengths(head) != expected.keys or head.free.next(0) != expected.ids:
        raise AdalogError(
            Code.BASIS_CONFLICT,
            "the database was changed while the import ran, and nothing was imported; try again",
        )
    if len(head.free.among_sorted(adoption.made)) < adoption.entities:
        raise limit_exceeded(f"no ids are left side by side for the import's {adoption.entities:,} new entities")
    head.free.check_chosen(head.free.among_sorted(adoption.chosen))


@dataclass(frozen=True, eq=False)
class AdoptedSegments:
    """What the head takes over: relations by attribute, blocks by tag, the log's files where they will stay."""

    relations: Mapping[int, Relation]
    blocks: Mapping[int, tuple[Block, ...]]
    logged: tuple[LoggedFile, ...]


def adopted(adoption: Adoption, folder: Folder, current: Mapping[int, Relation]) -> AdoptedSegments:
    """Moves the files to where they stay, and maps them. current: the relations of today, by attribute. What was
    moved and is never named by the log or a checkpoint is removed when the folder is opened again."""
    folder.imported.mkdir(FOLDER_MODE, exist_ok=True)
    before = (each.relation for each in adoption.prepared.snapshot.data().values())
    known = parts_in_files((*current.values(), *before))

    def moved(part: Part) -> Part:
        # Mapped first, and so held before a sweep can take its file for garbage.
        assert part.segment is not None
        return replace(part, segment=_moved(part.segment, folder.segments))

    relations = {
        attribute: load_relation(files, known.get, moved, trusts=lambda _: True)
        for attribute, files in adoption.relations.items()
    }
    blocks = {
        tag: tuple(_block(tag, start, segment, folder.segments) for start, segment in own)
        for tag, own in adoption.blocks.items()
    }
    logged = tuple(replace(each, segment=_moved(each.segment, folder.imported)) for each in adoption.logged)
    synced(folder.segments)
    synced(folder.imported)
    return AdoptedSegments(relations, blocks, logged)


def _block(tag: int, start: int, segment: Segment, to: Path) -> Block:
    arrays = open_segment(segment, trusted=True)
    return block_of(arrays, tag, start, _moved(segment, to))


def _moved(segment: Segment, to: Path) -> Segment:
    path = to / segment.file
    Path(segment.path).rename(path)
    return Segment(str(path), segment.checksum)


@contextmanager
def unfinished(folder: Folder) -> Iterator[Path]:
    """A new folder for what is not finished; it goes at the end, with what is left in it."""
    path = folder.importing / uuid4().hex
    path.mkdir(FOLDER_MODE, parents=True)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            folder.importing.rmdir()


def remove_unfinished(folder: Folder, log: Log) -> None:
    """Removes what imports and fetches left that did not come to their end."""
    shutil.rmtree(folder.importing, ignore_errors=True)
    for half in folder.imported.glob("*.tmp"):
        half.unlink(missing_ok=True)
    remove_unnamed(folder, log)


def remove_unnamed(folder: Folder, log: Log) -> None:
    """Removes the files of imports that the log does not name. Fetches under way keep theirs."""
    if folder.imported.is_dir():
        whole = [path.name for path in folder.imported.iterdir() if path.suffix != ".tmp"]
        for name in log.unnamed(whole):
            (folder.imported / name).unlink(missing_ok=True)
