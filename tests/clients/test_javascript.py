"""clients/js: built, type-checked, tested with the packages that it is made for, and packed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "js"
PACKAGE: dict[str, Any] = json.loads((CLIENT / "package.json").read_text("utf-8"))
LOCK: dict[str, Any] = json.loads((CLIENT / "package-lock.json").read_text("utf-8"))

needs_node = pytest.mark.skipif(
    shutil.which("npm") is None or not (CLIENT / "node_modules" / "typescript").is_dir(),
    reason="needs Node.js and its packages: sudo apt-get install nodejs npm, then make setup",
)


def run(command: Sequence[str]) -> str:
    """What a command in the package's folder says, which must succeed."""
    done = subprocess.run(command, cwd=CLIENT, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built() -> None:
    """The package and its tests, compiled; the compiler finds nothing to complain of."""
    shutil.rmtree(CLIENT / "dist", ignore_errors=True)
    shutil.rmtree(CLIENT / "build", ignore_errors=True)
    run(["npm", "run", "--silent", "build"])
    run(["npm", "run", "--silent", "build-test"])


@needs_node
@pytest.mark.usefixtures("built")
def test_its_own_tests() -> None:
    tests = sorted(str(path.relative_to(CLIENT)) for path in (CLIENT / "build").glob("*.test.js"))
    assert len(tests) == len(list((CLIENT / "test").glob("*.test.ts")))
    run(["node", "--test", *tests])


@needs_node
@pytest.mark.usefixtures("built")
def test_what_is_packed() -> None:
    [packed] = json.loads(run(["npm", "pack", "--dry-run", "--json", "--ignore-scripts"]))
    files = {file["path"] for file in packed["files"]}
    modules = {path.stem for path in (CLIENT / "src").glob("*.ts")}
    compiled = {f"dist/{name}{suffix}" for name in modules for suffix in (".js", ".d.ts")}
    assert files == compiled | {"package.json", "README.md", "LICENSE"}
    for export in PACKAGE["exports"].values():
        for path in [export] if isinstance(export, str) else export.values():
            assert path.removeprefix("./") in files


def test_it_needs_nothing_at_run_time_and_is_not_published() -> None:
    assert "dependencies" not in PACKAGE
    assert PACKAGE["private"] is True
    assert set(PACKAGE["peerDependencies"]) == set(PACKAGE["peerDependenciesMeta"])
    for path in (CLIENT / "src").glob("*.ts"):
        imported = set(re.findall(r' from "([^"]+)"', path.read_text("utf-8")))
        outside = {name for name in imported if not name.startswith("./")}
        assert outside <= {"react": {"react"}, "tanstack-db": {"@tanstack/db"}}.get(path.stem, set()), path.name


def test_versions_are_exact_and_the_lock_names_no_address() -> None:
    for name, version in PACKAGE["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
        assert LOCK["packages"][f"node_modules/{name}"]["version"] == version
    assert "://" not in re.sub(r'"(url|funding)": [^\n]*', "", (CLIENT / "package-lock.json").read_text("utf-8"))
    for name, locked in LOCK["packages"].items():
        assert "resolved" not in locked
        assert not name or "integrity" in locked, name


def test_the_licence_is_the_project_s() -> None:
    assert (CLIENT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert PACKAGE["license"] == "Apache-2.0"
