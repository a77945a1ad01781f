"""Random nested expressions in every place where they may stand, against `tests.property.expressions`."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import identity
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.property.expressions import VALUES, Refused, condition, holds, number, row, value_of
from tests.property.model import SWITCHES, examples

SEEDS = st.integers(0, 2**48)
NAMES = " ".join(VALUES)
REFUSED = "refused"
Row = dict[str, Any]


@pytest.fixture(scope="module")
def pool():
    with Database.open(":memory:") as database:
        pool = Pool(database, PoolSettings(threads=1))
        yield pool
        pool.close()


def texts(rng: Random) -> list[dict[str, str]]:
    return [row(rng) for _ in range(rng.choice((1, 1, 2, 4)))]


def argument(rows: list[dict[str, str]]) -> str:
    return "[" + " ".join(f"[{i} {' '.join(each.values())}]" for i, each in enumerate(rows)) + "]"


def names_in(*texts: str) -> str:
    return " ".join(name for name in VALUES if any(name in each for each in texts))


def outcome(compute: Callable[[], set[Any]]) -> Any:
    try:
        return compute()
    except Refused:
        return REFUSED


def answered(pool: Pool, text: str, argument: str, switch: int) -> Any:
    request = QueryRequest(
        text, (read(argument),), pool.database.snapshot(), options=SWITCHES[switch], cached=False
    )
    try:
        result = pool.run(request)
    except AdalogError as error:
        return REFUSED if error.code is Code.QUERY_INVALID and error.position is not None else error
    rows = [tuple(map(identity, each)) for each in result.rows()]
    assert len(rows) == len(set(rows))
    return set(rows)


def check(
    pool: Pool,
    rng: Random,
    where: str,
    rows: list[dict[str, str]],
    expected: Any,
    find: str = "?i",
    *,
    lenient: bool = False,
) -> None:
    text = f"[:find {find} :in $ [[?i {NAMES}]] :where {where}]"
    got = answered(pool, text, argument(rows), rng.randrange(len(SWITCHES)))
    # A comparison may drop a row before all that it compares is computed.
    assert got == expected or (lenient and expected == REFUSED), (text, argument(rows), expected, got)


def read_rows(rows: list[dict[str, str]]) -> list[Row]:
    return [{name: read(text) for name, text in each.items()} for each in rows]


def numbered(rows: list[Row], compute: Callable[[Row], Any]) -> set[Any]:
    return {(identity(i), identity(found)) for i, each in enumerate(rows) if (found := compute(each)) is not None}


def kept(rows: list[Row], test: Callable[[Row], Any]) -> set[Any]:
    return {(identity(i),) for i, each in [(i, test(each)) for i, each in enumerate(rows)] if each}


@settings(max_examples=examples(100))
@given(SEEDS)
def test_a_function_of_nested_calls(pool, seed):
    rng = Random(seed)
    rows, text = texts(rng), number(rng, 4)
    if not text.startswith("("):
        text = f"(identity {text})"
    given = read_rows(rows)
    expected = outcome(lambda: numbered(given, lambda each: value_of(text, each)))
    check(pool, rng, f"[{text} ?r]", rows, expected, "?i ?r")


@settings(max_examples=examples(100))
@given(SEEDS)
def test_a_predicate_of_nested_calls(pool, seed):
    rng = Random(seed)
    rows, text = texts(rng), condition(rng, 3)
    given = read_rows(rows)
    used = names_in(text)
    where, opposite = rng.choice(
        (
            (f"[{text}]", False),
            (f"(not [{text}])", True),
            (f"(or-join [{used}] [{text}])", False),
            (f"(not-join [{used}] [{text} ?r] [(= ?r true)])", True),
        )[: 4 if used else 1]
    )
    expected = outcome(lambda: kept(given, lambda each: holds(value_of(text, each)) != opposite))
    check(pool, rng, where, rows, expected, lenient=True)


@settings(max_examples=examples(60))
@given(SEEDS)
def test_branches_and_rules_of_nested_calls(pool, seed):
    rng = Random(seed)
    rows, first, second = texts(rng), number(rng, 3), condition(rng, 2)
    first = first if first.startswith("(") else f"(identity {first})"
    given = read_rows(rows)

    def compute() -> set[Any]:
        found = [(value_of(first, each), holds(value_of(second, each))) for each in given]
        values = {(identity(i), identity(value)) for i, (value, _) in enumerate(found) if value is not None}
        return values | {(identity(i), identity(0)) for i, (_, each) in enumerate(found) if each}

    branches = f"[{first} ?r]", f"(and [{second}] [(ground 0) ?r])"
    where = f"(or-join [{names_in(first, second)} ?r] {' '.join(branches)})"
    if rng.random() < 0.5:
        bodies = f"[{first} ?r]", f"[{second}] [(ground 0) ?r]"
        rules = " ".join(f"[(r [{NAMES}] ?r) {body}]" for body in bodies)
        where = f"(r {NAMES} ?r) :rules [{rules}]"
    check(pool, rng, where, rows, outcome(compute), "?i ?r")
