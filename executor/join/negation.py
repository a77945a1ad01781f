"""`not` and `not-join` as an extender over an inner join."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field

from adalog.executor.join.batch import Batch, Mask, stack
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.protocol import AtLevel, Check, level_of
from adalog.executor.kernels import group_kernels


@dataclass(eq=False)
class NotExtender(AtLevel, Check):
    """`not` / `not-join`: removes the prefixes whose shared bindings the inner join extends to a match.

    It never proposes, and acts where the last of its shared variables is bound. `matches` runs the inner join from
    a batch of shared bindings and returns a mask of those that have a match. `distinct`: it gets each binding
    once, which pays if the inner join has variables of its own, and costs more than it saves if it only looks up.
    `after`: the variables that are bound before it acts, besides the shared ones. `body`, `levels`: of the inner
    join, for a small join to run, and the variables that it binds one after another.
    """

    shared: Sequence[str]
    matches: Callable[[Batch], Mask]
    rank: InitVar[dict[str, int]]
    check: Callable[[], None]
    distinct: bool = field(kw_only=True)
    body: Conjunction | None = field(default=None, kw_only=True)
    levels: Sequence[str] = field(default=(), kw_only=True)
    after: InitVar[Sequence[str]] = field(default=(), kw_only=True)

    def __post_init__(self, rank: dict[str, int], after: Sequence[str]) -> None:
        self.level = level_of(frozenset((*self.shared, *after)), rank)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        shared = Batch(batch.size, {name: batch.columns[name] for name in self.shared})
        if not self.distinct:
            return batch.keep(~self.matches(shared))
        group, first = group_kernels.group_rows(stack(shared.columns.values()), self.check)
        return batch.keep(~self.matches(shared.take(first))[group])
