"""Leaving nothing in the files of a log in SQLite of what was replaced or deleted.

Connections overwrite what they delete (`secure_delete`), from the creation of a log on. Free space has copies
nevertheless where an earlier version moved rows from page to page, or where a row got another size: such a log has
no mark, and is written anew once.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from adalog.store.log.sqlite import WAIT_SECONDS
from adalog.store.log.tables import SCRUBBED

# For the log to be written anew. A row that gets another size meanwhile takes it away.
_SCRUBBING: Final = SCRUBBED - 1
# For how long readers of the log are waited for, with writers behind.
_BUSY_MS: Final = 500


def scrubbed(connection: sa.Connection) -> bool:
    """Whether nothing is left; False where somebody reads what there was."""
    try:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {_BUSY_MS}")
        if _mark(connection) != SCRUBBED:
            connection.exec_driver_sql(f"PRAGMA application_id = {_SCRUBBING}")
            connection.commit()
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            if _mark(connection) == _SCRUBBING:
                connection.exec_driver_sql(f"PRAGMA application_id = {SCRUBBED}")
            connection.commit()
            if _mark(connection) != SCRUBBED:
                return False
        busy, *_ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
        return not busy
    except sa.exc.OperationalError as error:
        connection.rollback()
        if "locked" in str(error.orig) or "busy" in str(error.orig):
            return False
        raise
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {1000 * WAIT_SECONDS}")


def _mark(connection: sa.Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA main.application_id").scalar_one())
