"""The sample data as a relational database would hold it: one row a package, its section and maintainer by number.

For DuckDB. Depends, recommends and tags are tables of pairs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

PACKAGES: Final = Path(__file__).parents[1] / "examples" / "debian" / "packages.parquet"
_REFERENCES: Final = ("depends", "recommends")
_MANY: Final = (*_REFERENCES, "tags")
_NAMED: Final = ("section", "maintainer")


def tables() -> dict[str, pa.Table]:
    """package(id, name, …), section(id, name), maintainer(id, name), and depends, recommends, tags (a, b)."""
    packages = pq.read_table(PACKAGES)
    found = {}
    for name in _MANY:
        column = packages[name].combine_chunks()
        values = pc.list_flatten(column)
        if name in _REFERENCES:
            values = pc.index_in(values, packages["name"]).cast(pa.int64())
        found[name] = pa.table({"a": pc.list_parent_indices(column).cast(pa.int64()), "b": values})
    package = packages.drop_columns(list(_MANY)).add_column(0, "id", _ids(packages.num_rows))
    for name in _NAMED:
        coded = package[name].combine_chunks().dictionary_encode()
        found[name] = pa.table({"id": _ids(len(coded.dictionary)), "name": coded.dictionary})
        package = package.set_column(package.schema.get_field_index(name), name, coded.indices.cast(pa.int64()))
    return found | {"package": package}


def _ids(count: int) -> pa.Array:
    return pa.array(range(count), pa.int64())
