"""Random expressions over aggregates, in `:find` and `:having`: against `tests.property.expressions`, and alike on
every engine and in live queries."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import BigInt, identity, sort_key
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.language.test_live_traps import Live
from tests.property.expression_meaning import holds
from tests.property.expression_numbers import Refused, Unknown
from tests.property.expression_values import KINDS, VALUES
from tests.property.expressions import call_of_rows, row, value_of, without_aggregates
from tests.property.model import SWITCHES, examples
from tests.spark.spark_in_process import spark_in_process
from tests.support import World, pool_on

SEEDS = st.integers(0, 2**48)
NAMES = " ".join(VALUES)
_NAME = r"\?[a-z]"
AGGREGATES = ("sum", "count", "count-distinct", "min", "max")


def aggregated(name: str, values: list[Any]) -> Any:
    values = [each for each in values if each is not None]
    if name == "count":
        return len(values)
    if name == "count-distinct":
        return len(set(map(identity, values)))
    if not values:
        return None
    if name in ("min", "max"):
        return (min if name == "min" else max)(values, key=sort_key)
    kinds = set(map(type, values))
    if not kinds <= {int, BigInt, float, Decimal} or any(each != each or math.isinf(each) for each in values):
        raise Unknown
    total = sum(map(Fraction, values), Fraction(0))
    if float in kinds:
        try:
            return float(total)
        except OverflowError:
            raise Unknown from None
    if Decimal in kinds:
        return Context(prec=9000).divide(Decimal(total.numerator), Decimal(total.denominator))
    if BigInt in kinds:
        return BigInt(total)
    if not -(2**63) <= total < 2**63:
        raise Refused
    return int(total)


@dataclass(frozen=True)
class Grouped:
    """A call whose variables stand for aggregates: each for (aggregate, what it aggregates)."""

    text: str
    meaning: dict[str, tuple[str, str]]

    @staticmethod
    def random(rng: Random, text: str) -> Grouped:
        meaning: dict[str, tuple[str, str]] = {}
        for name in sorted(set(re.findall(_NAME, text))):
            kind = next(kind for kind, names in KINDS.items() if name in names)
            inner = name if rng.random() < 0.4 else call_of_rows(rng, 1, kind)
            meaning[name] = (rng.choice(AGGREGATES if kind == "number" else ("min", "max", "max")), inner)
        return Grouped(text, meaning)

    @property
    def written(self) -> str:
        return re.sub(_NAME, lambda found: "({} {})".format(*self.meaning[found[0]]), self.text)

    def columns(self, group: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            name: aggregated(aggregate, [value_of(inner, each) for each in group])
            for name, (aggregate, inner) in self.meaning.items()
        }


def answered(pool: Pool, request: QueryRequest) -> Any:
    try:
        return {tuple(map(identity, each)) for each in pool.run(request).rows()}
    except AdalogError as error:
        return "refused" if error.code is Code.QUERY_INVALID else error


@settings(max_examples=examples(60))
@given(SEEDS)
def test_expressions_over_aggregates(seed):
    rng = Random(seed)
    rows = [(rng.randrange(3), row(rng, 0.2)) for _ in range(rng.randint(1, 6))]
    shown = Grouped.random(rng, f"(coalesce {without_aggregates(rng, 2)} ?a)")
    test = Grouped.random(rng, without_aggregates(rng, 1, "boolean"))
    groups: dict[int, list[dict[str, Any]]] = {}
    for key, texts in rows:
        groups.setdefault(key, []).append({name: read(text) for name, text in texts.items()})

    def compute() -> set[Any]:
        columns = [(key, test.columns(group), shown.columns(group)) for key, group in groups.items()]
        kept = [(key, given) for key, limits, given in columns if holds(value_of(test.text, limits))]
        return {(identity(key), identity(value_of(shown.text, given))) for key, given in kept}

    try:
        expected: Any = compute()
    except Refused:
        expected = "refused"
    except Unknown:
        return
    argument = " ".join(f"[{i} {key} {' '.join(each.values())}]" for i, (key, each) in enumerate(rows))
    having = f":having [{test.written}]" if test.meaning else ""
    if not having:
        return
    text = f"[:find ?k {shown.written} :with ?i {NAMES} :in $ [[?i ?k {NAMES}]] {having}]"
    with Database.open(":memory:") as database, pool_on(database, None) as pool:
        request = QueryRequest(text, (read(f"[{argument}]"),), options=rng.choice(SWITCHES))
        assert answered(pool, request) == expected, (text, argument)


# Every engine, and live


def whole(rng: Random, depth: int, names: tuple[str, ...]) -> str:
    """A call of small whole numbers, which is never refused."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice((*names, *names, "1", "2", "-3", "nil"))
    few = depth - 1
    match rng.randrange(5):
        case 0 | 1:
            return f"({rng.choice('+-*')} {whole(rng, few, names)} {whole(rng, few, names)})"
        case 2:
            return f"(if {compared(rng, few, names)} {whole(rng, few, names)} {whole(rng, few, names)})"
        case 3:
            return f"(coalesce {whole(rng, few, names)} {whole(rng, few, names)})"
        case _:
            return f"(case {whole(rng, few, names)} 1 {whole(rng, few, names)} (2 3) {whole(rng, few, names)} 7)"


