"""Joins that are bound once and run in step after step, while the data below them changes.

Binding a join costs more than running it over the few rows that a transaction changed. What binding decides stays
right from step to step as long as the schema, what names stand for, and the relations beside the database are the
same: then a data pattern is a pair of tries, asked of whichever moments the step has. What is decided by the rows
of a moment, or holds on to some, is bound for that step alone; and between two steps nothing of a snapshot is held.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from adalog.datalog.ast import Const, LookupRef
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Binding, Held
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.extenders.changes import Moments
from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.extenders.patterns import Bound
from adalog.executor.facts.maintained import MaintainedExtender, MaintainedFacts
from adalog.executor.join.generic_join import GenericJoin
from adalog.planner.model.logical import DatomAtom, LevelPlan, Node, RelationAtom, Term
from adalog.planner.model.plan import Plan
from adalog.planner.model.version import Version
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import Trie
from adalog.store.values.attribute import Attribute
from adalog.store.values.bootstrap import IDENT
from adalog.store.values.codes import Codes, Scratch

PLAN_BYTES: Final = 3_500
"""Of the plan of a join."""

# Of a join that is kept, and of each of its extenders.
_JOIN_BYTES: Final = 1_500
_PART_BYTES: Final = 800


@dataclass
class _Binding(Binding):
    """Binds data patterns to the moments that it has when they are read. `pairs`, `kept`: what may hold rows of the
    step. `names`: by database, the attributes by which constants that were bound name entities."""

    pairs: list[PairExtender] = field(default_factory=list, init=False)
    kept: list[MaintainedExtender] = field(default_factory=list, init=False)
    names: dict[str, set[int]] = field(default_factory=dict, init=False)
    parts: int = field(default=0, init=False)

    def _pattern(self, atom: DatomAtom) -> Bound:
        self.parts += 1
        if atom.version is Version.ALL:
            return super()._pattern(atom)
        moments = self.moments[atom.source]
        bound = moments.extender(atom, self.rank, self.run.strict)
        if not isinstance(atom.attribute, Const):
            self.lasting = False
            return bound
        attribute = moments.at(atom.version).attribute(atom.attribute.value)
        if attribute is None:
            # Nothing else than another schema makes it one.
            return bound
        names = _naming(atom, attribute, moments.new)
        if names is None or not isinstance(bound, PairExtender):
            self.lasting = False
            return bound
        self.names.setdefault(atom.source, set()).update(names)
        forward, backward = (self._trie(atom, attribute, inverse=inverse) for inverse in (False, True))
        pair = PairExtender(bound.first, bound.second, forward, backward, self.rank)
        if not isinstance(pair.first, str) or not isinstance(pair.second, str) or pair.first == pair.second:
            self.pairs.append(pair)
        return pair

    def _trie(self, atom: DatomAtom, attribute: Attribute, *, inverse: bool) -> Callable[[], Trie]:
        """Asks for a trie of the attribute at the moment that the pattern reads."""
        source, version, id_ = atom.source, atom.version, attribute.id
        return lambda: self.moments[source].at(version).trie(id_, inverse=inverse)

    def _kept(self, atom: RelationAtom, held: MaintainedFacts) -> Bound:
        self.parts += 1
        bound = super()._kept(atom, held)
        if isinstance(bound, MaintainedExtender):
            self.kept.append(bound)
        return bound


class LastingJoins:
    """The joins of one program or query. `join` gives those of a step, between `go` and `rest`."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._binding: _Binding | None = None
        self._joins: dict[Hashable, GenericJoin | None] = {}
        # Those of this step alone.
        self._passing: dict[Hashable, GenericJoin | None] = {}
        self._lasts = False
        # What the joins that are kept were bound under.
        self._codes: dict[str, Codes] = {}
        self._schemas: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._still: Mapping[str, Snapshot] = {}
        self._relations: Mapping[str, Held] = {}

    def __len__(self) -> int:
        return len(self._joins)

    def nbytes(self) -> int:
        parts = 0 if self._binding is None else self._binding.parts
        return _JOIN_BYTES * len(self._joins) + _PART_BYTES * parts

    def go(
        self,
        moments: Mapping[str, Moments],
        still: Mapping[str, Snapshot],
        relations: Mapping[str, Held],
        run: QueryRun,
    ) -> None:
        """Begins a step: the databases that move, those that do not, and what else there is to read."""
        self._let_go()
        self._lasts = all(each.old.schema.key == each.new.schema.key for each in moments.values())
        if not self._suits(moments, still, relations):
            self.forget()
        self._seen = {name: each.new.t for name, each in moments.items()}
        self._still, self._relations = still, relations
        binding = self._binding
        if binding is None:
            self._schemas = {name: each.new.schema.key for name, each in moments.items()}
            self._codes = {name: each.new.codes for name, each in moments.items()}
            self._binding = _Binding(self._plan, still, relations, run, moments=moments, derive=derived)
        else:
            binding.databases, binding.relations = still, relations
            binding.moments, binding.run = moments, run

    def _suits(
        self, moments: Mapping[str, Moments], still: Mapping[str, Snapshot], relations: Mapping[str, Held]
    ) -> bool:
        """Whether what was bound is right for these."""
        binding = self._binding
        if binding is None or not (self._lasts and _same(self._still, still) and _same(self._relations, relations)):
            return False
        for name, each in moments.items():
            new = each.new
            if self._schemas.get(name) != new.schema.key or new.codes is not self._codes.get(name):
                return False
            names = binding.names.get(name)
            if names:
                since = min(each.old.t, self._seen[name])
                if any(new.data_of(id_).last_touched(new.t) > since for id_ in names):
                    return False
        return True

    def join(
        self,
        key: Hashable,
        items: Sequence[Node],
        given: Sequence[str],
        levels: Sequence[LevelPlan],
        *,
        weighted: bool = False,
        seed: bool = False,
    ) -> GenericJoin | None:
        """The join of a body, which `key` stands for; None where a part without variables already fails."""
        if key in self._joins:
            return self._joins[key]
        if key in self._passing:
            return self._passing[key]
        binding = self._binding
        assert binding is not None, "between two steps"
        pairs, kept, parts = len(binding.pairs), len(binding.kept), binding.parts
        binding.lasting = True
        join = binding.join_of(items, given, levels, weighted, seed)
        binding.readers.clear()
        if binding.lasting and self._lasts:
            self._joins[key] = join
        else:
            self._passing[key] = join
            binding.parts = parts
            del binding.pairs[pairs:], binding.kept[kept:]
        return join

    def rest(self) -> None:
        """Ends a step: lets go of its moments and of its run."""
        self._let_go()
        binding = self._binding
        if binding is not None:
            binding.moments, binding.run = {}, _NO_RUN
            if not self._lasts:
                self.forget()

    def _let_go(self) -> None:
        """Lets go of the rows of a step, and of what was bound for it alone."""
        self._passing = {}
        if self._binding is not None:
            for pair in self._binding.pairs:
                pair.forget()
            for kept in self._binding.kept:
                kept.forget()

    def forget(self) -> None:
        """Binds everything anew when it is next asked for."""
        self._joins = {}
        self._passing = {}
        self._still, self._relations = {}, {}
        self._binding = None


_NO_RUN: Final = QueryRun(Scratch(Codes()))
"""What a join that does not run has."""


def _same(known: Mapping[str, object], given: Mapping[str, object]) -> bool:
    """Whether all values are the very same ones."""
    if known is given:
        return True
    return len(known) == len(given) and all(known.get(name) is each for name, each in given.items())


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
