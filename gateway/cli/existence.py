"""Whether there is a database where the settings say, found out without opening it or loading what would."""

from __future__ import annotations

from pathlib import Path

from adalog.datalog.errors import unavailable
from adalog.gateway.settings.config import Settings
from adalog.gateway.settings.location import shown_path
from adalog.store.files.folder import holds_database, is_address


def is_made(settings: Settings) -> bool:
    """Whether opening the settings' database makes a folder, or a database in it."""
    return not settings.in_memory and not _held(settings) and not Path(settings.data).is_file()


def check_exists(settings: Settings) -> None:
    """Raises BACKEND_UNAVAILABLE where there is no database to read; nothing is made."""
    if settings.in_memory or _held(settings):
        return
    if is_address(settings.data):
        what = "holds none. `adalog transact` makes one"
    else:
        path = Path(settings.data)
        what = "does not exist" if not path.exists() else "holds none" if path.is_dir() else "is no folder"
        what += ". --data DIR names another folder, --url URL a server; `adalog transact` makes a database"
    message = (
        f"there is no database to read: {shown_path(settings.data)} {what}, `adalog sample` one with data to try"
    )
    raise unavailable(message, retryable=False)


def _held(settings: Settings) -> bool:
    if is_address(settings.data):
        from adalog.store.log.server import server_holds_database

        return server_holds_database(settings.data)
    try:
        return holds_database(Path(settings.data))
    except OSError as error:
        raise unavailable(
            f"the data folder {settings.data} cannot be used: {error.strerror}", retryable=False
        ) from None
