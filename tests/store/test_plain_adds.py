"""The short way of long transactions comes to what the long way comes to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datalog.errors import AdalogError
from datalog.values import Keyword
from store import plain_adds, resolve
from store.database import Database
from store.resolve import Transaction
from store.setting import Evaluation
from store.speculation import Fork

SCHEMA = """[
 {:db/ident :name :db/valueType :db.type/string}
 {:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :age :db/valueType :db.type/long}
 {:db/ident :on :db/valueType :db.type/boolean}
 {:db/ident :tags :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
 {:db/ident :knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :boss :db/valueType :db.type/ref}
 {:db/ident :small :db/valueType :db.type/long :db.attr/preds pos?}
 {:db/ident :a :db/valueType :db.type/long}
 {:db/ident :a+b :db/valueType :db.type/tuple :db/tupleAttrs [:a :boss]}]"""

ids = st.integers(1, 9).map(str)
plain = st.one_of(
    st.builds('[:db/add {} :name "n{}"]'.format, ids, st.integers(0, 2)),
    st.builds("[:db/add {} :age {}]".format, ids, st.integers(0, 2)),
    st.builds("[:db/add {} :on {}]".format, ids, st.sampled_from(["true", "false"])),
    st.builds("[:db/add {} :tags :{}]".format, ids, st.sampled_from("abc")),
    st.builds("[:db/add {} :knows {}]".format, ids, ids),
)
other = st.one_of(
    st.builds('[:db/add {} :email "n{}"]'.format, ids, st.integers(0, 1)),
    st.builds("[:db/add {} :boss {}]".format, ids, ids),
    st.builds("[:db/add {} :small {}]".format, ids, st.integers(-1, 1)),
    st.builds("[:db/add {} :a {}]".format, ids, ids),
    st.builds("[:db/retract {} :age {}]".format, ids, st.integers(0, 2)),
    st.sampled_from(['[:db/add 1 :age "old"]', "[:db/add -1 :age 1]", "[:db/add 1 :agee 1]", "{:db/id 2 :age 5}"]),
)
forms = st.lists(plain, min_size=1, max_size=8)


def outcome(database: Database, text: str) -> Any:
    transaction = Transaction.of(text)
    fork = Fork(database.snapshot())
    try:
        found = resolve.resolve(transaction, fork, Evaluation(database._setting), "open", 10**13)
    except AdalogError as error:
        return (error.code, error.message, error.position)
    decoded = [(e, a, fork.codes.decode(v), added) for e, a, v, added in found.effects]
    return (decoded, found.instant, found.tempids, found.new, found.diagnostics())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.lists(forms, max_size=3), now=forms, more=st.lists(other, max_size=1), fold=st.booleans())
def test_both_ways_come_to_the_same(
    before: list[list[str]], now: list[str], more: list[str], fold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        for each in before:
            try:
                database.transact(f"[{' '.join(each)}]")
            except AdalogError:
                continue
        if fold:
            database.compact()
        text = f"[{' '.join(now + more)}]"
        monkeypatch.setattr(plain_adds, "LEAST", 10**9)
        slow = outcome(database, text)
        monkeypatch.setattr(plain_adds, "LEAST", 1)
        assert outcome(database, text) == slow


def test_a_long_load_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []

    def watched(forms: Any, state: Any) -> Any:
        found = plain_adds.plain_adds(forms, state)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(resolve, "plain_adds", watched)
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        text = " ".join(f"[:db/add {i} :age {i}] [:db/add {i} :knows {i + 1}]" for i in range(1, 400))
        report = database.transact(f"[{text}]")
        assert len(report.datoms) == 2 * 399 + 1
        age = database.snapshot().attribute(Keyword("age"))
        assert age is not None
        assert database.snapshot().ev(age).row(7).tolist() == [7]
        assert database.transact(f"[{text}]").datoms[1:] == []
    assert taken == [False, True, True]
