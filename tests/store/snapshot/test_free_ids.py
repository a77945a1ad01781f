"""Which ids new entities get, whatever ids clients choose."""

from __future__ import annotations

import json
import logging
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.log.entry import LogEntry
from adalog.store.log.log import Log
from adalog.store.log.payload import Logged
from adalog.store.snapshot import free_ids
from adalog.store.snapshot.free_ids import FreeIds, Interval
from adalog.store.values import bootstrap
from adalog.store.values.attribute import FIRST_OWN_IDENT, MERGED, SCHEMA_BASE, TX_BASE

LAST = SCHEMA_BASE - 1
NEW = '[{:db/id "a" :name "a"} {:db/id "b" :name "b"}]'


def new_ids(database: Database, count: int = 3) -> list[int]:
    """The ids of so many transactions' two new entities."""
    found: list[int] = []
    for _ in range(count):
        found += database.transact(NEW).tempids.values()
    return found


def used_ids(database: Database) -> set[int]:
    """Every entity and ref there ever was, below those with idents."""
    history = database.snapshot().history()
    found: set[int] = set()
    for attribute in history.attributes():
        columns = history.columns(attribute)
        found.update(columns.e.tolist())
        if attribute.is_ref:
            found.update(columns.v.tolist())
    return {id_ for id_ in found if id_ < SCHEMA_BASE}


CHOICES = [
    "[[:db/add 2199023255550 :x/n 2]]",
    f"[[:db/add {LAST} :x/n 2]]",
    f"[[:db/add {LAST - 1} :x/n 2] [:db/add {LAST} :x/n 2]]",
    f"[[:db/add {LAST} :x/n 2] [:db/add {LAST // 2} :x/n 2] [:db/add {LAST // 4} :x/n 2]]",
    f"[{{:db/ident :to :db/valueType :db.type/ref}} [:db/add 1 :to {LAST - 1}]]",
    f"[{{:db/ident :b :db/valueType :db.type/tuple :db/tupleType :db.type/ref}} [:db/add 1 :b [2 {LAST - 1}]]]",
    "[[:db/add 0 :x/n 2] [:db/add 1 :x/n 2] [:db/add 2 :x/n 2]]",
]


