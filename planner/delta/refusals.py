"""Why a query is not kept up to date by changes but asked again: half a sentence, for explain."""

from __future__ import annotations

from collections.abc import Sequence

from adalog.datalog import ast
from adalog.datalog.ast import Const
from adalog.datalog.values import Keyword
from adalog.planner.delta.versions import Moves
from adalog.planner.model import logical
from adalog.planner.model.logical import AndNode, Node
from adalog.planner.model.lookups import LOOKUPS, Call, looked_up_attributes, values_of


def refusal_of_find(query: ast.Query) -> str | None:
    """What of the rows that a query shows, its pulls left out, does not follow from the rows that come and go."""
    find = query.find
    if find.hides_keys:
        return "groups may show equal rows, since their keys are hidden"
    if find.takes_numbers:
        return ":in gives how many values an aggregate finds"
    chances = [each.name for each in find.columns if isinstance(each, ast.FindAggregate) and each.known.by_chance]
    return f"({chances[0]} …) answers something else each time" if chances else None


def refusal_of_body(body: AndNode, moves: Moves) -> str | None:
    """What of a body no change of an atom tells."""
    return _of_items(body.items, moves, frozenset())


def _of_items(items: Sequence[Node], moves: Moves, entities: frozenset[str]) -> str | None:
    moving = (item.entity for item in items if isinstance(item, logical.DatomAtom) and moves(item))
    entities = entities.union(entity for entity in moving if isinstance(entity, str))
    found = (_of(item, moves, entities) for item in items)
    return next((each for each in found if each is not None), None)


def _of(item: Node, moves: Moves, entities: frozenset[str]) -> str | None:
    match item:
        case logical.RelationAtom(subquery=inner) | logical.FunctionAtom(subquery=inner) if inner is not None:
            return "it has a query within the query"
        case logical.PredicateAtom() | logical.FunctionAtom() if moves(item):
            return _of_call(item, entities)
        case AndNode() | logical.NotNode():
            return _of_items(item.items, moves, entities)
        case logical.OrNode():
            found = (_of_items(branch.items, moves, entities) for branch in item.branches)
            return next((each for each in found if each is not None), None)
        case logical.DatomAtom() | logical.RelationAtom():
            return None
        case _:
            return f"{item.clause} reads the database without being a data pattern" if moves(item) else None


def _of_call(call: Call, entities: frozenset[str]) -> str | None:
    if call.tree is not None:
        return f"({call.called} …) looks into the database for some of its rows only"
    if call.name not in LOOKUPS:
        return f"({call.name} …) reads the whole database"
    entity, attributes = values_of(call)[0], looked_up_attributes(call)
    if not all(isinstance(each, Const) and isinstance(each.value, Keyword) for each in attributes):
        return f"({call.name} …) looks up an attribute that a variable names"
    if not (entity in entities or (isinstance(entity, Const) and type(entity.value) is int)):
        # It may be an ident or a lookup ref, whose meaning changes with other attributes.
        return f"({call.name} …) is given what no data pattern beside it says is an entity"
    return None
