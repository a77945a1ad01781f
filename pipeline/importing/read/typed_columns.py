"""Columns of files as columns of codes, or of the keys that dictionaries will give numbers: by the column.

What is rare, or has no short way, goes value by value, each distinct one once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from adalog.datalog.durations import Duration
from adalog.pipeline.importing.files.durations import is_duration, months_days_milliseconds
from adalog.pipeline.importing.files.notation import PLAIN, Notation
from adalog.pipeline.importing.files.rows import ColumnPart, FileColumn
from adalog.pipeline.importing.files.rows import Int32s as Int32s
from adalog.pipeline.importing.files.rows import Int64s as Int64s
from adalog.store.values import layout
from adalog.store.values.coercion import coerced
from adalog.store.values.keys import spell
from adalog.store.values.scalars import FIRST_MS, LAST_MS, from_digits, from_file

SpeltKey = tuple[int, int | bytes]
"""A domain, and the code or the key of a value there."""

INLINE: Final = 0
"""The domain of codes that need no dictionary; every other domain is a tag."""

_LONG_TEXT: Final = r"^-?[0-9]{1,17}$"
_DOUBLE_TEXT: Final = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$"
# Without zeros at their end, these are keys; with more digits after the point, some are not.
_DECIMAL_TEXT: Final = r"^-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,6}0*)?$"
_SECONDS_OF_A_DAY: Final = 24 * 3600
_EPOCH: Final = layout.code_of(layout.TAG_INSTANT, 0) + layout.INSTANT_BIAS
"""The code of the first moment of 1970."""
_PER_UNIT: Final = {"s": 1000, "ms": 1, "us": -1000, "ns": -1_000_000}


@dataclass(frozen=True, eq=False)
class ValuePart:
    """Values of one domain: row rows[i] has keys[index[i]]. keys: codes, int64[n], if the domain is INLINE; else
    distinct large binaries."""

    domain: int
    rows: Int32s
    index: Int32s
    keys: Any

    def kept(self, which: NDArray[np.bool_]) -> ValuePart:
        """With some of its values only."""
        return ValuePart(self.domain, self.rows[which], self.index[which], self.keys)


@dataclass(frozen=True, eq=False)
class TypedColumn:
    """A column's values by domain. bad: the rows with an unreadable value, in order, each once."""

    parts: list[ValuePart]
    bad: Int32s


def typed(
    column: FileColumn,
    read_as: str,
    value_type: str,
    split: str | None = None,
    *,
    rounded: bool = False,
    notation: Notation = PLAIN,
) -> TypedColumn:
    """A column's values. Nulls are no values; nor is blank text unless read as a string. rounded: instants and
    durations are rounded to milliseconds; others that are finer cannot be read."""
    found = [_typed(part, read_as, value_type, split, notation, rounded=rounded) for part in column.parts]
    bad = [column.bad, *(each.bad for each in found)]
    return TypedColumn(
        by_domain([part for each in found for part in each.parts]), np.unique(np.concatenate(bad)).astype(np.int32)
    )


