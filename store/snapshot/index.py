"""Raw datoms of a snapshot in the order of one of Datomic's four indexes, from any place in it on.

Rows are ordered by the column; values are decoded a page at a time, as they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np

from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code, Position, invalid_argument
from adalog.datalog.values import Keyword, sort_key
from adalog.store.tries.columns import Columns
from adalog.store.tries.signed import run_starts
from adalog.store.tries.trie import distinct
from adalog.store.values import layout
from adalog.store.values.arrays import CodeColumn, RowColumn
from adalog.store.values.attribute import TX_BASE, Attribute
from adalog.store.values.codes import Codes
from adalog.store.values.datom import Datom

_PAGE: Final = 1024

# Types whose Arrow columns sort as the dialect does.
_ARROW_ORDERED: Final = frozenset({layout.TAG_STRING, layout.TAG_DOUBLE, layout.TAG_INSTANT, layout.TAG_URI})


class IndexedView(Protocol):
    """What is read of a snapshot, as there."""

    codes: Codes

    def attribute(self, key: Keyword | int) -> Attribute | None: ...
    def attributes(self) -> tuple[Attribute, ...]: ...
    def attributes_of(self, entities: CodeColumn) -> tuple[Attribute, ...]: ...
    def columns(self, attribute: Attribute) -> Columns: ...
    def columns_of_entities(self, attribute: int, entities: CodeColumn) -> Columns: ...
    def entid(self, value: Any) -> int | None: ...
    def value_code(self, attribute: Attribute, value: Any) -> int | None: ...


@dataclass(frozen=True, eq=False)
class DatomSpan:
    """Datoms that follow each other in an index, as columns of codes. `a`: which of the `names` is a row's."""

    names: tuple[Keyword, ...]
    rows: Columns
    a: RowColumn
    codes: Codes

    def __len__(self) -> int:
        return len(self.rows)

    def cut(self, start: int, stop: int) -> DatomSpan:
        """Those from number `start` up to `stop`."""
        return DatomSpan(self.names, self.rows.take(slice(start, stop)), self.a[start:stop], self.codes)

    def datoms(self) -> list[Datom]:
        rows, names = self.rows, self.names
        values = self.codes.decode_many(rows.v)
        columns = (rows.e.tolist(), self.a.tolist(), values, rows.t.tolist(), rows.added.tolist())
        return [Datom(e, names[a], value, t, added) for e, a, value, t, added in zip(*columns, strict=True)]


def datom_spans(
    snapshot: IndexedView,
    index: str,
    components: Sequence[Any],
    start: int = 0,
    most: int | None = None,
    check: Callable[[], None] = lambda: None,
) -> Iterator[DatomSpan]:
    """Datoms of EAVT, AEVT, AVET or VAET in its order, without the first `start`, a page at a time; components fix
    its first places. most: how many will be read; None: all. Raises ARG_INVALID for another index or a component
    that is none, UNKNOWN_ATTRIBUTE for an unknown attribute.

    The work is that of the rows looked at where EAVT or AEVT is read, and that of whole attributes otherwise.
    `check` is called between steps and may raise.
    """
    if index not in ("EAVT", "AEVT", "AVET", "VAET"):
        raise invalid_argument(f"no index {index}; there are EAVT, AEVT, AVET and VAET")
    if len(components) > len(index):
        raise invalid_argument(f"{len(components)} components; an index has {len(index)} places")
    known = dict(zip(index, components, strict=False))
    attributes: Sequence[Attribute]
    if "A" in known:
        attributes = [_attribute(snapshot, known["A"], index.index("A"))]
    elif "E" in known:
        attributes = snapshot.attributes_of(_entities(snapshot, known["E"]))
    else:
        attributes = snapshot.attributes()
    if index == "VAET":
        attributes = [attribute for attribute in attributes if attribute.is_ref]
    read = _by_attribute if index in ("AEVT", "AVET") else _across
    return read(_Asked(snapshot, index, attributes, known, check), _Window(start, most))


@dataclass(frozen=True, slots=True)
class _Asked:
    snapshot: IndexedView
    index: str
    attributes: Sequence[Attribute]
    known: Mapping[str, Any]
    check: Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Window:
    """The rows that are looked at: from number `start` on, at most `most`."""

    start: int
    most: int | None

    def of(self, count: int) -> tuple[int, int]:
        """(from, to) of so many rows."""
        return min(self.start, count), count if self.most is None else min(count, self.start + self.most)

    def after(self, count: int) -> _Window:
        """What is left of it after so many rows."""
        first, end = self.of(count)
        return _Window(self.start - first, None if self.most is None else self.most - max(end - first, 0))


def _by_attribute(asked: _Asked, window: _Window) -> Iterator[DatomSpan]:
    codes, check = asked.snapshot.codes, asked.check
    for attribute in asked.attributes:
        if window.most == 0:
            return
        check()
        rows = _matching(asked.snapshot, attribute, asked.known)
        start, stop = window.of(len(rows))
        window = window.after(len(rows))
        if start == stop:
            continue
        a = np.zeros(len(rows), np.int64)
        refined = asked.index != "AVET"
        if not refined:
            rows = rows.take(np.lexsort((rows.t, rows.e, _ranks(rows.v, codes)))[start:stop])
            start, stop = 0, len(rows)
        yield from _pages((attribute.ident,), rows, a, codes, (start, stop), check, refined=refined)


