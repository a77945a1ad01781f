"""A chunk without the values of some rows, which were rejected: new files, with the keys that are still wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.cluster.array_files import Arrays, read_arrays, write_arrays
from adalog.pipeline.importing.read.chunks import (
    ENDING,
    PRESENT,
    TOPS,
    ColumnPlan,
    Rejects,
    RowChunk,
    SourceJob,
    binary_arrays,
    binary_of,
    tops_of,
)
from adalog.pipeline.importing.read.typed_columns import INLINE


def narrowed(chunk: RowChunk, columns: Sequence[ColumnPlan], job: SourceJob, rejects: Rejects) -> RowChunk:
    old, keys = read_arrays(chunk.values_path), read_arrays(chunk.keys_path)
    gone = np.zeros(chunk.rows, np.bool_)
    gone[rejects.rows] = True
    values = {name: array for name, array in old.items() if not name[0].isdigit()}
    for name in [name for name in old if name.startswith(ENDING)]:
        outer = columns[int(name.removeprefix(ENDING))].outer
        tops = old[f"{TOPS}{outer}"][old[name]] if outer else old[name]
        values[name] = old[name][~gone[tops]]
    for name in [name.removesuffix(".rows") for name in old if name.endswith(".rows")]:
        number = int(name.split(".")[0])
        which = ~gone[tops_of(columns, number, old[f"{name}.rows"], old)]
        if columns[number].removal == PRESENT:
            which[:] = True
        values[f"{name}.rows"] = old[f"{name}.rows"][which]
        values[f"{name}.values"] = old[f"{name}.values"][which]
    kept: Arrays = {}
    for domain in {name.split(".")[1] for name in old if name.startswith("size.")}:
        size = int(old[f"size.{domain}"][0])
        used, asserted = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        usage: dict[int, NDArray[np.uint8]] = {}
        for number, column in enumerate(columns):
            index = values.get(f"{number}.{domain}.values")
            if index is None:
                continue
            used[index] = True
            if not column.removal:
                asserted[index] = True
            if column.identity is not None:
                flags = usage.setdefault(column.identity, np.zeros(size, np.uint8))
                flags[index] |= np.uint8(column.usage(number))
        for name in [f"{bucket}.{domain}" for bucket in range(job.buckets) if f"{bucket}.{domain}.index" in keys]:
            index = keys[f"{name}.index"]
            which = used[index]
            if not which.any():
                continue
            kept[f"{name}.index"] = index[which]
            if not asserted[index[which]].all():
                kept[f"{name}.sought"] = ~asserted[index[which]]
            if int(domain) == INLINE:
                kept[f"{name}.keys"] = keys[f"{name}.keys"][which]
            else:
                kept |= binary_arrays(name, binary_of(name, keys).take(pa.array(np.flatnonzero(which))))
                kept[f"{name}.hashes"] = keys[f"{name}.hashes"][which]
            for identity, flags in usage.items():
                kept[f"{name}.usage.{identity}"] = flags[index[which]]
    stem = "-".join(map(str, chunk.order))
    counts = [0] * len(columns)
    for name, array in values.items():
        if name.endswith(".rows"):
            counts[int(name.split(".")[0])] += len(array)
    return chunk._replace(
        values_path=write_arrays(job.folder, f"values-{stem}", values),
        keys_path=write_arrays(job.folder, f"keys-{stem}", kept),
        values=tuple(counts),
    )
