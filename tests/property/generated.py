"""Random small databases and random nested queries, as EDN text."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

SCHEMA = """[{:db/ident :n :db/valueType :db.type/long}
             {:db/ident :x :db/valueType :db.type/double}
             {:db/ident :s :db/valueType :db.type/string}
             {:db/ident :k :db/valueType :db.type/keyword}
             {:db/ident :r :db/valueType :db.type/ref}
             {:db/ident :ns :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
             {:db/ident :xs :db/valueType :db.type/double :db/cardinality :db.cardinality/many}
             {:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :ks :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}]"""

VALUES = {
    ":n": ["1", "2", "3", "700000000000000000"],
    ":x": ["1.0", "2.0", "2.5", "-0.5"],
    ":s": ['"a"', '":n"', '"1"'],
    ":k": [":n", ":to", ":a"],
    ":r": ["1", "2", "3", "4"],
    ":ns": ["1", "2", "3"],
    ":xs": ["1.0", "2.0", "3.5"],
    ":to": ["1", "2", "3", "4"],
    ":ks": [":n", ":s", ":b"],
}
MANY = (":ns", ":xs", ":to", ":ks")
ATTRIBUTES = tuple(VALUES)
ENTITIES = ("1", "2", "3", "4")
VARIABLES = ("?a", "?b", "?c", "?d")
CONSTANTS = ("1", "2", "3", "1.0", "2.5", '"a"', ":n", ":to")

# Transactions


@st.composite
def transactions(draw, most: int = 5) -> list[str]:
    """Texts of transactions without a conflict in themselves: each says one thing of an entity's attribute."""
    return draw(st.lists(transaction(), min_size=1, max_size=most))


@st.composite
def transaction(draw) -> str:
    forms = {}
    for _ in range(draw(st.integers(1, 10))):
        e, a = draw(st.sampled_from(ENTITIES)), draw(st.sampled_from(ATTRIBUTES))
        v = draw(st.sampled_from(VALUES[a]))
        key = (e, a, v) if a in MANY else (e, a)
        kind = draw(st.sampled_from(("add", "add", "add", "add", "retract")))
        forms[key] = f"[:db/{kind} {e} {a} {v}]"
    return f"[{' '.join(forms.values())}]"


# Queries


@dataclass(frozen=True)
class Asked:
    """A query's text and its arguments as EDN texts; `partial`: its functions may refuse what they are given."""

    text: str
    args: tuple[str, ...]
    partial: bool


class Writer:
    """Draws clauses. `names`: the variables that clauses may use; `fresh` ones are for outputs."""

    def __init__(self, draw, sources: tuple[str, ...] = ()) -> None:
        self.draw = draw
        self.sources = sources
        self.partial = False
        self.wide = 0

    def one(self, *options):
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(1, 100)) <= percent

    def pattern(self, names: tuple[str, ...], must: str | None = None) -> str:
        """One data pattern; `must` is a variable that it binds."""
        place = self.one("e", "v") if must else None
        roll = self.draw(st.integers(1, 100))
        a = self.one(*ATTRIBUTES)
        attribute = a
        if roll > 90 and self.wide < 2:
            self.wide += 1
            attribute = self.one(*names, "_")
        e = must if place == "e" else self.one(*names, *names, "_", *ENTITIES[:2])
        v = must if place == "v" else self.one(*names, *names, "_", self.one(*VALUES[a]), self.one(*CONSTANTS))
        tail = ""
        if self.chance(8):
            tail = " " + self.one(*names, "_")
            if self.chance(30):
                tail += " " + self.one("true", "_", *names)
        elif v == "_" and place != "v" and self.chance(50):
            v = ""
        return f"[{e} {attribute} {v}{tail}]"

    def source_pattern(self, names: tuple[str, ...]) -> str:
        terms = [self.one(*names, *names, "_", "1", "1.0") for _ in range(self.draw(st.integers(1, 2)))]
        return f"[{self.one(*self.sources)} {' '.join(terms)}]"

    def predicate(self, names: tuple[str, ...]) -> str:
        a, b = self.one(*names), self.one(*names, *CONSTANTS)
        if self.chance(15):
            self.partial = True
            return f"[({self.one('odd?', 'pos?')} {a})]"
        operator = self.one("<", ">", "<=", ">=", "=", "not=", "==")
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
        roll = self.draw(st.integers(1, 100))
        if self.sources and roll <= 10:
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
            return f"(not {self.several(names, depth - 1)})"
        if roll <= 97:
            listed = self.some(names)
            return f"(not-join [{' '.join(listed)}] {self.covering(listed, (*listed, '?l', '?a'), depth - 1)})"
        return f"(and {self.several(names, depth - 1)})"

    def several(self, names: tuple[str, ...], depth: int) -> str:
        return " ".join(self.clause(names, depth) for _ in range(self.draw(st.integers(1, 2))))

    def some(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))

    def covering(self, all_of: tuple[str, ...], names: tuple[str, ...], depth: int) -> str:
        """Clauses over `names` that mention every one of `all_of`."""
        clauses = [self.clause(names, depth) for _ in range(self.draw(st.integers(0, 2)))]
        text = " ".join(clauses)
        missing = [name for name in all_of if name not in text or not clauses or self.chance(70)]
        clauses += [self.pattern((*all_of, "_"), must=name) for name in missing]
        return " ".join(self.draw(st.permutations(clauses)))

    def disjunction(self, names: tuple[str, ...], depth: int) -> str:
        free = self.some(names)
        branches = [f"(and {self.covering(free, free, depth - 1)})" for _ in range(self.draw(st.integers(1, 3)))]
        return f"(or {' '.join(branches)})"

    def or_join(self, names: tuple[str, ...], depth: int) -> str:
        listed = self.some(names)
        inside = (*listed, "?l", "?a")
        branches = [
            f"(and {self.covering(listed, inside, depth - 1)})" for _ in range(self.draw(st.integers(1, 3)))
        ]
        head = " ".join(listed) if self.chance(75) else f"[{listed[0]}] {' '.join(listed[1:])}"
        return f"(or-join [{head}] {' '.join(branches)})"

    def inputs(self, names: tuple[str, ...]) -> tuple[list[str], list[str]]:
        """Bindings and their arguments, of every shape; each variable once."""
        free = list(self.draw(st.permutations(names)))
        bindings, args = [], []
        scalar = st.sampled_from(("1", "2", "3", "1.0", "2.0", '"a"'))
        for _ in range(self.draw(st.integers(0, 2))):
            kind = self.one("scalar", "collection", "tuple", "relation")
            width = 2 if kind in ("tuple", "relation") else 1
            if len(free) < width:
                break
            mine = [free.pop() for _ in range(width)]
            if self.chance(10):
                mine[-1] = "_"
            rows = self.draw(st.lists(st.tuples(*[scalar] * width), max_size=4))
            first = self.draw(st.tuples(*[scalar] * width))
            if kind == "scalar":
                bindings.append(mine[0] if mine[0] != "_" else "?unused")
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
NUMERIC = ("sum", "avg", "median", "variance", "stddev")


