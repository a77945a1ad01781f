"""A checkpoint: which segment files hold the database as of some transaction; the log after it holds the rest.

One small JSON file, replaced as a whole after the segments it names are on disk.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from adalog.store.files.folder import FolderLayout
from adalog.store.files.formats import CHECKPOINT, RELEASE, check_format
from adalog.store.files.segment import DamagedSegment, Segment, open_segment, write_text
from adalog.store.snapshot.free_ids import FreeIds, Interval
from adalog.store.state.head import Counters, Head
from adalog.store.tries.delta import Delta
from adalog.store.tries.relation import NO_RELATION, Part, Relation
from adalog.store.tries.relation_files import block_of, load_deltas, load_relation
from adalog.store.values.attribute import SCHEMA_BASE
from adalog.store.values.blocks.block import Block
from adalog.store.values.codes import Codes
from adalog.store.values.dictionary import Dictionary

_UNBARRED: Final = 4
_BARRED: Final = 5
_NOTHING: Final[Mapping[Segment, Part]] = {}
Trust = Callable[[Segment], bool]
"""Whether a file's content is known to be right, so that it is not read."""


@dataclass(frozen=True)
class Checkpoint:
    """log_checksum: the log's chained checksum at `counters.t`, which ties segments and log together.

    relations: the files of each attribute, that of its base first, then those of its runs, the newest first.
    blocks: of each tag, (first number, file) in order. young: the file of the events that no relation holds.
    is_barred: the database has values of types that format 4 does not have.
    """

    counters: Counters
    log_checksum: int
    relations: Mapping[int, Sequence[Segment]]
    blocks: Mapping[int, list[tuple[int, Segment]]]
    young: Segment
    is_barred: bool = False

    def segments(self) -> set[Segment]:
        relations = (segment for own in self.relations.values() for segment in own)
        blocks = (segment for own in self.blocks.values() for _, segment in own)
        return {self.young, *relations, *blocks}

    def files(self) -> set[str]:
        return {segment.file for segment in self.segments()}

    def save(self, folder: FolderLayout) -> None:
        """Make this the folder's checkpoint."""
        counters, free = self.counters, self.counters.free.current
        body = json.dumps(
            {
                "counters": (counters.t, counters.instant, free.start, counters.next_ident, free.stop),
                "free": counters.free.others,
                "excised": counters.excised,
                "log_checksum": self.log_checksum,
                "relations": {id_: [_named(segment) for segment in own] for id_, own in self.relations.items()},
                "blocks": {tag: [(n, _named(segment)) for n, segment in own] for tag, own in self.blocks.items()},
                "young": _named(self.young),
            }
        )
        whole = {
            "version": CHECKPOINT.newest if counters.excised else _BARRED if self.is_barred else _UNBARRED,
            "adalog": RELEASE,
            "checksum": zlib.crc32(body.encode()),
            "body": body,
        }
        write_text(folder.checkpoint, json.dumps(whole))

    @staticmethod
    def load(folder: FolderLayout) -> Checkpoint | None:
        """The folder's checkpoint, None where there is none. Raises INTERNAL for a damaged one."""
        found = Checkpoint.load_with_text(folder)
        return None if found is None else found[1]

    @staticmethod
    def load_with_text(folder: FolderLayout) -> tuple[str, Checkpoint] | None:
        """The same with its text, read once: the next fold replaces the file."""
        file = folder.checkpoint
        if not file.exists():
            return None
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise DamagedSegment(file.name, str(error)) from None
        return text, Checkpoint.parsed(text, folder.segments, file.name)

    @staticmethod
    def parsed(text: str, segments: Path, file: str) -> Checkpoint:
        """The checkpoint that a file says, whose segments lie in a folder. Raises INTERNAL for a damaged one, and
        NewerFormat."""
        try:
            whole = json.loads(text)
            version = whole["version"]
            if type(version) is not int:
                raise ValueError(f"its format is {version!r}")
            # What a later version writes may look different in everything else.
            check_format(CHECKPOINT, version, file, whole.get("adalog"))
            body = whole["body"]
            if zlib.crc32(body.encode()) != whole["checksum"]:
                raise ValueError("its checksum is wrong")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DamagedSegment(file, str(error)) from None
        if version < CHECKPOINT.oldest:
            raise OutdatedCheckpoint(file, f"it is of the older format {version}")
        try:
            return _from_json(json.loads(body), segments)
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
            raise DamagedSegment(file, f"it does not say what a checkpoint says ({error!r})") from None


