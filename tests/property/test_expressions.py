"""Random nested expressions of all built-ins, in every place where they may stand, against
`tests.property.expressions`. `ADALOG_EXPRESSIONS` is their number."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from adalog.datalog.builtins import BUILTINS
from adalog.datalog.builtins.conditionals import CONDITIONALS
from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import EdnSet, identity, sort_key
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.language.test_live_traps import Live
from tests.property.expression_functions import ELSEWHERE, FUNCTIONS
from tests.property.expression_meaning import holds
from tests.property.expression_numbers import Refused, Unknown
from tests.property.expression_values import FACTS, VALUES
from tests.property.expressions import call, call_of_rows, condition, row, value_of, without_aggregates
from tests.property.model import SWITCHES
from tests.property.test_grouped_expressions import aggregated
from tests.spark.spark_in_process import spark_in_process
from tests.support import World, pool_on

NUMBER = int(os.environ.get("ADALOG_EXPRESSIONS", "300"))
REFUSED = "refused"
# An argument that stands in the place of an entity becomes the entity that it names, wherever it stands besides.
_OF_AN_ENTITY = re.compile(r"\((?:get-\w+|missing\?) \$ \?w\b")
_REFUSALS = (Code.QUERY_INVALID, Code.ARG_INVALID, Code.LIMIT_EXCEEDED)
Row = dict[str, Any]


def test_every_built_in_has_a_meaning() -> None:
    names = {each.name for each in BUILTINS.values()} | CONDITIONALS.keys()
    assert names - FUNCTIONS.keys() - CONDITIONALS.keys() == ELSEWHERE.keys()
    assert FUNCTIONS.keys() <= names


@dataclass
class Sample:
    """Rows of values, and a query over them. `lenient`: a row may be dropped before all of it is computed.
    `expressions`: how many it has."""

    rng: Random
    rows: list[dict[str, str]] = field(default_factory=list)
    find: str = "?i"
    where: str = ""
    rest: str = ""
    lenient: bool = False
    expressions: int = 1

    def __post_init__(self) -> None:
        self.rows = [row(self.rng) for _ in range(self.rng.choice((1, 1, 2, 4)))]
        self.given = [_read(each) for each in self.rows]

    @property
    def text(self) -> str:
        where = f":where {self.where}" if self.where else ""
        return f"[:find {self.find} :in $ [[?i {' '.join(self.used)}]] {where} {self.rest}]"

    @property
    def used(self) -> list[str]:
        return names_in(self.find, self.where, self.rest)

    @property
    def argument(self) -> str:
        columns = [[each[name] for name in self.used] for each in self.rows]
        return "[" + " ".join(f"[{i} {' '.join(each)}]" for i, each in enumerate(columns)) + "]"

    def values(self, text: str) -> list[Any]:
        """The expression's value for each row."""
        return [value_of(text, each) for each in self.given]

    def texts(self, make: Callable[[], str], most: int) -> list[str]:
        """One expression, or several that are not refused."""
        if self.rng.random() < 0.5:
            return [make()]
        found: list[str] = []
        while len(found) < most:
            text = make()
            with suppress(Refused, Unknown):
                self.values(text)
                found.append(text)
        self.expressions = most
        return found


def answer(rows: Iterable[Sequence[Any]]) -> set[Any]:
    """The identities of rows."""
    return {tuple(map(identity, each)) for each in rows}


# The places. Each gives the answer, or raises Refused


def a_function(sample: Sample) -> set[Any]:
    texts = sample.texts(lambda: call(sample.rng, 4), 10)
    text = texts[0] if len(texts) == 1 else f"(vector {' '.join(texts)})"
    sample.find, sample.where = "?i ?r", f"[{text} ?r]"
    return answer((i, each) for i, each in enumerate(sample.values(text)) if each is not None)


def a_predicate(sample: Sample) -> set[Any]:
    text = condition(sample.rng, 3)
    used = " ".join(names_in(text))
    sample.where, keeps = sample.rng.choice(
        (
            (f"[{text}]", holds),
            (f"(not [{text}])", lambda value: not holds(value)),
            (f"(or-join [{used}] [{text}])", holds),
            (f"(not-join [{used}] [{text} ?r] [(= ?r true)])", lambda value: value is not True),
        )[: 4 if used else 1]
    )
    sample.lenient = True
    return answer([i] for i, each in enumerate(sample.values(text)) if keeps(each))


