"""Relations without columns: yes/no gates, alone, in branches, under `not`, and over nothing at all."""

from __future__ import annotations

import pytest


@pytest.fixture
def facts(db):
    db.tx("[{:db/id 1 :a 1} {:db/id 2 :b 2}]")
    return db


X = "[:find ?x :in $ ?x :where "


@pytest.mark.parametrize(
    ("clauses", "holds"),
    [
        ("[1 :a 1]", True),
        ("[1 :a 2]", False),
        ("[_ :a _]", True),
        ("[_ :c _]", False),
        ("[1 :a 1] [2 :b 2]", True),
        ("[1 :a 1] [2 :b 3]", False),
        ("(or [1 :a 2] [2 :b 2])", True),
        ("(or [1 :a 2] [2 :b 3])", False),
        ("(or (and [1 :a 1] [2 :b 3]) (and [1 :a 1] [2 :b 2]))", True),
        ("(and [1 :a 1] (or [2 :b 3] (and [1 :a 1])))", True),
        ("[(= 1 1)]", True),
        ("[(= 1 2)]", False),
        ("[(ground 1) _]", True),
        ("[(ground []) [_ ...]]", False),
        ("[_ _ _]", True),
        ("[_ _ :nothing-like-it]", False),
        ("[?y :a 1] (not [?y :b 2])", True),
        ("[?y :a 1] (not [?y :a 1])", False),
    ],
)
def test_gates(facts, clauses, holds):
    assert facts.q(X + clauses + "]", "7") == ("#{[7]}" if holds else "#{}")
    assert facts.q(f"[:find (count ?x) . :in $ ?x :where {clauses}]", "7") == ("1" if holds else "nil")


def test_hidden_variables_do_not_multiply(facts):
    assert facts.q("[:find (count ?x) . :in $ ?x :where [?y ?a ?v]]", "7") == "1"


def test_a_gate_with_an_empty_input(facts):
    assert facts.q("[:find ?x :in $ [?x ...] :where [1 :a 1]]", "[]") == "#{}"


def test_inputs_of_blanks_alone(facts):
    assert facts.q("[:find ?x :in $ ?x [_ ...]]", "7", "[1 2]") == "#{[7]}"
    assert facts.q("[:find (count ?x) . :in $ ?x [[_ _]]]", "7", "[[1 2] [3 4]]") == "1"
    assert facts.q("[:find ?x :in $ ?x [_ ...]]", "7", "[]") == "#{}"
    assert facts.q("[:find ?x :in $ ?x [[_ _]]]", "7", "[]") == "#{}"
    assert facts.q("[:find ?x :in $ ?x [_ _]]", "7", "[1 2]") == "#{[7]}"


def test_a_relation_without_variables(facts):
    for pattern in ("[$r _]", "[$r 1]", "[$r _ 2]", "[$r 1 2]"):
        assert facts.q(f"[:find ?x :in $ ?x $r :where {pattern}]", "7", "[[1 2] [3 2]]") == "#{[7]}"
        assert facts.q(f"[:find ?x :in $ ?x $r :where {pattern}]", "7", "[]") == "#{}"
    assert facts.q("[:find ?x :in $ ?x $r :where [$r 3 1]]", "7", "[[1 2] [3 2]]") == "#{}"


def test_gates_inside_a_not_of_a_row(facts):
    assert facts.q("[:find ?x :in $ [?x ...] :where (not [?x :a 1] [2 :b 2])]", "[1 2]") == "#{[2]}"
    assert facts.q("[:find ?x :in $ [?x ...] :where (not [?x :a 1] [2 :b 3])]", "[1 2]") == "#{[1] [2]}"
    query = "[:find ?x :in $ [?x ...] :where (not-join [?x] (or-join [?x] [?x :a] (and [?x] [2 :b 3])))]"
    assert facts.q(query, "[1 2]") == "#{[2]}"
