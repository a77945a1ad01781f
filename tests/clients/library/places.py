"""The kinds of connection on which the contract of the library is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import adalog
from tests.postgres_servers import PostgresServer

Opened = Iterator[adalog.Connection]


@contextmanager
def in_memory(folder: Path, server: Callable[[], PostgresServer]) -> Opened:
    with adalog.connect(":memory:") as db:
        yield db


@contextmanager
def in_folder(folder: Path, server: Callable[[], PostgresServer]) -> Opened:
    with adalog.connect(folder / "data") as db:
        yield db


@contextmanager
def on_postgres(folder: Path, server: Callable[[], PostgresServer]) -> Opened:
    with adalog.connect(server().new_database()) as db:
        yield db


KINDS = {"memory": in_memory, "folder": in_folder, "postgresql": on_postgres}
