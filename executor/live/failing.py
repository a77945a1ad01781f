"""What subscribers are told where something went wrong."""

from __future__ import annotations

import logging
from concurrent.futures import CancelledError
from typing import Final

from datalog.errors import AdalogError, Code

_LOGGER: Final = logging.getLogger("adalog.live")


def failure(error: BaseException | None) -> AdalogError:
    """Why some work gave nothing. What nobody has foreseen is INTERNAL, and goes to the log."""
    if isinstance(error, AdalogError):
        return error
    if error is None or isinstance(error, CancelledError):
        return AdalogError(Code.CANCELLED, "the work was cancelled")
    _LOGGER.error("a live query failed", exc_info=error)
    return AdalogError(Code.INTERNAL, "the live query failed; the server's log says why")
