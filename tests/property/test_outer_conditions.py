"""Conditions on what a query within the query finds: the engine, which repeats them within, against the oracle."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.spark.engine import SparkEngine
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from tests.property.generated import (
    AGGREGATES,
    CONSTANTS,
    HOME,
    VALUES,
    VARIABLES,
    Asked,
    Writer,
    transaction,
    transactions,
)
from tests.property.model import SWITCHES, asked_of, check, examples, filled
from tests.property.test_maintained import follow, written
from tests.support import pool_on

SEEDS = st.integers(0, 2**48)
ODD = ("0.0", "-0.0", "##NaN", ":a", ":color/red", "nil", "1.0")


def query(rng: Random) -> Asked:
    writer = Writer(rng)
    # The oracle reads a variable in the places of attributes and entities as one in the outermost query alone.
    writer.wide = 2
    within, columns, args = inner(rng, writer)
    names = sorted(columns)
    inputs = {name: rng.choice(CONSTANTS[:6]) for name in ("?g", *names) if writer.chance(12)}
    outer = [*names, *names, *inputs, *rng.sample(VARIABLES, int(writer.chance(20)))]
    conditions = [condition(rng, columns, outer) for _ in range(rng.choice((1, 1, 2)))]
    if "?g" in inputs:
        conditions.append(f"[({rng.choice(('=', '<', 'not='))} {rng.choice(names)} ?g)]")
    clauses = [within, *conditions, *(writer.pattern((each,), must=each) for each in args)]
    if writer.chance(20):
        clauses.append(writer.pattern(tuple(names), must=rng.choice(names)))
    found = " ".join(dict.fromkeys((*rng.sample(names, rng.randint(1, len(names))), *args)))
    clauses = [arranged(rng, clauses, names)] if writer.chance(25) else clauses
    rng.shuffle(clauses)
    text = " ".join(clauses)
    others = [each for each in VARIABLES if each in outer and each not in (*names, *inputs, *args)]
    clauses += [writer.pattern((each,), must=each) for each in others if re.search(rf"{re.escape(each)}\b", text)]
    head = f"[:find {found} :in $ {' '.join(inputs)}"
    return Asked(head, tuple(clauses), "", tuple(inputs.values()), writer.partial)


def inner(rng: Random, writer: Writer) -> tuple[str, dict[str, str], list[str]]:
    """A clause that calls a query, the variables that it is bound to with those within, and those that it takes."""
    names = tuple(rng.sample(VARIABLES, rng.randint(2, 3)))
    found = rng.sample(names, rng.randint(1, 2))
    clauses = [writer.clause(names, 1) for _ in range(rng.choice((0, 0, 1)))]
    for each in found:
        plain = f"[{rng.choice(('?e', '?f'))} {rng.choice(HOME[each])} {each}]"
        clauses.append(plain if writer.chance(80) else writer.pattern(names, must=each))
    if writer.chance(20):
        clauses[-1] = f"(optional {clauses[-1]})"
    elements, section = list(found), ""
    if writer.chance(60):
        elements[-1] = f"({rng.choice(AGGREGATES)} {found[-1]})"
        rest = [each for each in names if each not in found and writer.chance(40)]
        section = f":with {' '.join(rest)}"[: 100 * len(rest)]
        clauses += [writer.pattern((each,), must=each) for each in rest]
    taken = [rng.choice(names)] if writer.chance(20) else []
    outer = rng.sample(VARIABLES, len(elements))
    if len(outer) > 1 and writer.chance(20):
        outer[1] = rng.choice((outer[0], "_"))
    if len(elements) == 1 and writer.chance(30):
        find, binding = f"[{elements[0]} ...]", f"[{outer[0]} ...]"
    else:
        find, binding = " ".join(elements), f"[[{' '.join(outer)}]]"
    text = f"[:find {find} {section} :in $ {' '.join(taken)} :where {' '.join(clauses)}]"
    columns = {name: within for name, within in zip(outer, found, strict=True) if name != "_"}
    return f"[(q {text} $ {' '.join(taken)}) {binding}]", columns, taken


def condition(rng: Random, columns: dict[str, str], names: list[str]) -> str:
    name = rng.choice(names)
    likely = [value for attribute in HOME[columns.get(name, "?a")] for value in VALUES[attribute]]
    values = rng.sample((*likely, *likely, *ODD), 3)
    value, several = values[0], " ".join(values)
    other = rng.choice((*names, *values))
    simple = [
        f"[({rng.choice(('=', '<', '<=', '>', '>=', 'not=', '=='))} {name} {other})]",
        f"[({rng.choice(('=', '<'))} {value} {name})]",
        f"[({rng.choice(('nil?', 'some?', 'number?', 'keyword?'))} {name})]",
        f"[(between {name} {value} {other})]",
        f"[(= (coalesce {name} {value}) {other})]",
        f"[({rng.choice(('in', 'not-in'))} {name} [{several}])]",
        f"[(ground {value}) {name}]",
        f"[(ground [{several}]) [{name} ...]]",
        f"[(identity {other}) {name}]",
    ]
    one, another = (rng.choice((*simple[:3], *simple)) for _ in range(2))
    return rng.choice(
        (
            one,
            one,
            one,
            f"(not {one})",
            f"(not {one})",
            f"(or {one} {another})",
            f"(or {one} (and {one} {another}))",
        )
    )


def arranged(rng: Random, clauses: list[str], names: list[str]) -> str:
    """The clauses with some of them in a scope within."""
    place = rng.randint(1, len(clauses))
    inside, outside = " ".join(clauses[:place]), " ".join(clauses[place:])
    listed = " ".join(names)
    scope = rng.choice(
        (
            f"(or (and {inside}) {' '.join(f'[{each} :n 1]' for each in names[:1])})",
            f"(or-join [{listed}] (and {inside}) (and {inside} {outside}))",
            f"(and {inside})",
            f"(optional {inside})",
            f"{' '.join(f'[_ _ {each}]' for each in names)} (not {inside})",
            f"{' '.join(f'[_ _ {each}]' for each in names)} (not-join [{names[0]}] {inside})",
        )
    )
    return f"{scope} {outside}"


@settings(max_examples=examples(10))
@given(SEEDS)
def test_conditions_of_one_moment(seed: int) -> None:
    rng = Random(seed)
    with Database.open(":memory:") as database:
        log = filled(database, transactions(rng))
        facts = log.facts()
        pool = Pool(database, PoolSettings(threads=1))
        for _ in range(4):
            asked = asked_of(facts, rng, query)
            check(pool, database.snapshot(), facts, asked, (Options(magic=False), *SWITCHES))
        pool.close()


@settings(max_examples=examples(4))
@given(SEEDS)
def test_conditions_from_moment_to_moment(seed: int) -> None:
    rng = Random(seed)
    with Database.open(":memory:") as database:
        filled(database, transactions(rng))
        follow(database, rng, query, (written(rng) for _ in range(4)))


@pytest.mark.spark
def test_conditions_on_spark(spark: SparkEngine) -> None:
    rng = Random(5)
    with Database.open(":memory:") as database, pool_on(database, spark) as pool:
        log = filled(database, transactions(rng))
        log.datoms.extend(database.transact(transaction(rng)).datoms)
        facts = log.facts()
        for _ in range(max(4, examples(4))):
            check(pool, database.snapshot(), facts, asked_of(facts, rng, query), SWITCHES[:1], engine="SPARK")
