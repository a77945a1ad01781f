"""Programs of users under `mypy --strict`: all calls have types, and mistakes are found."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RIGHT = """
from __future__ import annotations

import asyncio
from datetime import datetime
from typing import assert_type

import adalog
from adalog import Keyword, edn, testing


def main(db: adalog.Connection) -> int:
    report = db.transact([{"n/x": 1, "n/k": Keyword("a")}], args=None, expected_basis_t=0)
    assert_type(report.t, int)
    assert_type(report.tx_instant, datetime)
    result = db.q("[:find ?x :where [_ :n/x ?x]]", as_of=report.t, timeout=2.0)
    assert_type(result, adalog.Result)
    assert_type(result.columns[0].name, str)
    assert_type(result.warnings[0].code, str)
    with db.live("[:find ?x :where [_ :n/x ?x]]") as changes:
        for change in changes:
            assert_type(change.basis_t, int)
            break
    past = db.as_of(1).history().as_user({"sub": "ada"}, roles=["member"])
    assert_type(past, adalog.Database)
    try:
        past.pull("[*]", ("n/x", 1))
    except adalog.Error as error:
        assert_type(error.code, str)
        assert_type(error.line, int | None)
    for datom in db.datoms("eavt", limit=3):
        assert_type(datom.a, Keyword)
    edn.write(edn.read("[1]"))
    return len(result)


async def awaited() -> None:
    async with adalog.aconnect(":memory:") as db:
        assert_type(await db.q("[:find 1]"), adalog.Result)
        async for change in db.live("[:find ?x :where [_ :n/x ?x]]"):
            assert_type(change.kind, str)


with adalog.connect(":memory:") as opened:
    main(opened)
with testing.memory(testing.FrozenClock()) as opened:
    main(opened)
asyncio.run(awaited())
"""
WRONG = """
import adalog

with adalog.connect(":memory:") as db:
    db.q("[:find ?x :where [_ :n/x ?x]]", asof=1)
    db.transact([{"n/x": 1}], basis=3)
    number: int = db.q("[:find ?x :where [_ :n/x ?x]]")
    adalog.conect(":memory:")
"""


@pytest.mark.slow
def test_programs_are_checked(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    # What mypy knows of the library's modules, which takes ten seconds, is kept for the next run.
    cache = ROOT / "build" / "mypy-of-programs"
    command = [sys.executable, "-m", "mypy", "--config-file=", "--strict", "--follow-imports=silent"]
    done = subprocess.run(
        [*command, f"--cache-dir={cache}", "right.py", "wrong.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^(.*): error: .*\[(.*)\]$", done.stdout, re.MULTILINE)
    assert found == [
        ("wrong.py:5", "call-arg"),
        ("wrong.py:6", "call-arg"),
        ("wrong.py:7", "assignment"),
        ("wrong.py:8", "attr-defined"),
    ], done.stdout + done.stderr
