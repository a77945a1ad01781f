"""The second step: the distinct keys of one bucket from all chunks, with their numbers and entities.

New ones are numbered within the bucket; the driver, which knows the buckets' sizes, gives buckets their first
numbers (`Numbering`). Ends with the new keys as blocks for the dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.cluster.array_files import Arrays, read_arrays, write_arrays
from adalog.cluster.shipping import ShippedSnapshot
from adalog.pipeline.importing.read.chunks import (
    CREATED,
    DELETED,
    NAMED,
    PRESENT,
    RowChunk,
    binary_arrays,
    binary_of,
)
from adalog.pipeline.importing.read.ids import IDS, NO_ENTITY, Ids, marks
from adalog.pipeline.importing.read.typed_columns import INLINE, Int64s
from adalog.store.files.segment import Segment
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.relation_files import save_block
from adalog.store.tries.trie import distinct
from adalog.store.values import layout
from adalog.store.values.blocks.block import Block

MISSING: Final = NO_ENTITY
"""The entity of a key that no entity has."""
_BLOCK_KEYS: Final = 1 << 23


@dataclass(frozen=True, slots=True)
class KeysJob:
    """What the tasks of the buckets share. identities: the attributes whose values name entities, or IDS. ids: the
    meaning of ids; meant: files with more of it. removes: rows may retract entities."""

    folder: str
    database: ShippedSnapshot
    identities: tuple[int, ...]
    chunks: tuple[RowChunk, ...]
    ids: Ids
    meant: tuple[str, ...] = ()
    removes: bool = False


class KeyBucket(NamedTuple):
    """A bucket's file, its new keys by domain, new entities by identity, and the entities that rows are about. ids:
    marks of the ids that are kept. torn: keys of entities that some rows describe and others retract."""

    path: str
    keys: Mapping[int, int]
    entities: Mapping[int, int]
    named: int
    ids: Int64s
    torn: int


def bucket_of(job: KeysJob, number: int) -> KeyBucket:
    """Unites a bucket's keys, and writes per chunk the number and the entities of each key."""
    snapshot = job.database.open()
    parts: dict[int, list[tuple[int, Arrays]]] = {}
    for at, chunk in enumerate(job.chunks):
        arrays = read_arrays(chunk.keys_path)
        start = f"{number}."
        for domain in {int(name.split(".")[1]) for name in arrays if name.startswith(start)}:
            parts.setdefault(domain, []).append((at, arrays))
    result: Arrays = {}
    keys, entities, named, torn = {}, dict.fromkeys(range(len(job.identities)), 0), 0, 0
    removals: dict[str, list[Int64s]] = {}
    kept = np.empty(0, np.int64)
    for domain, own in sorted(parts.items()):
        name = f"{number}.{domain}"
        new, usage = _domain(snapshot, job, name, domain, own, entities, result, removals)
        named += sum(int(np.count_nonzero(flags & NAMED)) for flags in usage)
        torn += sum(int(np.count_nonzero((flags & DELETED != 0) & (flags & NAMED != 0))) for flags in usage)
        if new:
            keys[domain] = new
        if domain == INLINE and job.ids.keep:
            kept = marks(np.concatenate([arrays[f"{number}.{domain}.keys"] for _, arrays in own]))
    result |= {name: distinct(np.concatenate(found)) for name, found in removals.items()}
    return KeyBucket(write_arrays(job.folder, f"bucket-{number}", result), keys, entities, named, kept, torn)


