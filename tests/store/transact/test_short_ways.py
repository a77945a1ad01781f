"""The short ways of transactions, for few assertions and for many, come to what the long way comes to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.state.settings import Evaluation
from adalog.store.state.speculation import SpeculativeState
from adalog.store.transact import column_assertions, resolve
from adalog.store.transact.resolve import Transaction

SCHEMA = """[
 {:db/ident :name :db/valueType :db.type/string}
 {:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :age :db/valueType :db.type/long}
 {:db/ident :on :db/valueType :db.type/boolean}
 {:db/ident :tags :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
 {:db/ident :knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :boss :db/valueType :db.type/ref}
 {:db/ident :key :db/valueType :db.type/long :db/unique :db.unique/value}
 {:db/ident :part :db/valueType :db.type/ref :db/isComponent true}
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

# Of few assertions, in all the ways of writing one.
terms = st.one_of(
    ids, st.sampled_from(['"a"', '"b"', "-1", "-2", '"-1"', '"datomic.tx"', ":name", '[:email "n0"]'])
)
entries = st.one_of(
    st.builds(':name "n{}"'.format, st.integers(0, 2)),
    st.builds(":age {}".format, st.integers(0, 2)),
    st.builds(":tags :{}".format, st.sampled_from("abc")),
    st.builds(":knows {}".format, terms),
    st.builds(':email "n{}"'.format, st.integers(0, 2)),
    st.sampled_from([":boss 3", ":key 1", ":small 0", ":part {:age 1}", ":_knows 2", ":tags [:a :b]", ":agee 1"])
    | st.sampled_from([":age nil", ":age 1.0", ":age 1.5", ':db/doc "d"', ":name :n"]),
)
few = st.one_of(
    st.builds("[:db/add {} {}]".format, terms, entries),
    st.builds("{{{}}}".format, entries),
    st.builds("{{:db/id {} {}}}".format, terms, entries),
    st.builds("{{{} :db/id {} {}}}".format, entries, terms, entries),
    st.builds('{{:name "new" {}}}'.format, entries),
    st.sampled_from(
        ["{:db/id 1}", "{}", "[:db/retract 1 :age 1]", "[:db/add 1 :age]", "[]", "[:db/cas 1 :age 1 2]"]
    ),
)


def outcome(database: Database, text: str) -> Any:
    fork = SpeculativeState(database.snapshot())
    try:
        transaction = Transaction.of(text)
        found = resolve.resolve(transaction, fork, Evaluation(database._setting), database._setting.policy, 10**13)
    except AdalogError as error:
        return (error.code, error.message, error.position)
    decoded = [(e, a, fork.codes.decode(v), added) for e, a, v, added in found.effects]
    return (decoded, found.instant, found.tempids, found.new, found.diagnostics())


def begun(before: list[list[str]], fold: bool) -> Database:
    database = Database.open(":memory:")
    database.transact(SCHEMA)
    for each in before:
        try:
            database.transact(f"[{' '.join(each)}]")
        except AdalogError:
            continue
    if fold:
        database.compact()
    return database


def no_way(_forms: Any, _state: Any) -> None:
    """Has the long way be taken."""


profile = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@profile
@given(before=st.lists(forms, max_size=3), now=forms, more=st.lists(other, max_size=1), fold=st.booleans())
def test_many_at_once(
    before: list[list[str]], now: list[str], more: list[str], fold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begun(before, fold) as database, monkeypatch.context() as patched:
        text = f"[{' '.join(now + more)}]"
        patched.setattr(resolve, "few_adds", no_way)
        slow = outcome(database, text)
        patched.setattr(resolve, "LEAST", 1)
        assert outcome(database, text) == slow


@profile
@given(
    before=st.lists(st.lists(st.one_of(plain, few), max_size=4), max_size=4),
    now=st.lists(few, min_size=1, max_size=4),
    fold=st.booleans(),
)
def test_few_at_once(before: list[list[str]], now: list[str], fold: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"[{' '.join(now)}]"
    with begun(before, fold) as database:
        short = outcome(database, text), durable(database, text)
    with begun(before, fold) as database, monkeypatch.context() as patched:
        patched.setattr(resolve, "few_adds", no_way)
        assert (outcome(database, text), durable(database, text)) == short


def durable(database: Database, text: str) -> Any:
    """What a transaction reports, and what it leaves to the next; its instant apart. None where it is refused."""
    try:
        report = database.transact(text)
    except AdalogError:
        return None
    head = database._head
    return report.tempids, report.datoms[1:], head.free, head.next_ident, head.codes.intern("next")


def test_a_long_load_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []

    def watched(forms: Any, state: Any) -> Any:
        found = column_assertions.plain_adds(forms, state)
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
    assert taken == [True, True]


@pytest.mark.parametrize(
    "text",
    [
        "[{:age 1}]",
        '[[:db/add 1 :name "x"]]',
        '[{:db/id "a" :knows "b"} {:db/id "b" :age 1}]',
        '[{:email "e" :age 1}]',
        "[{:db/id 1 :age 1} {:db/id 1 :tags :a}]",
    ],
)
def test_a_small_transaction_takes_the_short_way(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the long way")

    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        monkeypatch.setattr(resolve, "_resolved_at_length", refuse)
        assert len(database.transact(text).datoms) > 1
        assert database.transact(text).datoms[0].a == Keyword("db/txInstant")
