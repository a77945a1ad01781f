"""The library runs without the libraries that extras bring, and says what to install where one is needed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
EXTRAS = ("server", "spark", "redis", "postgresql", "otel")
_BLOCK = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
import adalog
"""
_LIBRARY = """
with adalog.connect(sys.argv[2]) as db, db.live("[:find ?x :where [_ :n/x ?x]]") as changes:
    first = next(changes)
    db.transact([{"n/x": 1}, {"n/x": 2}])
    assert sorted(next(changes).added) == [(1,), (2,)]
    result = db.q('[:find ?x :where [_ :n/x ?x] [(re-find "1|2" (str ?x))] :order-by [?x]]')
    assert result.rows == [(1,), (2,)]
    assert result.arrow().num_rows == 2
    assert db.with_([{"n/x": 3}]).q("[:find (sum ?x) . :where [_ :n/x ?x]]").value == 6
    assert len(db.attributes()) > 1
    assert db.datoms("aevt", "n/x")
    assert db.as_user({"sub": "ada"}, roles=["member"]).q("[:find ?x :where [_ :n/x ?x]]").rows
import adalog.client.http.remote, adalog.client.asynchronous
"""
_MISSING = """
try:
    adalog.connect("postgresql://localhost/none")
except adalog.Error as error:
    print(error.code, error.message)
try:
    adalog.spark.register(None)
except adalog.Error as error:
    print(error.code, error.message)
from adalog.command import main
main()
"""


def _blocked() -> str:
    """The modules of all extras' libraries."""
    wanted = {
        line.partition("==")[0].lower() for extra in EXTRAS for line in PROJECT["optional-dependencies"][extra]
    }
    own = packages_distributions()
    return ",".join(name for name, of in own.items() if {each.lower() for each in of} & wanted)


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _BLOCK + program, _blocked(), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_libraries_of_all_extras_are_blocked() -> None:
    blocked = set(_blocked().split(","))
    assert {"click", "redis", "psycopg", "pyspark", "starlette", "strawberry", "uvicorn", "jwt", "yaml"} <= blocked


def test_the_library_needs_no_extra(tmp_path: Path) -> None:
    for place in (":memory:", str(tmp_path / "data")):
        done = _run(_LIBRARY, place)
        assert done.returncode == 0, done.stderr


def test_one_line_says_which_extra_is_missing() -> None:
    done = _run(_MISSING)
    assert done.returncode == 2, done.stderr
    assert done.stdout.splitlines() == [
        "BACKEND_UNAVAILABLE a log in PostgreSQL needs more libraries: pip install 'adalog[postgresql]'",
        "BACKEND_UNAVAILABLE adalog.spark needs more libraries: pip install 'adalog[spark]'",
    ]
    assert done.stderr == "adalog: the command needs more libraries: pip install 'adalog[server]'\n"
