"""Many datoms as columns: checked and folded by the column, never one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.datalog.values import Keyword
from adalog.store.snapshot.free_ids import ids_in_columns
from adalog.store.state.head import Head
from adalog.store.transact import predicates
from adalog.store.tries.signed import run_starts
from adalog.store.values.arrays import Int64s
from adalog.store.values.attribute import SCHEMA_BASE, Attribute
from adalog.store.values.changes import BulkColumn
from adalog.store.values.coercion import asserted, coerced_tuple
from adalog.store.values.schema import item_types

# Per attribute the entities, and their values: numpy or Arrow columns, or a sequence of EDN values.
BulkData = Mapping[Keyword, tuple[Int64s, "NDArray[Any] | pa.Array | Sequence[Any]"]]

_ARROW_TYPES = {
    "long": pa.int64(),
    "string": pa.large_string(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "instant": pa.timestamp("ms", "UTC"),
}


def columns(data: BulkData, head: Head) -> list[BulkColumn]:
    """The columns as codes, each row a datom that does not hold yet.

    Raises UNKNOWN_ATTRIBUTE for an attribute that is not declared, TX_INVALID for values of another type,
    TX_CONFLICT for a second value of a cardinality-one attribute, UNIQUE_CONFLICT for a value taken.
    """
    result = []
    for ident, (entities, values) in data.items():
        attribute = head.schema.get(ident)
        if attribute is None or attribute.kind.value_type is None:
            raise AdalogError(
                Code.UNKNOWN_ATTRIBUTE, f"no attribute {ident} with a type; a bulk load declares what it loads"
            )
        _check_kind(attribute, head)
        e = np.ascontiguousarray(entities, np.int64)
        v = _codes_of(attribute, values, head)
        if len(e) != len(v):
            raise invalid_argument(f"{ident} has {len(e)} entities and {len(v)} values")
        _check_ids(attribute, e)
        if attribute.is_ref:
            _check_ids(attribute, v)
        e, v = _fresh(attribute, e, v, head)
        _check(attribute, e, v, head)
        if attribute.kind.preds:
            predicates.check_column(attribute, e, v, head)
        result.append(BulkColumn(attribute.id, e, v))
    return result


def ids(columns: Iterable[BulkColumn], head: Head) -> NDArray[np.int64]:
    """Every entity in the columns, and every one that they refer to, in order and each once."""
    return ids_in_columns(columns, head.schema, head.codes)


def _check_kind(attribute: Attribute, head: Head) -> None:
    """What needs the rest of its entity to be looked at is for `transact`."""
    for composite in head.schema.all():
        if attribute.ident in (composite.ident, *(composite.kind.tuple_attrs or ())) and composite.kind.tuple_attrs:
            raise AdalogError(
                Code.TX_INVALID,
                f"{attribute.ident} is part of the composite {composite.ident}, which a bulk load does not keep; "
                "declare the composite after loading",
            )


def _codes_of(attribute: Attribute, values: Any, head: Head) -> Int64s:
    try:
        if attribute.is_ref:
            return np.ascontiguousarray(values, np.int64)
        arrow_type = _ARROW_TYPES.get(str(attribute.kind.value_type))
        if arrow_type is not None and isinstance(values, np.ndarray | pa.Array | pa.ChunkedArray):
            # Much text in a numpy array becomes several chunks, too.
            array = values if isinstance(values, pa.ChunkedArray) else pa.array(values)
            array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
            if not pa.types.is_dictionary(array.type):
                array = array.cast(arrow_type)
            return head.codes.intern_arrow(array)
        items = values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else list(values)
        return np.array([_code(attribute, item, head) for item in items], np.int64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, TypeError) as error:
        raise AdalogError(
            Code.TX_INVALID, f"the values of {attribute.ident} are not {attribute.kind.value_type}s: {error}"
        ) from None


def _code(attribute: Attribute, value: Any, head: Head) -> int:
    types = item_types(attribute, len(value), head.schema.by_ident) if type(value) is tuple else None
    converted = (
        asserted(str(attribute.kind.value_type), value) if types is None else coerced_tuple(types, value, asserted)
    )
    if converted is None:
        raise ValueError(f"{write(value)} among them")
    return head.codes.intern(converted)


def _check_ids(attribute: Attribute, ids: Int64s) -> None:
    if len(ids) and (ids.min() < 0 or ids.max() >= SCHEMA_BASE):
        wrong = ids[(ids < 0) | (ids >= SCHEMA_BASE)][0]
        raise AdalogError(Code.TX_INVALID, f"{attribute.ident} is given the entity {wrong}; ids are 0 to 2^41 - 1")


def _fresh(attribute: Attribute, e: Int64s, v: Int64s, head: Head) -> tuple[Int64s, Int64s]:
    """The pairs in order, each once, without those that hold already."""
    if not _is_ordered(e, v):
        order = np.lexsort((v, e))
        e, v = e[order], v[order]
        distinct = run_starts(e, v)
        e, v = e[distinct], v[distinct]
    live = head.live(attribute.id)
    if live.relation.count or len(live.delta):
        new = np.fromiter(
            (not live.holds(*pair) for pair in zip(e.tolist(), v.tolist(), strict=True)), np.bool_, len(e)
        )
        e, v = e[new], v[new]
    return e, v


def _is_ordered(e: Int64s, v: Int64s) -> bool:
    rising = (e[1:] > e[:-1]) | ((e[1:] == e[:-1]) & (v[1:] > v[:-1]))
    return bool(rising.all())


def _check(attribute: Attribute, e: Int64s, v: Int64s, head: Head) -> None:
    live = head.live(attribute.id)
    has_data = bool(live.relation.count or len(live.delta))
    if not attribute.is_many:
        twice = np.flatnonzero(e[1:] == e[:-1])
        holders = [int(e[twice[0]])] if len(twice) else []
        if has_data:
            holders += [entity for entity in e.tolist() if live.values(entity)][:1]
        if holders:
            raise AdalogError(
                Code.TX_CONFLICT, f"{attribute.ident} has cardinality one, but entity {holders[0]} would have two"
            )
    if attribute.kind.unique is not None:
        ordered = np.sort(v)
        taken = ordered[1:][ordered[1:] == ordered[:-1]].tolist()
        if has_data:
            taken += [code for code in v.tolist() if live.entities(code)][:1]
        if taken:
            raise AdalogError(
                Code.UNIQUE_CONFLICT,
                f"{attribute.ident} is unique, but several entities would have "
                f"{taken[0] if attribute.is_ref else write(head.codes.decode(taken[0]))}",
            )
