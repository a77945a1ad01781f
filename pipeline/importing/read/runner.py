"""What an import needs of the process that finds its files and runs its tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import orjson
import pyarrow as pa

from adalog.cluster.tasks import InProcessTasks, JobProgress, TaskRunner
from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.pipeline.importing.files.content import COMPRESSED, shown
from adalog.pipeline.importing.files.listing import ListedFile, listed
from adalog.pipeline.importing.files.rows import FileColumn
from adalog.pipeline.importing.read.chunks import ROWS, ColumnPlan, RowChunk
from adalog.pipeline.importing.read.mapping import AnySource, ImportPlan, RowSource
from adalog.pipeline.importing.read.typed_columns import typed
from adalog.pipeline.importing.sql.jdbc import SqlRows
from adalog.store.files.allowed_places import is_address, local

SMALL_BYTES: Final = 1 << 28
"""Sources up to this size are imported in one process, which on two cores is faster than Spark with its start."""
# How many bytes of text one of a file stands for, about.
_PACKED: Final = {".parquet": 4, **dict.fromkeys(COMPRESSED, 8)}
SHARE_BYTES: Final = 1 << 25
"""What a task reads, about."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a source as tasks read it. name: as it is said."""

    file: ListedFile
    name: str


class ImportRunner(TaskRunner, Protocol):
    """Finds files and runs tasks. buckets: the least number of parts that keys are cut into. chunk_rows: rows of a
    chunk. share_bytes: what a task reads, about."""

    buckets: int
    chunk_rows: int
    share_bytes: int

    def files(self, source: AnySource, folder: Path) -> list[FoundFile]:
        """The files of a source, those of other machines as copies in the folder."""

    def table(self, source: RowSource, folder: Path) -> SqlRows:
        """The new rows of a source that is a table, as files in the folder."""


class InProcessRunner(InProcessTasks):
    """An `ImportRunner` for what one process can hold, without Spark."""

    def __init__(self, progress: JobProgress | None = None) -> None:
        super().__init__(progress)
        self.buckets = 1
        self.chunk_rows = ROWS
        self.share_bytes = SHARE_BYTES

    def files(self, source: AnySource, folder: Path) -> list[FoundFile]:
        return local_files(source, paths_of(source))

    def table(self, source: RowSource, folder: Path) -> SqlRows:
        raise AssertionError("`is_small` has tables read by Spark")


def paths_of(source: AnySource) -> Sequence[str]:
    """The paths and addresses of a source."""
    if source.files:
        return source.files
    return [source.path if is_address(source.path) else str(Path(local(source.path)).absolute())]


def local_files(source: AnySource, paths: Sequence[str]) -> list[FoundFile]:
    found = listed([local(path) for path in paths], source.options, literal=bool(source.files))
    return [FoundFile(each, each.path) for each in found]


def is_small(plan: ImportPlan) -> bool:
    """Whether one process can hold what a plan reads, which is all on this machine."""
    size = 0
    every: tuple[AnySource, ...] = (*plan.sources, *plan.datoms)
    if any(source.sql is not None for source in plan.sources):
        return False
    for source in every:
        paths = paths_of(source)
        if any(map(is_address, paths)):
            return False
        options = source.options if source.format != "adalog" else {"recursiveFileLookup": "true"}
        for file in listed([local(path) for path in paths], options, literal=bool(source.files)):
            size += file.size * _PACKED.get(Path(file.path).suffix.lower(), 1)
            if size > SMALL_BYTES:
                return False
    return True


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """Rejected rows of a chunk: how many rows of its partition come before it, files of the rows."""

    start: int
    paths: tuple[str, ...]


RejectedParts = Mapping[int, Sequence[RejectedRows]]
"""Those of a source by partition."""
# Of a value in a reason.
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class UnreadableValue:
    """The reason of a row with a value of another type. name: of the attribute. column: of the file; None if rows
    do not have it by a name. kind: the type that values are read as, in words."""

    name: str
    column: str | None
    kind: str
    plan: ColumnPlan

    def __str__(self) -> str:
        """The reason without the row."""
        return f"{self.name}: a value cannot be read as {self.kind}"

    def of_row(self, content: Any) -> str:
        """The reason with the value of a row, which is as `FileFormat.told` has it."""
        value = None if self.column is None else _value_at(content, self.column)
        if value is None:
            return str(self)
        texts = list(self._items(value))
        unreadable = [each for each in texts if not self._reads(each, rounded=self.plan.rounded)]
        item = unreadable[0] if unreadable else value
        # Rows have durations of files in milliseconds, which can be read.
        is_of_time = self.plan.read_as in ("instant", "duration") and not self.plan.rounded
        is_fine = is_of_time and bool(texts) and (not unreadable or self._reads(item, rounded=True))
        written = orjson.dumps(item, default=shown).decode()
        if len(written) > _SHOWN:
            written = f"{written[:_SHOWN]}…"
        where = f"{self.name}: {written} of column {self.column}"
        if is_fine:
            return f"{where} has more than milliseconds; `round: milliseconds` reads it"
        more = ""
        if self.plan.read_as == "instant" and self.plan.notation.pattern is None:
            more = ", as 1815-12-10 or 1815-12-10T13:45:00Z; `format` reads other texts, as `format: dd.MM.yyyy`"
        return f"{where} cannot be read as {self.kind}{more}"

    def _items(self, value: Any) -> Iterator[str]:
        """The texts of a value, of which there may be several."""
        if isinstance(value, list):
            for each in value:
                yield from self._items(each)
        elif isinstance(value, str):
            yield from (value,) if self.plan.split is None else map(str.strip, value.split(self.plan.split))

    def _reads(self, text: str, *, rounded: bool) -> bool:
        plan = self.plan
        column = FileColumn.of(pa.array([text], pa.string()))
        return not len(typed(column, plan.read_as, plan.value_type, rounded=rounded, notation=plan.notation).bad)


def _value_at(content: Any, column: str) -> Any:
    """The value of a column of a row; objects within objects have paths as names."""
    if not isinstance(content, dict):
        return None
    if column in content:
        return content[column]
    first, _, rest = column.partition(".")
    return _value_at(content.get(first), rest) if rest else None


Reasons = Sequence[Sequence[str | UnreadableValue]]
"""What is said of a row, by column and `Reason`."""


def said_of_row(reason: str | UnreadableValue, content: Any) -> str:
    return reason if isinstance(reason, str) else reason.of_row(content)


def rejected_rows(source: int, chunks: Sequence[RowChunk], rejected: Sequence[Sequence[str]]) -> RejectedParts:
    """What was rejected of a source. rejected: of each chunk the files that name its rows."""
    starts: dict[int, int] = {}
    rows: dict[int, list[RejectedRows]] = {}
    for chunk, paths in zip(chunks, rejected, strict=True):
        number, partition, _ = chunk.order
        if number != source:
            continue
        start = starts.get(partition, 0)
        starts[partition] = start + chunk.rows
        if paths:
            rows.setdefault(partition, []).append(RejectedRows(start, tuple(paths)))
    return rows


def no_files(source: AnySource) -> AdalogError:
    return invalid_argument(
        f"source {source.name} cannot be read: there are no files at {source.path}; those whose names begin with _ "
        "or . do not count"
    )
