"""What must not harm a stream, or no other one: who never reads, slow views, errors that come later, restarts."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.engine import QueryEngine
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.maintained_view import MaintainedView
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change, Interest, LiveView
from adalog.executor.follow.view_choice import live_of, view_of
from adalog.executor.live.hub import hub as hub_module
from adalog.executor.live.hub import view_update
from adalog.executor.live.hub.feed import Subscriber
from adalog.executor.live.hub.subscriber_queue import SubscriberQueue
from adalog.executor.live.hub.views import Views
from adalog.executor.live.subscribers.event import EventKind
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from tests.live.following import Reader, eventually, hub_over, on_hub
from tests.property.model import examples

AGES = "[:find ?name ?age :where [?e :name ?name] [?e :age ?age]]"
NAMES = "[:find ?name :where [?e :name ?name]]"
OLDER = "[:find ?name :in $ ?least :where [?e :name ?name] [?e :age ?age] [(>= ?age ?least)]]"
PEOPLE = '[{:name "Ada" :age 36} {:name "Grace" :age 85}]'


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        opened.transact(PEOPLE)
        yield opened


def test_who_never_reads_costs_nothing_while_transactions_pass(database: Database) -> None:
    many = 100 * examples(25)
    with hub_over(database, mailbox_events=16) as hub:
        idle, busy = (Reader(database, hub.pool, AGES) for _ in range(2))
        idle.read()
        busy.read()
        held = 0
        for start in range(0, many, 100):
            written = [
                database.submit(f"[[:db/add 1 :age {age}] [:db/add 2 :age {2 * age}]]")
                for age in range(start, start + 100)
            ]
            t = max(each.result().t for each in written)
            while next(busy.changes).basis_t < t:
                held = max(held, hub.mail.held)
        assert hub.figures.overflows >= 1
        assert held < 32 * 1_000
        seen = len(idle.seen)
        idle.until(many + 1)
        news = [change for change in idle.seen[seen:] if change.kind is not EventKind.PROGRESS]
        assert [change.kind for change in news] == [EventKind.DELTA], "one net change"


def test_what_is_too_much_for_a_mailbox_starts_the_stream_over(database: Database) -> None:
    with hub_over(database, mailbox_events=2, mailbox_bytes=4_000, replayed=1) as hub:
        reader = Reader(database, hub.pool, AGES)
        reader.read()
        for start in range(0, 100, 20):
            people = " ".join(f'{{:name "{i}" :age {i}}}' for i in range(start, start + 20))
            database.transact(f"[{people}]")
        eventually(hub, lambda: hub.figures.overflows > 0)
        reader.until(6)
        reset = next(change for change in reader.seen if change.kind is EventKind.RESET)
        assert "mailbox" in (reset.reason or "")
        database.transact('[{:name "later" :age 1}]')
        reader.until(7)
        assert hub.figures.resets >= 1


def test_all_is_given_back_when_the_last_one_leaves(database: Database) -> None:
    with hub_over(database) as hub:
        readers = [Reader(database, hub.pool, OLDER, (least,)) for least in range(5)]
        readers += [
            Reader(database, hub.pool, AGES, from_t=0),
            Reader(database, hub.pool, f"{AGES[:-1]} :limit 1]"),
        ]
        for reader in readers:
            reader.until(1)
        database.transact('[{:name "Kurt" :age 71}]')
        assert hub.figures.subscriptions == 7
        for reader in readers:
            reader.close()
        eventually(hub, lambda: not hub._views.known and hub.figures.subscriptions == 0)
        gc.collect()
        assert (hub.figures.views, hub.figures.feeds) == (0, 0)
        assert hub.mail.held == 0
        assert database._listeners == []
        # What was given up at work is in the traceback of that, until the collector comes.
        eventually(hub, lambda: gc.collect() >= 0 and hub.holdings.held == 0)
    assert all(thread.name != "adalog-live" for thread in threading.enumerate())


def test_compaction_and_restarts_between_resume_points(tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    rows: set[Any] = set()
    token = None
    t = 1
    for round_ in range(4):
        with Database.open(folder) as database:
            if t == 1:
                database.transact(PEOPLE)
            with hub_over(database) as hub:
                reader = Reader(database, hub.pool, AGES, resume=token)
                reader.rows = rows
                reader.until(t)
                for i in range(3):
                    database.transact(f'[{{:name "{round_} {i}" :age {i}}} [:db/add 1 :age {round_}]]')
                    t += 1
                    if i == 1:
                        database.compact()
                reader.until(t - 1)
                rows, token = set(reader.rows), reader.resume
                assert "RESET" not in reader.kinds()
                database.compact()


def test_a_restored_copy_that_went_its_own_way_starts_over(tmp_path: Path) -> None:
    import shutil

    here, there = tmp_path / "here", tmp_path / "there"
    with Database.open(str(here)) as database:
        database.transact(PEOPLE)
    shutil.copytree(here, there)
    with Database.open(str(here)) as database, hub_over(database) as hub:
        database.transact('[{:name "Kurt" :age 71}]')
        reader = Reader(database, hub.pool, AGES)
        token = reader.read().resume
    with Database.open(str(there)) as database, hub_over(database) as hub:
        for wanted in ("has not reached", "are not those"):
            reader = Reader(database, hub.pool, AGES, resume=token)
            reset = reader.read()
            assert reset.kind is EventKind.RESET
            assert wanted in (reset.reason or "")
            reader.until(database.snapshot().t)
            database.transact('[{:name "Emmy" :age 53}]')


def test_what_forgets_its_past_cannot_be_resumed_across_it(database: Database) -> None:
    database.transact(
        "[{:db/ident :seen :db/valueType :db.type/long :db/cardinality :db.cardinality/one :db/noHistory true}]"
    )
    query = "[:find ?e ?n :where [?e :seen ?n]]"
    with hub_over(database) as hub:
        database.transact("[[:db/add 1 :seen 1]]")
        reader = Reader(database, hub.pool, query)
        reader.read()
        rows, token = set(reader.rows), reader.resume
        reader.close()
        database.transact('[{:name "other"}]')
        again = Reader(database, hub.pool, query, resume=token)
        again.rows = rows
        again.until(4)
        assert again.kinds() == [], "nothing was forgotten yet"
        futures = [database.submit(f"[[:db/add 1 :seen {n}]]") for n in range(2, 30)]
        for future in futures:
            future.result()
        again.rows = set()
        again.whole = False
        last = None
        while again.t < database.snapshot().t:
            last = next(again.changes)
            again.t = last.basis_t
        late = Reader(database, hub.pool, query, resume=token)
        assert late.read().kind is EventKind.RESET
        late.until(database.snapshot().t)
        assert late.rows == {(1, 29)} or len(late.rows) == 1


def test_a_snapshot_that_was_cut_off_does_not_go_on_over_what_is_forgotten(database: Database) -> None:
    database.transact("[{:db/ident :seen :db/valueType :db.type/long :db/noHistory true}]")
    database.transact("[" + " ".join(f"[:db/add {e} :seen {e}]" for e in range(1, 10)) + "]")
    query = "[:find ?e ?n :where [?e :seen ?n]]"
    with hub_over(database, chunk_rows=3) as hub:
        first = Reader(database, hub.pool, query).read()
        database.transact("[[:db/add 1 :seen 100]]")
        for begin in ({"resume": first.resume}, {"from_t": 3}):
            again = Reader(database, hub.pool, query, **begin)
            again.whole = False
            again.until(database.snapshot().t)
            assert again.kinds() == ["RESET"] + ["SNAPSHOT"] * 3


def test_an_error_belongs_to_the_query_that_has_it(database: Database) -> None:
    with hub_over(database) as hub:
        divided = "[:find ?q :where [?e :age ?age] [(quot 100 ?age) ?q]]"
        wrong, right = Reader(database, hub.pool, divided), Reader(database, hub.pool, AGES)
        wrong.read()
        right.read()
        database.transact('[{:name "newborn" :age 0}]')
        with pytest.raises(AdalogError, match="zero"):
            list(wrong.changes)
        right.until(2)
        database.transact('[{:name "Kurt" :age 71}]')
        right.until(3)
        assert right.kinds() == ["SNAPSHOT", "DELTA", "DELTA"]


def test_a_step_that_leaves_the_hubs_thread_takes_the_view_along(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = []

    def add(view: MaintainedView, feed: int, *rest: Any) -> None:
        added.append(feed)
        original(view, feed, *rest)

    original = MaintainedView.add
    monkeypatch.setattr(MaintainedView, "add", add)
    with hub_over(database) as hub:
        readers = [Reader(database, hub.pool, OLDER, (least,)) for least in range(20)]
        for reader in readers:
            reader.until(1)
        # Now no step is short enough for the hub.
        monkeypatch.setattr(view_update, "BRIEF", -1.0)
        for t in (2, 3, 4):
            database.transact(f'[{{:name "{t}" :age {10 * t}}}]')
            for reader in readers:
                reader.until(t)
        assert sorted(added) == sorted(set(added)), "nobody's arguments were read again"


class Gated:
    """A view whose steps wait until they are let go."""

    def __init__(self, view: LiveView, gate: threading.Event, begun: threading.Event) -> None:
        self._view, self._gate, self._begun = view, gate, begun

    @property
    def intact(self) -> bool:
        return self._view.intact

    def interests(self, at: Snapshot) -> Sequence[Interest]:
        return self._view.interests(at)

    def add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        self._view.add(feed, question, at, cancel)

    def drop(self, feed: int) -> None:
        self._view.drop(feed)

    def step(self, tick: Moments, cancel: Cancel) -> Mapping[int, Change | AdalogError]:
        self._begun.set()
        while not self._gate.wait(0.001):
            cancel.check()
        return self._view.step(tick, cancel)

    def nbytes(self) -> int:
        return self._view.nbytes()

    def spare(self) -> int:
        return self._view.spare()

    def lighten(self) -> None:
        self._view.lighten()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Steps of NAMES wait for the first event; the second says that one has begun."""
    opened, begun = threading.Event(), threading.Event()

    def gated(question: Question, engine: Any, *more: Any) -> LiveView:
        view = view_of(question, engine, *more)
        return Gated(view, opened, begun) if question.text == NAMES else view

    for module in (hub_module, view_update):
        monkeypatch.setattr(module, "view_of", gated)
    yield opened, begun
    opened.set()


