"""The library from its wheel, in a clean environment: the same contract, without compilers, Java and network."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

import pytest

from adalog.executor.kernels import disk
from adalog.executor.kernels.loading import compiled_kernels
from tests.gateway.support import gateway, served
from tests.wheel import ROOT, built, clean_environment

# PyPI has a module of this name, which adalog's packages must not hide.
SCHEMA = "class Schema:\n    pass\n"
# Imported by every Python of the environment: connections leave the machine no more.
NO_NETWORK = """
import socket
connect = socket.socket.connect
def within(self, address):
    assert not isinstance(address, tuple) or address[0] in ("127.0.0.1", "::1", "localhost"), address
    return connect(self, address)
socket.socket.connect = within
"""
OVER_HTTP = """
import sys
import adalog
from schema import Schema
with adalog.connect(sys.argv[1]) as db, db.live("[:find ?x :where [_ :n/x ?x]]") as changes:
    assert next(changes).added == []
    db.transact([{"n/x": 1}])
    assert next(changes).added == [(1,)]
    assert db.q("[:find ?x :where [_ :n/x ?x]]").arrow().num_rows == 1
assert not {"starlette", "strawberry", "click"} & set(sys.modules)
"""
IMPORTABLE = """
from importlib.util import find_spec
for name in ("click", "psycopg", "pyspark", "redis", "starlette", "strawberry", "uvicorn", "yaml"):
    assert find_spec(name) is None, name
"""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the Python of a clean environment that has the wheel, and pytest."""
    folder = tmp_path_factory.mktemp("wheel")
    python = clean_environment(folder / "env", built(folder), ["pytest"])
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    (site / "schema.py").write_text(SCHEMA)
    (site / "sitecustomize.py").write_text(NO_NETWORK)
    tests = folder / "tests" / "clients" / "library"
    tests.mkdir(parents=True)
    for name in ("places.py", "test_contract.py"):
        shutil.copy(ROOT / "tests" / "clients" / "library" / name, tests)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\nfilterwarnings = error\n")
    # Kernels that this checkout compiled: their sources are the same.
    kernels = folder / "kernels" / disk.edition()
    kernels.mkdir(parents=True)
    for file in compiled_kernels():
        shutil.copy(file, kernels)
    own = {"PATH": str(folder / "none"), "HOME": str(folder), "NUMBA_CACHE_DIR": str(kernels.parent)}

    def run(*words: str) -> str:
        before = sorted(kernels.iterdir())
        done = subprocess.run([python, *words], cwd=folder, env=own, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert sorted(kernels.iterdir()) == before
        return done.stdout

    return run


def test_no_extra_is_installed(run: Run) -> None:
    run("-c", IMPORTABLE)


def test_it_keeps_the_contract(run: Run) -> None:
    options = ("-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-k", "not http and not postgresql")
    said = run("-m", "pytest", *options, "tests/clients/library/test_contract.py")
    assert " passed" in said
    assert " skipped" not in said


def test_it_asks_a_server(run: Run) -> None:
    with gateway() as opened, served(opened.app) as url:
        run("-c", OVER_HTTP, url)
