"""Relations, dictionary blocks and deltas as segment files, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adalog.store.files.segment import Arrays, Segment, open_segment, write_segment
from adalog.store.tries.base import Base, ClosedDatoms
from adalog.store.tries.columns import Columns
from adalog.store.tries.delta import Delta
from adalog.store.tries.relation import Relation
from adalog.store.tries.run import Run
from adalog.store.tries.signed import Signed
from adalog.store.tries.trie import Csr, TrieSize
from adalog.store.values.dictionary import Block, BlockArrays

BASE: Final = "attribute"
"""What the files of bases are called."""
_RUN: Final = "run"
_LEVEL: Final = ("keys", "offsets", "values", "added", "counts")
_DICTIONARY: Final = "dictionary"
_DELTAS: Final = "young"
_ALONE: Final = "alone"
_NO_SECRET: Final = np.empty(0, np.uint8)


def save_relation(folder: Path, attribute: int, relation: Relation) -> Relation:
    """Writes those parts of a relation that are in no file yet; the relation comes back, mapped from its files."""
    base, runs = relation.base, relation.runs
    if base.segment is None:
        base = _save_base(folder, attribute, base)
    runs = tuple(run if run.segment is not None else _save_run(folder, attribute, run) for run in runs)
    return Relation(base, runs)


def _save_base(folder: Path, attribute: int, base: Base) -> Base:
    closed = base.closed
    arrays = {
        "ev.keys": base.ev.keys,
        "ev.offsets": base.ev.offsets,
        "ev.values": base.ev.values,
        "ve.keys": base.ve.keys,
        "ve.offsets": base.ve.offsets,
        "ve.values": base.ve.values,
        "since": base.since,
        "closed.e": closed.e,
        "closed.v": closed.v,
        "closed.added": closed.added,
        "closed.retracted": closed.retracted,
        "t": np.array([base.t, base.last], np.int64),
    }
    return load_base(write_segment(folder, f"{BASE}-{attribute}-{base.t}", arrays), trusted=True)


def load_base(segment: Segment, *, trusted: bool = False) -> Base:
    """A relation's base from its file; `trusted` as in `open_segment`."""
    arrays = open_segment(segment, trusted=trusted)
    t, last = arrays["t"].tolist()
    return Base(
        ev=Csr(arrays["ev.keys"], arrays["ev.offsets"], arrays["ev.values"]),
        ve=Csr(arrays["ve.keys"], arrays["ve.offsets"], arrays["ve.values"]),
        since=arrays["since"],
        closed=ClosedDatoms(*(arrays[f"closed.{part}"] for part in ("e", "v", "added", "retracted"))),
        t=t,
        last=last,
        segment=segment,
    )


def _save_run(folder: Path, attribute: int, run: Run) -> Run:
    arrays: dict[str, NDArray[Any]] = {}
    for name, level in (("ev", run.ev), ("ve", run.ve)):
        arrays |= {f"{name}.{part}": getattr(level, part) for part in _LEVEL}
    past = run.past
    arrays |= {
        "stamps": run.stamps,
        "past.e": past.e,
        "past.v": past.v,
        "past.t": past.t,
        "past.added": past.added,
        "sizes": np.array([(size.pairs, size.rows, size.longest) for size in run.sizes], np.int64).ravel(),
        "t": np.array([run.t, run.last], np.int64),
    }
    return load_run(write_segment(folder, f"{_RUN}-{attribute}-{run.t}", arrays), trusted=True)


def load_run(segment: Segment, *, trusted: bool = False) -> Run:
    """A run from its file; `trusted` as in `open_segment`."""
    arrays = open_segment(segment, trusted=trusted)
    t, last = arrays["t"].tolist()
    sizes = arrays["sizes"].tolist()
    return Run(
        ev=Signed(*(arrays[f"ev.{part}"] for part in _LEVEL)),
        ve=Signed(*(arrays[f"ve.{part}"] for part in _LEVEL)),
        sizes=(TrieSize(*sizes[:3]), TrieSize(*sizes[3:])),
        stamps=arrays["stamps"],
        past=Columns(*(arrays[f"past.{part}"] for part in ("e", "v", "t", "added"))),
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
    mapped = open_segment(segment, trusted=True)
    return {
        tag: tuple(
            block if block.segment is not None else block_of(mapped, tag, block.start, segment) for block in own
        )
        for tag, own in blocks.items()
    }


def save_block(folder: Path, tag: int, block: Block) -> Segment:
    """Writes a block alone, into a file in which its first number does not stand: it may become another one."""
    arrays = {f"{tag}.{_ALONE}.{part}": array for part, array in block.arrays._asdict().items()}
    return write_segment(folder, f"{_DICTIONARY}-{tag}-{block.start}", arrays)


def block_of(arrays: Arrays, tag: int, start: int, segment: Segment) -> Block:
    """A block from the arrays of `save_blocks` or `save_block`, of older versions without a secret."""
    name = f"{tag}.{start}" if f"{tag}.{start}.order" in arrays else f"{tag}.{_ALONE}"
    parts = {part: arrays[f"{name}.{part}"] for part in BlockArrays._fields if part != "secret"}
    secret = arrays.get(f"{name}.secret", _NO_SECRET)
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