def _domain(
    snapshot: Snapshot,
    job: KeysJob,
    name: str,
    domain: int,
    parts: Sequence[tuple[int, Arrays]],
    entities: dict[int, int],
    result: Arrays,
    removals: dict[str, list[Int64s]],
) -> tuple[int, list[NDArray[np.uint8]]]:
    """Unites one domain's keys; the number of new ones, and the usage of all by identity. entities: new ones by
    identity, raised here. removals: known entities by their part in what goes, extended here."""
    inline = domain == INLINE
    every = pa.concat_arrays(
        [pa.array(arrays[f"{name}.keys"]) if inline else binary_of(name, arrays) for _, arrays in parts]
    )
    encoded = every.dictionary_encode()
    where, count = encoded.indices.to_numpy(), len(encoded.dictionary)
    ends = np.cumsum([0, *(len(arrays[f"{name}.index"]) for _, arrays in parts)])
    new, used = 0, []
    if inline:
        codes = encoded.dictionary.to_numpy()
        known = np.ones(count, np.bool_)
    else:
        hashes = np.empty(count, np.uint32)
        hashes[where] = np.concatenate([arrays[f"{name}.hashes"] for _, arrays in parts])
        numbers = snapshot.codes.dictionaries()[domain].find_column(encoded.dictionary, hashes)
        known = numbers >= 0
        fresh = np.flatnonzero(~known & _asserted(name, parts, where, ends, count))
        new = len(fresh)
        codes = numbers + layout.code_of(domain, 0)
        # No value is written with a key that is only looked up.
        numbers[~known] = 0
        numbers[fresh] = -1 - np.arange(new)
        for (at, _), (start, stop) in zip(parts, pairwise(ends.tolist()), strict=True):
            result[f"{at}.{domain}.numbers"] = numbers[where[start:stop]]
        if new:
            result |= binary_arrays(f"new.{domain}", encoded.dictionary.take(pa.array(fresh)))
            result[f"new.{domain}.hashes"] = hashes[fresh]
    for identity, attribute in enumerate(job.identities):
        column = f"{name}.usage.{identity}"
        if not any(column in arrays for _, arrays in parts):
            continue
        usage = np.zeros(count, np.uint8)
        for (_, arrays), (start, stop) in zip(parts, pairwise(ends.tolist()), strict=True):
            if column in arrays:
                np.bitwise_or.at(usage, where[start:stop], arrays[column])
        holders = np.full(count, MISSING, np.int64)
        holders[known] = (
            job.ids.holders(codes[known], job.meant)
            if attribute == IDS
            else _holders(snapshot, attribute, codes[known])
        )
        if job.removes:
            for role, bits in (("alive", NAMED | CREATED), ("deleted", DELETED), (f"present.{identity}", PRESENT)):
                removals.setdefault(role, []).append(holders[(usage & bits != 0) & (holders >= 0)])
        made = np.flatnonzero((holders == MISSING) & (usage & (NAMED | CREATED) != 0))
        holders[made] = -2 - entities[identity] - np.arange(len(made))
        entities[identity] += len(made)
        used.append(usage)
        for (at, arrays), (start, stop) in zip(parts, pairwise(ends.tolist()), strict=True):
            if column in arrays:
                result[f"{at}.{domain}.entities.{identity}"] = holders[where[start:stop]]
    return new, used


def _asserted(
    name: str, parts: Sequence[tuple[int, Arrays]], where: NDArray[np.int32], ends: Int64s, count: int
) -> NDArray[np.bool_]:
    """Which of a domain's keys rows may assert; others are only looked up."""
    if not any(f"{name}.sought" in arrays for _, arrays in parts):
        return np.ones(count, np.bool_)
    found = np.zeros(count, np.bool_)
    for (_, arrays), (start, stop) in zip(parts, pairwise(ends.tolist()), strict=True):
        own, sought = where[start:stop], arrays.get(f"{name}.sought")
        found[own if sought is None else own[~sought]] = True
    return found


def _holders(snapshot: Snapshot, attribute: int, codes: Int64s) -> Int64s:
    """The entity that has each of distinct codes, or MISSING."""
    if not snapshot.has_data(attribute) or not len(codes):
        return np.full(len(codes), MISSING, np.int64)
    keys, holders = snapshot.trie(attribute, inverse=True).pairs_of(distinct(codes))
    if not len(keys):
        return np.full(len(codes), MISSING, np.int64)
    at = np.minimum(keys.searchsorted(codes), len(keys) - 1)
    return np.where(keys[at] == codes, holders[at], MISSING)


