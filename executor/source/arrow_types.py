"""The types of values in Spark and Arrow, and columns of codes as columns of these.

Values without a type there are text: keywords with their colon, big numbers by their digits, mixed types as EDN.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import pyarrow as pa
from pyspark.sql import types

from adalog.datalog.edn import write
from adalog.datalog.values import Keyword
from adalog.store.values.arrays import Int64s
from adalog.store.values.codes import Coder
from adalog.store.values.layout import tags_of

EDN: Final = "edn"
"""The type of a column whose values may be of any: EDN text."""

_SPARK: Final[Mapping[str, type[types.DataType]]] = {
    "long": types.LongType,
    "ref": types.LongType,
    "double": types.DoubleType,
    "float": types.FloatType,
    "boolean": types.BooleanType,
    "instant": types.TimestampType,
    "bytes": types.BinaryType,
}
# Values of these are found by what Spark has of them: equal there means equal here.
_FOUND: Final[Mapping[str, type[Any]]] = {
    "long": int,
    "ref": int,
    "string": str,
    "keyword": str,
    "boolean": bool,
    "double": float,
    "instant": datetime,
}


def spark_type(value_type: str) -> types.DataType:
    return _SPARK.get(value_type, types.StringType)()


def arrow_column(values: Coder, codes: Int64s, value_type: str, kind: pa.DataType) -> pa.Array:
    """The values of codes as an Arrow column. Raises pa.ArrowInvalid where one does not fit."""
    if not len(codes):
        return pa.array([], kind)
    if value_type == EDN:
        return pa.array([write(value) for value in values.decode_many(codes)], kind)
    if value_type == "ref" or (value_type == "long" and not tags_of(codes).any()):
        return pa.array(codes).cast(kind)
    if value_type in ("string", "keyword", "double", "boolean", "instant", "bytes", "uri", "duration"):
        return values.to_arrow(codes).cast(kind)
    decoded = values.decode_many(codes)
    if value_type not in _SPARK:
        return pa.array([_text(value) for value in decoded], pa.string()).cast(kind)
    return pa.array(decoded, kind)


def _text(value: Any) -> str:
    return str(value) if isinstance(value, int | UUID) else write(value).removesuffix("M")


def value_of(value: Any, value_type: str) -> Any | None:
    """What Spark's value of a column stands for, if values of this type are found by it; else None."""
    wanted = _FOUND.get(value_type)
    if wanted is None or type(value) is not wanted:
        return None
    if value_type == "keyword":
        return Keyword(value[1:]) if value.startswith(":") and len(value) > 1 else None
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return moment if moment.microsecond % 1000 == 0 else None
    return value
