"""Spans of the work for a request, if a tracer is installed; without one they cost next to nothing.

The tracer is installed by the gateway alone. What it is, and where spans go, is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol

Attributes = Mapping[str, str | int | float | bool]


class Span(Protocol):
    """A piece of work with a beginning and an end."""

    def set(self, name: str, value: str | float) -> None:
        """Says something about it."""


class Tracer(Protocol):
    """Makes spans. A context is what says which span new ones belong to."""

    def span(
        self, name: str, attributes: Attributes, parent: Any, linked: Sequence[Any], server: bool
    ) -> AbstractContextManager[Span]: ...

    def current(self) -> Any: ...

    def attached(self, context: Any) -> AbstractContextManager[Span]: ...

    def remote(self, headers: Mapping[str, str]) -> Any: ...

    def headers(self) -> Mapping[str, str]: ...

    def ids(self) -> tuple[str, str] | None: ...


class _Silent:
    def set(self, name: str, value: str | float) -> None:
        pass


SILENT: Final[Span] = _Silent()
_OFF: Final = nullcontext(SILENT)
_NOTHING: Final[Attributes] = {}
_tracer: Tracer | None = None


def install(tracer: Tracer | None) -> None:
    """Has spans made by this tracer from now on, or by none."""
    global _tracer
    _tracer = tracer


def is_on() -> bool:
    """Whether anybody wants spans."""
    return _tracer is not None


def span(
    name: str, attributes: Attributes = _NOTHING, parent: Any = None, linked: Sequence[Any] = ()
) -> AbstractContextManager[Span]:
    """A span for the time of the block, within the present one or within `parent`, a context."""
    if _tracer is None:
        return _OFF
    return _tracer.span(name, attributes, parent, linked, parent is not None and not linked)


def current() -> Any:
    """The present context, for work that is done on other threads; None without a tracer."""
    return None if _tracer is None else _tracer.current()


def attached(context: Any) -> AbstractContextManager[Span]:
    """Makes a context the present one for the time of the block."""
    return _OFF if _tracer is None or context is None else _tracer.attached(context)


def remote(headers: Mapping[str, str]) -> Any:
    """The context that a request's headers name."""
    return None if _tracer is None else _tracer.remote(headers)


def headers() -> Mapping[str, str]:
    """Headers that name the present context to another process; none without a tracer."""
    return {} if _tracer is None else _tracer.headers()


def ids() -> tuple[str, str] | None:
    """(the trace, the span) of the present context."""
    return None if _tracer is None else _tracer.ids()
