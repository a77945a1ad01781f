"""Views of an answer beside its table, files of it, and what is said where there are no rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.axe import serious
from tests.console.page import Console

pytestmark = needs_chromium

SIZES = '[:find ?name ?size :where [(ground [["a" 3] ["=b" 5] ["c,\\"d" 4]]) [[?name ?size]]]]'
DEPENDS = "[:find ?p ?q :where [?p :package/depends ?q]]"


def views(console: Console) -> list[str]:
    return [each.text for each in console.all(".results [role=tab]")]


def saved(console: Console, name: str, folder: Path) -> bytes:
    """A file that the menu saves."""
    console.browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
    )
    menu = console.one(".menu summary")
    if not console.one(".menu").get_attribute("open"):
        menu.click()
    console.one('.menu [aria-label="Save as"]').find_element("xpath", f'.//button[.="{name}"]').click()
    found = console.wait(lambda: [each for each in folder.iterdir() if not each.name.endswith(".crdownload")])
    return found[0].read_bytes()


def test_numbers_by_a_category_invite_a_chart(console: Console) -> None:
    console.run(SIZES)
    assert views(console) == ["Table", "Chart", "Plan"]
    console.one(".results [role=tab]").send_keys(Keys.ARROW_RIGHT)
    console.one(".chart canvas")
    shown = console.one(".chart-host").get_attribute("aria-label")
    assert shown == "Bar chart of ?size by ?name: 3 points from 3 to 5. The table has their values."
    assert serious(console, ".results") == []
    assert console.messages() == []


def test_bars_begin_at_zero(console: Console) -> None:
    console.script(
        "window.drawn = [];"
        "const {fillText} = CanvasRenderingContext2D.prototype;"
        "CanvasRenderingContext2D.prototype.fillText ="
        " function (text, ...place) { window.drawn.push(text); return fillText.call(this, text, ...place); };"
    )
    console.run('[:find ?n ?size :where [(ground [["a" 1000] ["b" 1001] ["c" 1003]]) [[?n ?size]]]]')
    console.one(".results [role=tab]").send_keys(Keys.ARROW_RIGHT)
    console.one(".chart canvas")
    console.wait(lambda: "?size" in console.script("return window.drawn"))
    assert "0" in console.script("return window.drawn")


def test_two_columns_of_entities_invite_a_graph_and_a_node_leads_to_its_entity(console: Console) -> None:
    console.run(DEPENDS)
    assert views(console) == ["Table", "Graph", "Plan"]
    console.one(".results [role=tab]").send_keys(Keys.ARROW_RIGHT)
    console.one(".graph canvas")
    listed = console.one(".graph-list summary")
    assert listed.text == "3 entities"
    listed.send_keys(Keys.ENTER)
    console.button("sqlite3", ".graph").send_keys(Keys.ENTER)
    console.wait(lambda: [each.text for each in console.all(".side .entity-name")] == ["sqlite3"])
    assert serious(console, ".results") == []
    assert console.messages() == []


def test_csv_is_quoted_and_formulas_are_guarded(console: Console, tmp_path: Path) -> None:
    console.run(SIZES)
    text = saved(console, "CSV", tmp_path).decode()
    assert text.startswith("?name,?size\r\n")
    assert set(text.split("\r\n")[1:]) == {"a,3", "'=b,5", '"c,""d",4', ""}


def test_arrow_is_what_the_server_writes(console: Console, tmp_path: Path) -> None:
    console.run(SIZES)
    table = pa.ipc.open_stream(saved(console, "Arrow", tmp_path)).read_all()
    assert sorted(table["?size"].to_pylist()) == [3, 4, 5]


def test_parquet_is_what_the_server_writes(console: Console, tmp_path: Path) -> None:
    console.run(SIZES)
    table = pq.read_table(pa.BufferReader(saved(console, "Parquet", tmp_path)))
    assert sorted(table["?size"].to_pylist()) == [3, 4, 5]


def test_an_answer_without_rows_and_with_a_warning_leads_to_its_place(console: Console) -> None:
    console.run("[:find ?x\n :where [?x :package/nmae _]]")
    assert "No rows" in console.text(".results .empty")
    place = console.one(".warnings button")
    assert place.text.startswith("line 2, column")
    place.click()
    console.wait(lambda: console.script("return document.activeElement.className") == "editor-host")


def test_an_error_leads_to_its_place(console: Console) -> None:
    console.run("[:find ?x\n :where [?p :package/name ?name]]")
    console.button("Go to line 1").click()
    console.wait(lambda: console.script("return document.activeElement.className") == "editor-host")
