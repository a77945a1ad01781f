"""The wheel holds all that the folders hold, under one name; the command runs from it; the old names are gone."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.wheel import LINKS, OTHER_NAMES, ROOT, built, folder_of

REFUSED = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except (ImportError, AssertionError):
        continue
    print(name)
"""


def _run(*words: str | Path, cwd: Path, **environ: str) -> str:
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *words], cwd=cwd, env=own | environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of a wheel that was built from a copy of the sources."""
    folder = tmp_path_factory.mktemp("package")
    zipfile.ZipFile(built(folder)).extractall(folder / "installed")
    return folder / "installed"


def test_each_link_leads_to_the_folder_of_its_name_beside_src() -> None:
    assert [str(link.readlink()) for link in LINKS] == [f"../../{folder_of(link)}" for link in LINKS]
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "bench", "helm"}
    assert packages == {link.name for link in LINKS} - OTHER_NAMES.keys()


def test_the_wheel_holds_every_file_of_every_package(installed: Path) -> None:
    folders = {path.name for path in installed.iterdir() if path.suffix != ".dist-info"}
    assert folders == {"adalog"}
    # PEP 561: without the marker, type checkers of callers read no annotation of the package.
    assert (installed / "adalog" / "py.typed").is_file()
    for link in LINKS:
        unlisted = ("__pycache__", ".nbc")
        wanted = {
            str(Path(link.name) / path.relative_to(ROOT / folder_of(link)))
            for path in (ROOT / folder_of(link)).rglob("*")
            if path.is_file() and not any(part in str(path) for part in unlisted)
        }
        there = {
            str(path.relative_to(installed / "adalog")) for path in (installed / "adalog" / link.name).rglob("*.*")
        }
        files = {name for name in there if (installed / "adalog" / name).is_file()}
        assert files == wanted, link.name


def test_the_command_runs_from_it(installed: Path, tmp_path: Path) -> None:
    command = "from adalog.command import main; main()"
    path = {"PYTHONPATH": str(installed)}
    assert "Usage:" in _run("-c", command, "--help", cwd=tmp_path, **path)
    _run("-c", command, "transact", "--data", "db", '[{:name "Ada"}]', cwd=tmp_path, **path)
    query = ("query", "--data", "db", "[:find ?n . :where [_ :name ?n]]")
    assert "Ada" in _run("-c", command, *query, cwd=tmp_path, **path)
    where = _run("-c", "import adalog.store; print(adalog.store.__file__)", cwd=tmp_path, **path)
    assert Path(where.strip()) == installed / "adalog" / "store" / "__init__.py"


def test_the_old_names_cannot_be_imported(installed: Path, tmp_path: Path) -> None:
    """Neither beside the wheel nor in the checkout, whose folders Python would find."""
    names = [link.name for link in LINKS]
    assert _run("-c", REFUSED, *names, cwd=tmp_path, PYTHONPATH=str(installed)) == ""
    assert _run("-c", REFUSED, *names, cwd=ROOT) == ""
