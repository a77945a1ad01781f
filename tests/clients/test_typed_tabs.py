"""The recipes of docs/how-to/javascript.md in tabs of Chromium, through a restart and under new tokens."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from tests.chromium import chromium, needs_chromium
from tests.clients.npm import CLIENT, needs_node, run
from tests.clients.typed_project import (
    TrackerServer,
    make_project,
    put_through,
    served_pages,
    text_of,
    without_types,
)
from tests.protocols.node import missing

pytestmark = [
    *needs_chromium,
    needs_node,
    pytest.mark.usefixtures("built"),
    pytest.mark.skipif(missing() is not None, reason="npm"),
]

SECONDS: Final = 30
# Those over event streams need a connection each, of the six that a browser has.
TABS: Final = ("list,page,apollo,urql", "list,page,apollo,urql", "list,urql-stream", "page,urql-stream")
_TEXTS: Final = "return [...document.querySelectorAll('main li')].map(({ textContent }) => textContent)"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path / "profile") as driver:
        yield driver


class Tabs:
    """Tabs of a browser, each with some recipes."""

    def __init__(self, browser: webdriver.Chrome, address: str) -> None:
        self._browser = browser
        self._address = address
        self._tabs: list[tuple[str, list[str]]] = []

    def open(self, recipes: str) -> None:
        self._browser.switch_to.new_window("tab")
        self._tabs.append((self._browser.current_window_handle, recipes.split(",")))
        self._browser.get(f"{self._address}/index.html?recipes={recipes}")

    def each(self) -> Iterator[tuple[list[str], dict[str, Any]]]:
        """The recipes of each tab, and what it has."""
        for handle, recipes in self._tabs:
            self._browser.switch_to.window(handle)
            yield recipes, self._browser.execute_script("return window.page")  # type: ignore[no-untyped-call]

    def tokens(self) -> int:
        """How many were fetched, by the tab that fetched the fewest."""
        return min(page["tokens"] for _, page in self.each())

    def until_shown(self, issues: list[dict[str, Any]]) -> None:
        """Waits until each recipe in each tab shows them."""
        for number, (recipes, _) in enumerate(self.each()):
            for recipe in recipes:
                expected = list(map(text_of, issues)) if recipe == "page" else issues
                wait = WebDriverWait(self._browser, SECONDS, 0.02)
                wait.until(
                    lambda _, recipe=recipe, expected=expected: self._shown(recipe) == expected,  # type: ignore[misc]
                    f"{recipe} in tab {number} is not up to date",
                )

    def _shown(self, recipe: str) -> Any:
        if recipe == "page":
            return self._browser.execute_script(_TEXTS)  # type: ignore[no-untyped-call]
        script = "return window.page.shown[arguments[0]]"
        return without_types(self._browser.execute_script(script, recipe))  # type: ignore[no-untyped-call]


def bundle(project: Path) -> None:
    """Writes the page with all that it needs."""
    esbuild = str(CLIENT / "node_modules" / "esbuild" / "bin" / "esbuild")
    options = ("--bundle", "--format=esm", "--log-level=warning", "--outfile=bundle.js")
    run(esbuild, "browser.mjs", *options, folder=project)
    (project / "shared-worker.js").write_bytes((CLIENT / "dist" / "shared-worker.js").read_bytes())
    (project / "index.html").write_text(
        '<meta charset="utf-8"><body><script type="module" src="bundle.js"></script>'
    )


@pytest.mark.slow
def test_recipes_in_several_tabs(browser: webdriver.Chrome, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with served_pages(project) as pages:
        server = TrackerServer(tmp_path / "data", pages)
        server.start()
        try:
            document = make_project(project, server)
            bundle(project)
            tabs = Tabs(browser, pages)
            for recipes in TABS:
                tabs.open(recipes)
            put_through(server, document, tabs.until_shown, tabs.tokens)
            for recipes, page in tabs.each():
                assert not page["warnings"], recipes
                assert not any("query Issues" in str(each) for each in page["asked"]), recipes
        finally:
            server.stop(signal.SIGKILL)
