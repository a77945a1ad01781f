"""The rows of a pattern that came and went between two moments: each holds at its moment, and all that hold at one
of the two alone are among them, whatever was written in between and whatever kind of view the two are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from adalog.datalog.errors import AdalogError
from adalog.datalog.parsing.parser import parse_query
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Binding
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.extenders.changes import Moments
from adalog.executor.join.batch import Batch
from adalog.executor.join.driver import Driver
from adalog.planner.model.logical import AndNode, DatomAtom, variables
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


class Asked:
    """One conjunction of patterns over `$`, evaluated over versions of it."""

    def __init__(self, text: str, moments: Moments, options: Options) -> None:
        query = parse_query(text)
        self.statistics = Statistics({"$": moments.new}, {})
        self.moments = moments
        self.options = options
        self.plan = plan_query(query, self.statistics, frozenset(), options)
        (self.atom,) = settled(tree_of(query, frozenset(), _no_queries)).body.items
        assert isinstance(self.atom, DatomAtom)
        self.names = sorted(variables(AndNode((self.atom,))))
        self.values = Scratch(moments.new.codes)

    def changes(self) -> tuple[Batch, Batch]:
        """The rows that came and those that went."""
        came, went = (self.moments.rows(self.atom, False, each) for each in (Version.CAME, Version.WENT))
        return came, went

    def rows(self, version: Version) -> set[tuple[int, ...]]:
        """The rows that hold at a moment."""
        found: set[tuple[int, ...]] = set()
        body = AndNode((replace(self.atom, version=version),))
        plan = plan_join(body, (), frozenset(self.names), self.statistics, self.options)
        binding = Binding(self.plan, {}, {}, QueryRun(self.values), moments={"$": self.moments}, derive=derived)
        join = binding.join_of(plan.body.items, (), plan.levels, weighted=False)

        def sink(batch: Batch) -> bool:
            found.update(rows_of(batch, self.names))
            return True

        if join is not None:
            Driver(join, sink, Cancel()).run(Batch(1, {}))
        return found


def rows_of(batch: Batch, names: Sequence[str]) -> list[tuple[int, ...]]:
    if not batch.size:
        return []
    columns = [batch.columns[name].tolist() for name in names]
    return list(zip(*columns, strict=True)) if columns else [()] * batch.size


def _no_queries(*_: object) -> Plan:
    raise AssertionError("there is no query within")


def text_of(rng: Random) -> str:
    return f"[:find ?a :in $ ?a :where {pattern(rng)}]"


def check(text: str, old: Snapshot, new: Snapshot, options: Options) -> int:
    try:
        asked = Asked(text, Moments(old, new), options)
    except AdalogError:
        return 0
    before, after = asked.rows(Version.OLD), asked.rows(Version.NEW)
    came, went = (set(rows_of(batch, asked.names)) for batch in asked.changes())
    assert after - before <= came <= after, text
    assert before - after <= went <= before, text
    return before != after


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
def test_rows_that_came_and_went(seed: int) -> None:
    rng = Random(seed)
    changed = 0
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
            changed += check(text_of(rng), old, new, rng.choice(OPTIONS))
    assert changed


def test_names_that_mean_something_else_by_then() -> None:
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
            "[:find ?a ?n :where [?a :others ?n]]",
            "[:find ?a ?x ?n :where [?a ?x ?n]]",
            "[:find ?a :where [?a :to :old]]",
        ):
            for options in OPTIONS:
                check(text, old, new, options)
                check(text, new, old, options)
