"""A query as a tree of atoms over unique variables: what the passes work on.

Scopes are gone: a local variable of an `or-join`, `not` or `not-join` has been renamed apart, a binding has been
taken to pieces, a blank is None. Frozen, so that a plan can be kept and sent to workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Protocol, Self

from adalog.datalog.ast import (
    Binding,
    BindingInput,
    CollectionBinding,
    FindPull,
    Query,
    RelationBinding,
    Source,
    Var,
)
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.edn import write
from adalog.datalog.errors import Position
from adalog.datalog.names import targets
from adalog.datalog.pull import PullQuery
from adalog.planner.model.call_tree import CallTree
from adalog.planner.model.leaf import (
    NOTHING,
    Change,
    LeafNode,
    TermsNode,
    is_known,
    names_of,
    new_args,
    new_name,
    shown,
    versioned_name,
)
from adalog.planner.model.leaf import Term as Term
from adalog.planner.model.places import VariablePlaces
from adalog.planner.model.version import Version


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

    @property
    def reads(self) -> frozenset[str]:
        return frozenset(outside for _, outside in self.sources)

    def call(self, values: tuple[Term | Source, ...]) -> str:
        """`(q [:find ?m …] $ ?x)`"""
        find = " ".join(element.label for element in self.query.find.elements)
        sources = " ".join(outside for _, outside in self.sources)
        return f"(q [:find {find} …] {' '.join(filter(None, (sources, shown(values))))})"

    def is_relation(self, binding: Binding) -> bool:
        """Whether the binding takes apart just what the find spec puts together: rows, or a column."""
        find = self.query.find
        if any(isinstance(element, FindPull) for element in find.elements):
            return False
        if isinstance(binding, RelationBinding):
            return find.shape == "relation" and find.keys is None
        return isinstance(binding, CollectionBinding) and find.shape == "collection"


@dataclass(frozen=True, slots=True)
class PulledQuery:
    """A query in the pattern of a pull from `source`, which is called with entities."""

    source: str
    asked: PullQuery
    subquery: Subquery

    @property
    def taken(self) -> frozenset[str]:
        """The variables that it takes from the `:in` of the query around it."""
        _entity, *others = (each.binding for each in self.subquery.query.inputs if isinstance(each, BindingInput))
        return frozenset(part.name for each in others for part in targets(each) if isinstance(part, Var))

    @property
    def clause(self) -> str:
        """`(q "comments" [:find ?c …] $)`"""
        return f"(q {write(self.asked.key.value)} {self.subquery.call(())[3:]}"


@dataclass(frozen=True, slots=True)
class DatomAtom(TermsNode):
    """A data pattern over a version of a database: always five terms."""

    kind = "pattern"
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

    @property
    def mentions(self) -> tuple[str, ...]:
        return names_of(self.terms)

    @property
    def reads(self) -> frozenset[str]:
        return frozenset((self.source,))

    @property
    def clause(self) -> str:
        terms = list(self.terms)
        while len(terms) > 3 and terms[-1] is None:
            terms.pop()
        plain = self.source == "$" and self.version is Version.ALL
        return f"[{'' if plain else f'{versioned_name(self.source, self.version)} '}{shown(terms)}]"

    def with_terms(self, change: Change) -> Self:
        entity, attribute, value, tx, added = map(change, self.terms)
        return replace(self, entity=entity, attribute=attribute, value=value, tx=tx, added=added)

    def is_anchored(self, bound: frozenset[str]) -> bool:
        return is_known((self.entity, self.value, self.tx), bound)


@dataclass(frozen=True, slots=True)
class RelationAtom(TermsNode):
    """A pattern over a version of a relation: an input (`:in` place number), a source that is a list of tuples,
    what rules derive (`derived`), or the rows of a query within the query. `given`: its rows are at hand before
    anything is bound, as those of arguments."""

    kind = "relation"
    relation: str
    terms: tuple[Term, ...]
    position: Position | None = field(default=None, compare=False)
    subquery: Subquery | None = None
    derived: bool = False
    version: Version = Version.ALL
    given: bool = False

    @property
    def mentions(self) -> tuple[str, ...]:
        return names_of(self.terms)

    @property
    def reads(self) -> frozenset[str]:
        return NOTHING if self.subquery is None else self.subquery.reads

    @property
    def clause(self) -> str:
        if self.subquery is not None:
            return f"[{self.subquery.call(self.subquery.given)} [[{shown(self.terms)}]]]"
        text = f"{versioned_name(self.relation, self.version)} {shown(self.terms)}"
        return f"({text})" if self.derived else f"[{text}]"

    def with_terms(self, change: Change) -> Self:
        return replace(self, terms=tuple(map(change, self.terms)))

    def is_anchored(self, bound: frozenset[str]) -> bool:
        return self.given or is_known(self.terms, bound)


@dataclass(frozen=True, slots=True)
class RuleAtom(TermsNode):
    """A call of a rule that is evaluated as a relation of its own; the magic pass makes a RelationAtom of it.

    Its variables are bound by it once those in the places `required` are.
    """

    kind = "rule"
    reads = NOTHING
    rule: str
    terms: tuple[Term, ...]
    required: frozenset[int] = frozenset()
    position: Position | None = field(default=None, compare=False)

    @property
    def mentions(self) -> tuple[str, ...]:
        return names_of(self.terms)

    @property
    def needs(self) -> frozenset[str]:
        return frozenset(term for i in self.required if isinstance(term := self.terms[i], str))

    @property
    def clause(self) -> str:
        return f"({self.rule} {shown(self.terms)})"

    def with_terms(self, change: Change) -> Self:
        return replace(self, terms=tuple(map(change, self.terms)))


COMPARISONS: Final = frozenset(("=", "==", "not=", "!=", "<", ">", "<=", ">=", "between"))
MEMBERSHIPS: Final = frozenset(("in", "not-in"))
TREE: Final = "%"
"""The name of an atom that has a tree of calls."""

_SELECTIVITY: Final = {"=": 0.1, "==": 0.1, "not=": 0.9, "!=": 0.9}


@dataclass(frozen=True, slots=True)
class PredicateAtom(LeafNode):
    """`version`: of the database that it looks into, if it does. `tree`: the call, where it has calls within it;
    its name is then TREE, and its arguments are the terms at the leaves. `after`: variables that are bound first,
    besides its own (`planner.order.caution`)."""

    kind = "predicate"
    name: str
    args: tuple[Term | Source, ...]
    position: Position | None = field(default=None, compare=False)
    version: Version = Version.ALL
    tree: CallTree | None = None
    after: tuple[str, ...] = ()

    @property
    def mentions(self) -> tuple[str, ...]:
        return (*names_of(self.args), *self.after)

    @property
    def called(self) -> str:
        """The name that it calls."""
        return self.name if self.tree is None else self.tree.name

    @property
    def reads(self) -> frozenset[str]:
        return _read_by(self.name, self.args)

    @property
    def clause(self) -> str:
        return f"[{_shown_call(self)}]"

    @property
    def selectivity(self) -> float:
        return _SELECTIVITY.get(self.name, 0.4)

    def with_terms(self, change: Change) -> Self:
        return replace(self, args=new_args(change, self.args), after=names_of(map(change, self.after)))


@dataclass(frozen=True, slots=True)
class FunctionAtom(LeafNode):
    """`[(name args…) out]`; the name `%nth` takes an element out of a tuple, and `q` runs `subquery`. `version`: of
    the database that it looks into, if it does. `tree` and `after`: as of a predicate. `keeps_nil`: a row is kept
    whose result is nil."""

    kind = "function"
    selectivity = 1.0
    name: str
    args: tuple[Term | Source, ...]
    out: str
    position: Position | None = field(default=None, compare=False)
    subquery: Subquery | None = None
    version: Version = Version.ALL
    tree: CallTree | None = None
    keeps_nil: bool = False
    after: tuple[str, ...] = ()

    @property
    def mentions(self) -> tuple[str, ...]:
        return (*names_of(self.args), self.out, *self.after)

    @property
    def called(self) -> str:
        """The name that it calls."""
        return self.name if self.tree is None else self.tree.name

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.out,)

    @property
    def needs(self) -> frozenset[str]:
        return frozenset((*names_of(self.args), *self.after))

    @property
    def reads(self) -> frozenset[str]:
        return _read_by(self.name, self.args) if self.subquery is None else self.subquery.reads

    @property
    def clause(self) -> str:
        called = _shown_call(self) if self.subquery is None else self.subquery.call(self.args)
        return f"[{called} {self.out}]"

    def with_terms(self, change: Change) -> Self:
        args, after = new_args(change, self.args), names_of(map(change, self.after))
        return replace(self, args=args, out=new_name(change, self.out), after=after)


@dataclass(frozen=True, slots=True)
class UnnestAtom(LeafNode):
    """One row of `out` for each element of the value of `collection`. `after`: as of a predicate."""

    kind = "unnest"
    reads = NOTHING
    selectivity = 1.0
    fanout = 4.0
    collection: str
    out: str
    position: Position | None = field(default=None, compare=False)
    after: tuple[str, ...] = ()

    @property
    def mentions(self) -> tuple[str, ...]:
        return (self.collection, self.out, *self.after)

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.out,)

    @property
    def clause(self) -> str:
        return f"[(unnest {self.collection}) {self.out}]"

    def with_terms(self, change: Change) -> Self:
        collection, out = new_name(change, self.collection), new_name(change, self.out)
        return replace(self, collection=collection, out=out, after=names_of(map(change, self.after)))


def _shown_call(call: PredicateAtom | FunctionAtom) -> str:
    return f"({call.name} {shown(call.args)})" if call.tree is None else call.tree.shown(call.args)


def _read_by(name: str, args: Iterable[Term | Source]) -> frozenset[str]:
    """The database that a call of a built-in names, the default one where it names none; all that a tree names."""
    if name == TREE:
        return frozenset(each.name for each in args if isinstance(each, Source))
    if name not in BUILTINS or not BUILTINS[name].needs_database:
        return NOTHING
    return frozenset((next((each.name for each in args if isinstance(each, Source)), "$"),))


@dataclass(frozen=True, slots=True)
class AndNode:
    """`names`: the variables that it constrains, which are asked for at every step of the planner."""

    selectivity: ClassVar[float] = 0.5
    items: tuple[Node, ...]
    names: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset().union(*map(variables, self.items)))


@dataclass(frozen=True, slots=True)
class OrNode:
    """`local_to` says which branch a branch-local variable belongs to. `rule`: the rule whose branches they are, if
    it stands for a call. `optional`: the second branch is the negation of the first, with nil for what that binds.
    `names`: as of an `and`. `owners`: `local_to` by variable."""

    selectivity: ClassVar[float] = 1.0
    branches: tuple[AndNode, ...]
    required: frozenset[str] = frozenset()
    local_to: tuple[tuple[str, int], ...] = ()
    rule: str = ""
    optional: bool = False
    position: Position | None = field(default=None, compare=False)
    names: frozenset[str] = field(init=False, compare=False, repr=False)
    owners: Mapping[str, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", self.required.union(*(branch.names for branch in self.branches)))
        object.__setattr__(self, "owners", dict(self.local_to))


@dataclass(frozen=True, slots=True)
class NotNode(LeafNode):
    """`shared` are bound outside; `levels`, of the inner variables, are filled in when the join is planned. So is
    `apart`: the levels of the inside by itself, where only comparisons tie it to what is shared. `after`: as of a
    predicate."""

    kind = "not"
    reads = NOTHING
    items: tuple[Node, ...]
    shared: tuple[str, ...]
    levels: tuple[LevelPlan, ...] = ()
    apart: tuple[LevelPlan, ...] = ()
    position: Position | None = field(default=None, compare=False)
    after: tuple[str, ...] = ()

    @property
    def mentions(self) -> tuple[str, ...]:
        return (*self.shared, *self.after)

    @property
    def clause(self) -> str:
        return f"(not {' '.join(map(describe, self.items))})"

    def with_terms(self, change: Change) -> Self:
        shared = tuple(new_name(change, each) for each in self.shared)
        return replace(self, shared=shared, after=names_of(map(change, self.after)))


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
    return node.names if isinstance(node, AndNode | OrNode) else frozenset(node.mentions)


def describe(node: Node) -> str:
    match node:
        case AndNode():
            return f"(and {' '.join(map(describe, node.items))})"
        case OrNode(optional=True):
            return f"(optional {' '.join(map(describe, node.branches[0].items))})"
        case OrNode():
            return f"(or {' '.join(map(describe, node.branches))})"
        case _:
            return node.clause


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


def without_single_branches(body: AndNode) -> AndNode:
    """The same with the items of each `or` of one branch in its place, such as a call of a rule that requires
    arguments. Right once what it requires is known to be bound: then any order may begin within it."""
    return AndNode(tuple(made for item in body.items for made in _without_single_branches(item)))


def _without_single_branches(item: Node) -> tuple[Node, ...]:
    match item:
        case OrNode(branches=(branch,)):
            return without_single_branches(branch).items
        case OrNode():
            return (replace(item, branches=tuple(map(without_single_branches, item.branches))),)
        case AndNode():
            return (without_single_branches(item),)
        case NotNode():
            return (replace(item, items=without_single_branches(AndNode(item.items)).items),)
        case _:
            return (item,)


def everything(node: Node) -> Iterator[Leaf]:
    """The leaves below a node, those inside a `not` included."""
    for leaf in leaves(node):
        yield leaf
        if isinstance(leaf, NotNode):
            for item in leaf.items:
                yield from everything(item)
