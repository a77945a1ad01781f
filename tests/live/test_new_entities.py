"""Transactions that change several patterns of one entity: what enters and leaves is found once, and all of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow import reaction_joins
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change
from adalog.executor.follow.view_choice import view_of
from adalog.executor.join.driver import drive_few
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.question.request import QueryRequest
from tests.support import World

SCHEMA = """[{:db/ident :size :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
             {:db/ident :state :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
             {:db/ident :by :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
             {:db/ident :tag :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]"""
STEPS = [
    "[{:db/id 1 :state 1 :size 5 :by 8 :tag [1 2]} {:db/id 2 :state 1 :size 6 :by 8 :tag 1} {:db/id 8 :size 7}]",
    # Some of an entity's patterns change, in one direction or in both.
    "[[:db/add 1 :size 6] [:db/add 1 :tag 3] [:db/add 2 :state 2]]",
    "[[:db/add 2 :state 1] [:db/add 2 :size 7] [:db/retract 1 :tag 1]]",
    "[[:db/add 1 :by 9] [:db/add 9 :size 3] [:db/add 2 :tag 2] [:db/add 2 :tag 3]]",
    "[[:db/retract 1 :state] [:db/add 3 :state 1] [:db/add 3 :size 6] [:db/add 3 :by 1]]",
    "[[:db/add 1 :state 1] [:db/add 1 :size 9] [:db/retract 3 :by]]",
    "[[:db/retractEntity 2] [:db/add 3 :by 1] [:db/add 3 :tag 2] [:db/add 3 :size 1]]",
    "[[:db/retractEntity 3] [:db/add 1 :state 3] [:db/add 4 :state 1] [:db/add 4 :by 3] [:db/add 4 :tag 1]]",
    "[[:db/add 4 :size 1] [:db/add 1 :state 1] [:db/add 7 :size 3]]",
    # The other entity has the same size.
    "[[:db/add 1 :by 7] [:db/add 4 :by 7]]",
]
QUERIES = [
    "[:find ?p ?n :where [?p :state 1] [?p :size ?n]]",
    "[:find ?n :where [?p :state 1] [?p :size ?n]]",
    "[:find ?p :where [?p :size _] [?p :state ?s] [?p :tag _]]",
    "[:find ?p ?t :where [?p :tag ?t] [?p :size ?n] [?p :by _]]",
    "[:find ?t :where [?p :state 1] [?p :tag ?t] [?q :tag ?t] [?q :size ?n] [(> ?n 5)]]",
    "[:find ?p ?q :where [?p :by ?q] [?p :state 1] [?q :size ?n] [?p :size ?m]]",
    "[:find ?p ?n :where [?p :by ?q] [?q :size ?n]]",
    "[:find ?p :where [?p :state ?s] [?p :size ?n] (not [?p :tag ?s])]",
    "[:find ?p :where [?p :size ?n] (or-join [?p ?n] [?p :tag 2] (and [?p :by ?q] [?q :size ?n]))]",
    "[:find ?p ?n :where [?p :state 1] (optional [?p :by ?q] [?q :size ?n])]",
    "[:find ?p (count ?t) :where [?p :state 1] [?p :tag ?t] [?p :size ?n]]",
    "[:find ?p ?n :where [?p :state 1] [?p :size ?n] [?p :size ?m] [(= ?n ?m)]]",
    "[:find ?p ?t :where [?p :tag ?t] [?p :state 1 ?tx]]",
    """[:find ?q ?n :where [?p :by ?q] [?p :state 1] (far ?p ?x) [?x :size ?n]
        :rules [[(far ?a ?b) [?a :by ?b]] [(far ?a ?b) [?a :by ?c] (far ?c ?b)]]]""",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("stride", [1, 2, 4])
def test_changes_lead_from_one_answer_to_the_next(db: World, query: str, stride: int) -> None:
    db.tx(SCHEMA)
    engine, at = db.pool.engine, db.database.snapshot()
    question = db.pool.question(QueryRequest(query, snapshot=at))
    view, undated = view_of(question, engine), UndatedQuestion.of(question)
    view.add(1, undated, at, Cancel())
    shown: Counter[str] = Counter()
    for first in range(0, len(STEPS), stride):
        db.tx(*STEPS[first : first + stride])
        tick = Moments(at, db.database.snapshot())
        at = tick.new
        change = view.step(tick, Cancel()).get(1)
        if change is not None:
            assert isinstance(change, Change)
            removed, added = _rows(change.removed), _rows(change.added)
            assert removed <= shown
            assert not added & shown
            shown = shown - removed + added
        assert shown == _rows(undated.answer(engine, at, Cancel())), first


def test_an_entity_that_is_made_starts_one_join(db: World, monkeypatch: pytest.MonkeyPatch) -> None:
    db.tx(SCHEMA)
    question = db.pool.question(QueryRequest("[:find ?p ?n :where [?p :state 1] [?p :size ?n] [?p :by ?q]]"))
    at = db.database.snapshot()
    view = view_of(question, db.pool.engine)
    view.add(1, UndatedQuestion.of(question), at, Cancel())
    runs: list[object] = []

    def counted(join: GenericJoin, *args: Any) -> None:
        runs.append(join)
        drive_few(join, *args)

    monkeypatch.setattr(reaction_joins, "drive_few", counted)
    for text, joins in (("[{:db/id 1 :state 1 :size 5 :by 8}]", 1), ("[[:db/add 1 :size 6] [:db/add 1 :by 9]]", 2)):
        db.tx(text)
        tick = Moments(at, db.database.snapshot())
        at = tick.new
        runs.clear()
        change = view.step(tick, Cancel())[1]
        assert isinstance(change, Change)
        assert len(change.added) == 1
        # What leaves and what enters.
        assert len(runs) == joins


def _rows(result: Result) -> Counter[str]:
    return Counter(set(map(repr, result.rows())))
