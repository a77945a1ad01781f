"""Runs work that is refused once more, with the calls that may refuse their arguments after all else.

A refusal counts only if a row that the answer needs has those arguments, and the cheapest order also calls with
others (`planner.order.caution`). Work that is not refused costs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.failure import emptied
from adalog.planner.model.plan import Options

REFUSALS: Final = (Code.QUERY_INVALID, Code.ARG_INVALID, Code.LIMIT_EXCEEDED)
"""What built-ins refuse their arguments with; the engine then adds the position of the call."""

Done = TypeVar("Done")


def cautiously(options: Options, work: Callable[[Options], Done], cancel: Cancel) -> Done:
    """What the work gives with these options, or with caution where a call in it is refused. If that takes too long
    or too much memory, the first refusal stands."""
    held = cancel.budget.held
    try:
        return work(options)
    except AdalogError as error:
        if options.cautious or not _is_of_call(error):
            raise
        refused = error
    emptied(refused)
    cancel.budget.give(cancel.budget.held - held)
    try:
        return work(replace(options, cautious=True))
    except AdalogError as error:
        if error.code is Code.CANCELLED or _is_of_call(error):
            raise
        raise refused from None


def _is_of_call(error: AdalogError) -> bool:
    return error.code in REFUSALS and error.position is not None
