"""Files between the steps of an import hold arrays as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adalog.cluster.array_files import read_arrays, write_arrays


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65])
def test_arrays_come_back(tmp_path: Path, length: int) -> None:
    arrays = {
        "a": np.arange(length),
        "b.c": np.arange(length, dtype=np.int32)[::2],
        "none": np.empty(0, np.uint8),
        "flags": np.arange(length) % 2 == 0,
    }
    path = write_arrays(str(tmp_path), "x", arrays)
    assert path != write_arrays(str(tmp_path), "x", arrays)
    found = read_arrays(path)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)


def test_a_file_without_arrays(tmp_path: Path) -> None:
    assert read_arrays(write_arrays(str(tmp_path), "x", {})) == {}
