"""What rows change in one state of the database: rounds of keys, blocks and attributes, until no row is rejected.

Usually the first round is the last. Knows counts and names of files, never rows, and nothing of transactions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from adalog.cluster.shipping import ShippedSnapshot, shipped_in
from adalog.datalog.errors import limit_exceeded
from adalog.pipeline.importing.decide.attributes import AttributeResult, referee, write_attribute
from adalog.pipeline.importing.decide.claims import AttributesJob, ids_meant
from adalog.pipeline.importing.decide.components import same_components
from adalog.pipeline.importing.decide.keys import KeyBucket, KeysJob, Numbering, block_jobs, bucket_of, write_block
from adalog.pipeline.importing.decide.narrowing import narrowed
from adalog.pipeline.importing.decide.ranges import is_large, write_in_ranges
from adalog.pipeline.importing.decide.removals import removal, torn
from adalog.pipeline.importing.read.chunks import RowChunk, SourceJob, read_rejects
from adalog.pipeline.importing.read.ids import IDS
from adalog.pipeline.importing.read.intake import ImportBasis, Intake
from adalog.pipeline.importing.read.runner import ImportRunner
from adalog.store.checkpoint.adoption import Adoption, PreparedImport
from adalog.store.files.segment import Segment
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import distinct
from adalog.store.values import bootstrap

Blocks = Mapping[int, Sequence[tuple[int, Segment]]]
"""By tag, the first number and the file of each block of new keys, in order."""


@dataclass(frozen=True, slots=True)
class ReadRows:
    """The rows as chunks, and the files of each chunk's rejects; count: of rejected rows."""

    chunks: Sequence[RowChunk]
    rejected: Sequence[Sequence[str]]
    count: int


