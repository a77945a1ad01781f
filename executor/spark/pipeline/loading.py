"""An import from its mapping to its transaction: what is done by whom, in which order.

The steps themselves are tasks: reading chunks, then rounds of keys, blocks and attributes, until nothing is
rejected any more; nearly always the first round is the last. What is here knows counts and names of files, never
rows.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar
from uuid import uuid4

import pyarrow as pa

from datalog import edn
from datalog.errors import AdalogError, Code
from datalog.values import EdnMap, Keyword, type_name
from executor.spark.pipeline.attributes import AttributesJob, Written, referee, write_attribute
from executor.spark.pipeline.chunks import Chunk, SourceJob, Wanted, narrowed, read_rejects
from executor.spark.pipeline.keys import KeysJob, Numbering, block_jobs, bucket_of, write_block
from executor.spark.pipeline.mapping import Column, Plan, Source
from executor.spark.pipeline.typed import constant
from executor.spark.shipping import Shipped
from store.adoption import Adoption, Prepared
from store.attribute import FIRST_OWN_IDENT, Attribute
from store.database import Database
from store.schema import Schema
from store.segment import Segment

T = TypeVar("T")
R = TypeVar("R")

_ID: Final = Keyword("db/ident")
_TYPE: Final = Keyword("db/valueType")
_CARDINALITY: Final = Keyword("db/cardinality")


class Runner(Protocol):
    """Who reads files and runs tasks.

    buckets: into how many parts keys are cut, at least.
    """

    buckets: int

    def columns(self, source: Source) -> Mapping[str, pa.DataType]:
        """The columns of a source's files. Raises ARG_INVALID where there are none."""

    def files(self, source: Source) -> Mapping[int, str]:
        """The files of a source by the hash that rows are told by."""

    def read(self, source: Source, names: Mapping[str, str], job: SourceJob) -> list[Chunk]:
        """The chunks of a source's rows. names: the column of the files by the name that the job has for it."""

    def each(self, stage: str, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """What `work` makes of each item, a task each."""

    def quarantine(self, source: Source, rejected: Sequence[RejectedRows], reasons: Reasons, to: Path) -> None:
        """Writes rejected rows, as they are in the files, into a folder."""


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """Rejected rows of a chunk: its partition, how many rows of this come before it, files of the rows."""

    partition: int
    start: int
    paths: tuple[str, ...]


Reasons = Sequence[Sequence[str]]
"""What is said of a row, by column and `Reason`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an import did. t: its transaction; of one that changed nothing, or was not to, the newest one."""

    t: int
    rows: int
    entities: int
    datoms: int
    rejected: int
    seconds: float
    accepted: bool


def load(
    database: Database,
    runner: Runner,
    plan: Plan,
    *,
    max_errors: int = 0,
    quarantine: Path | None = None,
    dry_run: bool = False,
) -> Outcome:
    """Runs an import.

    Raises ARG_INVALID for a mapping that does not fit the files or the schema, BASIS_CONFLICT where something else
    was written meanwhile. Where more rows are rejected than `max_errors` nothing is imported.
    """
    began = time.monotonic()
    check_alone(plan)
    with database.unfinished() as folder:
        return _Import(database, runner, plan, folder.resolve(), dry_run).run(max_errors, quarantine, began)


@dataclass(frozen=True, slots=True)
class _Resolved:
    """A source with its columns as the tasks want them, and the names in files of those that are read."""

    source: Source
    columns: tuple[Wanted, ...]
    names: Mapping[str, str]


class _Import:
    def __init__(self, database: Database, runner: Runner, plan: Plan, folder: Path, dry: bool) -> None:
        self._database = database
        self._runner = runner
        self._plan = plan
        self._folder = str(folder)
        self._dry = dry

    def run(self, max_errors: int, quarantine: Path | None, began: float) -> Outcome:
        found = [self._runner.columns(source) for source in self._plan.sources]
        prepared = self._prepared(found)
        identities = _identities(self._plan, prepared.schema)
        sources = [
            _resolved(source, columns, prepared.schema, identities)
            for source, columns in zip(self._plan.sources, found, strict=True)
        ]
        jobs = [
            SourceJob(number, each.columns, self._folder, self._runner.buckets, prepared.secrets)
            for number, each in enumerate(sources)
        ]
        chunks = [
            chunk
            for each, job in zip(sources, jobs, strict=True)
            for chunk in self._runner.read(each.source, each.names, job)
        ]
        chunks.sort(key=lambda chunk: chunk.order)
        rejected = [[chunk.rejects_path] if chunk.rejected else [] for chunk in chunks]
        count = sum(chunk.rejected for chunk in chunks)
        database = self._shipped(prepared, sources)
        written: list[Written] = []
        blocks: dict[int, list[tuple[int, Segment]]] = {}
        entities = new = 0
        while count <= max_errors:
            keys = KeysJob(self._folder, database, tuple(identities), tuple(chunks))
            buckets = self._runner.each("keys", partial(bucket_of, keys), range(self._runner.buckets))
            numbering = Numbering.of(buckets, prepared.keys, prepared.ids.start)
            entities, new = sum(bucket.named for bucket in buckets), numbering.new_entities
            blocks = self._blocks(numbering, prepared)
            job = self._attributes(prepared, sources, identities, chunks, database, numbering, blocks)
            written = self._runner.each("attributes", partial(write_attribute, job), sorted(job.attributes))
            # Refs that mean nobody first: rows without them may leave nothing to contest.
            faults = [each.faults for each in written if each.missing]
            faults = faults or [each.faults for each in written if each.contested]
            if not faults:
                break
            [lost] = self._runner.each("rejecting", partial(_refereed, self._folder), [tuple(faults)])
            for at, path, number in lost:
                rejected[at].append(path)
                count += number
            if count <= max_errors:
                narrow = partial(_narrowed, jobs)
                fresh = self._runner.each("rejecting", narrow, [(chunks[at], path) for at, path, _ in lost])
                for (at, _, _), chunk in zip(lost, fresh, strict=True):
                    chunks[at] = chunk
        if count and quarantine is not None:
            self._quarantine(sources, chunks, rejected, quarantine, prepared.schema)
        accepted = count <= max_errors
        datoms = prepared.changes + sum(each.added + each.retracted for each in written) if accepted else 0
        t = self._database.snapshot().t
        if accepted and datoms and not self._dry:
            relations = {each.attribute: each.relation for each in written if each.logged is not None}
            logged = [each.logged for each in written if each.logged is not None]
            t = self._database.adopt(Adoption(prepared, relations, blocks, logged, new)).t
        rows = sum(chunk.rows for chunk in chunks)
        seconds = round(time.monotonic() - began, 3)
        return Outcome(t, rows, entities if accepted else 0, datoms, count, seconds, accepted)

    # What the transaction finds

    def _prepared(self, found: Sequence[Mapping[str, pa.DataType]]) -> Prepared:
        forms = _schema_forms(self._plan.schema)
        prepared = self._database.prepare(forms)
        more = _declarations(self._plan, found, prepared.schema)
        if not more:
            return prepared
        if self._database.schema == "strict":
            names = ", ".join(str(form[_ID]) for form in more)
            raise AdalogError(
                Code.UNKNOWN_ATTRIBUTE, f"the schema does not declare {names}; declare it in the mapping's `schema`"
            )
        return self._database.prepare([*forms, *more])

    def _shipped(self, prepared: Prepared, sources: Sequence[_Resolved]) -> Shipped:
        """What tasks read of the database: the attributes that the import touches."""
        wanted = {column.attribute for each in sources for column in each.columns}
        wanted |= set(_identities(self._plan, prepared.schema))
        manifest = prepared.manifest
        manifest = replace(
            manifest,
            relations={id_: own for id_, own in manifest.relations.items() if id_ in wanted},
            events={id_: own for id_, own in manifest.events.items() if id_ in wanted},
        )
        path = Path(self._folder) / "database"
        path.write_bytes(pickle.dumps(manifest, protocol=5))
        return Shipped(uuid4().hex, None, str(path))

    # Steps

    def _blocks(self, numbering: Numbering, prepared: Prepared) -> dict[int, list[tuple[int, Segment]]]:
        jobs = block_jobs(self._folder, numbering, prepared.secrets)
        blocks: dict[int, list[tuple[int, Segment]]] = {}
        for job, segment in zip(jobs, self._runner.each("values", write_block, jobs), strict=True):
            blocks.setdefault(job.domain, []).append((job.start, segment))
        return blocks

    def _attributes(
        self,
        prepared: Prepared,
        sources: Sequence[_Resolved],
        identities: Sequence[int],
        chunks: Sequence[Chunk],
        database: Shipped,
        numbering: Numbering,
        blocks: Mapping[int, Sequence[tuple[int, Segment]]],
    ) -> AttributesJob:
        wanted = {column.attribute for each in sources for column in each.columns}
        wanted |= {
            identities[column.identity]
            for each in sources
            for column in each.columns
            if column.create and column.identity is not None
        }
        names = {key: name for each in sources for key, name in self._runner.files(each.source).items()}
        ranks = {name: rank for rank, name in enumerate(sorted(set(names.values())))}
        return AttributesJob(
            self._folder,
            database,
            prepared.t,
            {id_: _known(prepared.schema, id_) for id_ in wanted},
            tuple(identities),
            tuple(each.columns for each in sources),
            tuple(chunks),
            numbering,
            {domain: tuple(own) for domain, own in blocks.items()},
            {key: ranks[name] for key, name in names.items()},
            self._dry,
        )

    def _quarantine(
        self,
        sources: Sequence[_Resolved],
        chunks: Sequence[Chunk],
        rejected: Sequence[Sequence[str]],
        to: Path,
        schema: Schema,
    ) -> None:
        to.mkdir(parents=True, exist_ok=True)
        for number, each in enumerate(sources):
            starts: dict[int, int] = {}
            rows = []
            for chunk, paths in zip(chunks, rejected, strict=True):
                source, partition, _ = chunk.order
                if source != number:
                    continue
                start = starts.get(partition, 0)
                starts[partition] = start + chunk.rows
                if paths:
                    rows.append(RejectedRows(partition, start, tuple(paths)))
            if rows:
                self._runner.quarantine(each.source, rows, _reasons(each, schema), to)


def _refereed(folder: str, faults: Sequence[str]) -> list[tuple[int, str, int]]:
    return referee(faults, folder)


def _narrowed(jobs: Sequence[SourceJob], item: tuple[Chunk, str]) -> Chunk:
    chunk, path = item
    job = jobs[chunk.order[0]]
    return narrowed(chunk, job.columns, job, read_rejects([path]))


# The mapping and the schema


def _schema_forms(file: Path | None) -> list[Any]:
    if file is None:
        return []
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AdalogError(Code.ARG_INVALID, f"the mapping's schema {file} cannot be read: {error}") from None
    try:
        forms = edn.read(text)
    except AdalogError as error:
        raise AdalogError(error.code, f"in {file}: {error.message}", error.position) from None
    if type(forms) is not tuple:
        raise AdalogError(Code.ARG_INVALID, f"{file} does not hold transaction data, which is a vector of forms")
    return list(forms)


def _declarations(plan: Plan, found: Sequence[Mapping[str, pa.DataType]], schema: Schema) -> list[EdnMap]:
    """Forms that declare the attributes that the schema does not, as their first use would."""
    forms: dict[Keyword, EdnMap] = {}
    for source, columns in zip(plan.sources, found, strict=True):
        for column in source.columns:
            known = schema.get(column.attribute)
            if (known is not None and known.value_type is not None) or column.attribute in forms:
                continue
            kind, many = _implied(column, columns.get(column.column or ""))
            cardinality = Keyword("db.cardinality/many" if many else "db.cardinality/one")
            entries: list[tuple[Any, Any]] = [(_ID, column.attribute), (_TYPE, Keyword(f"db.type/{kind}"))]
            if known is None:
                entries.append((_CARDINALITY, cardinality))
            forms[column.attribute] = EdnMap(entries)
    return list(forms.values())


def _implied(column: Column, kind: pa.DataType | None) -> tuple[str, bool]:
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


def _identities(plan: Plan, schema: Schema) -> list[int]:
    """The attributes by whose values the sources name entities, or mean them."""
    idents = [source.entity.attribute for source in plan.sources]
    idents += [column.ref for source in plan.sources for column in source.columns if column.ref is not None]
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
    source: Source, columns: Mapping[str, pa.DataType], schema: Schema, identities: Sequence[int]
) -> _Resolved:
    names: dict[str, str] = {}
    wanted = []
    for number, column in enumerate((source.entity, *source.columns)):
        attribute = schema.get(column.attribute)
        assert attribute is not None, "declared, or refused before"
        _check(source, column, attribute, schema, entity=number == 0)
        meant = attribute if column.ref is None else schema.get(column.ref)
        assert meant is not None
        value_type = str(meant.value_type)
        name, domain, key = None, 0, 0
        if column.column is not None:
            name = f"c{number}"
            names[name] = _found(source, column.column, columns)
        read_as = column.type or value_type
        made = Wanted(name, attribute.id, read_as, value_type, column.split)
        if number == 0:
            made = replace(made, identity=identities.index(attribute.id))
        elif column.ref is not None:
            made = replace(made, identity=identities.index(meant.id), create=column.create)
        if name is None:
            spelt = constant(column.value, read_as, value_type)
            if spelt is None:
                raise _wrong(source, column, f"{column.value!r} cannot be read as {_a(read_as)}")
            domain, given = spelt
            made = replace(made, domain=domain, key=given)
        wanted.append(made)
        del domain, key
    return _Resolved(source, tuple(wanted), names)


