"""Questions of `random_questions` as calls, and what two databases make of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from adalog.datalog.edn import read, write
from adalog.datalog.errors import AdalogError
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.permissions.guards import Guard, Viewer
from adalog.executor.pool import Pool, PullRequest
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from tests.permissions.random_questions import Asker

_REFUSED = ("QUERY_INVALID: (", "QUERY_INVALID: get-else: entity")
Ask = Callable[[Pool, Snapshot], Any]


def numbers(share: int = 1) -> range:
    """The random worlds of a test: a few; with ADALOG_PERMISSIONS so many, from ADALOG_PERMISSIONS_FROM on."""
    first = int(os.environ.get("ADALOG_PERMISSIONS_FROM", "0"))
    return range(first, first + int(os.environ.get("ADALOG_PERMISSIONS", 20 // share)))


@dataclass
class Comparison:
    """Two views that are to answer alike; each with a pool of its own, so that nothing kept for one serves the
    other. The first is a guarded one."""

    pools: tuple[Pool, Pool]
    views: tuple[Snapshot, Snapshot]
    about: str

    def check(self, what: str, ask: Ask) -> None:
        guarded, expected = (outcome(ask, *each) for each in zip(self.pools, self.views, strict=True))
        refused = [str(each).startswith(_REFUSED) for each in (guarded, expected)]
        as_one = all(isinstance(each, GuardedSnapshot) for each in self.views)
        if not as_one and (all(refused) or (any(refused) and what.count("[(") > 1)):
            # An admin's plan goes by the sizes of the data, and so does which value is refused, by which call.
            return
        assert guarded == expected, f"{self.about}\n{what}\n{difference(guarded, expected)}"

    def check_all(self, rng: Random, questions: int, *, ordered: bool = True) -> None:
        """Asks random questions. `ordered`: the order of rows is asked for."""
        asker = Asker(rng)
        self.check("datoms", datoms("EAVT", "[]"))
        self.check("counts", counts)
        for _ in range(questions):
            text = asker.query()
            self.check(text, answer(text, ordered=ordered))
        for _ in range(questions // 3):
            pattern, entities = asker.pull(), asker.entities()
            self.check(f"{pattern} of {entities}", pulled(pattern, entities))
            index = rng.choice(("EAVT", "AEVT", "AVET", "VAET"))
            components = asker.components(index)
            self.check(f"{index} {components}", datoms(index, components))


def difference(guarded: Any, expected: Any) -> str:
    """What one has and the other has not."""
    if isinstance(guarded, list | tuple) and isinstance(expected, list | tuple) and len(guarded) == len(expected):
        return "\n".join(difference(*both) for both in zip(guarded, expected, strict=True) if both[0] != both[1])
    if isinstance(guarded, list) and isinstance(expected, list):
        more = [each for each in guarded if each not in expected]
        return f"too much: {more}\nmissing: {[each for each in expected if each not in guarded]}"
    return f"guarded: {guarded}\nexpected: {expected}"


def outcome(ask: Ask, pool: Pool, view: Snapshot) -> Any:
    try:
        return ask(pool, view)
    except AdalogError as error:
        return f"{error.code}: {error.message} at {error.position}"


def answer(text: str, args: Sequence[Any] = (), *, ordered: bool = True) -> Ask:
    """Rows and warnings of a query."""

    def ask(pool: Pool, view: Snapshot) -> Any:
        result = pool.run(QueryRequest(text, args, snapshot=view, ordered=ordered))
        assert result.question is not None
        warnings = [f"{each.code}: {each.message}" for each in pool.diagnostics(result.question)]
        return [tuple(map(write, row)) for row in result.rows()], warnings

    return ask


def pulled(pattern: str, entities: str) -> Ask:
    def ask(pool: Pool, view: Snapshot) -> Any:
        maps, values = pool.pull(PullRequest(pattern, read(entities), snapshot=view))
        return [each and write(each) for each in maps], values

    return ask


def datoms(index: str, components: str) -> Ask:
    return lambda _, view: [(d.e, str(d.a), write(d.v), d.t, d.added) for d in view.datoms(index, read(components))]


def counts(_: Pool, view: Snapshot) -> Any:
    attributes = view.attributes()
    return (
        *(view.datom_count, view.entity_count, [str(each.ident) for each in attributes]),
        *([view.count(each) for each in attributes], [view.statistics(each) for each in attributes]),
        [view.has_data(each.id) for each in attributes if view.count(each)],
    )


@contextmanager
def opened(texts: Sequence[str], *, cached: bool = False) -> Iterator[tuple[Database, Pool, Pool]]:
    """A database after some transactions, and two pools; with `cached` the first keeps answers."""
    with Database.open(":memory:") as database:
        pools = Pool(database, cache=CacheSettings() if cached else None), Pool(database)
        try:
            for number, text in enumerate(texts, 10):
                # So that databases have the same instants.
                instant = f'[:db/add "datomic.tx" :db/txInstant #inst "2020-01-{number}T12:00"]'
                database.transact(f"{text.rstrip().removesuffix(']')} {instant}]")
            yield database, *pools
        finally:
            for pool in pools:
                pool.close()


def guard_of(pool: Pool, now: Snapshot, roles: Sequence[str], claims: dict[str, Any]) -> Guard:
    guard = pool.permissions.guard(Viewer(frozenset(roles), claims), now)
    assert guard is not None
    return guard


def moments(rng: Random, now: int) -> Iterator[dict[str, Any]]:
    yield {}
    yield {"as_of": rng.randint(0, now)}
    yield rng.choice(({"since": rng.randint(1, now)}, {"history": True}))
    yield {"as_of": rng.randint(1, now), "since": rng.randint(0, 3), "history": rng.random() < 0.5}
