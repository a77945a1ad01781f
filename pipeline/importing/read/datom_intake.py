"""Datoms of lines or of an export: their attributes, the meaning of their numbers here, their chunks.

The driver's part of an import of datoms; tasks read the rows (`datoms`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from adalog.cluster.shipping import ShippedSnapshot
from adalog.datalog import edn
from adalog.datalog.edn.scalars import Malformed
from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.datalog.values import EdnMap, Keyword
from adalog.pipeline.importing.files.edn_lines import LINE
from adalog.pipeline.importing.files.options import FileFormat
from adalog.pipeline.importing.read.chunks import ColumnPlan, RowChunk, SourceJob
from adalog.pipeline.importing.read.datoms import IGNORED, DatomColumn, DatomReader, named
from adalog.pipeline.importing.read.edn_columns import TupleShape
from adalog.pipeline.importing.read.export_files import read_export, read_part, write_rejected
from adalog.pipeline.importing.read.ids import IDS, Ids
from adalog.pipeline.importing.read.intake import IDENT, ImportBasis, Intake, contested, declaration, with_article
from adalog.pipeline.importing.read.mapping import DatomSource
from adalog.pipeline.importing.read.runner import ImportRunner, Reasons, RejectedParts
from adalog.pipeline.importing.read.source_files import Share, ShareReader
from adalog.store.checkpoint.adoption import PreparedImport
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.attribute import SCHEMA_BASE, TX_BASE, Attribute
from adalog.store.values.scalars import keyword_named
from adalog.store.values.schema import Schema, item_types
from adalog.store.writer.exclusive import ExclusiveWriter

# Unique and built in, so that they name an entity in any database.
_NAMES: Final = frozenset({Keyword("graphql/namespace"), Keyword("policy/name")})
_ID: Final = Keyword("db/id")
_TRIES: Final = 5


class _Placed(NamedTuple):
    """An export's schema here. forms: with ids of this database. idents: the end of the ids of idents. known: ids
    below it mean themselves. table: the export's ids, and their ids here."""

    forms: Sequence[EdnMap]
    idents: int
    known: int
    table: tuple[Sequence[int], Sequence[int]]


