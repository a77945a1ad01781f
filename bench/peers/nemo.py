"""nemo, a rule engine: tables as CSV files, which it reads anew for each program; relations of integers.

Reading is part of its time: a few milliseconds for the graphs, a tenth of a second for 100,000 facts.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import nmo_python  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.csv

from bench.facts import tables
from bench.work import Answer, Work


class Nemo:
    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._imports = ""

    def load(self, data: str) -> None:
        imports = []
        for name, table in tables(data).items():
            path = Path(self._folder.name) / f"{name}.csv"
            options = pyarrow.csv.WriteOptions(include_header=False)
            pyarrow.csv.write_csv(pa.table(dict(table)), path, options)
            types = ", ".join("int" for _ in table)
            imports.append(f'@import {name} :- csv {{resource = "{path}", format = ({types})}} .\n')
        self._imports = "".join(imports)

    def run(self, work: Work) -> Answer:
        engine = nmo_python.NemoEngine(
            nmo_python.load_string(f"{self._imports}{work.texts['nemo']}\n@output out .")
        )
        engine.reason()
        rows = [tuple(row) for row in engine.result("out")]
        return rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else rows