def branches(sample: Sample) -> set[Any]:
    rng = sample.rng
    first, second = call(rng, 3), condition(rng, 2)
    sample.find, sample.lenient, sample.expressions = "?i ?r", True, 2
    used = " ".join(names_in(first, second))
    sample.where = f"(or-join [{used} ?r] [{first} ?r] (and [{second}] [(ground 0) ?r]))"
    if rng.random() < 0.5:
        heads = " ".join(
            f"[(r {f'[{used}]' if used else ''} ?r) {body}]"
            for body in (f"[{first} ?r]", f"[{second}] [(ground 0) ?r]")
        )
        sample.where, sample.rest = f"(r {used} ?r)", f":rules [{heads}]"
    found = [
        *enumerate(sample.values(first)),
        *((i, 0) for i, each in enumerate(sample.values(second)) if holds(each)),
    ]
    return answer(each for each in found if each[1] is not None)


def a_column(sample: Sample) -> set[Any]:
    texts = sample.texts(lambda: without_aggregates(sample.rng, 4), 10)
    sample.find = f"?i {' '.join(texts)}"
    return answer(zip(range(len(sample.rows)), *map(sample.values, texts), strict=True))


def a_group(sample: Sample) -> set[Any]:
    """A key, and aggregates of expressions."""
    rng = sample.rng
    key = without_aggregates(rng, 1)
    texts = sample.texts(lambda: call_of_rows(rng, 3, rng.choice(("number", "any"))), 5)
    names = [rng.choice(("count", "count-distinct", "min", "max", "distinct", "sum")) for _ in texts]
    aggregates = [f"({name} {text})" for name, text in zip(names, texts, strict=True)]
    sample.find, sample.rest = f"{key} {' '.join(aggregates)}", ":with ?i"
    groups: dict[Any, list[Any]] = defaultdict(list)
    for each, *values in zip(sample.values(key), *map(sample.values, texts), strict=True):
        groups[identity(each)].append(values)
    return {
        (each, *(identity(_aggregated(*column)) for column in zip(names, zip(*rows, strict=True), strict=True)))
        for each, rows in groups.items()
    }


def _aggregated(name: str, values: Sequence[Any]) -> Any:
    if name == "distinct":
        return (
            EdnSet(each for each in values if each is not None)
            if any(each is not None for each in values)
            else None
        )
    return aggregated(name, values)


def an_order(sample: Sample) -> list[Any]:
    rng = sample.rng
    texts = sample.texts(lambda: without_aggregates(rng, 3), 3)
    directions = [rng.choice(("", ":desc")) for _ in texts]
    terms = " ".join(f"{text} {direction}" for text, direction in zip(texts, directions, strict=True))
    sample.rest = f":order-by [{terms} ?i]"
    order = list(range(len(sample.rows)))
    for text, direction in reversed(list(zip(texts, directions, strict=True))):
        values = sample.values(text)
        known = [i for i in order if values[i] is not None]
        known.sort(key=lambda i, values=values: sort_key(values[i]), reverse=bool(direction))  # type: ignore[misc]
        order = known + [i for i in order if values[i] is None]
    return [(identity(i),) for i in order]


def names_in(*texts: str) -> list[str]:
    return [name for name in VALUES if any(name in each for each in texts)]


PLACES = (a_function, a_predicate, branches, a_column, a_group, an_order)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """One with Spark's tasks in this process."""
    with (
        pytest.MonkeyPatch.context() as patch,
        Database.open(":memory:") as database,
        spark_in_process(patch) as spark,
        pool_on(database, spark) as pool,
    ):
        for text in FACTS:
            database.transact(text)
        yield pool


