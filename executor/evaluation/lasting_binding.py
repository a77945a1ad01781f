"""Bindings that outlast a run: what they decide stays right while the schema and what names stand for are the same.

A data pattern is then a pair of tries, asked of whichever snapshots the run has. Between two runs nothing of a
snapshot is held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from adalog.datalog.ast import Const, LookupRef
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Binding, RecentReader
from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.extenders.patterns import Bound, Patterns
from adalog.executor.extenders.relation import NO_LEVELS
from adalog.executor.facts.facts import DerivedRelation, FactRows, Relations
from adalog.executor.facts.maintained import MaintainedExtender, MaintainedFacts
from adalog.executor.join.generic_join import GenericJoin
from adalog.planner.model.logical import DatomAtom, RelationAtom, Term, everything
from adalog.planner.model.plan import Plan
from adalog.planner.model.program import RulePlan
from adalog.planner.model.version import Version
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import Trie
from adalog.store.values.attribute import Attribute
from adalog.store.values.bootstrap import IDENT
from adalog.store.values.codes import Codes, Scratch

PLAN_BYTES: Final = 3_500
"""Of the plan of a join."""
JOIN_BYTES: Final = 1_500
"""Of a join that is kept, without its extenders."""
PART_BYTES: Final = 800
"""Of each extender of a join."""

NO_RUN: Final = QueryRun(Scratch(Codes()))
"""What a join that does not run has."""


@dataclass
class LastingBinding(Binding):
    """Binds data patterns to the moments that it has when they are read. `pairs`, `kept`: what may hold rows of the
    run. `names`: by database, the attributes by which constants that were bound name entities. `moves`: whether
    `databases`, too, are others in another run."""

    moves: bool = field(default=False, kw_only=True)
    pairs: list[PairExtender] = field(default_factory=list, init=False)
    kept: list[MaintainedExtender] = field(default_factory=list, init=False)
    names: dict[str, set[int]] = field(default_factory=dict, init=False)
    parts: int = field(default=0, init=False)

    def _pattern(self, atom: DatomAtom) -> Bound:
        self.parts += 1
        if atom.version is Version.ALL and not self.moves:
            return super()._pattern(atom)
        at = self._at(atom.source, atom.version)
        bound = Patterns(at, self.rank, self.run.strict).extender(atom)
        if not isinstance(atom.attribute, Const):
            self.lasting = False
            return bound
        attribute = at.attribute(atom.attribute.value)
        if attribute is None:
            # Nothing else than another schema makes it one.
            return bound
        names = _naming(atom, attribute, at)
        if names is None or not isinstance(bound, PairExtender):
            self.lasting = False
            return bound
        self.names.setdefault(atom.source, set()).update(names)
        forward, backward = (self._trie(atom, attribute, inverse=inverse) for inverse in (False, True))
        pair = PairExtender(bound.first, bound.second, forward, backward, self.rank)
        if not isinstance(pair.first, str) or not isinstance(pair.second, str) or pair.first == pair.second:
            self.pairs.append(pair)
        return pair

    def _at(self, source: str, version: Version) -> Snapshot:
        return self.databases[source] if version is Version.ALL else self.moments[source].at(version)

    def _trie(self, atom: DatomAtom, attribute: Attribute, *, inverse: bool) -> Callable[[], Trie]:
        """Asks for a trie of the attribute at the moment that the pattern reads."""
        source, version, id_ = atom.source, atom.version, attribute.id
        if version is Version.ALL:
            return lambda: self.databases[source].trie(id_, inverse=inverse)
        return lambda: self.moments[source].at(version).trie(id_, inverse=inverse)

    def _kept(self, atom: RelationAtom, held: MaintainedFacts) -> Bound:
        self.parts += 1
        bound = super()._kept(atom, held)
        if isinstance(bound, MaintainedExtender):
            self.kept.append(bound)
        return bound

    def forget(self) -> None:
        """Drops the rows that its joins read."""
        for pair in self.pairs:
            pair.forget()
        for kept in self.kept:
            kept.forget()

    def rest(self) -> None:
        """Ends a run: lets go of what it read."""
        self.forget()
        self.databases, self.moments, self.run = {}, {}, NO_RUN


@dataclass(eq=False, slots=True)
class PlanJoins:
    """The joins of a plan with rules and of these rules, each bound when it is first needed. One is kept if what it
    reads of derived relations are single parts, which are exchanged from run to run."""

    binding: LastingBinding
    are_tried: bool = False
    _joins: dict[int, tuple[GenericJoin, list[RecentReader]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._joins)

    def join(self, plan: Plan | RulePlan, relations: Relations, *, weighted: bool = False) -> GenericJoin | None:
        """The join of the plan, or of a rule, over what was derived so far; None where a part without variables
        already fails."""
        self.are_tried = True
        known = self._joins.get(id(plan.body))
        if known is not None and _pointed(known[1], relations):
            known[0].count_anew()
            return known[0]
        binding = self.binding
        binding.relations, binding.readers, binding.lasting = relations, [], True
        join = binding.join_of(plan.body.items, plan.given, plan.levels, weighted)
        readers, binding.readers = binding.readers, []
        derived = sum(isinstance(leaf, RelationAtom) for leaf in everything(plan.body))
        if join is not None and binding.lasting and len(readers) == derived:
            self._joins[id(plan.body)] = join, readers
        return join

    def rest(self) -> None:
        """Ends a run: lets go of what was derived in it."""
        for _, readers in self._joins.values():
            for reader in readers:
                reader.extender.levels = NO_LEVELS
        self.binding.relations = {}


def _pointed(readers: Sequence[RecentReader], relations: Relations) -> bool:
    """Has readers read the parts that there are now, if they are single ones."""
    parts: list[FactRows] = []
    for reader in readers:
        held = relations[reader.relation]
        found = held.versions.get(reader.version, ()) if isinstance(held, DerivedRelation) else ()
        if len(found) != 1:
            return False
        parts.append(found[0])
    for reader, part in zip(readers, parts, strict=True):
        reader.extender.levels = part.levels(reader.places)
    return True


def _naming(atom: DatomAtom, attribute: Attribute, at: Snapshot) -> set[int] | None:
    """The attributes by which a pattern's constants name entities; None where that is not known."""
    found: set[int] = set()
    terms: list[Term] = [atom.entity]
    if attribute.is_ref:
        terms.append(atom.value)
    elif attribute.kind.value_type == "tuple" and isinstance(atom.value, Const | LookupRef):
        return None
    for term in terms:
        if isinstance(term, LookupRef):
            by = at.attribute(term.attribute.value)
            if by is None or by.kind.value_type in ("ref", "tuple"):
                return None
            found.add(by.id)
        elif isinstance(term, Const) and type(term.value) is not int:
            found.add(IDENT)
    return found
