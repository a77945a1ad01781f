"""Answers that rules derive from little data: derived again at each step, in one call of a kernel for each feed,
and compared with those before.

Costs less than to maintain what the rules derive, as long as that is little and the feeds are few. Nothing depends
on what is kept: an answer that is not at hand is derived at the first moment, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.evaluation.lasting_binding import JOIN_BYTES, PLAN_BYTES, LastingBinding
from adalog.executor.evaluation.small_rules import SmallRules
from adalog.executor.extenders.changes import Moments
from adalog.executor.kernels.distinct_rows import rows_apart
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.kernels.range_kernels import Ints
from adalog.executor.kernels.seed import SEED
from adalog.executor.question.inputs import Inputs
from adalog.planner.model.plan import Plan
from adalog.store.snapshot.snapshot import Snapshot, ViewKey
from adalog.store.values.codes import Codes, Scratch

# Feeds up to which each is asked by itself.
_FEW_FEEDS: Final = 4
# Candidates, rows and sorted rows of one answer, as of `kernels.small_rules`: more take longer than maintenance.
_MOST_WORK: Final = 1 << 12

_NO_ROWS: Final = np.empty((0, 0), np.int64)

RowChanges = tuple[Ints, Ints]
"""Rows int64[k, n] that came and that went."""


@dataclass(slots=True)
class _Feed:
    """`prefix`: the codes of what the plan is given; None where there is more to it, or the database does not know
    all of them. `rows`: its answer at `moment`, int64[k, n], which may repeat."""

    prefix: list[int] | None
    moment: ViewKey | None = None
    rows: Ints = field(default_factory=lambda: _NO_ROWS)


class SmallAnswers:
    """Of a view whose query has rules. `source`: the database that moves; `still`: the others. `shown`: the
    variables of the columns that the query shows. `codes`: of the database, and so of inputs."""

    def __init__(
        self, plan: Plan, source: str, still: Mapping[str, Snapshot], shown: Sequence[str], codes: Codes
    ) -> None:
        self._plan = plan
        self._codes = codes
        self._source = source
        self._still = still
        self._shown = shown
        # Otherwise rows may repeat.
        self._are_distinct = not plan.distinct and set(plan.answer) == set(shown)
        self._feeds: dict[int, _Feed] = {}
        self._binding: LastingBinding | None = None
        self._rules: SmallRules | None = None
        # Of the columns that are shown.
        self._slots: list[int] | slice = []
        # The key of the schema that the program was bound under.
        self._schema: int | None = None
        # Whether an answer was not small, or none can be.
        self._is_refused = False

    def add(self, feed: int, inputs: Inputs) -> None:
        self._feeds[feed] = _Feed(self._prefix(inputs))

    def drop(self, feed: int) -> None:
        self._feeds.pop(feed, None)

    def changes(self, tick: Moments, run: QueryRun) -> dict[int, RowChanges] | None:
        """What came and went for each feed with a change; None where that is to be found in another way."""
        if self._is_refused or len(self._feeds) > _FEW_FEEDS:
            return None
        if not SMALL_JOIN.is_ready:
            SMALL_JOIN.ask()
            return None
        is_known = tick.old.codes is tick.new.codes is self._codes
        if not is_known or any(feed.prefix is None for feed in self._feeds.values()):
            return None
        old, new = tick.old.key, tick.new.key
        found: dict[int, RowChanges] = {}
        for number, feed in self._feeds.items():
            before = feed.rows if feed.moment == old else self._rows(feed, tick.old, run)
            after = None if before is None else self._rows(feed, tick.new, run)
            if before is None or after is None:
                self.forget()
                return None
            feed.rows, feed.moment = after, new
            came, went = rows_apart(before, after, self._are_distinct, SEED)
            if len(came) or len(went):
                found[number] = after[:, came], before[:, went]
        return found

    def forget(self) -> None:
        """Lets go of answers."""
        for feed in self._feeds.values():
            feed.moment, feed.rows = None, _NO_ROWS

    def lighten(self) -> None:
        """Lets go of the program, which can be written again."""
        self._binding = self._rules = None

    def nbytes(self) -> int:
        return sum(each.rows.nbytes for each in self._feeds.values()) + self.spare()

    def spare(self) -> int:
        """Bytes of the program."""
        return 0 if self._rules is None else PLAN_BYTES + JOIN_BYTES + self._rules.numbers.nbytes

    def _prefix(self, inputs: Inputs) -> list[int] | None:
        columns = {} if inputs.start is None else inputs.start.columns
        if inputs.start is None or inputs.relations or not columns.keys() >= set(self._plan.given):
            return None
        codes = [int(columns[name][0]) for name in self._plan.given]
        return None if (Scratch.made_numbers(np.array(codes, np.int64)) >= 0).any() else codes

    def _rows(self, feed: _Feed, at: Snapshot, run: QueryRun) -> Ints | None:
        """The answer at a moment; None where it is not small."""
        run.cancel.check()
        rules = self._rules_at(at, run)
        if rules is None:
            return None
        assert feed.prefix is not None
        assert self._binding is not None
        self._binding.databases = {**self._still, self._source: at}
        rows = rules.rows(feed.prefix, self._slots, _MOST_WORK)
        self._binding.databases = {}
        self._is_refused = rows is None
        return rows

    def _rules_at(self, at: Snapshot, run: QueryRun) -> SmallRules | None:
        """The program of the rules and the query, bound under the schema of a moment."""
        if self._rules is None or self._schema != at.schema.key:
            self._rules, self._schema = None, at.schema.key
            if type(at) is Snapshot:
                databases = {**self._still, self._source: at}
                binding = LastingBinding(self._plan, databases, {}, run, derive=derived, moves=True)
                rules = SmallRules.of(self._plan, binding, self._plan.given)
                binding.rest()
                # What a name means is another thing at another moment.
                self._rules = None if any(binding.names.values()) else rules
                self._binding = binding
                if self._rules is not None:
                    self._slots = self._rules.slots_of(self._shown)
            self._is_refused = self._rules is None
        return self._rules
