"""Negation and aggregates between strata, and the refusal of a cycle through them."""

from __future__ import annotations

import pytest

from adalog.planner.model.plan import Options


@pytest.fixture
def game(db):
    """A game of moves: a position without a move is lost."""
    db.tx("[{:db/ident :move :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :move [2 3]} {:db/id 2 :move [3]} {:db/id 3 :move [4]} {:db/id 5 :move [5]}]")
    return db


def test_three_strata(game):
    rules = """[[(move ?a ?b) [?a :move ?b]]
                [(position ?a) (move ?a _)] [(position ?b) (move _ ?b)]
                [(lost ?a) (position ?a) (not (move ?a _))]
                [(wins ?a) (move ?a ?b) (lost ?b)]
                [(open ?a) (position ?a) (not (lost ?a)) (not (wins ?a))]]"""
    assert game.q(f"[:find ?a :where (lost ?a) :rules {rules}]") == "#{[4]}"
    assert game.q(f"[:find ?a :where (wins ?a) :rules {rules}]") == "#{[3]}"
    assert game.q(f"[:find ?a :where (open ?a) :rules {rules}]") == "#{[1] [2] [5]}"


def test_negation_of_a_recursive_rule(game):
    rules = """[[(reach ?a ?b) [?a :move ?b]] [(reach ?a ?c) [?a :move ?b] (reach ?b ?c)]
                [(ends ?a) (reach ?a _) (not (reach ?a ?a))]]"""
    assert game.q(f"[:find ?a :where (ends ?a) :rules {rules}]") == "#{[1] [2] [3]}"
    assert game.q(f"[:find ?b :where [?b :move] (not (reach 2 ?b)) :rules {rules}]") == "#{[1] [2] [5]}"


def test_recursion_over_a_negation(game):
    rules = """[[(stuck ?a) [_ :move ?a] (not [?a :move _])]
                [(free ?a ?b) [?a :move ?b] (not (stuck ?b))]
                [(far ?a ?b) (free ?a ?b)] [(far ?a ?c) (far ?a ?b) (free ?b ?c)]]"""
    assert game.q(f"[:find ?a ?b :where (far ?a ?b) :rules {rules}]") == "#{[1 2] [1 3] [2 3] [5 5]}"


def test_negation_twice_between_strata(game):
    rules = """[[(a ?x) [?x :move 3]] [(b ?x) [?x :move] (not (a ?x))] [(c ?x) [?x :move] (not (b ?x))]]"""
    assert game.q(f"[:find ?x :where (c ?x) :rules {rules}]") == "#{[1] [2]}"


def test_a_rule_below_and_above(game):
    """The same lower rule is read as it is and denied."""
    rules = (
        """[[(to ?a ?b) [?a :move ?b]] [(only ?a ?b) (to ?a ?b) (not-join [?a ?b] (to ?a ?c) [(not= ?b ?c)])]]"""
    )
    assert game.q(f"[:find ?a ?b :where (only ?a ?b) :rules {rules}]") == "#{[2 3] [3 4] [5 5]}"


def test_a_rule_that_denies_itself(game):
    query = "[:find ?a :where (wins ?a) :rules [‸[(wins ?a) [?a :move ?b] (not (wins ?b))]]]"
    error = game.refuses("UNSTRATIFIABLE", query, says="wins → not wins")
    assert "wins" in error.message


def test_a_longer_cycle_is_spelled_out(game):
    rules = """[[(a ?x) (b ?x)] [(b ?x) (c ?x)] [(c ?x) [?x :move] (not (a ?x))]]"""
    error = game.refuses("UNSTRATIFIABLE", f"[:find ?x :where (b ?x) :rules {rules}]")
    assert "c → not a → b → c" in error.message


def test_through_not_join_and_or(game):
    rules = "[[(a ?x) [?x :move ?y] (or (not-join [?x] [?x :move ?z] (a ?z)) [?x :move 3])]]"
    game.refuses("UNSTRATIFIABLE", f"[:find ?x :where (a ?x) :rules {rules}]", says="not a")


