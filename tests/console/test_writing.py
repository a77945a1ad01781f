"""A query is written: completion with docs, and problems underlined at their place as one types."""

from __future__ import annotations

from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.page import Console

pytestmark = needs_chromium


def options(console: Console, *keys: str) -> list[str]:
    """What is offered after some keys, once there is something."""
    console.keys(*keys)
    return console.wait(lambda: console.editor_texts(".cm-completionLabel"))


def information(console: Console) -> str:
    return console.wait(lambda: " ".join(console.editor_texts(".cm-completionInfo")))


def underlined(console: Console, kind: str = "error") -> list[str]:
    return console.editor_texts(f".cm-lintRange-{kind}")


def diagnostics(console: Console, kind: str = "error") -> list[str]:
    """What is underlined, once something is."""
    return console.wait(lambda: underlined(console, kind))


def requests(console: Console, document: str) -> list[Any]:
    """The variables of the requests to /graphql that name a field."""
    return console.script(
        "return window.asked.filter((each) => each.query.includes(arguments[0])).map((each) => each.variables)",
        document,
    )


@pytest.fixture
def recorded(console: Console) -> Console:
    """The console, which notes what it asks of the server from now on."""
    console.wait(lambda: console.text_of())
    console.script(
        "window.asked = []; const send = window.fetch;"
        "window.fetch = (url, given) => { window.asked.push(JSON.parse(given.body)); return send(url, given); };"
    )
    return console


def test_attributes_are_offered_with_their_types(console: Console) -> None:
    console.write("[:find ?n :where [?p ")
    assert ":package/version" in options(console, ":package/ver")
    assert "string" in information(console)
    console.keys(Keys.ENTER)
    assert console.wait(lambda: console.text_of().endswith(":package/version"))


def test_built_ins_are_offered_with_their_docs(console: Console) -> None:
    console.write("[:find ?n :where [?p :package/name ?n] [")
    assert options(console, "(star")[0] == "starts-with?"
    assert "(starts-with?" in information(console)
    console.keys(Keys.ESCAPE)
    console.write("[:find ")
    assert "count-distinct" in options(console, "(cou")


def test_rules_and_variables_in_scope_are_offered(console: Console) -> None:
    rules = " :rules [[(needs ?one ?two) [?one :package/depends ?two]]]]"
    console.write(f"[:find ?name :where [?package :package/name ?name] {rules}")
    console.keys(*[Keys.ARROW_LEFT] * len(rules))
    assert options(console, "(ne")[0] == "needs"
    console.keys(Keys.ENTER, " ")
    assert options(console, "?") == ["?name", "?package"]


def test_sections_are_offered_at_the_top(console: Console) -> None:
    console.write("[:find ?n :where [?p :package/name ?n] ")
    assert options(console, ":ord") == [":order-by"]


def test_a_mistake_of_syntax_needs_no_server(recorded: Console) -> None:
    recorded.write("[:find ?n :where (or [?p :package/name ?n]]")
    assert diagnostics(recorded) == ["("]
    assert requests(recorded, "check") == []


def test_errors_and_warnings_are_underlined_where_they_are(console: Console) -> None:
    console.write("[:find ?x\n :where [?p :package/name ?n]]")
    assert diagnostics(console) == ["?x"]
    console.write("[:find ?n\n :where [?p :package/nmae ?n]]")
    assert diagnostics(console, "warning") == [":package/nmae"]
    assert underlined(console) == []
    console.write("[:find ?n\n :where [?p :package/name ?n]]")
    console.wait(lambda: not underlined(console, "warning"))


def test_the_server_is_asked_only_for_what_changed(recorded: Console) -> None:
    query = "[:find ?n :in $ ?n ?v :where [?p :package/name ?n] [?p :package/versoin ?v]]"
    recorded.write(query)
    diagnostics(recorded, "warning")
    assert requests(recorded, "check(") == [{"query": query, "argsEdn": [None, None]}]
    recorded.keys(Keys.HOME, Keys.ARROW_RIGHT)
    recorded.one(".arguments input").send_keys("sqlite3")
    assert len(requests(recorded, "check(")) == 1


def test_calls_are_checked_against_the_rules_that_are_given(console: Console) -> None:
    console.write("[:find ?n :in $ % :where [?p :package/name ?n] (neds ?p _)]")
    console.write("[[(needs ?a ?b) [?a :package/depends ?b]]]", "Rules")
    assert diagnostics(console) == ["neds"]


def test_the_docs_of_an_attribute_are_text(console: Console, packages: Any) -> None:
    packages.database.transact('[{:db/ident :package/name :db/doc "<img src=x onerror=alert(1)>"}]')
    console.open()
    console.write("[:find ?n :where [?p ")
    options(console, ":package/nam")
    assert "<img src=x onerror=alert(1)>" in information(console)
    images = (
        "[...document.querySelectorAll('.editor-host')].map((each) => each.shadowRoot.querySelector('img[src=x]'))"
    )
    assert console.script(f"return {images}.some(Boolean)") is False
