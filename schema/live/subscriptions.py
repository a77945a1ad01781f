"""The subscriptions' root fields, for introspection and validation; `schema.live.stream` answers them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from enum import StrEnum
from typing import Annotated

import strawberry

from adalog.datalog.errors import AdalogError, Code
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
    resume: str = strawberry.field(description="Hand this back as `resume` to go on after this event.")
    columns: list[types.ColumnType] | None
    rows: list[JSON] | None = strawberry.field(description="SNAPSHOT: rows of this chunk.")
    added: list[JSON] | None = strawberry.field(
        description="DELTA: rows that entered and left the result; disjoint; to be applied together."
    )
    retracted: list[JSON] | None
    last: bool | None = strawberry.field(description="SNAPSHOT: true on the last chunk.")
    reason: str | None = strawberry.field(description="RESET: why the stream starts over (a SNAPSHOT follows).")
    warnings: list[types.Warning] | None = strawberry.field(
        description="As a query's; on the first event of a stream."
    )


@strawberry.type(name="Subscription")
class SubscriptionFields:
    @strawberry.subscription(
        description="A query kept up to date: one SNAPSHOT (in chunks), then a DELTA for each transaction that "
        "changes its result."
    )
    def live(
        self,
        query: EDN,
        args: list[JSON] | None = None,
        args_edn: list[EDN] | None = None,
        resume: Annotated[
            str | None, strawberry.argument(description="Continue after an event already seen: its `resume` value.")
        ] = None,
        from_t: Annotated[
            Long | None,
            strawberry.argument(description="Start from this past transaction number and replay the log to now."),
        ] = None,
        encoding: Encoding | None = Encoding.PLAIN,
    ) -> AsyncGenerator[LiveEvent, None]:
        raise streamed()

    @strawberry.subscription(description="Every transaction from `from` on, none missing, none twice.")
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
