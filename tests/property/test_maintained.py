"""Random queries followed through random transactions: what a view says was added and removed is what the query,
run afresh, has more and less than before; step by step, and in one step over all of them. A view of which no
interest was touched is not stepped, as by the hub."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import identity
from adalog.executor.bounds.cancel import Cancel, StartAgain
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow import reaction_joins, small_answers
from adalog.executor.follow.maintained_view import MaintainedView
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change, LiveView
from adalog.executor.follow.view_choice import view_of
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.live.hub.interests import Interests
from adalog.executor.pool import Pool
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.bootstrap import IDENT
from tests.property.generated import ENTITIES, FREE, PAST, SCHEMA, VALUES, Asked, query, transaction
from tests.property.model import EARLY, examples
from tests.property.rule_programs import graph, program
from tests.property.test_cache import little
from tests.property.test_small_rules import random_rules

Rows = frozenset[Hashable]
SCALARS = ("1", "2", "3", "1.0", "2.0", '"a"', '"b"', ":n", "7")
NAMES = (":color/red", ":color/none", '[:u "a"]', '[:u "b"]')


def rows_of(pool: Pool, question: Question, at: Snapshot) -> Rows | None:
    """What the query answers at a moment; None where it is refused."""
    request = question.request
    asked = QueryRequest(request.query, request.args, at, ordered=True)
    try:
        result = pool.run(asked)
    except AdalogError:
        return None
    return frozenset(tuple(map(identity, row)) for row in result.rows())


def written(rng: Random) -> str:
    kind = rng.random()
    if kind < 0.1:
        return f"[[:db/retractEntity {rng.choice(ENTITIES)}]]"
    if kind < 0.16:
        number = rng.randrange(3)
        return f"[{{:db/ident :more/m{number} :db/valueType :db.type/long}} [:db/add {rng.choice(ENTITIES)} :n 5]]"
    if kind < 0.2:
        return f'[[:db/add {rng.choice(ENTITIES)} :new/{rng.choice("abc")} 1] [:db/add 2 :s "{rng.random()}"]]'
    if kind < 0.24:
        one, other = rng.sample((":color/red", ":color/blue", ":color/none"), 2)
        return f"[[:db/add {one} :db/ident {other}]]"
    if kind < 0.3:
        attribute = rng.choice([each for each in FREE if each not in (":ns", ":xs", ":to", ":ks")])
        return f"[[:db/add {rng.choice(ENTITIES)} {attribute} {rng.choice(VALUES[attribute])}]]"
    return transaction(rng) if kind < 0.55 else little(rng)


def other_arguments(rng: Random, asked: Asked) -> list[str]:
    """Arguments of the same shape."""

    def other(found: re.Match[str]) -> str:
        return rng.choice((found[0], rng.choice(SCALARS), rng.choice(SCALARS), rng.choice(NAMES)))

    inputs = asked.head.split(":in")[1].split()
    if "$rel" in inputs or "$old" in inputs:
        known = len(asked.args) - ("$rel" in inputs) - ("$old" in inputs)
    else:
        known = len(asked.args)
    return [re.sub(r'"\w"|[\d.]+', other, arg) for arg in asked.args[:known]] + list(asked.args[known:])


class GivenUp(Cancel):
    """Gives work up after so many looks at the flag."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    def check(self) -> None:
        self.looks -= 1
        if self.looks < 0:
            raise StartAgain


