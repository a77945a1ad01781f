"""The sample data as a relational database would hold it: one wide table, and one table a many-valued column."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_PACKAGES: Final = Path(__file__).parents[1] / "examples" / "debian" / "packages.parquet"
_MANY: Final = ("depends", "recommends", "tags")


def tables() -> dict[str, pa.Table]:
    """package(id, name, …), depends(a, b), recommends(a, b) and tags(a, b); ids are row numbers, as BIGINT."""
    packages = pq.read_table(_PACKAGES)
    ids = pa.array(range(packages.num_rows), pa.int64())
    found = {"package": packages.drop_columns(list(_MANY)).add_column(0, "id", ids)}
    for name in _MANY:
        column = packages[name].combine_chunks()
        values = pc.list_flatten(column)
        if pa.types.is_integer(values.type):
            values = values.cast(pa.int64())
        found[name] = pa.table({"a": pc.list_parent_indices(column).cast(pa.int64()), "b": values})
    return found
