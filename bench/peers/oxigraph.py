"""Oxigraph, an RDF store, in memory: vertices are IRIs, an edge is a triple with the predicate `<e:to>`."""

from __future__ import annotations

import io

from pyoxigraph import QuerySolutions, RdfFormat, Store

from bench.work import Answer, Work, graph


class Oxigraph:
    def __init__(self) -> None:
        self._store = Store()

    def load(self, data: str) -> None:
        edges = graph(data)
        pairs = zip(edges.source.tolist(), edges.target.tolist(), strict=True)
        lines = "".join(f"<e:{a}> <e:to> <e:{b}> .\n" for a, b in pairs)
        self._store.bulk_load(io.BytesIO(lines.encode()), format=RdfFormat.N_TRIPLES)

    def run(self, work: Work) -> Answer:
        solutions = self._store.query(work.texts["Oxigraph"])
        assert isinstance(solutions, QuerySolutions)
        rows = [tuple(int(term.value) for term in solution) for solution in solutions]
        return rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else rows
