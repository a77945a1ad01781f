"""`not` and `not-join` as an extender over an inner join."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adalog.executor.join.batch import Batch, Mask, stack
from adalog.executor.join.protocol import START, Check
from adalog.executor.kernels import group_kernels


class NotExtender(Check):
    """`not` / `not-join`: removes the prefixes whose shared bindings the inner join extends to a match.

    It never proposes, and acts where the last of its shared variables is bound. `matches` runs the inner join from
    a batch of shared bindings and returns a mask of those that have a match. `distinct`: it gets each binding
    once, which pays if the inner join has variables of its own, and costs more than it saves if it only looks up.
    """

    def __init__(
        self,
        shared: Sequence[str],
        matches: Callable[[Batch], Mask],
        rank: dict[str, int],
        check: Callable[[], None],
        *,
        distinct: bool,
    ) -> None:
        self.check = check
        self.distinct = distinct
        self.shared = tuple(shared)
        self.matches = matches
        last = max(shared, key=rank.__getitem__)
        self.level = START if rank[last] < 0 else last

    def participates(self, variable: str) -> bool:
        return variable == self.level

    def intersect(self, batch: Batch, variable: str) -> Batch:
        shared = Batch(batch.size, {name: batch.columns[name] for name in self.shared})
        if not self.distinct:
            return batch.keep(~self.matches(shared))
        group, first = group_kernels.group_rows(stack(shared.columns.values()), self.check)
        return batch.keep(~self.matches(shared.take(first))[group])
