"""Arrow tables as other libraries want them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa


def plain_texts(table: Any) -> Any:
    """A text for each row instead of dictionaries."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def text_views(table: Any) -> Any:
    """The same with views of the dictionaries' texts, which is how Polars has texts."""
    columns = [
        pa.chunked_array(list(map(_views, column.chunks)), pa.string_view())
        if pa.types.is_dictionary(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def pandas_frame(table: Any) -> Any:
    """A `pandas.DataFrame`."""
    integers = {pa.int64(): import_module("pandas").Int64Dtype()}
    table = plain_texts(table)
    frame = table.to_pandas()
    for place, column in enumerate(table.columns):
        if column.null_count and pa.types.is_integer(column.type):
            # As floats, which pandas takes by itself, large numbers would be others.
            frame.isetitem(place, column.to_pandas(types_mapper=integers.get))
    return frame


def _views(texts: Any) -> Any:
    distinct = texts.dictionary.cast(pa.string_view())
    if not len(distinct):
        return pa.nulls(len(texts), pa.string_view())
    _, views, *heaps = distinct.buffers()
    # A view is 16 bytes: a short text itself, or where a long one is.
    held = np.frombuffer(views, "V16")
    places, is_valid = texts.indices, None
    if places.null_count:
        is_valid, places = places.is_valid().buffers()[1], places.fill_null(0)
    gathered = held.take(places.to_numpy())
    return pa.Array.from_buffers(pa.string_view(), len(texts), [is_valid, pa.py_buffer(gathered), *heaps])
