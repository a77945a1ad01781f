"""Patterns: one to five places, constants and variables anywhere, blanks where short."""

from __future__ import annotations

from random import Random

import pytest

from adalog.planner.model.plan import Options

FAMILY = """[{:db/id 1 :name "Ada" :age 36 :likes :math}
             {:db/id 2 :name "Byron" :age 36}
             {:db/id 3 :name "Annabella" :age 67 :likes :math}]"""


@pytest.fixture
def family(db):
    db.tx(FAMILY)
    return db


def test_value_variable(family):
    assert family.q("[:find ?n :where [1 :name ?n]]") == '#{["Ada"]}'


def test_entity_variable(family):
    assert family.q('[:find ?e :where [?e :name "Byron"]]') == "#{[2]}"


def test_both_ends_are_variables(family):
    assert family.q("[:find ?e ?n :where [?e :name ?n]]") == '#{[1 "Ada"] [2 "Byron"] [3 "Annabella"]}'


def test_two_patterns_join_on_a_shared_variable(family):
    assert family.q("[:find ?n :where [?e :age 36] [?e :name ?n]]") == '#{["Ada"] ["Byron"]}'


def test_join_on_values(family):
    query = "[:find ?a ?b :where [?x :age ?n] [?y :age ?n] [?x :name ?a] [?y :name ?b] [(not= ?x ?y)]]"
    assert family.q(query) == '#{["Ada" "Byron"] ["Byron" "Ada"]}'


def test_patterns_without_a_shared_variable_multiply(family):
    assert family.q("[:find ?a ?k :where [?x :name ?a] [?y :likes ?k] [?y :age 67] [?x :age 67]]") == (
        '#{["Annabella" :math]}'
    )
    assert len(family.q("[:find ?x ?y :where [?x :name] [?y :name]]")) == 9


def test_two_places_leave_the_value_blank(family):
    assert family.q("[:find ?e :where [?e :likes]]") == "#{[1] [3]}"


def test_one_place_is_any_datom_of_the_entity(family):
    query = "[:find ?e :in $ [?e ...] :where [?e]]"
    assert family.q(query, "[1 2 3 999]") == "#{[1] [2] [3]}"


def test_blanks_are_each_their_own(family):
    assert family.q("[:find ?e :where [?e :age _] [?e :likes _]]") == "#{[1] [3]}"
    assert family.q("[:find ?n :where [_ :likes _] [_ :name ?n]]") == '#{["Ada"] ["Byron"] ["Annabella"]}'


def test_attribute_variable_binds_the_keyword(family):
    assert family.q("[:find ?a ?v :where [1 ?a ?v]]") == '#{[:name "Ada"] [:age 36] [:likes :math]}'


def test_attribute_variable_joins_two_patterns(family):
    query = "[:find ?a ?v :where [1 ?a ?v] [3 ?a ?v]]"
    assert family.q(query) == "#{[:likes :math]}"


def test_attribute_variable_from_input(family):
    assert family.q("[:find ?v :in $ ?a :where [2 ?a ?v]]", ":age") == "#{[36]}"
    assert family.q("[:find ?v :in $ [?a ...] :where [2 ?a ?v]]", "[:age :name :likes]") == '#{[36] ["Byron"]}'


def test_attribute_variable_filtered_by_a_predicate(family):
    query = '[:find ?a :where [1 ?a _] [(str ?a) ?s] [(starts-with? ?s ":n")]]'
    assert family.q(query) == "#{[:name]}"


def test_attribute_place_blank(family):
    assert family.q("[:find ?v :where [2 _ ?v]]") == '#{["Byron"] [36]}'


def test_attribute_variable_also_used_as_a_value(db):
    db.tx("[{:db/id 1 :watches :age} {:db/id 2 :age 5} {:db/id 3 :size 6}]")
    assert db.q("[:find ?e ?v :where [1 :watches ?a] [?e ?a ?v]]") == "#{[2 5]}"


def test_attribute_named_by_nothing_matches_nothing(family):
    assert family.q("[:find ?e :where [?e :never/seen ?v]]") == "#{}"
    assert family.q("[:find ?v :in $ ?a :where [2 ?a ?v]]", ":never/seen") == "#{}"


def test_a_repeated_variable_means_equal(db):
    db.tx("[[:db/add 1 :g/to 2] [:db/add 2 :g/to 2] [:db/add 3 :g/to 1]]")
    assert db.q("[:find ?a :where [?a :g/to ?a]]") == "#{[2]}"


def test_a_repeated_variable_with_other_patterns(db):
    db.tx("[[:db/add 1 :g/to 2] [:db/add 2 :g/to 2] [:db/add 3 :g/to 1]]")
    assert db.q("[:find ?x ?a :where [?x :g/to ?a] [?a :g/to ?a]]") == "#{[1 2] [2 2]}"


def test_a_pattern_without_variables_is_a_gate(family):
    assert family.q("[:find ?n :where [1 :age 36] [2 :name ?n]]") == '#{["Byron"]}'
    assert family.q("[:find ?n :where [1 :age 37] [2 :name ?n]]") == "#{}"
    assert family.q("[:find ?n :where [1 :age _] [2 :name ?n]]") == '#{["Byron"]}'
    assert family.q("[:find ?n :where [_ :likes :chess] [2 :name ?n]]") == "#{}"


def test_only_gates_and_an_input(family):
    assert family.q("[:find ?x :in $ ?x :where [1 :age 36]]", "7") == "#{[7]}"
    assert family.q("[:find ?x :in $ ?x :where [1 :age 99]]", "7") == "#{}"