def _typed(
    part: ColumnPart, read_as: str, value_type: str, split: str | None, notation: Notation, *, rounded: bool
) -> TypedColumn:
    rows, array = part.rows, part.values
    if part.digits:
        array, rows = _filtered(array, rows, array.is_valid())
        return one_by_one(array, rows, lambda text: _spelt(from_digits(read_as, text), read_as, value_type))
    if split is not None and _is_text(array.type):
        array, inner = _exploded(pc.split_pattern(array, split))
        rows = rows[inner]
        array = pc.utf8_trim_whitespace(array)
        array, rows = _filtered(array, rows, pc.not_equal(array, ""))
    elif _is_text(array.type) and read_as != "string":
        array, rows = _filtered(array, rows, pc.not_equal(pc.utf8_trim_whitespace(array), ""))
    if array.null_count:
        array, rows = _filtered(array, rows, array.is_valid())
    if not len(array):
        return TypedColumn([], rows)
    bad = rows[:0]
    if is_duration(array.type):
        if not read_as == value_type == "duration":
            return TypedColumn([], np.unique(rows))
        return _durations(array, rows, rounded=rounded)
    if pa.types.is_date(array.type):
        array = _midnights(array)
    if pa.types.is_timestamp(array.type):
        if not read_as == value_type == "instant":
            return TypedColumn([], np.unique(rows))
        outside = _unreadable(array, rounded=rounded)
        bad = np.unique(rows[outside])
        array, rows = _filtered(array, rows, pa.array(~outside))
    if notation.is_of_numbers and _is_text(array.type):
        array = notation.plain_numbers(array)
        bad = np.unique(rows[array.is_null().to_numpy(zero_copy_only=False)])
        array, rows = _filtered(array, rows, array.is_valid())
    if notation.is_of_instants and getattr(array.type, "tz", None) is None:
        found = _instants_in(array, rows, value_type, notation, rounded=rounded)
    else:
        short = _short(array, rows, read_as, value_type)
        if short is not None:
            return TypedColumn(short, bad)
        found = one_by_one(array, rows, lambda raw: constant(raw, read_as, value_type, rounded=rounded))
    return found if not len(bad) else TypedColumn(found.parts, np.union1d(found.bad, bad).astype(np.int32))


def _durations(array: pa.Array, rows: Int32s, *, rounded: bool) -> TypedColumn:
    parts, bad = months_days_milliseconds(array, rounded=rounded)
    found, index = np.unique(parts[~bad], axis=0, return_inverse=True)
    keys = pa.array([spell(Duration(*each))[1] for each in found.tolist()], pa.large_binary())
    part = ValuePart(layout.TAG_DURATION, rows[~bad], index.ravel().astype(np.int32), keys)
    return TypedColumn([part] if len(keys) else [], np.unique(rows[bad]))


def _instants_in(
    array: pa.Array, rows: Int32s, value_type: str, notation: Notation, *, rounded: bool
) -> TypedColumn:
    """Instants of a notation: texts and whole numbers by its pattern, others in its zone unless they have one."""
    if notation.pattern is not None and (_is_text(array.type) or pa.types.is_integer(array.type)):
        return one_by_one(
            array.cast(pa.large_string()),
            rows,
            lambda text: _spelt(notation.instant(text, rounded=rounded), "instant", value_type),
        )
    if pa.types.is_timestamp(array.type):
        instants = notation.in_utc(_milliseconds(array))
        outside = (instants < FIRST_MS) | (instants > LAST_MS)
        return TypedColumn([of_codes(rows[~outside], instants[~outside] + _EPOCH)], np.unique(rows[outside]))
    return one_by_one(
        array, rows, lambda raw: constant(raw, "instant", value_type, rounded=rounded, zone=notation.tz)
    )


def by_domain(parts: Sequence[ValuePart]) -> list[ValuePart]:
    """One part for each domain."""
    of_domain: dict[int, list[ValuePart]] = {}
    for part in parts:
        of_domain.setdefault(part.domain, []).append(part)
    for domain, own in of_domain.items():
        if len(own) > 1:
            keys, numbers = united(own)
            index = np.concatenate([each[part.index] for part, each in zip(own, numbers, strict=True)])
            of_domain[domain] = [ValuePart(domain, np.concatenate([part.rows for part in own]), index, keys)]
    return [part for [part] in of_domain.values()]


def _exploded(array: pa.Array) -> tuple[pa.Array, Int32s]:
    return pc.list_flatten(array), pc.list_parent_indices(array).to_numpy().astype(np.int32)


