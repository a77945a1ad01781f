"""Spark's data source `adalog`: after `register(spark)`, `spark.read.format("adalog")` reads a folder.

Needs the extra `spark`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from adalog.client.errors import refusing
from adalog.datalog.extras import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Registers the format `adalog` with a session, and enables filter pushdown. A local session's workers run this
    Python, unless PYSPARK_PYTHON names another one: by default it is the `python3` of the path."""
    with refusing():
        require("pyspark", "spark", "adalog.spark")
    from adalog.executor.source.data_source import FilteredSource

    if "PYSPARK_PYTHON" not in os.environ and str(spark.sparkContext.master).startswith("local"):
        spark.sparkContext.pythonExec = sys.executable
    spark.dataSource.register(FilteredSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