def compared(rng: Random, depth: int, names: tuple[str, ...]) -> str:
    compare = rng.choice(("<", ">", "<=", "=", "not="))
    return f"({compare} {whole(rng, depth, names)} {whole(rng, depth, names)})"


def called(text: str) -> str:
    return text if text.startswith("(") else f"(identity {text})"


WHERE = ":where [?e :g/k ?k] [?e :g/a ?a] [?e :g/b ?b]"


def queries(rng: Random) -> list[str]:
    names = ("?a", "?b")
    inner, other = (called(whole(rng, 2, names)) for _ in range(2))
    over = (f"(sum {inner})", f"(count {other})", f"(max {inner})", "(min ?a)")
    shown, test = called(whole(rng, 2, over)), compared(rng, 1, over)
    shown = shown if any(each in shown for each in over) else f"(coalesce {shown} (count ?a))"
    having = f":having [{test}]" if any(each in test for each in over) else ""
    return [
        f"[:find ?e {inner} {WHERE}]",
        f"[:find {inner} (sum {other}) (count {inner}) (max {other}) :with ?e {WHERE}]",
        f"[:find ?k {shown} :with ?e ?a ?b {WHERE} {having}]",
        f"[:find ?k (count-distinct {inner}) :with ?e ?a ?b {WHERE} {having}]",
        f"[:find ?e ?v {WHERE} [{inner} ?v] (not [{compared(rng, 2, names)}])]",
        f"[:find ?e {WHERE} (or-join [?a ?b] [{compared(rng, 2, names)}] [{compared(rng, 1, names)}])]",
    ]


def heads(rng: Random) -> list[tuple[str, str]]:
    """(a query of a rule with calls in its head, one whose rows without nil are the same)."""
    names = ("?a", "?b")
    inner, other = (called(whole(rng, 2, names)) for _ in range(2))
    body = WHERE.removeprefix(":where ")
    plain, grouped = f"?e {inner} ?k", f"{inner} (sum {other}) (count {inner}) (max {other})"
    several = f"?k (sum {inner}) (count {other})"
    bound = f":where [_ :g/k ?x] (r ?x ?y ?z) :rules [[(r {several}) :with ?e {body}]]"
    return [
        (f"[:find ?x ?y ?z :where (r ?x ?y ?z) :rules [[(r {plain}) {body}]]]", f"[:find {plain} {WHERE}]"),
        (
            f"[:find ?w ?x ?y ?z :where (r ?w ?x ?y ?z) :rules [[(r {grouped}) {body}]]]",
            f"[:find {grouped} {WHERE}]",
        ),
        (f"[:find ?x ?y ?z {bound}]", f"[:find {several} :with ?e {WHERE}]"),
    ]


def written(rng: Random) -> str:
    forms = (
        f"[:db/add {e} :g/{name} {rng.randint(-3, 4)}]" for e in range(1, 7) for name in "kab" if rng.random() < 0.4
    )
    kept = " ".join(form for form in forms if rng.random() < 0.9)
    return f"[{kept}]" if rng.random() < 0.8 else f"[[:db/retractEntity {rng.randint(1, 6)}]]"


@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SEEDS)
def test_every_engine_and_live_queries_agree(monkeypatch, seed):
    rng = Random(seed)
    with (
        Database.open(":memory:") as database,
        spark_in_process(monkeypatch) as spark,
        pool_on(database, spark) as pool,
    ):
        world = World(database, pool)
        world.tx("[{:db/id 1 :g/k 0 :g/a 0 :g/b 0}]", *(written(rng) for _ in range(3)))
        asked = queries(rng)
        ruled = [rng.choice(heads(rng))]
        texts = [*asked, *(text for text, _ in ruled)]
        live = [Live(world, text) for text in texts]
        for _ in range(3):
            world.tx(written(rng))
            for each in live:
                each.tx("[]")
        for text in texts:
            answers = [answered(pool, QueryRequest(text, (), options=each)) for each in SWITCHES[:3]]
            answers += [answered(pool, QueryRequest(text, (), engine="SPARK"))]
            assert isinstance(answers[0], set), (text, answers[0])
            assert all(each == answers[0] for each in answers), (text, answers)
        for text, twin in ruled:
            rows = {row for row in answered(pool, QueryRequest(twin, ())) if identity(None) not in row}
            assert answered(pool, QueryRequest(text, ())) == rows, (text, twin)
