"""Cozo, in memory: a stored relation a table, and where columns are a and b a second one keyed from the other end.

Cozo joins in written order by prefixes of keys: the texts name whichever of the two lets them seek.
"""

from __future__ import annotations

from collections.abc import Sequence

from cozo_embedded import CozoDbPy  # type: ignore[import-untyped]

from bench.facts import tables
from bench.work import Answer, Work


class Cozo:
    def __init__(self) -> None:
        self._database = CozoDbPy("mem", "", "{}")

    def load(self, data: str) -> None:
        for name, table in tables(data).items():
            columns = tuple(table)
            rows = [list(row) for row in zip(*(table[column].tolist() for column in columns), strict=True)]
            self._put(name, columns, rows)
            if columns == ("a", "b"):
                self._put(f"{name}_back", ("b", "a"), [[b, a] for a, b in rows])

    def _put(self, name: str, columns: Sequence[str], rows: list[list[int]]) -> None:
        """Of three columns the last is no key."""
        keys = ", ".join(f"{column}: Int" for column in columns[:2])
        values = "".join(f" => {column}: Int" for column in columns[2:])
        self._database.run_script(f":create {name} {{{keys}{values}}}", {}, False)
        head = f"?[{', '.join(columns)}] <- $rows"
        put = f":put {name} {{{', '.join(columns[:2])}{' => ' if columns[2:] else ''}{', '.join(columns[2:])}}}"
        self._database.run_script(f"{head} {put}", {"rows": rows}, False)

    def run(self, work: Work) -> Answer:
        arguments = {
            name: list(value) if isinstance(value, tuple) else value for name, value in work.arguments.items()
        }
        answer = self._database.run_script(work.texts["Cozo"], arguments, True)
        rows = [tuple(row) for row in answer["rows"]]
        return rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else rows