@pytest.mark.parametrize("choice", CHOICES)
def test_chosen_ids_do_not_use_up_the_range(choice: str, tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact(choice)
        used = used_ids(database)
        first = new_ids(database)
        database.compact()
    with Database.open(str(tmp_path)) as database:
        second = new_ids(database)
    (tmp_path / "checkpoint.json").unlink()
    with Database.open(str(tmp_path)) as database:
        third = new_ids(database)
        assert database.transact('[{:db/id "last" :name "last"}]').tempids["last"] not in used
    ids = first + second + third
    assert len(set(ids)) == 18
    assert not used & set(ids)
    assert max(ids) < SCHEMA_BASE


@pytest.mark.parametrize(
    "form",
    [
        "[:db/add 1 :n 1]",
        "[:db/add 9 :to 1]",
        "[:db/cas 9 :to nil 1]",
        "[:db.fn/default 9 :to 1]",
        "[:db/retract 9 :to 1]",
        "[:db/retract 1 :n 5]",
        "[:db/add 9 :both [8 1]]",
        "[:db/retractEntity 1]",
    ],
)
def test_an_id_chosen_in_the_same_transaction_is_no_new_one(form: str) -> None:
    with Database.open(":memory:") as database:
        database.transact("""[{:db/ident :to :db/valueType :db.type/ref}
          {:db/ident :both :db/valueType :db.type/tuple :db/tupleType :db.type/ref}
          {:db/ident :n :db/valueType :db.type/long}]""")
        ids = database.transact(f'[{form} {{:db/id "a" :n 1}} {{:db/id "b" :n 2}}]').tempids
        assert not {1, 8, 9} & set(ids.values()), ids


def test_a_retracted_entity_is_no_new_one() -> None:
    with Database.open(":memory:") as database:
        database.transact("[[:db/add 5 :n 1]]")
        database.transact("[[:db/retractEntity 5]]")
        assert 5 not in new_ids(database, 10)


def test_speculation_gives_no_id_that_is_in_use() -> None:
    with Database.open(":memory:") as database:
        database.transact(CHOICES[3])
        database.transact(NEW)
        used = used_ids(database)
        for basis in (database.snapshot(), database.at(t=1)):
            after, report = database.speculate(basis, NEW)
            assert not used & set(report.tempids.values())
            again, same = database.speculate(basis, NEW, after.origin.start)
            assert same == report
            _, next_report = database.speculate(after, NEW)
            assert not {*report.tempids.values()} & {*next_report.tempids.values()}
            assert again.t == after.t
        assert not used & set(new_ids(database))


def test_speculation_is_the_same_again_after_others_got_its_ids() -> None:
    with Database.open(":memory:") as database:
        database.transact("[[:db/add 1 :n 1]]")
        after, report = database.speculate(database.at(t=1), f"[[:db/add {LAST // 3} :n 1] {NEW[1:]}")
        database.transact(CHOICES[3])
        new_ids(database)
        assert (
            database.speculate(database.at(t=1), f"[[:db/add {LAST // 3} :n 1] {NEW[1:]}", after.origin.start)[1]
            == report
        )


def test_a_bulk_load_chooses_ids(tmp_path: Path) -> None:
    schema = """[{:db/ident :n :db/valueType :db.type/long} {:db/ident :to :db/valueType :db.type/ref}
                 {:db/id "a" :name "a"} {:db/id "b" :name "b"}]"""
    ids = np.array([1, 2, 3, LAST - 1, LAST])
    with Database.open(str(tmp_path)) as database:
        report = database.bulk_load(
            schema, {Keyword("n"): (ids, [1] * 5), Keyword("to"): (ids[:2], np.array([4, 5]))}
        )
        assert not {*report.tempids.values()} & {*ids.tolist(), 4, 5}
        used = used_ids(database)
        first = new_ids(database)
    with Database.open(str(tmp_path)) as database:
        second = new_ids(database)
    assert len({*first, *second} - used) == 12


# Ids that are not to be chosen


@pytest.mark.parametrize(
    "id_",
    [
        SCHEMA_BASE,
        SCHEMA_BASE + 500,
        FIRST_OWN_IDENT + 100,
        TX_BASE - 1,
        TX_BASE,
        TX_BASE + 3,
        2**53,
        2**60,
        2**63 - 1,
        2**63,
        2**64,
    ],
)
def test_an_id_beyond_the_range_of_ones_own_is_refused(id_: int) -> None:
    forms = [
        f"[:db/add {id_} :n 1]",
        f"[:db/add 1 :to {id_}]",
        f"{{:db/id {id_} :n 1}}",
        f"{{:db/id 1 :_to {id_}}}",
    ]
    with Database.open(":memory:") as database:
        database.transact("[{:db/ident :to :db/valueType :db.type/ref} {:db/ident :n :db/valueType :db.type/long}]")
        for form in forms:
            with pytest.raises(AdalogError) as refused:
                database.transact(f"[{form}]")
            assert refused.value.code is Code.TX_INVALID, form
            assert f"{id_}" in refused.value.message
            assert "is no entity" in refused.value.message
        assert new_ids(database, 1) == [1, 2]


def test_an_id_that_this_transaction_gives_to_an_attribute_cannot_be_guessed() -> None:
    with Database.open(":memory:") as database:
        next_ident = database.snapshot().origin.next_ident
        with pytest.raises(AdalogError, match=f"{next_ident} is no entity"):
            database.transact(f'[{{:db/id "a" :db/ident :a}} [:db/add {next_ident} :db/doc "mine"]]')
        with pytest.raises(AdalogError, match="built in"):
            database.transact(f'[[:db/add {bootstrap.IDENT} :db/doc "mine"]]')


def test_negative_ids_are_tempids() -> None:
    with Database.open(":memory:") as database:
        report = database.transact(f"[[:db/add -1 :n 1] [:db/add {-(2**63)} :n 2]]")
        assert sorted(report.tempids.values()) == [1, 2]


# The end of the range


def small(monkeypatch: pytest.MonkeyPatch, size: int, reserve: int) -> None:
    """Have new databases begin with so many free ids."""
    monkeypatch.setattr(FreeIds.__init__, "__defaults__", (Interval(1, size + 1), ()))
    monkeypatch.setattr(free_ids, "RESERVE", reserve)
    monkeypatch.setattr(free_ids, "_LEAST", 2)


def test_the_end_of_the_range_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, 5, 0)
    with Database.open(":memory:") as database:
        assert new_ids(database, 2) == [1, 2, 3, 4]
        for _ in range(2):
            with pytest.raises(AdalogError) as refused:
                database.transact(NEW)
            assert refused.value.code is Code.LIMIT_EXCEEDED
            assert "used up" in refused.value.message
        assert database.transact('[{:db/id "e" :n 1}]').tempids == {"e": 5}
        with pytest.raises(AdalogError, match="used up"):
            database.transact('[{:db/id "e" :n 1}]')
        # What is there can still be written.
        database.transact("[[:db/add 1 :n 5]]")


def test_chosen_ids_leave_some_for_new_entities(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, 100, 90)
    with Database.open(":memory:") as database:
        for id_ in range(100, 90, -1):
            database.transact(f"[[:db/add {id_} :n 1]]")
        with pytest.raises(AdalogError) as refused:
            database.transact("[[:db/add 91 :n 1]\n [:db/add 90 :n 1]]")
        assert refused.value.code is Code.LIMIT_EXCEEDED
        assert "entity 90" in refused.value.message
        assert refused.value.position is not None
        assert refused.value.position.line == 2
        with pytest.raises(AdalogError, match="entity 50 cannot be chosen"):
            database.bulk_load("[]", {Keyword("n"): (np.array([50]), [1])})
        assert new_ids(database, 1) == [1, 2]


