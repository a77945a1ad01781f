"""Lookup refs and idents stand for entities: in entity places, in ref places, in arguments."""

from __future__ import annotations

import pytest


@pytest.fixture
def people(db):
    db.tx("""[{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
              {:db/ident :code :db/valueType :db.type/long :db/unique :db.unique/value}
              {:db/ident :friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
              {:db/ident :kind :db/valueType :db.type/ref}
              {:db/ident :kind/human} {:db/ident :kind/robot}]""")
    db.tx("""[{:db/id 1 :email "ada@x" :code 7 :name "Ada" :kind :kind/human}
              {:db/id 2 :email "bob@x" :name "Bob" :friend [1] :kind :kind/human}
              {:db/id 3 :email "r2@x" :name "R2" :friend [1 2] :kind :kind/robot}]""")
    return db


def test_a_lookup_ref_in_the_entity_place(people):
    assert people.q('[:find ?n :where [[:email "ada@x"] :name ?n]]') == '#{["Ada"]}'
    assert people.q("[:find ?n :where [[:code 7] :name ?n]]") == '#{["Ada"]}'


def test_a_lookup_ref_in_a_ref_place(people):
    assert people.q('[:find ?n :where [?e :friend [:email "ada@x"]] [?e :name ?n]]') == '#{["Bob"] ["R2"]}'


def test_a_lookup_ref_at_both_ends(people):
    assert people.q('[:find ?x :in ?x :where [[:email "r2@x"] :friend [:email "bob@x"]]]', "1") == "#{[1]}"
    assert people.q('[:find ?x :in ?x :where [[:email "bob@x"] :friend [:email "r2@x"]]]', "1") == "#{}"


def test_an_ident_in_a_ref_place(people):
    assert people.q("[:find ?n :where [?e :kind :kind/robot] [?e :name ?n]]") == '#{["R2"]}'


def test_an_ident_in_the_entity_place(people):
    assert people.q("[:find ?i :where [:kind/robot :db/ident ?i]]") == "#{[:kind/robot]}"


def test_an_attribute_is_an_entity_with_an_ident(people):
    query = "[:find ?type :where [:email :db/valueType ?t] [?t :db/ident ?type]]"
    assert people.q(query) == "#{[:db.type/string]}"


def test_a_ref_joins_its_ident(people):
    query = "[:find ?n ?k :where [?e :kind ?x] [?x :db/ident ?k] [?e :name ?n]]"
    assert people.q(query) == '#{["Ada" :kind/human] ["Bob" :kind/human] ["R2" :kind/robot]}'


def test_a_lookup_ref_that_names_nobody_matches_nothing(people):
    assert people.q('[:find ?n :where [[:email "no@x"] :name ?n]]') == "#{}"
    assert people.q('[:find ?n :where [?e :friend [:email "no@x"]] [?e :name ?n]]') == "#{}"
    assert people.q('[:find ?n :where [?e :name ?n] (not [?e :friend [:email "no@x"]])]') == (
        '#{["Ada"] ["Bob"] ["R2"]}'
    )


def test_an_ident_that_names_nobody_matches_nothing(people):
    assert people.q("[:find ?e :where [?e :kind :kind/ghost]]") == "#{}"
    assert people.q("[:find ?n :where [:kind/ghost :name ?n]]") == "#{}"


def test_lookup_ref_as_an_argument(people):
    query = "[:find ?n :in $ ?e :where [?e :name ?n]]"
    assert people.q(query, '[:email "ada@x"]') == '#{["Ada"]}'
    assert people.q("[:find ?n :in $ ?f :where [?e :friend ?f] [?e :name ?n]]", '[:email "ada@x"]') == (
        '#{["Bob"] ["R2"]}'
    )


def test_lookup_refs_as_a_collection_argument(people):
    query = "[:find ?n :in $ [?e ...] :where [?e :name ?n]]"
    assert people.q(query, '[[:email "ada@x"] [:email "r2@x"] [:email "no@x"] 2]') == '#{["Ada"] ["R2"] ["Bob"]}'


def test_an_ident_as_an_argument(people):
    query = "[:find ?n :in $ ?k :where [?e :kind ?k] [?e :name ?n]]"
    assert people.q(query, ":kind/robot") == '#{["R2"]}'


def test_lookup_refs_inside_or_and_not(people):
    query = '[:find ?n :where [?e :name ?n] (or [?e :friend [:email "bob@x"]] [?e :email "ada@x"])]'
    assert people.q(query) == '#{["Ada"] ["R2"]}'
    query = '[:find ?n :where [?e :name ?n] (not [?e :friend [:email "ada@x"]])]'
    assert people.q(query) == '#{["Ada"]}'


def test_a_lookup_ref_by_a_variable(people):
    assert people.q("[:find ?n :in $ ?m :where [[:email ?m] :name ?n]]", '"bob@x"') == '#{["Bob"]}'


def test_a_lookup_ref_reads_its_own_source(people):
    people.tx('[[:db/add 1 :email "countess@x"]]')
    query = '[:find ?n :in $ $old :where [$old [:email "ada@x"] :name ?n]]'
    assert people.q(query, people.at(as_of=2)) == '#{["Ada"]}'
    assert people.q('[:find ?n :where [[:email "ada@x"] :name ?n]]') == "#{}"


def test_lookup_needs_a_unique_attribute(people):
    people.refuses("QUERY_INVALID", '[:find ?x :where [‸[:name "Ada"] :email ?x]]', says="unique")


def test_a_lookup_refs_value_is_coerced(people):
    assert people.q("[:find ?n :where [[:code 7] :name ?n]]") == '#{["Ada"]}'
    assert people.q("[:find ?n :where [[:code 7.0] :name ?n]]") == '#{["Ada"]}'


def test_functions_take_lookup_refs(people):
    assert people.q('[:find ?v . :where [(get-else $ [:email "ada@x"] :code 0) ?v]]') == "7"
