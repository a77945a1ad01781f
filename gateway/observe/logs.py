"""The log's lines, as text or as JSON: each with the number of the request that it belongs to, if it does, and of
the worker that writes it, where there are several.

Values of arguments and tokens are in none of them, nor names, passwords and keys within addresses.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import time
from types import TracebackType
from typing import Any, Final

import orjson

from adalog.datalog import tracing
from adalog.executor.bounds.client import ASKING
from adalog.gateway.settings.config import Settings
from adalog.store.files.addresses import without_secrets

_LOGGER: Final = logging.getLogger("adalog.server")
# What moves a terminal's cursor, or turns a line round.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# What every record has; all else was given as `extra`.
_COMMON: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def start_logging(settings: Settings, worker: int | None = None) -> None:
    """Has the process's log written to standard error as the settings say. worker: its number, if it is one."""
    handler = logging.StreamHandler()
    handler.setFormatter((JsonLines if settings.log_format == "json" else TextLines)(worker))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(settings.log_level.upper())
    # Its line for each request for keys would be half of what is logged.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    # What Python would print by itself are lines of the log, too.
    logging.captureWarnings(True)
    threading.excepthook = _thread_failed
    sys.unraisablehook = _unraisable
    sys.excepthook = _ended


def json_line(level: int, message: str) -> str:
    """Logs a line that is also printed, such as the first line on standard output."""
    record = logging.LogRecord(_LOGGER.name, level, "", 0, message, None, None)
    return JsonLines().format(record)


def _ended(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    _LOGGER.critical("the process ends with an error", exc_info=(kind, error, trace))


def _thread_failed(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_value is not None:
        name = failure.thread.name if failure.thread is not None else "that is gone"
        about = failure.exc_type, failure.exc_value, failure.exc_traceback
        _LOGGER.error("the thread %s failed", name, exc_info=about)


def _unraisable(failure: sys.UnraisableHookArgs) -> None:
    if failure.exc_value is not None:
        about = failure.exc_type, failure.exc_value, failure.exc_traceback
        _LOGGER.error("%s", failure.err_msg or "an exception that no request could report", exc_info=about)


class TextLines(logging.Formatter):
    """A line for people. What follows its first line is indented, so that no text from outside looks like a line of
    the log, nor does it say anything to a terminal."""

    def __init__(self, worker: int | None = None) -> None:
        whose = "" if worker is None else f" worker {worker}:"
        super().__init__(f"%(asctime)s %(levelname)s %(name)s{whose} %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        text = without_secrets(super().format(record))
        plan = getattr(record, "plan", None)
        if plan is not None:
            text = f"{text}\n{plan}"
        request = ASKING.get().id
        first, *rest = (_CONTROLS.sub(_escaped, line) for line in text.splitlines() or [""])
        if request:
            first = f"{first} [{request}]"
        return "\n    ".join([first, *rest])


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


class JsonLines(logging.Formatter):
    """One JSON object a line, for programs."""

    def __init__(self, worker: int | None = None) -> None:
        super().__init__()
        self._whose = {} if worker is None else {"worker": worker}

    def format(self, record: logging.LogRecord) -> str:
        client, ids = ASKING.get(), tracing.ids()
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            **self._whose,
            "message": without_secrets(record.getMessage()),
        }
        if client.id:
            line |= {"requestId": client.id, "principal": client.principal}
        if ids is not None:
            line |= {"traceId": ids[0], "spanId": ids[1]}
        line |= {name: _plain(value) for name, value in vars(record).items() if name not in _COMMON}
        if record.exc_info:
            line["exception"] = without_secrets(self.formatException(record.exc_info))
        if record.stack_info:
            line["stack"] = self.formatStack(record.stack_info)
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode(errors="replace")


def _plain(value: Any) -> Any:
    return without_secrets(value) if isinstance(value, str) else value
