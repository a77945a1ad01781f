"""docs/reference/python.md: it is what the docstrings of the library say now."""

from __future__ import annotations

import runpy

from tests.documentation.conftest import ROOT


def test_the_page_is_current() -> None:
    written = runpy.run_path(str(ROOT / "docs" / "site" / "python_reference.py"))
    assert written["PAGE"].read_text(encoding="utf-8") == written["page"](), (
        "python docs/site/python_reference.py writes it"
    )


def test_every_public_call_is_on_it() -> None:
    text = ROOT.joinpath("docs", "reference", "python.md").read_text(encoding="utf-8")
    for name in (
        "connect",
        "aconnect",
        "Database.q",
        "Database.pull",
        "CurrentDatabase.transact",
        "Connection.close",
    ):
        assert f"# {name}\n" in text
