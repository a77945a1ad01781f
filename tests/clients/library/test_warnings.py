"""Likely mistakes of reads are warnings of Python, at the line that called."""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import adalog

MISTAKEN = "[:find ?x :where [?x :issue/titel]]"
READS: dict[str, Callable[[Any], Any]] = {
    "q": lambda db: db.q(MISTAKEN),
    "pull": lambda db: db.pull("[:issue/titel]", 1),
    "pull_many": lambda db: db.pull_many("[:issue/titel]", [1]),
    "datoms": lambda db: db.datoms("eavt", ":issue/nobody"),
}


@pytest.mark.parametrize("name", READS)
def test_at_the_line_that_called(name: str) -> None:
    read = READS[name]
    with adalog.connect(":memory:") as db:
        db.transact([{"db/id": 1, "issue/title": "x"}])
        with pytest.warns(adalog.QueryWarning, match="UNKNOWN_") as found:
            read(db)
    [warning] = found
    assert (warning.filename, warning.lineno) == (__file__, read.__code__.co_firstlineno)


@pytest.mark.parametrize("name", READS)
def test_at_the_line_that_awaited(name: str) -> None:
    async def main() -> int:
        async with adalog.aconnect(":memory:") as db:
            await db.transact([{"db/id": 1, "issue/title": "x"}])
            line = sys._getframe().f_lineno + 1
            await READS[name](db)
            return line

    with pytest.warns(adalog.QueryWarning, match="UNKNOWN_") as found:
        line = asyncio.run(main())
    [warning] = found
    assert (warning.filename, warning.lineno) == (__file__, line)


def test_once_for_each_line() -> None:
    with adalog.connect(":memory:") as db, warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            result = db.q(MISTAKEN)
        db.q(MISTAKEN)
    assert len(found) == 2
    assert [each.code for each in result.warnings] == ["UNKNOWN_ATTRIBUTE"]


def test_filters_hide_and_raise() -> None:
    with adalog.connect(":memory:") as db, warnings.catch_warnings():
        warnings.simplefilter("error", adalog.QueryWarning)
        with pytest.raises(adalog.QueryWarning, match=r"UNKNOWN_ATTRIBUTE at 1:22: "):
            db.q(MISTAKEN)
        warnings.simplefilter("ignore", adalog.QueryWarning)
        assert db.q(MISTAKEN).warnings


def test_a_result_shows_rows_and_warnings() -> None:
    with adalog.connect(":memory:") as db:
        numbers = db.q("[:find ?x ?y :in $ [?x ...] :where [(str ?x) ?y] :order-by [?x]]", list(range(1000)))
        text = db.q("[:find ?x . :in $ ?x]", "x" * 500)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", adalog.QueryWarning)
            none = db.q(MISTAKEN)
    assert repr(numbers).splitlines() == [
        "<result at transaction 0: 1,000 rows of ?x long, ?y string",
        *(f"  ({number}, '{number}')" for number in range(5)),
        "  … 995 more>",
    ]
    assert "rows" not in vars(numbers)
    assert [len(line) < 120 for line in repr(text).splitlines()] == [True, True]
    assert repr(none).splitlines()[0].startswith("<result at transaction 0: 0 rows of ?x ")
    assert "warning UNKNOWN_ATTRIBUTE: no attribute :issue/titel" in repr(none)
