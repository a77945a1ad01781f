"""The rows of a server's answer as Parquet, as a folder's own are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adalog.datalog import edn
from adalog.executor.answer.parquet import Output, settled, write_part
from adalog.executor.bounds.cancel import Cancel
from adalog.gateway.cli.output.formats import ResultTable
from adalog.store.values.codes import Codes, Scratch

# The answer is here already.
_ALL: Final = 1 << 62


def write_parquet(relation: ResultTable, folder: str) -> int:
    """Writes an answer's rows into a folder; the number of files. Raises OSError."""
    if not relation.rows:
        return 0
    values, output = Scratch(Codes(), _ALL, _ALL), Output(folder)
    columns = [
        values.intern_many(_plain(row[place]) for row in relation.rows) for place in range(len(relation.names))
    ]
    try:
        part = write_part(output, 0, relation.names, columns, values, Cancel())
        return len(settled(output, [part]))
    except BaseException:
        output.discard()
        raise


def _plain(value: Any) -> Any:
    """Entities that were pulled as EDN text."""
    return edn.write(value) if isinstance(value, Mapping) else value