def test_a_slow_view_delays_nobody_and_catches_up(
    database: Database, gate: tuple[threading.Event, threading.Event]
) -> None:
    opened, begun = gate
    with hub_over(database) as hub:
        slow, quick = Reader(database, hub.pool, NAMES), Reader(database, hub.pool, AGES)
        slow.read()
        quick.read()
        database.transact('[{:name "a" :age 1}]')
        begun.wait()
        for i in range(10):
            database.transact(f'[{{:name "{i}" :age 1}}]')
        quick.until(12)
        assert slow.kinds() == ["SNAPSHOT"]
        opened.set()
        slow.until(12)
        for reader in (slow, quick):
            assert reader.kinds() == ["SNAPSHOT", *["DELTA"] * 11], "told one by one all the same"
        database.transact('[{:name "last" :age 1}]')
        slow.until(13)


def test_a_view_at_work_has_its_progress(database: Database, gate: tuple[threading.Event, threading.Event]) -> None:
    """Up to where it was: hidden transactions are looked at, too, and a PROGRESS that is left out tells of them."""
    opened, begun = gate
    with hub_over(database) as hub:
        slow = Reader(database, hub.pool, NAMES)
        before = slow.read().basis_t
        database.transact('[{:name "a" :age 1}]')
        begun.wait()
        # The first one may have waited already.
        for _ in range(3):
            event = slow.read()
            assert (event.kind, event.basis_t) == (EventKind.PROGRESS, before)
        opened.set()
        slow.until(before + 1)
        assert slow.kinds() == ["SNAPSHOT", "DELTA"]


