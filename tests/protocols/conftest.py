"""`node`: the real clients in a process of their own, where Node.js and the packages are installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.protocols.node import Node, missing


@pytest.fixture
def node() -> Iterator[Node]:
    reason = missing()
    if reason is not None:
        pytest.skip(f"the real clients {reason}")
    process = Node()
    yield process
    process.close()
