"""A variable in the place of an attribute is its keyword; in the place of an entity it stands for the attribute."""

from __future__ import annotations

import pytest

SCHEMA = """[{:db/ident :p/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one :db/doc "called"}
             {:db/ident :p/friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :form/field :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""


@pytest.fixture
def people(db):
    db.tx(
        SCHEMA, '[{:db/id 1 :p/name "Ada" :p/friend 2} {:db/id 2 :p/name "Bo"}]', "[{:db/id 9 :form/field :p/name}]"
    )
    return db


def test_the_entity_of_an_attribute(people):
    assert people.q("[:find ?n ?v :where [1 ?a ?v] [?a :db/ident ?n]]") == '#{[:p/name "Ada"] [:p/friend 2]}'
    assert people.q("[:find ?a ?v :where [1 ?a ?v] [?a :db/doc _]]") == '#{[:p/name "Ada"]}'
    assert people.q("[:find ?a :where [?a :db/valueType :db.type/ref] [1 ?a _]]") == "#{[:p/friend]}"
    assert people.q("[:find ?t :where [1 :p/friend ?v] [1 ?a ?v] [?a :db/valueType ?t0] [?t0 :db/ident ?t]]") == (
        "#{[:db.type/ref]}"
    )


def test_in_branches_and_negations(people):
    assert people.q("[:find ?a :where [1 ?a _] (not [?a :db/doc])]") == "#{[:p/friend]}"
    assert people.q("[:find ?a :where [1 ?a _] (or [?a :db/doc] [?a :db/valueType :db.type/ref])]") == (
        "#{[:p/name] [:p/friend]}"
    )
    assert people.q("[:find ?a :where [1 ?a _] (or-join [?a] [?a :db/doc] [?a :no/thing])]") == "#{[:p/name]}"
    assert people.q("[:find ?a :where [1 ?a _] (not-join [?a] [?a :db/doc ?d])]") == "#{[:p/friend]}"
    related = "(or-join [?e] (and [?e ?a] [?a :db/valueType :db.type/ref]))"
    assert people.q(f"[:find ?e :where [?e :p/name] {related}]") == "#{[1]}"


def test_the_value_of_a_ref(people):
    assert people.q("[:find ?e ?v :where [9 :form/field ?a] [?e ?a ?v]]") == '#{[1 "Ada"] [2 "Bo"]}'
    assert people.q("[:find ?v :in $ ?a :where [?e ?a ?v] [9 :form/field ?a]]", ":p/name") == '#{["Ada"] ["Bo"]}'


def test_a_keyword_elsewhere(people):
    assert people.q("[:find ?a ?s :where [1 ?a _] [(name ?a) ?s]]") == '#{[:p/name "name"] [:p/friend "friend"]}'
    assert people.q('[:find ?d :where [1 ?a _] [(get-else $ ?a :db/doc "-") ?d]]') == '#{["called"] ["-"]}'
    # Without an attribute's place it is the entity.
    assert people.q("[:find (count ?a) . :where [?a :db/doc]]") == "1"
    assert people.q("[:find ?n :in $ $rel :where [$rel ?e ?a] [?a :p/name ?n]]", "[[5 1]]") == '#{["Ada"]}'


def test_across_a_rule_call_it_is_the_keyword(people):
    rules = "[[(told ?x ?d) [?x :db/doc ?d]]]"
    assert people.q("[:find ?d :in $ % :where [1 ?a _] (told ?a ?d)]", rules) == "#{}"
    rules = "[[(told ?x ?d) [?i :db/ident ?x] [?i :db/doc ?d]]]"
    assert people.q("[:find ?d :in $ % :where [1 ?a _] (told ?a ?d)]", rules) == '#{["called"]}'
    rules = "[[(told ?e ?a ?d) [?e ?a] [?a :db/doc ?d]]]"
    assert people.q("[:find ?a ?d :in $ % :where (told 1 ?a ?d)]", rules) == '#{[:p/name "called"]}'


def test_another_source_and_a_query_within(people):
    assert people.q("[:find ?n :in $ $old :where [$old 1 ?a] [?a :db/ident ?n]]", people) == (
        "#{[:p/name] [:p/friend]}"
    )
    assert people.q("[:find ?n :in $ $old :where [1 ?a] ($old not [?a :db/doc]) [?a :db/ident ?n]]", people) == (
        "#{[:p/friend]}"
    )
    assert people.q("[:find ?ns :where [(q [:find [?n ...] :where [1 ?a] [?a :db/ident ?n]] $) ?ns]]") == (
        "#{[[:p/friend :p/name]]}"
    )


def test_a_pull_of_an_attribute(people):
    assert people.q("[:find (pull ?a [:db/ident :db/doc]) :where [1 ?a] [?a :db/doc]]") == (
        '[[{:db/ident :p/name :db/doc "called"}]]'
    )
