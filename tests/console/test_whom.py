"""As whom: an admin asks as another identity, sees why it sees an entity, and tries a change of policies."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.axe import serious
from tests.console.page import Console
from tests.gateway.support import Gateway

pytestmark = needs_chromium

POLICIES = """
[{:policy/name "members see packages" :policy/roles [:member] :policy/ops [:read]
  :policy/on [:package/name :package/version]
  :policy/rules "[[(allow ?p) [?p :package/version ?v] [(!= ?v \\"3.11\\")]]]"}]
"""
MORE = '[{:policy/name "more" :policy/roles [:*] :policy/ops [:read] :policy/on [:package/name]}]'
NAMES = "[:find ?name :where [_ :package/name ?name]]"


def add_identity(console: Console, name: str, roles: str) -> None:
    console.one("[name=name]").send_keys(name)
    console.one("[name=roles]").send_keys(roles)
    console.one("[name=claims]").send_keys(f'{{"sub": "{name}"}}')
    console.button("Add", ".identity-form").click()
    console.button(f"Look as {name}")


def test_an_admin_looks_as_another_identity(console: Console, packages: Gateway) -> None:
    packages.database.transact(POLICIES)
    console.run(NAMES)
    assert console.wait(console.rows) == [["libsqlite3-0"], ["python3"], ["sqlite3"]]
    console.one("nav a[href='#/whom']").click()
    add_identity(console, "ada", "member")
    console.button("Look as ada").click()
    console.run(NAMES)
    console.wait(lambda: console.rows() == [["libsqlite3-0"], ["sqlite3"]])
    address = console.browser.current_url
    console.button("Look as yourself").click()
    console.wait(lambda: len(console.rows()) == 3)
    # A link holds the identity.
    console.browser.get("about:blank")
    console.browser.get(address)
    console.wait(lambda: console.rows() == [["libsqlite3-0"], ["sqlite3"]])
    assert console.messages() == []


def test_why_an_identity_sees_an_entity(console: Console, packages: Gateway) -> None:
    packages.database.transact(POLICIES)
    console.open("#/whom")
    console.script("localStorage.clear()")
    console.open("#/whom")
    add_identity(console, "ada", "member")
    console.one("[name=entity]").send_keys('[:package/name "python3"]')
    console.button("Look").click()
    said = console.wait(lambda: console.all("[aria-label='Visibility of an entity'] .facts"))[0].text
    assert "Visible\nnothing" in said
    policy = console.one("[aria-label='Visibility of an entity'] .policy")
    assert "does not grant" in policy.text
    console.one("[role=status] .policy summary").send_keys(Keys.ENTER)
    # The rule that does not hold, and its clause that no row passes.
    tree = console.one("[role=tree][aria-label='Why members see packages does not grant']")
    assert 'No row passes [(!= ?v "3.11")]' in tree.text
    assert serious(console, ".whom") == []


@pytest.mark.parametrize("width", [1280, 420])
def test_what_a_policy_grants_opens_step_by_step(console: Console, packages: Gateway, width: int) -> None:
    packages.database.transact(POLICIES)
    console.browser.set_window_size(width, 900)
    console.open("#/whom")
    console.script("localStorage.clear()")
    console.open("#/whom")
    add_identity(console, "ada", "member")
    console.one("[name=entity]").send_keys('[:package/name "sqlite3"]', Keys.ENTER)
    console.one("[role=status] .policy summary").send_keys(Keys.ENTER)
    tree = console.one("[role=tree][aria-label='Why members see packages grants']")
    rule = console.one("[role=status] .policy [role=treeitem]")
    assert "[(allow ?p)" in rule.text
    rule.send_keys(Keys.ARROW_DOWN)
    assert '"3.40.1"' in console.script("return document.activeElement.textContent")
    # A datom of it opens its entity.
    console.one("[role=status] .policy [role=treeitem] [role=treeitem] .ref").send_keys(Keys.ENTER)
    console.wait(lambda: [each.text for each in console.all(".side .entity-name")] == ["sqlite3"])
    assert tree.is_displayed()
    assert serious(console, ".whom") == []
    assert console.script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert console.messages() == []
    console.browser.set_window_size(1280, 900)


def test_a_change_of_policies_is_tried_and_committed(console: Console, packages: Gateway) -> None:
    packages.database.transact(POLICIES)
    console.script("localStorage.clear()")
    console.open()
    console.run(NAMES)
    console.one("nav a[href='#/whom']").click()
    add_identity(console, "ada", "member")
    add_identity(console, "eve", "guest")
    console.write(MORE, "Change of policies")
    console.button("Add the query of Ask").click()
    console.button("Try").click()
    said = console.wait(lambda: [each.text for each in console.all("[aria-label='Try a change'] summary")])
    assert said[0].startswith("ada gains 1 and loses 0")
    assert said[1].startswith("eve gains 3 and loses 0")
    assert len(packages.q('[:find ?p :where [?p :policy/name "more"]]')) == 0
    console.button("Commit").click()
    console.wait(lambda: "Committed as transaction" in console.text("[aria-label='Try a change']"))
    assert len(packages.q('[:find ?p :where [?p :policy/name "more"]]')) == 1
    assert console.messages() == []
