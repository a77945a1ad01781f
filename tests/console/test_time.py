"""The answer as of an earlier moment, what changed between two, and play."""

from __future__ import annotations

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.axe import serious
from tests.console.page import Console
from tests.console.test_live import NAMES, THREE, marked, names, watch
from tests.gateway.support import Gateway, gateway, served

pytestmark = needs_chromium


@pytest.fixture
def grown(console: Console, packages: Gateway) -> Console:
    """After transaction 2, with three packages: one is added, an unrelated one comes, one goes."""
    packages.database.transact('[{:package/name "zlib1g" :package/version "1.2"}]')
    packages.database.transact('[{:section/name "libs"}]')
    packages.database.transact('[[:db/retractEntity [:package/name "python3"]]]')
    console.open()
    return console


def as_of(console: Console) -> None:
    console.run(NAMES)
    console.button("As of…").send_keys(Keys.ENTER)
    console.wait(lambda: console.one(".slider").get_attribute("max") == "5")


def test_the_slider_goes_through_time_by_keys(grown: Console) -> None:
    as_of(grown)
    assert names(grown) == {"libsqlite3-0", "sqlite3", "zlib1g"}
    slider = grown.one(".slider")
    slider.send_keys(Keys.ARROW_LEFT)
    grown.wait(lambda: names(grown) == {*THREE, "zlib1g"})
    assert "at t 4" in grown.text(".results")
    slider.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    grown.wait(lambda: names(grown) == THREE)
    # With the date of the transaction.
    grown.wait(lambda: grown.text(".transaction-time").startswith("20"))
    slider.send_keys(Keys.HOME)
    grown.wait(lambda: names(grown) == set())
    grown.button("Newest").click()
    grown.wait(lambda: names(grown) == {"libsqlite3-0", "sqlite3", "zlib1g"})
    assert "basis" not in grown.browser.current_url
    assert grown.messages() == []


def test_a_link_holds_the_moment(grown: Console) -> None:
    as_of(grown)
    grown.one(".slider").send_keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    grown.wait(lambda: names(grown) == THREE)
    address = grown.browser.current_url
    grown.browser.get("about:blank")
    grown.browser.get(address)
    grown.wait(lambda: names(grown) == THREE)
    assert grown.one(".slider").get_attribute("value") == "2"


DAYS = [f"2024-0{month}-15" for month in range(1, 10)]

# The texts of the ticks in sight, and whether one lies over another or beside the slider.
_TICKS = """
const shown = [...document.querySelectorAll(".tick")].filter((each) => each.textContent && each.offsetParent);
const boxes = shown.map((each) => each.getBoundingClientRect());
const slider = document.querySelector(".slider").getBoundingClientRect();
const isApart = boxes.every((box, i) => i === 0 || box.left > boxes[i - 1].right);
const isWithin = boxes.every((box) => box.left >= slider.left && box.right <= slider.right);
return [shown.map((each) => each.textContent), isApart && isWithin];
"""


@pytest.mark.parametrize(("width", "shown"), [(1900, [0, 1, 4, 6, 8]), (1280, [0, 4, 8]), (420, [0, 4, 8])])
def test_a_few_dates_stand_below_the_slider(browser: Chrome, width: int, shown: list[int]) -> None:
    instants = [f'{{:db/id "datomic.tx" :db/txInstant #inst "{day}T12:00:00Z"}}' for day in DAYS]
    made = [f'[{each} {{:package/name "{day}"}}]' for each, day in zip(instants, DAYS, strict=True)]
    with gateway(None, *made) as opened, served(opened.app) as address:
        page = Console(browser, address)
        before = browser.get_window_size()
        browser.set_window_size(width, 900)
        try:
            page.open()
            page.run(NAMES)
            page.button("As of…").send_keys(Keys.ENTER)
            page.wait(lambda: page.all(".tick"))
            assert page.script(_TICKS) == [[DAYS[i] for i in shown], True]
            assert page.one(".slider").accessible_name == "Transaction"
            assert serious(page, ".moment") == []
        finally:
            browser.set_window_size(before["width"], before["height"])
            browser.get("about:blank")


def test_a_date_is_a_moment(grown: Console, packages: Gateway) -> None:
    as_of(grown)
    field = grown.one(".as-of [type=datetime-local]")
    grown.script(
        "arguments[0].value = '2001-01-01T00:00:00';"
        "arguments[0].dispatchEvent(new Event('change', {bubbles: true}))",
        field,
    )
    grown.wait(lambda: grown.one(".slider").get_attribute("value") == "0")


