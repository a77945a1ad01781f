"""The table of an answer: sorted, filtered, made wider, and used by keys."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.axe import serious
from tests.console.page import Console
from tests.gateway.support import Gateway

pytestmark = needs_chromium

VALUES = """[:find ?n ?text
 :where [(ground [[9 "b"] [10 "a"] [1000000 "a"] [2 "C"]]) [[?n ?text]]]]"""


def head(console: Console, name: str) -> None:
    path = f'.//*[@role="columnheader"]//button[starts-with(normalize-space(), "{name}")]'
    console.wait(lambda: console.one(".table").find_elements(By.XPATH, path))[0].click()


def sorting(console: Console) -> list[str | None]:
    return [each.get_attribute("aria-sort") for each in console.all(".table [role=columnheader][aria-sort]")]


def test_numbers_are_sorted_as_numbers_and_with_shift_by_several_columns(console: Console) -> None:
    console.run(VALUES)
    head(console, "?n")
    assert console.wait(console.rows) == [["2", "C"], ["9", "b"], ["10", "a"], ["1000000", "a"]]
    assert sorting(console) == ["ascending", "none"]
    head(console, "?n")
    console.wait(lambda: console.rows()[0] == ["1000000", "a"])
    head(console, "?text")
    ActionChains(console.browser).key_down(Keys.SHIFT).perform()
    head(console, "?n")
    ActionChains(console.browser).key_up(Keys.SHIFT).perform()
    console.wait(lambda: sorting(console) == ["ascending", "ascending"])
    assert console.rows() == [["2", "C"], ["10", "a"], ["1000000", "a"], ["9", "b"]]


def test_a_column_is_sorted_and_made_wider_by_keys(console: Console) -> None:
    console.run(VALUES)
    table = console.one(".table")
    table.send_keys(Keys.ARROW_UP, Keys.ENTER)
    console.wait(lambda: sorting(console) == ["ascending", "none"])
    width = "return arguments[0].querySelector('[role=columnheader][data-column]').clientWidth"
    before = console.script(width, table)
    table.send_keys(Keys.ALT, Keys.ARROW_RIGHT)
    console.wait(lambda: console.script(width, table) == before + 16)


def test_a_column_is_made_wider_by_dragging(console: Console) -> None:
    console.run(VALUES)
    edge = console.one(".head-edge")
    before = console.one(".table [role=gridcell]").size["width"]
    ActionChains(console.browser).drag_and_drop_by_offset(edge, 60, 0).perform()
    console.wait(lambda: console.one(".table [role=gridcell]").size["width"] == before + 60)


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("?n", "9..10", [["9", "b"], ["10", "a"]]),
        ("?n", "> 10", [["1000000", "a"]]),
        ("?n", "..9", [["2", "C"], ["9", "b"]]),
        ("?n", "00", [["1000000", "a"]]),
        ("?text", "c", [["2", "C"]]),
    ],
)
def test_rows_are_filtered(console: Console, name: str, text: str, rows: list[list[str]]) -> None:
    console.run(VALUES)
    head(console, "?n")
    console.button("Filter rows").click()
    console.one(f'input[aria-label="Filter {name}"]').send_keys(text)
    console.wait(lambda: console.rows() == rows)
    assert f"{len(rows)} of 4 rows" in console.text(".results .table + [role=status]")


def test_times_are_filtered_as_far_as_they_are_written(console: Console) -> None:
    times = '#inst "2023-12-31" #inst "2024-05-01T10:00:00Z" #inst "2025-01-01"'
    console.run(f"[:find ?at :where [(ground [{times}]) [?at ...]]]")
    console.button("Filter rows").click()
    console.one('input[aria-label="Filter ?at"]').send_keys("2024..2024")
    console.wait(lambda: len(console.rows()) == 1)
    shown = console.one(".table-body time")
    assert shown.get_attribute("title") == "2024-05-01T10:00:00.000Z"


def test_a_row_is_copied_as_text_with_tabs(console: Console) -> None:
    console.run(VALUES)
    head(console, "?n")
    table = console.one(".table")
    taken = (
        "arguments[0].addEventListener('copy', "
        "(event) => { window.taken = event.clipboardData.getData('text/plain') })"
    )
    console.script(taken, table)
    table.send_keys(Keys.ARROW_DOWN, Keys.CONTROL, "c")
    console.wait(lambda: console.script("return window.taken") == "9")
    table.send_keys(Keys.SPACE)
    table.send_keys(Keys.CONTROL, "c")
    console.wait(lambda: console.script("return window.taken") == "?n\t?text\n9\tb")


def test_a_hundred_thousand_rows_are_at_hand(console: Console) -> None:
    args = [f"[{' '.join(map(str, range(most)))}]" for most in (400, 250)]
    asked = {"query": "[:find ?a ?b :in $ [?a ...] [?b ...]]", "args": json.dumps(args)}
    console.open(f"#/ask?{urlencode(asked)}")
    table = console.one(".table")
    assert table.get_attribute("aria-rowcount") == "100001"
    table.send_keys(Keys.CONTROL, Keys.END)
    console.wait(lambda: console.all('[aria-rowindex="100001"]'))
    assert len(console.all(".table-body [role=row]")) < 60


def test_axe_finds_nothing_serious(console: Console) -> None:
    console.run("[:find ?p ?name :where [?p :package/name ?name]]")
    console.button("Filter rows").click()
    assert serious(console, ".results") == []


def test_the_menu_and_the_actions_of_rows_fit_a_narrow_page(console: Console) -> None:
    metrics = {"width": 420, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    console.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        console.run("[:find ?n ?v :where [?p :package/name ?n] [?p :package/version ?v]]")
        cell = console.one(".table-body .row-actions")
        assert sum(each.size["width"] for each in cell.find_elements("css selector", "button")) < 70
        assert cell.value_of_css_property("background-color") not in ("rgba(0, 0, 0, 0)", "transparent")
        assert [each.text for each in cell.find_elements("css selector", "button")] == ["Why", "History"]
        console.one(".menu summary").click()
        right = "return document.querySelector('.menu-content').getBoundingClientRect().right"
        assert console.script(right) <= 420
        assert console.script("return document.querySelector('main').scrollWidth") <= 420
    finally:
        console.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_members_of_an_enum_are_chips_and_filtered_by_name(console: Console, packages: Gateway) -> None:
    packages.database.transact(
        "[{:db/ident :level/high} {:db/ident :level/low} {:db/ident :package/level :db/valueType :db.type/ref}]"
    )
    packages.database.transact(
        '[{:package/name "python3" :package/level :level/high} {:package/name "sqlite3" :package/level :level/low}]'
    )
    console.run("[:find ?n ?l :where [?p :package/name ?n] [?p :package/level ?l] :order-by [?n]]")
    console.wait(lambda: console.rows() == [["python3", ":level/high"], ["sqlite3", ":level/low"]])
    console.button("Filter rows").click()
    console.one("[aria-label='Filter ?l']").send_keys("low")
    console.wait(lambda: console.rows() == [["sqlite3", ":level/low"]])
    console.one(".table-body .chip button.ref").click()
    console.wait(lambda: [each.text for each in console.all(".side .entity-name")] == [":level/low"])


def test_columns_are_as_wide_as_a_later_answer_needs(console: Console) -> None:
    query = '[:find ?n :where [(ground "{}") ?n]]'
    console.run(query.format("ab"))
    console.run(query.format("a name of thirty characters or so"))
    cell = console.wait(
        lambda: [each for each in console.all(".table-body [role=gridcell]") if "thirty" in each.text]
    )
    assert console.script("return arguments[0].scrollWidth <= arguments[0].clientWidth", cell[0])


# Scrolls by a thousand rows a frame; how many rows are in the page at each, and how many fit the table.
_JUMPS = """
const done = arguments[0], table = document.querySelector('.results .table'), counts = [];
const step = () => {
  counts.push(table.querySelectorAll('.table-body [role=row]').length);
  if (counts.length > 9) return done([counts.slice(1), Math.ceil(table.clientHeight / 30) + 1]);
  table.scrollTop += 30000;
  requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


def test_jumps_draw_the_rows_in_sight_alone_until_they_end(console: Console) -> None:
    args = json.dumps([f"[{' '.join(map(str, range(10_000)))}]"])
    console.open(f"#/ask?{urlencode({'query': '[:find ?n :in $ [?n ...]]', 'args': args})}")
    console.wait(lambda: console.all(".table") and console.one(".table").get_attribute("aria-rowcount") == "10001")
    counts, fitting = console.browser.execute_async_script(_JUMPS)  # type: ignore[no-untyped-call]
    # A frame that takes longer than the table's pause counts as rest, so not each of them is held to it.
    assert 0 < min(counts) <= fitting
    # At rest there are rows beyond, which a first turn of the wheel shows at once.
    console.wait(lambda: len(console.rows()) >= fitting + 12)
    assert console.all('[aria-rowindex="9002"]')
