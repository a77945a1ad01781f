"""The toolbar of the page that asks: format, cancel, the history."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.page import Console

pytestmark = needs_chromium


def test_format_lays_the_query_out(console: Console) -> None:
    console.write(
        "[:find   ?n (count ?d) :in $ :where [?p :package/name ?n] ; a comment\n"
        " (or [?p :package/depends ?d] [?d :package/depends ?p]) :limit 5]"
    )
    console.button("Format").send_keys(Keys.ENTER)
    expected = (
        "[:find ?n (count ?d)\n"
        " :in $\n"
        " :where [?p :package/name ?n]\n"
        "        ; a comment\n"
        "        (or [?p :package/depends ?d] [?d :package/depends ?p])\n"
        " :limit 5]"
    )
    console.wait(lambda: console.text_of() == expected)
    console.button("Format").send_keys(Keys.ENTER)
    assert console.text_of() == expected


def test_what_does_not_match_is_not_laid_out(console: Console) -> None:
    console.write("[:find ?n :where [?p :package/name ?n]")
    console.button("Format").click()
    assert "do not match" in console.wait(lambda: console.text(".toolbar [role=status]"))


def test_the_history_is_searched_and_restored_by_keys(console: Console) -> None:
    console.run("[:find ?n :where [?p :package/name ?n]]")
    console.run("[:find ?v :where [?p :package/version ?v]]")
    console.button("History").send_keys(Keys.ENTER)
    console.wait(lambda: len(console.all(".history-entry")) == 2)
    assert "3 rows" in console.text(".history-entry")
    console.wait(lambda: console.browser.switch_to.active_element.get_attribute("type") == "search")
    search = console.browser.switch_to.active_element
    search.send_keys("find name")
    console.wait(lambda: len(console.all(".history-entry")) == 1)
    search.send_keys(Keys.ENTER)
    console.wait(lambda: console.rows()[:1] == [["libsqlite3-0"]])
    assert console.text_of() == "[:find ?n :where [?p :package/name ?n]]"


def test_a_link_opens_with_what_was_asked_from_the_history(console: Console) -> None:
    console.run("[:find ?n :where [?p :package/name ?n]]")
    console.open()
    console.button("History").click()
    console.one(".history-entry").send_keys(Keys.ENTER)
    console.wait(lambda: len(console.rows()) == 3)
