"""Equality and order: `=` is typed, `==` and `<` compare numbers by value, and nothing here ever fails.

Comparisons with nil are false, `not=` too; only `nil?` tests it, and `compare` gives it a place.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from adalog.datalog.builtins.builtin import Builtin, refuse_type, total
from adalog.datalog.values import NUMERIC, Value, compare, identity, type_name


def equal(first: Value, *others: Value) -> bool:
    key = identity(first)
    return all(identity(other) == key for other in others)


def same_value(left: Value, right: Value) -> bool:
    """Numbers by value; anything else as `=` has it, which is what XTDB's `==` means by it."""
    if type_name(left) in NUMERIC and type_name(right) in NUMERIC:
        return compare(left, right) == 0
    return identity(left) == identity(right)


def _equality(name: str, holds: Callable[..., bool]) -> Builtin:
    """A built-in that is false where one of several values is nil."""
    return Builtin(name, 1, None, lambda *values: holds(*values) and (None not in values or len(values) == 1))


def _ordered(name: str, *orders: int) -> Builtin:
    """A built-in that holds where each value and the next compare to one of these."""
    return Builtin(
        name, 1, None, lambda *values: all(compare(left, right) in orders for left, right in pairwise(values))
    )


def _compare(left: Value, right: Value) -> int:
    if left is None or right is None:
        return int(left is not None) - int(right is not None)
    order = compare(left, right)
    if order is None:
        wanted = f"two values with a common order; the other is {type_name(left)}"
        refuse_type("compare", (left, right), right, wanted)
    return order


COMPARISONS = (
    *total(
        _equality("=", equal),
        _equality("==", lambda first, *others: all(same_value(first, other) for other in others)),
        *(_equality(name, lambda *values: not equal(*values)) for name in ("not=", "!=")),
        _ordered("<", -1),
        _ordered(">", 1),
        _ordered("<=", -1, 0),
        _ordered(">=", 0, 1),
    ),
    Builtin("compare", 2, 2, _compare),
)
