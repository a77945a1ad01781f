"""Failures of Spark and of its jobs as AdalogErrors."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from adalog.cluster.refusals import refusal_in
from adalog.datalog.errors import AdalogError, unavailable

# A disk with less is full.
_SPACE: Final = 1 << 20
_NO_SPACE: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
_PYTHON_ERROR: Final = re.compile(r"[A-Za-z_.]*(Error|Exception|Warning)\b.*:")


class SessionHealth(Protocol):
    """A session."""

    @property
    def disk_is_full(self) -> bool: ...

    def usable(self) -> bool:
        """Whether it can still run jobs."""


def start_error(error: Exception, java_log: Path | None, folders: Iterable[Path]) -> AdalogError:
    """Why a session did not start. java_log: the file of Java's output. folders: where the session writes."""
    if is_out_of_space(error) or any(map(is_full, folders)):
        return out_of_space()
    if isinstance(error, AdalogError):
        return error
    exists = java_log is not None and java_log.exists()
    last = java_log.read_text(errors="replace").strip().splitlines()[-3:] if java_log and exists else []
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[:1]
    if "Error from python worker:" in str(error) or "Traceback (most recent call last)" in str(error):
        first += [line for line in lines if _PYTHON_ERROR.match(line)][-1:]
    return unavailable(" ".join(["Spark did not start:", *first, *last]))


def session_ended() -> AdalogError:
    return unavailable("the Spark session ended; another is being started, try again")


def job_error(error: Exception, session: SessionHealth) -> AdalogError | None:
    """The error of a failed job, if a task refused it, the disk is full or the session ended; else None."""
    refused = refusal_in(str(error))
    if refused is not None:
        return refused
    if is_out_of_space(error) or session.disk_is_full:
        return out_of_space()
    return None if session.usable() else session_ended()


def is_out_of_space(error: BaseException) -> bool:
    """Whether a full disk caused a failure, of ours or of Java's."""
    return (isinstance(error, OSError) and error.errno in _NO_SPACE) or os.strerror(errno.ENOSPC) in str(error)


def out_of_space() -> AdalogError:
    return unavailable(
        "the disk is full on which Spark keeps its scratch files; free some space there, or have spark.local.dir "
        "name another folder (ADALOG_SPARK_CONF)"
    )


def is_full(folder: Path) -> bool:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _SPACE
