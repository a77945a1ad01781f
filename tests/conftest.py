"""Fixtures for every test: `db`, an empty database in memory that is asked and answers in EDN."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from executor.pool import Pool
from store.database import Database
from tests.support import World


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
