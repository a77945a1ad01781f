"""Planning costs in proportion to the number of conditions, and finds the order that comparing all would find."""

from __future__ import annotations

import pytest

from adalog.datalog.parsing.parser import parse_query
from adalog.planner.model.logical import Node
from adalog.planner.model.plan import Options
from adalog.planner.order import ordering
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import plan_query
from adalog.store.database import Database
from tests.planner.staged import database

BRANCHES = ("(and [?e :size ?v{0}] [(< ?v{0} {0})])", "(and [?e :to ?a{0}] [?a{0} :by ?b{0}] [?b{0} :name ?n{0}])")


def query(number: int) -> str:
    branches = " ".join(BRANCHES[each % 2].format(each) for each in range(number))
    return f"[:find ?e :where [?e :tag :t1] (or-join [?e] {branches})]"


def star(number: int) -> str:
    names = [f"?v{each}" for each in range(number)]
    return f"[:find {' '.join(names)} :where {' '.join(f'[?e :size {name}]' for name in names)}]"


class Counting(Statistics):
    counted = 0

    def count(self, node: Node, variable: str, bound: frozenset[str]) -> float:
        type(self).counted += 1
        return super().count(node, variable, bound)


def planned(text: str, made: Database) -> tuple[tuple[str, ...], float, int]:
    """The order, its cost, and how often statistics were asked."""
    Counting.counted = 0
    plan = plan_query(parse_query(text), Counting({"$": made.snapshot()}, {}), frozenset(), Options())
    return plan.order, plan.cost, Counting.counted


def test_an_or_of_many_branches_with_local_variables() -> None:
    with database() as made:
        few, many = (planned(query(number), made)[2] for number in (40, 160))
    assert many < 6 * few


def test_an_entity_of_many_attributes() -> None:
    """Statistics are asked once for a variable and what is bound beside it, not for each partial order."""
    with database() as made:
        few, many = (planned(star(number), made) for number in (60, 240))
    assert len(many[0]) == 241
    assert many[2] < 5 * few[2]


@pytest.mark.parametrize("number", [10, 13, 24])
def test_the_order_is_that_of_the_whole_search(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with database() as made:
        found = planned(query(number), made)
        monkeypatch.setattr(ordering._Nest, "first", lambda nest, bound: dict.fromkeys(nest.node.owners))
        whole = planned(query(number), made)
    assert found[2] < whole[2]
    assert found[1] <= 1.001 * whole[1]
