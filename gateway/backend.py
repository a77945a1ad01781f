"""Where the command line sends its GraphQL: a served adalog over HTTP, or a data folder opened in this process."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import orjson

from datalog.errors import AdalogError, Code, Position
from gateway.config import Settings

Answer = dict[str, Any]


class Backend(Protocol):
    """Something that answers GraphQL."""

    def execute(self, document: str, variables: Mapping[str, Any]) -> Answer:
        """The `data` of the answer. Raises AdalogError for the first of its errors."""


class Remote:
    """A served adalog."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url if url.rstrip("/").endswith("/graphql") else url.rstrip("/") + "/graphql"
        self._token = token

    def execute(self, document: str, variables: Mapping[str, Any]) -> Answer:
        import httpx

        headers = {"Accept": "application/graphql-response+json", "Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        body = orjson.dumps({"query": document, "variables": variables})
        status = 0
        try:
            response = httpx.post(self._url, content=body, headers=headers, timeout=httpx.Timeout(10, read=None))
            status = response.status_code
            answer = orjson.loads(response.content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE,
                f"no adalog answers at {self._url} ({error}); is `adalog serve` running there?",
            ) from None
        except orjson.JSONDecodeError:
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE,
                f"{self._url} answered {status} with something that is not GraphQL; is it adalog's?",
            ) from None
        return _data(answer)


class Local:
    """A data folder, opened here for the time of one command."""

    def __init__(self, database: Any, pool: Any, settings: Settings) -> None:
        from schema.context import Services
        from schema.cursor import Cursors
        from schema.execution import Operations
        from schema.surface import build_schema

        self._services = Services(database, pool, settings.limits, Cursors(secrets.token_bytes(32)))
        self._operations = Operations(build_schema(), settings.limits)

    def execute(self, document: str, variables: Mapping[str, Any]) -> Answer:
        from schema.context import Context

        prepared = self._operations.prepare(document)
        answer = asyncio.run(self._operations.run(prepared, Context(self._services), variables, None))
        return _data(orjson.loads(orjson.dumps(answer.body)))


@contextmanager
def opened(settings: Settings) -> Iterator[Local]:
    """A Local backend over the settings' data; whoever runs it here has no other client to protect from it."""
    from gateway.opening import open_database, start_pool

    limits = replace(settings.limits, rows=100_000_000, result_bytes=4 * 2**30, timeout_ms=24 * 3600 * 1000)
    # One request is all there is: nothing would be asked twice.
    settings = replace(settings, limits=limits, cache_bytes=0, redis_url=None)
    with open_database(settings) as database:
        pool = start_pool(database, settings, spark=False)
        try:
            yield Local(database, pool, settings)
        finally:
            pool.close()


def _data(answer: Answer) -> Answer:
    errors = answer.get("errors")
    if errors:
        raise _error(errors[0])
    data: Answer = answer["data"]
    return data


def _error(error: Mapping[str, Any]) -> AdalogError:
    extensions = error.get("extensions") or {}
    line, column = extensions.get("line"), extensions.get("column")
    # Positions without a path are places in the GraphQL document, which the user never wrote.
    origin = extensions.get("origin", "")
    position = Position(line, column, origin) if line and column and error.get("path") else None
    code = extensions.get("code")
    return AdalogError(
        Code(code) if code in set(Code) else Code.INTERNAL, error.get("message", "no message"), position
    )
