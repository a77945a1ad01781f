"""What the failures of Spark, and of what it runs, come to for whoever asked."""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from adalog.cluster.refusals import refusal_in
from adalog.datalog.errors import AdalogError, Code

_log = logging.getLogger("adalog.spark")

# A disk with less is full.
_SPACE: Final = 1 << 20
_NO_SPACE: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
# A Python worker, or the executor that it works for.
_DIED: Final = re.compile(r"Python worker exited unexpectedly|ExecutorLostFailure|Connection reset")
_PYTHON_ERROR: Final = re.compile(r"[A-Za-z_.]*(Error|Exception|Warning)\b.*:")


class SessionHealth(Protocol):
    """A session."""

    @property
    def disk_is_full(self) -> bool: ...

    def usable(self) -> bool:
        """Whether it can still run jobs."""


def start_error(error: Exception, said: Path | None, folders: Iterable[Path]) -> AdalogError:
    """Why a session did not start. said: the file with what Java said. folders: where it writes."""
    if is_out_of_space(error) or any(map(is_full, folders)):
        return out_of_space()
    if isinstance(error, AdalogError):
        return error
    last = said.read_text(errors="replace").strip().splitlines()[-3:] if said is not None and said.exists() else []
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[:1]
    if "Error from python worker:" in str(error) or "Traceback (most recent call last)" in str(error):
        first += [line for line in lines if _PYTHON_ERROR.match(line)][-1:]
    return AdalogError(Code.BACKEND_UNAVAILABLE, " ".join(["Spark did not start:", *first, *last]))


def session_ended() -> AdalogError:
    """What is answered to a query whose session ended."""
    return AdalogError(
        Code.BACKEND_UNAVAILABLE, "the Spark session ended while the query ran; another is being started, try again"
    )


def job_error(error: Exception, live: SessionHealth) -> AdalogError:
    """What a failed job comes to for whoever asked."""
    text = str(error)
    refused = refusal_in(text)
    if refused is not None:
        return refused
    if is_out_of_space(error) or live.disk_is_full:
        return out_of_space()
    if not live.usable():
        return session_ended()
    if "spark.driver.maxResultSize" in text:
        return AdalogError(
            Code.LIMIT_EXCEEDED,
            "the answer is larger than Spark may bring together; narrow the query, or aggregate",
        )
    _log.error("a Spark job failed", exc_info=error)
    if _DIED.search(text):
        return AdalogError(
            Code.BACKEND_UNAVAILABLE,
            "a Spark worker died twice at the same part of the query; it may need more memory than workers have",
        )
    if "Traceback (most recent call last)" in text:
        return AdalogError(Code.INTERNAL, f"a task on Spark failed: {text.strip().splitlines()[-1]}")
    return AdalogError(Code.BACKEND_UNAVAILABLE, f"Spark could not run the query: {_cause(text)}")


def _cause(text: str) -> str:
    """The innermost reason that Java gives, else its first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    named = [line for line in lines if line.startswith(("org.apache.spark.", "java.", ": org.apache.spark."))]
    return (causes[-1:] or named[:1] or lines[:1] or ["no reason is given"])[0][:300]


def is_out_of_space(error: BaseException) -> bool:
    """Whether a failure, of ours or of Java's, comes of a full disk."""
    return (isinstance(error, OSError) and error.errno in _NO_SPACE) or os.strerror(errno.ENOSPC) in str(error)


def out_of_space() -> AdalogError:
    """What is said where Spark can write no scratch files."""
    return AdalogError(
        Code.BACKEND_UNAVAILABLE,
        "the disk is full on which Spark keeps its scratch files; free some space there, or have spark.local.dir "
        "name another folder (ADALOG_SPARK_CONF)",
    )


def is_full(folder: Path) -> bool:
    """Whether the disk that a folder is on has no space left."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _SPACE
