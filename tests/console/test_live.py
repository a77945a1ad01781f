"""An answer as its stream: rows come and go, and wait while it is paused."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.axe import serious
from tests.console.page import Console
from tests.gateway.explorer.test_browser import requested
from tests.gateway.support import Gateway

pytestmark = needs_chromium

NAMES = "[:find ?name ?version :where [?p :package/name ?name] [?p :package/version ?version]]"
THREE = {"libsqlite3-0", "python3", "sqlite3"}


def names(console: Console, mark: str = "") -> set[str]:
    """The first cells of the rows in sight; with a mark, of those that have it."""
    rows: list[str] = console.script(
        "return [...document.querySelectorAll('.results .table-body .table-row' + arguments[0])]"
        ".map((row) => row.querySelector('[role=cell], [role=gridcell]').textContent)",
        mark and f".{mark}",
    )
    return set(rows)


TRANSACT = "mutation ($tx: EDN!) { transact(tx: $tx) { t } }"
_WATCH = """
const marked = (window.marked = { added: [], retracted: [] });
new MutationObserver(() => {
  for (const mark of ["added", "retracted"])
    for (const row of document.querySelectorAll(".results .table-body .table-row." + mark))
      marked[mark].push(row.querySelector("[role=cell], [role=gridcell]").textContent);
}).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
"""


def watch(console: Console) -> None:
    """Remembers the rows that are marked from now on: marks fade."""
    console.script(_WATCH)


def marked(console: Console, mark: str) -> set[str]:
    """The first cells of the rows that have had a mark since `watch`."""
    return set(console.script("return window.marked[arguments[0]]", mark))


def goes_live(console: Console) -> None:
    console.run(NAMES)
    console.button("Live").send_keys(Keys.ENTER)
    console.wait(lambda: console.text(".live-status") == "Live")


def test_rows_enter_and_leave_visibly(console: Console, packages: Gateway) -> None:
    goes_live(console)
    console.wait(lambda: names(console) == THREE)
    watch(console)
    packages.database.transact('[{:package/name "zlib1g" :package/version "1.2"}]')
    console.wait(lambda: marked(console, "added") == {"zlib1g"})
    # The mark fades, the row stays.
    console.wait(lambda: not names(console, "added") and names(console) == {*THREE, "zlib1g"})
    packages.database.transact('[[:db/retractEntity [:package/name "python3"]]]')
    console.wait(lambda: marked(console, "retracted") == {"python3"})
    console.wait(lambda: names(console) == {"libsqlite3-0", "sqlite3", "zlib1g"})
    assert (marked(console, "added"), marked(console, "retracted")) == ({"zlib1g"}, {"python3"})
    assert "rows a second" in console.text(".stream")
    assert serious(console) == []
    assert console.messages() == []
    # The worker that tabs share has started, and the page's policy allows it.
    assert any("shared-worker.js" in url for url in shared_worker_scripts(console))


def test_what_is_excised_leaves_the_stream_and_every_panel(console: Console, packages: Gateway) -> None:
    console.run("[:find ?name ?version ?p :where [?p :package/name ?name] [?p :package/version ?version]]")
    console.button("Live").send_keys(Keys.ENTER)
    console.wait(lambda: console.text(".live-status") == "Live")
    console.wait(lambda: names(console) == THREE)
    watch(console)
    packages.data(TRANSACT, tx='[{:db/excise [:package/name "python3"]}]')
    console.wait(lambda: marked(console, "retracted") == {"python3"})
    console.wait(lambda: names(console) == {"libsqlite3-0", "sqlite3"})
    # The stream goes on.
    packages.data(TRANSACT, tx='[{:package/name "zlib1g" :package/version "1.2"}]')
    console.wait(lambda: names(console) == {"libsqlite3-0", "sqlite3", "zlib1g"})
    assert (console.text(".live-status"), console.all(".stream .error")) == ("Live", [])
    console.one(".table-body [role=row] button.ref").send_keys(Keys.ENTER)
    console.wait(lambda: console.all(".side .entity-name"))
    name = console.text(".side .entity-name")
    packages.data(TRANSACT, tx=f'[{{:db/excise [:package/name "{name}"]}}]')
    console.button("History", ".side").send_keys(Keys.ENTER)
    console.wait(lambda: name not in names(console))
    console.wait(lambda: console.one(".side .entity"))
    assert [each.text for each in console.all(".side .change-list li")] == []
    assert console.all(".side .error") == []
    assert console.messages() == []


def test_rows_of_a_stream_lead_to_their_entities(console: Console, packages: Gateway) -> None:
    console.run("[:find ?p ?name :where [?p :package/name ?name]]")
    console.button("Live").send_keys(Keys.ENTER)
    console.wait(lambda: console.text(".live-status") == "Live")
    packages.database.transact('[{:package/name "zlib1g" :package/version "1.2"}]')
    console.wait(lambda: [row for row in console.rows() if row[1] == "zlib1g"])
    console.one(".table-body [role=row] button.ref").send_keys(Keys.ENTER)
    console.wait(lambda: [each.text for each in console.all(".side .entity-name")] == ["zlib1g"])


def shared_worker_scripts(console: Console) -> list[str]:
    targets = console.browser.execute_cdp_cmd("Target.getTargets", {})["targetInfos"]
    return [each["url"] for each in targets if each["type"] == "shared_worker"] + requested(console.browser)


def test_a_pause_holds_the_rows_and_counts_what_waits(console: Console, packages: Gateway) -> None:
    goes_live(console)
    console.wait(lambda: names(console) == THREE)
    console.button("Pause").send_keys(Keys.SPACE)
    packages.database.transact('[{:package/name "zlib1g" :package/version "1.2"}]')
    packages.database.transact('[[:db/retractEntity [:package/name "python3"]]]')
    console.wait(lambda: "2 changes wait: 1 added, 1 retracted" in console.text(".stream"))
    assert names(console) == THREE
    console.button("Pause").send_keys(Keys.SPACE)
    console.wait(lambda: names(console) == {"libsqlite3-0", "sqlite3", "zlib1g"})


def test_another_question_has_another_stream_and_the_newest_ends_it(console: Console, packages: Gateway) -> None:
    goes_live(console)
    console.run('[:find ?version :where [?p :package/name "python3"] [?p :package/version ?version]]')
    console.wait(lambda: names(console) == {"3.11"})
    packages.database.transact('[{:package/name "python3" :package/version "3.12"}]')
    console.wait(lambda: names(console) == {"3.12"})
    console.button("Newest").click()
    console.wait(lambda: "1 row at t" in console.text(".results") and not console.all(".stream"))
    packages.database.transact('[{:package/name "python3" :package/version "3.13"}]')
    console.run('[:find ?version :where [?p :package/name "sqlite3"] [?p :package/version ?version]]')
    assert console.wait(lambda: names(console)) == {"3.40.1"}


def test_why_of_a_row_that_streams(console: Console, packages: Gateway) -> None:
    goes_live(console)
    packages.database.transact('[{:package/name "zlib1g" :package/version "1.2"}]')
    console.wait(lambda: "zlib1g" in names(console))
    console.button("Why", ".results").click()
    console.wait(lambda: "t 3" in console.text(".side .tree"))


def test_an_error_ends_the_stream_and_is_shown(console: Console) -> None:
    goes_live(console)
    console.run("[:find ?x :where [?p :package/name ?name]]")
    console.wait(lambda: "line 1, column 8" in console.text(".results .error"))
    assert console.all(".stream") == []
