"""One attribute's values as rows claim them, from all chunks; and those that hold in the end, if claims have times.

For the tasks of the third step (`attributes`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adalog.cluster.array_files import Arrays, read_arrays, write_arrays
from adalog.cluster.shipping import ShippedSnapshot
from adalog.pipeline.importing.decide.keys import MISSING, ChunkKeys, Numbering
from adalog.pipeline.importing.read.chunks import OWNERS, TOPS, ColumnPlan, RowChunk, tops_of
from adalog.pipeline.importing.read.typed_columns import INLINE, Int32s, Int64s
from adalog.store.files.segment import Segment
from adalog.store.tries.signed import run_starts
from adalog.store.tries.trie import distinct
from adalog.store.values.arrays import Bools
from adalog.store.values.attribute import Attribute

NOTHING: Final = np.empty(0, np.int64)

Pairs = tuple[Int64s, Int64s]
"""Entities and values; sorted."""


@dataclass(frozen=True, slots=True)
class AttributesJob:
    """What the tasks of the attributes share. sources: the columns of each. files: the rank of each file's hash.
    identities: the attributes by whose values entities are meant. dry: nothing is written. removed: a file of the
    entities that go, and how many these are."""

    folder: str
    database: ShippedSnapshot
    t: int
    attributes: Mapping[int, Attribute]
    identities: tuple[int, ...]
    sources: tuple[tuple[ColumnPlan, ...], ...]
    chunks: tuple[RowChunk, ...]
    numbering: Numbering
    blocks: Mapping[int, tuple[tuple[int, Segment], ...]]
    files: Mapping[int, int]
    dry: bool
    removed: tuple[str, int] = ("", 0)

    def gone(self) -> Int64s:
        """The entities that go, in order."""
        return read_arrays(self.removed[0])["gone"] if self.removed[1] else NOTHING

    def dead(self) -> Int64s:
        """Those of them that no row describes or creates, in order."""
        return read_arrays(self.removed[0])["dead"] if self.removed[1] else NOTHING


class Claims(NamedTuple):
    """Values claimed: entity, code, chunk, row, column."""

    e: Int64s
    v: Int64s
    chunk: NDArray[np.int32]
    row: NDArray[np.int32]
    column: NDArray[np.int16]

    def take(self, which: Int64s | Bools) -> Claims:
        return Claims(self.e[which], self.v[which], self.chunk[which], self.row[which], self.column[which])


NO_CLAIMS: Final = Claims(
    NOTHING, NOTHING, NOTHING.astype(np.int32), NOTHING.astype(np.int32), NOTHING.astype(np.int16)
)


class TimedClaims(NamedTuple):
    """Claims with their times, and whether each asserts its value or retracts it; None: all assert, at one time."""

    claims: Claims
    t: Int64s | None
    added: Bools | None


def settled(timed: TimedClaims, *, many: bool) -> tuple[Claims, Pairs]:
    """The claims that hold in the end, and the pairs that are retracted."""
    claims, t, added = timed
    if t is None or added is None:
        return claims, (NOTHING, NOTHING)
    order = np.lexsort((added, t, claims.v, claims.e))
    claims, t, added = claims.take(order), t[order], added[order]
    last = np.roll(run_starts(claims.e, claims.v), -1)
    ended = last & ~added
    if not many:
        # A later value replaces an earlier one. Rows of one entity lie side by side.
        held = np.flatnonzero(last & added)
        first = run_starts(claims.e[held])
        if len(held):
            newest = np.maximum.reduceat(t[held], np.flatnonzero(first))[np.cumsum(first) - 1]
            last[held[t[held] < newest]] = False
    return claims.take(last & added), (claims.e[ended], claims.v[ended])


def ids_meant(job: AttributesJob, attribute: int) -> str:
    """A file of the ids with a unique value that an entity of the database has, and that entity; "" for none."""
    snapshot = job.database.open()
    claims, _ = settled(claims_of(job, attribute, ids=True), many=job.attributes[attribute].is_many)
    if not len(claims.e) or not snapshot.has_data(attribute):
        return ""
    codes, holders = snapshot.trie(attribute, inverse=True).pairs_of(distinct(np.sort(claims.v)))
    if not len(codes):
        return ""
    at = np.minimum(codes.searchsorted(claims.v), len(codes) - 1)
    found = np.flatnonzero(codes[at] == claims.v)
    ids, entities = claims.e[found], holders[at[found]]
    order = np.lexsort((entities, ids))
    ids, entities = ids[order], entities[order]
    first = run_starts(ids)
    return write_arrays(job.folder, f"meant-{attribute}", {"ids": ids[first], "entities": entities[first]})


def claims_of(
    job: AttributesJob, attribute: int, *, ids: bool = False, chunks: Collection[int] | None = None
) -> TimedClaims:
    """The values that rows claim. ids: for what the rows call their entities, not for these themselves. chunks: of
    these alone."""
    buckets, dead = [read_arrays(bucket.path) for bucket in job.numbering.buckets], job.dead()
    parts: list[Claims] = []
    times: list[tuple[Int64s, Bools] | None] = []
    for at, chunk in enumerate(job.chunks):
        columns = job.sources[chunk.order[0]]
        wanted, made = _columns_of(job, attribute, columns)
        if (chunks is not None and at not in chunks) or not any(
            chunk.values[number] for number in (*wanted, *made)
        ):
            continue
        values, keys = read_arrays(chunk.values_path), read_arrays(chunk.keys_path)
        names = ChunkKeys(at, values, keys, job.numbering, buckets)
        whose = {
            outer: entities_of(chunk, columns[outer], values, names, ids=ids, number=outer)
            for outer in {columns[number].outer for number in wanted}
        }
        found = [
            (number, rows, whose[columns[number].outer][owners_of(columns[number], number, rows, values)], codes)
            for number in wanted
            for rows, codes in values_of(number, columns[number], values, names, dead)
        ]
        found += [(number, *each) for number in made for each in _made(number, columns[number], values, names)]
        found = [(number, tops_of(columns, number, rows, values), e, codes) for number, rows, e, codes in found]
        parts += [
            Claims(e, codes, np.full(len(e), at, np.int32), rows, np.full(len(e), number, np.int16))
            for number, rows, e, codes in found
        ]
        times += [(values["t"][rows], values["added"][rows]) if "t" in values else None for _, rows, _, _ in found]
    if not parts:
        return TimedClaims(NO_CLAIMS, None, None)
    return timed(parts, times)


def timed(parts: Sequence[Claims], times: Sequence[tuple[Int64s, Bools] | None]) -> TimedClaims:
    """All parts together. times: of each part, or None: all its claims hold from the beginning."""
    claims = Claims(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    if not any(times):
        return TimedClaims(claims, None, None)
    stamped = [
        (np.zeros(len(part.e), np.int64), np.ones(len(part.e), np.bool_)) if time is None else time
        for part, time in zip(parts, times, strict=True)
    ]
    return TimedClaims(claims, *(np.concatenate(each) for each in zip(*stamped, strict=True)))


def claimed(job: AttributesJob, attribute: int, chunk: RowChunk) -> int:
    """How many values a chunk's rows claim."""
    wanted, made = _columns_of(job, attribute, job.sources[chunk.order[0]])
    return sum(chunk.values[number] for number in (*wanted, *made))


