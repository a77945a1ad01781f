"""Transactions as Datomic's tutorials write them: partitions, installation, the transaction without an id."""

from __future__ import annotations

import pytest

ATTRIBUTE = ":db/valueType :db.type/string :db/cardinality :db.cardinality/one"


def test_a_tag_without_a_number_is_a_new_entity(db):
    report = db.tx('[{:db/id #db/id [:db.part/user] :n "a"} {:db/id #db/id[:db.part/user] :n "b"}]')
    assert report.tempids == {}
    assert db.q("[:find ?n :where [_ :n ?n]]") == '#{["a"] ["b"]}'
    assert db.q("[:find (count ?e) . :where [?e :n]]") == "2"
    db.tx("[[:db/add #db/id[:db.part/user] :m 1] [:db/add #db/id[:db.part/user] :m 2]]")
    assert db.q("[:find (count ?e) . :where [?e :m]]") == "2"


def test_a_tag_with_a_number_is_that_tempid(db):
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}]")
    report = db.tx('[{:db/id #db/id [:db.part/user -7] :n "a" :to #db/id [:db.part/user -8]} [:db/add -8 :n "b"]]')
    assert set(report.tempids) == {"-7", "-8"}
    assert db.q('[:find ?n . :where [?a :n "a"] [?a :to ?b] [?b :n ?n]]') == '"b"'


def test_the_partition_of_transactions(db):
    db.tx('[[:db/add #db/id[:db.part/tx] :by "ada"] {:db/id #db/id[:db.part/tx -1] :for "bo"} [:db/add 1 :n 2]]')
    assert db.q("[:find ?by ?for :where [1 :n _ ?tx] [?tx :by ?by] [?tx :for ?for]]") == '#{["ada" "bo"]}'


def test_installation_says_nothing_more(db):
    db.tx(
        f"[{{:db/id #db/id[:db.part/db] :db/ident :a {ATTRIBUTE} :db.install/_attribute :db.part/db}}"
        f" {{:db/id #db/id[:db.part/db] :db/ident :b {ATTRIBUTE} :db.install/_attribute :db.part/db}}]"
    )
    db.tx('[{:db/id 1 :a "x" :b "y"}]')
    assert db.q("[:find ?a ?b :where [1 :a ?a] [1 :b ?b]]") == '#{["x" "y"]}'
    db.tx('[{:db/id :a :db/doc "called" :db.alter/_attribute :db.part/db}]')
    db.tx("[[:db/add :db.part/db :db.install/attribute :b] [:db/add :db.part/db :db.alter/attribute :b]]")
    assert db.q("[:find ?d . :where [?i :db/ident :a] [?i :db/doc ?d]]") == '"called"'
    db.tx("[{:db/id #db/id[:db.part/db] :db/ident :people :db.install/_partition :db.part/db}]")
    assert db.q("[:find (count ?e) . :where [?e :db/ident :people]]") == "1"


def test_the_instant_needs_no_id(db):
    db.tx('[{:db/txInstant #inst "2020-01-01" :by "ada"} [:db/add 1 :n 1]]')
    assert db.q("[:find ?t ?by :where [1 :n _ ?tx] [?tx :db/txInstant ?t] [?tx :by ?by]]") == (
        '#{[#inst "2020-01-01" "ada"]}'
    )


def test_a_ref_is_named_by_a_map_with_its_id(db):
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :to [{:db/id 2} {:db/id 3}]} [:db/add 4 :to {:db/id 5}] {:db/id 6 :_to {:db/id 7}}]")
    assert db.q("[:find ?a ?b :where [?a :to ?b]]") == "#{[1 2] [1 3] [4 5] [7 6]}"
    db.tx("[{:db/id 8 :undeclared {:db/id 9}}]")
    assert db.q("[:find ?b . :where [8 :undeclared ?b]]") == "9"


def test_a_map_with_an_id_alone_says_nothing(db):
    report = db.tx('[{:db/id 1} {:db/id "new"} {:db/id 2 :n 1} {:db/id "datomic.tx"}]')
    assert [(each.e, each.a.name) for each in report.datoms if each.e < 2**20] == [(2, "n")]
    assert "new" not in report.tempids
    db.tx_refuses("TX_INVALID", "[{:db/id ‸:no/ident}]", says="no entity has the ident")
    db.tx_refuses("TX_INVALID", "[‸{}]", says="says nothing")


def test_the_empty_text_is_a_tempid(db):
    report = db.tx('[{:db/id "" :n 1} [:db/add "" :m 2]]')
    assert db.q(f"[:find ?n ?m :where [{report.tempids['']} :n ?n] [_ :m ?m]]") == "#{[1 2]}"
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}]")
    report = db.tx('[{:db/id "" :n 5} {:db/id 20 :to ""}]')
    assert db.q("[:find ?n . :where [20 :to ?x] [?x :n ?n]]") == "5"


def test_a_set_or_a_vector_for_many(db):
    db.tx("[{:db/ident :tags :db/cardinality :db.cardinality/many}]", '[[:db/add 1 :tags ["a" "b"]]]')
    db.tx('[{:db/id 2 :labels #{"x" "y"}}]', '[{:db/id 2 :labels ["z"]}]')
    assert db.q("[:find ?t :where [1 :tags ?t]]") == '#{["a"] ["b"]}'
    assert db.q("[:find ?t :where [2 :labels ?t]]") == '#{["x"] ["y"] ["z"]}'


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("[{:db/id ‸#db/id [1 2] :n 1}]", "EDN_SYNTAX", "partition"),
        ("[{:db/id ‸#db/id [:db.part/user 1] :n 1}]", "EDN_SYNTAX", "negative"),
        (f"[{{:db/ident :x {ATTRIBUTE} ‸:db/fulltext true}}]", "UNKNOWN_ATTRIBUTE", "includes?"),
    ],
)
def test_mistakes(db, text, code, says):
    db.tx_refuses(code, text, says=says)
