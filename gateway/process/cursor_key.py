"""The secret that signs cursors: kept with the data, made anew for a database that is not kept."""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from adalog.gateway.settings.config import SettingError, Settings

FILE: Final = "cursor.key"
_BYTES: Final = 32


def cursor_key(settings: Settings) -> bytes:
    """The key of the settings' database. Raises SettingError for a file that holds none."""
    if settings.in_memory:
        return secrets.token_bytes(_BYTES)
    path = Path(settings.data) / FILE
    try:
        if not path.exists():
            _make(path)
        secret = path.read_bytes()
    except OSError as error:
        raise SettingError(
            f"{path}, which holds the secret that signs cursors, cannot be used: {error.strerror}"
        ) from None
    if len(secret) != _BYTES:
        raise SettingError(
            f"{path} is damaged: the secret that signs cursors has {_BYTES} bytes, this file {len(secret)}. "
            "Delete it to have another one made; cursors that clients hold are refused then"
        )
    return hashlib.sha256(secret).digest()


def _make(path: Path) -> None:
    """Writes a new secret, all of it or nothing."""
    temporary = path.with_name(f".{path.name}.tmp")
    with suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_BYTES))
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
