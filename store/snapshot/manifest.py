"""What another process needs to open a snapshot: the segment files by path, everything younger as it is.

For Spark's workers. Plain data that pickles; each process maps and checks a segment once, however many snapshots
name it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast
from weakref import WeakValueDictionary

from adalog.store.files.segment import Segment, open_segment
from adalog.store.tries.attribute_data import AttributeData
from adalog.store.tries.base import Base
from adalog.store.tries.columns import Columns
from adalog.store.tries.delta import Delta
from adalog.store.tries.relation import Relation
from adalog.store.tries.relation_files import block_of, load_base, load_run
from adalog.store.tries.run import Run
from adalog.store.values.attribute import Attribute
from adalog.store.values.blocks.block import Block
from adalog.store.values.codes import Codes
from adalog.store.values.dictionary import Dictionary
from adalog.store.values.schema import Schema

Part = Base | Run | Segment
"""A part of a relation, its base or a run, or the file it is mapped from."""


@dataclass(frozen=True, eq=False)
class Manifest:
    """A view and its data: per attribute a relation, the base first, and the events since; per tag blocks and the
    keys since. origin_t, forgetful: as `store.snapshot.snapshot.SnapshotOrigin` has them."""

    t: int
    since: int
    history: bool
    attributes: tuple[Attribute, ...]
    relations: Mapping[int, tuple[Part, ...]]
    events: Mapping[int, Columns]
    blocks: Mapping[int, tuple[Block | tuple[int, Segment], ...]]
    young: Mapping[int, list[bytes]]
    origin_t: int
    forgetful: frozenset[int]

    def segments(self) -> Iterator[Segment]:
        for parts in self.relations.values():
            yield from (part for part in parts if isinstance(part, Segment))
        for blocks in self.blocks.values():
            yield from (block[1] for block in blocks if not isinstance(block, Block))

    def only(self, attributes: Collection[int]) -> Manifest:
        """The same with the data of some attributes alone."""
        return replace(
            self,
            relations={id_: own for id_, own in self.relations.items() if id_ in attributes},
            events={id_: own for id_, own in self.events.items() if id_ in attributes},
        )

    def located(self) -> Manifest:
        """The same with the files under absolute paths, for processes that run elsewhere."""
        return self.placed(lambda segment: segment._replace(path=os.path.abspath(segment.path)))

    def placed(self, place: Callable[[Segment], Segment]) -> Manifest:
        """The same with the files elsewhere."""
        return replace(
            self,
            relations={
                id_: tuple(place(part) if isinstance(part, Segment) else part for part in parts)
                for id_, parts in self.relations.items()
            },
            blocks={
                tag: tuple(each if isinstance(each, Block) else (each[0], place(each[1])) for each in blocks)
                for tag, blocks in self.blocks.items()
            },
        )


def manifest_of(
    data: Mapping[int, AttributeData],
    codes: Codes,
    schema: Schema,
    view: tuple[int, int, bool],
    origin: tuple[int, frozenset[int]],
) -> Manifest:
    """The manifest of a view (t, since, history) of the data. origin: its transaction and forgetful attributes."""
    t, since, history = view
    origin_t, forgetful = origin
    # What still holds at the origin decides what a forgetful attribute shows.
    shipped = {id_: each.shipped(origin_t if id_ in forgetful else t) for id_, each in data.items()}
    blocks: dict[int, tuple[Block | tuple[int, Segment], ...]] = {}
    young = {}
    for tag, dictionary in codes.dictionaries().items():
        old, young[tag] = dictionary.parts()
        blocks[tag] = tuple(block if block.segment is None else (block.start, block.segment) for block in old)
    return Manifest(
        t=t,
        since=since,
        history=history,
        attributes=schema.all(),
        relations={
            id_: tuple(part.segment or part for part in relation.parts) for id_, (relation, _) in shipped.items()
        },
        events={id_: events for id_, (_, events) in shipped.items()},
        blocks=blocks,
        young=young,
        origin_t=origin_t,
        forgetful=forgetful,
    )


def received(manifest: Manifest) -> tuple[dict[int, AttributeData], Codes, Schema]:
    """What a snapshot is made of, opened in this process."""
    data = {}
    for id_, parts in manifest.relations.items():
        events = manifest.events[id_]
        data[id_] = AttributeData(_relation(parts), Delta.of(events.e, events.v, events.t, events.added))
    dictionaries = {
        tag: Dictionary(
            (block if isinstance(block, Block) else _block(tag, *block) for block in blocks), manifest.young[tag]
        )
        for tag, blocks in manifest.blocks.items()
    }
    return data, Codes(dictionaries), Schema(manifest.attributes)


# By file, for as long as a snapshot here has it open: its lease is to end with the last of them.
_parts: WeakValueDictionary[Segment, Base | Run] = WeakValueDictionary()
_blocks: WeakValueDictionary[tuple[int, int, Segment], Block] = WeakValueDictionary()


def _relation(parts: Sequence[Part]) -> Relation:
    """Parts that came as they are, or as files, each of which is opened once."""

    def opened(part: Part, load: Callable[[Segment], Base | Run]) -> Base | Run:
        if not isinstance(part, Segment):
            return part
        known = _parts.get(part)
        if known is None:
            known = _parts[part] = load(part)
        return known

    base, *runs = parts
    return Relation(cast(Base, opened(base, load_base)), tuple(cast(Run, opened(run, load_run)) for run in runs))


def _block(tag: int, start: int, segment: Segment) -> Block:
    found = _blocks.get((tag, start, segment))
    if found is None:
        found = _blocks[tag, start, segment] = block_of(open_segment(segment), tag, start, segment)
    return found
