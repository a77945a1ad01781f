"""The queries of all workers: whichever worker is asked lists them, and ends any of them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from adalog.datalog.errors import AdalogError
from adalog.executor.turns.running_queries import RunningQueries, RunningQuery
from adalog.gateway.workers.calls import Calls, Gone, Service

_LIST: Final = "queries"
_CANCEL: Final = "cancel query"
# A worker that does not answer is left out.
_SECONDS: Final = 3.0


class QueriesOfAll:
    """`own`: the queries of this worker."""

    def __init__(self, own: RunningQueries, calls: Calls) -> None:
        self._own = own
        self._calls = calls

    def all(self) -> list[RunningQuery]:
        """The queries of the workers that answer, the oldest first. Not on the event loop."""
        listed = [self._own.all(), *self._answers(_LIST)]
        return sorted((query for each in listed for query in each), key=lambda query: query.started)

    def cancel(self, name: str) -> bool:
        """Ends a query, whichever worker has it; whether there is one of this id. Not on the event loop."""
        return self._own.cancel(name) or any(self._answers(_CANCEL, name))

    def services(self) -> dict[str, Service]:
        """What this worker answers the others."""

        def listed(_: Gone) -> Iterator[list[RunningQuery]]:
            yield self._own.all()

        def cancelled(_: Gone, name: str) -> Iterator[bool]:
            yield self._own.cancel(name)

        return {_LIST: listed, _CANCEL: cancelled}

    def _answers(self, name: str, *arguments: Any) -> list[Any]:
        def answer(worker: int) -> Any:
            try:
                return next(self._calls.ask(worker, name, *arguments, seconds=_SECONDS), None)
            except AdalogError:
                return None

        others = self._calls.others()
        if not others:
            return []
        with ThreadPoolExecutor(len(others)) as asking:
            return [each for each in asking.map(answer, others) if each is not None]
