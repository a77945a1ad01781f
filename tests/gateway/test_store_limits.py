"""What outsiders can make the store keep, over HTTP: nothing of what is refused, and of keys only so many."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from adalog.executor.pool import Pool
from adalog.gateway.opening import open_database
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError
from adalog.gateway.settings.sources import settings_from
from adalog.store.database import Database
from adalog.store.log import log
from adalog.store.log import reader as log_reading
from tests.gateway.support import Gateway

TRANSACT = "mutation($tx: EDN!, $k: String) { transact(tx: $tx, idempotencyKey: $k) { t datoms { v } } }"
WITH = 'query($tx: EDN!) { q(query: "[:find ?v . :where [1 :text ?v]]", with: $tx) { value } }'
ASK = "query($q: EDN!, $args: [JSON!]) { q(query: $q, args: $args) { rows } }"


def held(database: Database) -> tuple[int, int]:
    """Keys of all dictionaries, and their bytes."""
    dictionaries = database.snapshot().codes.dictionaries().values()
    parts = [dictionary.parts() for dictionary in dictionaries]
    heaps = sum(len(block.arrays.heap) for blocks, _ in parts for block in blocks)
    return sum(map(len, dictionaries)), heaps + sum(len(key) for _, young in parts for key in young)


def test_refused_transactions_and_queries_leave_nothing(empty: Gateway) -> None:
    empty.data(TRANSACT, tx='[[:db/add 1 :text "a"] [:db/add 1 :n 1]]')
    before = held(empty.database)
    for number in range(20):
        text = f"{number} " + "x" * 50_000
        assert empty.code(TRANSACT, tx=f'[[:db/add 1 :text "{text}"] [:db/add 1 :n "one"]]') == "TX_INVALID"
        assert empty.code(TRANSACT, tx=f'[[:db/cas 1 :text "{text}" "b"]]') == "CAS_FAILED"
        assert empty.data(WITH, tx=f'[[:db/add 1 :text "{text}"]]')["q"]["value"] == text
        assert empty.data(ASK, q=f'[:find ?e :where [?e :text "{text}"]]')["q"]["rows"] == []
        (row,) = empty.data(ASK, q="[:find ?s :in ?t :where [(str ?t ?t) ?s]]", args=[text])["q"]["rows"]
        assert row == [text + text]
    assert held(empty.database) == before
    assert empty.data(TRANSACT, tx='[[:db/retract 1 :text "never there"]]')["transact"]["t"] == 2
    assert held(empty.database) == before


def test_a_key_is_used_for_one_change(empty: Gateway) -> None:
    first = empty.data(TRANSACT, tx="[[:db/add 1 :n 1]]", k="key")
    assert empty.data(TRANSACT, tx="[[:db/add 1 :n 1]]", k="key") == first
    error = empty.error(TRANSACT, tx="[[:db/add 1 :n 2]]", k="key")
    assert error["extensions"]["code"] == "ARG_INVALID"
    assert error["extensions"]["retryable"] is False
    assert "was used for transaction 1, with other data, and this was not applied" in error["message"]
    long = empty.error(TRANSACT, tx="[[:db/add 1 :n 2]]", k="k" * 100_000)
    assert long["extensions"]["code"] == "ARG_INVALID"
    assert "has 100,000 characters; it has at most 256" in long["message"]
    assert empty.q("[:find ?n :where [1 :n ?n]]") == [[1]]


def test_keys_are_remembered_as_the_setting_says(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000_000_000_000
    for module in (log, log_reading):
        monkeypatch.setattr(module, "now_ms", lambda: now)
    with open_database(settings_from({"ADALOG_DATA": ":memory:", "ADALOG_IDEMPOTENCY_SECONDS": "7"})) as database:
        assert database.transact("[[:db/add 1 :n 1]]", idempotency_key="k").t == 1
        now += 7_000
        assert database.transact("[[:db/add 1 :n 1]]", idempotency_key="k").t == 1
        now += 1
        assert database.transact("[[:db/add 1 :n 2]]", idempotency_key="k").t == 2


def test_keys_are_remembered_for_a_while_at_least() -> None:
    with pytest.raises(SettingError, match="ADALOG_IDEMPOTENCY_SECONDS is 0; it is at least 1"):
        checked(settings_from({"ADALOG_IDEMPOTENCY_SECONDS": "0"}))


def test_attributes_are_as_many_as_the_settings_say(tmp_path: Path) -> None:
    settings = settings_from({"ADALOG_DATA": str(tmp_path / "data"), "ADALOG_ATTRIBUTES": "3"})
    with open_database(settings) as database, closing(Pool(database)) as pool:
        gateway = Gateway(database, pool, settings)
        gateway.data(TRANSACT, tx="[{:db/id 1 :n 1 :text 2 :other 3}]")
        for error in (
            gateway.error(TRANSACT, tx="[{:db/id 1 :n 2}\n {:db/id 2 :fourth 4}]"),
            gateway.error(WITH, tx="[{:db/id 1 :n 2}\n {:db/id 2 :fourth 4}]"),
        ):
            assert error["extensions"]["code"] == "LIMIT_EXCEEDED"
            assert error["extensions"]["retryable"] is False
            assert ":fourth is one attribute too many: there are 3" in error["message"]
            assert "ADALOG_ATTRIBUTES" in error["message"]
        assert database.snapshot().t == 1
        gateway.http.close()
    with pytest.raises(SettingError, match="ADALOG_ATTRIBUTES is 0; it is at least 1"):
        checked(settings_from({"ADALOG_ATTRIBUTES": "0"}))
