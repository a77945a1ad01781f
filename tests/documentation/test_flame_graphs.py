"""Flame graphs of the documentation: small, without scripts and paths of a machine, shown by a page."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from bench.flame import graph
from tests.documentation.conftest import ROOT

FOLDER = ROOT / "docs" / "explanation"
LARGEST = 100_000
READ = "data_received (adalog/gateway/connections/connection.py)"
STACKS = f"""\
main (/home/someone/x.py:3);Connection.{READ};<lambda> (/home/someone/lib/other.py:4) 30
main (/home/someone/x.py:3);Connection.{READ};work (adalog/store/log/__init__.py:9);send (<string>) 60
main (/home/someone/x.py:3);Connection.{READ};work (adalog/store/log/__init__.py:9) 10
run (threading.py:1);Writer._run (adalog/store/writer/writer.py:1);Condition.wait (threading.py:320) 1000
else (threading.py:1);sleep (threading.py:2) 1000"""


def titles(picture: str) -> list[str | None]:
    return [each.text for each in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}title")]


def test_frames_have_their_share_and_no_paths() -> None:
    assert titles(graph(STACKS, "a < b")) == [
        *("a < b", "a request is read, 100.0%", "other:<lambda>, 30.0%"),
        *("store.log:work, 70.0%", "<string>:send, 60.0%"),
    ]


def test_a_page_shows_each_small_flame_graph() -> None:
    page = (FOLDER / "performance.md").read_text(encoding="utf-8")
    pictures = sorted(FOLDER.glob("flame-*.svg"))
    assert len(pictures) == 2
    for path in pictures:
        text = path.read_text(encoding="utf-8")
        assert f"({path.name})" in page
        assert len(text.encode()) < LARGEST
        assert "<script" not in text
        assert not any(each is None or "/" in each for each in titles(text))
