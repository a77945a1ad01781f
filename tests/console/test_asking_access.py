"""What the page that asks opens can be used by all, too: axe-core finds nothing serious, and nothing overflows."""

from __future__ import annotations

import pytest

from tests.console.page import Console
from tests.console.test_accessibility import pytestmark as pytestmark
from tests.console.test_accessibility import violations

QUERY = "[:find ?n :in $ ?v [?m ...] [[?a ?b]] % $past :where [?p :package/name ?n] [?p :package/version ?v]]"
SHOWN = {"Builder": ".builder select", "History": ".side .stack", "Saved": ".side .stack"}


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("opened", ["Builder", "History", "Saved"])
def test_arguments_and_panels(console: Console, width: int, opened: str) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    console.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        console.write(QUERY)
        console.one('[aria-label="$past: which database"]')
        console.button("Run").click()
        console.one(".argument-problem")
        console.button(opened).click()
        console.one(SHOWN[opened])
        assert violations(console) == []
        assert console.script("return document.documentElement.scrollWidth") <= width
    finally:
        console.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
