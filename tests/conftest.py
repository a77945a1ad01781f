"""Fixtures for every test: `db`, an empty database in memory that is asked and answers in EDN."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from httpx._transports import default as transports
from hypothesis import HealthCheck, settings

from adalog.executor.pool import Pool
from adalog.executor.spark.engine import SparkEngine
from adalog.store.database import Database
from tests.postgres_servers import PostgresServer, running
from tests.support import QUICK, World
from tests.turns import turn_records

# Assertions are rewritten once, not in each process of each run, also where PYTHONDONTWRITEBYTECODE is set.
sys.dont_write_bytecode = False

# `ci` is the same every time and small, `full` is more of the same; `HYPOTHESIS_PROFILE=thorough` looks for new
# cases for as long as it takes. The rounds of storms go by it, too: see `examples` in tests/property/model.py.
_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
settings.register_profile("ci", derandomize=True, max_examples=20, database=None, **_COMMON)
settings.register_profile("full", derandomize=True, max_examples=100, database=None, **_COMMON)
settings.register_profile("thorough", max_examples=20_000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# The event loop of every server that a test starts, here or in a process of its own, is watched.
_TURNS = Path(tempfile.mkdtemp(prefix="turns-"))
os.environ |= turn_records.environment(_TURNS, os.environ)
turn_records.install()
# Seconds of a turn on a machine at rest. What was found to hold a loop took seconds; a tenth of this is usual.
_LONGEST_TURN = 0.3

# Every client of httpx reads the certificates of the system, in 25 ms, though tests ask by plain HTTP.
transports.create_ssl_context = cache(transports.create_ssl_context)

# What a test stops has no balancer in front of it.
os.environ["ADALOG_DRAIN_SECONDS"] = "0"

# Files that take longest come first, so that at the end no process has one of them while others have nothing.
_FIRST = (
    "tests/several/test_workers.py",
    "tests/clients/test_tabs_of_a_browser.py",
    "tests/clients/test_javascript.py",
    "tests/examples/test_balancer.py",
    "tests/gateway/process/test_shutdown.py",
    "tests/gateway/test_ways_in.py",
    "tests/permissions/test_hidden_writes.py",
    "tests/permissions/test_guarded_views.py",
    "tests/permissions/test_visible_database.py",
    "tests/gateway/process/test_drain.py",
    "tests/several/test_typed_surfaces.py",
    "tests/permissions/test_published_models.py",
    "tests/gateway/test_live_errors.py",
    "helm/tests/test_served.py",
    "tests/gateway/process/test_small_machine.py",
    "tests/clients/library/test_contract.py",
    "tests/gateway/cli/test_cli_terminal.py",
    "tests/property/test_optionals.py",
    "tests/protocols/test_restart.py",
    "tests/protocols/test_clients.py",
    "tests/gateway/process/test_starting.py",
    "tests/several/test_three_gateways.py",
    "tests/several/test_worker_storm.py",
    "tests/several/log/test_server_faults.py",
    "tests/permissions/test_hidden_datoms.py",
    "tests/clients/library/test_types.py",
    "tests/clients/library/test_values.py",
    "tests/several/log/test_server_starting.py",
    "tests/gateway/observe/test_request_logs.py",
    "tests/gateway/explorer/test_own_database.py",
    "tests/store/backup/test_servers.py",
    "tests/typed/test_live.py",
    "tests/gateway/explorer/test_browser.py",
    "tests/several/test_worker_segments.py",
    "tests/property/test_maintained.py",
    "tests/property/test_queries.py",
    "tests/property/test_rule_programs.py",
    "tests/examples/test_live_tabs.py",
    "tests/gateway/jobs/test_imports.py",
    "tests/clients/library/test_frames.py",
    "tests/gateway/test_attacks.py",
    "tests/gateway/cli/test_cli_live.py",
    "tests/clients/library/test_cancelling.py",
    "tests/live/test_other_meanings.py",
    "tests/typed/test_every_scalar.py",
    "tests/faults/test_served_storm.py",
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Ten thousand tests are collected without looking for garbage, which took a third of the time; what looks for
    garbage later passes over them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Brings the tests into an order that keeps several processes busy to the end."""
    if not hasattr(config, "workerinput"):
        return
    first = {name: place for place, name in enumerate(_FIRST)}

    def place(item: pytest.Item) -> tuple[bool, bool, int]:
        own_session = "no_shared_spark" in getattr(item, "fixturenames", ())
        return not _is_spark(item.nodeid), own_session, first.get(item.nodeid.partition("::")[0], len(first))

    items.sort(key=place)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A process for each file in turn; one for all of Spark, which is started once then and has a processor."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if _is_spark(nodeid) else super()._split_scope(nodeid)

    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return Scheduling(config, log)


def _is_spark(nodeid: str) -> bool:
    """Whether it is in the name: of files, or of single tests."""
    return "spark" in nodeid


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


def pytest_unconfigure() -> None:
    shutil.rmtree(_TURNS, ignore_errors=True)


@pytest.fixture(autouse=True)
def turns() -> Iterator[None]:
    """No event loop is held for long, whatever a test does to a server."""
    yield
    long = [turn for turn in turn_records.read(_TURNS) if turn.cost > _LONGEST_TURN]
    assert not long, f"an event loop was held: {long}"


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
