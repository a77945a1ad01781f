"""What admins see of the queries that wait or run, and how they end one."""

from __future__ import annotations

from datetime import UTC, datetime

import strawberry

from adalog.executor.turns.lanes import Lane
from adalog.executor.turns.running_queries import RunningQuery
from adalog.schema.request.background import elsewhere
from adalog.schema.request.context import Context, check_admin
from adalog.schema.writing.encoding import iso


@strawberry.type(name="RunningQuery")
class RunningQueryType:
    id: strawberry.ID
    text: str
    principal: str
    request_id: str
    started: str
    elapsed_ms: float
    waited_ms: float
    lane: Lane
    is_running: bool


async def running_queries(context: Context) -> list[RunningQueryType]:
    """The queries of this server, the oldest first. Raises FORBIDDEN for others than admins."""
    check_admin("`runningQueries` shows what others ask")
    found = await elsewhere(lambda _: context.services.queries.all())
    return [_type(each) for each in found]


async def cancel_query(context: Context, name: str) -> bool:
    """Whether there was a query of this id to end. Raises FORBIDDEN for others than admins."""
    check_admin("`cancelQuery` ends what others ask")
    return await elsewhere(lambda _: context.services.queries.cancel(name))


def _type(query: RunningQuery) -> RunningQueryType:
    return RunningQueryType(
        id=strawberry.ID(query.id),
        text=query.text,
        principal=query.principal,
        request_id=query.request_id,
        started=iso(datetime.fromtimestamp(query.started, UTC)),
        elapsed_ms=query.elapsed * 1000,
        waited_ms=query.waited * 1000,
        lane=query.lane,
        is_running=query.is_running,
    )
