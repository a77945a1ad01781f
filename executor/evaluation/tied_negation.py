"""A `not` that only comparisons tie to the outside: its inside is joined once, and rows look into the outcome.

`(not [?f :type :paid] [?f :size ?m] [(> ?m ?n)])` asks if some size of the paid ones is above `?n`. Which sizes
there are does not depend on `?n`; found once and sorted, they answer any number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from adalog.executor.bounds.run import QueryRun
from adalog.executor.extenders.relation import Levels, RelationExtender
from adalog.executor.join.batch import ORIGIN, Batch, Column
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.level import Level
from adalog.executor.join.protocol import Extender
from adalog.store.tries.trie import distinct

# Rows that are asked for one by one before the inside is joined as a whole, which may cost far more than a few.
_FEW: Final = 16


@dataclass(frozen=True, slots=True)
class TiedJoin:
    """`rest`: the join of the inside. `ties`: what compares its `variable` with the outside."""

    rest: GenericJoin
    variable: str
    ties: Sequence[Extender]
    budget: int

    def join(self, whole: GenericJoin, rows: int, run: QueryRun) -> GenericJoin:
        """What to ask for so many rows more: the `whole` inside with the ties, or the column of values that the
        inside has been found to have."""
        known: Levels | None = run.made.get((id(self), "column"))
        if known is None:
            wanted = rows + run.made.get((id(self), "rows"), 0)
            run.made[id(self), "rows"] = wanted
            if wanted < _FEW:
                return whole
            known = run.made[id(self), "column"] = Levels([self._column(run)])
        relation = RelationExtender([self.variable], known, {self.variable: 0})
        level = Level(self.variable, keep=frozenset((ORIGIN,)))
        return GenericJoin(Conjunction([relation, *self.ties]), [level], budget=self.budget, check=whole.check)

    def _column(self, run: QueryRun) -> Column:
        parts: list[Column] = []

        def gather(found: Batch) -> bool:
            run.cancel.budget.take(found.nbytes)
            parts.append(found.columns[self.variable])
            return True

        Driver(self.rest, gather, run.cancel).run(Batch(1, {}))
        return distinct(np.concatenate(parts)) if parts else np.empty(0, np.int64)
