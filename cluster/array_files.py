"""Files between the tasks of several jobs: named arrays, mapped by their readers, removed with their folder."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from adalog.store.files.permissions import opener

Arrays = dict[str, NDArray[Any]]

_ALIGNMENT: Final = 64
_LENGTH: Final = 8


def write_arrays(folder: str, stem: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """The path of a new file, under a name that no other attempt at the same task has."""
    path = Path(folder) / f"{stem}-{uuid4().hex}"
    described, at = {}, 0
    for name, array in arrays.items():
        described[name] = (array.dtype.str, len(array), at)
        at += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    header = json.dumps(described).encode()
    start = -(-(_LENGTH + len(header)) // _ALIGNMENT) * _ALIGNMENT
    with open(path, "wb", opener=opener) as file:
        file.write(len(header).to_bytes(_LENGTH, "little"))
        file.write(header)
        for name, array in arrays.items():
            file.seek(start + described[name][2])
            file.write(np.ascontiguousarray(array).view(np.uint8).data)
        file.truncate(start + at)
    return str(path)


def read_arrays(path: str) -> Arrays:
    """The arrays of a file, mapped."""
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    length = int.from_bytes(mapped[:_LENGTH], "little")
    described = json.loads(mapped[_LENGTH : _LENGTH + length])
    start = -(-(_LENGTH + length) // _ALIGNMENT) * _ALIGNMENT
    return {name: np.frombuffer(mapped, kind, size, start + at) for name, (kind, size, at) in described.items()}
