"""Rows of files, each about an entity: what their columns become, and whether the schema allows that.

The driver's part of an import of rows; tasks read the rows (`chunks`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Final

from adalog.cluster.shipping import ShippedSnapshot
from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.datalog.hints import nearest
from adalog.datalog.values import EdnMap, Keyword, type_name
from adalog.pipeline.importing.files.rows import NestedColumns, Survey
from adalog.pipeline.importing.read.chunks import (
    DELETED,
    NO_DOMAIN,
    PRESENT,
    ColumnPlan,
    Reason,
    RowChunk,
    RowReader,
    SourceJob,
)
from adalog.pipeline.importing.read.entity_rows import EntityReader
from adalog.pipeline.importing.read.ids import IDS
from adalog.pipeline.importing.read.intake import (
    ImportBasis,
    Intake,
    SyncedTable,
    contested,
    declaration,
    with_article,
)
from adalog.pipeline.importing.read.mapping import KAFKA, NEW, ColumnMapping, ImportPlan, PlacedColumn, RowSource
from adalog.pipeline.importing.read.row_checks import check_attribute, check_notation, wrong
from adalog.pipeline.importing.read.runner import ImportRunner, Reasons, UnreadableValue
from adalog.pipeline.importing.read.typed_columns import constant
from adalog.pipeline.importing.read.wanted_columns import (
    WantedColumns,
    is_known,
    keys_of,
    naming,
    said_names,
    structs_key,
    surveyed,
)
from adalog.pipeline.importing.sql.marks import last_read, mark_forms
from adalog.store.database import Database
from adalog.store.transact.suspicions import misspelling
from adalog.store.values.schema import Schema
from adalog.store.writer.exclusive import ExclusiveWriter


class RowIntake(Intake[RowSource]):
    def __init__(
        self,
        database: Database,
        runner: ImportRunner,
        sources: Sequence[RowSource],
        folder: Path,
        principal: str | None = None,
    ) -> None:
        super().__init__(database, runner, sources, folder, principal)
        self._sources: list[RowSource] = list(sources)
        self._surveys: list[Survey | None] = []
        self._columns: list[WantedColumns] = []

    def look(self) -> None:
        for number, source in enumerate(self._sources):
            if source.sql is not None and source.sql.since is not None:
                after = last_read(self._database.snapshot(), source.name, source.sql)
                self._sources[number] = replace(source, sql=replace(source.sql, after=after))
        super().look()
        # JSON names its columns row by row, and is only read twice if types are needed.
        self._surveys = [
            None if source.format == "jsonl" else files.survey(self._runner, *surveyed(source))
            for source, files in zip(self._sources, self._opened, strict=True)
        ]

    def forms(self) -> list[Any]:
        pairs = zip(self._sources, self._opened, strict=True)
        read = [(source.name, source.sql, files.last) for source, files in pairs if source.sql is not None]
        return mark_forms([(name, sql, last) for name, sql, last in read if last is not None])

    def found(self, forms: Sequence[Any], hold: ExclusiveWriter | None) -> ImportBasis:
        prepared = self._declared(forms, hold, self._declarations)
        identities = _identities(self._sources, prepared.schema)
        fresh = count(len(self._sources))
        resolved = [
            _resolved(source, None if source.format == "jsonl" else survey, prepared.schema, identities, fresh)
            for source, survey in zip(self._sources, self._surveys, strict=True)
        ]
        columns, self._columns = [plans for plans, _ in resolved], [names for _, names in resolved]
        reading = [[replace(column, attribute=0) for column in own] for own in columns]
        tables = [
            _table(source, own, identities)
            for source, own in zip(self._sources, columns, strict=True)
            if source.sync is not None
        ]
        return ImportBasis(prepared, identities, columns, reading, tables=tables)

    def chunks(self, jobs: Sequence[SourceJob]) -> list[RowChunk]:
        found = super().chunks(jobs)
        for number, source in enumerate(self._sources):
            if source.format == "jsonl":
                self._check_columns(number, [chunk for chunk in found if chunk.order[0] == number])
        return found

    def _check_columns(self, number: int, chunks: Sequence[RowChunk]) -> None:
        """Raises ARG_INVALID for a column that no row of JSON has."""
        source = self._sources[number]
        placed = source.placed
        empty = [
            (each.within, name, each.mapping.place)
            for each in placed
            if not any(chunk.values[each.number] for chunk in chunks)
            for name in each.mapping.names
        ]
        if source.delete is not None and source.delete.column is not None and not self._deletes(source, chunks):
            empty.append(("", source.delete.column, source.delete.place))
        if not empty or not any(chunk.rows for chunk in chunks) or source.part:
            return
        survey = self._json_survey(number, [name for _, name, _ in empty])
        for within, name, place in empty:
            # Where there are no structs, these say nothing of their columns.
            if any(each.startswith(within) for each in survey.columns):
                _found(source, f"{within}{name}", place, survey)

    def _deletes(self, source: RowSource, chunks: Sequence[RowChunk]) -> bool:
        """Whether a row retracts its entity."""
        return any(chunk.values[len(source.placed)] for chunk in chunks)

    def _declarations(self, schema: Schema) -> list[EdnMap]:
        """Forms that declare the attributes that the schema does not, as their first use would; warns of names that
        are probably misspelt."""
        forms: dict[Keyword, EdnMap] = {}
        kinds: dict[Keyword, tuple[str, bool]] = {}
        for number, source in enumerate(self._sources):
            unknown = [each for each in source.placed[1:] if not _is_declared(each.mapping, schema)]
            survey = self._survey(number, unknown)
            if source.part:
                # Some of many rows may lack keys, whose types later ones say.
                lost = [each for each in unknown if not is_known(each, survey)]
                self._sources[number] = source.without(lost)
                unknown = [each for each in unknown if each not in lost]
            for each in unknown:
                column = each.mapping
                kind, many = _implied(source, each, survey)
                other = kinds.setdefault(column.attribute, (kind, many))
                if other[0] != kind:
                    raise wrong(
                        source,
                        column,
                        f"has values of type {kind} here and of type {other[0]} in another source: give its "
                        "`type`, or declare it in the mapping's `schema`",
                    )
                many = many or other[1]
                kinds[column.attribute] = (kind, many)
                known = schema.get(column.attribute)
                is_component = column.structs is not None
                forms[column.attribute] = declaration(
                    column.attribute, kind, known, many=many, is_component=is_component
                )
        misspelt = {
            each.attribute: f"{each.place}: the import declares {each.attribute}{hint}"
            for source in self._sources
            for each in (placed.mapping for placed in source.placed[1:])
            if each.attribute in forms and (hint := misspelling(each.attribute, schema.names))
        }
        self.warnings = tuple(misspelt.values())
        return list(forms.values())

    def _survey(self, number: int, unknown: Sequence[PlacedColumn]) -> Survey:
        wanted = {name for each in unknown for name in each.mapping.names}
        if not wanted:
            return Survey()
        survey = self._surveys[number]
        if survey is None:
            survey = self._surveys[number] = self._json_survey(number, wanted)
        return survey

    def _json_survey(self, number: int, wanted: Collection[str]) -> Survey:
        source = self._sources[number]
        survey = self._opened[number].survey(self._runner, wanted, surveyed(source)[1])
        if not survey.rows and not source.part and any(file.size for file in self._opened[number].files):
            raise invalid_argument(
                f"source {source.name} has no JSON object on any line; for objects of several lines, or a list of "
                "them, say `options: {multiLine: true}`"
            )
        return survey

    def _reader(self, found: ImportBasis, database: ShippedSnapshot) -> RowReader:
        return EntityReader()

    def _names(self, number: int) -> Mapping[str, str]:
        return self._columns[number].names

    def _nested(self, job: SourceJob) -> Sequence[NestedColumns]:
        return self._columns[job.number].nested(self._sources[job.number].placed, job.columns)

    def _exact(self, job: SourceJob) -> Collection[str]:
        return self._columns[job.number].exact(job.columns)

    def reasons(self, number: int, found: ImportBasis) -> Reasons:
        source = self._sources[number]
        reasons: list[list[str | UnreadableValue]] = []
        for each, wanted in zip(source.placed, found.columns[number], strict=False):
            column, kept = each.mapping, ""
            name = column.attribute
            kind = with_article(wanted.notation.described(wanted.read_as))
            if wanted.read_as != wanted.value_type:
                kept = f" and kept as {with_article(wanted.value_type)}"
            reasons.append(
                [
                    f"there is no value for {name if column.ref is None else column.ref}, which names the entity",
                    UnreadableValue(str(name), None if each.within else column.column, f"{kind}{kept}", wanted),
                    f"{name}: no entity has this {column.ref}, in the database or in this import",
                    *contested(name),
                ]
            )
            if column.structs is not None:
                form = "an object" if column.structs.entries else "an object, or a list of objects"
                reasons[-1] += [
                    "",
                    "",
                    f"{name}: column {each.within}{column.column} has something else than {form}",
                ]
        # Of the row as a whole; what lies between is said of datoms.
        what = {
            "csv": "the line has more values than there are columns, or a quoted value that does not end",
            "jsonl": "the line is no JSON object of this form",
        }
        reasons[0] += ["", "", what.get(source.format, "")]
        reasons[0][Reason.SECOND_VALUE] = (
            f"{source.entity.attribute}: an earlier row retracts the entity that this one describes, or describes "
            "the one that this one retracts"
        )
        for plan in found.columns[number][len(reasons) :]:
            which = source.delete.column if source.delete is not None else ""
            reasons.append(["", f"`delete`: the value of {which} cannot be read as {with_article(plan.read_as)}"])
        return reasons


def _table(source: RowSource, columns: Sequence[ColumnPlan], identities: Sequence[int]) -> SyncedTable:
    """The table that a source has all of."""
    assert source.sync is not None
    assert columns[0].identity is not None
    constants = tuple(
        (plan.attribute, plan.domain, plan.key, None if plan.identity is None else identities[plan.identity])
        for plan, each in zip(columns, source.placed, strict=False)
        if each.number and not each.outer and not each.mapping.names
    )
    return SyncedTable(source.name, columns[0].identity, constants, source.sync.most)


def _is_declared(column: ColumnMapping, schema: Schema) -> bool:
    known = schema.get(column.attribute)
    return known is not None and known.kind.value_type is not None


def _implied(source: RowSource, placed: PlacedColumn, survey: Survey) -> tuple[str, bool]:
    """The type that a column gives an attribute, and whether there may be several values. Raises ARG_INVALID for
    values of types that have nothing in common."""
    column, name = placed.mapping, f"{placed.within}{placed.mapping.column}"
    many = column.split is not None or column.replaces or name in survey.many
    if column.structs is not None:
        return "ref", many or column.structs.entries
    if column.ref is not None:
        return "ref", many
    if column.type is not None:
        return column.type, many
    if column.notation.is_of_instants:
        return "instant", many
    if not column.names:
        return type_name(column.value), many
    kinds = survey.columns.get(name, {})
    for together, kind in _COMMON.items():
        if kinds.keys() <= together:
            return kind, many
    if len(kinds) == 1:
        return next(iter(kinds)), many
    examples = ", ".join(f"{kind} ({example})" for kind, example in sorted(kinds.items()))
    raise wrong(
        source,
        column,
        f"is not declared, and column {name} has values of several types: {examples}; give its `type`, or "
        "declare it in the mapping's `schema`",
    )


_COMMON: Final[Mapping[frozenset[str], str]] = {
    frozenset({"string"}): "string",
    frozenset({"long"}): "long",
    frozenset({"long", "double"}): "double",
    frozenset({"long", "bigint"}): "bigint",
}
"""The type that has the values of several, the least one first. A column without values is text."""


def _identities(sources: Sequence[RowSource], schema: Schema) -> list[int]:
    """The attributes whose values name the sources' entities, or those that refs mean."""
    idents = [(source.entity.attribute, source.entity.place) for source in sources if source.entity != NEW]
    columns = [each.mapping for source in sources for each in source.placed]
    idents += [(column.ref, column.place) for column in columns if column.ref is not None]
    places: dict[Keyword, str] = {}
    for ident, place in idents:
        places.setdefault(ident, place)
    found = []
    for ident, place in places.items():
        attribute = schema.get(ident)
        if attribute is None:
            raise AdalogError(
                Code.UNKNOWN_ATTRIBUTE,
                f"{place}: the mapping names entities by {ident}, which the schema does not declare"
                f"{schema.names.hint(ident)}; declare it as :db.unique/identity in the mapping's `schema`",
            )
        found.append(attribute.id)
    is_new = any(
        column == NEW or (column.structs is not None and column.structs.entity == NEW) for column in columns
    )
    return found + [IDS] * is_new


