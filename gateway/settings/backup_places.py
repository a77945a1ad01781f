"""Where a server writes backups that clients ask for: below folders and addresses that its setting lists."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.store.files.addresses import check_name, local_path, shown


@dataclass(frozen=True, slots=True)
class BackupPlaces:
    """folders: resolved paths of this machine. addresses: of file systems elsewhere, with what has to be known to
    use them: `s3://bucket/backups?region=eu-central-1`."""

    folders: tuple[Path, ...] = ()
    addresses: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> BackupPlaces:
        """From a list separated by commas, or `off`. Raises ValueError for a path that is not absolute."""
        folders, addresses = [], []
        for part in filter(None, (part.strip() for part in ("" if text == "off" else text).split(","))):
            if "://" in part and not part.startswith("file:"):
                addresses.append(part)
                continue
            path = _local(part)
            if not path.is_absolute():
                raise ValueError(
                    f"{shown(part)!r} is neither an absolute path nor an address such as s3://bucket/backups"
                )
            folders.append(path.resolve())
        return cls(tuple(folders), tuple(addresses))

    @classmethod
    def anywhere(cls) -> BackupPlaces:
        """Every folder of this machine that the process may write to."""
        return cls((Path("/"),))

    def checked(self, wanted: str) -> str:
        """The path, links resolved, or the address to use for what is asked for. Raises FORBIDDEN."""
        check_name(wanted)
        if "://" in wanted and not wanted.startswith("file:"):
            for address in self.addresses:
                base, _, options = address.partition("?")
                asked, _, given = wanted.partition("?")
                # Options could lead the server's credentials to another machine.
                if given in ("", options) and _is_below(asked, base.rstrip("/")):
                    return f"{asked}?{options}" if options else asked
            raise _elsewhere(shown(wanted))
        path = _local(wanted)
        if not path.is_absolute():
            raise invalid_argument(f"{wanted!r} is no absolute path, nor an address")
        path = path.resolve()
        if not any(path == folder or folder in path.parents for folder in self.folders):
            raise _elsewhere(wanted)
        return str(path)


def _local(path: str) -> Path:
    """A path as it is written, or of a file's address. Raises ARG_INVALID for what is none."""
    return Path((local_path(path) or "") if path.startswith("file:") else path)


def _is_below(asked: str, base: str) -> bool:
    steps = unquote(asked).replace("\\", "/").split("/")
    return "#" not in asked and ".." not in steps and (asked == base or asked.startswith(f"{base}/"))


def _elsewhere(shown: str) -> AdalogError:
    return AdalogError(
        Code.FORBIDDEN,
        f"this server writes no backup to {shown}; its setting ADALOG_BACKUP_FOLDERS lists where they may lie",
    )
