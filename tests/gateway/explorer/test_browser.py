"""The gateway in a real browser: the explorer, which asks no other host, and pages of other origins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from adalog.gateway.connections.wire import Wire
from adalog.gateway.settings.config import Settings
from tests.chromium import chromium, needs_chromium, waiting
from tests.gateway.support import gateway, served

PACKAGES = """
[{:db/ident :package/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :package/version :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :package/size :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :package/section :db/valueType :db.type/ref :db/cardinality :db.cardinality/one :graphql/type :section}
 {:db/ident :package/maintainer :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
 {:db/ident :section/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :maintainer/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :package/depends :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]
"""
SQLITE = """
[{:db/id "sqlite" :package/name "libsqlite3-0" :package/version "3.40"}
 {:package/name "python3" :package/version "3.11" :package/depends ["sqlite"]}
 {:package/name "sqlite3" :package/version "3.40.1" :package/depends ["sqlite"]}]
"""

pytestmark = needs_chromium


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path / "profile") as driver:
        yield driver


def result(browser: webdriver.Chrome) -> str:
    script = "return document.querySelector('.result-window .CodeMirror')?.CodeMirror?.getValue() ?? ''"
    text: str = browser.execute_script(script)  # type: ignore[no-untyped-call]
    return text


def requested(browser: webdriver.Chrome) -> list[str]:
    """The address of every request on the network that a page made."""
    found = []
    for entry in browser.get_log("performance"):  # type: ignore[no-untyped-call]
        message: Any = orjson.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
    return [url for url in found if urlsplit(url).scheme in ("http", "https", "ws", "wss")]


def test_an_example_query_runs_and_no_request_leaves_the_host(browser: webdriver.Chrome) -> None:
    with gateway(None, PACKAGES, SQLITE) as opened, served(opened.app) as address:
        wait = waiting(browser)
        browser.get(f"{address}/graphql")
        wait.until(lambda page: page.find_elements(By.CSS_SELECTOR, ".graphiql-execute-button"))
        tabs = [tab.text for tab in browser.find_elements(By.CSS_SELECTOR, ".graphiql-tab-button")]
        assert tabs[:4] == ["Dependents", "Sections", "Mutual", "Triangles"]
        assert tabs[4:] == ["Needs", "Distances", "Pull", "Typed", "Plan", "Live", "Transact"]

        browser.find_element(By.CSS_SELECTOR, ".graphiql-execute-button").click()
        wait.until(lambda page: "stats" in result(page))
        answer = orjson.loads(result(browser))
        assert answer["data"]["q"]["rows"] == [["python3", "3.11"], ["sqlite3", "3.40.1"]]

        browser.find_element(By.CSS_SELECTOR, "[aria-label='Show GraphiQL Explorer']").click()
        wait.until(lambda page: "attributes" in page.find_element(By.CSS_SELECTOR, ".docExplorerWrap").text)

        urls = requested(browser)
        assert f"{address}/graphql" in urls
        assert {urlsplit(url).netloc for url in urls} == {urlsplit(address).netloc}
        documentation = browser.find_element(By.LINK_TEXT, "Documentation")
        assert documentation.is_displayed()
        assert documentation.get_attribute("href") == f"{address}/docs/"
        problems = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[no-untyped-call]
        assert problems == []


_COMPLETED = """
const [text, done] = arguments
const editor = document.querySelector(".graphiql-query-editor .CodeMirror").CodeMirror
editor.setValue(text.replace("|", ""))
editor.focus()
editor.setCursor(editor.posFromIndex(text.indexOf("|")))
editor.on("hasCompletion", (_, { list }) => done(list.map((each) => each.text)))
editor.execCommand("autocomplete")
"""


def test_typed_fields_are_completed_and_new_ones_after_a_reload(browser: webdriver.Chrome) -> None:
    with gateway(None, PACKAGES, SQLITE) as opened, served(opened.app) as address:
        browser.set_script_timeout(30)

        def completed(text: str) -> list[str]:
            found: list[str] = browser.execute_async_script(_COMPLETED, text)  # type: ignore[no-untyped-call]
            return found

        def load() -> None:
            browser.get(f"{address}/graphql")
            wait = waiting(browser)
            # The documentation has what is completed.
            wait.until(lambda page: page.find_elements(By.CSS_SELECTOR, "[aria-label$='Documentation Explorer']"))
            if not browser.find_elements(By.CSS_SELECTOR, ".graphiql-doc-explorer"):
                browser.find_element(By.CSS_SELECTOR, "[aria-label='Show Documentation Explorer']").click()
            wait.until(
                lambda page: "PackageWhere" in page.find_element(By.CSS_SELECTOR, ".graphiql-doc-explorer").text
            )

        load()
        assert completed("{ packages { sec| } }")[0] == "section"
        assert {"and", "not", "or", "name", "section", "depends"} <= set(
            completed("{ packages(where: { | }) { name } }")
        )
        assert {"name", "size"} <= set(completed("{ packages(orderBy: [{ | }]) { name } }"))
        assert "homepage" not in completed("{ packages { home| } }")
        opened.database.transact("[{:db/ident :package/homepage :db/valueType :db.type/uri}]")
        load()
        assert completed("{ packages { home| } }")[0] == "homepage"


def test_a_subscription_shows_what_a_transaction_changes(browser: webdriver.Chrome) -> None:
    with gateway(None, PACKAGES, SQLITE) as opened, served(opened.app) as address:
        wait = waiting(browser)
        hub, wire = opened.app.state.hub, opened.app.state.wire
        browser.get(f"{address}/graphql")
        wait.until(lambda page: page.find_elements(By.CSS_SELECTOR, ".graphiql-execute-button"))

        def shown() -> Any:
            text = result(browser)
            return orjson.loads(text)["data"]["live"] if text.startswith("{") and '"live"' in text else {}

        def press(name: str) -> None:
            browser.find_element(By.CSS_SELECTOR, f"[aria-label^='{name}']").click()

        (tab,) = [
            tab for tab in browser.find_elements(By.CSS_SELECTOR, ".graphiql-tab-button") if tab.text == "Live"
        ]
        tab.click()
        press("Execute query")

        def begun(_: object) -> bool:
            # GraphiQL learns the operation's name a moment after its text; nobody clicks as quickly as this.
            if "Unknown operation named" in result(browser):
                browser.get_log("browser")  # type: ignore[no-untyped-call]
                press("Execute query")
            return shown().get("kind") == "SNAPSHOT"

        wait.until(begun)
        assert shown()["rows"] == []
        report = opened.database.transact('[{:db/id "ada" :person/name "Ada Lovelace" :person/born 1815}]')
        wait.until(lambda _: shown().get("kind") == "DELTA")
        assert (shown()["added"], shown()["retracted"]) == ([["Ada Lovelace", 1815]], [])
        opened.database.transact(f"[[:db/retract {report.tempids['ada']} :person/born]]")
        wait.until(lambda _: shown().get("retracted"))
        assert shown()["retracted"] == [["Ada Lovelace", 1815]]

        press("Stop query")
        wait.until(lambda _: not wire.streams["events"] and not hub.figures.subscriptions)
        problems = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[no-untyped-call]
        assert problems == []


FOLLOWING = """
window.seen = []
const source = new EventSource(`/graphql?query=${encodeURIComponent(arguments[0])}`)
source.addEventListener("next", event => window.seen.push(JSON.parse(event.data).data.live))
"""


def test_a_browser_s_own_event_source_goes_on_after_a_cut(browser: webdriver.Chrome) -> None:
    """It sends the last event's id by itself when it connects again."""
    document = (
        'subscription { live(query: "[:find ?n :where [_ :package/name ?n]]") { kind rows added retracted } }'
    )
    with gateway(None, PACKAGES) as opened, served(opened.app) as address:
        wire = opened.app.state.wire

        def changes() -> Any:
            seen = browser.execute_script("return window.seen")  # type: ignore[no-untyped-call]
            return [event["added"] or event["rows"] for event in seen if event["kind"] != "PROGRESS"]

        browser.get(f"{address}/explorer/icon.svg")
        browser.execute_script(FOLLOWING, document)  # type: ignore[no-untyped-call]
        wait = waiting(browser)
        wait.until(lambda _: changes() == [[]])
        (connection,) = [each for each in wire.connections if each._sender is not None]
        connection.loop.call_soon_threadsafe(connection.transport.abort)
        wait.until(lambda _: not wire.streams["events"])
        opened.database.transact('[{:package/name "git"}]')
        wait.until(lambda _: changes() == [[], [["git"]]])
        opened.database.transact('[{:package/name "gcc"}]')
        wait.until(lambda _: changes() == [[], [["git"]], [["gcc"]]])


ASKING = """
const [address, document, done] = arguments
fetch(`${address}/graphql`, {
  method: "POST",
  headers: {"Content-Type": "application/json", "Authorization": "Bearer unused"},
  body: JSON.stringify({query: document}),
}).then(async answer => done([answer.status, await answer.json()]), error => done(String(error)))
"""
READING = """
const [address, document, done] = arguments
fetch(`${address}/graphql?query=${encodeURIComponent(document)}`)
  .then(async answer => done([answer.status, await answer.json()]), error => done(String(error)))
"""


async def page(request: object) -> Response:
    return HTMLResponse("<!doctype html><title>a page of another origin</title>")


def test_pages_of_other_origins(browser: webdriver.Chrome) -> None:
    """One that is allowed queries and transacts, and reads why it was refused; another can do none of it."""
    asked = 'query { q(query: "[:find ?n :where [_ :package/name ?n]]") { rows } }'
    written = 'mutation { transact(tx: "[{:package/name \\"from a page\\"}]") { t } }'
    elsewhere = Starlette(routes=[Route("/", page)])
    elsewhere.state.stop = SimpleNamespace(begin=lambda: None)
    elsewhere.state.wire = Wire(Settings(data=":memory:"))
    with served(elsewhere) as allowed, served(elsewhere) as other:
        settings = Settings(data=":memory:", allowed_origins=allowed)
        with gateway(settings, PACKAGES) as opened, served(opened.app) as address:

            def said(script: str, document: str) -> Any:
                return browser.execute_async_script(script, address, document)  # type: ignore[no-untyped-call]

            browser.get(allowed)
            assert said(ASKING, written) == [200, {"data": {"transact": {"t": 2}}}]
            for script in (ASKING, READING):
                assert said(script, asked) == [200, {"data": {"q": {"rows": [["from a page"]]}}}]
            status, answer = said(READING, written)
            assert status == 405
            assert "POST" in answer["errors"][0]["message"]

            browser.get(other)
            for script, document in ((ASKING, written), (ASKING, asked), (READING, asked)):
                assert "Failed to fetch" in said(script, document)
            assert opened.database.snapshot().t == 2
