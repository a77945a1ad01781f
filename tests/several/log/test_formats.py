"""A log that several share, of an earlier format or brought up to a later one while somebody has it open."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.backup.check import check_data
from adalog.store.database import Database
from adalog.store.files.formats import LOG, RELEASE, NewerFormat
from adalog.store.files.place import LocalPlace
from adalog.store.log.entry import LogEntry, chained, is_replaced
from adalog.store.sources import read_folder
from tests.postgres_servers import PostgresServer
from tests.several.log.logs import caught_up, server_opening, together
from tests.store.backup.support import back_up, held_in
from tests.waiting import until

LATER = f"INSERT INTO schema_version (version, adalog) VALUES ({LOG.newest + 1}, '0.9.1')"


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.fixture
def earlier(postgres: PostgresServer, address: str) -> str:
    """A database whose tables are those of format 1."""
    with Database.open(address) as database:
        database.transact("[[:db/add 1 :n 1] [:db/add 2 :n 12345]]", idempotency_key="k")
    make_earlier(postgres, address)
    without_seals(postgres, address)
    return address


def without_seals(server: PostgresServer, address: str) -> None:
    """Has the entries be as versions before format 3 wrote them."""
    with psycopg.connect(address) as connection:
        checksum, rows = 0, connection.execute("SELECT t, instant, payload FROM transactions ORDER BY t").fetchall()
        for t, instant, payload in rows:
            checksum = chained(checksum, LogEntry(t, instant, None, payload))
            connection.execute("UPDATE transactions SET checksum = %s WHERE t = %s", (checksum, t))
    server.ask_at(address, "ALTER TABLE transactions DROP COLUMN seal")


def make_earlier(server: PostgresServer, address: str) -> None:
    server.ask_at(address, "DELETE FROM schema_version")
    server.ask_at(address, "ALTER TABLE schema_version DROP COLUMN adalog")
    server.ask_at(address, "INSERT INTO schema_version VALUES (1)")


def test_an_earlier_server_is_read_checked_and_backed_up_as_it_is(
    postgres: PostgresServer, earlier: str, tmp_path: Path
) -> None:
    assert read_folder(earlier).t == 1
    assert check_data(earlier, deep=True).findings == []
    assert back_up(earlier, LocalPlace(tmp_path / "out")).t == 1
    assert postgres.ask_at(earlier, "SELECT * FROM schema_version") == [(1,)]


def test_payloads_are_replaced_while_gateways_write(address: str) -> None:
    with together(server_opening(address), 2) as opened:
        first, second = opened
        first.transact("[[:db/add 1 :n 1] [:db/add 2 :n 12345]]")
        checksum = first.log.checksum_at(1)
        first.transact("[{:db/excise 2}]")
        assert second.transact("[[:db/add 1 :n 2]]").t == 3
        assert first.transact("[[:db/add 1 :n 3]]").t == 4
        caught_up(opened)
    with Database.open(address) as database:
        assert database.log.checksum_at(1) == checksum
        assert [is_replaced(entry) for entry in database.log.entries(1, 9, 9)] == [True, False, False, False]
    assert check_data(address, deep=True).findings == []


def test_payloads_of_an_earlier_version_are_replaced(earlier: str) -> None:
    with Database.open(earlier) as database:
        database.transact("[[:db/add 1 :n 2]]")
        database.transact("[{:db/excise 2}]")
        assert [is_replaced(entry) for entry in database.log.entries(1, 9, 9)] == [True, False, False]
    assert check_data(earlier, deep=True).findings == []


def test_a_server_without_a_database_stays_so(postgres: PostgresServer, address: str) -> None:
    with pytest.raises(AdalogError, match="there is no database to read") as refused:
        read_folder(address)
    assert refused.value.code is Code.BACKEND_UNAVAILABLE
    assert "s3cret" not in refused.value.message
    assert postgres.ask_at(address, "SELECT to_regclass('transactions')") == [(None,)]


def test_an_earlier_server_is_brought_up_to_date_by_the_first_who_serves(
    postgres: PostgresServer, earlier: str
) -> None:
    with together(server_opening(earlier), 2) as opened:
        first, second = opened
        assert postgres.ask_at(earlier, "SELECT * FROM schema_version ORDER BY 1") == [
            (1, None),
            (LOG.newest, RELEASE),
        ]
        assert first.transact("[[:db/add 1 :n 1] [:db/add 2 :n 12345]]", idempotency_key="k").t == 1
        assert second.transact("[[:db/add 1 :n 2]]").t == 2
        caught_up(opened)


def test_it_happens_once_between_two_turns_of_an_earlier_gateway(postgres: PostgresServer, address: str) -> None:
    """One that runs and does not look at the format goes on."""
    with Database.open(address) as running:
        running.transact("[[:db/add 1 :n 0]]")
        make_earlier(postgres, address)
        opened: list[Database] = []
        threads = [threading.Thread(target=lambda: opened.append(Database.open(address))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(20):
            running.transact(f"[[:db/add 1 :n {number + 1}]]")
        for thread in threads:
            thread.join()
        caught_up([running, *opened])
        assert [held_in(each)[0] for each in opened] == [21] * 4
        for each in opened:
            each.close()
    assert postgres.ask_at(address, "SELECT version FROM schema_version ORDER BY 1") == [(1,), (LOG.newest,)]


def test_a_later_server_is_refused_and_left(postgres: PostgresServer, address: str, tmp_path: Path) -> None:
    Database.open(address).close()
    postgres.ask_at(address, LATER)
    tables = (
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2"
    )
    before = postgres.ask_at(address, tables)
    acts: list[Callable[[], object]] = [
        lambda: Database.open(address),
        lambda: read_folder(address),
        lambda: check_data(address),
        lambda: back_up(address, LocalPlace(tmp_path / "out")),
    ]
    for act in acts:
        with pytest.raises(
            NewerFormat, match=rf"the log is of format {LOG.newest + 1}, made by adalog 0\.9\.1"
        ) as refused:
            act()
        assert "Use adalog 0.9.1 or a later one" in refused.value.message
    assert postgres.ask_at(address, tables) == before
    assert not (tmp_path / "out").exists()


def raised(server: PostgresServer, address: str) -> None:
    server.ask_at(address, LATER)


def test_a_gateway_notices_at_its_next_turn(postgres: PostgresServer, address: str) -> None:
    with together(server_opening(address), 2) as opened:
        first, second = opened
        first.transact("[[:db/add 1 :n 1]]")
        caught_up(opened)
        raised(postgres, address)
        check_only_reads(first)
        check_only_reads(second)
        # Whoever went back has it write again.
        postgres.ask_at(address, f"DELETE FROM schema_version WHERE version = {LOG.newest + 1}")
        assert first.transact("[[:db/add 1 :n 2]]").t == 2
        until(lambda: second.writer.away is None)


def test_a_process_that_shares_a_folder_notices_at_its_next_turn(tmp_path: Path) -> None:
    with Database.open(str(tmp_path), shared=True, follow_seconds=0.05) as database:
        database.transact("[[:db/add 1 :n 1]]")
        with closing(sqlite3.connect(tmp_path / "log.sqlite")) as connection:
            connection.execute(LATER)
            connection.execute(f"PRAGMA user_version = {LOG.newest + 1}")
            connection.commit()
        check_only_reads(database)


def check_only_reads(database: Database) -> None:
    with pytest.raises(AdalogError, match=f"nothing was applied: the log is of format {LOG.newest + 1}") as refused:
        database.transact("[[:db/add 1 :n 2]]")
    assert (refused.value.code, refused.value.retryable) == (Code.READ_ONLY, True)
    assert "made by adalog 0.9.1" in refused.value.message
    until(lambda: database.writer.away is not None)
    assert database.snapshot().t == 1
    assert database.writer.doubt is None
