"""Tabs that share one connection by a SharedWorker: in Chromium, with tokens of seconds and a server that stops."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pydantic import SecretStr
from selenium import webdriver

from adalog.executor.pool import Pool
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from bench.live_tabs import SCHEMA, SECRET, Tabs, tick
from bench.server import free_port
from tests.chromium import chromium, needs_chromium
from tests.clients.npm import ROOT
from tests.gateway.support import Gateway, served

pytestmark = needs_chromium


class Restarting:
    """A gateway that is stopped and started again on the same port and folder."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.changes = 0
        settings = Settings(data=str(folder), port=self.port, jwt_algorithms="HS256", jwt_secret=SecretStr(SECRET))
        self._settings = checked(settings)
        with Database.open(str(folder)) as database:
            database.transact(SCHEMA)

    @contextmanager
    def running(self) -> Iterator[None]:
        with Database.open(self._settings.data) as database:
            pool = Pool(database)
            self._gateway = Gateway(database, pool, self._settings)
            with self._gateway.app.state.hub, served(self._gateway.app, self._settings):
                yield
            self._gateway.http.close()
            pool.close()

    def transact(self, tx: str) -> None:
        self._gateway.database.transact(tx)

    def streams(self) -> int:
        return sum(self._gateway.app.state.wire.streams.values())

    def subscriptions(self) -> int:
        found: int = self._gateway.app.state.hub.figures.subscriptions
        return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("browser") / "profile") as driver:
        driver.set_script_timeout(60)
        yield driver


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Restarting:
    monkeypatch.setattr("adalog.gateway.identity.jwt_tokens.CLOCK_SKEW_SECONDS", 0.0)
    return Restarting(tmp_path / "data")


@pytest.fixture
def tabs(browser: webdriver.Chrome, server: Restarting, request: pytest.FixtureRequest) -> Iterator[Tabs]:
    first = browser.current_window_handle
    opened = Tabs(browser, server, getattr(request, "param", "websocket"), token_seconds=2)
    yield opened
    while opened.handles:
        opened.close_first()
    browser.switch_to.window(first)


@pytest.mark.parametrize("tabs", ["websocket", "event-stream"], indirect=True)
def test_six_tabs_see_each_change_over_one_connection(tabs: Tabs, server: Restarting) -> None:
    """While their tokens expire, the server is restarted twice, and the tab is closed that was the first."""
    for part in range(3):
        with server.running():
            if part == 0:
                for _ in range(7):
                    tabs.open()
                tabs.until_served(streams=1, subscriptions=14)
                tabs.close_first()
            for _ in range(4):
                tick(server)
            tabs.until_shown()
            tabs.until_served(streams=1, subscriptions=12)
            tabs.until_renewed()
            tick(server)
            tabs.until_shown()
            problems = tabs.problems()
            seen = tabs.seen()
    assert problems == []
    assert [tab["warnings"] for tab in seen] == [[]] * 6


def test_each_user_has_a_connection(tabs: Tabs, server: Restarting) -> None:
    with server.running():
        for name in ("ada", "bob", "ada", "bob"):
            tabs.open(name)
        tabs.until_served(streams=2, subscriptions=8)
        tabs.rename_first("carol")
        tabs.until_served(streams=3, subscriptions=8)
        tick(server)
        tabs.until_shown()
        assert tabs.problems() == []


def test_a_tab_that_crashes_and_a_worker_that_ends(tabs: Tabs, server: Restarting) -> None:
    """The live queries of the tab end on the server; those of the worker go on, in another one or without."""
    with server.running():
        for _ in range(3):
            tabs.open()
        tabs.until_served(streams=1, subscriptions=6)
        tabs.crash_first()
        tabs.until_served(streams=1, subscriptions=4)
        assert tabs.end_worker()
        tick(server)
        tabs.until_shown()
        assert server.subscriptions() == 4
        assert tabs.problems() == []


@pytest.mark.parametrize(
    "shared_worker", [False, "/examples/live/missing.js", "https://elsewhere.example/worker.js"]
)
def test_without_a_worker_each_tab_has_its_own(tabs: Tabs, server: Restarting, shared_worker: bool | str) -> None:
    with server.running():
        tabs.open(shared_worker=shared_worker)
        tabs.open(shared_worker=shared_worker)
        tabs.until_served(streams=2, subscriptions=4)
        tick(server)
        tabs.until_shown()
        assert tabs.problems() == []
        assert [len(tab["warnings"]) for tab in tabs.seen()] == [0 if shared_worker is False else 1] * 2


@pytest.fixture
def foreign_page() -> Iterator[str]:
    """The address of a web server that is not the gateway, with the client's files."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(ROOT / "examples" / "live"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as pages:
        thread = threading.Thread(target=pages.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{pages.server_address[1]}"
        finally:
            pages.shutdown()
            thread.join()


@pytest.mark.parametrize("shared_worker", [True, False])
def test_a_page_whose_origin_is_not_listed_is_told_so(
    browser: webdriver.Chrome, server: Restarting, foreign_page: str, shared_worker: bool
) -> None:
    with server.running():
        browser.get(f"{foreign_page}/adalog-client.js")
        said, warnings = browser.execute_async_script(
            """
            const [url, sharedWorker, done] = arguments;
            const { createClient } = await import("/adalog-client.js");
            const warnings = [];
            const onWarning = (message) => warnings.push(message);
            const client = createClient({ url, sharedWorker, onWarning, backoff: { minMs: 10, maxMs: 20 } });
            const live = client.live("[:find ?e :where [?e :db/ident]]");
            const errors = new Set();
            live.subscribe(() => {
              if (live.error !== undefined) errors.add(live.error);
              if (errors.size < 3) return;
              live.close();
              done([live.error?.message ?? [...errors].at(-1).message, warnings]);
            });
            """,
            f"http://127.0.0.1:{server.port}/graphql",
            shared_worker,
        )
    hint = f"if this page's origin {foreign_page} is not in the server's ADALOG_ALLOWED_ORIGINS, list it"
    assert said == f"no answer from the server: Failed to fetch; {hint}"
    assert warnings == [f"no answer from http://127.0.0.1:{server.port}/graphql; {hint}"]