def _found(source: Source, name: str, columns: Mapping[str, pa.DataType]) -> str:
    if name not in columns:
        known = ", ".join(columns)
        raise AdalogError(Code.ARG_INVALID, f"source {source.name} has no column {name}; its columns are {known}")
    kind = columns[name]
    inner = kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else kind
    if pa.types.is_nested(inner):
        raise AdalogError(Code.ARG_INVALID, f"column {name} of source {source.name} holds maps or lists of lists")
    return name


def _check(source: Source, column: Column, attribute: Attribute, schema: Schema, *, entity: bool) -> None:
    """Raises ARG_INVALID where an import cannot keep what the schema says of an attribute."""
    if entity and attribute.unique != "identity":
        raise _wrong(source, column, "names the source's entities, and has to be :db.unique/identity for that")
    if attribute.id < FIRST_OWN_IDENT:
        raise _wrong(source, column, "is adalog's own; it is given in the mapping's `schema`")
    if attribute.preds:
        raise _wrong(source, column, "has :db.attr/preds, which an import does not run; transact these values")
    if attribute.value_type == "tuple":
        raise _wrong(source, column, "has tuples as values, which an import does not read")
    for composite in schema.composites:
        if attribute.ident in (composite.tuple_attrs or ()):
            raise _wrong(source, column, f"is part of {composite.ident}, which an import does not keep")
    if column.ref is not None:
        if not attribute.is_ref:
            raise _wrong(source, column, f"has `ref`, but its values are {attribute.value_type}s")
        meant = schema.get(column.ref)
        if meant is None or meant.unique is None:
            raise _wrong(source, column, f"means entities by {column.ref}, which is not unique")
        if column.create and (meant.id < FIRST_OWN_IDENT or meant.preds):
            raise _wrong(source, column, f"cannot create entities by their {column.ref}; transact them first")
        if meant.value_type in ("ref", "tuple", None):
            raise _wrong(source, column, f"means entities by {column.ref}, whose values are no plain ones")
    elif attribute.is_ref:
        raise _wrong(source, column, "refers to entities: say by which attribute's value, with `ref`")


