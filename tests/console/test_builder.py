"""The builder: what is chosen there is the query in the editor, and the same in typed GraphQL."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.chromium import needs_chromium
from tests.console.page import Console
from tests.gateway.support import Gateway

pytestmark = needs_chromium


def choose(console: Console, label: str, option: str, within: str = ".builder") -> None:
    Select(console.one(f'{within} [aria-label="{label}"]')).select_by_visible_text(option)


def begun(console: Console) -> None:
    """The builder, of packages."""
    console.wait(console.text_of)
    console.button("Builder").send_keys(Keys.ENTER)
    console.wait(lambda: "package" in console.text(".builder"))
    choose(console, "Type", "package")


def condition(console: Console, attribute: str, operator: str, value: str) -> None:
    console.button("Add a condition").send_keys(Keys.ENTER)
    last = f'.condition[aria-label="Condition {len(console.all(".condition"))}"]'
    choose(console, "Attribute", attribute, last)
    choose(console, "Operator", operator, last)
    if value:
        console.one(f'{last} [aria-label="Value"]').send_keys(value)


def asked(console: Console) -> list[list[str]]:
    before = console.ended()
    console.button("Run").click()
    console.wait(lambda: console.ended() > before)
    return console.rows()


def typed(console: Console) -> str:
    """The typed GraphQL, from the link that opens it."""
    link = console.one('.builder a[href^="graphql"]').get_attribute("href")
    return parse_qs(urlsplit(str(link)).query)["query"][0]


def test_conditions_columns_and_order_are_a_query_and_graphql(console: Console, packages: Gateway) -> None:
    begun(console)
    condition(console, "name", "contains", "sql")
    choose_order = console.one('.builder label:has(select):has(option[value=":package/version"]) select')
    Select(choose_order).select_by_visible_text("version")
    assert [row[:2] for row in asked(console)] == [["libsqlite3-0", "3.40"], ["sqlite3", "3.40.1"]]
    document = typed(console)
    found = packages.data(document)["packages"]
    assert [(each["name"], each["version"]) for each in found] == [("libsqlite3-0", "3.40"), ("sqlite3", "3.40.1")]


def test_any_condition(console: Console, packages: Gateway) -> None:
    begun(console)
    condition(console, "name", "is", "sqlite3")
    condition(console, "version", "starts with", "3.11")
    choose(console, "How many conditions hold", "any condition holds")
    names = sorted(row[0] for row in asked(console))
    assert names == ["python3", "sqlite3"]
    assert sorted(each["name"] for each in packages.data(typed(console))["packages"]) == names


def test_what_has_no_value_is_found(console: Console, packages: Gateway) -> None:
    packages.database.transact('[{:package/name "bare"}]')
    begun(console)
    condition(console, "version", "has none", "")
    assert [row[0] for row in asked(console)] == ["bare"]
    assert [each["name"] for each in packages.data(typed(console))["packages"]] == ["bare"]


def test_the_editor_may_go_on_from_there(console: Console) -> None:
    begun(console)
    assert console.wait(lambda: console.text_of().startswith("[:find ?name"))
    console.run("[:find ?n :where [?p :package/name ?n]]")
    assert console.text_of() == "[:find ?n :where [?p :package/name ?n]]"
