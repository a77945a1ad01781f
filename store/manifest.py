"""What another process needs to open a snapshot: the segment files by path, everything younger as it is.

For Spark's workers. Plain data that pickles; each process maps and checks a segment once, however many snapshots
name it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from store.attribute import Attribute
from store.attribute_data import AttributeData
from store.codes import Codes
from store.delta import Delta
from store.dictionary import Block, Dictionary
from store.relation import Columns, Relation
from store.schema import Schema
from store.segment import Segment, open_segment
from store.stored import block_of, load_relation


@dataclass(frozen=True, eq=False)
class Manifest:
    """A view and its data: per attribute a relation and the events since, per tag blocks and the keys since.

    origin_t, forgetful: as `store.snapshot.Origin` has them.
    """

    t: int
    since: int
    history: bool
    attributes: tuple[Attribute, ...]
    relations: Mapping[int, Relation | Segment]
    events: Mapping[int, Columns]
    blocks: Mapping[int, tuple[Block | tuple[int, Segment], ...]]
    young: Mapping[int, list[bytes]]
    origin_t: int
    forgetful: frozenset[int]


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
        relations={id_: relation.segment or relation for id_, (relation, _) in shipped.items()},
        events={id_: events for id_, (_, events) in shipped.items()},
        blocks=blocks,
        young=young,
        origin_t=origin_t,
        forgetful=forgetful,
    )


def received(manifest: Manifest) -> tuple[dict[int, AttributeData], Codes, Schema]:
    """What a snapshot is made of, opened in this process."""
    data = {}
    for id_, relation in manifest.relations.items():
        events = manifest.events[id_]
        opened = _relation(relation) if isinstance(relation, Segment) else relation
        data[id_] = AttributeData(opened, Delta.of(events.e, events.v, events.t, events.added))
    dictionaries = {
        tag: Dictionary(
            (block if isinstance(block, Block) else block_of(_arrays(block[1]), tag, *block) for block in blocks),
            manifest.young[tag],
        )
        for tag, blocks in manifest.blocks.items()
    }
    return data, Codes(dictionaries), Schema(manifest.attributes)


@lru_cache(maxsize=4096)
def _relation(segment: Segment) -> Relation:
    return load_relation(segment)


@lru_cache(maxsize=4096)
def _arrays(segment: Segment) -> Mapping[str, NDArray[Any]]:
    return open_segment(segment)
