"""A view of rows that are cut from a whole by `:order-by`, `:limit` and `:offset`, or that show entities by pulls.

The rows of the whole, without window and pulls, are followed by a maintained view of their own. Of each feed those
that are shown are kept as codes, in a window with some rows on either side: the whole is asked again only where too
many of them are used up. After a step the rows that entered and left are pulled, and so are those that stayed and
show an entity of which a pull may read something that changed, at both moments. No map is kept.

Two entities whose maps are equal show one row. So where a pull does not tell entities apart, rows that change are
searched for among the others, by a value that they show.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from adalog.datalog.ast import FindPull, FindVar, Query
from adalog.datalog.errors import AdalogError, Code, limit_exceeded
from adalog.datalog.pull import DB_ID, PullPattern, PullQuery
from adalog.datalog.values import identity
from adalog.executor.answer.columns import order_keys
from adalog.executor.answer.result import Result, ResultColumn, type_of
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.cache.reads import reads_of_pull, touched_attributes
from adalog.executor.engine import QueryEngine
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.maintained_view import MaintainedView
from adalog.executor.follow.presentation.kept_rows import KeptRows, Window, among, own_codes
from adalog.executor.follow.presentation.pulled_changes import PulledChanges
from adalog.executor.follow.presentation.pulled_queries import Outcomes, PulledQueries
from adalog.executor.follow.recomputed import rows_of
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change, Interest
from adalog.executor.join.batch import Column, Mask
from adalog.executor.pull.find import pattern_of
from adalog.executor.pull.steps import PullNode, PullResolver
from adalog.executor.question.inputs import numbered
from adalog.executor.question.question import Question
from adalog.planner.maintenance import Maintenance
from adalog.planner.model.logical import DatomAtom, conjuncts
from adalog.planner.windows import all_rows, page_of
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.bootstrap import IDENT
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import NIL, tags_of

# Refusals that are no matter of one feed.
_OF_ALL: Final = (Code.CANCELLED, Code.TIMEOUT, Code.RATE_LIMITED)
# Rows that are looked for among the others one by one.
_FEW: Final = 64

Shown = tuple[Hashable, ...]
"""What a row shows, as the identities of its values."""


def keeps_rows(query: Query) -> bool:
    """Whether the rows that are shown, or what they show, are others than the whole has."""
    return query.is_limited or any(isinstance(element, FindPull) for element in query.find.elements)


def all_rows_of(question: Question) -> Question:
    """The question for all rows of which this one shows some, without their pulls."""
    query = all_rows(question.query)
    # Plans are kept by the text, which a comment tells apart.
    request = replace(question.request, query=f"{question.text} ;all", max_rows=None, ordered=False)
    return replace(question, request=request, outline=replace(question.outline, query=query))


@dataclass(slots=True)
class _Feed:
    """`rows`: as of the view's moment; None where they have to be asked."""

    question: UndatedQuestion
    patterns: Sequence[PullPattern]
    window: Window | None
    rows: KeptRows | None = None


