"""Every page at two widths, light and dark: axe-core finds nothing serious, and nothing overflows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.chromium import needs_chromium
from tests.console.page import Console
from tests.console.test_asking import NAMES

AXE = Path(__file__).parents[2] / "clients" / "console" / "node_modules" / "axe-core" / "axe.min.js"

pytestmark = [
    *needs_chromium,
    pytest.mark.skipif(not AXE.is_file(), reason="needs the packages of clients/console"),
]


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("place", ["ask", "schema", "change", "whom", "health"])
def test_a_page_can_be_used_by_all(console: Console, place: str, theme: str, width: int) -> None:
    # The window of a browser has a least width.
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    console.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    console.script("localStorage.setItem('adalog:theme', arguments[0])", theme)
    try:
        console.open(f"#/{place}")
        if place == "ask":
            console.run(NAMES)
            console.wait(console.rows)
        console.wait(lambda: console.all("h1, .results .table"))
        assert violations(console) == []
        assert console.script("return document.documentElement.scrollWidth") <= width
        assert console.messages() == []
    finally:
        console.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        console.script("localStorage.removeItem('adalog:theme')")


def violations(console: Console) -> list[str]:
    """What axe-core finds serious or critical, with the elements that it finds it in."""
    console.script(AXE.read_text("utf-8"))
    found: list[Any] = console.browser.execute_async_script(
        "const done = arguments[0];"
        "axe.run(document, {resultTypes: ['violations']}).then((all) => done(all.violations))"
    )
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
