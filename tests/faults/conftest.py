"""`shim`: the library that has a process's disk fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.disk import built


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("shim"))
