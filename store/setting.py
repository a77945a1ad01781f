"""How a database reads transactions: its schema mode, its limits on text, and who runs the queries it stores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from datalog import edn
from datalog.errors import AdalogError, Code
from store.snapshot import Snapshot

SchemaMode = Literal["open", "strict"]

_SECONDS: Final = 10

# Runs a query's text with the values for its `:in` after `$`; the rows come in an order that is always the same.
# Raises AdalogError for a query that is wrong, or that takes longer than a transaction may.
Evaluator = Callable[[str, Sequence[Any], Snapshot], Sequence[tuple[Any, ...]]]


@dataclass
class Setting:
    """evaluator: whoever can run queries sets it, as the store cannot."""

    mode: SchemaMode = "open"
    limits: edn.Limits = edn.DEFAULT
    evaluator: Evaluator | None = None


class Evaluation:
    """One transaction's stored queries, which have some seconds together: everybody who writes waits for them."""

    def __init__(self, setting: Setting) -> None:
        self._evaluator = setting.evaluator
        self._until: float | None = None

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
            self._until = now + _SECONDS
        elif now > self._until:
            raise AdalogError(
                Code.TIMEOUT, f"the transaction's stored queries took more than {_SECONDS} seconds together"
            )
        return self._evaluator(query, args, snapshot)
