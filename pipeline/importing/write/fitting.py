"""Fits an import's decision to a later state of the database, while transactions wait.

Usually what was written in between does not concern the import. Then entities and new keys stay as decided:
attributes that others wrote to are made again, and the files of all others only get the transaction's number and
the numbers of its new values. If anything else might be decided otherwise, all is decided again.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from adalog.cluster.array_files import read_arrays
from adalog.pipeline.importing.decide.attributes import AttributeResult
from adalog.pipeline.importing.decide.decision import Blocks, Decider, Decision, changed
from adalog.pipeline.importing.decide.keys import KeyBucket, Numbering
from adalog.pipeline.importing.read.chunks import RowChunk
from adalog.pipeline.importing.read.ids import IDS
from adalog.pipeline.importing.read.intake import ImportBasis
from adalog.pipeline.importing.read.typed_columns import INLINE, Int64s
from adalog.store.files.segment import open_segment
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.relation_files import block_of
from adalog.store.tries.renumbering import MovedKeys, Renumbering, shifted
from adalog.store.tries.trie import distinct
from adalog.store.values import bootstrap, layout
from adalog.store.values.attribute import FIRST_OWN_IDENT
from adalog.store.values.blocks.block import hash_of

# More new values of others are not compared with those of the import.
_MOST_KEYS: Final = 1 << 14
# Attributes whose files are changed at once.
_AT_ONCE: Final = 8


def fitted(decision: Decision, found: ImportBasis, deciding: Decider, *, anew: bool) -> Decision | None:
    """The decision in the current state, which does not change meanwhile; None if it may be another one. anew: rows
    were rejected, which another state may accept."""
    before = decision.found
    since, now = before.prepared.snapshot.t, found.prepared.snapshot
    if before.prepared.snapshot.origin.excised != now.origin.excised:
        # What it found then may be gone, and its values have other codes.
        return None
    if not _means_the_same(before, found) or found.prepared.ids.start > decision.numbering.first_id:
        return None
    new = _new_keys(before, found)
    if new is None or _has_any(decision.blocks, new, found.prepared.secrets):
        return None
    touched = {id_ for id_, data in now.data().items() if data.last_touched(now.t) > since}
    if any(id_ < FIRST_OWN_IDENT for id_ in touched - {bootstrap.TX_INSTANT, bootstrap.PRINCIPAL}):
        return None
    read = {*decision.job.attributes, *found.identities, *found.upserts}
    if touched & found.decisive:
        return None
    if touched & {*found.upserts} or (touched & read and (anew or found.prepared.changes)):
        return None
    if _entities_differ(decision, touched, since, now, before.prepared.before, deciding):
        return None
    by = {tag: len(keys) for tag, keys in new.items() if keys}
    moved = tuple(MovedKeys(tag, before.prepared.before[tag], count) for tag, count in sorted(by.items()))
    return _moved(decision, found, deciding, touched, moved)


def _means_the_same(before: ImportBasis, found: ImportBasis) -> bool:
    """Whether the schema says the same of what the import reads and writes."""
    attributes = {column.attribute for columns in found.columns for column in columns} | {*found.identities}
    schemas = before.prepared.schema, found.prepared.schema
    return (
        (before.identities, before.columns, before.upserts, before.ids.table())
        == (found.identities, found.columns, found.upserts, found.ids.table())
        and all(schemas[0].get(id_) == schemas[1].get(id_) for id_ in attributes - {IDS})
        and before.prepared.changes == found.prepared.changes
        # The import's own forms make no entities without an ident, which would have another id each time.
        and all(each.ids == each.snapshot.origin.free.next(0) for each in (before.prepared, found.prepared))
    )


def _new_keys(before: ImportBasis, found: ImportBasis) -> dict[int, list[bytes]] | None:
    """By tag, the keys that others added; None if they are too many, or mixed with those of the import's forms."""
    first, then = before.prepared, found.prepared
    if any(first.keys[tag] - first.before[tag] != then.keys[tag] - then.before[tag] for tag in then.keys):
        return None
    if sum(then.before[tag] - first.before[tag] for tag in then.keys) > _MOST_KEYS:
        return None
    dictionaries = then.snapshot.codes.dictionaries()
    return {tag: dictionaries[tag].some(np.arange(first.before[tag], then.before[tag])) for tag in then.keys}