def _resolved(
    source: RowSource, survey: Survey | None, schema: Schema, identities: Sequence[int], fresh: Iterator[int]
) -> tuple[tuple[ColumnPlan, ...], WantedColumns]:
    """The plans of a source's columns, and the files' columns by the names of these. fresh: first parts of the
    numbers of structs that are new entities."""
    placed = source.placed
    names = WantedColumns.of(placed)
    plans: list[ColumnPlan] = []
    if source.entity == NEW:
        plans.append(ColumnPlan(None, IDS, "long", "long", identity=identities.index(IDS), domain=NO_DOMAIN))
    for each in placed:
        number, column = each.number, each.mapping
        if column == NEW:
            continue
        attribute = schema.get(column.attribute)
        assert attribute is not None, "declared, or refused before"
        check_attribute(source, column, attribute, schema, entity=number == 0)
        meant = attribute if column.ref is None else schema.get(column.ref)
        assert meant is not None
        for name in said_names(each):
            _found(source, name, column.place, survey)
        value_type = str(meant.kind.value_type)
        read_as = naming(column).type or value_type
        plan = ColumnPlan(None, attribute.id, read_as, value_type, column.split, outer=each.outer)
        plan = replace(
            plan,
            replaces=column.replaces,
            retracts=column.retracts,
            rounded=naming(column).round,
            notation=naming(column).notation,
        )
        check_notation(source, naming(column), read_as)
        if number == 0 or column.ref is not None:
            plan = replace(plan, identity=identities.index(meant.id), create=column.create)
        if column.structs is not None:
            ends = column.replaces or column.retracts or not attribute.is_many
            plan = replace(plan, structs=structs_key(each), owns=ends and bool(attribute.kind.component))
        if column.structs is not None and column.structs.entity == NEW:
            plan = replace(plan, identity=identities.index(IDS), create=True, domain=NO_DOMAIN, new=next(fresh))
        elif column.names:
            own = keys_of(each)
            plan = replace(plan, name=next(iter(own)), joined=tuple(own) if naming(column).columns else ())
            if plan.joined:
                _check_parts(source, each, survey)
        else:
            spelt = constant(column.value, read_as, value_type)
            if spelt is None:
                raise wrong(source, column, f"{column.value!r} cannot be read as {with_article(read_as)}")
            plan = replace(plan, domain=spelt[0], key=spelt[1])
        plans.append(plan)
    if source.delete is not None:
        plan = replace(plans[0], name=None, removal=DELETED)
        if source.delete.column is not None:
            kind = type_name(source.delete.equals)
            spelt = constant(source.delete.equals, kind, kind)
            assert spelt is not None, "read from YAML as a value of this type"
            plan = replace(plan, name="deleted", read_as=kind, value_type=kind, domain=spelt[0], key=spelt[1])
            names.names["deleted"] = _found(source, source.delete.column, source.delete.place, survey)
        plans.append(plan)
    if source.sync is not None:
        plans.append(replace(plans[0], name=None, removal=PRESENT))
    return tuple(plans), names


