"""Answers that have begun where their request was read, and that the app goes on with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from starlette.types import Scope

from adalog.executor.bounds.client import ASKING, Client
from adalog.gateway.protocols.responses import HttpAnswer

BEGUN: Final = "adalog.begun"
"""Where a scope has it."""


@dataclass(slots=True)
class BegunAnswer:
    """An answer on its way. `client`: who asks. `sending`: is closed once it is sent, or will not be."""

    client: Client
    sending: ExitStack
    answer: HttpAnswer | None = None
    rest: Awaitable[HttpAnswer | None] | None = None
    failure: BaseException | None = None

    async def settle(self) -> None:
        """Waits until there is an answer, or a failure that `arrived` raises."""
        rest, self.rest = self.rest, None
        try:
            if rest is not None:
                self.answer = await rest
        except (Exception, asyncio.CancelledError) as failure:  # noqa: BLE001 - the app answers it
            self.failure = failure

    async def arrived(self) -> HttpAnswer | None:
        """The answer, once; None where the client is gone."""
        try:
            if self.rest is not None:
                ASKING.set(self.client)
                await self.settle()
            if self.failure is not None:
                raise self.failure
            return self.answer
        finally:
            # The request's scope has this until the next request of the connection, or its end.
            self.answer = self.rest = self.failure = None


def begun_answer(scope: Scope) -> BegunAnswer | None:
    """The answer that has begun for a request before the app was called."""
    found: BegunAnswer | None = scope.get(BEGUN)
    return found
