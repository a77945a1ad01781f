"""Where something stands in a mapping, for messages: file, line and column, or the keys of one without file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Final

import yaml

GIVEN: Final = "<mapping>"
"""The file name of a mapping that a program gave as a dict, in the folder that its paths are relative to."""


class MappingPlaces:
    """root: None for an empty mapping."""

    def __init__(self, file: Path, root: yaml.Node | None) -> None:
        self._file = file
        self._root = root

    @property
    def name(self) -> str:
        """What the mapping is called."""
        return "the mapping" if self._file.name == GIVEN else str(self._file)

    def of(self, node: yaml.Node) -> str:
        """The place of a node; a key's is that of its value."""
        if self._file.name == GIVEN:
            keys = self._keys[id(node)]
            return f"in the mapping at {keys}" if keys else "in the mapping"
        mark = node.start_mark
        return f"{self._file}, line {mark.line + 1}, column {mark.column + 1}"

    @cached_property
    def _keys(self) -> dict[int, str]:
        """The keys that lead to each node, by the node's identity."""
        return {} if self._root is None else dict(_paths(self._root, ""))


def _paths(node: yaml.Node, keys: str) -> Iterator[tuple[int, str]]:
    yield id(node), keys
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = f"{keys}.{key.value}" if keys else str(key.value)
            yield id(key), inner
            yield from _paths(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield from _paths(value, f"{keys}[{number}]")
