"""`:db/principal` of transactions: written by a server, never by their data, the same in every replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.executor.pool import Pool
from adalog.store.backup.check import check_data
from adalog.store.backup.creation import take
from adalog.store.backup.restoration import restore
from adalog.store.database import Database
from adalog.store.files.place import LocalPlace
from tests.live.following import Reader, hub_over
from tests.store.log.test_earlier_versions import COMMITS, expected, unpacked
from tests.support import World

WHO = "[:find ?n ?who :where [?e :n ?n ?tx] [?tx :db/principal ?who]]"
HISTORY = "[:find ?n ?added ?who :where [?e :n ?n ?tx ?added] [?tx :db/principal ?who]]"
# As many forms as one, a few and many, which are resolved in different ways.
MANY = "[" + " ".join(f"[:db/add {number} :n {number}]" for number in range(1, 200)) + "]"
FORGED = [
    '[[:db/add "datomic.tx" :db/principal "eve"]]',
    '[{:db/id "datomic.tx" :db/principal "eve"} {:db/id 7 :n 7}]',
    '[{:db/id 7 :db/principal "eve"}]',
    '[[:db/add 7 :db/principal "eve"]]',
    "[{:db/ident :db/principal :db/valueType :db.type/long :db/cardinality :db.cardinality/one}]",
    "[{:db/id 7 :db/ident :db/principal}]",
]


@pytest.fixture
def signed(db: World) -> World:
    """A database whose third transaction has a principal, and its fourth another one."""
    db.tx("[[:db/add 1 :n 1]]", "[[:db/add 2 :n 2]]")
    for number, name in ((3, "ann"), (4, "bob")):
        db.database.submit(f"[[:db/add {number} :n {number}]]", principal=name).result()
    return db


def test_queries_join_on_the_principal(signed: World) -> None:
    assert signed.q(WHO) == '#{[3 "ann"] [4 "bob"]}'
    signed.database.submit("[[:db/retract 3 :n 3]]", principal="bob").result()
    assert World(signed.database, signed.pool, signed.database.at(history=True)).q(HISTORY) == (
        '#{[3 true "ann"] [3 false "bob"] [4 true "bob"]}'
    )
    assert signed.at(as_of=3).q(WHO) == '#{[3 "ann"]}'
    assert signed.q("[:find ?a . :where [?a :db/ident :db/principal] [?a :db/valueType :db.type/string]]").value


def test_before_the_first_one_queries_are_empty_without_a_warning(db: World) -> None:
    db.tx("[[:db/add 1 :n 1]]")
    assert db.q(WHO) == "#{}"
    assert db.warnings(WHO) == []
    assert db.warnings("[:find (pull ?tx [:db/principal]) :where [_ :n _ ?tx]]") == []
    assert db.pull("[:db/principal]", 1) == "nil"
    assert list(db.database.snapshot().datoms("AEVT", [Keyword("db/principal")])) == []
    db.database.submit("[[:db/add 2 :n 2]]", principal="ann").result()
    earlier = db.at(as_of=1)
    assert earlier.q(WHO) == "#{}"
    assert earlier.warnings(WHO) == []
    assert db.at(since=1).q("[:find [?who ...] :where [_ :db/principal ?who]]") == '["ann"]'


def test_a_strict_schema_has_it_from_the_start() -> None:
    with Database.open(":memory:", schema="strict") as database:
        pool = Pool(database)
        try:
            assert World(database, pool).q("[:find ?who :where [_ :db/principal ?who]]") == "#{}"
        finally:
            pool.close()


@pytest.mark.parametrize("query", [WHO, "[:find ?who (count ?e) :where [?e :n _ ?tx] [?tx :db/principal ?who]]"])
def test_live_queries_begin_before_it_and_follow_it(query: str) -> None:
    with Database.open(":memory:") as database, hub_over(database) as hub:
        database.transact("[[:db/add 1 :n 1]]")
        reader = Reader(database, hub.pool, query)
        try:
            for number, name in ((2, "ann"), (3, None), (4, "bob"), (5, "ann")):
                t = database.submit(f"[[:db/add {number} :n {number}]]", principal=name).result().t
                reader.until(t)
            assert {row[-1 if query == WHO else 0] for row in reader.rows} == {"ann", "bob"}
        finally:
            reader.close()


@pytest.mark.parametrize("data", ["[[:db/add 9 :n 9]]", '[{:db/id "x" :n 9} {:db/id "x" :m "new"}]', MANY])
def test_each_way_of_a_transaction_has_it(db: World, data: str) -> None:
    db.tx("[{:db/ident :n :db/valueType :db.type/long :db/cardinality :db.cardinality/one}]")
    report = db.database.submit(data, principal="ann").result()
    (principal,) = (each for each in report.datoms if str(each.a) == ":db/principal")
    assert (principal.v, principal.added) == ("ann", True)
    assert set(db.q("[:find [?who ...] :where [_ :n _ ?tx] [?tx :db/principal ?who]]").value) == {"ann"}
    # No client's attribute, nor its datoms.
    assert db.database.snapshot().schema.declared <= 2


@pytest.mark.parametrize("data", FORGED)
@pytest.mark.parametrize("principal", [None, "ann"])
def test_no_transaction_says_whose_it_is(db: World, data: str, principal: str | None) -> None:
    with pytest.raises(AdalogError) as before:
        db.database.submit(data, principal=principal).result()
    assert before.value.code in (Code.TX_INVALID, Code.UNKNOWN_ATTRIBUTE)
    assert "built in" in before.value.message
    assert before.value.position is not None
    db.database.submit("[[:db/add 1 :n 1]]", principal="ann").result()
    with pytest.raises(AdalogError) as after:
        db.database.submit(data, principal=principal).result()
    assert after.value.position is not None
    assert db.q(WHO) == '#{[1 "ann"]}'


@pytest.mark.parametrize("way", ['[:db/retract {tx} :db/principal "ann"]', "[:db/retractEntity {tx}]"])
def test_no_transaction_takes_it_away(signed: World, way: str) -> None:
    tx = signed.q('[:find ?tx . :where [?tx :db/principal "ann"]]').value
    with pytest.raises(AdalogError) as refused:
        signed.tx("[" + way.replace("{tx}", str(tx)) + "]")
    assert refused.value.code is Code.TX_INVALID
    assert signed.q(WHO) == '#{[3 "ann"] [4 "bob"]}'


def test_counts_leave_it_out_as_what_is_built_in(db: World) -> None:
    db.tx("[[:db/add 1 :n 1]]")
    before = db.database.snapshot().datom_count
    db.database.submit("[[:db/add 2 :n 2]]", principal="ann").result()
    # The datom, the instant and the principal.
    assert db.database.snapshot().datom_count == before + 3


def test_speculation_has_none(signed: World) -> None:
    basis = signed.database.snapshot()
    after, report = signed.database.speculate(basis, "[[:db/add 5 :n 5]]")
    assert not [each for each in report.datoms if str(each.a) == ":db/principal"]
    with pytest.raises(AdalogError, match="built in"):
        signed.database.speculate(basis, FORGED[0])
    assert World(signed.database, signed.pool, after).q(WHO) == '#{[3 "ann"] [4 "bob"]}'


def test_a_repeated_key_keeps_the_first_principal(db: World) -> None:
    first = db.database.submit("[[:db/add 1 :n 1]]", idempotency_key="k", principal="ann").result()
    again = db.database.submit("[[:db/add 1 :n 1]]", idempotency_key="k", principal="bob").result()
    assert again.t == first.t
    assert db.q(WHO) == '#{[1 "ann"]}'


def test_replays_and_folds_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "data"
    with Database.open(str(path)) as database:
        database.transact("[[:db/add 1 :n 1]]")
        database.submit("[[:db/add 2 :n 2]]", principal="ann").result()
        database.compact()
        database.submit("[[:db/add 3 :n 3]]", principal="bob").result()
    for _ in range(2):
        with Database.open(str(path)) as database:
            pool = Pool(database)
            try:
                assert World(database, pool).q(WHO) == '#{[2 "ann"] [3 "bob"]}'
            finally:
                pool.close()
        # The second time from the log alone.
        (path / "checkpoint.json").unlink(missing_ok=True)
    assert check_data(str(path), deep=True).findings == []


def test_a_backup_and_what_is_restored_from_it_have_it(tmp_path: Path) -> None:
    data, place, to = tmp_path / "data", LocalPlace(tmp_path / "backups"), tmp_path / "restored"
    with Database.open(str(data)) as database:
        for number, name in ((1, None), (2, "ann"), (3, "bob")):
            database.submit(f"[[:db/add {number} :n {number}]]", principal=name).result()
        take(database.source(), place)
    restore(place, to)
    with Database.open(str(to)) as database:
        pool = Pool(database)
        try:
            assert World(database, pool).q(WHO) == '#{[2 "ann"] [3 "bob"]}'
            database.submit("[[:db/add 4 :n 4]]", principal="ann").result()
            assert World(database, pool).q(WHO) == '#{[2 "ann"] [3 "bob"] [4 "ann"]}'
        finally:
            pool.close()


@pytest.mark.parametrize("commit", COMMITS)
def test_databases_of_earlier_versions_get_it(commit: str, tmp_path: Path) -> None:
    folder = unpacked(commit, tmp_path / "data")
    t = expected(commit)["t"]
    with Database.open(str(folder)) as database:
        assert database.submit("[[:db/add 1 :whose/n 1]]", principal="ann").result().t == t + 1
    (folder / "checkpoint.json").unlink(missing_ok=True)
    with Database.open(str(folder)) as database:
        pool = Pool(database)
        try:
            assert World(database, pool).q("[:find ?t ?w :where [?t :db/principal ?w]]").rows[0][1] == "ann"
        finally:
            pool.close()
    assert check_data(str(folder), deep=True).findings == []
