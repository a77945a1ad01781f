"""The one exception of the library: what was refused, where in the text, and whether another try may help."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final

from adalog.datalog.errors import AdalogError


class Error(Exception):
    """A refused call. `code`: one of the contract's codes, such as `QUERY_INVALID`. `line` and `column`: the place
    in the text, from 1; None where no text is at fault. `origin`: which text, where it is not the query's or the
    transaction's own. `retryable`: whether the same call may succeed later."""

    def __init__(
        self,
        code: str,
        message: str,
        line: int | None = None,
        column: int | None = None,
        *,
        origin: str | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line
        self.column = column
        self.origin = origin
        self.retryable = retryable

    def __str__(self) -> str:
        place = "" if self.line is None or self.origin else f" at {self.line}:{self.column}"
        return f"{self.code}{place}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuilt, (self.code, self.message, self.line, self.column, self.origin, self.retryable))


def _rebuilt(
    code: str, message: str, line: int | None, column: int | None, origin: str | None, retryable: bool
) -> Error:
    return Error(code, message, line, column, origin=origin, retryable=retryable)


def error_of(refused: AdalogError) -> Error:
    """The engine's error as the library's."""
    at = refused.position
    line, column = (None, None) if at is None else (at.line, at.column)
    origin = (at.origin or None) if at is not None else None
    return Error(refused.code.value, refused.message, line, column, origin=origin, retryable=refused.retryable)


class _Refusing:
    """A class and no generator, which would take a microsecond of each call."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, AdalogError):
            raise error_of(error) from None


_REFUSING: Final = _Refusing()


def refusing() -> AbstractContextManager[None]:
    """What the block refuses is raised as the library's error."""
    return _REFUSING
