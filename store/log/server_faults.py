"""What is wrong with a PostgreSQL server: in its own words for the log, and without them for clients.

What the driver says names hosts, ports, users, databases and settings, which clients must not see.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from typing import Final

import psycopg
import sqlalchemy as sa

from adalog.store.log.server_connection import SilentError

_LOGGER: Final = logging.getLogger("adalog.store")
# The same is not logged more often, however many ask, in seconds.
_QUIET_SECONDS: Final = 10.0
_MOST_TOLD: Final = 64

# What is said where a session cannot even begin, for which the driver has no code.
_READ_ONLY: Final = re.compile(r"session is (not )?read-only|server is (not )?in hot standby|read-only transaction")
_BUSY: Final = re.compile(r"too many clients|too many connections|remaining connection slots")
_TURNING: Final = re.compile(r"is (starting up|shutting down)|recovery mode|not accepting connections")
_SLOW: Final = re.compile(r"timeout expired|timed out")
_LOGIN: Final = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|is not permitted to log in|"
    r'role "[^"]*" does not exist|permission denied for (database|schema|table)|certificate'
)
_MISSING: Final = re.compile(r'database "[^"]*" does not exist')
_GONE: Final = re.compile(
    r"Connection refused|could not (connect|translate)|failed to resolve|Network is unreachable"
)


def said(error: BaseException) -> str:
    """What the server or driver says, in one line."""
    cause = _cause(error)
    text = (cause.diag.message_primary if isinstance(cause, psycopg.Error) else None) or str(cause)
    return " ".join(text.split()) or type(cause).__name__


def reason(error: BaseException) -> str:
    """The same for anybody: of its own words none."""
    cause, text = _cause(error), said(error)
    state = (cause.sqlstate or "") if isinstance(cause, psycopg.Error) else ""
    if isinstance(cause, SilentError):
        return text.replace("the server", "the PostgreSQL server", 1)
    if state.startswith("53") or _BUSY.search(text):
        return "the PostgreSQL server has no room, or too many connections"
    if state.startswith("57P") or _TURNING.search(text):
        return "the PostgreSQL server is starting or stopping"
    if state == "25006" or _READ_ONLY.search(text):
        return "the PostgreSQL server is read-only at the moment"
    if state.startswith("28") or state == "42501" or _LOGIN.search(text):
        return "the PostgreSQL server does not let this one in"
    if state == "3D000" or _MISSING.search(text):
        return "the PostgreSQL server has no such database"
    if state and not state.startswith("08"):
        return f"the PostgreSQL server refuses (SQLSTATE {state})"
    if _SLOW.search(text):
        return "the PostgreSQL server does not answer"
    return "the PostgreSQL server cannot be reached"


def is_lasting(error: BaseException) -> bool:
    """Whether only a change of the server, or of its address here, can help, so that a retry is useless."""
    cause, text = _cause(error), said(error)
    state = (cause.sqlstate or "") if isinstance(cause, psycopg.Error) else ""
    # Of several servers of an address each says what is wrong with it.
    if any(each.search(text) for each in (_GONE, _SLOW, _TURNING, _BUSY, _READ_ONLY)):
        return False
    is_refused = state.startswith("28") or state in ("3D000", "42501")
    return is_refused or bool(_LOGIN.search(text) or _MISSING.search(text))


class ServerErrorLog:
    """Logs what went wrong in the server's words, the same now and then only. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at: dict[str, float] = {}

    def tell(self, what: str, error: BaseException) -> str:
        """Logs it; what may be told to anybody. what: that could not be done."""
        words, now = said(error), time.monotonic()
        with self._lock:
            told = self._at.get(words)
            is_new = told is None or now - told > _QUIET_SECONDS
            if is_new:
                if len(self._at) >= _MOST_TOLD:
                    self._at.clear()
                self._at[words] = now
        if is_new:
            _LOGGER.warning("%s; PostgreSQL says: %s", what, words)
        return reason(error)


def _cause(error: BaseException) -> BaseException:
    return error.__cause__ if isinstance(error, sa.exc.SQLAlchemyError) and error.__cause__ else error
