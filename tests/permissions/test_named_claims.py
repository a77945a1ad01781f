"""Policies that name a claim's value: each identity of a shared view is told what its own claims allow."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from random import Random

import pytest

from adalog.datalog.errors import AdalogError
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.guarded_view import GuardedView
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change
from adalog.executor.follow.view_choice import view_of
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database

_SCHEMA = """[{:db/ident :doc/title :db/valueType :db.type/string}
  {:db/ident :doc/owner :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
  {:db/ident :doc/on :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
_TITLES = "[:find ?e :where [?e :doc/title ?v]]"


def _transaction(rng: Random) -> str:
    forms = {}
    for _ in range(rng.randint(1, 5)):
        e, a = rng.randint(101, 105), rng.choice((":doc/title", ":doc/owner", ":doc/on"))
        choices = {":doc/title": ('"a"', '"b"'), ":doc/owner": ("1", "2"), ":doc/on": ("101", "103", "105")}
        v, operation = rng.choice(choices[a]), rng.choice((":db/add", ":db/add", ":db/retract"))
        forms[(e, a) if a == ":doc/title" else (e, a, v)] = f"[{operation} {e} {a} {v}]"
    return f"[{' '.join(forms.values())}]"


@pytest.mark.parametrize(
    "rules",
    [
        '[(allow ?e) (claim :sub "u1") [?e :doc/owner]]',
        '[(allow ?e) (claim :sub "u1") [?e :doc/owner]] [(allow ?e) [?e :doc/on]]',
        '[(allow ?e) [?e :doc/on ?f] (not-join [?f] (claim :sub "u1") [?f :doc/owner])]',
        '[(allow ?e) (or-join [?e] (and (claim :sub "u1") [?e :doc/owner]) [?e :doc/on])]',
        '[(allow ?e) (x ?e)] [(x ?e) (claim :sub "u1") [?e :doc/owner]] [(x ?e) [?e :doc/on ?f] (x ?f)]',
        "[(allow ?e) [?e :doc/owner] (claim :level ?l) [(< 1 ?l)]]",
        "[(allow ?e) (claim :level 2) [?e :doc/owner 2]]",
    ],
)
def test_a_claim_by_its_value(rules: str) -> None:
    rng = Random(rules)
    with Database.open(":memory:") as database, closing(Pool(database)) as pool:
        database.transact(_SCHEMA)
        text = f"[{rules}]".replace('"', '\\"')
        database.transact(
            f"""[{{:policy/name "p" :policy/roles [:member] :policy/ops [:read] :policy/on [:doc/title]
                   :policy/rules "{text}"}}]"""
        )
        for _ in range(3):
            database.transact(_transaction(rng))
        engine, old = pool.engine, database.snapshot()
        feeds = [_question(pool, {"sub": f"u{number}", "level": number}) for number in (1, 2, 3)]
        view = view_of(feeds[0].at(old, lambda: None), engine, feeds[0].visible)
        assert isinstance(view, GuardedView)
        assert view.is_shared
        for number, question in enumerate(feeds):
            view.add(number, question, old, Cancel())
        shown = [_rows(question.answer(engine, old, Cancel())) for question in feeds]
        for _ in range(30):
            try:
                database.transact(_transaction(rng))
            except AdalogError:
                continue
            tick = Moments(old, database.snapshot())
            changes, old = view.step(tick, Cancel()), tick.new
            for number, question in enumerate(feeds):
                change = changes.get(number)
                if change is not None:
                    assert isinstance(change, Change)
                    shown[number] += _rows(change.added)
                    shown[number] -= _rows(change.removed)
                assert shown[number] == _rows(question.answer(engine, old, Cancel()))


def _question(pool: Pool, claims: dict[str, object]) -> UndatedQuestion:
    visible = VisibleMoments(pool.permissions, Viewer(frozenset(("member",)), claims))
    request = QueryRequest(_TITLES, snapshot=visible.of(pool.database.snapshot()))
    return UndatedQuestion.of(pool.question(request), visible)


def _rows(result: Result) -> Counter[str]:
    return Counter(map(repr, result.rows()))
