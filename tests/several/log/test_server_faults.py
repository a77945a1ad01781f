"""PostgreSQL away, its connections cut at each step of a transaction: what is answered is true, nothing is lost or
applied twice, and nothing has to be done when it is well again."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.executor.pool import Pool
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from adalog.store.log import server, server_statements, tables
from adalog.store.log.server import ServerLog
from adalog.store.log.server_connection import BoundedConnection
from adalog.store.values.datom import TxReport
from adalog.store.writer import in_doubt, log_follower
from tests.gateway.support import Gateway
from tests.postgres_servers import PostgresServer, running
from tests.several.log.logs import caught_up, server_opening, state, together
from tests.waiting import until

N = Keyword("n")


@pytest.fixture(scope="module")
def victim() -> Iterator[PostgresServer]:
    """A server that may be killed."""
    with running() as made:
        yield made


@pytest.fixture
def address(victim: PostgresServer) -> str:
    return victim.new_database()


@pytest.fixture
def databases(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Database]]:
    monkeypatch.setattr(in_doubt, "_REST", 0.05)
    monkeypatch.setattr(log_follower, "_PAUSE", (0.01, 0.1))
    with together(server_opening(address), 2) as opened:
        opened[0].transact("[[:db/add 1 :n 0]]")
        caught_up(opened)
        yield opened


def log_of(database: Database) -> ServerLog:
    assert isinstance(database.log, ServerLog)
    return database.log


def increment(database: Database, **more: Any) -> Future[TxReport]:
    return database.submit("[[:db.fn/inc 1 :n]]", **more)


def numbers(databases: list[Database]) -> list[Any]:
    caught_up(databases)
    return [next(iter(each.snapshot().datoms("EAVT", [1, N]))).v for each in databases]


def end_sessions(server_: PostgresServer, address: str) -> None:
    """Ends all sessions on the database of an address but the own one."""
    server_.ask_at(
        address,
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


Step = Callable[[], None]


def before_the_turn(log: ServerLog, monkeypatch: pytest.MonkeyPatch, fail: Step) -> None:
    begin = log._begin

    def failing(keys: Any) -> Any:
        monkeypatch.undo()
        fail()
        return begin(keys)

    monkeypatch.setattr(log, "_begin", failing)


def in_the_turn(log: ServerLog, monkeypatch: pytest.MonkeyPatch, fail: Step) -> None:
    commit = log._commit

    def failing(connection: Any, entries: Any) -> None:
        monkeypatch.undo()
        fail()
        commit(connection, entries)

    monkeypatch.setattr(log, "_commit", failing)


def after_the_commit(log: ServerLog, monkeypatch: pytest.MonkeyPatch, fail: Step) -> None:
    results = server_statements.results

    def failing(connection: BoundedConnection, message: bytes) -> Any:
        found = results(connection, message)
        if found[-1].command_status != b"COMMIT":
            return found
        # The server has done it, and its answer is lost.
        monkeypatch.undo()
        fail()
        connection.close()
        raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(server, "results", failing)


STEPS = [before_the_turn, in_the_turn, after_the_commit]


@pytest.mark.parametrize("step", STEPS)
def test_sessions_are_ended(step: Any, victim: PostgresServer, address: str, databases: list[Database]) -> None:
    a, b = databases
    with pytest.MonkeyPatch.context() as patched:
        step(log_of(a), patched, lambda: end_sessions(victim, address))
        report = increment(a).result(30)
    assert report.t == 2
    assert increment(b).result(30).t == 3
    assert numbers(databases) == [2, 2]
    # They listen again.
    until(lambda: all(each._following is not None and each._following._hint is not None for each in databases))


@pytest.mark.parametrize("step", STEPS)
def test_others_write_while_one_is_in_doubt(
    step: Any, victim: PostgresServer, address: str, databases: list[Database]
) -> None:
    a, b = databases

    def fail() -> None:
        if step is in_the_turn:
            # Whoever ends the session of the turn gives it to the next one.
            end_sessions(victim, address)
        assert increment(b).result(30).t == (3 if step is after_the_commit else 2)

    with pytest.MonkeyPatch.context() as patched:
        step(log_of(a), patched, fail)
        report = increment(a).result(30)
    assert report.t == (2 if step is after_the_commit else 3)
    assert numbers(databases) == [2, 2]
    assert state(a) == state(b)


@pytest.mark.parametrize("step", STEPS)
def test_the_server_crashes_and_is_started_again(
    step: Any, victim: PostgresServer, databases: list[Database]
) -> None:
    a, b = databases

    def fail() -> None:
        victim.stop(signal.SIGQUIT)
        victim.start()

    with pytest.MonkeyPatch.context() as patched:
        step(log_of(a), patched, fail)
        assert increment(a).result(60).t == 2
    assert increment(b).result(60).t == 3
    assert numbers(databases) == [2, 2]


def test_the_server_is_away(
    victim: PostgresServer, databases: list[Database], caplog: pytest.LogCaptureFixture
) -> None:
    a, b = databases
    victim.stop(signal.SIGQUIT)
    try:
        with pytest.raises(AdalogError) as refused:
            a.transact("[[:db/add 1 :n 7]]")
        assert (refused.value.code, refused.value.retryable) == (Code.BACKEND_UNAVAILABLE, True)
        assert "nothing was applied" in refused.value.message
        assert next(iter(a.snapshot().datoms("EAVT", [1, N]))).v == 0
        until(lambda: a.writer.away is not None and b.writer.away is not None)
        assert a.writer.doubt is None
    finally:
        victim.start()
    until(lambda: a.writer.away is None and b.writer.away is None)
    assert a.transact("[[:db/add 1 :n 1]]").t == 2
    assert numbers(databases) == [1, 1]
    assert "s3cret" not in caplog.text


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives up soon."""
    monkeypatch.setattr(BoundedConnection, "seconds", 0.3)
    monkeypatch.setattr(server, "SILENT_SECONDS", 0.3)
    monkeypatch.setattr(server, "_DEFAULTS", {**server._DEFAULTS, "connect_timeout": "2"})


