"""Models of relations that others published, with their facts and what they expect of them, as lines of text.

    model                                       relations of a type, one a line, until the first case
    document viewer (or [user group#member] (from parent viewer))
    ? small x < 100                             a condition of facts

    # a case
    document:1 viewer user:anne                 a fact: object, relation, subject
    document:1 viewer user:beth ?small          a fact under a condition, perhaps with values for it
    + document:1 viewer user:anne               expected of a check; perhaps with values that are told
    - document:1 viewer user:beth {"x": 200}
    = document viewer user:anne : document:1    expected of a list

A relation is `[subjects]` that facts name, another relation, `(or …)`, `(and …)`, `(minus …)`, `nil`, `(from parent
relation)` of one that the object refers to, or `(all parent relation)` of every one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
Name = tuple[str, str]
"""A type and a relation."""
Expression = str | list[str] | tuple[Any, ...]
"""Another relation; subjects; an operation and what it is of."""


@dataclass(frozen=True)
class Model:
    relations: dict[Name, Expression]
    conditions: dict[str, str]


@dataclass(frozen=True)
class Fact:
    object: str
    relation: str
    subject: str
    condition: str | None
    given: dict[str, Any]


@dataclass(frozen=True)
class Expected:
    """`objects`: those of a list; else it is a check. `told`: values for conditions."""

    relation: Name
    subject: str
    told: str
    object: str = ""
    holds: bool = True
    objects: frozenset[str] | None = None

    def is_met_by(self, found: frozenset[str]) -> bool:
        """Whether these objects, all that the subject has the relation to, are as expected."""
        return (self.object in found) == self.holds if self.objects is None else found == self.objects


@dataclass
class Case:
    name: str
    model: Model
    facts: list[Fact] = field(default_factory=list)
    expected: list[Expected] = field(default_factory=list)


def type_of(name: str) -> str:
    return name.partition(":")[0]


def cases(file: str) -> Iterator[Case]:
    model, case = Model({}, {}), None
    for line in (FOLDER / file).read_text("utf-8").splitlines():
        if line.startswith((";", "model")) or not line:
            if line == "model":
                if case is not None:
                    yield case
                model, case = Model({}, {}), None
        elif line.startswith("# "):
            if case is not None:
                yield case
            case = Case(line[2:], model)
        elif case is None:
            _read_relation(line, model)
        elif line[0] in "+-=":
            case.expected.append(_expected(line))
        else:
            case.facts.append(_fact(line))
    assert case is not None
    yield case


def _read_relation(line: str, model: Model) -> None:
    kind, name, text = line.split(" ", 2)
    if kind == "?":
        model.conditions[name] = text
    else:
        model.relations[kind, name] = _expression(iter(re.findall(r"[()]|\[[^]]*]|[^\s()]+", text)))


def _expression(tokens: Iterator[str]) -> Expression:
    first = next(tokens)
    if first.startswith("["):
        return first[1:-1].split()
    if first != "(":
        return first
    parts: list[Any] = []
    while (part := _expression(tokens)) != ")":
        parts.append(part)
    return tuple(parts)


def _fact(line: str) -> Fact:
    subject, _, condition = line.partition(" ?")
    name, _, given = condition.partition(" ")
    return Fact(*subject.split(" "), name or None, json.loads(given or "{}"))  # type: ignore[arg-type, misc]


def _expected(line: str) -> Expected:
    sign, first, relation, rest = line.split(" ", 3)
    if sign == "=":
        asked, _, objects = (rest + " ").partition(" : ")
        subject, _, told = asked.partition(" ")
        return Expected((first, relation), subject, told.strip(), objects=frozenset(objects.split()))
    subject, _, told = rest.partition(" ")
    return Expected((type_of(first), relation), subject, told, first, sign == "+")
