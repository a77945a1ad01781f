"""What a subscription is to the protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from datalog.errors import AdalogError
from schema.context import Context
from schema.execution import Answer, Prepared


class Message(Protocol):
    """One event, the same object for all who get it."""

    @property
    def payload(self) -> bytes:
        """The execution result as JSON, `{"data": …}`."""

    @property
    def resume(self) -> str:
        """The token to continue after it."""


class Stream(Protocol):
    """One subscription. Everything here is called in the event loop, and returns at once."""

    def listen(self, deliver: Callable[[Message], bool], ended: Callable[[AdalogError | None], None]) -> None:
        """`deliver` takes each message, or says that it has no room; `ended` is told once, after the last one."""

    def pump(self) -> None:
        """There is room again: what waits is delivered."""

    def close(self) -> None:
        """Nobody listens any more. Once is enough; more do no harm."""


class Subscribing(Protocol):
    """What begins subscriptions."""

    async def subscribe(
        self,
        prepared: Prepared,
        context: Context,
        variables: Mapping[str, Any] | None,
        operation_name: str | None,
        resume: str | None = None,
    ) -> Stream | Answer:
        """A stream, or why there is none. `resume`: the token of the last event that the transport knows of."""
