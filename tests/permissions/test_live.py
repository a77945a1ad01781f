"""Live queries and the stream of transactions, as an identity may see them, over WebSocket and server-sent events.

The guard is a part of what is followed: losing access is a row that leaves, gaining it one that enters, and a
change of hidden data is no event.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from tests.gateway.support import Gateway, served
from tests.permissions.issues import bearer, issues
from tests.waiting import until

TITLES = (
    'subscription($resume: String, $from: Long) { live(query: "[:find ?title :where [_ :issue/title ?title]]", '
)
TITLES += "resume: $resume, fromT: $from) { kind rows added retracted basisT resume reason } }"
LOG = "subscription($from: Long) { transactions(from: $from) { t datoms { a v } } }"
JOIN = '[[:db/add [:project/name "secret"] :project/members [:user/name "ann"]]]'
LEAVE = '[[:db/retract [:project/name "secret"] :project/members [:user/name "ann"]]]'

Events = Iterator[Any]
Follow = Callable[..., Events]


@contextmanager
def over_events(address: str, name: str, document: str, variables: dict[str, Any]) -> Iterator[Events]:
    headers = {**bearer(name), "Accept": "text/event-stream"}
    body = {"query": document, "variables": variables}
    with httpx.stream("POST", f"{address}/graphql", json=body, headers=headers, timeout=20) as response:
        yield (json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: {"))


@contextmanager
def over_socket(address: str, name: str, document: str, variables: dict[str, Any]) -> Iterator[Events]:
    url = address.replace("http", "ws", 1) + "/graphql"
    with connect(url, subprotocols=["graphql-transport-ws"], additional_headers=bearer(name)) as socket:  # type: ignore[list-item]
        socket.send(json.dumps({"type": "connection_init"}))
        socket.recv(20)
        payload = {"query": document, "variables": variables}
        socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": payload}))

        def events() -> Events:
            while True:
                said = json.loads(socket.recv(20))
                yield {"errors": said["payload"]} if said["type"] == "error" else said["payload"]

        yield events()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Gateway]:
    with issues(tmp_path, port=0) as found:
        yield found


@pytest.fixture(params=[over_events, over_socket], ids=["events", "socket"])
def follow(request: pytest.FixtureRequest, opened: Gateway) -> Iterator[Follow]:
    with ExitStack() as stack:
        address = stack.enter_context(served(opened.app, opened.settings))

        def follow(name: str, document: str = TITLES, **variables: Any) -> Events:
            return stack.enter_context(request.param(address, name, document, variables))

        yield follow


def live(events: Events) -> Any:
    """The next event that says something."""
    return next(each["data"]["live"] for each in events if each["data"]["live"]["kind"] != "PROGRESS")


def told(events: Events) -> tuple[Any, Any]:
    found = live(events)
    assert found["kind"] == "DELTA", found
    return sorted(found["added"]), sorted(found["retracted"])


def test_rows_enter_and_leave(opened: Gateway, follow: Follow) -> None:
    ann, bob, root = follow("ann"), follow("bob"), follow("root")
    assert [sorted(live(each)["rows"]) for each in (ann, bob, root)] == [
        [["one"], ["two"]],
        [["three"]],
        [["one"], ["three"], ["two"]],
    ]
    opened.database.transact(JOIN)
    assert told(ann) == ([["three"]], [])
    opened.database.transact('[{:issue/title "four" :issue/project [:project/name "inner"]}]')
    assert told(ann) == told(root) == ([["four"]], [])
    opened.database.transact(LEAVE)
    assert told(ann) == ([], [["three"]])
    opened.database.transact('[[:db/add [:issue/title "one"] :issue/project [:project/name "secret"]]]')
    assert told(ann) == ([], [["one"]])
    # Of all these the first that Bob hears of.
    assert told(bob) == ([["one"]], [])


AS = TITLES.replace("($resume", "($as: AsInput, $resume").replace("resume: $resume", "as: $as, resume: $resume")


def test_an_admin_follows_for_another(opened: Gateway, follow: Follow) -> None:
    ann = {"roles": ["member"], "claims": {"sub": "ann"}}
    asked, own = follow("root", AS, **{"as": ann}), follow("root", AS)
    first = live(asked)
    assert sorted(first["rows"]) == [["one"], ["two"]]
    assert len(live(own)["rows"]) == 3
    opened.database.transact(JOIN)
    assert told(asked) == ([["three"]], [])
    # The stream is Ann's own, for her, too, and no other's.
    assert told(follow("ann", resume=first["resume"])) == ([["three"]], [])
    assert live(follow("root", AS, resume=first["resume"]))["kind"] == "RESET"
    [error] = next(follow("bob", AS, **{"as": ann}))["errors"]
    assert error["extensions"]["code"] == "FORBIDDEN"
    [error] = next(follow("root", AS, **{"as": {"roles": [], "claims": 1}}))["errors"]
    assert error["extensions"]["code"] == "ARG_INVALID"


def test_a_change_of_policies(opened: Gateway, follow: Follow) -> None:
    ann, nobody = follow("ann"), follow("nobody")
    assert sorted(live(ann)["rows"]) == [["one"], ["two"]]
    assert live(nobody)["rows"] == []
    everybody = '{:policy/name "all" :policy/roles [:*] :policy/ops [:read] :policy/on [:issue]}'
    opened.database.transact(f"[{everybody}]")
    assert told(ann) == ([["three"]], [])
    assert told(nobody) == ([["one"], ["three"], ["two"]], [])
    opened.database.transact('[[:db/retractEntity [:policy/name "all"]]]')
    assert told(nobody) == ([], [["one"], ["three"], ["two"]])
    opened.database.transact("[[:db/add :policy/enforcement :policy/enforced false]]")
    assert told(nobody) == ([["one"], ["three"], ["two"]], [])


def test_a_resumed_stream_tells_what_left(opened: Gateway, follow: Follow) -> None:
    opened.database.transact(JOIN)
    first = live(follow("ann"))
    assert len(first["rows"]) == 3
    opened.database.transact('[{:issue/title "four" :issue/project [:project/name "secret"]}]')
    opened.database.transact(LEAVE)
    assert told(follow("ann", resume=first["resume"])) == ([], [["three"]])
    other = follow("bob", resume=first["resume"])
    assert live(other)["kind"] == "RESET"
    assert sorted(live(other)["rows"]) == [["four"], ["three"]]


HIDDEN_TITLE = '[{:issue/title "hidden" :issue/project [:project/name "secret"]}]'


def left(opened: Gateway, address: str, *documents: str) -> list[Any]:
    """Ann's first events of streams that she has left, so that nothing follows them any more."""
    found = []
    for document in documents:
        with over_events(address, "ann", document, {}) as events:
            found.append(live(events))
    until(lambda: not opened.app.state.hub.figures.feeds)
    return found


