"""A standing import: new files, or a topic of Kafka, become transactions, a batch each, exactly once.

Spark's Structured Streaming records a batch in a checkpoint before it hands it on. The transaction of a batch has a
key made of the checkpoint's identity and the batch's number, so a repeated batch does nothing.
"""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import uuid4

from adalog.cluster.cluster import Cluster
from adalog.datalog.errors import AdalogError, Code, invalid_argument, unavailable
from adalog.pipeline.importing.files.listing import state_of
from adalog.pipeline.importing.read.mapping import KAFKA, TAKING, ImportPlan, RowSource
from adalog.pipeline.importing.write.loading import ImportOutcome
from adalog.pipeline.importing.write.streamed_files import StreamedFiles
from adalog.store.files.allowed_places import is_address
from adalog.store.files.segment import write_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader

_TRIGGER: Final = "1 second"
# What Spark knows of a file whose content it does not look into.
_BINARY: Final = "path STRING, modificationTime TIMESTAMP, length LONG, content BINARY"
# The value of a topic's record, on one line.
_VALUE: Final = r"regexp_replace(CAST(value AS STRING), '[\\r\\n]+', ' ') AS value"
_LOOK_SECONDS: Final = 0.2
# How often files that were taken are looked at again.
_REPLACED_SECONDS: Final = 5.0
# Waits before a retry: the first and the longest.
_AGAIN_SECONDS: Final = 1.0
_AGAIN_MOST: Final = 30.0
_END_SECONDS: Final = 5.0
# Files that were changed more recently may still be written.
_QUIET_SECONDS: Final = 1.0
# After this long it is said that a batch waits for a file.
_PATIENT_SECONDS: Final = 10.0
_LOCAL: Final = re.compile("^file:/+")


class Sink(Protocol):
    """Imports batches."""

    def imported(self, plan: ImportPlan, key: str, quarantine: Path) -> ImportOutcome:
        """Imports the files of a plan, unless the key is used; rejected rows go to a folder. Raises AdalogError."""


Tell = Callable[[str, int, ImportOutcome | AdalogError | str], None]
"""Called for each batch with source, number, and its outcome, the reason why it is retried, or a warning."""


