"""Fixtures of the gateway's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adalog.gateway.identity import principal
from adalog.store.database import Database
from tests.gateway.clock import Clock
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway, served


@pytest.fixture
def empty() -> Iterator[Gateway]:
    """A gateway over an empty database."""
    with gateway() as opened:
        yield opened


@pytest.fixture
def family() -> Iterator[Gateway]:
    """A gateway over Ada and her children, asserted at t 2."""
    with gateway(None, SCHEMA, FAMILY) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A folder with Ada and her children."""
    path = str(tmp_path / "data")
    with Database.open(path) as database:
        database.transact(SCHEMA)
        database.transact(FAMILY)
    return path


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a served database with Ada and her children."""
    with gateway(None, SCHEMA, FAMILY) as opened, served(opened.app) as url:
        yield url


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still, and is looked at all the time. Tokens, made by another one, need no `iat`."""
    found = Clock()
    monkeypatch.setattr(principal, "time", found)
    monkeypatch.setattr(principal, "_LONGEST_WAIT", 0.005)
    return found
