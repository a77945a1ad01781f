"""The files that a stream has taken, with their sizes and times: it notices one that is replaced later."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from adalog.pipeline.importing.files.listing import FileState, state_of
from adalog.store.files.allowed_places import is_address
from adalog.store.files.permissions import opener


class TakenFile(NamedTuple):
    path: str
    source: str
    batch: int
    state: FileState


class StreamedFiles:
    """folder: the stream's checkpoint. Files at addresses are not watched."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "files.jsonl"
        self._taken: dict[tuple[str, str], TakenFile] = {}
        text = self._file.read_bytes() if self._file.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        if whole != text:
            # The batch of a line that was cut off is repeated.
            os.truncate(self._file, len(whole))
        for line in whole.splitlines():
            source, path, batch, size, changed = orjson.loads(line)
            self._taken[source, path] = TakenFile(path, source, batch, FileState(size, changed))

    def take(self, source: str, batch: int, paths: Sequence[str]) -> None:
        """Records the files of a batch before they are read; those of a repeated batch as they were."""
        fresh = {}
        for path in paths:
            known = self._taken.get((source, path))
            state = None if is_address(path) or (known and known.batch == batch) else state_of(path)
            if state is not None:
                fresh[source, path] = TakenFile(path, source, batch, state)
        self._taken |= fresh
        self._record(fresh.values())

    def replaced(self) -> Iterator[TakenFile]:
        """The files that were changed since they were taken, each change once."""
        for key, taken in list(self._taken.items()):
            state = state_of(taken.path)
            if state is not None and state != taken.state:
                self._taken[key] = taken._replace(state=state)
                self._record([self._taken[key]])
                yield taken

    def _record(self, files: Iterable[TakenFile]) -> None:
        with open(self._file, "ab", opener=opener) as out:
            out.writelines(
                orjson.dumps((each.source, each.path, each.batch, *each.state)) + b"\n" for each in files
            )
