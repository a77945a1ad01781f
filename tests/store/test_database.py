"""Transactions from many sides at once, conditions on them, listeners, and the moments of a database."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import TX_BASE
from adalog.store.values.datom import TxReport
from tests.store.model import Model, check

N = Keyword("n")


def test_many_threads_are_serialized(tmp_path: Path) -> None:
    reports: list[TxReport] = []
    with Database.open(str(tmp_path)) as database:
        database.transact("[[:db/add 1 :counter 0]]")

        def count() -> None:
            for _ in range(8):
                while True:
                    snapshot = database.snapshot()
                    counter = snapshot.attribute(Keyword("counter"))
                    assert counter is not None
                    (now,) = snapshot.ev(counter).row(1).tolist()
                    future = database.submit(f"[[:db/cas 1 :counter {now} {now + 1}]]")
                    refusal = future.exception()
                    if refusal is None:
                        reports.append(future.result())
                        break
                    assert isinstance(refusal, AdalogError)
                    assert refusal.code is Code.CAS_FAILED

        threads = [threading.Thread(target=count) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        snapshot = database.snapshot()
        assert snapshot.t == 8 * 8 + 1
        assert sorted(report.t for report in reports) == list(range(2, snapshot.t + 1))
        assert [datom.v for datom in snapshot.datoms("EAVT", (1,))] == [8 * 8]


def test_expected_basis() -> None:
    with Database.open(":memory:") as database:
        database.transact("[[:db/add 1 :n 1]]", expected_basis_t=0)
        with pytest.raises(AdalogError, match="at t = 1, not at 0") as refused:
            database.transact("[[:db/add 1 :n 2]]", expected_basis_t=0)
        assert refused.value.code is Code.BASIS_CONFLICT
        assert refused.value.retryable
        assert database.snapshot().t == 1


def test_an_idempotency_key_is_applied_once(tmp_path: Path) -> None:
    text = '[[:db/add "a" :n 1]]'
    with Database.open(str(tmp_path)) as database:
        futures = [database.submit(text, idempotency_key="k") for _ in range(20)]
        reports = [future.result() for future in futures]
        assert {report.t for report in reports} == {1}
        assert {report.tempids["a"] for report in reports} == {1}
        assert database.transact(text, idempotency_key="other").t == 2
    with Database.open(str(tmp_path)) as database:
        again = database.transact(text, idempotency_key="k")
        assert again == reports[0]
        assert database.snapshot().t == 2


@pytest.mark.parametrize("key", ["", " "])
def test_an_empty_idempotency_key_is_refused(key: str) -> None:
    with Database.open(":memory:") as database:
        with pytest.raises(AdalogError, match="is empty; give each transaction one of its own") as raised:
            database.transact('[[:db/add "a" :n 1]]', idempotency_key=key)
        assert raised.value.code is Code.ARG_INVALID
        assert database.snapshot().t == 0


def test_a_moment_may_be_given_as_the_transaction_that_a_pattern_shows() -> None:
    with Database.open(":memory:") as database:
        for n in (1, 2, 3):
            database.transact(f"[{{:db/id 1 :n {n}}}]")
        assert database.at(t=TX_BASE + 2) is database.at(t=2)
        assert database.at(as_of=TX_BASE + 2, since=TX_BASE + 1) is database.at(t=2, since=1)
        with pytest.raises(AdalogError, match="t = 4 is not reached yet"):
            database.at(t=TX_BASE + 4)


def test_a_refused_transaction_does_not_use_up_its_key() -> None:
    with Database.open(":memory:") as database:
        with pytest.raises(AdalogError):
            database.transact("[[:db/add 1 :n nil]]", idempotency_key="k")
        assert database.transact("[[:db/add 1 :n 1]]", idempotency_key="k").t == 1


def test_a_closed_database() -> None:
    database = Database.open(":memory:")
    future = database.submit("[[:db/add 1 :n 1]]")
    snapshot = database.snapshot()
    database.close()
    assert future.result().t == 1
    with pytest.raises(AdalogError, match="closed"):
        database.transact("[]")
    assert snapshot.codes is not None
    database.close()


def test_listeners_hear_every_transaction_in_order(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[tuple[int, int]] = []

    def listen(report: TxReport, snapshot: Snapshot) -> None:
        heard.append((report.t, len(list(snapshot.as_of(report.t).datoms("AEVT", (N,))))))

    def fail(report: TxReport, snapshot: Snapshot) -> None:
        raise RuntimeError("a listener's own trouble")

    with Database.open(":memory:") as database:
        database.add_listener(fail)
        database.add_listener(listen)
        futures = [database.submit(f'[[:db/add "new" :n {i}]]') for i in range(50)]
        with caplog.at_level(logging.CRITICAL):
            for future in futures:
                future.result()
            database.remove_listener(listen)
            database.transact("[[:db/add 1 :n 7]]")
    assert heard == [(t, t) for t in range(1, 51)]


def test_python_data_and_edn_text_mean_the_same() -> None:
    add, name, tags = Keyword("db/add"), Keyword("name"), Keyword("tags")
    declared = (
        "[{:db/ident :tags :db/valueType :db.type/string :db/cardinality :db.cardinality/many}"
        " {:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}]"
    )
    found = []
    data = [[add, 1, name, "Ada"], {name: "Bo", tags: ["x", "y"]}]
    for given in (data, '[[:db/add 1 :name "Ada"] {:name "Bo" :tags ["x" "y"]}]'):
        with Database.open(":memory:") as database:
            database.transact(declared)
            found.append([datom[:3] for datom in database.transact(given).datoms[1:]])
    assert found[0] == found[1]


def test_moments() -> None:
    with Database.open(":memory:") as database:
        reports = []
        model = Model()
        for i in range(4):
            instant = (datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=i)).isoformat()
            reports.append(
                database.transact(f'[[:db/add "datomic.tx" :db/txInstant #inst "{instant}"] [:db/add 1 :n {i}]]')
            )
            model.told(reports[-1])

        def n(snapshot: Snapshot) -> list[int]:
            return [datom.v for datom in snapshot.datoms("EAVT", (1,))]

        assert n(database.at(t=2)) == [1]
        assert n(database.at(t=0)) == []
        assert n(database.at(as_of=datetime(2020, 1, 2, 12, tzinfo=UTC))) == [1]
        assert database.at(as_of=datetime(2019, 1, 1, tzinfo=UTC)).t == 0
        assert database.at(as_of=datetime(2020, 1, 4, tzinfo=UTC)).t == 4
        assert n(database.at(since=3)) == [3]
        assert n(database.at(since=4)) == []
        assert n(database.at(t=3, history=True)) == [0, 0, 1, 1, 2]
        assert database.at(t=4) is database.snapshot()
        assert database.at(t=2) is database.at(t=2)
        for snapshot in (database.at(t=2), database.at(since=1), database.at(since=1, t=3, history=True)):
            check(snapshot, model)
        with pytest.raises(AdalogError) as refused:
            database.at(t=5)
        assert refused.value.code is Code.BASIS_FUTURE
        with pytest.raises(AdalogError, match="not both"):
            database.at(t=1, as_of=1)
        with pytest.raises(AdalogError, match="numbered from 1"):
            database.at(since=-1)


def test_the_schema_of_a_moment() -> None:
    with Database.open(":memory:") as database:
        database.transact("[[:db/add 1 :old 1]]")
        e = database.snapshot().entid(Keyword("old"))
        database.transact(f"[[:db/add {e} :db/ident :new]]")
        now, then = database.snapshot(), database.at(t=1)
        assert now.attribute(Keyword("old")) is None
        assert now.attribute(Keyword("new")) is not None
        assert then.attribute(Keyword("new")) is None
        assert then.attribute(Keyword("old")) is not None
        assert database.at(t=0).attribute(Keyword("old")) is None
        assert now.ident(e or 0) == Keyword("new")
        assert then.ident(e or 0) == Keyword("old")
        assert [datom.a for datom in now.datoms("EAVT", (1,))] == [Keyword("new")]


def test_counts() -> None:
    with Database.open(":memory:") as database:
        assert (database.snapshot().datom_count, database.entity_count(database.snapshot())) == (0, 0)
        database.transact("[[:db/add 1 :n 1] [:db/add 1000000000 :n 2]]")
        # Two values, the transaction's instant, and what declares :n.
        assert database.snapshot().datom_count == 6
        assert database.entity_count(database.snapshot()) == 4
        database.transact("[[:db/retract 1 :n]]")
        assert database.snapshot().datom_count == 6
        assert database.entity_count(database.snapshot()) == 4
        assert database.snapshot().nbytes() > 0
