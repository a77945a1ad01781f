"""Views of random questions under random policies, shared by identities that have other claims."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from adalog.datalog.errors import AdalogError
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.guarded_view import GuardedView, may_share
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change
from adalog.executor.follow.view_choice import view_of
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.permissions.compared import numbers, opened
from tests.permissions.conditions import CLAIMS
from tests.permissions.random_questions import Asker
from tests.permissions.random_worlds import history, transaction

_QUESTIONS = 8
_STEPS = 4


@pytest.mark.parametrize("number", numbers(share=4))
def test_each_viewer_of_a_shared_view_is_told_its_own(number: int) -> None:
    rng = Random(f"views {number}")
    texts, policies = history(rng)
    about = "\n".join(each.form for each in policies)
    asker = Asker(rng)
    with opened(texts) as (database, pool, _):
        viewers = [
            VisibleMoments(pool.permissions, Viewer(frozenset(("member", "guest")), claims)) for _, claims in CLAIMS
        ]
        made = [_followed(pool, database, asker.query(), viewers) for _ in range(_QUESTIONS)]
        views = [each for each in made if each is not None]
        old = database.snapshot()
        shown = {
            (id(view), feed): _rows(question.answer(pool.engine, old, Cancel()))
            for view, feeds in views
            for feed, question in feeds.items()
        }
        for _ in range(_STEPS):
            try:
                database.transact(transaction(rng, least=1))
            except AdalogError:
                continue
            tick = Moments(old, database.snapshot())
            old = tick.new
            for view, feeds in views:
                changes = view.step(tick, Cancel())
                for feed, question in list(feeds.items()):
                    change = changes.get(feed)
                    if isinstance(change, AdalogError):
                        view.drop(feed)
                        del feeds[feed]
                        continue
                    if isinstance(change, Change):
                        shown[id(view), feed] += _rows(change.added)
                        shown[id(view), feed] -= _rows(change.removed)
                    text = f"world {number} {question.request.query} {question.visible}\n{about}"
                    assert shown[id(view), feed] == _rows(question.answer(pool.engine, tick.new, Cancel())), text


def _followed(
    pool: Pool, database: Database, text: str, viewers: list[VisibleMoments]
) -> tuple[GuardedView, dict[int, UndatedQuestion]] | None:
    """A view of a question for all viewers; None where they share none."""
    at = database.snapshot()
    feeds: dict[int, UndatedQuestion] = {}
    view: GuardedView | None = None
    for number, visible in enumerate(viewers):
        try:
            question = pool.question(QueryRequest(text, snapshot=visible.of(at), ordered=":limit" in text))
            undated = UndatedQuestion.of(question, visible)
            undated.answer(pool.engine, at, Cancel())
            if view is None:
                chosen = view_of(question, pool.engine, visible)
                assert isinstance(chosen, GuardedView)
                if not chosen.is_shared or not may_share(question):
                    return None
                view = chosen
            view.add(number, undated, at, Cancel())
        except AdalogError:
            # A function refuses a value that one of them sees.
            return None
        feeds[number] = undated
    return None if view is None else (view, feeds)


def _rows(result: Result) -> Counter[str]:
    return Counter(set(map(repr, result.rows())))
