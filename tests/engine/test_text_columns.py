"""Tests of texts, `subs`, `in` and comparisons of instants by the column give what the built-ins give."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from adalog.datalog.builtins import BUILTINS
from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import BigInt
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.expressions import text_columns, text_search
from adalog.executor.expressions.calls import Call
from adalog.executor.join.batch import Batch
from adalog.store.values.blocks.block import Block
from adalog.store.values.codes import Codes, Scratch
from adalog.store.values.layout import TAG_STRING

TEXTS = ("", "a", "ab", "abc", "a\nb", "ÄÖ", "x%y", "a_b", "special requests", "\\", "aab" * 9, "日本語", "a.c")
PATTERNS = (
    *("", "%", "a%", "%b", "%a%", "_", "__", "a_c", "%special%requests%", "x\\%y", "a\\_b", "\\", "%\\", "a.c"),
    *("日%", "%本%", "_本_", "ab", "%%", "a%c", "%\n%", "Ä_", "(", "[a]", "a%b%c"),
)


class Running:
    def __init__(self) -> None:
        codes = Codes()
        for text in TEXTS[::2]:
            codes.intern(text)
        self.run = QueryRun(Scratch(codes), Cancel())


def by_column(
    name: str, values: list[Any], *constants: Any, made: Running | None = None, constant_first: bool = False
) -> Any:
    """The results of a column, and whether they came without the built-in's."""
    running = made or Running()
    scratch = running.run.values
    asked = []

    def apply(*row: Any) -> Any:
        asked.append(row)
        return BUILTINS[name].call(*row)

    given = ("?x", *map(scratch.intern, constants))
    call = Call(name, given[::-1] if constant_first else given, apply, running, None)
    batch = Batch(len(values), {"?x": scratch.intern_many(values)})
    return scratch.decode_many(call.results(batch)), not asked


def one_by_one(name: str, values: list[Any], *constants: Any) -> Iterator[Any]:
    for value in values:
        yield BUILTINS[name].call(value, *constants)


@pytest.mark.parametrize("name", ["starts-with?", "ends-with?", "includes?", "like", "not-like"])
def test_tests_of_texts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_columns, "_AT_ONCE", 3)
    values = [*TEXTS, *TEXTS[::3]]
    for pattern in PATTERNS:
        assert by_column(name, values, pattern) == (list(one_by_one(name, values, pattern)), True), pattern


def test_random_patterns() -> None:
    rng = Random(11)
    for _ in range(400):
        texts = ["".join(rng.choices("ab%_\\é\n", k=rng.randint(0, 6))) for _ in range(5)]
        pattern = "".join(rng.choices("ab%_é%", k=rng.randint(0, 6)))
        for name in ("like", "not-like"):
            assert by_column(name, texts, pattern) == (list(one_by_one(name, texts, pattern)), True)


def test_what_is_no_text_is_left_to_the_built_in() -> None:
    for name in ("like", "not-like"):
        assert by_column(name, ["a", None, "b"], "a%") == (list(one_by_one(name, ["a", None, "b"], "a%")), True)
        with pytest.raises(AdalogError, match="1 is a long"):
            by_column(name, ["a", 1], "a%")
        with pytest.raises(AdalogError, match="2 is a long"):
            by_column(name, ["a"], 2)
    with pytest.raises(AdalogError, match="an argument is nil"):
        by_column("includes?", ["a", None], "a")
    # More text than the pattern is tried on.
    pattern = "%a" + "_" * 400 + "%b%"
    with pytest.raises(AdalogError, match="to bound its time"):
        by_column("like", ["b" * (1 << 20)], pattern)


def test_pieces_of_texts() -> None:
    for start, end in product(range(3), range(4)):
        long_enough = [text for text in TEXTS if len(text) >= end]
        if start <= end:
            expected = list(one_by_one("subs", long_enough, start, end))
            assert by_column("subs", long_enough, start, end) == (expected, True)
        if start > end or len(long_enough) < len(TEXTS):
            with pytest.raises(AdalogError, match="the string has"):
                by_column("subs", list(TEXTS), start, end)
    with pytest.raises(AdalogError, match="takes a long there"):
        by_column("subs", ["abc"], 0, 1.5)


