"""How many files and connections the process may have open."""

from __future__ import annotations

import os
import resource
from contextlib import suppress

# Beyond this some systems begin to be slow at starting processes.
_MANY = 65_536


def allow_many() -> None:
    """Raises the limit as far as it may be raised without asking anybody; shells set a low one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MANY if hard == resource.RLIM_INFINITY else min(hard, _MANY)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def free() -> int:
    """How many more can be opened."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MANY if soft == resource.RLIM_INFINITY else soft
    return max(0, limit - len(os.listdir("/dev/fd")))