def _filtered(array: pa.Array, rows: Int32s, mask: pa.Array) -> tuple[pa.Array, Int32s]:
    mask = pc.fill_null(mask, False)
    which = mask.to_numpy(zero_copy_only=False)
    return (array, rows) if which.all() else (array.filter(mask), rows[which])


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _short(array: pa.Array, rows: Int32s, read_as: str, value_type: str) -> list[ValuePart] | None:
    """The parts of a column that can be read as a whole; None for any other."""
    kind = array.type
    if read_as != value_type:
        return None
    if _is_text(kind):
        if value_type == "string":
            return [of_keys(layout.TAG_STRING, rows, array.cast(pa.large_string()).cast(pa.large_binary()))]
        if value_type == "long" and pc.all(pc.match_substring_regex(array, _LONG_TEXT)).as_py():
            return [of_codes(rows, array.cast(pa.int64()).to_numpy())]
        if value_type == "double" and pc.all(pc.match_substring_regex(array, _DOUBLE_TEXT)).as_py():
            return [of_doubles(rows, array.cast(pa.float64()).to_numpy())]
        return _decimals(array, rows) if value_type == "bigdec" else None
    if value_type == "bigdec" and pa.types.is_decimal(kind):
        return _decimals(array.cast(pa.large_string()), rows)
    if value_type == "long" and pa.types.is_integer(kind) and kind != pa.uint64():
        codes = array.cast(pa.int64()).to_numpy()
        inside = codes.min() >= layout.LONG_MIN and codes.max() <= layout.LONG_MAX
        return [of_codes(rows, codes)] if inside else None
    if value_type == "double" and pa.types.is_float64(kind):
        return [of_doubles(rows, array.to_numpy())]
    if value_type == "boolean" and pa.types.is_boolean(kind):
        return [of_codes(rows, np.where(array.to_numpy(zero_copy_only=False), layout.TRUE, layout.FALSE))]
    if value_type == "instant" and pa.types.is_timestamp(kind):
        return [of_codes(rows, _instants(array))]
    return None


def _decimals(texts: pa.Array, rows: Int32s) -> list[ValuePart] | None:
    if not pc.all(pc.match_substring_regex(texts, _DECIMAL_TEXT)).as_py():
        return None
    keys = pc.replace_substring_regex(texts, r"^(.*\.[0-9]*[1-9])0+$", r"\1")
    keys = pc.replace_substring_regex(keys, r"\.0+$", "")
    keys = pc.if_else(pc.equal(keys, "-0"), pa.scalar("0", keys.type), keys)
    return [of_keys(layout.TAG_BIGDEC, rows, keys.cast(pa.large_string()).cast(pa.large_binary()))]


def _instants(array: pa.Array) -> Int64s:
    return _milliseconds(array) + _EPOCH


def _midnights(array: pa.Array) -> pa.Array:
    """Dates as moments: Python has fewer years."""
    if pa.types.is_date64(array.type):
        return array.cast(pa.int64()).cast(pa.timestamp("ms"))
    days = array.cast(pa.int32()).cast(pa.int64())
    return pc.multiply(days, _SECONDS_OF_A_DAY).cast(pa.timestamp("s"))


def _milliseconds(array: pa.Array) -> Int64s:
    """Moments as milliseconds since 1970, rounded."""
    ticks: Int64s = array.cast(pa.int64()).to_numpy()
    per = _PER_UNIT[array.type.unit]
    return ticks * per if per > 0 else (ticks + -per // 2) // -per


def _unreadable(array: pa.Array, *, rounded: bool) -> NDArray[np.bool_]:
    """Which moments are of no year from 1 to 9999, or have more than milliseconds."""
    ticks, per = array.cast(pa.int64()).to_numpy(), _PER_UNIT[array.type.unit]
    half = -per // 2
    first, last = FIRST_MS * -per, (LAST_MS + 1) * -per - 1 - half
    if per > 0:
        first, last = FIRST_MS // per, LAST_MS // per
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    wrong: NDArray[np.bool_] = (ticks < max(first, least)) | (ticks > min(last, most))
    if per < -1 and not rounded:
        wrong |= ticks % -per != 0
    return wrong


def of_codes(rows: Int32s, codes: Int64s) -> ValuePart:
    """Values that need no dictionary."""
    return ValuePart(INLINE, rows, np.arange(len(codes), dtype=np.int32), codes)


def of_doubles(rows: Int32s, numbers: NDArray[np.float64]) -> ValuePart:
    canonical = np.where(np.isnan(numbers), np.nan, numbers + 0.0).astype("<f8")
    encoded = pa.array(canonical.view(np.int64)).dictionary_encode()
    heap = pa.py_buffer(np.ascontiguousarray(encoded.dictionary.to_numpy()))
    ends = pa.py_buffer(8 * np.arange(len(encoded.dictionary) + 1, dtype=np.int64))
    keys = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(encoded.dictionary), [None, ends, heap])
    return ValuePart(layout.TAG_DOUBLE, rows, encoded.indices.to_numpy(), keys)


