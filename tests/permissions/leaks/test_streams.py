"""Leaks that were reported of other systems, tried on streams.

Change feeds, rows that leave one's scope, and tokens that expire (supabase/realtime: deletes went to all; surrealdb
#2661, #5529; hasura #578, #3867; harper #1414).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.clock import Clock
from tests.gateway.conftest import clock as clock
from tests.gateway.identity.signed_tokens import settings_for, token
from tests.gateway.support import Gateway, gateway, served
from tests.permissions.writes.tracker import DATA, POLICIES, SCHEMA

LIVE = """subscription { live(query: "[:find ?i (pull ?i [* {:issue/project [*]}]) :where [?i :issue/title]]")
          { kind rows added retracted basisT } }"""
LOG = "subscription { transactions(from: 4) { t datoms { e a v added } tempids } }"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Gateway]:
    with gateway(settings_for(tmp_path, port=0), SCHEMA, DATA, POLICIES) as made:
        yield made


def events(address: str, document: str) -> Iterator[Any]:
    """What ada is told; the stream ends with its token."""
    headers = {
        "authorization": f"Bearer {token(sub='ada', roles=['read', 'member'], iat=None)}",
        "Accept": "text/event-stream",
    }
    with httpx.stream(
        "POST", f"{address}/graphql", json={"query": document}, headers=headers, timeout=60
    ) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                found = json.loads(line[6:])
                if found.get("data") is None or found["data"].get("live", {}).get("kind") != "PROGRESS":
                    yield found


HIDDEN = (
    '[[:db/add 21 :issue/title "Secret"] [:db/add 21 :issue/assignee 1]]',
    '[{:db/id 40 :issue/id 40 :issue/title "Secret too" :issue/project 20}]',
    "[[:db/retractEntity 40]]",
    '[[:db/add 11 :hidden/note "Secret"]]',
    "[{:db/ident :hidden/secret :db/valueType :db.type/string}]",
)


def test_a_change_of_hidden_data_is_no_event(server: Gateway) -> None:
    with served(server.app, server.settings) as address:
        live, log = events(address, LIVE), events(address, LOG)
        assert {row[0] for row in next(live)["data"]["live"]["rows"]} == {11, 12}
        for text in HIDDEN:
            server.database.transact(text)
        t = server.database.transact("[[:db/add 11 :issue/votes 4]]").t
        told = next(live)["data"]["live"]
        assert [row[1][":issue/votes"] for row in told["added"]] == [4]
        assert told["basisT"] == t
        # Names of policies and their transactions are not for her, either.
        told = next(log)["data"]["transactions"]
        assert (told["t"], [each["a"] for each in told["datoms"]]) == (
            t,
            [":db/txInstant", ":issue/votes", ":issue/votes"],
        )
        live.close()
        log.close()


def test_a_row_that_leaves_takes_nothing_along(server: Gateway) -> None:
    """The event has the row as it was seen, and nothing of what it became."""
    with served(server.app, server.settings) as address:
        live, log = events(address, LIVE), events(address, LOG)
        next(live)
        server.database.transact(
            '[[:db/add 12 :issue/project 20] [:db/add 12 :issue/title "Secret"] [:db/add 12 :issue/votes 1]]'
        )
        told = next(live)["data"]["live"]
        assert ([row[0] for row in told["retracted"]], told["added"]) == ([12], [])
        assert "Secret" not in str(told)
        assert "THEIRS" not in str(told)
        # The log has nothing of it: it must be granted on both sides.
        t = server.database.transact("[[:db/add 11 :issue/votes 4]]").t
        assert next(log)["data"]["transactions"]["t"] == t
        server.database.transact("[[:db/retractEntity 12]]")
        server.database.transact("[[:db/add 11 :issue/votes 5]]")
        told = next(live)["data"]["live"]
        assert [row[1][":issue/votes"] for row in told["added"]] == [4]
        live.close()
        log.close()


@pytest.mark.parametrize("document", [LIVE, LOG])
def test_an_expired_token_is_told_nothing_more(
    server: Gateway, clock: Clock, monkeypatch: pytest.MonkeyPatch, document: str
) -> None:
    monkeypatch.setattr("adalog.gateway.identity.jwt_tokens.CLOCK_SKEW_SECONDS", 0.0)
    with served(server.app, server.settings) as address:
        told = events(address, document)
        server.database.transact("[[:db/add 11 :issue/votes 4]]")
        assert "errors" not in next(told)
        clock.now += 700
        server.database.transact('[[:db/add 11 :issue/title "Later"]]')
        rest = list(told)
    assert rest[-1]["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


def test_losing_a_role_or_a_membership_ends_what_is_told(server: Gateway) -> None:
    with served(server.app, server.settings) as address:
        live = events(address, LIVE)
        next(live)
        server.database.transact("[[:db/retract 10 :project/members 1]]")
        assert {row[0] for row in next(live)["data"]["live"]["retracted"]} == {11, 12}
        server.database.transact('[[:db/add 11 :issue/title "Secret"]]')
        server.database.transact('[[:db/retract [:policy/name "issues of projects"] :policy/roles :member]]')
        server.database.transact("[[:db/add 10 :project/members 1]]")
        server.database.transact('[{:policy/name "issues of projects" :policy/roles :member}]')
        told = next(live)["data"]["live"]
        assert {row[0] for row in told["added"]} == {11, 12}
        live.close()
