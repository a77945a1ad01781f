"""Relations, dictionary blocks and deltas as segment files, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from store.delta import Delta
from store.dictionary import Block, BlockArrays
from store.relation import Closed, Columns, Relation
from store.segment import Arrays, Segment, open_segment, write_segment
from store.trie import Csr

_RELATION: Final = "attribute"
_DICTIONARY: Final = "dictionary"
_DELTAS: Final = "young"
_NO_SECRET: Final = np.empty(0, np.uint8)


def save_relation(folder: Path, attribute: int, relation: Relation) -> Relation:
    """Write a relation; the same one comes back, mapped from its file."""
    closed = relation.closed
    arrays = {
        "ev.keys": relation.ev.keys,
        "ev.offsets": relation.ev.offsets,
        "ev.values": relation.ev.values,
        "ve.keys": relation.ve.keys,
        "ve.offsets": relation.ve.offsets,
        "ve.values": relation.ve.values,
        "since": relation.since,
        "closed.e": closed.e,
        "closed.v": closed.v,
        "closed.added": closed.added,
        "closed.retracted": closed.retracted,
        "t": np.array([relation.t, relation.last], np.int64),
    }
    return load_relation(write_segment(folder, f"{_RELATION}-{attribute}-{relation.t}", arrays))


def load_relation(segment: Segment) -> Relation:
    """A relation from its file."""
    arrays = open_segment(segment)
    t, last = arrays["t"].tolist()
    return Relation(
        ev=Csr(arrays["ev.keys"], arrays["ev.offsets"], arrays["ev.values"]),
        ve=Csr(arrays["ve.keys"], arrays["ve.offsets"], arrays["ve.values"]),
        since=arrays["since"],
        closed=Closed(*(arrays[f"closed.{part}"] for part in ("e", "v", "added", "retracted"))),
        t=t,
        last=last,
        segment=segment,
    )


def save_blocks(folder: Path, t: int, blocks: Mapping[int, Iterable[Block]]) -> dict[int, tuple[Block, ...]]:
    """Write those blocks of each tag that are in no file yet, together; all come back, mapped."""
    new = {f"{tag}.{block.start}": block for tag, own in blocks.items() for block in own if block.segment is None}
    arrays = {
        f"{key}.{part}": array for key, block in new.items() for part, array in block.arrays._asdict().items()
    }
    if not arrays:
        return {tag: tuple(own) for tag, own in blocks.items()}
    segment = write_segment(folder, f"{_DICTIONARY}-{t}", arrays)
    mapped = open_segment(segment)
    return {
        tag: tuple(
            block if block.segment is not None else block_of(mapped, tag, block.start, segment) for block in own
        )
        for tag, own in blocks.items()
    }


def block_of(arrays: Arrays, tag: int, start: int, segment: Segment) -> Block:
    """A block from the arrays of `save_blocks`, of older versions without a secret."""
    parts = {part: arrays[f"{tag}.{start}.{part}"] for part in BlockArrays._fields if part != "secret"}
    secret = arrays.get(f"{tag}.{start}.secret", _NO_SECRET)
    return Block(start, BlockArrays(**parts, secret=secret), segment)


def save_deltas(folder: Path, t: int, deltas: Mapping[int, Columns]) -> Segment:
    """Write the events of many attributes, which t ends."""
    columns = list(deltas.values())
    every = Columns.concat(columns) if columns else None
    arrays: dict[str, NDArray[Any]] = {
        "attributes": np.array(list(deltas), np.int64),
        "lengths": np.array([len(each) for each in columns], np.int64),
    }
    if every is not None:
        arrays |= {"e": every.e, "v": every.v, "t": every.t, "added": every.added}
    return write_segment(folder, f"{_DELTAS}-{t}", arrays)


def load_deltas(segment: Segment) -> dict[int, Delta]:
    """The deltas of `save_deltas`."""
    arrays = open_segment(segment)
    deltas, at = {}, 0
    for attribute, length in zip(arrays["attributes"].tolist(), arrays["lengths"].tolist(), strict=True):
        part = slice(at, at + length)
        deltas[attribute] = Delta.of(*(arrays[field][part] for field in ("e", "v", "t", "added")))
        at += length
    return deltas
