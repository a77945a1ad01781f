"""Rows of files, each about an entity: what their columns become, and whether the schema allows that.

The driver's part of an import of rows; tasks read the rows (`chunks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.datalog.values import EdnMap, Keyword, type_name
from adalog.pipeline.importing.read.chunks import ColumnPlan
from adalog.pipeline.importing.read.intake import ImportBasis, Intake, contested, declaration, with_article
from adalog.pipeline.importing.read.mapping import KAFKA, ColumnMapping, ImportPlan, RowSource
from adalog.pipeline.importing.read.runner import ImportRunner, Reasons
from adalog.pipeline.importing.read.typed_columns import constant
from adalog.store.database import Database
from adalog.store.values.attribute import FIRST_OWN_IDENT, Attribute
from adalog.store.values.schema import Schema
from adalog.store.writer.exclusive import ExclusiveWriter


class RowIntake(Intake[RowSource]):
    def __init__(
        self, database: Database, runner: ImportRunner, sources: Sequence[RowSource], principal: str | None = None
    ) -> None:
        super().__init__(database, runner, sources, principal)
        self._files: list[Mapping[str, pa.DataType]] = []
        self._columns: list[Mapping[str, str]] = []

    def look(self) -> None:
        self._files = [self._runner.columns(source) for source in self._sources]
        self._sources = list(map(_with_what_is_there, self._sources, self._files))

    def found(self, forms: Sequence[Any], hold: ExclusiveWriter | None) -> ImportBasis:
        prepared = self._declared(forms, hold, partial(_declarations, self._sources, self._files))
        identities = _identities(self._sources, prepared.schema)
        resolved = [
            _resolved(source, columns, prepared.schema, identities)
            for source, columns in zip(self._sources, self._files, strict=True)
        ]
        columns, self._columns = [plans for plans, _ in resolved], [names for _, names in resolved]
        reading = [[replace(column, attribute=0) for column in own] for own in columns]
        return ImportBasis(prepared, identities, columns, reading)

    def _names(self, number: int) -> Mapping[str, str]:
        return self._columns[number]

    def _reasons(self, number: int, found: ImportBasis) -> Reasons:
        source = self._sources[number]
        reasons = []
        for column, wanted in zip((source.entity, *source.columns), found.columns[number], strict=True):
            name, kept = column.attribute, ""
            if wanted.read_as != wanted.value_type:
                kept = f" and kept as {with_article(wanted.value_type)}"
            reasons.append(
                [
                    f"there is no value for {name}, which names the entity",
                    f"{name}: a value cannot be read as {with_article(wanted.read_as)}{kept}",
                    f"{name}: no entity has this {column.ref}, in the database or in this import",
                    *contested(name),
                ]
            )
        # Of the row as a whole; what lies between is said of datoms.
        what = {
            "csv": "the line has more values than there are columns",
            "jsonl": "the line is no JSON object of this form",
        }
        reasons[0] += ["", "", what.get(source.format, "")]
        return reasons


def _with_what_is_there(source: RowSource, columns: Mapping[str, pa.DataType]) -> RowSource:
    """A source of JSON that is a part of many without the attributes that none of its rows has."""
    if not source.part or source.format != "jsonl":
        return source
    return replace(source, columns=tuple(each for each in source.columns if each.column in {None, *columns}))


def _declarations(
    sources: Sequence[RowSource], found: Sequence[Mapping[str, pa.DataType]], schema: Schema
) -> list[EdnMap]:
    """Forms that declare the attributes that the schema does not, as their first use would."""
    forms: dict[Keyword, EdnMap] = {}
    for source, columns in zip(sources, found, strict=True):
        for column in source.columns:
            known = schema.get(column.attribute)
            if (known is not None and known.kind.value_type is not None) or column.attribute in forms:
                continue
            kind, many = _implied(column, columns.get(column.column or ""))
            forms[column.attribute] = declaration(column.attribute, kind, known, many=many)
    return list(forms.values())


def _implied(column: ColumnMapping, kind: pa.DataType | None) -> tuple[str, bool]:
    """The type that a column gives an attribute, and whether there may be several values."""
    many = column.split is not None
    if kind is not None and (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        kind, many = kind.value_type, True
    if column.ref is not None:
        return "ref", many
    if column.type is not None:
        return column.type, many
    if column.column is None:
        return type_name(column.value), many
    if kind is None or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "string", many
    for name, test in (
        ("long", pa.types.is_integer),
        ("double", pa.types.is_floating),
        ("boolean", pa.types.is_boolean),
        ("instant", pa.types.is_temporal),
        ("bigdec", pa.types.is_decimal),
    ):
        if test(kind):
            return name, many
    return "bytes", many


def _identities(sources: Sequence[RowSource], schema: Schema) -> list[int]:
    """The attributes whose values name the sources' entities, or those that refs mean."""
    idents = [source.entity.attribute for source in sources]
    idents += [column.ref for source in sources for column in source.columns if column.ref is not None]
    found = []
    for ident in dict.fromkeys(idents):
        attribute = schema.get(ident)
        if attribute is None:
            raise AdalogError(
                Code.UNKNOWN_ATTRIBUTE,
                f"the mapping names entities by {ident}, which the schema does not declare; declare it as "
                ":db.unique/identity in the mapping's `schema`",
            )
        found.append(attribute.id)
    return found


