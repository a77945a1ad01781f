"""Queries that group first and look up the rest for the groups that are left, against the oracle, and the same
without that: lines of orders of customers of nations, in every kind of view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.edn import read
from adalog.datalog.errors import Code
from adalog.executor.evaluation import compile as compiling
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.planner import group_lookups
from adalog.planner.model.plan import Options
from adalog.store.snapshot.snapshot import Snapshot
from tests.property.generated import Asked
from tests.property.model import Log, View, answered, check, examples, opened

SCHEMA = """[{:db/ident :nation/name :db/valueType :db.type/string :db/unique :db.unique/value}
 {:db/ident :customer/key :db/valueType :db.type/long :db/unique :db.unique/identity}
 {:db/ident :customer/name :db/valueType :db.type/string}
 {:db/ident :customer/nation :db/valueType :db.type/ref}
 {:db/ident :order/key :db/valueType :db.type/long :db/unique :db.unique/identity}
 {:db/ident :order/customer :db/valueType :db.type/ref}
 {:db/ident :order/date :db/valueType :db.type/long}
 {:db/ident :order/tag :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
 {:db/ident :line/order :db/valueType :db.type/ref}
 {:db/ident :line/n :db/valueType :db.type/long}
 {:db/ident :line/price :db/valueType :db.type/bigdec}]"""
NATIONS, CUSTOMERS, ORDERS, LINES = range(9000, 9003), range(9100, 9104), range(9200, 9206), range(9300, 9312)
LOOKUPS = (
    "[?o :order/key ?key]",
    "[?o :order/customer ?c]",
    "[?o :order/date ?date]",
    "[?o :order/tag ?tag]",
    "[?c :customer/name ?name]",
    "[?c :customer/key ?number]",
    "[?c :customer/nation ?nation]",
    "[?nation :nation/name ?land]",
)
CONDITIONS = (
    "[(< ?date 3)]",
    "[(not= ?c 9101)]",
    "(not [?c :customer/number 1])",
    '(not [?o :order/tag "a"])',
    '(or [?o :order/date 1] [?o :order/tag "b"])',
    "[?other :order/customer ?c] [?other :order/date 2]",
    "[?other :customer/name ?name] [?other :customer/key 1]",
    "[?l :line/n ?date]",
    "[?o :order/customer ?c]",
    "(of ?l ?o)",
)
SEEDS = st.integers(0, 2**48)


@pytest.fixture(scope="module")
def ways() -> Iterator[Counter[bool]]:
    """Groups first wherever that is right. How often that was."""
    found: Counter[bool] = Counter()

    def counted(*arguments: object) -> object:
        made = original(*arguments)  # type: ignore[arg-type]
        found[made is not None] += 1
        return made

    original = group_lookups.group_lookups
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_lookups, "_MANY", 0.0)
        patch.setattr(group_lookups, "_CHEAPER", inf)
        patch.setattr(group_lookups, "_MORE_ROWS", inf)
        patch.setattr(compiling, "group_lookups", counted)
        yield found


def values(rng: Random) -> list[str]:
    """A value of each attribute, which some entities have not."""
    missing = rng.choice((0, 0, 0.15, 0.4))
    forms = []
    for entities, of in (
        (NATIONS, {":nation/name": lambda e: f'"land {e}"'}),
        (
            CUSTOMERS,
            {
                ":customer/key": lambda e: e - 9100,
                ":customer/name": lambda e: rng.choice(('"x"', '"y"')),
                ":customer/nation": lambda e: rng.choice(NATIONS),
            },
        ),
        (
            ORDERS,
            {
                ":order/key": lambda e: e - 9200,
                ":order/customer": lambda e: rng.choice(CUSTOMERS),
                ":order/date": lambda e: rng.randrange(4),
                ":order/tag": lambda e: rng.choice(('"a"', '"b"')),
            },
        ),
        (
            LINES,
            {
                ":line/order": lambda e: rng.choice(ORDERS),
                ":line/n": lambda e: rng.randrange(-1, 4),
                ":line/price": lambda e: f"{rng.randrange(-3, 3)}.5M",
            },
        ),
    ):
        for e in entities:
            for name, value in of.items():
                if rng.random() >= missing:
                    forms.append(f"[:db/add {e} {name} {value(e)}]")
    return forms


def change(rng: Random) -> str:
    if rng.random() < 0.4:
        return f"[[:db/retractEntity {rng.choice((*CUSTOMERS, *ORDERS, *NATIONS))}]]"
    return f"[{' '.join(rng.sample(values(rng), 8))}]"


def question(rng: Random) -> Asked:
    lookups = [each for each in LOOKUPS if rng.random() < 0.6]
    divided = rng.random() < 0.15
    if divided or rng.random() < 0.7:
        # What is tied to the lines by nothing may be empty, whatever the lines are refused for.
        for entity, tie in (("[?nation ", LOOKUPS[6]), ("[?c ", LOOKUPS[1])):
            if any(each.startswith(entity) for each in lookups) and tie not in lookups:
                lookups.append(tie)
    clauses = ["[?l :line/order ?o]", "[?l :line/n ?n]", *lookups]
    clauses.append("[?l :line/price ?p]")
    if rng.random() < 0.4:
        clauses.append(rng.choice(CONDITIONS))
    rng.shuffle(clauses)
    if divided:
        # After what else there is, so that only rows that the answer needs have its errors.
        clauses.append("[(/ 6 ?n) ?share]")
    written = " ".join(clauses)
    groups = [
        each
        for each in ("?o", "?c", "?key", "?date", "?tag", "?name", "?number", "?nation", "?land")
        if each in written
    ]
    shown = rng.sample(groups, rng.randint(1, min(4, len(groups))))
    aggregates = rng.sample(
        ["(sum ?n)", "(count ?l)", "(max ?n)", "(count-distinct ?n)", "(count ?share)" if divided else "(sum ?p)"],
        rng.randint(1, 3),
    )
    elements = [*shown, *aggregates]
    rng.shuffle(elements)
    given: str = ""
    args: tuple[str, ...] = ()
    if rng.random() < 0.2:
        given, args = rng.choice(
            ((" ?c", ("9101",)), (" ?o", ("9202",)), (" [?date ...]", ("[0 1 2]",)), (" ?name", ('"x"',)))
        )
    tail = ""
    if rng.random() < 0.4:
        having = ["(> (sum ?n) 2)", "(< (count ?l) 3)", "(!= (max ?n) 0)", "(and (> (sum ?n) 0) (< (sum ?n) 5))"]
        if shown[0] in ("?key", "?date", "?number"):
            having.append(f"(> {shown[0]} 1)")
        if rng.random() < 0.2:
            having = ["(> (/ 6 (sum ?n)) 1)"]
        tail = f" :having [{rng.choice(having)}]"
    if rng.random() < 0.3:
        tail += f" :order-by [{' '.join(elements)}]"
        if rng.random() < 0.5:
            tail += f" :limit {rng.randint(1, 3)} :offset {rng.randint(0, 1)}"
    with_ = rng.choice((" :with ?l", " :with ?l", " :with ?l ?o", " :with ?n ?l", ""))
    head = f"[:find {' '.join(elements)}{with_} :in ${given}"
    rules = (("(of ?l ?o)", "[?l :line/order ?o]"),) if "(of" in written else ()
    return Asked(head, tuple(clauses), tail, args, partial=False, rules=rules)


def transactions(rng: Random) -> list[str]:
    return [SCHEMA, f"[{' '.join(values(rng))}]", *(change(rng) for _ in range(rng.choice((0, 0, 1, 3))))]


SWITCHES = (Options(), Options(look_up=False))


def check_both(pool: Pool, snapshot: Snapshot, facts: View, rng: Random) -> None:
    """Conditions of groups, order and limit are none of the oracle's: there both ways have to agree."""
    asked = question(rng)
    check(pool, snapshot, facts, replace(asked, tail=""), SWITCHES)
    if asked.tail:
        arguments = [read(each) for each in asked.args]
        found = [
            answered(pool, QueryRequest(asked.text, arguments, snapshot, engine="LOCAL", options=options))
            for options in SWITCHES
        ]
        if ":order-by" not in asked.tail:
            found = [each if isinstance(each, Code) else set(each) for each in found]
        assert found[0] == found[1], (asked.text, asked.args)


@settings(max_examples=examples(20))
@given(SEEDS)
def test_queries_of_the_present(ways: Counter[bool], seed: int) -> None:
    rng = Random(seed)
    with opened(rng, transactions(rng), 0.4) as (database, pool, log):
        facts = log.facts()
        for _ in range(8):
            check_both(pool, database.snapshot(), facts, rng)


@settings(max_examples=examples(12))
@given(SEEDS)
def test_queries_of_other_views(ways: Counter[bool], seed: int) -> None:
    """As of, since, and the history; and what a transaction would make of the database."""
    rng = Random(seed)
    with opened(rng, transactions(rng), 0.4) as (database, pool, log):
        for _ in range(3):
            as_of = rng.randint(1, database.snapshot().t)
            since = rng.choice((0, 0, as_of // 2))
            history = rng.random() < 0.4
            snapshot = database.at(as_of=as_of, since=since or None, history=history)
            facts = log.facts(as_of=as_of, since=since, history=history)
            for _ in range(3):
                check_both(pool, snapshot, facts, rng)
        tried, report = database.speculate(database.snapshot(), change(rng))
        then = Log([*log.datoms, *report.datoms])
        for _ in range(3):
            check_both(pool, tried, then.facts(), rng)


def test_both_ways_were_taken(ways: Counter[bool]) -> None:
    assert ways[True] > 5, ways
    assert ways[False] > 5, ways