def test_what_is_left_of_a_snapshot_is_told_beside_hidden_changes(opened: Gateway) -> None:
    many = " ".join(f'{{:issue/title "m{n}" :issue/project [:project/name "open"]}}' for n in range(1_100))
    opened.database.transact(f"[{many}]")
    with served(opened.app, opened.settings) as address:
        [beginning] = left(opened, address, TITLES)
        assert len(beginning["rows"]) == 1_000
        resume = {"resume": beginning["resume"]}
        opened.database.transact(HIDDEN_TITLE)
        with over_events(address, "ann", TITLES, resume) as events:
            assert len(live(events)["rows"]) == 102
        opened.database.transact('[[:db/add [:issue/title "m7"] :issue/project [:project/name "secret"]]]')
        with over_events(address, "ann", TITLES, resume) as events:
            assert live(events)["kind"] == "RESET"


@pytest.mark.parametrize("hidden", ["note", "title", "salary"])
def test_what_is_forgotten_tells_nothing_of_hidden_changes(opened: Gateway, hidden: str) -> None:
    """Whether a value that was visible is gone cannot be known: a stream that shows such values starts over."""
    opened.database.transact("[{:db/ident :issue/note :db/valueType :db.type/string :db/noHistory true}]")
    opened.database.transact('[[:db/add [:policy/name "members read issues"] :policy/on :issue/note]]')
    opened.database.transact('[[:db/add [:issue/title "one"] :issue/note "n"]]')
    notes = TITLES.replace("[_ :issue/title ?title]", "[_ :issue/note ?title]")
    text = {
        "note": '[[:db/add [:issue/title "three"] :issue/note "h"]]',
        "title": HIDDEN_TITLE,
        "salary": '[[:db/add [:user/name "bob"] :user/salary 21]]',
    }
    with served(opened.app, opened.settings) as address:
        first, other = left(opened, address, notes, TITLES)
        opened.database.transact(text[hidden])
        with over_events(address, "ann", notes, {"resume": first["resume"]}) as events:
            assert live(events)["kind"] == "RESET"
        opened.database.transact('[[:db/add [:issue/title "one"] :issue/title "uno"]]')
        with over_events(address, "ann", TITLES, {"resume": other["resume"]}) as events:
            assert told(events) == ([["uno"]], [["one"]])


def test_the_past_is_told_as_it_may_be_seen_now(opened: Gateway, follow: Follow) -> None:
    opened.database.transact(JOIN)
    opened.database.transact('[{:issue/title "four" :issue/project [:project/name "secret"]}]')
    opened.database.transact('[{:issue/title "five" :issue/project [:project/name "open"]}]')
    opened.database.transact(LEAVE)
    ann = follow("ann", **{"from": 1})
    assert live(ann)["rows"] == []
    assert told(ann) == ([["one"], ["two"]], [])
    assert told(ann) == ([["five"]], [])


def test_transactions(opened: Gateway, follow: Follow) -> None:
    ann, late = follow("ann", LOG), follow("ann", LOG, **{"from": 2})
    assert next(late)["data"]["transactions"]["t"] == 2
    opened.database.transact('[{:issue/title "four" :issue/points 1 :issue/project [:project/name "secret"]}]')
    opened.database.transact('[{:issue/title "five" :issue/points 1 :issue/project [:project/name "open"]}]')
    for stream in (ann, late):
        said = next(stream)["data"]["transactions"]
        assert said["t"] == 5
        assert {each["a"] for each in said["datoms"]} > {":db/txInstant", ":issue/title"}


def test_the_first_policy_ends_what_shows_everything(opened: Gateway, follow: Follow) -> None:
    opened.database.transact("[[:db/add :policy/enforcement :policy/enforced false]]")
    ann, log, root = follow("ann"), follow("ann", LOG), follow("root")
    assert len(live(ann)["rows"]) == len(live(root)["rows"]) == 3
    opened.database.transact(
        "[[:db/add :policy/enforcement :policy/enforced true]"
        ' {:issue/title "x" :issue/project [:project/name "secret"]}]'
    )
    for stream in (ann, log):
        [error] = next(stream)["errors"]
        assert error["extensions"] == {"code": "BACKEND_UNAVAILABLE", "retryable": True}
    assert told(root) == ([["x"]], [])
