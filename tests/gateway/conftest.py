"""Fixtures of the gateway's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway


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