def _found(source: RowSource, name: str, place: str, survey: Survey | None) -> str:
    """The name, if files have such a column. survey: None if rows have columns of their own."""
    if survey is None or name in survey.columns:
        return name
    # Paths go without saying.
    every = [each for each in survey.columns if re.split(r"\.|\[\]", each)[0] in ("", each)]
    within = name.rpartition("[].")[0]
    inner = [each for each in survey.columns if within and each.rpartition("[].")[0] == within]
    known = ", ".join(inner or every or survey.columns)
    hint = nearest(name, survey.columns)
    if "_c0" in survey.columns:
        known += "; if the first line has the names, write options: {header: true}"
    raise invalid_argument(f"{place}: source {source.name} has no column {name}{hint}; its columns are {known}")


def _check_parts(source: RowSource, placed: PlacedColumn, survey: Survey | None) -> None:
    """Raises ARG_INVALID where the parts of a key have no texts that are the same wherever they come from."""
    column = placed.mapping
    for name in said_names(placed)[column.structs is not None :]:
        kinds = set() if survey is None else survey.columns[name].keys() - {"string", "long", "boolean"}
        if kinds:
            raise invalid_argument(
                f"{column.place}: column {name} of source {source.name} has values of the type {min(kinds)}, and "
                "the parts of a key are texts, whole numbers or booleans"
            )


