"""What leaves the store one fact at a time, with its value decoded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import compress
from typing import Any, NamedTuple

from adalog.datalog.diagnostics import Diagnostic
from adalog.datalog.values import Keyword


class Datom(NamedTuple):
    """Entity, attribute, value, number of the transaction, and whether it asserted or retracted."""

    e: int
    a: Keyword
    v: Any
    t: int
    added: bool


Telling = Callable[[], tuple[Diagnostic, ...]]
"""What is suspicious about a transaction, found out when it is asked for. With a long text that takes a while, and
calls `datalog.watched.look`."""


def nothing_to_tell() -> tuple[Diagnostic, ...]:
    """Of a transaction that is read back from the log: its text is gone."""
    return ()


@dataclass(frozen=True, slots=True)
class ShownParts:
    """What a viewer sees of a transaction: which of its effects, in order, and which tempids."""

    effects: Sequence[bool]
    tempids: Collection[str]


@dataclass(frozen=True, slots=True)
class TxReport:
    """What a transaction did: its number, the one before it, its instant, its tempids and its datoms; and what is
    allowed in it and was probably not meant."""

    t: int
    basis_before: int
    tx_instant: datetime
    tempids: Mapping[str, int]
    datoms: Sequence[Datom]
    diagnostics: Telling = field(default=nothing_to_tell, compare=False)

    def of_parts(self, shown: ShownParts) -> TxReport:
        """The report of what a viewer sees."""
        tempids = {name: id_ for name, id_ in self.tempids.items() if name in shown.tempids}
        return replace(self, tempids=tempids, datoms=list(compress(self.datoms, shown.effects)))
