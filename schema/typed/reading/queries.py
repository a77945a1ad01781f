"""Pieces of EDN text that become one query: patterns of a pull, and the query that a root or a list of it is.

Here is no knowledge of GraphQL: `patterns` and `connections` decide what stands in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from adalog.schema.typed.reading.filters import Clauses, Parameters
from adalog.store.snapshot.snapshot import Snapshot

KEY: Final = "\x00"
"""Stands in an element of a pattern for the key of what it shows."""
HISTORY: Final = "$h"
"""The source of all assertions and retractions, as a query's `:in` names it where it reads one."""


@dataclass(slots=True)
class PatternText:
    """The pattern for the entities of one level. Equal elements share one key, whatever they are shown as."""

    keys: dict[str, str] = field(default_factory=dict)
    uses: dict[str, None] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)

    def key(self, wanted: str, element: str, uses: Iterable[str] = ()) -> str:
        """The key under which an element's value stands in the pulled map: `wanted` unless that is taken."""
        known = self.keys.get(element)
        if known is not None:
            return known
        key, number = wanted, 1
        while key in self._taken:
            number += 1
            key = f"{wanted}'{number}"
        self._taken.add(key)
        self.keys[element] = key
        self.uses.update(dict.fromkeys(uses))
        return key

    @property
    def text(self) -> str:
        elements = (element.replace(KEY, f'"{key}"') for element, key in self.keys.items())
        return f"[{' '.join((':db/id', *elements))}]"


@dataclass(frozen=True)
class QueryText:
    """A query in parts. find: `:find` with what follows it. uses: parameters, and sources but `$`."""

    find: str
    clauses: Clauses
    uses: tuple[str, ...] = ()
    tail: str = ""

    @cached_property
    def inputs(self) -> list[str]:
        """What `:in` names after `$`: sources, then parameters."""
        uses = dict.fromkeys((*self.uses, *self.clauses.uses))
        return sorted(uses, key=lambda name: not name.startswith("$"))

    def within(self, owner: str) -> str:
        """The query within a pull pattern, for the entity that the variable `owner` is."""
        sources = [name for name in self.inputs if name.startswith("$")]
        others = [name for name in self.inputs if not name.startswith("$")]
        return f"(q {KEY} {self._text((*sources, owner, *others))})"

    @cached_property
    def text(self) -> str:
        return self._text(self.inputs)

    def _text(self, inputs: Sequence[str]) -> str:
        tail = f" {self.tail}" if self.tail else ""
        return f"[:find {self.find} :in {' '.join(('$', *inputs))} :where {self.clauses.text}{tail}]"

    def arguments(self, parameters: Parameters, snapshot: Snapshot) -> tuple[Any, ...]:
        """The arguments for `text`."""
        values = dict(zip(parameters.names, parameters.values, strict=True))
        return tuple(snapshot.history() if name == HISTORY else values[name] for name in self.inputs)
