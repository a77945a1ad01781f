"""The compiled reads of one document: requests that differ in the values of parameters share one.

Values that decide how a query is written have a read each. What holds a cursor is compiled for each request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from adalog.datalog.errors import AdalogError
from adalog.schema.request.context import Context
from adalog.schema.typed.model import Model
from adalog.schema.typed.reading.page_cursors import PageCursors
from adalog.schema.typed.reading.parameter_slots import parameter_slots
from adalog.schema.typed.reading.reads import TypedRead, compiled
from adalog.schema.typed.roots import TypedRoot
from adalog.schema.typed.selection import Selected
from adalog.schema.typed.slots import filled

# Reads that are kept of a document, and the characters of the values that tell them apart.
_MOST: Final = 16
_LONG: Final = 1_000


@dataclass(slots=True)
class KeptReads:
    """chosen: the root field, with slots for the variables that have values. Threads may compile a read twice."""

    model: Model
    root: TypedRoot
    chosen: Selected
    deciding: Sequence[str] = ()
    _parameters: frozenset[str] = frozenset()
    # None: not to be kept.
    _known: dict[str, TypedRead | None] = field(default_factory=dict)

    @staticmethod
    def of(model: Model, root: TypedRoot, chosen: Selected, variables: Sequence[str]) -> KeptReads:
        """variables: those that have values."""
        parameters = parameter_slots(model, root, chosen)
        deciding = [name for name in variables if name not in parameters]
        return KeptReads(model, root, chosen, deciding, parameters)

    def read(
        self, context: Context, values: Mapping[str, Any], raw: Mapping[str, Any], viewer: tuple[str, ...]
    ) -> TypedRead:
        """The read of a request. values: of all variables; raw: as they came. viewer: whose cursors it has. Raises
        as `compiled`."""
        known = self._kept(context, values, raw)
        if known is not None:
            try:
                parameters = known.parameters.filled(values)
            except AdalogError:
                # What is wrong first is said first.
                pass
            else:
                return replace(known, parameters=parameters, cursors=PageCursors(context.services.cursors, viewer))
        return compiled(context, self.model, self.root, filled(self.chosen, values), viewer)

    def _kept(self, context: Context, values: Mapping[str, Any], raw: Mapping[str, Any]) -> TypedRead | None:
        # As Python writes them, values of different types differ.
        key = repr([raw.get(name) for name in self.deciding]) if self.deciding else ""
        if key in self._known:
            return self._known[key]
        if len(key) > _LONG:
            return None
        decided = {name: values[name] for name in self.deciding}
        try:
            made = compiled(context, self.model, self.root, filled(self.chosen, decided))
        except AdalogError:
            return None
        if len(self._known) >= _MOST:
            self._known = {}
        found = self._known[key] = None if made.has_connections else made
        return found
