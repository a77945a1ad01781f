"""`aggregate` and `groupBy` of a connection: aggregates as elements of `:find`, and the shapes that write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from adalog.schema.typed.model import FieldModel, Model, TypeModel
from adalog.schema.typed.reading.filters import Clauses, Parameters, names_idents, pattern
from adalog.schema.typed.reading.writer import Constant, Json, JsonWriter, Shape, json_value
from adalog.schema.typed.selection import Selected

_COUNT: Final = "count"
# Aggregates of another name than their fields: a sum of longs may have more than 64 bits.
_NAMES: Final = {"sum": "sum'"}
Row = Sequence[Any]


@dataclass(slots=True)
class AggregatePart:
    """One query: the keys of its groups, then its aggregates. An attribute with many values has one of its own, as
    its values would repeat those of others."""

    elements: list[str] = field(default_factory=list)
    clauses: Clauses = field(default_factory=Clauses)


@dataclass(frozen=True, slots=True)
class AggregateValue:
    """One aggregate: its place in a part's rows. empty: what it is of no entities. show: how a value is shown."""

    part: int
    place: int
    empty: Json
    show: Callable[[Any], Json] = json_value

    def read(self, found: Sequence[Row | None], writer: JsonWriter) -> Json:
        row = found[self.part]
        return self.empty if row is None else self.show(row[self.place])


@dataclass(frozen=True, slots=True)
class AggregateShape:
    """The aggregates of one group, by their response names."""

    fields: Mapping[str, Shape | AggregateShape]

    def read(self, found: Sequence[Row | None], writer: JsonWriter) -> Json:
        return {name: shape.read(found, writer) for name, shape in self.fields.items()}


@dataclass(frozen=True, slots=True)
class TotalShape:
    """The aggregates of all entities. found: the rows of each part."""

    parts: Sequence[str]
    shape: AggregateShape

    def read(self, found: Mapping[str, Any], writer: JsonWriter) -> Json:
        return self.shape.read([next(iter(found.get(part) or ()), None) for part in self.parts], writer)


@dataclass(frozen=True, slots=True)
class GroupsShape:
    """Groups with their keys. names: each field of the key, and how its values are shown. fields: by response names
    what is shown of a group; None for its key."""

    parts: Sequence[str]
    names: Sequence[tuple[str, Callable[[Any], Json]]]
    fields: Mapping[str, AggregateShape | Constant | None]

    def read(self, found: Mapping[str, Any], writer: JsonWriter) -> Json:
        width = len(self.names)
        first, *others = [found.get(part) or () for part in self.parts]
        by_key = [{tuple(row[:width]): row for row in rows} for rows in others]
        shown = []
        for row in first:
            rows = [row, *(each.get(tuple(row[:width])) for each in by_key)]
            key = {name: show(value) for (name, show), value in zip(self.names, row, strict=False)}
            shown.append(
                {name: key if shape is None else shape.read(rows, writer) for name, shape in self.fields.items()}
            )
        return shown


@dataclass(slots=True)
class AggregateCompiler:
    """Compiles the aggregates of one connection. entity: the variable of its entities. keys: the fields by which
    they are grouped."""

    model: Model
    parameters: Parameters
    kind: TypeModel
    entity: str
    keys: Sequence[FieldModel] = ()
    parts: list[AggregatePart] = field(default_factory=list)
    names: list[tuple[str, Callable[[Any], Json]]] = field(default_factory=list)
    _of: dict[str, tuple[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._part()

    def _part(self) -> int:
        part = AggregatePart()
        for each in self.keys:
            value, clauses, show = self._key(each)
            part.elements.append(value)
            part.clauses.add(f"(optional {clauses})")
            if not self.parts:
                self.names.append((each.name, show))
        self.parts.append(part)
        return len(self.parts) - 1

    def _key(self, shown: FieldModel) -> tuple[str, str, Callable[[Any], Json]]:
        value = self.parameters.variable("k")
        clauses = pattern(shown, self.entity, value)
        if shown.enum is None and not names_idents(shown):
            return value, clauses, _entity_text if shown.refers else json_value
        ident = self.parameters.variable("k")
        if shown.enum is None:
            return ident, f"{clauses} [{value} :db/ident {ident}]", json_value
        names = {member: name for name, member in self.model.enums[shown.enum].members.items()}
        return ident, f"{clauses} [{value} :db/ident {ident}]", names.get

    def aggregate(self, chosen: Selected) -> AggregateShape:
        """Adds what is selected of an aggregate."""
        fields: dict[str, Shape | AggregateShape] = {}
        for each in chosen.of(chosen.type_name):
            if each.field == "__typename":
                fields[each.key] = Constant(chosen.type_name)
            elif each.field == _COUNT:
                fields[each.key] = self._value(0, f"({_COUNT} {self.entity})", 0)
            else:
                fields[each.key] = self._field(each)
        return AggregateShape(fields)

    def _field(self, chosen: Selected) -> AggregateShape:
        shown = self.kind.fields[chosen.field]
        fields: dict[str, Shape | AggregateShape] = {}
        for each in chosen.of(chosen.type_name):
            if each.field == "__typename":
                fields[each.key] = Constant(chosen.type_name)
                continue
            part, value = self._variable(shown)
            empty = 0 if each.field == _COUNT else None
            show = _float if each.field == "avg" and shown.scalar == "BigInt" else json_value
            fields[each.key] = self._value(part, f"({_NAMES.get(each.field, each.field)} {value})", empty, show)
        return AggregateShape(fields)

    def _variable(self, shown: FieldModel) -> tuple[int, str]:
        known = self._of.get(shown.name)
        if known is None:
            part = self._part() if shown.many else 0
            value = self.parameters.variable("a")
            self.parts[part].clauses.add(f"(optional {pattern(shown, self.entity, value)})")
            known = self._of[shown.name] = part, value
        return known

    def _value(
        self, part: int, element: str, empty: Json, show: Callable[[Any], Json] = json_value
    ) -> AggregateValue:
        elements = self.parts[part].elements
        if element not in elements:
            elements.append(element)
        return AggregateValue(part, elements.index(element), empty, show)

    def find(self, part: AggregatePart) -> str:
        """What follows `:find`."""
        count = f"({_COUNT} {self.entity})"
        elements = part.elements if len(part.elements) > len(self.keys) else [*part.elements, count]
        return f"{' '.join(elements)} :with {self.entity}"


def _float(value: Any) -> Json:
    """The mean of integers of any size, which is exact, as a `Float`."""
    return None if value is None else json_value(float(value))


def _entity_text(value: Any) -> Json:
    return None if value is None else str(value)
