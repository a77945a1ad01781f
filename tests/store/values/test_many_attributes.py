"""The thousandth attribute is installed, used and read at the work of the first, counted in calls of Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.state.settings import Evaluation, TransactionSettings
from adalog.store.state.speculation import SpeculativeState
from adalog.store.transact.resolve import Transaction, resolve
from adalog.store.values.layered import Layered
from adalog.store.values.schema import Schema
from adalog.store.values.schema_policy import SchemaPolicy

DECLARATION = "[{{:db/ident :attr/a{} :db/valueType :db.type/string :db/cardinality :db.cardinality/one}}]"


def calls(work: Callable[[], object]) -> int:
    """How many functions and lines of this process's Python the work takes, comprehensions included."""
    count = 0

    def trace(_frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def resolved(database: Database, text: str) -> None:
    resolve(
        Transaction.of(text),
        SpeculativeState(database.snapshot()),
        Evaluation(TransactionSettings()),
        SchemaPolicy(),
    )


@pytest.mark.parametrize(
    "text",
    [
        DECLARATION.format("new"),
        '[[:db/add 1 :used/first "value"]]',
        '[[:db/add 1 :attr/a0 "value"]]',
    ],
)
def test_the_work_of_a_transaction_does_not_grow_with_the_attributes(text: str) -> None:
    with Database.open(":memory:") as database:
        database.transact(DECLARATION.format(0))
        few = calls(lambda: resolved(database, text))
        forms = " ".join(DECLARATION.format(number)[1:-1] for number in range(1, 1001))
        database.transact(f"[{forms}]")
        assert calls(lambda: resolved(database, text)) < 1.5 * few


def test_the_writers_state_does_not_look_at_every_attribute() -> None:
    with Database.open(":memory:") as database:
        head = database._head

        def step() -> None:
            mark = head.mark()
            head.schema.updated([], lambda *_: [], head.codes)
            snapshot = head.published()
            _ = snapshot.statistics_epoch, snapshot.schema.key
            head.rolled_back(mark)

        few = calls(step)
        forms = " ".join(DECLARATION.format(number)[1:-1] for number in range(1000))
        database.transact(f'[{forms} [:db/add 1 :attr/a1 "v"]]')
        assert calls(step) < 1.5 * few


def test_a_schema_that_was_updated_equals_one_made_at_once() -> None:
    with Database.open(":memory:") as database:
        for start in range(0, 400, 40):
            forms = " ".join(DECLARATION.format(number)[1:-1] for number in range(start, start + 40))
            database.transact(f"[{forms}]")
        database.transact("[{:db/ident :b/c :db/valueType :db.type/tuple :db/tupleAttrs [:attr/a1 :attr/a2]}]")
        database.transact("[{:db/id :attr/a3 :db/noHistory true} {:db/id :attr/a4 :db.attr/preds pos?}]")
        database.transact(
            "[{:db/id :attr/a5 :db/ident :attr/a6x} [:db/retract :attr/a7 :db/valueType :db.type/string]"
            " [:db/retract :attr/a7 :db/cardinality :db.cardinality/one]]"
        )
        schema = database.snapshot().schema
        anew = Schema(schema.all())
        assert schema.key == anew.key
        assert dict(schema.by_ident) == dict(anew.by_ident)
        assert schema.forgetful == anew.forgetful != frozenset()
        assert schema.composites == anew.composites != ()
        assert schema.checked
        assert schema.get(Keyword("attr/a5")) is None
        assert schema.get(Keyword("attr/a7")) is None
        found = schema.get(Keyword("attr/a6x"))
        assert found is not None
        assert schema.get(found.id) is found
        assert [each.id for each in schema.all()] == sorted(each.id for each in schema.all())
        database.transact("[[:db/retract :attr/a4 :db.attr/preds pos?]]")
        assert not database.snapshot().schema.checked
        assert database.at(t=database.snapshot().t - 1).schema.key == schema.key


def test_a_layered_mapping() -> None:
    mapping, model = Layered[int, str]({1: "one"}), {1: "one"}
    for number in range(1000):
        changes = {number % 300: f"v{number}", (7 * number) % 300: None}
        older, before = mapping, dict(mapping)
        mapping = mapping.changed(changes)
        model.update({key: value for key, value in changes.items() if value is not None})
        for key, value in changes.items():
            if value is None:
                model.pop(key, None)
        assert dict(older) == before
    assert dict(mapping) == model
    assert len(mapping) == len(model)
    assert (1000 in mapping, mapping.get(1000), mapping.get(1000, "none")) == (False, None, "none")
    with pytest.raises(KeyError):
        mapping[1000]
