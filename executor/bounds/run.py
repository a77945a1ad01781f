"""What all parts of one run have in common, made once and handed through."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from adalog.executor.bounds.cancel import Cancel
from adalog.store.values.codes import Scratch


@dataclass(frozen=True, slots=True)
class QueryRun:
    """`values`: the codes of what the run makes up. `cancel`: its flag, deadline and budget. `strict`: an attribute
    that is not declared is refused. `threads`: how many a join may use. `made`: what was sorted or gathered once
    for the whole run, by what it was made for."""

    values: Scratch
    cancel: Cancel = field(default_factory=Cancel)
    strict: bool = False
    threads: int = 1
    made: dict[tuple[Hashable, Hashable], Any] = field(default_factory=dict)

    @property
    def on_one_thread(self) -> QueryRun:
        """The same for a join within a join."""
        return self if self.threads == 1 else QueryRun(self.values, self.cancel, self.strict, made=self.made)