def of_keys(tag: int, rows: Int32s, keys: pa.LargeBinaryArray) -> ValuePart:
    """Values by the keys that a dictionary knows them by."""
    encoded = keys.dictionary_encode()
    return ValuePart(tag, rows, encoded.indices.to_numpy(), encoded.dictionary)


def constant(
    raw: Any, read_as: str, value_type: str, *, rounded: bool = False, zone: tzinfo = UTC
) -> SpeltKey | None:
    """(domain, code or key) of a single value; None if it cannot be read."""
    return _spelt(from_file(read_as, raw, rounded=rounded, zone=zone), read_as, value_type)


def _spelt(value: Any | None, read_as: str, value_type: str) -> SpeltKey | None:
    if value is not None and read_as != value_type:
        value = coerced(value_type, value)
    return None if value is None else spelt_key(value)


def spelt_key(value: Any) -> SpeltKey:
    """(domain, code or key) of a value."""
    tag, key = spell(value)
    return (INLINE, key) if isinstance(key, int) else (tag, key)


def one_by_one(array: pa.Array, rows: Int32s, spelt_as: Callable[[Any], SpeltKey | None]) -> TypedColumn:
    """The values of a column, each distinct one read by `spelt_as`."""
    try:
        encoded = array.dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return TypedColumn([], np.unique(rows))
    index = encoded.indices.to_numpy()
    spelt = [spelt_as(raw) for raw in encoded.dictionary.to_pylist()]
    domains = np.array([-1 if each is None else each[0] for each in spelt], np.int64)
    parts = []
    of_value = domains[index]
    for domain in np.unique(domains[domains >= 0]).tolist():
        own = np.flatnonzero(domains == domain)
        written = [spelt[at][1] for at in own.tolist()]  # type: ignore[index]
        # Texts that differ may mean one value.
        keys, place = distinct_keys(pa.array(written, pa.int64() if domain == INLINE else pa.large_binary()))
        number = np.zeros(len(spelt), np.int32)
        number[own] = place
        which = of_value == domain
        parts.append(ValuePart(domain, rows[which], number[index[which]], keys))
    return TypedColumn(parts, np.unique(rows[of_value < 0]))


def distinct_keys(keys: pa.Array) -> tuple[Int64s | pa.LargeBinaryArray, Int32s]:
    """Distinct keys as a part has them, and the number of each key among these."""
    encoded = keys.dictionary_encode()
    distinct = encoded.dictionary
    return (distinct.to_numpy() if pa.types.is_int64(distinct.type) else distinct), encoded.indices.to_numpy()


def united(parts: Sequence[ValuePart]) -> tuple[Int64s | pa.LargeBinaryArray, list[Int32s]]:
    """The distinct keys of parts of one domain, and per part the number there of each of its keys."""
    inline = parts[0].domain == INLINE
    keys, numbers = distinct_keys(
        pa.concat_arrays([pa.array(part.keys) if inline else part.keys for part in parts])
    )
    return keys, np.split(numbers, np.cumsum([len(part.keys) for part in parts])[:-1])
