"""Where a server writes backups that clients ask for: below folders and addresses that its setting lists."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from datalog.errors import AdalogError, Code


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
            path = Path(unquote(urlsplit(part).path) if part.startswith("file:") else part)
            if not path.is_absolute():
                raise ValueError(f"{part!r} is neither an absolute path nor an address such as s3://bucket/backups")
            folders.append(path.resolve())
        return cls(tuple(folders), tuple(addresses))

    @classmethod
    def anywhere(cls) -> BackupPlaces:
        """Every folder of this machine that the process may write to."""
        return cls((Path("/"),))

    def checked(self, wanted: str) -> str:
        """The path, links resolved, or the address to use for what is asked for. Raises FORBIDDEN."""
        if "://" in wanted and not wanted.startswith("file:"):
            for address in self.addresses:
                base, _, options = address.partition("?")
                asked, _, given = wanted.partition("?")
                # Options could lead the server's credentials to another machine.
                if given in ("", options) and _is_below(asked, base.rstrip("/")):
                    return f"{asked}?{options}" if options else asked
            raise _elsewhere(_shown(wanted))
        path = Path(unquote(urlsplit(wanted).path) if wanted.startswith("file:") else wanted)
        if not path.is_absolute() or "\0" in wanted:
            raise AdalogError(Code.ARG_INVALID, f"{wanted!r} is no absolute path, nor an address")
        path = path.resolve()
        if not any(path == folder or folder in path.parents for folder in self.folders):
            raise _elsewhere(wanted)
        return str(path)


def _shown(address: str) -> str:
    """An address without what may be secret in it."""
    scheme, _, rest = address.partition("?")[0].partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"


def _is_below(asked: str, base: str) -> bool:
    steps = unquote(asked).replace("\\", "/").split("/")
    return "#" not in asked and ".." not in steps and (asked == base or asked.startswith(f"{base}/"))


def _elsewhere(shown: str) -> AdalogError:
    return AdalogError(
        Code.FORBIDDEN,
        f"this server writes no backup to {shown}; its setting ADALOG_BACKUP_FOLDERS lists where they may lie",
    )