@pytest.mark.usefixtures("impatient")
def test_a_server_that_hangs(victim: PostgresServer, databases: list[Database]) -> None:
    """It is stopped, and the machine acknowledges all that it is sent: nobody waits for ever."""
    a, b = databases
    victim.freeze()
    try:
        with pytest.raises(AdalogError) as refused:
            a.transact("[[:db/add 1 :n 7]]")
        assert (refused.value.code, refused.value.retryable) == (Code.BACKEND_UNAVAILABLE, True)
        assert "nothing was applied" in refused.value.message
        with pytest.raises(AdalogError) as unread:
            list(a.transactions(1, 2, 2))
        assert unread.value.code is Code.BACKEND_UNAVAILABLE
        # Both look at the log now and then, and hear nothing of it.
        until(lambda: a.writer.away is not None and b.writer.away is not None)
        assert next(iter(a.snapshot().datoms("EAVT", [1, N]))).v == 0
    finally:
        victim.thaw()
    until(lambda: a.writer.away is None and b.writer.away is None)
    assert a.transact("[[:db/add 1 :n 1]]").t == 2
    assert numbers(databases) == [1, 1]


@pytest.mark.usefixtures("impatient")
def test_a_server_that_hangs_while_it_commits(
    victim: PostgresServer, databases: list[Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ServerLog, "settling", 0.2)
    a, b = databases
    with pytest.MonkeyPatch.context() as patched:
        in_the_turn(log_of(a), patched, victim.freeze)
        with pytest.raises(AdalogError) as doubtful:
            increment(a, idempotency_key="once").result(30)
    assert (doubtful.value.code, doubtful.value.retryable) == (Code.BACKEND_UNAVAILABLE, True)
    assert "it is unknown whether" in doubtful.value.message
    assert "silent" in doubtful.value.message
    victim.thaw()
    until(lambda: a.writer.doubt is None)
    assert increment(a, idempotency_key="once").result(30).t == 2
    assert increment(b, idempotency_key="once").result(30).t == 2
    assert numbers(databases) == [1, 1]


@pytest.mark.usefixtures("impatient")
def test_a_server_that_is_slow_with_a_reading_is_waited_for(address: str) -> None:
    with Database.open(address) as database:
        database.transact("[[:db/add 1 :n 1]]")
        with log_of(database).engine.connect() as connection:
            assert connection.exec_driver_sql("SELECT 7 FROM pg_sleep(1)").scalar() == 7


SECRETS = ("127.0.0.1", "port", "ada", "log_", "FATAL", "connection to server", "s3cret")
FIELDS = "{ database { basisT txInstant datomCount entityCount } attributes { ident datomCount } }"


def asked_of(database: Database) -> dict[str, Any]:
    """What a gateway over a database answers, by field, and how it says that it is ready."""
    pool = Pool(database)
    try:
        opened = Gateway(database, pool, Settings(data=":memory:"))
        with opened.app.state.hub:
            found = {
                "fields": opened.post(FIELDS).json(),
                "q": opened.q("[:find ?v . :where [1 :n ?v]]"),
                "pull": opened.post('{ pull(pattern: "[*]", eid: "1") }').json(),
                "datoms": opened.post("{ datoms(index: EAVT) { datoms { e a v } } }").json(),
                "transactions": opened.post("{ transactions { t } }").json(),
                "transact": opened.post('mutation { transact(tx: "[[:db/add 1 :n 7]]") { t } }').json(),
                "ready": opened.http.get("/readyz"),
                "metrics": opened.http.get("/metrics").status_code,
            }
        opened.http.close()
        return found
    finally:
        pool.close()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ["away", "hanging"])