class DatomIntake(Intake[DatomSource]):
    """The datoms of some sources, all of which keep ids or none."""

    def __init__(
        self,
        database: Database,
        runner: ImportRunner,
        sources: Sequence[DatomSource],
        folder: Path,
        principal: str | None = None,
    ) -> None:
        super().__init__(database, runner, sources, folder, principal)
        self.keep = sources[0].keep
        self._exported = read_export(sources[0]) if sources[0].format == "adalog" else None
        self._named: dict[str, set[str]] = {}
        self._columns: tuple[ColumnPlan, ...] = ()
        self._places: dict[str, DatomColumn] = {}
        self._attributes: list[Attribute] = []
        self._parts = () if self._exported is None else self._exported.files
        runner.buckets = max(runner.buckets, len(self._parts))

    def look(self) -> None:
        if self._exported is not None:
            # Its schema declares them.
            self._named = {name: set() for name in self._exported.attributes}
            return
        super().look()
        for files in self._opened:
            for found in self._runner.each(
                f"looking at {files.source.name}", partial(_named, files.form), files.shares
            ):
                for name, kinds in found.items():
                    self._named.setdefault(name, set()).update(kinds)

    def found(self, forms: Sequence[Any], hold: ExclusiveWriter | None) -> ImportBasis:
        placed = self._placed(self._database.snapshot())
        for _ in range(_TRIES):
            both = [*_of_same_entities(forms, placed.forms), *placed.forms]
            prepared = self._declared(both, hold, partial(_implied, self._named), placed.idents)
            now = self._placed(prepared.snapshot)
            if now == placed:
                break
            # Another transaction made idents meanwhile.
            placed = now
        else:
            raise AdalogError(
                Code.BASIS_CONFLICT, "idents are made all the time, and nothing was imported; try again"
            )
        if self.keep:
            _check_no_new(placed.forms, prepared)
        self._settle(prepared)
        theirs, ours = (np.array(each, np.int64) for each in placed.table)
        ids = Ids(self.keep, theirs, ours, placed.known)
        upserts = [] if self.keep else [each.id for each in self._attributes if each.kind.unique == "identity"]
        columns = [self._columns] * len(self._sources)
        reading = [replace(column, attribute=0) for column in self._columns], self._places, ids.table()
        return ImportBasis(prepared, [IDS], columns, reading, ids, upserts)

    def _placed(self, snapshot: Snapshot) -> _Placed:
        first = next_ident = snapshot.origin.next_ident
        if self._exported is None:
            return _Placed((), first, first, ((), ()))
        idents = self._exported.manifest.idents
        last = max((id_ for id_ in idents.values() if id_ < TX_BASE), default=0)
        next_ident = max(next_ident, last + 1) if self.keep else next_ident
        here: dict[Keyword, int] = {}
        chosen: dict[Keyword, int] = {}
        for name, id_ in sorted(idents.items(), key=lambda item: item[1]):
            ident = keyword_named(name)
            known = snapshot.entid(ident)
            if known is not None:
                here[ident] = known
            elif self.keep and (first <= id_ < TX_BASE or 0 <= id_ < SCHEMA_BASE):
                here[ident] = chosen[ident] = id_
            else:
                here[ident] = chosen[ident] = next_ident
                next_ident += 1
        pairs = sorted((id_, here[keyword_named(name)]) for name, id_ in idents.items())
        table = tuple(id_ for id_, _ in pairs), tuple(entity for _, entity in pairs)
        return _Placed(tuple(self._form(form, chosen) for form in self._exported.forms), next_ident, 0, table)

    def _form(self, form: EdnMap, chosen: Mapping[Keyword, int]) -> EdnMap:
        ident = form.get(IDENT)
        if ident is None and not self.keep and not _NAMES.isdisjoint(form):
            return EdnMap([(key, value) for key, value in form.items() if key != _ID])
        if ident is None and not self.keep:
            raise invalid_argument(
                f"the export says {edn.write(form)} of an entity without an ident; import it with `ids: keep`"
            )
        if ident is None:
            return form
        entries = [(key, value) for key, value in form.items() if key != _ID]
        return EdnMap([(_ID, chosen[ident]), *entries] if ident in chosen else entries)

    def _settle(self, prepared: PreparedImport) -> None:
        """Numbers the columns, one for each attribute, after that of the entities."""
        self._places, self._attributes = {}, []
        columns = [ColumnPlan(None, IDS, "long", "long", identity=0)]
        for name in sorted(self._named):
            attribute = _declared(name, prepared.schema)
            if attribute is None or bootstrap.is_built_in(attribute.id):
                continue
            shape = _shape(attribute, prepared.schema)
            self._check(attribute, shape, prepared)
            value_type = str(attribute.kind.value_type)
            identity = 0 if attribute.is_ref else None
            self._places[name] = DatomColumn(len(columns), value_type, shape)
            columns.append(
                ColumnPlan(None, attribute.id, value_type, value_type, identity=identity, create=attribute.is_ref)
            )
            self._attributes.append(attribute)
        self._columns = tuple(columns)

    def _check(self, attribute: Attribute, shape: TupleShape, prepared: PreparedImport) -> None:
        """Raises ARG_INVALID if an import cannot enforce what the schema says of an attribute."""
        exported = self._exported
        preds = set(map(str, attribute.kind.preds))
        if preds and (exported is None or exported.preds(attribute.ident) != preds):
            raise _wrong(attribute, "has :db.attr/preds, which an import does not run; transact these values")
        if shape.refers and not self.keep:
            raise _wrong(attribute, "has tuples that name entities; import it with `ids: keep`")
        if exported is not None:
            return
        for composite in prepared.schema.composites:
            if attribute.ident in (composite.ident, *(composite.kind.tuple_attrs or ())):
                raise _wrong(attribute, f"is part of {composite.ident}, which an import of lines does not keep")

    def _names(self, number: int) -> Mapping[str, str]:
        return {LINE: LINE}

    def _reader(self, found: ImportBasis, database: ShippedSnapshot) -> DatomReader:
        return DatomReader(self._places, found.ids, database)

    def chunks(self, jobs: Sequence[SourceJob]) -> list[RowChunk]:
        if self._exported is None:
            return super().chunks(jobs)
        read = partial(read_part, jobs[0])
        return [chunk for part in self._runner.each("reading", read, self._parts) for chunk in part]

    def files(self) -> Mapping[int, str]:
        return super().files() if self._exported is None else {part.number: part.path for part in self._parts}

    def _write_rejected(self, number: int, rows: RejectedParts, reasons: Reasons, to: Path) -> None:
        if self._exported is None:
            super()._write_rejected(number, rows, reasons, to)
            return
        write = partial(write_rejected, self._sources[number].name, reasons, str(to.absolute()))
        self._runner.each(
            "writing what was rejected", write, [(self._parts[number], own) for number, own in rows.items()]
        )

    def reasons(self, number: int, found: ImportBasis) -> Reasons:
        none = ""
        where = "below 2^41, and no number of adalog's own" if self.keep else "as numbers or idents"
        entity = [
            f"the entity is none: entities are named {where}",
            *(none,) * 4,
            'the line is no datom; one is [1 :person/name "Ada"], or [1 :person/name "Ada" 7 true]',
            "the attribute is adalog's own, or none; a schema is given in the mapping's `schema`",
        ]
        reasons = [entity]
        for each in self._attributes:
            unreadable = f"{each.ident}: the value is not {with_article(str(each.kind.value_type))}"
            reasons.append([none, unreadable, none, *contested(each.ident)])
        return reasons

    def check(self, found: ImportBasis, changed: Set[int], rejected: int) -> None:
        """Raises ARG_INVALID if composite tuples might not match their parts: they are taken as they were exported,
        which is right only if the database has none of them, and no row was rejected."""
        prepared = found.prepared
        schema = prepared.schema
        for composite in schema.composites:
            own = [schema.get(name) for name in (composite.ident, *(composite.kind.tuple_attrs or ()))]
            group = {each.id for each in own if each is not None}
            if not group & changed:
                continue
            if rejected:
                raise _wrong(composite, "is made of other attributes, and rows were rejected; nothing was imported")
            if any(prepared.snapshot.trie(id_, inverse=False).rows for id_ in group):
                raise _wrong(composite, "is made of attributes that the database has values of; transact these")


