"""The explorer over any database: its tabs, EDN in its editors, the text of plans, tokens, narrow screens."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from adalog.gateway.settings.config import Settings
from tests.chromium import chromium, needs_chromium
from tests.gateway.support import gateway, served

SCHEMA = """
[{:db/ident :user/email :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :issue/key :db/valueType :db.type/uuid :db/unique :db.unique/identity}
 {:db/ident :issue/title :db/valueType :db.type/string}
 {:db/ident :issue/status :db/valueType :db.type/keyword}
 {:db/ident :issue/place :db/valueType :db.type/tuple :db/tupleTypes [:db.type/string :db.type/long]}
 {:db/ident :issue/owner :db/valueType :db.type/ref}]
"""
ROWS = """
[{:db/id "ada" :user/email "ada@example.org"}
 {:issue/key #uuid "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21" :issue/title "Login fails" :issue/status :open
  :issue/owner "ada"}
 {:issue/title "A page is slow" :issue/status :open :issue/place ["lab" 7]}]
"""
NAMED = ".graphiql-tab-button"
EDITOR = "document.querySelector('.graphiql-query-editor .CodeMirror').CodeMirror"
MARKS = """
return [...document.querySelectorAll('.CodeMirror')].flatMap(({ CodeMirror: editor }) =>
  editor.getAllMarks().filter(({ className }) => className?.startsWith('adalog-problem')).map((mark) => {
    const { from, to } = mark.find()
    return [mark.className.split('adalog-').pop(), editor.getRange(from, to), from.line + 1]
  }))
"""
COLOURS = """
return Object.fromEntries([...document.querySelectorAll('.graphiql-query-editor [class*=cm-edn]')].map(
  (each) => [each.textContent, /cm-edn-(\\w+)/.exec(each.className)[1]]))
