"""Constants of a query against a snapshot: idents, lookup refs and coerced values become codes.

Shared by the estimates and by the executor, which binds a plan to the snapshot it runs on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adalog.datalog.ast import Const, LookupRef
from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword, type_name
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import Attribute
from adalog.store.values.scalars import lookup_ref_meant


def attribute_of(snapshot: Snapshot, term: Const) -> Attribute | None:
    """The attribute a constant names; None where the database has none of that name."""
    if isinstance(term.value, Keyword) or (isinstance(term.value, int) and not isinstance(term.value, bool)):
        return snapshot.attribute(term.value)
    given = f"{type_name(term.value)} {write(term.value)}"
    message = f"an attribute is a keyword such as :person/name, not the {given}"
    raise AdalogError(Code.QUERY_INVALID, message, term.position)


def unknown_attribute(snapshot: Snapshot, term: Const) -> AdalogError:
    """The refusal of an attribute that a strict schema does not declare, with the nearest name."""
    hint = snapshot.schema.names.hint(term.value) if isinstance(term.value, Keyword) else ""
    return AdalogError(Code.UNKNOWN_ATTRIBUTE, f"no attribute {term.value} is declared{hint}", term.position)


def entity_code(snapshot: Snapshot, term: Const | LookupRef) -> int | None:
    """The entity id that a constant in an entity place means: a number, an ident or a lookup ref; None: no such."""
    value = plain_value(term)
    if type(value) is int:
        return value
    if isinstance(term, LookupRef) or isinstance(value, Keyword):
        return _placed(term, lambda: snapshot.entid(value))
    meant = lookup_ref_meant(value)
    hint = "" if meant is None else f"; write {write(meant)}"
    message = f"an entity is a number, an ident or a lookup ref, not the {type_name(value)} {write(value)}{hint}"
    raise AdalogError(Code.QUERY_INVALID, message, term.position)


def value_code(snapshot: Snapshot, attribute: Attribute, term: Const | LookupRef) -> int | None:
    """The code that a constant in a value place means; None where the database does not know the value."""
    return _placed(term, lambda: snapshot.value_code(attribute, plain_value(term)))


def plain_value(term: Const | LookupRef) -> Any:
    """The term as the value it is written as: a lookup ref is a vector of two."""
    if isinstance(term, LookupRef):
        assert isinstance(term.value, Const)
        return (term.attribute.value, term.value.value)
    return term.value


def _placed(term: Const | LookupRef, find: Callable[[], int | None]) -> int | None:
    try:
        return find()
    except AdalogError as error:
        # In an argument it would be ARG_INVALID; here the query's own text is at fault.
        code = Code.QUERY_INVALID if error.code is Code.ARG_INVALID else error.code
        raise AdalogError(code, error.message, error.position or term.position) from error
