"""Fixtures for every test: `db`, an empty database in memory that is asked and answers in EDN."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from executor.pool import Pool
from store.database import Database
from tests.support import World

# `ci` is the same every time and small; `HYPOTHESIS_PROFILE=thorough` looks for new cases for as long as it takes.
_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
settings.register_profile("ci", derandomize=True, max_examples=100, database=None, **_COMMON)
settings.register_profile("thorough", max_examples=20_000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


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
