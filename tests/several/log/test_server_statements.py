"""The statements of a turn on PostgreSQL: what is written is what is read, by plans that go by the indexes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from adalog.datalog.errors import AdalogError
from adalog.store.log import server_statements as statements
from adalog.store.log.entry import LogEntry, UsedKey
from adalog.store.log.server import ServerLog
from tests.postgres_servers import PostgresServer

KEYS = [
    "",
    "plain",
    "it's",
    "\\",
    '"',
    "{a,b}",
    "NULL",
    "null",
    "%s %d",
    "; COMMIT --",
    "ä 🐘",
    "\n\t",
    "$1",
    " E'\\'' ",
]


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.fixture
def log(address: str) -> Iterator[ServerLog]:
    made = ServerLog(address)
    yield made
    made.close()


def append(log: ServerLog, entries: list[LogEntry]) -> None:
    with log.turn() as turn:
        turn.append(entries)


@pytest.mark.parametrize("most", [64_000_000, 300, 1])
def test_what_is_written_is_read(log: ServerLog, address: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one array or several; empty payloads, all bytes, and the largest integers."""
    monkeypatch.setattr(statements, "_ARRAY_BYTES", most)
    payloads = [b"", bytes(range(256)), b"\\x00", b"'{}',NULL\"", b"\0" * 700, b"x", bytes(range(256)) * 40]
    entries = [
        LogEntry(t, (1 << 62) + t if t % 2 else -t, None, payload) for t, payload in enumerate(payloads, start=1)
    ]
    append(log, entries[:3])
    append(log, entries[3:])
    other = ServerLog(address)
    with other.turn() as turn:
        missed = turn.missed
    assert [replace(entry, seal=None) for entry in missed] == entries
    assert all(entry.seal is not None and len(entry.seal) == 17 for entry in missed)
    assert (other.t, other.checksum) == (log.t, log.checksum)
    assert list(other.replay(0, 0)) == missed
    other.close()


def test_keys_are_found_as_they_were_used(log: ServerLog) -> None:
    digests = [None if number % 3 == 0 else f"{key}\\'\"{{}}" for number, key in enumerate(KEYS)]
    used = [UsedKey(key, digest) for key, digest in zip(KEYS, digests, strict=True)]
    append(log, [LogEntry(t, t, None, b"x", each) for t, each in enumerate(used, start=1)])
    with log.turn([*KEYS, "none of them"]) as turn:
        found = {key: turn.use_of(key, 0) for key in [*KEYS, "none of them"]}
    assert found == {**{each.key: (t, each) for t, each in enumerate(used, start=1)}, "none of them": None}
    # One that is used again is the later transaction's.
    append(log, [LogEntry(log.t + 1, 1, None, b"x", UsedKey("it's", None))])
    with log.turn(["it's"]) as turn:
        assert turn.use_of("it's", 0) == (log.t, UsedKey("it's", None))


def test_plans_go_by_indexes_whatever_is_known_of_the_tables(
    log: ServerLog, address: str, postgres: PostgresServer
) -> None:
    append(log, [LogEntry(1, 1, None, b"x", UsedKey("k", None))])
    # Figures of a table of few rows that turned large.
    postgres.ask_at(address, "ALTER TABLE transactions SET (autovacuum_enabled = off)")
    postgres.ask_at(
        address,
        "INSERT INTO transactions (t, instant, payload, checksum) "
        "SELECT t, 1, 'x', 1 FROM generate_series(2, 3000) AS t",
    )
    for analyze in ("SELECT 1", "ANALYZE transactions, idempotency_keys"):
        postgres.ask_at(address, analyze)
        assert log._writing is not None
        for run in (
            "adalog_known(1)",
            "adalog_missed(2999)",
            "adalog_uses(ARRAY['k','l'], 0, 0)",
            "adalog_version",
        ):
            plan = "\n".join(line for (line,) in log._writing.execute(f"EXPLAIN EXECUTE {run}", prepare=False))
            assert "Index" in plan, plan
            assert "Seq Scan" not in plan, plan
            assert "Sort" not in plan, plan


def test_statements_live_on_when_tables_change(log: ServerLog, address: str, postgres: PostgresServer) -> None:
    """As a later version, an operator, or the server itself may change them while a gateway runs."""
    changes = [
        "ALTER TABLE transactions ADD COLUMN later TEXT",
        "ALTER TABLE idempotency_keys ADD COLUMN later TEXT DEFAULT 'x'",
        "VACUUM FULL transactions",
        "REINDEX TABLE transactions",
        "ANALYZE",
        """ALTER TABLE transactions RENAME TO old_one; CREATE TABLE transactions (LIKE old_one INCLUDING ALL);
        INSERT INTO transactions SELECT * FROM old_one; DROP TABLE old_one""",
    ]
    append(log, [LogEntry(1, 1, None, b"x", UsedKey("k", None))])
    session = log._writing
    for t, change in enumerate(changes, start=2):
        postgres.ask_at(address, change)
        append(log, [LogEntry(t, t, None, b"x", UsedKey(f"k{t}", None))])
    assert log._writing is session
    held = postgres.ask_at(address, "SELECT t FROM transactions ORDER BY t")
    assert [t for (t,) in held] == list(range(1, len(changes) + 2))
    # The turn is that of the table that there is now.
    (oid,) = postgres.ask_at(address, "SELECT 'transactions'::regclass::oid::bigint::bit(32)::int")[0]
    with log.turn():
        locks = postgres.ask_at(
            address, "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted"
        )
        assert (oid,) in locks


@pytest.mark.parametrize("change", ["DEALLOCATE ALL", "ALTER TABLE transactions ALTER instant TYPE numeric"])
def test_statements_that_do_not_hold_any_more_are_prepared_anew(log: ServerLog, change: str) -> None:
    append(log, [LogEntry(1, 1, None, b"x")])
    session = log._writing
    assert session is not None
    session.execute(change.encode())
    append(log, [LogEntry(2, 2, None, b"x", UsedKey("k", None))])
    assert log._writing is not session
    assert session.closed
    assert log.failures == {"not_applied": 0, "unknown": 0}
    assert [entry.t for entry, _ in log._checked(0, 9, 0)] == [1, 2]


def test_a_connection_that_could_not_prepare_is_not_kept(
    log: ServerLog, address: str, postgres: PostgresServer
) -> None:
    postgres.ask_at(address, "ALTER TABLE idempotency_keys RENAME TO away")
    with pytest.raises(AdalogError, match="nothing was applied"), log.turn():
        pass
    postgres.ask_at(address, "ALTER TABLE away RENAME TO idempotency_keys")
    append(log, [LogEntry(1, 1, None, b"x", UsedKey("k", None))])
    assert log.t == 1


def test_the_first_statement_that_failed_is_raised(log: ServerLog) -> None:
    append(log, [LogEntry(1, 1, None, b"x")])
    assert log._writing is not None
    with pytest.raises(psycopg.errors.DivisionByZero):
        statements.results(log._writing, b"SELECT 1; SELECT 1 / 0; SELECT no_such_column")
    assert [each.ntuples for each in statements.results(log._writing, b"SELECT 1; SELECT 2 WHERE false")] == [1, 0]
