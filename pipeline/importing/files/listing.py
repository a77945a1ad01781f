"""The files of a source: a file, a folder, or a pattern. What begins with `_` or `.` is none of them."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_SPECIAL: Final = re.compile(r"[*?\[{]")
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


class FileState(NamedTuple):
    """changed: the time of the last change, in nanoseconds."""

    size: int
    changed: int


class ListedFile(NamedTuple):
    """partitions: the names and values of its folders below the source's, as `region=001`."""

    path: str
    size: int
    partitions: tuple[tuple[str, str | None], ...]


def listed(paths: Sequence[str], options: Mapping[str, str], *, literal: bool) -> list[ListedFile]:
    """The files of local paths in order, each once. literal: the paths are no patterns."""
    given = {name.lower(): value for name, value in options.items()}
    recursive = given.get("recursivefilelookup", "").lower() == "true"
    pattern = given.get("pathglobfilter", "*")
    found: dict[str, ListedFile] = {}
    for path in paths:
        literally = literal or Path(path).exists()
        base = path if literally else _SPECIAL.split(path, 1)[0]
        for root in [path] if literally else _matching(path):
            for file in _files(Path(root), recursive=recursive):
                if fnmatchcase(file.name, pattern):
                    found[str(file)] = ListedFile(str(file), file.stat().st_size, partitions_of(base, str(file)))
    return [found[path] for path in sorted(found)]


def state_of(path: str) -> FileState | None:
    """None if there is no such file here."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return FileState(found.st_size, found.st_mtime_ns)


def partitions_of(root: str, path: str) -> tuple[tuple[str, str | None], ...]:
    """What the folders between a source's path and a file of it say."""
    folders = path.removeprefix(root).split("/")[:-1]
    pairs = [folder.partition("=") for folder in folders if "=" in folder]
    return tuple((unquote(name), None if value == _NULL else unquote(value)) for name, _, value in pairs)


def is_hidden(name: str) -> bool:
    return name.startswith((".", "_")) and "=" not in name


def _files(root: Path, *, recursive: bool) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    if not root.is_dir():
        return
    for each in sorted(root.iterdir()):
        if is_hidden(each.name):
            continue
        if each.is_file():
            yield each
        elif recursive or "=" in each.name:
            yield from _files(each, recursive=recursive)


def _matching(pattern: str) -> list[str]:
    """The paths of a pattern; {a,b} is either."""
    either = _BRACES.search(pattern)
    if either is None:
        return sorted(path for path in glob.glob(pattern) if not is_hidden(Path(path).name))
    before, after = pattern[: either.start()], pattern[either.end() :]
    return [path for each in either[1].split(",") for path in _matching(before + each + after)]
