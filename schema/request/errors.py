"""Errors as GraphQL answers them: message, locations, path, and extensions {code, line, column, retryable}.

What the domain refused keeps its code. Anything unforeseen becomes INTERNAL with an id: the stack trace goes to the
log under that id and never to the client.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Sequence
from typing import Any, Final

from graphql import FieldNode, GraphQLError, GraphQLSyntaxError
from graphql.error import located_error

from adalog.datalog.errors import OUT_OF_FILES, AdalogError, Code, cut_message, limit_exceeded, unavailable
from adalog.executor.bounds.failure import emptied
from adalog.schema.request.transaction_wait import NotReadError
from adalog.store.files.addresses import without_secrets

log = logging.getLogger("adalog.graphql")

_BEHIND: Final = frozenset({Code.BACKEND_UNAVAILABLE, Code.READ_ONLY, Code.INTERNAL})
# As graphql-core says it of null.
_NULL: Final = re.compile(r"Expected value of non-null type '([^']+)' not to be None\.")


class WrongValueError(GraphQLError):
    """A literal that an argument does not take. Its code is that of a variable with the same value."""


def format_error(error: GraphQLError) -> dict[str, Any]:
    """One entry of the response's `errors`."""
    original = _domain_error(error)
    answer: dict[str, Any]
    if original is not None:
        answer = describe(original)
    else:
        cause = _cause(error)
        answer = _describe_document_error(error) if cause is None else internal(cause)
    if error.locations:
        answer["locations"] = [{"line": place.line, "column": place.column} for place in error.locations]
    if error.path:
        answer["path"] = list(error.path)
    return answer


def format_located(error: Exception, node: FieldNode, path: Sequence[str]) -> dict[str, Any]:
    """The entry for what the resolver of a field raised."""
    located = located_error(error, [node], path)
    described = format_error(located)
    # Its frames hold what the request was about.
    emptied(located)
    return described


def describe(error: AdalogError) -> dict[str, Any]:
    """A domain error outside of any field: a refused request."""
    extensions: dict[str, Any] = {"code": error.code.value, "retryable": error.retryable}
    if error.retry_after is not None:
        extensions["retryAfter"] = error.retry_after
    if isinstance(error, NotReadError):
        extensions["minBasisT"] = error.t
    if error.position is not None:
        extensions["line"] = error.position.line
        extensions["column"] = error.position.column
        if error.position.origin:
            extensions["origin"] = error.position.origin
    # What failed behind the server may quote an address that its settings name.
    message = without_secrets(error.message) if error.code in _BEHIND else error.message
    return {"message": message, "extensions": extensions}


def _describe_document_error(error: GraphQLError) -> dict[str, Any]:
    # A wrong value for an argument or a variable is the caller's argument; all else is the document.
    wrong_value = isinstance(error, WrongValueError) or (
        error.message.startswith("Variable ") or "invalid value" in error.message
    )
    code = Code.ARG_INVALID if wrong_value and not isinstance(error, GraphQLSyntaxError) else Code.QUERY_INVALID
    extensions: dict[str, Any] = {"code": code.value, "retryable": False}
    if error.locations:
        extensions["line"] = error.locations[0].line
        extensions["column"] = error.locations[0].column
    return {"message": cut_message(_NULL.sub(_null, error.message)), "extensions": extensions}


def _null(match: re.Match[str]) -> str:
    nil = '; nil as an argument is {"#edn": "nil"}' if match[1] == "JSON!" else ""
    return f"null cannot stand here, where a {match[1]} is wanted{nil}."


def _cause(error: GraphQLError) -> BaseException | None:
    """What lies under GraphQL's own wrapping; None where GraphQL itself refused."""
    cause: BaseException | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    return cause


def _domain_error(error: GraphQLError) -> AdalogError | None:
    cause = _cause(error)
    if isinstance(cause, AdalogError):
        return cause
    if isinstance(cause, asyncio.CancelledError):
        return AdalogError(Code.CANCELLED, "the request was cancelled")
    if isinstance(cause, (MemoryError, RecursionError)):
        return limit_exceeded("the request needs more memory than this server has for it")
    if isinstance(cause, OSError) and cause.errno in OUT_OF_FILES:
        return unavailable("this server has as many files open as it may; try again")
    return None


def internal(cause: BaseException) -> dict[str, Any]:
    """An unforeseen error, in GraphQL's execution or outside; the log has it under an id."""
    incident = secrets.token_hex(4)
    log.error("incident %s", incident, exc_info=cause)
    message = f"something went wrong inside adalog; its log has the details under incident {incident}"
    extensions = {"code": Code.INTERNAL.value, "retryable": False, "incident": incident}
    return {"message": message, "extensions": extensions}
