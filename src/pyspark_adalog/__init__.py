"""The data source `adalog` by the name that Spark looks for: `spark.read.format("adalog")` finds it.

Where it does not, as in an environment whose packages have no folder of their own on the path, `register` tells a
session of it; and where filters are to be decided by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adalog.executor.source.data_source import AdalogSource as DefaultSource
from adalog.executor.source.data_source import FilteredSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DefaultSource", "register"]


def register(spark: SparkSession) -> None:
    """Has a session know the format `adalog`, and hand filters on to it."""
    spark.dataSource.register(FilteredSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