def test_the_fourth_place_is_the_transaction_entity(db):
    first, second = db.tx("[[:db/add 1 :x 1]]"), db.tx("[[:db/add 2 :x 2]]")
    assert (first.t, second.t) == (1, 2)
    query = "[:find ?e ?tx :where [?e :x _ ?tx]]"
    rows = dict(db.run(query).rows())
    assert rows[1] < rows[2]
    assert db.q("[:find ?e :where [?e :x _ ?tx] [?tx :db/txInstant ?when]]") == "#{[1] [2]}"


def test_the_transaction_joins_data_about_the_transaction(db):
    db.tx('[[:db/add 1 :x 1] [:db/add "datomic.tx" :source "import"]]', "[[:db/add 2 :x 2]]")
    assert db.q('[:find ?e :where [?e :x _ ?tx] [?tx :source "import"]]') == "#{[1]}"


def test_two_datoms_of_one_transaction(db):
    db.tx("[[:db/add 1 :x 1] [:db/add 1 :y 1]]", "[[:db/add 2 :x 1]]", "[[:db/add 2 :y 1]]")
    assert db.q("[:find ?e :where [?e :x _ ?t] [?e :y _ ?t]]") == "#{[1]}"


def test_the_fifth_place_is_true_now(db):
    db.tx("[[:db/add 1 :x 1]]", "[[:db/add 1 :x 2]]")
    assert db.q("[:find ?v ?added :where [1 :x ?v _ ?added]]") == "#{[2 true]}"
    assert db.q("[:find ?v :where [1 :x ?v _ true]]") == "#{[2]}"
    assert db.q("[:find ?v :where [1 :x ?v _ false]]") == "#{}"


def test_six_places_are_too_many(db):
    db.refuses("QUERY_INVALID", "[:find ?e :where ‸[?e :a ?v ?tx ?added ?more]]")


def test_an_empty_pattern_is_refused(db):
    db.refuses("QUERY_INVALID", "[:find ?e :where [?e :a] ‸[]]")


def test_many_valued_attributes_match_once_for_each_value(db):
    db.tx("[{:db/ident :tag :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :tag [:a :b]} {:db/id 2 :tag [:b]}]")
    assert db.q("[:find ?e ?t :where [?e :tag ?t]]") == "#{[1 :a] [1 :b] [2 :b]}"
    assert db.q("[:find ?e :where [?e :tag :a] [?e :tag :b]]") == "#{[1]}"


def test_a_triangle(db):
    db.tx("[{:db/ident :g/to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[[:db/add 1 :g/to 2] [:db/add 2 :g/to 3] [:db/add 1 :g/to 3] [:db/add 3 :g/to 4] [:db/add 4 :g/to 1]]")
    query = "[:find ?a ?b ?c :where [?a :g/to ?b] [?b :g/to ?c] [?a :g/to ?c]]"
    assert db.q(query) == "#{[1 2 3]}"
    cycle = "[:find ?a ?b ?c :where [?a :g/to ?b] [?b :g/to ?c] [?c :g/to ?a]]"
    assert db.q(cycle) == "#{[1 3 4] [3 4 1] [4 1 3]}"


def test_whole_entities_by_attribute_variable_and_value(family):
    assert family.q("[:find ?e ?a :where [?e ?a 36]]") == "#{[1 :age] [2 :age]}"
    assert family.q("[:find ?e ?a :where [?e ?a :math]]") == "#{[1 :likes] [3 :likes]}"


def test_many_patterns_over_the_same_variables(db):
    """More of them than the compiled intersection takes at once."""
    random = Random(7)
    names = [f":d{i}" for i in range(9)]
    pairs = {name: {(random.randrange(20), random.randrange(20)) for _ in range(330)} for name in names}
    for name in names:
        db.tx(f"[{{:db/ident {name} :db/valueType :db.type/long :db/cardinality :db.cardinality/many}}]")
        db.tx(f"[{' '.join(f'[:db/add {x} {name} {y}]' for x, y in pairs[name])}]")
    for count in (5, 6, 9):
        where = " ".join(f"[?x {name} ?y]" for name in names[:count])
        wanted = set.intersection(*(pairs[name] for name in names[:count]))
        assert {tuple(row) for row in db.run(f"[:find ?x ?y :where {where}]").rows()} == wanted
        assert db.run(f"[:find (count ?y) . :with ?x :where {where}]").rows() == [(len(wanted),)]


def test_a_pattern_said_a_thousand_times(db):
    db.tx("[[:db/add 1 :a 2] [:db/add 3 :a 4]]")
    assert db.q(f"[:find ?x ?y :where {'[?x :a ?y] ' * 1001}]") == "#{[1 2] [3 4]}"


def test_several_patterns_agree_on_a_value_that_some_prefixes_have_no_row_for(db):
    many = ":db/valueType :db.type/long :db/cardinality :db.cardinality/many"
    db.tx("[" + " ".join(f"{{:db/ident {name} {many}}}" for name in (":c", ":p", ":q", ":r")) + "]")
    db.tx("[{:db/id 1 :c [10 11 12] :p [5 6] :q [5 7]} {:db/id 11 :r [5]} {:db/id 12 :r [5 6]}]")
    query = "[:find ?c ?d :where [?a :c ?c] [?a :p ?d] [?a :q ?d] [?c :r ?d]]"
    assert db.q(query) == "#{[11 5] [12 5]}"
    assert db.q(query, options=Options(reorder=False)) == "#{[11 5] [12 5]}"
