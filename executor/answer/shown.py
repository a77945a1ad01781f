"""Results of columns of codes: what every way of running a query ends with."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, overload

from adalog.datalog import ast
from adalog.executor.answer.result import Result, ResultColumn
from adalog.executor.answer.types import expected_type, type_of
from adalog.executor.join.batch import Column as Codes
from adalog.planner.model.plan import Plan
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch

# Rows whose types are found on whatever thread asks.
_FEW: Final = 1_000


class ShownColumns(Sequence[ResultColumn]):
    """The columns of a result. Their types are found when they are asked for, which few clients do."""

    __slots__ = ("_elements", "_made", "_source")

    def __init__(self, plan: Plan, codes: Sequence[Codes], databases: Mapping[str, Snapshot]) -> None:
        self._elements = plan.query.find.elements
        # Until the types are found: columns may be held longer than their codes.
        self._source: tuple[Plan, Sequence[Codes], Mapping[str, Snapshot]] | None = plan, codes, databases
        self._made: tuple[ResultColumn, ...] = ()

    def __len__(self) -> int:
        return len(self._elements)

    def __iter__(self) -> Iterator[ResultColumn]:
        return iter(self._columns())

    @overload
    def __getitem__(self, place: int) -> ResultColumn: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[ResultColumn, ...]: ...
    def __getitem__(self, place: Any) -> Any:
        return self._columns()[place]

    def __eq__(self, other: object) -> bool:
        return self._columns() == tuple(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def _columns(self) -> tuple[ResultColumn, ...]:
        source = self._source
        if source is not None:
            plan, codes, databases = source
            pairs = zip(self._elements, codes, strict=True)
            self._made = tuple(ResultColumn(each.label, _type(each, of, plan, databases)) for each, of in pairs)
            self._source = None
        return self._made


def _type(element: ast.FindElement, codes: Codes, plan: Plan, databases: Mapping[str, Snapshot]) -> str:
    if isinstance(element, ast.FindPull):
        return "map"
    return type_of(codes) if len(codes) else expected_type(element, plan.places, databases)


def shown_result(
    plan: Plan,
    codes: Sequence[Codes],
    values: Scratch,
    *,
    t: int,
    engine: str,
    started: float,
    databases: Mapping[str, Snapshot],
) -> Result:
    """`codes`: of the rows in the order in which they are shown. `databases`: those of the query, whose schemas say
    of which types columns without rows are."""
    find = plan.query.find
    shape, elapsed_ms = "maps" if find.keys else find.shape, (time.perf_counter() - started) * 1000
    size = len(codes[0]) if codes else 0
    columns: Sequence[ResultColumn] = ShownColumns(plan, codes, databases)
    if size > _FEW:
        columns = tuple(columns)
    return Result(columns, codes, values, size, shape, find.keys, t, engine, elapsed_ms)
