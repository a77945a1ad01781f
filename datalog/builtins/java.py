"""Methods of Java that queries of Clojure's databases call, `(.startsWith ?name "A")`: names of built-ins.

An instant's parts are those of the built-ins: years as they are written, months from 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adalog.datalog.builtins.builtin import Builtin
from adalog.datalog.values import Value

_METHODS: Final = {
    "starts-with?": "startsWith",
    "ends-with?": "endsWith",
    "includes?": "contains",
    "count": "length size",
    "upper-case": "toUpperCase",
    "lower-case": "toLowerCase",
    "trim": "trim strip",
    "blank?": "isBlank",
    "empty?": "isEmpty",
    "subs": "substring",
    "replace": "replace",
    "=": "equals",
    "str": "toString concat",
    "long": "longValue intValue",
    "double": "doubleValue",
    "compare": "compareTo",
    "inst-ms": "getTime toEpochMilli",
    "before?": "before isBefore",
    "after?": "after isAfter",
    "year": "getYear",
    "month": "getMonth getMonthValue",
    "day": "getDayOfMonth getDate",
    "hour": "getHour getHours",
    "minute": "getMinute getMinutes",
    "second": "getSecond getSeconds",
}


def _turned(known: Builtin) -> Builtin:
    """A method of a text, where the built-in takes the pattern first."""

    def call(text: Value, pattern: Value) -> Value:
        return known.call(pattern, text)

    return Builtin(known.name, 2, 2, call)


def java_methods(known: Mapping[str, Builtin]) -> dict[str, Builtin]:
    methods = {f".{name}": known[own] for own, names in _METHODS.items() for name in names.split()}
    return methods | {".matches": _turned(known["re-matches"]), "java.util.Arrays/equals": known["="]}