COLLECTIONS = (
    "[]",
    '["a" "b" 1]',
    "#{1 2.0 3.5 4N 5M}",
    "(nil true :k)",
    '[#inst "2020-01-01" 2]',
    "[##NaN ##Inf]",
)
COLUMNS: tuple[list[Any], ...] = (
    ["a", "b", "c", None],
    [1, 2, 3, 4, 5, None],
    [1.0, 2.0, 3.5],
    [Decimal(1), Decimal("3.5"), Decimal(5)],
    [BigInt(4), BigInt(2)],
    [True, False, None],
    [None],
    [1, "a", None, 2.0],
)


@pytest.mark.parametrize("collection", COLLECTIONS)
@pytest.mark.parametrize("name", ["in", "not-in"])
def test_membership(name: str, collection: str) -> None:
    for values in COLUMNS:
        found, _ = by_column(name, values, read(collection))
        assert found == list(one_by_one(name, values, read(collection))), values
    assert by_column(name, ["a", None, "z"], read('["a" 1]'))[1]
    assert by_column(name, [1, 2, None], read("[2.0 3M]"))[1]
    with pytest.raises(AdalogError, match="a vector, a list or a set"):
        by_column(name, ["a"], 3)


@pytest.mark.parametrize("name", ["<", ">", "<=", ">=", "=="])
def test_instants_are_compared_by_their_codes(name: str) -> None:
    moments = [read(f'#inst "{year:04}-03-01"') for year in (1, 1969, 1970, 2024, 9999)]
    for moment in moments:
        assert by_column(name, moments, moment) == (list(one_by_one(name, moments, moment)), True)
        assert by_column(name, moments, 5)[0] == [False] * 5
        assert by_column(name, [*moments, None], moment)[0][-1] is False
    scratch = Running().run.values
    column = scratch.intern_many(moments)
    assert np.array_equal(np.argsort(column), np.arange(5))


TESTS = ("starts-with?", "ends-with?", "includes?", "like", "not-like")


class Blocks(Running):
    """Strings in two blocks, strings that are in none yet, and whatever else a query makes."""

    def __init__(self, texts: list[str]) -> None:
        codes = Codes()
        third = len(texts) // 3
        for start in range(0, 3 * third, third or 1):
            for text in texts[start : start + third]:
                codes.intern(text)
            if start < 2 * third:
                own = codes.dictionaries()[TAG_STRING]
                blocks, young = own.parts()
                if young:
                    own.adopt((*blocks, Block.build(len(own) - len(young), young, own.secret)))
        self.run = QueryRun(Scratch(codes), Cancel(), threads=2)


def agree(made: Running, values: list[str], text: str) -> None:
    for name in TESTS:
        expected = list(one_by_one(name, values, text))
        found, by_columns = by_column(name, values, text, made=made)
        assert found == expected, (name, text, values)
        assert by_columns or text.endswith("\\"), (name, text)
    if not set(text) & set(".^$*+?()[]{}|\\"):
        expected = [BUILTINS["re-find"].call(text, value) for value in values]
        found, by_columns = by_column("re-find", values, text, made=made, constant_first=True)
        assert found == expected, (text, values)
        assert by_columns or len(text.encode()) > text_search.LONGEST_PART, text


