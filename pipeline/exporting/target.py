"""Where an export goes: a folder, which appears whole, or an address, where the manifest comes last."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from pyarrow import fs

from adalog.cluster.addresses import file_system_at, is_address, reporting_errors
from adalog.datalog.errors import invalid_argument, unavailable
from adalog.store.files.addresses import shown
from adalog.store.files.permissions import FOLDER_MODE, opener


class ExportTarget:
    """A folder or an address that this process and tasks write to. Pickles."""

    def __init__(self, place: str) -> None:
        self.place = place

    def make(self, name: str) -> None:
        """Makes a folder; at an address there are none."""
        if not is_address(self.place):
            Path(self.place, name).mkdir(FOLDER_MODE)

    @contextmanager
    def file(self, name: str) -> Iterator[BinaryIO]:
        """A new file, complete and on disk after the block."""
        if is_address(self.place):
            system, path = file_system_at(self.place)
            with reporting_errors(self.place), system.open_output_stream(f"{path}/{name}") as stream:
                yield stream
            return
        with open(Path(self.place, name), "wb", opener=opener) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def remove_strays(self, folder: str, named: set[str]) -> None:
        """Removes the files of a folder that are not named: those of failed attempts at a task."""
        if not is_address(self.place):
            for own in Path(self.place, folder).iterdir():
                if own.name not in named:
                    own.unlink()
            return
        system, path = file_system_at(self.place)
        with reporting_errors(self.place):
            for found in system.get_file_info(fs.FileSelector(f"{path}/{folder}", allow_not_found=True)):
                if found.base_name not in named:
                    system.delete_file(found.path)


def check_target(to: str) -> None:
    """Raises ARG_INVALID unless nothing is there: no folder, or an empty one."""
    if is_address(to):
        system, path = file_system_at(to)
        with reporting_errors(to):
            used = bool(system.get_file_info(fs.FileSelector(path, allow_not_found=True)))
    else:
        folder = Path(to)
        used = folder.is_dir() and any(folder.iterdir())
        if not folder.is_dir() and (folder.exists() or folder.is_symlink()):
            raise invalid_argument(f"{to} is no folder")
    if used:
        raise invalid_argument(f"{shown(to)} is not empty, and an export is a folder of its own: name another one")


@contextmanager
def export_target(to: str) -> Iterator[ExportTarget]:
    """A place for the export, which is removed if the block fails. A folder gets its name at the end; at an address
    files are visible as they are written, and the manifest, which comes last, makes them an export."""
    if not is_address(to):
        with _unfinished(Path(to).absolute()) as folder:
            yield ExportTarget(str(folder))
        return
    try:
        yield ExportTarget(to)
    except BaseException:
        system, path = file_system_at(to)
        with suppress(OSError):
            system.delete_dir_contents(path, missing_dir_ok=True)
        raise


@contextmanager
def _unfinished(to: Path) -> Iterator[Path]:
    """A folder beside `to` that becomes it at the end, and is removed if the block fails."""
    path = to.parent / f".{to.name}.{uuid4().hex[:12]}.partial"
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(FOLDER_MODE)
        yield path
        os.rename(path, to)
    except OSError as error:
        raise unavailable(f"{to} cannot be written: {error.strerror or error}", retryable=False) from None
    finally:
        shutil.rmtree(path, ignore_errors=True)
