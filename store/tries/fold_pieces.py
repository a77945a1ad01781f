"""A relation folded in pieces: by ranges of pairs, each of which fits into memory, however large the relation is.

A range lies between two pairs, so that a value with very many entities is cut, too. Pieces are segments, written
where there is room for one; `join_pieces` makes a base of them, array by array, without holding any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adalog.store.files.segment import JoinedArray, Segment, open_segment, write_segment
from adalog.store.tries.base import Base, ClosedDatoms
from adalog.store.tries.columns import Columns
from adalog.store.tries.relation import Relation
from adalog.store.tries.relation_files import (
    BASE,
    CLOSED,
    CSR,
    DENSE,
    FIGURES,
    ORDER,
    arrays_of_parts,
    form_of,
    share_offsets,
    since_arrays,
)
from adalog.store.tries.signed import Signed
from adalog.store.tries.trie import EMPTY, Csr, Trie, TrieSize, distinct, is_dense
from adalog.store.tries.value_index import may_have_index, order_of_keys
from adalog.store.values.arrays import CodeColumn, RowColumn
from adalog.store.values.codes import Codes

Pair = tuple[int, int]
"""A key and a value, in one direction or the other."""

FIRST: Final[Pair] = (-(1 << 63), -(1 << 63))
LAST: Final[Pair] = ((1 << 63) - 1, (1 << 63) - 1)
"""A pair after all pairs that there are."""

# Of a part, how many pairs are looked at for each piece to find where the next one begins.
_SAMPLES: Final = 64
_SIZE: Final = TrieSize(0, 0, 0)
_CLOSED: Final = tuple(f"closed.{part}" for part in CLOSED)


def samples_of(keys: CodeColumn, values: CodeColumn, size: int) -> NDArray[np.int64]:
    """Every so many-th of some pairs, by which pieces of about `size` pairs can be cut; int64[2, m]."""
    step = max(size // _SAMPLES, 1)
    return np.stack((keys[::step], values[::step]))


def ranges_of(samples: Sequence[NDArray[np.int64]], size: int, *, whole: bool = False) -> list[tuple[Pair, Pair]]:
    """Ranges of about `size` pairs, by samples of all of them; they cover every pair. whole: no key is cut."""
    every = np.concatenate([np.empty((2, 0), np.int64), *samples], axis=1)
    every = every[:, np.lexsort((every[1], every[0]))]
    step = max(size // max(size // _SAMPLES, 1), 1)
    cuts = [(key, FIRST[1] if whole else value) for key, value in every[:, step::step].T.tolist()]
    return list(pairwise([FIRST, *sorted(set(cuts) - {FIRST}), LAST]))


def sampled(relation: Relation, events: Columns, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Samples of a relation and later events, from entity to value and the other way round."""
    base = relation.base
    forward = [_sampled(base.ev, size), samples_of(base.closed.e, base.closed.v, size)]
    backward = [_sampled(base.ve, size)]
    for run in relation.runs:
        forward += [_sampled(run.ev, size), samples_of(run.past.e, run.past.v, size)]
        backward.append(_sampled(run.ve, size))
    forward.append(samples_of(events.e, events.v, size))
    backward.append(samples_of(events.v, events.e, size))
    return np.concatenate(forward, axis=1), np.concatenate(backward, axis=1)


