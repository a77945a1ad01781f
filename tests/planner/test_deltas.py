"""The bodies that a change makes of a conjunction: which atom reads what, in `or`s and `not`s too."""

from __future__ import annotations

import pytest

from adalog.datalog.parsing.parser import parse_query
from adalog.planner.delta.deltas import alternatives, before_change, delta_bodies, looks_elsewhere, of_databases
from adalog.planner.explain.nodes import describe
from adalog.planner.explain.rules import plain_names
from adalog.planner.model.logical import AndNode
from adalog.planner.model.plan import Options, Plan
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import plan_query
from adalog.planner.scope.tree import tree_of

SPLIT = of_databases(frozenset(("$",)))


def body_of(where: str, inputs: str = "$") -> AndNode:
    return tree_of(parse_query(f"[:find ?a :in {inputs} :where {where}]"), frozenset(), _inner).body


def _inner(*_: object) -> Plan:
    query = parse_query("[:find ?a :in ?a]")
    return plan_query(query, Statistics({}, {}), frozenset(), Options())


def shown(body: AndNode) -> str:
    return " ".join(plain_names(describe(item)) for item in body.items)


def changes(where: str) -> list[str]:
    return [f"{each.sign:+} {shown(each.body)}" for each in delta_bodies(body_of(where), SPLIT)]


def test_atoms_before_it_are_new_and_those_after_it_old() -> None:
    assert changes("[?a :to ?b] [?b :to ?c] [(< ?a ?c)] [?c :to ?a]") == [
        "+1 [$ (delta) ?a :to ?b] [$ (old) ?b :to ?c] [(< ?a ?c)] [$ (old) ?c :to ?a]",
        "+1 [$ (new) ?a :to ?b] [$ (delta) ?b :to ?c] [(< ?a ?c)] [$ (old) ?c :to ?a]",
        "+1 [$ (new) ?a :to ?b] [$ (new) ?b :to ?c] [(< ?a ?c)] [$ (delta) ?c :to ?a]",
    ]


def test_other_databases_stay() -> None:
    body = body_of("[?a :to ?b] [$past ?a :to ?b]", "$ $past")
    (only,) = delta_bodies(body, SPLIT)
    assert shown(only.body) == "[$ (delta) ?a :to ?b] [$past ?a :to ?b]"


def test_of_an_or_the_branch_is_left() -> None:
    assert changes("[?a :to ?b] (or [?b :x ?a] (and [?b :y ?a] [?a :z _]))")[1:] == [
        "+1 [$ (new) ?a :to ?b] [$ (delta) ?b :x ?a]",
        "+1 [$ (new) ?a :to ?b] [$ (delta) ?b :y ?a] [$ (old) ?a :z _]",
        "+1 [$ (new) ?a :to ?b] [$ (new) ?b :y ?a] [$ (delta) ?a :z _]",
    ]


def test_a_not_comes_and_goes() -> None:
    assert changes("[?a :to ?b] (not [?a :x ?b])") == [
        "+1 [$ (delta) ?a :to ?b] (not [$ (old) ?a :x ?b])",
        "+1 [$ (new) ?a :to ?b] (not [$ (new) ?a :x ?b]) (not (not [$ (old) ?a :x ?b]))",
        "-1 [$ (new) ?a :to ?b] (not [$ (old) ?a :x ?b]) (not (not [$ (new) ?a :x ?b]))",
    ]


def test_alternatives_choose_a_branch_of_each_or() -> None:
    body = body_of("(or [?a :x] [?a :y]) [?a :to ?b] (or [?b :x] (and [?b :y] (or [?b :z] [?b :w])))")
    assert [shown(each) for each in alternatives(body)] == [
        f"[?a :{first} _] [?a :to ?b] {second}"
        for first in "xy"
        for second in ("[?b :x _]", "[?b :y _] [?b :z _]", "[?b :y _] [?b :w _]")
    ]


def test_what_holds_before_anything_changed() -> None:
    assert before_change(body_of("[?a :to ?b]"), SPLIT) is None
    body = body_of("[$past ?a :to ?b] (or [?b :x] [$past ?b :y])", "$ $past")
    left = before_change(body, SPLIT)
    assert left is not None
    assert shown(left) == "[$past ?a :to ?b] (or (and [$past ?b :y _]))"


@pytest.mark.parametrize(
    "clause",
    ["[(get-else $ ?a :x 1) ?b]", "(not [(missing? $ ?a :x)])", "[(q [:find ?a :in $ ?a :where [?a :x]] $ ?a) ?b]"],
)
def test_what_looks_elsewhere_is_told(clause: str) -> None:
    body = body_of(f"[?a :to ?c] {clause}")
    assert looks_elsewhere(body, frozenset(("$",))) is not None
    assert looks_elsewhere(body, frozenset(("$past",))) is None
    assert looks_elsewhere(body_of("[?a :to ?c] [(+ ?a 1) ?b]"), frozenset(("$",))) is None
