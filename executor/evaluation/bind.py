"""Binds a plan to what it runs over: from the logical tree to extenders on patterns, relations and built-ins.

What has no variable left is decided here: a pattern that does not hold makes its conjunction dead, and a dead
branch leaves its `or`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import ref

import numpy as np

from adalog.datalog.ast import Const, LookupRef, Source
from adalog.datalog.builtins import DatabaseAccess
from adalog.datalog.errors import Position, invalid_argument
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.late_calls import without_late_calls
from adalog.executor.evaluation.nested import Derive, NestedCall
from adalog.executor.evaluation.tied_negation import TiedJoin
from adalog.executor.expressions.binding import CallBinding
from adalog.executor.expressions.calls import Argument, Call, Results
from adalog.executor.extenders.changes import Moments
from adalog.executor.extenders.comparisons import ComparisonExtender, EqualityExtender
from adalog.executor.extenders.database_access import SnapshotAccess
from adalog.executor.extenders.functions import FilterExtender, FunctionExtender, UnnestExtender
from adalog.executor.extenders.indexed_values import PrefixExtender, is_prefix
from adalog.executor.extenders.optional_values import OptionalExtender
from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.extenders.patterns import DEAD, HOLDS, Bound, Patterns, rows_extender
from adalog.executor.extenders.relation import RelationExtender, UnionExtender
from adalog.executor.extenders.visible_entities import VisibleEntities
from adalog.executor.facts.facts import DerivedRelation, Relations
from adalog.executor.facts.maintained import MaintainedExtender, MaintainedFacts
from adalog.executor.facts.small_tables import SmallTable
from adalog.executor.join.batch import ORIGIN, Batch, Column, Mask
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.disjunction import Nest, OrBranch, OrExtender
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.level import Level
from adalog.executor.join.negation import NotExtender
from adalog.executor.join.protocol import START, Extender
from adalog.executor.question.inputs import Inputs
from adalog.planner.model import logical
from adalog.planner.model.call_tree import CallTree
from adalog.planner.model.plan import Plan, inner_plan
from adalog.planner.model.version import Version
from adalog.planner.scope.comparisons import NARROWING, equated, tied
from adalog.planner.scope.resolve import plain_value
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import NIL, TAG_BOOLEAN, code_of

ABSENT: Final = code_of(TAG_BOOLEAN, 1 << 59)
"""The code of a variable local to one branch in the rows that another branch carries. No value has it."""

_CallAtom = logical.PredicateAtom | logical.FunctionAtom

Held = Sequence[Column] | DerivedRelation | MaintainedFacts
"""The rows of a relation: of an input, of what rules derived, of what is kept from moment to moment."""


@dataclass(frozen=True, slots=True)
class RecentReader:
    """An extender over the one part of a derived relation, which can be given another part in the next round."""

    relation: str
    version: Version
    extender: RelationExtender
    places: tuple[int, ...]


@dataclass
class Binding:
    """Everything a plan is bound to. `relations`: int64 columns of each input relation and relation source, and
    parts of each derived one, or tables within a call of a kernel. `moments`: of the databases whose old and new
    states, or what lies between, are read. `readers` are those of the derived relations that are in one part.
    `derive` runs the rules of queries within.
    `lasting`: whether all that was bound so far is right wherever databases and relations are these; not where
    something was decided by, or holds, what a moment's database or a run's values have."""

    plan: Plan
    databases: Mapping[str, Snapshot]
    relations: Mapping[str, Held] | Mapping[str, SmallTable]
    run: QueryRun
    moments: Mapping[str, Moments] = field(default_factory=dict)
    rank: dict[str, int] = field(default_factory=dict)
    readers: list[RecentReader] = field(default_factory=list)
    lasting: bool = field(default=True, init=False)
    derive: Derive = field(kw_only=True)
    _nest: Nest | None = field(default=None, init=False)
    _nests: int = field(default=0, init=False)

    def join(self, *, seeded: bool = False) -> GenericJoin | None:
        """The bound join, or None where a part without variables already fails. `seeded`: its rows keep ORIGIN."""
        return self.join_of(self.plan.body.items, self.plan.given, self.plan.levels, self.plan.weighted, seeded)

    def join_of(
        self,
        items: Sequence[logical.Node],
        given: Sequence[str],
        levels: Sequence[logical.LevelPlan],
        weighted: bool,
        seed: bool = False,
    ) -> GenericJoin | None:
        """The bound join of a body with its levels: the plan's own, a rule's, or that of a `not`."""
        outer = self.rank, self._nest
        self.rank = dict.fromkeys(given, -1) | {level.variable: i for i, level in enumerate(levels)}
        self._nest = None
        body = self._conjunction(items)
        self.rank, self._nest = outer
        if isinstance(body, bool):
            if not body:
                return None
            body = Conjunction(())
        extra = frozenset((ORIGIN,)) if seed else frozenset()
        bound = [Level(x.variable, None if x.keep is None else x.keep | extra, x.merge, x.counted) for x in levels]
        return GenericJoin(body, bound, weighted, self.plan.options.budget, self._check_under_way())

    @property
    def _check(self) -> Callable[[], None]:
        return self.run.cancel.check

    def _check_under_way(self) -> Callable[[], None]:
        """The check of the run that is under way, where the binding outlives the run that it was made for."""
        binding, own = ref(self), self._check

        def check() -> None:
            held = binding()
            (own if held is None else held._check)()

        return check

    def _conjunction(self, items: Sequence[logical.Node]) -> Conjunction | bool:
        parts: list[Extender] = []
        for item in items:
            part = self.extender(item)
            if part is DEAD:
                return DEAD
            if isinstance(part, Conjunction):
                for each in part.parts:
                    if not (isinstance(each, VisibleEntities) and any(map(each.repeats, parts))):
                        parts.append(each)
            elif part is not HOLDS:
                parts.append(part)  # type: ignore[arg-type]
        return Conjunction(parts) if parts else HOLDS

    def extender(self, node: logical.Node) -> Bound:
        match node:
            case logical.DatomAtom():
                return self._pattern(node)
            case logical.RelationAtom():
                return self._relation(node)
            case logical.PredicateAtom():
                return self._predicate(node)
            case logical.FunctionAtom(subquery=logical.Subquery() as inner):
                call: Results = self._nested(inner, node.args, node.position)
                return FunctionExtender(call, node.out, self.rank, after=node.after)
            case logical.FunctionAtom():
                terms = equated(node)
                if terms is not None and all(isinstance(term, str) for term in terms):
                    return self._equality(terms, nil_fits=node.keeps_nil)
                call, keeps_nil = self._call(node), node.keeps_nil
                return FunctionExtender(call, node.out, self.rank, keeps_nil=keeps_nil, after=node.after)
            case logical.UnnestAtom():
                self.lasting = False
                return UnnestExtender(
                    node.collection, node.out, self.run.values, node.position, self.rank, after=node.after
                )
            case logical.AndNode():
                return self._conjunction(node.items)
            case logical.OrNode():
                return self._optional(node) or self._disjunction(node)
            case logical.NotNode():
                return self._negation(node)
            case logical.RuleAtom():
                raise AssertionError(f"{node.clause} is a relation by now")

    # Patterns and relations

    def _pattern(self, atom: logical.DatomAtom) -> Bound:
        if atom.version is Version.ALL:
            return Patterns(self.databases[atom.source], self.rank, self.run.strict).extender(atom)
        self.lasting = False
        return self.moments[atom.source].extender(atom, self.rank, self.run.strict)

    def _relation(self, atom: logical.RelationAtom) -> Bound:
        if atom.subquery is not None:
            columns: Sequence[Column] = self._nested(atom.subquery, atom.subquery.given, atom.position).rows()
            named = [c for c, term in zip(columns, atom.terms, strict=False) if isinstance(term, str)]
            if any((column == NIL).any() for column in named):
                # As of any other function, nil is not bound.
                there = np.flatnonzero(np.all([column != NIL for column in named], axis=0))
                columns = [column[there] for column in columns]
        else:
            held = self.relations[atom.relation]
            if isinstance(held, MaintainedFacts):
                return self._kept(atom, held)
            if isinstance(held, DerivedRelation):
                return self._derived(atom, held)
            if isinstance(held, SmallTable):
                bound = held.extender(atom.terms, atom.version, self.rank)
                self.lasting = self.lasting and bound is not None
                return DEAD if bound is None else bound
            columns = held
        terms = [self._code(t) if isinstance(t, Const | LookupRef) else t for t in atom.terms]
        if len(columns) < len(terms):
            if not columns or not len(columns[0]):
                return DEAD
            raise invalid_argument(
                f"this pattern has {len(terms)} places, but the tuples given have {len(columns)}", atom.position
            )
        if all(term is None for term in terms):
            return len(columns[0]) > 0 if columns else DEAD
        return rows_extender(terms, columns, self.rank)

    def _kept(self, atom: logical.RelationAtom, held: MaintainedFacts) -> Bound:
        terms = [term if isinstance(term, str) else None for term in atom.terms]
        bound = held.extender(terms, atom.version, self.rank)
        if not isinstance(bound, MaintainedExtender):
            self.lasting = False
        return bound

    def _derived(self, atom: logical.RelationAtom, held: DerivedRelation) -> Bound:
        """A pattern over rows in sorted parts, which are read as they are where it names only variables."""
        terms = [self._code(term) if isinstance(term, Const | LookupRef) else term for term in atom.terms]
        names = [term for term in terms if isinstance(term, str)]
        plain = len(names) == len(set(names)) > 0 and not any(isinstance(term, int) for term in terms)
        order = sorted(names, key=self.rank.__getitem__)
        places = tuple(map(terms.index, order))
        found: list[RelationExtender] = []
        for part in held.versions[atom.version]:
            if plain:
                bound: Bound = RelationExtender(order, part.levels(places), self.rank)
            else:
                bound = rows_extender(terms, part.columns, self.rank)
            if bound is HOLDS:
                return HOLDS
            if isinstance(bound, RelationExtender):
                found.append(bound)
        if len(found) == 1:
            if plain:
                self.readers.append(RecentReader(atom.relation, atom.version, found[0], places))
            return found[0]
        return UnionExtender(found) if found else DEAD

    # Calls

    def _predicate(self, node: logical.PredicateAtom) -> Bound:
        terms = equated(node)
        if terms is not None and any(isinstance(term, str) for term in terms):
            return self._equality(terms, nil_fits=False)
        call = self._call(node)
        if not call.variables and not node.after:
            self.lasting = False
            return FilterExtender(call, self.rank).intersect(Batch(1, {}), START).size == 1
        if isinstance(call, Call) and node.name in NARROWING and len(call.arguments) == 2:
            return ComparisonExtender(call, self.rank)
        if isinstance(call, Call) and not node.after and is_prefix(call):
            return PrefixExtender(call, self.rank)
        return FilterExtender(call, self.rank, after=node.after)

    def _equality(self, terms: tuple[logical.Term, logical.Term], *, nil_fits: bool) -> EqualityExtender:
        left, right = self._values(terms)
        if not isinstance(left, str):
            left, right = right, left
        assert isinstance(left, str), "of two constants nothing is left to ask for"
        return EqualityExtender(left, right, self.rank, nil_fits=nil_fits)

    def _call(self, node: _CallAtom) -> Results:
        def access(source: str) -> DatabaseAccess:
            self.lasting = False
            return SnapshotAccess(self._database(source, node))

        calls = CallBinding(node.args, self._code, access, self)
        tree = node.tree or CallTree(node.name, tuple(range(len(node.args))), node.position)
        return calls.results(tree)

    def _values(self, args: Sequence[logical.Term | Source]) -> tuple[str | int, ...]:
        given = (argument for argument in args if isinstance(argument, str | Const | LookupRef))
        return tuple(each if isinstance(each, str) else self._code(each) for each in given)

    def _code(self, term: Const | LookupRef) -> int:
        code = self.run.values.intern(plain_value(term))
        if Scratch.is_made(code):
            self.lasting = False
        return code

    def _database(self, name: str, node: _CallAtom) -> Snapshot:
        if node.version is not Version.ALL:
            return self.moments[name].at(node.version)
        if name not in self.databases:
            raise invalid_argument(
                f"({node.called} …) looks into a database, but {name} was given a list of tuples", node.position
            )
        return self.databases[name]

    def _nested(
        self, inner: logical.Subquery, args: Sequence[logical.Term | Source], position: Position | None
    ) -> NestedCall:
        self.lasting = False
        sources = self.databases, self.relations
        return nested_call(inner, self._values(args), sources, self.run, position, self.derive)

    # Connectives

    def _optional(self, node: logical.OrNode) -> OptionalExtender | None:
        """An optional pattern of one attribute, one end of which is bound before the other."""
        # A branch that nothing satisfies may have been left out.
        sizes = [len(branch.items) for branch in node.branches]
        if not node.optional or sizes != [1, 2]:
            return None
        (atom,), (_none, nil) = node.branches[0].items, node.branches[1].items
        if not isinstance(atom, logical.DatomAtom) or not isinstance(nil, logical.FunctionAtom):
            return None
        level, rank = nil.out, self.rank
        known = atom.entity if atom.value == level else atom.value
        if known not in node.required or {known, level} != {atom.entity, atom.value}:
            return None
        if atom.version is not Version.ALL or rank[level] <= max(rank[str(known)], -1):
            return None
        pair = self._pattern(atom)
        if not isinstance(pair, PairExtender):
            return None
        return OptionalExtender(pair, level)

    def _disjunction(self, node: logical.OrNode) -> Bound:
        outer = self._nest
        nest = self._nest = outer or Nest(self._nests, ABSENT)
        self._nests += outer is None
        branches: list[OrBranch] = []
        bound: Conjunction | bool = DEAD
        for branch in node.branches:
            first = nest.bit()
            bound = self._conjunction(branch.items)
            if bound is HOLDS:
                break
            if isinstance(bound, Conjunction):
                branches.append(OrBranch(bound, range(first, nest.used)))
        self._nest = outer
        if bound is HOLDS or not branches:
            return bound is HOLDS
        # A local variable of a branch that died is still a level: some branch must carry its rows past it.
        local = frozenset(name for name, _ in node.local_to)
        return OrExtender(nest, branches, local, self.rank, self._check_under_way())

    def _negation(self, node: logical.NotNode) -> Bound:
        inner = self.join_of(node.items, node.shared, node.levels, False, seed=True)
        if inner is None:
            return HOLDS
        if not node.shared and not node.after:
            self.lasting = False
            return HOLDS if not self._matches(inner, Batch(1, {})).any() else DEAD
        apart = self._tied(node)

        def matches(batch: Batch) -> Mask:
            return self._matches(inner if apart is None else apart.join(inner, batch.size, self.run), batch)

        check, distinct = self._check_under_way(), bool(inner.levels and node.shared)
        body = inner.body if apart is None else None
        levels = [level.variable for level in inner.levels]
        shared, rank = node.shared, self.rank
        return NotExtender(
            shared, matches, rank, check, distinct=distinct, after=node.after, body=body, levels=levels
        )

    def _tied(self, node: logical.NotNode) -> TiedJoin | None:
        """The join of a `not` in two steps, where only comparisons tie it to the outside."""
        found = tied(node)
        if not node.apart or found is None:
            return None
        rest = self.join_of(found.rest.items, (), node.apart, False)
        outer, self.rank = self.rank, dict.fromkeys(node.shared, -1) | {found.variable: 0}
        ties = [self.extender(tie) for tie in found.ties]
        self.rank = outer
        if rest is None or any(isinstance(tie, bool) for tie in ties):
            return None
        return TiedJoin(rest, found.variable, ties, self.plan.options.budget)  # type: ignore[arg-type]

    def _matches(self, join: GenericJoin, batch: Batch) -> Mask:
        """Which rows of a batch the join extends to at least one match."""
        mask = np.zeros(batch.size, np.bool_)

        def mark(found: Batch) -> bool:
            mask[found.columns[ORIGIN]] = True
            return not mask.all()

        Driver(join, mark, self.run.cancel).run(batch.having(ORIGIN, np.arange(batch.size)))
        return mask


Sources = tuple[Mapping[str, Snapshot], Mapping[str, Held] | Mapping[str, SmallTable]]
"""Databases and relations, by the names of sources."""


def nested_call(
    inner: logical.Subquery,
    arguments: tuple[Argument, ...],
    around: Sources,
    run: QueryRun,
    position: Position | None,
    derive: Derive,
) -> NestedCall:
    """A query within a query as a function. `around`: the sources of the query around it."""
    databases = {name: around[0][outer] for name, outer in inner.sources if outer in around[0]}
    lists = ((name, around[1].get(outer, DEAD)) for name, outer in inner.sources)
    given = {name: list(held) for name, held in lists if isinstance(held, Sequence)}
    plan, late = without_late_calls(inner_plan(inner))

    def bind(relations: Relations) -> GenericJoin | None:
        return Binding(plan, databases, relations, run, derive=derive).join(seeded=True)

    def pulled(each: logical.Subquery, passed: tuple[Argument, ...]) -> NestedCall:
        return nested_call(each, passed, (databases, given), run, position, derive)

    inputs = Inputs(None, given, databases)
    return NestedCall(inner, plan, late, arguments, bind, inputs, run, position, derive, pulled)
