"""How a database reads transactions: its schema mode, its limits on text, and who runs the queries it stores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from datalog import edn
from datalog.errors import AdalogError, Code
from store.snapshot import Snapshot

SchemaMode = Literal["open", "strict"]

_SECONDS: Final = 5.0


class Watch(Protocol):
    """What long work looks at: whether it should stop."""

    def check(self) -> None:
        """Raises AdalogError where it should."""


# Runs a query's text with the values for its `:in` after `$`; the rows come in an order that is always the same.
# The last two are the moment of `time.monotonic()` by which it has to be done, and what to look at meanwhile.
# Raises AdalogError for a query that is wrong, or that takes longer.
Evaluator = Callable[[str, Sequence[Any], Snapshot, float, Watch | None], Sequence[tuple[Any, ...]]]


@dataclass
class Setting:
    """evaluator: whoever can run queries sets it, as the store cannot."""

    mode: SchemaMode = "open"
    limits: edn.Limits = edn.DEFAULT
    evaluator: Evaluator | None = None


class Evaluation:
    """One transaction's stored queries, which have some seconds together."""

    def __init__(self, setting: Setting, watch: Watch | None = None, seconds: float | None = None) -> None:
        self._evaluator = setting.evaluator
        self._watch = watch
        self._seconds = _SECONDS if seconds is None else seconds
        self._until: float | None = None

    def check(self) -> None:
        """Raises where the work on the transaction should stop."""
        if self._watch is not None:
            self._watch.check()

    def rows(self, query: str, args: Sequence[Any], snapshot: Snapshot) -> Sequence[tuple[Any, ...]]:
        """The rows of a stored query."""
        if self._evaluator is None:
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE,
                "stored queries need a query engine, and this database was opened without one",
                retryable=False,
            )
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._seconds
        try:
            if now < self._until:
                return self._evaluator(query, args, snapshot, self._until, self._watch)
        except AdalogError as error:
            if error.code is not Code.TIMEOUT or time.monotonic() < self._until:
                raise
        raise AdalogError(
            Code.TIMEOUT, f"the transaction's stored queries took more than {self._seconds:g} seconds together"
        )
