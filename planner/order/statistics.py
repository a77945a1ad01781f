"""What the planner believes about sizes: how many extensions each atom gives, from per-attribute counts.

Uniformity and independence are assumed; a constant's own count is looked up. Estimates steer, they never decide
what is correct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import prod

from adalog.datalog.ast import Const, LookupRef
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import Keyword
from adalog.planner.model import logical
from adalog.planner.model.logical import AndNode, Node, variables
from adalog.planner.model.paths import PathName, path_in
from adalog.planner.scope.comparisons import beginning, bounds, equates, narrows
from adalog.planner.scope.resolve import attribute_of, entity_code, value_code
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.value_index import INDEXED, IndexedValues

# What a change is taken to be: its rows, and the extensions of a bound value by it.
_CHANGED, _SCATTERED = 64.0, 2.0

_NOTHING: frozenset[str] = frozenset()

FILTER = 1e18
"""The estimated count of what cannot propose."""


def _go_on() -> None:
    """No deadline: a plan made for its own sake."""


# The types whose codes are in the order of values, and of what Python's type their values are.
_ORDERED = {"long": int, "ref": int, "instant": datetime}


@dataclass(frozen=True, slots=True)
class PatternSize:
    """Of a binary relation: rows, distinct firsts and seconds, and the constants' own counts where known."""

    rows: float
    firsts: float
    seconds: float
    fixed: float | None = None


