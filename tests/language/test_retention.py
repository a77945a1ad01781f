"""`:db/retainDays`, `:db/retainTransactions` and `:db/retainAll`: how long the past of attributes is kept."""

from __future__ import annotations

import pytest

from adalog.datalog.errors import AdalogError, Code
from tests.support import MARK, World

SCHEMA = """[
  {:db/ident :v :db/valueType :db.type/long}
  {:db/ident :tag :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
  {:db/ident :lately :db/valueType :db.type/string :db/noHistory true}
]"""


@pytest.fixture
def changed(db: World) -> World:
    """A value that was 1 from t = 2 on, 2 from 3, 3 from 4."""
    db.tx(SCHEMA)
    for number in (1, 2, 3):
        db.tx(f'[[:db/add 1 :v {number}] [:db/add 1 :tag "{number}"]]')
    return db


def history(world: World) -> list[tuple[object, int, bool]]:
    datoms = world.database.snapshot().history().datoms("EAVT")
    return sorted((each.v, each.t, each.added) for each in datoms if each.e == 1 and str(each.a) == ":v")


def test_what_ended_before_a_transaction_goes_and_what_holds_stays(changed):
    changed.tx("[{:db/excise :v :db.excise/endedBeforeT 4}]")
    assert history(changed) == [(2, 3, True), (2, 4, False), (3, 4, True)]
    assert changed.at(t=3).q("[:find ?v . :where [1 :v ?v]]") == "2"
    assert changed.at(t=2).q("[:find ?v . :where [1 :v ?v]]") == "nil"
    assert changed.at(t=2).q("[:find ?v . :where [1 :tag ?v]]") == '"1"'


def test_of_one_attribute(changed):
    changed.tx("[{:db/ident :v :db/retainTransactions 2}]")
    changed.database.retain()
    assert history(changed) == [(2, 3, True), (2, 4, False), (3, 4, True)]


def test_of_all_but_those_that_say_it_themselves(changed):
    changed.tx('[[:db/retract 1 :tag "1"]]')
    changed.tx("[{:db/ident :db/retention :db/retainTransactions 1} {:db/ident :v :db/retainAll true}]")
    done = changed.database.retain()
    assert (done.datoms, done.steps) == (2, 1)
    assert len(history(changed)) == 5
    changed.tx("[[:db/retract :v :db/retainAll true]]")
    changed.database.retain()
    assert history(changed) == [(3, 4, True)]


def test_nothing_is_taken_where_nothing_is_said(changed):
    assert changed.database.retain().steps == 0
    changed.tx("[{:db/ident :v :db/retainTransactions 10}]")
    assert changed.database.retain().steps == 0
    assert len(history(changed)) == 5


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("{:db/ident :v :db/retainDays ‸0}", "a number from 1 to 100,000, not 0; :db/noHistory keeps none"),
        ("{:db/ident :v :db/retainTransactions ‸-3}", "a number from 1 to"),
        ("{:db/ident :v :db/retainDays ‸9223372036854775807}", "from 1 to 100,000, not 9223372036854775807"),
        ('{:db/ident :v :db/retainDays ‸"a month"}', "is not a long"),
        ("{:db/ident :v :db/retainAll ‸false}", "is true, or retracted"),
        ("{:db/ident :v :db/retainDays ‸3 :db/retainAll true}", "are both given; retract one of them"),
        ("{:db/ident :lately :db/retainDays ‸3}", "has :db/noHistory, and so no past"),
        ("{:db/id 77 :db/retainDays ‸3}", "of an attribute of your own, and what this is said of is none"),
        ("{:db/ident :another :db/retainDays ‸3}", ":another is none"),
        ("{:db/excise ‸1 :db.excise/endedBeforeT 3}", "1 is no attribute"),
        ("{:db/excise :v :db.excise/endedBeforeT ‸99}", "from 1 to 5, not 99"),
        (
            "{:db/excise :v :db.excise/endedBeforeT 3 :db.excise/beforeT ‸3}",
            ":db.excise/beforeT cannot be combined with :db.excise/endedBeforeT",
        ),
        (
            "{:db/excise :v} ‸{:db/excise :v :db.excise/endedBeforeT 3}",
            "cannot be combined with forms that take current ones",
        ),
        ("{:db/ident ‸:db/doc :db/retainDays 3}", "is built in"),
    ],
)
def test_nonsense_is_refused_where_it_stands(changed, said, message):
    with pytest.raises(AdalogError, match=message) as refused:
        changed.tx(f"[{said.replace(MARK, '')}]")
    assert refused.value.code is Code.TX_INVALID
    at = refused.value.position
    assert at is not None
    assert at.column == said.index(MARK) + 2
    assert changed.database.retain().steps == 0


def test_one_that_limits_replaces_another(changed):
    changed.tx("[{:db/ident :v :db/retainDays 3}]")
    changed.tx("[[:db/retract :v :db/retainDays 3] [:db/add :v :db/retainTransactions 1]]")
    changed.database.retain()
    assert history(changed) == [(3, 4, True)]
    assert changed.q("[:find ?n . :where [:v :db/retainTransactions ?n]]") == "1"
