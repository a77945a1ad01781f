"""`datascript`: one DataScript for all tests of a process, where Node.js and the package are installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.datascript.node import DataScript, missing


@pytest.fixture(scope="session")
def datascript() -> Iterator[DataScript]:
    reason = missing()
    if reason is not None:
        pytest.skip(f"DataScript as an oracle {reason}")
    process = DataScript()
    yield process
    process.close()
