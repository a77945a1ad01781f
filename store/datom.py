"""What leaves the store one fact at a time, with its value decoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from datalog.values import Keyword


class Datom(NamedTuple):
    """Entity, attribute, value, number of the transaction, and whether it asserted or retracted."""

    e: int
    a: Keyword
    v: Any
    t: int
    added: bool


@dataclass(frozen=True, slots=True)
class TxReport:
    """What a transaction did: its number, the one before it, its instant, its tempids and its datoms."""

    t: int
    basis_before: int
    tx_instant: datetime
    tempids: Mapping[str, int]
    datoms: Sequence[Datom]
