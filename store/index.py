"""Raw datoms of a snapshot in the order of one of Datomic's four indexes, from any place in it on.

Rows are ordered by the column; values are decoded a page at a time, as they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc

from datalog.edn_writer import write
from datalog.errors import AdalogError, Code
from datalog.values import Keyword, sort_key
from store import layout
from store.attribute import TX_BASE, Attribute
from store.codes import Codes
from store.datom import Datom
from store.relation import Columns, Int64s
from store.trie import distinct

if TYPE_CHECKING:
    from store.snapshot import Snapshot

_PAGE: Final = 1024

# Types whose Arrow columns sort as the dialect does.
_ARROW_ORDERED: Final = frozenset({layout.TAG_STRING, layout.TAG_DOUBLE, layout.TAG_INSTANT, layout.TAG_URI})


def datoms(snapshot: Snapshot, index: str, components: Sequence[Any], start: int) -> Iterator[Datom]:
    """Datoms of EAVT, AEVT, AVET or VAET in its order, without the first `start`; components fix its first places.

    Raises ARG_INVALID for another index or a component that is none, UNKNOWN_ATTRIBUTE for an unknown attribute.
    """
    if index not in ("EAVT", "AEVT", "AVET", "VAET"):
        raise AdalogError(Code.ARG_INVALID, f"no index {index}; there are EAVT, AEVT, AVET and VAET")
    if len(components) > len(index):
        raise AdalogError(Code.ARG_INVALID, f"{len(components)} components; an index has {len(index)} places")
    known = dict(zip(index, components, strict=False))
    attributes: Sequence[Attribute] = [_attribute(snapshot, known["A"])] if "A" in known else snapshot.attributes()
    if index == "VAET":
        attributes = [attribute for attribute in attributes if attribute.is_ref]
    return _from(start, _blocks(snapshot, index, attributes, known), snapshot.codes)


def _from(start: int, blocks: Iterator[_Block], codes: Codes) -> Iterator[Datom]:
    for block in blocks:
        if start < len(block.rows):
            yield from block.datoms(start, codes)
        start = max(start - len(block.rows), 0)


def _blocks(
    snapshot: Snapshot, index: str, attributes: Sequence[Attribute], known: dict[str, Any]
) -> Iterator[_Block]:
    """What the index consists of: a block for each attribute where it begins with A, else one of all."""
    if index in ("AEVT", "AVET"):
        for attribute in attributes:
            rows = _matching(snapshot, attribute, known)
            a = np.zeros(len(rows), np.int64)
            if index == "AVET":
                order = np.lexsort((rows.t, rows.e, _ranks(rows.v, snapshot.codes)))
                yield _Block((attribute.ident,), rows.take(order), a, refined=False)
            else:
                yield _Block((attribute.ident,), rows, a, refined=True)
        return
    parts = [_matching(snapshot, attribute, known) for attribute in attributes]
    if not parts:
        return
    rows = Columns.concat(parts)
    a = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    order = np.lexsort((rows.t, a, rows.e) if index == "EAVT" else (rows.t, rows.e, a, rows.v))
    names = tuple(attribute.ident for attribute in attributes)
    yield _Block(names, rows.take(order), a[order], refined=index == "EAVT")


@dataclass(frozen=True, eq=False)
class _Block:
    """Rows in order, each with the place of its attribute's name. refined: rows of one entity and attribute are
    still to be ordered by value.
    """

    names: tuple[Keyword, ...]
    rows: Columns
    a: Int64s
    refined: bool

    def datoms(self, start: int, codes: Codes) -> Iterator[Datom]:
        """From row number `start` on."""
        rows = self.rows
        for at, end in self._pages():
            if end <= start:
                continue
            values = codes.decode_many(rows.v[at:end])
            order: Sequence[int] = range(end - at)
            if self.refined:
                columns = (rows.e[at:end].tolist(), self.a[at:end].tolist(), values, rows.t[at:end].tolist())
                keys = [(e, a, sort_key(value), t) for e, a, value, t in zip(*columns, strict=True)]
                order = sorted(order, key=keys.__getitem__)
            for i in order[max(start - at, 0) :]:
                row = at + i
                name = self.names[self.a[row]]
                yield Datom(int(rows.e[row]), name, values[i], int(rows.t[row]), bool(rows.added[row]))

    def _pages(self) -> Iterator[tuple[int, int]]:
        """Where pages begin and end; rows that are still to be ordered are never in two."""
        count = len(self.rows)
        bounds = np.append(np.arange(0, count, _PAGE), count)
        if self.refined:
            same = (self.rows.e[1:] == self.rows.e[:-1]) & (self.a[1:] == self.a[:-1])
            runs = np.concatenate(([0], np.flatnonzero(~same) + 1, [count]))
            bounds = distinct(runs[np.searchsorted(runs, bounds)])
        return pairwise(bounds.tolist())


def _attribute(snapshot: Snapshot, value: Any) -> Attribute:
    if not isinstance(value, Keyword | int):
        raise AdalogError(Code.ARG_INVALID, f"{write(value)} is no attribute; write a keyword such as :person/name")
    attribute = snapshot.attribute(value)
    if attribute is None:
        raise AdalogError(Code.UNKNOWN_ATTRIBUTE, f"no attribute {value}")
    return attribute


def _matching(snapshot: Snapshot, attribute: Attribute, known: dict[str, Any]) -> Columns:
    rows = snapshot.columns(attribute)
    if "E" in known:
        found = snapshot.entid(known["E"])
        entity = -1 if found is None else found
        rows = rows.take(np.arange(*(int(rows.e.searchsorted(bound)) for bound in (entity, entity + 1))))
    if "V" in known:
        code = snapshot.value_code(attribute, known["V"])
        rows = rows.take(rows.v == code) if code is not None else rows.take(np.empty(0, np.int64))
    if "T" in known:
        t = known["T"]
        if type(t) is not int:
            raise AdalogError(Code.ARG_INVALID, f"{write(t)} is no transaction; write its number or its entity id")
        rows = rows.take(rows.t == (t - TX_BASE if t >= TX_BASE else t))
    return rows


def _ranks(v: Int64s, codes: Codes) -> Int64s:
    """Numbers that order the values of one attribute as the dialect does."""
    tags = set(np.flatnonzero(np.bincount(codes.tags(v))).tolist())
    if tags <= {0}:
        return v
    known, where = np.unique(v, return_inverse=True)
    if len(tags) == 1 and tags <= _ARROW_ORDERED:
        order = pc.sort_indices(codes.to_arrow(known)).to_numpy()
    else:
        keys = list(map(sort_key, codes.decode_many(known)))
        order = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
    ranks = np.empty(len(known), np.int64)
    ranks[order] = np.arange(len(known))
    return ranks[where]
