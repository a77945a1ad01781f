"""A Spark session that another process has: joins are sent there, pickled, and their rows come back."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Generator, Iterator

import pytest

from adalog.cluster.status import SessionStatus
from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.executor.spark.engine import SparkEngine
from adalog.executor.spark.remote import RemoteAnswer, RemoteJoin, RemoteSpark, run_sent
from adalog.store.database import Database

pytestmark = pytest.mark.spark

DATA = "[" + " ".join(f'{{:n/value {n} :n/name "n{n % 7}" :n/next {n + 1}}}' for n in range(1, 200)) + "]"
QUERIES = (
    "[:find ?a ?v :where [?a :n/value ?v]]",
    '[:find ?x (count ?v) :in $ ?p :where [?a :n/value ?v] [?a :n/name ?n] [(str ?p "-" ?n) ?x] [(> ?v 20)]]',
    "[:find ?v ?w :in $ [?v ...] % :where [?a :n/value ?v] (far ?v ?w)]",
)
RULES = "[[(far ?v ?w) [?a :n/value ?v] [?a :n/next ?w]]]"


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        opened.transact(DATA)
        yield opened


def served(engine: SparkEngine, gone: threading.Event) -> RemoteSpark:
    """As from another process: what is sent and what comes back is pickled."""
    memory = Memory()

    def ask(sent: RemoteJoin) -> Generator[RemoteAnswer | None]:
        yield None
        received = pickle.loads(pickle.dumps(sent))
        yield pickle.loads(pickle.dumps(run_sent(engine, memory, received, gone.is_set)))

    return RemoteSpark(ask, lambda: SessionStatus(engine.state, engine.cores, engine.cluster.tasks, 0.1))


def test_what_is_sent_is_answered_as_here(spark: SparkEngine, database: Database) -> None:
    pool = Pool(database, PoolSettings(threads=1), spark=served(spark, threading.Event()))
    try:
        assert pool.spark_state == "ready"
        arguments = [(), ("p",), ([3, 4, 150], edn.read(RULES))]
        for query, given in zip(QUERIES, arguments, strict=True):
            here, there = (
                pool.run(QueryRequest(query, given, database.snapshot(), engine, cached=False))
                for engine in ("LOCAL", "SPARK")
            )
            assert sorted(map(repr, there.rows())) == sorted(map(repr, here.rows()))
            assert len(here.rows()) > 2
            assert there.engine == "SPARK"
        with pytest.raises(AdalogError) as refused:
            pool.run(QueryRequest(QUERIES[0], (), database.snapshot(), "SPARK", max_rows=10, cached=False))
        assert refused.value.code is Code.LIMIT_EXCEEDED
    finally:
        pool.scheduler.close()


def test_a_join_ends_when_nobody_waits_for_it(spark: SparkEngine, database: Database) -> None:
    gone = threading.Event()
    gone.set()
    pool = Pool(database, PoolSettings(threads=1), spark=served(spark, gone))
    try:
        with pytest.raises(AdalogError) as refused:
            pool.run(QueryRequest(QUERIES[0], (), database.snapshot(), "SPARK", cached=False), Cancel())
        assert refused.value.code is Code.CANCELLED
    finally:
        pool.scheduler.close()


def test_a_process_that_is_away_is_asked_nothing_for_a_while(database: Database) -> None:
    def ask(sent: RemoteJoin) -> Generator[RemoteAnswer | None]:
        yield None
        raise AdalogError(Code.BACKEND_UNAVAILABLE, "worker 0 does not answer")

    remote = RemoteSpark(ask, lambda: SessionStatus("ready", 2, 12, 0.1))
    pool = Pool(database, PoolSettings(threads=1), spark=remote)
    try:
        with pytest.raises(AdalogError, match="worker 0 does not answer"):
            pool.run(QueryRequest(QUERIES[0], (), database.snapshot(), "SPARK", cached=False))
        assert pool.spark_state == "starting"
    finally:
        pool.scheduler.close()


def test_values_that_fall_together_are_counted_alike(spark: SparkEngine, database: Database) -> None:
    query = "[:find ?k (sum ?m) :where [?a :n/value ?v] [?a :n/next ?w] [(mod ?v 7) ?k] [(mod ?v 3) ?m]]"
    found = []
    for engine in (spark, served(spark, threading.Event())):
        pool = Pool(database, PoolSettings(threads=1), spark=engine)
        try:
            found += [
                pool.run(QueryRequest(query, (), database.snapshot(), where)).dropped
                for where in ("LOCAL", "SPARK")
            ]
        finally:
            pool.spark = None
            pool.close()
    assert found[0][""].number > 0
    assert found == found[:1] * 4