@st.composite
def queries(draw, variables: tuple[str, ...] = VARIABLES, aggregates: bool = True) -> Asked:
    """A query that is well-formed; it may still leave a variable unbound."""
    names = variables[: draw(st.integers(2, len(variables)))]
    sources = ("$rel",) if draw(st.integers(1, 100)) <= 15 else ()
    writer = Writer(draw, sources)
    bindings, args = writer.inputs(names)
    clauses = [writer.clause(names, 2) for _ in range(draw(st.integers(1, 4)))]
    found = list(draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)))
    text = " ".join(clauses + bindings)
    bound = [f"{name} " in text or f"{name}]" in text for name in found]
    clauses += [
        writer.pattern(names, must=name)
        for name, seen in zip(found, bound, strict=True)
        if not seen or writer.chance(50)
    ]
    with_ = ""
    elements = list(found)
    if aggregates and writer.chance(35):
        at = draw(st.integers(0, len(found) - 1))
        numeric = writer.chance(30)
        writer.partial |= numeric
        elements[at] = f"({draw(st.sampled_from(NUMERIC if numeric else AGGREGATES))} {found[at]})"
        rest = [name for name in names if name not in found and f"{name} " in " ".join(clauses)]
        if rest and writer.chance(40):
            with_ = f":with {rest[0]} "
    tail = order_of(draw, [name for name in elements if name.startswith("?")])
    given = " ".join(["$", *bindings, *sources])
    if sources:
        rows = draw(
            st.lists(st.tuples(*[st.sampled_from(("1", "2", "1.0", '"a"', ":n"))] * 2), min_size=1, max_size=4)
        )
        args = [*args, f"[{' '.join(f'[{a} {b}]' for a, b in rows)}]"]
    clauses = draw(st.permutations(clauses))
    text = f"[:find {' '.join(elements)} {with_}:in {given} :where {' '.join(clauses)}{tail}]"
    return Asked(text, tuple(args), writer.partial)


def order_of(draw, plain: list[str]) -> str:
    tail = ""
    if plain and draw(st.integers(1, 100)) <= 20:
        keys = draw(st.lists(st.sampled_from(plain), min_size=1, unique=True))
        shown = [draw(st.sampled_from((key, f"[{key} :desc]", f"[{key} :asc]"))) for key in keys]
        tail += f" :order-by [{' '.join(shown)}]"
    if draw(st.integers(1, 100)) <= 15:
        tail += f" :limit {draw(st.integers(0, 4))}"
    if draw(st.integers(1, 100)) <= 10:
        tail += f" :offset {draw(st.integers(0, 3))}"
    return tail
