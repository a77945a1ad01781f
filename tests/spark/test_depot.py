"""Workers that do not see the data folder: segments come from an object store, once, and are what was put there."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from adalog.cluster import depot as depots
from adalog.cluster import shipping
from adalog.cluster.depot import Depot
from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.files.segment import Segment
from adalog.store.values.blocks.sparse_block import SparseBlock
from adalog.store.values.layout import TAG_STRING
from tests.postgres_servers import PostgresServer
from tests.s3_server import Objects, s3_server
from tests.spark.spark_in_process import forget, spark_in_process
from tests.support import pool_on

QUERY = "[:find ?x (count ?a) :where [?a :n/value ?x] [?a :n/name ?n]]"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Objects]:
    with s3_server(monkeypatch) as objects:
        yield objects


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The temporary folder of workers."""
    (tmp_path / "worker").mkdir()
    monkeypatch.setattr(depots.tempfile, "gettempdir", lambda: str(tmp_path / "worker"))
    return tmp_path / "worker"


@pytest.fixture(params=["s3", "file"])
def world(
    request: pytest.FixtureRequest, s3: Objects, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Database, Pool]]:
    address = s3.address("segments") if request.param == "s3" else (tmp_path / "depot").as_uri()
    with (
        Database.open(str(tmp_path / "data")) as database,
        spark_in_process(monkeypatch, "spark://elsewhere:7077", segments=address) as engine,
        pool_on(database, engine) as pool,
    ):
        database.transact("[" + " ".join(f'{{:n/value {i % 7} :n/name "n{i}"}}' for i in range(3000)) + "]")
        database.compact()
        yield database, pool


def answer(pool: Pool, engine: str) -> list[tuple[object, ...]]:
    forget()
    shipping._opened.clear()
    return sorted(pool.run(QueryRequest(QUERY, engine=engine)).rows())


def kept(cache: Path) -> set[str]:
    return {path.name for path in cache.rglob("*.seg")}


def test_segments_come_once_and_young_datoms_with_the_query(
    world: tuple[Database, Pool], cache: Path, tmp_path: Path
) -> None:
    database, pool = world
    assert answer(pool, "SPARK") == answer(pool, "LOCAL")
    first = kept(cache)
    assert first
    assert all(path.stat().st_mode & 0o077 == 0 for path in cache.iterdir())
    database.transact('[{:n/value 1 :n/name "young"}]')
    assert answer(pool, "SPARK") == answer(pool, "LOCAL")
    assert kept(cache) == first
    for path in cache.rglob("*.seg"):
        path.write_bytes(path.read_bytes()[:-9] + b"damaged!!")
    assert answer(pool, "SPARK") == answer(pool, "LOCAL")
    database.compact()


def test_what_is_not_what_was_put_there_is_not_read(s3: Objects, world: tuple[Database, Pool], cache: Path) -> None:
    _, pool = world
    assert answer(pool, "SPARK") == answer(pool, "LOCAL")
    if not s3.held:
        return
    names = [name for name in s3.held if name.endswith(".seg")]
    assert len(names) == len(set(names)) == len(kept(cache))
    for name in names:
        s3.held[name] = bytes(len(s3.held[name]))
    for path in cache.rglob("*.seg"):
        path.unlink()
    with pytest.raises(AdalogError, match="it is not what was put there"):
        answer(pool, "SPARK")
    assert not kept(cache)


