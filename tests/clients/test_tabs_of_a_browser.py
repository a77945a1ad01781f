"""Tabs that share one connection by a SharedWorker: in Chromium, with tokens of seconds and a server that stops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from bench.live_tabs import SCHEMA, Server, Tabs, problems, tick
from tests.chromium import chromium, needs_chromium

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("browser") / "profile") as driver:
        driver.set_script_timeout(60)
        yield driver


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path / "data")


@pytest.fixture
def tabs(browser: webdriver.Chrome, server: Server, request: pytest.FixtureRequest) -> Iterator[Tabs]:
    first = browser.current_window_handle
    opened = Tabs(browser, server, getattr(request, "param", "websocket"), token_seconds=2)
    yield opened
    while opened.handles:
        opened.close_first()
    browser.switch_to.window(first)


@pytest.mark.parametrize("tabs", ["websocket", "event-stream"], indirect=True)
def test_six_tabs_see_each_change_over_one_connection(tabs: Tabs, server: Server) -> None:
    """While their tokens expire, the server is restarted twice, and the tab that was first is closed."""
    changes = 0
    for part in range(3):
        with server.running():
            if part == 0:
                server.transact(SCHEMA)
                for _ in range(7):
                    tabs.open()
                tabs.until_served(streams=1, subscriptions=14)
                tabs.close_first()
            # What the tabs of the server before have lacked comes with the next change.
            for _ in range(4):
                tick(server, changes)
                changes += 1
            tabs.until_shown(changes)
            tabs.until_served(streams=1, subscriptions=12)
            tabs.until_renewed()
            tick(server, changes)
            changes += 1
            tabs.until_shown(changes)
            seen = tabs.seen()
    assert problems(seen, changes) == []
    assert [tab["warnings"] for tab in seen] == [[]] * 6


def test_users_have_connections_of_their_own(tabs: Tabs, server: Server) -> None:
    with server.running():
        server.transact(SCHEMA)
        for name in ("ada", "bob", "ada", "bob"):
            tabs.open(name)
        tabs.until_served(streams=2, subscriptions=8)


def test_a_tab_that_becomes_another_user_s_leaves_the_connection(tabs: Tabs, server: Server) -> None:
    with server.running():
        server.transact(SCHEMA)
        tabs.open()
        tabs.open()
        tabs.until_served(streams=1, subscriptions=4)
        tabs.rename_first("bob")
        tabs.until_served(streams=2, subscriptions=4)
        tick(server, 0)
        tabs.until_shown(1)
        assert problems(tabs.seen(), 1) == []


@pytest.mark.parametrize(
    "shared_worker", [False, "/examples/live/missing.js", "https://elsewhere.example/worker.js"]
)
def test_without_a_worker_each_tab_has_its_own(tabs: Tabs, server: Server, shared_worker: bool | str) -> None:
    with server.running():
        server.transact(SCHEMA)
        tabs.open(shared_worker=shared_worker)
        tabs.open(shared_worker=shared_worker)
        tabs.until_served(streams=2, subscriptions=4)
        tick(server, 0)
        tabs.until_shown(1)
        seen = tabs.seen()
        assert problems(seen, 1) == []
        assert [len(tab["warnings"]) for tab in seen] == [0 if shared_worker is False else 1] * 2
