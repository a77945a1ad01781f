"""The pictures of the documentation: each is small, shown by a page, and made by a scene."""

from __future__ import annotations

from tests.documentation.conftest import ROOT
from tests.documentation.pictures import FOLDER, LARGEST, SCENES


def test_each_scene_has_its_picture() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.webp" for name in SCENES}
    for path in FOLDER.iterdir():
        assert path.read_bytes()[8:12] == b"WEBP"
        assert path.stat().st_size <= LARGEST


def test_a_page_shows_each_picture() -> None:
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert [name for name in SCENES if f"pictures/{name}.webp)" not in text] == []
