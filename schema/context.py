"""What a resolver finds in `info.context`: the database, the pool of engines, the limits, and who asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schema.cursor import Cursors
from schema.limits import Limits

if TYPE_CHECKING:
    from executor.pool import Pool
    from store.database import Database


@dataclass(frozen=True, slots=True)
class Services:
    """What lives as long as the process."""

    database: Database
    pool: Pool
    limits: Limits
    cursors: Cursors


@dataclass(slots=True)
class Context:
    """One request: the services, and how many rows its queries gave (for the metrics)."""

    services: Services
    rows: int = 0

    # Strawberry hands the context to field extensions by these names when it is not a dict.
    request: Any = None
    response: Any = None
