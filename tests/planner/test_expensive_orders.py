"""Orders of expensive joins, and the shares of values between constants that estimates count on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from adalog.datalog.ast import Const
from adalog.datalog.parsing.parser import parse_query
from adalog.planner.model import logical
from adalog.planner.model.logical import Node, conjuncts
from adalog.planner.model.plan import Options, Plan
from adalog.planner.order import ordering
from adalog.planner.order.statistics import PatternSize, Statistics
from adalog.planner.passes import plan_query
from adalog.store.database import Database

LINES = 600_000.0
VALUES = {
    "tax": 9.0,
    "flag": 3.0,
    "status": 2.0,
    "shipped": 2500.0,
    "price": 90_000.0,
    "rebate": 11.0,
    "size": 50.0,
}
STAR = " ".join(f"[?l :{name} ?{name}]" for name in VALUES)


class Large(Statistics):
    """As of an entity for each of many lines, whose attributes have few values."""

    def _size(self, atom: logical.DatomAtom) -> PatternSize:
        assert isinstance(atom.attribute, Const)
        return PatternSize(LINES, LINES, VALUES[atom.attribute.value.name])

    def range_share(self, items: Iterable[Node], variable: str) -> float | None:
        return None


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as made:
        made.transact(
            """[{:db/ident :n :db/valueType :db.type/long} {:db/ident :at :db/valueType :db.type/instant}
                {:db/ident :x :db/valueType :db.type/double}]"""
        )
        made.transact(
            "["
            + " ".join(f'{{:n {n} :at #inst "2024-01-{n + 1:02}" :x {n}.5 :kind "k{n % 3}"}}' for n in range(20))
            + "]"
        )
        yield made


def planned(database: Database, query: str, kind: type[Statistics] = Statistics) -> Plan:
    return plan_query(parse_query(query), kind({"$": database.snapshot()}, {}), frozenset(), Options())


def test_variables_with_few_values_do_not_come_before_what_connects_them(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = "(sum ?price) (sum ?tax) (max ?shipped) (sum ?rebate) (sum ?size)"
    query = f"[:find ?flag ?status {sums} :with ?l :where {STAR}]"
    plan = planned(database, query, Large)
    assert plan.order.index("?l") <= 2
    monkeypatch.setattr(ordering, "_EXPENSIVE", 1e18)
    assert plan.cost < 0.9 * planned(database, query, Large).cost


@pytest.mark.parametrize(("lines", "missing"), [(LINES, 0), (LINES, 9), (1000.0, 0), (1000.0, 9)])
def test_columns_are_read_from_the_entity_on(database: Database, lines: float, missing: int) -> None:
    """Where there are many entities with one value of each attribute, they are read in order, also where some have
    none; of a few entities few values come first."""

    class Lines(Large):
        def _size(self, atom: logical.DatomAtom) -> PatternSize:
            rows = lines - missing * ("flag" in str(atom))
            return PatternSize(rows, rows, min(rows, super()._size(atom).seconds))

    query = "[:find (sum ?y) :with ?l :where [?l :price ?p] [?l :flag ?q] [?l :size ?s] [(* ?p ?q ?s) ?y]]"
    assert (planned(database, query, Lines).order[0] == "?l") is (lines == LINES)


def test_what_connects_patterns_comes_first_where_both_are_looked_up_by_it(database: Database) -> None:
    """Lookups in the order of keys cost less than those that go from place to place."""

    class People(Statistics):
        def _size(self, atom: logical.DatomAtom) -> PatternSize:
            return PatternSize(3e6, 1e6, 0.95e6) if "friend" in str(atom) else PatternSize(1e6, 1e6, 100.0)

    query = "[:find ?a (count ?f) :with ?p :where [?p :friend ?f] [?f :age ?a]]"
    assert planned(database, query, People).order == ("?f", "?a", "?p")


def test_a_moved_variable_takes_those_with_it_that_need_it(database: Database) -> None:
    query = f"[:find ?double (sum ?price) :with ?l :where {STAR} [(* 2 ?flag) ?double]]"
    order = planned(database, query, Large).order
    assert order.index("?flag") < order.index("?double")
    assert order.index("?l") <= 2


@pytest.mark.parametrize(
    ("clauses", "share"),
    [
        ("[?e :n ?v] [(< ?v 5)]", 6 / 20),
        ("[?e :n ?v] [(>= ?v 15)]", 5 / 20),
        ("[?e :n ?v] [(<= 5 ?v 14)]", 10 / 20),
        ("[?e :n ?v] [(between ?v 5 14)] [(< ?v 8)]", 4 / 20),
        ("[?e :n ?v] [(> ?v 30)]", 0.0),
        ('[?e :at ?v] [(< ?v #inst "2024-01-06")]', 6 / 20),
        ("[?e :x ?v] [(< ?v 5.0)]", None),
        ("[?e :n ?v] [(< ?v 5.5)]", None),
        ("[?e :n ?v] [?e :x ?w] [(< ?v ?w)]", None),
        ("[?e :n ?v]", None),
    ],
)
def test_the_share_of_values_between_constants(database: Database, clauses: str, share: float | None) -> None:
    body = planned(database, f"[:find ?e :where {clauses}]").body
    found = Statistics({"$": database.snapshot()}, {}).range_share([*conjuncts(body.items)], "?v")
    assert found == (None if share is None else pytest.approx(share))


def test_a_range_of_values_is_estimated_by_its_share(database: Database) -> None:
    plan = planned(database, "[:find ?e ?v :where [?e :n ?v] [(<= 5 ?v 14)]]")
    assert max(level.estimate for level in plan.levels) == pytest.approx(10, abs=1)
