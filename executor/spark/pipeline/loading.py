"""An import from its mapping to its transaction: what is done by whom, in which order.

The steps themselves are tasks: reading chunks, then rounds of keys, blocks and attributes, until nothing is
rejected any more; nearly always the first round is the last. What is here knows counts and names of files, never
rows.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol
from uuid import uuid4

import numpy as np

from datalog import edn
from datalog.errors import AdalogError, Code
from executor.spark.pipeline.attributes import Written, referee, write_attribute
from executor.spark.pipeline.chunks import Chunk, SourceJob, narrowed, read_rejects
from executor.spark.pipeline.claims import AttributesJob, ids_meant
from executor.spark.pipeline.datom_intake import DatomIntake
from executor.spark.pipeline.edn_values import LIMITS
from executor.spark.pipeline.found import Found
from executor.spark.pipeline.ids import IDS
from executor.spark.pipeline.keys import Bucket, KeysJob, Numbering, block_jobs, bucket_of, write_block
from executor.spark.pipeline.mapping import Plan
from executor.spark.pipeline.ranged import is_large, write_in_ranges
from executor.spark.pipeline.row_intake import RowIntake, check_alone
from executor.spark.pipeline.runner import Runner
from executor.spark.pipeline.typed import Int64s
from executor.spark.shipping import Shipped
from store import bootstrap
from store.adoption import Adoption, Prepared
from store.attribute import Attribute
from store.database import Database
from store.hold import Hold
from store.schema import Schema
from store.segment import Segment
from store.trie import distinct

HOLD_SECONDS: Final = 60.0
"""For how long an import may keep transactions waiting."""


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

    def told(self) -> dict[str, Any]:
        """What is said of it at its end."""
        return {name: getattr(self, name) for name in ("t", "rows", "entities", "datoms", "rejected", "seconds")}


def load(
    database: Database,
    runner: Runner,
    plan: Plan,
    *,
    max_errors: int = 0,
    quarantine: Path | None = None,
    dry_run: bool = False,
    hold_seconds: float = HOLD_SECONDS,
    key: str | None = None,
) -> Outcome:
    """Runs an import, while others may write: if they did, what depends on the database is done again while their
    transactions wait, for `hold_seconds` at most. `key`: of its transaction; if it was used, nothing is done.

    Raises ARG_INVALID for a mapping that does not fit the files or the schema, BASIS_CONFLICT where what the schema
    says of it was changed meanwhile, TIMEOUT where transactions would have to wait for longer. Where more rows are
    rejected than `max_errors` nothing is imported.
    """
    began = time.monotonic()
    check_alone(plan)
    done = None if key is None else database.transaction_of(key)
    if done is not None:
        return Outcome(done, 0, 0, 0, 0, round(time.monotonic() - began, 3), accepted=True)
    with database.unfinished() as folder:
        loading = _Import(database, runner, plan, folder.resolve(), dry_run, key)
        return loading.run(max_errors, quarantine, began, hold_seconds)


@dataclass(frozen=True, slots=True)
class _Read:
    """The rows as chunks, and of each chunk the files of its rejected rows; count: how many these are."""

    chunks: Sequence[Chunk]
    rejected: Sequence[Sequence[str]]
    count: int


@dataclass(frozen=True, slots=True)
class _Made:
    """What came of rows in one state of the database. adoption: None where nothing changes, or too much is
    rejected."""

    read: _Read
    adoption: Adoption | None = None
    entities: int = 0
    datoms: int = 0


class Intake(Protocol):
    """What an import begins with: which attributes its sources give, and how their rows are read."""

    def look(self) -> None:
        """Looks at the sources, once: what columns they have, what they name."""

    def found(self, forms: Sequence[Any], hold: Hold | None) -> Found:
        """What the transaction finds that begins with these forms, and declares what is used first."""

    def jobs(self, found: Found, folder: str, database: Shipped) -> list[SourceJob]:
        """What the tasks that read each source are told."""

    def chunks(self, found: Found, jobs: Sequence[SourceJob]) -> list[Chunk]:
        """Reads the sources."""

    def files(self) -> Mapping[int, str]:
        """The files by the number that rows tell them by."""

    def check(self, found: Found, changed: Set[int], rejected: int) -> None:
        """Raises ARG_INVALID where the database would not be consistent after it. changed: attributes."""

    def quarantine(
        self, found: Found, chunks: Sequence[Chunk], rejected: Sequence[Sequence[str]], to: Path
    ) -> None:
        """Writes the rejected rows. rejected: of each chunk the files that name them."""


class _Import:
    def __init__(
        self, database: Database, runner: Runner, plan: Plan, folder: Path, dry: bool, key: str | None
    ) -> None:
        self._database = database
        self._runner = runner
        self._plan = plan
        self._folder = str(folder)
        self._dry = dry
        self._key = key
        self._jobs: list[SourceJob] = []
        self._intake: Intake = RowIntake(database, runner, plan)
        if plan.datoms:
            self._intake = DatomIntake(database, runner, plan.datoms)

    def run(self, max_errors: int, quarantine: Path | None, began: float, hold_seconds: float) -> Outcome:
        self._intake.look()
        found = self._found()
        read = self._read(found)
        made = self._made(found, read, max_errors)
        t = None
        if made.adoption is not None and not self._dry:
            try:
                t = self._database.adopt(made.adoption, idempotency_key=self._key).t
            except AdalogError as error:
                if error.code is not Code.BASIS_CONFLICT:
                    raise
                made, t = self._made_alone(found, read, max_errors, hold_seconds)
            self._database.compact()
        count = made.read.count
        if count and quarantine is not None:
            quarantine.mkdir(parents=True, exist_ok=True)
            self._intake.quarantine(found, made.read.chunks, made.read.rejected, quarantine)
        rows, seconds = sum(chunk.rows for chunk in read.chunks), round(time.monotonic() - began, 3)
        t = self._database.snapshot().t if t is None else t
        return Outcome(t, rows, made.entities, made.datoms, count, seconds, count <= max_errors)

    def _made_alone(self, before: Found, read: _Read, max_errors: int, seconds: float) -> tuple[_Made, int | None]:
        """What comes of the rows in the newest state, which nobody changes meanwhile; and the transaction.

        Rows that were rejected in the state before are looked at again: what was wrong with them may be right now.
        """
        with self._database.held(seconds) as hold:
            found = self._found(hold)
            if not found.is_read_like(before):
                raise AdalogError(
                    Code.BASIS_CONFLICT,
                    "attributes that the mapping names were changed while the import ran, and nothing was "
                    "imported; try again",
                )
            made = self._made(found, read, max_errors)
            t = None
            if made.adoption is not None:
                t = self._database.adopt(made.adoption, hold, idempotency_key=self._key).t
        return made, t

    # Steps

    def _found(self, hold: Hold | None = None) -> Found:
        return self._intake.found(_schema_forms(self._plan), hold)

    def _read(self, found: Found) -> _Read:
        """The rows of all sources as chunks, which are the same in any state of the database."""
        self._jobs = self._intake.jobs(found, self._folder, self._shipped(found))
        chunks = self._intake.chunks(found, self._jobs)
        chunks.sort(key=lambda chunk: chunk.order)
        rejected = [[chunk.rejects_path] if chunk.rejected else [] for chunk in chunks]
        return _Read(chunks, rejected, sum(chunk.rejected for chunk in chunks))

    def _made(self, found: Found, read: _Read, max_errors: int) -> _Made:
        """What the rows come to: rounds of keys, blocks and attributes, until no row is rejected any more."""
        prepared = found.prepared
        chunks, rejected, count = list(read.chunks), [list(each) for each in read.rejected], read.count
        database = self._shipped(found)
        while count <= max_errors:
            keys = KeysJob(self._folder, database, tuple(found.identities), tuple(chunks), found.ids)
            buckets, numbering = self._numbered(keys, prepared)
            if found.upserts:
                # Which entities are there already can be told once the values have codes.
                job = self._attributes(found, chunks, database, numbering, {})
                meant = self._runner.each("entities", partial(ids_meant, job), found.upserts)
                if any(meant):
                    keys = replace(keys, meant=tuple(filter(None, meant)))
                    buckets, numbering = self._numbered(keys, prepared)
            blocks = self._blocks(numbering, prepared)
            job = self._attributes(found, chunks, database, numbering, blocks)
            written = self._written(job, prepared)
            # Refs that mean nobody first: rows without them may leave nothing to contest.
            faults = [path for each in written if each.missing for path in each.faults]
            faults = faults or [path for each in written if each.contested for path in each.faults]
            if not faults:
                changed = {each.attribute for each in written if each.added or each.retracted}
                self._intake.check(found, changed, count)
                entities = sum(bucket.named for bucket in buckets)
                datoms = prepared.changes + sum(each.added + each.retracted for each in written)
                relations = {each.attribute: each.relation for each in written if each.logged}
                logged = [file for each in written for file in each.logged]
                chosen = _chosen(buckets, written)
                adoption = Adoption(prepared, relations, blocks, logged, numbering.new_entities, chosen)
                return _Made(_Read(chunks, rejected, count), adoption if datoms else None, entities, datoms)
            [lost] = self._runner.each("rejecting", partial(_refereed, self._folder), [tuple(faults)])
            for at, path, number in lost:
                rejected[at].append(path)
                count += number
            if count <= max_errors:
                narrow = partial(_narrowed, self._jobs)
                fresh = self._runner.each("rejecting", narrow, [(chunks[at], path) for at, path, _ in lost])
                for (at, _, _), chunk in zip(lost, fresh, strict=True):
                    chunks[at] = chunk
        return _Made(_Read(chunks, rejected, count))

    def _written(self, job: AttributesJob, prepared: Prepared) -> list[Written]:
        """What comes of the attributes: a task for each, those that are too large for one in ranges."""
        most = self._database.fold_bytes
        large = {id_ for id_ in job.attributes if is_large(job, id_, prepared.snapshot, most)}
        small = sorted(job.attributes.keys() - large)
        written = self._runner.each("attributes", partial(write_attribute, job), small)
        return written + [write_in_ranges(self._runner, job, id_, prepared.snapshot, most) for id_ in sorted(large)]

    def _shipped(self, found: Found) -> Shipped:
        """What tasks read of the database: the attributes that the import touches, and idents."""
        wanted = {column.attribute for columns in found.columns for column in columns}
        wanted |= {*found.identities, bootstrap.IDENT}
        manifest = found.prepared.manifest.only(wanted)
        key = uuid4().hex
        path = Path(self._folder) / f"database-{key}"
        path.write_bytes(pickle.dumps(manifest, protocol=5))
        return Shipped(key, None, str(path))

    def _numbered(self, keys: KeysJob, prepared: Prepared) -> tuple[list[Bucket], Numbering]:
        buckets = self._runner.each("keys", partial(bucket_of, keys), range(self._runner.buckets))
        return buckets, Numbering.of(buckets, prepared.keys, prepared.ids.start)

    def _blocks(self, numbering: Numbering, prepared: Prepared) -> dict[int, list[tuple[int, Segment]]]:
        jobs = block_jobs(self._folder, numbering, prepared.secrets)
        blocks: dict[int, list[tuple[int, Segment]]] = {}
        for job, segment in zip(jobs, self._runner.each("values", write_block, jobs), strict=True):
            blocks.setdefault(job.domain, []).append((job.start, segment))
        return blocks

    def _attributes(
        self,
        found: Found,
        chunks: Sequence[Chunk],
        database: Shipped,
        numbering: Numbering,
        blocks: Mapping[int, Sequence[tuple[int, Segment]]],
    ) -> AttributesJob:
        prepared = found.prepared
        every = [column for columns in found.columns for column in columns]
        wanted = {column.attribute for column in every}
        wanted |= {found.identities[each.identity] for each in every if each.create and each.identity is not None}
        names = self._intake.files()
        ranks = {name: rank for rank, name in enumerate(sorted(set(names.values())))}
        return AttributesJob(
            self._folder,
            database,
            prepared.t,
            {id_: _known(prepared.schema, id_) for id_ in wanted - {IDS}},
            tuple(found.identities),
            tuple(found.columns),
            tuple(chunks),
            numbering,
            {domain: tuple(own) for domain, own in blocks.items()},
            {key: ranks[name] for key, name in names.items()},
            self._dry,
        )


def _chosen(buckets: Sequence[Bucket], written: Sequence[Written]) -> Int64s:
    return distinct(np.sort(np.concatenate([*(each.ids for each in buckets), *(each.ids for each in written)])))


def _refereed(folder: str, faults: Sequence[str]) -> list[tuple[int, str, int]]:
    return referee(faults, folder)


def _narrowed(jobs: Sequence[SourceJob], item: tuple[Chunk, str]) -> Chunk:
    chunk, path = item
    job = jobs[chunk.order[0]]
    return narrowed(chunk, job.columns, job, read_rejects([path]))


def _schema_forms(plan: Plan) -> list[Any]:
    text = plan.schema_text()
    if text is None:
        return []
    try:
        forms = edn.read(text, LIMITS if plan.sent is None else edn.DEFAULT)
    except AdalogError as error:
        raise AdalogError(error.code, f"in {plan.schema}: {error.message}", error.position) from None
    if type(forms) is not tuple:
        raise AdalogError(
            Code.ARG_INVALID, f"{plan.schema} does not hold transaction data, which is a vector of forms"
        )
    return list(forms)


def _known(schema: Schema, id_: int) -> Attribute:
    attribute = schema.get(id_)
    assert attribute is not None
    return attribute
