"""`built`: the JavaScript client and its tests, compiled once for a process."""

from __future__ import annotations

import shutil

import pytest

from tests.clients.npm import CLIENT, run


@pytest.fixture(scope="session")
def built() -> None:
    """Raises what the compiler complains of."""
    shutil.rmtree(CLIENT / "dist", ignore_errors=True)
    shutil.rmtree(CLIENT / "build", ignore_errors=True)
    run("npm", "run", "--silent", "build")
    run("npm", "run", "--silent", "build-test")