def test_through_two_nots(game):
    """Two negations do not cancel each other: the inner one still has to see everything."""
    rules = "[[(a ?x) [?x :move ?y] (not [?x :move 4] (not (a ?y)))]]"
    game.refuses("UNSTRATIFIABLE", f"[:find ?x :where (a ?x) :rules {rules}]", says="not a")


def test_through_a_count(game):
    rules = "[[(size ?a (count ?b)) [?a :move ?b]] [(size ?a (count ?n)) [?a :move ?b] (size ?b ?n)]]"
    error = game.refuses("UNSTRATIFIABLE", f"[:find ?a ?n :where (size ?a ?n) :rules {rules}]", says="(count …)")
    assert "size" in error.message


@pytest.mark.parametrize("aggregate", ["sum", "avg", "count-distinct", "distinct", "median"])
def test_through_any_aggregate_that_must_see_all(game, aggregate):
    rules = f"[[(r ?a ({aggregate} ?b)) [?a :move ?b]] [(r ?a ({aggregate} ?n)) (s ?a ?n)] [(s ?a ?n) (r ?a ?n)]]"
    game.refuses("UNSTRATIFIABLE", f"[:find ?a :where (s ?a _) :rules {rules}]", says=aggregate)


def test_through_another_source(game):
    rules = "[[(a ?x) [?x :move ?y] (not ($old a ?y))]]"
    with pytest.raises(Exception, match="UNSTRATIFIABLE"):
        game.q(f"[:find ?x :in $ $old :where (a ?x) :rules {rules}]", game)


def test_a_cycle_that_nobody_reaches(game):
    rules = "[[(bad ?a) [?a :move ?b] (not (bad ?b))] [(good ?a) [?a :move 3]]]"
    assert game.q(f"[:find ?a :where (good ?a) :rules {rules}]") == "#{[1] [2]}"


def test_a_negation_beside_a_cycle_is_no_negation_on_it(game):
    rules = """[[(reach ?a ?b) [?a :move ?b]] [(reach ?a ?c) (reach ?a ?b) (reach ?b ?c) (not (loop ?b))]
                [(loop ?a) [?a :move ?a]]]"""
    assert game.q(f"[:find ?b :where (reach 1 ?b) :rules {rules}]") == "#{[2] [3] [4]}"


# What a call asks for must not close a cycle that the rules themselves do not have


@pytest.mark.parametrize("magic", [True, False])
def test_a_rule_with_a_required_place_asked_and_denied(game, magic):
    rules = """[[(upto [?n] ?m) [(identity ?n) ?m]] [(upto [?n] ?m) [(< ?n 4)] [(inc ?n) ?k] (upto ?k ?m)]
                [(fits ?a ?b) [?a :move ?b] (not (upto ?a 0))]]"""
    query = f"[:find ?b :where (fits ?a ?b) (upto ?b ?b) :rules {rules}]"
    assert game.q(query, options=Options(magic=magic)) == "#{[2] [3] [4] [5]}"


@pytest.mark.parametrize("magic", [True, False])
def test_a_recursive_rule_that_denies_one_with_a_required_place(game, magic):
    rules = """[[(upto [?n] ?m) [(identity ?n) ?m]] [(upto [?n] ?m) [(< ?n 4)] [(inc ?n) ?k] (upto ?k ?m)]
                [(reach ?a ?b) [?a :move ?b]]
                [(reach ?a ?c) (reach ?a ?b) [?b :move ?c] (not (upto ?c 3))]]"""
    query = f"[:find ?a ?b :where (reach ?a ?b) :rules {rules}]"
    assert game.q(query, options=Options(magic=magic)) == "#{[1 2] [1 3] [1 4] [2 3] [2 4] [3 4] [5 5]}"


@pytest.mark.parametrize("magic", [True, False])
def test_an_aggregate_asked_with_what_it_answered(game, magic):
    rules = "[[(moves [?a] (count ?b)) [?a :move ?b]]]"
    query = f"[:find ?n ?m :where (moves 1 ?n) (moves ?n ?m) :rules {rules}]"
    assert game.q(query, options=Options(magic=magic)) == "#{[2 1]}"