def check_alone(plan: Plan) -> None:
    """Raises ARG_INVALID where one source gives what another names its entities by: who is who would be open."""
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


def _wrong(source: Source, column: Column, why: str) -> AdalogError:
    return AdalogError(Code.ARG_INVALID, f"source {source.name}: {column.attribute} {why}")


def _a(value_type: str) -> str:
    return f"an {value_type}" if value_type[0] in "aeiou" else f"a {value_type}"


def _known(schema: Schema, id_: int) -> Attribute:
    attribute = schema.get(id_)
    assert attribute is not None
    return attribute


def _reasons(resolved: _Resolved, schema: Schema) -> Reasons:
    given = (resolved.source.entity, *resolved.source.columns)
    reasons = []
    for column, wanted in zip(given, resolved.columns, strict=True):
        name, ref = column.attribute, column.ref
        reasons.append(
            [
                f"there is no value for {name}, which names the entity",
                f"{name}: a value cannot be read as {_a(wanted.read_as)}"
                + (f" and kept as {_a(wanted.value_type)}" if wanted.read_as != wanted.value_type else ""),
                f"{name}: no entity has this {ref}, in the database or in this import",
                f"{name} has cardinality one, and an earlier row gives this entity another value",
                f"{name} is unique, and another entity has this value",
            ]
        )
    return reasons