class Streaming:
    """folder: the checkpoint, which belongs to one mapping and one database."""

    def __init__(
        self, live: Cluster, plan: ImportPlan, folder: Path, quarantine: Path, sink: Sink, tell: Tell
    ) -> None:
        self._plan = plan
        self._folder = folder.absolute()
        self._quarantine = quarantine
        self._sink = sink
        self._tell = tell
        self._spark: SparkSession = live.spark.newSession()
        self._live = live
        self._stopped = threading.Event()
        self._failure: BaseException | None = None
        # Batches of several sources come one after the other: there is one session, and one database.
        self._turn = threading.Lock()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._taken = StreamedFiles(self._folder)
        self._watched = 0.0
        self._once = False

    def run(self, *, once: bool) -> None:
        """Imports until `stop`, with `once` what there is. Raises what a batch was refused with."""
        self._once = once
        identity = self._identity()
        queries: list[StreamingQuery] = []
        try:
            queries += [self._begun(source, identity, once) for source in self._plan.sources]
            while not self._stopped.is_set() and any(query.isActive for query in queries):
                self._check(queries)
                self._warn_of_replaced()
                self._stopped.wait(_LOOK_SECONDS)
            self._check(queries)
            self._warn_of_replaced(0.0)
        finally:
            self.stop()
            for query in queries:
                _ended(query)

    def stop(self) -> None:
        """Has it end; a batch under way is done again next time."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    def _identity(self) -> str:
        """What the keys of this checkpoint's batches begin with."""
        file = self._folder / "identity"
        if not file.exists():
            write_text(file, uuid4().hex)
        return file.read_text()

    def _check(self, queries: Sequence[StreamingQuery]) -> None:
        if self._failure is not None:
            raise self._failure
        for query in queries:
            failed = query.exception()
            if failed is not None and self._failure is None:
                raise unavailable(f"the stream ended: {str(failed).splitlines()[0]}")

    def _warn_of_replaced(self, seconds: float = _REPLACED_SECONDS) -> None:
        """Spark takes a path once, whatever becomes of the file."""
        if time.monotonic() < self._watched + seconds:
            return
        self._watched = time.monotonic()
        for taken in self._taken.replaced():
            self._tell(
                taken.source,
                taken.batch,
                f"{taken.path} was changed after batch {taken.batch} of {taken.source} took it, and is not read "
                "again: files must appear complete, and new content needs a new name",
            )

    def _begun(self, source: RowSource, identity: str, once: bool) -> StreamingQuery:
        reader = self._spark.readStream.options(**self._options(source))
        frame = self._ask(source, lambda: self._appearing(source, reader))
        hand_on = self._topic if source.format == KAFKA else self._files

        def batch(rows: DataFrame, number: int) -> None:
            try:
                hand_on(source, rows, number, f"{identity} {source.name} {number}")
            except BaseException as error:
                # Spark would wrap it.
                self._failure = self._failure or error
                raise

        writer = frame.writeStream.foreachBatch(batch).queryName(source.name)
        writer = writer.option("checkpointLocation", str(self._folder / source.name))
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=_TRIGGER)
        begun: StreamingQuery = self._ask(source, writer.start)
        return begun

    def _options(self, source: RowSource) -> dict[str, str]:
        if source.format != KAFKA:
            return {name: value for name, value in source.options.items() if name.lower() in TAKING}
        chosen = {"subscribe", "subscribePattern", "assign"} & set(source.options)
        return {**source.options, **({} if chosen else {"subscribe": source.path})}

    def _appearing(self, source: RowSource, reader: DataStreamReader) -> DataFrame:
        if source.format == KAFKA:
            return reader.format("kafka").load().selectExpr(_VALUE)
        # Only the paths are wanted; what is in the files is read by the import.
        path = source.path if "://" in source.path else str(Path(source.path).absolute())
        return reader.format("binaryFile").schema(_BINARY).load(path).select("path", "length")

    def _ask(self, source: RowSource, work: Callable[[], Any]) -> Any:
        from pyspark.errors import PySparkException

        try:
            return work()
        except PySparkException as error:
            why = str(error).split("\n")[0].split(" SQLSTATE")[0]
            if source.format == KAFKA and "kafka" in why.lower():
                raise unavailable(
                    f"source {source.name} is a topic of Kafka, and Spark has no connector for it: it needs the "
                    f"jars of org.apache.spark:spark-sql-kafka-0-10 ({why})",
                    retryable=False,
                ) from None
            raise invalid_argument(f"source {source.name} cannot be followed: {why}") from None

    def _files(self, source: RowSource, rows: DataFrame, number: int, key: str) -> None:
        # Spark's readers make nothing of empty files, not even columns.
        files = sorted(_LOCAL.sub("/", row["path"]) for row in rows.collect() if row["length"])
        self._hand_on(source, files, number, key)

    def _topic(self, source: RowSource, rows: DataFrame, number: int, key: str) -> None:
        staged = self._folder / "staged" / source.name / str(number)
        rows.write.mode("overwrite").text(str(staged))
        try:
            self._hand_on(source, [str(staged)], number, key)
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    def _hand_on(self, source: RowSource, files: Sequence[str], number: int, key: str) -> None:
        if not files:
            return
        plan, wait = self._plan.of_files({source.name: files}), _AGAIN_SECONDS
        if source.format != KAFKA:
            self._wait_until_quiet(source, number, files)
            self._taken.take(source.name, number, files)
        while True:
            self._check_stopped()
            try:
                with self._turn:
                    outcome = self._sink.imported(plan, key, self._quarantine / source.name / str(number))
            except AdalogError as error:
                self._check_stopped()
                is_unreadable = error.code is Code.ARG_INVALID
                if not error.retryable or not self._live.alive or (is_unreadable and self._once):
                    raise
                self._tell(source.name, number, error)
                self._stopped.wait(wait)
                wait = min(2 * wait, _AGAIN_MOST)
            else:
                self._tell(source.name, number, outcome)
                return

    def _wait_until_quiet(self, source: RowSource, number: int, files: Sequence[str]) -> None:
        """Waits for files that are being written here, and names one that takes long."""
        began, is_named = time.monotonic(), False
        while (young := next(filter(_is_young, files), None)) is not None:
            self._check_stopped()
            if not is_named and time.monotonic() > began + _PATIENT_SECONDS:
                self._tell(source.name, number, f"batch {number} of {source.name} waits for {young}, which changes")
                is_named = True
            self._stopped.wait(_LOOK_SECONDS)

    def _check_stopped(self) -> None:
        if self.stopped:
            raise AdalogError(Code.CANCELLED, "the stream was stopped")


def _is_young(path: str) -> bool:
    state = None if is_address(path) else state_of(path)
    # By another machine's clock it may be of the future.
    return state is not None and abs(time.time() - state.changed / 1e9) < _QUIET_SECONDS


def _ended(query: StreamingQuery) -> None:
    """Stops a query; a batch under way has a moment for its end."""

    def stop() -> None:
        with suppress(Exception):
            query.stop()

    stopping = threading.Thread(target=stop, name="stream-stop", daemon=True)
    stopping.start()
    stopping.join(_END_SECONDS)
