"""examples/live: its files, as they are served."""

from __future__ import annotations

import re
from pathlib import Path

from adalog.gateway.explorer.examples import FILES
from tests.gateway.support import gateway

FOLDER = Path(__file__).parents[2] / "examples" / "live"


def test_its_files_are_served_and_nothing_else() -> None:
    with gateway(None) as opened:
        page = opened.http.get("/examples/live/")
        assert page.status_code == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert opened.http.get("/examples/live").headers["location"].endswith("/examples/live/")
        for name in FILES:
            response = opened.http.get(f"/examples/live/{name}")
            assert response.content == (FOLDER / name).read_bytes()
            assert response.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        for name in ("__init__.py", "README.md", "../debian/schema.edn", "nope.js"):
            assert opened.http.get(f"/examples/live/{name}").status_code == 404


def test_the_page_asks_only_this_server_and_runs_no_inline_script() -> None:
    page = (FOLDER / "index.html").read_text("utf-8")
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert set(named) == {"../../explorer/icon.svg", "live.css", "live.js"}
    assert not re.search(r"<script(?![^>]*\ssrc=)|\son\w+=|<style|\sstyle=", page)


def test_the_readme_shows_the_query_of_the_page() -> None:
    script = (FOLDER / "live.js").read_text("utf-8")
    [shown] = re.findall(r"```clojure\n(.*?)```", (FOLDER / "README.md").read_text("utf-8"), re.DOTALL)
    query = re.search(r"const AFFECTED = `(.*?)`", script, re.DOTALL)
    rules = re.search(r"const RULES = `(.*?)`", script, re.DOTALL)
    assert query is not None
    assert rules is not None
    assert query[1].replace("${RULES}", rules[1]).split() == shown.split()
