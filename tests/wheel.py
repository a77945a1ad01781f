"""The wheel, built from a copy of the sources, and clean environments that it is installed in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINKS = sorted(path for path in (ROOT / "src" / "adalog").iterdir() if path.is_symlink())
BUILD = "from setuptools import build_meta; build_meta.build_wheel('..')"
# The clients of other languages stand beside the Python one, and are no packages.
OTHER_NAMES = {"client": "clients/python"}


def folder_of(link: Path) -> str:
    """The folder that a package is a link to."""
    return OTHER_NAMES.get(link.name, link.name)


def built(folder: Path) -> Path:
    """A wheel in the folder, without an index."""
    sources = folder / "sources"
    unbuilt = shutil.ignore_patterns("__pycache__", "*.egg-info", "compiled")
    for name in ("src", *map(folder_of, LINKS)):
        shutil.copytree(ROOT / name, sources / name, symlinks=True, ignore=unbuilt)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    # `datalog/builtins/reference.md` is a link to it.
    (sources / "docs" / "reference").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "reference" / "builtins.md", sources / "docs" / "reference")
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-W", "ignore", "-c", BUILD]
    done = subprocess.run(command, cwd=sources, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def clean_environment(folder: Path, wheel: Path, others: Iterable[str]) -> Path:
    """The Python of a virtual environment that has the wheel, what it requires without an extra, and other
    distributions with what these require: linked from this environment, as nothing is downloaded."""
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    (own,) = site.glob("*.dist-info")
    pending = [*_required(PathDistribution(own)), *others]
    linked: set[str] = set()
    while pending:
        name = pending.pop()
        if name in linked:
            continue
        linked.add(name)
        found = distribution(name)
        pending += _required(found)
        for entry in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (site / entry).exists():
                (site / entry).symlink_to(str(found.locate_file(entry)))
    return folder / "bin" / "python"


def _required(found: Distribution) -> list[str]:
    """The names of what a distribution requires here, without extras."""
    names = []
    for line in found.requires or ():
        requirement, _, condition = line.partition(";")
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        assert name is not None
        if "extra" not in condition and _is_installed(name[0]):
            names.append(name[0])
        elif not condition:
            raise AssertionError(f"{line} is required and not installed")
    return names


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except ModuleNotFoundError:
        return False
    return True
