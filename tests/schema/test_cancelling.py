"""A request that is cancelled as its fields begin leaves no coroutine behind that nobody awaited."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Iterator
from contextlib import suppress

import pytest

from adalog.executor.pool import Pool
from adalog.schema.documents.operations import OperationRequest, Operations
from adalog.schema.request.context import Context, Services
from adalog.schema.request.cursor import Cursors
from adalog.schema.request.limits import RequestLimits
from adalog.schema.surface import build_schema
from adalog.store.database import Database

ASK = 'q(query: "[:find ?n :where [_ :name ?n]]")'
DOCUMENTS = [
    f"{{ a: {ASK} {{ rows }} b: {ASK} {{ rows }} }}",
    f"{{ {ASK} {{ rows value warnings {{ code }} }} }}",
    f"{{ {ASK} {{ rows }} attributes {{ ident }} database {{ basisT }} }}",
]


@pytest.fixture
def services() -> Iterator[Services]:
    with Database.open(":memory:") as database:
        database.transact('[{:name "Ada"}]')
        pool = Pool(database)
        try:
            yield Services(database, pool, RequestLimits(), Cursors(b"k" * 32), None, None)
        finally:
            pool.close()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_coroutine_is_left_behind(services: Services, document: str) -> None:
    operations = Operations(build_schema(), RequestLimits())
    prepared = operations.prepare(document)

    async def cancelled_after(turns: int) -> bool:
        """Whether the request was answered sooner."""
        request = asyncio.ensure_future(operations.run(OperationRequest(prepared, Context(services))))
        for _ in range(turns):
            await asyncio.sleep(0)
        answered = not request.cancel()
        with suppress(asyncio.CancelledError):
            await request
        return answered

    async def work() -> None:
        for turns in range(40):
            if await cancelled_after(turns):
                return

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asyncio.run(work())
        gc.collect()
    assert [str(each.message) for each in said] == []
