"""Random queries whose clauses are tied by `=`, `==`, `identity` and comparisons alone, over numbers of all types.

The values are few and near each other: equal ones of several types, one that no double is, both zeros, NaN, the
infinities, and numbers beyond what is its own code.
"""

from __future__ import annotations

from random import Random

from tests.property.generated import Asked, order_of, shuffled

TYPES = {
    ":l": "long",
    ":d": "double",
    ":f": "float",
    ":i": "bigint",
    ":b": "bigdec",
    ":s": "string",
    ":k": "keyword",
    ":t": "instant",
}
SCHEMA = (
    "["
    + " ".join(
        f"{{:db/ident {name} :db/valueType :db.type/{kind} :db/cardinality :db.cardinality/many}}"
        for name, kind in TYPES.items()
    )
    + "]"
)
LARGE = 2**53 + 1
HUGE = 2**60 + 2**10
VALUES = {
    ":l": ("0", "1", "2", "3", str(LARGE), str(LARGE - 1), str(HUGE), str(-HUGE)),
    ":d": ("0.0", "-0.0", "1.0", "2.0", "0.5", "0.1", f"{LARGE - 1}.0", f"{HUGE}.0", "##NaN", "##Inf", "##-Inf"),
    ":f": ("0.0", "1.0", "0.5", "0.1", "3.0", "##NaN", "##-Inf"),
    ":i": ("0N", "1N", "2N", f"{LARGE}N", f"{HUGE}N", f"{10**30}N"),
    ":b": ("0M", "1M", "1.0M", "2.50M", "0.5M", "0.1M", f"{LARGE}M", f"{HUGE}M", "1E+30M"),
    ":s": ('"a"', '"1"', '"b"'),
    ":k": (":a", ":b", ":a/b"),
    ":t": ('#inst "2020-01-01"', '#inst "2021-01-01"'),
}
NUMBERS = (":l", ":l", ":d", ":d", ":f", ":i", ":b")
ENTITIES = ("101", "102", "103", "104")
OPERATORS = ("=", "=", "==", "==", "==", "<", ">", "<=", ">=", "not=")


def transaction(rng: Random) -> str:
    """A text that adds, and at times retracts, some values."""
    forms = {}
    for _ in range(rng.choice((6, 12, 30))):
        e, a = rng.choice(ENTITIES), rng.choice((*NUMBERS, *VALUES))
        v = rng.choice(VALUES[a])
        # The same value written in two ways is the same.
        forms[e, a, v.replace("-0.0", "0.0").replace("1.0M", "1M")] = (
            f"[:db/{rng.choice(('add', 'add', 'add', 'retract'))} {e} {a} {v}]"
        )
    return f"[{' '.join(forms.values())}]"


