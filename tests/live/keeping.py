"""Subscribers that keep what they held at every moment, for an oracle that is asked of each of them later."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import identity
from adalog.executor.live.subscribers.changes import LiveChange
from adalog.store.database import Database
from tests.live.following import Reader, hub_over, together

Question = tuple[str, tuple[Any, ...]]
"""A query's text and its arguments."""


class Keeper(Reader):
    """A subscriber that keeps the rows it held at each moment."""

    def __init__(self, *args: Any, **begin: Any) -> None:
        self.values: dict[Any, tuple[Any, ...]] = {}
        self.held: dict[int, frozenset[Any]] = {}
        super().__init__(*args, **begin)

    def apply(self, change: LiveChange) -> None:
        for row in (*(change.rows or ()), *(change.added or ())):
            self.values[tuple(map(identity, row))] = row
        super().apply(change)
        if self.whole:
            self.held[self.t] = frozenset(self.rows)

    def states(self) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
        """Each moment of which it knows the rows, with these."""
        for t, rows in self.held.items():
            yield t, [self.values[row] for row in rows]

    def resumed(self) -> Keeper:
        """The same, with another subscription from here on."""
        self.close()
        keeper = Keeper(self.database, self.pool, self.query, self.args, resume=self.resume)
        keeper.rows, keeper.t, keeper.whole, keeper.resume = set(self.rows), self.t, self.whole, self.resume
        keeper.values, keeper.held = self.values, self.held
        return keeper


@contextmanager
def followed(
    begun: Sequence[str], questions: Sequence[Question], written: Sequence[str], rng: Random
) -> Iterator[tuple[Database, list[Keeper | None]]]:
    """A database and who followed the questions there, from after the transactions `begun` to after those
    `written`: of these some are committed together, meanwhile some subscribers stall, and some leave and resume.
    None for a question that was refused, or could not be answered some time."""
    with Database.open(":memory:") as database:
        for text in begun:
            database.transact(text)
        with hub_over(database, replayed=rng.choice((0, 3, 100)), mailbox_events=rng.choice((1, 2, 100))) as hub:
            keepers = [_begun(database, hub.pool, question) for question in questions]
            left = list(written)
            while left:
                _write(database, [left.pop() for _ in range(min(len(left), rng.choice((1, 1, 1, 3))))])
                keepers = [each if rng.random() < 0.4 else _caught_up(each) for each in keepers]
                keepers = [each if each is None or rng.random() < 0.8 else each.resumed() for each in keepers]
            yield database, [_caught_up(each) for each in keepers]


def _begun(database: Database, pool: Any, question: Question) -> Keeper | None:
    try:
        keeper = Keeper(database, pool, question[0], question[1])
        keeper.until(0)
    except AdalogError:
        return None
    return keeper


def _caught_up(keeper: Keeper | None) -> Keeper | None:
    if keeper is not None:
        try:
            keeper.until(keeper.database.snapshot().t)
        except AdalogError:
            return None
    return keeper


def _write(database: Database, texts: Sequence[str]) -> None:
    if len(texts) == 1:
        with suppress(AdalogError):
            database.transact(texts[0])
        return
    with together(database):
        told = [database.submit(text) for text in texts]
    for each in told:
        with suppress(AdalogError):
            each.result()


def transaction(
    rng: Random, values: Mapping[str, Sequence[str]], many: Collection[str], entities: Sequence[str]
) -> str:
    """A small transaction: what comes, goes, comes again, and entities that go whole."""
    if rng.random() < 0.08:
        return f"[[:db/retractEntity {rng.choice(entities)}]]"
    forms = {}
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        e, a = rng.choice(entities), rng.choice(list(values))
        v = rng.choice(values[a])
        key = (e, a, v) if a in many else (e, a)
        forms[key] = f"[:db/{rng.choice(('add', 'add', 'add', 'retract'))} {e} {a} {v}]"
    return f"[{' '.join(forms.values())}]"
