"""Random small databases and random nested queries, as EDN text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from adalog.datalog import aggregates

SCHEMA = """[{:db/ident :n :db/valueType :db.type/long}
             {:db/ident :x :db/valueType :db.type/double}
             {:db/ident :s :db/valueType :db.type/string}
             {:db/ident :k :db/valueType :db.type/keyword}
             {:db/ident :r :db/valueType :db.type/ref}
             {:db/ident :ns :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
             {:db/ident :xs :db/valueType :db.type/double :db/cardinality :db.cardinality/many}
             {:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :u :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :color/red} {:db/ident :color/blue}
             {:db/ident :ks :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}]"""

VALUES = {
    ":n": ["1", "2", "3", "700000000000000000"],
    ":x": ["1.0", "2.0", "2.5", "-0.5"],
    ":s": ['"a"', '":n"', '"1"'],
    ":k": [":n", ":to", ":a"],
    ":r": ["1", "2", "3", "4", ":color/red"],
    ":u": ['"a"', '"b"', '":n"', '"1"'],
    ":ns": ["1", "2", "3"],
    ":xs": ["1.0", "2.0", "3.5"],
    ":to": ["1", "2", "3", "4", ":color/red", ":color/blue"],
    ":ks": [":n", ":s", ":b"],
}
NAMED = (":color/red", '[:u "a"]', '[:u "b"]', '[:u "nobody"]', ":color/none")
PAST = "the database of the past"
MANY = (":ns", ":xs", ":to", ":ks")
ATTRIBUTES = tuple(VALUES)
FREE = tuple(a for a in ATTRIBUTES if a != ":u")
ENTITIES = ("1", "2", "3", "4")
VARIABLES = ("?a", "?b", "?c", "?d")
ENTITY_VARIABLES = ("?a", "?b", "?l")
REFS = (":r", ":to")
# The attributes whose values a variable mostly stands for.
HOME = {
    "?a": REFS,
    "?b": REFS,
    "?l": REFS,
    "?c": (":n", ":ns", ":x", ":xs"),
    "?d": (":u", ":s", ":k", ":ks", ":xs", ":ns"),
}
CONSTANTS = ("1", "2", "3", "1.0", "2.5", '"a"', ":n", ":to")

# Transactions


def transactions(rng: Random, most: int = 4) -> list[str]:
    """Texts of transactions without a conflict in themselves: each says one thing of an entity's attribute."""
    return [transaction(rng) for _ in range(rng.randint(1, most))]


def transaction(rng: Random) -> str:
    forms = {}
    for _ in range(rng.randint(4, 40)):
        e, a = rng.choice(ENTITIES), rng.choice(FREE)
        v = rng.choice(VALUES[a])
        key = (e, a, v) if a in MANY else (e, a)
        kind = rng.choice(("add", "add", "add", "add", "retract"))
        forms[key] = f"[:db/{kind} {e} {a} {v}]"
    for e in rng.sample(ENTITIES, rng.randint(0, 2)):
        forms[e] = f"[:db/add {e} :u {VALUES[':u'][ENTITIES.index(e)]}]"
    return f"[{' '.join(forms.values())}]"


# Queries


@dataclass(frozen=True)
class Asked:
    """A query's text and its arguments as EDN texts; `partial`: its functions may refuse what they are given.

    `rules`: each as `(head clause …)`, to be given for `%`, which is then the last input, or written in the query.
    """

    head: str
    clauses: tuple[str, ...]
    tail: str
    args: tuple[str, ...]
    partial: bool
    rules: tuple[tuple[str, ...], ...] = ()
    given: bool = False

    @property
    def text(self) -> str:
        section = f" :rules {self.rules_text}" if self.rules and not self.given else ""
        return f"{self.head} :where {' '.join(self.clauses)}{self.tail}{section}]"

    @property
    def rules_text(self) -> str:
        return "[" + " ".join(f"[{' '.join(rule)}]" for rule in self.rules) + "]"

    @property
    def repeats(self) -> bool:
        """Whether a variable stands twice in the head of a rule."""
        heads = (re.findall(r"\?\w+", rule[0]) for rule in self.rules if rule)
        return any(len(set(names)) < len(names) for names in heads)

    def smaller(self) -> Iterator[Asked]:
        """The same with less in it, to report a failure by."""
        for i in range(len(self.clauses)):
            yield replace(self, clauses=self.clauses[:i] + self.clauses[i + 1 :])
        if self.tail:
            yield replace(self, tail="")
        for i, rule in enumerate(self.rules):
            less = [rule[:j] + rule[j + 1 :] for j in range(1, len(rule)) if len(rule) > 2]
            for instead in [(), *((each,) for each in less)]:
                yield replace(self, rules=self.rules[:i] + instead + self.rules[i + 1 :])


class Writer:
    """Writes clauses. `names`: the variables that clauses may use; `fresh` ones are for outputs."""

    def __init__(self, rng: Random, sources: tuple[str, ...] = ()) -> None:
        self.rng = rng
        self.sources = sources
        self.partial = False
        self.wide = 0
        self.deep = rng.random() < 0.25

    @property
    def depth(self) -> int:
        """How deep clauses nest at most: a deep writer's mostly do, anybody else's seldom do at all."""
        return 3 if self.deep else 2

    def one(self, *options):
        return self.rng.choice(options)

    def chance(self, percent: int) -> bool:
        return self.rng.randint(1, 100) <= percent

    def pattern(self, names: tuple[str, ...], must: str | None = None) -> str:
        """One data pattern; `must` is a variable that it binds."""
        a, place = self.one(*ATTRIBUTES), None
        if must is not None:
            a, place = self.placed(must)
        entities = [name for name in names if name in ENTITY_VARIABLES] or list(names)
        values = [name for name in names if a in HOME.get(name, ())] or list(names)
        if self.chance(10):
            entities, values = list(names), list(names)
        attribute = a
        if self.chance(8) and self.wide < 2:
            self.wide += 1
            attribute = self.one(*names, "_")
        named = self.one(*NAMED, f"[:u {self.one(*values)}]")
        e = must if place == "e" else self.one(*entities * 8, "_", "_", self.one(*ENTITIES), named)
        literal = self.one(*VALUES[a] * 2, *((*ENTITIES, named) if a in REFS else CONSTANTS))
        literal = self.one(literal, "_")
        v = must if place == "v" else self.one(*values * 4, "_", literal)
        tail = ""
        if self.chance(6):
            tail = " " + self.one(*names, "_")
            if self.chance(30):
                tail += " " + self.one("true", "_", *names)
        elif v == "_" and place != "v" and self.chance(50):
            v = ""
        return f"[{e} {attribute} {v}{tail}]"

    def placed(self, name: str) -> tuple[str, str]:
        """An attribute and the place, e or v, where the variable is at home."""
        if self.chance(10):
            return self.one(*ATTRIBUTES), self.one("e", "v")
        if name in ENTITY_VARIABLES and self.chance(60):
            return self.one(*ATTRIBUTES), "e"
        return self.one(*HOME[name]), "v"

    def source_pattern(self, names: tuple[str, ...]) -> str:
        source = self.one(*self.sources)
        if source == "$old":
            return self.pattern(names).replace("[", "[$old ", 1)
        terms = [self.one(*names, *names, "_", "1", "1.0") for _ in range(self.rng.randint(1, 2))]
        return f"[{source} {' '.join(terms)}]"

    def predicate(self, names: tuple[str, ...]) -> str:
        a, b = self.one(*names), self.one(*names, *CONSTANTS)
        if self.chance(15):
            self.partial = True
            return f"[({self.one('odd?', 'pos?')} {a})]"
        operator = self.one("<", ">", "<=", ">=", "=", "not=", "not=", "==")
        return self.one(
            f"[({operator} {a} {b})]", f"[({operator} {b} {a})]", f"[(keyword? {a})]", f"[(number? {a})]"
        )

    def function(self, names: tuple[str, ...]) -> str:
        a, b, out, other = (self.one(*names) for _ in range(4))
        if self.chance(25):
            self.partial = True
            return self.one(f"[(+ {a} {self.one('1', '0.5', b)}) {out}]", f"[(get-else $ {a} :n 0) {out}]")
        return self.one(
            f"[(identity {a}) {out}]",
            f"[(str {a}) {out}]",
            f"[(= {a} {b}) {out}]",
            f"[(tuple {a} {b}) [{out} {other}]]",
            f"[(tuple {a} {b}) [_ {out}]]",
            f"[(tuple {a} {b} {a}) [{out} ...]]",
            f"[(ground {self.one(*CONSTANTS)}) {out}]",
            f"[(ground [1 2 1.0]) [{out} ...]]",
            f"[(ground [[1 2] [2 2] [3 :n]]) [[{out} {other}]]]",
            f'[(re-find "a|1" "{self.one("a", "b")}") {out}]',
        )

    def clause(self, names: tuple[str, ...], depth: int) -> str:
        roll = self.rng.randint(69 if self.deep and depth and self.chance(40) else 1, 100)
        if self.sources and roll <= 20:
            return self.source_pattern(names)
        if depth == 0 or roll <= 50:
            return self.pattern(names)
        if roll <= 60:
            return self.predicate(names)
        if roll <= 68:
            return self.function(names)
        if roll <= 78:
            return self.disjunction(names, depth)
        if roll <= 84:
            return self.or_join(names, depth)
        if roll <= 92:
            return self.negation(names, depth)
        if roll <= 97:
            return self.not_join(names, depth)
        return f"(and {self.several(names, depth - 1)})"

    def negation(self, names: tuple[str, ...], depth: int) -> str:
        return f"(not {self.several(names, depth - 1)})"

    def not_join(self, names: tuple[str, ...], depth: int) -> str:
        listed = self.some(names)
        return f"(not-join [{' '.join(listed)}] {self.covering(listed, (*listed, '?l', '?a'), depth - 1)})"

    def several(self, names: tuple[str, ...], depth: int) -> str:
        return " ".join(self.clause(names, depth) for _ in range(self.rng.randint(1, 2)))

    def some(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.rng.sample(names, self.rng.randint(1, min(2, len(names)))))

    def covering(self, all_of: tuple[str, ...], names: tuple[str, ...], depth: int) -> str:
        """Clauses over `names` that mention every one of `all_of`."""
        clauses = [self.clause(names, depth) for _ in range(self.rng.randint(0, 2))]
        text = " ".join(clauses)
        missing = [name for name in all_of if name not in text or not clauses or self.chance(70)]
        clauses += [self.pattern((*all_of, "_"), must=name) for name in missing]
        return " ".join(shuffled(self.rng, clauses))

    def disjunction(self, names: tuple[str, ...], depth: int) -> str:
        free = self.some(names)
        branches = [f"(and {self.covering(free, free, depth - 1)})" for _ in range(self.rng.randint(1, 3))]
        return f"(or {' '.join(branches)})"

    def or_join(self, names: tuple[str, ...], depth: int) -> str:
        listed = self.some(names)
        inside = (*listed, "?l", "?a")
        branches = [f"(and {self.covering(listed, inside, depth - 1)})" for _ in range(self.rng.randint(1, 3))]
        head = " ".join(listed) if self.chance(75) else f"[{listed[0]}] {' '.join(listed[1:])}"
        return f"(or-join [{head}] {' '.join(branches)})"

    def inputs(self, names: tuple[str, ...]) -> tuple[list[str], list[str]]:
        """Bindings and their arguments, of every shape; each variable once."""
        free = list(shuffled(self.rng, names))
        bindings, args = [], []
        scalars = ("1", "2", "3", "1.0", "2.0", '"a"')
        for _ in range(self.rng.randint(0, 2)):
            kind = self.one("scalar", "collection", "tuple", "relation")
            width = 2 if kind in ("tuple", "relation") else 1
            if len(free) < width:
                break
            mine = [free.pop() for _ in range(width)]
            if self.chance(10):
                mine[-1] = "_"
            rows = [tuple(self.one(*scalars) for _ in range(width)) for _ in range(self.rng.choice((0, 2, 4, 6)))]
            first = tuple(self.one(*scalars) for _ in range(width))
            if kind == "scalar":
                bindings.append(mine[0] if mine[0] != "_" else f"?unused{len(args)}")
                args.append(first[0])
            elif kind == "collection":
                bindings.append(f"[{mine[0]} ...]")
                args.append(f"[{' '.join(row[0] for row in rows)}]")
            elif kind == "tuple":
                bindings.append(f"[{' '.join(mine)}]")
                args.append(f"[{' '.join(first)}]")
            else:
                bindings.append(f"[[{' '.join(mine)}]]")
                args.append(f"[{' '.join('[' + ' '.join(row) + ']' for row in rows)}]")
        return bindings, args


AGGREGATES = ("count", "count-distinct", "min", "max", "distinct", "min 2", "max 2")
NUMERIC = tuple(each.name for each in aggregates.AGGREGATES.values() if each.counts_repeats)


def query(rng: Random, writer_of: Callable[[Random, tuple[str, ...]], Writer] = Writer) -> Asked:
    """A query that is well-formed; it may still leave a variable unbound."""
    names = tuple(rng.sample(VARIABLES, rng.randint(2, len(VARIABLES))))
    sources = rng.choice((("$rel",), ("$old",), ("$rel", "$old"))) if rng.random() < 0.25 else ()
    writer = writer_of(rng, sources)
    bindings, args = writer.inputs(names) if rng.random() < 0.4 else ([], [])
    clauses = [writer.clause(names, writer.depth) for _ in range(rng.choice((1, 1, 2, 2, 3, 4)))]
    found = rng.sample(names, rng.randint(1, min(3, len(names))))
    text = " ".join(clauses + bindings)
    loose = [name for name in found if not re.search(rf"{re.escape(name)}\b", text) or writer.chance(40)]
    clauses += [writer.pattern(names, must=name) for name in loose]
    with_ = ""
    elements = list(found)
    if writer.chance(35):
        at = rng.randrange(len(found))
        numeric = writer.chance(30)
        writer.partial |= numeric
        elements[at] = f"({rng.choice(NUMERIC if numeric else AGGREGATES)} {found[at]})"
        rest = [name for name in names if name not in found and f"{name} " in " ".join(clauses)]
        if rest and writer.chance(40):
            with_ = f":with {rest[0]} "
    plain = [str(place) if rng.random() < 0.1 else name for place, name in enumerate(elements, 1) if name[0] == "?"]
    outside = [name for name in names if name not in found and f"{name} " in " ".join(clauses)]
    tail = order_of(rng, [*plain, *outside[: rng.choice((0, 0, 1))]])
    if "$rel" in sources:
        cells = ("1", "2", "1.0", '"a"', ":n")
        rows = [f"[{rng.choice(cells)} {rng.choice(cells)}]" for _ in range(rng.randint(1, 5))]
        args = [*args, f"[{' '.join(rows)}]"]
    if "$old" in sources:
        args = [*args, PAST]
    head = f"[:find {' '.join(elements)} {with_}:in {' '.join(['$', *bindings, *sources])}"
    return Asked(head, tuple(shuffled(rng, clauses)), tail, tuple(args), writer.partial)


def order_of(rng: Random, plain: list[str]) -> str:
    tail = ""
    if plain and rng.random() < 0.2:
        keys = rng.sample(plain, rng.randint(1, len(plain)))
        styles = "{}", "{} :desc", "{} :asc", "[{} :desc]", "[{} :asc]", "[{}]"
        tail += f" :order-by [{' '.join(rng.choice(styles).format(key) for key in keys)}]"
    if rng.random() < 0.15:
        tail += f" :limit {rng.choice((0, 1, 2, 3, 5))}"
    if rng.random() < 0.1:
        tail += f" :offset {rng.randint(0, 3)}"
    return tail


def shuffled(rng: Random, items: Sequence[str]) -> list[str]:
    return rng.sample(list(items), len(items))
