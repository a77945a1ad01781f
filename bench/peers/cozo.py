"""Cozo, in memory: one stored relation keyed by both ends of an edge, so that either prefix can be sought."""

from __future__ import annotations

from cozo_embedded import CozoDbPy  # type: ignore[import-untyped]

from bench.work import Answer, Work, graph


class Cozo:
    def __init__(self) -> None:
        self._database = CozoDbPy("mem", "", "{}")

    def load(self, data: str) -> None:
        edges = graph(data)
        self._database.run_script(":create edge {a: Int, b: Int}", {}, False)
        pairs = [list(pair) for pair in zip(edges.source.tolist(), edges.target.tolist(), strict=True)]
        self._database.run_script("?[a, b] <- $pairs :put edge {a, b}", {"pairs": pairs}, False)

    def run(self, work: Work) -> Answer:
        arguments = {
            name: list(value) if isinstance(value, tuple) else value for name, value in work.arguments.items()
        }
        answer = self._database.run_script(work.texts["Cozo"], arguments, True)
        rows = [tuple(row) for row in answer["rows"]]
        return rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else rows
