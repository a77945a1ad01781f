"""Fixtures for every test: `db`, an empty database in memory that is asked and answers in EDN."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from executor.pool import Pool
from executor.spark.engine import SparkEngine
from store.database import Database
from tests.postgres_servers import PostgresServer, running
from tests.support import QUICK, World

# `ci` is the same every time and small; `HYPOTHESIS_PROFILE=thorough` looks for new cases for as long as it takes.
_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
settings.register_profile("ci", derandomize=True, max_examples=100, database=None, **_COMMON)
settings.register_profile("thorough", max_examples=20_000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


_SHARED: list[SparkEngine] = []


@pytest.fixture(scope="module")
def spark() -> SparkEngine:
    """A session of Spark's for every module of tests that does no harm to it; `pool_on` asks it."""
    if not _SHARED:
        _SHARED.append(SparkEngine("local[2]", properties=QUICK))
    engine = _SHARED[0]
    assert engine.wait_ready(240), engine.state
    return engine


@pytest.fixture(scope="module")
def no_shared_spark() -> None:
    """For modules with a session of their own: there is one in a process at a time."""
    pytest_sessionfinish()


def pytest_sessionfinish() -> None:
    """Ends the shared session."""
    while _SHARED:
        _SHARED.pop().close()


@pytest.fixture
def db() -> Iterator[World]:
    """An empty database with the open schema."""
    with Database.open(":memory:") as database:
        pool = Pool(database)
        try:
            yield World(database, pool)
        finally:
            pool.close()


@pytest.fixture
def strict() -> Iterator[World]:
    """An empty database with the strict schema: undeclared attributes are refused."""
    with Database.open(":memory:", schema="strict") as database:
        pool = Pool(database)
        try:
            yield World(database, pool)
        finally:
            pool.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for all tests that do no harm to it; each makes a database of its own on it."""
    with running() as server:
        yield server
