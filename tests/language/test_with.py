"""`with`: a database that has a transaction applied which nobody committed."""

from __future__ import annotations

import pickle

import pytest

from adalog.datalog.errors import AdalogError
from adalog.store.snapshot.snapshot import Snapshot
from tests.support import World, refused

SCHEMA = """[{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :tag :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
             {:db/ident :n :db/valueType :db.type/long}
             {:db/ident :friend :db/valueType :db.type/ref}]"""
EVERY = "[:find ?e ?a ?v :where [?e ?a ?v] [(< ?e 1000)]]"


def speculated(world: World, text: str) -> World:
    """The world with the transaction applied."""
    basis = world.snapshot if world.snapshot is not None else world.database.snapshot()
    snapshot, _ = world.database.speculate(basis, text)
    return World(world.database, world.pool, snapshot)


@pytest.fixture
def people(db):
    db.tx(SCHEMA, '[{:db/id 1 :email "a@x" :n 1 :tag [:a :b]} {:db/id 2 :email "b@x" :n 2 :friend 1}]')
    return db


def test_it_reads_as_if_it_had_been_transacted(people):
    text = """[[:db/add 1 :n 5] [:db/retract 1 :tag :a]
               {:db/id "new" :email "new@x" :friend [:email "a@x"] :fresh 1.5}
               {:email "b@x" :tag :c} [:db/retract 2 :friend]]"""
    then = speculated(people, text)
    people.tx(text)
    now = people.at()
    assert then.q(EVERY) == repr(now.q(EVERY))
    assert then.q("[:find ?e ?v ?tx :where [?e :n ?v ?tx]]") == repr(
        now.q("[:find ?e ?v ?tx :where [?e :n ?v ?tx]]")
    )
    for index in ("EAVT", "AEVT", "AVET", "VAET"):
        mine = [datom for datom in then.snapshot.datoms(index) if str(datom.a) != ":db/txInstant"]
        theirs = [datom for datom in now.snapshot.datoms(index) if str(datom.a) != ":db/txInstant"]
        assert mine == theirs


def test_nobody_else_sees_it(people):
    before = repr(people.q(EVERY))
    then = speculated(people, '[[:db/add 1 :n 99] {:db/id "new" :brand/new "a text that nobody knows"}]')
    assert then.q("[:find ?v . :where [_ :brand/new ?v]]") == '"a text that nobody knows"'
    assert people.q(EVERY) == before
    assert people.database.snapshot().attribute(then.snapshot.attributes()[-1].ident) is None
    codes = people.database.snapshot().codes
    assert codes.lookup("a text that nobody knows") is None
    assert people.tx("[[:db/add 3 :n 7]]").t == then.snapshot.t


def test_it_does_not_see_what_is_committed_later(people):
    then = speculated(people, "[[:db/add 1 :n 5]]")
    people.tx('[[:db/add 1 :n 6] [:db/add 2 :n 7] {:db/id 3 :email "later" :later "x"}]')
    people.database.compact()
    assert then.q("[:find ?e ?n :where [?e :n ?n]]") == "#{[1 5] [2 2]}"
    assert then.q('[:find ?e . :where [?e :email "later"]]') == "nil"
    assert World(people.database, people.pool, then.snapshot.history()).q(
        "[:find ?n ?added :where [1 :n ?n _ ?added]]"
    ) == ("#{[1 true] [1 false] [5 true]}")


def test_the_report(people):
    snapshot, report = people.database.speculate(people.database.snapshot(), '[{:db/id "new" :n 3}]')
    assert report.t == snapshot.t == people.database.snapshot().t + 1
    assert [(datom.e, datom.v) for datom in report.datoms if str(datom.a) == ":n"] == [(report.tempids["new"], 3)]


def test_one_on_the_other(people):
    first = speculated(people, '[{:db/id "x" :email "x@x" :n 10}]')
    second = speculated(first, '[[:db.fn/inc [:email "x@x"] :n] {:db/id "y" :email "y@x" :friend [:email "x@x"]}]')
    query = "[:find ?m ?n :where [?e :email ?m] [?e :n ?n]]"
    assert first.q(query) == '#{["a@x" 1] ["b@x" 2] ["x@x" 10]}'
    assert second.q(query) == '#{["a@x" 1] ["b@x" 2] ["x@x" 11]}'
    assert second.q('[:find ?m . :where [?y :friend ?x] [?x :email "x@x"] [?y :email ?m]]') == '"y@x"'


