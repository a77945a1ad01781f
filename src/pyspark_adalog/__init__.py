"""The data source `adalog` by the name that Spark looks for: `spark.read.format("adalog")` finds it.

Where it does not, as in an environment whose packages have no folder of their own on the path, `register` tells a
session of it; and where filters are to be decided by it.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from adalog.executor.source.data_source import AdalogSource as DefaultSource
from adalog.executor.source.data_source import FilteredSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DefaultSource", "register"]


def register(spark: SparkSession) -> None:
    """Has a session know the format `adalog`, and hand filters on to it. A local session's workers run this Python,
    unless PYSPARK_PYTHON names another one: by default it is the `python3` of the path."""
    if "PYSPARK_PYTHON" not in os.environ and str(spark.sparkContext.master).startswith("local"):
        spark.sparkContext.pythonExec = sys.executable
    spark.dataSource.register(FilteredSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
