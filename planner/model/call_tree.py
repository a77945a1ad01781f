"""Calls within calls: an atom has the whole tree, and the terms at its leaves as its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from adalog.datalog.ast import Source
from adalog.datalog.errors import Position
from adalog.planner.model.leaf import Term, shown


@dataclass(frozen=True, slots=True)
class CallTree:
    """A call whose arguments are places among the arguments of its atom, or calls. A change of the atom's terms
    leaves it as it is."""

    name: str
    args: tuple[int | CallTree, ...]
    position: Position | None = field(default=None, compare=False)

    def shown(self, terms: Sequence[Term | Source]) -> str:
        """`(if (< ?x 3) 1 ?y)`"""
        parts = (shown((terms[each],)) if isinstance(each, int) else each.shown(terms) for each in self.args)
        return f"({' '.join((self.name, *parts))})"

    @property
    def is_nested(self) -> bool:
        """Whether an argument is a call."""
        return any(isinstance(each, CallTree) for each in self.args)
