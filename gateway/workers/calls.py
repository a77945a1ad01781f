"""What workers ask of each other: their metrics, and the work of the one that has the Spark session.

A call is a name and its arguments; what comes back is any number of answers, then the end, or what was wrong.
Pickled, as both ends are the same program, and no other program can have a connection.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection as Line
from typing import Any, NamedTuple

from adalog.datalog import tracing
from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.executor.bounds.client import ASKING, Client
from adalog.gateway.workers.supervisor_link import SupervisorLink

_ANSWER, _END, _REFUSED = "answer", "end", "refused"

Gone = Callable[[], bool]
"""Whether the caller is gone."""
Service = Callable[..., Iterator[Any]]
"""Answers a call: a `Gone` and the call's arguments; then as many answers as it has."""

_log = logging.getLogger("adalog.server")


class Calls:
    """Both sides. `services`: what this worker does for others, by name."""

    def __init__(self, post: SupervisorLink, services: dict[str, Service]) -> None:
        self._post = post
        self._services = services
        post.answer = self._answer

    @property
    def number(self) -> int:
        return self._post.number

    def others(self) -> list[int]:
        return [number for number in range(self._post.workers) if number != self._post.number]

    def ask(
        self, worker: int, name: str, *arguments: Any, seconds: float | None = None, tick: float | None = None
    ) -> Generator[Any]:
        """The answers of another worker, as they come; closing the generator ends the call. seconds: how long the
        next answer may take. tick: None comes so often while there is no answer. Raises what the other raised, and
        BACKEND_UNAVAILABLE where it is not there, ends, or takes too long."""
        line = self._post.call(worker)
        if line is None:
            raise _away(worker)
        with line:
            try:
                line.send((name, arguments, _Asking.now()))
                while True:
                    if seconds is not None and not line.poll(seconds):
                        raise _away(worker)
                    while tick is not None and not line.poll(tick):
                        yield None
                    kind, said = line.recv()
                    if kind == _ANSWER:
                        yield said
                    elif kind == _REFUSED:
                        raise said
                    else:
                        return
            except (EOFError, OSError):
                raise _away(worker) from None

    def _answer(self, line: Line) -> None:
        with line, suppress(EOFError, OSError):
            name, arguments, asking = line.recv()
            try:
                with asking.continued():
                    for said in self._services[name](lambda: _is_left(line), *arguments):
                        line.send((_ANSWER, said))
                line.send((_END, None))
            except AdalogError as error:
                line.send((_REFUSED, error))
            except (EOFError, OSError):
                raise
            except Exception:  # noqa: BLE001 - the caller hears that it failed, the log of what
                _log.exception("a call of another worker failed")
                line.send((_REFUSED, AdalogError(Code.INTERNAL, "another worker failed; the log says why")))


class _Asking(NamedTuple):
    """For whom a call is made: the principal and its request, and the span that it is a part of."""

    principal: str
    request_id: str
    headers: Mapping[str, str]

    @classmethod
    def now(cls) -> _Asking:
        client = ASKING.get()
        return cls(client.principal, client.id, tracing.headers())

    @contextmanager
    def continued(self) -> Iterator[None]:
        """The same on this thread, which is in another process."""
        with tracing.attached(tracing.remote(self.headers)):
            before = ASKING.set(Client(self.principal, id=self.request_id))
            try:
                yield
            finally:
                ASKING.reset(before)


def _is_left(line: Line) -> bool:
    """Whether the caller has hung up: it says nothing more before."""
    try:
        return line.poll(0)
    except OSError:
        return True


def _away(worker: int) -> AdalogError:
    return unavailable(f"worker {worker} of this server does not answer; it may be starting, try again")
