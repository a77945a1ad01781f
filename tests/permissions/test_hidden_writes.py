"""Two databases that differ only in what an identity may not see take its writes alike: refused ones are refused
with the same bytes and leave nothing, reports have the same bytes, and streams tell of all of them alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from adalog.datalog.errors import AdalogError
from adalog.store.snapshot.snapshot import Snapshot
from tests.gateway.identity.signed_tokens import settings_for
from tests.gateway.support import served
from tests.permissions.compared import numbers
from tests.permissions.conditions import CLAIMS
from tests.permissions.hidden_twins import Twin, Viewed, twins
from tests.permissions.random_questions import Asker
from tests.permissions.random_worlds import history, transaction
from tests.permissions.random_writes import Writer, writable
from tests.permissions.visible_gateway import headers_of, opened

_WRITES: Final = 10
_STREAMS: Final = 3
_SECONDS: Final = 60
_INSTANT: Final = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]{8,12}Z")
_TRANSACT: Final = """mutation($tx: EDN!, $key: String) { transact(tx: $tx, idempotencyKey: $key) {
  t basisBefore txInstant tempids datoms { e a v t added } warnings { code message line column } } }"""
_LIVE: Final = """subscription($query: EDN!, $resume: String) { live(query: $query, resume: $resume) {
  kind basisT resume columns { name type } rows added retracted last reason warnings { code message } } }"""
_READS: Final = (
    "{ datoms(index: AEVT, first: 1000, basis: {history: true}) { datoms { e a v t added } } }",
    "{ database { datomCount entityCount } transactions(from: 1) { t tempids datoms { e a v added } } }",
)


@pytest.mark.parametrize("number", numbers(share=7))
def test_writes_are_taken_and_told_alike(number: int, tmp_path: Path) -> None:
    # Now and then no change of a world is hidden.
    assert any(_compared(Random(f"writes {number} {trial}"), tmp_path) for trial in range(6))


def _compared(rng: Random, folder: Path) -> bool:
    """Whether there is a twin that the identity cannot tell apart, which is then compared."""
    roles, claims = rng.choice(CLAIMS)
    texts, policies = history(rng)
    granted = writable(rng, policies)
    declared = " ".join(each.form for each in policies)
    texts = [each.replace(declared, " ".join(one.form for one in granted)) for each in texts]
    viewed = Viewed(granted, roles, claims)
    with ExitStack() as stack:
        both = stack.enter_context(twins(rng, texts, viewed))
        if both is None:
            return False
        sides = [stack.enter_context(_Side.opened(each, folder, viewed)) for each in both]
        about = f"{roles} {claims}\n" + "\n".join(each.form for each in granted)
        _Pair(sides[0], sides[1], viewed, about).run(rng)
        return True


class _Side:
    """One of the twins behind a server, and what the identity is told over one socket."""

    def __init__(self, twin: Twin, address: str, socket: ClientConnection, headers: dict[str, str]) -> None:
        self.database = twin.database
        self.http = httpx.Client(base_url=address, headers=headers, timeout=_SECONDS)
        self.socket = socket
        self.told: dict[str, list[Any]] = {}
        self.at: dict[str, int] = {}
        socket.send(json.dumps({"type": "connection_init"}))
        assert json.loads(socket.recv(_SECONDS))["type"] == "connection_ack"

    @staticmethod
    @contextmanager
    def opened(twin: Twin, folder: Path, viewed: Viewed) -> Iterator[_Side]:
        settings = settings_for(folder, port=0, live_progress_seconds=0.02)
        headers = headers_of(tuple(viewed.roles), viewed.claims, "write")
        with opened(twin.database, twin.pool, settings) as gateway, served(gateway.app, settings) as address:
            url = f"{address.replace('http', 'ws', 1)}/graphql"
            subprotocols: Any = ["graphql-transport-ws"]
            with connect(
                url,
                subprotocols=subprotocols,
                additional_headers=headers,
                proxy=None,
                ping_interval=None,
                max_queue=None,
            ) as socket:
                side = _Side(twin, address, socket, headers)
                with side.http:
                    yield side

    def post(self, document: str, **variables: Any) -> tuple[int, bytes]:
        found = self.http.post("/graphql", json={"query": document, "variables": variables})
        return found.status_code, _INSTANT.sub(b"", found.content)

    def follow(self, name: str, query: str, resume: str | None = None) -> None:
        self.told[name], self.at[name] = [], -1
        payload = {"query": _LIVE, "variables": {"query": query, "resume": resume}}
        self.socket.send(json.dumps({"id": name, "type": "subscribe", "payload": payload}))

    def leave(self, name: str) -> None:
        self.socket.send(json.dumps({"id": name, "type": "complete"}))
        del self.at[name]

    def catch_up(self) -> None:
        """Reads until every stream has told of the newest transaction, or has ended."""
        newest = self.database.snapshot().t
        while any(each < newest for each in self.at.values()):
            message = json.loads(self.socket.recv(_SECONDS))
            name = message["id"]
            if name not in self.at:
                continue  # it was on its way when the stream was left
            if message["type"] != "next" or "errors" in message["payload"]:
                self.told[name].append(message)
                del self.at[name]
                continue
            event = message["payload"]["data"]["live"]
            if event["kind"] != "RESET" and event["last"] is not False:
                self.at[name] = event["basisT"]
            if event["kind"] != "PROGRESS":
                self.told[name].append(event)

    def said(self, name: str) -> list[Any]:
        """The events without their tokens."""
        return [{key: value for key, value in each.items() if key != "resume"} for each in self.told[name]]

    def resume(self, name: str) -> str | None:
        return next((each["resume"] for each in reversed(self.told[name]) if "resume" in each), None)


class _Pair:
    def __init__(self, one: _Side, other: _Side, viewed: Viewed, about: str) -> None:
        self.sides = one, other
        self.viewed = viewed
        self.about = about
        self.queries: dict[str, str] = {}

    def run(self, rng: Random) -> None:
        asker, writer = Asker(rng), Writer(rng)
        for number in range(_STREAMS):
            self.follow(str(number), asker.query())
        self.compare_streams()
        keys: list[tuple[str, str]] = []
        for number in range(_WRITES):
            if rng.random() < 0.25:
                self.hide(rng)
                continue
            text, key = writer.transaction(), f"key {number}"
            if keys and rng.random() < 0.15:
                text, key = rng.choice(keys)
            keys.append((text, key))
            if not self.write(text, key):
                return
            if rng.random() < 0.2:
                self.resume(rng, rng.choice(sorted(self.queries)))
            self.compare_streams()
        for text in _READS:
            self.same(text)

    def same(self, document: str, **variables: Any) -> bytes:
        found = [each.post(document, **variables) for each in self.sides]
        assert found[0] == found[1], f"{self.about}\n{document} {variables}"
        return found[0][1]

    def write(self, text: str, key: str) -> bool:
        """Whether both go on: the databases answer alike, and are as alike as before."""
        before = self.snapshots()
        found = [each.post(_TRANSACT, tx=text, key=key) for each in self.sides]
        after = self.snapshots()
        for (_, body), old, new in zip(found, before, after, strict=True):
            refused = b'"errors"' in body
            assert not refused or new.t == old.t, f"{self.about}\n{text}\na refused one is applied"
        if found[0] == found[1] and self.viewed.is_alike(*after):
            return True
        is_excepted = found[0] != found[1] and any(b"UNIQUE_CONFLICT" in body for _, body in found)
        if is_excepted or not self.was_decided_alike(before, text):
            return False
        raise AssertionError(f"{self.about}\n{text}\n{found[0]}\n{found[1]}")

    def was_decided_alike(self, before: tuple[Snapshot, ...], text: str) -> bool:
        """Whether every policy decides alike on what comes of the text in both."""
        made = []
        for side, snapshot in zip(self.sides, before, strict=True):
            try:
                made.append(self.viewed.decisions(side.database.speculate(snapshot, text)[0]))
            except AdalogError:
                return False
        return made[0] == made[1]

    def hide(self, rng: Random) -> None:
        """An admin writes something else to each, which the identity cannot see, nor policies."""
        for side in self.sides:
            now = side.database.snapshot()
            for _ in range(6):
                text = transaction(rng, least=1)
                text = f"[{text[1:-1].split('] [')[0].rstrip(']')}]]"
                try:
                    after, _ = side.database.speculate(now, text)
                except AdalogError:
                    continue
                if self.viewed.is_alike(now, after.plain):
                    break
            else:
                text = "[]"
            side.database.transact(text)

    def snapshots(self) -> tuple[Snapshot, ...]:
        return tuple(each.database.snapshot() for each in self.sides)

    # Streams

    def follow(self, name: str, query: str) -> None:
        self.queries[name] = query
        for each in self.sides:
            each.follow(name, query)

    def resume(self, rng: Random, name: str) -> None:
        """Goes on with a stream after what it told."""
        tokens = [each.resume(name) for each in self.sides]
        for side, token in zip(self.sides, tokens, strict=True):
            if name in side.at:
                side.leave(name)
            side.follow(f"{name}'", self.queries[name], token)
        self.queries[f"{name}'"] = self.queries.pop(name)

    def compare_streams(self) -> None:
        for each in self.sides:
            each.catch_up()
        for name, query in self.queries.items():
            one, other = (each.said(name) for each in self.sides)
            assert one == other, f"{self.about}\n{query}\n{one}\n{other}"
