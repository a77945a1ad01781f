"""Folders and addresses below which clients may have a server read or write files, as a setting lists them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from adalog.store.files.addresses import local_path, shown


@dataclass(frozen=True, slots=True)
class AllowedPlaces:
    """folders: resolved paths of this machine. addresses: of file systems elsewhere, as they were given."""

    EXAMPLE: ClassVar[str]
    folders: tuple[Path, ...] = ()
    addresses: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Self:
        """From a list separated by commas, or `off`. Raises ValueError for a path that is not absolute."""
        folders, addresses = [], []
        for part in filter(None, (part.strip() for part in ("" if text == "off" else text).split(","))):
            if is_address(part):
                addresses.append(part)
                continue
            path = Path(local(part))
            if not path.is_absolute():
                raise ValueError(
                    f"{shown(part)!r} is neither an absolute path nor an address such as {cls.EXAMPLE}"
                )
            folders.append(path.resolve())
        return cls(tuple(folders), tuple(addresses))

    @classmethod
    def anywhere(cls) -> Self:
        """Every folder of this machine that the process may use."""
        return cls((Path("/"),))

    def has_folder(self, path: Path) -> bool:
        return any(path == folder or folder in path.parents for folder in self.folders)


def is_address(place: str) -> bool:
    """Whether a place is elsewhere than on this machine."""
    return "://" in place and not place.startswith("file:")


def local(path: str) -> str:
    """A path as it is written, or of a file's address. Raises ARG_INVALID for what names another machine."""
    return (local_path(path) or "") if path.startswith("file:") else path


def is_below(address: str, base: str) -> bool:
    base = base.rstrip("/")
    return address == base or address.startswith(f"{base}/")
