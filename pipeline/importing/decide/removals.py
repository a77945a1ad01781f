"""The entities that an import retracts: those of rows that say so, those that a table lacks, their components.

They go as by `:db/retractEntity` in the import's transaction: with all they have and all refs to them, apart from
what rows assert. Tasks read the entities of keys from the buckets' files (`keys`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adalog.cluster.array_files import Arrays, read_arrays, write_arrays
from adalog.datalog.errors import invalid_argument
from adalog.pipeline.importing.decide.attributes import write_faults
from adalog.pipeline.importing.decide.claims import (
    NOTHING,
    AttributesJob,
    Claims,
    claims_of,
    entities_of,
    within,
)
from adalog.pipeline.importing.decide.endings import ending_entities
from adalog.pipeline.importing.decide.keys import MISSING, ChunkKeys
from adalog.pipeline.importing.read.chunks import DELETED
from adalog.pipeline.importing.read.intake import SyncedTable
from adalog.pipeline.importing.read.typed_columns import INLINE, Int64s
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.signed import among, order_of, run_starts
from adalog.store.tries.trie import distinct
from adalog.store.values import layout
from adalog.store.values.attribute import FIRST_OWN_IDENT


class Removal(NamedTuple):
    """A file of the entities that go, how many these are, and the attributes of what they have and of refs to them.
    tables: of each synchronized table how many entities it had, and how many of them go."""

    path: str
    entities: int
    attributes: tuple[int, ...]
    tables: tuple[tuple[int, int], ...]


def removal(job: AttributesJob, tables: Sequence[SyncedTable]) -> Removal:
    snapshot = job.database.open()
    files = [read_arrays(bucket.path) for bucket in job.numbering.buckets]
    alive, missing, sizes = _together(files, "alive"), [_together(files, "deleted")], []
    replaced = distinct(np.concatenate([NOTHING, *(_replaced(job, id_, snapshot) for id_ in _owning(job))]))
    missing.append(replaced[~within(replaced, alive)])
    for table in tables:
        members = _members(snapshot, job.identities[table.identity], table)
        gone = members[~within(members, _together(files, f"present.{table.identity}"))]
        missing.append(gone)
        sizes.append((len(members), int(np.count_nonzero(~within(gone, alive)))))
    gone = _with_components(snapshot, distinct(np.concatenate(missing)))
    path = write_arrays(job.folder, "removal", {"gone": gone, "dead": gone[~within(gone, alive)]})
    return Removal(path, len(gone), _touched(snapshot, gone) if len(gone) else (), tuple(sizes))


def _owning(job: AttributesJob) -> set[int]:
    """The attributes whose replaced values go as entities."""
    return {column.attribute for columns in job.sources for column in columns if column.owns}


def _replaced(job: AttributesJob, attribute: int, snapshot: Snapshot) -> Int64s:
    """The components that an attribute loses."""
    if not snapshot.has_data(attribute):
        return NOTHING
    claims = [claims_of(job, attribute, chunks=(at,)).claims for at in range(len(job.chunks))]
    e, v = (np.concatenate([NOTHING, *(part[which] for part in claims)]) for which in (0, 1))
    ending = ending_entities(job, attribute)
    whose = ending if job.attributes[attribute].is_many else distinct(np.sort(np.concatenate((ending, e))))
    order = order_of(e, v)
    e, v = e[order], v[order]
    once = run_starts(e, v)
    had_e, had_v = snapshot.trie(attribute, inverse=False).pairs_of(whose)
    return distinct(np.sort(had_v[~among(had_e, had_v, e[once], v[once])]))


def _together(files: Sequence[Arrays], name: str) -> Int64s:
    """The entities of all buckets, in order."""
    return distinct(np.concatenate([NOTHING, *(file[name] for file in files if name in file)]))


def _members(snapshot: Snapshot, identity: int, table: SyncedTable) -> Int64s:
    """The entities of a table, in order."""
    if not snapshot.has_data(identity):
        return NOTHING
    members = distinct(snapshot.trie(identity, inverse=False).keys)
    for attribute, domain, key, meant in table.constants:
        code = _code(snapshot, domain, key)
        codes = NOTHING if code is None else np.array([code], np.int64)
        codes = codes if meant is None else _holders(snapshot, meant, codes)
        members = members[within(members, _holders(snapshot, attribute, codes))]
    return members


def _holders(snapshot: Snapshot, attribute: int, codes: Int64s) -> Int64s:
    """The entities with a value, in order."""
    if not snapshot.has_data(attribute):
        return NOTHING
    return snapshot.trie(attribute, inverse=True).pairs_of(codes)[1]


def _code(snapshot: Snapshot, domain: int, key: int | bytes) -> int | None:
    if domain == INLINE:
        assert isinstance(key, int)
        return key
    assert isinstance(key, bytes)
    number = snapshot.codes.dictionaries()[domain].find(key)
    return None if number is None else layout.code_of(domain, number)


def _with_components(snapshot: Snapshot, entities: Int64s) -> Int64s:
    components = [each.id for each in snapshot.attributes() if each.kind.component and snapshot.has_data(each.id)]
    found = fresh = entities
    while len(fresh):
        parts = [snapshot.trie(id_, inverse=False).pairs_of(fresh)[1] for id_ in components]
        fresh = distinct(np.concatenate([NOTHING, *parts]))
        fresh = fresh[~within(fresh, found)]
        found = distinct(np.concatenate((found, fresh)))
    return found


def _touched(snapshot: Snapshot, gone: Int64s) -> tuple[int, ...]:
    """The attributes that lose something. Raises ARG_INVALID for what only a transaction may retract."""
    parts = {ident for composite in snapshot.schema.composites for ident in composite.kind.tuple_attrs or ()}
    found = []
    for attribute in snapshot.attributes():
        if not snapshot.has_data(attribute.id):
            continue
        has = snapshot.trie(attribute.id, inverse=False).has(gone)
        touched = bool(has.any())
        if touched and attribute.id < FIRST_OWN_IDENT:
            raise invalid_argument(
                f"entity {gone[has][0]}, which the import would retract, has {attribute.ident}, and only "
                "transactions change that: retract it with :db/retractEntity first"
            )
        if attribute.is_ref:
            named, holders = snapshot.trie(attribute.id, inverse=True).pairs_of(gone)
            touched |= len(named) > 0
            others = holders[~within(holders, gone)] if attribute.ident in parts else NOTHING
            if len(others):
                raise invalid_argument(
                    f"entity {others[0]} refers by {attribute.ident}, a part of a composite tuple, to an entity "
                    "that the import would retract: retract that ref in a transaction first"
                )
        if touched:
            found.append(attribute.id)
    return tuple(found)


def torn(job: AttributesJob, identity: int) -> str:
    """A file of faults: the rows about the entities, by one identity attribute, that some rows describe and others
    retract; "" where there are none."""
    buckets = [read_arrays(bucket.path) for bucket in job.numbering.buckets]
    parts = []
    for at, chunk in enumerate(job.chunks):
        columns = job.sources[chunk.order[0]]
        if columns[0].identity != identity:
            continue
        values, keys = read_arrays(chunk.values_path), read_arrays(chunk.keys_path)
        names = ChunkKeys(at, values, keys, job.numbering, buckets)
        for number, column in enumerate(columns):
            if number == 0 or column.removal == DELETED:
                whose = entities_of(chunk, columns[0], values, names, number=number)
                rows = np.flatnonzero(whose != MISSING).astype(np.int32)
                role = np.full(len(rows), column.removal, np.int64)
                at_column = np.zeros(len(rows), np.int16)
                parts.append(Claims(whose[rows], role, np.full(len(rows), at, np.int32), rows, at_column))
    if not parts:
        return ""
    claims = Claims(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    deleted = claims.v == DELETED
    both = np.intersect1d(claims.e[deleted], claims.e[~deleted])
    claims = claims.take(within(claims.e, both))
    if not len(claims.e):
        return ""
    every = np.ones(len(claims.e), np.bool_)
    why = {"second": every, "holder": np.full(len(claims.e), MISSING, np.int64), "unique": np.zeros(1, np.bool_)}
    return write_faults(job, identity, claims, why)
