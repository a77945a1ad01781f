"""Idempotency keys: the same data once, other data refused, remembered for a while and not for ever."""

from __future__ import annotations

import sqlite3
import zlib
from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.log import log
from adalog.store.log import reader as log_reading
from adalog.store.log.entry import KeyMemory

N = Keyword("n")


def keys_in(folder: Path) -> int:
    connection = sqlite3.connect(folder / "log.sqlite")
    (count,) = connection.execute("SELECT count(*) FROM idempotency_keys").fetchone()
    connection.close()
    return int(count)


def check_refused(database: Database, text: str, key: str) -> None:
    t = database.snapshot().t
    with pytest.raises(
        AdalogError, match=r"was used for transaction \d+, with other data, and this was not"
    ) as refused:
        database.transact(text, idempotency_key=key)
    assert refused.value.code is Code.ARG_INVALID
    assert not refused.value.retryable
    assert database.snapshot().t == t


def test_other_data_with_the_same_key_is_refused(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        first = database.transact("[[:db/add 1 :n 1]]", idempotency_key="k")
        check_refused(database, "[[:db/add 1 :n 2]]", "k")
        assert database.transact("[[:db/add 1 :n 1]]", idempotency_key="k") == first
    with Database.open(str(tmp_path)) as database:
        check_refused(database, "[[:db/add 1 :n 2]]", "k")
        assert database.transact("[[:db/add 1 :n 1]]", idempotency_key="k") == first


def test_other_data_within_one_group_is_refused() -> None:
    with Database.open(":memory:") as database:
        futures = [database.submit(f"[[:db/add 1 :n {n % 2}]]", idempotency_key="k") for n in range(50)]
        for place, future in enumerate(futures):
            error = future.exception()
            if place % 2:
                assert isinstance(error, AdalogError)
                assert error.code is Code.ARG_INVALID
            else:
                assert future.result().t == 1


def test_forms_are_the_same_data_whatever_the_order_of_their_sets(tmp_path: Path) -> None:
    declared = {Keyword("db/ident"): Keyword("tags"), Keyword("db/cardinality"): Keyword("db.cardinality/many")}
    forms = [{**declared, Keyword("db/valueType"): Keyword("db.type/string")}]
    with Database.open(str(tmp_path)) as database:
        database.transact(forms)
        tags = [f"tag {number}" for number in range(20)]
        first = database.transact([{Keyword("db/id"): 1, Keyword("tags"): set(tags)}], idempotency_key="k")
        again = database.transact([{Keyword("tags"): {*reversed(tags)}, Keyword("db/id"): 1}], idempotency_key="k")
        assert again == first
        with pytest.raises(AdalogError, match="with other data"):
            database.transact([{Keyword("db/id"): 1, Keyword("tags"): set(tags[1:])}], idempotency_key="k")


@pytest.mark.parametrize(
    ("key", "message"),
    [("k" * 257, "has 257 characters; it has at most 256"), ("k\ud800", "half a surrogate pair")],
)
def test_a_key_that_cannot_be_kept_is_refused(key: str, message: str) -> None:
    with Database.open(":memory:") as database:
        with pytest.raises(AdalogError, match=message) as refused:
            database.transact("[[:db/add 1 :n 1]]", idempotency_key=key)
        assert refused.value.code is Code.ARG_INVALID
        assert database.snapshot().t == 0
        assert database.transact("[[:db/add 1 :n 1]]", idempotency_key="é" * 256).t == 1


def test_a_key_is_forgotten_after_some_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000_000_000_000
    for module in (log, log_reading):
        monkeypatch.setattr(module, "now_ms", lambda: now)
    memory = KeyMemory(seconds=60)
    with Database.open(str(tmp_path), keys=memory) as database:
        database.transact("[[:db/add 1 :n 1]]", idempotency_key="k")
        database.transact("[[:db/add 1 :n 1]]", idempotency_key="other")
        now += 60_000
        assert database.transact("[[:db/add 1 :n 1]]", idempotency_key="k").t == 1
        now += 1
        assert database.transact("[[:db/add 1 :n 2]]", idempotency_key="k").t == 3
        assert keys_in(tmp_path) == 1
    now += 60_001
    with Database.open(str(tmp_path), keys=memory) as database:
        assert database.transact("[[:db/add 1 :n 3]]", idempotency_key="k").t == 4
        assert database.transact("[[:db/add 1 :n 4]]", idempotency_key="new").t == 5
        assert keys_in(tmp_path) == 2


def test_the_keys_of_so_many_last_transactions_are_remembered(tmp_path: Path) -> None:
    with Database.open(str(tmp_path), keys=KeyMemory(transactions=10)) as database:
        for t in range(1, 41):
            assert database.transact(f"[[:db/add 1 :n {t}]]", idempotency_key=f"k{t}").t == t
        assert keys_in(tmp_path) == 10
        check_refused(database, "[]", "k31")
        assert database.transact("[[:db/add 1 :n 0]]", idempotency_key="k30").t == 41
    with Database.open(str(tmp_path), keys=KeyMemory(transactions=5)) as database:
        assert database.transact("[[:db/add 1 :n 0]]", idempotency_key="k36").t == 42
        assert keys_in(tmp_path) == 5
        assert [datom.v for datom in database.snapshot().datoms("AEVT", [N])] == [0]


def test_a_log_of_a_version_that_kept_keys_for_ever(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        reports = [database.transact(f"[[:db/add 1 :n {t}]]") for t in (1, 2, 3)]
    connection = sqlite3.connect(tmp_path / "log.sqlite")
    connection.execute("DROP TABLE idempotency_keys")
    # Nor did it number its format.
    connection.execute("DROP VIEW identity")
    connection.execute("ALTER TABLE log_identity RENAME TO identity")
    connection.execute("DROP TABLE schema_version")
    connection.execute("PRAGMA user_version = 0")
    connection.execute("ALTER TABLE transactions DROP COLUMN seal")
    checksum = 0
    for t, instant, payload in connection.execute(
        "SELECT t, instant, payload FROM transactions ORDER BY t"
    ).fetchall():
        checksum = zlib.crc32(payload, zlib.crc32(f"{t} {instant} 'key {t}' ".encode(), checksum))
        row = (f"key {t}", checksum, t)
        connection.execute("UPDATE transactions SET idempotency_key = ?, checksum = ? WHERE t = ?", row)
    connection.commit()
    connection.close()
    for _ in range(2):
        with Database.open(str(tmp_path)) as database:
            assert database.transact("[[:db/add 1 :n 2]]", idempotency_key="key 2") == reports[1]
            # What was sent with it then is not known.
            assert database.transact("[[:db/add 1 :n 7]]", idempotency_key="key 3") == reports[2]
            assert database.snapshot().t == 3
    with Database.open(str(tmp_path), keys=KeyMemory(transactions=1)) as database:
        assert database.transact("[[:db/add 1 :n 7]]", idempotency_key="key 2").t == 4
