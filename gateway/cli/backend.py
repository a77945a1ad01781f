"""Where the command line sends its GraphQL: a served adalog over HTTP, or a data folder opened in this process."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from adalog.client.http.protocol import (
    EVENT_STREAM,
    GRAPHQL_JSON,
    Answer,
    data_of,
    error_of,
    events_of,
    is_graphql,
    json_bytes,
    reads_certificates,
    request_body,
)
from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.gateway.settings.config import Settings

if TYPE_CHECKING:
    from adalog.schema.fields.types import Warning

# How long Spark may take to start.
_SPARK_SECONDS = 120.0
# A server says something of a job more often than this.
_JOB_SILENCE_SECONDS = 120.0
_BROKEN = {
    "import": "whether the import was done is not known; asked for again, it writes only what is not so already",
    "backup": "the backup may still be taken; `adalog backup --list` shows which there are",
}


class RemoteBackend:
    """A served adalog. `url`: with or without a scheme, and with or without `/graphql` at its end. `:8080` is a
    port of this machine."""

    def __init__(self, url: str, token: str | None) -> None:
        url = f"127.0.0.1{url}" if url.startswith(":") else url
        self._base = (url if "://" in url else f"http://{url}").rstrip("/").removesuffix("/graphql")
        self._url = self._base + "/graphql"
        self._token = token

    @property
    def name(self) -> str:
        """The host and port, for a prompt."""
        return self._base.partition("://")[2].rpartition("@")[2].partition("/")[0]

    def execute(self, document: str, variables: Mapping[str, Any]) -> Answer:
        """The answer to a document, with `data`. Raises AdalogError for the first of its errors."""
        import httpx

        body, timeout = request_body(document, variables), httpx.Timeout(10, read=None)
        with self._sending(GRAPHQL_JSON) as common:
            response = httpx.post(**common, content=body, timeout=timeout)
        self._check_place(response)
        answer: Answer = self._answer(response)
        self._data(answer)
        return answer

    def schema(self) -> str:
        """The server's schema as SDL. Raises AdalogError."""
        import httpx

        with self._sending("text/plain") as common:
            response = httpx.get(**{**common, "url": f"{self._url}/schema"}, timeout=httpx.Timeout(10, read=None))
        self._check_place(response)
        if response.status_code != 200:
            self._data(self._answer(response))
        return response.text

    def events(self, document: str, variables: Mapping[str, Any], silence: float) -> Iterator[Answer]:
        """The results of a subscription, as they come, until the server completes it. Raises BACKEND_UNAVAILABLE
        where the stream breaks off, or nothing is heard for so many seconds."""
        for kind, data in self._streamed({"content": request_body(document, variables)}, silence):
            if kind == "complete":
                return
            yield orjson.loads(data)
        raise unavailable("the stream broke off")

    def job(self, name: str, wish: Mapping[str, Any]) -> Iterator[tuple[str, Answer]]:
        """What a server says of an import or a backup, by kind, `done` last. Raises why there was none, and as
        `events`."""
        url = f"{self._base}/{name}"
        for kind, data in self._streamed({"url": url, "content": json_bytes(wish)}, _JOB_SILENCE_SECONDS):
            said = orjson.loads(data)
            if kind == "error":
                data_of(said)
            yield kind, said
            if kind == "done":
                return
        raise unavailable(f"the stream broke off, and {_BROKEN[name]}")

    def _streamed(self, asked: Mapping[str, Any], silence: float) -> Iterator[tuple[str, str]]:
        """The kinds and data of the events that a request is answered with."""
        import httpx

        with self._sending(EVENT_STREAM) as common:
            given = {**common, **asked, "timeout": httpx.Timeout(10, read=silence)}
            with httpx.stream("POST", **given) as response:
                self._check_place(response)
                if not response.headers.get("content-type", "").startswith(EVENT_STREAM):
                    response.read()
                    self._data(self._answer(response))
                yield from events_of(response.iter_lines())

    @contextmanager
    def _sending(self, accept: str) -> Iterator[dict[str, Any]]:
        """What requests have in common; what goes wrong on the way becomes BACKEND_UNAVAILABLE."""
        import httpx

        headers = {"Accept": accept, "Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            url = httpx.URL(self._url)
            yield {"url": url, "headers": headers, "verify": reads_certificates(url.scheme, url.host)}
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise unavailable(
                f"no adalog answers at {self._url} ({reason}); is `adalog serve` running there?"
            ) from None
        except UnicodeEncodeError:
            raise AdalogError(
                Code.UNAUTHENTICATED, "the token of --token holds characters that no token has"
            ) from None

    def _check_place(self, response: Any) -> None:
        if response.is_redirect:
            target = response.headers.get("location", "another place")
            raise unavailable(
                f"{self._url} answered {response.status_code} and points to {target}; give --url that"
            )

    def _answer(self, response: Any) -> Any:
        try:
            answer = orjson.loads(response.content)
        except orjson.JSONDecodeError:
            answer = None
        if not is_graphql(answer):
            raise unavailable(
                f"{self._url} answered {response.status_code} with something that is not GraphQL; is it adalog's?"
            )
        return answer

    def _data(self, answer: Answer) -> Answer:
        try:
            return data_of(answer)
        except AdalogError as error:
            if error.code is Code.UNAUTHENTICATED:
                error.message += "; --token TOKEN or ADALOG_TOKEN gives one"
            raise


class LocalBackend:
    """A data folder, opened here for the time of one command."""

    def __init__(self, database: Any, pool: Any, settings: Settings) -> None:
        self._live = settings.live
        self._data = settings.data
        from adalog.schema.documents.operations import Operations
        from adalog.schema.request.context import Services
        from adalog.schema.request.cursor import Cursors
        from adalog.schema.surface import build_schema

        self._services = Services(database, pool, settings.limits, Cursors(secrets.token_bytes(32)))
        self._operations = Operations(build_schema(), settings.limits)

    def execute(self, document: str, variables: Mapping[str, Any]) -> Answer:
        """As `RemoteBackend.execute`."""
        from adalog.schema.documents.operations import OperationRequest
        from adalog.schema.request.context import Context

        json_bytes(variables)
        pool = self._services.pool
        if pool.spark is not None:
            # A request's time begins when a thread runs it.
            pool.spark.wait_ready(_SPARK_SECONDS)
        asked = OperationRequest(self._operations.prepare(document), Context(self._services), variables)
        answer = asyncio.run(self._operations.run(asked))
        body: Answer = orjson.loads(b"".join(answer.chunks()))
        data_of(body)
        return body

    @property
    def name(self) -> str:
        """The last part of the folder's path, or of a server's address, for a prompt."""
        return self._data.strip(":").rstrip("/").rpartition("/")[2].partition("?")[0]

    @property
    def basis_t(self) -> int:
        """The newest transaction."""
        newest: int = self._services.database.snapshot().t
        return newest

    def events(self, document: str, variables: Mapping[str, Any]) -> Iterator[Answer]:
        """The results of a subscription, as they come. Raises AdalogError if it is refused."""
        from adalog.executor.live.hub.hub import Hub
        from adalog.schema.documents.operations import OperationRequest
        from adalog.schema.live.stream import RefusedError
        from adalog.schema.request.context import Context

        # What has come last is known when nothing more does.
        live = replace(self._live, progress_seconds=0.05)
        with asyncio.Runner() as runner, Hub(self._services.pool, live) as hub:
            services = replace(self._services, hub=hub)
            asked = OperationRequest(self._operations.prepare(document), Context(services), variables)
            try:
                stream = runner.run(self._operations.subscribe(asked))
            except RefusedError as refused:
                raise error_of(refused.errors[0]) from None
            try:
                while True:
                    yield orjson.loads(runner.run(stream.__anext__()).payload)
            finally:
                stream.close()

    def write(self, variables: Mapping[str, Any], folder: str) -> tuple[int, int, Sequence[Warning]]:
        """Writes the rows of a query, asked for as in a document, as Parquet: (rows, files, warnings)."""
        from adalog.executor.bounds.cancel import Cancel
        from adalog.executor.question.request import QueryRequest
        from adalog.schema.arguments.speculation import BasisReading
        from adalog.schema.arguments.values import BasisInput, read_arguments
        from adalog.schema.fields.types import warnings_of
        from adalog.schema.request.context import Context

        services, basis = self._services, variables.get("basis")
        pool, database = services.pool, services.database
        if pool.spark is not None:
            pool.spark.wait_ready(_SPARK_SECONDS)
        given = None if basis is None else BasisInput(**_basis_fields(basis))
        context = Context(services)
        reading = BasisReading(context, context.visible, given, variables.get("with"), None)
        snapshot = asyncio.run(reading.snapshot())
        arguments = read_arguments(database, variables.get("args"), variables.get("argsEdn"))
        request = QueryRequest(
            variables["query"], arguments, snapshot, variables["engine"], variables.get("timeoutMs"), cached=False
        )
        parts = pool.write(request, folder, Cancel())
        told = (*reading.told, *pool.diagnostics(pool.question(request)))
        return sum(part.rows for part in parts), len(parts), warnings_of(told)


Backend = RemoteBackend | LocalBackend


def _basis_fields(basis: Mapping[str, Any]) -> dict[str, Any]:
    names = {"asOf": "as_of", "sinceInstant": "since_instant"}
    return {names.get(name, name): int(value) if name in ("t", "since") else value for name, value in basis.items()}


@contextmanager
def opened(settings: Settings, *, spark: bool = False) -> Iterator[LocalBackend]:
    """A Local backend over the settings' data; it has no other client to protect."""
    from adalog.gateway.opening import open_database, start_pool

    settings = replace(settings, rows=100_000_000, result_bytes=4 * 2**30, timeout_ms=24 * 3600 * 1000)
    # One request is all there is: nothing would be asked twice.
    settings = replace(settings, cache_bytes=0, redis_url=None)
    with open_database(settings) as database:
        pool = start_pool(database, settings, spark=spark and settings.spark)
        try:
            yield LocalBackend(database, pool, settings)
        finally:
            pool.close()
