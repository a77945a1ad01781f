"""Where an export goes: a folder, which appears whole, or an address, where the manifest comes last."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pyarrow import fs

from adalog.cluster.addresses import file_system_at, is_address, reporting_errors, shown
from adalog.datalog.errors import AdalogError, Code
from adalog.pipeline.exporting.folder import check_folder, unfinished_folder
from adalog.store.files.permissions import FOLDER_MODE, opener


class ExportTarget:
    """A place that is written to, by this process and by tasks: a folder, or an address. Pickles."""

    def __init__(self, place: str) -> None:
        self.place = place

    def make(self, name: str) -> None:
        """A folder, where there are such things."""
        if not is_address(self.place):
            Path(self.place, name).mkdir(FOLDER_MODE)

    @contextmanager
    def file(self, name: str) -> Iterator[BinaryIO]:
        """A new file, whole and on disk after the block."""
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
        """Removes the files of a folder that are not named: of attempts at a task that another attempt has done."""
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
    if not is_address(to):
        check_folder(Path(to))
        return
    system, path = file_system_at(to)
    with reporting_errors(to):
        found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    if found:
        raise AdalogError(
            Code.ARG_INVALID, f"{shown(to)} is not empty, and an export is a folder of its own: name another one"
        )


@contextmanager
def export_target(to: str) -> Iterator[ExportTarget]:
    """A place for the export. A folder gets its name at the end; at an address files are seen as they are written,
    and are an export once the manifest is there. Where the end is not reached, what was written goes."""
    if not is_address(to):
        with unfinished_folder(Path(to).absolute()) as folder:
            yield ExportTarget(str(folder))
        return
    try:
        yield ExportTarget(to)
    except BaseException:
        system, path = file_system_at(to)
        with suppress(OSError):
            system.delete_dir_contents(path, missing_dir_ok=True)
        raise
