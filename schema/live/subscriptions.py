"""The subscriptions' root fields, for introspection and validation; `schema.live.stream` answers them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from enum import StrEnum
from typing import Annotated

import strawberry

from adalog.datalog.errors import AdalogError, Code
from adalog.schema.arguments.viewers import As
from adalog.schema.fields import types
from adalog.schema.writing.encoding import Encoding
from adalog.schema.writing.scalars import EDN, JSON, Long


@strawberry.enum
class LiveKind(StrEnum):
    SNAPSHOT = "SNAPSHOT"
    DELTA = "DELTA"
    PROGRESS = "PROGRESS"
    RESET = "RESET"


@strawberry.type
class LiveEvent:
    kind: LiveKind
    basis_t: Long
    resume: str
    columns: list[types.ColumnType] | None
    rows: list[JSON] | None
    added: list[JSON] | None
    retracted: list[JSON] | None
    last: bool | None
    reason: str | None
    warnings: list[types.Warning] | None


@strawberry.type(name="Subscription")
class SubscriptionFields:
    @strawberry.subscription
    def live(
        self,
        query: EDN,
        args: list[JSON] | None = None,
        args_edn: list[EDN] | None = None,
        resume: str | None = None,
        from_t: Long | None = None,
        encoding: Encoding | None = Encoding.PLAIN,
        as_: As = None,
    ) -> AsyncGenerator[LiveEvent, None]:
        raise streamed()

    @strawberry.subscription
    def transactions(
        self,
        from_: Annotated[Long | None, strawberry.argument(name="from")] = None,
        encoding: Encoding | None = Encoding.PLAIN,
    ) -> AsyncGenerator[types.TxReportType, None]:
        raise streamed()


def streamed() -> AdalogError:
    """What is answered to a subscription where there is no stream."""
    return AdalogError(
        Code.QUERY_INVALID,
        "a subscription is a stream: ask for it over WebSocket (graphql-transport-ws), or over HTTP with "
        "Accept: text/event-stream",
    )