@pytest.mark.timeout(0)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_a_place(pool: Pool, place: Callable[[Sample], Any]) -> None:
    checked = seed = 0
    while checked < NUMBER // len(PLACES):
        seed += 1
        sample = Sample(Random(f"{place.__name__} {seed}"))
        try:
            expected = place(sample)
        except Refused:
            expected = REFUSED
        except Unknown:
            continue
        if _OF_AN_ENTITY.search(sample.text) and sample.text.count("?w") > 2:
            continue
        checked += sample.expressions
        rng = sample.rng
        way = rng.choice(("", "", "", "cached", "SPARK"))
        options = SWITCHES[0] if way == "SPARK" else rng.choice(SWITCHES)
        for _ in range(2 if way == "cached" else 1):
            got = answered(pool, sample, options, way)
            if isinstance(expected, list) and isinstance(got, list):
                assert got == expected, (seed, way, sample.text, sample.argument)
                continue
            got = set(got) if isinstance(got, list) else got
            if not (sample.lenient and REFUSED in (expected, got)):
                assert got == expected, (seed, way, options, sample.text, sample.argument)


def answered(pool: Pool, sample: Sample, options: Any, way: str) -> Any:
    request = QueryRequest(
        sample.text,
        (read(sample.argument),),
        pool.database.snapshot(),
        engine="SPARK" if way == "SPARK" else "LOCAL",
        options=options,
        cached=way == "cached",
    )
    try:
        result = pool.run(request)
    except AdalogError as error:
        return REFUSED if error.code in _REFUSALS and error.position is not None else error
    rows = [tuple(map(identity, each)) for each in result.rows()]
    assert len(rows) == len(set(rows))
    return rows


# Live


@dataclass(frozen=True)
class Followed:
    """A query of entities with an attribute for each variable, its expression, and the values that it keeps."""

    text: str
    expression: str
    used: tuple[str, ...]
    keeps: Callable[[Any], bool]

    @staticmethod
    def random(rng: Random) -> Followed:
        others = rng.choice(VALUES["?z"])
        while True:
            is_column = rng.random() < 0.3
            expression = (without_aggregates if is_column else call)(rng, 3).replace("?z", others)
            used = tuple(name for name in VALUES if name in expression)
            # What looks into the database is asked again, and not maintained.
            if used and "$" not in expression:
                break
        where = ":where " + " ".join(f"[?n :v/{name[1:]} {name}]" for name in used)
        if is_column:
            return Followed(f"[:find ?n {expression} {where}]", expression, used, lambda value: True)
        text = f"[:find ?n ?r {where} [{expression} ?r]]"
        return Followed(text, expression, used, lambda value: value is not None)

    def answer(self, rows: dict[int, dict[str, str]]) -> Any:
        """None where the model does not say it."""
        kept = {n: each for n, each in rows.items() if all(each[name] != "nil" for name in self.used)}
        try:
            found = {n: value_of(self.expression, _read(each)) for n, each in kept.items()}
        except Refused:
            return REFUSED
        except Unknown:
            return None
        return answer((n, value) for n, value in found.items() if self.keeps(value))


def _read(texts: dict[str, str]) -> Row:
    return {name: read(text) for name, text in texts.items()}


def _written(n: int, old: dict[str, str], new: dict[str, str]) -> str:
    forms = [
        f"[:db/retract {n} :v/{name[1:]}]" if text == "nil" else f"[:db/add {n} :v/{name[1:]} {text}]"
        for name, text in new.items()
        if name != "?z" and text != old[name]
    ]
    return f"[{' '.join(forms)}]"


@pytest.mark.timeout(0)
def test_live_answers() -> None:
    nothing = dict.fromkeys(VALUES, "nil")
    for seed in range(max(1, NUMBER // 100)):
        rng = Random(f"live {seed}")
        with Database.open(":memory:") as database, pool_on(database, None) as pool:
            world = World(database, pool)
            world.tx(*FACTS)
            rows = {n: row(rng) for n in range(11, 15)}
            world.tx(*(_written(n, nothing, each) for n, each in rows.items()))
            queries = [Followed.random(rng) for _ in range(8)]
            live = {each: Live(world, each.text) for each in queries if isinstance(each.answer(rows), set)}
            for _ in range(3):
                n = rng.choice(list(rows))
                old, rows[n] = rows[n], row(rng)
                world.tx(_written(n, old, rows[n]))
                for query in [each for each in live if not isinstance(each.answer(rows), set)]:
                    del live[query]
                for query, each in live.items():
                    each.tx("[]")
                    assert each.rows == query.answer(rows), (seed, query)
