"""Whatever an identity asks is answered as an admin is of a database that has the visible datoms alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from adalog.datalog.edn import read, write
from adalog.datalog.errors import AdalogError
from adalog.executor.permissions.guards import Guard, Viewer
from adalog.executor.pool import Pool, PullRequest
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from tests.permissions.conditions import CLAIMS
from tests.permissions.random_questions import Asker
from tests.permissions.random_worlds import history
from tests.permissions.visible_database import VisibleDatabase

WORLDS = int(os.environ.get("ADALOG_PERMISSIONS", "24"))
FIRST = int(os.environ.get("ADALOG_PERMISSIONS_FROM", "0"))


@dataclass
class Comparison:
    """One identity's guarded view of a moment, and the database that is to answer alike; each with a pool of its
    own, so that nothing kept for one serves the other."""

    pools: tuple[Pool, Pool]
    views: tuple[Snapshot, Snapshot]
    about: str

    def check(self, what: str, ask: Callable[[Pool, Snapshot], Any]) -> Any:
        guarded, expected = (outcome(ask, *each) for each in zip(self.pools, self.views, strict=True))
        assert guarded == expected, f"{self.about}\n{what}\n{difference(guarded, expected)}"
        return guarded


def difference(guarded: Any, expected: Any) -> str:
    """What one has and the other has not."""
    if isinstance(guarded, list | tuple) and isinstance(expected, list | tuple) and len(guarded) == len(expected):
        return "\n".join(difference(*both) for both in zip(guarded, expected, strict=True) if both[0] != both[1])
    if isinstance(guarded, list) and isinstance(expected, list):
        more = [each for each in guarded if each not in expected]
        return f"too much: {more}\nmissing: {[each for each in expected if each not in guarded]}"
    return f"guarded: {guarded}\nexpected: {expected}"


def outcome(ask: Callable[[Pool, Snapshot], Any], pool: Pool, view: Snapshot) -> Any:
    try:
        return ask(pool, view)
    except AdalogError as error:
        return f"{error.code}: {error.message} at {error.position}"


def answer(text: str) -> Callable[[Pool, Snapshot], Any]:
    def ask(pool: Pool, view: Snapshot) -> Any:
        result = pool.run(QueryRequest(text, snapshot=view, ordered=True))
        warnings = [f"{each.code}: {each.message}" for each in pool.diagnostics(result.question)]
        return [tuple(map(write, row)) for row in result.rows()], warnings

    return ask


def pulled(pattern: str, entities: str) -> Callable[[Pool, Snapshot], Any]:
    def ask(pool: Pool, view: Snapshot) -> Any:
        maps, values = pool.pull(PullRequest(pattern, read(entities), snapshot=view))
        return [each and write(each) for each in maps], values

    return ask


def datoms(index: str, components: str) -> Callable[[Pool, Snapshot], Any]:
    return lambda _, view: [(d.e, str(d.a), write(d.v), d.t, d.added) for d in view.datoms(index, read(components))]


def counts(_: Pool, view: Snapshot) -> Any:
    attributes = view.attributes()
    return (
        *(view.datom_count, view.entity_count, [str(each.ident) for each in attributes]),
        *([view.count(each) for each in attributes], [view.statistics(each) for each in attributes]),
        [view.has_data(each.id) for each in attributes if view.count(each)],
    )


@contextmanager
def opened(texts: list[str]) -> Iterator[tuple[Database, Pool, Pool]]:
    with Database.open(":memory:") as database:
        pools = Pool(database), Pool(database)
        try:
            for text in texts:
                database.transact(text)
            yield database, *pools
        finally:
            for pool in pools:
                pool.close()


def moments(rng: Random, now: int) -> Iterator[dict[str, Any]]:
    yield {}
    yield {"as_of": rng.randint(0, now)}
    yield rng.choice(({"since": rng.randint(1, now)}, {"history": True}))
    yield {"as_of": rng.randint(1, now), "since": rng.randint(0, 3), "history": rng.random() < 0.5}


def ask_everything(rng: Random, compared: Comparison, questions: int) -> None:
    asker = Asker(rng)
    compared.check("datoms", datoms("EAVT", "[]"))
    compared.check("counts", counts)
    for _ in range(questions):
        text = asker.query()
        compared.check(text, answer(text))
    for _ in range(questions // 3):
        pattern, entities = asker.pull(), asker.entities()
        compared.check(f"{pattern} of {entities}", pulled(pattern, entities))
        index = rng.choice(("EAVT", "AEVT", "AVET", "VAET"))
        components = asker.components(index)
        compared.check(f"{index} {components}", datoms(index, components))


@pytest.mark.parametrize("number", range(FIRST, FIRST + WORLDS))
def test_answers_are_those_of_the_visible_database(number: int) -> None:
    rng = Random(number)
    texts, policies = history(rng)
    with opened(texts) as (database, own, other):
        now = database.snapshot()
        roles, claims = rng.choice(CLAIMS)
        guard = own.permissions.guard(Viewer(frozenset(roles), claims), now)
        assert isinstance(guard, Guard)
        visible = VisibleDatabase(now, policies, roles, claims)
        for moment in moments(rng, now.t):
            view = database.at(**moment)
            about = f"world {number} {roles} {claims} {moment}\n" + "\n".join(each.form for each in policies)
            views = guard.view(view), visible.at(view)
            ask_everything(rng, Comparison((own, other), views, about), 12)
