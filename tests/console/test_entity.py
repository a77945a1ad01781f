"""An entity at the side: its values, from there onward and back, who refers to it, and what changed about it."""

from __future__ import annotations

from urllib.parse import urlencode

from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.axe import serious
from tests.console.page import Console
from tests.gateway.support import Gateway

pytestmark = needs_chromium

DEPENDS = "[:find ?p ?name :where [?p :package/depends _] [?p :package/name ?name] :order-by [?name]]"


def transact(packages: Gateway, tx: str) -> None:
    packages.data("mutation($tx: EDN!) { transact(tx: $tx) { t } }", tx=tx)


def aside(console: Console, selector: str) -> list[str]:
    return [each.text for each in console.all(f".side {selector}")]


def test_a_row_leads_to_its_entity_by_keys_and_onward_and_back(console: Console) -> None:
    console.run(DEPENDS)
    console.one(".table").send_keys(Keys.ENTER)
    console.wait(lambda: aside(console, ".entity-name") == ["python3"])
    # A ref is named by the unique attribute of its entity.
    console.button("libsqlite3-0", ".side").send_keys(Keys.ENTER)
    console.wait(lambda: aside(console, ".entity-name") == ["libsqlite3-0"])
    console.wait(lambda: aside(console, ".referrers summary") == [":package/depends 2"])
    # Their names come after their numbers.
    console.wait(lambda: aside(console, ".referrers li") == ["python3", "sqlite3"])
    assert console.script("return document.activeElement.closest('.side') !== null")
    console.button("← Back", ".side").send_keys(Keys.ENTER)
    console.wait(lambda: aside(console, ".entity-name") == ["python3"])
    console.one(".side h2").send_keys(Keys.ESCAPE)
    console.wait(lambda: not console.all(".side"))
    assert console.script("return document.activeElement === document.querySelector('.table')")


def test_the_panel_shows_the_moment_of_the_answer_and_what_changed(console: Console, packages: Gateway) -> None:
    transact(packages, '[{:package/name "python3" :package/version "3.12"}]')
    console.run(DEPENDS)
    transact(packages, '[{:package/name "python3" :package/version "3.13"}]')
    console.one(".table button.ref").click()
    console.wait(lambda: "3.12" in aside(console, ".values li"))
    console.button("History", ".side").click()
    changes = ".change-list"
    console.wait(lambda: aside(console, changes))
    version = console.wait(lambda: [each for each in aside(console, changes) if "3.12" in each])[0]
    shown = [line for line in version.splitlines() if line in "+−" or line.startswith("3.1")]
    assert shown == ["+", "3.12", "−", "3.11", "+", "3.11"]
    assert "3.13" not in version


def test_an_address_opens_an_entity_by_a_lookup_ref(console: Console) -> None:
    console.open("#/entity?" + urlencode({"id": '[:package/name "sqlite3"]'}))
    console.wait(lambda: console.text(".entity-name") == "sqlite3")
    assert serious(console, "main") == []


def test_names_and_values_that_are_markup_stay_text(console: Console, packages: Gateway) -> None:
    markup = "<img src=x onerror=alert(1)>"
    transact(packages, f'[{{:package/name "{markup}" :package/version "{markup}"}}]')
    console.run(f'[:find ?p :where [?p :package/name "{markup}"]]')
    console.one(".table button.ref").click()
    console.wait(lambda: aside(console, ".entity-name") == [markup])
    assert console.all(".side img") == []
    assert console.messages() == []


def test_a_row_has_a_history_also_without_entities(console: Console, packages: Gateway) -> None:
    packages.database.transact('[{:package/name "python3" :package/version "3.12"}]')
    console.run('[:find ?v :where [?p :package/name "python3"] [?p :package/version ?v]]')
    console.wait(lambda: console.rows() == [["3.12"]])
    console.button("History", ".results").click()
    said = console.wait(lambda: console.all(".side .change-list"))[0].text
    # What the query does not name is left out.
    assert ":package/depends" not in said
    assert "3.12" in said
    assert "3.11" in said
    assert console.text(".side h3") == "python3"
    # An attribute and its value stand apart, and nothing is cut off.
    gap = (
        "const [name, value] = [...document.querySelector('.change-what').children].slice(-2)"
        ".map((each) => each.getBoundingClientRect()); return value.left - name.right"
    )
    assert console.script(gap) >= 4
    assert console.script(
        "const list = document.querySelector('.change-list');return list.scrollWidth <= list.clientWidth"
    )


def test_a_long_panel_scrolls_and_the_page_does_not(console: Console) -> None:
    metrics = {"width": 1280, "height": 240, "deviceScaleFactor": 1, "mobile": False}
    console.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        console.run("[:find ?p ?n :where [?p :package/name ?n]]")
        console.wait(console.rows)
        console.script("document.querySelector('.table-body [title=History]').click()")
        console.wait(lambda: console.all(".side .change-list li"))
        content = "const content = document.querySelector('.side-content');"
        assert console.script(f"{content} return content.scrollHeight > content.clientHeight")
        assert console.script("return document.documentElement.scrollHeight") == 240
    finally:
        console.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
