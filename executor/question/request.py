"""What a caller asks of the pool: a query's text, its arguments as they were given, and the limits that hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from adalog.planner.model.plan import Options
from adalog.store.snapshot.snapshot import Snapshot

_OPTIONS: Final = Options()


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """A query to run. `args` are EDN values as `datalog.edn` reads them, the same as `Given` with what they came
    from, or snapshots and moments for database sources.

    `engine`: AUTO, LOCAL or SPARK. `ordered`: sort the rows by the total order of values, so that pages agree.
    `shown`: start and end of the rows of the page; pulls are run on those only.
    `unpulled`: the caller does without its pulls. `cached`: an answer that was given on the same data will do.
    """

    query: str
    args: Sequence[Any] = ()
    snapshot: Snapshot | None = None
    engine: str = "AUTO"
    timeout_ms: int | None = None
    max_rows: int | None = None
    ordered: bool = False
    shown: tuple[int, int | None] = (0, None)
    options: Options = _OPTIONS
    cached: bool = True
    unpulled: bool = False
