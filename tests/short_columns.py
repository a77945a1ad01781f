"""Short columns read as long ones are: the thresholds of the paths for long columns, patched down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest

from adalog.executor import engine
from adalog.executor.evaluation import bind, late_calls
from adalog.executor.expressions import decimals
from adalog.executor.extenders import pairs
from adalog.executor.join import generic_join
from adalog.planner.order import ordering
from adalog.store.checkpoint import compactor


@contextmanager
def read_as_long() -> Iterator[Counter[str]]:
    """How often each path is taken meanwhile: single values read as a column, calls computed after the join, and
    decimals read from a table. Joins of few rows are made in columns, and folds take in few datoms, too."""
    taken: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "_FEW_KEYS", 1)
        patch.setattr(late_calls, "_MANY", 0.0)
        patch.setattr(ordering, "_LONG", 0.0)
        patch.setattr(decimals, "_MANY", 1)
        patch.setattr(generic_join, "MOST_ROWS", 1 << 60)
        patch.setattr(compactor, "_LEAST", 1)
        patch.setattr(pairs, "single_values", _counting(pairs.single_values, "column", taken))
        patch.setattr(decimals, "_scaled_by_table", _counting(decimals._scaled_by_table, "table", taken))
        for module in (engine, bind):
            patch.setattr(module, "without_late_calls", _counting(late_calls.without_late_calls, "late", taken))
        yield taken


def _counting(function: Any, name: str, taken: Counter[str]) -> Any:
    @wraps(function)
    def counting(*args: Any) -> Any:
        found = function(*args)
        calls = found[1].values() if name == "late" else ()
        taken[name] += any(not each.keeps_nil for each in calls) if name == "late" else found is not None
        return found

    return counting
