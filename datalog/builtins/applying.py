"""`(apply + ?numbers)`: a built-in, named in the text, that is given what a collection holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adalog.datalog.builtins.builtin import Builtin, refuse, refuse_type, shown_call
from adalog.datalog.values import Symbol, Value, type_name

APPLY: Final = "apply"
_SPREAD: Final = ("tuple", "list", "set", "nil")


def may_be_applied(name: str, known: Mapping[str, Builtin]) -> bool:
    """Whether it is a built-in that takes nothing but values."""
    return name in known and not known[name].needs_database and name.rpartition("/")[2] != APPLY


def applying(known: Mapping[str, Builtin]) -> Builtin:
    """`apply` over these built-ins. The parser lets it be called with their names only."""

    def call(name: Symbol, *given: Value) -> Value:
        *first, collection = given
        if type_name(collection) not in _SPREAD:
            refuse_type(APPLY, (name, *given), collection, "a vector, a list or a set in the last place")
        builtin, args = known[name.name], (*first, *(collection or ()))
        if len(args) < builtin.min_args or (builtin.max_args is not None and len(args) > builtin.max_args):
            refuse(f"{shown_call(builtin.name, args)}: {builtin.name} does not take {len(args)} arguments")
        if builtin.nil_gives_nil and None in args:
            return None
        return builtin.call(*args)

    return Builtin(APPLY, 2, None, call)
