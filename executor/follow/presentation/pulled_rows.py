"""What one query shows of rows that other queries may show, too: some of their columns, and entities as maps.

After a step the rows that entered and left are pulled, and so are those that stayed and show an entity of which a
pull may read something that changed, at both moments. No map is kept.

Two entities whose maps are equal show one row. So where a pull does not tell entities apart, rows that change are
searched for among the others, by a value that they show.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from adalog.datalog.ast import Clause, Const, FindPull, FindVar, Pattern, Var
from adalog.datalog.pull import DB_ID, PullPattern, PullQuery
from adalog.datalog.values import Keyword, identity
from adalog.executor.answer.result import Result, ResultColumn
from adalog.executor.answer.types import type_of
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.engine import QueryEngine
from adalog.executor.follow.presentation.kept_rows import KeptRows
from adalog.executor.follow.presentation.pulled_changes import PulledChanges
from adalog.executor.follow.presentation.pulled_queries import Outcomes, PulledQueries
from adalog.executor.follow.recomputed import rows_of
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change
from adalog.executor.join.batch import Column, Mask
from adalog.executor.permissions.visibility import VisibleDatoms
from adalog.executor.pull.find import pattern_of
from adalog.executor.pull.steps import PullNode
from adalog.executor.question.question import Question
from adalog.planner.model.logical import AndNode, DatomAtom, conjuncts
from adalog.planner.windows import columns_in_rows
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import NIL, tags_of

# Rows that are looked for among the others one by one.
_FEW: Final = 64

Shown = tuple[Hashable, ...]
"""What a row shows, as the identities of its values."""


@dataclass(frozen=True, slots=True)
class RowMoves:
    """What a step made of kept rows: the places of those that left, among the rows before; of those that entered
    and that stayed, among the rows after. `order`: of a page, its first column, where that is other than before."""

    before: KeptRows
    after: KeptRows
    left: Column
    entered: Column
    stayed: Column
    order: Column | None = None


class PulledRows:
    """Of all questions with one text. `source`: the database that moves. `body`: the clauses that find the rows."""

    def __init__(self, question: Question, engine: QueryEngine, source: str, body: AndNode) -> None:
        self.query = question.query
        self.feeds: set[int] = set()
        self.queries = PulledQueries(question, engine, source)
        self._engine = engine
        self._source = source
        self._columns = columns_in_rows(question.outline)
        elements = enumerate(self.query.find.elements)
        # Of the pulls from the database that moves the numbers of their elements.
        self._pulls = [
            number
            for number, element in elements
            if isinstance(element, FindPull) and element.source.name == source
        ]
        entities = {leaf.entity for leaf in conjuncts(body.items) if isinstance(leaf, DatomAtom)}
        # Whether pulls take what a pattern of the query has in the place of its entity, and nothing else.
        self.pulls_entities = all(self._pull(number).var.name in entities for number in self._pulls)

    def _pull(self, number: int) -> FindPull:
        element = self.query.find.elements[number]
        assert isinstance(element, FindPull)
        return element

    def patterns(self, question: Question) -> list[PullPattern]:
        """What a question pulls, by the places of its pulls."""
        return [pattern_of(self._pull(number), self.query, question.args) for number in self._pulls]

    def _column(self, rows: KeptRows, number: int) -> Column:
        """What an element of the query shows of rows."""
        return rows.columns[self._columns[number]]

    def change(self, moves: RowMoves, pulled: StepPulls, cancel: Cancel) -> Change | None:
        """What of the rows shown is other than before."""
        before, after, left, entered, stayed = moves.before, moves.after, moves.left, moves.entered, moves.stayed
        suspect = self._suspects(after, stayed, pulled, cancel)
        again = stayed[suspect]
        if not len(left) + len(entered) + len(again):
            return None
        tick, values = pulled.tick, after.values
        old_rows = self._shown([(before, left), (after, again)], values, pulled.question, tick.old, cancel)
        now_shown = np.concatenate((entered, again))
        new_rows = self._shown([(after, now_shown)], values, pulled.question, tick.new, cancel)
        was, now = _distinct(old_rows), _distinct(new_rows)
        removed = {shown: place for shown, place in was.items() if shown not in now}
        added = {shown: place for shown, place in now.items() if shown not in was}
        if (removed or added) and not self._tells_apart(before, after, pulled):
            changed = [(old_rows, removed, tick.old), (new_rows, added, tick.new)]
            others = stayed[~suspect]
            for shown in self._among_others(after, others, changed, pulled, cancel):
                removed.pop(shown, None)
                added.pop(shown, None)
        if not removed and not added:
            return None
        added_rows, removed_rows = (
            rows_of(each, np.array(sorted(places.values()), np.int64), tick.new.t)
            for each, places in ((new_rows, added), (old_rows, removed))
        )
        return Change(added_rows, removed_rows, moves.order)

    def _shown(
        self,
        parts: Sequence[tuple[KeptRows, Column]],
        values: Scratch,
        question: UndatedQuestion,
        at: Snapshot,
        cancel: Cancel,
    ) -> Result:
        """Rows at some places with their pulls as of a moment."""
        find = self.query.find
        codes = [
            np.concatenate([self._column(rows, number)[places] for rows, places in parts])
            for number in range(len(find.elements))
        ]
        shape = "maps" if find.keys else find.shape
        named = tuple(
            ResultColumn(element.label, "map" if isinstance(element, FindPull) else type_of(column))
            for element, column in zip(find.elements, codes, strict=True)
        )
        result = Result(named, codes, values, len(codes[0]), shape, find.keys, at.t, "LOCAL", 0.0)
        if len(result) and any(isinstance(element, FindPull) for element in find.elements):
            asked = question if question.pulling is None else question.pulling.question
            pulling = asked.at(at, cancel.check)
            self._learn(pulling, result)
            result.pulled = self._engine.pulls(pulling, result, cancel)
        return result

    def _learn(self, pulling: Question, result: Result) -> None:
        """Spares the guards of what the rows show to be visible, as they are of the answer at the same moment."""
        shown = pulling.snapshot.visible if isinstance(pulling.snapshot, GuardedSnapshot) else None
        if not isinstance(shown, VisibleDatoms):
            return
        for number in self._pulls:
            for name in _attributes_of(self._pull(number).var, pulling.query.where, ("$", self._source)):
                attribute = pulling.snapshot.attribute(name)
                if attribute is not None:
                    shown.learn(attribute.id, result.codes[number])

    # Entities that look alike

    def _tells_apart(self, before: KeptRows, after: KeptRows, pulled: StepPulls) -> bool:
        """Whether each two rows show different things: their pulls show ids, or the entity stands beside them."""
        elements = self.query.find.elements
        plain = {element.var for element in elements if isinstance(element, FindVar)}
        patterns = dict(zip(self._pulls, pulled.patterns, strict=True))
        for number, element in enumerate(elements):
            if not isinstance(element, FindPull) or element.var in plain:
                continue
            if number not in patterns or not _shows_id(pulled.node(patterns[number])):
                return False
            if any(tags_of(self._column(each, number)).any() for each in (before, after)):
                # Idents, lookup refs, nil.
                return False
        return True

    def _among_others(
        self,
        rows: KeptRows,
        others: Column,
        changed: Sequence[tuple[Result, Mapping[Shown, int], Snapshot]],
        pulled: StepPulls,
        cancel: Cancel,
    ) -> set[Shown]:
        """Which rows others, that did not change, show as well."""
        wanted = np.zeros(len(others), np.bool_)
        few = sum(len(places) for _, places, _ in changed) <= _FEW
        for result, places, at in changed:
            for place in places.values():
                wanted |= self._alike(rows, others, result, place, at, pulled) if few else True
        if not wanted.any():
            return set()
        shown = self._shown([(rows, others[wanted])], rows.values, pulled.question, pulled.tick.new, cancel)
        known = _distinct(shown).keys()
        return {each for _, places, _ in changed for each in places if each in known}

    def _alike(
        self,
        rows: KeptRows,
        others: Column,
        result: Result,
        place: int,
        at: Snapshot,
        pulled: StepPulls,
    ) -> Mask:
        """Which rows may show what one shows: those with the same values, and with entities that have a value which
        a pull shows of its entity."""
        mask = np.ones(len(others), np.bool_)
        patterns = dict(zip(self._pulls, pulled.patterns, strict=True))
        for number, element in enumerate(self.query.find.elements):
            column, code = self._column(rows, number)[others], int(result.codes[number][place])
            if not isinstance(element, FindPull):
                mask &= column == code
            elif number in patterns and pulled.question.pulling is None and tags_of(np.array([code]))[0] == 0:
                entities = _with_same_value(pulled.node(patterns[number]), code, at)
                if entities is not None:
                    mask &= np.isin(column, entities) | (tags_of(column) != 0)
        return mask

    # What pulls read

    def _suspects(self, rows: KeptRows, places: Column, pulled: StepPulls, cancel: Cancel) -> Mask:
        """Which of some rows may show something else by a pull."""
        found = np.zeros(len(places), np.bool_)
        for number, pattern in zip(self._pulls, pulled.patterns, strict=True):
            cancel.check()
            column = self._column(rows, number)[places]
            entities = pulled.entities(pattern)
            if entities is None:
                found[:] = True
                return found
            if len(entities):
                found |= np.isin(column, entities)
            if not self.pulls_entities:
                found |= (tags_of(column) != 0) & (column != NIL)
        return found


class StepPulls:
    """What the pulls of a feed read that changed in a step."""

    def __init__(
        self,
        number: int,
        question: UndatedQuestion,
        patterns: Sequence[PullPattern],
        plain: PulledChanges,
        nodes: Callable[[PullPattern], PullNode],
        queries: PulledQueries,
        outcomes: Outcomes,
        cancel: Cancel,
    ) -> None:
        """`number`: of the feed. `plain`: what changed of patterns without queries."""
        tick = self.tick = plain.tick
        self.node = nodes
        self.question = question
        self.patterns = patterns
        self._plain = plain
        self._same = tick.old.schema.key == tick.new.schema.key

        def answers(asked: PullQuery) -> Column | None:
            return queries.entities(asked, number, question, outcomes, self.entities, cancel, tick.new)

        self._changes = PulledChanges(tick, plain.resolver, answers, plain.moved)

    def entities(self, pattern: PullPattern) -> Column | None:
        pulling = self.question.pulling
        if not self._same or (pulling is not None and pulling.moves.entities is None):
            return None
        changes = self._changes if any(pattern.all_queries()) else self._plain
        return changes.entities(self.node(pattern))


def _attributes_of(entity: Var, clauses: Iterable[Clause], sources: Container[str]) -> Iterator[Keyword | int]:
    """The attributes that an entity has in every row, by patterns outside an `or` or `not`."""
    for clause in clauses:
        if isinstance(clause, Pattern) and clause.source.name in sources and clause.terms[0] == entity:
            name = clause.terms[1] if len(clause.terms) > 1 else None
            if isinstance(name, Const) and isinstance(name.value, Keyword | int):
                yield name.value


def _distinct(result: Result) -> dict[Shown, int]:
    """What rows show, each with the first row that shows it."""
    found: dict[Shown, int] = {}
    for place, row in enumerate(result.rows()):
        found.setdefault(tuple(map(identity, row)), place)
    return found


def _shows_id(node: PullNode) -> bool:
    return any(
        step.asked.attribute == DB_ID and step.number is None and step.asked.xform is None for step in node.ids
    )


def _with_same_value(node: PullNode, entity: int, at: Snapshot) -> Column | None:
    """The entities that have a value which a node shows of an entity as it is; None where it shows none so."""
    own = np.array([entity], np.int64)
    for step in node.steps:
        asked, attribute = step.asked, step.attribute
        if attribute is None or step.target is not None or step.number is not None or asked.reverse:
            continue
        if asked.xform is None and asked.default is None:
            trie = at.ev(attribute)
            values = trie.pairs_of(own)[1] if trie.rows else own[:0]
            if len(values) and (asked.limit is None or len(values) <= asked.limit):
                return at.ve(attribute).pairs_of(values[:1])[1]
    return None
