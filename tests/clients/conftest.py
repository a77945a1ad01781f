"""`built`: the JavaScript client and its tests, compiled once for a run of the tests."""

from __future__ import annotations

import fcntl
import shutil

import pytest

from tests.clients.npm import CLIENT, ROOT, run


@pytest.fixture(scope="session")
def built(testrun_uid: str) -> None:
    """Raises what the compiler complains of. The first process of a run compiles; the others share its folders."""
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    with folder.joinpath("clients-js.run").open("a+", encoding="utf-8") as compiled:
        fcntl.flock(compiled, fcntl.LOCK_EX)
        compiled.seek(0)
        if compiled.read() == testrun_uid:
            return
        compiled.truncate(0)
        shutil.rmtree(CLIENT / "dist", ignore_errors=True)
        shutil.rmtree(CLIENT / "build", ignore_errors=True)
        run("npm", "run", "--silent", "build")
        run("npm", "run", "--silent", "build-test")
        compiled.write(testrun_uid)
