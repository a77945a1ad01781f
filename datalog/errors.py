"""Every error a user can meet: a code, where in the text, and what would be right.

One exception type for the whole system. The gateway turns it into GraphQL `extensions`, the CLI into a message
with a caret under the offending text. Nothing here knows about either.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Final


class Code(StrEnum):
    """The contract's error codes."""

    EDN_SYNTAX = "EDN_SYNTAX"
    QUERY_INVALID = "QUERY_INVALID"
    UNKNOWN_ATTRIBUTE = "UNKNOWN_ATTRIBUTE"
    UNBOUND_VARIABLE = "UNBOUND_VARIABLE"
    UNSTRATIFIABLE = "UNSTRATIFIABLE"
    ARG_INVALID = "ARG_INVALID"
    TX_INVALID = "TX_INVALID"
    UNIQUE_CONFLICT = "UNIQUE_CONFLICT"
    CAS_FAILED = "CAS_FAILED"
    TX_CONFLICT = "TX_CONFLICT"
    BASIS_CONFLICT = "BASIS_CONFLICT"
    # Of the contract, and raised by nothing: every moment of a database can be read.
    BASIS_GONE = "BASIS_GONE"
    BASIS_FUTURE = "BASIS_FUTURE"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    FORBIDDEN = "FORBIDDEN"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    RATE_LIMITED = "RATE_LIMITED"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"
    BACKEND_UNAVAILABLE = "BACKEND_UNAVAILABLE"
    READ_ONLY = "READ_ONLY"
    INTERNAL = "INTERNAL"


_MEANWHILE = (Code.BASIS_CONFLICT, Code.BASIS_FUTURE, Code.BACKEND_UNAVAILABLE)
RETRYABLE = frozenset((*_MEANWHILE, Code.RATE_LIMITED, Code.TIMEOUT, Code.CANCELLED))

# What the system says where a process has as many files and connections open as it may.
OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE})


@dataclass(frozen=True, slots=True)
class Position:
    """A place in an EDN text: 1-based line and column, counted in characters.

    `origin`: which text, where it is not the one that the request is about: `the rules given for %`.
    """

    line: int
    column: int
    origin: str = ""


_QUOTED: Final = 60
_MESSAGE: Final = 400
# What no advice of ours has: so many characters without a space.
_RUN: Final = re.compile(r"\S{81,}")


def shown(text: str, most: int = _QUOTED) -> str:
    """A text for a message: what is longer than a line is cut, with a mark."""
    return text if len(text) <= most else text[: most - 1] + "…"


def quoted(value: object, most: int = _QUOTED) -> str:
    """The same of Python's way to write what came from outside, of which no more is written than is shown."""
    if isinstance(value, str | bytes):
        return shown(repr(value[:most]), most)
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 4 * most:
        return f"an integer of {value.bit_length():,} bits"
    if isinstance(value, list | tuple | dict | set | frozenset):
        return shown(_abbreviated(value, 3), most)
    return shown(repr(value), most)


def _abbreviated(value: object, depth: int) -> str:
    """A nested value with its first few items and levels only."""
    if isinstance(value, dict):
        items = [f"{_abbreviated(k, 0)}: {_abbreviated(v, depth - 1)}" for k, v in islice(value.items(), 4)]
        return "{" + ", ".join([*items, *["…"] * (len(value) > 4)]) + "}" if depth else "{…}"
    if isinstance(value, list | tuple | set | frozenset):
        items = [_abbreviated(item, depth - 1) for item in islice(value, 8)]
        return "[" + ", ".join([*items, *["…"] * (len(value) > 8)]) + "]" if depth else "[…]"
    return quoted(value)


def cut_message(message: str) -> str:
    """A message that may have quoted what was sent: its beginning and its end, where the advice stands."""
    if len(message) <= _MESSAGE:
        return message
    message = _RUN.sub(lambda run: shown(run[0]), message)
    if len(message) <= _MESSAGE:
        return message
    return f"{message[: _MESSAGE // 2]} … {message[-_MESSAGE // 2 + 3 :]}"


class AdalogError(Exception):
    """A refused request: `message` says what was wrong and, where it helps, what would be right.

    A message has at most a few lines, however much of the request it quotes.
    `retry_after`: the seconds after which it is worth another try, where that is known.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        position: Position | None = None,
        *,
        retryable: bool | None = None,
        retry_after: int | None = None,
    ) -> None:
        origin = "" if position is None else position.origin
        if position is not None and origin and not message.startswith((f"in {origin}", f"{origin}: ")):
            message = f"in {origin}, line {position.line}, column {position.column}: {message}"
        message = cut_message(message)
        super().__init__(message)
        self.code = code
        self.message = message
        self.position = position
        self.retryable = code in RETRYABLE if retryable is None else retryable
        self.retry_after = retry_after

    def of_text(self, origin: str, advice: str = "") -> AdalogError:
        """The same error, about another text than the one that the request is about."""
        at = None if self.position is None else replace(self.position, origin=origin)
        message = f"{self.message}{advice}" if at else f"{origin}: {self.message}{advice}"
        again, wait = self.retryable, self.retry_after
        return AdalogError(self.code, message, at, retryable=again, retry_after=wait)

    def __str__(self) -> str:
        if self.position is None or self.position.origin:
            return f"{self.code}: {self.message}"
        return f"{self.code} at {self.position.line}:{self.position.column}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        # Errors raised in Spark's Python workers travel to the driver; the default would lose the arguments.
        return (_rebuild, (self.code, self.message, self.position, self.retryable, self.retry_after))


def invalid_argument(message: str, position: Position | None = None) -> AdalogError:
    """ARG_INVALID."""
    return AdalogError(Code.ARG_INVALID, message, position)


def limit_exceeded(message: str, position: Position | None = None) -> AdalogError:
    """LIMIT_EXCEEDED."""
    return AdalogError(Code.LIMIT_EXCEEDED, message, position)


def unavailable(message: str, *, retryable: bool | None = None) -> AdalogError:
    """BACKEND_UNAVAILABLE."""
    return AdalogError(Code.BACKEND_UNAVAILABLE, message, retryable=retryable)


def _rebuild(
    code: Code, message: str, position: Position | None, retryable: bool, retry_after: int | None
) -> AdalogError:
    return AdalogError(code, message, position, retryable=retryable, retry_after=retry_after)
