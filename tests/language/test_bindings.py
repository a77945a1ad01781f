"""The four shapes a function's result is taken apart into; nil drops the row; bound outputs filter."""

from __future__ import annotations

import pytest


def test_scalar(db):
    assert db.q("[:find ?y :in ?x :where [(inc ?x) ?y]]", "1") == "#{[2]}"


def test_tuple(db):
    assert db.q("[:find ?a ?b :where [(ground [1 2]) [?a ?b]]]") == "#{[1 2]}"
    assert db.q("[:find ?b :where [(ground [1 2]) [_ ?b]]]") == "#{[2]}"


def test_a_tuple_may_be_longer_than_the_binding(db):
    assert db.q("[:find ?a :where [(ground [1 2 3]) [?a _]]]") == "#{[1]}"


def test_a_tuple_must_not_be_shorter_than_the_binding(db):
    db.refuses("QUERY_INVALID", "[:find ?a :where [(ground [1]) [?a ?b]]]")


def test_collection(db):
    assert db.q("[:find ?x :where [(ground [1 2 2]) [?x ...]]]") == "#{[1] [2]}"
    assert db.q("[:find ?x :where [(ground []) [?x ...]]]") == "#{}"


def test_collection_of_tuples_and_sets(db):
    assert db.q("[:find ?x :where [(ground #{[1 2] [3 4]}) [?x ...]]]") == "#{[[1 2]] [[3 4]]}"


def test_relation(db):
    assert db.q("[:find ?x ?y :where [(ground [[1 2] [3 4] [1 2]]) [[?x ?y]]]]") == "#{[1 2] [3 4]}"
    assert db.q("[:find ?x :where [(ground [[1 2] [3 4]]) [[?x _]]]]") == "#{[1] [3]}"
    assert db.q("[:find ?x ?y :where [(ground []) [[?x ?y]]]]") == "#{}"


def test_each_row_has_its_own_result(db):
    query = '[:find ?s ?c :in [?s ...] :where [(re-seq "[a-z]" ?s) [?c ...]]]'
    assert db.q(query, '["ab" "b1" "2"]') == '#{["ab" "a"] ["ab" "b"] ["b1" "b"]}'


def test_a_bound_scalar_filters(db):
    assert db.q("[:find ?x :in [?x ...] :where [(* ?x ?x) ?y] [(+ ?x ?x) ?y]]", "[0 1 2 3]") == "#{[0] [2]}"


def test_a_bound_output_joins_a_pattern(db):
    db.tx("[{:db/id 1 :a 1 :b 2} {:db/id 2 :a 1 :b 3}]")
    assert db.q("[:find ?e :where [?e :a ?a] [?e :b ?b] [(inc ?a) ?b]]") == "#{[1]}"


def test_an_output_finds_an_entity(db):
    db.tx('[{:db/id 1 :next-to 5 :name "one"} {:db/id 6 :name "six"}]')
    assert db.q("[:find ?n :where [1 :next-to ?x] [(inc ?x) ?e] [?e :name ?n]]") == '#{["six"]}'


def test_the_output_may_be_the_input(db):
    assert db.q("[:find ?x :in [?x ...] :where [(* ?x ?x) ?x]]", "[0 1 2]") == "#{[0] [1]}"
    assert db.q("[:find ?x :in [?x ...] :where [(identity ?x) ?x]]", "[0 1]") == "#{[0] [1]}"


def test_a_bound_output_compares_by_type(db):
    assert db.q("[:find ?x :in [?x ...] :where [(ground 1.0) ?x]]", "[1 1.0]") == "#{[1.0]}"


def test_a_constant_in_the_binding_is_refused(db):
    db.refuses("QUERY_INVALID", "[:find ?x :in ?x :where [(inc ?x) ‸2]]", "1")


def test_bound_members_of_a_tuple_filter(db):
    assert db.q("[:find ?a ?b :in [?a ...] :where [(ground [2 9]) [?a ?b]]]", "[1 2]") == "#{[2 9]}"


def test_the_same_variable_twice_in_a_binding(db):
    assert db.q("[:find ?a :where [(ground [[1 1] [1 2] [3 3]]) [[?a ?a]]]]") == "#{[1] [3]}"


