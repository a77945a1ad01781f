"""Conditions of random policies: as clauses of Datalog, and as what they mean, in Python."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from adalog.datalog.edn import write
from adalog.datalog.values import Keyword, identity
from adalog.executor.permissions.claims import flattened


class FailedGuard(Exception):
    """A rule of a policy fails for an entity."""


@dataclass
class State:
    """What holds at a moment: for each attribute the values of entities. `claims`: those of the identity."""

    claims: tuple[tuple[str, Any], ...]
    of: dict[str, dict[int, list[Any]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    to: dict[str, dict[Any, list[int]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))

    @staticmethod
    def made(datoms: Iterable[Any], claims: Mapping[str, Any]) -> State:
        state = State(tuple(flattened(claims)))
        for each in datoms:
            state.of[str(each.a)][each.e].append(each.v)
            state.to[str(each.a)][identity(each.v)].append(each.e)
        return state

    def claimed(self, name: str) -> list[Any]:
        return [value for each, value in self.claims if each == name]


def mentioning(name: str, text: str) -> str:
    """The clauses, and one that changes nothing if they have nothing to say of the variable, which is refused."""
    return text if re.search(rf"{re.escape(name)}\b", text) else f"{text} [(= {name} {name})]"


class Condition(Protocol):
    """`text`: clauses that bind or test a variable; rules that they call are added to `rules`."""

    def text(self, name: str, fresh: Fresh) -> str: ...

    def holds(self, state: State, e: int) -> bool: ...


@dataclass
class Fresh:
    """New names, and the rules that clauses call."""

    rules: list[str] = field(default_factory=list)
    count: int = 0

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"


@dataclass(frozen=True)
class Has:
    attribute: str

    def text(self, name: str, fresh: Fresh) -> str:
        return f"[{name} {self.attribute}]"

    def holds(self, state: State, e: int) -> bool:
        return bool(state.of[self.attribute][e])


@dataclass(frozen=True)
class Is:
    attribute: str
    value: Any

    def text(self, name: str, fresh: Fresh) -> str:
        return f"[{name} {self.attribute} {write(self.value)}]"

    def holds(self, state: State, e: int) -> bool:
        return any(identity(each) == identity(self.value) for each in state.of[self.attribute][e])


@dataclass(frozen=True)
class Claimed:
    """A value that a claim has, too; `claim` None: any claim, by a variable name."""

    attribute: str
    claim: str | None

    def text(self, name: str, fresh: Fresh) -> str:
        value = fresh.name("?c")
        claim = fresh.name("?k") if self.claim is None else f":{self.claim}"
        return f"(claim {claim} {value}) [{name} {self.attribute} {value}]"

    def holds(self, state: State, e: int) -> bool:
        every = [value for _, value in state.claims] if self.claim is None else state.claimed(self.claim)
        if self.attribute == ":doc/kind":
            every = [Keyword(each[1:]) if type(each) is str and each[:1] == ":" else each for each in every]
        mine = {identity(each) for each in state.of[self.attribute][e]}
        return any(identity(each) in mine for each in every)


@dataclass(frozen=True)
class OnlyClaimed:
    """Says nothing of the entity."""

    claim: str
    value: Any

    def text(self, name: str, fresh: Fresh) -> str:
        return f"(claim :{self.claim} {write(self.value)})"

    def holds(self, state: State, e: int) -> bool:
        return any(identity(each) == identity(self.value) for each in state.claimed(self.claim))


@dataclass(frozen=True)
class Over:
    """Of an entity that it refers to."""

    attribute: str
    condition: Condition

    def text(self, name: str, fresh: Fresh) -> str:
        other = fresh.name("?f")
        return f"[{name} {self.attribute} {other}] {self.condition.text(other, fresh)}"

    def holds(self, state: State, e: int) -> bool:
        return any(self.condition.holds(state, each) for each in state.of[self.attribute][e])


@dataclass(frozen=True)
class Under:
    """Of an entity that refers to it."""

    attribute: str
    condition: Condition

    def text(self, name: str, fresh: Fresh) -> str:
        other = fresh.name("?f")
        return f"[{other} {self.attribute} {name}] {self.condition.text(other, fresh)}"

    def holds(self, state: State, e: int) -> bool:
        return any(self.condition.holds(state, each) for each in state.to[self.attribute][identity(e)])


@dataclass(frozen=True)
class Both:
    conditions: tuple[Condition, ...]

    def text(self, name: str, fresh: Fresh) -> str:
        return " ".join(each.text(name, fresh) for each in self.conditions)

    def holds(self, state: State, e: int) -> bool:
        return all(each.holds(state, e) for each in self.conditions)


@dataclass(frozen=True)
class Either:
    conditions: tuple[Condition, ...]

    def text(self, name: str, fresh: Fresh) -> str:
        branches = " ".join(f"(and {mentioning(name, each.text(name, fresh))})" for each in self.conditions)
        return f"(or-join [[{name}]] {branches})"

    def holds(self, state: State, e: int) -> bool:
        return any(each.holds(state, e) for each in self.conditions)


@dataclass(frozen=True)
class Lacks:
    condition: Condition

    def text(self, name: str, fresh: Fresh) -> str:
        return f"(not-join [{name}] {mentioning(name, self.condition.text(name, fresh))})"

    def holds(self, state: State, e: int) -> bool:
        return not self.condition.holds(state, e)


@dataclass(frozen=True)
class Above:
    """Of it or one that it refers to, however far: a recursive rule."""

    attribute: str
    condition: Condition

    def text(self, name: str, fresh: Fresh) -> str:
        rule = fresh.name("above")
        fresh.rules.append(f"[({rule} ?e) {self.condition.text('?e', fresh)}]")
        fresh.rules.append(f"[({rule} ?e) [?e {self.attribute} ?f] ({rule} ?f)]")
        return f"({rule} {name})"

    def holds(self, state: State, e: int) -> bool:
        seen, waiting = {e}, [e]
        while waiting:
            at = waiting.pop()
            if self.condition.holds(state, at):
                return True
            new = [each for each in state.of[self.attribute][at] if each not in seen]
            seen.update(new)
            waiting += new
        return False


@dataclass(frozen=True)
class Divides:
    """Fails for entities with the number 0."""

    def text(self, name: str, fresh: Fresh) -> str:
        number, share = fresh.name("?n"), fresh.name("?q")
        return f"[{name} :num/n {number}] [(/ 12 {number}) {share}] [(< {share} 5)]"

    def holds(self, state: State, e: int) -> bool:
        numbers = state.of[":num/n"][e]
        if 0 in numbers:
            raise FailedGuard
        return any(12 / each < 5 for each in numbers)


BASES: tuple[Condition, ...] = (
    *(Has(":doc/title"), Has(":doc/owner"), Has(":num/n"), Has(":loose"), Has(":tag/on")),
    *(Is(":doc/title", "a"), Is(":num/n", 1), Is(":num/ns", 2), Is(":doc/kind", Keyword("open"))),
    *(Is(":tag/name", "red"), Claimed(":user/id", "sub"), Claimed(":tag/name", "tags")),
    *(Claimed(":num/n", "org.level"), Claimed(":doc/kind", "kind"), Claimed(":tag/name", None)),
    *(Claimed(":user/id", "nothing"), OnlyClaimed("sub", "u1"), OnlyClaimed("org.level", 2)),
)


def condition(rng: Random, depth: int = 3) -> Condition:
    kind = rng.randrange(10) if depth else 0
    if kind < 3:
        return rng.choice(BASES)
    if kind == 3:
        return Over(rng.choice((":doc/parent", ":doc/owner", ":tag/on")), condition(rng, depth - 1))
    if kind == 4:
        back = rng.choice((":group/members", ":doc/part", ":tag/on", ":doc/parent"))
        return Under(back, condition(rng, depth - 1))
    if kind == 5:
        return Both((condition(rng, depth - 1), condition(rng, depth - 1)))
    if kind == 6:
        return Either((condition(rng, depth - 1), condition(rng, depth - 1)))
    if kind == 7:
        return Both((rng.choice((Has(":doc/title"), Has(":num/n"))), Lacks(condition(rng, depth - 1))))
    if kind == 8:
        return Lacks(condition(rng, depth - 1))
    return Above(rng.choice((":doc/parent", ":group/parent", ":doc/part")), condition(rng, depth - 1))


def mostly_members(rng: Random) -> Condition:
    """What policies of applications look like: whoever is in a group, however deep, sees what is below."""
    member = Under(":group/members", Is(":tag/name", "red")) if rng.random() < 0.2 else Claimed(":user/id", "sub")
    owned = Over(":doc/owner", member)
    return rng.choice((Above(":doc/parent", owned), owned, Either((owned, Is(":doc/title", "a")))))


@dataclass(frozen=True)
class ValueRule:
    """A body of `(allow ?e ?a ?v)`. `reads`: it has the pattern `[?e ?a ?v]`."""

    condition: Condition | None
    reads: bool
    only: str | None = None
    without: Any = None

    def text(self, fresh: Fresh) -> str:
        parts = ["[?e ?a ?v]"] if self.reads else []
        if self.condition is not None:
            parts.append(self.condition.text("?e", fresh))
        if self.only is not None:
            parts.append(f"[(= ?a {self.only})]")
        if self.without is not None:
            parts.append(f"[(not= ?v {write(self.without)})]")
        return " ".join(parts)

    def holds(self, state: State, e: int, a: str, v: Any) -> bool:
        if self.reads and not any(identity(each) == identity(v) for each in state.of[a][e]):
            return False
        if self.only is not None and a != self.only:
            return False
        if self.without is not None and identity(v) == identity(self.without):
            return False
        return self.condition is None or self.condition.holds(state, e)


def value_rule(rng: Random) -> ValueRule:
    asked = condition(rng, 1) if rng.random() < 0.6 else None
    only = rng.choice((None, None, ":doc/title", ":num/ns", ":doc/part"))
    without = rng.choice((None, "a", 1, 2, 3, Keyword("open")))
    reads = rng.random() < 0.7
    if not reads and asked is None and only is None and without is None:
        reads = True
    return ValueRule(asked, reads, only, without)


@dataclass(frozen=True)
class RandomPolicy:
    name: str
    roles: tuple[str, ...]
    on: tuple[str, ...]
    bodies: Sequence[Condition] | Sequence[ValueRule] | None
    required: bool
    ops: tuple[str, ...] = (":read",)

    @property
    def rules(self) -> str | None:
        if self.bodies is None:
            return None
        fresh = Fresh()
        heads = []
        for each in self.bodies:
            if isinstance(each, ValueRule):
                heads.append(f"[(allow ?e ?a ?v) {each.text(fresh)}]")
            else:
                heads.append(f"[(allow ?e) {each.text('?e', fresh)}]")
        return f"[{' '.join((*heads, *fresh.rules))}]"

    @property
    def form(self) -> str:
        parts = [f":policy/name {write(self.name)} :policy/roles [{' '.join(self.roles)}]"]
        parts.append(f":policy/ops [{' '.join(self.ops)}] :policy/on [{' '.join(self.on)}]")
        if self.rules is not None:
            parts.append(f":policy/rules {write(self.rules)}")
        if self.required:
            parts.append(":policy/effect :require")
        return "{" + " ".join(parts) + "}"

    def is_for(self, roles: Iterable[str]) -> bool:
        return ":read" in self.ops and (":*" in self.roles or any(f":{each}" in self.roles for each in roles))

    def names(self, attribute: str) -> bool:
        if attribute in self.on:
            return True
        space = attribute.partition("/")[0] if "/" in attribute else None
        return space in self.on or (":*" in self.on and space not in (":policy", ":db"))

    def holds(self, state: State, e: int, a: str, v: Any) -> bool:
        """Whether it allows a datom; a guard that fails does not."""
        if self.bodies is None:
            return True
        try:
            return any(
                each.holds(state, e, a, v) if isinstance(each, ValueRule) else each.holds(state, e)
                for each in self.bodies
            )
        except FailedGuard:
            return False


ON = (
    *((":doc",), (":doc/title",), (":doc/parent", ":doc/part"), (":num",), (":num/n", ":tag"), (":*",)),
    *((":loose",), (":group", ":user"), (":tx/why",), (":policy/name",), (":db/doc", ":doc/state"), (":doc/rank",)),
)


def policies(rng: Random) -> list[RandomPolicy]:
    made = []
    for number in range(rng.randint(1, 6)):
        draw = rng.random()
        bodies: Any
        if draw < 0.15:
            bodies = None
        elif draw < 0.35:
            bodies = [value_rule(rng) for _ in range(rng.choice((1, 1, 2)))]
        elif draw < 0.42:
            bodies = [Divides()]
        elif draw < 0.6:
            bodies = [mostly_members(rng)]
        else:
            bodies = [condition(rng) for _ in range(rng.choice((1, 1, 2)))]
        roles = rng.choice(((":member",), (":guest",), (":member", ":guest"), (":*",)))
        on = tuple(dict.fromkeys(each for _ in range(rng.choice((1, 1, 2, 3))) for each in rng.choice(ON)))
        made.append(RandomPolicy(f"p{number}", roles, on, bodies, required=rng.random() < 0.2))
    if rng.random() < 0.7:
        bodies = rng.choice((None, [mostly_members(rng)], [Has(":doc/title")]))
        made.append(RandomPolicy("wide", (":*",), (":*",), bodies, required=False))
    return made


CLAIMS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("member",), {"sub": "u1", "tags": ["red", "blue"], "org": {"level": 1}, "kind": ":open"}),
    (("member", "guest"), {"sub": "u2", "tags": [], "org": {"level": 2}}),
    (("guest",), {"sub": "u3", "tags": "blue", "kind": [":open", ":shut"], "org": [{"level": 1}, {"level": 3}]}),
    ((), {}),
)
