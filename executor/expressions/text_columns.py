"""Tests and pieces of strings by the column: of the distinct strings that rows have, by loops of Arrow's.

What a built-in refuses, or Arrow means differently, is left to the built-in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from adalog.datalog.builtins.regex import like_regex
from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.run import QueryRun
from adalog.executor.expressions import text_search
from adalog.executor.join.batch import Column
from adalog.executor.kernels import group_kernels
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import FALSE, PAYLOAD_MASK, TAG_STRING, TRUE, one_tag, tag_of

# Strings between two looks at the deadline, each of which may have a million characters.
_AT_ONCE: Final = 1 << 14
# So many strings may be known for each that is asked for.
_WORTH: Final = 16

Test = Callable[[Any, str], Any]
"""From a column of texts and a constant one to a column of booleans; None where it is left to the built-in."""


def _like(texts: pa.Array, pattern: str) -> pa.Array | None:
    import pyarrow.compute as pc

    if "_" not in pattern and "\\" not in pattern:
        match pattern.split("%"):
            case [whole]:
                return pc.equal(texts, whole)
            case [start, ""]:
                return pc.starts_with(texts, start)
            case ["", end]:
                return pc.ends_with(texts, end)
    try:
        regex = like_regex(pattern)
    except AdalogError:
        return None
    longest = pc.max(pc.binary_length(texts)).as_py()
    return None if longest > regex.longest else pc.match_substring_regex(texts, _unanchored(regex.source))


def _unanchored(like: str) -> str:
    """A regular expression that is looked for in a text, from that of `like`, which is tried on the whole: any text
    at an end needs not be gone through."""
    body = like.removeprefix("(?s)")
    before = body.startswith(".*")
    body = body.removeprefix(".*")
    after = body.endswith(".*")
    return f"(?s){'' if before else '^'}{body.removesuffix('.*')}{'' if after else '$'}"


def _includes(texts: pa.Array, part: str) -> pa.Array:
    import pyarrow.compute as pc

    found = text_search.including(texts, part)
    if found is not None:
        return found
    if part.isascii() and part.isalnum():
        # RE2 finds letters sooner than Arrow's own search does.
        return pc.match_substring_regex(texts, part)
    return pc.match_substring(texts, part)


def _by_name(name: str) -> Test:
    def test(texts: pa.Array, pattern: str) -> pa.Array:
        import pyarrow.compute as pc

        return getattr(pc, name)(texts, pattern)

    return test


def _by_order(name: str) -> Test:
    """The order of UTF-8's bytes is that of code points, by which the built-in compares."""

    def test(texts: pa.Array, other: str) -> pa.Array:
        import pyarrow.compute as pc

        return getattr(pc, name)(texts, pa.scalar(other, pa.large_string()))

    return test


def _not_like(texts: pa.Array, pattern: str) -> pa.Array | None:
    import pyarrow.compute as pc

    found = _like(texts, pattern)
    return None if found is None else pc.invert(found)


_TESTS: Final[dict[str, Test]] = {
    "starts-with?": _by_name("starts_with"),
    "ends-with?": _by_name("ends_with"),
    "includes?": _includes,
    "like": _like,
    "not-like": _not_like,
}
_ORDERS: Final[dict[str, Test]] = {
    "<": _by_order("less"),
    "<=": _by_order("less_equal"),
    ">": _by_order("greater"),
    ">=": _by_order("greater_equal"),
}
_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
FALSE_OF_NIL: Final = frozenset({"like", "not-like"})
_CONSTANTS: Final = dict.fromkeys(_TESTS, 1) | {"subs": 2}


def constants_of(name: str, arguments: Sequence[object]) -> tuple[int, ...]:
    """The codes of the constants that follow the one text of a built-in that is known here; none of others."""
    constants = tuple(each for each in arguments[1:] if isinstance(each, int))
    if len(constants) != _CONSTANTS.get(name) or len(arguments) != len(constants) + 1:
        return ()
    return constants if isinstance(arguments[0], str) else ()


def compared(name: str, arguments: Sequence[object], columns: Mapping[Any, Column], run: QueryRun) -> Column | None:
    """The same of an order between texts and a constant one; None of others."""
    match arguments:
        case [str() as variable, int() as constant] if name in _ORDERS:
            order = name
        case [int() as constant, str() as variable] if name in _ORDERS:
            order = _TURNED[name]
        case _:
            return None
    return of_texts(order, columns[variable], (constant,), run) if tag_of(constant) == TAG_STRING else None


def of_texts(name: str, codes: Column, constants: Sequence[int], run: QueryRun) -> Column | None:
    """int64[n]: the codes of the results for some texts, each distinct one looked at once; None where they are left
    to the built-in."""
    if one_tag(codes) != TAG_STRING:
        return None
    if name != "subs":
        known = _KnownTests.of(run, (name, *constants), codes)
        if known is not None:
            return known.results(codes, lambda new: _results(name, new, constants, run))
    if (codes[1:] > codes[:-1]).all():
        return _results(name, codes, constants, run)
    group, first = group_kernels.group_rows(codes[None], run.cancel.check)
    results = _results(name, codes[first], constants, run)
    return None if results is None else results[group]


def _results(name: str, codes: Column, constants: Sequence[int], run: QueryRun) -> Column | None:
    """The same of distinct texts."""
    results = np.empty(len(codes), np.int64)
    for start in range(0, len(codes), _AT_ONCE):
        run.cancel.check()
        piece = slice(start, start + _AT_ONCE)
        texts = run.values.texts(codes[piece])
        found = (
            _sliced(texts, constants, run.values)
            if name == "subs"
            else _tested(name, texts, constants[0], run.values)
        )
        if found is None:
            return None
        results[piece] = found
    return results


class _KnownTests:
    """What a test gave for the strings of the database that a query met: a byte for each, by number."""

    _FALSE: Final = 1
    _TRUE: Final = 2

    def __init__(self, size: int) -> None:
        self._found = np.zeros(size, np.int8)

    @classmethod
    def of(cls, run: QueryRun, test: tuple[str | int, ...], codes: Column) -> _KnownTests | None:
        """What a run knows of a test; None where there are so many more strings that it is not worth it."""
        size = (int(codes.max()) & PAYLOAD_MASK) + 1
        known: _KnownTests | None = run.made.get((test, "tests"))
        if known is not None and len(known._found) >= size:
            return known
        if size > _WORTH * len(codes) + _AT_ONCE:
            return None
        run.cancel.budget.take(size)
        known = run.made[test, "tests"] = cls(size)
        return known

    def results(self, codes: Column, test: Callable[[Column], Column | None]) -> Column | None:
        numbers = codes & PAYLOAD_MASK
        new = np.flatnonzero(self._found[numbers] == 0)
        if len(new):
            few = codes[new]
            if not (few[1:] > few[:-1]).all():
                _, first = group_kernels.group_rows(few[None])
                few = few[first]
            results = test(few)
            if results is None:
                return None
            self._found[few & PAYLOAD_MASK] = np.where(results == TRUE, self._TRUE, self._FALSE)
        return np.where(self._found[numbers] == self._TRUE, TRUE, FALSE)


def _tested(name: str, texts: pa.Array, pattern: int, values: Scratch) -> Column | None:
    text = values.decode(pattern)
    found = (_TESTS.get(name) or _ORDERS[name])(texts, text) if type(text) is str else None
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
