"""Segments that are not adopted yet, made to belong to a later transaction: in place.

What was made for transaction t of one state of the database is that of a later one if nothing it was made from has
changed since: but for the transaction's number, and the numbers of its new values, of which others may have been
given out.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from numpy.typing import NDArray

from adalog.store.files.narrow import ABOVE, LEAST
from adalog.store.files.segment import Arrays, Segment, arrays_of, reseal
from adalog.store.tries.relation_files import DENSE, NO_INDEX, SINCE
from adalog.store.values import layout
from adalog.store.values.arrays import Int64s

# Arrays of bases, runs and the log's files, by the last part of their names or all of it.
_STAMPS: Final = frozenset({"since", "closed.added", "closed.retracted", "stamps", "past.t", "t"})
_CODES: Final = frozenset({"ev.values", "ev.figures", "closed.v", "past.v", "v"})
_SORTED_CODES: Final = frozenset({"ve.keys", "codes"})
_NARROW: Final = frozenset({SINCE, f"v.{LEAST}", f"codes.{LEAST}"})
_KEYS: Final = "ve.keys"
_INDEX: Final = f"ve.{DENSE}"
# Items that are looked at at once.
_AT_ONCE: Final = 1 << 20


class MovedKeys(NamedTuple):
    """The keys of a dictionary from number `first` on, which are `by` further on."""

    tag: int
    first: int
    by: int


@dataclass(frozen=True, slots=True)
class Renumbering:
    """before, t: the number that the transaction had, and has. moved: its new values."""

    before: int
    t: int
    moved: tuple[MovedKeys, ...]


def shifted(segment: Segment, shift: Renumbering) -> Segment:
    """Changes a file of a base, a run, or the log, which is not read yet; it gets another name, and is on disk.
    The same segment where nothing of it changes."""
    path = Path(segment.path)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        changed = _change(arrays_of(memoryview(mapped)), shift)
        if not changed:
            return segment
        checksum = reseal(mapped)
    label, id_, t, *rest = path.stem.rsplit("-", 1)[0].split("-")
    stem = "-".join([label, id_, str(shift.t) if t == str(shift.before) else t, *rest])
    new = path.with_name(f"{stem}-{checksum:08x}{path.suffix}")
    path.rename(new)
    return Segment(str(new), checksum)


def _change(arrays: Arrays, shift: Renumbering) -> bool:
    """Whether anything was changed."""
    stamps = [(shift.before, shift.before, shift.t - shift.before)]
    codes = [
        (layout.code_of(tag, first), layout.code_of(tag, layout.PAYLOAD_MASK), by) for tag, first, by in shift.moved
    ]
    changed = False
    for name, array in arrays.items():
        if name in _SORTED_CODES:
            for low, high, by in codes:
                start, stop = array.searchsorted([low, high])
                array[start:stop] += by
                changed |= bool(start < stop)
                if name == _KEYS and start < stop and _INDEX in arrays:
                    arrays[_INDEX][0] = NO_INDEX
        elif name in _STAMPS or name in _CODES:
            changed |= _move(array, stamps if name in _STAMPS else codes)
        elif name in _NARROW:
            above = arrays.get(f"{name.removesuffix(LEAST)}{ABOVE}")
            changed |= _move_narrow(array, above, stamps if name == SINCE else codes)
    return changed


def _move_narrow(least: Int64s, above: NDArray[Any] | None, ranges: Sequence[tuple[int, int, int]]) -> bool:
    """The same of a column in `narrow`."""
    if above is None:
        return _move(least[:1], ranges)
    moved = [(low - int(least[0]), high - int(least[0]), by) for low, high, by in ranges]
    return _move(above, moved)


def _move(array: Int64s, ranges: Sequence[tuple[int, int, int]]) -> bool:
    """Adds to the items from `low` to `high` of each range (low, high, by); whether there were any."""
    changed = False
    for at in range(0, len(array), _AT_ONCE):
        part = array[at : at + _AT_ONCE]
        for low, high, by in ranges:
            own = (part >= low) & (part <= high)
            if own.any():
                part[own] += by
                changed = True
    return changed
