"""What a stream does with a batch, without Spark: what is handed on, tried again, and given up."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.pipeline.importing.read.mapping import ImportPlan
from adalog.pipeline.importing.read.mapping_reader import read_mapping
from adalog.pipeline.importing.write import streaming
from adalog.pipeline.importing.write.loading import ImportOutcome, load
from adalog.pipeline.importing.write.streaming import Sink as BatchSink
from adalog.pipeline.importing.write.streaming import Streaming
from adalog.store.database import Database
from tests.pipeline.pipeline_in_process import InProcess

MAPPING = """
sources:
  files:
    path: in/*.csv
    options: {header: true, maxFilesPerTrigger: 1}
    entity: {attribute: a/b, column: c}
  topic:
    path: people
    format: kafka
    options: {kafka.bootstrap.servers: "localhost:9"}
    entity: {attribute: a/b, column: c}
"""
DONE = ImportOutcome(7, 1, 1, 1, 0, 0.1, accepted=True)
AWAY = AdalogError(Code.BACKEND_UNAVAILABLE, "away")
WRONG = AdalogError(Code.ARG_INVALID, "wrong")


class Sink:
    def __init__(self, *answers: ImportOutcome | AdalogError) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[ImportPlan, str, Path]] = []
        self.before: Callable[[], None] = lambda: None

    def imported(self, plan: ImportPlan, key: str, quarantine: Path) -> ImportOutcome:
        self.asked.append((plan, key, quarantine))
        self.before()
        answer = self.answers.pop(0)
        if isinstance(answer, AdalogError):
            raise answer
        return answer


@dataclass
class Loading:
    """Imports without Spark. after: called at the end of each attempt."""

    database: Database
    after: Callable[[], Any]
    runner: InProcess = field(default_factory=InProcess)

    def imported(self, plan: ImportPlan, key: str, quarantine: Path) -> ImportOutcome:
        try:
            return load(self.database, self.runner, plan, key=key)
        finally:
            self.after()


@pytest.fixture
def plan(tmp_path: Path) -> ImportPlan:
    (tmp_path / "mapping.yaml").write_text(MAPPING)
    return read_mapping(tmp_path / "mapping.yaml", {})


def stream(plan: ImportPlan, tmp_path: Path, sink: BatchSink, told: list[Any]) -> Streaming:
    live: Any = SimpleNamespace(spark=SimpleNamespace(newSession=lambda: None), alive=True)
    return Streaming(live, plan, tmp_path / "checkpoint", Path("quarantine"), sink, lambda *each: told.append(each))


def test_a_batch_names_its_files_and_no_others(plan: ImportPlan, tmp_path: Path) -> None:
    sink, told = Sink(DONE, DONE), []
    stream(plan, tmp_path, sink, told)._hand_on(plan.sources[0], ["/in/1.csv"], 3, "key")
    [(handed, key, quarantine)] = sink.asked
    [source] = handed.sources
    assert (source.name, source.files, source.options) == ("files", ("/in/1.csv",), {"header": "true"})
    assert (key, quarantine) == ("key", Path("quarantine/files/3"))
    assert told == [("files", 3, DONE)]
    stream(plan, tmp_path, sink, told)._hand_on(plan.sources[1], ["/staged/0"], 0, "key")
    [source] = sink.asked[-1][0].sources
    assert (source.format, source.options, source.files) == ("jsonl", {}, ("/staged/0",))
    assert source.part
    stream(plan, tmp_path, sink, told)._hand_on(plan.sources[0], [], 4, "key")
    assert len(sink.asked) == 2


def test_empty_files_are_passed_over(plan: ImportPlan, tmp_path: Path) -> None:
    sink = Sink(DONE)
    rows: Any = SimpleNamespace(
        collect=lambda: [{"path": f"file:///in/{name}", "length": length} for name, length in (("b", 9), ("a", 0))]
    )
    stream(plan, tmp_path, sink, [])._files(plan.sources[0], rows, 0, "key")
    assert sink.asked[0][0].sources[0].files == ("/in/b",)


@pytest.mark.parametrize("chosen", ["subscribe", "subscribePattern", "assign", None])
def test_what_a_topic_is_read_with(plan: ImportPlan, tmp_path: Path, chosen: str | None) -> None:
    topic = plan.sources[1]
    more = {} if chosen is None else {chosen: "others"}
    options = {**topic.options, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "5", **more}
    found = stream(plan, tmp_path, Sink(), [])._options(replace(topic, options=options))
    assert found == {**options, **({"subscribe": "people"} if chosen is None else {})}


def test_what_may_pass_is_tried_again(plan: ImportPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_AGAIN_SECONDS", 0.0)
    sink, told = Sink(AWAY, AWAY, DONE), []
    stream(plan, tmp_path, sink, told)._hand_on(plan.sources[0], ["/in/1.csv"], 0, "key")
    assert [came for _, _, came in told] == [AWAY, AWAY, DONE]
    assert {key for _, key, _ in sink.asked} == {"key"}


def parquet_of(values: list[str]) -> bytes:
    out = BytesIO()
    pq.write_table(pa.table({"c": values}), out)
    return out.getvalue()


PARQUET, ARCHIVE = parquet_of(["x", "y"]), gzip.compress(b"c\nx\ny\n")


@pytest.mark.parametrize(
    ("name", "whole"), [("1.parquet", PARQUET), ("1.csv.gz", ARCHIVE)], ids=["Parquet", "gzip"]
)
def test_a_file_that_is_half_written_is_tried_again_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, whole: bytes
) -> None:
    monkeypatch.setattr(streaming, "_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(streaming, "_QUIET_SECONDS", 0.0)
    form, file, told = name.split(".")[1], tmp_path / name, list[Any]()
    mapping = {
        "path": "in",
        "format": form,
        "options": {"header": True},
        "entity": {"attribute": "a/b", "column": "c"},
    }
    (tmp_path / "mapping.yaml").write_text(json.dumps({"sources": {"files": mapping}}))
    plan = read_mapping(tmp_path / "mapping.yaml", {})
    file.write_bytes(whole[:-6])
    with Database.open(str(tmp_path / "data")) as database:
        database.transact("[{:db/ident :a/b :db/valueType :db.type/string :db/unique :db.unique/identity}]")
        sink = Loading(database, lambda: file.write_bytes(whole))
        last = stream(plan, tmp_path, sink, told)
        last._once = True
        with pytest.raises(AdalogError, match=f"{name} cannot be read: "):
            last._hand_on(plan.sources[0], [str(file)], 0, "key")
        file.write_bytes(whole[:-6])
        stream(plan, tmp_path, sink, told)._hand_on(plan.sources[0], [str(file)], 0, "key")
    [again, done] = [each for _, _, each in told]
    assert f"{name} cannot be read: " in again.message
    assert (done.rows, done.datoms) == (2, 2)


def test_a_file_that_grows_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(streaming, "_QUIET_SECONDS", 0.0)
    (tmp_path / "mapping.yaml").write_text(MAPPING)
    plan, file, told = read_mapping(tmp_path / "mapping.yaml", {}), tmp_path / "1.csv", list[Any]()
    file.write_text("c\nx\n")

    class Growing(InProcess):
        """Another program writes while the first task reads."""

        def each(self, stage: str, work: Any, items: Any, rows: Any = lambda: 0) -> Any:
            found = super().each(stage, work, items, rows)
            if stage == "reading files" and "y" not in file.read_text():
                with file.open("a") as out:
                    out.write("y\n")
            return found

    with Database.open(str(tmp_path / "data")) as database:
        database.transact("[{:db/ident :a/b :db/valueType :db.type/string :db/unique :db.unique/identity}]")
        sink = Loading(database, lambda: None, Growing())
        stream(plan, tmp_path, sink, told)._hand_on(plan.sources[0], [str(file)], 0, "key")
    [again, done] = [each for _, _, each in told]
    assert again.message.startswith(f"{file} was changed while it was read")
    assert done.rows == 2


def test_a_batch_waits_for_a_file_that_is_written(plan: ImportPlan, tmp_path: Path) -> None:
    file, told, waits = tmp_path / "1.csv", list[Any](), list[float]()
    file.write_text("c\n1\n")

    def write(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) < 3:
            file.write_text("c\n1\n2\n" * len(waits))
        else:
            os.utime(file, (0, 0))

    sink = Sink(DONE)
    waiting = stream(plan, tmp_path, sink, told)
    sink.before = lambda: waits.append(0.0)
    waiting._stopped = SimpleNamespace(wait=write, is_set=lambda: False)  # type: ignore[assignment]
    waiting._hand_on(plan.sources[0], [str(file)], 0, "key")
    assert [bool(seconds) for seconds in waits] == [True, True, True, False]


def test_what_will_not_pass_ends_it(plan: ImportPlan, tmp_path: Path) -> None:
    with pytest.raises(AdalogError, match="wrong"):
        stream(plan, tmp_path, Sink(WRONG), [])._hand_on(plan.sources[0], ["/in/1.csv"], 0, "key")


def test_one_that_was_stopped_tries_nothing(plan: ImportPlan, tmp_path: Path) -> None:
    sink = Sink(AWAY)
    stopped = stream(plan, tmp_path, sink, [])
    sink.before = stopped.stop
    with pytest.raises(AdalogError) as caught:
        stopped._hand_on(plan.sources[0], ["/in/1.csv"], 0, "key")
    assert caught.value.code is Code.CANCELLED
    assert len(sink.asked) == 1


def test_a_checkpoint_keeps_its_identity(plan: ImportPlan, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    first = stream(plan, tmp_path, Sink(), [])._identity()
    assert stream(plan, tmp_path, Sink(), [])._identity() == first
    assert len(first) == 32


def test_a_file_that_is_replaced_is_noticed_once(plan: ImportPlan, tmp_path: Path) -> None:
    file, told = tmp_path / "1.csv", list[Any]()
    file.write_text("c\n1\n")
    stream(plan, tmp_path, Sink(DONE), told)._hand_on(plan.sources[0], [str(file)], 3, "key")
    journal = tmp_path / "checkpoint" / "files.jsonl"
    # The line of a batch whose process was killed.
    journal.write_bytes(journal.read_bytes() + b'["files"')
    (tmp_path / "new").write_text("c\n22\n")
    (tmp_path / "new").rename(file)
    for _ in range(2):
        again = stream(plan, tmp_path, Sink(DONE), told)
        # The batch is repeated, with the file as it was then.
        again._hand_on(plan.sources[0], [str(file)], 3, "key")
        again._warn_of_replaced(0.0)
        again._warn_of_replaced(0.0)
    [(source, batch, warning)] = [said for said in told if isinstance(said[2], str)]
    assert (source, batch) == ("files", 3)
    assert warning == (
        f"{file} was changed after batch 3 of files took it, and is not read again: files must appear complete, "
        "and new content needs a new name"
    )
