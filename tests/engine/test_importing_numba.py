"""Numba is imported by one thread at a time: a second one, amid that, would find parts of its modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import sys, threading
from adalog.executor.kernels import range_kernels
from adalog.executor.kernels.compiling import all_are_kept

assert "numba" not in sys.modules
failures = []

def calling():
    try:
        range_kernels.lookup.dispatcher
    except BaseException as failure:
        failures.append(failure)

thread = threading.Thread(target=calling)
thread.start()
while "numba" not in sys.modules:
    pass
all_are_kept()
thread.join()
assert not failures, failures
"""


def test_a_thread_that_looks_for_kernels_waits_for_one_that_calls_them() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr
