"""A connection that is closed says so, and its live queries end, on every kind of connection."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import adalog
from adalog.store.database import Database
from tests.clients.library.places import KINDS

XS = "[:find [?x ...] :where [_ :n/x ?x]]"


@pytest.fixture(params=["memory", "folder", "http", "async memory", "async http"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[adalog.Connection]:
    with KINDS[request.param](tmp_path, lambda: request.getfixturevalue("postgres")) as opened:
        opened.transact([{"n/x": 1}])
        yield opened


CALLS: dict[str, Callable[[adalog.Database], object]] = {
    "q": lambda db: db.q(XS),
    "pull": lambda db: db.pull("[*]", 1),
    "pull_many": lambda db: db.pull_many("[*]", [1]),
    "explain": lambda db: db.explain(XS),
    "why": lambda db: db.why(XS, row=[1]),
    "attributes": lambda db: db.attributes(),
    "datoms": lambda db: db.datoms("eavt", 1),
}


def test_after_its_end(db: adalog.Connection) -> None:
    result = db.q("[:find ?x ?s :in $ ?s :where [_ :n/x ?x]]", "a")
    derived = {"the connection": db, "the past": db.as_of(1), "a user": db.as_user({"sub": "ada"})}
    changes, more = db.live(XS), db.as_user({}, roles=["admin"]).live(XS)
    assert next(changes).added == next(more).added == [(1,)]
    db.close()
    db.close()
    for name, each in derived.items():
        for call, ask in CALLS.items():
            with pytest.raises(adalog.Error) as error:
                ask(each)
            told = (error.value.code, error.value.message, error.value.retryable)
            assert told == (
                "BACKEND_UNAVAILABLE",
                "the connection is closed; call adalog.connect again",
                False,
            ), (name, call)
    for call in (lambda: db.transact([{"n/x": 2}]), lambda: next(db.live(XS)), lambda: db.export("/no/folder")):
        with pytest.raises(adalog.Error) as error:
            call()
        assert error.value.code == "BACKEND_UNAVAILABLE"
    assert list(changes) == list(more) == []
    assert result.rows == [(1, "a")]
    assert result.arrow().to_pylist() == [{"?x": 1, "?s": "a"}]


def test_closing_ends_live_queries_that_wait(db: adalog.Connection) -> None:
    found: list[adalog.client.result.Change] = []
    changes = db.live(XS)
    thread = threading.Thread(target=lambda: found.extend(changes))
    thread.start()
    began = time.monotonic()
    while not found and time.monotonic() < began + 20:
        time.sleep(0.01)
    db.close()
    # Sooner than a server says something of its own, which is every 15 seconds.
    thread.join(10)
    assert not thread.is_alive()
    assert [change.kind for change in found] == ["SNAPSHOT"]


@pytest.mark.parametrize("kind", ["memory", "http"])
def test_ctrl_c_leaves_a_live_query_where_it_was(kind: str, tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with KINDS[kind](tmp_path, lambda: None) as db, db.live(XS) as changes:  # type: ignore[arg-type, return-value]
            assert next(changes).kind == "SNAPSHOT"
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                next(changes)
            timer.join()
            db.transact([{"n/x": 2}])
            change = next(changes)
            assert (change.kind, change.added) == ("DELTA", [(2,)])
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("", "an empty text is no place of a database"),
        ("http://", "'http://' names no server"),
        ("ftp://x", "ftp://"),
        ("/dev/null", "/dev/null cannot be used"),
    ],
)
def test_what_is_no_place(place: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(adalog.Error) as error:
        adalog.connect(place)
    assert said in error.value.message
    assert not error.value.retryable
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_this_process_has_open(tmp_path: Path) -> None:
    place = tmp_path / "data"
    with adalog.connect(place) as db:
        with pytest.raises(adalog.Error, match="is open in this process already; use that connection, or close it"):
            adalog.connect(tmp_path / "." / "data")
        assert db.transact([{"n/x": 1}]).t == 1
    adalog.connect(place).close()
    with Database.open(str(place)), pytest.raises(adalog.Error, match="in use by another adalog process"):
        adalog.connect(place)
