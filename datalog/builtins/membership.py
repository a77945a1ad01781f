"""Tests of a value against several others, or against a range."""

from __future__ import annotations

from adalog.datalog.builtins.builtin import Builtin, refuse_type, total
from adalog.datalog.builtins.comparison import same_value
from adalog.datalog.values import Value, compare, type_name

_MEMBERS = frozenset({"tuple", "list", "set"})


def _is_member(name: str, value: Value, collection: Value) -> bool:
    """Whether one of the collection's values is `==` to this one."""
    if type_name(collection) not in _MEMBERS:
        wanted = f"a vector, a list or a set in second place, as in ({name} ?x [1 2 3])"
        refuse_type(name, (value, collection), collection, wanted)
    return any(same_value(value, member) for member in collection)


def _between(value: Value, low: Value, high: Value) -> bool:
    """Both ends belong to the range; false between values with no common order."""
    return compare(low, value) in (-1, 0) and compare(value, high) in (-1, 0)


MEMBERSHIP = (
    # Comparisons with nil are false, of either sense.
    Builtin("in", 2, 2, lambda value, among: _is_member("in", value, among) and value is not None),
    Builtin("not-in", 2, 2, lambda value, among: not _is_member("not-in", value, among) and value is not None),
    *total(Builtin("between", 3, 3, _between)),
)
