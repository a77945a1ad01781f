"""Sessions that do not start, and failures of jobs, say what is wrong and what would be right."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from adalog.cluster import session as sessions
from adalog.cluster.failures import job_error, start_error
from adalog.cluster.java import java_home
from adalog.cluster.shipping import Shipping, open_snapshot
from adalog.datalog.errors import AdalogError, Code
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.executor.spark.engine import SparkEngine, query_error
from adalog.store.database import Database
from adalog.store.files.segment import DamagedSegment

DATA = "[" + " ".join(f"{{:n/value {i}}}" for i in range(300)) + "]"
QUERY = "[:find ?x :where [?e :n/value ?x]]"


def test_without_java_spark_is_unavailable_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sessions, "java_home", lambda: java_home({"JAVA_HOME": "/none", "PATH": str(tmp_path)}))
    monkeypatch.setattr("adalog.cluster.java._PLACES", ())
    with Database.open(":memory:") as database:
        pool = Pool(database, PoolSettings(threads=1), spark=SparkEngine("local[1]"))
        try:
            database.transact(DATA)
            with pytest.raises(AdalogError) as caught:
                pool.run(QueryRequest(QUERY, engine="SPARK"))
            assert caught.value.code is Code.BACKEND_UNAVAILABLE
            assert not caught.value.retryable
            assert "Spark needs Java 17 or newer" in caught.value.message
            assert len(pool.run(QueryRequest(QUERY))) == 300
        finally:
            pool.close()


class Session:
    """A session in which a job failed."""

    def __init__(self, usable: bool = True, full: bool = False) -> None:
        self.disk_is_full = full
        self._usable = usable

    def usable(self) -> bool:
        return self._usable


DIED = """An error occurred while calling o5379.getResult.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 3 in stage 5.0 failed 2 times
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:1)
Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)
Caused by: java.io.EOFException"""


@pytest.mark.parametrize(
    ("error", "session", "code", "says"),
    [
        (Exception(DIED), Session(), Code.BACKEND_UNAVAILABLE, "a Spark worker died twice"),
        (Exception(DIED), Session(usable=False), Code.BACKEND_UNAVAILABLE, "the Spark session ended"),
        (Exception(DIED), Session(full=True), Code.BACKEND_UNAVAILABLE, "the disk is full"),
        (Exception("java.io.IOException: No space left on device"), Session(), Code.BACKEND_UNAVAILABLE, "is full"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), Session(), Code.BACKEND_UNAVAILABLE, "is full"),
        (Exception("… spark.driver.maxResultSize (2g)"), Session(), Code.LIMIT_EXCEEDED, "may bring together"),
        (
            Exception(
                "An error occurred while calling o1.x.\n: org.apache.spark.SparkException: no\nCaused by: why"
            ),
            Session(),
            Code.BACKEND_UNAVAILABLE,
            "Spark could not run the query: why",
        ),
    ],
)
def test_a_failed_job_is_told_by_its_cause(error: Exception, session: Session, code: Code, says: str) -> None:
    found = job_error(error, session) or query_error(error)
    assert found.code is code
    assert says in found.message
    assert "o5379" not in found.message


def test_a_session_that_does_not_start_tells_what_workers_lack() -> None:
    error = Exception(
        "An error occurred while calling o1.collect.\n: org.apache.spark.SparkException: \n"
        "Error from python worker:\n  Traceback (most recent call last):\n"
        "  ModuleNotFoundError: No module named 'numba'\nPYTHONPATH was:\n  ./adalog"
    )
    said = start_error(error, None, ()).message
    assert "ModuleNotFoundError: No module named 'numba'" in said


@pytest.mark.parametrize("afar", [True, False])
def test_files_that_an_excision_removed_are_not_called_damaged(tmp_path: Path, afar: bool) -> None:
    folder = tmp_path / "data"
    with Database.open(str(folder)) as database:
        database.transact('[{:db/id 7 :n/name "Ada"}]')
        database.compact()
        (tmp_path / "private").mkdir()
        before = database.snapshot()
        shipped = Shipping(None if afar else tmp_path / "private").ship(before)
        database.transact("[{:db/excise 7}]")
        database.compactor.begin_clean()
        with pytest.raises(AdalogError) as caught:
            shipped.open()
        assert (caught.value.code, caught.value.retryable) == (Code.BACKEND_UNAVAILABLE, True)
        assert "as an excision does; send the query again" in caught.value.message
        with pytest.raises(AdalogError, match="send the query again"):
            open_snapshot(before.manifest())


@pytest.mark.parametrize("afar", [True, False])
def test_files_that_a_worker_elsewhere_cannot_see_are_not_called_damaged(tmp_path: Path, afar: bool) -> None:
    folder = tmp_path / "data"
    with Database.open(str(folder)) as database:
        database.transact(DATA)
        database.compact()
        (tmp_path / "private").mkdir()
        shipped = Shipping(None if afar else tmp_path / "private").ship(database.snapshot())
        moved = folder.rename(tmp_path / "elsewhere")
        try:
            with pytest.raises(AdalogError) as caught:
                shipped.open()
        finally:
            moved.rename(folder)
        if afar:
            assert caught.value.code is Code.BACKEND_UNAVAILABLE
            assert "cannot see the data folder" in caught.value.message
            assert "damaged" not in caught.value.message
        else:
            assert isinstance(caught.value, DamagedSegment)
        assert len(shipped.open().schema.all()) > 0
