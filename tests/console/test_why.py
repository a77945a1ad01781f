"""Why a row is in the answer, and why a row is missing."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.axe import serious
from tests.console.page import Console
from tests.gateway.support import Gateway

pytestmark = needs_chromium

DEPENDS = """[:find ?name ?on
 :rules [[(needs ?p ?d) [?p :package/depends ?d]]
         [(needs ?p ?d) [?p :package/depends ?q] (needs ?q ?d)]]
 :where [?p :package/name ?name]
        (needs ?p ?d)
        [?d :package/name ?on]]"""


def items(console: Console) -> list[tuple[str, str, str]]:
    """Level, text and whether it is open of each item of the tree in sight."""
    found: list[list[str]] = console.script(
        "return [...document.querySelectorAll('.side [role=treeitem]')]"
        ".map((item) => [item.getAttribute('aria-level'),"
        " item.querySelector('.tree-content').innerText, item.getAttribute('aria-expanded') ?? ''])"
    )
    return [(level, text, is_open) for level, text, is_open in found]


def press(console: Console, *keys: str) -> None:
    for key in keys:
        console.browser.switch_to.active_element.send_keys(key)


def test_a_row_opens_step_by_step_by_keys(console: Console) -> None:
    console.run(DEPENDS)
    console.wait(console.rows)
    console.button("Why", ".results").send_keys(Keys.ENTER)
    name, call, on = console.wait(lambda: items(console))
    assert name[1].startswith("datom")
    assert ":package/name" in name[1]
    assert "t 2" in name[1]
    assert (call[0], call[2], on[2]) == ("1", "false", "")
    console.wait(lambda: console.browser.switch_to.active_element.tag_name == "h2")
    # From the heading over the button that closes to the tree.
    press(console, Keys.TAB, Keys.TAB, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    opened = console.wait(lambda: len(items(console)) > 3 and items(console))
    assert [level for level, _, _ in opened] == ["1", "1", "2", "3", "1"]
    assert "(needs ?p ?d) [?p :package/depends ?d]" in opened[2][1]
    assert ":package/depends" in opened[3][1]
    # Into the tree, to its end, and back to the call, which closes.
    press(console, Keys.ARROW_RIGHT, Keys.END, Keys.HOME, Keys.ARROW_DOWN, Keys.ARROW_LEFT)
    console.wait(lambda: len(items(console)) == 3)
    assert serious(console) == []
    assert console.messages() == []


def test_the_entity_of_a_datom_opens_and_leads_back(console: Console) -> None:
    console.run(DEPENDS)
    console.button("Why", ".results").click()
    console.wait(lambda: items(console))
    console.one(".tree button.ref").click()
    console.wait(lambda: ":package/version" in console.text(".side"))
    console.button("← Back").click()
    console.wait(lambda: items(console))


def test_a_missing_row_underlines_the_clause(console: Console) -> None:
    console.run(DEPENDS)
    console.button("Why not…").click()
    first, second = console.wait(lambda: len(console.all(".why-not input")) == 2 and console.all(".why-not input"))
    first.send_keys("libsqlite3-0")
    second.send_keys("python3")
    second.send_keys(Keys.ENTER)
    console.wait(lambda: "The answer has no such row" in console.text(".side"))
    assert "(needs ?p ?d)" in console.text(".side pre")
    assert "line 5" in console.text(".side")
    pointed = (
        "return [...document.querySelectorAll('.editor-host')].flatMap((host) =>"
        " [...host.shadowRoot.querySelectorAll('.cm-pointed')]).map((mark) => mark.textContent).join('')"
    )
    assert console.wait(lambda: console.script(pointed)) == "(needs ?p ?d)"
    assert serious(console) == []
    # What is pointed at is of that text alone.
    console.write(DEPENDS.replace("?on", "?other"))
    console.wait(lambda: console.script(pointed) == "")


def test_a_row_that_is_there_after_all_says_so(console: Console) -> None:
    console.run("[:find ?size ?name :where [?p :package/name ?name] [(ground 1) ?size]]")
    console.button("Why not…").click()
    size, name = console.wait(lambda: len(console.all(".why-not input")) == 2 and console.all(".why-not input"))
    size.send_keys("1")
    name.send_keys("sqlite3", Keys.ENTER)
    console.wait(lambda: "The answer has this row" in console.text(".side"))


def test_markup_in_reasons_is_text(console: Console) -> None:
    console.run('[:find ?x :where [(ground "<img src=x onerror=alert(1)>") ?x]]')
    console.button("Why", ".results").click()
    console.wait(lambda: items(console))
    assert "<img" in console.text(".side")
    assert console.all(".side img") == []


def test_calls_beyond_the_depth_of_an_answer_are_asked_for(console: Console, packages: Gateway) -> None:
    count = 12
    chain = "".join(f'{{:package/name "p{i}" :package/depends "p{i + 1}" :db/id "p{i}"}}' for i in range(count))
    packages.database.transact(f'[{chain} {{:package/name "p{count}" :db/id "p{count}"}}]')
    query = DEPENDS.replace(":where", f':where [?p :package/name "p0"] [?d :package/name "p{count}"]')
    console.run(query)
    console.button("Why", ".results").click()
    console.wait(lambda: items(console))
    console.one(".tree [role=treeitem]").send_keys(Keys.END)
    for _ in range(200):
        levels = [each for each in items(console) if each[2] == "false"]
        if not levels:
            break
        closed = console.all(".tree [role=treeitem][aria-expanded=false] > .tree-line")
        closed[-1].click()
        console.wait(lambda: not console.all(".side .tree .note[role=status]"))
    assert console.all(".side .error") == []
    deepest = max(int(level) for level, _, _ in items(console))
    assert deepest > 2 * count
