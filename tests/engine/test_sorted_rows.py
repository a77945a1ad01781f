"""The order of rows against a sort by `sort_key`: values of one type and of several, made up and stored."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby
from math import inf, nan
from random import Random
from typing import Any, Final

import numpy as np
import pytest

from adalog.datalog.values import Keyword, sort_key
from adalog.executor.answer import result
from adalog.executor.answer.result import sorted_rows
from adalog.store.values.codes import Codes, Scratch

VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "long": (*range(-3, 4), -(1 << 59), (1 << 59) - 1, 1 << 62, -(1 << 63)),
    "small": tuple(range(-3, 4)),
    "double": (0.0, -0.0, 1.5, -1.5, 5e-324, -5e-324, inf, -inf, nan, 1e300),
    "instant": tuple(datetime(year, 1, 1, tzinfo=UTC) for year in (1, 1969, 1970, 1971, 9999)),
    "boolean": (True, False),
    "string": ("", "a", "b", "ab", "é", "zz", "\uffff", "\U0001f600"),
    "keyword": (Keyword("a"), Keyword("b/a"), Keyword("a/b")),
}


def in_order(rows: list[int], values: list[Any], descending: bool) -> list[int]:
    """The rows by their values, nil last; those that are equal as they were."""
    there = sorted((row for row in rows if values[row] is not None), key=lambda row: sort_key(values[row]))
    groups = [list(group) for _, group in groupby(there, key=lambda row: sort_key(values[row]))]
    return [
        *(row for group in (reversed(groups) if descending else groups) for row in group),
        *(row for row in rows if values[row] is None),
    ]


@pytest.mark.parametrize("kind", [*VALUES, "any"])
def test_rows_in_the_order_of_their_values(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(kind)
    choices = VALUES.get(kind) or tuple(value for values in VALUES.values() for value in values)
    for _ in range(300):
        monkeypatch.setattr(result, "_MOST_TEXTS", rng.choice((2, 1 << 17)))
        monkeypatch.setattr(result, "_TEXTS", rng.choice((2, 1 << 12)))
        values = [None if rng.random() < 0.2 else rng.choice(choices) for _ in range(rng.randint(1, 12))]
        ties = [rng.randint(0, 2) for _ in values]
        base = Codes()
        for value in values:
            if rng.random() < 0.7:
                base.intern(value)
        scratch = Scratch(base)
        descending, first = rng.random() < 0.5, rng.choice((None, 0, 1, 3, 6))
        columns = [scratch.intern_many(values), np.array(ties, np.int64)]
        found = sorted_rows(columns, scratch, [(0, descending)], first)
        expected = in_order(sorted(range(len(values)), key=ties.__getitem__), values, descending)
        assert first is not None or sorted(found.tolist()) == sorted(expected)
        shown = slice(0, first)
        assert [(repr(sort_key(values[row])), ties[row]) for row in found[shown].tolist()] == [
            (repr(sort_key(values[row])), ties[row]) for row in expected[shown]
        ]
