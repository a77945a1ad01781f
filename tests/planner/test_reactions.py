"""Which changed rows a reaction of a live query has to follow, and which of them need no check."""

from __future__ import annotations

import pytest

from adalog.datalog.ast import Const
from adalog.executor.follow.maintained_view import maintenance_at
from adalog.executor.question.request import QueryRequest
from adalog.planner.maintenance import Maintenance
from adalog.planner.model.logical import DatomAtom
from tests.support import World

SCHEMA = """[{:db/ident :size :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
             {:db/ident :by :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
             {:db/ident :tag :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]"""


@pytest.fixture
def shop(db: World) -> World:
    db.tx(SCHEMA)
    return db


def _maintenance(world: World, query: str) -> Maintenance:
    made = maintenance_at(world.pool.question(QueryRequest(query, snapshot=world.database.snapshot())), "$")
    assert isinstance(made, Maintenance)
    return made


@pytest.mark.parametrize(
    ("query", "covers"),
    [
        ("[:find ?p ?n :where [?p :size ?n]]", {"size": "?p"}),
        ("[:find ?p :where [?p :tag 1] [?p :size ?n]]", {"tag": "?p", "size": "?p"}),
        # An entity may have others of many values; what has another value had one before.
        ("[:find ?p ?t :where [?p :tag ?t]]", {"tag": None}),
        ("[:find ?p :where [?p :size _]]", {"size": None}),
        # Which transaction wrote a value is something else than the value.
        ("[:find ?p ?t :where [?p :size ?n ?t]]", {"size": None}),
        ("[:find ?n :where [7 :size ?n]]", {"size": None}),
        # Not every solution has a row of what stands in an `or` or a `not`.
        ("[:find ?p :where [?p :by ?m] (or [?p :size 1] [?p :tag 2])]", {"by": "?p", "size": None, "tag": None}),
        ("[:find ?p :where [?p :by ?m] (not [?p :size 1])]", {"by": "?p", "size": None}),
    ],
)
def test_the_entities_of_which_a_reaction_finds_everything(
    shop: World, query: str, covers: dict[str, str | None]
) -> None:
    found = {}
    for each in _maintenance(shop, query).reactions:
        assert isinstance(each.changed, DatomAtom)
        assert isinstance(each.changed.attribute, Const)
        found[each.changed.attribute.value.name] = each.covers
    assert found == covers


@pytest.mark.parametrize(
    ("query", "alone"),
    [
        ("[:find ?p :where [?p :by ?m] [?m :size 1]]", ["?p", None]),
        # The head tells neither the entity nor its value.
        ("[:find ?x :where [?p :by ?m] [?m :size ?n] [?x :size ?n]]", [None, None, "?x"]),
        ("[:find ?p :where [?p :tag ?t] [?t :size 1]]", [None, None]),
    ],
)
def test_rows_that_need_no_check_where_the_entity_had_none(
    shop: World, query: str, alone: list[str | None]
) -> None:
    reactions = [each for each in _maintenance(shop, query).reactions if each.enters]
    assert [each.alone for each in reactions] == alone
    assert all(each.sure is not None for each in reactions if each.alone)


def test_a_rule_that_requires_an_argument_is_joined_in_any_order(shop: World) -> None:
    rule = "[(of [?m] ?p) [?p :by ?m]]"
    query = f"[:find ?m ?p :in $ ?m :where (of ?m ?p) [?p :size ?n] :rules [{rule}]]"
    made = maintenance_at(shop.pool.question(QueryRequest(query, (1,), shop.database.snapshot())), "$")
    assert isinstance(made, Maintenance)
    (by, size) = (each for each in made.reactions if each.enters)
    assert (by.covers, size.covers) == ("?p", "?p")