def test_a_view_at_work_hears_of_attributes_that_it_does_not_know_yet(
    database: Database, gate: tuple[threading.Event, threading.Event]
) -> None:
    opened, begun = gate
    with hub_over(database) as hub:
        slow, quick = Reader(database, hub.pool, NAMES), Reader(database, hub.pool, AGES)
        slow.read()
        quick.read()
        database.transact("[[:db/add :name :db/ident :called]]")
        begun.wait()
        database.transact("[{:db/ident :name :db/valueType :db.type/string}]")
        quick.until(3)
        last = database.transact('[{:db/id 1 :name "new"}]').t
        quick.until(last)
        opened.set()
        slow.until(last)
        last = database.transact('[{:db/id 1 :name "newer"}]').t
        slow.until(last)
        quick.until(last)


def test_who_leaves_a_view_at_work_is_forgotten(
    database: Database, gate: tuple[threading.Event, threading.Event]
) -> None:
    opened, begun = gate
    with hub_over(database) as hub:
        slow = Reader(database, hub.pool, NAMES)
        slow.read()
        database.transact('[{:name "a"}]')
        begun.wait()
        slow.close()
        eventually(hub, lambda: not hub._views.known)
        opened.set()
        again = Reader(database, hub.pool, NAMES)
        again.until(2)
        database.transact('[{:name "b"}]')
        again.until(3)


