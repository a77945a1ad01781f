"""Several databases on one log, and what is the same in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot

Opening = Callable[..., Database]


@contextmanager
def together(open_one: Opening, count: int = 3) -> Iterator[list[Database]]:
    """So many databases on one log, closed at the end."""
    with ExitStack() as opened:
        yield [opened.enter_context(open_one()) for _ in range(count)]


def caught_up(databases: list[Database]) -> int:
    """Waits until all have seen what one has; the newest transaction."""
    t = max(database.snapshot().t for database in databases)
    for database in databases:
        waiting = database.reached(t)
        if waiting is not None:
            waiting.result(20)
        assert database.snapshot().t == t
    return t


def facts(snapshot: Snapshot) -> list[Any]:
    """Every datom there ever was."""
    return sorted(
        (each.e, str(each.a), type(each.v).__name__, repr(each.v), each.t, each.added)
        for each in snapshot.history().datoms("EAVT")
    )


def keys(database: Database) -> dict[int, list[bytes]]:
    """By tag, the keys of the database's codes, in their order."""
    found = {}
    for tag, dictionary in database.snapshot().codes.dictionaries().items():
        found[tag] = [dictionary.key(number) for number in range(len(dictionary))]
    return found


def state(database: Database) -> tuple[Any, ...]:
    """What is the same wherever one log is read: counters, free ids, codes, datoms, marks."""
    head, t = database._head, database.snapshot().t
    counters = database._on_writer(lambda: head.counters)
    return counters, keys(database), facts(database.snapshot()), database.history_mark(t)


def file_opening(folder: Path) -> Opening:
    return lambda **more: Database.open(str(folder), shared=True, **more)


def server_opening(address: str) -> Opening:
    return lambda **more: Database.open(address, **more)
