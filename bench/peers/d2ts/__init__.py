"""D2TS, differential dataflow in TypeScript, in a Node process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from bench.peers.node import Node

_HERE = Path(__file__).parent

Edge = tuple[int, int]


class D2ts:
    """One query followed over a graph: `triangles`, counted, or `open`, the paths of two edges that no third one
    closes, counted by where they begin. What it needs is installed by npm. To be left as a context."""

    def __init__(self) -> None:
        self._node = Node(_HERE, "@electric-sql/d2ts")

    def __enter__(self) -> D2ts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._node.end()

    def follow(self, name: str, edges: Sequence[Edge]) -> list[list[int]]:
        """The rows that the query has to begin with."""
        rows: list[list[int]] = self._node.ask({"follow": name, "edges": edges})
        return rows

    def step(self, changes: Sequence[tuple[Edge, int]]) -> float:
        """The milliseconds that it took to follow edges that came (1) and went (-1)."""
        took: float = self._node.ask({"step": changes})
        return took

    def rows(self) -> list[list[int]]:
        """The rows that it has now."""
        rows: list[list[int]] = self._node.ask({})
        return rows
