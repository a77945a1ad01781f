"""`not`: rows that can not be extended. Shared variables unify, the others are existential."""

from __future__ import annotations

import pytest


@pytest.fixture
def people(db):
    db.tx("""[{:db/ident :friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]""")
    db.tx("""[{:db/id 1 :name "Ada" :sex :f :friend [2 3]} {:db/id 2 :name "Bob" :sex :m :friend [1]}
              {:db/id 3 :name "Cy"} {:db/id 4 :name "Dee" :sex :f :friend [3]}]""")
    return db


def test_not_a_value(people):
    assert people.q("[:find ?p :where [?p :name] (not [?p :sex :f])]") == "#{[2] [3]}"


def test_not_an_attribute(people):
    assert people.q("[:find ?p :where [?p :name] (not [?p :sex _])]") == "#{[3]}"
    assert people.q("[:find ?p :where [?p :name] (not [?p :sex])]") == "#{[3]}"


def test_not_before_what_binds_it(people):
    assert people.q("[:find ?p :where (not [?p :sex :f]) [?p :name]]") == "#{[2] [3]}"


def test_an_unshared_variable_is_existential(people):
    assert people.q("[:find ?p :where [?p :name] (not [?p :friend ?f])]") == "#{[3]}"
    assert people.q("[:find ?p :where [?p :name] (not [?p :friend ?f] [?f :sex :m])]") == "#{[2] [3] [4]}"


def test_all_clauses_of_a_not_together(people):
    """Neither clause alone removes the row; both must hold at once."""
    assert people.q('[:find ?p :where [?p :name] (not [?p :sex :f] [?p :name "Ada"])]') == "#{[2] [3] [4]}"


def test_shared_variables_unify(people):
    query = "[:find ?a ?b :where [?a :friend ?b] (not [?b :friend ?a])]"
    assert people.q(query) == "#{[1 3] [4 3]}"


def test_several_nots(people):
    assert people.q("[:find ?p :where [?p :name] (not [?p :sex :f]) (not [?p :sex :m])]") == "#{[3]}"


def test_nots_do_not_share_existential_variables(people):
    query = "[:find ?p :where [?p :name] (not [?p :friend ?x]) (not [?x :friend ?p])]"
    assert people.q(query) == "#{}"
    query = "[:find ?p :where [?p :name] (not [?p :friend ?x] [?x :sex :m]) (not [?x :friend ?p] [?x :sex :m])]"
    assert people.q(query) == "#{[2] [3] [4]}"


def test_double_negation(people):
    assert people.q("[:find ?p :where [?p :name] (not (not [?p :sex :f]))]") == "#{[1] [4]}"
    query = "[:find ?p :where [?p :name] (not [?p :friend ?f] (not [?f :sex :m]))]"
    assert people.q(query) == "#{[3]}"


def test_for_all(people):
    """Everyone all of whose friends have a sex: no friend without one."""
    query = "[:find ?p :where [?p :friend] (not [?p :friend ?f] (not [?f :sex]))]"
    assert people.q(query) == "#{[2]}"


def test_predicates_inside(people):
    assert people.q('[:find ?p :where [?p :name ?n] (not [(= ?n "Ada")])]') == "#{[2] [3] [4]}"
    assert (
        people.q("[:find ?p :where [?p :name ?n] (not [?p :friend ?f] [?f :name ?m] [(< ?m ?n)])]") == "#{[1] [3]}"
    )


def test_functions_inside(people):
    query = '[:find ?p :where [?p :name ?n] (not [(str ?n "!") ?s] [(= ?s "Ada!")])]'
    assert people.q(query) == "#{[2] [3] [4]}"


def test_a_function_output_inside_unifies_with_outside(db):
    assert db.q("[:find ?x ?y :in [[?x ?y]] :where (not [(inc ?x) ?y])]", "[[1 2] [1 3]]") == "#{[1 3]}"


def test_or_inside(people):
    query = "[:find ?p :where [?p :name] (not (or [?p :sex :m] [?p :friend 2]))]"
    assert people.q(query) == "#{[3] [4]}"


def test_not_of_nothing_keeps_everything(people):
    assert people.q("[:find ?p :where [?p :sex] (not [?p :no-such :thing])]") == "#{[1] [2] [4]}"


def test_not_over_nothing_is_nothing(people):
    assert people.q("[:find ?p :where [?p :no-such] (not [?p :sex :f])]") == "#{}"


def test_a_not_on_an_input(people):
    assert people.q("[:find ?x :in $ [?x ...] :where (not [_ :friend ?x])]", "[1 2 3 4 99]") == "#{[4] [99]}"


def test_a_not_of_constants_and_an_input_is_a_gate(people):
    assert people.q("[:find ?x :in $ ?x ?n :where (not [3 :sex ?n])]", "1", ":f") == "#{[1]}"
    assert people.q("[:find ?x :in $ ?x ?n :where (not [1 :sex ?n])]", "1", ":f") == "#{}"


def test_attribute_variable_inside(people):
    assert people.q("[:find ?p :where [?p :name] (not [?p ?a :f])]") == "#{[2] [3]}"


def test_attribute_variable_shared(people):
    query = "[:find ?a :where [1 ?a] (not [3 ?a])]"
    assert people.q(query) == "#{[:sex] [:friend]}"


def test_rows_are_kept_whole(people):
    query = "[:find ?n ?m :where [?a :friend ?b] [?a :name ?n] [?b :name ?m] (not [?a :sex :f] [?b :sex :m])]"
    assert people.q(query) == '#{["Ada" "Cy"] ["Bob" "Ada"] ["Dee" "Cy"]}'


def test_friends_of_friends_that_are_not_friends(people):
    query = "[:find ?a ?c :where [?a :friend ?b] [?b :friend ?c] (not [?a :friend ?c]) [(not= ?a ?c)]]"
    assert people.q(query) == "#{[2 3]}"


def test_a_not_that_shares_nothing(people):
    people.refuses("UNBOUND_VARIABLE", "[:find ?p :where [?p :name] ‸(not [?q :sex :f])]", says="?q")
    people.refuses("UNBOUND_VARIABLE", '[:find ?p :where ‸(not [?p :name "Ada"])]', says="?p")


def test_the_article_case_of_a_lone_not(people):
    people.refuses("UNBOUND_VARIABLE", "{:find [p] :where [‸(not [p :profession :programmer])]}")


def test_a_find_variable_bound_only_inside(people):
    people.refuses("UNBOUND_VARIABLE", "[:find ?p ‸?f :where [?p :name] (not [?p :friend ?f])]", says="?f")


def test_an_empty_not(people):
    people.refuses("QUERY_INVALID", "[:find ?p :where [?p :name] ‸(not)]")


def test_the_order_of_clauses_inside_does_not_matter(people):
    query = "[:find ?p :where [?p :name] (not [(= ?s :m)] [?f :sex ?s] [?p :friend ?f])]"
    assert people.q(query) == "#{[2] [3] [4]}"
