"""Binds a plan to what it runs over: from the logical tree to extenders on tries, relations and built-ins.

Here constants become codes, and what has no variable left is decided: a pattern that does not hold makes its
conjunction dead, and a dead branch leaves its `or`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from datalog.ast import Const, LookupRef, Source
from datalog.builtins import BUILTINS
from datalog.edn import write
from datalog.errors import AdalogError, Code, Position
from executor.attributes import AttributesExtender
from executor.batch import Batch, Column, Mask
from executor.cancel import Cancel
from executor.connectives import Conjunction, NotExtender, OrExtender
from executor.database_access import SnapshotAccess
from executor.extender import START, Extender, PairExtender
from executor.facts import Columns, Parts
from executor.functions import Call, FilterExtender, FunctionExtender, UnnestExtender
from executor.generic_join import Driver, GenericJoin, Level
from executor.inputs import Inputs
from executor.nested import SEED, NestedCall
from executor.relation import RelationExtender, UnionExtender
from planner.explain_nodes import describe
from planner.logical import (
    AndNode,
    DatomAtom,
    FunctionAtom,
    LevelPlan,
    Node,
    NotNode,
    OrNode,
    PredicateAtom,
    RelationAtom,
    RuleAtom,
    Term,
    UnnestAtom,
    state_name,
)
from planner.nested import Subquery
from planner.plan import Plan
from planner.resolve import attribute_of, entity_code, plain_value, unknown_attribute, value_code
from store.attribute import Attribute
from store.codes import Scratch
from store.layout import FALSE, NIL, TRUE
from store.snapshot import TX_BASE, Snapshot

DEAD = False
HOLDS = True
Bound = Extender | bool
"""An extender, or what is already decided."""


@dataclass(frozen=True, slots=True)
class Reader:
    """An extender over the one part of a derived relation, which can be given another part in the next round."""

    relation: str
    extender: RelationExtender
    places: tuple[int, ...]


@dataclass
class Binding:
    """Everything a plan is bound to. `relations`: int64 columns of each input relation and relation source, and
    parts of each derived one. `readers` are those of the derived relations that are in one part."""

    plan: Plan
    databases: Mapping[str, Snapshot]
    relations: Mapping[str, Sequence[Column] | Parts]
    values: Scratch
    cancel: Cancel
    strict: bool = False
    rank: dict[str, int] = field(default_factory=dict)
    readers: list[Reader] = field(default_factory=list)

    def join(self, *, seeded: bool = False) -> GenericJoin | None:
        """The bound join, or None where a part without variables already fails. `seeded`: its rows keep SEED."""
        return self.join_of(self.plan.body.items, self.plan.given, self.plan.levels, self.plan.weighted, seeded)

    def join_of(
        self,
        items: Sequence[Node],
        given: Sequence[str],
        levels: Sequence[LevelPlan],
        weighted: bool,
        seed: bool = False,
    ) -> GenericJoin | None:
        """The bound join of a body with its levels: the plan's own, a rule's, or that of a `not`."""
        outer = self.rank
        self.rank = dict.fromkeys(given, -1) | {level.variable: i for i, level in enumerate(levels)}
        body = self._conjunction(AndNode(tuple(items)))
        self.rank = outer
        if isinstance(body, bool):
            if not body:
                return None
            body = Conjunction(())
        extra = frozenset((SEED,)) if seed else frozenset()
        return GenericJoin(
            body,
            [Level(x.variable, None if x.keep is None else x.keep | extra, x.merge, x.counted) for x in levels],
            weighted,
            self.plan.options.budget,
        )

    def _conjunction(self, node: AndNode) -> Conjunction | bool:
        parts: list[Extender] = []
        for item in node.items:
            part = self.extender(item)
            if part is DEAD:
                return DEAD
            if part is not HOLDS:
                parts.append(part)  # type: ignore[arg-type]
        return Conjunction(parts) if parts else HOLDS

    def extender(self, node: Node) -> Bound:
        """The extender of one node of the tree."""
        match node:
            case DatomAtom():
                return self._datoms(node)
            case RelationAtom():
                return self._relation(node)
            case PredicateAtom():
                filtering = FilterExtender(describe(node), self._call(node), self.rank)
                if filtering.call.variables:
                    return filtering
                return filtering.intersect(Batch(1, {}), START).size == 1
            case FunctionAtom(subquery=Subquery() as inner):
                return FunctionExtender(
                    describe(node), self._nested(inner, node.args, node.position), node.out, self.rank
                )
            case FunctionAtom():
                return FunctionExtender(describe(node), self._call(node), node.out, self.rank)
            case UnnestAtom():
                return UnnestExtender(
                    describe(node), node.collection, node.out, self.values, node.position, self.rank
                )
            case AndNode():
                return self._conjunction(node)
            case OrNode():
                return self._disjunction(node)
            case NotNode():
                return self._negation(node)
            case RuleAtom():
                raise AssertionError(f"{describe(node)} is a relation by now")

    # Patterns

    def _datoms(self, atom: DatomAtom) -> Bound:
        snapshot = self.databases[atom.source]
        if not isinstance(atom.attribute, Const):
            return self._any_attribute(atom, snapshot)
        attribute = attribute_of(snapshot, atom.attribute)
        if attribute is None:
            if self.strict:
                raise unknown_attribute(snapshot, atom.attribute)
            return DEAD
        first = self._entity(snapshot, atom.entity)
        second = self._value(snapshot, attribute, atom.value)
        if first is DEAD or second is DEAD:
            return DEAD
        if atom.tx is not None or atom.added is not None:
            columns = snapshot.columns(attribute)
            return self._rows(
                describe(atom),
                (first, second, self._transaction(atom.tx), self._added(atom.added)),
                (columns.e, columns.v, columns.t + TX_BASE, np.where(columns.added, TRUE, FALSE)),
            )
        return self._pair(describe(atom), snapshot, attribute, first, second)

    def _pair(
        self,
        label: str,
        snapshot: Snapshot,
        attribute: Attribute,
        first: str | int | None,
        second: str | int | None,
    ) -> PairExtender | bool:
        pair = PairExtender(
            label, first, second, lambda: snapshot.ev(attribute), lambda: snapshot.ve(attribute), self.rank
        )
        if pair.variables:
            return pair
        if isinstance(first, int):
            row = snapshot.ev(attribute).row(first)
            return len(row) > 0 if second is None else bool(np.isin(second, row))
        if isinstance(second, int):
            return len(snapshot.ve(attribute).row(second)) > 0
        return len(snapshot.ev(attribute).keys) > 0

    def _any_attribute(self, atom: DatomAtom, snapshot: Snapshot) -> Bound:
        first = self._entity(snapshot, atom.entity)
        if first is DEAD or (first is not None and first == atom.attribute):
            return DEAD  # an attribute is bound as its ident, which is no entity
        attributes = snapshot.attributes()
        seconds = {a.id: self._value_if_any(snapshot, a, atom.value) for a in attributes}
        attributes = tuple(a for a in attributes if seconds[a.id] is not DEAD)
        if atom.tx is not None or atom.added is not None:
            return self._all_rows(atom, snapshot, attributes, first, seconds)
        pairs = {}
        for each in attributes:
            second = each.ident_code if atom.attribute == atom.value is not None else seconds[each.id]
            pair = self._pair(str(each.ident), snapshot, each, first, second)
            if pair is not DEAD:
                pairs[each.ident_code] = pair
        if not pairs:
            return DEAD
        if any(pair is HOLDS for pair in pairs.values()):
            if not isinstance(atom.attribute, str):
                return HOLDS
            codes = np.array([code for code, pair in pairs.items() if pair is HOLDS], np.int64)
            return self._rows(describe(atom), (atom.attribute,), (codes,))
        attribute = atom.attribute if isinstance(atom.attribute, str) else None
        names = tuple(x for x in (first, atom.value) if isinstance(x, str) and x != attribute)
        return AttributesExtender(describe(atom), attribute, frozenset(names), pairs, self.rank)  # type: ignore[arg-type]

    def _all_rows(
        self,
        atom: DatomAtom,
        snapshot: Snapshot,
        attributes: Sequence[Attribute],
        first: str | int | None,
        seconds: Mapping[int, str | int | None],
    ) -> Bound:
        """A pattern with a transaction place over every attribute: one relation of five columns."""
        parts: list[list[Column]] = [[], [], [], [], []]
        for each in attributes:
            columns = snapshot.columns(each)
            keep = np.ones(len(columns.e), np.bool_)
            if isinstance(first, int):
                keep &= columns.e == first
            second = seconds[each.id]
            if isinstance(second, int):
                keep &= columns.v == second
            rows = np.flatnonzero(keep)
            parts[0].append(columns.e[rows])
            parts[1].append(np.full(len(rows), each.ident_code, np.int64))
            parts[2].append(columns.v[rows])
            parts[3].append(columns.t[rows] + TX_BASE)
            parts[4].append(np.where(columns.added[rows], TRUE, FALSE))
        whole = tuple(np.concatenate(part) if part else np.empty(0, np.int64) for part in parts)
        names = (
            atom.entity if isinstance(atom.entity, str) else None,
            atom.attribute if isinstance(atom.attribute, str) else None,
            atom.value if isinstance(atom.value, str) else None,
            self._transaction(atom.tx),
            self._added(atom.added),
        )
        return self._rows(describe(atom), names, whole)

    def _rows(self, label: str, terms: Sequence[str | int | None], columns: Sequence[Column]) -> Bound:
        """A relation restricted by its constants and repeated variables, over its variables."""
        keep = np.ones(len(columns[0]) if columns else 0, np.bool_)
        named: dict[str, Column] = {}
        for term, column in zip(terms, columns, strict=False):
            if isinstance(term, str):
                if term in named:
                    keep &= named[term] == column
                else:
                    named[term] = column
            elif term is not None:
                keep &= column == term
        if not named:
            return bool(keep.any())
        rows = np.flatnonzero(keep)
        return RelationExtender.of(label, list(named), [c[rows] for c in named.values()], self.rank)

    def _entity(self, snapshot: Snapshot, term: Term) -> str | int | bool | None:
        if isinstance(term, Const | LookupRef):
            code = entity_code(snapshot, term)
            return DEAD if code is None else code
        return term

    def _value(self, snapshot: Snapshot, attribute: Attribute, term: Term) -> str | int | bool | None:
        if isinstance(term, Const | LookupRef):
            code = value_code(snapshot, attribute, term)
            return DEAD if code is None else code
        return term

    def _value_if_any(self, snapshot: Snapshot, attribute: Attribute, term: Term) -> str | int | bool | None:
        """The same for an attribute that the query does not name: a value it cannot have is no mistake."""
        try:
            return self._value(snapshot, attribute, term)
        except AdalogError:
            return DEAD

    def _transaction(self, term: Term) -> str | int | None:
        """A transaction is written as its number or its entity id."""
        if not isinstance(term, Const):
            assert not isinstance(term, LookupRef)
            return term
        if type(term.value) is not int:
            raise AdalogError(Code.QUERY_INVALID, "a transaction is a number or an entity id", term.position)
        return term.value if term.value >= TX_BASE else term.value + TX_BASE

    def _added(self, term: Term) -> str | int | None:
        if not isinstance(term, Const):
            assert not isinstance(term, LookupRef)
            return term
        return TRUE if term.value is True else FALSE if term.value is False else NIL

    def _relation(self, atom: RelationAtom) -> Bound:
        if atom.subquery is not None:
            columns: Sequence[Column] = self._nested(atom.subquery, atom.subquery.given, atom.position).rows()
        else:
            held = self.relations[atom.relation]
            if isinstance(held, Parts):
                return self._derived(atom, held)
            columns = held
        terms = [self.values.intern(plain_value(t)) if isinstance(t, Const | LookupRef) else t for t in atom.terms]
        if len(columns) < len(terms):
            if not columns or not len(columns[0]):
                return DEAD
            raise AdalogError(
                Code.ARG_INVALID,
                f"this pattern has {len(terms)} places, but the tuples given have {len(columns)}",
                atom.position,
            )
        if not any(isinstance(term, str) for term in terms) and not any(term is not None for term in terms):
            return len(columns[0]) > 0 if columns else DEAD
        return self._rows(describe(atom), terms, columns)

    def _derived(self, atom: RelationAtom, held: Parts) -> Bound:
        """A pattern over what rules derived: the sorted parts as they are, where it names only variables."""
        terms = [term if isinstance(term, str) else None for term in atom.terms]
        names = [term for term in terms if term is not None]
        plain = len(names) == len(set(names)) > 0
        found: list[RelationExtender] = []
        for part in held.parts:
            if plain:
                bound: Bound = self._levels(atom, terms, part)
            else:
                bound = self._rows(describe(atom), terms, part.columns)
            if bound is HOLDS:
                return HOLDS
            if isinstance(bound, RelationExtender):
                found.append(bound)
        if len(found) == 1:
            if plain:
                self.readers.append(Reader(atom.relation, found[0], self._places(found[0], terms)))
            return found[0]
        return UnionExtender(found) if found else DEAD

    def _levels(self, atom: RelationAtom, terms: Sequence[str | None], part: Columns) -> RelationExtender:
        order = sorted(filter(None, terms), key=self.rank.__getitem__)
        levels = part.levels(tuple(terms.index(name) for name in order))
        return RelationExtender(describe(atom), order, levels, self.rank)

    @staticmethod
    def _places(extender: RelationExtender, terms: Sequence[str | None]) -> tuple[int, ...]:
        return tuple(terms.index(name) for name in extender.order)

    # Calls

    def _call(self, node: PredicateAtom | FunctionAtom) -> Call:
        sources = [argument for argument in node.args if isinstance(argument, Source)]
        access = [SnapshotAccess(self._database(source.name, node)) for source in sources]
        apply = self._applied(node, access)
        return Call(node.name, self._values(node.args), apply, self.values, self.cancel, node.position)

    def _values(self, args: Sequence[Term | Source]) -> tuple[str | int, ...]:
        """Variables by name, constants as codes."""
        return tuple(
            self.values.intern(plain_value(argument)) if isinstance(argument, Const | LookupRef) else argument
            for argument in args
            if isinstance(argument, str | Const | LookupRef)
        )

    def _database(self, name: str, node: PredicateAtom | FunctionAtom) -> Snapshot:
        if name not in self.databases:
            raise AdalogError(
                Code.ARG_INVALID,
                f"({node.name} …) looks into a database, but {name} was given a list of tuples",
                node.position,
            )
        return self.databases[name]

    def _nested(self, inner: Subquery, args: Sequence[Term | Source], position: Position | None) -> NestedCall:
        databases = {name: self.databases[outer] for name, outer in inner.sources if outer in self.databases}
        lists = {name: self.relations[outer] for name, outer in inner.sources if outer in self.relations}
        given = {name: list(held) for name, held in lists.items() if not isinstance(held, Parts)}

        def bind(relations: Mapping[str, Sequence[Column] | Parts]) -> GenericJoin | None:
            binding = Binding(inner.plan, databases, relations, self.values, self.cancel, self.strict)
            return binding.join(seeded=True)

        inputs = Inputs(None, given, databases)
        return NestedCall(inner, self._values(args), bind, inputs, self.values, self.cancel, self.strict, position)

    def _applied(self, node: PredicateAtom | FunctionAtom, access: list[SnapshotAccess]) -> Callable[..., Any]:
        if node.name == "%nth":
            return _nth
        built_in = BUILTINS[node.name]
        if not built_in.needs_database:
            return built_in.call
        database = access[0] if access else SnapshotAccess(self._database("$", node))
        return lambda *arguments: built_in.call(database, *arguments)

    # Connectives

    def _disjunction(self, node: OrNode) -> Bound:
        branches: list[Conjunction] = []
        places: dict[int, int] = {}
        for i, branch in enumerate(node.branches):
            bound = self._conjunction(branch)
            if bound is HOLDS:
                return HOLDS
            if bound is not DEAD:
                places[i] = len(branches)
                branches.append(bound)  # type: ignore[arg-type]
        if not branches:
            return DEAD
        # A local variable of a branch that died is still a level: some branch must carry its rows past it.
        local = {name: places.get(owner, -1) for name, owner in node.local_to}
        return OrExtender(describe(node), state_name(node.number), branches, local)

    def _negation(self, node: NotNode) -> Bound:
        inner = self.join_of(node.items, node.shared, node.levels, False, seed=True)
        if inner is None:
            return HOLDS
        if not node.shared:
            return HOLDS if not self._matches(inner, Batch(1, {})).any() else DEAD

        return NotExtender(
            describe(node),
            node.shared,
            lambda batch: self._matches(inner, batch),
            self.rank,
            distinct=bool(inner.levels),
        )

    def _matches(self, join: GenericJoin, batch: Batch) -> Mask:
        """Which rows of a batch the join extends to at least one match."""
        mask = np.zeros(batch.size, np.bool_)

        def mark(found: Batch) -> bool:
            mask[found.columns[SEED]] = True
            return not mask.all()

        Driver(join, mark, self.cancel).run(batch.having(SEED, np.arange(batch.size)))
        return mask


def _nth(value: Any, index: int) -> Any:
    """Element `index` of a vector or list."""
    if not isinstance(value, tuple):
        raise AdalogError(Code.QUERY_INVALID, f"a tuple binding takes apart a vector or a list, not {write(value)}")
    if index >= len(value):
        raise AdalogError(
            Code.QUERY_INVALID, f"the binding has more places than the {len(value)} elements of {write(value)}"
        )
    return value[index]
