"""What is wrong with the parts of a checkpoint whose files are whole: as sentences, none where all is right.

A checksum tells that a file is what was written; this tells that what was written makes sense, so that a fault of a
program or of memory is found too. Pairs are compared by sorting, so it costs n log n.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from adalog.store.tries.base import Base
from adalog.store.tries.columns import NO_COLUMNS
from adalog.store.tries.delta import Delta
from adalog.store.tries.relation import Relation
from adalog.store.tries.run import Run
from adalog.store.tries.signed import among, order_of
from adalog.store.tries.trie import Csr, distinct
from adalog.store.values import layout
from adalog.store.values.arrays import CodeColumn, Int64s, RowColumn
from adalog.store.values.blocks.block import Block
from adalog.store.values.blocks.sparse_block import Runs, SparseBlock
from adalog.store.values.excised.placeholders import SEEDS


def relation_faults(relation: Relation) -> Iterator[tuple[Base | Run, str]]:
    """Each with the part that it is in."""
    for at, run in enumerate(relation.runs):
        below = Relation(relation.base, relation.runs[at + 1 :])
        if run.t < below.t:
            yield run, f"it is of t = {run.t}, and what lies below it of t = {below.t}"
    sound = True
    for part in relation.parts:
        for fault in _base_faults(part) if isinstance(part, Base) else _run_faults(part):
            sound = False
            yield part, fault
    if sound:
        for at, run in enumerate(relation.runs):
            below = Relation(relation.base, relation.runs[at + 1 :])
            yield from ((run, fault) for fault in _difference_faults(run, below))


def _direction_faults(part: Base | Run) -> Iterator[str]:
    """Whether each direction is sound by itself, and both hold the same pairs."""
    ev, ve = part.ev, part.ve
    yield from _rows_faults("entities to values", ev.keys, ev.offsets, ev.values)
    yield from _rows_faults("values to entities", ve.keys, ve.offsets, ve.values)
    if len(ev.values) != len(ve.values):
        yield f"one direction has {len(ev.values):,} pairs and the other {len(ve.values):,}"
        return
    e, v = _expanded(ev.keys, ev.offsets, ev.values)
    other_v, other_e = _expanded(ve.keys, ve.offsets, ve.values)
    if len(e) == len(other_e):
        order = order_of(v, e)
        differs = (e[order] != other_e) | (v[order] != other_v)
        if isinstance(part, Run) and len(e) == len(part.ev.added) == len(part.ve.added):
            differs |= part.ev.added[order] != part.ve.added
        if differs.any():
            yield f"its two directions differ, first at entity {int(e[order[int(differs.argmax())]])}"


def _base_faults(base: Base) -> Iterator[str]:
    yield from _direction_faults(base)
    for what, rows in (("entities to values", base.ev), ("values to entities", base.ve)):
        counted = Csr(rows.keys, rows.offsets, rows.values)
        if (rows.longest, rows.span) != (counted.longest, counted.span):
            yield f"from {what} its figures are wrong"
        elif not np.array_equal(rows.dense, counted.dense):
            yield f"from {what} its index is wrong"
        elif rows.order is not None and not np.array_equal(np.sort(rows.order), np.arange(len(rows.keys))):
            yield f"from {what} its index of values has not each value once"
    ev = base.ev
    closed = base.closed
    lengths = {len(closed.e), len(closed.v), len(closed.added), len(closed.retracted)}
    if len(base.since) != len(ev.values) or len(lengths) != 1:
        yield "its columns differ in length"
        return
    if len(base.since) and not 0 <= int(base.since.min()) <= int(base.since.max()) <= base.t:
        yield f"it has a transaction that is not one up to {base.t}"
    if not (closed.added < closed.retracted).all() or int(closed.retracted.max(initial=0)) > base.t:
        yield "something in it was retracted before it was asserted, or later than the file is of"
    if not _ascends(closed.e, closed.v, closed.added):
        yield "its history is not in order"


def _run_faults(run: Run) -> Iterator[str]:
    yield from _direction_faults(run)
    ev, ve = run.ev, run.ve
    lengths = {len(ev.values), len(ve.values), len(ev.added), len(ve.added), len(run.stamps)}
    if len(lengths) != 1 or len(ev.counts) != len(ev.keys) or len(ve.counts) != len(ve.keys):
        yield "its columns differ in length"
        return
    past = run.past
    if len({len(past.e), len(past.v), len(past.t), len(past.added)}) != 1:
        yield "its columns differ in length"
        return
    for stamps in (run.stamps, past.t):
        if len(stamps) and not 0 < int(stamps.min()) <= int(stamps.max()) <= run.t:
            yield f"it has a transaction that is not one up to {run.t}"
    if not _ascends(past.e, past.v, past.t):
        yield "its history is not in order"


def _difference_faults(run: Run, below: Relation) -> Iterator[str]:
    """Whether a run is the difference to what lies below it."""
    e, v, added = run.ev.pairs()
    held = below.current_of(run.ev.keys, NO_COLUMNS)
    if len(e) and (among(e, v, held.e, held.v) == added).any():
        yield "it asserts what held already, or retracts what did not"
    total = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.where(added, 1, -1))))
    changes = total[run.ev.offsets[1:]] - total[run.ev.offsets[:-1]]
    counts = held.e.searchsorted(run.ev.keys, side="right") - held.e.searchsorted(run.ev.keys) + changes
    if (counts != run.ev.counts).any():
        yield "its counts of values are wrong"


def block_faults(block: Block) -> Iterator[str]:
    offsets, heap, hashes, order, _ = block.arrays
    count = len(order)
    if len(offsets) != count + 1 or len(hashes) != count:
        yield "its columns differ in length"
        return
    if int(offsets[0]) != 0 or int(offsets[-1]) != len(heap) or (np.diff(offsets) < 0).any():
        yield "the lengths of its values are wrong"
    if not np.array_equal(np.sort(order), np.arange(count, dtype=order.dtype)) or (hashes[1:] < hashes[:-1]).any():
        yield "its index is wrong"
    if isinstance(block, SparseBlock) and not _fits(block.runs, count):
        yield "the runs of its numbers are wrong"


def _fits(runs: Runs, count: int) -> bool:
    """Whether runs are those of a block that has so many keys."""
    bounds, places, seeds = runs
    if len(bounds) != len(places) or len(bounds) != len(seeds) + 1 or not len(seeds):
        return False
    sizes, keys = np.diff(bounds), np.diff(places)
    has_seed = (seeds >= 0) & (seeds < SEEDS)
    return bool(
        bounds[0] == places[0] == 0
        and places[-1] == count
        and ((sizes > 0) & (keys >= 0) & (keys <= sizes)).all()
        and (has_seed == (keys < sizes)).all()
    )


def delta_faults(deltas: Mapping[int, Delta], t: int) -> Iterator[str]:
    """Of what is in no relation yet."""
    for attribute, delta in deltas.items():
        events = delta.events(0, len(delta))
        if (np.diff(events.t) < 0).any():
            yield f"the transactions of attribute {attribute} are not in order"
        if int(events.t.max(initial=0)) > t:
            yield f"it has a transaction of attribute {attribute} after {t}"


def unknown_values(codes: CodeColumn, lengths: Mapping[int, int]) -> int:
    """How many of the codes are of values that no dictionary has, given each one's length by tag."""
    tags = layout.tags_of(codes)
    unknown = 0
    for tag in distinct(tags.astype(np.int64)).tolist():
        if tag in layout.DICTIONARY_TAGS:
            numbers = codes[tags == tag] & layout.PAYLOAD_MASK
            unknown += int(np.count_nonzero(numbers >= lengths.get(tag, 0)))
    return unknown


def _rows_faults(what: str, keys: CodeColumn, offsets: RowColumn, values: CodeColumn) -> Iterator[str]:
    if len(offsets) != len(keys) + 1 or int(offsets[0]) != 0 or int(offsets[-1]) != len(values):
        yield f"from {what} its rows do not fit together"
        return
    if (np.diff(offsets) < 1).any() or (keys[1:] <= keys[:-1]).any():
        yield f"from {what} its rows are not in order"
        return
    rises = values[1:] > values[:-1]
    rises[offsets[1:-1] - 1] = True
    if not rises.all():
        yield f"from {what} its rows are not in order"


def _expanded(keys: CodeColumn, offsets: RowColumn, values: CodeColumn) -> tuple[Int64s, Int64s]:
    if len(offsets) != len(keys) + 1 or (np.diff(offsets) < 0).any():
        return keys[:0], values[:0]
    return np.repeat(keys, np.diff(offsets)), values


def _ascends(*columns: Int64s) -> bool:
    """Whether rows are sorted by these columns."""
    equal = np.ones(max(len(columns[0]) - 1, 0), np.bool_)
    for column in columns:
        if (equal & (column[1:] < column[:-1])).any():
            return False
        equal &= column[1:] == column[:-1]
    return True