def test_on_the_past(people):
    t = people.database.snapshot().t
    people.tx("[[:db/add 1 :n 6] [:db/add 2 :tag :z]]", "[[:db/add 2 :n 8]]")
    people.database.compact()
    then = speculated(people.at(t=t), "[[:db/add 3 :n 3] [:db/cas 1 :n 1 4]]")
    assert then.q("[:find ?e ?n :where [?e :n ?n]]") == "#{[1 4] [2 2] [3 3]}"
    assert then.q("[:find ?e ?t :where [?e :tag ?t]]") == "#{[1 :a] [1 :b]}"
    with pytest.raises(AdalogError, match="CAS_FAILED"):
        speculated(people, "[[:db/cas 1 :n 1 4]]")


def test_as_of_since_and_history_of_it(people):
    t = people.database.snapshot().t
    then = speculated(people, "[[:db/add 1 :n 5]]")
    view = lambda snapshot: World(people.database, people.pool, snapshot)  # noqa: E731
    assert view(then.snapshot.as_of(t)).q("[:find ?n . :where [1 :n ?n]]") == "1"
    assert view(then.snapshot.since(t)).q("[:find ?e ?n :where [?e :n ?n]]") == "#{[1 5]}"
    assert speculated(people.at(since=t), "[[:db/add 1 :n 5]]").q("[:find ?e ?n :where [?e :n ?n]]") == "#{[1 5]}"
    assert (
        speculated(people.at(history=True), "[[:db/add 1 :n 5]]").q("[:find ?n ?added :where [1 :n ?n _ ?added]]")
        == "#{[1 true] [1 false] [5 true]}"
    )


def test_a_schema_that_it_declares(people):
    then = speculated(
        people,
        """[{:db/ident :code :db/valueType :db.type/long :db/unique :db.unique/identity}
                                  {:db/id 1 :code 7} [:db/add :n :db/ident :number]]""",
    )
    assert then.q("[:find ?e ?n :where [?e :code 7] [?e :number ?n]]") == "#{[1 1]}"
    assert then.q("[:find ?n . :where [[:code 7] :number ?n]]") == "1"
    people.tx('[{:db/ident :code :db/valueType :db.type/string} [:db/add 1 :code "text"]]')
    assert then.q("[:find ?c . :where [1 :code ?c]]") == "7"


def test_in_another_process(people):
    t = people.database.snapshot().t
    people.tx("[[:db/add 2 :n 9]]")
    people.database.compact()
    for basis in (people.at(), people.at(t=t)):
        then = speculated(
            basis, '[[:db/add 1 :n 5] {:db/id "new" :email "new" :other "thing"} [:db/retract 1 :tag :a]]'
        )
        people.tx(f"[[:db/add 1 :n {people.database.snapshot().t}]]")
        received = Snapshot.from_manifest(pickle.loads(pickle.dumps(then.snapshot.manifest())))
        assert list(received.datoms("EAVT")) == list(then.snapshot.datoms("EAVT"))
        assert list(received.history().datoms("EAVT")) == list(then.snapshot.history().datoms("EAVT"))


def test_refusals_point_into_it(people):
    def act(text):
        speculated(people, text)

    refused("TX_INVALID", "[[:db/add 1 :n ‸:x]]", "long", act)
    refused("UNIQUE_CONFLICT", '[[:db/add 1 :email ‸"b@x"]]', "b@x", act)
    refused("EDN_SYNTAX", "[[:db/add 1 :n", "", act)


def test_it_can_be_repeated(people):
    basis = people.database.snapshot()
    text = '[{:db/id "new" :email "new@x"}]'
    first, report = people.database.speculate(basis, text)
    people.tx('[{:db/id "other" :email "other@x"}]')
    again, repeated = people.database.speculate(people.database.at(t=basis.t), text, first.origin.start)
    assert repeated == report
    assert again.key == first.key


def test_functions_and_predicates(people):
    people.tx("""[{:db/ident :my/f :db/fn "[:find ?op ?e ?a :in $ ?e
                      :where [?e :n] [(ground :db.fn/inc) ?op] [(ground :n) ?a]]"}
                  {:db/id :n :db.attr/preds pos?}]""")
    assert speculated(people, "[[:my/f 1]]").q("[:find ?n . :where [1 :n ?n]]") == "2"
    refused("TX_INVALID", "[[:db/add 1 :n ‸-2]]", "pos?", lambda text: speculated(people, text))
