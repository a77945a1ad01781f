"""Tests and pieces of strings by the column: of the distinct strings that rows have, by loops of Arrow's.

What a built-in refuses, or Arrow means differently, is left to the built-in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from adalog.datalog.builtins.regex import like_regex
from adalog.datalog.errors import AdalogError
from adalog.executor.join.batch import Column
from adalog.executor.kernels import group_kernels
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import FALSE, TAG_STRING, TRUE, one_tag

# Strings between two looks at the deadline, each of which may have a million characters.
_AT_ONCE: Final = 1 << 14

Check = Callable[[], None]
Test = Callable[[Any, str], Any]
"""From a column of texts and a constant one to a column of booleans; None where it is left to the built-in."""


def _like(texts: pa.Array, pattern: str) -> pa.Array | None:
    import pyarrow.compute as pc

    parts = pattern.split("%")
    if "_" not in pattern and "\\" not in pattern and len(parts) <= 3:
        match parts:
            case [whole]:
                return pc.equal(texts, whole)
            case [start, ""]:
                return pc.starts_with(texts, start)
            case ["", end]:
                return pc.ends_with(texts, end)
            case ["", middle, ""]:
                return pc.match_substring(texts, middle)
    try:
        regex = like_regex(pattern)
    except AdalogError:
        return None
    longest = pc.max(pc.binary_length(texts)).as_py()
    # RE2 as the built-in has it: the whole text, a dot also for the end of a line.
    return None if longest > regex.longest else pc.match_substring_regex(texts, f"^(?:{regex.source})$")


def _by_name(name: str) -> Test:
    def test(texts: pa.Array, pattern: str) -> pa.Array:
        import pyarrow.compute as pc

        return getattr(pc, name)(texts, pattern)

    return test


def _not_like(texts: pa.Array, pattern: str) -> pa.Array | None:
    import pyarrow.compute as pc

    found = _like(texts, pattern)
    return None if found is None else pc.invert(found)


_TESTS: Final[dict[str, Test]] = {
    "starts-with?": _by_name("starts_with"),
    "ends-with?": _by_name("ends_with"),
    "includes?": _by_name("match_substring"),
    "like": _like,
    "not-like": _not_like,
}
FALSE_OF_NIL: Final = frozenset({"like", "not-like"})
_CONSTANTS: Final = dict.fromkeys(_TESTS, 1) | {"subs": 2}


def constants_of(name: str, arguments: Sequence[object]) -> tuple[int, ...]:
    """The codes of the constants that follow the one text of a built-in that is known here; none of others."""
    constants = tuple(each for each in arguments[1:] if isinstance(each, int))
    if len(constants) != _CONSTANTS.get(name) or len(arguments) != len(constants) + 1:
        return ()
    return constants if isinstance(arguments[0], str) else ()


def of_texts(name: str, codes: Column, constants: Sequence[int], values: Scratch, check: Check) -> Column | None:
    """int64[n]: the codes of the results for some texts, each distinct one looked at once; None where they are left
    to the built-in."""
    if one_tag(codes) != TAG_STRING:
        return None
    group, first = group_kernels.group_rows(codes[None], check)
    each = codes if len(first) == len(codes) else codes[first]
    results = np.empty(len(each), np.int64)
    for start in range(0, len(each), _AT_ONCE):
        check()
        piece = slice(start, start + _AT_ONCE)
        texts = values.to_arrow(each[piece])
        found = _sliced(texts, constants, values) if name == "subs" else _tested(name, texts, constants[0], values)
        if found is None:
            return None
        results[piece] = found
    return results if each is codes else results[group]


def _tested(name: str, texts: pa.Array, pattern: int, values: Scratch) -> Column | None:
    text = values.decode(pattern)
    found = _TESTS[name](texts, text) if type(text) is str else None
    return None if found is None else np.where(found.to_numpy(zero_copy_only=False), TRUE, FALSE)


def _sliced(texts: pa.Array, constants: Sequence[int], values: Scratch) -> Column | None:
    """`(subs text start end)`; None where a text is shorter."""
    import pyarrow.compute as pc

    start, end = map(values.decode, constants)
    if (
        type(start) is not int
        or type(end) is not int
        or not 0 <= start <= end <= pc.min(pc.utf8_length(texts)).as_py()
    ):
        return None
    found = pc.utf8_slice_codeunits(texts, start, end).dictionary_encode()
    few = values.intern_many(found.dictionary.to_pylist())
    return np.asarray(few[found.indices.to_numpy(zero_copy_only=False)])