@dataclass(frozen=True, slots=True)
class Numbering:
    """Per bucket the first new number of each domain, and the first new entity of each identity."""

    buckets: tuple[KeyBucket, ...]
    keys: Mapping[int, tuple[int, ...]]
    entities: Mapping[int, tuple[int, ...]]
    new_entities: int
    first_id: int

    @staticmethod
    def of(buckets: Sequence[KeyBucket], lengths: Mapping[int, int], first_id: int) -> Numbering:
        """lengths: of the dictionaries. first_id: of the new entities."""
        keys = {}
        for domain in {domain for bucket in buckets for domain in bucket.keys}:
            counts = [bucket.keys.get(domain, 0) for bucket in buckets]
            keys[domain] = tuple(_starts(lengths[domain], counts))
        entities, at = {}, first_id
        for identity in buckets[0].entities if buckets else ():
            counts = [bucket.entities[identity] for bucket in buckets]
            entities[identity] = tuple(_starts(at, counts))
            at += sum(counts)
        return Numbering(tuple(buckets), keys, entities, at - first_id, first_id)


def _starts(first: int, counts: Sequence[int]) -> list[int]:
    return (first + np.cumsum([0, *counts[:-1]])).tolist() if counts else []


@dataclass(frozen=True, slots=True)
class ChunkKeys:
    _chunk: int
    _values: Arrays
    _keys: Arrays
    _numbering: Numbering
    _files: Sequence[Arrays]

    def codes(self, domain: int) -> Int64s:
        """The code of each key of the chunk's list."""
        codes = np.zeros(self._size(domain), np.int64)
        for bucket, file in enumerate(self._files):
            name = f"{bucket}.{domain}"
            if f"{name}.index" not in self._keys:
                continue
            index = self._keys[f"{name}.index"]
            if domain == INLINE:
                codes[index] = self._keys[f"{name}.keys"]
                continue
            numbers = file[f"{self._chunk}.{domain}.numbers"]
            start = self._numbering.keys[domain][bucket] if domain in self._numbering.keys else 0
            numbers = np.where(numbers >= 0, numbers, start - 1 - numbers)
            codes[index] = numbers + layout.code_of(domain, 0)
        return codes

    def entities(self, domain: int, identity: int) -> Int64s:
        """The entity that each key of the chunk's list names, or MISSING."""
        entities = np.full(self._size(domain), MISSING, np.int64)
        for bucket, file in enumerate(self._files):
            found = file.get(f"{self._chunk}.{domain}.entities.{identity}")
            if found is not None:
                start = self._numbering.entities[identity][bucket]
                index = self._keys[f"{bucket}.{domain}.index"]
                entities[index] = np.where(found >= MISSING, found, start - 2 - found)
        return entities

    def _size(self, domain: int) -> int:
        return int(self._values[f"size.{domain}"][0])


@dataclass(frozen=True, slots=True)
class BlockJob:
    """New keys of one domain, in neighbouring buckets, that become one block of its dictionary."""

    folder: str
    domain: int
    start: int
    paths: tuple[str, ...]
    secret: bytes


def block_jobs(folder: str, numbering: Numbering, secrets: Mapping[int, bytes]) -> list[BlockJob]:
    """The blocks to write: small buckets together."""
    jobs: list[BlockJob] = []
    for domain, starts in sorted(numbering.keys.items()):
        paths: list[str] = []
        first, held = starts[0], 0
        for bucket, start in zip(numbering.buckets, starts, strict=True):
            count = bucket.keys.get(domain, 0)
            if held and held + count > _BLOCK_KEYS:
                jobs.append(BlockJob(folder, domain, first, tuple(paths), secrets[domain]))
                paths, first, held = [], start, 0
            if count:
                paths.append(bucket.path)
                held += count
        jobs.append(BlockJob(folder, domain, first, tuple(paths), secrets[domain]))
    return jobs


def write_block(job: BlockJob) -> Segment:
    name = f"new.{job.domain}"
    files = [read_arrays(path) for path in job.paths]
    keys = pa.concat_arrays([binary_of(name, file) for file in files])
    hashes = np.concatenate([file[f"{name}.hashes"] for file in files])
    block = Block.hashed(job.start, keys, hashes, job.secret)
    return save_block(Path(job.folder), job.domain, block)
