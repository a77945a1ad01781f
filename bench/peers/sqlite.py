"""SQLite, one client, one fsync an insert: what this disk allows to whoever commits one after the other."""

from __future__ import annotations

import sqlite3
import time

from bench import folder


def inserts_a_second(count: int) -> float:
    """Into a table in WAL mode with synchronous=FULL, in which each commit is an fsync of the WAL."""
    with folder.empty() as path:
        connection = sqlite3.connect(path / "peer.db", isolation_level=None)
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma synchronous=full")
        connection.execute("create table datom (id integer primary key, n integer)")
        start = time.perf_counter()
        for i in range(count):
            connection.execute("insert into datom (n) values (?)", (i,))
        elapsed = time.perf_counter() - start
        connection.close()
        return count / elapsed