def _named(form: FileFormat, share: Share) -> dict[str, set[str]]:
    lines = ShareReader(form, {LINE: LINE}, frozenset()).batches(share)
    return named(rows.columns[LINE].values for rows in lines)


def _implied(named: Mapping[str, set[str]], schema: Schema) -> list[EdnMap]:
    """Forms that declare the attributes that the schema does not, as their first use would."""
    forms = []
    for name, kinds in sorted(named.items()):
        known = _declared(name, schema)
        if name in IGNORED or (known is not None and known.kind.value_type is not None):
            continue
        try:
            ident = keyword_named(name)
        except Malformed:
            continue
        if ident.namespace is not None and (ident.namespace == "db" or ident.namespace.startswith("db.")):
            continue
        types = sorted(kinds - {""})
        if not types:
            continue
        kind = "double" if types == ["double", "long"] else types[0]
        if len(types) > 1 and kind != "double":
            raise invalid_argument(
                f"the lines give {name} values of several types ({', '.join(types)}); declare it in the mapping's "
                "`schema`"
            )
        forms.append(declaration(ident, kind, known))
    return forms


def _declared(name: str, schema: Schema) -> Attribute | None:
    return schema.get(Keyword(name.removeprefix(":")))


def _shape(attribute: Attribute, schema: Schema) -> TupleShape:
    if attribute.kind.tuple_attrs is not None:
        return TupleShape(types=item_types(attribute, len(attribute.kind.tuple_attrs), schema.by_ident))
    return TupleShape(attribute.kind.tuple_types, attribute.kind.tuple_type)


def _of_same_entities(forms: Sequence[Any], exported: Sequence[EdnMap]) -> list[Any]:
    """The mapping's own forms: of an ident that the export makes, too, they are about that entity."""
    ids = {form[IDENT]: form[_ID] for form in exported if IDENT in form and _ID in form}

    def placed(form: Any) -> Any:
        ident = form.get(IDENT) if isinstance(form, EdnMap) and _ID not in form else None
        return EdnMap([(_ID, ids[ident]), *form.items()]) if ident in ids else form

    return [placed(form) for form in forms]


def _check_no_new(forms: Sequence[EdnMap], prepared: PreparedImport) -> None:
    """Raises ARG_INVALID where the mapping's own forms made new entities: datoms may have chosen their ids."""
    free = prepared.snapshot.origin.free
    given = [form[_ID] for form in forms if type(form.get(_ID)) is int]
    chosen = np.array(sorted(id_ for id_ in given if id_ < SCHEMA_BASE), np.int64)
    if free.without(free.among_sorted(chosen)).next(0) != prepared.ids:
        raise invalid_argument(
            "the mapping's `schema` makes entities that have no ident, and `ids: keep` might give their ids to "
            "others; transact it first"
        )


def _wrong(attribute: Attribute, why: str) -> AdalogError:
    return invalid_argument(f"{attribute.ident} {why}")