def _has_any(blocks: Blocks, new: Mapping[int, list[bytes]], secrets: Mapping[int, bytes]) -> bool:
    """Whether the import has one of the keys, too: a value has one number."""
    for tag, own in blocks.items():
        for start, segment in own if new.get(tag) else ():
            block = block_of(open_segment(segment, trusted=True), tag, start, segment)
            if any(block.find(key, hash_of(key, secrets[tag])) is not None for key in new[tag]):
                return True
    return False


class _Lookup(NamedTuple):
    """A bucket, and by attribute and domain the codes to look for among its keys."""

    number: int
    bucket: KeyBucket
    codes: Mapping[tuple[int, int], Int64s]


def _entities_differ(
    decision: Decision, touched: set[int], since: int, now: Snapshot, known: Mapping[int, int], deciding: Decider
) -> bool:
    """Whether others asserted or retracted a value that names one of the import's entities."""
    codes: dict[tuple[int, int], Int64s] = {}
    for place, id_ in enumerate(decision.found.identities):
        if id_ not in touched:
            continue
        values = distinct(np.sort(now.data_of(id_).changes(since, now.t).v))
        tags = layout.tags_of(values)
        for tag in np.unique(tags).tolist():
            own = values[tags == tag]
            # Keys that are new since are not among those of the import.
            old = own if tag not in known else own[(own & layout.PAYLOAD_MASK) < known[tag]]
            domain = tag if tag in known else INLINE
            if len(old):
                codes[place, domain] = distinct(np.sort(np.concatenate((codes.get((place, domain), old[:0]), old))))
    if not codes:
        return False
    lookups = [_Lookup(number, bucket, codes) for number, bucket in enumerate(decision.buckets)]
    return any(deciding.runner.each("comparing", partial(_names_any, decision.job.chunks), lookups))


def _names_any(chunks: tuple[RowChunk, ...], lookup: _Lookup) -> bool:
    """Whether a bucket's keys, where they may name entities, have one of the codes."""
    file = read_arrays(lookup.bucket.path)
    for at, chunk in enumerate(chunks):
        keys = read_arrays(chunk.keys_path)
        for (identity, domain), codes in lookup.codes.items():
            name = f"{lookup.number}.{domain}"
            if f"{name}.usage.{identity}" not in keys:
                continue
            if domain == INLINE:
                own = keys[f"{name}.keys"]
            else:
                own = file[f"{at}.{domain}.numbers"]
                own = own[own >= 0] + layout.code_of(domain, 0)
            if np.isin(own, codes).any():
                return True
    return False


def _moved(
    decision: Decision, found: ImportBasis, deciding: Decider, touched: set[int], moved: tuple[MovedKeys, ...]
) -> Decision | None:
    by = {each.tag: each.by for each in moved}
    numbering = Numbering.of(decision.buckets, found.prepared.keys, decision.numbering.first_id)
    blocks = {
        tag: [(start + by.get(tag, 0), segment) for start, segment in own] for tag, own in decision.blocks.items()
    }
    snapshot = found.prepared.snapshot
    job = deciding.job(found, decision.job.chunks, deciding.shipped(found), numbering, blocks)
    job = deciding.with_removal(job, found)
    if not (np.array_equal(job.gone(), decision.job.gone()) and np.array_equal(job.dead(), decision.job.dead())):
        return None
    again = {id_ for id_ in job.attributes if id_ in touched or id_ not in decision.job.attributes}
    written = deciding.written(job, again, snapshot)
    if any(each.faults for each in written):
        return None
    shift = Renumbering(decision.found.prepared.t, found.prepared.t, moved)
    kept = [each for each in decision.written if each.attribute in job.attributes.keys() - again]
    # In this process, at once: a job, or waiting for the disk each time, takes longer.
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        written += threads.map(partial(_shifted, deciding.folder, shift), kept)
    deciding.intake.check(found, changed(written), decision.read.count)
    return replace(decision, found=found, numbering=numbering, blocks=blocks, job=job, written=written)


def _shifted(folder: str, shift: Renumbering, written: AttributeResult) -> AttributeResult:
    relation = tuple(
        shifted(each, shift) if Path(each.path).parent == Path(folder) else each for each in written.relation
    )
    logged = tuple(replace(each, segment=shifted(each.segment, shift)) for each in written.logged)
    return written._replace(relation=relation, logged=logged)
