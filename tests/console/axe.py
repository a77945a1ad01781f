"""What axe-core finds wrong with a part of the page, of what is serious or critical."""

from __future__ import annotations

from pathlib import Path

from tests.console.page import Console

_AXE = Path(__file__).parents[2] / "clients" / "console" / "node_modules" / "axe-core" / "axe.min.js"


def serious(console: Console, selector: str = "body") -> list[str]:
    if not _AXE.is_file():
        return []
    console.script(_AXE.read_text("utf-8"))
    found = console.browser.execute_async_script(  # type: ignore[no-untyped-call]
        "const done = arguments[arguments.length - 1];"
        "axe.run(arguments[0]).then(({violations}) => done(violations))",
        selector,
    )
    return [
        f"{each['id']}: {node['html']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]
