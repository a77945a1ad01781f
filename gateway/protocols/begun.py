"""Answers that have begun where their request was read, and that the app goes on with."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from starlette.types import Scope

from adalog.executor.bounds.client import ASKING, Client
from adalog.gateway.protocols.responses import HttpAnswer
from adalog.schema.request.first_step import Rest

BEGUN: Final = "adalog.begun"
"""Where a scope has it."""


@dataclass(slots=True)
class BegunAnswer:
    """An answer on its way. `client`: who asks. `sending`: is closed once it is sent, or will not be."""

    client: Client
    sending: ExitStack
    answer: HttpAnswer | None = None
    rest: Rest[HttpAnswer | None] | None = None
    failure: Exception | None = None

    async def arrived(self) -> HttpAnswer | None:
        """The answer, once; None where the client is gone."""
        try:
            if self.failure is not None:
                raise self.failure
            if self.rest is None:
                return self.answer
            ASKING.set(self.client)
            return await self.rest
        finally:
            # The request's scope has this until the next request of the connection, or its end.
            self.answer = self.rest = self.failure = None


def begun_answer(scope: Scope) -> BegunAnswer | None:
    """The answer that has begun for a request before the app was called."""
    found: BegunAnswer | None = scope.get(BEGUN)
    return found
