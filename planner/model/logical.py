"""A query as a tree of atoms over unique variables: what the passes work on.

Scopes are gone: a local variable of an `or-join`, `not` or `not-join` has been renamed apart, a binding has been
taken to pieces, a blank is None. Frozen, so that a plan can be kept and sent to workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from adalog.datalog.ast import (
    Binding,
    CollectionBinding,
    Const,
    FindPull,
    LookupRef,
    Query,
    RelationBinding,
    Source,
)
from adalog.datalog.errors import Position
from adalog.planner.model.places import VariablePlaces
from adalog.planner.model.version import Version

Term = str | Const | LookupRef | None
"""A variable's unique name, a constant, a lookup ref by constants, or None for a blank."""


class InnerPlan(Protocol):
    """What the tree around a query within a query knows of its plan: a `planner.model.plan.Plan`."""

    @property
    def rows(self) -> float:
        """The estimated rows."""

    @property
    def places(self) -> VariablePlaces:
        """Where the values of its variables stand."""


@dataclass(frozen=True, slots=True)
class Subquery:
    """`inputs`: the plan's variable for each argument, in order. `sources`: (name within, name outside).

    `given`: the arguments, where it stands as a relation and none of them is a variable.
    """

    query: Query
    sources: tuple[tuple[str, str], ...]
    inputs: tuple[str, ...]
    plan: InnerPlan = field(compare=False)
    given: tuple[Term | Source, ...] = ()

    def is_relation(self, binding: Binding) -> bool:
        """Whether the binding takes apart just what the find spec puts together: rows, or a column."""
        find = self.query.find
        if any(isinstance(element, FindPull) for element in find.elements):
            return False
        if isinstance(binding, RelationBinding):
            return find.shape == "relation" and find.keys is None
        return isinstance(binding, CollectionBinding) and find.shape == "collection"


@dataclass(frozen=True, slots=True)
class DatomAtom:
    """A data pattern over a version of a database: always five terms."""

    source: str
    entity: Term
    attribute: Term
    value: Term
    tx: Term = None
    added: Term = None
    position: Position | None = field(default=None, compare=False)
    version: Version = Version.ALL

    @property
    def terms(self) -> tuple[Term, ...]:
        return (self.entity, self.attribute, self.value, self.tx, self.added)


@dataclass(frozen=True, slots=True)
class RelationAtom:
    """A pattern over a version of a relation: an input (`:in` place number), a source that is a list of tuples,
    what rules derive (`derived`), or the rows of a query within the query. `given`: its rows are at hand before
    anything is bound, as those of arguments."""

    relation: str
    terms: tuple[Term, ...]
    position: Position | None = field(default=None, compare=False)
    subquery: Subquery | None = None
    derived: bool = False
    version: Version = Version.ALL
    given: bool = False


@dataclass(frozen=True, slots=True)
class RuleAtom:
    """A call of a rule that is evaluated as a relation of its own; the magic pass makes a RelationAtom of it.

    Its variables are bound by it once those in the places `required` are.
    """

    rule: str
    terms: tuple[Term, ...]
    required: frozenset[int] = frozenset()
    position: Position | None = field(default=None, compare=False)

    @property
    def needs(self) -> frozenset[str]:
        """The variables that must be bound before."""
        return frozenset(term for i in self.required if isinstance(term := self.terms[i], str))


@dataclass(frozen=True, slots=True)
class PredicateAtom:
    """`version`: of the database that it looks into, if it does."""

    name: str
    args: tuple[Term | Source, ...]
    position: Position | None = field(default=None, compare=False)
    version: Version = Version.ALL


@dataclass(frozen=True, slots=True)
class FunctionAtom:
    """`[(name args…) out]`; the name `%nth` takes an element out of a tuple, and `q` runs `subquery`. `version`: of
    the database that it looks into, if it does."""

    name: str
    args: tuple[Term | Source, ...]
    out: str
    position: Position | None = field(default=None, compare=False)
    subquery: Subquery | None = None
    version: Version = Version.ALL


@dataclass(frozen=True, slots=True)
class UnnestAtom:
    """One row of `out` for each element of the value of `collection`."""

    collection: str
    out: str
    position: Position | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AndNode:
    """`names`: the variables that it constrains, which are asked for at every step of the planner."""

    items: tuple[Node, ...]
    names: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset().union(*map(variables, self.items)))


@dataclass(frozen=True, slots=True)
class OrNode:
    """`local_to` says which branch a branch-local variable belongs to. `rule`: the rule whose branches they are, if
    it stands for a call. `names`: as of an `and`."""

    branches: tuple[AndNode, ...]
    required: frozenset[str] = frozenset()
    local_to: tuple[tuple[str, int], ...] = ()
    rule: str = ""
    position: Position | None = field(default=None, compare=False)
    names: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", self.required.union(*(branch.names for branch in self.branches)))


