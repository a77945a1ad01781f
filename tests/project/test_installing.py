"""What `make` installs: files whose hashes are known, and system packages only where it may, said before."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]


def pins(text: str) -> dict[str, str]:
    """The versions that lines pin, by the packages' normal names."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("build", PROJECT["build-system"]["requires"]),
        ("run", PROJECT["project"]["dependencies"]),
        *(("run", EXTRAS[extra]) for extra in ("server", "spark", "redis", "postgresql")),
        *((lock, EXTRAS[lock]) for lock in ("otel", "test", "docs", "bench")),
    ],
)
def test_what_is_locked_is_what_is_pinned(lock: str, wanted: list[str]) -> None:
    locked = pins((ROOT / "requirements" / f"{lock}.lock").read_text())
    assert pins("\n".join(wanted)).items() <= locked.items(), "run scripts/lock.sh"
    constraints = pins((ROOT / "constraints.txt").read_text())
    assert {name: locked[name] for name in locked.keys() & constraints.keys()}.items() <= constraints.items()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_locked_package_has_hashes_and_no_lock_an_address(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    assert "--index-url" not in text
    packages = re.split(r"^(?=[A-Za-z0-9])", text.partition("\n")[2], flags=re.MULTILINE)[1:]
    assert len(packages) == len(pins(text))
    for package in packages:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", package), package


def test_wheels_of_other_systems_are_locked_too() -> None:
    """Compiled packages come in dozens of files, one for each system and Python."""
    text = (ROOT / "requirements" / "run.lock").read_text()
    for name in ("numba", "numpy", "pyarrow", "uvloop"):
        own = re.search(rf"^{name}==.*?(?=^\w|\Z)", text, re.MULTILINE | re.DOTALL)
        assert own is not None
        assert own[0].count("--hash=") > 10, name


def installing(tmp_path: Path, **environment: str) -> tuple[str, int, list[str]]:
    """What apt_install says, its exit code, and what was done as root, in order."""
    done = tmp_path / "done"
    programs = {
        "apt-get": f'echo "apt-get $*" >> {done}',
        # As if the package were not known yet.
        "apt-cache": "exit 1",
        "sudo": 'while [ "$1" = -n ]; do shift; done; exec "$@"',
    }
    for name, program in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / name).chmod(0o755)
    ended = subprocess.run(
        ["bash", "-c", f"source {ROOT}/scripts/package-manager.sh; apt_install something a-package"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    calls = done.read_text().splitlines() if done.exists() else []
    return ended.stdout, ended.returncode, calls


def test_what_is_installed_as_root_is_said_before(tmp_path: Path) -> None:
    said, code, done = installing(tmp_path)
    assert code == 0
    assert [call.split()[1] for call in done] == ["update", "install"]
    update, install = said.splitlines()
    assert update.startswith("as root: apt-get update")
    assert install.startswith("as root, for something: apt-get install a-package")


def test_nothing_is_installed_where_it_may_not(tmp_path: Path) -> None:
    said, code, done = installing(tmp_path, ADALOG_NO_SYSTEM_PACKAGES="1")
    assert code == 1
    assert not said
    assert not done


def test_spark_is_done_without_in_one_line(tmp_path: Path) -> None:
    """Where there is no Java."""
    source = (ROOT / "scripts" / "ensure-java.sh").read_text()
    (tmp_path / "ensure-java.sh").write_text(source)
    (tmp_path / "package-manager.sh").write_text((ROOT / "scripts" / "package-manager.sh").read_text())
    (tmp_path / "java-home.sh").write_text("find_java() { return 1; }\n")
    ended = subprocess.run(
        ["bash", tmp_path / "ensure-java.sh"],
        env={"PATH": os.environ["PATH"], "ADALOG_NO_SYSTEM_PACKAGES": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0
    assert not ended.stdout
    (line,) = ended.stderr.splitlines()
    assert line.startswith("no Java 17 or newer: queries run on the local engine alone")


def test_the_chart_is_not_rendered_where_there_is_no_go(tmp_path: Path) -> None:
    """One line says what would be needed."""
    ended = subprocess.run(
        [ROOT / "scripts" / "ensure-go.sh"],
        env={"PATH": os.environ["PATH"], "ADALOG_NO_SYSTEM_PACKAGES": "1", "GO_SOURCES": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0
    assert not ended.stdout
    (line,) = ended.stderr.splitlines()
    assert line.startswith("no Go with Sprig: the tests of the Helm chart will be skipped")


@pytest.mark.parametrize("home", [None, "/nonexistent", "."], ids=["none", "missing", "writable"])
def test_caches_are_in_the_checkout_where_no_home_folder_will_do(tmp_path: Path, home: str | None) -> None:
    """Go and npm fail without a cache."""
    (tmp_path / "scripts").mkdir()
    script = shutil.copy(ROOT / "scripts" / "caches.sh", tmp_path / "scripts")
    asked = f'set -euo pipefail; source {script}; echo "${{XDG_CACHE_HOME:-}} ${{npm_config_cache:-}}"'
    ended = subprocess.run(
        ["bash", "-c", asked],
        env={"PATH": os.environ["PATH"]} | ({} if home is None else {"HOME": home}),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    own = tmp_path / "build" / "caches"
    assert ended.stdout.split() == ([] if home == "." else [str(own), str(own / "npm")])
    assert own.is_dir() == (home != ".")


def test_whatever_keeps_caches_in_the_home_folder_has_them() -> None:
    for script in (ROOT / "scripts").glob("*.sh"):
        text = script.read_text()
        if re.search(r"^[^#]*\b(npm ci|go build)\b", text, re.MULTILINE):
            assert "caches.sh" in text, script.name
