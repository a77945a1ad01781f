"""Compiles the kernels and keeps them on disk, so that no first query waits: `python -m executor.warm`."""

from __future__ import annotations

import numpy as np

from executor import kernels
from executor.distinct_rows import first_rows


def main() -> None:
    """Calls every kernel once, with the types it is called with."""
    few = np.arange(4, dtype=np.int64)
    ends = few + 1
    none = np.empty(0, np.int64)
    src = np.zeros(4, np.uint8)
    dense = np.empty(0, np.int32)
    kernels.lookup(few, dense, np.arange(5), none, np.zeros(1, np.int64), few)
    kernels.contains_key(few, dense, none, np.zeros(1, np.int64), few)
    kernels.find_in(few, few, ends, few)
    kernels.contains(few, none, src, few, ends, few)
    kernels.expand(few, none, src, few, ends, 4)
    kernels.scatter(few, few, ends, few, np.zeros(4, np.int64), 0)
    kernels.group_rows(np.stack((few, few)))
    kernels.sum_by_group(few, few, 4)
    first_rows(np.stack((few, few)))
    for k in (2, 3, 4):
        kernels.intersect(
            (few, none) * k,
            np.stack([src] * k),
            np.stack([few] * k),
            np.stack([ends] * k),
            np.zeros(0, np.uint64),
            0,
            True,
            np.empty(5, np.int64),
            np.empty(5, np.int64),
        )


if __name__ == "__main__":
    main()
