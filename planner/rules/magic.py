"""Magic sets: what a call already binds restricts what the rule derives.

A call `(needs ?p ?d)` with ?p bound asks for `needs^bf`, of which only the tuples are derived whose first place
lies in the magic set of that adornment: what the call's side can bind, and what the rule's own calls ask for.
Sideways information passing: a call sees the clauses that constants, inputs and earlier calls lead to.

Source: Beeri and Ramakrishnan, "On the power of magic", 1991.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from adalog.planner.model import logical
from adalog.planner.model.logical import AndNode, Node, everything, variables
from adalog.planner.model.program import Branch, RulePredicate, RuleRelation
from adalog.planner.order.ordering import order_variables
from adalog.planner.order.statistics import Statistics
from adalog.planner.rules.requirements import bindable
from adalog.planner.scope.comparisons import equates
from adalog.planner.scope.strata import RuleDependency, components

QUERY = ""
"""The origin of what the query itself asks of the rules."""

# Beyond so many values a magic set that does not grow is no better than one that does.
_FEW = 64.0

# Relations after which calls share theirs again.
_MOST_RELATIONS = 200


def _components(predicates: Sequence[RulePredicate]) -> dict[str, int]:
    """The number of the strongly connected component of each predicate."""
    dependencies = [
        RuleDependency(each.name, leaf.rule)
        for each in predicates
        for branch in each.branches
        for leaf in everything(branch.body)
        if isinstance(leaf, logical.RuleAtom)
    ]
    found = components([each.name for each in predicates], dependencies)
    return {name: number for number, names in enumerate(found) for name in names}


@dataclass(frozen=True, slots=True)
class MagicRule:
    """A rule of a magic set. `origin`: the relation whose rules contain the call, or QUERY. `size`: the estimated
    number of tuples that it derives."""

    branch: Branch
    origin: str
    size: float


@dataclass
class AdornedProgram:
    """The query's body and the rules of the program after the pass. `magic`: the rules of each magic set."""

    body: AndNode
    relations: dict[str, RuleRelation] = field(default_factory=dict)
    rules: dict[str, list[Branch]] = field(default_factory=dict)
    magic: dict[str, list[MagicRule]] = field(default_factory=dict)

    @property
    def all_rules(self) -> dict[str, list[Branch]]:
        """Those of magic sets among them."""
        return self.rules | {name: [each.branch for each in asked] for name, asked in self.magic.items()}


def magic_of(relation: str) -> str:
    return f"magic {relation}"


def calls_rule(node: Node) -> bool:
    return any(isinstance(leaf, logical.RuleAtom) for leaf in everything(node))


@dataclass
class _Prefix:
    """The nodes that are evaluated before a call, and the variables that they bind. They call no rules any more.

    `given`: the variables with one value, which are scalar inputs and constants of rule calls.
    """

    given: frozenset[str]
    bound: frozenset[str]
    items: list[Node] = field(default_factory=list)

    def add(self, item: Node) -> None:
        self.items.append(item)
        if isinstance(item, AndNode | logical.OrNode):  # not every branch binds what another one does
            self.bound |= variables(item) & bindable(AndNode(tuple(self.items)), self.bound)
        elif not isinstance(item, logical.NotNode):
            self.bound |= variables(item)

    def absorb(self, waiting: list[Node], *, anchored_only: bool) -> None:
        """Moves nodes that can be evaluated next from `waiting` into the prefix. With `anchored_only` it takes only
        those that share a bound variable or have a constant."""
        found = True
        while found:
            found = False
            for item in list(waiting):
                if self._takes(item) and (not anchored_only or self._anchored(item)):
                    waiting.remove(item)
                    self.add(item)
                    found = True

    def _takes(self, item: Node) -> bool:
        if isinstance(item, AndNode | logical.OrNode):
            return variables(item) <= bindable(AndNode((*self.items, item)), self.bound)
        return item.needs <= self.bound or (
            isinstance(item, logical.PredicateAtom)
            and any(equates(item, name, self.bound) for name in item.mentions)
        )

    def _anchored(self, item: Node) -> bool:
        match item:
            case AndNode():
                return any(self._anchored(each) for each in item.items)
            case logical.OrNode():
                return all(self._anchored(branch) for branch in item.branches)
            case _:
                return item.is_anchored(self.bound)

    def parts(self, names: Iterable[str]) -> list[tuple[frozenset[str], tuple[Node, ...]]]:
        """The names by what connects them: (names, the nodes of the prefix in one connected part)."""
        items = self._evaluable()
        wanted = set(names) - self.given
        parts: list[tuple[frozenset[str], tuple[Node, ...]]] = []
        while wanted:
            reached = {min(wanted)}
            nodes: dict[int, Node] = {}
            grown = True
            while grown:
                grown = False
                for i, item in enumerate(items):
                    mine = variables(item) - self.given
                    if i not in nodes and mine & reached:
                        nodes[i] = item
                        reached |= mine
                        grown = True
            if nodes:
                parts.append((frozenset(wanted & reached), tuple(nodes[i] for i in sorted(nodes))))
            wanted -= reached
        return parts

    def _evaluable(self) -> list[Node]:
        """The nodes without those of which some variable is bound by what is not in the prefix."""
        items = self.items
        while any(isinstance(item, AndNode | logical.OrNode) for item in items):
            known = bindable(AndNode(tuple(items)), self.given)
            left = [item for item in items if variables(item) <= known]
            if len(left) == len(items):
                break
            items = left
        return items


