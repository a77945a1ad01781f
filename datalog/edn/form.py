"""A value together with its place in the text, for readers that have to say where something is wrong."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from adalog.datalog.edn.outline import Node
from adalog.datalog.errors import Position
from adalog.datalog.values import EdnList, EdnMap, EdnSet, Value


class Lines:
    """Offsets of one text as lines and columns."""

    __slots__ = ("_origin", "_starts", "text")

    def __init__(self, text: str, origin: str = "") -> None:
        self.text = text
        self._origin = origin
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def position(self, offset: int) -> Position:
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1, self._origin)


class Form:
    """One value of a text; its parts are forms in their turn, made when asked for. Without a text, no positions."""

    __slots__ = ("_lines", "_node", "value")

    def __init__(self, value: Value, node: Node | None = None, lines: Lines | None = None) -> None:
        self.value = value
        self._node = node
        self._lines = lines

    @property
    def position(self) -> Position | None:
        return None if self._node is None or self._lines is None else self._lines.position(self._node.offset)

    def __iter__(self) -> Iterator[Form]:
        """The elements of a vector, list or set; a map's keys and values in turn."""
        parts: list[Value] = list(self.value)
        if isinstance(self.value, EdnMap):
            parts = [part for entry in self.value.items() for part in entry]
        nodes = [None] * len(parts) if self._node is None else self._node.children
        for part, node in zip(parts, nodes, strict=True):
            yield Form(part, node, self._lines)

    @property
    def is_regex(self) -> bool:
        """Whether it is written `#"…"`."""
        if self._node is None or self._lines is None:
            return False
        return self._lines.text.startswith('#"', self._node.offset)

    @property
    def kind(self) -> str:
        """`atom`, `vector`, `list`, `map` or `set`."""
        return _KINDS.get(type(self.value), "atom")

    @property
    def items(self) -> tuple[Form, ...]:
        """The parts of a collection, a map's keys and values in turn; none of an atom."""
        return tuple(self) if type(self.value) in _KINDS else ()


_KINDS: dict[type, str] = {tuple: "vector", EdnList: "list", EdnMap: "map", EdnSet: "set"}