class KeptRowsView:
    """`source`: the database that moves."""

    def __init__(self, question: Question, engine: QueryEngine, maintenance: Maintenance, source: str) -> None:
        self._question = UndatedQuestion.of(question)
        self._query = question.query
        self._engine = engine
        self._source = source
        whole = all_rows_of(question)
        self._whole = MaintainedView(whole, engine, maintenance, source)
        self._queries = PulledQueries(question, engine, source)
        self._views = [self._whole, *self._queries.views]
        self._feeds: dict[int, _Feed] = {}
        elements = enumerate(self._query.find.elements)
        # Of the pulls from the database that moves the numbers of their columns.
        self._pulls = [
            number
            for number, element in elements
            if isinstance(element, FindPull) and element.source.name == source
        ]
        self._nodes: dict[PullPattern, PullNode] = {}
        self._schema_key = -1
        self._intact = True

    @property
    def intact(self) -> bool:
        return self._intact and all(view.intact for view in self._views)

    # Feeds

    def interests(self, at: Snapshot) -> Sequence[Interest]:
        """Those of the whole and of queries in patterns, and the attributes that pulls read."""
        found = dict.fromkeys((*self._whole.interests(at), *self._queries.interests(at)))
        followed = [feed.patterns for feed in self._feeds.values()]
        if not followed:
            followed = [self._patterns(self._question.at(at, lambda: None))]
        for pattern in dict.fromkeys(each for patterns in followed for each in patterns):
            read = reads_of_pull(pattern, self._source).sources[self._source]
            # What a pull takes may be an ident or a lookup ref as a value.
            read.unique |= not self._pulls_entities
            attributes = touched_attributes(at, read)
            if attributes is None:
                return [Interest(None)]
            if not self._pulls_entities:
                attributes.add(IDENT)
            found.update(dict.fromkeys(map(Interest, sorted(attributes))))
        return list(found)

    @property
    def _pulls_entities(self) -> bool:
        """Whether pulls take what a pattern of the query has in the place of its entity, and nothing else."""
        body = self._whole.maintenance.body
        entities = {leaf.entity for leaf in conjuncts(body.items) if isinstance(leaf, DatomAtom)}
        return all(self._pull(number).var.name in entities for number in self._pulls)

    def _pull(self, number: int) -> FindPull:
        element = self._query.find.elements[number]
        assert isinstance(element, FindPull)
        return element

    def add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        asked = question.at(at, cancel.check)
        # A set of rows, the same each time where the text leaves it open which.
        question = replace(question, request=replace(question.request, ordered=self._query.is_limited))
        window = None
        if self._query.is_limited:
            start, stop = numbered(self._query, asked.args).window
            window = Window(start, stop, tuple(order_keys(self._query)))
        added = _Feed(question, self._patterns(asked), window)
        added.rows = self._asked(added, at, cancel)
        whole = all_rows_of(asked)
        self._whole.add(feed, UndatedQuestion.of(whole), at, cancel)
        self._queries.add(feed, question, at, cancel)
        self._feeds[feed] = added

    def _patterns(self, question: Question) -> list[PullPattern]:
        """What a question pulls, by the places of its pulls."""
        return [pattern_of(self._pull(number), self._query, question.args) for number in self._pulls]

    def drop(self, feed: int) -> None:
        for view in self._views:
            view.drop(feed)
        self._feeds.pop(feed, None)

    def nbytes(self) -> int:
        rows = sum(feed.rows.nbytes() for feed in self._feeds.values() if feed.rows is not None)
        return sum(view.nbytes() for view in self._views) + rows

    def spare(self) -> int:
        return sum(view.spare() for view in self._views)

    def lighten(self) -> None:
        for view in self._views:
            view.lighten()

    def _asked(self, feed: _Feed, at: Snapshot, cancel: Cancel) -> KeptRows:
        """A feed's rows at a moment."""
        question = feed.question.at(at, cancel.check)
        if feed.window is None:
            most, question = question.request.max_rows, all_rows_of(question)
            question = replace(question, request=replace(question.request, max_rows=most))
            return KeptRows.of(self._engine.rows(question, cancel), None)
        start, stop = feed.window.kept
        request = replace(question.request, query=f"{question.text} ;rows {start} to {stop}")
        query = page_of(numbered(self._query, question.args), start, stop)
        question = replace(question, request=request, outline=replace(question.outline, query=query))
        return KeptRows.of(self._engine.rows(question, cancel), feed.window)

    # A step

    def step(self, tick: Moments, cancel: Cancel) -> Mapping[int, Change | AdalogError]:
        if tick.old.key == tick.new.key:
            return {}
        moved = self._whole.step(tick, cancel)
        self._intact = False
        answers = self._queries.step(tick, cancel)
        outcomes: dict[int, Change | AdalogError] = {}
        with self._engine.memory.lent(cancel):
            nodes, resolver = self._nodes_at(tick.new), PullResolver(tick.new, strict=False)
            # For patterns without queries, and so for all feeds.
            plain = PulledChanges(tick, resolver, lambda asked: None)
            for number, feed in self._feeds.items():
                cancel.check()

                pulled = _StepPulls(number, feed, plain, nodes, self._queries, answers, cancel)
                try:
                    change = self._followed(feed, moved.get(number), pulled, cancel)
                except AdalogError as error:
                    if error.code in _OF_ALL:
                        raise
                    feed.rows, outcomes[number] = None, error
                    continue
                if change is not None:
                    outcomes[number] = change
        self._intact = True
        return outcomes

    def _followed(
        self, feed: _Feed, moved: Change | AdalogError | None, pulled: _StepPulls, cancel: Cancel
    ) -> Change | None:
        tick = pulled.tick
        if isinstance(moved, AdalogError):
            raise moved
        before = feed.rows or self._asked(feed, tick.old, cancel)
        if moved is None:
            feed.rows = before
            every = np.arange(before.shown.start, min(before.shown.stop, len(before)))
            return self._change(feed, before, before, (every[:0], every[:0], every), pulled, cancel)
        own = Scratch(tick.new.codes)
        columns, added, removed = (
            own_codes(each, values, own)
            for each, values in (
                (before.columns, before.values),
                (_columns(moved.added), moved.added.values),
                (_columns(moved.removed), moved.removed.values),
            )
        )
        before = replace(before, columns=columns, values=own)
        after = before.moved(added, removed, own, cancel)
        if after is None:
            after = self._asked(feed, tick.new, cancel)
            if (Scratch.made_numbers(np.concatenate(after.columns)) >= 0).any():
                after = replace(after, columns=own_codes(after.columns, after.values, own))
            after = replace(after, values=own)
        feed.rows = after
        most = feed.question.request.max_rows
        if most is not None and after.window is None and len(after) > most:
            raise limit_exceeded(
                f"the query has more than {most:,} rows by now; narrow it, aggregate, or use :limit"
            )
        width = len(self._query.find.elements)
        was, now = (np.arange(len(each))[each.shown] for each in (before, after))
        old, new = (
            [column[places] for column in each.columns[:width]] for each, places in ((before, was), (after, now))
        )
        if after.window is None:
            # Rows that entered stand at the end.
            stays = len(after) - len(added[0])
            parts = np.flatnonzero(among(old, removed, cancel)), now[stays:], now[:stays]
        else:
            stay = among(new, old, cancel)
            parts = was[~among(old, new, cancel)], now[~stay], now[stay]
        change = self._change(feed, before, after, parts, pulled, cancel)
        if change is not None and after.window is not None and not np.array_equal(old[0], new[0]):
            change = replace(change, order=new[0])
        return change

    def _change(
        self,
        feed: _Feed,
        before: KeptRows,
        after: KeptRows,
        parts: tuple[Column, Column, Column],
        pulled: _StepPulls,
        cancel: Cancel,
    ) -> Change | None:
        """What of the rows shown is other than before. `parts`: the places of the rows that left, among those
        before; of those that entered and of those that stayed, among those after."""
        left, entered, stayed = parts
        suspect = self._suspects(feed, after, stayed, pulled, cancel)
        again = stayed[suspect]
        if not len(left) + len(entered) + len(again):
            return None
        old_rows = self._shown(
            feed, [before.columns, after.columns], [left, again], after.values, pulled.tick.old, cancel
        )
        new_rows = self._shown(
            feed, [after.columns], [np.concatenate((entered, again))], after.values, pulled.tick.new, cancel
        )
        was, now = _distinct(old_rows), _distinct(new_rows)
        removed = {shown: place for shown, place in was.items() if shown not in now}
        added = {shown: place for shown, place in now.items() if shown not in was}
        if (removed or added) and not self._tells_apart(feed, before, after, pulled):
            changed = [(old_rows, removed, pulled.tick.old), (new_rows, added, pulled.tick.new)]
            others = stayed[~suspect]
            for shown in self._among_others(feed, after, others, changed, pulled, cancel):
                removed.pop(shown, None)
                added.pop(shown, None)
        if not removed and not added:
            return None
        t = pulled.tick.new.t
        added_rows, removed_rows = (
            rows_of(each, np.array(sorted(places.values()), np.int64), t)
            for each, places in ((new_rows, added), (old_rows, removed))
        )
        return Change(added_rows, removed_rows)

    def _shown(
        self,
        feed: _Feed,
        columns: Sequence[Sequence[Column]],
        places: Sequence[Column],
        values: Scratch,
        at: Snapshot,
        cancel: Cancel,
    ) -> Result:
        """Rows with their pulls as of a moment."""
        find = self._query.find
        codes = [
            np.concatenate([each[number][some] for each, some in zip(columns, places, strict=True)])
            for number in range(len(find.elements))
        ]
        shape = "maps" if find.keys else find.shape
        named = tuple(
            ResultColumn(element.label, "map" if isinstance(element, FindPull) else type_of(column))
            for element, column in zip(find.elements, codes, strict=True)
        )
        result = Result(named, codes, values, len(codes[0]), shape, find.keys, at.t, "LOCAL", 0.0)
        if len(result) and any(isinstance(element, FindPull) for element in find.elements):
            asked = feed.question.at(at, cancel.check)
            result.pulled = self._engine.pulls(asked, result, cancel)
        return result

    # Entities that look alike

    def _tells_apart(self, feed: _Feed, before: KeptRows, after: KeptRows, pulled: _StepPulls) -> bool:
        """Whether each two rows show different things: their pulls show ids, or the entity stands beside them."""
        elements = self._query.find.elements
        plain = {element.var for element in elements if isinstance(element, FindVar)}
        patterns = dict(zip(self._pulls, feed.patterns, strict=True))
        for number, element in enumerate(elements):
            if not isinstance(element, FindPull) or element.var in plain:
                continue
            if number not in patterns or not _shows_id(pulled.node(patterns[number])):
                return False
            if any(tags_of(each.columns[number]).any() for each in (before, after)):
                # Idents, lookup refs, nil.
                return False
        return True

    def _among_others(
        self,
        feed: _Feed,
        rows: KeptRows,
        others: Column,
        changed: Sequence[tuple[Result, Mapping[Shown, int], Snapshot]],
        pulled: _StepPulls,
        cancel: Cancel,
    ) -> set[Shown]:
        """Which rows others, that did not change, show as well."""
        wanted = np.zeros(len(others), np.bool_)
        few = sum(len(places) for _, places, _ in changed) <= _FEW
        for result, places, at in changed:
            for place in places.values():
                wanted |= self._alike(feed, rows, others, result, place, at, pulled) if few else True
        if not wanted.any():
            return set()
        shown = self._shown(feed, [rows.columns], [others[wanted]], rows.values, pulled.tick.new, cancel)
        known = _distinct(shown).keys()
        return {each for _, places, _ in changed for each in places if each in known}

    def _alike(
        self,
        feed: _Feed,
        rows: KeptRows,
        others: Column,
        result: Result,
        place: int,
        at: Snapshot,
        pulled: _StepPulls,
    ) -> Mask:
        """Which rows may show what one shows: those with the same values, and with entities that have a value which
        a pull shows of its entity."""
        mask = np.ones(len(others), np.bool_)
        patterns = dict(zip(self._pulls, feed.patterns, strict=True))
        for number, element in enumerate(self._query.find.elements):
            column, code = rows.columns[number][others], int(result.codes[number][place])
            if not isinstance(element, FindPull):
                mask &= column == code
            elif number in patterns and tags_of(np.array([code]))[0] == 0:
                entities = _with_same_value(pulled.node(patterns[number]), code, at)
                if entities is not None:
                    mask &= np.isin(column, entities) | (tags_of(column) != 0)
        return mask

    # What pulls read

    def _suspects(self, feed: _Feed, rows: KeptRows, places: Column, pulled: _StepPulls, cancel: Cancel) -> Mask:
        """Which of some rows may show something else by a pull."""
        found = np.zeros(len(places), np.bool_)
        for number, pattern in zip(self._pulls, feed.patterns, strict=True):
            cancel.check()
            column = rows.columns[number][places]
            entities = pulled.entities(pattern)
            if entities is None:
                found[:] = True
                return found
            if len(entities):
                found |= np.isin(column, entities)
            if not self._pulls_entities:
                found |= (tags_of(column) != 0) & (column != NIL)
        return found

    def _nodes_at(self, at: Snapshot) -> Callable[[PullPattern], PullNode]:
        """What patterns are under the schema of a moment, which is remembered."""
        if at.schema.key != self._schema_key:
            self._nodes, self._schema_key = {}, at.schema.key
        known, resolver = self._nodes, PullResolver(at, strict=False)

        def node(pattern: PullPattern) -> PullNode:
            found = known.get(pattern)
            if found is None:
                found = known[pattern] = resolver.node(pattern)
            return found

        return node


class _StepPulls:
    """What the pulls of a feed read that changed in a step."""

    def __init__(
        self,
        number: int,
        feed: _Feed,
        plain: PulledChanges,
        nodes: Callable[[PullPattern], PullNode],
        queries: PulledQueries,
        outcomes: Outcomes,
        cancel: Cancel,
    ) -> None:
        """`plain`: what changed of patterns without queries."""
        tick = self.tick = plain.tick
        self.node = nodes
        self._plain = plain
        self._same = tick.old.schema.key == tick.new.schema.key

        def answers(asked: PullQuery) -> Column | None:
            return queries.entities(asked, number, feed.question, outcomes, self.entities, cancel, tick.new)

        self._changes = PulledChanges(tick, plain.resolver, answers)

    def entities(self, pattern: PullPattern) -> Column | None:
        if not self._same:
            return None
        changes = self._changes if any(pattern.all_queries()) else self._plain
        return changes.entities(self.node(pattern))


def _columns(result: Result) -> list[Column]:
    return [result.codes_of(i, 0, len(result)) for i in range(len(result.columns))]


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