@dataclass(frozen=True, slots=True)
class Decision:
    """The entities, new keys and attributes' changes in one state of the database. read: the accepted rows."""

    found: ImportBasis
    read: ReadRows
    buckets: Sequence[KeyBucket]
    numbering: Numbering
    blocks: Blocks
    job: AttributesJob
    written: Sequence[AttributeResult]

    @property
    def entities(self) -> int:
        """The number of entities that rows are about."""
        return sum(bucket.named for bucket in self.buckets)

    @property
    def datoms(self) -> int:
        return self.found.prepared.changes + sum(each.added + each.retracted for each in self.written)

    def adoption(self) -> Adoption:
        chosen = [each.ids for each in self.buckets] + [each.ids for each in self.written]
        return Adoption(
            self.found.prepared,
            {each.attribute: each.relation for each in self.written if each.logged},
            self.blocks,
            [file for each in self.written for file in each.logged],
            self.numbering.new_entities,
            distinct(np.sort(np.concatenate(chosen))),
            self.numbering.first_id,
        )


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides an import. folder: where tasks write. dry: attributes are not written. fold_bytes: a task's memory
    for an attribute. leeway: the number of ids left for entities that others make before the import is adopted."""

    runner: ImportRunner
    intake: Intake[Any]
    folder: str
    dry: bool
    fold_bytes: int
    leeway: int = 0

    def decided(
        self, found: ImportBasis, read: ReadRows, jobs: Sequence[SourceJob], max_errors: int
    ) -> Decision | ReadRows:
        """The decision; or the rows, if more than `max_errors` are rejected, all of them with their reasons. jobs:
        of the reading."""
        prepared = found.prepared
        chunks, rejected, count = list(read.chunks), [list(each) for each in read.rejected], read.count
        database = self.shipped(found)
        while True:
            keys = KeysJob(
                self.folder, database, tuple(found.identities), tuple(chunks), found.ids, removes=found.removes
            )
            buckets, numbering = self._numbered(keys, prepared)
            if found.upserts or found.unnamed:
                # Existing entities are known once the values have codes.
                job = self.job(found, chunks, database, numbering, {})
                meant = self.runner.each("entities", partial(ids_meant, job), found.upserts)
                meant += self.runner.each("components", partial(same_components, job), found.unnamed)
                if any(meant):
                    keys = replace(keys, meant=tuple(filter(None, meant)))
                    buckets, numbering = self._numbered(keys, prepared)
            blocks = self._blocks(numbering, prepared)
            job = self.job(found, chunks, database, numbering, blocks)
            job = replace(job, dry=job.dry or count > max_errors)
            written: list[AttributeResult] = []
            faults: list[str] = []
            if any(bucket.torn for bucket in buckets):
                faults = self.runner.each("rejecting", partial(torn, job), range(len(found.identities)))
            else:
                job = self.with_removal(job, found)
                written = self.written(job, job.attributes, prepared.snapshot)
            # Refs without a target first: without their rows there may be nothing to contest.
            faults = faults or [path for each in written if each.missing for path in each.faults]
            faults = faults or [path for each in written if each.contested for path in each.faults]
            if not faults and count > max_errors:
                return ReadRows(chunks, rejected, count)
            if not faults:
                self.intake.check(found, changed(written), count)
                return Decision(found, ReadRows(chunks, rejected, count), buckets, numbering, blocks, job, written)
            given = [tuple(filter(None, faults))]
            [lost] = self.runner.each("rejecting", partial(referee, folder=self.folder), given)
            for at, path, number in lost:
                rejected[at].append(path)
                count += number
            narrow = partial(_narrowed, jobs)
            fresh = self.runner.each("rejecting", narrow, [(chunks[at], path) for at, path, _ in lost])
            for (at, _, _), chunk in zip(lost, fresh, strict=True):
                chunks[at] = chunk

    def shipped(self, found: ImportBasis) -> ShippedSnapshot:
        """The part of the database for tasks: the attributes that the import touches, and idents; all of it where
        entities may go."""
        if found.removes:
            return shipped_in(Path(self.folder) / f"database-{uuid4().hex}", found.prepared.manifest)
        wanted = {column.attribute for columns in found.columns for column in columns}
        wanted |= {*found.identities, bootstrap.IDENT}
        manifest = found.prepared.manifest.only(wanted)
        return shipped_in(Path(self.folder) / f"database-{uuid4().hex}", manifest)

    def job(
        self,
        found: ImportBasis,
        chunks: Sequence[RowChunk],
        database: ShippedSnapshot,
        numbering: Numbering,
        blocks: Blocks,
    ) -> AttributesJob:
        prepared = found.prepared
        every = [column for columns in found.columns for column in columns]
        wanted = {column.attribute for column in every}
        wanted |= {found.identities[each.identity] for each in every if each.create and each.identity is not None}
        names = self.intake.files()
        ranks = {name: rank for rank, name in enumerate(sorted(set(names.values())))}
        return AttributesJob(
            self.folder,
            database,
            prepared.t,
            {each.id: each for each in map(prepared.schema.get, wanted - {IDS}) if each is not None},
            tuple(found.identities),
            tuple(found.columns),
            tuple(chunks),
            numbering,
            {domain: tuple(own) for domain, own in blocks.items()},
            {key: ranks[name] for key, name in names.items()},
            self.dry,
        )

    def with_removal(self, job: AttributesJob, found: ImportBasis) -> AttributesJob:
        """The job with the entities that go. Raises LIMIT_EXCEEDED if these are too large a share of a table."""
        if not found.removes:
            return job
        [gone] = self.runner.each("entities that go", partial(removal, job), [tuple(found.tables)])
        for table, (size, going) in zip(found.tables, gone.tables, strict=True):
            if going > table.most * size:
                raise limit_exceeded(
                    f"source {table.source} lacks {going:,} of the {size:,} entities of its table, "
                    f"{going / size:.1%}, and `sync` may retract {table.most * 100:.4g}%; nothing was "
                    "imported. If the source is whole, allow more, as `sync: {most: 50%}`"
                )
        schema = found.prepared.schema
        more = {id_: schema.get(id_) for id_ in gone.attributes}
        attributes = {**job.attributes, **{id_: each for id_, each in more.items() if each is not None}}
        return replace(job, removed=(gone.path, gone.entities), attributes=attributes)

    def written(self, job: AttributesJob, attributes: Collection[int], snapshot: Snapshot) -> list[AttributeResult]:
        """The results of attributes: a task for each; too large ones go in ranges."""
        large = {id_ for id_ in attributes if is_large(job, id_, snapshot, self.fold_bytes)}
        small = sorted(set(attributes) - large)
        written = self.runner.each("attributes", partial(write_attribute, job), small)
        return written + [
            write_in_ranges(self.runner, job, id_, snapshot, self.fold_bytes) for id_ in sorted(large)
        ]

    def _numbered(self, keys: KeysJob, prepared: PreparedImport) -> tuple[list[KeyBucket], Numbering]:
        buckets = self.runner.each("keys", partial(bucket_of, keys), range(self.runner.buckets))
        return buckets, Numbering.of(buckets, prepared.keys, prepared.ids.start + self.leeway)

    def _blocks(self, numbering: Numbering, prepared: PreparedImport) -> Blocks:
        jobs = block_jobs(self.folder, numbering, prepared.secrets)
        blocks: dict[int, list[tuple[int, Segment]]] = {}
        for job, segment in zip(jobs, self.runner.each("values", write_block, jobs), strict=True):
            blocks.setdefault(job.domain, []).append((job.start, segment))
        return blocks


def changed(written: Sequence[AttributeResult]) -> set[int]:
    """The attributes of which something changes."""
    return {each.attribute for each in written if each.added or each.retracted}


def _narrowed(jobs: Sequence[SourceJob], item: tuple[RowChunk, str]) -> RowChunk:
    chunk, path = item
    job = jobs[chunk.order[0]]
    return narrowed(chunk, job.columns, job, read_rejects([path]))
