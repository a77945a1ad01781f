"""A cluster that shares only the data folder with the driver: the same answers, whoever is killed meanwhile."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from adalog.cluster.job import run_tasks
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import identity
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.executor.spark.engine import SparkEngine
from adalog.store.database import Database
from tests.property.generated import transaction, transactions
from tests.property.model import SWITCHES, asked_of, check, examples, filled
from tests.spark_cluster import Standalone, standalone
from tests.spark_processes import busy_worker, ticks, workers_of
from tests.support import QUICK, World, pool_on
from tests.waiting import until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif("ADALOG_CLUSTER" not in os.environ, reason="takes three minutes; ADALOG_CLUSTER=1 runs it"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

NUMBERS = "[" + " ".join(f"{{:n/value {i}}}" for i in range(1500)) + "]"
# A few seconds of work for every task, with one number as its answer.
LONG = """[:find (count ?a) . :with ?b ?c :where [?c :n/value ?z] [(< ?z 1)] [?a :n/value ?x] [?b :n/value ?y]
  [(+ ?x ?y ?z 0N) ?s] [(< ?s 20)]]"""
LONG_ANSWER = 210
SUMS = "[:find ?m (sum ?x) (count ?a) :where [?a :n/value ?x] [(mod ?x 7) ?m]]"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture(scope="module")
def world(cluster: Standalone, no_shared_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    properties = {
        **QUICK,
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.pyspark.python": sys.executable,
        "spark.executor.memory": "512m",
        "spark.driver.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    engine = SparkEngine(cluster.master, properties=properties)
    with Database.open(str(tmp_path_factory.mktemp("data") / "db")) as database:
        pool = Pool(database, PoolSettings(threads=2), spark=engine)
        try:
            made = World(database, pool)
            made.tx(NUMBERS)
            assert engine.wait_ready(180), engine.session._reason
            yield made
        finally:
            pool.close()


def engine_of(world: World) -> SparkEngine:
    assert world.pool.spark is not None
    return world.pool.spark


def counted(world: World, query: str, engine: str) -> Counter[object]:
    return Counter(identity(row) for row in world.run(query, engine=engine).rows())


def workers(cluster: Standalone) -> list[int]:
    return [pid for worker in cluster.workers for pid in workers_of(worker.pid)]


def test_workers_run_our_code_from_their_own_folder(world: World, cluster: Standalone) -> None:
    from pyspark import cloudpickle

    def placed(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        import os

        from adalog.executor.kernels import row_kernels
        from adalog.executor.spark import task

        # Kernels come compiled.
        hits = sum(row_kernels.insert._cache_hits.values())
        said = [task.__file__, os.environ["PYTHONPATH"], str(hits)]
        for column in columns:
            yield pa.array(["\n".join(said).encode()] * len(column), pa.binary())

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        live = engine_of(world).session.live()
        values = pa.array([b""] * 4, pa.binary())
        answers = run_tasks(live.spark, values, placed)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    for answer in answers:
        file, path, hits = answer.to_pybytes().decode().split("\n")
        assert Path(file).is_relative_to(cluster.folder)
        assert str(Path(__file__).parents[2]) not in path.split(os.pathsep)
        assert int(hits) > 0


def test_the_cluster_answers_as_this_process_does(world: World) -> None:
    for query in (SUMS, LONG):
        assert counted(world, query, "SPARK") == counted(world, query, "LOCAL")
    assert world.run(LONG, engine="SPARK").rows() == [(LONG_ANSWER,)]


def test_random_queries_on_the_cluster(world: World) -> None:
    rng = Random(3)
    spark = engine_of(world)
    with Database.open(":memory:") as database:
        log = filled(database, transactions(rng))
        with pool_on(database, spark) as pool:
            for _ in range(max(2, examples(2))):
                log.datoms.extend(database.transact(transaction(rng)).datoms)
                facts = log.facts()
                for _ in range(3):
                    check(pool, database.snapshot(), facts, asked_of(facts, rng), SWITCHES[:1], engine="SPARK")


def test_a_client_that_leaves_ends_its_tasks(world: World, cluster: Standalone) -> None:
    before = {pid: ticks(pid) for pid in workers(cluster)}
    never = (
        "[:find ?a ?b ?c :where [?a :n/value ?x] [?b :n/value ?y] [?c :n/value ?z] [(+ ?x ?y ?z) ?s] [(< ?s 0)]]"
    )
    with pytest.raises(AdalogError) as caught:
        world.run(never, engine="SPARK", timeout_ms=1500)
    assert caught.value.code is Code.TIMEOUT
    its = [pid for pid in workers(cluster) if ticks(pid) > before.get(pid, 0)]

    def idle() -> bool:
        seen = {pid: ticks(pid) for pid in its}
        threading.Event().wait(0.3)
        return all(ticks(pid) <= seen[pid] + 1 for pid in its)

    assert until(idle, 20)
    # They ended in order, so that the next query finds them.
    assert counted(world, SUMS, "SPARK") == counted(world, SUMS, "LOCAL")


def test_a_worker_that_cannot_see_the_data_folder_says_so(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Database.open(str(folder)) as database, pool_on(database, engine_of(world)) as pool:
        database.transact(NUMBERS)
        database.compact()
        moved = folder.rename(tmp_path / "elsewhere")
        try:
            with pytest.raises(AdalogError) as caught:
                pool.run(QueryRequest(SUMS, engine="SPARK"))
        finally:
            moved.rename(folder)
        assert caught.value.code is Code.BACKEND_UNAVAILABLE
        assert not caught.value.retryable
        assert "cannot see the data folder" in caught.value.message
        assert str(folder) in caught.value.message
        assert "damaged" not in caught.value.message
        assert len(pool.run(QueryRequest(SUMS, engine="SPARK"))) == 7


def test_an_executor_that_is_lost(world: World, cluster: Standalone) -> None:
    before = {pid: ticks(pid) for pid in workers(cluster)}
    answers: list[object] = []

    def ask() -> None:
        try:
            answers.append(world.run(LONG, engine="SPARK").rows())
        except AdalogError as error:
            answers.append((error.code, error.retryable))

    asking = threading.Thread(target=ask)
    asking.start()
    busy_worker(cluster.workers[0].pid, before)
    os.kill(cluster.executors()[0], signal.SIGKILL)
    asking.join()
    assert answers[0] in ([(LONG_ANSWER,)], (Code.BACKEND_UNAVAILABLE, True))
    assert world.run(LONG, engine="SPARK").rows() == [(LONG_ANSWER,)]


def test_workers_killed_at_random_change_no_answer(world: World, cluster: Standalone) -> None:
    """Each task has a second try, so that now and then one is killed twice and the query may be tried again."""
    rng, ended, killed = Random(5), threading.Event(), []

    def kill() -> None:
        while not ended.wait(rng.uniform(0.2, 1.5)):
            found = workers(cluster)
            if found:
                killed.append(victim := rng.choice(found))
                with suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)

    killing = threading.Thread(target=kill)
    killing.start()
    answered, refused = 0, []
    try:
        for query in [SUMS, LONG] * max(2, examples(2)):
            expected = counted(world, query, "LOCAL")
            try:
                assert counted(world, query, "SPARK") == expected
                answered += 1
            except AdalogError as error:
                refused.append((error.code, error.retryable))
    finally:
        ended.set()
        killing.join()
    assert set(refused) <= {(Code.BACKEND_UNAVAILABLE, True)}
    assert killed
    assert answered
