"""What was answered survives the process, whatever ends it; what is damaged is said and never read as data."""

from __future__ import annotations

import json
import logging
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.checkpoint import compactor
from adalog.store.database import Database
from adalog.store.files.segment import Segment, open_segment, write_segment
from tests.property.model import examples
from tests.store.model import Model, check

N = Keyword("n")

WRITER = """
import sys, threading
from adalog.store.checkpoint import compactor
from adalog.store.tries import relation
from adalog.store.database import Database

compactor._LEAST = compactor._ENOUGH = relation._LEAST = 40
database = Database.open(sys.argv[1])
print("open", database.snapshot().t, flush=True)
turn = threading.Lock()

def write(worker):
    number = 0
    while True:
        number += 1
        forms = f'[:db/add "a" :n {number}] [:db/add "b" :worker {worker}] [:db/add 1 :last {number}]'
        report = database.transact(f"[{forms}]")
        with turn:
            sys.stdout.write(f"{report.t} {report.tempids['a']} {number}\\n")
            sys.stdout.flush()

for worker in range(4):
    threading.Thread(target=write, args=(worker,)).start()
"""


def test_kill_during_a_storm(tmp_path: Path) -> None:
    """Many times: kill -9 while four threads write and folds run; then look."""
    dice = random.Random(7)
    answered: dict[int, tuple[int, int]] = {}
    folder = tmp_path / "data"
    for _ in range(max(3, examples(6))):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            opened_at = int(process.stdout.readline().split()[1])
            assert opened_at >= max(answered, default=0)
            deadline = time.monotonic() + 0.2 + dice.random() * 0.6
            lines = []
            while time.monotonic() < deadline:
                lines.append(process.stdout.readline())
            process.kill()
            lines += process.stdout.readlines()
        for line in lines:
            if line.endswith("\n"):
                t, entity, number = map(int, line.split())
                answered[t] = (entity, number)
        with Database.open(str(folder)) as database:
            snapshot = database.snapshot()
            reports = list(database.transactions(1, snapshot.t + 1, snapshot.t + 1))
            assert [report.t for report in reports] == list(range(1, snapshot.t + 1))
            model = Model()
            for report in reports:
                model.told(report)
                numbers = [datom for datom in report.datoms if datom.a == N]
                workers = [datom for datom in report.datoms if datom.a == Keyword("worker")]
                assert len(numbers) == len(workers) == 1
                if report.t in answered:
                    assert (numbers[0].e, numbers[0].v) == answered[report.t]
            assert snapshot.t >= max(answered)
            check(snapshot, model)
    assert len(answered) > 100
    assert list((folder / "segments").glob("attribute-*")), "no fold happened; the test tests less than it says"


def test_a_checkpoint_with_nothing_after_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Database.open(str(folder)) as database:
        database.compact()
    for number in range(2):
        with Database.open(str(folder)) as database:
            database.transact(f"[[:db/add 1 :n {100 + number}]]")
    assert facts(folder)[0] == 32


