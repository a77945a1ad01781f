"""The parent of Spark's Python workers: loads the engine once, so that every worker begins with it loaded.

Spark starts it by name (`spark.python.daemon.module`); `pyspark.daemon` does the rest.
"""

from __future__ import annotations

import gc

from pyspark import daemon

from adalog.cluster.processes import end_workers_with_us


def main() -> None:
    """Forks workers until Spark closes our input."""
    # What is imported here the workers share. It starts no thread of ours, which a fork would lose.
    import pyspark.worker

    from adalog.executor.kernels.loading import load_kernels
    from adalog.executor.spark import task

    assert pyspark.worker is not None
    assert task is not None
    load_kernels()
    # The daemon collects garbage after each task, and would walk all of this each time.
    gc.collect()
    gc.freeze()
    end_workers_with_us()
    daemon.manager()


if __name__ == "__main__":
    main()