def test_what_was_removed_there_is_put_there_again(
    s3: Objects, world: tuple[Database, Pool], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, pool = world
    monkeypatch.setattr(depots, "_KNOWN_SECONDS", 0.0)
    assert answer(pool, "SPARK") == answer(pool, "LOCAL")
    s3.held.clear()
    for path in cache.rglob("*.seg"):
        path.unlink()
    assert answer(pool, "SPARK") == answer(pool, "LOCAL")


def test_several_gateways_put_into_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name stands for a whole file at any moment, and what no gateway wants any more goes after a week."""
    monkeypatch.setattr(depots, "_KNOWN_SECONDS", 0.0)
    folder, week = tmp_path / "depot", 7 * 86_400
    segments = []
    for number in range(3):
        (tmp_path / f"{number}").write_bytes(bytes([number]) * 1000)
        segments.append(Segment(str(tmp_path / f"{number}"), number))
    first, second = Depot(folder.as_uri()), Depot(folder.as_uri())
    copied = Depot._copy
    named: list[list[str]] = []

    def put(depot: Depot, segment: Segment) -> Segment:
        return depot.put([segment], Cancel().check)[segment]

    def watched(*args: Any) -> None:
        copied(*args)
        named.append(sorted(path.name for path in folder.glob("*.seg")))

    monkeypatch.setattr(Depot, "_copy", watched)
    used, left = put(first, segments[0]), put(first, segments[1])
    assert named == [[], [used.path]]
    (folder / "killed.seg.0.tmp").touch()
    for path in folder.iterdir():
        os.utime(path, (time.time() - week - 60,) * 2)
    assert put(second, segments[0]) == used
    new = put(second, segments[2])
    assert {path.name for path in folder.iterdir()} == {used.path, new.path}
    assert put(first, segments[1]) == left
    assert len(list(folder.iterdir())) == 3


def test_gateways_that_share_segments_put_what_workers_read(
    postgres: PostgresServer, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the chart has it for Spark on Kubernetes: executors see the place of gateways, and no gateway's copy."""
    place = tmp_path / "segments" / "adalog"
    place.parent.mkdir()
    address = postgres.new_database()
    rows = "[" + " ".join(f'{{:n/value {i % 7} :n/name "n{i}"}}' for i in range(3000)) + "]"
    for number in range(2):
        with (
            Database.open(address, segments=str(place), copy=str(tmp_path / f"copy{number}")) as database,
            spark_in_process(monkeypatch, "k8s://cluster", segments=(place / "spark").as_uri()) as engine,
            pool_on(database, engine) as pool,
        ):
            if not number:
                database.transact(rows)
                database.compact()
            assert answer(pool, "SPARK") == answer(pool, "LOCAL")
            there = {path.name for path in (place / "spark").iterdir()}
            assert there
            assert kept(cache) == there


def test_a_store_that_cannot_be_written_is_said(
    s3: Objects, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.refused = True
    with (
        Database.open(str(tmp_path / "data")) as database,
        spark_in_process(monkeypatch, segments=s3.address("x")) as engine,
        pool_on(database, engine) as pool,
    ):
        database.transact("[" + " ".join(f'{{:n/value {i} :n/name "n{i}"}}' for i in range(3000)) + "]")
        database.compact()
        with pytest.raises(AdalogError, match="s3://bucket/x cannot be used") as caught:
            answer(pool, "SPARK")
        assert caught.value.code is Code.BACKEND_UNAVAILABLE


def test_the_folder_of_a_stranger_is_not_used(cache: Path) -> None:
    folder = cache / f"adalog-segments-{depots.os.getuid()}"
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(AdalogError, match="not this user's alone"):
        depots._folder()


def test_who_waits_for_a_slow_store_keeps_nobody_and_is_not_kept_beyond_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, written = Event(), Event(), list[str]()
    write = Depot._write

    def slow(self: Depot, path: Path, *where: Any) -> None:
        begun.set()
        if path.name == "slow.seg":
            assert go_on.wait(60)
        write(self, path, *where)
        written.append(path.name)

    monkeypatch.setattr(Depot, "_write", slow)
    for name in ("slow.seg", "quick.seg"):
        (tmp_path / name).write_text(name)
    slow_one, quick_one = (Segment(str(tmp_path / name), 1) for name in ("slow.seg", "quick.seg"))
    depot = Depot((tmp_path / "depot").as_uri())
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(depot.put, [slow_one], Cancel().check)
        assert begun.wait(60)
        assert set(depot.put([quick_one], Cancel().check)) == {quick_one}
        with pytest.raises(AdalogError) as caught:
            depot.put([slow_one, quick_one], Cancel.after(1).check)
        assert caught.value.code is Code.TIMEOUT
        assert not waiting.done()
        go_on.set()
        put = waiting.result(60)
    assert (tmp_path / "depot" / put[slow_one].path).read_text() == "slow.seg"
    assert depot.put([slow_one, quick_one], Cancel().check)[slow_one] == put[slow_one]
    assert sorted(written) == ["quick.seg", "slow.seg"]


def test_what_could_not_be_put_is_put_the_next_time(tmp_path: Path) -> None:
    (tmp_path / "depot").write_text("in the way")
    (tmp_path / "one.seg").write_text("one")
    segment = Segment(str(tmp_path / "one.seg"), 1)
    depot = Depot((tmp_path / "depot").as_uri())
    with pytest.raises(AdalogError, match="cannot be used") as caught:
        depot.put([segment], Cancel().check)
    assert caught.value.code is Code.BACKEND_UNAVAILABLE
    (tmp_path / "depot").unlink()
    assert depot.put([segment], Cancel().check)[segment].checksum == 1


def test_dictionaries_lack_keys_that_went(world: tuple[Database, Pool]) -> None:
    """Workers read files without placeholders as the gateway does, and values keep their numbers."""
    database, pool = world
    names = '[:find ?x ?n :where [?a :n/value ?x] [?a :n/name ?n] [(includes? ?n "9")]]'
    rows = sorted(pool.run(QueryRequest("[:find ?a ?n :where [?a :n/name ?n]]")).rows())
    gone = [f'[:db/add {a} :n/name "new {n}"]' for a, n in rows if not n.endswith("7")]
    database.transact(f"[{' '.join(gone)} {{:db/ident :n/name :db/retainTransactions 1}}]")
    database.transact("[{:n/value 1}]")
    database.retain()
    database.compact()
    blocks = database.snapshot().codes.dictionaries()[TAG_STRING].parts()[0]
    assert any(isinstance(each, SparseBlock) for each in blocks)
    database.transact('[{:n/value 1 :n/name "n9"} {:n/value 2 :n/name "young 9"}]')
    forget()
    shipping._opened.clear()
    local, remote = (sorted(pool.run(QueryRequest(names, engine=engine)).rows()) for engine in ("LOCAL", "SPARK"))
    assert remote == local
    assert (1, "n9") in local
    assert len(local) == 2 + sum("9" in n for _, n in rows)
    assert answer(pool, "SPARK") == answer(pool, "LOCAL")