# Damage


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "data"
    with pytest.MonkeyPatch.context() as patched, Database.open(str(path)) as database:
        patched.setattr(compactor, "_ENOUGH", 10**9)
        for number in range(20):
            database.transact(f'[[:db/add "a" :n {number}] [:db/add "a" :name "name {number}"]]')
        patched.setattr(compactor, "_LEAST", 1)
        database.compact()
        for number in range(20, 30):
            database.transact(f'[[:db/add "a" :n {number}] [:db/add "a" :name "name {number}"]]')
    return path


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A closed database with segments, and transactions after them."""
    monkeypatch.setattr(compactor, "_ENOUGH", 10**9)
    monkeypatch.setattr(compactor, "_LEAST", 1)
    return shutil.copytree(made, tmp_path / "data")


def facts(path: Path) -> tuple[int, list[int], list[object]]:
    with Database.open(str(path)) as database:
        snapshot = database.snapshot()
        n, name = snapshot.attribute(N), snapshot.attribute(Keyword("name"))
        assert n is not None
        assert name is not None
        return (
            snapshot.t,
            snapshot.columns(n).v.tolist(),
            snapshot.codes.decode_many(snapshot.columns(name).v),
        )


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


DAMAGE: list[Callable[[Path], None]] = [
    lambda path: flip(path, 3),
    lambda path: flip(path, 40),
    lambda path: flip(path, path.stat().st_size // 2),
    lambda path: flip(path, path.stat().st_size - 6),
    cut,
    lambda path: path.write_bytes(b""),
    lambda path: path.unlink(),
]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("kind", ["attribute", "dictionary", "young"])
def test_a_damaged_segment_is_rebuilt_from_the_log(
    folder: Path, kind: str, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    before = facts(folder)
    for segment in (folder / "segments").glob(f"{kind}-*"):
        damage(segment)
    with caplog.at_level(logging.WARNING, "adalog.store"):
        assert facts(folder) == before
    assert "rebuilding from the log" in caplog.text
    assert kind in caplog.text


def test_a_damaged_checkpoint_is_rebuilt_from_the_log(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = facts(folder)
    flip(folder / "checkpoint.json", 100)
    assert facts(folder) == before
    assert "checkpoint.json" in caplog.text


def changed_log(folder: Path, statement: str) -> None:
    with sqlite3.connect(folder / "log.sqlite") as connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("update transactions set payload = substr(payload, 1, 9) where t = 25", "25 is not what was written"),
        ("update transactions set instant = instant + 1 where t = 25", "25 is not what was written"),
        ("delete from transactions where t = 25", "25 is missing"),
        ("delete from transactions where t >= 15", "lacks transaction 20"),
        ("update transactions set checksum = checksum + 1 where t = 20", "not the one that the checkpoint"),
    ],
)
def test_a_damaged_log_is_refused(folder: Path, statement: str, says: str) -> None:
    changed_log(folder, statement)
    with pytest.raises(AdalogError) as refused:
        Database.open(str(folder))
    assert refused.value.code is Code.INTERNAL
    assert says in refused.value.message
    assert "backup" in refused.value.message


def test_an_old_entry_changed_by_other_hands_is_noticed_when_it_is_read(folder: Path) -> None:
    changed_log(folder, "update transactions set payload = zeroblob(20) where t = 5")
    with Database.open(str(folder)) as database:
        assert len(list(database.transactions(1, 5, 10))) == 4
        with pytest.raises(AdalogError, match="5 is not what was written"):
            list(database.transactions(3, 9, 10))


def test_a_log_that_is_no_database(folder: Path) -> None:
    (folder / "log.sqlite").write_bytes(b"not a database, " * 400)
    with pytest.raises(AdalogError, match=r"log\.sqlite is damaged"):
        Database.open(str(folder))


# One process, and a full disk


def test_a_second_process_is_told_of_the_first(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)):
        with pytest.raises(AdalogError) as refused:
            Database.open(str(tmp_path))
        assert refused.value.code is Code.BACKEND_UNAVAILABLE
        assert "--url" in refused.value.message
    with Database.open(str(tmp_path)):
        pass


def test_a_folder_can_be_moved(folder: Path, tmp_path: Path) -> None:
    before = facts(folder)
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)
    assert facts(moved) == before


def test_a_full_disk_refuses_and_recovers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No file may grow while the limit holds, as on a full disk."""
    with Database.open(str(tmp_path)) as database:
        database.transact('[[:db/add 1 :text "before"]]')
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, unlimited[1]))
        try:
            for _ in range(3):
                with pytest.raises(AdalogError) as refused:
                    database.transact(f'[[:db/add 2 :text "{"x" * 200_000}"] [:db/add 3 :other 1]]')
                assert refused.value.code is Code.BACKEND_UNAVAILABLE
                assert refused.value.retryable
                assert "nothing was applied" in refused.value.message
            assert database.snapshot().t == 1
            assert database.snapshot().attribute(Keyword("other")) is None
            # Nothing of the refused ones is in it, so that it is small.
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, unlimited[1]))
            database.compact()
            assert "no checkpoint was made" in caplog.text
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        assert database.transact('[[:db/add 2 :text "after"]]').t == 2
        database.compact()
    with Database.open(str(tmp_path)) as database:
        text = database.snapshot().attribute(Keyword("text"))
        assert text is not None
        assert database.snapshot().codes.decode_many(database.snapshot().columns(text).v) == ["before", "after"]


def test_a_checkpoint_of_an_older_format_is_made_again_from_the_log(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact('[[:db/add 1 :name "Ada"]]')
        database.compact()
    file = tmp_path / "checkpoint.json"
    whole = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**whole, "version": 1}), "utf-8")
    with Database.open(str(tmp_path)) as database:
        assert [datom.v for datom in database.snapshot().datoms("AEVT", [Keyword("name")])] == ["Ada"]


