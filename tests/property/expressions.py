"""Random nested expressions over values of all types, and what they mean.

The interpreter knows nothing of the engine: it takes the text as EDN and goes through it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from random import Random
from typing import Any

from adalog.datalog.builtins import BUILTINS
from adalog.datalog.edn import read
from adalog.datalog.values import EdnList, Symbol
from tests.property.expression_functions import FUNCTIONS, OF_DATABASES, SIGNATURES
from tests.property.expression_meaning import holds, same
from tests.property.expression_values import CONSTANTS, KINDS, VALUES

_BY_KIND: dict[str, list[tuple[str, str]]] = defaultdict(list)
for _gives, _name, _takes in SIGNATURES:
    _BY_KIND[_gives].append((_name, _takes))
_SPELLINGS: dict[str, list[str]] = defaultdict(list)
for _spelling, _built_in in BUILTINS.items():
    # `.matches` takes the arguments of `re-matches` the other way round, and `clojure.core//` is no symbol here.
    if BUILTINS[_built_in.name] is _built_in and not _spelling.endswith("//"):
        _SPELLINGS[_built_in.name].append(_spelling)


# Generating


def expression(rng: Random, depth: int, kind: str = "any") -> str:
    if kind == "any":
        kind = rng.choice((*KINDS, "number", "text", "other", "any"))
    if depth <= 0 or rng.random() < 0.15 or kind not in _BY_KIND:
        return _leaf(rng, kind)
    if rng.random() < 0.15:
        return _conditional(rng, depth, kind)
    functions = _BY_KIND[kind]
    if kind == "number" and rng.random() < 0.5:
        functions = _BY_KIND[kind][:4]  # plain arithmetic
    name, takes = rng.choice(functions)
    given = ["$"] if name in OF_DATABASES else []
    given += [expression(rng, depth - 1, each) for each in _arguments(rng, takes)]
    return f"({name if rng.random() < 0.9 else rng.choice(_SPELLINGS[name])} {' '.join(given)})"


def _arguments(rng: Random, takes: str) -> list[str]:
    kinds: list[str] = []
    for each in takes.split():
        kind = each.rstrip("?*")
        least, most = {"?": (0, 1), "*": (0, 2)}.get(each[-1], (1, 1))
        kinds += [kind] * rng.randint(least, most)
    return [rng.choice((*KINDS, "other")) if rng.random() < 0.01 else kind for kind in kinds]


def _leaf(rng: Random, kind: str) -> str:
    if rng.random() < 0.01:
        kind = rng.choice((*KINDS, "other"))
    if kind == "any":
        kind = rng.choice((*KINDS, "other"))
    return rng.choice((*KINDS.get(kind, ()) * 3, *CONSTANTS[kind]))


def call(rng: Random, depth: int, kind: str = "any") -> str:
    """An expression that is a call."""
    text = expression(rng, depth, kind)
    return text if text.startswith("(") else f"(identity {text})"


def condition(rng: Random, depth: int) -> str:
    return call(rng, depth, "boolean")


def call_of_rows(rng: Random, depth: int, kind: str = "any") -> str:
    """A call that does not look into a database: one as it may stand in an aggregate."""
    while "$" in (text := call(rng, depth, kind)):
        pass
    return text


def without_aggregates(rng: Random, depth: int, kind: str = "any") -> str:
    """A call as it may stand in `:find` outside aggregates, where some names are those of aggregates."""
    while True:
        text = call_of_rows(rng, depth, kind)
        if not re.search(r"^\(\S+ \)|\([\w./]*\b(?:min|max|count|size|length) ", text):
            return text


def _conditional(rng: Random, depth: int, kind: str) -> str:
    def value() -> str:
        return expression(rng, depth - 1, kind)

    def test() -> str:
        return expression(rng, depth - 1, "boolean")

    match rng.randrange(4):
        case 0:
            return f"(if {test()} {value()}{f' {value()}' if rng.random() < 0.8 else ''})"
        case 1:
            pairs = (f"{test()} {value()}" for _ in range(rng.randint(1, 2)))
            return f"(cond {' '.join(pairs)}{f' :else {value()}' if rng.random() < 0.6 else ''})"
        case 2:
            tests = ("1", "0.0", "(0 7)", "(2 3 nil)", "-3", '("a" :a)', "true", '#inst "1970-01-01"', "[]")
            pairs = (f"{rng.choice(tests)} {value()}" for _ in range(rng.randint(1, 2)))
            subject = expression(rng, depth - 1, rng.choice((kind, "any")))
            return f"(case {subject} {' '.join(pairs)}{f' {value()}' if rng.random() < 0.6 else ''})"
        case _:
            values = (value() for _ in range(rng.randint(1, 3)))
            return f"({rng.choice(('coalesce', 'and', 'or'))} {' '.join(values)})"


def row(rng: Random, nil: float = 0.1) -> dict[str, str]:
    """EDN texts of values for the variables."""
    return {name: "nil" if rng.random() < nil else rng.choice(texts) for name, texts in VALUES.items()}


# Meaning


def value_of(text: str, given: Mapping[str, Any]) -> Any:
    """Raises Refused, and Unknown for what the model does not say."""
    return _value(read(text), given)


def _value(form: Any, given: Mapping[str, Any]) -> Any:
    if isinstance(form, Symbol):
        return given[form.name]
    if not isinstance(form, EdnList):
        return form
    name, *args = form[0].name, *form[1:]
    name = BUILTINS[name].name if name in BUILTINS else name
    match name:
        case "if":
            return _cond([args[0], args[1], True, args[2] if len(args) > 2 else None], given)
        case "cond":
            return _cond(args, given)
        case "case":
            subject, rest = _value(args[0], given), args[1:]
            for test, value in zip(rest[::2], rest[1::2], strict=False):
                if any(same(subject, each) for each in (test if isinstance(test, EdnList) else (test,))):
                    return _value(value, given)
            return _value(rest[-1], given) if len(rest) % 2 else None
        case "coalesce" | "and" | "or":
            value: Any = True if name == "and" else None
            for each in args:
                value = _value(each, given)
                if value is not None if name == "coalesce" else holds(value) == (name == "or"):
                    break
            return value
    return FUNCTIONS[name].value([_value(each, given) for each in args if each != Symbol("$")])


def _cond(pairs: list[Any], given: Mapping[str, Any]) -> Any:
    for test, value in zip(pairs[::2], pairs[1::2], strict=True):
        if holds(_value(test, given)):
            return _value(value, given)
    return None