def _across(asked: _Asked, window: _Window) -> Iterator[DatomSpan]:
    """All attributes together, in the order of entities or of values."""
    parts, refined = [], asked.index == "EAVT"
    for attribute in asked.attributes:
        asked.check()
        parts.append(_matching(asked.snapshot, attribute, asked.known))
    start, stop = window.of(sum(map(len, parts)))
    if start == stop:
        return
    if refined:
        first, end = _entity_of(parts, start), _entity_of(parts, stop - 1) + 1
        start, stop = (place - _rows_before(parts, first) for place in (start, stop))
        parts = [part.take(np.arange(*part.e.searchsorted((first, end)).tolist())) for part in parts]
    elif window.most is not None:
        values = np.concatenate([part.v for part in parts])
        first, end = np.partition(values, (start, stop - 1))[[start, stop - 1]].tolist()
        start, stop = (place - int(np.count_nonzero(values < first)) for place in (start, stop))
        parts = [part.take((part.v >= first) & (part.v <= end)) for part in parts]
    asked.check()
    rows = Columns.concat(parts)
    a = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    order = np.lexsort((rows.t, a, rows.e) if refined else (rows.t, rows.e, a, rows.v))
    names, codes = tuple(attribute.ident for attribute in asked.attributes), asked.snapshot.codes
    yield from _pages(names, rows.take(order), a[order], codes, (start, stop), asked.check, refined=refined)


def _entity_of(parts: Sequence[Columns], place: int) -> int:
    """The entity of row number `place` of all parts together, each of which is in the order of entities."""
    low = min(int(part.e[0]) for part in parts if len(part))
    high = max(int(part.e[-1]) for part in parts if len(part))
    while low < high:
        middle = (low + high + 1) // 2
        if _rows_before(parts, middle) <= place:
            low = middle
        else:
            high = middle - 1
    return low


def _rows_before(parts: Sequence[Columns], entity: int) -> int:
    return sum(int(part.e.searchsorted(entity)) for part in parts)


def _pages(
    names: tuple[Keyword, ...],
    rows: Columns,
    a: RowColumn,
    codes: Codes,
    window: tuple[int, int],
    check: Callable[[], None],
    *,
    refined: bool,
) -> Iterator[DatomSpan]:
    """The rows of the window in spans. refined: rows of one entity and attribute are still to be ordered by value,
    so that they are never in two."""
    start, stop = window
    bounds = np.append(np.arange(start, stop, _PAGE), stop)
    if refined:
        runs = np.append(np.flatnonzero(run_starts(rows.e, a)), len(rows))
        after = np.searchsorted(runs, bounds)
        bounds = distinct(runs[np.append(np.searchsorted(runs, bounds[:1], side="right") - 1, after)])
    for at, end in pairwise(bounds.tolist()):
        check()
        which = np.arange(at, end)
        if refined:
            which = at + _by_value(rows.take(which), a[at:end], codes)
            which = which[max(start - at, 0) : stop - at]
        if len(which):
            yield DatomSpan(names, rows.take(which), a[which], codes)


def _by_value(rows: Columns, a: RowColumn, codes: Codes) -> RowColumn:
    """The positions of rows in order of (entity, attribute), in the order of (entity, attribute, value, t)."""
    first = run_starts(rows.e, a)
    order, at = np.arange(len(rows)), np.flatnonzero(~(first & np.append(first[1:], True)))
    if len(at):
        values = map(sort_key, codes.decode_many(rows.v[at]))
        keys = list(zip(rows.e[at].tolist(), a[at].tolist(), values, rows.t[at].tolist(), strict=True))
        order[at] = at[sorted(range(len(at)), key=keys.__getitem__)]
    return order


def _attribute(snapshot: IndexedView, value: Any, number: int) -> Attribute:
    if not isinstance(value, Keyword | int):
        wrong = f"{write(value)} is no attribute; write a keyword such as :person/name"
        raise _wrong_component(Code.ARG_INVALID, wrong, number)
    attribute = snapshot.attribute(value)
    if attribute is None:
        raise _wrong_component(Code.UNKNOWN_ATTRIBUTE, f"no attribute {value}", number)
    return attribute


def _wrong_component(code: Code, message: str, number: int) -> AdalogError:
    place = f"components[{number}]"
    return AdalogError(code, f"{place}: {message}", Position(1, 1, place))


def _entities(snapshot: IndexedView, value: Any) -> CodeColumn:
    found = snapshot.entid(value)
    return np.array([] if found is None else [found], np.int64)


def _matching(snapshot: IndexedView, attribute: Attribute, known: Mapping[str, Any]) -> Columns:
    if "E" in known:
        rows = snapshot.columns_of_entities(attribute.id, _entities(snapshot, known["E"]))
    else:
        rows = snapshot.columns(attribute)
    if "V" in known:
        code = snapshot.value_code(attribute, known["V"])
        rows = rows.take(rows.v == code) if code is not None else rows.take(np.empty(0, np.int64))
    if "T" in known:
        t = known["T"]
        if type(t) is not int:
            wrong = f"{write(t)} is no transaction; write its number or its entity id"
            raise _wrong_component(Code.ARG_INVALID, wrong, len("EAV"))
        rows = rows.take(rows.t == (t - TX_BASE if t >= TX_BASE else t))
    return rows


def _ranks(v: CodeColumn, codes: Codes) -> RowColumn:
    """Numbers that order the values of one attribute as the dialect does."""
    tags = set(np.flatnonzero(np.bincount(layout.tags_of(v))).tolist())
    if tags <= {0}:
        return v
    known, where = np.unique(v, return_inverse=True)
    if len(tags) == 1 and tags <= _ARROW_ORDERED:
        import pyarrow.compute as pc

        order = pc.sort_indices(codes.to_arrow(known)).to_numpy()
    else:
        keys = list(map(sort_key, codes.decode_many(known)))
        order = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
    ranks = np.empty(len(known), np.int64)
    ranks[order] = np.arange(len(known))
    return ranks[where]
