"""Random stratified rule programs and queries that call them.

Rules come in groups, each of which calls itself and those before it, and negates only those before it: DataScript
answers a cycle through `not` too, which the dialect refuses. Every body binds what it uses in its written order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from tests.datascript.generated import LITERALS, LOOKUPS, NAMES, Asked, Writer, others
from tests.datascript.queries import asked, inputs

# The kinds of a rule's places, mostly edges, which is what recursion is about.
SHAPES = ("ee", "ee", "ee", "e", "en", "eee", "nn")


@dataclass(frozen=True)
class Signature:
    name: str
    kinds: str
    required: int  # how many of the first places must be bound at a call


@dataclass(frozen=True)
class Rule:
    signature: Signature
    head: tuple[str, ...]
    clauses: tuple[str, ...]

    def ours(self, rng: Random) -> str:
        at = self.signature.required
        required = f"[{' '.join(self.head[:at])}] " if at else ""
        clauses = blank(" ".join(rng.sample(self.clauses, len(self.clauses))))
        return f"[({self.signature.name} {required}{' '.join(self.head[at:])}) {clauses}]"


@dataclass(frozen=True)
class Style:
    """What a program may have, since DataScript cannot have it all.

    constants: it puts a call's constants in the place of the head's variables everywhere, where an `or-join` lists
    its variables and a function binds its result too, so there are either constants or those.
    nonlinear: it drops a call that repeats another of the same body, so that rows may be missing, and rows be too
    many where those are negated.
    """

    constants: bool
    nonlinear: bool


class RuleWriter(Writer):
    """Writes clauses among which are calls of the rules known so far."""

    def __init__(self, rng: Random, known: Sequence[Signature], style: Style) -> None:
        super().__init__(rng)
        self.known = list(known)
        self.style = style

    def clause(self, names: Sequence[str], depth: int) -> str:
        if self.known and self.chance(35):
            signature = self.rng.choice(self.known)
            return self.call_of(signature, names) or super().clause(names, depth)
        return super().clause(names, depth)

    def negation(self, depth: int) -> str | None:
        known = self.known
        if self.style.nonlinear:
            self.known = []
        text = super().negation(depth)
        self.known = known
        return text

    def call_of(self, rule: Signature, names: Sequence[str]) -> str | None:
        terms: list[str] = []
        for at, kind in enumerate(rule.kinds):
            apt = [name for name in names if self.bound.get(name) == kind and name not in self.crossed]
            if at >= rule.required:
                apt += [name for name in names if name not in self.bound and self.may(name, kind)]
            apt = others(apt, *terms)
            if at >= rule.required and self.style.constants and self.chance(25):
                # A blank has a name in DataScript, which no branch of an `or` may have for its own.
                blanks = () if self.closed else (f"?blank{self.fresh()[2:]}",)
                terms.append(self.one(*blanks, *LITERALS[kind], *(LOOKUPS if kind == "e" else ())))
            elif apt:
                terms.append(self.one(*apt))
            else:
                return None
        for name, kind in zip(terms, rule.kinds, strict=True):
            if name in names:
                self.typed.add(self.bind(name, kind))
        return f"({rule.name} {' '.join(terms)})"


def blank(text: str) -> str:
    """DataScript writes a call's blank in every place of the head's variable, so there it has a name."""
    return re.sub(r"\?blank\w+", "_", text)


def program(rng: Random, style: Style) -> tuple[list[Signature], list[Rule]]:
    """The rules that a query may call, and their texts."""
    known: list[Signature] = []
    rules: list[Rule] = []
    for group in range(rng.randint(1, 3)):
        mine = [
            Signature(f"r{group}{letter}", kinds, required=int(len(kinds) > 1 and rng.random() < 0.15))
            for letter, kinds in zip("ab", rng.choices(SHAPES, k=rng.choice((1, 1, 2))), strict=False)
        ]
        for signature in mine:
            rules.append(rule(rng, known, signature, (), style))
            rules += [rule(rng, known, signature, mine, style) for _ in range(rng.choice((0, 1, 1, 2)))]
        known += mine
    return known, rng.sample(rules, len(rules))


def rule(
    rng: Random, known: Sequence[Signature], signature: Signature, cycle: Sequence[Signature], style: Style
) -> Rule:
    """One rule of the name; `cycle` are the rules of its group, one or two of which it calls."""
    writer = RuleWriter(rng, known, style)
    writer.plain = style.constants
    # The head's names are those of the query's variables too, and have nothing to do with them.
    head = rng.sample(NAMES, len(signature.kinds))
    writer.reserved = dict(zip(head, signature.kinds, strict=True))
    inside = [*head, writer.fresh(), writer.fresh()]
    for name, kind in zip(head, signature.kinds[: signature.required], strict=False):
        writer.bind(name, kind)
    clauses = writer.several(inside, 1, 2) if writer.chance(40) else []
    for _ in range(rng.choice((1, 2, 2)) if cycle and style.nonlinear else len(cycle[:1])):
        clauses += recursion(writer, head, inside, rng.choice(cycle), signature)
    for name, kind in zip(head, signature.kinds, strict=True):
        if name not in writer.bound:
            clauses.append(edge(writer, inside, name, kind))
    return Rule(signature, tuple(head), tuple(clauses))


def recursion(
    writer: RuleWriter, head: Sequence[str], inside: Sequence[str], called: Signature, caller: Signature
) -> list[str]:
    """A recursive call, after clauses that bind what it does not hand on as it came.

    DataScript unfolds calls, and stops where one repeats what a call around it had: it must see that before it
    unfolds the next. It does not take a call that has the head's variables in other places.
    """
    clauses: list[str] = []
    terms: list[str] = []
    for at, kind in enumerate(called.kinds):
        if caller == called and writer.chance(35):
            terms.append(head[at])
            continue
        names = others(inside, *terms, *(head if caller == called else ()))
        bound = [name for name in names if writer.bound.get(name) == kind and name not in writer.crossed]
        free = [name for name in names if name not in writer.bound and writer.may(name, kind)]
        if not bound and not free:
            return clauses
        name = writer.one(*(bound if bound and (not free or writer.chance(60)) else free))
        if name not in writer.bound:
            clauses.append(edge(writer, inside, name, kind))
        terms.append(name)
    if caller == called and terms == list(head):
        return clauses
    for name, kind in zip(terms, called.kinds, strict=True):
        writer.typed.add(writer.bind(name, kind))
    return [*clauses, f"({called.name} {' '.join(terms)})"]


def edge(writer: Writer, names: Sequence[str], name: str, kind: str) -> str:
    """A pattern that binds the variable, mostly by an edge from another."""
    bound = [each for each in others(names, name) if writer.bound.get(each) == "e"]
    other = writer.place(bound or others(names, name), "e")
    if kind == "n":
        return f"[{other} {writer.one(':g/n', ':g/ns')} {writer.bind(name, kind)}]"
    a = writer.one(":g/to", ":g/to", ":g/r")
    mine = writer.bind(name, "e")
    return writer.one(f"[{other} {a} {mine}]", f"[{mine} {a} {other}]")


def copies(rules: Sequence[Rule]) -> Iterator[str]:
    """The rules for DataScript, with a copy of what a body calls for each call.

    It takes a call for one that goes round in a circle when an earlier call of the same body had its arguments.
    It would not make a required variable equal to what the rule is called with, so none is marked.
    """
    numbers = count(1)

    def group(of: str, suffix: str) -> Iterator[str]:
        for rule in rules:
            if not rule.signature.name.startswith(of):
                continue
            clauses = []
            for clause in rule.clauses:
                called = _CALL.match(clause)
                if called is None:
                    clauses.append(clause)
                    continue
                name = called[1]
                mine = suffix
                if not name.startswith(of):
                    mine = f"c{next(numbers)}"
                    yield from group(name[:2], mine)
                clauses.append(f"({name}{mine}{clause[called.end() :]}")
            yield f"[({rule.signature.name}{suffix} {' '.join(rule.head)}) {' '.join(clauses)}]"

    for of in sorted({rule.signature.name[:2] for rule in rules}):
        yield from group(of, "")


_CALL = re.compile(r"\((r\d[ab])\b")


def query(rng: Random) -> Asked:
    """A query over a program of its own."""
    style = Style(constants=rng.random() < 0.5, nonlinear=rng.random() < 0.3)
    known, rules = program(rng, style)
    ours = " ".join(each.ours(rng) for each in rules)
    theirs = " ".join(copies(rules))
    names = tuple(rng.sample(NAMES, rng.randint(2, 4)))
    writer = RuleWriter(rng, known, style)
    bindings, arguments = inputs(writer, names) if rng.random() < 0.3 else ([], [])
    clauses = writer.several(names, 1, 2) if writer.chance(50) else []
    called = rng.choice(known)
    clauses.append(writer.call_of(called, names) or writer.clause(names, 1))
    if not writer.bound:
        clauses.append(writer.pattern(names, must=names[0]))
    both = asked(writer, bindings, arguments, clauses, (f"[{ours}]", f"[{theirs}]"), style.nonlinear)
    return replace(both, ours=blank(both.ours))
