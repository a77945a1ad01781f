"""Questions about one value: its type, its sign, its truth. Only those about numbers can fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adalog.datalog.builtins.arithmetic import check_numbers
from adalog.datalog.builtins.builtin import Builtin, refuse_type
from adalog.datalog.values import NUMERIC, Value, type_name

_TYPES: dict[str, frozenset[str]] = {
    "string?": frozenset({"string"}),
    "number?": NUMERIC,
    "integer?": frozenset({"long", "bigint"}),
    "int?": frozenset({"long"}),
    "bigint?": frozenset({"bigint"}),
    "double?": frozenset({"double"}),
    "float?": frozenset({"double", "float"}),
    "decimal?": frozenset({"bigdec"}),
    "rational?": frozenset({"long", "bigint", "bigdec"}),
    "keyword?": frozenset({"keyword"}),
    "symbol?": frozenset({"symbol"}),
    "ident?": frozenset({"keyword", "symbol"}),
    "boolean?": frozenset({"boolean"}),
    "char?": frozenset({"char"}),
    "inst?": frozenset({"instant"}),
    "uuid?": frozenset({"uuid"}),
    "uri?": frozenset({"uri"}),
    "bytes?": frozenset({"bytes"}),
    "nil?": frozenset({"nil"}),
    "vector?": frozenset({"tuple"}),
    "list?": frozenset({"list"}),
    "sequential?": frozenset({"tuple", "list"}),
    "map?": frozenset({"map"}),
    "set?": frozenset({"set"}),
    "coll?": frozenset({"tuple", "list", "map", "set"}),
}


def _of_type(name: str, types: frozenset[str]) -> Builtin:
    return Builtin(name, 1, 1, lambda value: type_name(value) in types)


def _of_number(name: str, holds: Callable[[Any], bool]) -> Builtin:
    def call(value: Value) -> bool:
        check_numbers(name, (value,))
        return holds(value)

    return Builtin(name, 1, 1, call)


def _of_integer(name: str, remainder: int) -> Builtin:
    def call(value: Value) -> bool:
        if type_name(value) not in ("long", "bigint"):
            refuse_type(name, (value,), value, "a long or bigint")
        return bool(value % 2 == remainder)

    return Builtin(name, 1, 1, call)


TYPE_TESTS = (
    *(_of_type(name, types) for name, types in _TYPES.items()),
    Builtin("some?", 1, 1, lambda value: value is not None),
    Builtin("true?", 1, 1, lambda value: value is True),
    Builtin("false?", 1, 1, lambda value: value is False),
    _of_number("zero?", lambda value: bool(value == 0)),
    _of_number("pos?", lambda value: bool(value > 0)),
    _of_number("neg?", lambda value: bool(value < 0)),
    _of_integer("even?", 0),
    _of_integer("odd?", 1),
)
