"""What a pull makes of one level of entities, and how large a pull may become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.errors import AdalogError, limit_exceeded
from adalog.datalog.values import EdnMap, Value
from adalog.executor.pull.steps import PullStep, Row

Ids = NDArray[np.int64]

MOST_VALUES: Final = 4_000_000
ENTITY: Final = 400
"""Bytes of a map with its dictionary and its place in lists, asked of a query's budget before it is made."""
VALUE: Final = 120
"""Bytes of an entry of a map, with what points to it, and not the value's own text."""
MOST_LEVELS: Final = 100
"""Readers and writers of JSON and EDN give up on what is nested some hundred levels deep."""


@dataclass(frozen=True, slots=True)
class PullLevel:
    """The maps of some entities, None where there is nothing to show, with what each comes to when written out.
    sizes: float64[n], values within, each counted as often as it is shown. height: levels of maps, at most."""

    maps: list[EdnMap | None]
    sizes: NDArray[np.float64]
    height: int


def enter(row: Row, step: PullStep, value: Value) -> None:
    """Adds a value to a row; nil is no value."""
    if value is not None:
        row[step.slot] = (step.key, value)


def too_large(most: int) -> AdalogError:
    message = f"the pull comes to more than {most:,} values; pull fewer entities, or give a :limit or a depth"
    return limit_exceeded(message)


def too_deep() -> AdalogError:
    message = f"the pull goes more than {MOST_LEVELS} levels deep; give the recursion a depth, as in {{:parent 10}}"
    return limit_exceeded(message)
