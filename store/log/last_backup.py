"""When a database was backed up last, by whatever process: noted beside its log, for the metric of its servers.

In a data folder the time of an empty file has it, on a server a row that all gateways read.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from adalog.datalog.errors import AdalogError
from adalog.store.files.folder import FolderLayout
from adalog.store.files.permissions import opener
from adalog.store.log.log import Log
from adalog.store.log.tables import SECRETS, found_secret

_LOGGER: Final = logging.getLogger("adalog.store")
_NAME: Final = "last backup"
_MILLISECONDS: Final = 8


def note_backup(log: Log, folder: Path | None, made: int) -> None:
    """Notes that a backup was made, at milliseconds since 1970. It is there, whether this succeeds or not."""
    try:
        if log.is_on_server:
            value = made.to_bytes(_MILLISECONDS, "big")
            from sqlalchemy.dialects import postgresql

            note = postgresql.insert(SECRETS).values(name=_NAME, value=value)
            note = note.on_conflict_do_update(index_elements=["name"], set_={"value": value})
            with log.engine.execution_options(isolation_level="READ COMMITTED").begin() as connection:
                connection.execute(note)
        elif folder is not None:
            file = folder / FolderLayout.LAST_BACKUP
            os.close(opener(str(file), os.O_WRONLY | os.O_CREAT))
            os.utime(file, ns=(made * 1_000_000, made * 1_000_000))
    except (OSError, sa.exc.SQLAlchemyError, AdalogError) as error:
        _LOGGER.warning("the time of the backup could not be noted for the servers' metrics: %s", error)


def last_backup(log: Log, folder: Path | None) -> float | None:
    """When the database was backed up last, in seconds since 1970; None if that is not known."""
    if log.is_on_server:
        with suppress(sa.exc.SQLAlchemyError, AdalogError), log.engine.connect() as connection:
            value = found_secret(connection, _NAME)
            return None if value is None else int.from_bytes(value, "big") / 1000
    elif folder is not None:
        with suppress(OSError):
            return (folder / FolderLayout.LAST_BACKUP).stat().st_mtime
    return None