def _resolved(
    source: RowSource, columns: Mapping[str, pa.DataType], schema: Schema, identities: Sequence[int]
) -> tuple[tuple[ColumnPlan, ...], Mapping[str, str]]:
    """The plans of a source's columns, and the files' columns by the names of these."""
    names: dict[str, str] = {}
    plans = []
    for number, column in enumerate((source.entity, *source.columns)):
        attribute = schema.get(column.attribute)
        assert attribute is not None, "declared, or refused before"
        _check(source, column, attribute, schema, entity=number == 0)
        meant = attribute if column.ref is None else schema.get(column.ref)
        assert meant is not None
        value_type = str(meant.kind.value_type)
        read_as = column.type or value_type
        plan = ColumnPlan(None, attribute.id, read_as, value_type, column.split)
        if number == 0 or column.ref is not None:
            plan = replace(plan, identity=identities.index(meant.id), create=column.create)
        if column.column is not None:
            plan = replace(plan, name=f"c{number}")
            names[f"c{number}"] = _found(source, column.column, columns)
        else:
            spelt = constant(column.value, read_as, value_type)
            if spelt is None:
                raise _wrong(source, column, f"{column.value!r} cannot be read as {with_article(read_as)}")
            plan = replace(plan, domain=spelt[0], key=spelt[1])
        plans.append(plan)
    return tuple(plans), names


def _found(source: RowSource, name: str, columns: Mapping[str, pa.DataType]) -> str:
    if name not in columns:
        known = ", ".join(columns)
        raise invalid_argument(f"source {source.name} has no column {name}; its columns are {known}")
    kind = columns[name]
    inner = kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else kind
    if pa.types.is_nested(inner):
        raise invalid_argument(f"column {name} of source {source.name} holds maps or lists of lists")
    return name


def _check(source: RowSource, column: ColumnMapping, attribute: Attribute, schema: Schema, *, entity: bool) -> None:
    """Raises ARG_INVALID if an import cannot enforce what the schema says of an attribute."""
    if entity and attribute.kind.unique != "identity":
        raise _wrong(source, column, "names the source's entities, and has to be :db.unique/identity for that")
    if attribute.id < FIRST_OWN_IDENT:
        raise _wrong(source, column, "is adalog's own; it is given in the mapping's `schema`")
    if attribute.kind.preds:
        raise _wrong(source, column, "has :db.attr/preds, which an import does not run; transact these values")
    if attribute.kind.value_type == "tuple":
        raise _wrong(source, column, "has tuples as values, which an import does not read")
    for composite in schema.composites:
        if attribute.ident in (composite.kind.tuple_attrs or ()):
            raise _wrong(source, column, f"is part of {composite.ident}, which an import does not keep")
    if column.ref is not None:
        if not attribute.is_ref:
            raise _wrong(source, column, f"has `ref`, but its values are {attribute.kind.value_type}s")
        meant = schema.get(column.ref)
        if meant is None or meant.kind.unique is None:
            raise _wrong(source, column, f"means entities by {column.ref}, which is not unique")
        if column.create and (meant.id < FIRST_OWN_IDENT or meant.kind.preds):
            raise _wrong(source, column, f"cannot create entities by their {column.ref}; transact them first")
        if meant.kind.value_type in ("ref", "tuple", None):
            raise _wrong(source, column, f"means entities by {column.ref}, whose values are no plain ones")
    elif attribute.is_ref:
        raise _wrong(source, column, "refers to entities: say by which attribute's value, with `ref`")


def check_alone(plan: ImportPlan) -> None:
    """Raises ARG_INVALID if one source writes what another names its entities by, and for a source without end."""
    for source in plan.sources:
        if source.format == KAFKA:
            raise invalid_argument(f"source {source.name} is a topic of Kafka, which `adalog stream` reads")
    named = {source.entity.attribute for source in plan.sources}
    meant = {column.ref for source in plan.sources for column in source.columns if column.ref is not None}
    for source in plan.sources:
        for column in source.columns:
            if column.attribute in named | meant:
                raise _wrong(
                    source,
                    column,
                    "is also what entities are named or meant by in this mapping; import it with another command",
                )


def _wrong(source: RowSource, column: ColumnMapping, why: str) -> AdalogError:
    return invalid_argument(f"source {source.name}: {column.attribute} {why}")
