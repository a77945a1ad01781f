"""A vector or a set given to an attribute of cardinality many that has no type is several values (dialect 27)."""

from __future__ import annotations

from itertools import permutations

import pytest

from adalog.datalog.values import Keyword
from tests.support import World

ADD = Keyword("db/add")
MANY = ":db/cardinality :db.cardinality/many"
ALL = "[:find ?e ?v :where [?e :tags ?v]]"
TYPE = "[:find ?t . :where [:tags :db/valueType ?v] [?v :db/ident ?t]]"
CARDINALITY = "[:find ?t . :where [:tags :db/cardinality ?v] [?v :db/ident ?t]]"
EMAIL = "{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}"


@pytest.fixture
def tagged(db):
    db.tx(f"[{{:db/ident :tags {MANY}}}]")
    return db


@pytest.mark.parametrize("given", ['["robot" "ai"]', '#{"robot" "ai"}', '("robot" "ai")', '["robot" "ai" "robot"]'])
@pytest.mark.parametrize(
    "form", ["{:db/id 1 :tags GIVEN}", "[:db/add 1 :tags GIVEN]", "[:db.fn/default 1 :tags GIVEN]"]
)
def test_several_values(tagged, form, given):
    tagged.tx(f"[{form.replace('GIVEN', given)}]")
    assert tagged.q(ALL) == '#{[1 "robot"] [1 "ai"]}'
    assert tagged.q(TYPE) == ":db.type/string"


@pytest.mark.parametrize("form", ['{:db/id 1 :tags ["robot" "ai"]}', '[:db/add 1 :tags ["robot" "ai"]]'])
@pytest.mark.parametrize("first", [True, False])
def test_declared_in_the_same_transaction(db, form, first):
    declaration = f"{{:db/ident :tags {MANY}}}"
    db.tx(f"[{declaration} {form}]" if first else f"[{form} {declaration}]")
    assert db.q(ALL) == '#{[1 "robot"] [1 "ai"]}'
    assert db.q(CARDINALITY) == ":db.cardinality/many"


def test_declared_by_lists_in_any_order(db):
    many = '[:db/add "t" :db/cardinality :db.cardinality/many]'
    db.tx(f'[{many} [:db/add 1 :tags ["a" "b"]] [:db/add "t" :db/ident :tags]]')
    assert db.q(ALL) == '#{[1 "a"] [1 "b"]}'


FORMS = (
    '[:db/add 1 :tags ["a" "b"]]',
    '{:db/id 2 :tags "c"}',
    '[:db/add 3 :tags #{"d"}]',
    '{:db/id 4 :tags ["e"]}',
)


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_the_order_of_forms_does_not_matter(db, order, declared):
    declaration = f"{{:db/ident :tags {MANY}}}" if declared else ""
    basis = db.database.snapshot()
    snapshot, _ = db.database.speculate(basis, f"[{' '.join(FORMS[i] for i in order)} {declaration}]")
    then = World(db.database, db.pool, snapshot)
    assert then.q(ALL) == '#{[1 "a"] [1 "b"] [2 "c"] [3 "d"] [4 "e"]}'


def test_an_empty_vector_says_nothing_and_gives_no_type(tagged):
    tagged.tx("[{:db/id 1 :tags [] :n 1} {:db/id 2 :tags #{}}]")
    assert tagged.q(TYPE) == "nil"
    tagged.tx("[{:db/id 1 :tags [:a]}]")
    assert tagged.q(ALL) == "#{[1 :a]}"


def test_values_of_a_vector_have_one_type(tagged):
    tagged.tx_refuses("TX_INVALID", '[{:db/id 1 :tags ["a" ‸1]}]', says="string")
    tagged.tx_refuses("TX_INVALID", "[{:db/id 1 :tags [[1 2] ‸3]}]", says="tuple")
    tagged.tx_refuses("TX_INVALID", "[{:db/id 1 :tags [1 ‸nil]}]", says="nil")


def test_tuples_in_a_vector(tagged):
    tagged.tx("[{:db/id 1 :tags [[1 2] [3 4]]}]")
    assert tagged.q(ALL) == "#{[1 [1 2]] [1 [3 4]]}"


def test_nested_maps_are_refs(tagged):
    tagged.tx('[{:db/id 1 :tags [7 {:db/id "a" :n 1}]}]')
    assert tagged.q("[:find ?n :where [1 :tags ?v] [?v :n ?n]]") == "#{[1]}"
    assert tagged.q(TYPE) == ":db.type/ref"


