"""The ASGI application: /graphql with the explorer, /healthz, /readyz, /metrics."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from datalog.errors import AdalogError
from gateway.auth import Tokens
from gateway.config import Settings
from gateway.explorer import Explorer, load
from gateway.graphql import GraphQLEndpoint
from gateway.guards import Guard
from gateway.metrics import CONTENT_TYPE, Metrics
from schema.context import Services
from schema.cursor import Cursors
from schema.errors import describe
from schema.execution import Operations
from schema.surface import build_schema

if TYPE_CHECKING:
    from executor.pool import Pool
    from store.database import Database


def create_app(database: Database, pool: Pool, settings: Settings) -> Starlette:
    """The app over an open database and a running pool; it owns neither."""
    tokens = Tokens.load(settings.auth)
    explorer = Explorer(load())
    metrics = _metrics(database, pool)
    services = Services(database, pool, settings.limits, Cursors(_cursor_key(settings)))
    graphql = GraphQLEndpoint(
        Operations(build_schema(), settings.limits),
        services,
        tokens,
        metrics,
        explorer.page(),
        settings.request_bytes,
        settings.request_values,
    )
    probes = _Probes(database, pool, tokens, metrics)

    async def explorer_file(request: Request) -> Response:
        return explorer.file(request.path_params["name"], request.headers.get("if-none-match"))

    async def root(request: Request) -> Response:
        return explorer.page()

    # Starlette's Route leaves every method to an ASGI app; the endpoint answers 405 in GraphQL's own form.
    return Starlette(
        routes=[
            Route("/graphql", graphql),
            Route("/", root),
            Route("/explorer/{name:path}", explorer_file),
            Route("/healthz", probes.health),
            Route("/readyz", probes.ready),
            Route("/metrics", probes.metrics_text),
        ],
        middleware=[Middleware(Guard, settings=settings)],
    )


class _Probes:
    """What operators and orchestrators ask."""

    def __init__(self, database: Database, pool: Pool, tokens: Tokens, metrics: Metrics) -> None:
        self.database = database
        self.pool = pool
        self.tokens = tokens
        self.metrics = metrics

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "alive"}, headers={"Cache-Control": "no-store"})

    async def ready(self, request: Request) -> Response:
        headers = {"Cache-Control": "no-store"}
        try:
            t = self.database.snapshot().t
        except AdalogError as error:
            return JSONResponse({"status": "not ready", "why": error.message}, 503, headers)
        return JSONResponse({"status": "ready", "basisT": t, "spark": self.pool.spark_state}, headers=headers)

    async def metrics_text(self, request: Request) -> Response:
        try:
            self.tokens.principal(request.headers.get("authorization"))
        except AdalogError as error:
            return JSONResponse({"errors": [describe(error)]}, 401, {"WWW-Authenticate": "Bearer"})
        return Response(self.metrics.text(), headers={"Content-Type": CONTENT_TYPE})


def _metrics(database: Database, pool: Pool) -> Metrics:
    metrics = Metrics()
    metrics.gauge("adalog_basis_t", "The newest transaction number.", lambda: database.snapshot().t)
    metrics.gauge("adalog_datoms", "Datoms that hold now.", lambda: database.datom_count)
    metrics.gauge("adalog_entities", "Entities with a datom.", lambda: database.entity_count)
    metrics.gauge("adalog_store_memory_bytes", "Memory of tries and dictionary.", lambda: database.memory_bytes())
    metrics.gauge("adalog_queue_length", "Queries waiting for a place.", lambda: pool.waiting)
    if pool.cache is not None:
        metrics.cache(pool.cache)
    return metrics


def _cursor_key(settings: Settings) -> bytes:
    """The secret that signs cursors: kept with the data, made anew for a database that is not kept."""
    if settings.in_memory or "://" in settings.data:
        return secrets.token_bytes(32)
    path = Path(settings.data) / "cursor.key"
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except FileNotFoundError:
        path.touch(mode=0o600)
        path.write_bytes(secrets.token_bytes(32))
        return hashlib.sha256(path.read_bytes()).digest()
