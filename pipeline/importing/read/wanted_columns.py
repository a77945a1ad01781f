"""The columns of files that a source is read from, with those of structs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from adalog.pipeline.importing.files.rows import NestedColumns, Survey
from adalog.pipeline.importing.read.chunks import ColumnPlan
from adalog.pipeline.importing.read.mapping import NEW, ColumnMapping, PlacedColumn, RowSource

_EXACT = frozenset({"long", "bigint", "bigdec"})


@dataclass(frozen=True)
class WantedColumns:
    """names: columns of rows by the names that batches have for them. structs: the same of structs, by the number
    of the column with their entities."""

    names: dict[str, str] = field(default_factory=dict)
    structs: dict[int, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, placed: Sequence[PlacedColumn]) -> WantedColumns:
        found = cls()
        for each in placed:
            found.within(each.number if each.mapping.structs is not None else each.outer).update(keys_of(each))
        return found

    def within(self, number: int) -> dict[str, str]:
        """Columns of rows (0), or of structs."""
        return self.structs.setdefault(number, {}) if number else self.names

    def exact(self, plans: Sequence[ColumnPlan]) -> set[str]:
        """The columns of rows whose numbers a double might change."""
        return {self.names[plan.name] for plan in plans if plan.name in self.names and plan.read_as in _EXACT}

    def nested(
        self, placed: Sequence[PlacedColumn], plans: Sequence[ColumnPlan] = (), outer: int = 0
    ) -> list[NestedColumns]:
        """The columns of structs. plans: with the types of their values; without them these do not matter yet."""
        exact = {plan.name for plan in plans if plan.read_as in _EXACT}
        found = []
        for each in placed:
            structs = each.mapping.structs
            if structs is not None and each.outer == outer:
                own = self.within(each.number)
                inner = self.nested(placed, plans, each.number)
                found.append(
                    NestedColumns(
                        structs_key(each),
                        str(each.mapping.column),
                        own,
                        frozenset(name for key, name in own.items() if key in exact),
                        structs.entries,
                        tuple(inner),
                    )
                )
        return found


def structs_key(placed: PlacedColumn) -> str:
    """The name of a column's structs in batches."""
    return f"s{placed.number}"


def naming(column: ColumnMapping) -> ColumnMapping:
    """What has the columns that give a value: of structs that of their key."""
    return column if column.structs is None else column.structs.entity


def keys_of(placed: PlacedColumn) -> dict[str, str]:
    """The columns of files that a column is read from, by their names in batches."""
    column = naming(placed.mapping)
    return {} if column == NEW else {f"c{placed.number}_{at}": name for at, name in enumerate(column.names)}


def surveyed(source: RowSource) -> tuple[list[str], list[NestedColumns]]:
    """What a survey looks at."""
    placed = source.placed
    wanted = WantedColumns.of(placed)
    return list(wanted.names.values()), wanted.nested(placed)


def said_names(placed: PlacedColumn) -> list[str]:
    """What a survey calls the columns that a column is read from."""
    column, within = placed.mapping, placed.within
    names = [f"{within}{name}" for name in column.names]
    if column.structs is not None:
        names += [f"{names[0]}[].{name}" for name in keys_of(placed).values()]
    return names


def is_known(placed: PlacedColumn, survey: Survey) -> bool:
    """Whether a survey says what a column holds."""
    names = [f"{placed.within}{name}" for name in placed.mapping.names]
    if placed.mapping.structs is not None:
        return all(name in survey.columns for name in names)
    return all(map(survey.columns.get, names))
