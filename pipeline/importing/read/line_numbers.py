"""Which line of a text file a row stands on, where that can be told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

from adalog.pipeline.importing.read.mapping import AnySource

_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate", ".xz")


class LineNumbers:
    """Of one source's files: those that are local and plain, with a row on each line that is not blank."""

    def __init__(self, source: AnySource) -> None:
        options = {name.lower(): value for name, value in source.options.items()}
        self._told = source.format in ("csv", "jsonl", "edn") and not (
            options.get("multiline", "false").lower() == "true" or {"linesep", "encoding", "charset"} & set(options)
        )
        self._header = source.format == "csv" and options.get("header", "false").lower() == "true"
        self._comment = {"csv": options.get("comment", ""), "edn": ";"}.get(source.format, "").encode()
        self._known: dict[tuple[str, int], list[int]] = {}

    def of(self, file: str, block: int, ordinal: int) -> int | None:
        """The line, from 1, of row number `ordinal` of the block that starts at a byte of a file."""
        if not self._told or not file.startswith("file:") or file.endswith(_COMPRESSED):
            return None
        found = self._known.get((file, block))
        if found is None:
            try:
                found = list(self._lines(Path(unquote(urlparse(file).path)), block))
            except OSError:
                found = []
            self._known = {(file, block): found}
        return found[ordinal] if ordinal < len(found) else None

    def _lines(self, path: Path, block: int) -> Iterator[int]:
        """The numbers of the lines with rows, from the first line of a block on."""
        header, at = self._header and block == 0, 0
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                # A line belongs to the block in which the line before it ends.
                mine = at > block or block == 0
                at += len(line)
                if not mine or not line.strip() or (self._comment and line.startswith(self._comment)):
                    continue
                if header:
                    header = False
                    continue
                yield number
