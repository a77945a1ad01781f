"""Databases that differ in what an identity may not see, and in nothing that policies decide by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import Keyword
from adalog.executor.pool import Pool
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from tests.permissions.compared import opened
from tests.permissions.conditions import FailedGuard, RandomPolicy, State, ValueRule
from tests.permissions.random_worlds import ENTITIES, USERS
from tests.permissions.test_hidden_datoms import changed, said, words
from tests.permissions.visible_database import VisibleDatabase

_INSTANT: Final = Keyword("db/txInstant")
_TRIES: Final = 12
# Those that a few writes may make, too.
_ENTITIES: Final = (*ENTITIES, *USERS, *range(24, 45))


@dataclass(frozen=True)
class Viewed:
    """What decides between two databases for one identity."""

    policies: Sequence[RandomPolicy]
    roles: Sequence[str]
    claims: Mapping[str, Any]

    def visible(self, now: Snapshot) -> Any:
        whole = VisibleDatabase(now, self.policies, self.roles, self.claims)
        shown = whole.at(now), whole.at(now.history())
        return [[each for each in said(view) if each[1] != _INSTANT] for view in shown]

    def decisions(self, now: Snapshot) -> list[list[object]]:
        """What each condition of a policy says of each entity."""
        state = State.made(now.datoms("EAVT"), self.claims)
        made = []
        for policy in self.policies:
            for body in policy.bodies or ():
                asked = body.condition if isinstance(body, ValueRule) else body
                made.append([asked is None or _held(asked, state, e) for e in _ENTITIES])
        return made

    def is_alike(self, one: Snapshot, other: Snapshot) -> bool:
        return self.decisions(one) == self.decisions(other) and self.visible(one) == self.visible(other)


def _held(condition: Any, state: State, e: int) -> object:
    try:
        return condition.holds(state, e)
    except FailedGuard:
        return "failed"


@dataclass(frozen=True)
class Twin:
    database: Database
    pool: Pool


@contextmanager
def twins(rng: Random, texts: list[str], viewed: Viewed) -> Iterator[tuple[Twin, Twin] | None]:
    """Two databases that the identity cannot tell apart; None where none was found."""
    with ExitStack() as stack:
        database, pool, _ = stack.enter_context(opened([texts[0], words(rng), *texts[1:]]))
        now = database.snapshot()
        decisions, visible = viewed.decisions(now), viewed.visible(now)
        for _ in range(_TRIES):
            with ExitStack() as tried:
                try:
                    changed_texts = [texts[0], words(rng), texts[1], *changed(rng, texts[2:])]
                    other, others, _ = tried.enter_context(opened(changed_texts))
                except AdalogError:
                    continue  # what was changed is refused
                found = other.snapshot()
                if viewed.decisions(found) != decisions or viewed.visible(found) != visible or _same(now, found):
                    continue
                stack.push(tried.pop_all())
                yield Twin(database, pool), Twin(other, others)
                return
        yield None


def _same(one: Snapshot, other: Snapshot) -> bool:
    return said(one) == said(other)
