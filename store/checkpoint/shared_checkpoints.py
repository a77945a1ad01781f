"""Checkpoints and imported files in a place that all gateways on a server see, with a copy of what each needs.

One gateway folds, by a lease (`store.log.publication`): it writes segments into its own folder, sends those that
are new to the place, then has the server name the checkpoint. The others fetch what they lack and take it over.
Files are named by their content's checksum and never change, so a gateway that is late or was paused overwrites
nothing.

The log alone is the truth: where the place is away, or holds damaged files, everybody goes on without it.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from adalog.datalog.errors import AdalogError, unavailable
from adalog.store.checkpoint.checkpoint import Checkpoint
from adalog.store.checkpoint.coordination import FoldCoordinator
from adalog.store.files.folder import Folder
from adalog.store.files.permissions import FOLDER_MODE
from adalog.store.files.place import Place
from adalog.store.files.segment import Segment
from adalog.store.files.shared_files import AT_ONCE, CHECKPOINTS, FILES, IMPORTED, fetch, pieces
from adalog.store.log.publication import Publication, Published

_LOGGER: Final = logging.getLogger("adalog.store")
# A gateway has until a checkpoint is the third newest to fetch it.
_KEPT: Final = 2
# What nothing names and is younger may be on its way into the next checkpoint.
_LEFT_SECONDS: Final = 3600.0


class SharedCheckpoints(FoldCoordinator):
    """The fold coordinator of a gateway. folder: its copy, and its alone. place: where all gateways share."""

    has_others = True

    def __init__(self, publication: Publication, folder: Folder, place: Place) -> None:
        self._publication = publication
        self._folder = folder
        self._place = place
        self._token: int | None = None
        self._sent: set[str] = set()
        self._seen: Published | None = None
        # The same thing is said once.
        self._away = ""
        self._fetching = threading.Lock()

    def may_fold(self) -> bool:
        """Whether this gateway makes the next checkpoint."""
        try:
            self._token = self._publication.lease()
        except sa.exc.SQLAlchemyError as error:
            self._token = None
            self._say(f"the lease on folding cannot be had: {error.__cause__ or error}")
        return self._token is not None

    def saved(self, checkpoint: Checkpoint) -> None:
        """Shares the folder's checkpoint. What goes wrong is logged: the next one is shared instead."""
        if self._token is None:
            return
        published = Published(checkpoint.counters.t, self._token)
        try:
            self._send(FILES, [self._folder.segments / name for name in sorted(checkpoint.files())], self._sent)
            self._place.write(f"{CHECKPOINTS}/{published.file}", [self._folder.checkpoint.read_bytes()])
            self._place.settle()
            if not self._publication.publish(published, _KEPT):
                _LOGGER.warning("the checkpoint of t = %d was not shared: another gateway folds now", published.t)
                return
            self._seen = published
            self._say("")
        except (OSError, AdalogError, sa.exc.SQLAlchemyError) as error:
            self._say(f"the checkpoint of t = {published.t} could not be shared: {_reason(error)}")
            return
        try:
            self._remove_old()
        except (AdalogError, sa.exc.SQLAlchemyError, ValueError, KeyError) as error:
            _LOGGER.warning("old checkpoints were not removed: %s", _reason(error))

    def _send(self, folder: str, paths: Iterable[Path], sent: set[str]) -> None:
        paths = [path for path in paths if path.name not in sent]
        if not paths:
            return
        there = self._place.sizes(folder)
        missing = [path for path in paths if there.get(path.name) != path.stat().st_size]
        with ThreadPoolExecutor(AT_ONCE, "adalog-sending") as threads:
            list(threads.map(lambda path: self._place.write(f"{folder}/{path.name}", pieces(path)), missing))
        sent.update(path.name for path in paths)

    def _remove_old(self) -> None:
        """Removes what no checkpoint names any more, once it is too old to be about to be named."""
        known = self._publication.published()
        files: set[str] = set()
        for published in known:
            files |= self._checkpoint(published).files()
        before = time.time() - _LEFT_SECONDS
        for folder, named in ((CHECKPOINTS, {each.file for each in known}), (FILES, files)):
            for name in self._place.older(folder, before):
                if name not in named:
                    self._place.remove(f"{folder}/{name}")
                    self._sent.discard(name)

    def forget(self) -> None:
        """As in `FoldCoordinator`, by the gateway that folds; also where the checkpoint could not be shared then.
        Raises BACKEND_UNAVAILABLE, and OSError where its own folder cannot be read."""
        own = Checkpoint.load(self._folder)
        if self._token is None or own is None:
            return
        try:
            known = self._publication.published()
            if not any(each.t >= own.counters.t for each in known):
                self.saved(own)
                known = self._publication.published()
            files, outdated, kept = set[str](), set[str](), set[str]()
            for name in self._place.sizes(CHECKPOINTS):
                text = self._place.read(f"{CHECKPOINTS}/{name}").decode()
                found = Checkpoint.parsed(text, self._folder.segments, name)
                if found.counters.excised < own.counters.excised:
                    outdated.add(name)
                    files |= found.files()
                else:
                    kept |= found.files()
            self._publication.withdraw([each for each in known if each.file in outdated])
            # A gateway that was killed left files that no checkpoint names, some of them half written.
            files.update(self._place.older(FILES, self._folder.checkpoint.stat().st_mtime))
            # The checkpoints last, since they name what is to go.
            for folder, names in ((FILES, files - kept), (CHECKPOINTS, outdated)):
                for name in sorted(names):
                    self._place.remove(f"{folder}/{name}")
                    self._sent.discard(name)
        except (sa.exc.SQLAlchemyError, ValueError, KeyError) as error:
            raise unavailable(f"shared checkpoints from before were not removed: {_reason(error)}") from None

    def forget_imports(self, unnamed: Callable[[Collection[str]], Collection[str]]) -> None:
        # `sizes` leaves out files that are half written.
        for name in sorted(unnamed(self._place.older(IMPORTED, math.inf))):
            self._place.remove(f"{IMPORTED}/{name}")

    def newest(self) -> Checkpoint | None:
        """A checkpoint that another gateway has shared since the last one that was seen here; its files are in the
        folder then, and the folder's checkpoint names them. None where there is none, or it cannot be had."""
        with self._fetching:
            try:
                known = self._publication.published()
            except sa.exc.SQLAlchemyError as error:
                self._say(f"shared checkpoints cannot be looked for: {error.__cause__ or error}")
                return None
            for published in known:
                if self._seen is not None and published.t <= self._seen.t:
                    return None
                try:
                    checkpoint = self._fetched(published)
                except (OSError, AdalogError, ValueError, KeyError) as error:
                    self._say(f"the shared checkpoint of t = {published.t} cannot be had: {_reason(error)}")
                    continue
                self._seen = published
                self._say("")
                return checkpoint
            return None

    def begin(self) -> None:
        """Has the folder begin with the newest checkpoint that can be had, unless its own is as new."""
        with suppress(AdalogError):
            own = Checkpoint.load(self._folder)
            self._seen = None if own is None else Published(own.counters.t, 0)
        self.newest()

    def _checkpoint(self, published: Published) -> Checkpoint:
        text = self._place.read(f"{CHECKPOINTS}/{published.file}").decode()
        return Checkpoint.parsed(text, self._folder.segments, published.file)

    def _fetched(self, published: Published) -> Checkpoint:
        checkpoint = self._checkpoint(published)
        fetch(self._place, FILES, checkpoint.segments())
        checkpoint.save(self._folder)
        self._sent |= checkpoint.files()
        return checkpoint

    def keep_imported(self, files: Sequence[Segment]) -> None:
        """Shares files that the log is about to name. Raises BACKEND_UNAVAILABLE where that cannot be done."""
        try:
            self._send(IMPORTED, [Path(each.path) for each in files], set())
            self._place.settle()
        except OSError as error:
            raise unavailable(f"the import's files could not be shared: {error.strerror}") from None

    def bring_imported(self, files: Sequence[Segment]) -> None:
        """Has files that the log names be in this gateway's folder. Raises BACKEND_UNAVAILABLE."""
        self._folder.imported.mkdir(FOLDER_MODE, exist_ok=True)
        fetch(self._place, IMPORTED, files)

    def close(self) -> None:
        """Lets the next gateway fold."""
        self._publication.close()

    def _say(self, what: str) -> None:
        if what and what != self._away:
            _LOGGER.warning("%s", what)
        self._away = what


def _reason(error: BaseException) -> str:
    if isinstance(error, AdalogError):
        return error.message
    cause = getattr(error, "__cause__", None) or error
    return str(cause)
