"""An AdalogError on its way between the driver and tasks: as values, and within the one text that Java keeps."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from adalog.datalog.errors import AdalogError, Code, Position
from adalog.store.files.packing import pack, unpack


class TaskRefusal(Exception):
    """An AdalogError on its way through Java, which keeps nothing but a text."""

    def __init__(self, error: AdalogError) -> None:
        super().__init__(f"adalog<{base64.b64encode(pack(error_values(error))).decode()}>")


def refusal_in(text: str) -> AdalogError | None:
    found = re.search(r"adalog<([A-Za-z0-9+/=]+)>", text)
    return None if found is None else error_of(unpack(base64.b64decode(found[1])))


def error_values(error: AdalogError) -> dict[str, Any]:
    """An AdalogError as values for `error_of`."""
    at = None if error.position is None else [error.position.line, error.position.column, error.position.origin]
    return {"code": str(error.code), "message": error.message, "at": at, "retryable": error.retryable}


def error_of(said: Mapping[str, Any]) -> AdalogError:
    position = None if said["at"] is None else Position(*said["at"])
    return AdalogError(Code(said["code"]), said["message"], position, retryable=said["retryable"])
