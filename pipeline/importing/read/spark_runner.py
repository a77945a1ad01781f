"""Spark reads an import's files: an `ImportRunner` on a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import orjson
import pyarrow as pa

from adalog.cluster.cluster import Cluster
from adalog.cluster.tasks import JobProgress, SparkTasks, refusing, unpickled
from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.pipeline.importing.read.chunks import MALFORMED, RowBatch, RowChunk, SourceJob, chunks, read_rejects
from adalog.pipeline.importing.read.datoms import named
from adalog.pipeline.importing.read.line_numbers import LineNumbers
from adalog.pipeline.importing.read.mapping import AnySource, DatomSource, RowSource
from adalog.pipeline.importing.read.runner import Reasons, RejectedParts
from adalog.pipeline.importing.read.source_frames import SourceFrame, exactly, source_frame, unreadable, wrong_of
from adalog.store.files.permissions import opener
from adalog.store.tries.signed import run_starts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
R = TypeVar("R")

_POLL_SECONDS: Final = 0.05
_MALFORMED: Final = "what is malformed of the row"
_FILE: Final = "file of the row"
_BLOCK: Final = "block of the row"
_ROW: Final = "row"
# For reading files; the engine's session is set up for its own jobs.
_SETTINGS: Final = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    # A reader of some columns does not see how many there are.
    "spark.sql.csv.parser.columnPruning.enabled": "false",
}


class SparkRunner(SparkTasks):
    """An `ImportRunner` on a cluster; files are read by a Spark session with settings of its own."""

    def __init__(self, cluster: Cluster, progress: JobProgress | None = None) -> None:
        super().__init__(cluster, progress)
        self.buckets = 2 * cluster.cores
        self._spark: SparkSession = cluster.spark.newSession()
        for name, value in {**_SETTINGS, "spark.sql.leafNodeDefaultParallelism": str(cluster.cores)}.items():
            self._spark.conf.set(name, value)
        self._held: dict[str, SourceFrame] = {}

    def columns(self, source: RowSource) -> Mapping[str, pa.DataType]:
        from pyspark.sql.pandas.types import to_arrow_schema

        held = self._looked_at(source)
        schema = to_arrow_schema(held.frame.schema, timezone="UTC")
        return {field.name: field.type for field in schema if field.name != held.malformed}

    def named(self, source: DatomSource) -> Mapping[str, set[str]]:
        frame = self._looked_at(source).frame

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield _answer(named(batch.column(0) for batch in batches))

        def run(_: SparkSession) -> list[dict[str, set[str]]]:
            return [unpickled(each) for each in _mapped(frame, work).toArrow().column(0).to_pylist()]

        found: dict[str, set[str]] = {}
        for part in self._read_files("looking at", source, run):
            for name, kinds in part.items():
                found.setdefault(name, set()).update(kinds)
        return found

    def files(self, source: AnySource) -> Mapping[int, str]:
        from pyspark.sql import functions

        paths = sorted(self._opened(source).frame.inputFiles())
        hashed = self._spark.createDataFrame(pa.table({"path": paths})) if paths else None
        if hashed is None:
            return {}
        table = hashed.select("path", functions.xxhash64("path").alias("hash")).toArrow()
        return dict(zip(table.column("hash").to_pylist(), table.column("path").to_pylist(), strict=True))

    def _opened(self, source: AnySource) -> SourceFrame:
        found = self._held.get(source.name)
        if found is None:
            found = self._held[source.name] = source_frame(self._spark, source)
        return found

    def _looked_at(self, source: AnySource) -> SourceFrame:
        """The same, after Spark inferred the schema, which may read all files."""

        def look(_: SparkSession) -> tuple[SourceFrame, int]:
            held = self._opened(source)
            return held, held.frame.rdd.getNumPartitions()

        held, partitions = self._read_files("looking at", source, look)
        self.buckets = max(self.buckets, partitions)
        return held

    def read(self, source: AnySource, names: Mapping[str, str], job: SourceJob) -> list[RowChunk]:
        held, job = exactly(self._spark, self._opened(source), names, job)
        frame = self._placed(held, names)
        keys = tuple(names)
        wrong = None if held.malformed is None else wrong_of(held)

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            context = TaskContext.get()
            assert context is not None
            for chunk in refusing(chunks(_rows(batches, keys, wrong), job, context.partitionId())):
                yield _answer(chunk)

        def run(_: SparkSession) -> list[RowChunk]:
            return [unpickled(each) for each in _mapped(frame, work).toArrow().column(0).to_pylist()]

        folder = Path(job.folder)
        return self._read_files("reading", source, run, lambda: _rows_written(folder))

    def quarantine(self, source: AnySource, rejected: RejectedParts, reasons: Reasons, to: Path) -> None:
        from pyspark.sql import functions

        held = self._opened(source)
        row = functions.to_json(functions.struct(*map(held.column, held.frame.columns)))
        placed = held.frame.select(
            functions.input_file_name().alias(_FILE),
            functions.input_file_block_start().alias(_BLOCK),
            row.alias(_ROW),
        )
        writer = _Quarantine(held.source, rejected, reasons, str(to.absolute()))

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            context = TaskContext.get()
            assert context is not None
            yield _answer(writer.write(batches, context.partitionId()))

        self.wait(f"writing rejected rows of {source.name}", lambda _: _mapped(placed, work).toArrow())

    def _placed(self, held: SourceFrame, names: Mapping[str, str]) -> DataFrame:
        from pyspark.sql import functions

        malformed = () if held.malformed is None else (held.column(held.malformed).alias(_MALFORMED),)
        return held.frame.select(
            *(held.column(column).alias(key) for key, column in names.items()),
            *malformed,
            functions.xxhash64(functions.input_file_name()).alias(_FILE),
            functions.input_file_block_start().alias(_BLOCK),
        )

    def _read_files(
        self, stage: str, source: AnySource, work: Callable[[SparkSession], R], rows: Callable[[], int] = lambda: 0
    ) -> R:
        """What a job over a source's files returns. Raises ARG_INVALID for files that cannot be read."""

        def explain(error: Exception) -> AdalogError | None:
            why = unreadable(error)
            if why is None:
                return None
            return invalid_argument(f"source {source.name} cannot be read: {why}")

        return self.wait(f"{stage} {source.name}", work, rows, explain)


