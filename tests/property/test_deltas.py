"""The bodies of a change: their rows, added up with their signs, are what the answer at the second moment has more
than that at the first, whatever was written in between and whatever kind of view the two are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from adalog.datalog.errors import AdalogError
from adalog.datalog.parsing.parser import parse_query
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import Run
from adalog.executor.evaluation.bind import Binding
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.extenders.changes import Moments
from adalog.executor.join.batch import Batch
from adalog.executor.join.driver import Driver
from adalog.planner.delta.deltas import alternatives, delta_bodies, of_databases
from adalog.planner.model.logical import WEIGHT, AndNode, DatomAtom, Leaf, Node, in_body, variables
from adalog.planner.model.plan import Options, Plan
from adalog.planner.model.version import Version
from adalog.planner.order.joins import plan_join
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import plan_query
from adalog.planner.rules.requirements import settled
from adalog.planner.scope.tree import tree_of
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch
from tests.property.generated import SCHEMA, transaction, transactions

ENTITIES = ("?a", "?b", "?c", "1", "2", "_", '[:u "a"]', '[:u "b"]', ":color/red")
ATTRIBUTES = {
    ":n": ("?n", "?m", "1", "2", "_"),
    ":ns": ("?n", "?m", "1", "2", "_"),
    ":r": ("?a", "?b", "?c", "3", "_", '[:u "a"]'),
    ":to": ("?a", "?b", "?c", "3", "_", ":color/red"),
    ":u": ("?u", '"a"', "_"),
    ":ks": (":n", "?k", "_"),
}
OPTIONS = (Options(), Options(reorder=False), Options(project=False), Options(budget=1))


def pattern(rng: Random) -> str:
    attribute = rng.choice(list(ATTRIBUTES))
    entity, value = rng.choice(ENTITIES), rng.choice(ATTRIBUTES[attribute])
    if rng.random() < 0.1:
        attribute = rng.choice(("?x", "_"))
    stamp = rng.choice(("?t", "?t ?op", "_ true", "_ ?op", "?t true")) if rng.random() < 0.15 else ""
    return f"[{entity} {attribute} {value} {stamp}]"


def clause(rng: Random) -> str:
    kind = rng.random()
    if kind < 0.12:
        return f"(not-join [?a] {pattern(rng)} {pattern(rng)})"
    if kind < 0.24:
        return f"(or-join [?a] {pattern(rng)} (and {pattern(rng)} {pattern(rng)}))"
    return pattern(rng)


class Asked:
    """One conjunction of patterns over `$`, evaluated over versions of it."""

    def __init__(self, text: str, moments: Moments, options: Options) -> None:
        query = parse_query(text)
        self.statistics = Statistics({"$": moments.new}, {})
        self.moments = moments
        self.options = options
        self.plan = plan_query(query, self.statistics, frozenset(), options)
        self.tree = settled(tree_of(query, frozenset(), _no_queries))
        self.values = Scratch(moments.new.codes)

    def rows(self, body: AndNode, needed: frozenset[str], sign: int = 1) -> Counter[tuple[int, ...]]:
        """The weights of the rows over `needed`."""
        found: Counter[tuple[int, ...]] = Counter()
        plan = plan_join(body, (), needed, self.statistics, self.options)
        binding = Binding(self.plan, {}, {}, Run(self.values), moments={"$": self.moments}, derive=derived)
        join = binding.join_of(plan.body.items, (), plan.levels, weighted=True)
        if join is None:
            return found

        def sink(batch: Batch) -> bool:
            columns = [batch.columns[name].tolist() for name in sorted(needed)]
            rows = zip(*columns, strict=True) if columns else [()] * batch.size
            for row, weight in zip(rows, batch.columns[WEIGHT].tolist(), strict=True):
                found[row] += sign * weight
            return True

        Driver(join, sink, Cancel()).run(Batch(1, {}))
        return found


def _no_queries(*_: object) -> Plan:
    raise AssertionError("there is no query within")


def at(body: AndNode, version: Version) -> AndNode:
    def change(leaf: Leaf) -> Node:
        return replace(leaf, version=version) if isinstance(leaf, DatomAtom) else leaf

    return in_body(body, change)


def text_of(rng: Random) -> str:
    clauses = " ".join(["[?a :ns ?n]" if rng.random() < 0.5 else "[?a :to ?b]", *(clause(rng) for _ in range(2))])
    return f"[:find ?a :where {clauses}]"


def nonzero(counts: Counter[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    return {row: count for row, count in counts.items() if count}


def check(text: str, old: Snapshot, new: Snapshot, options: Options, keep: float, rng: Random) -> int:
    try:
        asked = Asked(text, Moments(old, new), options)
    except AdalogError:
        return 0
    seen = 0
    split = of_databases(frozenset(("$",)))
    for body in alternatives(asked.tree.body):
        needed = frozenset(name for name in sorted(variables(body)) if rng.random() < keep)
        before = asked.rows(at(body, Version.OLD), needed)
        after = asked.rows(at(body, Version.NEW), needed)
        change: Counter[tuple[int, ...]] = Counter()
        for each in delta_bodies(body, split):
            change.update(asked.rows(each.body, needed, each.sign))
        expected = Counter(after)
        expected.subtract(before)
        assert nonzero(change) == nonzero(expected), text
        seen += bool(nonzero(expected))
    return seen


def speculated(database: Database, basis: Snapshot, rng: Random) -> Snapshot:
    try:
        return database.speculate(basis, transaction(rng))[0]
    except AdalogError:
        return basis


def views(database: Database, first: int, last: int, rng: Random) -> tuple[Snapshot, Snapshot]:
    kind = rng.choice(("plain", "plain", "held", "history", "since", "with"))
    if kind == "history":
        return database.at(t=first, history=True), database.at(t=last, history=True)
    if kind == "since":
        return database.at(t=last, since=2), database.at(t=last, since=3)
    if kind == "with":
        basis = database.at(t=last)
        return database.at(t=first), speculated(database, basis, rng)
    return database.at(t=first), database.at(t=last)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("keep", [1.0, 0.4])
def test_the_bodies_of_a_change_add_up_to_it(seed: int, keep: float) -> None:
    rng = Random(f"{seed} {keep}")
    seen = 0
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        held = []
        for text in transactions(rng, 4) + transactions(rng, 4):
            database.transact(text)
            if rng.random() < 0.2:
                database.compact()
            held.append(database.snapshot())
        for _ in range(30):
            first, last = sorted(rng.choices(held, k=2), key=lambda each: each.t)
            old, new = rng.choice(((first, last), views(database, first.t, last.t, rng)))
            seen += check(text_of(rng), old, new, rng.choice(OPTIONS), keep, rng)
    assert seen


def test_names_that_mean_something_else_by_then() -> None:
    rng = Random(0)
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        database.transact(
            '[{:db/id 1 :u "a" :ns [1 2] :to [3]} {:db/id 2 :ns [2 3] :r 1} {:db/ident :old :db/id 3}]'
        )
        old = database.snapshot()
        database.transact('[[:db/retract 1 :u "a"] {:db/id 2 :u "a"} {:db/id :ns :db/ident :others}]')
        database.transact("[{:db/id :old :db/ident :new}]")
        database.transact('[{:db/id "it" :db/ident :old} {:db/id 2 :to "it"}]')
        new = database.snapshot()
        for text in (
            '[:find ?n :where [[:u "a"] :ns ?n]]',
            '[:find ?n :where [[:u "a"] ?x ?n]]',
            '[:find ?x :where [[:u "a"] ?x _]]',
            "[:find ?a ?n :where [?a :ns ?n]]",
            "[:find ?a ?n :where [?a :others ?n] [?a :to ?b]]",
            "[:find ?a ?x ?n :where [?a ?x ?n]]",
            "[:find ?a :where [?a :to :old]]",
            "[:find ?a :where [?a :ns _] (not [?a :to :old])]",
        ):
            for options in OPTIONS:
                check(text, old, new, options, 1.0, rng)
                check(text, new, old, options, 1.0, rng)
