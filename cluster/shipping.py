"""Snapshots on their way to the workers: manifests, sent once where they can be and opened once by each worker.

A manifest is what the store says a snapshot is made of: segment files, and what came since. Where the workers are
processes of this machine it lies in a file of the private folder; elsewhere it travels with the job.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import socket
import threading
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adalog.cluster.depot import Depot, discard, fetched
from adalog.datalog.errors import AdalogError, Code
from adalog.store.files.segment import DamagedSegment
from adalog.store.snapshot.manifest import Manifest
from adalog.store.snapshot.snapshot import Snapshot

_KEPT_OPEN: Final = 4
_SMALL: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class ShippedSnapshot:
    """A pickled manifest, or where it is. The key tells it from every other. `afar`: workers may be on other
    machines. `depot`: the address that its segments were put to."""

    key: str
    payload: bytes | None
    path: str | None
    afar: bool = False
    depot: str | None = None

    def open(self) -> Snapshot:
        """The snapshot, in a worker; kept for the next task that wants it."""
        found = _opened.get(self.key)
        if found is None:
            payload = self.payload
            if payload is None:
                assert self.path is not None
                payload = Path(self.path).read_bytes()
            # Written by our own driver, into a folder of its own or the job that this worker was given.
            found = _opened[self.key] = self._snapshot(pickle.loads(payload))  # noqa: S301
            while len(_opened) > _KEPT_OPEN:
                _opened.popitem(last=False)
        _opened.move_to_end(self.key)
        return found

    def _snapshot(self, manifest: Manifest) -> Snapshot:
        depot = self.depot
        if depot is not None:
            try:
                return Snapshot.from_manifest(manifest.placed(lambda segment: fetched(depot, segment)))
            except DamagedSegment:
                # Another worker made room on the disk, or a file there is not what it was.
                for each in manifest.segments():
                    discard(each)
                return Snapshot.from_manifest(manifest.placed(lambda segment: fetched(depot, segment)))
        try:
            return Snapshot.from_manifest(manifest)
        except DamagedSegment:
            unseen = [each.path for each in manifest.segments() if not os.access(each.path, os.R_OK)]
            if not (self.afar and unseen):
                raise
            # The driver has it open, so the file is healthy; nobody should think of deleting it.
            raise _unseen(unseen[0]) from None


_opened: OrderedDict[str, Snapshot] = OrderedDict()


def _unwatched() -> None:
    """Nobody's deadline."""


class Shipping:
    """The driver's side: makes each snapshot's manifest once. `folder`: where workers can read files, or None.
    `depot`: where segments are put for them, or None: they see the data folder."""

    def __init__(self, folder: Path | None, depot: Depot | None = None) -> None:
        self._folder = folder
        self._depot = depot
        self._known: weakref.WeakKeyDictionary[Snapshot, ShippedSnapshot] = weakref.WeakKeyDictionary()
        self._manifests: weakref.WeakKeyDictionary[Snapshot, Manifest] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def ship(self, snapshot: Snapshot, check: Callable[[], None] = _unwatched) -> ShippedSnapshot:
        """What a job carries for the snapshot. check: called while its segments are on their way to a depot.

        Raises what `check` raises, and BACKEND_UNAVAILABLE where a segment cannot be put there.
        """
        if self._depot is None:
            with self._lock:
                found = self._known.get(snapshot)
                if found is None:
                    found = self._known[snapshot] = self._made(snapshot, snapshot.manifest(), None)
                return found
        # Others need not wait until this one's segments are there.
        with self._lock:
            manifest = self._manifests.get(snapshot)
            if manifest is None:
                manifest = self._manifests[snapshot] = snapshot.manifest()
        # Those that were there may have been removed since.
        put = self._depot.put(manifest.segments(), check)
        with self._lock:
            found = self._known.get(snapshot)
            if found is None:
                placed = manifest.placed(put.__getitem__)
                found = self._known[snapshot] = self._made(snapshot, placed, self._depot.address)
            return found

    def _made(self, snapshot: Snapshot, manifest: Manifest, address: str | None) -> ShippedSnapshot:
        if address is None and self._folder is None:
            manifest = manifest.located()
        payload = pickle.dumps(manifest, protocol=5)
        key = hashlib.blake2b(payload, digest_size=16).hexdigest()
        if self._folder is None or len(payload) < _SMALL:
            return ShippedSnapshot(key, payload, None, self._folder is None, address)
        # Not by key alone: two views may be equal, and the file goes with the snapshot it was made for.
        path = self._folder / f"snapshot-{key}-{uuid.uuid4().hex}"
        path.write_bytes(payload)
        weakref.finalize(snapshot, _removed, path)
        return ShippedSnapshot(key, None, str(path), depot=address)


def _unseen(path: str) -> AdalogError:
    return AdalogError(
        Code.BACKEND_UNAVAILABLE,
        f"the Spark worker on {socket.gethostname()} cannot see the data folder: there is no {path} that it may "
        "read. Every worker needs the folder under this path, on a volume that all share",
        retryable=False,
    )


def _removed(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)
