"""Each page by keys alone: the focused element is outlined and in sight, and the focus is never lost."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.page import Console
from tests.gateway.support import Gateway
from tests.gateway.test_running_queries import ASK, NUMBERS, SLOW, post

pytestmark = needs_chromium

# The focused element, also inside an editor: its name, and whether it or an ancestor is outlined and in sight.
_FOCUS = """
let element = document.activeElement;
const surrounding = [];
for (; element.shadowRoot?.activeElement; element = element.shadowRoot.activeElement) surrounding.push(element);
for (let each = element; each; each = each.parentElement) surrounding.push(each);
const text = element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent;
const isSeen = surrounding.some((each) => {
  const {outlineStyle, outlineWidth} = getComputedStyle(each);
  return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
});
const {left, top, right, bottom} = element.getBoundingClientRect();
const isInSight = right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
return element === document.body ? null : [text.trim().replace(/\\s+/g, ' '), isSeen && isInSight];
"""


def press(console: Console, *keys: str, held: str = "") -> None:
    """Sends keys to the focused element, while `held` is held down."""
    chain = ActionChains(console.browser)
    chain = chain.key_down(held).send_keys(*keys).key_up(held) if held else chain.send_keys(*keys)
    chain.perform()


def focus(console: Console) -> str | None:
    """The name of the focused element; None if there is none."""
    found: tuple[str, bool] | None = console.script(_FOCUS)
    return found and found[0]


def tab_to(console: Console, name: str, held: str = "") -> None:
    for _ in range(80):
        press(console, Keys.TAB, held=held)
        if focus(console) == name:
            return
    raise AssertionError(f"Tab does not reach {name}")


@pytest.mark.parametrize(
    ("place", "last"),
    [
        ("schema", ":section/name"),
        ("schema?view=references", ":package/depends"),
        ("schema?view=declare", "Dry run"),
        ("schema?view=proposals", "Propose"),
        ("change", "Dry run"),
        ("change?way=entity", "New of"),
        ("whom", "Add the query of Ask"),
        ("health", "/metrics"),
        ('entity?id=[:package/name "sqlite3"]', "libsqlite3-0"),
    ],
)
def test_tab_goes_through_a_page_and_the_focus_is_seen(console: Console, place: str, last: str) -> None:
    console.open(f"#/{place}")
    console.wait(lambda: last in console.text("main") or console.all(f'main [aria-label="{last}"]'))
    reached: list[str] = []
    while True:
        press(console, Keys.TAB)
        if (name := focus(console)) is None:
            break
        reached.append(name)
        assert len(reached) < 80, reached
        # An editor is outlined a moment later.
        console.wait(lambda: console.script(_FOCUS)[1])
    assert reached[:2] == ["Skip to the content", "adalog"]
    assert reached[-1].startswith(last)


def test_a_page_is_chosen_and_a_dialog_gives_the_focus_back(console: Console) -> None:
    tab_to(console, "Identity: no authentication")
    press(console, Keys.ENTER)
    console.wait(lambda: focus(console) == "Bearer token")
    press(console, Keys.ESCAPE)
    console.wait(lambda: console.all("dialog") == [])
    assert focus(console) == "Identity: no authentication"


def test_an_attribute_is_opened_and_closed(console: Console) -> None:
    console.open("#/schema")
    console.button(":package/name")
    tab_to(console, ":package/name")
    press(console, Keys.ENTER)
    console.wait(lambda: console.all(".side") and focus(console) == ":package/name")
    press(console, Keys.ESCAPE)
    console.wait(lambda: console.all(".side") == [])
    console.wait(lambda: console.browser.switch_to.active_element.get_attribute("class") == "ref")


def test_a_commit_leaves_the_focus_at_what_came_of_it(console: Console) -> None:
    console.open("#/change")
    console.write('[{:package/name "bash"}]', label="Transaction")
    press(console, Keys.ENTER, held=Keys.CONTROL)
    console.button("Commit")
    tab_to(console, "Commit")
    press(console, Keys.SPACE)
    console.wait(lambda: "Committed as t" in console.text(".preview"))
    assert focus(console) == "What it does"


def test_an_identity_is_added_and_removed(console: Console) -> None:
    console.open("#/whom")
    console.one("[name=name]")
    tab_to(console, "Name")
    press(console, "ada", Keys.ENTER)
    console.button("Remove ada")
    tab_to(console, "Remove ada", held=Keys.SHIFT)
    press(console, Keys.ENTER)
    console.wait(lambda: console.all(".identities") == [])
    assert focus(console) == "Identities"


def test_a_running_query_is_cancelled(console: Console, packages: Gateway) -> None:
    packages.database.transact(NUMBERS)
    console.open("#/health")
    with ThreadPoolExecutor(1) as client:
        answer = client.submit(post, console.address, ASK, query=SLOW)
        console.button("Cancel", ".running")
        tab_to(console, "Cancel")
        press(console, Keys.ENTER)
        assert answer.result()["errors"]
    console.wait(lambda: console.all(".running li") == [])
    assert focus(console) == "Running queries"


def test_all_values_of_an_entity_are_shown(console: Console, packages: Gateway) -> None:
    names = " ".join(f'{{:package/name "p{number}"}}' for number in range(25))
    packages.database.transact(f'[{{:package/name "all" :package/depends [{names}]}}]')
    console.open('#/entity?id=[:package/name "all"]')
    console.button("All 25")
    tab_to(console, "All 25")
    press(console, Keys.ENTER)
    console.wait(lambda: console.all(".entity .values .ref")[24:])
    assert focus(console) == "Values of :package/depends"
    press(console, Keys.TAB)
    assert focus(console) is not None


def test_a_button_that_is_scrolled_away_gives_the_focus_to_the_table(console: Console) -> None:
    args = json.dumps([f"[{' '.join(map(str, range(2000)))}]"])
    console.script(
        "location.hash = '#/ask?' + new URLSearchParams(arguments[0])",
        {"query": "[:find ?n :in $ [?n ...]]", "args": args},
    )
    console.wait(lambda: console.all(".table") and console.one(".table").get_attribute("aria-rowcount") == "2001")
    console.script("document.querySelector('.table-body .row-actions button').focus()")
    console.script("document.querySelector('.results .table').scrollTop = 30000")
    console.wait(lambda: console.all('[aria-rowindex="1010"]'))
    assert focus(console) == "Answer"

    def numbers() -> list[list[str]]:
        return sorted([row.get_attribute("data-row") or ""] for row in console.all(".table-body [role=row]"))

    # Those beyond the rows in sight are drawn when the jump has ended.
    console.wait(lambda: len(numbers()) > 12 and sorted(console.rows()) == numbers())