def test_a_step_that_takes_too_long_ends_its_query_only(
    database: Database, gate: tuple[threading.Event, threading.Event]
) -> None:
    with hub_over(database, timeout_ms=200) as hub:
        slow, quick = Reader(database, hub.pool, NAMES), Reader(database, hub.pool, AGES)
        slow.read()
        quick.read()
        database.transact('[{:name "a" :age 1}]')
        with pytest.raises(AdalogError) as ended:
            list(slow.changes)
        assert ended.value.code is Code.TIMEOUT
        quick.until(2)


def test_writers_do_not_wait_for_the_hub(database: Database) -> None:
    with hub_over(database) as hub:
        reader = Reader(database, hub.pool, AGES)
        reader.read()
        blocked = threading.Event()

        def block() -> None:
            blocked.wait()

        hub._jobs.put(block)
        for i in range(400):
            database.transact(f'[{{:name "{i}" :age 1}}]')
        blocked.set()
        reader.until(401)
        assert len(reader.seen) < 400, "far behind, transactions become one step"


def test_no_more_subscriptions_than_may_be(database: Database) -> None:
    with hub_over(database, subscriptions=3, subscriptions_per_principal=2) as hub:
        first, second = (Reader(database, hub.pool, AGES) for _ in range(2))
        with pytest.raises(AdalogError) as refused:
            Reader(database, hub.pool, AGES)
        assert (refused.value.code, refused.value.retryable) == (Code.RATE_LIMITED, True)
        assert refused.value.retry_after == 1
        assert "ADALOG_LIVE_SUBSCRIPTIONS" in refused.value.message
        first.close()
        eventually(hub, lambda: hub.figures.subscriptions == 1)
        third = Reader(database, hub.pool, AGES)
        for reader in (second, third):
            reader.until(1)


def test_what_is_too_large_to_be_held_is_refused(database: Database) -> None:
    people = " ".join(f'{{:name "{i}" :age {i}}}' for i in range(5_000))
    database.transact(f"[{people}]")
    with hub_over(database, memory_bytes=120_000) as hub:
        reader = Reader(database, hub.pool, AGES)
        with pytest.raises(AdalogError) as refused:
            reader.until(2)
        assert refused.value.code is Code.LIMIT_EXCEEDED
        assert "ADALOG_LIVE_BYTES" in refused.value.message
        small = Reader(database, hub.pool, OLDER, (4_990,))
        small.until(2)


def test_a_pool_without_room_is_asked_again(database: Database) -> None:
    with hub_over(database) as hub:
        submit = hub.pool.submit
        refused: list[float] = []

        def sometimes(cancel: Cancel, work: Any, cost: float = 0.0) -> Any:
            if len(refused) < 5:
                refused.append(cost)
                raise AdalogError(Code.RATE_LIMITED, "too many wait", retry_after=1)
            return submit(cancel, work, cost)

        hub.pool.submit = sometimes  # type: ignore[method-assign]
        reader = Reader(database, hub.pool, AGES)
        reader.until(1)
        assert len(refused) == 5


@pytest.mark.parametrize(
    ("query", "method"),
    [
        (AGES, "rows"),
        (
            "[:find ?name ?age :where [?e :name ?name] [(q [:find ?a . :in $ ?e :where [?e :age ?a]] $ ?e) ?age]]",
            "run",
        ),
        ("[:find (pull ?e [:name :age]) :where [?e :age ?age] :order-by ?age :limit 5]", "pulls"),
    ],
)
def test_a_step_without_memory_is_made_again(
    database: Database, monkeypatch: pytest.MonkeyPatch, query: str, method: str
) -> None:
    refused: list[str] = []
    original = getattr(QueryEngine, method)
    # The reader asks the same, to compare.
    reading = threading.get_ident()

    def run(engine: QueryEngine, question: Question, *args: Any) -> Any:
        if question.text == query and len(refused) < 3 and threading.get_ident() != reading:
            refused.append(query)
            raise AdalogError(Code.RATE_LIMITED, "others use the memory", retry_after=1)
        return original(engine, question, *args)

    with hub_over(database) as hub:
        reader = Reader(database, hub.pool, query)
        reader.until(1)
        monkeypatch.setattr(QueryEngine, method, run)
        if query == AGES:
            # Another meaning of an attribute: asked again at both moments.
            database.transact("[[:db/add :age :db/cardinality :db.cardinality/many]]")
        database.transact("[[:db/add 1 :age 37]]")
        last = database.snapshot().t
        reader.until(last)
        assert len(refused) == 3
        database.transact("[[:db/add 2 :age 86]]")
        reader.until(last + 1)