def _columns_of(job: AttributesJob, attribute: int, columns: Sequence[ColumnPlan]) -> tuple[list[int], list[int]]:
    """The numbers of the columns of an attribute, and of those that make entities with a value of it."""
    wanted = [
        number for number, column in enumerate(columns) if column.attribute == attribute and not column.removal
    ]
    # Entities that are made because a ref means them have the value by which it does.
    made = [
        number
        for number, column in enumerate(columns)
        if column.create and column.identity is not None and job.identities[column.identity] == attribute
    ]
    return wanted, made


def entities_of(
    chunk: RowChunk, entity: ColumnPlan, values: Arrays, names: ChunkKeys, *, ids: bool = False, number: int = 0
) -> Int64s:
    """The entity of each row or struct, by the column with a number; with `ids` what rows call it."""
    assert entity.identity is not None
    size = len(values[f"{TOPS}{number}"]) if entity.structs else chunk.rows
    whose = np.full(size, MISSING, np.int64)
    for domain in _domains(number, values):
        rows = values[f"{number}.{domain}.rows"]
        every = names.codes(INLINE) if ids else names.entities(int(domain), entity.identity)
        whose[rows] = every[values[f"{number}.{domain}.values"]]
    return whose


def owners_of(column: ColumnPlan, number: int, places: Int32s, values: Arrays) -> Int32s:
    """The rows or structs whose entities have the values at places of a column."""
    return values[f"{OWNERS}{number}"][places] if column.structs else places


def values_of(
    number: int, column: ColumnPlan, values: Arrays, names: ChunkKeys, dead: Int64s
) -> list[tuple[Int32s, Int64s]]:
    """(rows or structs, codes) of a column by domain: of refs the entities meant, MISSING where there is none.
    dead: entities that go."""
    found = []
    for domain in _domains(number, values):
        rows, own = values[f"{number}.{domain}.rows"], values[f"{number}.{domain}.values"]
        if domain == "code":
            found.append((rows, own))
        elif column.identity is None or number == 0:
            found.append((rows, names.codes(int(domain))[own]))
        else:
            meant = names.entities(int(domain), column.identity)
            meant[within(meant, dead)] = MISSING
            found.append((rows, meant[own]))
    return found


def within(values: Int64s, ordered: Int64s) -> Bools:
    """Which values are among others, which are in order."""
    if not len(ordered):
        return np.zeros(len(values), np.bool_)
    found: Bools = ordered[np.minimum(ordered.searchsorted(values), len(ordered) - 1)] == values
    return found


def _made(number: int, column: ColumnPlan, values: Arrays, names: ChunkKeys) -> list[tuple[Int32s, Int64s, Int64s]]:
    """(rows or structs, entities, codes) of refs and of the values by which they mean their entities."""
    assert column.identity is not None
    found = []
    for domain in _domains(number, values):
        rows, own = values[f"{number}.{domain}.rows"], values[f"{number}.{domain}.values"]
        entities = names.entities(int(domain), column.identity)
        found.append((rows, entities[own], names.codes(int(domain))[own]))
    return found


def _domains(number: int, values: Arrays) -> list[str]:
    start, end = f"{number}.", ".rows"
    return [name[len(start) : -len(end)] for name in values if name.startswith(start) and name.endswith(end)]
