"""The log of queries that took long, each with its plan: what somebody looks at who wants to make them quicker.

Queries answered from a cache are not among them. Values of arguments are not logged; those in a query's text are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from adalog.datalog.errors import AdalogError, shown
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.question.question import Question
from adalog.planner.explain.explanation import text_of

_LOGGER: Final = logging.getLogger("adalog.slow")
_MOST_TEXT: Final = 2_000
_MOST_PLAN: Final = 8_000
Explain = Callable[[Question], dict[str, Any]]


class SlowQueries:
    """Logs queries that took so many seconds, waiting included, also those that failed then."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def ran(self, explain: Explain, question: Question, cancel: Cancel, seconds: float, rows: int) -> None:
        # It waited before it began, too; later waiting is within the seconds.
        if max(seconds, cancel.waited) >= self.seconds:
            self._tell(explain, question, cancel, seconds, {"rows": rows, "code": "OK"})

    def failed(
        self, explain: Explain, question: Question, cancel: Cancel, seconds: float, error: AdalogError
    ) -> None:
        if seconds >= self.seconds:
            self._tell(explain, question, cancel, seconds, {"rows": None, "code": error.code.value})

    def _tell(
        self, explain: Explain, question: Question, cancel: Cancel, seconds: float, came: dict[str, Any]
    ) -> None:
        text = shown(" ".join(question.request.query[: 2 * _MOST_TEXT].split()), _MOST_TEXT)
        place, plan = "unknown", None
        try:
            explained = explain(question)
            place, plan = str(explained["engine"]), shown(text_of(explained), _MOST_PLAN)
        except AdalogError as error:
            plan = f"no plan: {error.message}"
        about = {
            "query": text,
            "arguments": len(question.request.args),
            "engine": place,
            "cache": "miss",
            "seconds": round(seconds, 6),
            "waitedSeconds": round(cancel.waited, 6),
            "lane": cancel.lane,
            "basisT": question.snapshot.t,
            **came,
            "plan": plan,
        }
        rows = "no answer" if came["rows"] is None else f"{came['rows']:,} row{'s' * (came['rows'] != 1)}"
        _LOGGER.warning(
            "slow query: %.3f s, %.3f s of them waiting, %s, %s, %s, t %d: %s",
            *(seconds, cancel.waited, place, rows, came["code"], question.snapshot.t, text),
            extra=about,
        )
