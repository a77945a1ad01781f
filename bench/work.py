"""What a join benchmark is made of: the data, the piece of work, and how its answers are compared.

For the lists of work, the contestants and the arena; it knows no contestant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from bench.graphs import Graph, chain, rmat, sparse

Value: TypeAlias = int | float | str
Arguments = Mapping[str, int | str | tuple[int, ...]]
# Any: an Arrow table, which ships no types.
Answer: TypeAlias = int | Sequence[tuple[Value, ...]] | Any

THREADS: Final = 2
ADALOG: Final = "adalog"


@dataclass(frozen=True)
class Work:
    """One query in each contestant's language.

    texts: by contestant. arguments: by name; adalog gets them in this order after `$`.
    bars: by contestant, the most that adalog's time may be as a multiple of theirs.
    """

    name: str
    title: str
    data: str
    texts: Mapping[str, str]
    arguments: Arguments = field(default_factory=dict)
    arrow: bool = False
    bars: Mapping[str, float] = field(default_factory=dict)


class Contestant(Protocol):
    """A database in a process of its own, at most THREADS threads."""

    def load(self, data: str) -> None:
        """The named data, indexed as this database does it best."""

    def run(self, work: Work) -> Answer:
        """The answer in Python's hands: a number, rows, or an Arrow table where the work says so."""


@cache
def graph(data: str) -> Graph:
    """The graph of that name: `rmat16` is of scale 16, `sparse-5000-1.2` has 5,000 vertices of mean degree 1.2."""
    kind, *numbers = data.replace("rmat", "rmat-").split("-")
    if kind == "rmat":
        return rmat(int(numbers[0]))
    if kind == "chain":
        return chain(int(numbers[0]))
    return sparse(int(numbers[0]), float(numbers[1]))


def is_graph(data: str) -> bool:
    return data.startswith(("rmat", "chain-", "sparse-"))


def digest(answer: Answer) -> str:
    """A short text that is equal for equal answers, whatever the order of rows: what contestants must agree on."""
    if isinstance(answer, int):
        return f"{answer:,}"
    if isinstance(answer, pa.Table):
        return f"{answer.num_rows:,} rows, {_mixed(answer):016x}"
    lines = sorted("\t".join(_plain(value) for value in row) for row in answer)
    return f"{len(lines):,} rows, {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()[:16]}"


def _plain(value: object) -> str:
    """Databases differ in the last bits of a sum of doubles, and in whether it is a double at all."""
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _mixed(table: pa.Table) -> int:
    """The sum over rows of a mix of their integers, modulo 2^64: columns in order, rows in any."""
    total = 0
    for batch in table.to_batches(max_chunksize=1 << 20):
        row = np.zeros(batch.num_rows, np.uint64)
        for column in batch.columns:
            row = (row ^ column.to_numpy(zero_copy_only=False).astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            row ^= row >> np.uint64(29)
        total = (total + int(row.sum(dtype=np.uint64))) % (1 << 64)
    return total
