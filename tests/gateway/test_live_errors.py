"""Live queries that go wrong later, or whose tokens lead nowhere, as a client of either protocol hears of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from adalog.executor.pool import Pool
from adalog.gateway.app import create_app
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from tests.gateway.connections.test_events import asked
from tests.gateway.connections.test_websocket import client_of
from tests.gateway.support import served
from tests.waiting import until

LIVE = """
subscription ($query: EDN!, $args: [JSON!], $resume: String) {
  live(query: $query, args: $args, resume: $resume) { kind basisT resume rows added retracted last reason }
}
"""
SCHEMA = """[{:db/ident :n :db/valueType :db.type/long} {:db/ident :name :db/valueType :db.type/string}
 {:db/ident :seen :db/valueType :db.type/long :db/noHistory true}]"""
NAMES = "[:find ?name :where [_ :name ?name]]"
NUMBERS = "[:find ?e ?n :where [?e :n ?n]]"
# Asked again and compared, and cubic.
# No row passes, and none is known to fail before all three numbers are there.
SLOW = "[:find ?x :where [_ :n ?x] [_ :n ?y] [_ :n ?z] [(+ ?x ?y ?z) ?sum] [(< ?sum 0)] :order-by ?x :limit 3]"


class _Live:
    """As the readers of the other tests want it."""

    def __init__(self, database: Database, app: Any, address: str) -> None:
        self.database, self.app, self.address = database, app, address
        self.socket_address = f"{address.replace('http', 'ws', 1)}/graphql"
        self.hub = app.state.hub


@contextmanager
def serving(folder: str = ":memory:", **settings: Any) -> Iterator[_Live]:
    chosen = Settings(data=folder, port=0, **settings)
    with Database.open(folder) as database:
        pool = Pool(database)
        try:
            app = create_app(database, pool, chosen)
            with app.state.hub, served(app, chosen) as address:
                yield _Live(database, app, address)
        finally:
            pool.close()


@contextmanager
def over_websocket(opened: Any, query: str, *args: Any, **variables: Any) -> Iterator[Iterator[Any]]:
    with client_of(opened) as client:
        client.begun().subscribe("1", LIVE, variables={"query": query, "args": args, **variables})

        def events() -> Iterator[Any]:
            while True:
                message = client.read()
                if message["type"] == "error":
                    yield message["payload"][0]
                    return
                yield message["payload"]["data"]["live"]

        yield events()


@contextmanager
def as_events(opened: Any, query: str, *args: Any, **variables: Any) -> Iterator[Iterator[Any]]:
    with asked(opened, LIVE, variables={"query": query, "args": args, **variables}) as reader:

        def events() -> Iterator[Any]:
            while True:
                data = reader.event()[1]
                if "errors" in data:
                    yield data["errors"][0]
                    assert reader.rest() == [{"event": "complete", "data": ""}]
                    return
                yield data["data"]["live"]

        yield events()


both = pytest.mark.parametrize("follow", [over_websocket, as_events])


def numbers(database: Database, start: int, stop: int) -> int:
    forms = " ".join(f"[:db/add {e} :n {e}]" for e in range(start, stop))
    return database.transact(f"[{forms}]").t


@both
@pytest.mark.parametrize(
    ("query", "settings", "rows", "code"),
    [
        (SLOW, {"timeout_ms": 2_500, "rows": 1 << 40, "live_bytes": 1 << 33}, 3_000, "TIMEOUT"),
        (NUMBERS, {"rows": 50}, 60, "LIMIT_EXCEEDED"),
        (f"{NUMBERS[:-1]} :order-by ?n :limit 100000]", {"live_bytes": 150_000}, 20_000, "LIMIT_EXCEEDED"),
    ],
    ids=["timeout", "rows", "memory"],
)
def test_what_fails_later_ends_that_subscription_with_its_reason(
    follow: Any, query: str, settings: dict[str, Any], rows: int, code: str
) -> None:
    with serving(**settings) as opened:
        opened.database.transact(SCHEMA)
        numbers(opened.database, 1_000, 1_010)
        with follow(opened, NAMES) as others, follow(opened, query) as failing:
            assert next(others)["last"]
            assert next(failing)["kind"] == "SNAPSHOT"
            opened.database.transact('[{:name "before"}]')
            assert next(others)["added"] == [["before"]]
            numbers(opened.database, 2_000, 2_000 + rows)
            error = next(failing)
            while "extensions" not in error:
                error = next(failing)
            assert error["extensions"]["code"] == code
            opened.database.transact('[{:name "after"}]')
            assert next(others)["added"] == [["after"]]
        until(lambda: opened.hub.figures.subscriptions == 0)
        # What failed is said again, as an error, to who comes after it.
        with follow(opened, query) as again:
            error = next(again)
            assert error["extensions"]["code"] == code, error


@both
def test_tokens_that_lead_nowhere(follow: Any) -> None:
    with serving() as opened:
        opened.database.transact(SCHEMA)
        opened.database.transact('[{:name "Ada" :seen 1}]')
        with follow(opened, NAMES) as events:
            token = next(events)["resume"]
        for garbage in ("", "x", "0", "é" * 20, "A" * 499, "A" * 100_000, token[:-4], token + token, token[::-1]):
            with follow(opened, NAMES, resume=garbage) as events:
                error = next(events)
                assert error["extensions"]["code"] == "ARG_INVALID", (garbage, error)
                assert "resume" in error["message"]
        with follow(opened, NUMBERS, resume=token) as events:
            assert "another query" in next(events)["message"]
        with serving() as other:
            other.database.transact(SCHEMA)
            other.database.transact('[{:name "Grace"}]')
            with follow(other, NAMES, resume=token) as events:
                assert next(events)["kind"] == "RESET"
                snapshot = next(events)
                assert (snapshot["kind"], snapshot["rows"], snapshot["last"]) == ("SNAPSHOT", [["Grace"]], True)


@both
def test_tokens_after_a_restart_and_compaction(follow: Any, tmp_path: Any) -> None:
    folder, tokens = str(tmp_path / "data"), {}
    seen = "[:find ?n :where [_ :seen ?n]]"
    with serving(folder) as opened:
        opened.database.transact(SCHEMA)
        opened.database.transact('[{:db/id 1 :name "Ada" :seen 1}]')
        for query in (NAMES, seen):
            with follow(opened, query) as events:
                tokens[query] = next(events)["resume"]
        opened.database.transact('[{:db/id 2 :name "Grace"} [:db/add 1 :seen 2]]')
        opened.database.compact()
        opened.database.transact('[[:db/retract 1 :name "Ada"] [:db/add 1 :seen 3]]')
        opened.database.compact()
    with serving(folder) as opened:
        with follow(opened, NAMES, resume=tokens[NAMES]) as events:
            told = [next(events) for _ in range(2)]
            assert [(each["kind"], each["added"], each["retracted"]) for each in told] == [
                ("DELTA", [["Grace"]], []),
                ("DELTA", [], [["Ada"]]),
            ]
        with follow(opened, seen, resume=tokens[seen]) as events:
            reset, snapshot = next(events), next(events)
            assert (reset["kind"], snapshot["rows"]) == ("RESET", [[3]])
            assert "noHistory" in reset["reason"]


def test_an_error_on_a_socket_leaves_its_other_operations_alone() -> None:
    with serving(rows=50) as opened:
        opened.database.transact(SCHEMA)
        with client_of(opened) as client:  # type: ignore[arg-type]
            client.begun()
            for name, query in (("a", NUMBERS), ("b", NAMES)):
                client.subscribe(name, LIVE, variables={"query": query})
                assert client.read()["id"] == name
            numbers(opened.database, 1, 60)
            message = client.read()
            assert (message["id"], message["type"]) == ("a", "error")
            opened.database.transact('[{:name "Ada"}]')
            message = client.read()
            assert (message["id"], json.dumps(message["payload"]["data"]["live"]["added"])) == ("b", '[["Ada"]]')
            client.subscribe("a", LIVE, variables={"query": NAMES})
            assert client.read()["payload"]["data"]["live"]["rows"] == [["Ada"]]
