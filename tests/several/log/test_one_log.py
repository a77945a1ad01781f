"""Several databases on one log are one database: whatever is promised of one holds across them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.executor.pool import Pool
from adalog.store.database import Database
from adalog.store.state import settings
from adalog.store.values.datom import TxReport
from tests.several.log.logs import Opening, caught_up, state, together

N, NAME, EMAIL = Keyword("n"), Keyword("name"), Keyword("email")
SCHEMA = """[{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :n :db/valueType :db.type/long} {:db/ident :name :db/valueType :db.type/string}
             {:db/ident :knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""


@pytest.fixture
def databases(open_one: Opening) -> Iterator[list[Database]]:
    with together(open_one) as opened:
        opened[0].transact(SCHEMA)
        caught_up(opened)
        yield opened


def value(database: Database, e: int, a: Keyword) -> Any:
    found = list(database.snapshot().datoms("EAVT", [e, a]))
    return found[0].v if found else None


def refused(database: Database, tx: str, **more: Any) -> AdalogError:
    with pytest.raises(AdalogError) as caught:
        database.transact(tx, **more)
    return caught.value


def test_what_one_writes_all_see(databases: list[Database]) -> None:
    told: list[list[TxReport]] = [[] for _ in databases]
    for database, reports in zip(databases, told, strict=True):
        database.add_listener(lambda report, _, reports=reports: reports.append(report))
    made = [database.transact(f'[[:db/add "new" :n {n}]]') for n, database in enumerate(databases)]
    assert [report.t for report in made] == [2, 3, 4]
    caught_up(databases)
    assert all(state(database) == state(databases[0]) for database in databases)
    assert len({e for report in made for e in report.tempids.values()}) == 3
    for database, reports in zip(databases, told, strict=True):
        # The listener is told after those who wait for a transaction.
        database._on_writer(lambda: None)
        assert reports == made


def test_a_transaction_is_resolved_against_what_others_wrote(databases: list[Database]) -> None:
    a, b, c = databases
    a.transact('[{:email "ada@x" :n 1}]')
    # Nobody waits for anything here: a turn takes over what was missed.
    e = b.transact('[{:email "ada@x" :n 2}]').datoms[-1].e
    assert c.transact('[[:db/cas [:email "ada@x"] :n 2 3]]').t == 4
    assert refused(a, '[[:db/cas [:email "ada@x"] :n 2 4]]').code is Code.CAS_FAILED
    caught_up(databases)
    assert [value(database, e, N) for database in databases] == [3, 3, 3]


def test_an_expected_basis(databases: list[Database]) -> None:
    a, b, _ = databases
    assert a.transact("[[:db/add 1 :n 1]]", expected_basis_t=1).t == 2
    assert refused(b, "[[:db/add 1 :n 2]]", expected_basis_t=1).code is Code.BASIS_CONFLICT
    assert b.transact("[[:db/add 1 :n 2]]", expected_basis_t=2).t == 3


def test_an_idempotency_key(databases: list[Database]) -> None:
    a, b, c = databases
    key = 'it\'s \\ "ä" %s 🐘'
    first = a.transact('[[:db/add "x" :n 1]]', idempotency_key=key)
    for database in (b, c, a):
        again = database.transact('[[:db/add "x" :n 1]]', idempotency_key=key)
        assert (again.t, again.tempids, list(again.datoms)) == (first.t, first.tempids, list(first.datoms))
    assert refused(c, "[[:db/add 1 :n 2]]", idempotency_key=key).code is Code.ARG_INVALID
    assert b.transaction_of(key) == first.t
    assert refused(b, "[[:db/add 1 :n 2]]", idempotency_key="a\0b").code is Code.ARG_INVALID


def test_a_function_that_another_stored(databases: list[Database]) -> None:
    a, b, _ = databases
    pool = Pool(b)
    try:
        a.transact(
            '[{:db/ident :my/up :db/fn "[:find ?op ?e ?a ?w :in $ ?e :where [?e :n ?v] [(inc ?v) ?w] '
            '[(ground :n) ?a] [(ground :db/add) ?op]]"} [:db/add 1 :n 1]]'
        )
        b.transact("[[:my/up 1]]")
        assert value(b, 1, N) == 2
    finally:
        pool.close()


def test_all_count_at_once(databases: list[Database]) -> None:
    databases[0].transact("[[:db/add 1 :n 0]]")
    caught_up(databases)
    failed: list[Code] = []

    def count(database: Database) -> None:
        for _ in range(15):
            while True:
                now = value(database, 1, N)
                try:
                    database.transact(f"[[:db/cas 1 :n {'nil' if now is None else now} {(now or 0) + 1}]]")
                except AdalogError as error:
                    failed.append(error.code)
                else:
                    break

    with ThreadPoolExecutor(6) as threads:
        for done in [threads.submit(count, database) for database in databases * 2]:
            done.result(60)
    caught_up(databases)
    assert [value(database, 1, N) for database in databases] == [90, 90, 90]
    assert set(failed) == {Code.CAS_FAILED}, "they met"


def test_upserts_make_one_entity(databases: list[Database]) -> None:
    start = threading.Barrier(3)

    def put(database: Database, n: int) -> TxReport:
        start.wait(20)
        return database.transact(f'[{{:email "ada@x" :n {n}}}]')

    with ThreadPoolExecutor(3) as threads:
        reports = list(threads.map(put, databases, range(3)))
    caught_up(databases)
    holders = {each.e for each in databases[0].snapshot().datoms("AEVT", [EMAIL])}
    assert len(holders) == 1
    assert sorted(report.t for report in reports) == [2, 3, 4]


def test_waiting_for_a_transaction(databases: list[Database]) -> None:
    a, b, c = databases
    waiting = b.reached(a.snapshot().t + 2)
    assert waiting is not None
    gone = b.reached(a.snapshot().t + 2)
    assert gone is not None
    gone.cancel()
    a.transact("[[:db/add 1 :n 1]]")
    assert not waiting.done()
    t = c.transact("[[:db/add 1 :n 2]]").t
    waiting.result(20)
    assert b.at(t=t).t == t
    assert b.reached(t) is None


def test_instants_never_go_back(databases: list[Database], monkeypatch: pytest.MonkeyPatch) -> None:
    # Each process has a clock of its own; here each transaction has.
    clock = iter([5_000_000.0, 1_000_000.0, 6_000_000.0, 2_000_000.0])

    monkeypatch.setattr(settings, "time", SimpleNamespace(time=lambda: next(clock), monotonic=time.monotonic))
    first = databases[0].tx_instant(1)
    assert first is not None
    made = [database.transact("[[:db/add 1 :n 1]]").tx_instant for database in (*databases, databases[0])]
    assert made == sorted(made)
    assert made[0] >= first


def test_a_bulk_load(databases: list[Database]) -> None:
    a, b, _ = databases
    b.transact('[[:db/add 7 :name "old"]]')
    # Not in the order in which it is kept, and with what holds already.
    e, v = np.array([9, 8, 7, 8]), ["z", "y", "old", "y"]
    a.bulk_load([], {NAME: (e, v), N: (np.array([9, 8]), np.array([1, 2]))})
    b.transact('[[:db/add 7 :name "new"] [:db/add "x" :name "newer"]]')
    caught_up(databases)
    assert all(state(database) == state(databases[0]) for database in databases)
    assert value(databases[2], 9, NAME) == "z"


def test_opened_later_and_opened_again(databases: list[Database], open_one: Opening) -> None:
    for n in range(30):
        databases[n % 3].transact(f'[[:db/add "x" :name "n{n}"]]')
    with open_one() as late:
        caught_up([*databases, late])
        assert state(late) == state(databases[0])
    databases[1].close()
    databases[0].transact("[[:db/add 1 :n 1]]")
    with open_one() as again:
        assert value(again, 1, N) == 1
        databases[1] = again
        caught_up(databases)


def test_without_hints(open_one: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    from adalog.store.log.server import ServerLog
    from adalog.store.log.shared_log import SharedFileLog

    def deaf(_: object) -> None:
        raise OSError("no hints here")

    monkeypatch.setattr(SharedFileLog, "listen", deaf)
    monkeypatch.setattr(ServerLog, "listen", deaf)
    with open_one(follow_seconds=0.05) as a, open_one(follow_seconds=0.05) as b:
        heard = threading.Event()
        b.add_listener(lambda *_: heard.set())
        a.transact("[[:db/add 1 :n 1]]")
        assert heard.wait(20)


def test_principals(databases: list[Database]) -> None:
    a, b, c = databases
    # Each of them might be the first, which declares the attribute.
    writes = [
        one.submit(f"[[:db/add {e} :n {e}]]", principal=who)
        for e, (one, who) in enumerate(((a, "ann"), (b, "bob"), (c, "ann")), 1)
    ]
    for each in writes:
        each.result()
    caught_up(databases)
    for database in databases:
        found = [each.v for each in database.snapshot().datoms("AEVT", [Keyword("db/principal")])]
        assert sorted(found) == ["ann", "ann", "bob"]
        assert (
            sum(
                each.v == Keyword("db/principal")
                for each in database.snapshot().datoms("AEVT", [Keyword("db/ident")])
            )
            == 1
        )
    assert all(state(database) == state(a) for database in databases)
    assert "built in" in refused(b, '[[:db/add "datomic.tx" :db/principal "eve"]]').message
