"""The joins of light queries: bound once, right for other arguments and at other moments."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Binding
from adalog.executor.evaluation.kept_joins import KeptJoins
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch

SCHEMA = """[{:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
              :db/unique :db.unique/identity}
             {:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
FRIENDS = "[:find ?n :in $ ?a :where [?a :to ?b] [?b :name ?n]]"
OF_ADA = '[:find ?b :where [[:name "ada"] :to ?b]]'


@pytest.fixture
def pool() -> Iterator[Pool]:
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        database.transact('[{:db/id 1 :name "ada" :to [2]} {:db/id 2 :name "bob" :to [1]}]')
        while database.snapshot().t < 32:
            # The next plans for another number of transactions are far away.
            database.transact("[]")
        pool = Pool(database, PoolSettings(threads=1))
        yield pool
        pool.close()


def rows(pool: Pool, query: str, *args: Any, at: Snapshot | None = None) -> list[tuple[Any, ...]]:
    return pool.run(QueryRequest(query, list(args), at)).rows()


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One for each join that was bound."""
    made: list[None] = []
    join_of = Binding.join_of

    def counted(binding: Binding, *args: Any, **more: Any) -> Any:
        made.append(None)
        return join_of(binding, *args, **more)

    monkeypatch.setattr(Binding, "join_of", counted)
    return made


def test_a_join_is_bound_once(pool: Pool, bound: list[None]) -> None:
    assert rows(pool, FRIENDS, 1) == [("bob",)]
    assert rows(pool, FRIENDS, 2) == [("ada",)]
    assert len(bound) == 1


def test_it_reads_the_moment_of_its_run(pool: Pool) -> None:
    before = pool.database.snapshot()
    assert rows(pool, FRIENDS, 1) == [("bob",)]
    pool.database.transact('[[:db/retract 1 :to 2] {:db/id 3 :name "cy"} [:db/add 1 :to 3]]')
    assert rows(pool, FRIENDS, 1) == [("cy",)]
    assert rows(pool, FRIENDS, 1, at=before) == [("bob",)]


def test_a_name_means_what_it_means_then(pool: Pool) -> None:
    before = pool.database.snapshot()
    assert rows(pool, OF_ADA) == [(2,)]
    pool.database.transact('[[:db/add 1 :name "was ada"]]')
    pool.database.transact('[{:db/id 3 :name "ada" :to [1]}]')
    assert rows(pool, OF_ADA) == [(1,)]
    assert rows(pool, OF_ADA, at=before) == [(2,)]
    assert rows(pool, OF_ADA) == [(1,)]


def test_between_runs_no_snapshot_is_held(pool: Pool) -> None:
    for query, args in ((FRIENDS, (1,)), (OF_ADA, ()), ("[:find ?e ?t :where [?e :name _ ?t]]", ())):
        past = pool.database.snapshot().history()
        rows(pool, query, *args, at=past)
        gone = weakref.ref(past)
        del past
        gc.collect()
        assert gone() is None


def test_the_flag_of_an_earlier_run_does_not_stop_a_later_one(pool: Pool) -> None:
    snapshot = pool.database.snapshot()
    question = pool.question(QueryRequest(FRIENDS, [1], snapshot))
    plan, kept = pool.engine.compiler.compile(question), KeptJoins(1 << 20)
    for _ in range(2):
        cancel = Cancel()
        bound = kept.lend(plan, {"$": snapshot}, QueryRun(Scratch(snapshot.codes), cancel))
        assert bound is not None
        assert bound.join is not None
        bound.join.check()
        kept.give_back(bound)
        cancel.cancel()


def test_a_run_beside_another_has_a_join_of_its_own(pool: Pool) -> None:
    snapshot = pool.database.snapshot()
    question = pool.question(QueryRequest(FRIENDS, [1], snapshot))
    plan, kept = pool.engine.compiler.compile(question), KeptJoins(1 << 20)
    run = QueryRun(Scratch(snapshot.codes))
    first, second = (kept.lend(plan, {"$": snapshot}, run) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.join is not second.join
    kept.give_back(first)
    assert kept.lend(plan, {"$": snapshot}, run) is first


NEEDS = """[:find ?n :in $ ?a :where (needs ?a ?b) [?b :name ?n]
            :rules [[(needs ?a ?b) [?a :to ?b]] [(needs ?a ?c) (needs ?a ?b) [?b :to ?c] [?c :name _]]]]"""


def test_the_joins_of_rules_are_bound_once(pool: Pool, bound: list[None]) -> None:
    assert sorted(rows(pool, NEEDS, 1)) == [("ada",), ("bob",)]
    assert bound
    bound.clear()
    before = pool.database.snapshot()
    assert sorted(rows(pool, NEEDS, 2)) == [("ada",), ("bob",)]
    assert not bound
    pool.database.transact('[[:db/retract 2 :to 1] {:db/id 3 :name "cy" :to [2]}]')
    assert sorted(rows(pool, NEEDS, 1)) == [("bob",)]
    assert rows(pool, NEEDS, 2) == []
    assert sorted(rows(pool, NEEDS, 3)) == [("bob",)]
    assert sorted(rows(pool, NEEDS, 1, at=before)) == [("ada",), ("bob",)]


def test_between_runs_nothing_that_rules_derived_is_held(pool: Pool) -> None:
    rows(pool, NEEDS, 1)
    kept = [each.value for each in pool.engine.joins._entries._held.values()]
    (entry,) = (each for each in kept if each.plan.program.strata)
    (bound,) = entry.idle
    assert len(bound.joins) > 0
    assert not bound.binding.relations
    for _, readers in bound.joins._joins.values():
        assert all(len(reader.extender.levels.values[0]) == 0 for reader in readers)