def test_what_a_gateway_answers_from_memory(how: str, victim: PostgresServer, databases: list[Database]) -> None:
    """Everything but what only the log has; and nothing that it says tells where the server is."""
    a, _ = databases
    # An instant that is none of those the log's reader remembers.
    assert a.tx_instant(1) is not None
    if how == "away":
        victim.stop(signal.SIGQUIT)
    else:
        victim.freeze()
    try:
        until(lambda: a.writer.away is not None)
        found = asked_of(a)
    finally:
        if how == "away":
            victim.start()
        else:
            victim.thaw()
    fields = found["fields"]["data"]
    assert fields["database"]["basisT"] == 1
    assert fields["database"]["txInstant"] is not None
    assert fields["database"]["datomCount"] == a.snapshot().datom_count
    assert {each["ident"] for each in fields["attributes"]} >= {":n"}
    assert found["q"] == [[0]]
    assert "errors" not in found["pull"]
    assert "errors" not in found["datoms"]
    for name in ("transactions", "transact"):
        (error,) = found[name]["errors"]
        assert error["extensions"]["code"] == "BACKEND_UNAVAILABLE"
        assert error["extensions"]["retryable"] is True
        assert "the PostgreSQL server" in error["message"]
    assert (found["ready"].status_code, found["metrics"]) == (200, 200)
    assert "the PostgreSQL server" in found["ready"].json()["behind"]
    for text in (*map(str, (found["transactions"], found["transact"])), found["ready"].text):
        assert not [secret for secret in SECRETS if secret in text], text


def test_an_instant_is_that_of_the_log(databases: list[Database]) -> None:
    a, _ = databases
    for number in range(1, 5):
        report = a.transact(f"[[:db/add 1 :n {number}]]")
        assert a.tx_instant(report.t) == report.tx_instant
    assert [a.tx_instant(t) for t in (0, 99)] == [None, None]


