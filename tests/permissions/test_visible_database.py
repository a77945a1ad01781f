"""Whatever an identity asks is answered as an admin is of a database that has the visible datoms alone."""

from __future__ import annotations

import re
from random import Random

import pytest

from adalog.datalog.errors import AdalogError
from tests.permissions.compared import Comparison, answer, guard_of, moments, numbers, opened
from tests.permissions.conditions import CLAIMS
from tests.permissions.random_questions import Asker
from tests.permissions.random_worlds import history, transaction
from tests.permissions.visible_database import VisibleDatabase


@pytest.mark.parametrize("number", numbers())
def test_answers_are_those_of_the_visible_database(number: int) -> None:
    rng = Random(number)
    texts, policies = history(rng)
    with opened(texts) as (database, own, other):
        now = database.snapshot()
        roles, claims = rng.choice(CLAIMS)
        guard = guard_of(own, now, roles, claims)
        visible = VisibleDatabase(now, policies, roles, claims)
        for moment in moments(rng, now.t):
            view = database.at(**moment)
            about = f"world {number} {roles} {claims} {moment}\n" + "\n".join(each.form for each in policies)
            Comparison((own, other), (guard.view(view), visible.at(view)), about).check_all(rng, 10)


@pytest.mark.parametrize("number", numbers(share=2))
def test_what_a_transaction_was_tried_on_decides_as_now(number: int) -> None:
    rng = Random(f"tried {number}")
    texts, policies = history(rng)
    with opened(texts) as (database, own, other):
        try:
            after, _ = database.speculate(database.snapshot(), transaction(rng))
        except AdalogError as error:
            pytest.skip(f"refused: {error}")
        roles, claims = rng.choice(CLAIMS)
        guard = guard_of(own, after, roles, claims)
        visible = VisibleDatabase(after, policies, roles, claims)
        for view in (after, after.history(), after.as_of(after.t - 2)):
            views = guard.view(view), visible.at(view)
            about = f"tried {number} {roles} {claims} {view.key}"
            Comparison((own, other), views, about).check_all(rng, 6)


@pytest.mark.parametrize("number", numbers(share=4))
def test_what_a_transaction_was_tried_on_in_the_past_is_decided_now_too(number: int) -> None:
    rng = Random(f"tried on the past {number}")
    texts, policies = history(rng)
    # What keeps no history is of the past as it was found there, which the oracle cannot tell.
    texts = [re.sub(r"\[:db/\w+ \d+ :num/brief \d+\]", "", each) for each in texts]
    with opened(texts) as (database, own, other):
        now = database.snapshot()
        try:
            after, _ = database.speculate(now.as_of(rng.randint(3, now.t - 2)), transaction(rng))
        except AdalogError as error:
            pytest.skip(f"refused: {error}")
        roles, claims = rng.choice(CLAIMS)
        guard, visible = guard_of(own, now, roles, claims), VisibleDatabase(now, policies, roles, claims)
        for view in (after, after.history()):
            views = guard.view(view), visible.at(view)
            about = f"tried on the past {number} {roles} {claims} {view.key}"
            Comparison((own, other), views, about).check_all(rng, 6)


@pytest.mark.parametrize("number", numbers(share=5))
def test_kept_answers_are_those_of_one_view(number: int) -> None:
    """Identities ask the same in turn, while the data changes."""
    rng = Random(f"kept {number}")
    texts, policies = history(rng)
    asker = Asker(rng)
    questions = [asker.query() for _ in range(8)]
    with opened(texts, cached=True) as (database, own, other):
        for _ in range(3):
            now = database.snapshot()
            for roles, claims in (*CLAIMS, *CLAIMS):
                views = (
                    guard_of(own, now, roles, claims).view(now),
                    VisibleDatabase(now, policies, roles, claims).at(now),
                )
                compared = Comparison((own, other), views, f"kept {number} {roles} {claims}")
                for text in questions:
                    compared.check(text, answer(text))
            database.transact(transaction(rng, least=1))


@pytest.mark.parametrize("number", numbers(share=4))
def test_a_query_joins_several_visible_databases(number: int) -> None:
    rng = Random(f"joined {number}")
    texts, policies = history(rng)
    asker = Asker(rng)
    with opened(texts) as (database, own, other):
        now = database.snapshot()
        old = now.as_of(rng.randint(3, now.t))
        roles, claims = rng.choice(CLAIMS)
        guard, visible = guard_of(own, now, roles, claims), VisibleDatabase(now, policies, roles, claims)
        both = [(guard.view(each), visible.at(each)) for each in (now, old)]
        for _ in range(10):
            a, b = asker.attribute(), asker.attribute()
            text = f"[:find ?e ?v ?w :in $ $old :where [?e {a} ?v] [$old ?e {b} ?w] (not [$old ?e {a} ?v])]"
            found = []
            for pool, views in zip((own, other), zip(*both, strict=True), strict=True):
                found.append(answer(text, [views[1]])(pool, views[0]))
            assert found[0] == found[1], text


def test_limits_without_an_order_keep_rows_that_the_plan_does_not_choose() -> None:
    rng = Random(1)
    texts, _ = history(rng)
    text = "[:find ?e ?v :where [?e :db/ident ?v] :limit 3]"
    with opened(texts) as (database, own, _):
        guard = guard_of(own, database.snapshot(), *CLAIMS[0])
        rows, _ = answer(text, ordered=False)(own, guard.view(database.snapshot()))
        every, _ = answer(text.replace(" :limit 3", ""))(own, guard.view(database.snapshot()))
        assert rows == every[:3]
