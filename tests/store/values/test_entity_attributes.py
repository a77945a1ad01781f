"""Reads of one entity among many attributes: right at every moment, and at the cost of the entity's own."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adalog.datalog.values import EdnMap, Keyword
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.snapshot import attribute_index, snapshot
from adalog.store.snapshot.attribute_index import AttributeIndex
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.delta import Delta
from tests.store.values.test_many_attributes import calls

ATTRIBUTES = 12
ENTITIES = 5


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is used from the first attribute on, sorted often, and left by attributes soon."""
    monkeypatch.setattr(snapshot, "_FEW_ATTRIBUTES", 0)
    monkeypatch.setattr(attribute_index, "_YOUNG", 4)
    monkeypatch.setattr("adalog.store.state.head.MANY", 6)


def transactions(dice: random.Random) -> Iterator[str]:
    """Facts of a few entities that come and go, of attributes that some have; one refers to others."""
    for _ in range(40):
        e, other, number = dice.randrange(1, ENTITIES), dice.randrange(1, ENTITIES), dice.randrange(ATTRIBUTES)
        yield dice.choice(
            [
                f"[[:db/add {e} :own/a{number} {other}]]",
                f"[[:db/add {e} :own/a{number} {other}] [:db/add {other} :own/a{number} {e}]]",
                f"[[:db/add {e} :to/r{number % 3} {other}]]",
                f"[[:db/retract {e} :own/a{number}]]",
                f"[[:db/retractEntity {e}]]",
            ]
        )


def pulled(read: Callable[[Any], Any], at: Snapshot, e: int) -> Any:
    found = read(QueryRequest("[:find (pull ?e [*]) . :in $ ?e]", (e,), snapshot=at, engine="LOCAL")).rows()
    value = found[0][0] if found else None
    return dict(value) if isinstance(value, EdnMap) else value


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(3))
def test_an_entity_is_read_as_all_attributes_say(seed: int, tmp_path: Path) -> None:
    dice, folder = random.Random(seed), str(tmp_path / "data")
    refs = " ".join(
        f"{{:db/ident :to/r{n} :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}}" for n in range(3)
    )
    for _ in range(2):
        with Database.open(folder) as database:
            pool = Pool(database)
            try:
                database.transact(f"[{refs}]")
                for number, text in enumerate(transactions(dice)):
                    database.transact(text)
                    if number == 20:
                        database.compact()
                now = database.snapshot()
                forked, _report = database.speculate(now, "[[:db/add 1 :own/new 3] [:db/add 2 :own/a1 9]]")
                for at in (now, now.as_of(now.t // 2), now.since(now.t // 2), now.history(), forked):
                    for e in range(ENTITIES):
                        every = [
                            each
                            for attribute in at.attributes()
                            for each in at.columns(attribute).e.tolist()
                            if each == e
                        ]
                        own = list(at.datoms("EAVT", [e]))
                        assert len(own) == len(every)
                        query = QueryRequest(f"[:find ?a ?v ?t ?op :where [{e} ?a ?v ?t ?op]]", snapshot=at)
                        assert len(pool.run(query).rows()) == len(own)
                        if not at.is_history:
                            shown = pulled(pool.run, at, e)
                            assert set(shown or ()) - {Keyword("db/id")} == {each.a for each in own}
                            rows = pool.run(QueryRequest(f"[:find ?a ?v :where [{e} ?a ?v]]", snapshot=at)).rows()
                            assert len(rows) == len(own)
                database.transact("[[:db/retractEntity 1]]")
                assert list(database.snapshot().datoms("EAVT", [1])) == []
                for attribute in database.snapshot().attributes():
                    assert not attribute.is_ref or 1 not in database.snapshot().columns(attribute).v
            finally:
                pool.close()


def test_the_work_on_an_entity_does_not_grow_with_the_attributes() -> None:
    with Database.open(":memory:") as database:
        database.transact("[" + " ".join(f"[:db/add {n} :attr/a{n} {n}]" for n in range(400)) + "]")

        def read() -> None:
            now = database.snapshot()
            list(now.datoms("EAVT", [1]))
            now.attributes_of(np.array([1], np.int64))

        def sweep() -> None:
            database.speculate(database.snapshot(), "[[:db/retractEntity 1]]")

        read()
        few = calls(read), calls(sweep)
        database.transact("[" + " ".join(f"[:db/add {n} :attr/a{n} {n}]" for n in range(400, 2000)) + "]")
        read()
        assert calls(read) < 1.5 * few[0]
        assert calls(sweep) < 1.5 * few[1]


def test_the_index_finds_what_was_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribute_index, "_YOUNG", 3)
    dice, index, model = random.Random(5), AttributeIndex(), dict[int, set[int]]()
    left: set[int] = set()
    for number in range(2000):
        e, a = dice.randrange(40), dice.randrange(30)
        if number % 100 == 99:
            index.leave(a)
            left.add(a)
        elif a not in left:
            index.add(e, a)
            model.setdefault(e, set()).add(a)
        some = sorted(dice.sample(range(45), dice.randrange(1, 4)))
        found = index.of(np.array(some, np.int64))
        assert found == sorted(found)
        assert set(found) >= {a for each in some for a in model.get(each, ())} | left
        assert len(found) == len(set(found))


@pytest.mark.parametrize("length", [3, 8, 9, 40])
def test_a_delta_says_the_same_however_many_events_it_has(length: int) -> None:
    dice, delta, model = random.Random(length), Delta(), list[tuple[int, int, int, bool]]()
    for t in range(1, length + 1):
        e, v = dice.randrange(3), dice.randrange(3)
        event = (e, v, t, t % 3 != 0)
        delta.append(*event)
        model.append(event)
    assert len(delta) == length
    for each in (delta, delta.copy(0, length)):
        for t in range(length + 2):
            assert each.length_at(t) == sum(1 for event in model if event[2] <= t)
            assert each.last_at(t) == max((event[2] for event in model if event[2] <= t), default=0)
        for start in range(length):
            columns = each.events(start, length)
            columns_of = (columns.e.tolist(), columns.v.tolist(), columns.t.tolist(), columns.added.tolist())
            assert list(zip(*columns_of, strict=True)) == model[start:]
        for key in range(4):
            assert each.values(key) == {v: added for e, v, _, added in model if e == key}
            assert each.entities(key) == {e: added for e, v, _, added in model if v == key}
            assert each.mentions(key) == any(e == key for e, _, _, _ in model)
        held = {pair for pair in {(e, v) for e, v, _, _ in model} if each.values(pair[0])[pair[1]]}
        few = each.few(length)
        assert few is None or set(few) == held
