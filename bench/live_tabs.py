"""Tabs of a browser with two live queries each, while tokens expire and the server restarts.

`python -m bench.live_tabs --minutes 10 --tabs 6 --token-seconds 10 --transport websocket` prints figures. It fails
if a tab misses a change, sees one twice, or shows an error. The server accepts no token beyond its expiry.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from operator import gt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol

import click
import jwt
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.support.ui import WebDriverWait

from bench.server import free_port, serving, until_ready
from tests.chromium import chromium

WITHOUT_SKEW: Final = (
    "import adalog.gateway.identity.jwt_tokens as tokens; tokens.CLOCK_SKEW_SECONDS = 0.0;"
    "from adalog.gateway.cli import main; main()"
)
SECRET: Final = "a secret of sixty-four characters, which is long enough for all ."
SCHEMA: Final = """[{:db/ident :tick/number :db/valueType :db.type/long :db/unique :db.unique/identity}
                     {:db/ident :tick/even :db/valueType :db.type/boolean}]"""
_QUERIES: Final = (
    "[:find ?n :where [_ :tick/number ?n]]",
    "[:find ?n :where [?t :tick/number ?n] [?t :tick/even true]]",
)
_SECONDS_TO_ARRIVE: Final = 60.0

# `added`: the rows that came, in order. `interruptions`: states with old rows. `failures`: of queries that failed.
_FOLLOW: Final = """
const [queries, secret, name, seconds, transport, sharedWorker, done] = arguments
const bytes = (text) => new TextEncoder().encode(text)
const base64 = (given) => btoa(String.fromCharCode(...given))
  .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
