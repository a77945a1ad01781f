"""The answer to a query: columns of codes, decoded on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.datalog.values import EdnMap, sort_key
from adalog.datalog.watched import in_order
from adalog.executor.answer.arrow_columns import arrow_column, edn_column
from adalog.executor.answer.decoding import decoded_distinct
from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.join.batch import Column as Codes
from adalog.planner.model.multiplicity import DroppedRows
from adalog.store.values.codes import Coder, Scratch
from adalog.store.values.layout import NIL, TAG_BOOLEAN, TAG_DOUBLE, TAG_INSTANT, TAG_STRING, tags_of

if TYPE_CHECKING:
    from adalog.executor.question.question import Question

# Bytes for each code of rows that are sorted: ranks, what they are made from, and the order.
_SORTING = 40
# The number of nil in every order.
_LAST = (1 << 63) - 1
# Of these the codes themselves are in the order of their values.
_ORDERED_TAGS = (0, TAG_BOOLEAN, TAG_INSTANT)
# Strings that are gathered at once, and the most that are sorted without a look at the deadline.
_TEXTS = 1 << 12
_MOST_TEXTS = 1 << 17


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """`type` is the name of the one type that all its values have, or `any`; without values the one that the schema
    gives them, where it is known."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class PulledColumn:
    """What a pull shows in the rows from number `start` on: those that were to be shown."""

    start: int
    maps: Sequence[EdnMap | None]


class DecodedColumn(Protocol):
    """A column of values that came from elsewhere: the codes of another process mean nothing here."""

    def values(self, start: int = 0, stop: int | None = None) -> list[Any]: ...


@dataclass(slots=True)
class Result:
    """Rows as int64 code columns, each row once; `shape` says what the find spec makes of them.

    `pulled`: by the number of their column what pulls show; the codes there are the entities. `decoded`: the
    columns where they are values, and there are no codes. `cache`: HIT, MISS or BYPASS. `question`: what it
    answers. `dropped`: by rules with aggregates, and for the query itself, how many equal values fell together.
    """

    columns: Sequence[ResultColumn]
    codes: Sequence[Codes]
    values: Scratch
    size: int
    shape: str
    keys: tuple[Any, ...] | None
    t: int
    engine: str
    elapsed_ms: float
    cache: str = "BYPASS"
    waited_ms: float = 0.0
    lane: str | None = None
    pulled: Mapping[int, PulledColumn] = field(default_factory=dict)
    decoded: Sequence[DecodedColumn] = ()
    question: Question | None = None
    dropped: Mapping[str, DroppedRows] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.size

    def column(self, index: int, start: int = 0, stop: int | None = None) -> list[Any]:
        pulled = self.pulled.get(index)
        if pulled is not None:
            stop = self.size if stop is None else min(stop, self.size)
            assert pulled.start <= start, "these rows were not to be shown"
            assert stop <= pulled.start + len(pulled.maps), "these rows were not to be shown"
            return list(pulled.maps[start - pulled.start : max(start, stop) - pulled.start])
        if self.decoded:
            return self.decoded[index].values(start, stop)
        codes = self.codes[index][start:stop]
        if self.columns[index].type == "long" and not len(codes):
            return []
        return self.values.decode_many(codes)

    def codes_of(self, index: int, start: int, stop: int) -> Codes:
        if self.decoded:
            values = self.decoded[index].values(start, stop)
            return np.array([self.values.intern(value) for value in values], np.int64)
        return self.codes[index][start:stop]

    def rows(self, start: int = 0, stop: int | None = None) -> list[tuple[Any, ...]]:
        return list(zip(*(self.column(i, start, stop) for i in range(len(self.columns))), strict=True))

    def to_arrow(self) -> pa.Table:
        """One Arrow column each."""
        arrays = [self.arrow_column(i) for i in range(len(self.columns))]
        return pa.table(arrays, names=[column.name for column in self.columns])

    def arrow_column(self, index: int, start: int = 0, stop: int | None = None) -> pa.Array:
        """As of `answer.arrow_columns`; what is pulled is EDN text."""
        if index in self.pulled:
            return edn_column(self.column(index, start, stop))
        codes = self.codes_of(index, start, self.size if stop is None else stop)
        return arrow_column(codes, self.values, self.columns[index].type)


