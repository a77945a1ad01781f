"""What workers ask of each other: answers as they come, errors, the end of a caller, and for whom it is done."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from multiprocessing import Pipe
from multiprocessing.connection import Connection as Line
from typing import Any

import pytest

from adalog.datalog import tracing
from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.client import ASKING, Client
from adalog.gateway.workers.calls import Calls, Gone


class Post:
    """One of two workers, which the other's calls reach at once."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.workers = 2
        self.other: Post | None = None

    def answer(self, line: Line) -> None:
        raise NotImplementedError

    def call(self, number: int) -> Line | None:
        if self.other is None:
            return None
        ours, theirs = Pipe()
        threading.Thread(target=self.other.answer, args=(theirs,), daemon=True).start()
        return ours


def two(**services: Any) -> tuple[Calls, Post]:
    """One worker's calls to another, which has the services."""
    here, there = Post(0), Post(1)
    here.other = there
    Calls(there, services)  # type: ignore[arg-type]
    return Calls(here, {}), here  # type: ignore[arg-type]


def test_answers_come_one_after_the_other() -> None:
    def counted(_: Gone, start: int, end: int) -> Iterator[int]:
        yield from range(start, end)

    calls, _ = two(count=counted)
    assert list(calls.ask(1, "count", 3, 6)) == [3, 4, 5]
    assert calls.others() == [1]


def test_what_the_other_refuses_is_raised_here() -> None:
    def refused(_: Gone) -> Iterator[int]:
        yield 1
        raise AdalogError(Code.RATE_LIMITED, "later", retry_after=5)

    def failed(_: Gone) -> Iterator[int]:
        yield 1 // 0

    calls, _ = two(refused=refused, failed=failed)
    answers = calls.ask(1, "refused")
    assert next(answers) == 1
    with pytest.raises(AdalogError, match="later") as caught:
        next(answers)
    assert (caught.value.code, caught.value.retry_after) == (Code.RATE_LIMITED, 5)
    with pytest.raises(AdalogError, match="another worker failed") as caught:
        next(calls.ask(1, "failed"))
    assert caught.value.code is Code.INTERNAL


def test_a_caller_that_leaves_is_noticed() -> None:
    left = threading.Event()

    def endless(gone: Gone) -> Iterator[int]:
        yield 1
        while not gone():
            pass
        left.set()

    calls, _ = two(endless=endless)
    answers = calls.ask(1, "endless", tick=0.01)
    assert next(answers) == 1
    assert next(answers) is None
    answers.close()
    assert left.wait(30)


def test_a_worker_that_is_away_is_said_to_be() -> None:
    calls, post = two()
    post.other = None
    with pytest.raises(AdalogError, match="worker 1 of this server does not answer") as caught:
        next(calls.ask(1, "count"))
    assert (caught.value.code, caught.value.retryable) == (Code.BACKEND_UNAVAILABLE, True)


def test_the_other_knows_for_whom_it_works() -> None:
    def who(_: Gone) -> Iterator[Any]:
        yield ASKING.get().principal, ASKING.get().id, tracing.ids()

    calls, _ = two(who=who)
    tracing.install(_Tracer())
    before = ASKING.set(Client("ada", id="r1"))
    try:
        with tracing.attached("trace"):
            assert next(calls.ask(1, "who")) == ("ada", "r1", ("trace", "span"))
    finally:
        ASKING.reset(before)
        tracing.install(None)


_CONTEXT: ContextVar[str] = ContextVar("context", default="none")


class _Tracer:
    """A context is the name of a trace."""

    def span(
        self, name: str, attributes: tracing.Attributes, parent: Any, linked: Sequence[Any], server: bool
    ) -> AbstractContextManager[tracing.Span]:
        raise NotImplementedError

    def current(self) -> str:
        return _CONTEXT.get()

    @contextmanager
    def attached(self, context: str) -> Iterator[tracing.Span]:
        before = _CONTEXT.set(context)
        try:
            yield tracing.SILENT
        finally:
            _CONTEXT.reset(before)

    def remote(self, headers: Mapping[str, str]) -> str:
        return headers["traceparent"]

    def headers(self) -> Mapping[str, str]:
        return {"traceparent": _CONTEXT.get()}

    def ids(self) -> tuple[str, str]:
        return _CONTEXT.get(), "span"