class Following:
    """A view with its feeds, and what each feed has accumulated."""

    def __init__(self, database: Database, pool: Pool, asked: Asked, rng: Random) -> None:
        self.database, self.pool, self.asked, self.rng = database, pool, asked, rng
        self.feeds: dict[int, tuple[Question, Rows]] = {}
        self.at = database.snapshot()
        self.view: LiveView = view_of(self.question(list(asked.args)), pool.engine)
        self.next = 0
        self.changes = 0
        self.interests: Interests[Following] = Interests()
        self.skipped = 0

    def question(self, args: list[str]) -> Question:
        given = [self.database.at(as_of=EARLY) if arg == PAST else read(arg) for arg in args]
        if self.asked.given:
            given.append(self.asked.rules_text)
        return self.pool.question(QueryRequest(self.asked.text, given, ordered=True))

    def add(self) -> None:
        inputs = self.asked.head.split(":in $")[1]
        if self.feeds and not set(re.findall(r"\?\w|_", inputs)):
            return
        args = list(self.asked.args) if not self.feeds else other_arguments(self.rng, self.asked)
        try:
            question = self.question(args)
            rows = rows_of(self.pool, question, self.at)
            if rows is None:
                return
            self.view.add(self.next, UndatedQuestion.of(question), self.at, Cancel())
        except AdalogError:
            return
        self.feeds[self.next] = (question, rows)
        self.next += 1
        self.interests.put(self, self.view.interests(self.at))

    def drop(self) -> None:
        if len(self.feeds) > 1:
            number = self.rng.choice(list(self.feeds))
            del self.feeds[number]
            self.view.drop(number)

    def step(self, new: Snapshot) -> None:
        changes = self._stepped_if_touched(Moments(self.at, new))
        self.at = new
        for number, (question, rows) in list(self.feeds.items()):
            expected = rows_of(self.pool, question, new)
            change = changes.get(number)
            if expected is None or isinstance(change, AdalogError):
                assert expected is None or self.asked.partial, (self.where(question), change)
                del self.feeds[number]
                self.view.drop(number)
                continue
            got = rows if change is None else applied(change, rows, self.where(question))
            self.changes += change is not None
            assert got == expected, (self.where(question), "missing", expected - got, "too many", got - expected)
            self.feeds[number] = (question, expected)

    def _stepped_if_touched(self, tick: Moments) -> Mapping[int, Change | AdalogError]:
        attributes = [each.id for each in tick.new.attributes() if tick.touches(each.id)]
        new_schema = tick.old.schema.key != tick.new.schema.key
        asks_anew = new_schema or IDENT in attributes or self.interests.renames(self, attributes)
        if not new_schema and self not in self.interests.touched(attributes, tick):
            self.skipped += 1
            return {}
        changes = self._stepped(tick)
        if asks_anew:
            self.interests.put(self, self.view.interests(tick.new))
        return changes

    def _stepped(self, tick: Moments) -> Mapping[int, Change | AdalogError]:
        """A step, begun again where it was given up on the way."""
        while self.rng.random() < 0.3:
            try:
                return self.view.step(tick, GivenUp(self.rng.randrange(12)))
            except StartAgain:
                if not self.view.intact:
                    undated = UndatedQuestion.of(self.question(list(self.asked.args)))
                    self.view = view_of(undated.unbound_at(self.at, Cancel().check), self.pool.engine)
                    for number, (question, _) in self.feeds.items():
                        self.view.add(number, UndatedQuestion.of(question), self.at, Cancel())
        return self.view.step(tick, Cancel())

    def where(self, question: Question) -> tuple[object, ...]:
        return (self.asked.text, question.request.args, type(self.view).__name__, self.at.t)


def applied(change: Change, rows: Rows, where: object) -> Rows:
    added, removed = ([tuple(map(identity, row)) for row in each.rows()] for each in (change.added, change.removed))
    assert added or removed, (where, "an empty change")
    assert len(set(added)) == len(added), where
    assert len(set(removed)) == len(removed), where
    assert rows.isdisjoint(added), (where, "added again", rows.intersection(added))
    assert rows.issuperset(removed), (where, "removed when absent", set(removed) - rows)
    return (rows | set(added)) - set(removed)


