"""Tables, series and arrays of pandas, Polars, PyArrow, DuckDB and NumPy, as values and as files to import."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adalog.datalog.errors import invalid_argument, quoted


def is_stream(value: Any) -> bool:
    """Whether a value gives itself as Arrow data."""
    return hasattr(value, "__arrow_c_stream__")


def items_of(value: Any) -> list[Any] | None:
    """The items of a series or array, or the rows of a table as tuples; None for a value that is none of these."""
    if hasattr(value, "itertuples"):
        # pandas itself has values that Arrow has no type for, such as UUIDs.
        return list(value.itertuples(index=False, name=None))
    if is_stream(value) and hasattr(value, "columns"):
        table = _table(value)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    is_array = hasattr(value, "dtype") or is_stream(value) or hasattr(value, "__arrow_c_array__")
    if not is_array or getattr(value, "shape", None) == ():
        return None
    for name in ("to_pylist", "to_list", "tolist"):
        convert = getattr(value, name, None)
        if convert is not None:
            found = convert()
            return found if isinstance(found, list) else None
    return None


@contextmanager
def path_names(paths: Mapping[str, Any] | None) -> Iterator[dict[str, str]]:
    """The paths of sources by name. A table is written as Parquet to a private folder, which goes at the end."""
    given = paths or {}
    if not any(map(is_stream, given.values())):
        yield {name: _path(name, path) for name, path in given.items()}
        return
    with TemporaryDirectory(prefix="adalog-tables-") as folder:
        yield {
            name: _written(path, Path(folder) / f"{number}.parquet") if is_stream(path) else _path(name, path)
            for number, (name, path) in enumerate(given.items())
        }


def _path(name: str, path: Any) -> str:
    if not isinstance(path, str | os.PathLike):
        raise invalid_argument(
            f"the path of source {name} is a {type(path).__name__}; give a file's name, or a table of pandas, "
            "Polars, PyArrow or DuckDB"
        )
    return os.fspath(path)


def _written(table: Any, path: Path) -> str:
    # Programs without tables are spared the time that these imports take.
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.write_table(_table(table), path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise invalid_argument(f"the table cannot be written as Parquet: {error}") from None
    return str(path)


def _table(value: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.table(value)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise invalid_argument(f"{quoted(type(value).__name__)} gives no Arrow table: {error}") from None
