"""Files between the tasks of several jobs: named arrays laid out as in segments but without a checksum, mapped by
their readers, removed with their folder.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from adalog.store.files.permissions import opener
from adalog.store.files.segment import arrays_of, header_of

Arrays = dict[str, NDArray[Any]]


def write_arrays(folder: str, stem: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """The path of a new file, under a name that no other attempt at the same task has."""
    path = Path(folder) / f"{stem}-{uuid4().hex}"
    header, places = header_of(arrays)
    with open(path, "wb", opener=opener) as file:
        file.write(header)
        for name, array in arrays.items():
            file.seek(places[name])
            file.write(np.ascontiguousarray(array).view(np.uint8).data)
        # An empty array may begin where the file ends.
        file.truncate(max((places[name] + array.nbytes for name, array in arrays.items()), default=len(header)))
    return str(path)


def read_arrays(path: str) -> Arrays:
    """The arrays of a file, mapped."""
    with open(path, "rb") as file:
        return arrays_of(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)))