def test_a_component_without_a_type_is_a_ref(db):
    db.tx(f"[{{:db/ident :lines :db/isComponent true {MANY}}}]", "[{:db/id 1 :lines [{:n 1} {:n 2}]}]")
    assert db.q("[:find ?n :where [1 :lines ?l] [?l :n ?n]]") == "#{[1] [2]}"


def test_a_lookup_ref_is_one_ref(tagged):
    tagged.tx(f"[{EMAIL}]", '[{:db/id 5 :email "x"} {:db/id 6 :email "y"}]', '[{:db/id 1 :tags [:email "x"]}]')
    assert tagged.q(ALL) == "#{[1 5]}"
    assert tagged.q(TYPE) == ":db.type/ref"


def test_lookup_refs_in_a_vector(tagged):
    tagged.tx(f"[{EMAIL}]", '[{:db/id 5 :email "x"} {:db/id 6 :email "y"}]')
    tagged.tx('[{:db/id 1 :tags [[:email "x"] [:email "y"]]}]')
    assert tagged.q(ALL) == "#{[1 5] [1 6]}"


def test_two_keywords_are_no_lookup_ref(tagged):
    tagged.tx(f"[{EMAIL}]", "[{:db/id 1 :tags [:email :phone]}]")
    assert tagged.q(ALL) == "#{[1 :email] [1 :phone]}"


def test_reverse_keys(tagged):
    tagged.tx("[{:db/id 9 :_tags [1 2]}]")
    assert tagged.q(ALL) == "#{[1 9] [2 9]}"


def test_a_nested_map_gives_several_values(tagged):
    tagged.tx('[{:db/id 1 :child {:db/id "c" :tags ["a" "b"]}}]')
    assert len(tagged.q(ALL)) == 2


def test_what_a_function_makes(tagged):
    tagged.tx(
        '[{:db/ident :tag :db/fn "[:find ?o ?e ?a ?v :in $ ?e ?v :where [(ground [:db/add :tags]) [?o ?a]]]"}]'
    )
    tagged.tx("[[:tag 1 [:a :b]]]")
    assert tagged.q(ALL) == "#{[1 :a] [1 :b]}"


def test_a_set_for_an_undeclared_attribute_is_several_values(db):
    db.tx('[{:db/id 1 :tags #{"a" "b"}}]')
    assert db.q(ALL) == '#{[1 "a"] [1 "b"]}'
    assert db.q(CARDINALITY) == ":db.cardinality/many"


def test_a_set_says_so_wherever_it_stands(db):
    db.tx('[{:db/id 1 :tags "c"} {:db/id 2 :child {:db/id "x" :tags #{"a" "b"}}} [:db/add 3 :tags ["d" "e"]]]')
    assert len(db.q(ALL)) == 5


def test_a_vector_for_an_undeclared_attribute_is_a_tuple(db):
    db.tx('[{:db/id 1 :tags ["a" "b"]}]')
    assert db.q(ALL) == '#{[1 ["a" "b"]]}'
    assert db.q(CARDINALITY) == ":db.cardinality/one"


def test_a_set_for_an_undeclared_attribute_under_a_strict_schema(strict):
    strict.tx_refuses("UNKNOWN_ATTRIBUTE", '[{:db/id 1 ‸:tags #{"a"}}]')


def test_retractions(tagged):
    tagged.tx('[[:db/retract 1 :tags ["a"]]]')
    tagged.tx_refuses("TX_CONFLICT", '[{:db/id 1 :tags ["a" "b"]} [:db/retract 1 :tags ["b" "c"]]]')
    tagged.tx('[{:db/id 1 :tags ["a" "b"]}]')
    tagged.tx('[[:db/retract 1 :tags "a"]]')
    assert tagged.q(ALL) == '#{[1 "b"]}'


def test_swaps_want_one_value(tagged):
    tagged.tx_refuses("TX_INVALID", '[[:db/cas 1 ‸:tags nil ["a"]]]', says="many")


def test_a_declared_type_says_what_a_vector_is(db):
    db.tx(f"[{{:db/ident :tags :db/valueType :db.type/tuple {MANY}}}]", "[{:db/id 1 :tags [1 2]}]")
    assert db.q(ALL) == "#{[1 [1 2]]}"


def test_python_lists_and_sets(tagged):
    tagged.database.transact([{Keyword("db/id"): 1, Keyword("tags"): ["a", "b"]}, [ADD, 2, Keyword("tags"), {"c"}]])
    assert tagged.q(ALL) == '#{[1 "a"] [1 "b"] [2 "c"]}'
