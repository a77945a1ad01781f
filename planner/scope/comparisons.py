"""Comparisons as what they are to a join: `=` makes one variable of two, `==` and `<` find values by their order.

Of the two variables of `[(= ?a ?b)]` the one that is bound first proposes its value for the other. `[(== ?a ?b)]`
and `[(< ?a ?b)]` propose nothing, but narrow what a data pattern proposes to a range of it in the order of values.
None of them makes a query safe: each variable still needs a clause that binds it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from adalog.datalog.ast import Const, Source
from adalog.planner.model import logical
from adalog.planner.model.logical import AndNode, Leaf, Node, Term, conjuncts, in_body, variables
from adalog.planner.scope.tree import Tree

ORDERS: Final = frozenset({"<", ">", "<=", ">="})
NARROWING: Final = ORDERS | {"=="}


def in_pairs(tree: Tree) -> Tree:
    """The tree with comparisons of two arguments in the place of those of several: `(< ?a ?b ?c)` is `(< ?a ?b)`
    and `(< ?b ?c)`, `(= ?a ?b ?c)` is `(= ?a ?b)` and `(= ?a ?c)`, `(between ?a ?b ?c)` is `(<= ?b ?a ?c)`."""
    predicates = tuple(
        replace(each, branches=tuple(replace(branch, body=_paired(branch.body)) for branch in each.branches))
        for each in tree.predicates
    )
    return replace(tree, body=_paired(tree.body), predicates=predicates)


def _paired(body: AndNode) -> AndNode:
    def change(leaf: Leaf) -> Node:
        if not isinstance(leaf, logical.PredicateAtom) or len(leaf.args) < 3:
            return leaf
        pairs: Iterable[tuple[Term | Source, ...]]
        if leaf.name == "between":
            value, low, high = leaf.args
            leaf, pairs = replace(leaf, name="<="), ((low, value), (value, high))
        elif leaf.name in ORDERS:
            pairs = pairwise(leaf.args)
        elif leaf.name in ("=", "=="):
            pairs = ((leaf.args[0], other) for other in leaf.args[1:])
        else:
            return leaf
        return AndNode(tuple(dict.fromkeys(replace(leaf, args=pair) for pair in pairs)))

    return in_body(body, change)


def equated(node: Node) -> tuple[Term, Term] | None:
    """The two terms to which a node gives one value, if it does: `[(= ?a ?b)]`, `[(identity ?a) ?b]`."""
    match node:
        case logical.PredicateAtom(name="=", args=(left, right)):
            terms = left, right
        case logical.FunctionAtom(name="identity", args=(left,), out=out):
            terms = left, out
        case _:
            return None
    return None if terms[0] == terms[1] or any(isinstance(term, Source) for term in terms) else terms  # type: ignore[return-value]


def equates(node: Node, variable: str, bound: frozenset[str]) -> bool:
    """Whether the node gives the variable the value of a constant or of a bound variable."""
    terms = equated(node)
    if terms is None or variable not in terms:
        return False
    other = terms[1] if terms[0] == variable else terms[0]
    return not isinstance(other, str) or other in bound


def narrows(node: Node, variable: str, bound: frozenset[str]) -> bool:
    """Whether the node narrows the variable's values to those beside a constant or a bound variable."""
    if not isinstance(node, logical.PredicateAtom) or node.name not in NARROWING or len(node.args) != 2:
        return False
    if variable not in node.args or node.args[0] == node.args[1]:
        return False
    return all(not isinstance(arg, str) or arg == variable or arg in bound for arg in node.args)


def bounds(node: Node, variable: str, bound: frozenset[str]) -> bool | None:
    """Whether the node bounds the variable's values from above (True) or from below (False), by what is bound."""
    if not narrows(node, variable, bound):
        return None
    assert isinstance(node, logical.PredicateAtom)
    return None if node.name == "==" else (node.name in ("<", "<=")) == (node.args[0] == variable)


PREFIXES: Final = frozenset({"starts-with?", "like"})


def prefix_of(name: str, given: object) -> str | None:
    """The text that `starts-with?` or `like` accepts the beginnings of, if that is all that it looks at."""
    if type(given) is not str:
        return None
    if name == "starts-with?":
        return given
    start, rest = given[:-1], given[-1:]
    return start if rest == "%" and not set(start) & set("%_\\") else None


def beginning(node: Node, variable: str) -> str | None:
    """The text that the node wants the variable's values to begin with, if it wants no more."""
    match node:
        case logical.PredicateAtom(name="starts-with?" | "like" as name, args=(text, Const() as start)):
            return prefix_of(name, start.value) if text == variable else None
    return None


@dataclass(frozen=True, slots=True)
class TiedNegation:
    """What is inside a `not` that shares nothing with the outside: `rest` finds values of `variable`, and `ties`
    compare those with shared variables."""

    rest: AndNode
    ties: tuple[logical.PredicateAtom, ...]
    variable: str


def tied(node: logical.NotNode) -> TiedNegation | None:
    """The inside of a `not` that only orders, or `==`, of one variable tie to the outside; None for others."""
    shared = frozenset(node.shared)
    rest: list[Node] = []
    ties: list[logical.PredicateAtom] = []
    tying: set[str] = set()
    for item in conjuncts(node.items):
        own = variables(item) - shared
        if own == variables(item):
            rest.append(item)
        elif (
            isinstance(item, logical.PredicateAtom)
            and all(narrows(item, name, shared) for name in own)
            and len(own) == 1
        ):
            ties.append(item)
            tying |= own
        else:
            return None
    if not ties or len(tying) > 1:
        return None
    return TiedNegation(AndNode(tuple(rest)), tuple(ties), tying.pop())