def test_the_end_of_the_range_for_attributes() -> None:
    with Database.open(":memory:") as database:
        database._head.next_ident = TX_BASE - 1
        database.transact("[[:db/add 1 :n 1]]")
        with pytest.raises(AdalogError) as refused:
            database.transact("[[:db/add 1 :m 1]]")
        assert refused.value.code is Code.LIMIT_EXCEEDED


# What earlier versions left


def log_entry(t: int, datoms: list[tuple[int, int, object, bool]]) -> LogEntry:
    return LogEntry(t, 1_700_000_000_000 + t, None, Logged(datoms, {}).encoded())


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    """A folder as an earlier version left it: entities that came after 2^41 - 1 are one."""
    name = FIRST_OWN_IDENT
    declared = [
        (name, bootstrap.IDENT, Keyword("name"), True),
        (name, bootstrap.VALUE_TYPE, bootstrap.TYPE_IDS["string"], True),
        (name, bootstrap.CARDINALITY, bootstrap.ONE, True),
        (LAST, name, "bob", True),
    ]
    log = Log.in_file(tmp_path / "log.sqlite")
    carol, dan = (MERGED, name, "carol", True), (MERGED, name, "dan", True)
    log.append([log_entry(1, declared), log_entry(2, [carol]), log_entry(3, [(MERGED, name, "carol", False), dan])])
    log.close()
    return tmp_path


def test_a_folder_whose_entities_were_merged_says_so(merged: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "adalog.store"), Database.open(str(merged)) as database:
            assert str(MERGED) in caplog.text
            assert "one entity of several" in caplog.text
            ids = new_ids(database)
            assert len(set(ids)) == 6
            assert not {MERGED, LAST} & set(ids)
            database.compact()
    with Database.open(str(merged)) as database:
        database.transact(f"[[:db/retractEntity {MERGED}]]")
        with pytest.raises(AdalogError, match="is no entity"):
            database.transact(f"[[:db/retractEntity {MERGED}]]")
    caplog.clear()
    with Database.open(str(merged)):
        assert caplog.text == ""


@pytest.mark.parametrize(("next_entity", "rebuilt"), [(4, False), (SCHEMA_BASE, True)])
def test_a_checkpoint_that_does_not_say_which_ids_are_free(
    tmp_path: Path, next_entity: int, rebuilt: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact('[{:db/id "a" :name "a"} {:db/id 2 :name "b"}]')
        database.compact()
    file = tmp_path / "checkpoint.json"
    body = json.loads(json.loads(file.read_text("utf-8"))["body"])
    del body["free"]
    body["counters"] = [*body["counters"][:2], next_entity, body["counters"][3]]
    text = json.dumps(body)
    file.write_text(json.dumps({"version": 2, "checksum": zlib.crc32(text.encode()), "body": text}), "utf-8")
    with Database.open(str(tmp_path)) as database:
        assert ("rebuilding from the log" in caplog.text) is rebuilt
        assert new_ids(database, 1) == [4, 5]


# The intervals themselves


@given(
    st.lists(st.lists(st.integers(0, 70), min_size=1, max_size=6, unique=True), max_size=25),
    st.lists(st.integers(0, 4), min_size=25, max_size=25),
)
def test_free_ids_are_those_that_nothing_used(chosen: list[list[int]], new: list[int]) -> None:
    free, used = FreeIds(Interval(1, 61)), {0}
    for ids, count in zip(chosen, new, strict=False):
        fresh = free.among(ids)
        assert fresh == free.among_sorted(np.array(sorted(ids), np.int64)).tolist()
        assert not used & set(fresh)
        free = free.without(fresh)
        used |= set(ids)
        assert free.size <= 60 - len(used & set(range(1, 61)))
        try:
            given_ = range(first := free.next(count).start, first + count)
        except AdalogError:
            continue
        assert not used & set(given_)
        assert all(map(free.has, given_))
        free = free.without(list(given_))
        used |= set(given_)
    assert not any(free.has(id_) for id_ in used)


def test_ids_are_given_up_only_where_they_are_few_together() -> None:
    dice = np.random.default_rng(5)
    free = FreeIds()
    for _ in range(20):
        free = free.without(free.among_sorted(np.unique(dice.integers(1, SCHEMA_BASE, 100_000))))
    assert len(free.others) == free_ids._KEPT
    assert free.size > free_ids.RESERVE
    alone = FreeIds()
    for power in range(40, 20, -1):
        alone = alone.without([2**power])
    assert alone.size > SCHEMA_BASE - 2**21 - 100
