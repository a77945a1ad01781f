"""The plan of an answer: expected beside actual counts, and beside the plan with another variable given."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from tests.chromium import needs_chromium
from tests.console.axe import serious
from tests.console.page import Console

pytestmark = needs_chromium

NEEDS = (
    '[:find ?n ?m :where (needs ?a ?b) [?a :package/name ?n] [?b :package/name ?m] [(!= ?n "<b id=bold>x</b>")]\n'
    " :rules [[(needs ?x ?y) [?x :package/depends ?y]] [(needs ?x ?y) [?x :package/depends ?z] (needs ?z ?y)]]]"
)


def opens_plan(console: Console) -> None:
    console.run(NEEDS)
    console.wait(console.rows)
    # Left of the first view is the last one.
    console.one("[data-view=table]").send_keys(Keys.ARROW_LEFT)
    console.wait(lambda: console.all(".plan-levels > li"))


def test_a_plan_is_measured_and_compared_by_keyboard(console: Console) -> None:
    opens_plan(console)
    asked = console.one("[aria-label='Plan: As asked']")
    assert "expected" in asked.text
    assert "actual" not in asked.text
    assert console.all("#bold") == []
    console.button("Run and measure").send_keys(Keys.ENTER)
    console.wait(lambda: "actual" in console.text("[aria-label='Plan: As asked']"))
    assert "2 rows in" in console.text("[aria-label='Plan: As asked']")
    assert "Stratum 1" in console.text("[aria-label='Plan: As asked']")

    given = console.one(".plan form input")
    assert given.get_attribute("value") == '"python3"'
    given.send_keys(Keys.ENTER)
    other = console.wait(lambda: console.all("[aria-label^='Plan: With ?n =']"))[0]
    console.wait(lambda: "1 rows in" in other.text)
    assert serious(console, ".results") == []
    assert console.messages() == []


def test_a_plan_on_a_narrow_screen(console: Console) -> None:
    metrics = {"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    console.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        opens_plan(console)
        console.button("Run and measure").click()
        console.wait(lambda: "actual" in console.text("[aria-label='Plan: As asked']"))
        assert console.script("return document.documentElement.scrollWidth") <= 420
        assert serious(console, ".results") == []
    finally:
        console.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_value_that_is_no_edn_is_an_error_of_that_plan_alone(console: Console) -> None:
    opens_plan(console)
    given = console.one(".plan form input")
    given.clear()
    given.send_keys("(", Keys.ENTER)
    console.wait(lambda: console.all("[aria-label^='Plan: With ?n ='] [role=alert]"))
    assert console.all("[aria-label='Plan: As asked'] [role=alert]") == []
