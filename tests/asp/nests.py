"""Random nests of `and`, `or`, `or-join`, `not` and `not-join`, three deep and deeper with rules, as EDN text.

The data is tiny and its values are few, so that longs and entities meet, and branches hold and fail for one row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from adalog.planner.model.plan import Options

SCHEMA = """[{:db/ident :e :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :f :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :n :db/valueType :db.type/long}
             {:db/ident :m :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
             {:db/ident :k :db/valueType :db.type/keyword}]"""
VALUES = {
    ":e": ("1", "2", "3", "4", "5"),
    ":f": ("1", "2", "3", "4", "5"),
    ":n": ("0", "1", "2", "3", "5"),
    ":m": ("0", "1", "3", "7"),
    ":k": (":a", ":b"),
}
ENTITIES = ("1", "2", "3", "4", "5")
VARIABLES = ("?a", "?b", "?c", "?d")
DEPTH = 3


@dataclass(frozen=True)
class Asked:
    """A query's text, its rules', and EDN texts of its arguments."""

    text: str
    rules: str
    args: tuple[str, ...]


def datoms(rng: Random) -> list[str]:
    """Forms of a transaction; few or many."""
    forms = {}
    for _ in range(rng.choice((4, 8, 16, 30))):
        attribute = rng.choice(tuple(VALUES))
        entity, value = rng.choice(ENTITIES), rng.choice(VALUES[attribute])
        key = (entity, attribute) if attribute in (":n", ":k") else (entity, attribute, value)
        forms[key] = f"[:db/add {entity} {attribute} {value}]"
    return list(forms.values())


def switches(rng: Random, number: int) -> list[Options]:
    """The usual way, and some others."""
    return [
        Options(),
        *(
            Options(
                reorder=rng.random() < 0.5,
                project=rng.random() < 0.6,
                magic=rng.random() < 0.7,
                semi_naive=rng.random() < 0.8,
                budget=rng.choice((*range(1, 14), 1 << 19)),
            )
            for _ in range(number)
        ),
    ]


@dataclass(frozen=True)
class Head:
    """A rule that may be called; those of a lower level also within a `not`."""

    name: str
    arity: int
    level: int


class Writer:
    """Writes clauses, and says which variables they bind. `level`: that of the rules being written."""

    def __init__(self, rng: Random, heads: list[Head], level: int) -> None:
        self.rng = rng
        self.heads = heads
        self.level = level
        self.denied = 0
        self.locals = 0

    def chance(self, percent: float) -> bool:
        return self.rng.random() * 100 < percent

    def fresh(self) -> str:
        """A variable of one branch; now and then one that another scope has too."""
        self.locals += 1
        return self.rng.choice(("?x", "?y", f"?x{self.locals}", f"?x{self.locals}"))

    def body(
        self, names: list[str], depth: int, *, own: bool = False, binds: float = 92
    ) -> tuple[list[str], set[str]]:
        """Clauses that mention all `names` and no other variable but, where it may have its `own`, a few of them.

        Each of the names is bound in `binds` of a hundred cases.
        """
        rng = self.rng
        locals_ = {self.fresh() for _ in range(rng.choice((0, 1, 1, 2)) if own else 0)}
        mine = [*names, *sorted(locals_.difference(names))]
        clauses: list[str] = []
        bound: set[str] = set()
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            clause, more = self.clause(mine, depth)
            clauses.append(clause)
            bound |= more
        text = " ".join(clauses)
        for name in mine:
            seen = re.search(rf"{re.escape(name)}(?![\w])", text) is not None
            if name not in bound and ((name in names and not seen) or (seen and self.chance(binds))):
                clauses.append(self.pattern(mine, must=name))
        rng.shuffle(clauses)
        return clauses, variables(" ".join(each for each in clauses if each.startswith("["))) | bound

    def clause(self, names: list[str], depth: int) -> tuple[str, set[str]]:
        """A clause over some of the names, and those that it binds."""
        roll = self.rng.random() * 100
        if self.heads and roll < 22 and (callable_ := self.callable()):
            text = self.call(self.rng.choice(callable_), names)
            return text, variables(text) & set(names)
        if depth == 0 or not names or roll < 42:
            if self.chance(5):
                return self.gate(), set()
            text = self.pattern(names)
            return text, variables(text)
        if roll < 48:
            return self.predicate(names), set()
        if roll < 51:
            name = self.rng.choice(names)
            return f"[(ground [{' '.join(self.rng.sample(ENTITIES, 2))}]) [{name} ...]]", {name}
        if roll < 72:
            return self.disjunction(names, depth)
        if roll < 88:
            return self.or_join(names, depth)
        if roll < 93:
            clauses, bound = self.body(self.some(names), depth - 1)
            return f"(and {' '.join(clauses)})", bound & set(names)
        return self.negation(names, depth), set()

    def callable(self) -> list[Head]:
        return [each for each in self.heads if each.level < self.level + (not self.denied and self.chance(25))]

    def some(self, names: list[str], most: int = 3) -> list[str]:
        return self.rng.sample(names, self.rng.randint(1, min(most, len(names))))

    def pattern(self, names: list[str], must: str | None = None) -> str:
        rng = self.rng
        attribute = rng.choice((":e", ":e", ":f", ":f", ":n", ":n", ":m", ":k"))
        entity = rng.choice((*names * 3, "_", rng.choice(ENTITIES)))
        value = rng.choice((*names * 3, "_", rng.choice(VALUES[attribute])))
        if must is not None and must not in (entity, value):
            if attribute != ":k" and self.chance(50):
                value = must
            else:
                entity = must
        return f"[{entity} {attribute} {value}]"

    def gate(self) -> str:
        """A clause without a variable."""
        attribute = self.rng.choice(tuple(VALUES))
        return f"[{self.rng.choice((*ENTITIES, '_'))} {attribute} {self.rng.choice((*VALUES[attribute], '_'))}]"

    def predicate(self, names: list[str]) -> str:
        first, second = self.rng.choice(names), self.rng.choice((*names, *ENTITIES))
        return f"[({self.rng.choice(('<', '>=', '=', 'not=', 'not='))} {first} {second})]"

    def call(self, head: Head, names: list[str]) -> str:
        options = (*names * 4, "_", self.rng.choice(ENTITIES))
        return f"({head.name} {' '.join(self.rng.choice(options) for _ in range(head.arity))})"

    def branches(self, names: list[str], depth: int, *, own: bool) -> tuple[str, set[str]]:
        texts = []
        bound = set(names)
        for _ in range(self.rng.choice((1, 2, 2, 2, 3))):
            if own and self.chance(8):
                texts.append(self.gate())
                bound = set()
                continue
            listed = self.some(names) if own and self.chance(25) else names
            clauses, more = self.body(listed, depth - 1, own=own, binds=80 if own else 92)
            texts.append(clauses[0] if len(clauses) == 1 else f"(and {' '.join(clauses)})")
            bound &= more
        return " ".join(texts), bound

    def disjunction(self, names: list[str], depth: int) -> tuple[str, set[str]]:
        text, bound = self.branches(self.some(names), depth, own=False)
        return f"(or {text})", bound

    def or_join(self, names: list[str], depth: int) -> tuple[str, set[str]]:
        listed = self.some(names)
        text, bound = self.branches(listed, depth, own=True)
        listed = [name for name in listed if name in variables(text)]
        if not listed:
            return self.or_join(names, depth)
        return f"(or-join [{' '.join(listed)}] {text})", bound

    def negation(self, names: list[str], depth: int) -> str:
        self.denied += 1
        listed = self.some(names, 2)
        clauses, _ = self.body(listed, depth - 1, own=True)
        self.denied -= 1
        text = " ".join(clauses)
        return f"(not {text})" if self.chance(50) else f"(not-join [{' '.join(listed)}] {text})"


def variables(text: str) -> set[str]:
    return set(re.findall(r"\?\w+", text))


def program(rng: Random) -> list[tuple[Head, str]]:
    """Rules of several heads that call each other."""
    heads: list[Head] = []
    found: list[tuple[Head, str]] = []
    for level in range(rng.choice((0, 0, 1, 2, 3))):
        made = [
            Head(f"r{level}{letter}", rng.choice((1, 2, 2, 3)), level) for letter in "ab"[: rng.choice((1, 1, 2))]
        ]
        heads += made
        for head in made:
            for _ in range(rng.choice((1, 2, 2, 3))):
                writer = Writer(rng, heads, level)
                names = list(VARIABLES[: head.arity])
                clauses, bound = writer.body(names, rng.choice((0, 1, 2)), own=True)
                clauses += [writer.pattern(names, must=name) for name in names if name not in bound]
                found.append((head, f"[({head.name} {' '.join(names)}) {' '.join(clauses)}]"))
    return found


def query(rng: Random) -> Asked:
    """A query that may leave a variable unbound, but seldom does."""
    rules = program(rng)
    writer = Writer(rng, list(dict.fromkeys(head for head, _ in rules)), 9)
    names = rng.sample(VARIABLES, rng.randint(1, len(VARIABLES)))
    clauses, _ = writer.body(names, DEPTH, binds=97)
    if rng.random() < 0.3:
        # One nest alone, with nothing outside that would bind its variables.
        for _ in range(9):
            text, bound = writer.disjunction(names, DEPTH)
            if bound:
                names, clauses = sorted(bound), [text]
                break
    elif rng.random() < 0.3:
        clauses += writer.body(rng.sample(names, rng.randint(1, len(names))), 1)[0]
    bindings, args = inputs(rng, names)
    found = rng.sample(names, rng.randint(1, min(3, len(names))))
    elements = list(found)
    tail = ""
    roll = rng.random()
    if roll < 0.2:
        elements[-1] = f"({rng.choice(('count', 'count', 'sum', 'min', 'max'))} {found[-1]})"
        rest = [name for name in names if name not in found]
        tail = f" :with {' '.join(rest)}" if rest and rng.random() < 0.7 else ""
    elif roll < 0.3:
        keys = rng.sample(found, len(found))
        ways = " ".join(rng.choice((key, f"[{key} :desc]")) for key in keys)
        tail = f" :order-by [{ways}] :limit {rng.randint(1, 4)}"
    elif roll < 0.35:
        tail = f" :limit {rng.randint(1, 4)}"
    given = f":in $ {' '.join([*bindings, '%'])}"
    text = f"[:find {' '.join(elements)}{tail} {given} :where {' '.join(clauses)}]"
    return Asked(text, f"[{' '.join(text for _, text in rules)}]", tuple(args))


def inputs(rng: Random, names: list[str]) -> tuple[list[str], list[str]]:
    """Bindings and their arguments, often none."""
    some = rng.sample(ENTITIES, 2)
    match rng.choice(("", "", "", "scalar", "collection", "relation")):
        case "scalar":
            return [names[0]], [some[0]]
        case "collection":
            return [f"[{names[0]} ...]"], [f"[{' '.join(some)} {some[0]}]"]
        case "relation" if len(names) > 1:
            return [f"[[{names[0]} {names[1]}]]"], [f"[[{some[0]} {some[1]}] [{some[1]} {some[1]}]]"]
    return [], []
