"""GraphQL over HTTP as clients of this repository speak it: bodies, answers, errors and event streams.

It sends nothing itself; the command line uses it, too.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Code, Position, invalid_argument

GRAPHQL_JSON = "application/graphql-response+json"
EVENT_STREAM = "text/event-stream"
ARROW = "application/vnd.apache.arrow.stream"
ARROW_BYTES = "Adalog-Arrow-Bytes"
Answer = dict[str, Any]


def request_body(document: str, variables: Mapping[str, Any], extensions: Mapping[str, Any] | None = None) -> bytes:
    more = b"" if not extensions else b',"extensions":' + json_bytes(extensions)
    return b'{"query":' + orjson.dumps(document) + b',"variables":' + json_bytes(variables) + more + b"}"


def json_bytes(variables: Mapping[str, Any]) -> bytes:
    """The variables as JSON. Raises ARG_INVALID for what no JSON can carry: text that is no Unicode."""
    try:
        return orjson.dumps(variables)
    except orjson.JSONEncodeError as error:
        for text in variables.values():
            if isinstance(text, str):
                # Half of a surrogate pair: refused with its place.
                edn.check_characters(text)
        raise invalid_argument(f"the request cannot be written as JSON: {error}") from None


def events_of(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """The events of a stream: their kinds and data."""
    kind, data = "", ""
    for line in lines:
        if line.startswith("event:"):
            kind = line[6:].strip()
        elif line.startswith("data:"):
            data += line[5:].strip()
        elif not line and kind:
            yield kind, data
            kind, data = "", ""


def is_near(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def reads_certificates(scheme: str, host: str) -> bool:
    """Whether a client of a server needs the certificates of authorities, which take 25 ms or more to read."""
    return scheme != "http" or not is_near(host)


def is_graphql(answer: Any) -> bool:
    """Whether an answer has errors or data in GraphQL's shape."""
    if not isinstance(answer, dict):
        return False
    errors = answer.get("errors")
    if errors:
        return isinstance(errors, list) and all(isinstance(error, dict) for error in errors)
    return isinstance(answer.get("data"), dict)


def data_of(answer: Answer) -> Answer:
    """What an answer says. Raises AdalogError for the first of its errors."""
    errors = answer.get("errors")
    if errors:
        raise error_of(errors[0])
    data: Answer = answer["data"]
    return data


def error_of(error: Mapping[str, Any]) -> AdalogError:
    extensions = error.get("extensions") or {}
    line, column = extensions.get("line"), extensions.get("column")
    # Positions without a path are places in the GraphQL document, which the user never wrote.
    origin = extensions.get("origin", "")
    position = Position(line, column, origin) if line and column and error.get("path") else None
    code = extensions.get("code")
    return AdalogError(
        Code(code) if code in set(Code) else Code.INTERNAL,
        error.get("message", "no message"),
        position,
        retryable=extensions.get("retryable"),
    )
