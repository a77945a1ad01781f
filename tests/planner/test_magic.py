"""Which adornments and magic sets come out for the programs of the textbooks, and what is walked as a closure."""

from __future__ import annotations

from typing import Any

import pytest

from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from tests.support import World

LEFT = "[[(p ?a ?b) [?a :to ?b]] [(p ?a ?c) (p ?a ?b) [?b :to ?c]]]"
RIGHT = "[[(p ?a ?b) [?a :to ?b]] [(p ?a ?c) [?a :to ?b] (p ?b ?c)]]"
SQUARE = "[[(p ?a ?b) [?a :to ?b]] [(p ?a ?c) (p ?a ?b) (p ?b ?c)]]"
NONLINEAR = "[[(p ?a ?b) [?a :to ?b]] [(p ?a ?c) (p ?a ?b) [?b :n] (p ?b ?c)]]"
OTHER_EXIT = "[[(p ?a ?b) [?a :n ?b]] [(p ?a ?c) [?a :to ?b] (p ?b ?c)]]"
GENERATION = "[[(p ?a ?b) [?a :n] [(identity ?a) ?b]] [(p ?a ?b) [?a :boss ?x] (p ?x ?y) [?b :boss ?y]]]"


@pytest.fixture
def graph(db: World) -> World:
    db.tx(
        """[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
            {:db/ident :boss :db/valueType :db.type/ref}]""",
        f"[{' '.join(f'[:db/add {i} :to {i + 1}] [:db/add {i} :boss {i // 2}]' for i in range(1, 400))}]",
        f"[{' '.join(f'[:db/add {i} :n {i}] [:db/add {i} :kind {i % 2}]' for i in range(1, 401))}]",
    )
    return db


class Shown:
    """What explain says of a query's rules."""

    def __init__(self, world: World, where: str, rules: str, **options: Any) -> None:
        find = " ".join(dict.fromkeys(word.strip("()[]") for word in where.split() if word.startswith("?")))
        request = QueryRequest(
            f"[:find {find or '?n'} :where {where} :rules {rules}]", (), options=Options(**options)
        )
        strata = world.pool.explain(request).plan["rules"]
        self.relations = {each["name"] for stratum in strata for each in stratum["relations"]}
        self.rules = [rule["clause"] for stratum in strata for rule in stratum["rules"]]
        self.closures = [stratum["closure"] for stratum in strata if "closure" in stratum]

    def seeds(self, relation: str) -> list[str]:
        """The bodies of the rules of its magic set that do not recur."""
        head = f"(magic {relation} "
        bodies = [clause.split(" ← ")[1] for clause in self.rules if clause.startswith(head)]
        return [body for body in bodies if "(recent)" not in body]


@pytest.mark.parametrize("rules", [LEFT, RIGHT, SQUARE, NONLINEAR])
def test_what_the_call_binds_is_what_is_asked_for(graph: World, rules: str) -> None:
    assert "p^bf" in Shown(graph, "(p 1 ?b)", rules).relations
    assert "p^fb" in Shown(graph, "(p ?a 1)", rules).relations
    assert "p^bb" in Shown(graph, "[?n :n 7] (p 1 2)", rules).relations
    assert Shown(graph, "(p ?a ?b)", rules).relations == {"p"}
    assert Shown(graph, "(p 1 ?b)", rules, magic=False).relations == {"p"}


@pytest.mark.parametrize("rules", [LEFT, RIGHT, SQUARE])
@pytest.mark.parametrize("call", ["(p 1 ?b)", "(p ?a 1)", "(p ?a ?b)"])
def test_linear_closures_are_walked_from_where_they_start(graph: World, rules: str, call: str) -> None:
    shown = Shown(graph, call, rules)
    assert [closure["step"].replace("?c", "?b").replace("?a", "?b") for closure in shown.closures] == [
        "[?b :to ?b]"
    ]
    assert not any("(recent)" in clause for clause in shown.rules)


def test_a_right_linear_rule_with_another_exit_is_turned_around(graph: World) -> None:
    few = Shown(graph, "(p 1 ?b)", OTHER_EXIT)
    assert few.relations == {"p^bf reached", "p^bf"}
    assert len(few.closures) == 1
    many = Shown(graph, "[?a :kind 1] (p ?a ?b)", OTHER_EXIT)
    assert many.relations == {"p^bf", "magic p^bf"}
    assert any("(recent)" in clause for clause in many.rules)


def test_a_nonlinear_rule_asks_for_what_it_reaches(graph: World) -> None:
    shown = Shown(graph, "(p 1 ?b)", NONLINEAR)
    assert shown.relations == {"p^bf", "magic p^bf"}
    assert shown.closures == []
    assert any(clause.startswith("(magic p^bf ?b) ←") and "(recent)" in clause for clause in shown.rules)


def test_same_generation_asks_upwards(graph: World) -> None:
    shown = Shown(graph, "(p 8 ?b)", GENERATION)
    assert shown.relations == {"p^bf", "magic p^bf"}
    assert "(magic p^bf ?x) ← (magic p^bf (recent) ?a) [?a :boss ?x]" in shown.rules
    assert shown.closures == []


