"""First answers of queries that differ in their arguments: made together where they are asked for together, and
everybody's own all the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.client import ASKING, Client
from adalog.executor.live.hub import catch_up
from adalog.executor.live.hub.hub import Hub
from adalog.executor.live.hub.principal_queue import PrincipalQueue
from adalog.executor.live.subscribers.changes import ValuesForm
from adalog.executor.live.subscribers.event import EventKind
from adalog.executor.live.subscribers.resume import StreamStart
from adalog.executor.live.subscribers.subscription import BlockingSubscription
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.live.following import Reader, eventually, hub_over

OLDER = "[:find ?name :in $ ?least :where [?e :name ?name] [?e :age ?age] [(>= ?age ?least)]]"
PARTS = "[:find ?name ?part :in $ ?by :where [?e :name ?name] [?e :age ?age] [(quot ?age ?by) ?part]]"
NAMES = "[:find ?name :where [?e :name ?name]]"
PEOPLE = '[{:name "Ada" :age 36} {:name "Grace" :age 85} {:name "Kurt" :age 71}]'


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        opened.transact(PEOPLE)
        yield opened


class Evaluations:
    """What common evaluations were asked, and what they do before they answer. `arguments`: the first of each."""

    def __init__(self, answer: Callable[..., list[Result | None]]) -> None:
        self.arguments: list[list[int]] = []
        self.first: Callable[[Cancel], None] = lambda cancel: None
        self._answer = answer

    @property
    def sizes(self) -> list[int]:
        """How many answers each was to give."""
        return [len(each) for each in self.arguments]

    def __call__(self, engine: Any, questions: Sequence[Question], cancel: Cancel) -> list[Result | None]:
        self.arguments.append([question.request.args[0] for question in questions])
        self.first(cancel)
        return self._answer(engine, questions, cancel)


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> Evaluations:
    counted = Evaluations(catch_up.answers_together)
    monkeypatch.setattr(catch_up, "answers_together", counted)
    return counted


@contextmanager
def at_once(hub: Hub) -> Iterator[None]:
    """Who subscribes within is heard of at the same moment, by a hub that somebody subscribed to before."""
    gate, held = threading.Event(), threading.Event()

    def wait() -> None:
        held.set()
        gate.wait()

    hub._jobs.put(wait)
    held.wait()
    try:
        yield
    finally:
        gate.set()


@contextmanager
def known(database: Database, query: str, *args: Any, **settings: Any) -> Iterator[tuple[Hub, Reader]]:
    """A hub, with somebody who follows the query already, so that its view is there."""
    with hub_over(database, **settings) as hub:
        reader = Reader(database, hub.pool, query, args)
        reader.until(database.snapshot().t)
        yield hub, reader
        reader.close()


def test_those_who_come_together_are_one_evaluation(database: Database, evaluations: Evaluations) -> None:
    with known(database, OLDER, -1) as (hub, first):
        readers = [first]
        assert evaluations.sizes == [], "one alone is asked alone"
        with at_once(hub):
            readers += [Reader(database, hub.pool, OLDER, (least,)) for least in range(100)]
        for reader in readers:
            reader.until(1)
        assert sum(evaluations.sizes) == 100
        assert len(evaluations.sizes) <= 4, "a view gets to know a few dozen at a time"
        database.transact('[{:name "Emmy" :age 53} [:db/add 1 :age 37]]')
        for reader in readers:
            reader.until(2)
        changed = [kind for reader in readers for kind in reader.kinds() if kind == "DELTA"]
        assert len(changed) == 1 + 54, "all who ask for 53 or less; 37 is no change of who asks for 37 or more"


def test_those_who_come_before_there_is_a_view(database: Database, evaluations: Evaluations) -> None:
    with known(database, NAMES) as (hub, _):
        with at_once(hub):
            readers = [Reader(database, hub.pool, OLDER, (least,)) for least in range(260)]
        for reader in readers:
            reader.until(1)
        assert sorted(evaluations.sizes) == [4, 256]
        assert hub.figures.views == 2


def test_who_leaves_before_is_not_answered(database: Database, evaluations: Evaluations) -> None:
    with known(database, OLDER, -1) as (hub, first):
        with at_once(hub):
            readers = [Reader(database, hub.pool, OLDER, (least,)) for least in range(10)]
            for reader in readers[:4]:
                reader.close()
        for reader in readers[4:]:
            reader.until(1)
        assert evaluations.sizes == [6]
        for reader in (first, *readers[4:]):
            reader.close()
        eventually(hub, lambda: hub.figures.subscriptions == 0 and not hub._subscribers._first_answers._queues)
        assert hub.figures.feeds == 0


def test_an_argument_that_is_refused_is_refused_alone(database: Database, evaluations: Evaluations) -> None:
    with known(database, PARTS, 7) as (hub, _):
        with at_once(hub):
            right = [Reader(database, hub.pool, PARTS, (by,)) for by in (1, 2, 3)]
            wrong = Reader(database, hub.pool, PARTS, (0,))
        with pytest.raises(AdalogError, match="zero"):
            wrong.read()
        for reader in right:
            reader.until(1)
        assert evaluations.sizes == [4]


def follow(hub: Hub, query: str, least: int, most: int) -> BlockingSubscription:
    request = QueryRequest(query, (least,), max_rows=most)
    form = ValuesForm(f"{least}", hub._tokens)
    return hub.follow_blocking(hub.asked(request, Cancel()), form, StreamStart())


def test_the_limit_on_rows_is_everybodys_own(database: Database, evaluations: Evaluations) -> None:
    with hub_over(database) as hub:
        first = follow(hub, OLDER, 90, 2)
        assert next(first).payload.rows == []
        with at_once(hub):
            streams = [follow(hub, OLDER, least, 2) for least in (80, 70, 0, 81)]
        rows = []
        for stream in streams[:2] + streams[3:]:
            message = next(stream)
            assert message.kind is EventKind.SNAPSHOT
            rows.append(len(message.payload.rows))
        assert rows == [1, 2, 1]
        with pytest.raises(AdalogError) as refused:
            next(streams[2])
        assert refused.value.code is Code.LIMIT_EXCEEDED
        assert evaluations.sizes == [4]
        with at_once(hub):
            streams = [follow(hub, OLDER, least, 2) for least in (82, 83, 84)]
        assert [len(next(stream).payload.rows) for stream in streams] == [1, 1, 1], "three in all, and two allowed"


def test_an_evaluation_that_takes_too_long_is_given_up(database: Database, evaluations: Evaluations) -> None:
    def go_on(cancel: Cancel) -> None:
        while True:
            cancel.check()

    evaluations.first = go_on
    with known(database, OLDER, -1, timeout_ms=800) as (hub, _):
        with at_once(hub):
            readers = [Reader(database, hub.pool, OLDER, (least,)) for least in range(3)]
        for reader in readers:
            reader.until(1)
        assert evaluations.sizes == [3]


def test_who_asks_for_little_does_not_wait_for_who_asks_for_much(
    database: Database, evaluations: Evaluations
) -> None:
    with known(database, NAMES) as (hub, _):
        readers = []
        with at_once(hub):
            for who, leasts in (("many", range(260)), ("few", range(400, 403))):
                before = ASKING.set(Client(who, 1))
                readers += [Reader(database, hub.pool, OLDER, (least,)) for least in leasts]
                ASKING.reset(before)
        for reader in readers:
            reader.until(1)
        assert sorted(evaluations.sizes) == [7, 256]
        assert {400, 401, 402} < set(max(evaluations.arguments, key=len)), "the first evaluation has them"


def test_each_in_turn() -> None:
    waiting: PrincipalQueue[int] = PrincipalQueue()
    for principal, item in (("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)):
        waiting.add(principal, item)
    waiting.add("b", 0, first=True)
    found = []
    while waiting:
        found.append(waiting.next())
    assert found == [1, 0, 5, 2, 4, 3, 6]
