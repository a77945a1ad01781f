"""Random small databases and random queries that DataScript and adalog read alike.

DataScript takes clauses in their written order: what a predicate, a function, a `not` or a rule needs is bound by a
clause before it. A body is therefore written in an order that binds, and shuffled for adalog, which takes any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

# What kind of value an attribute has: e entity, n long, s string, k keyword, b boolean.
KINDS = {
    ":g/n": "n",
    ":g/ns": "n",
    ":g/s": "s",
    ":g/ss": "s",
    ":g/k": "k",
    ":g/ks": "k",
    ":g/b": "b",
    ":g/r": "e",
    ":g/to": "e",
    ":g/u": "s",
}
MANY = (":g/ns", ":g/ss", ":g/ks", ":g/to")
ONE = (":g/n", ":g/s", ":g/k", ":g/b")
REFS = (":g/r", ":g/to")
# No string begins with a colon: DataScript's JavaScript interface has keywords as such strings.
LITERALS = {
    "e": ("1", "2", "3", "4", "5"),
    "n": ("1", "2", "3", "-7"),
    "s": ('"a"', '"ab"', '"1"', '"b"'),
    "k": (":k/a", ":k/b", ":g/n"),
    "b": ("true", "false"),
}
TYPES = {"e": "ref", "n": "long", "s": "string", "k": "keyword", "b": "boolean"}
# Entities are longs; a variable that stands for both is of kind i.
NUMBERS = "eni"
NAMES = ("?a", "?b", "?c", "?d", "?f")
# A lookup ref that finds nothing is an error in DataScript and no rows here: these two are always there.
LOOKUPS = ('[:g/u "a"]', '[:g/u "b"]')

SCHEMA = (
    "["
    + " ".join(
        f"{{:db/ident {a} :db/valueType :db.type/{TYPES[kind]}"
        + (" :db/cardinality :db.cardinality/many" if a in MANY else "")
        + (" :db/unique :db.unique/identity" if a == ":g/u" else "")
        + "}"
        for a, kind in KINDS.items()
    )
    + "]"
)
# The same for DataScript, where only what differs from "one value of any type" is declared.
THEIR_SCHEMA = {
    **{a: {":db/cardinality": ":db.cardinality/many"} for a in MANY},
    ":g/r": {":db/valueType": ":db.type/ref"},
    ":g/to": {":db/valueType": ":db.type/ref", ":db/cardinality": ":db.cardinality/many"},
    ":g/u": {":db/unique": ":db.unique/identity"},
}


@dataclass(frozen=True)
class Asked:
    """A query: `ours` is its text for adalog, `theirs` for DataScript, `arguments` EDN texts after the database.

    The rules come after the arguments; `our_rules` is empty where the text of ours has them.
    """

    ours: str
    theirs: str
    arguments: tuple[str, ...]
    our_rules: str = ""
    their_rules: str = ""
    one_of: bool = False  # ours is any one of their rows, or nothing where there is none
    at_least: bool = False  # theirs may lack rows


def transactions(rng: Random) -> list[str]:
    """Transactions that make a small database: at most one value of each attribute of cardinality one."""
    forms = ['[:db/add 1 :g/u "a"]', '[:db/add 2 :g/u "b"]']
    taken = set()
    for _ in range(rng.randint(5, 40)):
        e, a = rng.choice(LITERALS["e"]), rng.choice([a for a in KINDS if a != ":g/u"])
        v = rng.choice(LITERALS[KINDS[a]])
        key = (e, a, v) if a in MANY else (e, a)
        if key not in taken:
            taken.add(key)
            forms.append(f"[:db/add {e} {a} {v}]")
    cut = rng.randint(1, len(forms))
    return [f"[{' '.join(part)}]" for part in (forms[:cut], forms[cut:]) if part]


class Writer:
    """Writes clauses that bind what they use. `bound` maps each bound variable to its kind, `x` being any."""

    def __init__(self, rng: Random, relation: bool = False) -> None:
        self.rng = rng
        self.relation = relation
        self.bound: dict[str, str] = {}
        # Functions are partial: which rows one sees before others drop them is not specified. So a variable that
        # stands for values of two kinds is never the argument of one.
        self.crossed: set[str] = set()
        self.typed: set[str] = set()
        self.locals = 0
        self.wide = 0
        self.closed = False
        # Nothing that lists or binds variables of its own.
        self.plain = False
        # Variables that have a kind before anything binds them, and keep it.
        self.reserved: dict[str, str] = {}

    def one(self, *options: str) -> str:
        return self.rng.choice(options)

    def chance(self, percent: int) -> bool:
        return self.rng.randint(1, 100) <= percent

    # Variables

    def bind(self, name: str, kind: str) -> str:
        """The variable gets values of this kind here, perhaps again."""
        known = self.bound.setdefault(name, kind)
        if known != kind or kind in "ix":
            self.crossed.add(name)
            self.bound[name] = "i" if known in NUMBERS and kind in NUMBERS else "x"
        return name

    def may(self, name: str, kind: str) -> bool:
        """Whether the variable may stand for this kind of value too.

        A string where an entity should be is an error in DataScript and no row here.
        """
        known = self.bound.get(name)
        if self.reserved.get(name, kind) != kind:
            return False
        if kind == "e" and known is not None and known not in NUMBERS:
            return False
        return name not in self.typed or known == kind

    def of_kind(self, kinds: str) -> str | None:
        """A bound variable whose values are all of one of the kinds, for a function that takes only those."""
        names = [name for name, kind in self.bound.items() if kind in kinds and name not in self.crossed]
        if not names:
            return None
        name = self.one(*names)
        self.typed.add(name)
        return name

    def second(self, first: str, kind: str) -> str:
        """Another argument: DataScript does not find the variables of a call that has one of them twice."""
        name = self.of_kind(kind)
        return self.one(*LITERALS[kind], *([name] * 3 if name and name != first else ()))

    def fresh(self) -> str:
        """A variable that occurs nowhere else: DataScript's `not` sees only what is bound before it."""
        self.locals += 1
        return f"?l{self.locals}"

    def place(self, names: Sequence[str], kind: str) -> str:
        """A variable for a place that holds this kind: mostly one that has it already, or a new one."""
        apt = [name for name in names if self.may(name, kind)]
        same = [name for name in apt if self.bound.get(name, kind) == kind]
        pick = same if same and not self.chance(10) else apt
        return self.bind(self.one(*pick), kind) if pick else "_"

    # Clauses

    def pattern(self, names: Sequence[str], must: str | None = None) -> str:
        a = self.one(*KINDS)
        at_e = must is not None and self.may(must, "e") and self.chance(50)
        if must is not None and not at_e:
            fitting = [a for a, kind in KINDS.items() if self.bound.get(must, kind) == kind]
            a = self.one(*(fitting or KINDS))
            if not self.may(must, KINDS[a]):
                return self.grounded(must)
        kind = KINDS[a]
        if must is None and self.wide < 1 and self.chance(5):
            self.wide += 1
            return self.wide_pattern(names)
        e = self.place((must,), "e") if at_e and must else self.entity(others(names, must))
        if must is not None and not at_e:
            v = self.place((must,), kind)
        else:
            literal = self.one(*LITERALS[kind], *(LOOKUPS if a in REFS else ()))
            v = self.one("_", literal) if self.chance(25) else self.place(others(names, e), kind)
        if v == "_" and self.chance(50):
            return f"[{e} {a}]"
        return f"[{e} {a} {v}]"

    def entity(self, names: Sequence[str]) -> str:
        if self.chance(20):
            return self.one("_", *LITERALS["e"], *LOOKUPS)
        return self.place(names, "e")

    def wide_pattern(self, names: Sequence[str]) -> str:
        """A variable or blank as attribute, or the transaction."""
        e = self.entity(names)
        spare = [name for name in others(names, e) if self.may(name, "x")]
        if len(spare) < 2 or self.chance(30):
            return f"[{e} _ {self.one(*LITERALS['n'])}]"
        first, second = self.rng.sample(spare, 2)
        if self.chance(50):
            a = self.one(*(a for a in KINDS if a not in REFS))
            return f"[{e} {a} {self.bind(first, 'x')} {self.bind(second, 'x')}]"
        return f"[{e} {self.bind(first, 'x')} {self.bind(second, 'x')}]"

    def grounded(self, name: str) -> str:
        kind = self.bound.get(name) or self.reserved.get(name) or self.one("e", "n", "s", "k", "b")
        if kind in "ix":
            kind = "n"
        values = " ".join(self.rng.sample(LITERALS[kind], 2))
        return f"[(ground [{values}]) [{self.bind(name, kind)} ...]]"

    def source_pattern(self, names: Sequence[str]) -> str:
        """A row of the relation `$rel`: an entity and a long."""
        first = self.place(names, "e")
        return f"[$rel {first} {self.place(others(names, first), 'n')}]"

    def predicate(self) -> str | None:
        if not self.bound:
            return None
        if self.chance(40):
            a = self.one(*self.bound)
            b = self.one(*others(self.bound, a), *LITERALS[self.one(*LITERALS)])
            return f"[({self.one('=', 'not=', 'not=')} {a} {b})]"
        if self.chance(20):
            entity = self.of_kind("e")
            return entity and f"[(missing? $ {entity} {self.one(*KINDS)})]"
        kind = self.one("n", "n", "s")
        a = self.of_kind(kind)
        if a is None:
            return None
        b = self.second(a, kind)
        if kind == "n" and self.chance(25):
            return f"[({self.one('odd?', 'even?', 'pos?', 'neg?', 'zero?')} {a})]"
        if kind == "s" and self.chance(25):
            return f"[({self.one('starts-with?', 'ends-with?', 'includes?')} {a} {b})]"
        arguments = self.one(f"{a} {b}", f"{b} {a}", f"{LITERALS[kind][0]} {a} {b}")
        return f"[({self.one('<', '>', '<=', '>=')} {arguments})]"

    def function(self, names: Sequence[str]) -> str | None:
        text, kind = self.call()
        if text is None:
            return None
        out = [name for name in names if self.may(name, kind) and name not in text]
        return f"[{text} {self.bind(self.one(*out), kind)}]" if out else None

    def call(self) -> tuple[str | None, str]:
        """A function's call and the kind of its result."""
        if not self.bound:
            return None, ""
        roll = self.rng.randint(1, 100)
        if roll <= 10:
            a = self.one(*self.bound)
            return f"(= {a} {self.one(*others(self.bound, a), *LITERALS['n'])})", "b"
        if roll <= 20:
            name = self.one(*self.bound)
            return f"(identity {name})", self.bound[name]
        if roll <= 30:
            entity, a = self.of_kind("e"), self.one(*ONE)
            return entity and f"(get-else $ {entity} {a} {self.one(*LITERALS[KINDS[a]])})", KINDS[a]
        if roll <= 75:
            a = self.of_kind("n")
            if a is None:
                return None, ""
            b = self.second(a, "n")
            divided = f"({self.one('quot', 'rem', 'mod')} {a} {self.one('2', '-2', '3')})"
            return self.one(f"({self.one('+', '-', '*', 'min', 'max')} {a} {b})", f"(inc {a})", divided), "n"
        a = self.of_kind("s")
        if a is None:
            return None, ""
        if roll <= 85:
            return f"(count {a})", "n"
        return self.one(f'(str {a} "a")', f"(str {a} 1)", f"(subs {a} 0 1)"), "s"

    def destructured(self, names: Sequence[str]) -> str | None:
        """A vector taken apart, in each shape of binding."""
        if len(self.bound) < 2:
            return None
        a, b = self.rng.sample(list(self.bound), 2)
        first = [name for name in others(names, a, b) if self.may(name, self.bound[a])]
        if not first:
            return None
        out = self.one(*first)
        if self.chance(30):
            if self.bound[a] != self.bound[b]:
                return None
            return f"[(tuple {a} {b}) [{self.bind(out, self.bound[a])} ...]]"
        second = [name for name in others(names, a, b, out) if self.may(name, self.bound[b])]
        other = self.one("_", *second)
        kind = self.bound[b]
        text = f"[(tuple {a} {b}) [{self.bind(out, self.bound[a])} {other}]]"
        if other != "_":
            self.bind(other, kind)
        return text

    def clause(self, names: Sequence[str], depth: int) -> str:
        roll = self.rng.randint(1, 100)
        if self.relation and roll <= 8:
            return self.source_pattern(names)
        text: str | None = None
        if 50 < roll <= 60:
            text = self.predicate()
        elif not self.plain and 60 < roll <= 68:
            text = self.function(names)
        elif not self.plain and 68 < roll <= 72:
            text = self.destructured(names)
        elif depth and 72 < roll <= 82:
            text = self.disjunction(names, depth - 1)
        elif depth and not self.plain and not self.closed and 82 < roll <= 87:
            text = self.or_join(names, depth - 1)
        elif depth and 87 < roll <= 96:
            text = self.negation(depth - 1)
        return text or self.pattern(names)

    def several(self, names: Sequence[str], depth: int, most: int = 3) -> list[str]:
        return [self.clause(names, depth) for _ in range(self.rng.randint(1, most))]

    def branch(self, all_of: Sequence[str], names: Sequence[str], depth: int) -> str:
        """An `and` over `names` that mentions, and binds, every one of `all_of`."""
        before = dict(self.bound)
        clauses = self.several(names, depth, 2) if self.chance(60) else []
        mentioned = set(_VARIABLE.findall(" ".join(each for each in clauses if "-join [" not in each)))
        for name in all_of:
            # DataScript wants every variable of the `or` in each branch; one bound only in a `not` is not bound.
            if name not in mentioned or (name not in before and name not in self.bound):
                clauses.append(self.pattern((name, *all_of), must=name))
        return f"(and {' '.join(clauses)})"

    def branches(self, all_of: Sequence[str], inside: Sequence[str], depth: int, visible: Sequence[str]) -> str:
        """Branches, each on its own: what one binds, the other does not see."""
        before, after = self.bound, {name: kind for name, kind in self.bound.items() if name in visible}
        texts, kinds = [], []
        for _ in range(self.rng.randint(1, 3)):
            self.bound = dict(after)
            texts.append(self.branch(all_of, inside, depth))
            kinds.append(self.bound)
        self.bound = before
        for name in all_of:
            for each in kinds:
                self.bind(name, each[name])
        return " ".join(texts)

    def disjunction(self, names: Sequence[str], depth: int) -> str:
        """DataScript counts the local variables of what is in a branch as the branch's, so there are none."""
        free, outer = self.some(names), self.closed
        self.closed = True
        text = f"(or {self.branches(free, free, depth, free)})"
        self.closed = outer
        return text

    def or_join(self, names: Sequence[str], depth: int) -> str:
        """Its own variables may have the names of outer ones, which they are not."""
        listed = self.some(names)
        inside = (*listed, *(name for name in self.shadows() if name not in listed))
        body = self.branches(listed, inside, depth, listed)
        return f"(or-join [{' '.join(listed)}] {body})"

    def negation(self, depth: int) -> str | None:
        apart = [name for name in self.bound if self.bound[name] != "x"] or list(self.bound)
        if not apart:
            return None
        shared = tuple(self.rng.sample(apart, min(len(apart), self.rng.randint(1, 2))))
        before = self.bound
        self.bound = {name: kind for name, kind in before.items() if name in shared}
        joined = not self.plain and self.chance(40)
        own = () if self.closed else self.shadows() if joined else (self.fresh(), self.fresh())
        inside = (*shared, *(name for name in own if name not in shared))
        clauses = [self.clause(inside, depth) for _ in range(self.rng.randint(0, 1))]
        clauses.append(self.pattern(inside, must=shared[0]))
        clauses += [self.pattern(inside, must=name) for name in shared[1:] if joined]
        self.bound = before
        listed = f"-join [{' '.join(shared)}]" if joined else ""
        return f"(not{listed} {' '.join(clauses)})"

    def shadows(self) -> tuple[str, ...]:
        return self.one(*NAMES), self.fresh()

    def some(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(self.rng.sample(list(names), self.rng.randint(1, min(2, len(names)))))


_VARIABLE = re.compile(r"\?\w+")


def others(names: Iterable[str], *but: str | None) -> list[str]:
    """DataScript does not make the places of a variable that is twice in a pattern or call equal."""
    return [name for name in names if name not in but]
