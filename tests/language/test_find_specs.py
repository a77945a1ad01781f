"""Find specs: relation, collection, tuple, scalar; answers are sets; keys name the columns."""

from __future__ import annotations

import pytest


@pytest.fixture
def people(db):
    db.tx("""[{:db/id 1 :name "Ada" :age 36} {:db/id 2 :name "Byron" :age 36} {:db/id 3 :name "Zoe" :age 9}]""")
    return db


def test_relation(people):
    assert people.q("[:find ?n ?a :where [?e :name ?n] [?e :age ?a]]") == '#{["Ada" 36] ["Byron" 36] ["Zoe" 9]}'


def test_relation_is_a_set(people):
    assert people.q("[:find ?a :where [?e :age ?a]]") == "#{[36] [9]}"
    assert len(people.run("[:find ?a :where [?e :age ?a]]")) == 2


def test_the_same_variable_twice_in_find(people):
    assert people.q("[:find ?a ?a :where [_ :age ?a]]") == "#{[36 36] [9 9]}"


def test_order_of_columns_is_the_written_one(people):
    query = "[:find ?a ?n :where [?e :name ?n] [?e :age ?a] [(= ?a 9)]]"
    assert people.q(query) == '#{[9 "Zoe"]}'
    assert [column.name for column in people.run(query).columns] == ["?a", "?n"]


def test_collection(people):
    assert people.q("[:find [?a ...] :where [_ :age ?a]]") == "#{36 9}"
    assert people.q("[:find [?a ...] :where [_ :size ?a]]") == "#{}"


def test_tuple(people):
    assert people.q("[:find [?n ?a] :where [3 :name ?n] [3 :age ?a]]") == '["Zoe" 9]'


def test_tuple_of_nothing_is_nil(people):
    assert people.q("[:find [?n ?a] :where [4 :name ?n] [4 :age ?a]]") == "nil"


def test_scalar(people):
    assert people.q("[:find ?n . :where [3 :name ?n]]") == '"Zoe"'
    assert people.q("{:find [?n .] :where [[3 :name ?n]]}") == '"Zoe"'


def test_scalar_of_nothing_is_nil(people):
    assert people.q("[:find ?n . :where [4 :name ?n]]") == "nil"


def test_tuple_and_scalar_of_many_give_one_of_them(people):
    assert people.q("[:find ?a . :where [_ :age ?a]]").value in (36, 9)
    assert people.q("[:find [?n ?a] :where [?e :name ?n] [?e :age ?a]]").value in {
        ("Ada", 36),
        ("Byron", 36),
        ("Zoe", 9),
    }


def test_aggregates_in_every_shape(people):
    assert people.q("[:find (count ?e) . :where [?e :age]]") == "3"
    assert people.q("[:find [(min ?a) (max ?a)] :where [?e :age ?a]]") == "[9 36]"
    assert people.q("[:find [(count ?e) ...] :where [?e :age]]") == "#{3}"


def test_collection_of_an_aggregate_has_one_group(people):
    assert people.q("[:find [(count ?n) ...] :with ?a :where [?e :age ?a] [?e :name ?n]]") == "#{3}"


def test_keys_strs_syms(people):
    where = ":where [?e :name ?n] [?e :age ?a] [(= ?a 9)]]"
    assert people.q("[:find ?n ?a :keys name age " + where) == '#{{:name "Zoe" :age 9}}'
    assert people.q("[:find ?n ?a :strs name age " + where) == '#{{"name" "Zoe" "age" 9}}'
    assert people.q("[:find ?n ?a :syms name age " + where) == '#{{name "Zoe" age 9}}'


def test_keys_with_namespaces_and_aggregates(people):
    query = "[:find ?a (count ?e) :keys person/age n :where [?e :age ?a]]"
    assert people.q(query) == "#{{:person/age 36 :n 2} {:person/age 9 :n 1}}"


def test_keys_of_a_tuple(people):
    query = "[:find [?n ?a] :keys name age :where [?e :name ?n] [?e :age ?a] [(= ?a 9)]]"
    assert people.run(query).rows() == [("Zoe", 9)]


def test_as_many_keys_as_columns(people):
    people.refuses("QUERY_INVALID", "[:find ?n ?a :keys ‸name :where [?e :name ?n] [?e :age ?a]]")
    people.refuses("QUERY_INVALID", "[:find ?n :keys a ‸b :where [?e :name ?n]]")


def test_keys_only_once(people):
    people.refuses("QUERY_INVALID", "[:find ?n :keys a ‸:strs b :where [?e :name ?n]]")


def test_keys_make_no_sense_for_a_collection_or_a_scalar(people):
    people.refuses("QUERY_INVALID", "[:find [?n ...] :keys a :where [?e :name ?n]]")
    people.refuses("QUERY_INVALID", "[:find ?n . :keys a :where [?e :name ?n]]")


def test_a_duplicate_key_name(people):
    people.refuses("QUERY_INVALID", "[:find ?n ?a :keys x ‸x :where [?e :name ?n] [?e :age ?a]]")


def test_find_needs_an_element(people):
    people.refuses("QUERY_INVALID", "[:find :where [?e :name ?n]]")
    people.refuses("QUERY_INVALID", "[:find [] :where [?e :name ?n]]")


def test_what_cannot_be_found(people):
    people.refuses("QUERY_INVALID", "[:find ‸_ :where [?e :name ?n]]")
    people.refuses("QUERY_INVALID", "[:find ‸42 :where [?e :name ?n]]")
    people.refuses("QUERY_INVALID", "[:find ?n ‸. ?a :where [?e :name ?n] [?e :age ?a]]")
    people.refuses("QUERY_INVALID", "[:find [?n ‸... ?a] :where [?e :name ?n] [?e :age ?a]]")


def test_column_types(people):
    types = [column.type for column in people.run("[:find ?e ?n ?a :where [?e :name ?n] [?e :age ?a]]").columns]
    assert types[1:] == ["string", "long"]
