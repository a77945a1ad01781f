"""A data folder read beside the process that serves it: nothing is locked for long, nothing is written.

For other programs on the same machine, as the same user. What is read stays as it was: its files are held by leases
(`store.files.leases`) for as long as the snapshot is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from adalog.datalog.errors import unavailable
from adalog.store.checkpoint.files import Files, FolderFiles, shared_files
from adalog.store.checkpoint.replay import opened
from adalog.store.files import leases
from adalog.store.files.folder import FolderLayout, check_is_folder, holds_database, is_address
from adalog.store.files.place import place_of
from adalog.store.log.driver import require_driver
from adalog.store.log.entry import now_ms
from adalog.store.log.log import Log
from adalog.store.log.publication import published
from adalog.store.snapshot.snapshot import Snapshot


def read_folder(location: str) -> Snapshot:
    """The newest database of a folder, or of a server. Raises BACKEND_UNAVAILABLE where there is none, or it may
    not be read, INTERNAL where it is damaged, NewerFormat."""
    if is_address(location):
        with closing(_server(location)) as server:
            return opened(None, server).head.published()
    folder = held_folder(location)
    with ExitStack() as opening:
        # No file goes before it is mapped.
        opening.enter_context(leases.all_held(folder.segments))
        log = Log.reading(folder.log, folder.imported)
        opening.callback(log.close)
        return opened(folder, log).head.published()


@dataclass(frozen=True)
class LogSource:
    """A database's log up to transaction t, and the files beside it, where there are any at hand. at: a moment at
    which there was no later transaction, in milliseconds since 1970."""

    log: Log
    files: Files | None
    at: int
    t: int


@contextmanager
def source_of(location: str, segments: str | None = None) -> Iterator[LogSource]:
    """The database of a folder or server as it is now. segments: where a server's gateways share files. Raises as
    `read_folder` does, but reads no segment."""
    with ExitStack() as opening:
        if not is_address(location):
            folder = held_folder(location)
            log = Log.reading(folder.log, folder.imported)
            opening.callback(log.close)
            yield LogSource(log, FolderFiles(folder), now_ms(), log.newest())
            return
        server = _server(location)
        opening.callback(server.close)
        files = None
        if segments is not None:
            place = place_of(segments, server.identity)
            files = opening.enter_context(shared_files(place, lambda: published(server.engine)))
            server.files_folder = files.imported
        yield LogSource(server, files, now_ms(), server.newest())


def _server(location: str) -> Log:
    require_driver()
    from adalog.store.log.server import ServerLog

    return ServerLog(location, only_reads=True)


def held_folder(location: str) -> FolderLayout:
    """A folder with a database in it. Raises BACKEND_UNAVAILABLE."""
    check_is_folder(location)
    folder = FolderLayout(Path(location))
    try:
        held = holds_database(folder.path)
    except OSError as error:
        raise unavailable(f"the data folder {location} cannot be read: {error.strerror}", retryable=False) from None
    if not held:
        raise unavailable(f"there is no database to read in {location}", retryable=False)
    return folder
