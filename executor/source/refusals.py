"""Errors of the data source in one line: Spark shows what a worker raised with all its traceback."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any, Final, TypeVar, cast

from adalog.datalog.errors import AdalogError

HIDING: Final = "SPARK_HIDE_TRACEBACK"

Method = TypeVar("Method", bound=Callable[..., Any])


def refusing(method: Method) -> Method:
    """The method, of whose AdalogErrors Spark shows the message alone."""

    @wraps(method)
    def called(*given: Any, **named: Any) -> Any:
        with _hiding():
            return method(*given, **named)

    @wraps(method)
    def iterated(*given: Any, **named: Any) -> Iterator[Any]:
        with _hiding():
            yield from method(*given, **named)

    return cast(Method, iterated if isgeneratorfunction(method) else called)


@contextmanager
def _hiding() -> Iterator[None]:
    try:
        yield
    except AdalogError:
        # For this worker alone, which ends with the error.
        os.environ[HIDING] = "1"
        raise