def test_a_subscriber_that_cannot_be_seated_harms_no_other(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with hub_over(database) as hub:
        well, unwell = Reader(database, hub.pool, AGES), Reader(database, hub.pool, AGES)
        well.until(1)
        unwell.until(1)
        token = unwell.resume
        original = SubscriberQueue._find_way

        def find_way(seats: SubscriberQueue, seat: Subscriber, position: Any) -> None:
            if seat.subscription is unwell.changes._subscription:
                raise RuntimeError("a mistake")
            original(seats, seat, position)

        monkeypatch.setattr(SubscriberQueue, "_find_way", find_way)
        on_hub(hub, lambda: hub._subscribers.wanted(unwell.changes._subscription, None))
        with pytest.raises(AdalogError) as ended:
            list(unwell.changes)
        assert ended.value.code is Code.INTERNAL
        assert "a mistake" in caplog.text
        database.transact("[[:db/add 1 :age 37]]")
        well.until(2)
        again = Reader(database, hub.pool, AGES, resume=token)
        again.rows = {row for row in well.rows if row[1] != 37} | {("Ada", 36)}
        again.until(2)

        def feed(*_: Any) -> Any:
            raise RuntimeError("another mistake")

        monkeypatch.setattr(hub._views, "feed", feed)
        with pytest.raises(AdalogError) as refused:
            Reader(database, hub.pool, NAMES).until(2)
        assert refused.value.code is Code.INTERNAL
        eventually(hub, lambda: hub.figures.subscriptions == 2)


def test_a_view_that_cannot_be_worked_at_harms_no_other(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_over(database) as hub:
        readers = {query: Reader(database, hub.pool, query) for query in (AGES, NAMES)}
        for reader in readers.values():
            reader.until(1)
        original = Views._bring

        def bring(views: Views, followed: Any, tick: Any) -> None:
            if followed.question.request.query == NAMES:
                raise RuntimeError("a mistake")
            original(views, followed, tick)

        monkeypatch.setattr(Views, "_bring", bring)
        database.transact('[{:name "Kurt" :age 71}]')
        with pytest.raises(AdalogError) as ended:
            list(readers[NAMES].changes)
        assert ended.value.code is Code.INTERNAL
        readers[AGES].until(2)


def test_joins_of_views_that_were_not_touched_for_long_go_first(database: Database) -> None:
    queries = [f"[:find ?name ?age :where [?e :name ?name] [?e :age ?age] [(< {n} ?age)]]" for n in range(12)]
    with hub_over(database, memory_bytes=500_000) as hub:
        readers = [Reader(database, hub.pool, query) for query in queries]
        t = 1
        for age in range(100, 400, 100):
            database.transact(f"[[:db/add 1 :age {age}]]")
            t += 1
            for reader in readers:
                reader.until(t)
        views = on_hub(hub, lambda: hub._views)
        kept = on_hub(hub, lambda: list(views._keeping.values()))
        assert 0 < len(kept) < len(queries), "some have let go"
        assert sum(kept) == views._kept_bytes <= 125_000
        held = on_hub(hub, lambda: {each.key: each.view.spare() for each in views.known.values() if each.view})
        assert sum(held.values()) == sum(kept)
        for reader in readers:
            reader.close()
        eventually(hub, lambda: not views.known and views._kept_bytes == 0 and not views._keeping)


def test_a_view_without_room_for_its_joins_goes_on_without(database: Database) -> None:
    with hub_over(database, memory_bytes=60_000) as hub:
        reader = Reader(database, hub.pool, "[:find ?name :where [?e :name ?name] [?e :age ?age] [(< 50 ?age)]]")
        for t, age in enumerate((60, 40, 70), 2):
            reader.until(t - 1)
            database.transact(f"[[:db/add 1 :age {age}]]")
        reader.until(4)
        assert hub.holdings.held < 30_000


def test_what_would_take_too_many_joins_is_asked_again(database: Database) -> None:
    deep = " ".join(f"(or [?e :age {n}] (and [?e :name _] (not [?e :age {n + 100}])))" for n in range(36))
    with hub_over(database) as hub:
        query = f"[:find ?e :where [?e :name ?name] {deep}]"
        live = live_of(hub.pool.question(QueryRequest(query)))
        assert live["how"] == "recomputed and compared"
        assert "joins" in (live["reason"] or "")
        reader = Reader(database, hub.pool, query)
        reader.until(1)
        database.transact('[{:name "Kurt" :age 5}]')
        reader.until(2)
        assert reader.kinds() == ["SNAPSHOT", "DELTA"]
