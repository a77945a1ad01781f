"""The form of arguments: a field for each input, of its type and shape, and messages before anything is sent."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.chromium import needs_chromium
from tests.console.page import Console
from tests.gateway.support import Gateway

pytestmark = needs_chromium

VERSION = "[?p :package/name ?n] [?p :package/version ?v]"


def fill(console: Console, label: str, text: str) -> None:
    console.one(f'.arguments [aria-label="{label}"]').send_keys(text)


def asked(console: Console) -> list[list[str]]:
    """The rows once the query is asked with what the form has."""
    before = console.ended()
    console.button("Run").click()
    console.wait(lambda: console.ended() > before)
    # A table's first frame finds out how many rows are in sight.
    console.wait(lambda: console.rows() or not console.all('.results [role=grid]:not([aria-rowcount="1"])'))
    return console.rows()


def test_a_list_of_values(console: Console) -> None:
    console.write(f"[:find ?n ?v :in $ [?n ...] :where {VERSION}]")
    fill(console, "?n, row 1", "sqlite3")
    console.button("Add a value").send_keys(Keys.ENTER)
    fill(console, "?n, row 2", "python3")
    assert sorted(asked(console)) == [["python3", "3.11"], ["sqlite3", "3.40.1"]]
    console.button("Remove row 1").click()
    assert asked(console) == [["python3", "3.11"]]


def test_a_relation_is_a_table(console: Console) -> None:
    console.write(f"[:find ?n ?w :in $ [[?n ?w]] :where {VERSION}]")
    fill(console, "?n, row 1", "sqlite3")
    fill(console, "?w, row 1", "7")
    assert asked(console) == [["sqlite3", "7"]]
    assert console.text(".argument-rows thead").split() == ["?n", "?w"]


def test_a_tuple(console: Console) -> None:
    console.write(f"[:find ?n :in $ [?n ?v] :where {VERSION}]")
    fill(console, "?n", "sqlite3")
    fill(console, "?v", "3.40.1")
    assert asked(console) == [["sqlite3"]]


def test_an_entity_by_a_unique_attribute(console: Console) -> None:
    console.write("[:find ?n :in $ ?d :where [?p :package/depends ?d] [?p :package/name ?n]]")
    Select(console.one(".lookup select")).select_by_visible_text(":package/name")
    fill(console, "?d", "libsqlite3-0")
    assert sorted(asked(console)) == [["python3"], ["sqlite3"]]


def test_types_of_attributes_choose_the_fields(console: Console, packages: Gateway) -> None:
    packages.database.transact(
        "[{:db/ident :package/added :db/valueType :db.type/instant}"
        " {:db/ident :package/free :db/valueType :db.type/boolean}"
        ' {:package/name "x" :package/added #inst "2024-05-01T12:00:00Z" :package/free true :package/size 7}]'
    )  # fmt: skip
    console.open()
    console.write(
        "[:find ?n :in $ ?a ?f ?s :where [?p :package/name ?n] [?p :package/added ?t] [(>= ?t ?a)]"
        " [?p :package/free ?f] [?p :package/size ?s]]"
    )
    console.one('[aria-label="?a"][type="datetime-local"]')
    console.one('[aria-label="?s"][inputmode="numeric"]')
    typed = (
        "arguments[0].value = '2024-05-01T00:00'; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))"
    )
    console.script(typed, console.one('[aria-label="?a"]'))
    Select(console.one('[aria-label="?f"]')).select_by_visible_text("true")
    fill(console, "?s", "7")
    assert asked(console) == [["x"]]


def test_another_moment_as_a_source(console: Console, packages: Gateway) -> None:
    before = packages.database.snapshot().t
    packages.database.transact('[{:package/name "later" :package/version "1"}]')
    console.write("[:find ?n :in $ $past :where [?p :package/name ?n] (not [$past ?p :package/name ?n])]")
    fill(console, "$past", str(before))
    assert asked(console) == [["later"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "a value is missing"), ("many", "a whole number is expected")],
)
def test_nothing_is_asked_with_an_argument_that_is_wrong(console: Console, text: str, message: str) -> None:
    console.write("[:find ?p :in $ ?s :where [?p :package/size ?s]]")
    fill(console, "?s", text)
    asked(console)
    assert console.text(".argument-problem") == message
    assert message in console.text(".results .error")
    wrong = console.one('[aria-label="?s"]')
    assert (wrong.get_attribute("aria-invalid"), wrong.get_attribute("aria-describedby")) == (
        "true",
        console.one(".argument-problem").get_attribute("id"),
    )


def test_rules_are_written_in_an_editor(console: Console) -> None:
    console.write("[:find ?n :in $ % ?of :where [?o :package/name ?of] (needs ?p ?o) [?p :package/name ?n]]")
    console.write("[[(needs ?a ?b) [?a :package/depends ?b]]]", "Rules")
    fill(console, "?of", "libsqlite3-0")
    assert sorted(asked(console)) == [["python3"], ["sqlite3"]]


def test_the_address_holds_every_form_of_argument(console: Console) -> None:
    console.write(f"[:find ?n ?v :in $ [?n ...] :where {VERSION}]")
    fill(console, "?n, row 1", "sqlite3")
    asked(console)
    address = console.browser.current_url
    console.browser.get("about:blank")
    console.browser.get(address)
    assert console.wait(console.rows) == [["sqlite3", "3.40.1"]]
    # Before the schema is read, the field has no type and shows EDN.
    console.wait(lambda: console.one('[aria-label="?n, row 1"]').get_attribute("value") == "sqlite3")