async function signed(claims) {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', bytes(secret), algorithm, false, ['sign'])
  const text = [{ alg: 'HS256' }, claims].map((part) => base64(bytes(JSON.stringify(part)))).join('.')
  return `${text}.${base64(new Uint8Array(await crypto.subtle.sign(algorithm, key, bytes(text))))}`
}
const added = queries.map(() => [])
window.tab = { name, tokens: 0, added, interruptions: 0, failures: [], warnings: [], lives: [] }
async function token() {
  tab.tokens += 1
  const now = Date.now() / 1000
  return signed({ sub: tab.name, roles: ['write'], iat: now, exp: now + seconds })
}
import('/examples/live/adalog-client.js').then(({ createClient }) => {
  const onWarning = (message) => tab.warnings.push(message)
  const worker = typeof sharedWorker === 'string' ? new URL(sharedWorker, location.href) : sharedWorker
  const backoff = { minMs: 100, maxMs: 2000 }
  const options = { url: '/graphql', token, transport, sharedWorker: worker, onWarning, backoff }
  const client = createClient(options)
  tab.lives = queries.map((query, i) => client.live(query, [], {
    onChange: ({ added }) => tab.added[i].push(...added.map(([n]) => n)),
    onState({ status, error }) {
      if (status === 'stale') tab.interruptions += 1
      if (status === 'failed') tab.failures.push(String(error))
    },
  }))
  return Promise.all(tab.lives.map((live) => live.ready()))
}).then(() => done('ready'), (error) => done(String(error)))
"""
_SEEN: Final = """
const { lives, ...seen } = window.tab
return { ...seen, statuses: lives.map(({ status }) => status), rows: lives.map(({ rows }) => rows.map(([n]) => n)) }
"""
_TOKENS: Final = "return window.tab.tokens"
_COUNTS: Final = "return window.tab.added.map((each) => each.length)"


class Served(Protocol):
    """A server with tokens that are signed with `SECRET`. `changes`: how many have been made."""

    port: int
    changes: int

    def transact(self, tx: str) -> None: ...

    def streams(self) -> int:
        """Connections that are open for events."""

    def subscriptions(self) -> int: ...


@dataclass
class Server:
    """A gateway that is stopped and started again on the same port and folder."""

    data: Path
    port: int = field(default_factory=free_port)
    changes: int = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        settings = {"ADALOG_JWT_ALGORITHMS": "HS256", "ADALOG_JWT_SECRET": SECRET, "ADALOG_SPARK": "off"}
        command = ("-c", WITHOUT_SKEW, "serve", "--data", str(self.data), "--port", str(self.port))
        with serving(*command, ADALOG_DRAIN_SECONDS="0", **settings):
            self._wait()
            yield

    def _wait(self) -> None:
        for _ in range(600):
            with suppress(OSError, HTTPException):
                until_ready(self.port)
                return
            time.sleep(0.1)
        raise RuntimeError("the server does not start")

    def transact(self, tx: str) -> None:
        body = {"query": "mutation ($tx: EDN!) { transact(tx: $tx) { t } }", "variables": {"tx": tx}}
        answer = json.loads(self._ask("POST", "/graphql", json.dumps(body)))
        if "errors" in answer:
            raise RuntimeError(f"refused: {answer['errors']}")

    def streams(self) -> int:
        return self._metric("adalog_streams")

    def subscriptions(self) -> int:
        return self._metric("adalog_live_subscriptions")

    def _metric(self, name: str) -> int:
        found = re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", self._ask("GET", "/metrics"), re.MULTILINE)
        return sum(int(float(each)) for each in found)

    def _ask(self, method: str, path: str, body: str | None = None) -> str:
        now = time.time()
        claims = {"sub": "writer", "roles": ["admin"], "iat": now, "exp": now + 60}
        token = jwt.encode(claims, SECRET, "HS256")
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
            connection.request(method, path, body, headers)
            return connection.getresponse().read().decode()
        finally:
            connection.close()


class Tabs:
    """Tabs with live queries; `tokens`: how long theirs last."""

    def __init__(self, driver: webdriver.Chrome, server: Served, transport: str, token_seconds: float) -> None:
        self._driver = driver
        self._server = server
        self._transport = transport
        self._token_seconds = token_seconds
        self.handles: list[str] = []

    def open(self, name: str = "ada", shared_worker: bool | str = True) -> None:
        """A tab of a user, with the rows of its queries."""
        self._driver.switch_to.new_window("tab")
        self.handles.append(self._driver.current_window_handle)
        self._driver.get(f"http://127.0.0.1:{self._server.port}/explorer/icon.svg")
        arguments = (list(_QUERIES), SECRET, name, self._token_seconds, self._transport, shared_worker)
        said = self._driver.execute_async_script(_FOLLOW, *arguments)  # type: ignore[no-untyped-call]
        if said != "ready":
            raise RuntimeError(said)

    def close_first(self) -> None:
        self._driver.switch_to.window(self.handles.pop(0))
        self._driver.close()

    def crash_first(self) -> None:
        self._driver.switch_to.window(self.handles.pop(0))
        with suppress(WebDriverException):
            self._driver.execute_cdp_cmd("Page.crash", {})
        self._driver.switch_to.window(self.handles[0])

    def end_worker(self) -> int:
        """Ends the workers of the browser; how many there were."""
        self._driver.switch_to.window(self.handles[0])
        targets = self._driver.execute_cdp_cmd("Target.getTargets", {})["targetInfos"]
        workers = [target["targetId"] for target in targets if target["type"] == "shared_worker"]
        message = json.dumps({"id": 1, "method": "Runtime.evaluate", "params": {"expression": "self.close()"}})
        for worker in workers:
            attached = self._driver.execute_cdp_cmd("Target.attachToTarget", {"targetId": worker})
            command = {"sessionId": attached["sessionId"], "message": message}
            self._driver.execute_cdp_cmd("Target.sendMessageToTarget", command)
        return len(workers)

    def each(self, script: str) -> list[Any]:
        """What a script returns in each tab."""
        answers = []
        for handle in self.handles:
            self._driver.switch_to.window(handle)
            answers.append(self._driver.execute_script(script))  # type: ignore[no-untyped-call]
        return answers

    def until(self, condition: Any, message: Any) -> None:
        WebDriverWait(self._driver, _SECONDS_TO_ARRIVE, 0.05).until(lambda _: condition(), message)

    def until_shown(self) -> None:
        """Waits until each tab has seen all changes."""
        changes = self._server.changes
        counts = [changes, (changes + 1) // 2]
        self.until(lambda: all(each == counts for each in self.each(_COUNTS)), "a tab lacks changes")

    def until_served(self, streams: int, subscriptions: int) -> None:
        """Waits until the server has so many connections and live queries."""
        expected = (streams, subscriptions)
        self.until(lambda: (self._server.streams(), self._server.subscriptions()) == expected, f"never {expected}")

    def until_renewed(self) -> None:
        """Waits until each tab has been asked for another token."""
        before = self.each(_TOKENS)
        self.until(lambda: all(map(gt, self.each(_TOKENS), before)), "a tab was not asked for a token")

    def rename_first(self, name: str) -> None:
        """From now on, the tokens of the first tab are those of another user."""
        self._driver.switch_to.window(self.handles[0])
        self._driver.execute_script("window.tab.name = arguments[0]", name)  # type: ignore[no-untyped-call]

    def seen(self) -> list[dict[str, Any]]:
        """What each tab has seen and shows."""
        return self.each(_SEEN)

    def problems(self) -> list[str]:
        """The differences between the changes that were made and those that the tabs have seen."""
        changes = self._server.changes
        expected = [list(range(changes)), list(range(0, changes, 2))]
        found = []
        for number, tab in enumerate(self.seen()):
            found += [f"tab {number}: {each}" for each in tab["failures"]]
            for name in ("added", "rows"):
                if [sorted(each) for each in tab[name]] != expected:
                    found.append(f"tab {number} has other {name}: {[len(each) for each in tab[name]]}")
            if tab["statuses"] != ["live", "live"]:
                found.append(f"tab {number} is {tab['statuses']}")
        return found


def tick(server: Served) -> None:
    """One change, every other time of both queries."""
    even = "true" if server.changes % 2 == 0 else "false"
    server.transact(f"[{{:tick/number {server.changes} :tick/even {even}}}]")
    server.changes += 1


def run(transport: str, minutes: float, tabs: int, token_seconds: float, pause: float) -> tuple[str, list[str]]:
    """The figures, and what is wrong. The server is restarted after a third and after two thirds of the time."""
    most_streams = 0
    with TemporaryDirectory() as folder:
        server = Server(Path(folder) / "data")
        with chromium(Path(folder) / "profile") as driver:
            driver.set_script_timeout(60)
            pages = Tabs(driver, server, transport, token_seconds)
            for part in range(3):
                with server.running():
                    if part == 0:
                        server.transact(SCHEMA)
                        for _ in range(tabs):
                            pages.open()
                    until = time.monotonic() + minutes * 60 / 3
                    while time.monotonic() < until:
                        tick(server)
                        most_streams = max(most_streams, server.streams())
                        time.sleep(pause)
                    if part == 2:
                        pages.until_shown()
                        streams = server.streams()
                        seen = pages.seen()
                        wrong = pages.problems()
    counts = {name: [tab[name] for tab in seen] for name in ("tokens", "interruptions")}
    warnings = sorted({warning for tab in seen for warning in tab["warnings"]})
    said = (
        f"{transport}: {tabs} tabs, {2 * tabs} live queries, {minutes:g} minutes, tokens of {token_seconds:g} s, "
        f"2 restarts: "
        f"{server.changes} changes, {sum(len(each) for tab in seen for each in tab['added'])} seen, "
        f"{sum(len(tab['failures']) for tab in seen)} failures, "
        f"connections: {most_streams} at most, {streams} at the end; "
        f"tokens {counts['tokens']}, stale states {counts['interruptions']}, warnings {warnings}"
    )
    return said, wrong


@click.command(help=__doc__)
@click.option("--minutes", default=10.0)
@click.option("--tabs", default=6)
@click.option("--token-seconds", default=10.0)
@click.option("--transport", type=click.Choice(["websocket", "event-stream"]), default="websocket")
@click.option("--pause", default=0.2, help="Seconds between two changes.")
def main(minutes: float, tabs: int, token_seconds: float, transport: str, pause: float) -> None:
    said, wrong = run(transport, minutes, tabs, token_seconds, pause)
    click.echo(said)
    for each in wrong:
        click.echo(each, err=True)
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