@dataclass
class MagicSets:
    """One run of the pass.

    `through`: the relations that a `not` or an aggregate over all tuples reads are restricted, too. That may make a
    stratified program unstratified; then the caller runs the pass again without it. `use`: every bound place
    restricts a relation; without it only the places that a rule requires do. `apart`: calls that are not part of
    one recursion read relations of their own, so that the magic set of one does not depend on the answer of
    another. `turn`: right-linear rules are turned around afterwards, so that a recursion asks for no more than its
    call does.
    """

    predicates: Sequence[RulePredicate]
    statistics: Statistics
    through: bool
    use: bool
    apart: bool
    turn: bool = True
    made: AdornedProgram = field(default_factory=lambda: AdornedProgram(AndNode(())), init=False)
    _copies: dict[str, int] = field(default_factory=dict, init=False)
    _whole: frozenset[str] = field(default=frozenset(), init=False)
    _waiting: list[tuple[RulePredicate, str, bool]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._named = {each.name: each for each in self.predicates}
        self._component = _components(self.predicates)

    def of_query(self, body: AndNode, given: Sequence[str]) -> AdornedProgram:
        """The program that answers the query.

        Where a rule is asked for all its tuples anyway, the other calls read those.
        """
        while True:
            made = self._of_query(body, given)
            whole = frozenset(each.rule for name, each in made.relations.items() if name == each.rule)
            if whole <= self._whole:
                return made
            self._whole |= whole

    def _of_query(self, body: AndNode, given: Sequence[str]) -> AdornedProgram:
        self.made = AdornedProgram(AndNode(()))
        self._copies = {}
        known = frozenset(given)
        self.made.body = self._conjunction(body, _Prefix(known, known), QUERY, self.use)
        while self._waiting:
            self.statistics.check()
            predicate, name, restrict = self._waiting.pop()
            bound = sorted(self.made.relations[name].bound)
            for branch in predicate.branches:
                known = frozenset(branch.given)
                prefix = _Prefix(known, known)
                if bound:
                    prefix.add(
                        logical.RelationAtom(magic_of(name), tuple(branch.head[i] for i in bound), derived=True)
                    )
                seed = tuple(prefix.items)
                body = AndNode((*seed, *self._conjunction(branch.body, prefix, name, restrict).items))
                self.made.rules.setdefault(name, []).append(replace(branch, body=body))
        return self.made

    def _conjunction(self, node: AndNode, prefix: _Prefix, origin: str, restrict: bool) -> AndNode:
        """The conjunction with its rule calls as relations; `prefix` ends up holding it."""
        waiting = [item for item in node.items if not calls_rule(item)]
        calls = [item for item in node.items if calls_rule(item)]
        changed: dict[int, Node] = {}
        while calls:
            self.statistics.check()
            prefix.absorb(waiting, anchored_only=True)
            item = self._next(calls, prefix)
            if item is None:
                prefix.absorb(waiting, anchored_only=False)
                item = self._next(calls, prefix) or calls[0]
            calls.remove(item)
            changed[id(item)] = made = self._item(item, prefix, origin, restrict)
            prefix.add(made)
        prefix.absorb(waiting, anchored_only=False)
        return AndNode(tuple(changed.get(id(item), item) for item in node.items))

    def _next(self, calls: Sequence[Node], prefix: _Prefix) -> Node | None:
        """The call to make next: one that is ready, rather one that something narrows, a `not` last."""
        ready = [item for item in calls if self._ready(item, prefix)]

        def preference(item: Node) -> int:
            return 2 if isinstance(item, logical.NotNode) else int(variables(item).isdisjoint(prefix.bound))

        return min(ready, key=preference, default=None)

    def _ready(self, item: Node, prefix: _Prefix) -> bool:
        match item:
            case logical.OrNode():
                return (
                    item.required <= prefix.bound
                    and all(variables(b) <= bindable(b, prefix.bound) for b in item.branches)
                    and item.names <= bindable(AndNode((*prefix.items, item)), prefix.bound)
                )
            case AndNode():
                return True
            case _:
                return item.needs <= prefix.bound

    def _item(self, item: Node, prefix: _Prefix, origin: str, restrict: bool) -> Node:
        match item:
            case logical.RuleAtom():
                return self._call(item, prefix, origin, restrict)
            case logical.OrNode():
                branches = item.branches
                made = (
                    self._conjunction(b, replace(prefix, items=[*prefix.items]), origin, restrict) for b in branches
                )
                return replace(item, branches=tuple(made))
            case logical.NotNode():
                inner, restrict = replace(prefix, items=[*prefix.items]), restrict and self.through
                return replace(item, items=self._conjunction(AndNode(item.items), inner, origin, restrict).items)
            case AndNode():
                return self._conjunction(item, prefix, origin, restrict)
            case _:
                return item

    def _call(self, atom: logical.RuleAtom, prefix: _Prefix, origin: str, restrict: bool) -> logical.RelationAtom:
        predicate = self._named[atom.rule]
        restrict = restrict and (self.through or not predicate.barrier)
        known = [i for i, term in enumerate(atom.terms) if predicate.aggregates[i] is None and term in prefix.bound]
        if not restrict or predicate.name in self._whole:
            known = [i for i in known if i in predicate.required]
        single = [i for i in known if atom.terms[i] in prefix.given]
        kept = frozenset() if self.turn else self._kept(predicate)
        if not kept.isdisjoint(single):
            # One value that stays restricts a recursion without a magic set that grows.
            known = [i for i in known if i in kept or i in predicate.required]
            single = [i for i in single if i in known]
        parts = prefix.parts(str(atom.terms[i]) for i in known if i not in single)
        chosen = [part for part in parts if part[0] & atom.needs]
        if restrict and not chosen and parts:
            chosen = [min(parts, key=lambda part: self._spread(predicate, atom, part, prefix))]
        taken = frozenset().union(*(part[0] for part in chosen))
        bound = frozenset(i for i in known if i in single or atom.terms[i] in taken)
        name = self._adorned(predicate, bound, restrict, self._copy(predicate, origin) if bound else 0)
        if bound:
            items = tuple(item for part in chosen for item in part[1])
            if self.apart and not self._together(predicate, origin):
                items = self._before_recursion(items, taken, prefix.given, origin)
            head = tuple(str(atom.terms[i]) for i in sorted(bound))
            self._ask(magic_of(name), Branch(head, AndNode(items), tuple(sorted(prefix.given))), origin, prefix)
        return logical.RelationAtom(name, atom.terms, atom.position, derived=True)

    def _spread(
        self,
        predicate: RulePredicate,
        atom: logical.RuleAtom,
        part: tuple[frozenset[str], tuple[Node, ...]],
        prefix: _Prefix,
    ) -> tuple[bool, float]:
        """How much a recursion is asked for if one part of a call restricts it: (whether the magic set grows with
        the recursion, the size that it begins with)."""
        names, items = part
        size = self._size(items, names, prefix)
        grows = not self.turn and any(
            term in names and i not in self._kept(predicate) for i, term in enumerate(atom.terms)
        )
        return grows or (not self.turn and size > _FEW), size

    def _kept(self, predicate: RulePredicate) -> frozenset[int]:
        """The places that every recursive call passes on as they are."""
        kept = set(range(predicate.arity))
        own = self._component[predicate.name]
        for branch in predicate.branches:
            for leaf in everything(branch.body):
                if isinstance(leaf, logical.RuleAtom) and self._component[leaf.rule] == own:
                    same = leaf.rule == predicate.name
                    kept = {i for i in kept if same and leaf.terms[i] == branch.head[i]}
        return frozenset(kept)

    def _ask(self, name: str, branch: Branch, origin: str, prefix: _Prefix) -> None:
        """Adds a rule to a magic set, unless the rule is a tautology: the set contained in itself."""
        items = branch.body.items
        if items != (logical.RelationAtom(name, branch.head, derived=True),):
            size = self._size(items, frozenset(branch.head) - prefix.given, prefix)
            self.made.magic.setdefault(name, []).append(MagicRule(branch, origin, size))

    def _size(self, items: Sequence[Node], names: frozenset[str], prefix: _Prefix) -> float:
        """The estimated number of values of `names` that the items derive."""
        if not names:
            return 1.0
        found = order_variables(AndNode(tuple(items)), prefix.given, names, self.statistics)
        return found.prefixes[-1] if found is not None and found.prefixes else 1.0

    def _together(self, predicate: RulePredicate, origin: str) -> bool:
        """Whether the call and the rule that makes it are part of one recursion."""
        return origin != QUERY and (
            self._component[self.made.relations[origin].rule] == self._component[predicate.name]
        )

    def _copy(self, predicate: RulePredicate, origin: str) -> int:
        """The number of the copy of the relations that a call reads; 0 is the copy that calls share."""
        if self._together(predicate, origin):
            return self._copies[origin]
        if not self.apart or len(self.made.relations) > _MOST_RELATIONS:
            return 0
        return max(self._copies.values(), default=0) + 1

    def _before_recursion(
        self, items: tuple[Node, ...], names: frozenset[str], given: frozenset[str], origin: str
    ) -> tuple[Node, ...]:
        """The items without the calls of the caller's own recursion, if the remaining items bind `names`."""
        own = self._component.get(self.made.relations[origin].rule) if origin != QUERY else None
        waiting = [item for item in items if own not in self._read(item)]
        prefix = _Prefix(given, given)
        prefix.absorb(waiting, anchored_only=False)
        return tuple(prefix.items) if names <= prefix.bound else items

    def _read(self, node: Node) -> set[int]:
        """The components of the rules that a node reads, without those of magic sets."""
        read = (
            leaf.relation for leaf in everything(node) if isinstance(leaf, logical.RelationAtom) and leaf.derived
        )
        return {self._component[each.rule] for name in read if not (each := self.made.relations[name]).magic}

    def _adorned(self, predicate: RulePredicate, bound: frozenset[int], restrict: bool, copy: int) -> str:
        """The relation of a predicate with some places bound; its rules are rewritten once."""
        letters = "".join("b" if i in bound else "f" for i in range(predicate.arity))
        name = predicate.name + (f"^{letters}" if bound else "") + ("" if restrict or not self.use else " (whole)")
        name += f" #{copy}" if copy else ""
        self._copies[name] = copy
        if name not in self.made.relations:
            self.made.relations[name] = RuleRelation(
                name, predicate.name, predicate.arity, predicate.aggregates if predicate.aggregated else (), bound
            )
            if bound:
                magic = magic_of(name)
                self.made.relations[magic] = RuleRelation(magic, predicate.name, len(bound), magic=True)
            self._waiting.append((predicate, name, restrict))
        return name
