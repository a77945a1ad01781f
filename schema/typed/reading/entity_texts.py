"""Typed selections of a few entities, written from codes: with no maps between, what `writer` makes of these.

A selection is prepared once for a schema. Interfaces, connections, lists with a filter or an order, all attributes
and values of any type are left to maps, and so is what turns out to be much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from adalog.datalog.errors import AdalogError
from adalog.datalog.parsing.pull_text import read_pull
from adalog.datalog.values import Keyword, type_name
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.pull.level import MOST_LEVELS
from adalog.executor.pull.steps import PullNode, PullResolver, PullStep
from adalog.executor.pull.written import (
    AttributePart,
    EntityWriter,
    ShownValue,
    ValueTexts,
    WrittenNode,
    WrittenPart,
    has_rows,
    is_written,
)
from adalog.schema.typed.reading.writer import (
    Constant,
    EntityField,
    EntityId,
    IdentField,
    ObjectShape,
    ScalarField,
    Shape,
    json_value,
)
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import layout

# Entities that are written on the event loop, and answers with more after which none is tried again.
_MOST_ENTITIES: Final = 100
_PATIENCE: Final = 4
_TYPES: Final = {0: "long", **layout.TYPES}
_NULL, _NOTHING = b"null", b"[]"


@dataclass(frozen=True, slots=True)
class IdTextPart:
    """The id of the entity."""

    key: bytes

    def text(self, writer: EntityWriter, entity: int) -> bytes | None:
        return b'%b"%d"' % (self.key, entity)


@dataclass(frozen=True, slots=True)
class ConstantPart:
    """The same of each entity."""

    key: bytes
    value: bytes

    def text(self, writer: EntityWriter, entity: int) -> bytes | None:
        return self.key + self.value


@dataclass(slots=True)
class EntityTexts:
    """How entities are written that a pattern pulls, and a shape shows."""

    shape: Shape
    pattern: str
    # (the schema that it was prepared for, None where maps are needed). It holds no texts, as those of before an
    # excision have what it took.
    _prepared: tuple[object, WrittenNode | None] = field(default=(None, None))
    _left: int = _PATIENCE

    def suits(self, snapshot: Snapshot, texts: ValueTexts) -> bool:
        """Whether entities of a snapshot are written from codes. `texts`: of the database."""
        if type(snapshot) is not Snapshot or not snapshot.is_plain or snapshot.codes is not texts.codes:
            return False
        if self._left <= 0:
            return False
        schema, node = self._prepared
        if schema is not snapshot.schema:
            node = self._node(snapshot)
            self._prepared = snapshot.schema, node
        return node is not None

    def _node(self, snapshot: Snapshot) -> WrittenNode | None:
        try:
            node = PullResolver(snapshot, strict=False).node(read_pull(self.pattern))
        except AdalogError:
            # A query in it takes parameters of the one around it.
            return None
        return _node(self.shape, node, 1)

    def write(
        self, snapshot: Snapshot, entities: Sequence[int], texts: ValueTexts, cancel: Cancel
    ) -> list[bytes] | None:
        """The text of each entity; None where maps are to be made."""
        schema, node = self._prepared
        if node is None or schema is not snapshot.schema:
            return None
        few = len(entities) <= _MOST_ENTITIES
        found = EntityWriter(snapshot, texts, cancel).write(node, entities) if few else None
        if found is None:
            self._left -= 1
        return found


def _node(shape: Shape, node: PullNode, height: int) -> WrittenNode | None:
    if not isinstance(shape, ObjectShape) or not is_written(node) or height >= MOST_LEVELS:
        return None
    steps = {step.key: step for step in node.steps if isinstance(step.key, str)}
    parts = []
    for name, each in shape.fields.items():
        part = _part(orjson.dumps(name) + b":", each, steps, height)
        if part is None:
            return None
        parts.append(part)
    return WrittenNode(tuple(parts)) if parts else None


def _part(key: bytes, shape: Shape, steps: Mapping[str, PullStep], height: int) -> WrittenPart | None:
    if isinstance(shape, EntityId):
        return IdTextPart(key)
    if isinstance(shape, Constant):
        return ConstantPart(key, orjson.dumps(shape.value))
    if not isinstance(shape, ScalarField | IdentField | EntityField):
        return None
    step = steps.get(shape.key)
    if step is None or not has_rows(step) or step.many is not shape.many or step.asked.default is not None:
        return None
    assert step.attribute is not None, "it has rows"
    absent = _NOTHING if shape.many else _NULL
    if isinstance(shape, ScalarField):
        if step.target is not None or shape.type is None or shape.type not in _TYPES.values():
            return None
        return replace(AttributePart.of(step, key, absent, None), shows=_value(shape.type))
    if step.target is None or not step.attribute.is_ref:
        return None
    if isinstance(shape, IdentField):
        return replace(AttributePart.of(step, key, absent, None), shows=_ident(shape.names))
    target = _node(shape.shape, step.target, height + 1)
    return None if target is None else AttributePart.of(step, key, absent, target)


def _value(wanted: str) -> ShownValue:
    """Values of one type; those of a past one are not shown."""
    finite = wanted not in ("double", "float")

    def shown(_: Snapshot, texts: ValueTexts, code: int) -> bytes | None:
        codes = texts.codes
        kind = _TYPES.get(layout.tag_of(code)) or type_name(codes.decode(code))
        if kind != wanted:
            return None
        return texts.of(code) if finite else orjson.dumps(json_value(codes.decode(code)))

    return shown


def _ident(names: Mapping[Keyword, str] | None) -> ShownValue:
    """Entities by their idents. names: of those that are shown; None: all."""

    def shown(snapshot: Snapshot, _: ValueTexts, code: int) -> bytes | None:
        ident = snapshot.ident(code)
        text: Any = None if ident is None else json_value(ident) if names is None else names.get(ident)
        return None if text is None else orjson.dumps(text)

    return shown