def follow(database: Database, rng: Random, asked: Callable[[Random], Asked], changes: Iterable[str]) -> None:
    """Follows five queries through transactions, some of which may be refused."""
    pool = Pool(database)
    views = []
    for _ in range(5):
        with suppress(AdalogError):
            views.append(Following(database, pool, asked(rng), rng))
            views[-1].add()
    for text in changes:
        with suppress(AdalogError):
            database.transact(text)
        for each in views:
            each.step(database.snapshot())
    pool.close()


def followed(database: Database, pool: Pool, rng: Random) -> Following | None:
    """A random query, mostly one that finds something."""
    for _ in range(30):
        asked = rng.choice((program, random_rules, random_rules, query, query, query))(rng)
        with suppress(AdalogError):
            following = Following(database, pool, asked, rng)
            following.add()
            if any(rows or rng.random() < 0.1 for _, rows in following.feeds.values()):
                return following
    return None


@settings(max_examples=examples(20))
@given(st.integers(0, 2**32))
def test_changes_add_up_to_the_answer(seed: int) -> None:
    rng = Random(seed)
    SMALL_JOIN.load()
    with Database.open(":memory:") as database, pytest.MonkeyPatch.context() as patched:
        # With none, arguments that come are put together with the others only when a row asks for one of them.
        patched.setattr(reaction_joins, "_FEW_ARGUMENTS", rng.choice((64, -1)))
        # With none, all that rules derive is maintained; with little work, some of it is from some step on.
        patched.setattr(small_answers, "_FEW_FEEDS", rng.choice((4, 1, -1)))
        patched.setattr(small_answers, "_MOST_WORK", rng.choice((4096, 32)))
        for text in (SCHEMA, transaction(rng), transaction(rng)):
            database.transact(text)
        pool = Pool(database)
        views = [found for _ in range(6) if (found := followed(database, pool, rng))]
        for each in views:
            for _ in range(rng.randrange(3)):
                each.add()
        begun = database.snapshot()
        private = [(each, dict(each.feeds)) for each in views]
        for _ in range(8):
            for _ in range(rng.choice((1, 1, 1, 3))):
                with suppress(AdalogError):
                    database.transact(written(rng))
            if rng.random() < 0.15:
                database.compact()
            new = database.snapshot()
            for each in views:
                each.step(new)
                if rng.random() < 0.2:
                    rng.choice((each.add, each.drop))()
        for each, feeds in private:
            alone = view_of(each.question(list(each.asked.args)), pool.engine)
            for number, (question, _) in feeds.items():
                with suppress(AdalogError):
                    alone.add(number, UndatedQuestion.of(question), begun, Cancel())
            changes = alone.step(Moments(begun, each.at), Cancel())
            for number, (question, rows) in feeds.items():
                expected, change = rows_of(pool, question, each.at), changes.get(number)
                if expected is None or isinstance(change, AdalogError):
                    continue
                where = each.where(question)
                assert (rows if change is None else applied(change, rows, where)) == expected, where
        pool.close()


@settings(max_examples=examples(20))
@given(st.integers(0, 2**32))
def test_small_answers_add_up(seed: int) -> None:
    SMALL_JOIN.load()
    rng = Random(seed)
    with Database.open(":memory:") as database, pytest.MonkeyPatch.context() as patched:
        # With little work, answers that grow are maintained from some step on.
        patched.setattr(small_answers, "_MOST_WORK", rng.choice((4096, 4096, 256)))
        for text in (SCHEMA, transaction(rng), graph(rng)):
            database.transact(text)
        follow(database, rng, random_rules, (rng.choice((graph, written))(rng) for _ in range(8)))


def test_most_random_queries_are_maintained() -> None:
    rng = Random(1)
    with Database.open(":memory:") as database:
        for text in (SCHEMA, transaction(rng), transaction(rng)):
            database.transact(text)
        pool = Pool(database)
        views = [found for _ in range(30) if (found := followed(database, pool, rng))]
        assert sum(isinstance(each.view, MaintainedView) for each in views) > len(views) // 3
        pool.close()
