"""Pulls of a few entities, written at once: from codes to text, with no maps and columns between.

A pattern is prepared once for a schema. What it may not say, and what turns out to be much, is left to the columns
of `executor.pull.puller`; texts are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from adalog.datalog.pull import PullPattern
from adalog.datalog.values import Value
from adalog.executor.answer.result import ranks
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.join.batch import Column
from adalog.executor.pull.level import ENTITY, MOST_LEVELS, VALUE
from adalog.executor.pull.steps import PullNode, PullResolver, PullStep
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Codes
from adalog.store.values.layout import is_long

# Values, and bytes of text, from which on columns are sooner done.
_MOST_VALUES: Final = 1_000
_MOST_BYTES: Final = 128 * 1024
# Bytes of a text that are counted before it is put together with others.
_LONG: Final = 500
# Entities that are written between two looks at the deadline.
_CHECK_EVERY: Final = 32


class ValueTexts(Protocol):
    """How values are written in maps and rows. `codes`: those that it writes."""

    codes: Codes

    def of(self, code: int) -> bytes:
        """The text of a value by its code."""

    def rows(self, columns: Sequence[Column]) -> bytes | None:
        """The text of rows, by column of codes; None for collections, and where a text takes long to write."""

    def key(self, key: Value) -> bytes:
        """The text of a map's key."""

    def value(self, value: Value) -> bytes:
        """The text of any other value."""


ShownValue = Callable[[Snapshot, ValueTexts, int], bytes | None]
"""The text of a value by its code; None for one that is not shown."""


class _UnsuitedError(Exception):
    """The answer is too large for this way."""


class WrittenPart(Protocol):
    """A key of an entity's map, with what stands behind it."""

    @property
    def key(self) -> bytes: ...

    def text(self, writer: EntityWriter, entity: int) -> bytes | None:
        """Both; None where nothing is shown."""


@dataclass(frozen=True, slots=True)
class IdPart:
    """The number of the entity."""

    key: bytes

    def text(self, writer: EntityWriter, entity: int) -> bytes | None:
        return self.key + writer.value(entity)


@dataclass(frozen=True, slots=True)
class AttributePart:
    """One attribute. `default`: None where there is none. `shows`: without it, `ValueTexts` writes the values."""

    key: bytes
    attribute: int
    inverse: bool
    many: bool
    is_sorted: bool
    limit: int | None = None
    default: bytes | None = None
    target: WrittenNode | None = None
    shows: ShownValue | None = None

    @staticmethod
    def of(step: PullStep, key: bytes, default: bytes | None, target: WrittenNode | None) -> AttributePart:
        asked, attribute = step.asked, step.attribute
        assert attribute is not None, "the database has it"
        return AttributePart(
            key, attribute.id, asked.reverse, step.many, attribute.is_ref, asked.limit, default, target
        )

    def text(self, writer: EntityWriter, entity: int) -> bytes | None:
        shown = writer.shown(self, entity)
        if shown is None:
            shown = self.default
        return None if shown is None else self.key + shown


@dataclass(frozen=True, slots=True, eq=False)
class WrittenNode:
    """What is written of an entity."""

    parts: tuple[WrittenPart, ...]


def is_written(node: PullNode) -> bool:
    """Whether parts say all that a node shows itself."""
    plain = not (node.loops or node.others is not None or node.shared or node.queries)
    return plain and all(step.asked.xform is None for step in (*node.ids, *node.steps))


def has_rows(step: PullStep) -> bool:
    """Whether the database has the attribute of a step, and some of its values are shown."""
    return step.attribute is not None and (step.asked.limit is None or step.asked.limit > 0)


@dataclass(frozen=True, slots=True)
class PreparedPattern:
    """A pattern for all snapshots of one schema; `node` is None where it needs more than is done here."""

    schema: object
    node: WrittenNode | None

    @staticmethod
    def of(pattern: PullPattern, snapshot: Snapshot, texts: ValueTexts, *, strict: bool) -> PreparedPattern:
        """Raises as `PullResolver`."""
        node = PullResolver(snapshot, strict=strict).node(pattern)
        return PreparedPattern(snapshot.schema, _prepared(node, texts, 1))


