"""Random rule programs over the random databases of `generated`, and queries that call them, as EDN text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from tests.property.generated import (
    ENTITIES,
    ENTITY_VARIABLES,
    PAST,
    REFS,
    VARIABLES,
    Asked,
    Writer,
    order_of,
    query,
    shuffled,
)

Rule = tuple[str, ...]

LOOKUPS = ('[:u "a"]', '[:u "b"]', '[:u "nobody"]')
NUMBERS = ("1", "2", "3", "4", "1.0", "2.0", "3.5")
AGGREGATES = ("count", "sum", "min", "max", "count-distinct", "distinct", "choice")


@dataclass(frozen=True)
class Name:
    """A rule that may be called: `kinds` is a letter for each place, `e` an entity, `c` a number, `d` any value.

    Rules of one `level` may call each other; a `not` takes lower ones only. `required` places come first.
    """

    name: str
    kinds: str
    level: int
    required: int = 0
    alone: bool = False


class RuleWriter(Writer):
    """A writer that also calls rules; `level`: where it writes, above all of them in a query."""

    def __init__(self, rng: Random, sources: tuple[str, ...], names: tuple[Name, ...], level: int = 9) -> None:
        super().__init__(rng, sources)
        self.rules = names
        self.level = level
        self.denied = 0

    def clause(self, names: tuple[str, ...], depth: int) -> str:
        if self.chance(35) and (callable_ := self.callable()):
            return self.call(self.one(*callable_), names)
        return super().clause(names, depth)

    def callable(self) -> list[Name]:
        """A `not` over its own level is refused; now and then one is written."""
        below = self.level - 1 if self.denied and not self.chance(4) else self.level
        return [each for each in self.rules if each.level < below + (not each.alone)]

    def negation(self, names: tuple[str, ...], depth: int) -> str:
        self.denied += 1
        text = super().negation(names, depth)
        self.denied -= 1
        return text

    def not_join(self, names: tuple[str, ...], depth: int) -> str:
        self.denied += 1
        text = super().not_join(names, depth)
        self.denied -= 1
        return text

    def call(self, rule: Name, names: tuple[str, ...]) -> str:
        source = "$old " if "$old" in self.sources and self.chance(15) else ""
        terms = [self.term(kind, names, place < rule.required) for place, kind in enumerate(rule.kinds)]
        return f"({source}{rule.name} {' '.join(terms)})"

    def term(self, kind: str, names: tuple[str, ...], required: bool) -> str:
        entity = kind == "e"
        fitting = [name for name in names if (name in ENTITY_VARIABLES) == entity] or list(names)
        if self.chance(75):
            return self.one(*fitting)
        if self.chance(20):
            return self.one(*names)
        if self.chance(35) and not required:
            return "_"
        if entity:
            return self.one(*ENTITIES, *ENTITIES, *LOOKUPS)
        return self.one(*NUMBERS, *(('"a"', '":n"') if kind == "d" else ()))

    def function(self, names: tuple[str, ...]) -> str:
        """None that makes new values without a bound: in recursion it would never end."""
        a, b, out, other = (self.one(*names) for _ in range(4))
        if self.level == 9:
            return super().function(names)
        if self.chance(40):
            self.partial = True
            return self.one(f"[(< {a} 5)] [(inc {a}) {out}]", f"[(> {a} 0)] [(dec {a}) {out}]")
        return self.one(
            f"[(identity {a}) {out}]",
            f"[(= {a} {b}) {out}]",
            f"[(tuple {a} {b}) [{out} {other}]]",
            f"[(ground {self.one(*NUMBERS)}) {out}]",
            f"[(ground [1 2 1.0]) [{out} ...]]",
        )


class ProgramWriter:
    """Writes the rules of a program: some that everybody writes, some that nobody would."""

    def __init__(self, rng: Random, sources: tuple[str, ...]) -> None:
        self.rng = rng
        self.sources = sources
        self.names: list[Name] = []
        self.rules: list[Rule] = []
        self.partial = False
        for level in range(rng.choice((1, 1, 2, 2, 3))):
            if rng.random() < 0.45:
                self.known(level)
            else:
                self.random(level)

    def known(self, level: int) -> None:
        rng = self.rng
        name = f"r{level}"
        shape = rng.choice(SHAPES if rng.random() < 0.7 else LATTICES)
        attribute = rng.choice(REFS)
        lower = [each for each in self.names if each.kinds.startswith("ee") and not each.required]
        other = rng.choice(lower) if lower and rng.random() < 0.3 else None

        def edge(a: str, b: str) -> str:
            if other is None:
                return f"[{a} {attribute} {b}]"
            return f"({other.name} {a} {b}{' _' * (len(other.kinds) - 2)})"

        rules = shape.rules(name, edge)
        names = sorted({rule[0].split()[0].lstrip("(") for rule in rules})
        self.names += [Name(each, shape.kinds, level, shape.required, shape in LATTICES) for each in names]
        self.rules += rules
        self.partial |= shape.partial

    def random(self, level: int) -> None:
        rng = self.rng
        aggregated = rng.random() < 0.25
        made = []
        for i in range(1 if aggregated or rng.random() < 0.7 else 2):
            kinds = "".join(rng.choice("eecd") for _ in range(rng.choice((1, 2, 2, 2, 3))))
            required = 1 if rng.random() < 0.12 else 0
            made.append(Name(f"r{level}{'xy'[i]}", kinds, level, required, aggregated))
        self.names += made
        for name in made:
            how = rng.choice(AGGREGATES) if aggregated else None
            self.partial |= how == "sum"
            if rng.random() < 0.8:
                self.rules.append(self.base(name, how))
            for _ in range(rng.choice((1, 1, 2, 2, 3))):
                self.rules.append(self.branch(name, how))

    def branch(self, name: Name, how: str | None) -> Rule:
        rng = self.rng
        writer = RuleWriter(rng, self.sources, tuple(self.names), name.level)
        head = []
        for kind in name.kinds:
            fitting = {"e": ("?a", "?b", "?l"), "c": ("?c", "?d"), "d": ("?d", "?c")}[kind]
            free = [each for each in fitting if each not in head]
            head.append(rng.choice(free if free and rng.random() < 0.93 else fitting))
        names = tuple(dict.fromkeys([*head, *rng.sample((*VARIABLES, "?l"), rng.randint(0, 2))]))
        clauses = [writer.clause(names, writer.depth - 1) for _ in range(rng.randint(1, 3))]
        own = [each for each in self.names if each.level == name.level and not each.alone]
        if own and rng.random() < 0.4:
            clauses.append(writer.call(rng.choice(own), names))
        text = " ".join(clauses)
        loose = [each for each in dict.fromkeys(head) if each not in text or rng.random() < 0.4]
        clauses += [writer.pattern(names, must=each) for each in loose if rng.random() < 0.93] or ["[_ :n]"]
        self.partial |= writer.partial
        return (self.head(name, head, how), *shuffled(rng, clauses))

    def base(self, name: Name, how: str | None) -> Rule:
        """A branch of data patterns alone."""
        rng, head, clauses = self.rng, [], []
        for place, kind in enumerate(name.kinds):
            variable = f"?v{place}"
            near = [each for each, other in zip(head, name.kinds, strict=False) if other == "e"]
            start = rng.choice(near) if near and rng.random() < 0.8 else "_"
            attribute = {"e": (":to", ":r", ":to"), "c": (":n", ":ns", ":xs"), "d": (":s", ":k", ":ns", ":x")}[kind]
            clauses.append(f"[{start} {rng.choice(attribute)} {variable}]")
            head.append(variable)
        return (self.head(name, head, how), *shuffled(rng, clauses))

    @staticmethod
    def head(name: Name, variables: list[str], how: str | None) -> str:
        last = len(variables) - 1
        places = [f"({how} {each})" if how and i == last else each for i, each in enumerate(variables)]
        if name.required and not places[0].startswith("("):
            places[0] = f"[{places[0]}]"
        return f"({name.name} {' '.join(places)})"


# What everybody writes: R is the rule's name, <?a ?b> an edge.


@dataclass(frozen=True)
class Shape:
    kinds: str
    text: str
    required: int = 0
    partial: bool = False

    def rules(self, name: str, edge: Callable[[str, str], str]) -> list[Rule]:
        """The text with its name and edges filled in, as (head, clause, …)."""
        text = re.sub(r"<(\S+) (\S+)>", lambda found: edge(*found.groups()), self.text)
        return [tuple(split(rule[1:-1])) for rule in split(re.sub(r"\bR", name, text))]


SHAPES = (
    Shape("ee", "[(R ?a ?b) <?a ?b>] [(R ?a ?c) (R ?a ?b) <?b ?c>]"),
    Shape("ee", "[(R ?a ?c) <?a ?b> (R ?b ?c)] [(R ?a ?b) <?a ?b>]"),
    Shape("ee", "[(R ?a ?b) <?a ?b>] [(R ?x ?z) (R ?x ?y) (R ?y ?z)]"),
    Shape(
        "ee", "[(R ?a ?b) <?a ?b>] [(R ?b ?a) [?a :r ?b]] [(R ?a ?a) [?a :n ?n]] [(R ?x ?z) (R ?x ?y) (R ?y ?z)]"
    ),
    Shape("ee", "[(R ?a ?b) <?a ?p> <?p ?b> (not <?b ?a>)] [(R ?a ?b) (R ?a ?p) (R ?p ?b)] [(R ?a ?b) [?b :r ?a]]"),
    Shape(
        "ee",
        "[(Rx ?a ?b) <?a ?b>] [(Rx ?a ?b) (Rx ?a ?p) (Rx ?p ?b)]"
        "[(R ?a ?b) (Rx ?a ?p) (not (Rx ?p ?a)) (R ?p ?b)] [(R ?a ?b) (Rx ?a ?b)]",
    ),
    Shape(
        "ee",
        "[(Rx ?a ?b) <?a ?b>] [(Rx ?a ?c) (Ry ?a ?b) (Ry ?b ?c)]"
        "[(Ry ?a ?b) (Rx ?a ?b)] [(Ry ?a ?b) [?a :r ?b] (not <?a ?b>)]",
    ),
    Shape("ee", "[(R ?a ?c) (or-join [?a ?c] <?a ?c> (and <?a ?b> (R ?b ?c)))]"),
    Shape("ee", "[(R ?a ?c) (or <?a ?c> (R ?c ?a))]"),
    Shape("ee", "[(Rx ?a ?b) <?a ?b>] [(Rx ?a ?c) <?a ?b> (Ry ?b ?c)] [(Ry ?a ?c) (Rx ?a ?b) <?b ?c>]"),
    Shape("ee", "[(R ?a ?b) <?p ?a> <?p ?b>] [(R ?a ?b) <?p ?a> (R ?p ?q) <?q ?b>]"),
    Shape("ee", "[(R ?x ?y) (R ?y ?x)] [(R ?a ?b) <?a ?b> (not <?b ?a>)]"),
    Shape("ee", "[(R [?a] ?b) <?a ?b>] [(R [?a] ?c) <?a ?b> (R ?b ?c)]", required=1),
    Shape("eee", "[(R ?a ?b ?c) <?a ?b> <?b ?c>] [(R ?a ?b ?d) (R ?a ?b ?c) <?c ?d>] [(R ?a ?c ?a) (R ?a ?a ?c)]"),
    Shape("ec", "[(R ?a ?least) [?a :n ?n] [(> ?n ?least)]]"),
    Shape("cc", "[(R [?n] ?m) [(identity ?n) ?m]] [(R [?n] ?m) [(< ?n 4)] [(inc ?n) ?k] (R ?k ?m)]", 1, True),
    Shape(
        "eec",
        "[(R ?a ?b ?n) <?a ?b> [(ground 1) ?n]] [(R ?a ?c ?m) (R ?a ?b ?n) [(< ?n 3)] [(inc ?n) ?m] <?b ?c>]",
    ),
    Shape("ec", "[(R ?a ?n) <?a ?b> [(= ?n 0)]] [(R ?a ?n) [(> ?n 0)] [(dec ?n) ?k] <?a ?b> (R ?b ?k)]", 0, True),
)
LATTICES = (
    Shape(
        "eec",
        "[(R ?a ?b (min ?d)) <?a ?b> [(ground 1) ?d]]"
        "[(R ?a ?e (min ?t)) (R ?a ?b ?d) <?b ?e> [?e :ns ?w] [(+ ?d ?w) ?t]]",
    ),
    Shape(
        "eec",
        "[(R ?a ?b (min ?d)) <?a ?b> [?b :xs ?d]] [(R ?a ?c (min ?t)) (R ?a ?b ?d) (R ?b ?c ?e) [(+ ?d ?e) ?t]]",
    ),
    Shape(
        "eec",
        "[(R ?a ?b (max ?d)) <?a ?b> [?b :ns ?d]]"
        "[(R ?a ?c (max ?t)) <?a ?b> [?a :ns ?w] (R ?b ?c ?d) [(min ?d ?w) ?t]]",
    ),
    Shape(
        "eec",
        "[(Rx ?a ?b (min ?d)) <?a ?b> [?b :ns ?d]] [(Rx ?a ?c (min ?t)) (Ry ?a ?c ?t)]"
        "[(Ry ?a ?c ?t) (Rx ?a ?b ?d) <?b ?c> [?c :ns ?w] [(+ ?d ?w) ?t]]",
    ),
    Shape("ed", "[(R ?a (choice ?v)) [?a :s ?v]] [(R ?a (choice ?v)) <?a ?b> (R ?b ?v)]"),
    Shape("ed", "[(R ?a (max ?v)) [?a :k ?v]] [(R ?b (max ?v)) <?a ?b> (R ?a ?v)]"),
    Shape("ed", "[(R ?a (or ?v)) [?a :n ?n] [(= ?n 1) ?v]] [(R ?b (or ?v)) <?a ?b> (R ?a ?v)]"),
)


def split(text: str) -> list[str]:
    """The forms of a text, each a bracketed one."""
    forms, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        if letter in "([":
            start = i if depth == 0 else start
            depth += 1
        elif letter in ")]":
            depth -= 1
            if depth == 0:
                forms.append(text[start : i + 1])
    return forms


def graph(rng: Random) -> str:
    """A transaction: edges between the entities, some of them in a ring, and numbers on all of them."""
    forms = {f"[:db/add {rng.choice(ENTITIES)} :to {rng.choice(ENTITIES)}]" for _ in range(rng.randint(0, 7))}
    forms |= {f"[:db/add {e} :ns {rng.randint(1, 3)}]" for e in ENTITIES}
    forms |= {f"[:db/add {e} :r {rng.choice(ENTITIES)}]" for e in ENTITIES[: rng.randint(0, 4)]}
    return f"[{' '.join(sorted(forms))}]"


def program(rng: Random) -> Asked:
    """A query that calls rules, given for `%` or written in it."""
    made = (crowded if rng.random() < 0.25 else plain)(rng)
    asked, writer = made
    given = rng.random() < 0.3
    return replace(
        asked,
        head=f"{asked.head} %" if given else asked.head,
        rules=tuple(shuffled(rng, writer.rules)),
        given=given,
        partial=asked.partial or writer.partial,
    )


def crowded(rng: Random) -> tuple[Asked, ProgramWriter]:
    """Any query of `generated`, with calls in any place of it."""
    made: list[ProgramWriter] = []

    def writer_of(rng: Random, sources: tuple[str, ...]) -> Writer:
        made.append(ProgramWriter(rng, sources))
        return RuleWriter(rng, sources, tuple(made[0].names))

    return query(rng, writer_of), made[0]


def plain(rng: Random) -> tuple[Asked, ProgramWriter]:
    """A call or two, and perhaps something else."""
    sources = ("$old",) if rng.random() < 0.15 else ()
    rules = ProgramWriter(rng, sources)
    writer = RuleWriter(rng, sources, tuple(rules.names))
    names = tuple(rng.sample((*VARIABLES, "?l"), rng.randint(2, 4)))
    bindings, args = writer.inputs(names) if writer.chance(30) else ([], [])
    clauses = [
        writer.call(writer.one(*rules.names[-2:], *rules.names), names) for _ in range(writer.one(1, 1, 1, 2))
    ]
    clauses += [writer.clause(names, 1) for _ in range(writer.one(0, 0, 0, 1))]
    seen = [name for name in names if f"{name} " in f"{' '.join(clauses)} ".replace(")", " ").replace("]", " ")]
    found = rng.sample(seen, rng.randint(1, len(seen))) if seen else []
    if not found:
        found = [names[0]]
        clauses.append(writer.pattern(names, must=names[0]))
    elements = list(found)
    if writer.chance(20):
        at = rng.randrange(len(found))
        elements[at] = f"({writer.one('count', 'min', 'max', 'distinct')} {found[at]})"
    args += [PAST] * len(sources)
    head = f"[:find {' '.join(elements)} :in {' '.join(['$', *bindings, *sources])}"
    tail = order_of(rng, [each for each in elements if each.startswith("?")])
    return Asked(head, tuple(shuffled(rng, clauses)), tail, tuple(args), writer.partial), rules
