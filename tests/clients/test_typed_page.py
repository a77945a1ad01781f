"""docs/tutorials/typed-graphql.md: its live script is run as it stands, by Node.js, after the other documents."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.clients.npm import CLIENT, ROOT, needs_node
from tests.gateway.support import Gateway, gateway, served

PAGE = ROOT.joinpath("docs", "tutorials", "typed-graphql.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(clojure|graphql|js|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def followed(opened: Gateway) -> tuple[str, str]:
    """The page's script and what it shows, after the other blocks were sent."""
    script = shown = ""
    for kind, text in BLOCK.findall(PAGE):
        if kind == "clojure":
            opened.data("mutation ($tx: EDN!) { transact(tx: $tx) { t } }", tx=text)
        elif kind == "graphql":
            opened.post(text)
        elif kind == "js":
            script = text
        else:
            shown = text
    return script, shown


@needs_node
@pytest.mark.usefixtures("built")
def test_the_live_script_shows_what_the_page_says() -> None:
    with gateway() as opened, served(opened.app) as url:
        script, shown = followed(opened)
        path = CLIENT / "build" / "page.mjs"
        path.write_text(script, encoding="utf-8")
        done = subprocess.run(
            ["node", str(path)],
            env=os.environ | {"GRAPHQL_URL": f"{url}/graphql", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == shown