def _prepared(node: PullNode, texts: ValueTexts, height: int) -> WrittenNode | None:
    if not is_written(node) or height >= MOST_LEVELS:
        return None
    parts: list[WrittenPart] = [IdPart(_key(step, texts)) for step in node.ids]
    for step in node.steps:
        target = None
        if not has_rows(step):
            return None
        if step.target is not None:
            target = _prepared(step.target, texts, height + 1)
            if target is None:
                return None
        default = None if step.asked.default is None else texts.value(step.asked.default.value)
        parts.append(AttributePart.of(step, _key(step, texts), default, target))
    # Keys that differ may be written alike, as a keyword and a string are in JSON.
    return WrittenNode(tuple(parts)) if len({each.key for each in parts}) == len(parts) else None


def _key(step: PullStep, texts: ValueTexts) -> bytes:
    return texts.key(step.key) + b":"


class EntityWriter:
    """Writes entities of one snapshot, which is plain."""

    def __init__(self, snapshot: Snapshot, texts: ValueTexts, cancel: Cancel) -> None:
        self._snapshot = snapshot
        self._texts = texts
        self._cancel = cancel
        self._values = 0
        self._bytes = 0
        self._made = 0
        # What is referred to more than once is written once.
        self._written: dict[tuple[WrittenNode, int], bytes | None] = {}

    def write(self, node: WrittenNode, entities: Sequence[Any]) -> list[bytes] | None:
        """The text of each entity, which are numbers, idents and lookup refs; None where columns are to be
        made: for large answers and absent entities."""
        self._cancel.check()
        found = []
        try:
            for entity in entities:
                number = self._snapshot.entid(entity)
                if number is None or not is_long(number):
                    return None
                text = self._map(node, number)
                if text is None:
                    return None
                found.append(text)
        except _UnsuitedError:
            return None
        self._cancel.budget.take(ENTITY * self._made + VALUE * self._values)
        return found

    def _map(self, node: WrittenNode, entity: int) -> bytes | None:
        """The text of an entity; None if it has none of the attributes."""
        self._made += 1
        if self._made % _CHECK_EVERY == 0:
            self._cancel.check()
        parts = [text for part in node.parts if (text := part.text(self, entity)) is not None]
        if not parts:
            return None
        text = b"{" + b",".join(parts) + b"}"
        self._bytes += len(text)
        if self._bytes > _MOST_BYTES:
            raise _UnsuitedError
        return text

    def shown(self, step: AttributePart, entity: int) -> bytes | None:
        """The text of an attribute's values; None if it has none."""
        trie = self._snapshot.trie(step.attribute, inverse=step.inverse)
        if not trie.rows:
            return None
        row = trie.row(entity)
        size = len(row)
        if not size:
            return None
        self._values += size
        if self._values > _MOST_VALUES:
            raise _UnsuitedError
        if not step.many:
            code = int(row[0])
            return self._one(step, code) if step.target is None else self._target(step.target, code)
        if size > 1:
            if not step.is_sorted:
                row = row[ranks(row, self._snapshot.codes, self._cancel).argsort(kind="stable")]
            if step.limit is not None and size > step.limit:
                row = row[: step.limit]
        codes = row.tolist()
        if step.target is None:
            if step.shows is None:
                return b"[" + b",".join([self.value(code) for code in codes]) + b"]"
            return b"[" + b",".join([text for code in codes if (text := self._one(step, code)) is not None]) + b"]"
        below = [text for code in codes if (text := self._target(step.target, code)) is not None]
        return b"[" + b",".join(below) + b"]" if below else None

    def _target(self, node: WrittenNode, entity: int) -> bytes | None:
        key = (node, entity)
        if key in self._written:
            text = self._written[key]
            self._bytes += 0 if text is None else len(text)
            return text
        text = self._written[key] = self._map(node, entity)
        return text

    def _one(self, step: AttributePart, code: int) -> bytes | None:
        if step.shows is None:
            return self.value(code)
        text = step.shows(self._snapshot, self._texts, code)
        return None if text is None else self._counted(text)

    def value(self, code: int) -> bytes:
        """The text of a value."""
        return self._counted(self._texts.of(code))

    def _counted(self, text: bytes) -> bytes:
        if len(text) > _LONG:
            self._bytes += len(text)
            if self._bytes > _MOST_BYTES:
                raise _UnsuitedError
        return text
