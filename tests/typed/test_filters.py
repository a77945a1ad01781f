"""Filters and orders of the typed surface against a walk over datoms, over random schemas and data."""

from __future__ import annotations

import asyncio
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
from tests.typed.generated import data, declared, filters, orders, schemas
from tests.typed.naive import Walk


def ids(services: Services, model: Model, kind: TypeModel, **arguments: Any) -> list[int]:
    """The entities that a list shows."""
    chosen = Selected(kind.plural, kind.plural, arguments, kind.name, {kind.name: (Selected("id", "id"),)})
    found = asyncio.run(read(Context(services), model, TypedRoot("list", kind), chosen))
    return [int(each["id"]) for each in orjson.loads(b"".join(found.chunks))]


@given(st.data())
@settings(max_examples=examples(30))
def test_filters_and_orders_mean_what_a_walk_over_datoms_says(choose: st.DataObject) -> None:
    schema = choose.draw(schemas())
    with Database.open(":memory:") as database:
        database.transact(declared(schema))
        database.transact(choose.draw(data(schema)))
        pool = Pool(database, PoolSettings(threads=1))
        try:
            model = model_of(database.snapshot())
            walk = Walk.of(database.snapshot(), model)
            services = Services(database, pool, RequestLimits(), Cursors(b"k" * 32))
            for _ in range(4):
                kind = choose.draw(st.sampled_from(list(model.types.values())))
                where, order = choose.draw(filters(model, kind)), choose.draw(orders(model, kind))
                first, offset = choose.draw(st.integers(0, 5)), choose.draw(st.integers(0, 2))
                found = [each for each in walk.members(kind) if walk.matches(kind, each, where)]
                expected = walk.ordered(kind, found, order)[offset : offset + first]
                assert (
                    ids(services, model, kind, where=where, orderBy=order, first=first, offset=offset) == expected
                )
        finally:
            pool.close()
