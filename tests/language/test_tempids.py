"""Temporary ids: strings and negative numbers; they unify across the whole transaction, in any order."""

from __future__ import annotations

import pytest

SCHEMA = """[{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :phone :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""


@pytest.fixture
def people(db):
    db.tx(SCHEMA)
    return db


def test_a_string(people):
    report = people.tx('[[:db/add "ada" :name "Ada"] [:db/add "ada" :age 36]]')
    ada = report.tempids["ada"]
    assert people.q("[:find ?e ?n ?a :where [?e :name ?n] [?e :age ?a]]") == f'#{{[{ada} "Ada" 36]}}'


def test_a_negative_number(people):
    report = people.tx('[[:db/add -1 :name "Ada"] {:db/id -2 :name "Bob" :friend -1}]')
    assert (
        people.q("[:find ?a ?b :where [?a :friend ?b]]") == f"#{{[{report.tempids['-2']} {report.tempids['-1']}]}}"
    )


def test_different_tempids_are_different_entities(people):
    report = people.tx('[{:db/id "a" :name "Same"} {:db/id "b" :name "Same"}]')
    assert report.tempids["a"] != report.tempids["b"]


def test_tempids_are_forgotten_after_the_transaction(people):
    first, second = people.tx('[{:db/id "a" :name "A"}]'), people.tx('[{:db/id "a" :name "A"}]')
    assert first.tempids["a"] != second.tempids["a"]


def test_used_before_it_is_described(people):
    people.tx('[[:db/add "a" :friend "b"] {:db/id "b" :name "Bob"} {:db/id "a" :name "Ada"}]')
    assert people.q("[:find ?x ?y :where [?a :friend ?b] [?a :name ?x] [?b :name ?y]]") == '#{["Ada" "Bob"]}'


def test_circular(people):
    people.tx('[{:db/id "a" :name "A" :friend "b"} {:db/id "b" :name "B" :friend ["a" "b"]}]')
    assert people.q("[:find ?x ?y :where [?a :friend ?b] [?a :name ?x] [?b :name ?y]]") == (
        '#{["A" "B"] ["B" "A"] ["B" "B"]}'
    )


def test_a_tempid_used_only_as_a_value(people):
    people.tx_refuses("TX_INVALID", '[[:db/add 1 :friend ‸"nobody"]]', says="nobody")
    people.tx_refuses("TX_INVALID", "[{:db/id 1 :friend [‸-7]}]", says="-7")


def test_a_string_in_a_place_that_is_no_ref_is_a_string(people):
    people.tx('[{:db/id "ada" :name "ada"}]')
    assert people.q("[:find ?n . :where [_ :name ?n]]") == '"ada"'


def test_upsert(people):
    people.tx('[{:db/id 1 :email "ada@x" :age 36}]')
    report = people.tx('[{:db/id "t" :email "ada@x" :age 37}]')
    assert report.tempids["t"] == 1
    assert people.q("[:find ?e ?a :where [?e :age ?a]]") == "#{[1 37]}"


def test_upsert_without_an_id(people):
    people.tx('[{:email "ada@x" :age 36}]', '[{:email "ada@x" :age 37}]')
    assert people.q("[:find ?a :where [?e :age ?a]]") == "#{[37]}"


def test_upsert_in_list_forms(people):
    people.tx('[{:db/id 1 :email "ada@x"}]')
    report = people.tx('[[:db/add "t" :age 5] [:db/add "t" :email "ada@x"]]')
    assert report.tempids["t"] == 1
    assert people.q("[:find ?e :where [?e :age 5]]") == "#{[1]}"


def test_upsert_reaches_references_written_before(people):
    people.tx('[{:db/id 1 :email "ada@x"}]')
    people.tx('[[:db/add 5 :friend "t"] {:db/id "t" :email "ada@x"}]')
    assert people.q("[:find ?f :where [5 :friend ?f]]") == "#{[1]}"


def test_upsert_of_a_nested_map(people):
    people.tx('[{:db/id 1 :email "ada@x"}]')
    people.tx('[{:db/id 5 :friend [{:email "ada@x" :age 36} {:email "new@x"}]}]')
    assert people.q("[:find ?m ?f :where [5 :friend ?f] [?f :email ?m] [(= ?f 1)]]") == '#{["ada@x" 1]}'
    assert people.q("[:find ?a :where [1 :age ?a]]") == "#{[36]}"


def test_two_tempids_meet_in_one_existing_entity(people):
    people.tx('[{:db/id 1 :email "ada@x" :phone "123"}]')
    report = people.tx('[{:db/id "a" :email "ada@x" :age 5} {:db/id "b" :phone "123" :name "Ada"}]')
    assert report.tempids == {"a": 1, "b": 1}
    assert people.q("[:find ?a ?n :where [1 :age ?a] [1 :name ?n]]") == '#{[5 "Ada"]}'


def test_two_tempids_meet_in_one_new_entity(people):
    report = people.tx('[{:db/id "a" :email "new@x" :age 5} {:db/id "b" :email "new@x" :name "New"}]')
    assert report.tempids["a"] == report.tempids["b"]
    assert people.q("[:find ?a ?n :where [?e :age ?a] [?e :name ?n]]") == '#{[5 "New"]}'


def test_an_upsert_to_two_entities(people):
    people.tx('[{:db/id 1 :email "ada@x"} {:db/id 2 :phone "123"}]')
    people.tx_refuses("UNIQUE_CONFLICT", '[{:db/id "t" :email "ada@x" :phone "123"}]')


def test_an_upsert_may_not_change_an_explicit_entity(people):
    people.tx('[{:db/id 1 :email "ada@x"}]')
    people.tx_refuses("UNIQUE_CONFLICT", '[{:db/id 2 :email ‸"ada@x"}]', says="ada@x")


def test_upsert_by_a_ref(db):
    db.tx("[{:db/ident :owner :db/valueType :db.type/ref :db/unique :db.unique/identity}]")
    db.tx('[{:db/id 1 :owner 9 :n 1} {:db/id 9 :name "Nine"}]')
    assert db.tx('[{:db/id "t" :owner 9 :n 2}]').tempids == {"t": 1}


def test_chained_upserts(db):
    """The second map is found by a ref to what the first map is found by."""
    db.tx("""[{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
              {:db/ident :owner :db/valueType :db.type/ref :db/unique :db.unique/identity}]""")
    db.tx('[{:db/id 9 :email "nine@x"} {:db/id 1 :owner 9 :n 1}]')
    report = db.tx('[{:db/id "thing" :owner "boss" :n 2} {:db/id "boss" :email "nine@x"}]')
    assert report.tempids == {"thing": 1, "boss": 9}


def test_upsert_on_many_values(db):
    db.tx("""[{:db/ident :alias :db/valueType :db.type/string :db/unique :db.unique/identity
               :db/cardinality :db.cardinality/many}]""")
    db.tx('[{:db/id 1 :alias ["a" "b"]}]')
    assert db.tx('[{:db/id "t" :alias ["b" "c"]}]').tempids == {"t": 1}
    assert db.q("[:find [?a ...] :where [1 :alias ?a]]") == '#{"a" "b" "c"}'


def test_upsert_does_not_follow_a_retraction(people):
    people.tx('[{:db/id 1 :email "ada@x"}]', '[[:db/retract 1 :email "ada@x"]]')
    assert people.tx('[{:db/id "t" :email "ada@x"}]').tempids["t"] != 1
