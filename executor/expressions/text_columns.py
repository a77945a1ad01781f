"""Tests and pieces of strings by the column: each distinct string that rows have is looked at once.

What looks for parts of strings is a search of the dictionary's bytes; the rest are loops of Arrow's. What a
built-in refuses, or Arrow means differently, is left to the built-in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from adalog.datalog.builtins.regex import like_regex
from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.run import QueryRun
from adalog.executor.expressions.text_search import PatternSearch, pattern_of
from adalog.executor.join.batch import Column, Mask
from adalog.executor.kernels import group_kernels
from adalog.executor.kernels.text_kernels import UNKNOWN, Bytes
from adalog.store.values.codes import Scratch
from adalog.store.values.dictionary import KeyColumn
from adalog.store.values.layout import FALSE, NIL, PAYLOAD_MASK, TAG_STRING, TRUE, code_of, one_tag, tag_of

# Strings between two looks at the deadline, each of which may have a million characters.
_AT_ONCE: Final = 1 << 14
# So many strings may be known for each that is asked for.
_WORTH: Final = 16
# Rows in no order that it is worth to sort.
_MANY: Final = 1 << 10
# More rows than a chunk of the join has: while they are searched, its other threads have nothing to do.
_SHARED: Final = 1 << 20
_FIRST: Final = code_of(TAG_STRING, 0)

Arrows = Callable[[Any, str], Any]
"""From a column of texts and a constant one to a column of booleans; None where it is left to the built-in."""
Test = Callable[[Column], Mask | None]
"""Which of some distinct texts a test holds for; None where it is left to the built-in."""


def _like(texts: pa.Array, pattern: str) -> pa.Array | None:
    import pyarrow.compute as pc

    if not {"%", "_", "\\"} & set(pattern):
        return pc.equal(texts, pattern)
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

    return pc.match_substring(texts, part)


def _by_order(name: str) -> Arrows:
    """The order of UTF-8's bytes is that of code points, by which the built-in compares."""

    def test(texts: pa.Array, other: str) -> pa.Array:
        import pyarrow.compute as pc

        return getattr(pc, name)(texts, pa.scalar(other, pa.large_string()))

    return test


_ORDERS: Final[dict[str, Arrows]] = {
    "<": _by_order("less"),
    "<=": _by_order("less_equal"),
    ">": _by_order("greater"),
    ">=": _by_order("greater_equal"),
}
# Of parts that are too long for the search, or of characters that may be any.
_ARROWS: Final = _ORDERS | {"includes?": _includes, "like": _like}
_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TESTS: Final = frozenset({"starts-with?", "ends-with?", "includes?", "like"})
FALSE_OF_NIL: Final = frozenset({"like", "not-like"})


@dataclass(frozen=True, slots=True)
class TextTest:
    """A built-in that says something of the texts of one variable, given a constant one.

    `holds`, `fails`: the codes of its results. `inverse`: it holds where the one that is looked for does not.
    """

    name: str
    variable: str
    constant: int
    holds: int = TRUE
    fails: int = FALSE
    inverse: bool = False

    def holding(self, codes: Column, run: QueryRun) -> Mask | None:
        """bool[n]: the rows that it holds for; None where it is left to the built-in."""
        text = run.values.decode(self.constant)
        if type(text) is not str:
            return None
        key = self.name, self.constant
        search = run.made.get((key, "search"))
        if search is None and self.name not in _ORDERS:
            pattern = pattern_of(self.name, text)
            if pattern is not None and pattern.is_searched:
                search = run.made[key, "search"] = PatternSearch(pattern)
        found: Mask | None
        if search is not None:
            found = _KnownTests.of(run, key, codes).searched(codes, search, run)
        elif self.name in _ARROWS and one_tag(codes) == TAG_STRING:
            found = _KnownTests.of(run, key, codes).tested(codes, _by_arrow(_ARROWS[self.name], text, run), run)
        else:
            return None
        return ~found if self.inverse and found is not None else found


def text_test(name: str, arguments: Sequence[object]) -> TextTest | None:
    """The test that a built-in is for its arguments, variables or the codes of constants."""
    match arguments:
        case [str() as variable, int() as constant]:
            if tag_of(constant) != TAG_STRING:
                return None
            if name == "not-like":
                return TextTest("like", variable, constant, inverse=True)
            return TextTest(name, variable, constant) if name in _TESTS or name in _ORDERS else None
        case [int() as constant, str() as variable]:
            if tag_of(constant) != TAG_STRING:
                return None
            if name == "re-find":
                # A pattern without special characters finds itself.
                return TextTest(name, variable, constant, holds=constant, fails=NIL)
            return TextTest(_TURNED[name], variable, constant) if name in _ORDERS else None
    return None


def _by_arrow(test: Arrows, text: str, run: QueryRun) -> Test:
    """A loop of Arrow's as a test of distinct texts."""

    def holding(codes: Column) -> Mask | None:
        found = np.empty(len(codes), np.bool_)
        for start in range(0, len(codes), _AT_ONCE):
            run.cancel.check()
            piece = slice(start, start + _AT_ONCE)
            some = test(run.values.texts(codes[piece]), text)
            if some is None:
                return None
            found[piece] = some.to_numpy(zero_copy_only=False)
        return found

    return holding


