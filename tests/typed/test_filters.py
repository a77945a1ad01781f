"""Filters, orders and selections of the typed surface against a walk over datoms, over random schemas and data."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.pool import Pool, PoolSettings
from adalog.schema.request.context import Context, Services
from adalog.schema.request.cursor import Cursors
from adalog.schema.request.limits import RequestLimits
from adalog.schema.typed.declarations import model_of
from adalog.schema.typed.model import Model, TypeModel
from adalog.schema.typed.reading.reads import read
from adalog.schema.typed.roots import TypedRoot
from adalog.schema.typed.selection import Selected
from adalog.store.database import Database
from tests.property.model import examples
from tests.typed.generated import connections, data, declared, filters, orders, schemas, selections
from tests.typed.naive import Walk


def answer(services: Services, model: Model, root: TypedRoot, chosen: Selected) -> Any:
    """The JSON of a root field."""
    found, _ = asyncio.run(read(Context(services), model, root, chosen))
    return orjson.loads(b"".join(found.chunks))


def ids(services: Services, model: Model, kind: TypeModel, **arguments: Any) -> list[int]:
    """The entities that a list shows."""
    chosen = Selected(kind.plural, kind.plural, arguments, kind.name, {kind.name: (Selected("id", "id"),)})
    return [int(each["id"]) for each in answer(services, model, TypedRoot("list", kind), chosen)]


@contextmanager
def generated(choose: st.DataObject) -> Iterator[tuple[Services, Model, Walk]]:
    """A random database, and what it shows."""
    schema = choose.draw(schemas())
    with Database.open(":memory:") as database:
        database.transact(declared(schema))
        database.transact(choose.draw(data(schema)))
        pool = Pool(database, PoolSettings(threads=1))
        try:
            model = model_of(database.snapshot())
            walk = Walk.of(database.snapshot(), model)
            yield Services(database, pool, RequestLimits(), Cursors(b"k" * 32)), model, walk
        finally:
            pool.close()


@given(st.data())
@settings(max_examples=examples(30))
def test_filters_and_orders_mean_what_a_walk_over_datoms_says(choose: st.DataObject) -> None:
    with generated(choose) as (services, model, walk):
        for _ in range(4):
            kind = choose.draw(st.sampled_from(list(model.types.values())))
            where, order = choose.draw(filters(model, kind)), choose.draw(orders(model, kind))
            first, offset = choose.draw(st.integers(0, 5)), choose.draw(st.integers(0, 2))
            expected = walk.listed(kind, walk.members(kind), {"where": where, "orderBy": order})
            found = ids(services, model, kind, where=where, orderBy=order, first=first, offset=offset)
            assert found == expected[offset : offset + first]


@given(st.data())
@settings(max_examples=examples(30))
def test_selections_show_what_a_walk_over_datoms_shows(choose: st.DataObject) -> None:
    with generated(choose) as (services, model, walk):
        for _ in range(3):
            kind = choose.draw(st.sampled_from(list(model.types.values())))
            given = {"orderBy": choose.draw(orders(model, kind))}
            found = walk.listed(kind, walk.members(kind), given)
            if choose.draw(st.booleans()):
                chosen = choose.draw(connections(model, kind, "c", f"{kind.plural}Connection", given, 2))
                expected: Any = walk.connection(kind, found, chosen)
                root = TypedRoot("connection", kind)
            else:
                inner = choose.draw(selections(model, kind))
                chosen = Selected("list", kind.plural, given, kind.name, {kind.name: inner})
                expected = [walk.shown(kind, each, inner) for each in found]
                root = TypedRoot("list", kind)
            assert _unordered(answer(services, model, root, chosen)) == _unordered(expected)


def _unordered(shown: Any) -> Any:
    """Groups come in the order of their keys, of which the walk knows nothing."""
    if isinstance(shown, list):
        return [_unordered(each) for each in shown]
    if not isinstance(shown, dict):
        return shown
    return {
        key: sorted(map(repr, map(_unordered, value))) if key == "g" else _unordered(value)
        for key, value in shown.items()
    }
