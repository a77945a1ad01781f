"""GraphQL over HTTP: which media type answers, and what the request asks.

https://graphql.github.io/graphql-over-http/draft/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qs

import numpy as np
import orjson
from graphql import GraphQLError

from adalog.datalog.errors import AdalogError, Code, quoted
from adalog.gateway.connections import limits
from adalog.schema.live.stream import RefusedError
from adalog.schema.writing.scalars import read_long
from adalog.store.files.gc_pause import put_off

GRAPHQL_JSON = "application/graphql-response+json"
JSON = "application/json"
EVENTS = "text/event-stream"
PARTS = "multipart/mixed;subscriptionSpec=1.0"
ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
# The media types of files, each with the field that writes it.
FILES = {ARROW: "arrow", PARQUET: "parquet"}
_RANGES = {GRAPHQL_JSON: GRAPHQL_JSON, JSON: JSON, "application/*": GRAPHQL_JSON, "*/*": JSON}

_PARAMETERS = (
    ("query", str, "a string: the text of a GraphQL document"),
    ("operationName", str, "a string"),
    ("variables", dict, "a JSON object"),
    ("extensions", dict, "a JSON object"),
)
# What most requests have, and nothing that says more.
_USUAL: Final = frozenset(["query", "variables"])
_HASH: Final = re.compile(r"[0-9a-f]{64}")
# Of an Accept header, what is looked at: browsers send some hundred characters.
_ACCEPT = 8_000
# Bytes from which on a search for garbage is worth putting off.
_LARGE = 64 * 1024


class BadRequestError(AdalogError):
    """A request that is not GraphQL over HTTP; `status` and `headers` are the answer's."""

    def __init__(
        self, status: int, message: str, code: Code = Code.ARG_INVALID, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(code, message, retryable=False)
        self.status = status
        self.headers = dict(headers or {})


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    query: str
    operation_name: str | None = None
    variables: dict[str, Any] | None = None
    # The newest transaction that the client has seen: nothing older is read.
    min_basis_t: int | None = None
    # Of the document, in hexadecimal digits: SHA-256. `query` may be empty then.
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class OperationBatch:
    """The operations of one body, each with its name, and in place of an invalid one what is wrong with it."""

    operations: list[tuple[str, GraphQLRequest | BadRequestError | RefusedError]]


@dataclass(frozen=True, slots=True)
class AcceptedTypes:
    """What a client takes. `json`: the media type of an answer, None where neither will do. `stream`: that of a
    subscription, EVENTS or PARTS; `events_first`: whether it would rather have events than JSON; `file`: the one
    of FILES that the rows of a query may come as, None where neither may."""

    json: str | None
    stream: str | None = None
    events_first: bool = False
    file: str | None = None

    def __bool__(self) -> bool:
        return self.json is not None or self.stream is not None


def accepted(header: str) -> AcceptedTypes:
    """What an Accept header takes: the first of the best media types of JSON, and events or parts where they are
    named, of both the better and then events, which can be resumed. A client that takes anything gets
    application/json, as graphql-http's audits want it, and no stream: it would wait for its end."""
    if not header or header == "*/*":
        return AcceptedTypes(JSON)
    best, best_quality, events, parts, file, file_quality = None, 0.0, 0.0, 0.0, None, 0.0
    for part in _ranges(header):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        chosen = _RANGES.get(media)
        quality = quality_of(parameters)
        if chosen is not None and quality > best_quality:
            best, best_quality = chosen, quality
        elif media == EVENTS:
            events = max(events, quality)
        elif media == "multipart/mixed" and _is_subscription_spec(parameters):
            parts = max(parts, quality)
        elif media in FILES and quality > file_quality:
            file, file_quality = media, quality
    stream = PARTS if parts > events else EVENTS if events > 0 else None
    if file is not None and best is None:
        # Errors are JSON.
        best = GRAPHQL_JSON
    return AcceptedTypes(best, stream, events > max(best_quality, parts, file_quality), file)


def _is_subscription_spec(parameters: list[str]) -> bool:
    """Whether multipart/mixed has these parameters for subscriptions: Apollo also names it for `@defer`."""
    return any(each.replace(" ", "").replace('"', "") == "subscriptionspec=1.0" for each in parameters)


def wants_page(header: str) -> bool:
    """Whether a browser is asking for a page to look at."""
    for part in _ranges(header):
        media = part.partition(";")[0].strip()
        if media in (GRAPHQL_JSON, JSON):
            return False
        if media in ("text/html", "application/xhtml+xml"):
            return True
    return False


def _ranges(header: str) -> list[str]:
    return header[:_ACCEPT].lower().split(",")


def quality_of(parameters: list[str]) -> float:
    """How much a client wants a member of Accept or Accept-Encoding, 0 to 1, by its parameters."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0


def _loaded(body: bytes) -> Any:
    with put_off(len(body)):
        return orjson.loads(body)


def cost_of_json(body: bytes) -> int:
    """What reading a JSON text costs, in numbers read: known before it is paid, as it cannot be read in parts. A
    list or an object costs about two numbers, a string or a key eight. What stands within strings counts too."""
    letters = np.frombuffer(body, np.uint8)

    def count(letter: bytes) -> int:
        return int(np.count_nonzero(letters == letter[0]))

    return count(b",") + 2 * (count(b"[") + count(b"{")) + 4 * count(b'"')


def from_body(content_type: str, body: bytes, most: int) -> GraphQLRequest | OperationBatch:
    """A POST's request, or several in an array. Only JSON is taken: another site's page cannot send it without
    asking first (CSRF). `most`: what reading it may cost, in numbers read."""
    _check_media(content_type)
    if 3 * len(body) > most and cost_of_json(body) > most:
        raise BadRequestError(413, f"the request has more than about {most:,} JSON values", Code.LIMIT_EXCEEDED)
    try:
        content = _loaded(body) if len(body) > _LARGE else orjson.loads(body)
    except orjson.JSONDecodeError as error:
        place = f"{error.msg} at line {error.lineno}, column {error.colno}"
        hint = "; a line break in a string is written \\n" if "control character" in error.msg else ""
        raise BadRequestError(400, f"the request is not JSON: {place}{hint}") from None
    if isinstance(content, list):
        return _batch(content)
    if not isinstance(content, dict):
        raise BadRequestError(400, "the request must be a JSON object with `query`, `variables`, `operationName`")
    return checked(content)


@lru_cache
def _check_media(content_type: str) -> None:
    """Raises BadRequestError unless it is JSON in UTF-8."""
    media, _, parameters = content_type.lower().partition(";")
    if media.strip() != JSON:
        shown = f"{quoted(content_type)} was sent" if content_type else "none was sent"
        raise BadRequestError(
            415, f"a POST needs `Content-Type: application/json`; {shown}", headers={"Accept-Post": JSON}
        )
    charset = parameters.partition("charset=")[2].strip().strip('"')
    if charset and charset not in ("utf-8", "utf8"):
        raise BadRequestError(415, f"the request must be UTF-8, not {quoted(charset)}")


def _batch(contents: list[Any]) -> OperationBatch:
    if not contents:
        raise BadRequestError(400, "the array of operations is empty")
    if len(contents) > limits.OPERATIONS_PER_CONNECTION:
        most = f"the array has more than {limits.OPERATIONS_PER_CONNECTION} operations; send several requests"
        raise BadRequestError(413, most, Code.LIMIT_EXCEEDED)
    operations: list[tuple[str, GraphQLRequest | BadRequestError | RefusedError]] = []
    names = set()
    for number, content in enumerate(contents):
        if not isinstance(content, dict):
            raise BadRequestError(400, f"element {number} of the array is no object with `query`, `variables`")
        name = _name(content, number)
        if name in names:
            raise BadRequestError(400, f"two operations have the operationId {quoted(name)}")
        names.add(name)
        try:
            operations.append((name, checked(content)))
        except (BadRequestError, RefusedError) as invalid:
            operations.append((name, invalid))
    return OperationBatch(operations)


def _name(content: dict[str, Any], number: int) -> str:
    """An operation's name as graphql-sse has it in its single connection mode; by default its place."""
    extensions = content.get("extensions")
    name = extensions.get("operationId") if isinstance(extensions, dict) else None
    if name is None:
        return str(number)
    if not isinstance(name, str) or not 0 < len(name.encode()) <= limits.OPERATION_ID_BYTES:
        most = limits.OPERATION_ID_BYTES
        raise BadRequestError(400, f"`extensions.operationId` must be a string of 1 to {most} bytes")
    return name


def from_url(query_string: bytes) -> GraphQLRequest:
    try:
        # A blank value stays, so that an empty query is told from none.
        found = parse_qs(query_string.decode("ascii"), keep_blank_values=True, max_num_fields=20, errors="strict")
    except ValueError:
        raise BadRequestError(400, "the query string cannot be read: it must be URL-encoded UTF-8") from None
    twice = next((name for name, values in found.items() if len(values) > 1), None)
    if twice is not None:
        # A program on the way may have looked at another one of them.
        raise BadRequestError(400, f"{quoted(twice)} stands twice in the query string")
    content: dict[str, Any] = {name: values[0] for name, values in found.items()}
    for name in ("variables", "extensions"):
        if content.get(name):
            try:
                content[name] = orjson.loads(content[name])
            except orjson.JSONDecodeError as error:
                raise BadRequestError(400, f"{name} is not JSON: {error.msg}, column {error.colno}") from None
        else:
            content.pop(name, None)
    return checked(content)


def checked(content: dict[str, Any]) -> GraphQLRequest:
    """The request in a JSON object. Raises BadRequestError where a parameter has a wrong type."""
    query, variables = content.get("query"), content.get("variables")
    if type(query) is str and content.keys() <= _USUAL and (variables is None or type(variables) is dict):
        return GraphQLRequest(query, None, variables)
    digest = _persisted(content.get("extensions"))
    if query is None and digest is None:
        given = f"; there is {', '.join(map(quoted, list(content)[:4]))}" if content else ""
        raise BadRequestError(400, f"`query` is missing: the text of a GraphQL document{given}")
    for name, kind, what in _PARAMETERS:
        value = content.get(name)
        if value is not None and not isinstance(value, kind):
            raise BadRequestError(400, f"`{name}` must be {what}")
    seen = (content.get("extensions") or {}).get("minBasisT")
    try:
        min_basis_t = None if seen is None else int(read_long(seen))
    except GraphQLError:
        message = f"`extensions.minBasisT` is a transaction's number, not {quoted(seen)}"
        raise BadRequestError(400, message) from None
    return GraphQLRequest(query or "", content.get("operationName") or None, variables, min_basis_t, digest)


def _persisted(extensions: Any) -> str | None:
    """The hash of `extensions.persistedQuery`, if there is one."""
    given = extensions.get("persistedQuery") if isinstance(extensions, dict) else None
    if not given:
        return None
    found = given.get("sha256Hash") if isinstance(given, dict) else None
    if not isinstance(found, str) or not _HASH.fullmatch(found) or given.get("version") != 1:
        message = "`extensions.persistedQuery` has the version 1, and in `sha256Hash` 64 hexadecimal digits"
        raise BadRequestError(400, message)
    return found