def test_a_checkpoint_whose_dictionaries_have_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the version before: what it holds is found, and the next checkpoint, made at once, has secrets."""
    with Database.open(str(tmp_path)) as database:
        database.transact("[" + " ".join(f'[:db/add {n} :name "name {n}"]' for n in range(1, 200)) + "]")
        database.compact()
    file = tmp_path / "checkpoint.json"
    body = json.loads(json.loads(file.read_text("utf-8"))["body"])
    for tag, own in body["blocks"].items():
        for place, (start, (name, checksum)) in enumerate(own):
            arrays = open_segment(Segment(str(tmp_path / "segments" / name), checksum))
            own[place] = (start, _without_secret(tmp_path / "segments", tag, arrays))
    text = json.dumps(body)
    file.write_text(json.dumps({"version": 3, "checksum": zlib.crc32(text.encode()), "body": text}), "utf-8")
    monkeypatch.setattr(compactor, "_ENOUGH", 190)
    with Database.open(str(tmp_path)):
        pass
    assert json.loads(file.read_text("utf-8"))["version"] == 4
    for _ in range(2):
        with Database.open(str(tmp_path)) as database:
            codes = database.snapshot().codes
            assert all(codes.lookup(f"name {n}") is not None for n in range(1, 200))
            t = database.transact('[[:db/add 1 :name "name 7"]]').t
            assert [datom.v for datom in database.snapshot().datoms("EAVT", [1])] == ["name 7"]
            database.compact()
        saved = json.loads(file.read_text("utf-8"))
        assert (saved["version"], json.loads(saved["body"])["counters"][0]) == (4, t)


def _without_secret(folder: Path, tag: str, arrays: dict[str, NDArray[Any]]) -> tuple[str, int]:
    own = {name: array for name, array in arrays.items() if not name.endswith(".secret")}
    for name in [name for name in own if name.endswith(".hashes")]:
        stem = name.removesuffix("hashes")
        offsets, heap = own[f"{stem}offsets"], own[f"{stem}heap"].tobytes()
        crcs = [zlib.crc32(heap[start:stop]) for start, stop in pairwise(offsets)]
        order = np.argsort(np.array(crcs, np.uint32))
        own[name], own[f"{stem}order"] = np.array(crcs, np.uint32)[order], order.astype(np.int32)
    segment = write_segment(folder, f"old-{tag}", own)
    return segment.file, segment.checksum


CHECKPOINTS: list[Callable[[dict[str, object]], object]] = [
    lambda body: body.pop("counters"),
    lambda body: body.update(counters={}),
    lambda body: body.update(counters=["a", 1, 2, 3, 4]),
    lambda body: body.update(counters=[1, 2]),
    lambda body: body.update(log_checksum="1"),
    lambda body: body.update(log_checksum=None),
    lambda body: body.update(relations=[]),
    lambda body: body.update(relations={"x": ["a", 1]}),
    lambda body: body.update(relations={"1": "a"}),
    lambda body: body.update(blocks={"1": [["a", 1]]}),
    lambda body: body.update(free=[[1, 2, 3]]),
    lambda body: body.update(young=None),
]


def check_rebuilt(folder: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    """With that text as its checkpoint the database is what it was."""
    before = facts(folder)
    (folder / "checkpoint.json").write_text(text)
    assert facts(folder) == before
    assert "checkpoint.json is damaged" in caplog.text
    assert "rebuilding from the log" in caplog.text


def with_body(body: str) -> str:
    return json.dumps({"version": 3, "checksum": zlib.crc32(body.encode()), "body": body})


@pytest.mark.parametrize("change", CHECKPOINTS)
def test_a_checkpoint_of_another_shape(
    folder: Path, change: Callable[[dict[str, object]], object], caplog: pytest.LogCaptureFixture
) -> None:
    body = json.loads(json.loads((folder / "checkpoint.json").read_text())["body"])
    change(body)
    check_rebuilt(folder, with_body(json.dumps(body)), caplog)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{}", '{"version": "3", "body": "{}", "checksum": 2745614147}', "[" * 99_999]
    + [with_body(body) for body in ("[]", "3", "null", '"x"', "{")],
)
def test_a_checkpoint_that_is_none(folder: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    check_rebuilt(folder, text, caplog)
