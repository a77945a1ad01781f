"""What all parts of one run have in common, made once and handed through."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from executor.bounds.cancel import Cancel
from store.codes import Scratch


@dataclass(frozen=True, slots=True)
class Run:
    """`values`: the codes of what the run makes up. `cancel`: its flag, deadline and budget. `strict`: an attribute
    that is not declared is refused. `threads`: how many a join may use. `orders`: columns by their values, by the
    column's identity and how it was sorted, each with the column."""

    values: Scratch
    cancel: Cancel = field(default_factory=Cancel)
    strict: bool = False
    threads: int = 1
    orders: dict[tuple[int, bool], tuple[Any, Any]] = field(default_factory=dict)

    @property
    def on_one_thread(self) -> Run:
        """The same for a join within a join."""
        return self if self.threads == 1 else Run(self.values, self.cancel, self.strict, orders=self.orders)
