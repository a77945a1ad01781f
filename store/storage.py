"""What a database stands on: a log, a folder if there is one, and how both are shared."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from adalog.store.checkpoint.adoption import remove_unfinished
from adalog.store.checkpoint.coordination import FoldCoordinator, FolderPeers
from adalog.store.checkpoint.shared_checkpoints import SharedCheckpoints
from adalog.store.files.copy_folder import copy_folder
from adalog.store.files.folder import Folder, check_is_folder
from adalog.store.files.folder_check import check_folder
from adalog.store.files.place import place_of
from adalog.store.log.driver import require_driver
from adalog.store.log.entry import KeyMemory
from adalog.store.log.log import Log
from adalog.store.log.publication import Publication
from adalog.store.log.shared_log import SharedFileLog
from adalog.store.log.sqlite import opened

if TYPE_CHECKING:
    from adalog.store.log.server import ServerLog


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """The processes of one server that share a database. lock: the descriptor of the folder's lock, which one holds
    for all; None where the log is on a server. alone: no other has the folder open yet.

    wrote: hears of each transaction that can be read here, before it is answered. newest: the newest that any of
    them has said so of.
    """

    lock: int | None
    alone: bool
    wrote: Callable[[int], None]
    newest: Callable[[], int]


@dataclass(frozen=True, slots=True)
class Storage:
    """folder: where segments and imported files are; of a log on a server the copies of what gateways share.
    folding: how processes on one database fold; None for a sole process. is_copy: the folder's checkpoint is of use
    only where it fits the log. is_alone: no other process has it, so checkpoints may be made at opening."""

    log: Log
    folder: Folder | None = None
    folding: FoldCoordinator | None = None
    is_copy: bool = False
    is_alone: bool = False


def in_memory(keys: KeyMemory, undo: ExitStack) -> Storage:
    """One that ends with the process. undo: what is opened here is closed by it; so below."""
    log = Log.in_memory(keys)
    undo.callback(log.close)
    return Storage(log)


def in_folder(
    location: str,
    keys: KeyMemory,
    siblings: ProcessGroup | None,
    undo: ExitStack,
    *,
    shared: bool,
    address: str | None,
) -> Storage:
    """A data folder, made if need be; what earlier processes left unfinished goes. address: as in `Database.open`,
    which also says what is raised."""
    check_is_folder(location)
    check_folder(Path(location))
    folder = Folder(Path(location), shared=shared, lock=None if siblings is None else siblings.lock)
    undo.callback(folder.close)
    if address is not None:
        folder.announce(address)
    folder.check_log()
    if folder.is_shared:
        log: Log = opened(folder.log, lambda engine: SharedFileLog(engine, folder.peers, keys, folder.imported))
    else:
        log = Log.in_file(folder.log, keys, folder.imported)
    undo.callback(log.close)
    is_alone = siblings.alone if siblings is not None else not folder.is_shared
    if is_alone:
        folder.remove_halves()
        remove_unfinished(folder, log)
    return Storage(log, folder, FolderPeers(folder) if folder.is_shared else None, is_alone=is_alone)


def on_server(
    location: str,
    keys: KeyMemory,
    siblings: ProcessGroup | None,
    undo: ExitStack,
    *,
    segments: str | None,
    copy: str | None,
) -> Storage:
    """A PostgreSQL server's log. segments, copy: as of `Database.open`."""
    require_driver()
    from adalog.store.log.server import ServerLog, unusable

    log = ServerLog(location, keys)
    undo.callback(log.close)
    try:
        return _beside(log, siblings, undo, segments=segments, copy=copy)
    except sa.exc.SQLAlchemyError as error:
        # The server went away meanwhile.
        raise unusable(location, error) from None


def _beside(
    log: ServerLog, siblings: ProcessGroup | None, undo: ExitStack, *, segments: str | None, copy: str | None
) -> Storage:
    """A server's log with the files that gateways share, or keep of it."""
    if segments is None and copy is None:
        return Storage(log, is_copy=True)
    folder = undo.enter_context(copy_folder(copy, log.identity))
    log.files_folder = folder.imported
    if segments is None:
        return Storage(log, folder, is_copy=True, is_alone=True)
    folding = SharedCheckpoints(Publication(log.engine), folder, place_of(segments, log.identity))
    undo.callback(folding.close)
    log.keep, log.bring = folding.keep_imported, folding.bring_imported
    folding.begin()
    return Storage(log, folder, folding, is_copy=True, is_alone=siblings is not None and siblings.alone)
