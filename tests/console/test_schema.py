"""The page of the schema: attributes with samples, references, a form that declares, and proposals."""

from __future__ import annotations

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from tests.chromium import needs_chromium
from tests.console.axe import serious
from tests.console.page import Console
from tests.gateway.support import Gateway

pytestmark = needs_chromium

MARKUP = "<img src=x onerror=alert(1)>"


def _attribute(packages: Gateway, ident: str) -> object:
    found = packages.data("{ attributes { ident valueType cardinality doc } }")["attributes"]
    return next((each for each in found if each["ident"] == ident), None)


def _preview(console: Console, text: str) -> None:
    console.wait(lambda: text in console.text(".preview"))


def test_an_attribute_is_found_and_shows_its_values(console: Console, packages: Gateway) -> None:
    packages.database.transact(f'[[:db/add :package/version :db/doc "{MARKUP}"] {{:package/version "{MARKUP}"}}]')
    console.open("#/schema")
    console.wait(lambda: console.all(".namespace"))
    assert ":db/ident" not in [each.get_attribute("aria-label") for each in console.all("main button.ref")]
    console.one("input[type=search]").send_keys("version")
    console.wait(lambda: len(console.all("main tbody tr")) == 1)
    console.button(":package/version").send_keys(Keys.ENTER)
    samples = console.one(".side section")
    console.wait(lambda: "3.40.1" in samples.text and MARKUP in samples.text)
    assert MARKUP in console.text(".namespace")
    assert console.all("#console img") == []
    console.one(".side a").click()
    console.wait(lambda: len(console.rows()) == 4)
    assert console.messages() == []


def test_references_are_a_graph_and_a_table(console: Console) -> None:
    console.open("#/schema?view=references")
    rows = console.wait(lambda: console.all("main tbody tr"))
    assert [row.text for row in rows] == ["package :package/depends package"]
    console.wait(lambda: console.all(".references canvas"))
    assert console.messages() == []


def test_an_attribute_is_declared_and_altered(console: Console, packages: Gateway) -> None:
    console.open("#/schema?view=declare")
    fields = {each.text: each for each in console.wait(lambda: console.all(".declared label"))}

    def field(name: str) -> str:
        return f"#{fields[name].get_attribute('for')}"

    console.one(field("Ident")).send_keys(":package/colour")
    Select(console.one(field("Type"))).select_by_visible_text("keyword")
    console.one(field("Documentation")).send_keys(MARKUP)
    console.button("Dry run").click()
    _preview(console, "Dry run at t")
    assert _attribute(packages, ":package/colour") is None
    console.button("Commit").click()
    _preview(console, "Committed as t")
    known = {"ident": ":package/colour", "valueType": "keyword", "cardinality": "one", "doc": MARKUP}
    assert _attribute(packages, ":package/colour") == known

    console.open("#/schema?view=declare&attribute=%3Apackage%2Fdepends")
    labels = console.wait(lambda: [each for each in console.all(".declared label") if each.text == "Cardinality"])
    cardinality = console.one(f"#{labels[0].get_attribute('for')}")
    Select(cardinality).select_by_visible_text("one")
    packages.database.transact('[{:package/name "python3" :package/depends ["x"]} {:db/id "x" :package/name "x"}]')
    console.button("Dry run").click()
    wrong = console.one(".declared .error")
    assert wrong.find_element(By.XPATH, "..").find_element(By.TAG_NAME, "label").text == "Cardinality"


def test_how_long_the_past_is_kept_is_shown_and_declared(console: Console, packages: Gateway) -> None:
    console.open("#/schema?view=declare&attribute=%3Apackage%2Fversion")

    def field(name: str) -> WebElement:
        labels = console.wait(lambda: [each for each in console.all(".declared label") if each.text == name])
        return console.one(f"#{labels[0].get_attribute('for')}")

    def declared() -> object:
        pattern = "[:db/retainDays :db/retainTransactions :db/retainAll]"
        return packages.data(f'{{ pull(pattern: "{pattern}", eid: ":package/version") }}')["pull"]

    def commit(limits: object) -> None:
        console.button("Dry run").click()
        _preview(console, "Dry run at t")
        console.button("Commit").click()
        console.wait(lambda: declared() == limits)
        console.wait(lambda: ":db/retain" not in console.text("pre.code"))

    field("Past is kept for days").send_keys("30")
    commit({":db/retainDays": 30})
    field("Past is kept for days").send_keys(Keys.BACKSPACE, Keys.BACKSPACE)
    field("Past is kept for transactions").send_keys("1000")
    text = console.text("pre.code")
    assert ":db/retainTransactions 1000" in text
    assert "[:db/retract :package/version :db/retainDays 30]" in text
    commit({":db/retainTransactions": 1000})
    field("Past is kept for days").send_keys("3")
    console.button("Dry run").click()
    console.wait(lambda: "are both given" in console.text(".error"))
    field("Past is kept for days").send_keys(Keys.BACKSPACE)
    field("Past is kept for transactions").send_keys(*[Keys.BACKSPACE] * 4)
    whatever = "Past is kept, whatever :db/retention says"
    console.wait(lambda: [each for each in console.all("form label") if each.text == whatever])[0].click()
    commit({":db/retainAll": True})

    packages.database.transact("[{:db/ident :db/retention :db/retainDays 7}]")
    for ident, past in ((":package/version", "all of it"), (":package/name", "kept for 7 days (:db/retention)")):
        console.open("#/schema")
        console.button(ident).send_keys(Keys.ENTER)
        facts = console.wait(lambda: [each for each in console.all(".side .facts") if "Past" in each.text])[0]
        assert past in facts.text
    assert serious(console) == []
    assert console.messages() == []


def test_a_proposal_is_read_tried_and_committed(console: Console, packages: Gateway) -> None:
    console.open("#/schema?view=proposals")
    console.button("Propose").click()
    console.wait(lambda: ":graphql/type" in console.text_of("Proposal"))
    console.button("Dry run").click()
    _preview(console, "Dry run at t")
    console.button("Commit").click()
    _preview(console, "Committed as t")
    pulled = packages.data('{ pull(pattern: "[:graphql/type]", eid: ":package/depends") }')["pull"]
    assert pulled == {":graphql/type": ":package"}