@pytest.mark.parametrize("at_once", [1, 40, 1 << 21])
@pytest.mark.parametrize("alphabet", ["ab", "aé日", "a\U0010ffff\U0001f600\ud7ff", "\x00\n\U00010000", "ab%\\é"])
def test_texts_are_searched_together(alphabet: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of random texts, those across two texts included, wherever the texts are kept."""
    monkeypatch.setattr(text_search, "_AT_ONCE", at_once)
    monkeypatch.setattr(text_columns, "_MANY", 10)
    monkeypatch.setattr(text_columns, "_SHARED", 5)
    rng = Random(29)
    for number in range(20):
        longest = rng.choice((3, 7, 100))
        texts = ["".join(rng.choices(alphabet, k=rng.randint(0, longest))) for _ in range(rng.randint(0, 40))]
        made = Blocks(texts)
        for _ in range(4):
            values = rng.choices([*texts, "a", "", alphabet], k=rng.randint(1, 30))
            if rng.random() < 0.5:
                values = sorted(set(values), key=made.run.values.intern)
            parts = ["".join(rng.choices(alphabet, k=rng.randint(0, 4))) for _ in range(rng.randint(1, 4))]
            monkeypatch.setattr(text_search, "LONGEST_PART", 2 if number % 4 == 0 else 64)
            agree(made, values, "%".join(parts) if "\\" not in alphabet else "".join(parts))
            agree(made, values, rng.choice(parts))


def test_a_part_that_is_rare_in_long_texts() -> None:
    """Far behind what is compared at once, and at all places of it."""
    texts = [f"{'x' * n}needle{'y' * (200 - n)}" for n in range(200)]
    texts += [f"{'needl' * 40}{n}" for n in range(50)]
    made = Blocks(texts)
    for text in ("needle", "%needle%y", "x%needle%", "eedl", "needl%needl%7", "y" * 64, "x" * 65, "lene"):
        agree(made, texts, text)
        agree(made, texts[::-1], text)


def test_what_is_known_of_texts_is_known_of_these() -> None:
    """Tests of one run share nothing but the strings."""
    texts = [f"person {i}" for i in range(1000)]
    made = Blocks(texts)
    for text in ("7", "9", "7", "person", "z", "%7%7"):
        for values in (texts[100:200], texts[150:120:-1], texts):
            agree(made, values, text)


def test_texts_of_a_fork_are_its_own() -> None:
    """The numbers that a fork gave to strings are those of others in the codes that it came from."""
    codes = Codes()
    codes.intern("before")
    made, fork = Running(), codes.fork()
    for i in range(100):
        fork.intern(f"fork {i}")
        codes.intern(f"base {i}")
    codes.adopt({TAG_STRING: codes.dictionaries()[TAG_STRING].folded()})
    made.run = QueryRun(Scratch(fork), Cancel())
    values = ["before", *(f"fork {i}" for i in range(100))]
    for text in ("fork", "base", "e", "7"):
        agree(made, values, text)


def test_texts_too_long_for_a_pattern_are_refused() -> None:
    """As the built-in does, which bounds the time that it takes."""
    pattern, long = f"%{'ab' * 30}%{'c' * 900}%", "x" * 200_000
    made = Blocks([long, "a", "b"])
    with pytest.raises(AdalogError, match="to bound its time"):
        next(one_by_one("like", [long], pattern))
    for name in ("like", "not-like"):
        assert by_column(name, ["a", "b"], pattern, made=made)[1]
        with pytest.raises(AdalogError, match="to bound its time"):
            by_column(name, ["a", long, "b"], pattern, made=made)
    with pytest.raises(AdalogError, match="to bound its time"):
        by_column("re-find", ["a", "x" * (1 << 20)], "ab" * 400, made=made, constant_first=True)


ORDERED_TEXTS = (
    "",
    "a",
    "A",
    "ab",
    "a\x00",
    "a\U0010ffff",
    "a\ud7ff",
    "\ue000",
    "\U00010000",
    "\uffff",
    "é",
    "e\u0301",
    "b",
)


@pytest.mark.parametrize("name", ["<", ">", "<=", ">="])
def test_texts_are_compared_by_code_points(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_columns, "_AT_ONCE", 3)
    values = [*ORDERED_TEXTS, *ORDERED_TEXTS[::2]]
    turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}[name]
    for text in ORDERED_TEXTS:
        expected = [BUILTINS[name].call(value, text) for value in values]
        assert by_column(name, values, text) == (expected, True), text
        assert by_column(name, [*values, None], text) == ([*expected, False], True)
        assert by_column(turned, values, text, constant_first=True) == (expected, True), text
    assert by_column(name, ["a", 1, True], "b")[0] == [BUILTINS[name].call(each, "b") for each in ("a", 1, True)]
    assert by_column(name, ["a", "b"], 1)[0] == [False, False]