def test_only_the_latest_of_many_steps_is_asked(grown: Console) -> None:
    as_of(grown)
    grown.browser.get_log("performance")  # type: ignore[no-untyped-call]
    grown.script(
        "const slider = arguments[0]; for (let i = 0; i < 200; i++) {"
        " slider.value = i % 5; slider.dispatchEvent(new Event('input', {bubbles: true})); }",
        grown.one(".slider"),
    )
    grown.wait(lambda: "at t 4" in grown.text(".results"))
    sent = [each for each in grown.browser.get_log("performance") if 'requestWillBeSent"' in each["message"]]  # type: ignore[no-untyped-call]
    assert len([each for each in sent if "POST" in each["message"] and "argsEdn: $argsEdn" in each["message"]]) < 10


def test_what_changed_between_two_moments_is_marked(grown: Console) -> None:
    grown.run(NAMES)
    grown.button("Changes…").send_keys(Keys.ENTER)
    start = grown.wait(lambda: grown.all(".moment-field input.t"))[0]
    start.send_keys(Keys.CONTROL, "a", Keys.NULL, "2", Keys.TAB)
    # The comparison with which the page began has ended.
    grown.wait(lambda: grown.button("Compare").is_enabled())
    grown.button("Compare").send_keys(Keys.ENTER)
    grown.wait(lambda: "1 added, 1 retracted" in grown.text(".compare"))
    assert (names(grown, "added"), names(grown, "retracted")) == ({"zlib1g"}, {"python3"})
    assert names(grown) == {"zlib1g", "python3"}
    assert serious(grown) == []
    grown.one(".compare [type=checkbox]").send_keys(Keys.SPACE)
    grown.wait(lambda: names(grown) == {*THREE, "zlib1g"})
    assert (names(grown, "added"), names(grown, "retracted")) == ({"zlib1g"}, {"python3"})


def test_a_limit_without_an_order_is_noted_beside_changes(grown: Console) -> None:
    grown.run("[:find ?n :where [?p :package/name ?n] :limit 2]")
    grown.button("Changes…").click()
    notes = "return [...document.querySelectorAll('main .note')].map((each) => each.textContent).join()"
    grown.wait(lambda: "Add :order-by" in grown.script(notes))
    grown.run("[:find ?n :where [?p :package/name ?n] :order-by [?n] :limit 2]")
    grown.wait(lambda: "Add :order-by" not in grown.script(notes))


def test_the_date_of_a_first_tick_far_from_the_left_is_centred(console: Console) -> None:
    """Otherwise it covers the next one's on a narrow page."""
    metrics = {"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    console.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        console.run(NAMES)
        console.button("As of…").click()
        console.wait(lambda: len(console.all(".tick")) == 2)
        tick, ticks = console.one(".tick").rect, console.one(".ticks").rect
        assert tick["width"] > 40
        assert abs(tick["x"] + tick["width"] / 2 - ticks["x"] - ticks["width"] / 2) < 2
    finally:
        console.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# A step takes a second or so: it is paused from within the page.
_PLAY_AND_PAUSE = """
const done = arguments[arguments.length - 1];
const buttons = () => [...document.querySelectorAll(".as-of button")];
const named = (name) => buttons().find((each) => each.textContent.trim() === name);
named("Play").click();
new MutationObserver((_, observer) => {
  if (!named("Pause")) return;
  observer.disconnect();
  named("Pause").click();
  done();
}).observe(document.body, { subtree: true, childList: true });
"""


def test_play_goes_through_the_transactions_that_change_the_answer(grown: Console) -> None:
    as_of(grown)
    grown.one(".slider").send_keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    grown.wait(lambda: names(grown) == THREE)
    watch(grown)
    grown.browser.execute_async_script(_PLAY_AND_PAUSE)  # type: ignore[no-untyped-call]
    assert grown.one(".slider").get_attribute("value") == "2"
    grown.button("Pause").send_keys(Keys.SPACE)
    # Transaction 4 changes nothing of it.
    grown.wait(lambda: "2 transactions changed the answer" in grown.text(".as-of"))
    assert (marked(grown, "added"), marked(grown, "retracted")) == ({"zlib1g"}, {"python3"})
    assert grown.one(".slider").get_attribute("value") == "5"
    assert serious(grown) == []
    assert grown.messages() == []