@dataclass
class Statistics:
    """Estimates for one query over the databases and relations it was given.

    `relation_domains`: of a derived relation about how many values each place may have. `check`: called between
    the steps of a plan; raises when the query should stop, since a plan of many rules may take long itself.
    """

    databases: Mapping[str, Snapshot]
    relation_rows: Mapping[str, int]
    relation_domains: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    check: Callable[[], None] = _go_on
    _sizes: dict[logical.DatomAtom, PatternSize] = field(default_factory=dict)

    def is_ref(self, source: str, attribute: object) -> bool:
        """Whether an attribute of a source holds refs."""
        found = self.databases[source].attribute(attribute) if isinstance(attribute, Keyword) else None
        return found is not None and found.is_ref

    def path_of(self, source: str, attribute: object) -> PathName | None:
        """What a name that no attribute has is as a path over refs of a source, if it is one."""
        return path_in(self.databases[source], attribute)

    def size(self, atom: logical.DatomAtom) -> PatternSize:
        """The size of a data pattern; of all attributes together where the attribute is a variable."""
        if atom not in self._sizes:
            self._sizes[atom] = self._size(atom)
        return self._sizes[atom]

    def _size(self, atom: logical.DatomAtom) -> PatternSize:
        if atom.version.is_change:
            return PatternSize(_CHANGED, _CHANGED / _SCATTERED, _CHANGED / _SCATTERED)
        snapshot = self.databases[atom.source]
        if not isinstance(atom.attribute, Const):
            rows, firsts, values = snapshot.totals
            return PatternSize(float(rows), max(float(firsts), 1.0), max(float(values), 1.0))
        attribute = attribute_of(snapshot, atom.attribute)
        if attribute is None:
            return PatternSize(0.0, 1.0, 1.0, 0.0)
        counts = snapshot.estimates(attribute)
        fixed: float | None = None
        try:
            if isinstance(atom.value, Const | LookupRef):
                code = value_code(snapshot, attribute, atom.value)
                fixed = 0.0 if code is None else float(snapshot.row_estimate(attribute, code, inverse=True))
            elif isinstance(atom.entity, Const | LookupRef):
                entity = entity_code(snapshot, atom.entity)
                fixed = 0.0 if entity is None else float(snapshot.row_estimate(attribute, entity, inverse=False))
        except AdalogError:
            fixed = 0.0  # binding the plan reports what is wrong with the constant
        return PatternSize(
            float(counts.count), max(float(counts.entities), 1.0), max(float(counts.values), 1.0), fixed
        )

    def domain(self, node: Node, variable: str) -> float:
        """How many values of the variable the node knows at most."""
        return max(self.count(node, variable, frozenset()), 1.0)

    def count(self, node: Node, variable: str, bound: frozenset[str]) -> float:
        """Expected extensions of a prefix by `variable` once `bound` are bound; FILTER where it cannot propose."""
        match node:
            case logical.DatomAtom():
                return self._datom_count(node, variable, bound)
            case logical.RelationAtom():
                rows = float(self.relation_rows.get(node.relation, 1))
                if node.subquery is not None:
                    rows = node.subquery.plan.rows
                if node.derived:
                    return self._derived_count(node, variable, rows, bound)
                share = len(variables(node) & bound)
                return max(rows ** (1.0 - share / max(len(node.terms), 1)), 1.0) if rows else 0.0
            case AndNode():
                return min(
                    (self.count(i, variable, bound) for i in node.items if variable in variables(i)), default=FILTER
                )
            case logical.OrNode():
                if variable in node.required:
                    return FILTER
                if variable in node.owners:
                    return self.count(node.branches[node.owners[variable]], variable, bound) + 1.0
                return min(sum(self.count(branch, variable, bound) for branch in node.branches), FILTER)
            case logical.RuleAtom():
                return FILTER
            case _:
                if variable in node.gives and node.needs <= bound:
                    return node.fanout
                same_order = (
                    isinstance(node, logical.PredicateAtom) and node.name == "==" and narrows(node, variable, bound)
                )
                return 1.0 if same_order or equates(node, variable, bound) else FILTER

    def _derived_count(
        self, atom: logical.RelationAtom, variable: str, rows: float, bound: frozenset[str]
    ) -> float:
        """Of what rules derived: what a round added is taken to be scattered, all of it to be spread evenly."""
        if atom.version.is_change:
            return _SCATTERED if variables(atom) & bound else _CHANGED
        domains = self.relation_domains.get(atom.relation)
        if domains is None:
            return max(float(rows ** (1.0 / max(len(atom.terms), 1))), 1.0)
        known = prod(domain for term, domain in zip(atom.terms, domains, strict=True) if term in bound)
        return max(min(domains[atom.terms.index(variable)], rows / known), 1.0)

    def _datom_count(self, atom: logical.DatomAtom, variable: str, bound: frozenset[str]) -> float:
        size = self.size(atom)
        if variable == atom.attribute:
            return 16.0
        entity_known = atom.entity in bound or isinstance(atom.entity, Const | LookupRef)
        value_known = atom.value in bound or isinstance(atom.value, Const | LookupRef)
        if variable == atom.entity:
            if size.fixed is not None and isinstance(atom.value, Const | LookupRef):
                return size.fixed
            return size.rows / size.seconds if value_known else size.firsts
        if variable == atom.value:
            if size.fixed is not None and isinstance(atom.entity, Const | LookupRef):
                return size.fixed
            return size.rows / size.firsts if entity_known else size.seconds
        # The transaction: known once the pair is, and no sooner at the cost of one.
        if entity_known and (value_known or atom.value is None):
            return 1.0
        if size.fixed is not None:
            return size.fixed + 1.0
        if entity_known or value_known:
            return size.rows / (size.firsts if entity_known else size.seconds) + 1.0
        return max(size.rows, 1.0)

    def range_share(self, items: Iterable[Node], variable: str) -> float | None:
        """The share of a variable's values that lie between the constants of comparisons and begin as they should;
        None: not known, or there is no such condition. Of an attribute whose codes are in the order of values, or
        whose values have an index."""
        low: list[Const] = []
        high: list[Const] = []
        for item in items:
            is_above = bounds(item, variable, _NOTHING)
            if is_above is not None:
                assert isinstance(item, logical.PredicateAtom)
                (high if is_above else low).extend(each for each in item.args if isinstance(each, Const))
        starts = [start for item in items if (start := beginning(item, variable)) is not None]
        if not low and not high and not starts:
            return None
        for item in items:
            if isinstance(item, logical.DatomAtom) and item.value == variable and not item.version.is_change:
                found = self._range_share(item, low, high, starts)
                if found is not None:
                    return found
        return None

    def _range_share(
        self, atom: logical.DatomAtom, low: Sequence[Const], high: Sequence[Const], starts: Sequence[str]
    ) -> float | None:
        if not isinstance(atom.attribute, Const):
            return None
        snapshot = self.databases[atom.source]
        attribute = attribute_of(snapshot, atom.attribute)
        kind = None if attribute is None else _ORDERED.get(attribute.kind.value_type or "")
        if attribute is not None and attribute.kind.value_type in INDEXED:
            return _indexed_share(snapshot.indexed_values(attribute), low, high, starts)
        if attribute is None or any(type(each.value) is not kind for each in (*low, *high)):
            return None
        codes = [[snapshot.codes.lookup(each.value) for each in some] for some in (low, high)]
        least, most = ([code for code in some if code is not None] for some in codes)
        return snapshot.range_estimate(attribute, max(least, default=None), min(most, default=None))

    def is_coded(self, node: Node, variable: str) -> bool:
        """Whether the node proposes values of which the codes say nothing about the order."""
        if (
            not isinstance(node, logical.DatomAtom)
            or node.value != variable
            or not isinstance(node.attribute, Const)
        ):
            return False
        attribute = attribute_of(self.databases[node.source], node.attribute)
        return attribute is not None and attribute.kind.value_type not in _ORDERED


def _indexed_share(
    indexed: IndexedValues | None, low: Sequence[Const], high: Sequence[Const], starts: Sequence[str]
) -> float | None:
    if indexed is None:
        return None
    slices = [indexed.compared(">=", each.value) for each in low]
    slices += [indexed.compared("<=", each.value) for each in high]
    for start in starts:
        found = indexed.starting(start)
        if found is None:
            return None
        slices.append(found)
    first, end = max(first for first, _ in slices), min(end for _, end in slices)
    return max(end - first, 0) / max(len(indexed), 1)
