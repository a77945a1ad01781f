"""One tracker for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.permissions.writes.tracker import Tracker, tracker


@pytest.fixture
def issues(tmp_path: Path) -> Iterator[Tracker]:
    with tracker(tmp_path) as opened:
        yield opened
