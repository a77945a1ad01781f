"""What a transaction says of itself is visible with any other part of it, in live views, too."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import Any

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change
from adalog.executor.follow.view_choice import view_of
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database

_SCHEMA = """[{:db/ident :doc/title :db/valueType :db.type/string}
  {:db/ident :doc/secret :db/valueType :db.type/string}
  {:db/ident :tx/why :db/valueType :db.type/string}
  {:policy/name "titles" :policy/roles [:member] :policy/ops [:read] :policy/on [:doc/title]}
  {:policy/name "own reasons" :policy/roles [:member] :policy/ops [:read] :policy/on [:tx/why]
   :policy/rules "[[(allow ?e) [?e :doc/title]]]"}]"""
_REASONS = "[:find ?e ?v :where [?e :tx/why ?v]]"
_TRANSACTIONS = (
    '[{:db/id 101 :tx/why "an entity of its own"}]',
    '[{:db/id 101 :doc/title "t"}]',
    '[{:db/id "datomic.tx" :tx/why "of a title"} {:db/id 102 :doc/title "t"}]',
    '[{:db/id "datomic.tx" :tx/why "of a secret"} {:db/id 102 :doc/secret "s"}]',
    '[{:db/id "datomic.tx" :tx/why "of both"} {:db/id 103 :doc/secret "s" :doc/title "u"}]',
    "[[:db/retract 101 :doc/title]]",
)


def test_a_live_view_shows_what_the_query_shows() -> None:
    with Database.open(":memory:") as database, closing(Pool(database)) as pool:
        database.transact(_SCHEMA)
        engine, old = pool.engine, database.snapshot()
        visible = VisibleMoments(pool.permissions, Viewer(frozenset(("member",)), {}))
        request = QueryRequest(_REASONS, snapshot=visible.of(old))
        question = UndatedQuestion.of(pool.question(request), visible)
        view = view_of(question.at(old, lambda: None), engine, visible)
        view.add(0, question, old, Cancel())
        shown = _rows(question.answer(engine, old, Cancel()))
        for text in _TRANSACTIONS:
            database.transact(text)
            tick = Moments(old, database.snapshot())
            changes, old = view.step(tick, Cancel()), tick.new
            change = changes.get(0)
            if change is not None:
                assert isinstance(change, Change)
                shown += _rows(change.added)
                shown -= _rows(change.removed)
            assert shown == _rows(question.answer(engine, old, Cancel())), text
        assert {value for _, value in shown} == {"of a title", "of both"}


def _rows(result: Any) -> Counter[tuple[Any, ...]]:
    return Counter(map(tuple, result.rows()))
