"""Random clients of any number of gateways: each a thread that writes down what it asked and what it heard.

A gateway may be away, paused or killed at any time: then a client goes on with another one.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from tests.several.checker import BALANCE, NAME, OPERATION, QUERY, TAG, Datom, Logged
from tests.several.history import History, Read, Told, Write

Address = tuple[str, int]

# A paused gateway answers nobody.
_PATIENCE: Final = 3.0
TRANSACT: Final = (
    "mutation($tx: EDN!, $key: String, $basis: Long) "
    "{ transact(tx: $tx, idempotencyKey: $key, expectedBasisT: $basis) { t } }"
)
_Q: Final = "query($q: EDN!, $basis: BasisInput) { q(query: $q, basis: $basis) { rows basisT } }"
_LIVE: Final = (
    "subscription($q: EDN!, $resume: String) { live(query: $q, resume: $resume) "
    "{ kind basisT reason resume rows added retracted last } }"
)
_LOG: Final = "query($from: Long) { transactions(from: $from, first: 500) { t datoms { e a v added } } }"
# Refusals that say for certain that nothing was applied.
_CERTAIN: Final = frozenset(
    {
        *("CAS_FAILED", "UNIQUE_CONFLICT", "BASIS_CONFLICT", "TX_CONFLICT", "RATE_LIMITED", "READ_ONLY"),
        *("TX_INVALID", "ARG_INVALID", "LIMIT_EXCEEDED"),
    }
)
_FINAL: Final = frozenset({"CAS_FAILED", "UNIQUE_CONFLICT", "BASIS_CONFLICT"})


class Refused(Exception):
    """An answer with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: str = error["extensions"]["code"]

    @property
    def is_certain(self) -> bool:
        """Whether nothing was applied."""
        return self.code in _CERTAIN or str(self).startswith("nothing was applied")


