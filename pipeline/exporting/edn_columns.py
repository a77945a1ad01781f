"""Value codes of one attribute as EDN texts: by the column, and much as `datalog.edn.writer` writes them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adalog.datalog.edn.writer import write
from adalog.pipeline.exporting.value_columns import check, column_of, longs
from adalog.store.values.arrays import Bools, Int64s
from adalog.store.values.codes import Codes

# What stands in a string as something else; and of it, what has a short escape.
_SPECIAL: Final = r'[\x00-\x1f\x7f"\\]'
_ESCAPES: Final = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"))
_CONTROL: Final = r"[\x00-\x1f\x7f]"
_NAMED: Final = (("nan", "##NaN"), ("inf", "##Inf"), ("-inf", "##-Inf"))
# A number without one of these reads as a long.
_IS_DOUBLE: Final = r"[.en#]"


def texts_of(codes: Codes, v: Int64s, value_type: str) -> pa.Array:
    """The values as EDN: large text. Raises OtherType and TooLarge as `column_of`."""
    if value_type in ("long", "ref"):
        check(v, value_type)
        return pa.array(longs(codes, v)).cast(pa.large_string())
    column = column_of(codes, v, value_type)
    if value_type == "boolean":
        return column.cast(pa.large_string())
    if not isinstance(column, pa.DictionaryArray):
        column = column.dictionary_encode()
    wrap = _WRITERS.get(value_type)
    written = column.dictionary if wrap is None else wrap(column.dictionary)
    return written.cast(pa.large_string()).take(column.indices)


def _joined(*parts: pa.Array | str) -> pa.Array:
    """The parts of each row after each other; all columns are of one kind of text."""
    kind = next(part.type for part in parts if not isinstance(part, str))
    scalars = [pa.scalar(part, kind) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*scalars, pa.scalar("", kind))


def lines_of(e: Int64s, attribute: str, v: pa.Array, t: Int64s, added: Bools) -> pa.Array:
    """A line for each datom; large text. v: EDN."""
    ends = pa.array(2 * t + added).dictionary_encode()
    last = ends.dictionary.to_numpy()
    stamps = pa.array(last >> 1).cast(pa.large_string())
    which = pc.if_else(pa.array((last & 1).astype(np.bool_)), " true]\n", " false]\n").cast(pa.large_string())
    written = _joined(" ", stamps, which).take(ends.indices)
    return _joined("[", pa.array(e).cast(pa.large_string()), f" {attribute} ", v, written)


def _strings(values: pa.Array) -> pa.Array:
    special = pc.match_substring_regex(values, _SPECIAL)
    if not pc.any(special).as_py():
        return _joined('"', values, '"')
    escaped = values
    for raw, written in _ESCAPES:
        escaped = pc.replace_substring(escaped, raw, written)
    # What is left has no short escape, and is rare.
    places = np.flatnonzero(pc.match_substring_regex(escaped, _CONTROL).to_numpy(zero_copy_only=False))
    quoted = _joined('"', escaped, '"')
    if not len(places):
        return quoted
    rare = pa.array([write(text) for text in values.take(pa.array(places)).to_pylist()], values.type)
    mask = np.zeros(len(values), np.bool_)
    mask[places] = True
    return pc.replace_with_mask(quoted, pa.array(mask), rare)


def _doubles(values: pa.Array) -> pa.Array:
    texts = values.cast(pa.string())
    for name, written in _NAMED:
        texts = pc.if_else(pc.equal(texts, name), written, texts)
    whole = pc.invert(pc.match_substring_regex(texts, _IS_DOUBLE))
    return pc.if_else(whole, _joined(texts, ".0"), texts)


def _instants(values: pa.Array) -> pa.Array:
    # Arrow writes a blank between date and time.
    texts = pc.binary_replace_slice(values.cast(pa.timestamp("ms")).cast(pa.string()), 10, 11, "T")
    return _joined('#inst "', texts, '-00:00"')


def _bytes(values: pa.Array) -> pa.Array:
    written = [f'#bytes "{base64.b64encode(value).decode("ascii")}"' for value in values.to_pylist()]
    return pa.array(written, pa.string())


# Keywords, symbols and tuples are EDN as they are.
_WRITERS: Final[Mapping[str, Callable[[pa.Array], pa.Array]]] = {
    "string": _strings,
    "double": _doubles,
    "float": _doubles,
    "instant": _instants,
    "uuid": lambda values: _joined("#uuid ", _strings(values)),
    "duration": lambda values: _joined("#duration ", _strings(values)),
    "uri": lambda values: _joined("#uri ", _strings(values)),
    "bigint": lambda values: _joined(values, "N"),
    "bigdec": lambda values: _joined(values, "M"),
    "bytes": _bytes,
}
