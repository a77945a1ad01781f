"""Streams of the page go on: after a restart of the server, a lost connection, and with another token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from adalog.executor.pool import Pool
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from tests.chromium import needs_chromium
from tests.console.page import Console
from tests.console.proxy import Proxy, proxied
from tests.console.test_live import NAMES, THREE, names
from tests.gateway.clock import Clock
from tests.gateway.conftest import clock as clock
from tests.gateway.explorer.test_browser import PACKAGES, SQLITE
from tests.gateway.identity.signed_tokens import settings_for, token
from tests.gateway.support import Gateway, gateway, served

pytestmark = needs_chromium

TABS = 6
LIVE = f"#/ask?query={quote(NAMES)}&live=true"
ADD = '[{:package/name "zlib1g" :package/version "1.2"}]'
AWAY = '[[:db/retractEntity [:package/name "python3"]] [:db/add [:package/name "sqlite3"] :package/version "4"]]'
LOST = "Not up to date: connecting again…"
BACK = '[{:package/name "bash" :package/version "5"}]'


class Restarting:
    """A server of one folder, which is started again behind the same port."""

    def __init__(self, folder: Path, proxy: Proxy) -> None:
        self._settings = checked(Settings(data=str(folder), port=0))
        self._proxy = proxy
        self.transact(PACKAGES, SQLITE)

    def transact(self, *texts: str) -> None:
        """While no server runs."""
        with Database.open(self._settings.data) as database:
            for text in texts:
                database.transact(text)

    @contextmanager
    def running(self) -> Iterator[Gateway]:
        with Database.open(self._settings.data) as database:
            pool = Pool(database)
            opened = Gateway(database, pool, self._settings)
            try:
                with opened.app.state.hub, served(opened.app, self._settings) as address:
                    self._proxy.target = address
                    yield opened
                    self._proxy.target = None
                    self._proxy.cut()
            finally:
                opened.app.state.surfaces.close()
                opened.http.close()
                pool.close()


class Tabs:
    """Tabs of one browser with the same stream."""

    def __init__(self, browser: webdriver.Chrome, address: str) -> None:
        self._browser = browser
        self._first = browser.current_window_handle
        self._console = Console(browser, address)
        self.handles: list[str] = []

    def open(self, bearer: str = "") -> Console:
        self._browser.switch_to.new_window("tab")
        self.handles.append(self._browser.current_window_handle)
        if bearer:
            self._browser.get(f"{self._console.address}/healthz")
            self._console.script("sessionStorage.setItem('adalog:token', arguments[0])", bearer)
        self._console.open(LIVE)
        return self._console

    def each(self) -> Iterator[Console]:
        """The page of each tab, which is the one that is looked at."""
        for handle in self.handles:
            self._browser.switch_to.window(handle)
            yield self._console

    def wake(self) -> None:
        """As the browser does when the network comes back; without it, each waits its time."""
        for console in self.each():
            console.script("window.dispatchEvent(new Event('online'))")

    def until(self, status: str, rows: set[str]) -> None:
        for console in self.each():
            console.wait(lambda console=console: (status_of(console), names(console)) == (status, rows))  # type: ignore[misc]

    def close(self) -> None:
        for handle in self.handles:
            self._browser.switch_to.window(handle)
            self._browser.close()
        self._browser.switch_to.window(self._first)


def status_of(console: Console) -> str:
    text: str = console.script("return document.querySelector('.live-status')?.textContent ?? ''")
    return text


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with proxied(None) as opened:
        yield opened


@pytest.fixture
def tabs(browser: webdriver.Chrome, proxy: Proxy) -> Iterator[Tabs]:
    opened = Tabs(browser, proxy.address)
    yield opened
    opened.close()


def test_all_tabs_go_on_after_a_restart(tabs: Tabs, proxy: Proxy, tmp_path: Path) -> None:
    server = Restarting(tmp_path / "data", proxy)
    with server.running() as opened:
        for _ in range(TABS):
            tabs.open()
        tabs.until("Live", THREE)
        opened.database.transact(ADD)
        tabs.until("Live", {*THREE, "zlib1g"})
    # What is shown stays, and is said to be of an earlier moment.
    tabs.until(LOST, {*THREE, "zlib1g"})
    server.transact(AWAY)
    with server.running() as opened:
        tabs.wake()
        tabs.until("Live", {"libsqlite3-0", "sqlite3", "zlib1g"})
        opened.database.transact(BACK)
        tabs.until("Live", {"bash", "libsqlite3-0", "sqlite3", "zlib1g"})
        for console in tabs.each():
            assert ["sqlite3", "4"] in [row[:2] for row in console.rows()]


def test_all_tabs_go_on_after_a_lost_connection(tabs: Tabs, proxy: Proxy, packages: Gateway) -> None:
    with served(packages.app) as address:
        proxy.target = address
        for _ in range(TABS):
            tabs.open()
        tabs.until("Live", THREE)
        for tx, rows in ((ADD, {*THREE, "zlib1g"}), (AWAY, {"libsqlite3-0", "sqlite3", "zlib1g"})):
            before = next(names(console) for console in tabs.each())
            proxy.target = None
            proxy.cut()
            tabs.until(LOST, before)
            packages.database.transact(tx)
            proxy.target = address
            tabs.wake()
            tabs.until("Live", rows)
        for console in tabs.each():
            # They went on where they were.
            assert "sent all rows again" not in console.text(".moment")


def test_tabs_go_on_with_a_token_for_one_that_expired(
    tabs: Tabs, proxy: Proxy, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adalog.gateway.identity.jwt_tokens.CLOCK_SKEW_SECONDS", 0.0)
    with gateway(settings_for(tmp_path, port=0), PACKAGES, SQLITE) as opened, served(opened.app) as address:
        proxy.target = address
        for _ in range(2):
            tabs.open(token(iat=None))
        tabs.until("Live", THREE)
        # The browser's clock goes on as it did: it is the server that finds the token to be expired.
        clock.now += 700
        tabs.until("Ended by an error", THREE)
        opened.database.transact(ADD)
        for console in tabs.each():
            assert "the token has expired" in console.text(".moment .error")
            console.button("Identity: ada", "header").send_keys(Keys.ENTER)
            fresh = token(iat=None, exp=int(clock.now) + 600)
            console.one("dialog [name=token]").send_keys(fresh, Keys.ENTER)
            console.wait(lambda console=console: status_of(console) == "Live")  # type: ignore[misc]
        tabs.until("Live", {*THREE, "zlib1g"})
        opened.database.transact(AWAY)
        tabs.until("Live", {"libsqlite3-0", "sqlite3", "zlib1g"})
