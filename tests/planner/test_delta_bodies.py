"""The bodies that a change makes of a conjunction: which atom reads what, in `or`s and `not`s too."""

from __future__ import annotations

import pytest

from adalog.datalog.parsing.parser import parse_query
from adalog.planner.delta.bodies import before_change, delta_bodies, looks_elsewhere
from adalog.planner.delta.versions import APPEARS, ROUND, VANISHES, Split
from adalog.planner.explain.rules import plain_names
from adalog.planner.model.logical import AndNode, DatomAtom, Leaf, describe
from adalog.planner.model.plan import Options, Plan
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import plan_query
from adalog.planner.scope.tree import tree_of


def changes_in(atom: Leaf) -> bool:
    return isinstance(atom, DatomAtom) and atom.source == "$"


def split(atom: Leaf) -> Split | None:
    """Rounds over what `$` has."""
    return ROUND if changes_in(atom) else None


def body_of(where: str, inputs: str = "$") -> AndNode:
    return tree_of(parse_query(f"[:find ?a :in {inputs} :where {where}]"), frozenset(), _inner).body


def _inner(*_: object) -> Plan:
    query = parse_query("[:find ?a :in ?a]")
    return plan_query(query, Statistics({}, {}), frozenset(), Options())


def shown(body: AndNode) -> str:
    return " ".join(plain_names(describe(item)) for item in body.items)


def changes(where: str) -> list[str]:
    return [shown(each.body) for each in delta_bodies(body_of(where), split)]


def test_atoms_before_it_read_all_and_those_after_it_what_is_older() -> None:
    assert changes("[?a :to ?b] [?b :to ?c] [(< ?a ?c)] [?c :to ?a]") == [
        "[$ (recent) ?a :to ?b] [$ (older) ?b :to ?c] [(< ?a ?c)] [$ (older) ?c :to ?a]",
        "[?a :to ?b] [$ (recent) ?b :to ?c] [(< ?a ?c)] [$ (older) ?c :to ?a]",
        "[?a :to ?b] [?b :to ?c] [(< ?a ?c)] [$ (recent) ?c :to ?a]",
    ]


def test_other_databases_stay() -> None:
    body = body_of("[?a :to ?b] [$past ?a :to ?b]", "$ $past")
    (only,) = delta_bodies(body, split)
    assert shown(only.body) == "[$ (recent) ?a :to ?b] [$past ?a :to ?b]"


def test_of_an_or_the_branch_is_left() -> None:
    assert changes("[?a :to ?b] (or [?b :x ?a] (and [?b :y ?a] [?a :z _]))")[1:] == [
        "[?a :to ?b] [$ (recent) ?b :x ?a]",
        "[?a :to ?b] [$ (recent) ?b :y ?a] [$ (older) ?a :z _]",
        "[?a :to ?b] [?b :y ?a] [$ (recent) ?a :z _]",
    ]


def test_what_holds_before_anything_changed() -> None:
    assert before_change(body_of("[?a :to ?b]"), changes_in) is None
    body = body_of("[$past ?a :to ?b] (or [?b :x] [$past ?b :y])", "$ $past")
    left = before_change(body, changes_in)
    assert left is not None
    assert shown(left) == "[$past ?a :to ?b] (or (and [$past ?b :y _]))"


@pytest.mark.parametrize(
    "clause",
    ["[(get-else $ ?a :x 1) ?b]", "(not [(missing? $ ?a :x)])", "[(q [:find ?a :in $ ?a :where [?a :x]] $ ?a) ?b]"],
)
def test_what_looks_elsewhere_is_told(clause: str) -> None:
    body = body_of(f"[?a :to ?c] {clause}")
    assert looks_elsewhere(body, frozenset(("$",)))
    assert not looks_elsewhere(body, frozenset(("$past",)))
    assert not looks_elsewhere(body_of("[?a :to ?c] [(+ ?a 1) ?b]"), frozenset(("$",)))


def test_in_a_not_the_moments_alternate_and_the_not_itself_holds() -> None:
    body = body_of("[?a :to ?b] (not [?b :x ?c] [?c :y ?d])")

    def appears(leaf: Leaf) -> Split | None:
        return APPEARS if changes_in(leaf) else None

    def vanishes(leaf: Leaf) -> Split | None:
        return VANISHES if changes_in(leaf) else None

    came, first, second = delta_bodies(body, appears, vanishes)
    assert shown(came.body) == "[$ (came) ?a :to ?b] (not [$ (new) ?b :x ?c] [$ (new) ?c :y ?d])"
    itself = "(not [$ (new) ?b :x ?c] [$ (new) ?c :y ?d])"
    assert shown(AndNode(first.rest)) == f"[$ (new) ?a :to ?b] {itself} [$ (old) ?c :y ?d]"
    assert {first.version, second.version} == {VANISHES.at}
    assert came.part is came.atom
    assert first.part is second.part is body.items[1]
