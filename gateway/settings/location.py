"""Where the data is, as messages say it."""

from __future__ import annotations

import os
from pathlib import Path

from adalog.store.files.folder import is_address


def shown_path(location: str) -> str:
    """A place of data for messages: a folder as it was given, and absolute where that says more; a server's address
    without what is secret in it."""
    if is_address(location):
        from adalog.store.log.server import shown_address

        return shown_address(location)
    return location if os.path.isabs(location) else f"{location} ({Path(location).absolute()})"


def shown_data(location: str) -> str:
    """The same, as short as it was given."""
    return shown_path(location) if is_address(location) else location
