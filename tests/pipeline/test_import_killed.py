"""An import that is killed leaves nothing visible, and no file once the folder is opened again; or it is done."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adalog.store.database import Database
from tests.pipeline.test_importing import facts

_IMPORT = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
import adalog.store.checkpoint.compactor, adalog.store.log.log
from adalog.store.database import Database
from tests.pipeline import pipeline_in_process
from tests.pipeline.test_importing import mapping

folder, when = Path(sys.argv[1]), sys.argv[2]

def end():
    os.kill(os.getpid(), signal.SIGKILL)

def ending(kind, name, after):
    was = getattr(kind, name)
    def ends(self, *given, **more):
        if not after:
            end()
        made = was(self, *given, **more)
        end()
        return made
    setattr(kind, name, ends)

class Killed(pipeline_in_process.InProcess):
    def each(self, stage, work, items, *rows):
        made = super().each(stage, work, items, *rows)
        if stage == when:
            end()
        return made

pipeline_in_process.InProcess = Killed
with Database.open(str(folder / "data")) as database:
    if when in ("before the log", "after the log"):
        ending(adalog.store.log.log.Log, "append", when == "after the log")
    elif when == "before the checkpoint":
        adopt = database.compactor.paused
        ran = adalog.store.checkpoint.compactor.Compactor.run
        def run(self):
            if database.snapshot().t > 1:
                end()
            ran(self)
        adalog.store.checkpoint.compactor.Compactor.run = run
    table = pa.table({"id": ["a", "b"], "name": ["Ada", "Bob"]})
    pipeline_in_process.imported(database, folder, mapping({"person/name": "name"}), {"people": table})
print("done")
"""

DONE = {
    ("a", ":person/id", "a"),
    ("a", ":person/name", "Ada"),
    ("b", ":person/id", "b"),
    ("b", ":person/name", "Bob"),
}


@pytest.mark.parametrize(
    ("when", "done"),
    [
        ("reading people", False),
        ("keys", False),
        ("values", False),
        ("attributes", False),
        ("before the log", False),
        ("after the log", True),
        ("before the checkpoint", True),
    ],
)
def test_killed(tmp_path: Path, when: str, done: bool) -> None:
    from tests.pipeline.test_importing import SCHEMA

    folder = tmp_path / "data"
    with Database.open(str(folder)) as database:
        database.transact(SCHEMA)
    # pytest imports tests by their files; another process finds them where this one was started.
    ended = subprocess.run(
        [sys.executable, "-c", _IMPORT, str(tmp_path), when],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    with Database.open(str(folder)) as database:
        assert facts(database) == (DONE if done else set())
        assert database.snapshot().t == (2 if done else 1)
        assert not (folder / "importing").exists()
        imported = folder / "imported"
        assert len(list(imported.glob("*"))) == (2 if done else 0)
        database.compact()
        named = {
            name
            for name in map(str, (folder / "checkpoint.json").read_text().split('"'))
            if name.endswith(".seg\\")
        }
        assert {path.name for path in (folder / "segments").iterdir()} == {name.rstrip("\\") for name in named}
