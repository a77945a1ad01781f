"""The compiled reads of one document: requests that differ in the values of parameters share one.

Values that decide how a query is written have a read each. What holds a cursor is compiled for each request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from adalog.datalog.errors import AdalogError
from adalog.schema.request.context import Context, Services
from adalog.schema.typed.model import Model
from adalog.schema.typed.reading.entity_texts import EntityTexts
from adalog.schema.typed.reading.page_cursors import PageCursors
from adalog.schema.typed.reading.parameter_slots import parameter_slots
from adalog.schema.typed.reading.reads import TypedRead, compiled, read_at_once
from adalog.schema.typed.roots import TypedRoot
from adalog.schema.typed.selection import Selected
from adalog.schema.typed.slots import filled
from adalog.store.snapshot.snapshot import Snapshot

# Reads that are kept of a form of a document's variables, and the characters of the values that tell them apart.
_MOST: Final = 4
_WRITTEN: Final = frozenset((str, int, float, bool))
_LONG: Final = 1_000
_NOTHING: Final = "[]"


@dataclass(slots=True)
class KeptReads:
    """chosen: the root field, with slots for values. deciding: the slots of those that decide how a query is
    written. Threads may compile a read twice."""

    model: Model
    root: TypedRoot
    chosen: Selected
    deciding: Sequence[str]
    # None: not to be kept.
    _known: dict[str, TypedRead | None] = field(default_factory=dict)

    @staticmethod
    def of(model: Model, root: TypedRoot, chosen: Selected, slots: Sequence[str]) -> KeptReads:
        parameters = parameter_slots(model, root, chosen)
        return KeptReads(model, root, chosen, [name for name in slots if name not in parameters])

    @property
    def is_newest(self) -> bool:
        """Whether the newest snapshot is read, as the client sees it."""
        return self.chosen.arguments.get("as") is None and self.chosen.arguments.get("basis") is None

    def read(self, context: Context, values: Mapping[str, Any], viewer: tuple[str, ...]) -> TypedRead:
        """The read of a request. viewer: whose cursors it has. Raises as `compiled`."""
        known = self._kept(context, values)
        if known is not None:
            try:
                parameters = known.parameters.filled(values)
            except AdalogError:
                # What is wrong first is said first.
                pass
            else:
                return replace(known, parameters=parameters, cursors=PageCursors(context.services.cursors, viewer))
        return compiled(context, self.model, self.root, filled(self.chosen, values), viewer)

    def written_at_once(self, services: Services, snapshot: Snapshot, values: Mapping[str, Any]) -> bytes | None:
        """What a request like one before reads without a wait; None where it is to be read as `read` says, as if
        nothing had been."""
        known = self._known.get(self._key(values) or "")
        if known is None or known.texts is None or services.texts is None or not self.is_newest:
            return None
        return read_at_once(services, snapshot, known, values)

    def _kept(self, context: Context, values: Mapping[str, Any]) -> TypedRead | None:
        key = self._key(values)
        if key is None:
            return None
        if key in self._known:
            return self._known[key]
        if len(key) > _LONG:
            return None
        decided = {name: values[name] for name in self.deciding}
        try:
            made = compiled(context, self.model, self.root, filled(self.chosen, decided))
        except AdalogError:
            return None
        if made.pattern and not made.has_connections:
            made.texts = EntityTexts(made.shape, made.pattern)
        if len(self._known) >= _MOST:
            self._known = {}
        found = self._known[key] = None if made.has_connections else made
        return found

    def _key(self, values: Mapping[str, Any]) -> str | None:
        """By which a read is kept; None for a value that is not written."""
        if not self.deciding:
            return _NOTHING
        decided = [values[name] for name in self.deciding]
        # As Python writes these, different values differ.
        return repr(decided) if all(type(each) in _WRITTEN for each in decided) else None