class Caller:
    """Asks one gateway after the other, over one connection for a while."""

    def __init__(self, addresses: Sequence[Address], chance: random.Random) -> None:
        self._addresses = addresses
        self._chance = chance
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, document: str, patience: float = _PATIENCE, **variables: Any) -> Any:
        """The answer's data. Raises Refused, OSError or HTTPException."""
        if self._connection is None or self._chance.random() < 0.1:
            self.move()
        assert self._connection is not None
        self._connection.timeout = patience
        try:
            body = json.dumps({"query": document, "variables": variables})
            self._connection.request("POST", "/graphql", body, {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            answer = json.loads(response.read())
        except BaseException:
            self.close()
            raise
        if answer.get("errors"):
            raise Refused(answer["errors"][0])
        return answer["data"]

    def move(self) -> None:
        """Goes to any of the gateways."""
        self.close()
        self._connection = http.client.HTTPConnection(*self._chance.choice(self._addresses), timeout=_PATIENCE)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Client(threading.Thread):
    """Writes and reads until told to stop."""

    def __init__(
        self, number: int, seed: int, addresses: Sequence[Address], history: History, stopped: threading.Event
    ) -> None:
        super().__init__(name=f"client-{number}", daemon=True)
        self._number = number
        self._chance = random.Random(f"{seed} {number}")
        self._caller = Caller(addresses, self._chance)
        self._history = history
        self._stopped = stopped
        self._operations = 0
        self._state: dict[str, tuple[int, str]] = {}
        self._t = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._stopped.is_set():
                if self._chance.random() < 0.35:
                    self._read()
                else:
                    self._write()
        except BaseException as error:
            self.failure = error
            raise
        finally:
            self._caller.close()

    def _read(self) -> None:
        asked = self._t if self._t and self._chance.random() < 0.4 else None
        began = time.monotonic()
        try:
            found = self._caller.ask(_Q, q=QUERY, basis=None if asked is None else {"t": asked})["q"]
        except (Refused, OSError, http.client.HTTPException, ValueError):
            self._stopped.wait(0.02)
            return
        rows = frozenset(map(tuple, found["rows"]))
        self._history.read(Read(asked, began, time.monotonic(), found["basisT"], rows))
        if found["basisT"] >= self._t:
            self._t = found["basisT"]
            self._state = {name: (balance, tag) for name, balance, tag in rows}

    def _write(self) -> None:
        what = self._chosen()
        self._operations += 1
        name = f"{self._number}-{self._operations}"
        key = f"key-{name}" if self._chance.random() < 0.6 else None
        expected = self._t if self._t and self._chance.random() < 0.15 else None
        write = Write(name, what, key, expected, time.monotonic())
        self._history.write(write)
        tx = text_of(write)
        doubted = False
        while True:
            try:
                t = self._caller.ask(TRANSACT, tx=tx, key=key, basis=expected)["transact"]["t"]
                write.answers.append(t)
                write.ended, write.outcome = time.monotonic(), "done"
                self._t = max(self._t, t)
                # What was answered is answered again.
                if key is not None and self._chance.random() < 0.2 and len(write.answers) < 3:
                    continue
                return
            except Refused as refused:
                if write.answers:
                    # A later question with the key; the first answer stands.
                    if refused.code in _FINAL:
                        raise
                    return
                if refused.code in _FINAL and not doubted:
                    write.ended, write.outcome, write.code = time.monotonic(), "refused", refused.code
                    return
                if key is None:
                    if refused.is_certain and not doubted:
                        write.ended, write.outcome = time.monotonic(), "refused"
                    return
                if refused.code in _FINAL:
                    # A try of which nothing was heard may have been applied, or may be applied yet.
                    return
                doubted = doubted or not refused.is_certain
            except (OSError, http.client.HTTPException, ValueError):
                if write.answers or key is None:
                    return
                doubted = True
            if self._stopped.wait(0.02):
                return

    def _chosen(self) -> tuple[Any, ...]:
        account = f"account-{self._chance.randrange(6)}"
        kind = self._chance.random()
        if account not in self._state or kind < 0.35:
            return "put", account, self._chance.randrange(1000)
        if kind < 0.75:
            return "cas", account, self._state[account][0], self._chance.randrange(1000)
        return "tag", account, f"tag-{self._chance.randrange(8)}"


def text_of(write: Write) -> str:
    """Its transaction."""
    return f'[{_edn(write.what)} [:db/add "datomic.tx" {OPERATION} "{write.name}"]]'


def _edn(what: tuple[Any, ...]) -> str:
    kind, name, *rest = what
    if kind == "put":
        return f'{{{NAME} "{name}" {BALANCE} {rest[0]}}}'
    if kind == "cas":
        return f'[:db/cas [{NAME} "{name}"] {BALANCE} {rest[0]} {rest[1]}]'
    return f'[:db/add [{NAME} "{name}"] {TAG} "{rest[0]}"]'


class Subscriber(threading.Thread):
    """Follows the query over server-sent events, and resumes on another gateway when a stream breaks off, or now
    and then of its own will. After `finish(t)` it ends as soon as it has heard of all up to t."""

    def __init__(self, number: int, seed: int, addresses: Sequence[Address], history: History) -> None:
        super().__init__(name=f"subscriber-{number}", daemon=True)
        self._chance = random.Random(f"{seed} subscriber {number}")
        self._addresses = addresses
        self._events = history.stream()
        self._resume: str | None = None
        self._chunks: list[tuple[Any, ...]] = []
        self._last: int | None = None
        self._given_up = False
        self._heard = 0
        self.failure: BaseException | None = None

    def finish(self, changed: int, seconds: float) -> None:
        """changed: the last transaction that changed the answer."""
        until = time.monotonic() + seconds
        while self._heard < changed and self.is_alive() and time.monotonic() < until:
            time.sleep(0.02)
        self._given_up = True

    def run(self) -> None:
        try:
            while not self._given_up:
                with suppress(OSError, http.client.HTTPException):
                    self._follow()
                time.sleep(0.02)
        except BaseException as error:
            self.failure = error
            raise

    def _follow(self) -> None:
        # A snapshot that was cut off is told again from its beginning, or goes on: its token says which.
        connection = http.client.HTTPConnection(*self._chance.choice(self._addresses), timeout=0.5)
        try:
            body = json.dumps({"query": _LIVE, "variables": {"q": QUERY, "resume": self._resume}})
            headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
            connection.request("POST", "/graphql", body, headers)
            response = connection.getresponse()
            if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
                return
            self._listen(response)
        finally:
            connection.close()

    def _listen(self, response: http.client.HTTPResponse) -> None:
        kind, left = "", self._chance.randrange(5, 60)
        while not self._given_up and left:
            try:
                line = response.readline()
            except TimeoutError:
                # Nothing happened, or the gateway is paused; a reader that has timed out cannot go on reading.
                return
            if not line:
                return
            text = line.decode().strip()
            if text.startswith("event:"):
                kind = text[6:].strip()
            elif text.startswith("data:") and kind == "next":
                answer = json.loads(text[5:])
                if answer.get("errors"):
                    return
                self._take(answer["data"]["live"])
                left -= 1
            elif text.startswith("data:") and kind == "complete":
                return

    def _take(self, event: dict[str, Any]) -> None:
        kind, t = event["kind"], event["basisT"]
        if kind == "SNAPSHOT":
            self._chunks += map(tuple, event["rows"] or ())
            if event["last"]:
                self._events.append(Told("SNAPSHOT", t, frozenset(self._chunks)))
                self._chunks = []
        elif kind == "RESET":
            self._chunks = []
            self._events.append(Told("RESET", t, reason=event["reason"]))
        else:
            came, went = (frozenset(map(tuple, event[name] or ())) for name in ("added", "retracted"))
            self._events.append(Told(kind, t, came, went))
        self._resume = event["resume"]
        if kind != "SNAPSHOT" or event["last"]:
            self._heard = t


def patiently(ask: Callable[[], Any], seconds: float = 60.0) -> Any:
    """The answer, as soon as there is one."""
    limit = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except (Refused, OSError, http.client.HTTPException, ValueError) as error:
            if time.monotonic() > limit:
                raise AssertionError("nothing answers any more") from error
            time.sleep(0.05)


def log_of(address: Address) -> list[Logged]:
    """The whole log, as a gateway tells it."""
    caller = Caller([address], random.Random(0))
    found: list[Logged] = []
    while True:
        start = {"from": len(found) + 1}
        page = patiently(partial(caller.ask, _LOG, patience=30.0, **start))["transactions"]
        found += [Logged(int(each["t"]), [_datom(datom) for datom in each["datoms"]]) for each in page]
        if not page:
            caller.close()
            return found


def _datom(said: dict[str, Any]) -> Datom:
    return int(said["e"]), said["a"], said["v"], said["added"]
