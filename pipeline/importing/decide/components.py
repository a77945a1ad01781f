"""Structs without a key that their owner has already: as components with the same values.

A struct and a component of one owner are the same if they have equal values in all columns that the mapping has of
these structs; structs in them count by their own values. Equal structs are as many components, so the same import
again changes nothing. For tasks after the second step (`keys`).
"""

from __future__ import annotations

from collections.abc import Sequence
from secrets import randbits
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.cluster.array_files import Arrays, read_arrays, write_arrays
from adalog.pipeline.importing.decide.claims import NOTHING, AttributesJob, entities_of, values_of
from adalog.pipeline.importing.decide.keys import MISSING, ChunkKeys
from adalog.pipeline.importing.read.chunks import OWNERS, ColumnPlan, RowChunk
from adalog.pipeline.importing.read.typed_columns import Int64s
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.signed import run_starts
from adalog.store.tries.trie import distinct

_MIX: Final = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))
_SHIFTS: Final = tuple(map(np.uint64, (30, 27, 31)))

Prints = NDArray[np.uint64]
"""uint64[2, n]: sums of the hashes of structs' or components' values. Hashes have 128 bits, and a secret."""


def same_components(job: AttributesJob, item: tuple[int, int]) -> str:
    """A file of the numbers of structs that are components already, and these; "" for none. item: a source, and the
    column with the entities of structs."""
    source, number = item
    matching = _Matching(job, source)
    matching.match(number, [matching.owners(chunk, number) for chunk in matching.chunks])
    ids, entities = np.concatenate([NOTHING, *matching.ids]), np.concatenate([NOTHING, *matching.entities])
    if not len(ids):
        return ""
    order = np.argsort(ids)
    return write_arrays(job.folder, f"same-{source}-{number}", {"ids": ids[order], "entities": entities[order]})


class _ChunkStructs:
    """A chunk's structs."""

    def __init__(self, job: AttributesJob, at: int, buckets: Sequence[Arrays]) -> None:
        self.chunk: RowChunk = job.chunks[at]
        self.columns = job.sources[self.chunk.order[0]]
        self.values = read_arrays(self.chunk.values_path)
        self._names = ChunkKeys(at, self.values, read_arrays(self.chunk.keys_path), job.numbering, buckets)

    def entities(self, number: int, *, ids: bool = False) -> Int64s:
        return entities_of(self.chunk, self.columns[number], self.values, self._names, ids=ids, number=number)

    def pairs(self, number: int) -> tuple[Int64s, Int64s]:
        """The structs with values of a column, and the values."""
        parts = values_of(number, self.columns[number], self.values, self._names, NOTHING)
        places, codes = (
            (np.concatenate([NOTHING, *own]) for own in zip(*parts, strict=True)) if parts else (NOTHING,) * 2
        )
        if self.columns[number].structs:
            places = self.values[f"{OWNERS}{number}"][places]
        return places, codes