def test_bound_members_of_a_relation_filter(db):
    query = "[:find ?a ?b :in [?a ...] :where [(ground [[1 :x] [2 :y] [3 :z]]) [[?a ?b]]]]"
    assert db.q(query, "[1 3 4]") == "#{[1 :x] [3 :z]}"


def test_a_bound_collection_member_filters(db):
    assert db.q("[:find ?x :in [?x ...] :where [(ground [1 2]) [?x ...]]]", "[2 3]") == "#{[2]}"


def test_a_nil_result_drops_the_row(db):
    assert db.q('[:find ?x ?m :in [?x ...] :where [(re-find "b+" ?x) ?m]]', '["abb" "aaa"]') == '#{["abb" "bb"]}'
    assert db.q("[:find ?x :where [(ground nil) ?x]]") == "#{}"


def test_a_nil_result_drops_the_row_in_every_shape(db):
    assert db.q("[:find ?x ?y :in ?x :where [(identity nil) [?y ...]]]", "1") == "#{}"
    assert db.q("[:find ?x ?y :in ?x :where [(identity nil) [?y]]]", "1") == "#{}"
    assert db.q("[:find ?x ?y :in ?x :where [(identity nil) [[?y]]]]", "1") == "#{}"
    assert db.q("[:find ?x :in ?x :where [(identity nil) _]]", "1") == "#{}"


def test_false_is_a_value(db):
    assert db.q("[:find ?x ?y :in [?x ...] :where [(< ?x 2) ?y]]", "[1 2]") == "#{[1 true] [2 false]}"


def test_a_blank_output(db):
    assert db.q("[:find ?x :in [?x ...] :where [(inc ?x) _]]", "[1 2]") == "#{[1] [2]}"


def test_functions_chain_in_any_order(db):
    query = "[:find ?d :in ?a :where [(+ ?c 1) ?d] [(* ?b 2) ?c] [(inc ?a) ?b]]"
    assert db.q(query, "1") == "#{[5]}"


def test_functions_that_wait_for_each_other(db):
    db.refuses("UNBOUND_VARIABLE", "[:find ?a :where [(inc ?b) ?a] [(dec ?a) ?b]]")


def test_an_input_that_nothing_binds(db):
    db.refuses("UNBOUND_VARIABLE", "[:find ?y :where [(inc ‸?x) ?y]]", says="?x")
    db.refuses("UNBOUND_VARIABLE", "[:find ?b :where [(inc ‸?x) ?b]]", says="?x: it is an argument of (inc …)")
    db.refuses("UNBOUND_VARIABLE", "[:find ?b :where [(tuple ‸?x) [?b ...]]]", says="?x")


@pytest.mark.parametrize("binding", ["[?x ...]", "[[?x]]", "[?x]"])
def test_a_result_that_does_not_fit_the_binding(db, binding):
    db.refuses("QUERY_INVALID", f"[:find ?x :where ‸[(ground 42) {binding}]]")


def test_empty_bindings_are_refused(db):
    db.refuses("QUERY_INVALID", "[:find ?x :in ?x :where [(inc ?x) ‸[]]]", "1")
    db.refuses("QUERY_INVALID", "[:find ?x :in ?x :where [(inc ?x) ‸[[]]]]", "1")


def test_ground_many_rows_join(db):
    db.tx("[{:db/id 1 :age 1} {:db/id 2 :age 2} {:db/id 3 :age 3}]")
    assert (
        db.q("[:find ?e ?w :where [?e :age ?a] [(ground [[1 :one] [2 :two]]) [[?a ?w]]]]") == "#{[1 :one] [2 :two]}"
    )


def test_a_nil_result_ends_its_branch_and_no_other(db):
    query = '[:find ?s ?y :in [?s ...] :where (or [(re-find "a+" ?s) ?y] [(identity ?s) ?y])]'
    assert db.q(query, '["xaa" "b"]') == '#{["xaa" "aa"] ["xaa" "xaa"] ["b" "b"]}'


def test_a_nil_result_inside_not_takes_nothing_away(db):
    query = '[:find ?s :in [?s ...] :where (not [(re-find "a+" ?s) ?y])]'
    assert db.q(query, '["xaa" "b"]') == '#{["b"]}'


def test_an_empty_collection_in_one_branch(db):
    query = "[:find ?x :where (or [(ground []) [?x ...]] [(ground [1 1]) [?x ...]])]"
    assert db.q(query) == "#{[1]}"
