"""What the library imports, and what it does after a fork."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = ("graphql", "httpx", "pyspark", "redis", "starlette", "strawberry", "uvicorn")
IMPORTS = """
import json, sys
import adalog
first = set(sys.modules)
with adalog.connect(":memory:") as db:
    db.transact([{"n/x": 1}])
    assert db.q("[:find ?x . :where [_ :n/x ?x]]").value == 1
    assert db.with_([{"n/x": 2}]).pull("[:n/x]", 1) == {":n/x": 1}
print(json.dumps([sorted(first), sorted(sys.modules)]))
"""
FORK = """
import os, sys
import adalog
db = adalog.connect(":memory:")
db.transact([{"n/x": 1}])
child = os.fork()
if child == 0:
    try:
        db.q("[:find ?x :where [_ :n/x ?x]]")
    except adalog.Error as error:
        db.close()
        told = (error.code, "adalog.connect in the new process" in error.message, error.retryable)
        os._exit(0 if told == ("BACKEND_UNAVAILABLE", True, False) else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert db.q("[:find ?x . :where [_ :n/x ?x]]").value == 1
db.close()
"""


def _run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_only_what_is_needed_is_imported() -> None:
    first, then = json.loads(_run(IMPORTS))
    assert not {"numpy", "pyarrow", "numba", "adalog.store", "adalog.client", *HEAVY} & set(first)
    assert not {*HEAVY, "numba", "pandas", "pyarrow.compute", "sqlalchemy.dialects.postgresql"} & set(then)


def test_a_child_process_is_told_to_connect_anew() -> None:
    _run(FORK)