class OutdatedCheckpoint(DamagedSegment):
    """A checkpoint that is whole, of a format that is not read any more."""


def _named(segment: Segment) -> tuple[str, int]:
    """A segment by its name alone: a data folder may be moved."""
    return segment.file, segment.checksum


def _from_json(body: dict[str, Any], folder: Path) -> Checkpoint:
    def segment(named: tuple[str, int]) -> Segment:
        name, checksum = named
        return Segment(str(folder / name), _whole(checksum))

    return Checkpoint(
        counters=_counters_from_json(list(map(_whole, body["counters"])), body.get("free"))._replace(
            excised=_whole(body.get("excised", 0))
        ),
        log_checksum=_whole(body["log_checksum"]),
        relations={int(id_): [segment(each) for each in _several(own)] for id_, own in body["relations"].items()},
        blocks={int(tag): [(_whole(n), segment(named)) for n, named in own] for tag, own in body["blocks"].items()},
        young=segment(body["young"]),
    )


def _several(own: list[Any]) -> list[Any]:
    """An attribute's files; up to format 3 it had one."""
    return [own] if own and isinstance(own[0], str) else own


def _whole(number: Any) -> int:
    if type(number) is not int:
        raise TypeError(f"{number!r} is no whole number")
    return number


def _counters_from_json(counters: list[int], others: list[tuple[int, int]] | None) -> Counters:
    if others is None:
        # Of a version that gave new entities whatever came after the largest id.
        t, instant, start, next_ident = counters
        if start > SCHEMA_BASE // 2:
            raise DamagedSegment("the checkpoint", "it does not say which ids are free")
        return Counters(t, instant, FreeIds(Interval(start, SCHEMA_BASE)), next_ident)
    t, instant, start, next_ident, stop = counters
    free = FreeIds(Interval(start, stop), tuple(Interval(*map(_whole, each)) for each in others))
    return Counters(t, instant, free, next_ident)


@dataclass(frozen=True, eq=False)
class MappedCheckpoint:
    """A checkpoint's relations by attribute and blocks by tag, mapped from its files. t, excised: its transaction,
    and the last excision before."""

    relations: Mapping[int, Relation]
    blocks: Mapping[int, tuple[Block, ...]]
    t: int
    excised: int


def mapped(
    checkpoint: Checkpoint, trusts: Trust = lambda _: False, known: Mapping[Segment, Part] = _NOTHING
) -> MappedCheckpoint:
    """Maps a checkpoint's files, but for what is known of relations already. Raises DamagedSegment."""
    segments = {segment for own in checkpoint.blocks.values() for _, segment in own}
    arrays = {segment: open_segment(segment, trusted=trusts(segment)) for segment in segments}
    relations = {id_: load_relation(files, known.get, trusts=trusts) for id_, files in checkpoint.relations.items()}
    blocks = {
        tag: tuple(block_of(arrays[segment], tag, start, segment) for start, segment in own)
        for tag, own in checkpoint.blocks.items()
    }
    return MappedCheckpoint(relations, blocks, checkpoint.counters.t, checkpoint.counters.excised)


def restored(checkpoint: Checkpoint, secret: bytes | None, trusts: Trust = lambda _: False) -> Head:
    """The state that it holds. Raises INTERNAL where a segment is damaged."""
    files = mapped(checkpoint, trusts)
    dictionaries = {tag: Dictionary(own, secret=secret) for tag, own in files.blocks.items()}
    deltas = load_deltas(checkpoint.young)
    data = {
        id_: (files.relations.get(id_, NO_RELATION), deltas.get(id_, Delta()))
        for id_ in files.relations.keys() | deltas.keys()
    }
    return Head.restored(Codes(dictionaries, secret), data, checkpoint.counters)
