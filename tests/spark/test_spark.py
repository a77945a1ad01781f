"""SPARK answers as LOCAL does, stops when told to, and comes back after its session dies."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from adalog.cluster.cluster import Cluster
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import identity
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.executor.spark.engine import SparkEngine
from adalog.store.database import Database
from tests.spark_processes import alive, busy_worker, ticks, workers_of
from tests.support import QUICK, World
from tests.waiting import until

pytestmark = [
    pytest.mark.spark,
    # What py4j's threads have to say when Java is killed under them.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

SCHEMA = """[
 {:db/ident :p/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :p/age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :p/knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :n/value :db/valueType :db.type/long :db/cardinality :db.cardinality/one}]"""


def _people(count: int) -> str:
    """Number 0 is a hub, whom everybody knows and who knows everybody."""
    forms = []
    for i in range(count):
        known = range(count) if i == 0 else {0, (3 * i + 1) % count, (5 * i + 2) % count}
        refs = " ".join(f'"{j}"' for j in known)
        forms.append(f'{{:db/id "{i}" :p/name "n{i}" :p/age {i % 7} :p/knows [{refs}]}}')
    return f"[{' '.join(forms)}]"


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path | None]:
    """A small disk of its own for what Spark writes; None where this user may not have one."""
    with tempfile.TemporaryDirectory(prefix="adalog-") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "none", folder]
        if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
            yield None
            return
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def world(scratch: Path | None, no_shared_spark: None) -> Iterator[World]:
    with Database.open(":memory:") as database:
        own = {} if scratch is None else {"spark.local.dir": str(scratch)}
        engine = SparkEngine("local[2]", properties={**QUICK, **own})
        pool = Pool(database, PoolSettings(threads=2), spark=engine)
        try:
            made = World(database, pool)
            made.tx(SCHEMA, _people(60))
            made.tx('[[:db/retract [:p/name "n1"] :p/age 1] [:db/add [:p/name "n2"] :p/age 77]]')
            made.tx("[" + " ".join(f"{{:n/value {i}}}" for i in range(1500)) + "]")
            assert engine.wait_ready(120), engine.state
            yield made
        finally:
            pool.close()


def engine_of(world: World) -> SparkEngine:
    assert world.pool.spark is not None
    return world.pool.spark


def counted(result: Result) -> Counter[object]:
    return Counter(identity(row) for row in result.rows())


NEVER = "[:find ?a ?b ?c :where [?a :n/value ?x] [?b :n/value ?y] [?c :n/value ?z] [(+ ?x ?y ?z) ?s] [(< ?s 0)]]"

OR = """[:find ?n ?y :where [?a :p/name ?n] [?a :p/age ?y]
  (or [?a :p/age 1] (and [?a :p/age 5] [?a :p/knows ?a]))]"""

QUERY_IN_PATTERN = """[:find (pull ?a [:p/name (q :n [:find (count ?b) . :in $ ?a ?y
                       :where [?b :p/knows ?a] [?b :p/age ?y]])]) :in $ ?y :where [?a :p/age]]"""
OR_JOIN = """[:find ?a ?x :where [?a :p/age ?y]
  (or-join [?a ?x] [?a :p/age ?x] (and [?a :p/knows ?b] [?b :p/knows ?c] [?c :p/age ?x]))]"""

MOST = """[:find ?n ?y ?most :where [?a :p/name ?n] [?a :p/age ?y]
  [(q [:find (max ?z) . :in $ ?a :where [?a :p/knows ?b] [?b :p/age ?z]] $ ?a) ?most]]"""

FRIENDS = """[:find ?n ?r :where [?a :p/name ?n]
  [(q [:find ?m ?y :in $ ?a :where [?a :p/knows ?b] [?b :p/name ?m] [?b :p/age ?y]] $ ?a) ?r]]"""

LEVEL = """[:find ?n ?s ?k :where [?a :p/name ?n] [?a :p/age ?y] [(str "age " ?y) ?s]
  [(q [:find ?y (count ?b) :where [?b :p/age ?y]] $) [[?y ?k]]]]"""

REACHED = """[:find ?n ?k :in $ % :where [?a :p/name ?n] [?a :p/age 3]
  [(q [:find (count ?b) . :in $ % ?a :where (near ?a ?b)] $ % ?a) ?k]]"""

SAME = [
    (MOST,),
    (REACHED, "[[(near ?a ?b) [?a :p/knows ?b] [?b :p/age 3]] [(near ?a ?b) (near ?a ?c) (near ?c ?b)]]"),
    (FRIENDS,),
    (LEVEL,),
    ("[:find ?n :where [(q [:find [?a ...] :where [?a :p/age 3]]) ?s] [(identity ?s) [?a ...]] [?a :p/name ?n]]",),
    ("[:find ?n ?m :where [?a :p/name ?n] [?a :p/knows ?b] [?b :p/name ?m]]",),
    ("[:find ?a ?b ?c :where [?a :p/knows ?b] [?b :p/knows ?c] [?a :p/knows ?c] [?a :p/age ?x] [(< ?x 3)]]",),
    ("[:find (count ?c) . :with ?a ?b :where [?a :p/knows ?b] [?b :p/knows ?c] [?a :p/knows ?c]]",),
    ("[:find ?n (count ?b) (max ?y) :where [?a :p/name ?n] [?a :p/knows ?b] [?b :p/age ?y]]",),
    ("[:find (avg ?y) . :with ?a ?b :where [?a :p/knows ?b] [?b :p/age ?y]]",),
    ("[:find [?n ...] :where [?a :p/name ?n] [?a :p/knows ?b] (not [?b :p/age 3])]",),
    ("[:find ?n :where [?a :p/name ?n] (not-join [?a] [?a :p/knows ?b] [?b :p/age 77])]",),
    (OR,),
    (OR_JOIN,),
    ("[:find ?n ?a ?v :where [?e :p/name ?n] [?e ?a ?v]]",),
    ("[:find ?n ?y ?t ?add :where [?e :p/name ?n] [?e :p/age ?y ?t ?add]]",),
    ("[:find ?m . :in $ ?n :where [?a :p/name ?n] [?a :p/knows ?b] [?b :p/age 77] [?b :p/name ?m]]", '"n0"'),
    ("[:find ?n ?y :in $ [?n ...] :where [?a :p/name ?n] [?a :p/age ?y]]", '["n1" "n2" "n3" "n2" "nobody"]'),
    ("[:find ?k ?n :in $ [[?n ?k]] :where [?a :p/name ?n] [?a :p/age ?y]]", '[["n4" "four"] ["n5" 5] ["n6" nil]]'),
    ("[:find ?x ?y :in $ ?x :where [?a :p/age ?y]]", '"not in the database"'),
    ("[:find ?e :where [?e :p/unknown ?v]]",),
    ("[:find ?y (pull ?a [:p/name {:p/knows [:p/age]}]) :where [?a :p/age ?y] [?a :p/knows ?b] [?b :p/age 3]]",),
    (QUERY_IN_PATTERN, "3"),
    ("[:find ?n ?y :where [?a :p/name ?n] (optional [?a :p/age ?y]) :order-by [[?y :desc] ?n] :limit 7]",),
    ("[:find ?n ?y :where [?a :p/name ?n] [?a :p/age ?y] :order-by ?y ?n :offset 3 :limit 7]",),
    ("[:find ?a ?b :where [(ground [1 2 3]) [?a ...]] [(+ ?a 1) ?b]]",),
]


@pytest.mark.parametrize("query", SAME, ids=lambda query: query[0][:70])
def test_the_rows_are_those_of_the_local_engine(world: World, query: tuple[str, ...]) -> None:
    local = world.run(*query, engine="LOCAL")
    spark = world.run(*query, engine="SPARK")
    assert spark.engine == "SPARK"
    assert counted(spark) == counted(local)


def test_values_made_up_in_a_task_come_back_as_values(world: World) -> None:
    """Different tasks make the same string; it is one value."""
    query = (
        "[:find ?s ?u :where [?a :p/name ?n] [?a :p/knows ?b] [?b :p/age ?y]"
        ' [(str "is " ?y) ?s] [(vector ?n ?s) ?u]]'
    )
    local, spark = world.run(query, engine="LOCAL"), world.run(query, engine="SPARK")
    assert counted(spark) == counted(local)
    alone = '[:find [?s ...] :where [?a :p/knows ?b] [?b :p/age ?y] [(str "is " ?y) ?s]]'
    assert counted(world.run(alone, engine="SPARK")) == counted(world.run(alone, engine="LOCAL"))


def test_a_made_up_argument_meets_itself_in_a_task(world: World) -> None:
    """A value that only the query knows has the same code on both sides."""
    query = '[:find ?n ?s :in $ [?w ...] :where [?a :p/name ?n] [?a :p/age ?y] [(str ?y "!") ?s] [(= ?s ?w)]]'
    local, spark = (world.run(query, '["3!" "5!" "x"]', engine=engine) for engine in ("LOCAL", "SPARK"))
    assert len(local) > 0
    assert counted(spark) == counted(local)


@pytest.mark.parametrize("basis", [{"as_of": 2}, {"history": True}, {"since": 2}])
def test_other_moments(world: World, basis: dict[str, object]) -> None:
    query = "[:find ?e ?y :where [?e :p/age ?y]]"
    then = world.at(**basis)
    assert counted(then.run(query, engine="SPARK")) == counted(then.run(query, engine="LOCAL"))


def test_two_moments_in_one_query(world: World) -> None:
    query = "[:find ?n ?x ?y :in $ $old :where [?e :p/name ?n] [?e :p/age ?x] [$old ?e :p/age ?y] [(not= ?x ?y)]]"
    local, spark = (world.run(query, world.at(as_of=2), engine=engine) for engine in ("LOCAL", "SPARK"))
    assert len(local) == 1
    assert counted(spark) == counted(local)


def test_a_limit_stops_early_and_too_many_rows_are_refused(world: World) -> None:
    pairs = "[:find ?x ?y :where [?a :n/value ?x] [?b :n/value ?y]"
    assert len(world.run(f"{pairs} :limit 5]", engine="SPARK")) == 5
    with pytest.raises(AdalogError) as caught:
        world.run(f"{pairs}]", engine="SPARK", max_rows=1000)
    assert caught.value.code is Code.LIMIT_EXCEEDED


def test_an_error_in_a_task_has_its_place_in_the_query(world: World) -> None:
    query = "[:find ?n ?q\n :where [?a :p/name ?n] [?a :p/knows ?b] [?b :p/age ?y]\n  [(/ 10 ?y) ?q]]"
    told = []
    for engine in ("LOCAL", "SPARK"):
        with pytest.raises(AdalogError) as caught:
            world.run(query, engine=engine)
        told.append(caught.value)
    local, spark = told
    assert spark.position is not None
    assert (spark.code, spark.message, spark.position) == (local.code, local.message, local.position)


def test_a_query_stops_at_its_deadline(world: World) -> None:
    with pytest.raises(AdalogError) as caught:
        world.run(NEVER, engine="SPARK", timeout_ms=700)
    assert caught.value.code is Code.TIMEOUT


def test_a_cancelled_query_frees_its_workers(world: World) -> None:
    cancel = Cancel()
    threading.Timer(0.7, cancel.cancel).start()
    with pytest.raises(AdalogError) as caught:
        world.pool.run(QueryRequest(NEVER, engine="SPARK"), cancel)
    assert caught.value.code is Code.CANCELLED
    # Had the tasks gone on, this one would have no worker to run on.
    assert len(world.run("[:find ?e ?y :where [?e :p/age ?y]]", engine="SPARK", timeout_ms=20_000)) == 59


def test_explain_tells_what_the_tasks_did(world: World) -> None:
    query = "[:find ?a ?c :where [?a :p/knows ?b] [?b :p/knows ?c]]"
    plans = [
        world.pool.explain(QueryRequest(query, engine=engine), analyze=True).plan["levels"]
        for engine in ("LOCAL", "SPARK")
    ]
    for local, spark in zip(*plans, strict=True):
        assert spark["actual"]["rows"] >= local["actual"]["rows"] > 0
    explained = world.pool.explain(QueryRequest(query, engine="SPARK"), analyze=True)
    tasks = explained.plan["tasks"]
    assert tasks["number"] >= 2
    assert tasks["skew"] >= 1
    assert tasks["ms"]["most"] >= tasks["ms"]["median"] >= tasks["ms"]["least"] > 0
    assert f"tasks  {tasks['number']} in " in explained.text


def test_tasks_send_what_the_answer_needs_and_not_what_it_is_made_of(world: World) -> None:
    for query, most in (
        ("[:find ?y (sum ?x) (count ?a) :where [?a :n/value ?x] [(mod ?x 5) ?y]]", 12 * 5 * 4),
        ("[:find ?x ?y :where [?a :n/value ?x] [(* ?x 7) ?y] :order-by [[?y :desc]] :limit 3]", 12 * 3),
    ):
        plan = world.pool.explain(QueryRequest(query, engine="SPARK"), analyze=True).plan
        assert 0 < plan["tasks"]["rows"] <= most
        assert counted(world.run(query, engine="SPARK")) == counted(world.run(query, engine="LOCAL"))


@pytest.mark.parametrize(
    "query",
    [
        "[:find ?y (count ?b) (count-distinct ?x) :where [?a :p/age ?y] [?a :p/knows ?b] [?b :p/age ?x]]",
        "[:find ?m :where [?a :p/knows ?b] [?b :p/knows ?c] [?c :p/name ?n] [(str ?n) ?m] [(str ?m) ?m]]",
        "[:find ?n ?m :where [?a :p/name ?n] [?a :p/knows ?b] [?b :p/name ?m] :order-by ?m [?n :desc] :offset 3]",
    ],
)
def test_tasks_write_what_comes_together_in_tasks(world: World, tmp_path: Path, query: str) -> None:
    parts = world.pool.write(QueryRequest(query, engine="SPARK"), str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == [part.file for part in parts]
    written = [tuple(row.values()) for part in parts for row in pq.read_table(tmp_path / part.file).to_pylist()]
    expected = world.run(query, engine="LOCAL").rows()
    assert (written if ":order-by" in query else sorted(written)) == (
        expected if ":order-by" in query else sorted(expected)
    )


# What goes wrong, by process. 2 at once, so that few are to be left.

# Two million sums of bigints, of which few are looked for.
LONG = """[:find (count ?a) . :with ?b ?c :where [?c :n/value ?z] [(< ?z 1)] [?a :n/value ?x] [?b :n/value ?y]
  [(+ ?x ?y ?z 0N) ?s] [(< ?s 20)]]"""
LONG_ANSWER = 210
ON_LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")


@pytest.fixture
def asking() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def busy(world: World) -> dict[int, int]:
    return {pid: ticks(pid) for pid in workers_of(java(world).process.pid)}


@ON_LINUX
def test_a_worker_that_is_killed_is_replaced_and_the_answer_is_right(
    world: World, asking: ThreadPoolExecutor
) -> None:
    before = busy(world)
    answer = asking.submit(world.run, LONG, engine="SPARK")
    os.kill(busy_worker(java(world).process.pid, before), signal.SIGKILL)
    assert answer.result(90).rows() == [(LONG_ANSWER,)]


@ON_LINUX
def test_a_worker_that_hangs_ends_with_its_query(world: World, asking: ThreadPoolExecutor) -> None:
    before = busy(world)
    answer = asking.submit(world.run, NEVER, engine="SPARK", timeout_ms=8_000)
    hung = busy_worker(java(world).process.pid, before)
    os.kill(hung, signal.SIGSTOP)
    try:
        error = answer.exception(60)
        assert isinstance(error, AdalogError)
        assert error.code is Code.TIMEOUT
        # Spark ends it, and its place is another's.
        assert until(lambda: not alive(hung))
    finally:
        with suppress(ProcessLookupError):
            os.kill(hung, signal.SIGCONT)
    assert len(world.run("[:find ?e ?y :where [?e :p/age ?y]]", engine="SPARK", timeout_ms=20_000)) == 59


@ON_LINUX
def test_failing_queries_leave_neither_processes_nor_files(world: World) -> None:
    wrong = "[:find ?n ?q :where [?a :p/name ?n] [?a :p/knows ?b] [?b :p/age ?y] [(/ 10 ?y) ?q]]"
    assert len(world.run("[:find ?e ?y :where [?e :p/age ?y]]", engine="SPARK")) == 59
    live = java(world)

    def written() -> list[str]:
        # Java's sockets come and go with each job.
        return sorted(path.name for path in live.folder.iterdir() if path.suffix != ".sock")

    files = written()
    for _ in range(4):
        for query, timeout in ((wrong, None), (NEVER, 300)):
            with pytest.raises(AdalogError):
                world.run(query, engine="SPARK", timeout_ms=timeout)
    assert len(world.run("[:find ?e ?y :where [?e :p/age ?y]]", engine="SPARK")) == 59
    # As many as there are tasks at once, whether these or others.
    assert until(lambda: len(workers_of(live.process.pid)) <= 2, 20)
    assert written() == files


def test_a_full_disk_is_said_and_nothing_else_fails(world: World, scratch: Path | None) -> None:
    if scratch is None:
        pytest.skip("only who may mount has a small disk")
    query = "[:find ?e ?y :where [?e :p/age ?y]]"
    filling = scratch / "filling"
    with suppress(OSError), filling.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 10, 1):
            with suppress(OSError):
                while file.write(bytes(size)) == size:
                    pass
    try:
        told = set()
        for asked in (query, LONG, query):
            with pytest.raises(AdalogError) as caught:
                world.run(asked, engine="SPARK")
            told.add((caught.value.code, caught.value.message))
        ((code, message),) = told
        assert code is Code.BACKEND_UNAVAILABLE
        assert "the disk is full on which Spark keeps its scratch files" in message
        assert len(world.run(query, engine="LOCAL")) == 59
    finally:
        filling.unlink()
    assert len(world.run(query, engine="SPARK")) == 59


def test_a_session_that_dies_fails_its_query_and_another_takes_its_place(
    world: World, scratch: Path | None
) -> None:
    engine = engine_of(world)
    live = engine.session.live()
    threading.Timer(0.7, os.kill, (live.process.pid, signal.SIGKILL)).start()
    with pytest.raises(AdalogError) as caught:
        world.run(NEVER, engine="SPARK", timeout_ms=20_000)
    assert caught.value.code is Code.BACKEND_UNAVAILABLE
    assert caught.value.retryable
    query = "[:find ?e ?y :where [?e :p/age ?y]]"
    assert len(world.run(query, engine="AUTO")) == 59
    # SPARK waits for the next session.
    assert len(world.run(query, engine="SPARK", timeout_ms=120_000)) == 59
    assert engine.state == "ready"
    assert not live.folder.exists()
    assert scratch is None or len(list(scratch.iterdir())) == 1


# Its ports


def java(world: World) -> Cluster:
    engine = world.pool.spark
    assert isinstance(engine, SparkEngine)
    return engine.session.live()


def test_whoever_does_not_know_the_secret_is_not_heard(world: World) -> None:
    port = int(java(world).spark.sparkContext.getConf().get("spark.driver.port") or 0)
    body = b"hello"
    # An RpcRequest of Spark's network protocol.
    message = struct.pack(">bqi", 3, 7, len(body)) + body
    with socket.create_connection(("127.0.0.1", port), timeout=20) as stranger:
        stranger.sendall(struct.pack(">q", len(message) + 8) + message)
        assert b"Expected SaslMessage" in stranger.recv(4096)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_it_listens_on_this_machine_only(world: World) -> None:
    process = java(world).process.pid
    own = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            own.add(os.readlink(entry))
    listening = [
        fields[1].rpartition(":")[0]
        for table in ("tcp", "tcp6")
        for fields in map(str.split, Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:])
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in own
    ]
    assert listening, "Java listens nowhere; the test looks at the wrong place"
    # 127.0.0.1, as itself and within IPv6.
    assert set(listening) <= {"0100007F", "0000000000000000FFFF00000100007F"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_no_secret_is_told_to_other_users(world: World) -> None:
    live = java(world)
    assert stat.S_IMODE(live.folder.stat().st_mode) == 0o700
    assert "secret" not in Path(f"/proc/{live.process.pid}/cmdline").read_text()
    assert live.spark.sparkContext.uiWebUrl is None
