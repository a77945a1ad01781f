"""What a subscriber is told, from its first moment on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.live.hub.hub import Hub
from adalog.executor.live.subscribers.event import EventKind
from adalog.store.database import Database
from tests.live.following import Reader, hub_over, together

AGES = "[:find ?name ?age :where [?e :name ?name] [?e :age ?age]]"
OLDER = "[:find ?name :in $ ?least :where [?e :name ?name] [?e :age ?age] [(>= ?age ?least)]]"
PEOPLE = '[{:name "Ada" :age 36} {:name "Grace" :age 85}]'


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        opened.transact(PEOPLE)
        yield opened


@pytest.fixture
def hub(database: Database) -> Iterator[Hub]:
    with hub_over(database) as made:
        yield made


def test_a_snapshot_then_a_change_for_each_transaction_that_makes_one(database: Database, hub: Hub) -> None:
    with_closing = Reader(database, hub.pool, AGES)
    first = with_closing.read()
    assert (first.kind, first.last, sorted(first.rows or [])) == (
        EventKind.SNAPSHOT,
        True,
        [("Ada", 36), ("Grace", 85)],
    )
    assert [column.name for column in first.columns or ()] == ["?name", "?age"]
    database.transact('[{:name "Kurt" :age 71}]')
    database.transact('[{:color "red"}]')
    database.transact("[[:db/add 1 :age 37]]")
    with_closing.until(4)
    deltas = [change for change in with_closing.seen if change.kind is EventKind.DELTA]
    assert [(change.basis_t, change.added, change.retracted) for change in deltas] == [
        (2, [("Kurt", 71)], []),
        (4, [("Ada", 37)], [("Ada", 36)]),
    ]


def test_an_empty_answer_is_one_empty_chunk(database: Database, hub: Hub) -> None:
    reader = Reader(database, hub.pool, "[:find ?e :where [?e :nothing 1]]")
    first = reader.read()
    assert (first.kind, first.rows, first.last) == (EventKind.SNAPSHOT, [], True)


def test_a_snapshot_comes_in_chunks_and_goes_on_after_each(database: Database) -> None:
    database.transact("[" + " ".join(f'{{:name "{i}" :age {i}}}' for i in range(8)) + "]")
    with hub_over(database, chunk_rows=4) as hub:
        reader = Reader(database, hub.pool, AGES)
        chunks = [reader.read() for _ in range(3)]
        assert [(len(chunk.rows or ()), chunk.last) for chunk in chunks] == [(4, False), (4, False), (2, True)]
        database.transact('[{:name "later" :age 99}]')
        again = Reader(database, hub.pool, AGES, resume=chunks[0].resume)
        again.whole = False
        again.rows = set(map_rows(chunks[0].rows))
        again.until(3)
        assert again.kinds() == ["SNAPSHOT", "SNAPSHOT", "DELTA"]


def test_entities_that_look_the_same_are_one_row(database: Database) -> None:
    database.transact("[" + " ".join(f"{{:size {i % 3}}}" for i in range(9)) + "]")
    with hub_over(database, chunk_rows=2) as hub:
        reader = Reader(database, hub.pool, "[:find (pull ?e [:size]) :where [?e :size]]")
        chunks = [reader.read() for _ in range(2)]
        assert [len(chunk.rows or ()) for chunk in chunks] == [2, 1]
        database.transact("[{:db/id 77 :size 2} {:db/id 78 :size 3}]")
        reader.until(3)
        (delta,) = [change for change in reader.seen if change.kind is EventKind.DELTA]
        assert (len(delta.added or ()), delta.retracted) == (1, [])


def test_an_attribute_that_is_declared_behind_others_of_its_group(database: Database, hub: Hub) -> None:
    reader = Reader(database, hub.pool, "[:find ?v :where [?e :later ?v]]")
    renamed = Reader(database, hub.pool, "[:find ?e :where [?e :old]]")
    database.transact("[[:db/add 1 :young 2]]")
    for each in (reader, renamed):
        each.read()
    with together(database):
        for text in ("[[:db/add 1 :age 1]]", "[[:db/add 1 :later 5]]", "[[:db/add 1 :age 2]]"):
            database.submit(text)
        database.submit("[[:db/add :young :db/ident :old]]")
    reader.until(database.snapshot().t)
    renamed.until(database.snapshot().t)
    assert reader.kinds() == renamed.kinds() == ["SNAPSHOT", "DELTA"]


def map_rows(rows: object) -> list[tuple[object, ...]]:
    from adalog.datalog.values import identity

    assert isinstance(rows, list)
    return [tuple(map(identity, row)) for row in rows]


def test_idleness_moves_the_position_on(database: Database, hub: Hub) -> None:
    reader = Reader(database, hub.pool, AGES)
    reader.read()
    database.transact('[{:color "red"}]')
    reader.until(2)
    assert reader.seen[-1].kind is EventKind.PROGRESS
    assert reader.kinds() == ["SNAPSHOT"]
    again = Reader(database, hub.pool, AGES, resume=reader.resume)
    again.rows = reader.rows
    database.transact("[[:db/add 1 :age 37]]")
    again.until(3)
    assert again.kinds() == ["DELTA"]


def test_resume_continues_without_loss_or_repetition(database: Database, hub: Hub) -> None:
    reader = Reader(database, hub.pool, AGES)
    reader.read()
    rows, token = set(reader.rows), reader.resume
    reader.close()
    for age in (40, 41, 42):
        database.transact(f"[[:db/add 1 :age {age}]]")
    again = Reader(database, hub.pool, AGES, resume=token)
    again.rows = rows
    again.until(4)
    assert again.kinds() == ["DELTA"] * 3


def test_a_long_gap_is_one_net_change(database: Database) -> None:
    with hub_over(database, replayed=2) as hub:
        reader = Reader(database, hub.pool, AGES)
        reader.read()
        rows, token = set(reader.rows), reader.resume
        reader.close()
        for age in (40, 41, 42):
            database.transact(f"[[:db/add 1 :age {age}]]")
        again = Reader(database, hub.pool, AGES, resume=token)
        again.rows = rows
        again.until(4)
        (delta,) = [change for change in again.seen if change.kind is EventKind.DELTA]
        assert (delta.basis_t, delta.added, delta.retracted) == (4, [("Ada", 42)], [("Ada", 36)])


def test_the_past_is_replayed_transaction_by_transaction(database: Database) -> None:
    with hub_over(database, replayed=2, mailbox_events=4) as hub:
        for age in range(40, 60):
            database.transact(f"[[:db/add 1 :age {age}]]")
        reader = Reader(database, hub.pool, AGES, from_t=1)
        reader.until(21)
        database.transact("[[:db/add 1 :age 60]]")
        reader.until(22)
        assert [change.basis_t for change in reader.seen if change.kind is EventKind.DELTA] == list(range(2, 23))


def test_from_the_beginning(database: Database, hub: Hub) -> None:
    reader = Reader(database, hub.pool, AGES, from_t=0)
    reader.until(1)
    assert reader.kinds() == ["SNAPSHOT", "DELTA"]


def test_queries_that_differ_in_their_arguments_share_a_view(database: Database, hub: Hub) -> None:
    readers = [Reader(database, hub.pool, OLDER, (least,)) for least in (10, 40, 90)]
    for reader in readers:
        reader.until(1)
    assert (hub.figures.views, hub.figures.feeds) == (1, 3)
    database.transact('[{:name "Kurt" :age 71}]')
    for reader in readers:
        reader.until(2)
    assert [reader.kinds() for reader in readers] == [["SNAPSHOT", "DELTA"], ["SNAPSHOT", "DELTA"], ["SNAPSHOT"]]


def test_a_pattern_of_two_arguments_of_which_a_datom_has_none_one_or_both(database: Database, hub: Hub) -> None:
    query = "[:find ?e :in $ ?boss ?age :where [?e :boss ?boss] [?boss :age ?age]]"
    reader = Reader(database, hub.pool, query, (9, 8))
    reader.read()
    for e, age in ((5, 6), (9, 6), (5, 8), (9, 8)):
        database.transact(f"[[:db/add 7 :boss 9] [:db/add {e} :age {age}]]")
    reader.until(5)
    assert [(each.basis_t, each.added) for each in reader.seen if each.kind is EventKind.DELTA] == [(5, [(7,)])]


def test_a_late_joiner_begins_where_the_others_are(database: Database, hub: Hub) -> None:
    first = Reader(database, hub.pool, AGES)
    first.read()
    database.transact('[{:name "Kurt" :age 71}]')
    second = Reader(database, hub.pool, AGES)
    second.read()
    assert second.t == 2
    assert hub.figures.feeds == 1
    database.transact('[{:name "Emmy" :age 53}]')
    for reader in (first, second):
        reader.until(3)
    assert (first.kinds(), second.kinds()) == (["SNAPSHOT", "DELTA", "DELTA"], ["SNAPSHOT", "DELTA"])


@pytest.mark.parametrize(
    ("begin", "code"),
    [
        ({"resume": "nonsense"}, Code.ARG_INVALID),
        ({"resume": "A" * 80}, Code.ARG_INVALID),
        ({"from_t": 99}, Code.BASIS_FUTURE),
        ({"from_t": -1}, Code.ARG_INVALID),
        ({"from_t": 0, "resume": "nonsense"}, Code.ARG_INVALID),
    ],
)
def test_where_no_stream_begins(database: Database, hub: Hub, begin: dict[str, object], code: Code) -> None:
    with pytest.raises(AdalogError) as refused:
        database.live(AGES, **begin)  # type: ignore[arg-type]
    assert refused.value.code is code


def test_a_token_belongs_to_its_query_and_arguments(database: Database, hub: Hub) -> None:
    reader = Reader(database, hub.pool, OLDER, (10,))
    token = reader.read().resume
    for query, args in ((AGES, ()), (OLDER, (11,))):
        with pytest.raises(AdalogError, match="belongs to another query") as refused:
            database.live(query, *args, resume=token)
        assert refused.value.code is Code.ARG_INVALID


def test_a_token_of_another_database_starts_the_stream_over(database: Database, hub: Hub) -> None:
    with Database.open(":memory:") as other, hub_over(other) as their:
        other.transact(PEOPLE)
        token = Reader(other, their.pool, AGES).read().resume
    reader = Reader(database, hub.pool, AGES, resume=token)
    reader.whole = True
    reset = reader.read()
    assert reset.kind is EventKind.RESET
    assert "another database" in (reset.reason or "")
    reader.until(1)
    assert reader.kinds() == ["RESET", "SNAPSHOT"]


def test_what_is_wrong_with_a_query_is_said_before_the_first_event(database: Database, hub: Hub) -> None:
    with pytest.raises(AdalogError) as refused:
        database.live("[:find ?x :where [(> ?x 1)]]")
    assert refused.value.code is Code.UNBOUND_VARIABLE
    with pytest.raises(AdalogError) as refused:
        database.live(OLDER)
    assert refused.value.code is Code.ARG_INVALID


def test_without_a_hub_nobody_follows(database: Database) -> None:
    with pytest.raises(AdalogError, match="nobody follows"):
        database.live(AGES)


def test_the_end_of_the_hub_ends_its_streams(database: Database) -> None:
    with hub_over(database) as hub:
        reader = Reader(database, hub.pool, AGES)
        reader.read()
    with pytest.raises(AdalogError) as ended:
        reader.until(99)
    assert ended.value.code is Code.BACKEND_UNAVAILABLE
    assert ended.value.retryable
