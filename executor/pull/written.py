"""Pulls of a few entities, written at once: from codes to text, with no maps and columns between.

A pattern is prepared once for a schema. What it may not say, and what turns out to be much, is left to the columns
of `executor.pull.puller`; texts are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from adalog.datalog.pull import PullPattern
from adalog.datalog.values import Value
from adalog.executor.answer.result import ranks
from adalog.executor.bounds.cancel import Cancel
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

    def short(self, code: int) -> bytes | None:
        """The same, if it is written in no time; None for collections and what is long."""

    def key(self, key: Value) -> bytes:
        """The text of a map's key."""

    def value(self, value: Value) -> bytes:
        """The text of any other value."""


class _UnsuitedError(Exception):
    """The answer is too large for this way."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One attribute to write. `key`: with what stands before the value. `default`: None where there is none."""

    attribute: int
    inverse: bool
    many: bool
    is_sorted: bool
    limit: int | None
    key: bytes
    default: bytes | None
    target: WrittenNode | None


@dataclass(frozen=True, slots=True, eq=False)
class WrittenNode:
    """What is written of an entity. `ids`: the keys under which its number is shown."""

    ids: tuple[bytes, ...]
    steps: tuple[_Step, ...]


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
    if node.loops or node.others is not None or node.shared or node.queries or height >= MOST_LEVELS:
        return None
    if any(step.asked.xform is not None for step in (*node.ids, *node.steps)):
        return None
    ids = tuple(_key(step, texts) for step in node.ids)
    steps = []
    for step in node.steps:
        limit, target = step.asked.limit, None
        if step.attribute is None or (limit is not None and limit < 1):
            return None
        if step.target is not None:
            target = _prepared(step.target, texts, height + 1)
            if target is None:
                return None
        default = None if step.asked.default is None else texts.value(step.asked.default.value)
        steps.append(
            _Step(
                step.attribute.id,
                step.asked.reverse,
                step.many,
                step.attribute.is_ref,
                limit,
                _key(step, texts),
                default,
                target,
            )
        )
    keys = [*ids, *(step.key for step in steps)]
    # Keys that differ may be written alike, as a keyword and a string are in JSON.
    return WrittenNode(ids, tuple(steps)) if len(set(keys)) == len(keys) else None


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
        parts = [key + self._value(entity) for key in node.ids]
        for step in node.steps:
            shown = self._shown(step, entity)
            if shown is None:
                shown = step.default
            if shown is not None:
                parts.append(step.key + shown)
        if not parts:
            return None
        text = b"{" + b",".join(parts) + b"}"
        self._bytes += len(text)
        if self._bytes > _MOST_BYTES:
            raise _UnsuitedError
        return text

    def _shown(self, step: _Step, entity: int) -> bytes | None:
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
            return self._value(code) if step.target is None else self._target(step.target, code)
        if size > 1:
            if not step.is_sorted:
                row = row[ranks(row, self._snapshot.codes, self._cancel).argsort(kind="stable")]
            if step.limit is not None and size > step.limit:
                row = row[: step.limit]
        codes = row.tolist()
        if step.target is None:
            return b"[" + b",".join([self._value(code) for code in codes]) + b"]"
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

    def _value(self, code: int) -> bytes:
        text = self._texts.of(code)
        if len(text) > _LONG:
            self._bytes += len(text)
            if self._bytes > _MOST_BYTES:
                raise _UnsuitedError
        return text
