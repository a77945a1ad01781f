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


SIZES = '[:find ?name ?size :where [(ground [["a" 3] ["b" 5]]) [[?name ?size]]]]'


def view(console: Console) -> str:
    """The name of the view that is open."""
    return console.text('.results [role=tab][aria-selected="true"]')


def test_the_address_holds_the_view(console: Console) -> None:
    console.run(SIZES)
    before = entries(console)
    console.one(".results [role=tab]").send_keys(Keys.ARROW_RIGHT)
    console.one(".chart canvas")
    assert entries(console) == before + 1
    address = console.browser.current_url
    ended = console.ended()
    console.browser.back()
    asked(console, SIZES, [["a", "3"], ["b", "5"]])
    console.browser.forward()
    console.wait(lambda: view(console) == "Chart")
    # The answer was there already.
    assert console.ended() == ended
    console.browser.get("about:blank")
    console.browser.get(address)
    console.one(".chart canvas")
    assert view(console) == "Chart"
    assert console.text_of() == SIZES
    assert console.messages() == []


def test_a_view_that_is_chosen_leaves_what_is_being_written(console: Console) -> None:
    console.run(SIZES)
    console.write(VERSIONS)
    console.one(".results [role=tab]").send_keys(Keys.ARROW_RIGHT)
    console.one(".chart canvas")
    console.browser.back()
    console.wait(lambda: view(console) == "Table")
    assert console.text_of() == VERSIONS
    assert console.rows() == [["a", "3"], ["b", "5"]]


def test_the_address_holds_that_the_answer_streams(console: Console, packages: Gateway) -> None:
    console.run(NAMES)
    console.button("Live").send_keys(Keys.ENTER)
    console.one(".live-status.live")
    address = console.browser.current_url
    console.browser.back()
    console.wait(lambda: not console.all(".live-status"))
    asked(console, NAMES, [["libsqlite3-0"]])
    console.browser.get("about:blank")
    console.browser.get(address)
    console.one(".live-status.live")
    packages.database.transact('[{:package/name "adalog" :package/version "1"}]')
    console.wait(lambda: sorted(console.rows()) == [["adalog"], ["libsqlite3-0"]])
    assert console.messages() == []
