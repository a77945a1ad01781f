"""examples/live in a browser: one tab shows what another one does; another database is changed only on a click."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from adalog.gateway.settings.config import Settings
from tests.chromium import chromium, needs_chromium, waiting
from tests.gateway.support import gateway, served

PACKAGES = """
[{:db/ident :section/name :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :package/name :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :package/section :db/valueType :db.type/ref}
 {:db/ident :package/depends :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :package/vulnerable :db/valueType :db.type/boolean}]
"""
GRAPH = """
[{:db/id "libs" :section/name "libs"} {:db/id "web" :section/name "web"}
 {:db/id "c" :package/name "libc6" :package/section "libs"}
 {:db/id "z" :package/name "zlib1g" :package/section "libs" :package/depends ["c"]}
 {:db/id "png" :package/name "libpng16-16" :package/section "libs" :package/depends ["z" "c"]}
 {:package/name "firefox-esr" :package/section "web" :package/depends ["png"]}
 {:package/name "curl" :package/section "web" :package/depends ["z"]}]
"""

pytestmark = [
    *needs_chromium,
    # A page takes a request back that was not begun: graphql-core then drops its resolver's coroutine.
    pytest.mark.filterwarnings("ignore:.*_async_resolver:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*_async_resolver:RuntimeWarning"),
]


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path / "profile") as driver:
        yield driver


class Tab:
    """One tab with the page."""

    def __init__(self, browser: webdriver.Chrome, address: str) -> None:
        browser.switch_to.new_window("tab")
        self._browser = browser
        self._handle = browser.current_window_handle
        browser.get(f"{address}/examples/live/")

    def _find(self, selector: str) -> list[str]:
        self._browser.switch_to.window(self._handle)
        script = "return [...document.querySelectorAll(arguments[0])].map(each => each.textContent)"
        found: list[str] = self._browser.execute_script(script, selector)  # type: ignore[no-untyped-call]
        return found

    def shows(self, selector: str, *texts: str) -> None:
        """Waits until the elements have these texts."""
        waiting(self._browser, 60).until(
            lambda _: self._find(selector) == list(texts), f"{selector}: {self._find(selector)}"
        )

    def mark(self, package: str) -> None:
        self._browser.switch_to.window(self._handle)
        self._browser.find_element(By.ID, "package").send_keys(package, Keys.ENTER)

    def click(self, selector: str) -> None:
        self._browser.switch_to.window(self._handle)
        self._browser.find_element(By.CSS_SELECTOR, selector).click()

    def is_shown(self, selector: str) -> None:
        """Waits until the element can be seen."""
        self._browser.switch_to.window(self._handle)
        element = self._browser.find_element(By.CSS_SELECTOR, selector)
        waiting(self._browser, 60).until(lambda _: element.is_displayed(), f"{selector} is not shown")

    def has_stops(self, number: int) -> None:
        """Waits until so many moments can be gone back to."""
        self._browser.switch_to.window(self._handle)
        moment = self._browser.find_element(By.ID, "moment")
        waiting(self._browser, 60).until(lambda _: moment.get_attribute("max") == str(number))

    def slide(self, key: str) -> None:
        self._browser.switch_to.window(self._handle)
        self._browser.find_element(By.ID, "moment").send_keys(key)


def test_two_tabs(browser: webdriver.Chrome) -> None:
    with gateway(None, PACKAGES, GRAPH) as opened, served(opened.app) as address:
        one, other = Tab(browser, address), Tab(browser, address)
        for tab in (one, other):
            tab.shows("#total", "0")
            tab.shows("#marked li", "nothing is marked")

        one.mark("zlib1g")
        for tab in (one, other):
            tab.shows("#marked li", "zlib1g✕")
            tab.shows("#total", "4")
            tab.shows("#rows td:first-child", "zlib1g", "curl", "libpng16-16", "firefox-esr")
            tab.shows("#rows td:nth-child(2)", "0", "1", "1", "2")
            tab.shows("#status[data-status=live]", f"live · t {opened.database.snapshot().t}")

        other.mark("libpng16-16")
        one.shows("#rows td:nth-child(2)", "0", "0", "1", "1")
        one.shows(".steps li", "2marked", "21 step")
        other.click("#marked li:last-child button")
        one.shows("#rows td:first-child", "libpng16-16", "firefox-esr")
        one.shows("#change", "−2")

        # Back in time in one tab; the other one goes on.
        one.has_stops(3)
        one.slide(Keys.ARROW_LEFT)
        one.shows("#total", "4")
        one.slide(Keys.HOME)
        one.shows("#total", "0")
        one.shows("#when", "Before anything was marked.")
        other.mark("curl")
        other.shows("#total", "3")
        one.shows("#total", "0")
        one.click("#now")
        one.shows("#total", "3")

        one.click("#replay")
        one.shows("#replay", "Stop")
        one.shows("#total", "0")
        one.shows("#replay", "Replay")
        one.shows("#total", "3")

        one.mark("no-such-package")
        one.shows("#problem:not([hidden])", "There is no package no-such-package.")
        problems = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[no-untyped-call]
        assert problems == []


def test_another_database_is_changed_only_on_a_click(browser: webdriver.Chrome) -> None:
    schema = "[{:db/ident :package/name :db/valueType :db.type/string :db/unique :db.unique/identity}]"
    with gateway(None, schema) as opened, served(opened.app) as address:
        tab = Tab(browser, address)
        tab.is_shown("#add")
        assert not browser.find_element(By.ID, "package").is_displayed()
        assert opened.database.snapshot().t == 1
        announced = browser.find_element(By.ID, "addition").text
        assert ":db/ident :package/name" not in announced
        assert '{:package/name "inkscape"' in announced

        tab.click("#add")
        tab.is_shown("#package")
        tab.shows("#total", "0")
        tab.mark("liblzma5")
        tab.shows("#total", "5")
        assert opened.database.snapshot().t == 3
        names = opened.q("[:find ?n :where [_ :package/name ?n]]")
        assert all(f'"{name}"' in announced for [name] in names)
        assert len(names) == 12


def test_an_attribute_that_means_something_else_is_left_alone(browser: webdriver.Chrome) -> None:
    schema = "[{:db/ident :package/name :db/valueType :db.type/long}]"
    with gateway(None, schema) as opened, served(opened.app) as address:
        tab = Tab(browser, address)
        tab.is_shown("#problem")
        assert "another :package/name" in browser.find_element(By.ID, "problem").text
        assert not browser.find_element(By.ID, "add").is_displayed()


def test_a_token_is_asked_for_and_a_reader_is_told_why(browser: webdriver.Chrome, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    hashes = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("read", "admin")}
    file.write_text("".join(f"{name}:{name}:{digest}\n" for name, digest in hashes.items()))
    file.chmod(0o600)
    with gateway(Settings(data=":memory:", auth=str(file))) as opened, served(opened.app) as address:
        tab = Tab(browser, address)
        tab.shows("#problem:not([hidden])", "This server requires a token.")
        browser.find_element(By.ID, "token").send_keys("read", Keys.ENTER)
        tab.shows("#setup-title", "Not in this database yet")
        tab.is_shown("#add")
        tab.click("#add")
        tab.is_shown("#problem")
        said = browser.find_element(By.ID, "problem").text
        assert said.startswith("This token is not permitted to change the database.")
        assert opened.database.snapshot().t == 0

        browser.find_element(By.ID, "token").send_keys("admin", Keys.ENTER)
        waiting(browser, 60).until(lambda page: not page.find_element(By.ID, "problem").is_displayed())
        tab.is_shown("#add")
        tab.click("#add")
        tab.is_shown("#package")
        assert browser.current_url == f"{address}/examples/live/"