def test_in_doubt_for_long(
    victim: PostgresServer, databases: list[Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ServerLog, "settling", 0.2)
    a, b = databases
    with pytest.MonkeyPatch.context() as patched:
        after_the_commit(log_of(a), patched, lambda: victim.stop(signal.SIGQUIT))
        with pytest.raises(AdalogError) as doubtful:
            increment(a, idempotency_key="once").result(30)
    assert (doubtful.value.code, doubtful.value.retryable) == (Code.BACKEND_UNAVAILABLE, True)
    assert "it is unknown whether" in doubtful.value.message
    with pytest.raises(AdalogError) as refused:
        increment(a).result(30)
    assert (refused.value.code, refused.value.retryable) == (Code.READ_ONLY, True)
    victim.start()
    until(lambda: a.writer.doubt is None)
    assert increment(a, idempotency_key="once").result(30).t == 2
    assert increment(b, idempotency_key="once").result(30).t == 2
    assert numbers(databases) == [1, 1]


def test_a_log_that_lost_what_was_read(
    victim: PostgresServer, address: str, databases: list[Database], caplog: pytest.LogCaptureFixture
) -> None:
    """As after a standby was promoted that had not heard of the last commits."""
    a, _ = databases
    assert a.transact("[[:db/add 1 :n 1]]").t == 2
    victim.ask_at(address, "DELETE FROM transactions WHERE t = 2")
    with pytest.raises(AdalogError) as refused:
        a.transact("[[:db/add 1 :n 2]]")
    assert refused.value.code is Code.INTERNAL
    assert "transaction 2, which was read from it, is not there any more" in refused.value.message
    until(lambda: a.writer.doubt is not None)
    assert next(iter(a.snapshot().datoms("EAVT", [1, N]))).v == 1


def test_a_server_that_takes_no_writes(victim: PostgresServer, address: str, databases: list[Database]) -> None:
    a, _ = databases
    name = address.rsplit("/", 1)[1]
    victim.ask("postgres", f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    end_sessions(victim, address)
    with pytest.raises(AdalogError) as refused:
        a.transact("[[:db/add 1 :n 1]]")
    assert (refused.value.code, refused.value.retryable) == (Code.BACKEND_UNAVAILABLE, True)
    assert "read-only" in refused.value.message
    victim.ask("postgres", f"ALTER DATABASE {name} RESET default_transaction_read_only")
    assert a.transact("[[:db/add 1 :n 1]]").t == 2


def test_tables_of_a_later_version(victim: PostgresServer, address: str) -> None:
    Database.open(address).close()
    victim.ask_at(address, "UPDATE schema_version SET version = 99")
    with pytest.raises(AdalogError, match="format 99, made by a later version"):
        Database.open(address)


def test_many_open_at_once(address: str) -> None:
    opened: list[Database] = []
    start = threading.Barrier(4)

    def open_one() -> None:
        start.wait()
        opened.append(Database.open(address))

    threads = [threading.Thread(target=open_one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len({each.log.identity for each in opened}) == 1
    assert len({each.log.secret for each in opened}) == 1
    for each in opened:
        each.close()
    assert len(opened) == 4


def test_the_identity_is_made_with_the_tables(address: str) -> None:
    """Under the same lock: gateways that start together on an empty server have one identity, and so one key."""
    engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(address))
    with engine.begin() as connection:
        tables.prepare_server(connection)
        made = connection.execute(sa.select(tables.identity_table(connection).c.id)).scalars().all()
    engine.dispose()
    assert len(made) == 1
    with Database.open(address) as database:
        assert database.log.identity == made[0]


def test_a_schema_of_its_own(victim: PostgresServer, address: str) -> None:
    victim.ask_at(address, "CREATE SCHEMA two")
    two = f"{address}?options=-csearch_path%3Dtwo"
    with Database.open(address) as first, Database.open(two) as second:
        first.transact("[[:db/add 1 :n 1]]")
        first.transact("[[:db/add 1 :n 2]]")
        assert second.transact("[[:db/add 1 :n 3]]").t == 1
        assert first.log.identity != second.log.identity


def test_a_slow_turn_is_not_taken_for_a_dead_one(
    address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server, "_SIGN_SECONDS", 0.1)
    monkeypatch.setattr(server, "_SESSION", server._SESSION.replace(b"'5s'", b"'600ms'"))
    commit = ServerLog._commit

    def slow(self: ServerLog, connection: Any, entries: Any) -> None:
        time.sleep(1.5)
        commit(self, connection, entries)

    monkeypatch.setattr(ServerLog, "_commit", slow)
    with Database.open(address) as database:
        assert database.transact("[[:db/add 1 :n 1]]").t == 1
        assert database.log.failures == {"not_applied": 0, "unknown": 0}
