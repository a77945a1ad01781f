"""Questions about one value: its type, its sign, its truth. Only those about numbers can fail."""

from __future__ import annotations

from adalog.datalog.builtins.arithmetic import of_number
from adalog.datalog.builtins.builtin import Builtin, passing_nil, refuse_type, total
from adalog.datalog.values import NUMERIC, Value, type_name

_NAMED = (
    "string",
    "bigint",
    "double",
    "keyword",
    "symbol",
    "boolean",
    "char",
    "uuid",
    "uri",
    "bytes",
    "duration",
    "nil",
    "list",
    "map",
)
_TYPES: dict[str, frozenset[str]] = {
    **{f"{name}?": frozenset({name}) for name in (*_NAMED, "set")},
    "number?": NUMERIC,
    "integer?": frozenset({"long", "bigint"}),
    "int?": frozenset({"long"}),
    "float?": frozenset({"double", "float"}),
    "decimal?": frozenset({"bigdec"}),
    "rational?": frozenset({"long", "bigint", "bigdec"}),
    "ident?": frozenset({"keyword", "symbol"}),
    "inst?": frozenset({"instant"}),
    "vector?": frozenset({"tuple"}),
    "sequential?": frozenset({"tuple", "list"}),
    "coll?": frozenset({"tuple", "list", "map", "set"}),
}


def _of_type(name: str, types: frozenset[str]) -> Builtin:
    return Builtin(name, 1, 1, lambda value: type_name(value) in types)


def _of_integer(name: str, remainder: int) -> Builtin:
    def call(value: Value) -> bool:
        if type_name(value) not in ("long", "bigint"):
            refuse_type(name, (value,), value, "a long or bigint")
        return bool(value % 2 == remainder)

    return Builtin(name, 1, 1, call)


TYPE_TESTS = (
    *total(
        *(_of_type(name, types) for name, types in _TYPES.items()),
        Builtin("any?", 1, 1, lambda value: True),
        Builtin("boolean", 1, 1, lambda value: value is not None and value is not False),
        Builtin("some?", 1, 1, lambda value: value is not None),
        Builtin("true?", 1, 1, lambda value: value is True),
        Builtin("false?", 1, 1, lambda value: value is False),
    ),
    *passing_nil(
        of_number("zero?", lambda value: bool(value == 0)),
        of_number("pos?", lambda value: bool(value > 0)),
        of_number("neg?", lambda value: bool(value < 0)),
        _of_integer("even?", 0),
        _of_integer("odd?", 1),
    ),
)