def check_parts(plan: ImportPlan) -> None:
    """Raises ARG_INVALID for a source that cannot come in parts."""
    for source in plan.sources:
        if source.sql is not None:
            raise invalid_argument(
                f"source {source.name} is a table of a SQL database, and a stream follows files: repeat `adalog "
                "import`, with `since` for new rows alone"
            )
        if source.sync is not None:
            raise invalid_argument(
                f"source {source.name} has `sync`, and a stream brings a part of a table at a time: import all of "
                "it with `adalog import`, or leave `sync` out"
            )


def check_alone(plan: ImportPlan) -> None:
    """Raises ARG_INVALID if one source writes what another names its entities by, and for a source without end."""
    for source in plan.sources:
        if source.format == KAFKA:
            raise invalid_argument(f"source {source.name} is a topic of Kafka, which `adalog stream` reads")
    check_parts(replace(plan, sources=tuple(source for source in plan.sources if source.part)))
    named = {source.entity.attribute for source in plan.sources if source.entity != NEW}
    meant = {each.mapping.ref for source in plan.sources for each in source.placed} - {None}
    for source in plan.sources:
        for column in (each.mapping for each in source.placed[1:]):
            if column.attribute in named | meant:
                raise wrong(
                    source,
                    column,
                    "is also what entities are named or meant by in this mapping; import it with another command",
                )
