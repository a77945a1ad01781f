"""How a database reads transactions: its schema mode, its limits on text, and who runs the queries it stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from datalog import edn
from datalog.errors import AdalogError, Code
from store.snapshot import Snapshot

SchemaMode = Literal["open", "strict"]

# Runs a query's text with the values for its `:in` after `$`; the rows come in an order that is always the same.
# Raises AdalogError for a query that is wrong, or that takes longer than a transaction may.
Evaluator = Callable[[str, Sequence[Any], Snapshot], Sequence[tuple[Any, ...]]]


@dataclass
class Setting:
    """evaluator: whoever can run queries sets it, as the store cannot."""

    mode: SchemaMode = "open"
    limits: edn.Limits = edn.DEFAULT
    evaluator: Evaluator | None = None

    def rows(self, query: str, args: Sequence[Any], snapshot: Snapshot) -> Sequence[tuple[Any, ...]]:
        """The rows of a stored query."""
        if self.evaluator is None:
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE,
                "stored queries need a query engine, and this database was opened without one",
                retryable=False,
            )
        return self.evaluator(query, args, snapshot)
