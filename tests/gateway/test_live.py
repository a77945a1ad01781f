"""Live queries from one end to the other: from a transaction to what a client reads."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from adalog.gateway.settings.config import Settings
from tests.gateway.bounds import bounded
from tests.gateway.connections.test_events import Reader, asked
from tests.gateway.connections.test_websocket import client_of
from tests.gateway.streams import Live
from tests.gateway.support import FAMILY, SCHEMA, gateway, served
from tests.waiting import until

NAMES = """
subscription ($resume: String, $fromT: Long) {
  live(query: "[:find ?n :where [_ :person/name ?n]]", resume: $resume, fromT: $fromT) {
    kind basisT resume rows added retracted last reason
  }
}
"""
LOG = "subscription ($from: Long) { transactions(from: $from) { t datoms { a v added } } }"


@pytest.fixture(scope="module")
def opened() -> Iterator[Live]:
    settings = Settings(data=":memory:", port=0)
    with gateway(settings, SCHEMA, FAMILY) as found, served(found.app, settings) as address:
        yield Live(None, found, address)  # type: ignore[arg-type]


def add(opened: Live, name: str) -> int:
    return opened.opened.database.transact(f'[{{:person/name "{name}"}}]').t


def payloads(messages: Iterator[Any]) -> Iterator[dict[str, Any]]:
    """The events but those that say that nothing happens."""
    for message in messages:
        event: dict[str, Any] = message["data"]["live"]
        if event["kind"] != "PROGRESS":
            yield event


@contextlib.contextmanager
def over_websocket(opened: Live, document: str, **variables: Any) -> Iterator[Iterator[Any]]:
    with client_of(opened) as client:
        client.begun().subscribe("1", document, variables=variables)

        def messages() -> Iterator[Any]:
            while True:
                message = client.read()
                assert (message["id"], message["type"]) == ("1", "next"), message
                yield message["payload"]

        yield messages()


@contextlib.contextmanager
def as_events(opened: Live, document: str, **variables: Any) -> Iterator[Iterator[Any]]:
    with asked(opened, document, variables=variables) as reader:
        yield _checked(reader)


def _checked(reader: Reader) -> Iterator[Any]:
    while True:
        token, message = reader.event()
        if "live" in message["data"] and "resume" in message["data"]["live"]:
            assert token == message["data"]["live"]["resume"]
        yield message


both = pytest.mark.parametrize("follow", [over_websocket, as_events])


@both
def test_a_snapshot_then_what_enters_and_leaves_then_more_after_an_absence(opened: Live, follow: Any) -> None:
    with follow(opened, NAMES) as messages:
        events = payloads(messages)
        snapshot = next(events)
        assert (snapshot["kind"], snapshot["last"]) == ("SNAPSHOT", True)
        assert ["Ada"] in snapshot["rows"]
        t = add(opened, f"{follow.__name__} 1")
        delta = next(events)
        assert (delta["kind"], delta["basisT"], delta["retracted"]) == ("DELTA", t, [])
        assert delta["added"] == [[f"{follow.__name__} 1"]]
    for number in (2, 3):
        add(opened, f"{follow.__name__} {number}")
    with follow(opened, NAMES, resume=delta["resume"]) as messages:
        events = payloads(messages)
        for number in (2, 3):
            assert next(events)["added"] == [[f"{follow.__name__} {number}"]]
        opened.opened.database.transact(f'[[:db/retractEntity [:person/name "{follow.__name__} 2"]]]')
        assert next(events)["retracted"] == [[f"{follow.__name__} 2"]]


@both
def test_history_is_replayed(opened: Live, follow: Any) -> None:
    t = add(opened, f"{follow.__name__} a")
    with follow(opened, NAMES, fromT=t - 1) as messages:
        events = payloads(messages)
        while (event := next(events))["kind"] == "SNAPSHOT":
            assert event["basisT"] == t - 1
        assert event["added"] == [[f"{follow.__name__} a"]]


@both
def test_the_log(opened: Live, follow: Any) -> None:
    with follow(opened, LOG, **{"from": 2}) as messages:
        now = opened.opened.database.snapshot().t
        assert [next(messages)["data"]["transactions"]["t"] for _ in range(2, now + 1)] == list(range(2, now + 1))
        add(opened, f"{follow.__name__} x")
        report = next(messages)["data"]["transactions"]
        assert report["t"] == now + 1
        assert {"a": ":person/name", "v": f"{follow.__name__} x", "added": True} in report["datoms"]


def test_a_browser_that_connects_again_goes_on_after_its_last_event(opened: Live) -> None:
    with asked(opened, NAMES, "GET") as reader:
        token, _ = reader.event()
    t = add(opened, "while away")
    for headers in ({"Last-Event-ID": token}, {"last-event-id": token, "Cache-Control": "no-cache"}):
        with asked(opened, NAMES, "GET", headers=headers) as reader:
            event = reader.event()[1]["data"]["live"]
            assert (event["kind"], event["basisT"], event["added"]) == ("DELTA", t, [["while away"]])
    with asked(opened, LOG, "GET") as reader:
        add(opened, "one")
        token, _ = reader.event()
    t = add(opened, "two")
    with asked(opened, LOG, "GET", headers={"Last-Event-ID": token}) as reader:
        assert reader.event()[1]["data"]["transactions"]["t"] == t


def test_what_is_wrong_with_a_subscription_is_said(opened: Live) -> None:
    wrong = 'subscription { live(query: "[:find ?x :where [_ :person/name") { kind } }'
    with asked(opened, wrong) as reader:
        error = reader.event()[1]["errors"][0]
        assert error["extensions"]["code"] == "EDN_SYNTAX"
        assert reader.rest() == [{"event": "complete", "id": "complete", "data": ""}]
    with client_of(opened) as client:
        message = client.begun().subscribe("1", wrong).read()
        assert (message["type"], message["payload"][0]["extensions"]["code"]) == ("error", "EDN_SYNTAX")
        message = client.subscribe("1", NAMES, variables={"resume": "nothing"}).read()
        assert (message["type"], message["payload"][0]["extensions"]["code"]) == ("error", "ARG_INVALID")
        message = client.subscribe("1", "subscription { a: transactions { t } b: transactions { t } }").read()
        assert (message["type"], message["payload"][0]["extensions"]["code"]) == ("error", "QUERY_INVALID")


def test_nothing_is_held_once_everybody_left(opened: Live) -> None:
    hub = opened.opened.app.state.hub
    with over_websocket(opened, NAMES) as one, as_events(opened, NAMES) as other:
        next(one)
        next(other)
        assert hub.figures.subscriptions == 2
    until(lambda: hub.figures.subscriptions == 0)
    until(lambda: hub.figures.feeds == 0)
    assert json.dumps(opened.wire.streams) == '{"events": 0, "websocket": 0}'


@both
def test_who_reads_late_gets_what_was_merged_meanwhile(follow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = bounded(monkeypatch, live_mailbox_events=4)
    with gateway(settings, SCHEMA) as found, served(found.app, settings) as address:
        late, hub = Live(None, found, address), found.app.state.hub  # type: ignore[arg-type]
        with follow(late, NAMES) as messages:
            events = payloads(messages)
            rows = {row for (row,) in next(events)["rows"]}
            number = 0
            while not hub.figures.overflows:
                number += 1
                add(late, f"{number} " + "x" * 20_000)
            for _ in range(2 * settings.live.replayed):
                # More than is told one by one to those who are behind.
                number += 1
                add(late, f"{number}")
            found.database.transact('[{:person/name "the last"}]')
            told = 0
            while "the last" not in rows:
                event = next(events)
                if event["kind"] == "RESET":
                    # Where the net change is larger than a mailbox.
                    assert event["reason"]
                    rows = set()
                added = {row for (row,) in (event["added"] or event["rows"] or [])}
                retracted = {row for (row,) in (event["retracted"] or [])}
                assert not added & rows
                assert retracted <= rows
                rows = (rows | added) - retracted
                told += 1
        assert len(rows) == number + 1
        assert told < number + 1
