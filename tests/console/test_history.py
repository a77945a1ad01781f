"""Back and forward between the questions that were asked."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.page import Console
from tests.gateway.support import Gateway

pytestmark = needs_chromium

NAMES = '[:find ?name :where [?p :package/name ?name] [(< ?name "p")]]'
VERSIONS = '[:find ?version :where [?p :package/name "python3"] [?p :package/version ?version]]'


def entries(console: Console) -> int:
    return int(console.script("return window.history.length"))


def asked(console: Console, query: str, rows: list[list[str]]) -> None:
    """Waits until a question and its answer are shown."""
    console.wait(lambda: console.text_of() == query and console.rows() == rows)


def test_back_and_forward_go_through_the_questions(console: Console) -> None:
    before = entries(console)
    console.run(NAMES)
    asked(console, NAMES, [["libsqlite3-0"]])
    # The page that had asked nothing has no entry of its own.
    assert entries(console) == before
    console.run(VERSIONS)
    asked(console, VERSIONS, [["3.11"]])
    console.browser.back()
    asked(console, NAMES, [["libsqlite3-0"]])
    console.browser.forward()
    asked(console, VERSIONS, [["3.11"]])
    assert entries(console) == before + 1
    assert console.messages() == []


def test_the_same_question_again_makes_no_entry(console: Console) -> None:
    console.run(NAMES)
    before = entries(console)
    console.run(NAMES)
    assert entries(console) == before


def test_the_steps_of_the_slider_make_no_entries(console: Console, packages: Gateway) -> None:
    packages.database.transact('[{:package/name "zlib1g" :package/version "1.2"}]')
    console.open()
    console.run(VERSIONS)
    asked(console, VERSIONS, [["3.11"]])
    before = entries(console)
    console.button("As of…").send_keys(Keys.ENTER)
    console.wait(lambda: console.one(".slider").get_attribute("max") == "3")
    console.one(".slider").send_keys(Keys.HOME)
    asked(console, VERSIONS, [])
    console.one(".slider").send_keys(Keys.END)
    asked(console, VERSIONS, [["3.11"]])
    assert entries(console) == before