"""
CHECKED_ANEW = """
const editor = document.querySelector('.graphiql-editor-tool .CodeMirror').CodeMirror
editor.constructor.signal(editor, 'change', editor)
"""
# Whether the page fits, and each of its parts.
FITS = """
const parts = ['.graphiql-query-editor', '.graphiql-execute-button', '.graphiql-response']
return document.documentElement.scrollWidth === innerWidth && parts.every((each) => {
  const { left, right, top, bottom } = document.querySelector(each).getBoundingClientRect()
  return left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight && bottom - top > 30
})
"""

pytestmark = [
    *needs_chromium,
    # A page takes a request back that was not begun: graphql-core then drops its resolver's coroutine.
    pytest.mark.filterwarnings("ignore:.*_async_resolver:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*_async_resolver:RuntimeWarning"),
]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("browser") / "profile") as started:
        yield started


class Page:
    """The explorer in a browser. Each test has a server of its own, and so its own storage."""

    def __init__(self, driver: webdriver.Chrome, address: str) -> None:
        self.driver = driver
        self.address = address
        self.open()

    def open(self, query: str = "") -> None:
        self.driver.get(f"{self.address}/graphql{query}")
        self.until(lambda: self.all(".graphiql-execute-button"))

    def until(self, condition: Callable[[], Any]) -> None:
        WebDriverWait(self.driver, 30, 0.05).until(lambda _: condition())

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def script(self, text: str, *arguments: Any) -> Any:
        return self.driver.execute_script(text, *arguments)  # type: ignore[no-untyped-call]

    def tabs(self) -> list[str]:
        return [tab.text for tab in self.all(NAMED)]

    def result(self) -> Any:
        text = self.script("return document.querySelector('.result-window .CodeMirror')?.CodeMirror?.getValue()")
        return orjson.loads(text) if text else {}

    def choose(self, name: str) -> None:
        next(tab for tab in self.all(NAMED) if tab.text == name).click()
        self.until(lambda: f" {name} " in self.script(f"return {EDITOR}.getValue()"))
        # GraphiQL reads the operation's name from the text a moment later.
        self.until(lambda: self.script(f"return {EDITOR}.operationName") == name)

    def run(self, query: str | None = None) -> Any:
        """The answer to the query in the editor."""
        if query is not None:
            self.script(f"{EDITOR}.setValue(arguments[0])", query)
        self.script("document.querySelector('.result-window .CodeMirror')?.CodeMirror?.setValue('')")
        self.all(".graphiql-execute-button")[0].click()
        self.until(self.result)
        return self.result()

    def problems(self) -> list[Any]:
        entries = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry for entry in entries if entry["level"] == "SEVERE"]


def test_tabs_are_about_the_database_that_is_served(driver: webdriver.Chrome) -> None:
    with gateway(None, SCHEMA, ROWS) as opened, served(opened.app) as address:
        page = Page(driver, address)
        assert page.tabs() == ["Rows", "Counts", "Refs", "Text", "Pull", "Plan", "Live", "Transact"]
        answers = {}
        for name in page.tabs():
            page.choose(name)
            answers[name] = page.run()
            assert "errors" not in answers[name], (name, answers[name])
        assert answers["Rows"]["data"]["q"]["warnings"] == []
        assert [row[1] for row in answers["Rows"]["data"]["q"]["rows"]] == ["Login fails", "A page is slow"]
        assert answers["Counts"]["data"]["q"]["rows"] == [[":open", 2]]
        assert answers["Refs"]["data"]["q"]["rows"] == [[{":db/id": 1, ":user/email": "ada@example.org"}, 1]]
        assert answers["Text"]["data"]["q"]["rows"] == [[2, "Login fails"], [3, "A page is slow"]]
        assert answers["Pull"]["data"]["pull"][":issue/owner"][":user/email"] == "ada@example.org"
        assert answers["Live"]["data"]["live"]["rows"] == [[":open", 2]]
        assert answers["Transact"]["data"]["transact"]["t"] == 3
        assert page.problems() == []


def test_an_empty_database_gets_a_schema_first(driver: webdriver.Chrome) -> None:
    with gateway(None) as opened, served(opened.app) as address:
        page = Page(driver, address)
        assert page.tabs() == ["Define", "Add", "Friends", "Live"]
        for name in ("Define", "Add"):
            page.choose(name)
            page.run()
        page.choose("Friends")
        assert page.run()["data"]["q"]["rows"] == [["Charles Babbage", "Ada Lovelace"]]

        # Tabs that were not edited make room for those about the new attributes; others stay.
        page.run("query Mine { database { basisT } }")
        # GraphiQL stores its tabs a moment later.
        page.until(lambda: "Mine" in page.script("return localStorage['graphiql:tabState'] ?? ''"))
        page.open()
        assert page.tabs() == ["Mine", "Rows", "Counts", "Refs", "Text", "Pull", "Plan", "Live", "Transact"]
        page.open("?query={database{entityCount}}")
        assert page.script(f"return {EDITOR}.getValue()") == "{database{entityCount}}"


def test_edn_is_coloured_and_its_problems_are_underlined(driver: webdriver.Chrome) -> None:
    with gateway(None, SCHEMA, ROWS) as opened, served(opened.app) as address:
        page = Page(driver, address)
        page.until(lambda: "Live" in page.tabs())
        page.run('''{ q(query: """

              [:find ?title ; all titles
               :where [_ :issue/title ?title] [?e :issue/titel #uuid "x y"] [(> ?title 15)] [?e]]
            """) { rows warnings { line column message } } }''')
        colours = page.script(COLOURS)
        assert colours[":issue/title"] == "keyword"
        assert colours["?title"] == "variable"
        assert colours["; all titles"] == "comment"
        assert colours['"x y"'] == "string"
        assert colours["15"] == "number"
        assert colours["#uuid"] == "tag"
        assert "rows" not in colours

        page.run('{ q(query: """\n\n    [:find ?title ?x\n     :where [?i :issue/title ?title]]""") { rows } }')
        page.until(lambda: page.script(MARKS) == [["error", "?x", 3]])
        page.run('{ q(query: "[:find ?t :where [?i :issue/title ?t] [(str \\"a\\") ?t] [(nope ?t)]]") { rows } }')
        page.until(lambda: page.script(MARKS) == [["error", "nope", 1]])
        page.run('{ named: pull(eid: "1", pattern: "[:issue/titel]") }')
        page.until(lambda: page.script(MARKS) == [["warning", ":issue/titel", 1]])
        page.run('mutation { transact(tx: """[{:issue/title "ä"\n  :issue/owner}]""") { t } }')
        page.until(lambda: page.script(MARKS) == [["error", ":issue/owner", 2]])
        for field, marked in (
            ('pull(pattern: "[*]", eid: "[:user/email\\n 1x]")', ["error", "1x", 1]),
            ('pullMany(pattern: "[*]", eids: ["1", "Ada :b"])', ["error", ":b", 1]),
            ('pull(pattern: "[*]", eid: "1", with: """[{:issue/title 5}]""")', ["error", "5", 1]),
            (
                'datoms(index: EAVT, components: ["1", ":issue/titel"]) { pageInfo { endCursor } }',
                ["error", ":issue/titel", 1],
            ),
        ):
            page.run(f"{{ {field} }}")
            page.until(lambda marked=marked: page.script(MARKS) == [marked])

        # In the variables, too, until the text is changed.
        variables = orjson.dumps({"q": "[:find ?t\n :where [_ :issue/titel ?t]]"}).decode()
        script = "document.querySelector('.graphiql-editor-tool .CodeMirror').CodeMirror.setValue(arguments[0])"
        page.script(script, variables)
        page.run("query ($q: EDN!) { q(query: $q) { warnings { line column message } } }")
        page.until(lambda: page.script(MARKS) == [["warning", ":issue/titel", 1]])
        # GraphiQL checks the variables anew 100 ms after the query was changed.
        page.script(CHECKED_ANEW)
        assert page.script(MARKS) == [["warning", ":issue/titel", 1]]
        page.script(script, variables.replace("titel", "title"))
        assert page.script(MARKS) == []
        page.script(script, orjson.dumps({"e": ['[:user/email "ada@x.y"]', "ada :b", "1"]}).decode())
        page.run('query ($e: [EDN!]!) { pullMany(pattern: "[*]", eids: $e) }')
        page.until(lambda: page.script(MARKS) == [["error", ":b", 1]])


def test_a_text_may_be_run_before_graphiql_has_read_it(driver: webdriver.Chrome) -> None:
    at_once = f"{EDITOR}.setValue(arguments[0]); document.querySelector('.graphiql-execute-button').click()"
    with gateway(None, SCHEMA, ROWS) as opened, served(opened.app) as address:
        page = Page(driver, address)
        page.choose("Rows")
        page.script(at_once, 'subscription S { live(query: "[:find ?s :where [_ :issue/status ?s]]") { rows } }')
        page.until(lambda: page.result() == {"data": {"live": {"rows": [[":open"]]}}})
        page.all(".graphiql-execute-button")[0].click()
        page.script(at_once, '{ explain(query: "[:find ?s :where [_ :issue/status ?s]]") { text } }')
        page.until(lambda: page.all(".adalog-text"))


def test_the_text_of_a_plan_is_shown_as_text(driver: webdriver.Chrome) -> None:
    with gateway(None, SCHEMA, ROWS) as opened, served(opened.app) as address:
        page = Page(driver, address)
        page.choose("Plan")
        assert "\\n" not in page.run()["data"]["explain"]["text"]
        (text,) = page.all(".adalog-text")
        assert text.tag_name == "pre"
        assert len(text.text.splitlines()) > 3
        assert "monospace" in text.value_of_css_property("font-family")
        page.choose("Rows")
        page.until(lambda: page.all(".adalog-text") == [])
        page.choose("Plan")
        page.until(lambda: page.all(".adalog-text"))


def test_a_token_is_kept_in_the_tab_and_sent(driver: webdriver.Chrome, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"ada:read:{hashlib.sha256(b'a-secret').hexdigest()}\n")
    file.chmod(0o600)
    settings = Settings(data=":memory:", auth=str(file))
    with gateway(settings) as opened, served(opened.app) as address:
        opened.database.transact(SCHEMA)
        opened.database.transact(ROWS)
        page = Page(driver, address)

        def status() -> str:
            return "".join(each.text for each in page.all(".adalog-token [role=status]"))

        page.until(lambda: status() == "This server requires a token.")
        page.all("#adalog-token")[0].send_keys("wrong\n")
        page.until(lambda: status().endswith("this token is not known here"))
        page.all("#adalog-token")[0].send_keys("a-secret\n")
        page.until(lambda: "Live" in page.tabs())
        page.choose("Live")
        assert page.run()["data"]["live"]["rows"] == [[":open", 2]]
        assert page.driver.current_url == f"{address}/graphql"
        assert "a-secret" not in page.script("return JSON.stringify(localStorage)")
        page.script("sessionStorage.clear()")
        page.driver.get_log("browser")  # type: ignore[no-untyped-call]


def test_a_narrow_screen_has_room_for_everything(driver: webdriver.Chrome) -> None:
    with gateway(None, SCHEMA, ROWS) as opened, served(opened.app) as address:
        size = {"width": 420, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)  # type: ignore[no-untyped-call]
        try:
            page = Page(driver, address)
            page.choose("Rows")
            page.run()
            assert page.script("return innerWidth") == 420
            assert page.script(FITS)
            page.all("[aria-label='Show Documentation Explorer']")[0].click()
            page.until(lambda: page.all(".graphiql-plugin"))
            assert page.script(FITS)
        finally:
            driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})  # type: ignore[no-untyped-call]