def _rows_written(folder: Path) -> int:
    return sum(int(path.name.split("-")[1]) for path in folder.glob("keys-*"))


def _mapped(frame: DataFrame, work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> DataFrame:
    """`frame.mapInArrow`, which refuses to start without pandas, though nothing of it needs that."""
    from pyspark.sql import DataFrame
    from pyspark.sql.types import BinaryType, StructField, StructType
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    schema = StructType([StructField("answer", BinaryType(), nullable=False)])
    made = UserDefinedFunction(work, returnType=schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column = made(*(frame[f"`{name}`"] for name in frame.columns))
    return DataFrame(frame._jdf.mapInArrow(column._jc, False, None), frame.sparkSession)


def _answer(value: Any) -> pa.RecordBatch:
    return pa.record_batch([pa.array([pickle.dumps(value)], pa.binary())], names=["answer"])


def _rows(
    batches: Iterator[pa.RecordBatch], keys: Sequence[str], wrong: Callable[[pa.Array], pa.Array] | None
) -> Iterator[RowBatch]:
    for batch in batches:
        if batch.num_rows:
            more = {} if wrong is None else {MALFORMED: wrong(batch.column(_MALFORMED))}
            yield RowBatch(
                {key: batch.column(key) for key in keys} | more,
                batch.num_rows,
                batch.column(_FILE).to_numpy(),
                batch.column(_BLOCK).to_numpy(),
            )


@dataclass(frozen=True, slots=True)
class _Quarantine:
    """Writes a partition's rejected rows as JSON lines."""

    source: AnySource
    rejected: RejectedParts
    reasons: Reasons
    folder: str

    def write(self, batches: Iterator[pa.RecordBatch], partition: int) -> int:
        """How many rows it wrote."""
        own = self.rejected.get(partition, ())
        if not own:
            # Spark does not read the rows of a task that ends first.
            return 0
        found = [(each.start, read_rejects(each.paths)) for each in own]
        rows = np.concatenate([start + part.rows for start, part in found])
        columns = np.concatenate([part.columns for _, part in found])
        reasons = np.concatenate([part.reasons for _, part in found])
        lines, written, at = LineNumbers(self.source), 0, 0
        path = Path(self.folder) / f"{self.source.name}-{partition}.jsonl"
        ordinals: dict[tuple[str, int], int] = {}
        with open(path, "wb", opener=opener) as out:
            for batch in batches:
                places = _ordinals(batch, ordinals)
                low, high = np.searchsorted(rows, [at, at + batch.num_rows])
                for number in range(int(low), int(high)):
                    place = int(rows[number]) - at
                    file, block = batch.column(_FILE)[place].as_py(), batch.column(_BLOCK)[place].as_py()
                    line = {
                        "source": self.source.name,
                        "file": file,
                        "line": lines.of(file, block, int(places[place])),
                        "row": orjson.Fragment(batch.column(_ROW)[place].as_py()),
                        "reason": self.reasons[int(columns[number])][int(reasons[number])],
                    }
                    if line["line"] is None:
                        del line["line"]
                    out.write(orjson.dumps(line) + b"\n")
                    written += 1
                at += batch.num_rows
        return written


def _ordinals(batch: pa.RecordBatch, ordinals: dict[tuple[str, int], int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The number of each row within its block of its file."""
    files = batch.column(_FILE).dictionary_encode()
    codes, blocks = files.indices.to_numpy(), batch.column(_BLOCK).to_numpy()
    result = np.empty(len(codes), np.int64)
    starts = [*np.flatnonzero(run_starts(codes, blocks)).tolist(), len(codes)]
    for start, stop in pairwise(starts):
        key = (files.dictionary[int(codes[start])].as_py(), int(blocks[start]))
        first = ordinals.get(key, 0)
        result[start:stop] = np.arange(first, first + stop - start)
        ordinals[key] = first + stop - start
    return result
