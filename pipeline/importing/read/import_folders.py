"""The places that an import over a connection may read; its sources' files are looked up here.

A mapping names paths, and options of Spark's file systems, so it could read whatever the process may read. A
client's mapping is limited to files below configured folders or addresses, with links resolved, and to options of
formats.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import unquote

from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.store.files.addresses import check_name, shown
from adalog.store.files.allowed_places import AllowedPlaces, is_address, is_below, local

if TYPE_CHECKING:
    # Settings name places, and every command reads settings.
    from adalog.pipeline.importing.read.mapping import AnySource, DatomSource, ImportPlan, RowSource
    from adalog.pipeline.importing.sql.table import SqlTable

_SPECIAL: Final = frozenset("*?[]{}\\")


@dataclass(frozen=True, slots=True)
class ImportFolders(AllowedPlaces):
    EXAMPLE: ClassVar = "s3a://bucket/in"

    def checked(self, plan: ImportPlan) -> ImportPlan:
        """The plan with the files of its sources looked up. Raises FORBIDDEN for sources elsewhere and options that
        could reach elsewhere, ARG_INVALID where there are no files."""
        sources = []
        for source in plan.sources:
            if source.sql is None:
                sources.append(replace(source, files=self._looked_up(source)))
            else:
                self._check_table(source, source.sql)
                sources.append(source)
        return replace(plan, sources=tuple(sources), datoms=tuple(map(self._checked, plan.datoms)))

    def _check_table(self, source: RowSource, table: SqlTable) -> None:
        """Raises FORBIDDEN for a table elsewhere, and for what has drivers run code or read files."""
        if not self._is_below(table.url):
            raise self._elsewhere(source)
        if table.drivers or table.options or {"?", ";"} & set(table.url):
            raise AdalogError(
                Code.FORBIDDEN,
                f"source {source.name}: a server takes no `driver`, no `options` and no parameters of an address "
                "from clients; ADALOG_SPARK_CONF=spark.jars=… gives it drivers",
            )

    def _checked(self, source: DatomSource) -> DatomSource:
        files = self._looked_up(source)
        if source.format == "adalog" and len(files) != 1:
            raise invalid_argument(f"source {source.name}: an export is one folder")
        return replace(source, files=files)

    def _looked_up(self, source: AnySource) -> tuple[str, ...]:
        for name in source.options:
            if "." in name:
                raise AdalogError(
                    Code.FORBIDDEN,
                    f"source {source.name}: a server does not hand the option {name} to Spark; import with --data, "
                    "or leave it out",
                )
        # Files that a source names stand for its path, and are no patterns.
        named = map(glob.escape, source.files) if source.files else (source.path,)
        return tuple(each for path in named for each in self._found(source, path))

    def _found(self, source: AnySource, path: str) -> Iterator[str]:
        """The resolved files and folders of a path or pattern; addresses as they are."""
        check_name(path)
        if is_address(path):
            if not self._is_below(path):
                raise self._elsewhere(source)
            yield path
            return
        pattern = local(path)
        # Clients do not learn what exists outside, either.
        if not pattern.startswith("/") or not self.has_folder(Path(_fixed(pattern)).resolve()):
            raise self._elsewhere(source)
        found = sorted(glob.glob(pattern))
        if not found:
            raise invalid_argument(f"source {source.name} cannot be read: there is no {path}")
        for name in found:
            resolved = Path(name).resolve()
            if not self.has_folder(resolved) or not all(map(self.has_folder, _linked(resolved))):
                raise self._elsewhere(source)
            yield str(resolved)

    def _is_below(self, address: str) -> bool:
        inside = any(is_below(address, each) for each in self.addresses)
        return inside and ".." not in unquote(address)

    def _elsewhere(self, source: AnySource) -> AdalogError:
        return AdalogError(
            Code.FORBIDDEN,
            f"source {source.name}: this server imports nothing from {shown(source.path)}; its setting "
            "ADALOG_IMPORT_FOLDERS lists where sources may lie",
        )


def _fixed(pattern: str) -> str:
    """The part of a pattern before the first letter that stands for others, up to the folder."""
    end = next((at for at, letter in enumerate(pattern) if letter in _SPECIAL), len(pattern))
    return pattern if end == len(pattern) else pattern[: pattern.rindex("/", 0, end) + 1]


def _linked(path: Path) -> Iterator[Path]:
    """The targets of links within a folder, and within these targets."""
    left, seen = [path], {path}
    while left:
        for folder, folders, files in os.walk(left.pop()):
            for name in (*folders, *files):
                inner = Path(folder) / name
                target = inner.resolve() if inner.is_symlink() else None
                if target is not None and target not in seen:
                    seen.add(target)
                    left.append(target)
                    yield target
