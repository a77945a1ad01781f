"""The page that asks: a query by keys, its rows, its errors, and an address that opens it again."""

from __future__ import annotations

from urllib.parse import urlsplit

from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.page import Console
from tests.gateway.explorer.test_browser import requested

pytestmark = needs_chromium

NAMES = "[:find ?name ?version\n :where [?p :package/name ?name]\n        [?p :package/version ?version]]"


def test_a_query_is_asked_by_keys_and_nothing_leaves_the_host(console: Console) -> None:
    console.run(NAMES)
    assert console.wait(console.rows) == [["libsqlite3-0", "3.40"], ["python3", "3.11"], ["sqlite3", "3.40.1"]]
    assert console.messages() == []
    hosts = {urlsplit(url).netloc for url in requested(console.browser)}
    assert hosts == {urlsplit(console.address).netloc}


def test_the_address_opens_the_question_again(console: Console) -> None:
    query = "[:find ?version :in $ ?name :where [?p :package/name ?name] [?p :package/version ?version]]"
    console.write(query)
    field = console.one(".arguments input")
    field.send_keys("sqlite3")
    field.send_keys(Keys.ENTER)
    assert console.wait(console.rows) == [["3.40.1"]]
    address = console.browser.current_url
    console.browser.get("about:blank")
    console.browser.get(address)
    assert console.wait(console.rows) == [["3.40.1"]]
    assert console.text_of() == query


def test_an_error_says_where(console: Console) -> None:
    console.run("[:find ?x\n :where [?p :package/name ?name]]")
    assert "line 1, column 8" in console.text(".results .error")


def test_a_value_that_is_markup_stays_text(console: Console) -> None:
    console.run('[:find ?x :where [(ground "<img src=x onerror=alert(1)>") ?x]]')
    assert console.wait(console.rows) == [["<img src=x onerror=alert(1)>"]]
    assert console.all("main img") == []


def test_the_page_begins_with_the_types_of_the_data(console: Console) -> None:
    console.button("package 3", ".welcome").send_keys(Keys.ENTER)
    console.wait(lambda: {row[0] for row in console.rows()} == {"libsqlite3-0", "python3", "sqlite3"})
    assert ":package/name" in console.text_of()
    # What was asked is there again in the next tab.
    console.open()
    console.wait(lambda: ":package/name" in console.text(".welcome .history"))


def test_an_answer_to_an_older_text_says_so(console: Console) -> None:
    console.run(NAMES)
    assert console.all(".edited") == []
    console.write("[:find ?n :where [_ :package/version ?n]]")
    assert console.text(".edited") == "The query was edited since."
    console.write(NAMES)
    console.wait(lambda: console.all(".edited") == [])