@dataclass(frozen=True, slots=True)
class NotNode:
    """`shared` are bound outside; `levels`, of the inner variables, are filled in when the join is planned. So is
    `apart`: the levels of the inside by itself, where only comparisons tie it to what is shared."""

    items: tuple[Node, ...]
    shared: tuple[str, ...]
    levels: tuple[LevelPlan, ...] = ()
    apart: tuple[LevelPlan, ...] = ()
    position: Position | None = field(default=None, compare=False)


Leaf = DatomAtom | RelationAtom | RuleAtom | PredicateAtom | FunctionAtom | UnnestAtom | NotNode
Node = Leaf | AndNode | OrNode


@dataclass(frozen=True, slots=True)
class LevelPlan:
    """The planner's side of a level: the variable, what to keep after it, and what it expected."""

    variable: str
    keep: frozenset[str] | None = None
    merge: bool = False
    counted: bool = False
    estimate: float = 0.0


def variables(node: Node) -> frozenset[str]:
    """The variables that a node constrains; of a `not` only the shared ones."""
    match node:
        case DatomAtom() | RelationAtom() | RuleAtom():
            return frozenset(term for term in node.terms if isinstance(term, str))
        case PredicateAtom():
            return frozenset(term for term in node.args if isinstance(term, str))
        case FunctionAtom():
            return frozenset(term for term in node.args if isinstance(term, str)) | {node.out}
        case UnnestAtom():
            return frozenset((node.collection, node.out))
        case NotNode():
            return frozenset(node.shared)
        case AndNode() | OrNode():
            return node.names


def leaves(node: Node) -> Iterator[Leaf]:
    """The leaves below a node, a `not` counting as one."""
    match node:
        case AndNode():
            for item in node.items:
                yield from leaves(item)
        case OrNode():
            for branch in node.branches:
                yield from leaves(branch)
        case _:
            yield node


def conjuncts(items: Iterable[Node]) -> Iterator[Node]:
    """What holds together: the items of a conjunction, and of those directly in it."""
    for item in items:
        if isinstance(item, AndNode):
            yield from conjuncts(item.items)
        else:
            yield item


def disjunctions(node: Node) -> Iterator[OrNode]:
    """Every `or` below a node, outside a `not`."""
    match node:
        case AndNode():
            for item in node.items:
                yield from disjunctions(item)
        case OrNode():
            yield node
            for branch in node.branches:
                yield from disjunctions(branch)
        case _:
            return


def rewritten(node: Node, change: Callable[[Leaf], Node]) -> Node:
    """The tree with every leaf changed; the leaves inside a `not` before the `not` itself."""
    match node:
        case AndNode():
            return in_body(node, change)
        case OrNode():
            branches = tuple(in_body(branch, change) for branch in node.branches)
            local_to = tuple((name, owner) for name, owner in node.local_to if name in branches[owner].names)
            return replace(node, branches=branches, local_to=local_to)
        case NotNode():
            return change(replace(node, items=tuple(rewritten(item, change) for item in node.items)))
        case _:
            return change(node)


def in_body(body: AndNode, change: Callable[[Leaf], Node]) -> AndNode:
    """`rewritten` of a conjunction, which is one again."""
    return AndNode(tuple(rewritten(item, change) for item in body.items))


def with_terms(leaf: Leaf, change: Callable[[Term], Term]) -> Leaf:
    """The leaf with every term changed; a variable that a clause binds or shares can only become another one."""

    def name(variable: str) -> str:
        changed = change(variable)
        assert isinstance(changed, str)
        return changed

    match leaf:
        case DatomAtom():
            entity, attribute, value, tx, added = map(change, leaf.terms)
            return replace(leaf, entity=entity, attribute=attribute, value=value, tx=tx, added=added)
        case RelationAtom() | RuleAtom():
            return replace(leaf, terms=tuple(map(change, leaf.terms)))
        case PredicateAtom():
            return replace(leaf, args=tuple(_changed(change, each) for each in leaf.args))
        case FunctionAtom():
            args = tuple(_changed(change, each) for each in leaf.args)
            return replace(leaf, args=args, out=name(leaf.out))
        case UnnestAtom():
            return replace(leaf, collection=name(leaf.collection), out=name(leaf.out))
        case NotNode():
            return replace(leaf, shared=tuple(map(name, leaf.shared)))


def _changed(change: Callable[[Term], Term], argument: Term | Source) -> Term | Source:
    return argument if isinstance(argument, Source) else change(argument)


def everything(node: Node) -> Iterator[Leaf]:
    """The leaves below a node, those inside a `not` included."""
    for leaf in leaves(node):
        yield leaf
        if isinstance(leaf, NotNode):
            for item in leaf.items:
                yield from everything(item)
