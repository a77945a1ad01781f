"""Snapshots for workers: a manifest is sent once, and opened once by each worker.

A manifest lists a snapshot's segment files, and what came since. For workers of this machine it is a file of the
private folder; for others it travels with the job.
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
from adalog.datalog.errors import unavailable
from adalog.store.files.permissions import opener
from adalog.store.files.segment import DamagedSegment
from adalog.store.snapshot.manifest import Manifest
from adalog.store.snapshot.snapshot import Snapshot

_KEPT_OPEN: Final = 4
_SMALL: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class ShippedSnapshot:
    """A pickled manifest, or its path. key: unique. afar: workers may be on other machines. depot: the address that
    its segments were uploaded to."""

    key: str
    payload: bytes | None
    path: str | None
    afar: bool = False
    depot: str | None = None

    def open(self) -> Snapshot:
        """The snapshot, in a worker; kept for the next task that wants it."""
        snapshot = _opened.get(self.key)
        if snapshot is None:
            payload = self.payload
            if payload is None:
                assert self.path is not None
                payload = Path(self.path).read_bytes()
            # Written by our own driver, into a folder of its own or the job that this worker was given.
            snapshot = _opened[self.key] = self._snapshot(pickle.loads(payload))  # noqa: S301
            while len(_opened) > _KEPT_OPEN:
                _opened.popitem(last=False)
        _opened.move_to_end(self.key)
        return snapshot

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
        return open_snapshot(manifest, afar=self.afar)


def open_snapshot(manifest: Manifest, *, afar: bool = False) -> Snapshot:
    """Opens the files of a snapshot that another process has open. afar: that process may be on another machine.
    Raises DamagedSegment, and BACKEND_UNAVAILABLE if this machine does not have the files, or has them no more."""
    try:
        return Snapshot.from_manifest(manifest)
    except DamagedSegment:
        # The other process has it open, so the file is healthy.
        unseen = [each.path for each in manifest.segments() if not os.access(each.path, os.R_OK)]
        if unseen and not Path(unseen[0]).exists() and os.access(Path(unseen[0]).parent, os.R_OK):
            raise unavailable(
                "a file that the query reads was removed before a Spark worker had opened it, as an excision does; "
                "send the query again"
            ) from None
        if not (afar and unseen):
            raise
        raise unavailable(
            f"the Spark worker on {socket.gethostname()} cannot see the data folder: there is no {unseen[0]} "
            "that it may read. Every worker needs the folder under this path, on a volume that all share",
            retryable=False,
        ) from None


_opened: OrderedDict[str, Snapshot] = OrderedDict()


class Shipping:
    """The driver's side: makes each snapshot's manifest once. Thread-safe. folder: where workers can read files, or
    None. depot: uploads segments for them; None: they see the data folder."""

    def __init__(self, folder: Path | None, depot: Depot | None = None) -> None:
        self._folder = folder
        self._depot = depot
        self._shipped: weakref.WeakKeyDictionary[Snapshot, ShippedSnapshot] = weakref.WeakKeyDictionary()
        self._manifests: weakref.WeakKeyDictionary[Snapshot, Manifest] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def ship(self, snapshot: Snapshot, check: Callable[[], None] = lambda: None) -> ShippedSnapshot:
        """What a job carries for the snapshot. check: called during uploads. Raises what `check` raises, and
        BACKEND_UNAVAILABLE if a segment cannot be uploaded."""
        with self._lock:
            manifest = self._manifests.get(snapshot)
            if manifest is None:
                manifest = self._manifests[snapshot] = snapshot.manifest()
        if self._depot is not None:
            # Without the lock: others do not wait. Files that were there may have been removed since.
            manifest = manifest.placed(self._depot.put(manifest.segments(), check).__getitem__)
        with self._lock:
            shipped = self._shipped.get(snapshot)
            if shipped is None:
                shipped = self._shipped[snapshot] = self._packed(snapshot, manifest)
            return shipped

    def _packed(self, snapshot: Snapshot, manifest: Manifest) -> ShippedSnapshot:
        address = None if self._depot is None else self._depot.address
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


def shipped_in(path: Path, manifest: Manifest) -> ShippedSnapshot:
    """A manifest in a new file, which tasks open; it goes with the file's folder."""
    with open(path, "wb", opener=opener) as file:
        pickle.dump(manifest, file, protocol=5)
    return ShippedSnapshot(uuid.uuid4().hex, None, str(path))


def _removed(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)
