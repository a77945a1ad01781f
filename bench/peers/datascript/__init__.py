"""DataScript, in a Node process: edges are a many-valued ref."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.peers.node import Node
from bench.work import Answer, Work, graph

_HERE = Path(__file__).parent


class DataScript:
    def __init__(self) -> None:
        self._node = Node(_HERE, "datascript")

    def load(self, data: str) -> None:
        edges = graph(data)
        # DataScript's ids start at 1.
        pairs = [[a + 1, b + 1] for a, b in zip(edges.source.tolist(), edges.target.tolist(), strict=True)]
        self._node.ask({"load": pairs})

    def run(self, work: Work) -> Answer:
        arguments = [
            [one + 1 for one in value] if isinstance(value, tuple) else int(value) + 1
            for value in work.arguments.values()
        ]
        answer: int | None = self._node.ask({"query": work.texts["DataScript"], "arguments": arguments})
        return answer or 0

    def transact(
        self,
        schema: Mapping[str, object],
        before: Sequence[object],
        forms: Sequence[object],
        queries: Sequence[str],
    ) -> tuple[float, float, list[int]]:
        """Into a new database: seconds of `forms` alone, of CPU as well, and what the queries then answer."""
        request: dict[str, object] = {"transact": forms, "before": before, "schema": schema, "queries": queries}
        seconds, cpu, answers = self._node.ask(request)
        return seconds, cpu, answers
