"""Constants of a query against a snapshot: idents, lookup refs and coerced values become codes.

Shared by the estimates and by the executor, which binds a plan to the snapshot it runs on.
"""

from __future__ import annotations

import difflib

from datalog.ast import Const, LookupRef
from datalog.errors import AdalogError, Code
from datalog.values import BigInt, Float, Keyword, type_name
from store.attribute import Attribute
from store.snapshot import Snapshot


def attribute_of(snapshot: Snapshot, term: Const) -> Attribute | None:
    """The attribute a constant names; None where the database has none of that name."""
    if isinstance(term.value, Keyword) or (isinstance(term.value, int) and not isinstance(term.value, bool)):
        return snapshot.attribute(term.value)
    raise AdalogError(
        Code.QUERY_INVALID,
        f"an attribute is a keyword such as :person/name, not the {type_name(term.value)} {term.value!r}",
        term.position,
    )


def unknown_attribute(snapshot: Snapshot, term: Const) -> AdalogError:
    """The refusal of an attribute that a strict schema does not declare, with the nearest name."""
    names = [str(attribute.ident) for attribute in snapshot.attributes()]
    near = difflib.get_close_matches(str(term.value), names, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return AdalogError(Code.UNKNOWN_ATTRIBUTE, f"no attribute {term.value} is declared{hint}", term.position)


def entity_code(snapshot: Snapshot, term: Const | LookupRef) -> int | None:
    """The entity id that a constant in an entity place means: a number, an ident or a lookup ref; None: no such."""
    if isinstance(term, LookupRef):
        assert isinstance(term.value, Const)
        return _looked_up(snapshot, term)
    value = term.value
    if type(value) is int:
        return value
    if isinstance(value, Keyword):
        return snapshot.entid(value)
    raise AdalogError(
        Code.QUERY_INVALID,
        f"an entity is a number, an ident such as :color/red or a lookup ref, not the {type_name(value)} {value!r}",
        term.position,
    )


def _looked_up(snapshot: Snapshot, term: LookupRef) -> int | None:
    assert isinstance(term.value, Const)
    attribute = attribute_of(snapshot, term.attribute)
    if attribute is None:
        return None
    try:
        return snapshot.entid((attribute.ident, coerce(attribute, term.value.value)))
    except AdalogError as error:
        raise AdalogError(error.code, error.message, error.position or term.position) from error


def coerce(attribute: Attribute, value: object) -> object:
    """A literal as the attribute's type, where nothing is lost."""
    kind = attribute.value_type
    if kind is None or type_name(value) == kind:
        return value
    if type(value) is int:
        if kind == "double" and int(float(value)) == value:
            return float(value)
        if kind == "float" and int(Float(value)) == value:
            return Float(value)
        if kind == "bigint":
            return BigInt(value)
        if kind == "bigdec":
            from decimal import Decimal

            return Decimal(value)
    if type(value) is float:
        if kind == "long" and value.is_integer() and abs(value) < 2**63:
            return int(value)
        if kind == "float":
            return Float(value)
    if isinstance(value, BigInt) and kind == "long" and -(2**63) <= value < 2**63:
        return int(value)
    return value


def value_code(snapshot: Snapshot, attribute: Attribute, term: Const | LookupRef) -> int | None:
    """The code that a constant in a value place means; None where the database does not know the value."""
    if attribute.value_type == "ref":
        if isinstance(term, LookupRef):
            return _looked_up(snapshot, term)
        if isinstance(term.value, Keyword):
            return snapshot.entid(term.value)
    if isinstance(term, LookupRef):
        assert isinstance(term.value, Const)
        return snapshot.codes.lookup((term.attribute.value, term.value.value))
    return snapshot.codes.lookup(coerce(attribute, term.value))
