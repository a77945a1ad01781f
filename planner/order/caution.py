"""Places the calls that may refuse their arguments after all that could make their rows needless.

An order that is cheap may bind `?a` and `?b` of `[(/ ?a ?b) ?c]` before the entity that has both, and call with a
pair that no entity has. A query that is refused is run once more with its body changed by `cautious`: what it is
refused for then, a row that satisfies the rest needs. Of several such calls those written first come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from adalog.datalog.builtins import BUILTINS
from adalog.datalog.builtins.conditionals import CONDITIONALS
from adalog.planner.model import logical
from adalog.planner.model.call_tree import CallTree
from adalog.planner.model.logical import AndNode, Leaf, Node, NotNode, OrNode, everything, leaves, variables
from adalog.planner.order.ordering import Binds, can_bind, gives
from adalog.planner.scope.tree import Tree

Call = logical.PredicateAtom | logical.FunctionAtom | logical.UnnestAtom | NotNode


def may_refuse(leaf: Leaf) -> bool:
    """Whether it is a call that some arguments make an error."""
    match leaf:
        case logical.PredicateAtom() | logical.FunctionAtom():
            names = (leaf.name,) if leaf.tree is None else _called(leaf.tree)
            return any(name not in CONDITIONALS and not _is_total(name) for name in names)
        case NotNode():
            return any(may_refuse(each) for item in leaf.items for each in everything(item))
        case _:
            return isinstance(leaf, logical.UnnestAtom)


def tree_may_refuse(tree: Tree) -> bool:
    """Whether a call of a query or of its rules is one, or runs a query, in which one may be."""
    bodies = (tree.body, *(branch.body for rule in tree.predicates for branch in rule.branches))
    return any(may_refuse(leaf) or _runs_query(leaf) for body in bodies for leaf in everything(body))


def _runs_query(leaf: Leaf) -> bool:
    return isinstance(leaf, logical.FunctionAtom | logical.RelationAtom) and leaf.subquery is not None


def _called(tree: CallTree) -> Iterable[str]:
    yield tree.name
    for each in tree.args:
        if isinstance(each, CallTree):
            yield from _called(each)


def _is_total(name: str) -> bool:
    return name in BUILTINS and BUILTINS[name].is_total


def cautious(body: AndNode, given: frozenset[str]) -> AndNode:
    """The body with each call that may refuse after the variables that its own are connected with."""
    hidden = dict(_hidden(body, frozenset()))
    waiting = [leaf for leaf, _ in hidden.values()]
    if not waiting:
        return body
    placed: dict[int, Leaf] = {}
    left = {id(leaf) for leaf in waiting}

    def binds(leaf: Leaf, variable: str, bound: frozenset[str]) -> bool:
        return id(leaf) not in left and gives(leaf, variable, bound)

    while waiting:
        known = _bound(body, given, binds)
        call = next((each for each in waiting if each.needs <= known), None)
        if call is None:
            break
        assert isinstance(call, Call)
        own = call.needs - given
        # What is called with arguments of the query alone, every row needs.
        others = known & _connected(body, own, left) if own else known
        others -= given.union(call.mentions, hidden[id(call)][1])
        placed[id(call)] = replace(call, after=tuple(sorted(others)))
        waiting = [each for each in waiting if each is not call]
        left.discard(id(call))
    return _in_body(body, placed)


def _hidden(node: Node, names: frozenset[str]) -> Iterator[tuple[int, tuple[Leaf, frozenset[str]]]]:
    """The calls that may refuse, each with the variables that are local to other branches than its own."""
    match node:
        case AndNode():
            for item in node.items:
                yield from _hidden(item, names)
        case OrNode():
            for number, branch in enumerate(node.branches):
                yield from _hidden(branch, names.union(name for name, owner in node.local_to if owner != number))
        case _:
            if may_refuse(node):
                yield id(node), (node, names)


def _bound(body: AndNode, given: frozenset[str], binds: Binds) -> frozenset[str]:
    """The variables that can be bound by what `binds`."""
    known = given
    while more := {name for name in body.names - known if can_bind(body, name, known, binds)}:
        known |= more
    return known


def _connected(body: AndNode, names: frozenset[str], left: set[int]) -> frozenset[str]:
    """The variables that clauses connect with some, without the calls that are left."""
    spans = [variables(leaf) for leaf in leaves(body) if id(leaf) not in left]
    found = names
    while more := frozenset().union(*(span for span in spans if span & found)) - found:
        found |= more
    return found


def _in_body(body: AndNode, placed: dict[int, Leaf]) -> AndNode:
    return AndNode(tuple(_placed(item, placed) for item in body.items))


def _placed(node: Node, placed: dict[int, Leaf]) -> Node:
    match node:
        case AndNode():
            return _in_body(node, placed)
        case OrNode():
            return replace(node, branches=tuple(_in_body(branch, placed) for branch in node.branches))
        case _:
            return placed.get(id(node), node)