def sorted_rows(
    codes: Sequence[Codes],
    values: Coder,
    keys: Sequence[tuple[int, bool]],
    first: int | None = None,
    cancel: Cancel | None = None,
) -> NDArray[np.int64]:
    """The row positions in order of `keys`: (column, descending), ties broken by the other columns in turn. The
    order is total: by type, then by value. With `first` at least so many rows from the front, so that the other
    columns are ranked, which costs most, only where they can matter."""
    if not codes or len(codes[0]) < 2:
        return np.arange(len(codes[0]) if codes else 0)
    cancel = cancel or Cancel()
    with Held(cancel.budget, _SORTING * len(codes[0]) * len(codes)):
        rows = np.arange(len(codes[0]))
        ranked: list[NDArray[np.int64]] = []
        for column, descending in keys:
            rank = ranks(codes[column], values, cancel)
            ranked.append(np.where(codes[column] == NIL, _LAST, -rank) if descending else rank)
        if ranked and first is not None and first < len(rows):
            rows = np.flatnonzero(ranked[0] <= np.partition(ranked[0], max(first - 1, 0))[max(first - 1, 0)])
            rows = rows[np.lexsort([rank[rows] for rank in reversed(ranked)])]
            last = rows[max(first - 1, 0)]
            tied = np.all([rank[rows] == rank[last] for rank in ranked], axis=0)
            rows = rows[: max(first, int(np.flatnonzero(tied)[-1]) + 1)]
        others = [i for i in range(len(codes)) if all(i != k for k, _ in keys)]
        ranked = [rank[rows] for rank in ranked] + [ranks(codes[i][rows], values, cancel) for i in others]
        return rows[np.lexsort(tuple(reversed(ranked)))]


def ranks(codes: Codes, values: Coder, cancel: Cancel) -> NDArray[np.int64]:
    """Per row a number that stands in the order of the numbers where its value stands in the total order; nil is
    last."""
    cancel.check()
    if not len(codes):
        return codes
    tags, there = tags_of(codes), codes != NIL
    tag = int(tags[there.argmax()])
    if (tags[there] == tag).all():
        if tag in _ORDERED_TAGS:
            return np.where(there, codes, _LAST)
        if tag == TAG_DOUBLE:
            bits = np.full(len(codes), _LAST)
            # -0.0 as 0.0, and one NaN for all: that of arithmetic has a sign.
            doubles = values.doubles(codes[there]) + 0.0
            doubles[np.isnan(doubles)] = np.nan
            bits[there] = doubles.view(np.int64)
            # Of negative numbers the bits go the other way.
            ordered: NDArray[np.int64] = bits ^ ((bits >> 63) & _LAST)
            return ordered
    else:
        tag = -1
    unique, inverse = np.unique(codes, return_inverse=True)
    rank = np.full(len(unique), _LAST)
    there = unique != NIL
    with Held(cancel.budget) as held:
        if tag == TAG_STRING and len(unique) <= _MOST_TEXTS:
            rank[there] = _text_ranks(unique[there], values, cancel, held)
        else:
            decoded = decoded_distinct(unique[there], values, cancel, held)
            places = np.empty(len(decoded), np.int64)
            key = decoded.__getitem__ if tag == TAG_STRING else lambda i: sort_key(decoded[i])
            places[in_order(range(len(decoded)), key, cancel.check)] = np.arange(len(decoded))
            rank[there] = places
    return rank[inverse]


def _text_ranks(codes: Codes, values: Coder, cancel: Cancel, held: Held) -> NDArray[np.int64]:
    """Those of distinct strings, by Arrow: the order of UTF-8 is that of code points."""
    pieces = []
    for start in range(0, len(codes), _TEXTS):
        cancel.check()
        pieces.append(values.to_arrow(codes[start : start + _TEXTS]).cast(pa.large_string()))
        held.grow(2 * pieces[-1].nbytes)
    import pyarrow.compute as pc

    ranked: NDArray[np.int64] = pc.rank(pa.chunked_array(pieces)).to_numpy().astype(np.int64)
    return ranked
