"""An aggregate is one entry of `datalog/aggregates.py`: no other product file names one as a string."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from adalog.datalog import aggregates
from adalog.datalog.aggregates import AGGREGATES, Aggregate, Reduction, aggregate

ROOT = Path(__file__).parents[2]
PACKAGES = ("datalog", "store", "planner", "executor", "schema", "pipeline", "cluster")

# These strings are something else there, such as a connective, a built-in function or a column of figures.
SOMETHING_ELSE = {
    "planner/delta/monotone.py": {"min", "max"},
    "executor/engine.py": {"median"},
    # Fields of GraphQL types.
    "schema/typed/declarations.py": {"count"},
    "schema/typed/graphql_types.py": {"avg", "max", "min", "sum"},
    "schema/typed/reading/aggregates.py": {"avg", "count", "sum", "sum'"},
}
CONNECTIVES = {"and", "or"}


def named_in(path: Path) -> Iterator[str]:
    """The names in a file that knows of aggregates; in others the words mean something else."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "aggregate" in text.lower() else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in AGGREGATES:
            yield node.value


def test_no_other_file_names_an_aggregate() -> None:
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            named = set(named_in(path)) - SOMETHING_ELSE.get(name, set()) - CONNECTIVES
            if named and name != "datalog/aggregates.py":
                found[name] = named
    assert not found, "declare what holds of an aggregate in datalog/aggregates.py"


@pytest.mark.parametrize("known", AGGREGATES.values(), ids=list(AGGREGATES))
def test_what_is_declared_hangs_together(known: Aggregate) -> None:
    assert known.in_find or known.in_heads
    assert not (known.by_chance and known.in_heads), "a rule's head means the same each time"
    assert (known.reduction is Reduction.BEST) == bool(known.better)
    assert known.min_args <= known.max_args


@pytest.mark.parametrize("known", [each for each in AGGREGATES.values() if each.idempotent], ids=lambda e: e.name)
def test_an_idempotent_result_stands_for_its_values(known: Aggregate) -> None:
    groups = {"and": [True, False], "or": [True, False], "union": [aggregates.EdnSet([1]), aggregates.EdnSet([2])]}
    values = groups.get(known.name, [3, 1, 2])
    whole = aggregate(known.name, (), values)
    assert aggregate(known.name, (), [aggregate(known.name, (), values[:1]), *values[1:]]) == whole
    assert aggregate(known.name, (), [whole, *values]) == whole
