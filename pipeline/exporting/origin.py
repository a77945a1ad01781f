"""Where an export is read from: a folder or an address, as `target` wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adalog.cluster.addresses import file_system_at, is_address, reporting_errors
from adalog.store.files.addresses import shown


class ExportOrigin:
    """A folder or an address that this process and tasks read from. Pickles."""

    def __init__(self, place: str) -> None:
        self.place = place if is_address(place) else str(Path(place).absolute())

    def __str__(self) -> str:
        return shown(self.place) if is_address(self.place) else self.place

    def shown(self, name: str) -> str:
        return f"{self}/{name}"

    def size(self, name: str) -> int:
        """A file's bytes. Raises OSError if there is none, BACKEND_UNAVAILABLE if an address cannot be used."""
        if not is_address(self.place):
            return Path(self.place, name).stat().st_size
        system, path = file_system_at(self.place)
        with reporting_errors(self.place):
            [found] = system.get_file_info([f"{path}/{name}"])
        if not found.is_file:
            raise FileNotFoundError(2, "there is no such file")
        return int(found.size)

    def content(self, name: str) -> bytes:
        """What a file holds. Raises as `size`."""
        self.size(name)
        with self.file(name) as file:
            content: bytes = file.read()
        return content

    @contextmanager
    def file(self, name: str) -> Iterator[Any]:
        if not is_address(self.place):
            with Path(self.place, name).open("rb") as file:
                yield file
            return
        system, path = file_system_at(self.place)
        with reporting_errors(self.place), system.open_input_file(f"{path}/{name}") as stream:
            yield stream