def _sampled(level: Csr | Signed, size: int) -> NDArray[np.int64]:
    places = np.arange(0, len(level.values), max(size // _SAMPLES, 1))
    return np.stack((level.keys[level.offsets.searchsorted(places, side="right") - 1], level.values[places]))


@dataclass(frozen=True, slots=True)
class FoldTarget:
    """What the pieces of one fold share. folder: where they are written. t: the last transaction that they have."""

    folder: str
    attribute: int
    t: int
    keep_history: bool


def write_forward(
    fold: FoldTarget, relation: Relation, events: Columns, low: Pair, high: Pair, name: str
) -> Segment:
    """The piece of the pairs from `low` to before `high`, from entity to value. events: all after the relation's
    last transaction that lie in the range. name: no other piece's."""
    base = relation.base
    place = _places(base.ev, low, high)
    closed = base.closed
    ended = _within(closed.e, closed.v, low, high)
    own = Base(
        ev=_cut(base.ev, *place),
        ve=EMPTY,
        since=base.since[slice(*place)],
        closed=ClosedDatoms(closed.e[ended], closed.v[ended], closed.added[ended], closed.retracted[ended]),
        t=base.t,
        last=base.last,
    )
    later = []
    for run in relation.runs:
        at = _places(run.ev, low, high)
        e, v, added = _cut_signed(run.ev, *at).pairs()
        later.append(Columns(e, v, run.stamps[slice(*at)], added))
        later.append(run.past.take(_within(run.past.e, run.past.v, low, high)))
    every = Columns.concat([*later, events])
    if len(every):
        own = own.folded(every, EMPTY, fold.t, keep_history=fold.keep_history)
    elif not fold.keep_history:
        own = replace(own, closed=ClosedDatoms())
    arrays = (
        arrays_of_parts("ev", own.ev, CSR) | {"since": own.since} | arrays_of_parts("closed", own.closed, CLOSED)
    )
    return write_segment(Path(fold.folder), f"forward-{fold.attribute}-{name}", arrays)


def write_backward(
    fold: FoldTarget, relation: Relation, events: Columns, low: Pair, high: Pair, name: str
) -> Segment:
    """The same from value to entity: pairs and bounds are (value, entity). events: oldest first."""
    base = relation.base
    levels = tuple(_cut_signed(run.ve, *_places(run.ve, low, high)) for run in relation.runs)
    below = Trie(_cut(base.ve, *_places(base.ve, low, high)), tuple(each for each in levels if len(each)), _SIZE)
    ve = below.advanced(events.v, events.e, events.added).merged if len(events) else below.merged
    return write_segment(Path(fold.folder), f"backward-{fold.attribute}-{name}", arrays_of_parts("ve", ve, CSR))


def within(columns: Columns, low: Pair, high: Pair, *, inverse: bool = False) -> Columns:
    """The rows of a range, in the order that they have."""
    keys, values = (columns.v, columns.e) if inverse else (columns.e, columns.v)
    after = (keys > low[0]) | ((keys == low[0]) & (values >= low[1]))
    before = (keys < high[0]) | ((keys == high[0]) & (values < high[1]))
    return columns.take(after & before)


def join_pieces(
    fold: FoldTarget, forward: Sequence[Segment], backward: Sequence[Segment], last: int, codes: Callable[[], Codes]
) -> Segment:
    """The base that the pieces, in order, are of. last: the last transaction that touched the attribute. codes: of
    the values, asked for where these get an index."""
    arrays: dict[str, NDArray[Any] | JoinedArray] = {}
    for direction, pieces in (("ev", forward), ("ve", backward)):
        arrays |= _joined_csr(direction, pieces)
    arrays |= since_arrays([_array(each, "since") for each in forward])
    arrays |= {name: _joined(forward, name) for name in _CLOSED}
    arrays["t"] = np.array([fold.t, last], np.int64)
    order = _order_of(backward, len(arrays["ve.keys"]), codes)
    if order is not None:
        arrays[ORDER] = order
    share_offsets(arrays)
    return write_segment(Path(fold.folder), f"{BASE}-{fold.attribute}-{fold.t}", arrays, form_of(arrays))


def _order_of(backward: Sequence[Segment], length: int, codes: Callable[[], Codes]) -> NDArray[np.int32] | None:
    keys = [each for each in (_array(piece, "ve.keys") for piece in backward) if len(each)]
    if not keys or not may_have_index(keys[0], keys[-1], length):
        return None
    # A key whose pairs are cut is in several pieces.
    return order_of_keys(distinct(np.concatenate(keys)), codes())


def _joined(pieces: Sequence[Segment], name: str) -> JoinedArray:
    return JoinedArray(
        sum(len(_array(each, name)) for each in pieces), lambda: (_array(each, name) for each in pieces)
    )


def _joined_csr(direction: str, pieces: Sequence[Segment]) -> dict[str, NDArray[Any] | JoinedArray]:
    """A key whose pairs are cut is in two pieces or more, or in many: the first one has its name."""
    shared: list[bool] = []
    keys = offsets = longest = tail = 0
    first: int | None = None
    last: int | None = None
    starts: list[int] = []
    values: list[int] = []
    for each in pieces:
        own = _array(each, f"{direction}.keys")
        starts.append(offsets)
        shared.append(bool(len(own)) and last == int(own[0]))
        if len(own):
            first, last = int(own[0]) if first is None else first, int(own[-1])
            keys += len(own) - shared[-1]
            sizes = np.diff(_array(each, f"{direction}.offsets"))
            sizes[0] += tail if shared[-1] else 0
            longest, tail = max(longest, int(sizes.max())), int(sizes[-1])
            offsets += int(_array(each, f"{direction}.offsets")[-1])
            own = _array(each, f"{direction}.values")
            values += [int(own.min()), int(own.max())]

    def parts(name: str, cut: Callable[[NDArray[Any], int], NDArray[Any]]) -> Callable[[], Iterator[NDArray[Any]]]:
        return lambda: (cut(_array(each, f"{direction}.{name}"), number) for number, each in enumerate(pieces))

    def ends() -> Iterator[NDArray[Any]]:
        # Each key's beginning, and at last where the last one ends.
        yield from parts("offsets", lambda own, number: own[int(shared[number]) : -1] + starts[number])()
        yield np.array([offsets], np.int64)

    def dense() -> Iterator[NDArray[Any]]:
        at, next_key = 0, first
        for own in parts("keys", lambda own, number: own[int(shared[number]) :])():
            if len(own) and next_key is not None:
                index = np.full(int(own[-1]) + 1 - next_key, -1, np.int32)
                index[own - next_key] = np.arange(at, at + len(own), dtype=np.int32)
                yield index
                at, next_key = at + len(own), int(own[-1]) + 1

    arrays: dict[str, NDArray[Any] | JoinedArray] = {
        f"{direction}.keys": JoinedArray(keys, parts("keys", lambda own, number: own[int(shared[number]) :])),
        f"{direction}.offsets": JoinedArray(keys + 1, ends),
        f"{direction}.values": JoinedArray(offsets, parts("values", lambda own, _: own)),
        f"{direction}.{FIGURES}": np.array([longest, min(values, default=0), max(values, default=0)], np.int64),
    }
    span = 0 if first is None or last is None else last - first + 1
    if keys < span and is_dense(span, keys):
        arrays[f"{direction}.{DENSE}"] = JoinedArray(span, dense, np.dtype(np.int32))
    return arrays


def _array(piece: Segment, name: str) -> NDArray[Any]:
    return open_segment(piece, trusted=True)[name]


def _places(level: Csr | Signed, low: Pair, high: Pair) -> tuple[int, int]:
    """Where the pairs of a range lie among the values of a level."""
    return _place(level, low), _place(level, high)


def _place(level: Csr | Signed, pair: Pair) -> int:
    at = int(level.keys.searchsorted(pair[0]))
    start = int(level.offsets[at])
    if at == len(level.keys) or level.keys[at] != pair[0]:
        return start
    return start + int(level.values[start : int(level.offsets[at + 1])].searchsorted(pair[1]))


def _cut(csr: Csr, start: int, stop: int) -> Csr:
    first, last = _rows(csr.offsets, start, stop)
    if first == last:
        return EMPTY
    offsets = np.clip(csr.offsets[first : last + 1], start, stop) - start
    return Csr(csr.keys[first:last], offsets, csr.values[start:stop])


def _cut_signed(level: Signed, start: int, stop: int) -> Signed:
    first, last = _rows(level.offsets, start, stop)
    offsets = np.clip(level.offsets[first : last + 1], start, stop) - start
    counts = level.counts[first:last]
    return Signed(level.keys[first:last], offsets, level.values[start:stop], level.added[start:stop], counts)


def _rows(offsets: RowColumn, start: int, stop: int) -> tuple[int, int]:
    """The first key with a pair at these places, and the one after the last."""
    if start == stop:
        return 0, 0
    first = int(offsets.searchsorted(start, side="right")) - 1
    return first, int(offsets.searchsorted(stop, side="left"))


def _within(keys: CodeColumn, values: CodeColumn, low: Pair, high: Pair) -> slice:
    """Where the pairs of a range lie among sorted ones."""
    return slice(_place_among(keys, values, low), _place_among(keys, values, high))


def _place_among(keys: CodeColumn, values: CodeColumn, pair: Pair) -> int:
    start, stop = (int(keys.searchsorted(pair[0], side=side)) for side in ("left", "right"))
    return start + int(values[start:stop].searchsorted(pair[1]))
