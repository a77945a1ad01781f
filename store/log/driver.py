"""The driver of PostgreSQL, which an extra brings. Modules that import it are imported where they are used."""

from __future__ import annotations

from adalog.datalog.extras import require


def require_driver() -> None:
    """Raises BACKEND_UNAVAILABLE without the driver."""
    require("psycopg", "postgresql", "a log in PostgreSQL")