class _KnownTests:
    """What a test gave for the strings of the database that a run met: a byte for each of the first ones."""

    def __init__(self, size: int) -> None:
        self._known = np.zeros(size, np.uint8)

    @classmethod
    def of(cls, run: QueryRun, test: tuple[str, int], codes: Column) -> _KnownTests:
        """What a run knows of a test: of no strings where there are so many more that it is not worth it."""
        known: _KnownTests | None = run.made.get((test, "tests"))
        size, most = run.values.text_count, _WORTH * len(codes) + _AT_ONCE
        if size > most:
            size = (int(codes.max()) & PAYLOAD_MASK) + 1 if one_tag(codes) == TAG_STRING else 0
        if known is not None and len(known._known) >= size:
            return known
        if size > most:
            return cls(0)
        run.cancel.budget.take(size)
        known = run.made[test, "tests"] = cls(size)
        return known

    def searched(self, codes: Column, search: PatternSearch, run: QueryRun) -> Mask | None:
        """bool[n]: the rows whose texts have a pattern; None where some are no texts, or too long."""
        if len(self._known) and len(codes) >= _MANY and not (codes[1:] >= codes[:-1]).all():
            if one_tag(codes) != TAG_STRING:
                return None
            # In the order of memory the texts of many rows are looked at several times as fast.
            wanted = np.zeros(len(self._known), np.bool_)
            numbers = codes & PAYLOAD_MASK
            wanted[numbers[numbers < len(wanted)]] = True
            if self.searched(np.flatnonzero(wanted) + _FIRST, search, run) is None:
                return None
        found = np.full(len(codes), UNKNOWN, np.uint8)
        if len(self._known) and not self._search_blocks(codes, search, run, found):
            return None
        left = np.flatnonzero(found == UNKNOWN)
        if len(left):
            # Strings that are in no block yet, or that the query made, and all where it is not worth to know them.
            others = codes[left]
            if one_tag(others) != TAG_STRING:
                return None
            rest = self.tested(others, lambda few: _of_gathered(few, search, run), run)
            if rest is None:
                return None
            found[left] = rest
        return found.view(np.bool_)

    def _search_blocks(self, codes: Column, search: PatternSearch, run: QueryRun, found: Bytes) -> bool:
        """Searches the texts that are in a block; False where one is too long. Many rows are shared out among the
        threads of the run, which all know what each of them finds."""
        blocks = run.values.text_columns()

        def search_from(start: int) -> bool:
            rows = slice(start, start + step)
            return all(
                search.search(
                    texts,
                    codes[rows],
                    _FIRST,
                    self._known[texts.start : texts.stop],
                    found[rows],
                    run.cancel.check,
                )
                for texts in blocks
            )

        step = len(codes)
        if run.threads == 1 or step < _SHARED:
            return search_from(0)
        step = -(-step // run.threads)
        with ThreadPoolExecutor(run.threads, "texts") as threads:
            return all(list(threads.map(search_from, range(0, len(codes), step))))

    def tested(self, codes: Column, test: Test, run: QueryRun) -> Mask | None:
        """The same by another test, each text once."""
        numbers = codes & PAYLOAD_MASK
        inside = numbers < len(self._known)
        known = self._known[np.where(inside, numbers, 0)] if inside.any() else np.zeros(len(codes), np.uint8)
        known[~inside] = 0
        new = np.flatnonzero(known == 0)
        if len(new):
            some = codes[new]
            if (some[1:] > some[:-1]).all():
                results = test(some)
            else:
                group, first = group_kernels.group_rows(some[None], run.cancel.check)
                results = test(some[first])
                results = None if results is None else results[group]
            if results is None:
                return None
            known[new] = results.astype(np.uint8) + 1
            kept = new[inside[new]]
            self._known[numbers[kept]] = known[kept]
        return known > 1


def _of_gathered(codes: Column, search: PatternSearch, run: QueryRun) -> Mask | None:
    """The same for distinct texts, wherever they are."""
    found = np.full(len(codes), UNKNOWN, np.uint8)
    for start in range(0, len(codes), _AT_ONCE):
        run.cancel.check()
        some = codes[start : start + _AT_ONCE]
        texts = run.values.texts(some)
        _, offset_buffer, heap_buffer = texts.buffers()
        offsets = np.frombuffer(offset_buffer, np.int64)[texts.offset :][: len(texts) + 1]
        heap = np.frombuffer(heap_buffer or b"", np.uint8)
        numbers, known = np.arange(len(some)), np.zeros(len(some), np.uint8)
        column = KeyColumn(0, offsets, heap)
        if not search.search(column, numbers, 0, known, found[start:][: len(some)], run.cancel.check):
            return None
    return found.view(np.bool_)


def pieces_of(codes: Column, start: int, end: int, run: QueryRun) -> Column | None:
    """int64[n]: the codes of `(subs text start end)` for some texts, given the codes of the numbers; None where it
    is left to the built-in."""
    if one_tag(codes) != TAG_STRING:
        return None
    group = None
    if not (codes[1:] > codes[:-1]).all():
        group, first = group_kernels.group_rows(codes[None], run.cancel.check)
        codes = codes[first]
    results = np.empty(len(codes), np.int64)
    for at in range(0, len(codes), _AT_ONCE):
        run.cancel.check()
        piece = slice(at, at + _AT_ONCE)
        sliced = _sliced(run.values.texts(codes[piece]), start, end, run.values)
        if sliced is None:
            return None
        results[piece] = sliced
    return results if group is None else results[group]


def _sliced(texts: pa.Array, start: int, end: int, values: Scratch) -> Column | None:
    """None where a text is shorter, or an end is no such number."""
    import pyarrow.compute as pc

    first, last = values.decode(start), values.decode(end)
    if (
        type(first) is not int
        or type(last) is not int
        or not 0 <= first <= last <= pc.min(pc.utf8_length(texts)).as_py()
    ):
        return None
    found = pc.utf8_slice_codeunits(texts, first, last).dictionary_encode()
    few = values.intern_many(found.dictionary.to_pylist())
    return np.asarray(few[found.indices.to_numpy(zero_copy_only=False)])
