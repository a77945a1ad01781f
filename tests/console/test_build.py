"""The console that is served is the one that clients/console makes, and no file of it was altered."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from adalog.gateway import console, page_files

FOLDER = Path(str(files(console)))
SOURCES = Path(__file__).parents[2] / "clients" / "console"


def test_every_file_is_what_the_manifest_says() -> None:
    listed = page_files.manifest(FOLDER)
    for name, expected in listed.items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == expected, name
    there = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert {name for name in there if not name.endswith((".py", ".pyc"))} == {*listed, "manifest.json"}


def test_the_page_asks_only_this_server_and_has_no_inline_script() -> None:
    page = (FOLDER / "index.html").read_text("utf-8")
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert named
    assert all((FOLDER / name.removeprefix("console/")).is_file() for name in named)
    assert re.findall(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", page) == []


@pytest.mark.skipif(
    shutil.which("node") is None or not (SOURCES / "node_modules").is_dir(), reason="needs Node.js and its packages"
)
def test_the_sources_make_what_is_served(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "icon.svg", tmp_path)
    for command in (["npm", "run", "--silent", "check"], ["node", "build.js", str(tmp_path)]):
        done = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert page_files.manifest(tmp_path) == page_files.manifest(FOLDER), "run `make console` and commit its files"
