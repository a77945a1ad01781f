"""Bindings that outlast a run: what they decide stays right while the schema and what names stand for are the same.

A data pattern is then a pair of tries, asked of whichever snapshots the run has. Between two runs nothing of a
snapshot is held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from adalog.datalog.ast import Const, LookupRef
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Binding
from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.extenders.patterns import Bound, Patterns
from adalog.executor.facts.maintained import MaintainedExtender, MaintainedFacts
from adalog.planner.model.logical import DatomAtom, RelationAtom, Term
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
