"""The one Spark job there is: a column of binary values, a function that makes another of it, one task a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ArrowWork = Callable[[Iterator[pa.Array]], Iterator[pa.Array]]


def run_tasks(spark: SparkSession, values: pa.Array, work: ArrowWork) -> list[pa.Buffer]:
    """What `work` makes of each value, in the values' order. Blocks; raises what Spark raises."""
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.types import BinaryType, StructField, StructType

    schema = StructType([StructField("value", BinaryType(), nullable=False)])
    # Not `mapInArrow`, which would do the same but refuses to start without pandas.
    made: Any = arrow_udf(work, BinaryType())  # type: ignore[call-overload]
    frame = spark.createDataFrame(pa.table({"value": values}), schema)
    answers = frame.select(made("value")).toArrow()
    return [answer.as_buffer() for answer in answers.column(0)]
