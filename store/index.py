"""Raw datoms of a snapshot in the order of one of Datomic's four indexes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from datalog.edn_writer import write
from datalog.errors import AdalogError, Code
from datalog.values import Keyword, sort_key
from store.attribute import TX_BASE, Attribute
from store.datom import Datom
from store.relation import Columns
from store.trie import distinct

if TYPE_CHECKING:
    from store.snapshot import Snapshot


def datoms(snapshot: Snapshot, index: str, components: Sequence[Any]) -> Iterator[Datom]:
    """Datoms of EAVT, AEVT, AVET or VAET in its order; the components fix its first places.

    Raises ARG_INVALID for another index or too many components, UNKNOWN_ATTRIBUTE for an attribute that is none.
    """
    if index not in ("EAVT", "AEVT", "AVET", "VAET"):
        raise AdalogError(Code.ARG_INVALID, f"no index {index}; there are EAVT, AEVT, AVET and VAET")
    if len(components) > 4:
        raise AdalogError(Code.ARG_INVALID, f"{len(components)} components; an index has four places")
    given = dict(zip(index, components, strict=False))
    attributes: Sequence[Attribute] = snapshot.attributes()
    if "A" in given:
        attributes = [_attribute(snapshot, given["A"])]
    if index == "VAET":
        attributes = [attribute for attribute in attributes if attribute.is_ref]
    known = {place: given[place] for place in "EVT" if place in given}
    if index == "EAVT" and "E" not in given:
        return _every_entity(snapshot, attributes)
    if index == "VAET":
        return _by_referred(snapshot, attributes, known)
    return (
        datom
        for attribute in attributes
        for datom in _of_attribute(snapshot, attribute, _matching(snapshot, attribute, known), index)
    )


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
        entity = snapshot.entid(known["E"])
        start, stop = (
            np.searchsorted(rows.e, -1 if entity is None else entity, side) for side in ("left", "right")
        )
        rows = rows.take(np.arange(start, stop))
    if "V" in known:
        code = snapshot.value_code(attribute, known["V"])
        rows = rows.take(rows.v == code) if code is not None else rows.take(np.empty(0, np.int64))
    if "T" in known:
        t = known["T"]
        if type(t) is not int:
            raise AdalogError(Code.ARG_INVALID, f"{write(t)} is no transaction; write its number or its entity id")
        rows = rows.take(rows.t == (t - TX_BASE if t >= TX_BASE else t))
    return rows


def _of_attribute(snapshot: Snapshot, attribute: Attribute, rows: Columns, index: str) -> Iterator[Datom]:
    values = snapshot.codes.decode_many(rows.v)
    order: Sequence[int] | range = range(len(rows))
    if index == "AVET":
        order = sorted(order, key=lambda i: (sort_key(values[i]), rows.e[i], rows.t[i]))
    elif attribute.is_many or snapshot.is_history:
        order = sorted(order, key=lambda i: (rows.e[i], sort_key(values[i]), rows.t[i]))
    for i in order:
        yield Datom(int(rows.e[i]), attribute.ident, values[i], int(rows.t[i]), bool(rows.added[i]))


def _every_entity(snapshot: Snapshot, attributes: Sequence[Attribute]) -> Iterator[Datom]:
    parts = [snapshot.ev(attribute).keys for attribute in attributes]
    for entity in distinct(np.concatenate(parts)).tolist():
        for attribute in attributes:
            if len(snapshot.ev(attribute).row(entity)):
                yield from _of_attribute(snapshot, attribute, _matching(snapshot, attribute, {"E": entity}), "EAVT")


def _by_referred(snapshot: Snapshot, attributes: Sequence[Attribute], known: dict[str, Any]) -> Iterator[Datom]:
    found = [
        (int(v), attribute, int(e), int(t), bool(added))
        for attribute in attributes
        for rows in [_matching(snapshot, attribute, known)]
        for e, v, t, added in zip(rows.e, rows.v, rows.t, rows.added, strict=True)
    ]
    found.sort(key=lambda row: (row[0], row[1].id, row[2], row[3]))
    for v, attribute, e, t, added in found:
        yield Datom(e, attribute.ident, v, t, added)
