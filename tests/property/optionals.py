"""Random queries with `optional`: several, nested, other clauses within; what they bind is compared and shown."""

from __future__ import annotations

from random import Random

from tests.property.generated import ATTRIBUTES, VARIABLES, Asked, Writer, order_of, shuffled

RULES = (
    ("(near ?x ?y)", "[?x :to ?y]"),
    ("(near ?x ?y)", "[?x :r ?y]"),
    ("(far ?x ?y)", "[?x :to ?y]"),
    ("(far ?x ?y)", "[?x :to ?z]", "(far ?z ?y)"),
    ("(alone ?x)", "[?x :n]", "(optional [?x :r ?y] [?y :n ?n])", "[(nil? ?n)]"),
)


class OptionalWriter(Writer):
    """Writes clauses over variables of any name."""

    def placed(self, name: str) -> tuple[str, str]:
        return super().placed(name) if name in VARIABLES else (self.one(*ATTRIBUTES), self.one("e", "v", "v", "v"))

    def optional(self, names: tuple[str, ...], number: str, depth: int = 1) -> tuple[str, tuple[str, ...]]:
        """(an optional that may share some of the names, the variables that it alone binds)."""
        own = (f"?{number}", f"?{number}'")[: self.rng.randint(1, 2)]
        inside = (*(self.some(names) if self.chance(90) else ()), *own)
        clauses = [self.covering(own, inside, 1)]
        if self.chance(20):
            clauses.append(f"({self.one('near', 'far')} {self.one(*inside)} {self.one(*own)})")
        if self.chance(10):
            clauses.append(f"(alone {self.one(*inside)})")
        if depth and self.chance(25):
            text, more = self.optional(inside, f"{number}n", 0)
            clauses.append(text)
            if self.chance(40):
                clauses.append(self.test(more))
            own = (*own, *more)
        return f"(optional {' '.join(shuffled(self.rng, clauses))})", own

    def test(self, names: tuple[str, ...]) -> str:
        """A condition on a variable that may be nil."""
        a, b = self.one(*names), self.one(*names)
        return self.one(
            self.predicate(names),
            f"[({self.one('nil?', 'some?')} {a})]",
            f"[(or (nil? {a}) (= {a} {b}))]",
            f"[({self.one('in', 'not-in')} {a} [1 2.0 :n])]",
            f"[(between {a} 1 {self.one('2', b)})]",
            f"[(not= {a} {b})]",
        )


def query(rng: Random) -> Asked:
    """A query whose clauses bind all variables that its optionals share."""
    writer = OptionalWriter(rng)
    names = tuple(rng.sample(VARIABLES, rng.choice((1, 1, 2, 3))))
    bindings, args = writer.inputs(names) if rng.random() < 0.3 else ([], [])
    bound = " ".join(bindings)
    clauses = [writer.pattern(names, must=name) for name in names if name not in bound or writer.chance(50)]
    if writer.chance(30):
        clauses.append(writer.clause(names, 1))
    own: tuple[str, ...] = ()
    for number in range(rng.choice((1, 1, 2, 3))):
        text, more = writer.optional(names, f"o{number}")
        clauses.append(text)
        own = (*own, *more)
    clauses += [writer.test((*own, *names)) for _ in range(rng.choice((0, 0, 0, 1, 2)))]
    known = (*names, *own)
    if writer.chance(20):
        clauses.append(f"[({writer.one('coalesce', 'vector', 'str')} {writer.one(*known)} 1) ?f]")
        known = (*known, "?f")
    found = rng.sample(known, rng.randint(1, min(4, len(known))))
    elements = list(found)
    rest = [name for name in known if name not in found]
    with_ = ""
    if writer.chance(40):
        at = rng.randrange(len(found))
        elements[at] = f"({writer.one('count', 'count-distinct', 'min', 'max', 'distinct', 'min 2')} {found[at]})"
        with_ = f":with {' '.join(rng.sample(rest, 1))} " if rest and writer.chance(40) else ""
    plain = [name for name in elements if name[0] == "?"]
    tail = order_of(rng, [*plain, *rest[: rng.choice((0, 0, 1))]])
    head = f"[:find {' '.join(elements)} {with_}:in {' '.join(['$', *bindings])}"
    return Asked(head, tuple(shuffled(rng, clauses)), tail, tuple(args), writer.partial, RULES)
