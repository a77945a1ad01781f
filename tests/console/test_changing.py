"""The page that changes data: transactions and entities, tried before they are committed."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.chromium import needs_chromium
from tests.console.page import Console
from tests.gateway.support import Gateway

pytestmark = needs_chromium

AXE = Path(__file__).parents[2] / "clients" / "console" / "node_modules" / "axe-core" / "axe.min.js"
VERSION = '[[:db/add [:package/name "sqlite3"] :package/version ?version]]'
MARKUP = "<img src=x onerror=alert(1)>"


def _version(packages: Gateway) -> object:
    query = '[:find ?v . :where [?p :package/name "sqlite3"] [?p :package/version ?v]]'
    return packages.data("query($q: EDN!) { q(query: $q) { value } }", q=query)["q"]["value"]


def _write(console: Console, tx: str) -> None:
    console.open("#/change")
    console.write(tx, "Transaction")


def _dry_run(console: Console) -> str:
    before = _ended(console)
    console.button("Dry run").click()
    console.wait(lambda: _ended(console) > before)
    return console.text(".preview")


def _ended(console: Console) -> int:
    return int(console.one(".preview").get_attribute("data-ended") or 0)


def _datoms(console: Console) -> list[str]:
    rows = console.all(".changes tbody tr")
    return [" ".join(cell.text for cell in row.find_elements(By.TAG_NAME, "td")) for row in rows]


def test_a_transaction_is_tried_committed_and_undone(console: Console, packages: Gateway) -> None:
    console.run("[:find ?n ?v :where [?p :package/name ?n] [?p :package/version ?v]]")
    _write(console, VERSION)
    console.one("input[name=value-version]").send_keys(MARKUP, Keys.ENTER)
    console.wait(lambda: len(console.all(".changes tbody tr")) == 2)
    console.wait(lambda: "sqlite3" in _datoms(console)[0])
    assert _datoms(console)[0].endswith('"3.40.1"')
    assert _datoms(console)[1].endswith(f'"{MARKUP}"')
    assert console.all("main img") == []
    assert _version(packages) == "3.40.1"

    affected = console.one(".affected")
    console.wait(lambda: affected.get_attribute("aria-busy") == "false")
    assert "query of the history" in affected.text or "queries of the history" in affected.text
    console.button("Show the rows").click()
    console.wait(lambda: MARKUP in console.text(".side"))
    assert console.all(".side img") == []

    console.button("Commit").click()
    console.wait(lambda: "Committed as t" in console.text(".preview"))
    assert _version(packages) == MARKUP

    console.button("Write the transaction that undoes it").click()
    console.wait(lambda: ":db/add" in console.text_of("Transaction") and "?" not in console.text_of("Transaction"))
    _dry_run(console)
    console.button("Commit").click()
    console.wait(lambda: "Committed as t" in console.text(".preview"))
    assert _version(packages) == "3.40.1"
    assert console.messages() == []


def test_queries_that_give_any_of_the_rows_are_not_compared(console: Console) -> None:
    console.run("[:find ?n :where [_ :package/name ?n] :limit 2]")
    console.run("[:find ?n :where [_ :package/name ?n] :limit 200]")
    _write(console, '[{:package/name "a"}]')
    _dry_run(console)
    console.wait(lambda: console.one(".affected").get_attribute("aria-busy") == "false")
    # The page's first query has a limit, too.
    assert "1 of 1 query of the history; 2 not compared: with :limit" in console.text(".affected")


def test_what_refuses_a_transaction_is_underlined(console: Console) -> None:
    _write(console, "[[:db/add 1 :package/name\n  :x]]")
    assert "line 2, column 3" in _dry_run(console)
    marked = (
        "return document.querySelector('.editor-host').shadowRoot.querySelector('.cm-lintRange-error')?.textContent"
    )
    assert console.wait(lambda: console.script(marked)) == ":x"


def test_a_transaction_in_between_is_told(console: Console, packages: Gateway) -> None:
    _write(console, '[{:package/name "new"}]')
    _dry_run(console)
    packages.database.transact('[{:package/name "other"}]')
    console.button("Commit").click()
    console.wait(lambda: "BASIS_CONFLICT" in console.text(".preview"))
    console.button("Repeat the dry run").click()
    console.wait(
        lambda: "Dry run at t" in console.text(".preview") and "BASIS_CONFLICT" not in console.text(".preview")
    )
    console.button("Commit").click()
    console.wait(lambda: "Committed as t" in console.text(".preview"))


def test_a_changed_transaction_is_not_committed(console: Console) -> None:
    _write(console, '[{:package/name "new"}]')
    _dry_run(console)
    assert console.button("Commit").is_enabled()
    console.write('[{:package/name "newer"}]', "Transaction")
    console.wait(lambda: not console.button("Commit").is_enabled())


def test_an_entity_is_found_and_changed_by_keys(console: Console, packages: Gateway) -> None:
    console.open("#/change?way=entity")
    field = console.one("[role=search] input")
    field.send_keys("sqlite", Keys.ENTER)
    console.button("sqlite3 · :package/name").send_keys(Keys.ENTER)
    version = console.one("textarea[aria-label=':package/version']")
    version.send_keys(Keys.CONTROL, "a", Keys.NULL, "3.41")
    console.one("input[aria-label=':package/size']").send_keys("twelve twelve")
    console.button("Dry run").send_keys(Keys.ENTER)
    wrong = console.one(".field .error")
    assert "not one long" in wrong.text
    size = console.one("input[aria-label=':package/size']")
    size.send_keys(Keys.CONTROL, "a", Keys.NULL, "12")
    _dry_run(console)
    assert console.wait(lambda: _datoms(console))[-1].endswith("12")
    console.button("Commit").send_keys(Keys.ENTER)
    console.wait(lambda: "Committed as t" in console.text(".preview"))
    assert _version(packages) == "3.41"


def test_values_and_entities_are_retracted(console: Console, packages: Gateway) -> None:
    console.open("#/change?way=entity&entity=%5B%3Apackage%2Fname+%22sqlite3%22%5D")
    console.button("Remove :package/depends 1").click()
    _dry_run(console)
    console.wait(lambda: len(_datoms(console)) == 1)
    assert ":package/depends" in _datoms(console)[0]
    console.button("Retract the entity").click()
    console.wait(lambda: len(_datoms(console)) == 3)
    console.button("Commit").click()
    console.wait(lambda: "Committed as t" in console.text(".preview"))
    assert _version(packages) is None


def test_a_new_entity_with_a_part(console: Console, packages: Gateway) -> None:
    packages.database.transact(
        """[{:db/ident :order/number :db/valueType :db.type/long :db/unique :db.unique/identity}
            {:db/ident :order/lines :db/valueType :db.type/ref :db/cardinality :db.cardinality/many
             :db/isComponent true}
            {:db/ident :line/text :db/valueType :db.type/string :db/doc "<b>bold</b>"}]"""
    )
    console.open("#/change?way=entity&new=order")
    console.one("input[aria-label=':order/number']").send_keys("7")
    parts = console.wait(lambda: console.all(".fields > div > label select"))[0]
    Select(parts).select_by_visible_text("line")
    console.one(".part textarea").send_keys('a "quoted" line')
    assert "<b>bold</b>" in console.text(".part")
    _dry_run(console)
    console.button("Commit").click()
    console.wait(lambda: "Committed as t" in console.text(".preview"))
    pulled = packages.data('{ pull(pattern: "[{:order/lines [:line/text]}]", eid: "[:order/number 7]") }')["pull"]
    assert pulled == {":order/lines": [{":line/text": 'a "quoted" line'}]}


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("place", ["#/change", "#/change?way=entity&entity=%5B%3Apackage%2Fname+%22sqlite3%22%5D"])
def test_it_is_accessible_and_fits(console: Console, width: int, place: str) -> None:
    console.browser.set_window_size(width, 900)
    console.open(place)
    if "entity" not in place:
        console.write('[{:package/name "new" :package/size ?size}]', "Transaction")
        console.one("input[name=value-size]").send_keys("1")
    console.wait(lambda: console.all("form"))
    _dry_run(console)
    assert console.script("return document.documentElement.scrollWidth <= window.innerWidth")
    if not AXE.is_file():
        pytest.skip("needs axe-core of clients/console")
    console.script(AXE.read_text("utf-8"))
    found = console.browser.execute_async_script(  # type: ignore[no-untyped-call]
        "axe.run().then(({ violations }) => arguments[0](violations"
        ".filter(({ impact }) => ['serious', 'critical'].includes(impact))"
        ".map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' '))))"
    )
    assert found == []
