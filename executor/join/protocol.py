"""The protocol that every part of a query is evaluated through: count, propose, intersect.

GenericJoin binds one variable at a time. An extender counts the values it could add to each prefix, proposes them,
or removes values that other extenders proposed. Data patterns, relations, functions, `and`, `or` and `not` are all
extenders, so they nest. The protocol is Ngo, Ré and Rudra's Generic Join (arXiv 1310.3314) as in McSherry's
"dogsdogsdogs", over columns of prefixes instead of one prefix. `tests/engine/test_extender_laws.py` has its laws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch

UNBOUNDED: Final = np.iinfo(np.int64).max // 4
"""The count of an extender that cannot propose: a filter."""

START: Final = ""
"""The level before the first variable: what an extender checks there has all its variables in the first batch."""


class Extender(Protocol):
    """One part of a query. `variable` is the level's variable; a batch's columns are the variables bound before."""

    def participates(self, variable: str) -> bool:
        """Whether it constrains this variable (at START: whether the first batch binds all that it needs)."""

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        """Per prefix an upper bound on its extensions; UNBOUNDED where it can only intersect."""

    def propose(self, batch: Batch, variable: str) -> Batch:
        """Every prefix with each of its extensions: sorted and distinct per prefix, in the prefixes' order."""

    def intersect(self, batch: Batch, variable: str) -> Batch:
        """The rows it accepts, of a batch in which `variable` is bound already; repeats stay."""


def level_of(variables: frozenset[str], rank: Mapping[str, int]) -> str:
    """The level at which the last of the variables is bound."""
    last = max(variables, key=rank.__getitem__, default=START)
    return START if last == START or rank[last] < 0 else last


class AtLevel:
    """An extender that acts at one level: where the last of its variables is bound."""

    level: str

    def participates(self, variable: str) -> bool:
        return variable == self.level


class OnVariables:
    """An extender that takes part wherever one of its variables is bound; at START where all are bound already."""

    variables: frozenset[str]
    rank: dict[str, int]

    def participates(self, variable: str) -> bool:
        if variable != START:
            return variable in self.variables
        return all(self.rank[name] < 0 for name in self.variables)


class ExactCount:
    """An extender that proposes as many values as it counts."""


class Check:
    """An extender that never proposes, and only looks at the variables that are bound."""

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        return np.full(batch.size, UNBOUNDED, np.int64)

    def propose(self, batch: Batch, variable: str) -> Batch:
        raise AssertionError(f"the planner never lets {type(self).__name__} propose")


def accepted(batch: Batch, variable: str, parts: Iterable[Extender]) -> Batch:
    """The rows that all the parts accept."""
    for part in parts:
        if batch.size:
            batch = part.intersect(batch, variable)
    return batch
