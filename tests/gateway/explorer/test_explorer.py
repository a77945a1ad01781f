"""The explorer's files: only those listed, only as listed; no other host and no inline script."""

from __future__ import annotations

import hashlib
import re
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from adalog.gateway import explorer, page_files
from adalog.gateway.settings.config import SettingError
from tests.gateway.support import Gateway

FOLDER = Path(str(files(explorer)))
PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def test_every_file_is_what_the_manifest_says() -> None:
    listed = page_files.manifest(FOLDER)
    for name, expected in listed.items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == expected, name
    there = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert {name for name in there if not name.endswith((".py", ".pyc"))} == {*listed, "manifest.json"}


def test_every_library_has_its_licence() -> None:
    for library in ("graphiql", "plugin-explorer", "graphiql-explorer", "react"):
        assert "MIT License" in (FOLDER / "vendor" / f"LICENSE-{library}.txt").read_text("utf-8")


@pytest.mark.parametrize("change", ["alter", "remove"])
def test_an_altered_file_is_refused(tmp_path: Path, change: str) -> None:
    copy = tmp_path / "explorer"
    shutil.copytree(FOLDER, copy)
    target = copy / "vendor" / "react.production.min.js"
    if change == "alter":
        target.write_bytes(target.read_bytes() + b"\nfetch('https://evil.example')")
    else:
        target.unlink()
    with pytest.raises(SettingError, match=r"vendor/react\.production\.min\.js"):
        page_files.load(copy)


def test_browsers_get_the_page_and_programs_do_not(empty: Gateway) -> None:
    page = empty.http.get("/graphql", headers={"Accept": PAGE})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "explorer.js" in page.text
    query = {"query": "{ database { basisT } }"}
    assert empty.http.get("/graphql", params=query, headers={"Accept": PAGE}).text == page.text
    assert empty.http.get("/graphql", params=query).json() == {"data": {"database": {"basisT": 0}}}


def test_each_browser_gets_the_whole_page_whatever_one_before_asked_for(empty: Gateway) -> None:
    page = empty.http.get("/graphql", headers={"Accept": PAGE, "Accept-Encoding": "identity"})
    packed = empty.http.get("/graphql", headers={"Accept": PAGE, "Accept-Encoding": "gzip, identity;q=0"})
    assert (packed.headers["content-encoding"], packed.text) == ("gzip", page.text)
    again = empty.http.get("/graphql", headers={"Accept": PAGE, "Accept-Encoding": "identity"})
    assert again.text == page.text
    assert again.headers["vary"] == page.headers["vary"] == "Accept, Accept-Encoding"


def test_the_page_asks_only_this_server_and_runs_no_inline_script() -> None:
    page = (FOLDER / "index.html").read_text("utf-8")
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert named
    assert all(name.removeprefix("explorer/") in page_files.manifest(FOLDER) for name in named)
    assert not re.search(r"<script(?![^>]*\ssrc=)", page)
    assert not re.search(r"\son\w+=|<style", page)


def test_files_are_served_with_their_types_and_tags(empty: Gateway) -> None:
    for name in page_files.manifest(FOLDER):
        response = empty.http.get(f"/explorer/{name}")
        assert response.status_code == 200
        assert response.content == (FOLDER / name).read_bytes()
        again = empty.http.get(f"/explorer/{name}", headers={"If-None-Match": response.headers["etag"]})
        assert again.status_code == 304
    assert "javascript" in empty.http.get("/explorer/explorer.js").headers["content-type"]


@pytest.mark.parametrize(
    "name", ["manifest.json", "__init__.py", "examples.py", "../app.py", "%2e%2e/app.py", "vendor", "", "nope.js"]
)
def test_nothing_else_is_served(empty: Gateway, name: str) -> None:
    assert empty.http.get(f"/explorer/{name}").status_code == 404
