"""The documents tell the truth: links lead somewhere, settings are those there are, versions are pinned."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog import edn
from adalog.gateway.cli.options import OPTION_KEYS
from adalog.gateway.settings.config import PREFIX, Settings, names, shown_default
from adalog.gateway.settings.setting import variable
from adalog.store.files.formats import RELEASE

# A variable of the set-up.
_SET_UP = {"no_system_packages"}
ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "clients/*/*.md", "tests/*.md")
    for path in ROOT.glob(pattern)
)
PROJECT: dict[str, Any] = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", document.read_text(encoding="utf-8")):
        if not re.match(r"https?:", target):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_anchors_lead_to_headings(document: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", document.read_text(encoding="utf-8")):
        page = (document.parent / target).resolve() if target else document
        if page.suffix == ".md":
            assert anchor in _anchors(page), f"{document.name} links to {target}#{anchor}"


@cache
def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading).lower()).strip().replace(" ", "-")
        found.add(name if name not in found else f"{name}-1")
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_documents_name_are_there(document: Path) -> None:
    if document.name != "CHANGELOG.md":
        named = re.findall(
            r"`((?:[\w.-]+/)+[\w-]+\.(?:py|sh|yaml|json|parquet))`", document.read_text(encoding="utf-8")
        )
        assert [name for name in named if not (ROOT / name).exists()] == []


def test_architecture_is_three_screens_and_names_files_of_every_way() -> None:
    text = ROOT.joinpath("docs", "explanation", "architecture.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 165
    for way in re.split(r"^## (?=\d)", text, flags=re.MULTILINE)[1:]:
        assert len(re.findall(r"`[\w/]+\.py`", way)) >= 8, way.splitlines()[0]


def test_the_readme_lists_settings_with_their_defaults() -> None:
    lines = ROOT.joinpath("README.md").read_text(encoding="utf-8").splitlines()
    rows = [row for row in lines if row.startswith(f"| `{PREFIX}")]
    assert len(rows) >= 8
    defaults = {variable(each.name): shown_default(each) for each in dataclasses.fields(Settings)}
    for row in rows:
        variables, values = (re.findall(r"`([^`]*)`", cell) for cell in row.split("|")[1:3])
        assert set(variables) <= defaults.keys()
        for name, default in zip(variables, values, strict=False):
            assert default == defaults[name], row


def test_documents_name_settings_that_there_are() -> None:
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        named = set(re.findall(rf"`{PREFIX}(\w+)", path.read_text(encoding="utf-8")))
        if path.name not in ("CHANGELOG.md", "CONTRIBUTING.md", "settings.md"):
            assert {name.lower() for name in named} <= names() | OPTION_KEYS | _SET_UP, path.name


def test_security_names_every_setting_that_bounds_a_cost() -> None:
    named = {
        name.lower()
        for name in re.findall(rf"{PREFIX}(\w+)", ROOT.joinpath("SECURITY.md").read_text(encoding="utf-8"))
    }
    numbers = {each.name for each in dataclasses.fields(Settings) if type(each.default) in (int, float)} - {"port"}
    assert numbers <= named


def test_everything_is_pinned() -> None:
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    wanted = [text for group in groups for text in group]
    pins = ROOT.joinpath("constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(_pin(line) for line in pins if line and not line.startswith("#"))
    for text in wanted:
        name, version = _pin(text)
        assert pinned[name] == version, text


def test_there_is_one_version() -> None:
    assert PROJECT["version"] == RELEASE, "processes elsewhere know it by store/files/formats.py alone"


def test_the_project_is_not_for_an_index() -> None:
    assert "Private :: Do Not Upload" in PROJECT["classifiers"]


def _pin(text: str) -> tuple[str, str]:
    name, equals, version = text.partition("==")
    assert equals, f"{text} is no exact version"
    assert re.fullmatch(r"[\w.-]+", version), f"{text} is no exact version"
    return re.sub(r"[-_.]+", "-", name).lower(), version


def test_the_readme_is_shorter_than_three_screens() -> None:
    assert len(ROOT.joinpath("README.md").read_text(encoding="utf-8").splitlines()) <= 110


def test_the_readme_shows_what_the_example_answers() -> None:
    readme = ROOT.joinpath("README.md").read_text(encoding="utf-8")
    queries = ROOT.joinpath("examples", "debian", "queries")
    query = queries.joinpath("needs.edn").read_text(encoding="utf-8").split("\n", maxsplit=1)[1]
    assert " ".join(query.split()) in " ".join(readme.split())
    for row in edn.read(queries.joinpath("needs.answer.edn").read_text(encoding="utf-8")):
        assert re.search(r"^" + r" +".join(re.escape(str(cell)) for cell in row) + "$", readme, re.MULTILINE), row
        assert f'["{row[0]}"]' in readme
