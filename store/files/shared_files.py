"""What gateways on a server share in a place: how its files are called, and how they are fetched from it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final
from zlib import crc32

from adalog.store.files.permissions import opener
from adalog.store.files.place import PIECE, Place
from adalog.store.files.segment import CHECKSUM_BYTES, DamagedSegment, Segment, removed_on_failure

FILES: Final = "files"
"""The folder of segments."""
CHECKPOINTS: Final = "checkpoints"
IMPORTED: Final = "imported"
AT_ONCE: Final = 4
"""So many files are on their way at once."""


def fetch(place: Place, folder: str, segments: Iterable[Segment]) -> None:
    """Has segments be where they say, from a folder of the place.

    Raises BACKEND_UNAVAILABLE where one cannot be read, DamagedSegment for one that is not what was written, and
    OSError where it cannot be written here.
    """
    missing = [segment for segment in segments if not Path(segment.path).exists()]
    with ThreadPoolExecutor(AT_ONCE, "adalog-fetching") as threads:
        list(threads.map(lambda segment: _fetch(place, f"{folder}/{segment.file}", segment), missing))


def _fetch(place: Place, name: str, segment: Segment) -> None:
    """A file appears as a whole, and as it was written."""
    to = Path(segment.path)
    temporary = to.with_name(f".{to.name}.{threading.get_ident()}.tmp")
    with removed_on_failure(temporary):
        with open(temporary, "wb", opener=opener) as file:
            checksum, last = 0, b""
            for piece in place.pieces(name):
                file.write(piece)
                whole = last + piece
                # A segment ends with its checksum.
                checksum, last = crc32(memoryview(whole)[:-CHECKSUM_BYTES], checksum), whole[-CHECKSUM_BYTES:]
        if checksum != segment.checksum:
            raise DamagedSegment(segment.file, "its checksum is wrong")
        os.replace(temporary, to)


def pieces(path: Path) -> Iterator[bytes]:
    """A file of this machine, piece by piece. Raises OSError."""
    with path.open("rb", buffering=0) as file:
        while piece := file.read(PIECE):
            yield piece
