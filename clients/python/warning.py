"""Warnings of answers as Python's own, so that its filters show, hide or raise them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Final

from adalog.client.result import ResultWarning
from adalog.client.running import RUNNING

_PACKAGE: Final = "adalog.client."


class QueryWarning(UserWarning):
    """What is allowed in a query and probably not meant. Python shows each once for each line that calls.
    `warnings.filterwarnings("ignore", category=adalog.QueryWarning)` hides them, and "error" raises them."""


def warn(found: Iterable[ResultWarning]) -> None:
    """Warns at the line that called the library. On a thread that works for a task, whose callers are others, the
    task does that afterwards."""
    running = RUNNING.get()
    for each in found:
        place = "" if each.line is None else f" at {each.line}:{each.column}"
        text = f"{each.code}{place}: {each.message}"
        if running is None:
            show(text)
        else:
            running.warnings.append(text)


def show(text: str) -> None:
    """Warns at the first caller that is not of the library."""
    frame, level = sys._getframe(0), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, QueryWarning, stacklevel=level)