class _Matching:
    """ids, entities: structs that were found, and the components that they are."""

    def __init__(self, job: AttributesJob, source: int) -> None:
        self._job = job
        self._snapshot: Snapshot = job.database.open()
        self._columns: tuple[ColumnPlan, ...] = job.sources[source]
        self._buckets = [read_arrays(bucket.path) for bucket in job.numbering.buckets]
        self._seeds = np.array([[randbits(64)], [randbits(64)]], np.uint64)
        self.chunks = [at for at, chunk in enumerate(job.chunks) if chunk.order[0] == source]
        self.ids: list[Int64s] = []
        self.entities: list[Int64s] = []

    def owners(self, at: int, number: int) -> Int64s:
        """The entity that each struct of a chunk belongs to."""
        structs = _ChunkStructs(self._job, at, self._buckets)
        return structs.entities(self._columns[number].outer)[structs.values[f"{OWNERS}{number}"]]

    def match(self, number: int, owners: Sequence[Int64s]) -> None:
        """Finds the structs of a column, and those in them. owners: of the structs of each chunk."""
        attribute = self._columns[number].attribute
        if not self._snapshot.has_data(attribute):
            return
        trie = self._snapshot.trie(attribute, inverse=False)
        known, places, prints, ids = [], [], [], []
        for at, own in zip(self.chunks, owners, strict=True):
            structs = _ChunkStructs(self._job, at, self._buckets)
            numbers = structs.entities(number, ids=True)
            which = np.flatnonzero((numbers != MISSING) & (own != MISSING) & (own < self._job.numbering.first_id))
            known.append(own[which])
            places.append(which)
            prints.append(self._of_structs(structs, number)[:, which])
            ids.append(numbers[which])
        every = np.concatenate([NOTHING, *known])
        if not len(every):
            return
        held, components = trie.pairs_of(distinct(np.sort(every)))
        matched = np.full(len(every), MISSING, np.int64)
        theirs = self._of_components(components, number)
        own, other = _matches(every, np.concatenate(prints, axis=1), held, theirs)
        matched[own] = components[other]
        self.ids.append(np.concatenate([NOTHING, *ids])[own])
        self.entities.append(components[other])
        for inner in self._unnamed_in(number):
            self._match_inner(
                inner, owners, places, np.split(matched, np.cumsum([len(each) for each in known])[:-1])
            )

    def _match_inner(
        self, inner: int, owners: Sequence[Int64s], places: Sequence[Int64s], matched: Sequence[Int64s]
    ) -> None:
        outer = []
        for at, own, which, component in zip(self.chunks, owners, places, matched, strict=True):
            entities = np.full(len(own), MISSING, np.int64)
            entities[which] = component
            outer.append(entities[_ChunkStructs(self._job, at, self._buckets).values[f"{OWNERS}{inner}"]])
        self.match(inner, outer)

    def _unnamed_in(self, number: int) -> list[int]:
        return [at for at, each in enumerate(self._columns) if each.outer == number and each.is_unnamed]

    def _named_in(self, number: int) -> dict[int, list[int]]:
        """The other columns of structs by attribute."""
        found: dict[int, list[int]] = {}
        for at, column in enumerate(self._columns):
            if column.outer == number and not column.is_unnamed:
                found.setdefault(column.attribute, []).append(at)
        return found

    def _of_structs(self, structs: _ChunkStructs, number: int) -> Prints:
        prints = _none(len(structs.values[f"{OWNERS}{number}"]))
        for attribute, columns in self._named_in(number).items():
            parts = [structs.pairs(each) for each in columns]
            self._add(prints, attribute, *_once(*(np.concatenate(each) for each in zip(*parts, strict=True))))
        for inner in self._unnamed_in(number):
            which = np.flatnonzero(structs.entities(inner, ids=True) != MISSING)
            owners = structs.values[f"{OWNERS}{inner}"][which]
            self._add(prints, self._columns[inner].attribute, owners, self._of_structs(structs, inner)[:, which])
        return prints

    def _of_components(self, components: Int64s, number: int) -> Prints:
        every = distinct(np.sort(components))
        prints = _none(len(every))
        for attribute in self._named_in(number):
            if self._snapshot.has_data(attribute):
                e, v = self._snapshot.trie(attribute, inverse=False).pairs_of(every)
                self._add(prints, attribute, every.searchsorted(e), v)
        for inner in self._unnamed_in(number):
            attribute = self._columns[inner].attribute
            if self._snapshot.has_data(attribute):
                e, v = self._snapshot.trie(attribute, inverse=False).pairs_of(every)
                self._add(prints, attribute, every.searchsorted(e), self._of_components(v, inner))
        return prints[:, every.searchsorted(components)]

    def _add(self, prints: Prints, attribute: int, places: Int64s, values: Int64s | Prints) -> None:
        """Adds the hashes of an attribute's values, codes or prints, to those of their structs."""
        factor, *mixes = _MIX
        mixed = values.view(np.uint64) + self._seeds + np.array([attribute], np.uint64) * factor
        for mix, shift in zip(mixes, _SHIFTS, strict=False):
            mixed = (mixed ^ (mixed >> shift)) * mix
        mixed ^= mixed >> _SHIFTS[-1]
        for own, hashes in zip(prints, mixed, strict=True):
            np.add.at(own, places, hashes)


def _none(count: int) -> Prints:
    return np.zeros((2, count), np.uint64)


def _once(places: Int64s, codes: Int64s) -> tuple[Int64s, Int64s]:
    order = np.lexsort((codes, places))
    places, codes = places[order], codes[order]
    first = run_starts(places, codes)
    return places[first], codes[first]


def _matches(owners: Int64s, prints: Prints, held: Int64s, theirs: Prints) -> tuple[Int64s, Int64s]:
    """The structs and the components, as places, that are the same: each at most once."""
    sides, ordinals = [], []
    for own, marks in ((owners, prints), (held, theirs)):
        order = np.lexsort((np.arange(len(own)), *marks, own))
        first = run_starts(own[order], *marks[:, order])
        starts = np.flatnonzero(first)
        ordinal = np.empty(len(own), np.int64)
        ordinal[order] = np.arange(len(own)) - np.repeat(starts, np.diff(np.append(starts, len(own))))
        sides.append(own)
        ordinals.append(ordinal)
    side = np.repeat([0, 1], [len(owners), len(held)])
    own, both, number = np.concatenate(sides), np.concatenate((prints, theirs), axis=1), np.concatenate(ordinals)
    order = np.lexsort((side, number, *both, own))
    same = ~run_starts(own[order], number[order], *both[:, order])
    second = np.flatnonzero(same)
    return order[second - 1], order[second] - len(owners)
