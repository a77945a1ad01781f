"""Patterns of one to five places over random points of time, against a model of (e a v t added) tuples.

The model knows no index: it keeps what every transaction asserted and retracted, and filters that.
"""

from __future__ import annotations

from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.edn import write
from adalog.datalog.values import Keyword, identity
from adalog.executor.pool import Pool
from adalog.store.database import Database
from adalog.store.values.attribute import TX_BASE
from tests.support import World

ONE, MANY, REF = Keyword("n"), Keyword("ns"), Keyword("to")
OURS = (ONE, MANY, REF)
SCHEMA = (
    "[{:db/ident :n :db/valueType :db.type/long}"
    " {:db/ident :ns :db/valueType :db.type/long :db/cardinality :db.cardinality/many}"
    " {:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"
)
ENTITIES = (1, 2, 3)
VALUES = (1, 2, 3, 10)


class Model:
    """Every datom ever made, `(e, a, v, t, added)`, and what holds now."""

    def __init__(self) -> None:
        self.events = []
        self.holds = {}

    def transact(self, t, forms):
        for assertion, e, a, v in forms:
            if not assertion:
                if (e, a, v) in self.holds:
                    self._retract(e, a, v, t)
            elif (e, a, v) not in self.holds:
                for old in [key for key in self.holds if key[:2] == (e, a) and a == ONE]:
                    self._retract(*old, t)
                self.events.append((e, a, v, t, True))
                self.holds[e, a, v] = t

    def _retract(self, e, a, v, t):
        del self.holds[e, a, v]
        self.events.append((e, a, v, t, False))

    def view(self, as_of, since, history):
        """The rows that a pattern sees."""
        seen = [event for event in self.events if event[3] <= as_of]
        if not history:
            last = {event[:3]: event for event in seen}
            seen = [event for event in last.values() if event[4]]
        return [(e, a, v, TX_BASE + t, added) for e, a, v, t, added in seen if t > since or since == 0]


def random_forms(rng: Random):
    """One form for each (e, a) of cardinality one, for each (e, a, v) of the others."""
    forms = {}
    for _ in range(rng.randint(1, 8)):
        e, a = rng.choice(ENTITIES), rng.choice(OURS)
        v = rng.choice(ENTITIES if a == REF else VALUES)
        forms[(e, a) if a == ONE else (e, a, v)] = (rng.random() < 0.6, e, a, v)
    return list(forms.values())


def random_pattern(rng: Random, t: int):
    """Places as EDN symbols or values."""
    constants = (ENTITIES, OURS, VALUES, (*range(1, t + 1), TX_BASE + t), (True, False))
    homes = ("?e", "?a", "?v", "?tx", "?op")
    places = []
    for i in range(rng.choice((1, 2, 3, 4, 5, 5, 5))):
        roll = rng.random()
        if roll < 0.55:
            places.append(homes[i])
        elif roll < 0.65:
            places.append(rng.choice(("?e", "?v", "?tx", "?x")))
        elif roll < 0.8:
            places.append("_")
        else:
            places.append(rng.choice(constants[i]))
    return places


def text_of(pattern) -> str:
    return "[" + " ".join(place if isinstance(place, str) else write(place) for place in pattern) + "]"


def matches(patterns, rows):
    """The bindings of all patterns, one row each."""
    found = set()
    for chosen in product(rows, repeat=len(patterns)):
        bound = {}
        if all(
            _fits(place, cell, index, bound)
            for pattern, row in zip(patterns, chosen, strict=True)
            for index, (place, cell) in enumerate(zip(pattern, row, strict=False))
        ):
            found.add(tuple(sorted((name, identity(value)) for name, value in bound.items())))
    return found


def _fits(place, cell, index, bound):
    if place == "_":
        return True
    if isinstance(place, str):
        return identity(bound.setdefault(place, cell)) == identity(cell)
    if index == 3 and place < TX_BASE:
        place += TX_BASE
    return identity(place) == identity(cell)


@given(st.integers(0, 2**32))
def test_patterns_over_time(seed):
    rng = Random(seed)
    model = Model()
    with Database.open(":memory:") as database:
        pool = Pool(database)
        try:
            world = World(database, pool)
            world.tx(SCHEMA)
            for _ in range(rng.randint(1, 5)):
                forms = random_forms(rng)
                text = " ".join(
                    f"[:db/{'add' if assertion else 'retract'} {e} {a} {v}]" for assertion, e, a, v in forms
                )
                model.transact(world.tx(f"[{text}]").t, forms)
            now = database.snapshot().t
            ours = [e for e in database.at(history=True).datoms("EAVT") if e.a in OURS]
            assert sorted((d.e, str(d.a), d.v, d.t, d.added) for d in ours) == sorted(
                (e, str(a), v, t, added) for e, a, v, t, added in model.events
            )
            built_in = [
                (d.e, d.a, d.v, d.t, d.added) for d in database.at(history=True).datoms("EAVT") if d.a not in OURS
            ]
            model.events += built_in
            for _ in range(4):
                check(world, model, rng, now)
        finally:
            pool.close()


def check(world: World, model: Model, rng: Random, now: int) -> None:
    as_of, since, history = rng.randint(0, now), rng.choice((0, 0, rng.randint(0, now))), rng.random() < 0.5
    patterns = [random_pattern(rng, now)]
    rows = model.view(as_of, since, history)
    if rng.random() < 0.4:
        patterns.append(random_pattern(rng, now))
        rows = [row for row in rows if row[1] in OURS]
    names = sorted({place for pattern in patterns for place in pattern if isinstance(place, str)} - {"_"})
    attributes = {pattern[1] for pattern in patterns if len(pattern) > 1 and isinstance(pattern[1], str)} - {"_"}
    if not names or any(place in attributes for pattern in patterns for place in (pattern[0], *pattern[2:3])):
        # A variable of attributes in another place stands for their entities, which the model knows nothing of.
        return
    clauses = " ".join(map(text_of, patterns))
    if len(patterns) > 1:
        # Both about our own attributes, or the model has too much to try.
        if any(len(pattern) < 2 or pattern[1] not in (*OURS, "?a") for pattern in patterns):
            return
        if any(pattern[1] == "?a" for pattern in patterns):
            clauses += " [(ground [:n :ns :to]) [?a ...]]"
    query = f"[:find {' '.join(names)} :where {clauses}]"
    at = world.at(as_of=as_of, since=since, history=history)
    found = {
        tuple(sorted((name, identity(value)) for name, value in zip(names, row, strict=True)))
        for row in at.q(query).rows
    }
    assert found == matches(patterns, rows), (query, as_of, since, history)