def test_two_constants_share_one_relation(graph: World) -> None:
    shown = Shown(graph, "(p 1 ?b) (p 2 ?c)", RIGHT)
    assert shown.relations == {"p^bf", "magic p^bf"}
    assert {"(magic p^bf 1) ← ", "(magic p^bf 2) ← "} <= set(shown.rules)


def test_whoever_asks_where_all_is_asked_for_reads_all(graph: World) -> None:
    assert Shown(graph, "(p ?a ?b) (p 1 ?c)", NONLINEAR).relations == {"p"}


def test_bindings_that_nothing_connects_are_not_multiplied(graph: World) -> None:
    shown = Shown(graph, "[?a :kind 1] [?b :n 3] (p ?a ?b)", NONLINEAR)
    assert shown.relations == {"p^fb", "magic p^fb"}
    assert shown.seeds("p^fb") == ["[?b :n 3]"]
    connected = Shown(graph, "[?a :kind 1] [?a :n ?b] (p ?a ?b)", NONLINEAR)
    assert "magic p^bb" in connected.relations


@pytest.mark.parametrize(("rules", "adorned"), [(LEFT, "p^bf"), (RIGHT, "p^fb")])
@pytest.mark.parametrize(("first", "second"), [("?x", "?y"), ("?y", "?x")])
def test_a_rule_that_is_not_turned_around_is_asked_for_what_its_recursion_keeps(
    graph: World, rules: str, adorned: str, first: str, second: str
) -> None:
    where = f"[{first} :n 5] [{second} :n 9] (p {first} {second})"
    shown = Shown(graph, where, rules, turn=False)
    assert shown.relations == {adorned, f"magic {adorned}"}
    # What is asked for does not grow.
    assert not any(clause.startswith("(magic") and "(recent)" in clause for clause in shown.rules)


@pytest.mark.parametrize(("rules", "adorned"), [(LEFT, "p^bf"), (RIGHT, "p^fb"), (SQUARE, "p^bf")])
def test_of_two_constants_a_rule_that_is_not_turned_around_is_asked_for_the_one_that_its_recursion_keeps(
    graph: World, rules: str, adorned: str
) -> None:
    shown = Shown(graph, "(p 1 9) [_ :n ?c]", rules, turn=False)
    assert shown.relations == {adorned, f"magic {adorned}"}
    assert len(shown.closures) == 1


def test_a_recursion_is_asked_for_the_smaller_side_where_many_values_would_stay(graph: World) -> None:
    shown = Shown(graph, "[?a :kind 1] [?b :n 9] (p ?a ?b)", LEFT, turn=False)
    assert "p^fb" in shown.relations


def test_a_clause_that_only_the_answer_binds_does_not_ask(graph: World) -> None:
    shown = Shown(graph, "(p 1 ?b) [?b :kind ?k]", NONLINEAR)
    assert shown.seeds("p^bf") == [""]


def test_a_not_asks_for_what_it_denies(graph: World) -> None:
    shown = Shown(graph, "[?a :kind 1] (not (p ?a 3))", NONLINEAR)
    assert shown.seeds("p^bb") == ["[?a :kind 1]"]


def test_a_required_place_is_bound_even_without_magic(graph: World) -> None:
    rules = "[[(p [?a] ?b) [?a :to ?b]] [(p [?a] ?b) [?a :to ?c] (p ?c ?b)]]"
    shown = Shown(graph, "[?a :kind 1] (p ?a ?b)", rules, magic=False)
    assert "p^bf" in shown.relations
    assert any(name.startswith("magic p^bf") for name in shown.relations)


def test_rows_of_a_source_are_asked_for(graph: World) -> None:
    query = f"[:find ?b :in $ $rows :where [$rows ?a] (p ?a ?b) :rules {RIGHT}]"
    request = QueryRequest(query, ([[397]],))
    strata = graph.pool.explain(request).plan["rules"]
    assert {each["name"] for stratum in strata for each in stratum["relations"]} == {"p^bf", "magic p^bf"}
    assert sorted(graph.pool.run(request).rows()) == [(398,), (399,), (400,)]


def test_what_is_asked_for_on_the_way_is_what_is_reached(graph: World) -> None:
    """The rule of the exit is asked for each point on the way, which the walk has found already."""
    rules = "[[(seen ?f) [?f :kind 0] (known ?f)] [(seen ?f) [?f :boss ?p] (seen ?p)] [(known ?k) [?k :n 4]]"
    rules += " [(known ?k) [?k :to ?l] (known ?l)]]"
    shown = Shown(graph, "[?f :n 37] (seen ?f)", rules)
    assert shown.relations == {
        *("seen^b", "seen^b reached", "magic seen^b"),
        *("known^b", "known^b reached"),
    }
    assert len(shown.closures) == 2
    assert shown.seeds("seen^b") == ["(seen^b reached _ start)"]
    query, given = f"[:find ?f :in $ [?f ...] :where (seen ?f) :rules {rules}]", ([37, 39, 5, 6, 200, 1],)
    found, whole = (
        graph.pool.run(QueryRequest(query, given, options=Options(magic=magic))).rows() for magic in (True, False)
    )
    assert found
    assert sorted(found) == sorted(whole)
