"""Ranges and prefixes by the index of an attribute's values: the same rows as without it, whatever was written,
retracted, folded and opened again, now and as of any moment."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.extenders.indexed_values import IndexedKeys
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.store.checkpoint import compactor
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries import relation, value_index
from tests.property.model import examples

SCHEMA = """[
 {:db/ident :s :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
 {:db/ident :d :db/valueType :db.type/double :db/cardinality :db.cardinality/many}
 {:db/ident :b :db/valueType :db.type/bigdec :db/cardinality :db.cardinality/one}]"""
TEXTS = (
    "",
    "a",
    "ab",
    "aba",
    "abb",
    "b",
    "a%",
    "a_b",
    "\x00",
    "a\x00",
    "é",
    "éa",
    "\uffff",
    "\U0001f600",
    "\U0001f600a",
    "zz",
)
DOUBLES = (
    "0.0",
    "-0.0",
    "1.5",
    "-1.5",
    "2.0",
    "0.1",
    "9007199254740992.0",
    "1e300",
    "-1e300",
    "##Inf",
    "##-Inf",
    "##NaN",
)
DECIMALS = (
    *(
        "0M",
        "1M",
        "1.0M",
        "1.00M",
        "-1M",
        "0.1M",
        "0.10000000000000000001M",
        "0.1000000000000000055511151231257827M",
    ),
    *("9007199254740993M", "9007199254740992M", "1E+400M", "2E+400M", "-1E+400M", "1E-400M", "-1E-400M"),
)
NUMBERS = (
    *DOUBLES,
    *DECIMALS,
    "0",
    "1",
    "2",
    "-1",
    "9007199254740993",
    "9223372036854775807",
    "10000000000000000000000N",
)
OTHERS = (":k", "true", "nil", '#inst "2020-01-01"', "\\a", "[1 2]")
QUOTED = tuple(f'"{text}"' for text in TEXTS)
VALUES = {":s": QUOTED, ":d": DOUBLES, ":b": DECIMALS}


@contextmanager
def folding_at_once() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_index, "LEAST", 2)
        patch.setattr(compactor, "_LEAST", 1)
        patch.setattr(compactor, "_SHARE", 0.0)
        patch.setattr(relation, "_LEAST", 4)
        yield patch


def conditions(rng: Random, attribute: str) -> str:
    """One condition of ?v or several."""
    found = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        probe = rng.choice(rng.choice((VALUES[attribute], VALUES[attribute], NUMBERS, QUOTED, OTHERS)))
        name = rng.choice(("<", "<=", ">", ">=", "<", "<=", ">", ">=", "==", "between"))
        if name == "between":
            other = rng.choice(VALUES[attribute])
            found.append(f"[(between ?v {probe} {other})]")
        elif rng.random() < 0.5:
            found.append(f"[({name} ?v {probe})]")
        else:
            found.append(f"[({name} {probe} ?v)]")
    if attribute == ":s" and rng.random() < 0.6:
        prefix = rng.choice(TEXTS)
        test = rng.choice((f'(starts-with? ?v "{prefix}")', f'(like ?v "{prefix}%")', f'(like ?v "{prefix}_%")'))
        found = [f"[{test}]", *found[: rng.choice((0, 0, 1))]]
    return " ".join(found)


def question(rng: Random) -> str:
    attribute = rng.choice(tuple(VALUES))
    tests = conditions(rng, attribute)
    if rng.random() < 0.2:
        other = rng.choice(tuple(VALUES))
        name = rng.choice(("<", ">=", "starts-with?" if attribute == other == ":s" else "<="))
        return f"[:find ?v ?w :where [?e {attribute} ?v] [?o {other} ?w] {tests} [({name} ?v ?w)]]"
    found = rng.choice(("?v", "?e ?v", "(count ?e)"))
    return f"[:find {found} :where [?e {attribute} ?v] {tests}]"


def transaction(rng: Random, live: set[tuple[int, str, str]]) -> str:
    """Adds alone, or retractions alone."""
    parts = []
    retracts = bool(live) and rng.random() < 0.4
    for _ in range(rng.randint(1, 8)):
        if retracts:
            if not live:
                break
            e, attribute, value = rng.choice(sorted(live))
            live.discard((e, attribute, value))
            parts.append(f"[:db/retract {e} {attribute} {value}]")
        else:
            attribute = rng.choice(tuple(VALUES))
            e, value = rng.randint(1000, 1006), rng.choice(VALUES[attribute])
            if any((e, attribute) == each[:2] for each in live) and attribute == ":b":
                continue
            live.add((e, attribute, value))
            parts.append(f"[:db/add {e} {attribute} {value}]")
    return f"[{' '.join(parts)}]"


def test_the_index_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of conditions with constants, now and before, with changes above the base."""
    slices = []
    narrowed = IndexedKeys.narrowed

    def noted(self: IndexedKeys, *args: Any) -> Any:
        found = narrowed(self, *args)
        slices.append(None if found is None else len(found[0].codes))
        return found

    monkeypatch.setattr(IndexedKeys, "narrowed", noted)
    with tempfile.TemporaryDirectory() as folder, folding_at_once():
        database = Database.open(folder)
        database.transact(SCHEMA)
        texts = " ".join(f'[:db/add {1100 + i} :s "{chr(97 + i % 26)}{i:03}"]' for i in range(200))
        numbers = " ".join(f"[:db/add {1100 + i} :d {i}.5][:db/add {1100 + i} :b {i}.5M]" for i in range(200))
        database.transact(f"[{texts} {numbers}]")
        database.compact()
        database.transact('[[:db/retract 1100 :s "a000"] [:db/add 1100 :s "aa"]]')
        pool = Pool(database, PoolSettings(threads=1))
        for tests, count in (
            ('[?e :s ?v] [(starts-with? ?v "a")]', 8),
            ('[?e :s ?v] [(like ?v "a%")]', 8),
            ('[?e :s ?v] [(between ?v "b" "c")]', 8),
            ('[?e :s ?v] [(like ?v "a%")] [(< ?v "a1")]', 3),
            ("[?e :d ?v] [(< 2 ?v)] [(<= ?v 10.5M)]", 9),
            ("[?e :b ?v] [(>= 2 ?v)]", 2),
        ):
            slices.clear()
            rows = pool.run(QueryRequest(f"[:find ?v :where {tests}]", [], database.snapshot())).rows()
            assert (len(list(rows)), slices) == (count, [count]), tests
        pool.close()
        database.close()


def rows_of(pool: Pool, text: str, snapshot: Snapshot) -> object:
    try:
        return sorted(map(repr, pool.run(QueryRequest(text, [], snapshot)).rows()))
    except Exception as error:
        return type(error), str(error)


@settings(max_examples=examples(40))
@given(st.integers(0, 2**48))
def test_an_index_changes_no_answer(seed: int) -> None:
    rng = Random(seed)
    live: set[tuple[int, str, str]] = set()
    with tempfile.TemporaryDirectory() as folder, folding_at_once() as patch:
        database = Database.open(folder)
        try:
            database.transact(SCHEMA)
            every = " ".join(
                f"[:db/add {1100 + i} {a} {v}]" for a, own in VALUES.items() for i, v in enumerate(own)
            )
            database.transact(f"[{every}]")
            database.compact()
            assert all(database.snapshot().ve(each).base.order is not None for each in indexed(database))
            for _ in range(rng.randint(2, 6)):
                match rng.choice(("transact", "transact", "compact", "restart")):
                    case "transact":
                        database.transact(transaction(rng, live))
                    case "compact":
                        database.compact()
                    case "restart":
                        database.close()
                        database = Database.open(folder)
                pool = Pool(database, PoolSettings(threads=1))
                views = [database.snapshot(), database.at(as_of=rng.randint(2, database.snapshot().t))]
                for snapshot in views:
                    for text in (question(rng) for _ in range(8)):
                        by_index = rows_of(pool, text, snapshot)
                        with patch.context() as switched:
                            switched.setattr(IndexedKeys, "narrowed", lambda *_: None)
                            plain = rows_of(pool, text, snapshot)
                        assert by_index == plain, text
                pool.close()
        finally:
            database.close()


def indexed(database: Database) -> list:
    return [each for each in database.snapshot().attributes() if str(each.ident) in VALUES]
