"""The ASGI application: console, /graphql with explorer and SDL, /docs, /import, /backup, probes and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute

from adalog.datalog.errors import AdalogError, Code, quoted
from adalog.executor.bounds.meter import Buckets
from adalog.executor.live.hub.hub import Hub
from adalog.gateway import console, documentation, explorer
from adalog.gateway.connections.guards import SECURITY_HEADERS, Guard, SecurityHeaders
from adalog.gateway.connections.request_ids import HEADER, RequestIds, request_id
from adalog.gateway.connections.wire import Wire
from adalog.gateway.explorer.examples import live_page
from adalog.gateway.identity.auth import Tokens, check_admin, tokens_of
from adalog.gateway.jobs.backup_endpoint import backups_asked_for
from adalog.gateway.jobs.backups import BackupFigures, Backups
from adalog.gateway.jobs.import_endpoint import imports_asked_for
from adalog.gateway.jobs.imports import Imports
from adalog.gateway.jobs.job_endpoint import JobEndpoint
from adalog.gateway.observe.metrics import (
    CONTENT_TYPE,
    Metrics,
    cache_figures,
    disk_figures,
    lane_figures,
    live_figures,
)
from adalog.gateway.page_files import PageFiles
from adalog.gateway.process.cursor_key import cursor_key
from adalog.gateway.process.shutdown import StoppedAnswers
from adalog.gateway.protocols.answering import Answering
from adalog.gateway.protocols.compression import Compression
from adalog.gateway.protocols.direct import DirectRequests
from adalog.gateway.protocols.graphql import GraphQLEndpoint
from adalog.gateway.protocols.persisted import PersistedQueries
from adalog.gateway.protocols.responses import refusal_answer
from adalog.gateway.protocols.schema_text import SchemaText
from adalog.gateway.protocols.transport_ws import SocketEndpoint
from adalog.gateway.settings.config import Settings
from adalog.gateway.settings.origins import Origins
from adalog.schema.documents.operations import Operations
from adalog.schema.request.budget import Responses
from adalog.schema.request.context import Services
from adalog.schema.request.cursor import Cursors
from adalog.schema.request.errors import describe, internal
from adalog.schema.surface import build_schema
from adalog.schema.typed.following import Surfaces
from adalog.schema.writing.code_texts import NewestTexts
from adalog.store.files.folder import is_address

# The seconds' worth of units that a principal may use at once after a pause: a page that opens with a few queries.
BURST_SECONDS = 10.0

if TYPE_CHECKING:
    from adalog.executor.pool import Pool
    from adalog.gateway.workers.workers import Workers
    from adalog.store.database import Database


def create_app(
    database: Database,
    pool: Pool,
    settings: Settings,
    prepared: Callable[[], bool] = lambda: True,
    wire: Wire | None = None,
    workers: Workers | None = None,
) -> Starlette:
    """The app over an open database and a running pool; it owns neither, but `app.state.hub` and the jobs of
    `app.state.imports` and `app.state.backups`, which are to be closed before them. `prepared`: whether it is fast
    yet. `wire`: that of the server, where there is one already. `workers`: those of which this is one."""
    tokens = tokens_of(settings)
    origins = Origins.of(settings.allowed_origins)
    page_files = {
        "console": PageFiles.of(console.__name__),
        "explorer": PageFiles.of(explorer.__name__),
        "examples/live": live_page(),
    }
    wire = wire or Wire(settings)
    metrics = _metrics(database, pool, tokens, wire)
    if workers is not None:
        workers.tell_metrics(metrics)
    responses = Responses(settings.responses_bytes)
    hub = Hub(pool, settings.live)
    metrics.read_from(partial(live_figures, hub))
    if workers is not None:
        workers.share(memory=pool.memory, responses=responses, live=hub.holdings, mailboxes=hub.mail, bodies=wire)
    cursors = Cursors(database.log.secret or cursor_key(settings))
    queries = pool.turns.queries if workers is None else workers.queries(pool.turns.queries)
    texts = NewestTexts(database).texts
    services = Services(database, pool, settings.limits, cursors, responses, hub, queries, texts)
    unsent = "Bytes of large responses that are not sent yet."
    metrics.gauge("adalog_response_bytes", unsent, lambda: responses.held)
    imports = Imports(database, pool, settings)
    if workers is not None and workers.has_spark:
        workers.share_imports(imports.served)
    elif workers is not None and settings.spark:
        imports = Imports(database, pool, settings, elsewhere=workers.imported)
    backups = Backups(database)
    metrics.read_from(BackupFigures(database))
    metrics.read_from(partial(disk_figures, _folders(settings)))
    schema = build_schema()
    surfaces = Surfaces(schema._schema, database, pool.permissions)
    stop = StoppedAnswers(database, pool, hub, surfaces.changes)
    operations = Operations(schema, settings.limits, surfaces)
    buckets = _buckets(settings, metrics, workers)
    persisted = PersistedQueries(settings.limits.document_bytes)
    answering = Answering(operations, services, tokens, metrics, stop, buckets, settings.log_requests, persisted)
    jobs = imports_asked_for(imports, settings), backups_asked_for(backups, settings)
    graphql = GraphQLEndpoint(answering, page_files["explorer"], origins, settings)
    probes = _Probes(database, pool, tokens, metrics, wire, prepared, workers)

    async def root(request: Request) -> Response:
        return page_files["console"].page()

    # Not async: Starlette runs it on a thread.
    def page_of_docs(request: Request) -> Response:
        return documentation.page(request.path_params["name"], request.headers.get("if-none-match"))

    # Starlette's Route leaves every method to an ASGI app; the endpoint answers 405 in GraphQL's own form.
    app = Starlette(
        routes=[
            Route("/graphql", graphql),
            Route("/graphql/schema", SchemaText(surfaces, tokens, origins).answer),
            WebSocketRoute("/graphql", SocketEndpoint(answering, origins)),
            *(Route(kind.path, JobEndpoint(kind, answering, settings)) for kind in jobs),
            Route("/", root),
            *(Route(f"/{folder}/{{name:path}}", files.answer) for folder, files in page_files.items()),
            Route("/docs/{name:path}", page_of_docs),
            Route("/healthz", probes.health),
            Route("/readyz", probes.ready),
            Route("/metrics", probes.metrics_text),
        ],
        middleware=[
            Middleware(RequestIds),
            Middleware(SecurityHeaders, origins=origins),
            *origins.middleware(),
            Middleware(Compression),
            Middleware(Guard, settings=settings),
        ],
        exception_handlers={404: _misdirected, 405: _misdirected, Exception: _failed},
    )
    if not settings.trusted_proxies:
        # A proxy may speak for clients of other addresses.
        wire.direct = DirectRequests(graphql, Guard(app, settings))
    app.state.stop, app.state.wire, app.state.hub, app.state.answering = stop, wire, hub, answering
    app.state.imports, app.state.backups, app.state.surfaces = imports, backups, surfaces
    return app


async def _misdirected(request: Request, error: Exception) -> Response:
    """The answer to a request for a path that is not served, or not by this method: where GraphQL is."""
    assert isinstance(error, HTTPException)
    path = request.url.path
    what = (
        f"there is nothing at {quoted(path)}"
        if error.status_code == 404
        else f"{quoted(path)} takes no {request.method}"
    )
    refused = AdalogError(Code.QUERY_INVALID, f"{what}; GraphQL is at /graphql, by POST")
    headers = {"Cache-Control": "no-store", **(error.headers or {})}
    return JSONResponse({"errors": [describe(refused)]}, error.status_code, headers)


async def _failed(request: Request, error: Exception) -> Response:
    """The answer to a request in which something unforeseen happened; no middleware sees it."""
    response = JSONResponse({"errors": [internal(error)]}, 500, {"Cache-Control": "no-store"})
    response.raw_headers.extend([*SECURITY_HEADERS, (HEADER, request_id(request.scope).encode())])
    return response


@dataclass
class _Probes:
    """What operators and orchestrators ask."""

    database: Database
    pool: Pool
    tokens: Tokens
    metrics: Metrics
    wire: Wire
    prepared: Callable[[], bool]
    workers: Workers | None

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "alive"}, headers={"Cache-Control": "no-store"})

    async def ready(self, request: Request) -> Response:
        headers = {"Cache-Control": "no-store"}
        if self.wire.is_draining:
            why = "the server stops soon: everything is still answered"
            return JSONResponse({"status": "not ready", "why": why}, 503, headers)
        try:
            t = self.database.snapshot().t
        except AdalogError as error:
            return JSONResponse({"status": "not ready", "why": error.message}, 503, headers)
        failed = self.database.writer.doubt
        if failed is not None:
            why = (
                f"{self.database.log.failed}, and the log cannot be read again yet ({failed}): queries are "
                "answered, READ_ONLY"
            )
            return JSONResponse({"status": "not ready", "why": why, "basisT": t}, 503, headers)
        if not self.prepared():
            why = "starting: queries are answered, but the first ones take longer"
            return JSONResponse({"status": "not ready", "why": why}, 503, headers)
        ready: dict[str, object] = {"status": "ready", "basisT": t, "spark": self.pool.spark_state}
        away = self.database.writer.away
        if away is not None:
            # Queries are answered from memory: as ready as all others on that log.
            ready["behind"] = away
        if self.workers is not None:
            ready["workers"] = self.workers.counts
        return JSONResponse(ready, headers=headers)

    async def metrics_text(self, request: Request) -> Response:
        try:
            principal = await self.tokens.asking(request.scope)
            if self.pool.permissions.enforced(self.database.snapshot()):
                check_admin(principal, "metrics count what policies hide")
        except AdalogError as error:
            return refusal_answer(error)
        # What is counted may take a while: the bytes of all attributes, for one.
        if self.workers is None:
            text = await asyncio.to_thread(self.metrics.text)
        else:
            text = await asyncio.to_thread(self.workers.metrics_text, self.metrics)
        return Response(text, headers={"Content-Type": CONTENT_TYPE})


def _buckets(settings: Settings, metrics: Metrics, workers: Workers | None) -> Buckets | None:
    """What principals may use; None where nothing limits it."""
    if not settings.rate_units:
        return None
    fills = None if workers is None else workers.fills
    buckets = Buckets(settings.rate_units, BURST_SECONDS * settings.rate_units, settings.threads, fills=fills)
    metrics.gauge("adalog_rate_principals", "Principals that used units lately.", lambda: len(buckets))
    refused = "Work refused as its principal had used its units."
    metrics.count("adalog_rate_refused", refused, lambda: buckets.refused)
    return buckets


def _folders(settings: Settings) -> dict[str, str]:
    """The folders whose disks may be full."""
    segments = None if settings.segments is None else settings.segments.get_secret_value()
    places = {"data": settings.data, "segments": segments, "copy": settings.segments_copy}
    return {name: each for name, each in places.items() if each and each != ":memory:" and not is_address(each)}


def _metrics(database: Database, pool: Pool, tokens: Tokens, wire: Wire) -> Metrics:
    metrics = Metrics()
    gauge, counts = metrics.gauge, metrics.counts
    gauge("adalog_basis_t", "The newest transaction number.", lambda: database.snapshot().t)
    gauge("adalog_datoms", "Datoms that hold now.", lambda: database.snapshot().datom_count)
    gauge("adalog_entities", "Entities with a datom.", lambda: database.entity_count(database.snapshot()))
    gauge("adalog_store_memory_bytes", "Memory of tries and dictionary.", lambda: database.snapshot().nbytes())
    gauge("adalog_queries_running", "Queries that have a place.", lambda: pool.scheduler.running)
    gauge("adalog_queue_length", "Queries waiting for a place.", lambda: pool.scheduler.waiting)
    gauge("adalog_transactions_waiting", "Transactions that are not answered yet.", lambda: database.writer.waiting)
    gauge("adalog_behind", "1 while what others write is not seen.", lambda: database.writer.away is not None)
    gauge("adalog_read_only", "1 while nothing can be written.", lambda: database.writer.doubt is not None)
    gauge(
        "adalog_clock_behind_seconds",
        "By how much the clock is behind the last transaction, whose instant all have until it has caught up.",
        lambda: database.clock.behind,
    )
    counts("adalog_log_failures", "Writes to the log that failed.", "outcome", lambda: database.log.failures)
    metrics.read_from(partial(lane_figures, pool.scheduler))
    gauge("adalog_connections", "Connections that are open.", lambda: len(wire.connections))
    unfinished = "Bytes of bodies on the way or without an answer yet."
    gauge("adalog_unfinished_body_bytes", unfinished, lambda: wire.body_bytes)
    refused = "Connections ended before a request was read."
    counts("adalog_connections_refused", refused, "why", lambda: wire.refused)
    metrics.gauges("adalog_streams", "Connections that are open for events.", "protocol", lambda: wire.streams)
    counts("adalog_websocket_messages", "Messages of WebSockets.", "message", lambda: wire.messages)
    counts("adalog_websocket_closed", "WebSockets that ended.", "code", lambda: wire.closed)
    counts("adalog_authentication_failures", "Requests without a known token.", "why", lambda: tokens.failures)
    if pool.cache is not None:
        metrics.read_from(partial(cache_figures, pool.cache))
    return metrics
