"""Where a server writes backups that clients ask for: below folders and addresses that its setting lists."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote

from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.store.files.addresses import check_name, shown
from adalog.store.files.allowed_places import AllowedPlaces, is_address, is_below, local


@dataclass(frozen=True, slots=True)
class BackupPlaces(AllowedPlaces):
    """Addresses may have what has to be known to use them: `s3://bucket/backups?region=eu-central-1`."""

    EXAMPLE: ClassVar = "s3://bucket/backups"

    def checked(self, wanted: str) -> str:
        """The path, links resolved, or the address to use for what is asked for. Raises FORBIDDEN."""
        check_name(wanted)
        if is_address(wanted):
            asked, _, given = wanted.partition("?")
            steps = unquote(asked).replace("\\", "/").split("/")
            for address in self.addresses:
                base, _, options = address.partition("?")
                # Options could lead the server's credentials to another machine.
                if given in ("", options) and "#" not in asked and ".." not in steps and is_below(asked, base):
                    return f"{asked}?{options}" if options else asked
            raise _elsewhere(shown(wanted))
        path = Path(local(wanted))
        if not path.is_absolute():
            raise invalid_argument(f"{wanted!r} is no absolute path, nor an address")
        path = path.resolve()
        if not self.has_folder(path):
            raise _elsewhere(wanted)
        return str(path)


def _elsewhere(shown: str) -> AdalogError:
    return AdalogError(
        Code.FORBIDDEN,
        f"this server writes no backup to {shown}; its setting ADALOG_BACKUP_FOLDERS lists where they may lie",
    )