class Writer:
    """`bound`: the variables that patterns of the scope bind."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.names = 0

    def chance(self, percent: int) -> bool:
        return self.rng.randint(1, 100) <= percent

    def fresh(self) -> str:
        self.names += 1
        return f"?{'abcdefghijklmnopqrstuvwxyz'[self.names % 26]}{self.names}"

    def attribute(self) -> str:
        return self.rng.choice(NUMBERS) if self.chance(75) else self.rng.choice(tuple(VALUES))

    def pattern(self, value: str) -> str:
        entity = self.rng.choice(("_", "_", "?e", "?f", self.rng.choice(ENTITIES)))
        return f"[{entity} {self.attribute()} {value}]"

    def tie(self, bound: list[str], name: str | None = None) -> str:
        """A comparison between variables that are bound, or with a constant."""
        left = name or self.rng.choice(bound)
        operator = self.rng.choice(OPERATORS)
        if self.chance(15):
            right = self.rng.choice(VALUES[self.rng.choice(NUMBERS)])
        else:
            right = self.rng.choice(bound)
        terms = [left, right]
        if self.chance(15):
            terms.append(self.rng.choice(bound))
        if self.chance(10) and terms[1].startswith("?"):
            return f"[(identity {terms[0]}) {terms[1]}]"
        return f"[({operator} {' '.join(shuffled(self.rng, terms))})]"

    def tied(self, bound: list[str], depth: int) -> tuple[str, list[str]]:
        """A clause or two that bind one more variable and tie it to another."""
        name = self.fresh()
        text = self.pattern(name)
        if self.chance(15):
            computed = self.fresh()
            text += f" [(identity {name}) {computed}]"
            name = computed
        text += " " + self.tie([*bound, name] if bound else [name], name)
        if depth and self.chance(30):
            text += " " + self.nested([*bound, name], depth - 1)
        return text, [name]

    def about(self, name: str) -> str:
        return self.tie([name]) if self.chance(60) else self.pattern(name)

    def nested(self, bound: list[str], depth: int) -> str:
        kind = self.rng.choice(("not", "not", "not-join", "or", "or-join", "or-join"))
        some = self.rng.sample(bound, min(len(bound), self.rng.choice((1, 1, 2))))
        match kind:
            case "not":
                text, names = self.tied(some, depth)
                return f"(not {text} {self.tie([*some, *names])})"
            case "not-join":
                text, _ = self.tied(some, depth)
                return f"(not-join [{' '.join(some)}] {text} {self.tie(some)})"
            case "or":
                # Branches have the same free variables.
                branches = [" ".join(map(self.about, some)) for _ in range(2)]
                return f"(or (and {branches[0]}) (and {branches[1]}))"
        new = self.fresh()
        branches = []
        for _ in range(self.rng.choice((1, 2, 2))):
            how = self.rng.choice(("pattern", "tie", "both"))
            text = self.pattern(new)
            if how == "tie":
                local = self.fresh()
                text = f"{self.pattern(local)} [(identity {local}) {new}]"
            text += " " + self.tie([*some, new], new)
            if how == "both":
                text += " " + self.tie([*some, new])
            branches.append(f"(and {text})")
        bound.append(new)
        return f"(or-join [{' '.join([*some, new])}] {' '.join(branches)})"


def query(rng: Random) -> Asked:
    """A query that is well-formed; it may still leave a variable unbound."""
    writer = Writer(rng)
    bound: list[str] = []
    clauses: list[str] = []
    bindings: list[str] = []
    args: list[str] = []
    numbers = [value for name in NUMBERS for value in VALUES[name]]
    if writer.chance(30):
        name = writer.fresh()
        bound.append(name)
        if writer.chance(40):
            bindings, args = [name], [rng.choice(numbers)]
        else:
            others = ("[1 2]", "[1 2.0]", "[3]", "true", '"a"', ":a", "#{1}")
            some = {
                value.replace("-0.0", "0.0"): None for value in (*rng.sample(numbers, 4), *rng.sample(others, 2))
            }
            bindings, args = [f"[{name} ...]"], [f"[{' '.join(some)}]"]
    first = writer.fresh()
    clauses.append(writer.pattern(first))
    bound.append(first)
    for _ in range(rng.choice((1, 1, 2))):
        text, names = writer.tied(bound, 1)
        clauses.append(text)
        bound += names
    if writer.chance(60):
        clauses.append(writer.nested(bound, 1))
    rules: tuple[tuple[str, ...], ...] = ()
    if writer.chance(20):
        operator = rng.choice(OPERATORS)
        rules = (
            ("(near ?x ?y)", writer.pattern("?x"), writer.pattern("?y"), f"[({operator} ?x ?y)]"),
            ("(near ?x ?y)", "[_ :l ?x]", "(near ?y ?z)", "[(= ?x ?z)]"),
        )[: rng.choice((1, 2))]
        name = writer.fresh()
        clauses.append(f"(near {rng.choice(bound)} {name})")
        bound.append(name)
    found = rng.sample(bound, min(len(bound), rng.randint(1, 3)))
    elements = list(found)
    with_ = ""
    if writer.chance(30):
        at = rng.randrange(len(found))
        elements[at] = f"({rng.choice(('count', 'count-distinct', 'min', 'max'))} {found[at]})"
        rest = [name for name in bound if name not in found]
        with_ = f":with {rest[0]} " if rest and writer.chance(50) else ""
    tail = order_of(rng, [name for name in elements if name.startswith("?")])
    head = f"[:find {' '.join(elements)} {with_}:in {' '.join(['$', *bindings])}"
    return Asked(head, tuple(shuffled(rng, clauses)), tail, tuple(args), partial=False, rules=rules)
