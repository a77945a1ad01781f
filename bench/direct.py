"""Requests handed to the gateway in this process as a connection hands them over, without sockets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final

from adalog.examples.debian.load import load
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.pool import Pool
from adalog.gateway.app import create_app
from adalog.gateway.connections.wire import Wire
from adalog.gateway.protocols.direct import DirectRequests
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from tests.gateway.support import scope_of

_HEADERS: Final = [(b"accept", b"*/*")]
_WARM: Final = 3


def cpu_seconds(bodies: Sequence[str], rounds: int, *, cached: bool = False) -> float:
    """CPU of each request on the sample data, of the best of some rounds. cached: answers are kept, and all are
    forgotten before each round, so that none is found."""
    with Database.open(":memory:") as database:
        load(database)
        pool = Pool(database, cache=CacheSettings() if cached else None)
        try:
            return asyncio.run(_measured(database, pool, [each.encode() for each in bodies], rounds))
        finally:
            pool.close()


async def _measured(database: Database, pool: Pool, bodies: Sequence[bytes], rounds: int) -> float:
    settings = Settings(data=":memory:")
    wire = Wire(settings)
    app = create_app(database, pool, settings, wire=wire)
    direct = wire.direct
    assert direct is not None, "no proxies are trusted"
    SMALL_JOIN.load()
    best = float("inf")
    with app.state.hub:
        await _asked(app, direct, bodies[0])
        for number in range(_WARM + rounds):
            if pool.cache is not None:
                pool.cache.memory.clear()
            began = time.process_time()
            for body in bodies:
                await _asked(app, direct, body)
            if number >= _WARM:
                best = min(best, time.process_time() - began)
    app.state.surfaces.close()
    return best / len(bodies)


async def _asked(app: Any, direct: DirectRequests, body: bytes) -> None:
    scope = scope_of(body, _HEADERS)
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return left.pop() if left else await asyncio.Future()

    answer = direct.answer(scope, body, receive)
    if answer is None:
        # A document that is not known yet.
        await app(scope, receive, _sent)
    elif not isinstance(answer, tuple):
        if isinstance(answer.work, asyncio.Future):
            await asyncio.wait((answer.work,))
            answer.settle()
        else:
            await answer.work
        answer.response()


async def _sent(message: Any) -> None:
    pass
