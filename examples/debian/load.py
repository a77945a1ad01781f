"""Loads `packages.parquet` into a database: one transaction, the attributes of `schema.edn`.

For `adalog sample`, tests and benchmarks; `packages.yaml` says the same to `adalog import`. Packages get the first
free entity ids in the order of their names, then sections and maintainers: on an empty database the ids are always
the same.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import as_file, files
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import SCHEMA_BASE
from adalog.store.values.datom import TxReport

Entities = NDArray[np.int64]
Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""

_HERE: Final = files("adalog.examples.debian")
_STEPS: Final = 3
_TEXTS: Final = ("name", "version", "summary", "source")
_NUMBERS: Final = ("size", "installed_size")
_KEYWORDS: Final = ("priority", "architecture")


def load(database: Database, progress: Progress | None = None) -> TxReport:
    """Raises TX_INVALID where the database holds Debian's packages already."""
    report = progress or _silent
    report(0, _STEPS)
    snapshot = database.snapshot()
    if snapshot.attribute(Keyword("package/name")) is not None:
        raise AdalogError(Code.TX_INVALID, "the sample data is loaded already: this database has :package/name")
    with as_file(_HERE.joinpath("packages.parquet")) as path:
        packages = pq.read_table(path)
    report(1, _STEPS)
    columns = _columns(packages, _first_free(snapshot))
    report(2, _STEPS)
    loaded = database.bulk_load(_HERE.joinpath("schema.edn").read_text(encoding="utf-8"), columns)
    report(_STEPS, _STEPS)
    return loaded


def _silent(done: int, total: int) -> None:
    pass


def _columns(packages: pa.Table, first: int) -> dict[Keyword, tuple[Entities, object]]:
    """Per attribute its entities and their values; the entities are numbered from `first`."""
    rows = np.arange(first, first + len(packages), dtype=np.int64)
    found: dict[Keyword, tuple[Entities, object]] = {}
    free = first + len(packages)
    for name in _TEXTS:
        found[_attribute(name)] = rows, packages[name].combine_chunks()
    for name in _NUMBERS:
        known = pc.is_valid(packages[name]).to_numpy()
        found[_attribute(name)] = rows[known], packages[name].drop_null().to_numpy()
    for name in _KEYWORDS:
        found[_attribute(name)] = rows, [Keyword(text) for text in packages[name].to_pylist()]
    for name in ("section", "maintainer"):
        coded = packages[name].combine_chunks().dictionary_encode()
        entities = np.arange(free, free + len(coded.dictionary), dtype=np.int64)
        free += len(entities)
        found[Keyword(f"{name}/name")] = entities, coded.dictionary
        found[_attribute(name)] = rows, entities[coded.indices.to_numpy()]
    for name in ("depends", "recommends"):
        parents, others = _flat(packages[name])
        found[_attribute(name)] = rows[parents], rows[pc.index_in(others, packages["name"]).to_numpy()]
    parents, tags = _flat(packages["tags"])
    found[Keyword("package/tag")] = rows[parents], tags
    return found


def _attribute(column: str) -> Keyword:
    return Keyword("package/" + column.replace("_", "-"))


def _flat(lists: pa.ChunkedArray) -> tuple[Entities, pa.Array]:
    """A column of lists as the row number of each element, and the elements."""
    whole = lists.combine_chunks()
    return pc.list_parent_indices(whole).to_numpy(), whole.flatten()


def _first_free(snapshot: Snapshot) -> int:
    """The first entity id above all that the database ever used for data."""
    history = snapshot.history()
    used = 0
    for attribute in history.attributes():
        entities = history.columns(attribute).e
        below = int(np.searchsorted(entities, SCHEMA_BASE))
        used = max(used, int(entities[below - 1])) if below else used
    return used + 1
