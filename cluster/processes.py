"""Processes of Spark's: they end with the one that started them, whichever way that one ends."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Final

_ON_PARENTS_DEATH: Final = 1  # PR_SET_PDEATHSIG
# Found before any fork: a child of a process with threads does as little as it can.
_prctl: Final = ctypes.CDLL(None).prctl if sys.platform.startswith("linux") else None


def end_with(parent: int) -> None:
    """Has the kernel kill this process when the thread that started it ends. On Linux; elsewhere nothing. parent:
    the process that started it, which may have ended before this was called."""
    if _prctl is not None:
        _prctl(_ON_PARENTS_DEATH, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)


def end_workers_with_us() -> None:
    """Has every process that is forked from now on end with this one."""
    parent = os.getpid()
    os.register_at_fork(after_in_child=lambda: end_with(parent))


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Ends Java, and all that it started: they have nothing to lose, and none of them outlives this."""
    with suppress(ProcessLookupError):
        process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    # Twice, as one that is about to end may have started another.
    for _ in range(2):
        for pid in _members(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _members(session: int) -> list[int]:
    """The processes of a session: Java's children, whatever groups they made for themselves."""
    if os.path.isdir("/proc/self"):
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    else:
        said = subprocess.run(["ps", "-axo", "pid="], capture_output=True, text=True, check=False).stdout
        pids = [int(pid) for pid in said.split()]
    return [pid for pid in pids if _session_of(pid) == session]


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None
