"""The third step: one attribute's values from all chunks, as what changes, and as the attribute's new segments.

What cannot be is found here, too: refs that mean nobody, second values, unique values that are taken. Where
there is any of it nothing is written, and the rows at fault are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from executor.spark.pipeline.chunks import Chunk, Reason, Rejects, Wanted, places_of, write_rejects
from executor.spark.pipeline.keys import MISSING, Names, Numbering
from executor.spark.pipeline.staged import Arrays, read_staged, write_staged
from executor.spark.pipeline.typed import Int32s, Int64s
from executor.spark.shipping import Shipped
from store.attribute import Attribute
from store.base import Base
from store.codes import Codes
from store.columns import Bools, Columns
from store.dictionary import Dictionary
from store.imported import LoggedFile, write_logged
from store.relation import Relation
from store.segment import Segment, open_segment
from store.signed import order_of
from store.snapshot import Snapshot
from store.stored import block_of, save_relation
from store.trie import Csr, distinct


@dataclass(frozen=True, slots=True)
class AttributesJob:
    """What the tasks of the attributes share. sources: the columns of each. files: the rank of each file's hash.
    identities: the attributes by whose values entities are meant. dry: nothing is written."""

    folder: str
    database: Shipped
    t: int
    attributes: Mapping[int, Attribute]
    identities: tuple[int, ...]
    sources: tuple[tuple[Wanted, ...], ...]
    chunks: tuple[Chunk, ...]
    numbering: Numbering
    blocks: Mapping[int, tuple[tuple[int, Segment], ...]]
    files: Mapping[int, int]
    dry: bool


class Written(NamedTuple):
    """What came of an attribute: the files of its relation and its log file, if anything changed; or the file of
    what is at fault, and how many rows that is, by reason."""

    attribute: int
    relation: tuple[Segment, ...] = ()
    logged: LoggedFile | None = None
    added: int = 0
    retracted: int = 0
    faults: str = ""
    missing: int = 0
    contested: int = 0


class _Claims(NamedTuple):
    """Values claimed: entity, code, chunk, row, column."""

    e: Int64s
    v: Int64s
    chunk: NDArray[np.int32]
    row: NDArray[np.int32]
    column: NDArray[np.int16]

    def take(self, which: Int64s | Bools) -> _Claims:
        return _Claims(self.e[which], self.v[which], self.chunk[which], self.row[which], self.column[which])


class _Contested(NamedTuple):
    """Claims of which not all can be granted, with all that compete with them.

    second: which are of entities that are given several values. holder: of a unique value, who keeps it, MISSING
    where nobody does.
    """

    claims: _Claims
    second: Bools
    holder: Int64s


def write_attribute(job: AttributesJob, attribute: int) -> Written:
    """Writes one attribute's segments, or says what is at fault."""
    declared = job.attributes[attribute]
    claims = _claims(job, attribute)
    missing = claims.v == MISSING if declared.is_ref else np.zeros(0, np.bool_)
    if missing.any():
        path = _faults(job, attribute, claims.take(missing), {"missing": np.ones(1, np.bool_)})
        return Written(attribute, faults=path, missing=int(missing.sum()))
    order = order_of(claims.e, claims.v)
    claims = claims.take(order)
    snapshot = job.database.open()
    held = _held(snapshot, attribute, claims.e)
    contested = _contested(claims, held, declared, snapshot)
    if len(contested.second):
        unique = np.full(1, declared.unique is not None)
        why = {"second": contested.second, "holder": contested.holder, "unique": unique}
        path = _faults(job, attribute, contested.claims, why)
        return Written(attribute, faults=path, contested=len(contested.second))
    e, v = _once(claims.e, claims.v)
    events = _changes(e, v, held, many=declared.is_many)
    added = int(events[2].sum())
    if not len(events[0]) or job.dry:
        return Written(attribute, added=added, retracted=len(events[0]) - added)
    folder = Path(job.folder)
    relation = save_relation(folder, attribute, _relation(snapshot, declared, events, job.t))
    logged = write_logged(folder, attribute, job.t, events, _codes(snapshot, job.blocks))
    return Written(attribute, tuple(relation.segments), logged, added=added, retracted=len(events[0]) - added)


def _claims(job: AttributesJob, attribute: int) -> _Claims:
    buckets = [read_staged(bucket.path) for bucket in job.numbering.buckets]
    parts: list[_Claims] = []
    for at, chunk in enumerate(job.chunks):
        columns = job.sources[chunk.order[0]]
        wanted = [number for number, column in enumerate(columns) if column.attribute == attribute]
        # Entities that are made because a ref means them have the value by which it does.
        made = [
            number
            for number, column in enumerate(columns)
            if column.create and column.identity is not None and job.identities[column.identity] == attribute
        ]
        if not any(chunk.values[number] for number in (*wanted, *made)):
            continue
        values, keys = read_staged(chunk.values_path), read_staged(chunk.keys_path)
        names = Names(at, values, keys, job.numbering, buckets)
        whose = _whose(chunk, columns[0], values, names)
        found = [
            (number, rows, whose[rows], codes)
            for number in wanted
            for rows, codes in _values(number, columns[number], values, names)
        ]
        found += [(number, *each) for number in made for each in _made(number, columns[number], values, names)]
        parts += [
            _Claims(e, codes, np.full(len(e), at, np.int32), rows, np.full(len(e), number, np.int16))
            for number, rows, e, codes in found
        ]
    if not parts:
        nothing = np.empty(0, np.int64)
        return _Claims(
            nothing, nothing, nothing.astype(np.int32), nothing.astype(np.int32), nothing.astype(np.int16)
        )
    return _Claims(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _whose(chunk: Chunk, entity: Wanted, values: Arrays, names: Names) -> Int64s:
    """The entity of each row."""
    assert entity.identity is not None
    whose = np.full(chunk.rows, MISSING, np.int64)
    for domain in _domains(0, values):
        rows = values[f"0.{domain}.rows"]
        whose[rows] = names.entities(int(domain), entity.identity)[values[f"0.{domain}.values"]]
    return whose


def _values(number: int, column: Wanted, values: Arrays, names: Names) -> list[tuple[Int32s, Int64s]]:
    """(rows, codes) of a column by domain: of refs the entities meant, MISSING where there is none."""
    found = []
    for domain in _domains(number, values):
        rows, own = values[f"{number}.{domain}.rows"], values[f"{number}.{domain}.values"]
        if domain == "code":
            found.append((rows, own))
        elif column.identity is None or number == 0:
            found.append((rows, names.codes(int(domain))[own]))
        else:
            found.append((rows, names.entities(int(domain), column.identity)[own]))
    return found


def _made(number: int, column: Wanted, values: Arrays, names: Names) -> list[tuple[Int32s, Int64s, Int64s]]:
    """(rows, entities, codes) of refs and of the values by which they mean their entities."""
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


def _held(snapshot: Snapshot, attribute: int, e: Int64s) -> tuple[Int64s, Int64s]:
    """What the claims' entities, which are in order, have already: pairs, in order."""
    if not snapshot.has_data(attribute):
        return e[:0], e[:0]
    return snapshot.trie(attribute, inverse=False).pairs_of(distinct(e))


def _once(e: Int64s, v: Int64s) -> tuple[Int64s, Int64s]:
    first = np.ones(len(e), np.bool_)
    first[1:] = (e[1:] != e[:-1]) | (v[1:] != v[:-1])
    return e[first], v[first]


def _contested(
    claims: _Claims, held: tuple[Int64s, Int64s], attribute: Attribute, snapshot: Snapshot
) -> _Contested:
    """What is contested among the claims, which are in order."""
    second = np.zeros(len(claims.e), np.bool_)
    taken = np.zeros(len(claims.e), np.bool_)
    holder = np.full(len(claims.e), MISSING, np.int64)
    if not attribute.is_many and len(claims.e):
        first = np.ones(len(claims.e), np.bool_)
        first[1:] = claims.e[1:] != claims.e[:-1]
        starts = np.flatnonzero(first)
        low, high = np.minimum.reduceat(claims.v, starts), np.maximum.reduceat(claims.v, starts)
        second = np.repeat(low != high, np.diff(np.append(starts, len(claims.e))))
    if attribute.unique is not None and len(claims.e):
        taken, holder = _taken(claims, attribute, snapshot)
    which = second | taken
    return _Contested(claims.take(which), second[which], holder[which])


def _taken(claims: _Claims, attribute: Attribute, snapshot: Snapshot) -> tuple[Bools, Int64s]:
    """Which claims are of a value that several entities claim, or one that another keeps; and who keeps it."""
    order = order_of(claims.v, claims.e)
    v, e = claims.v[order], claims.e[order]
    first = np.ones(len(v), np.bool_)
    first[1:] = v[1:] != v[:-1]
    starts = np.flatnonzero(first)
    several = e[starts] != e[np.append(starts[1:], len(e)) - 1]
    keeper = np.full(len(starts), MISSING, np.int64)
    if snapshot.has_data(attribute.id):
        codes, holders = snapshot.trie(attribute.id, inverse=True).pairs_of(v[starts])
        if len(codes):
            # A holder with another value of its own gives this one up, where it can have but one.
            keeps = np.ones(len(codes), np.bool_)
            if not attribute.is_many:
                at = np.minimum(claims.e.searchsorted(holders), len(claims.e) - 1)
                keeps = (claims.e[at] != holders) | (claims.v[at] == codes)
            at = np.searchsorted(v[starts], codes)[keeps]
            keeper[at] = holders[keeps]
            several[at] |= e[starts][at] != holders[keeps]
    sizes = np.diff(np.append(starts, len(v)))
    taken, holder = np.zeros(len(v), np.bool_), np.empty(len(v), np.int64)
    taken[order], holder[order] = np.repeat(several, sizes), np.repeat(keeper, sizes)
    return taken, holder


def _faults(job: AttributesJob, attribute: int, claims: _Claims, why: Arrays) -> str:
    """A file of claims with where their rows stand."""
    places = np.zeros((4, len(claims.e)), np.int64)
    for at in distinct(np.sort(claims.chunk)).tolist():
        own = np.flatnonzero(claims.chunk == at)
        chunk = job.chunks[at]
        file, block, ordinal = places_of(read_staged(chunk.values_path), claims.row[own])
        ranks = np.array([job.files.get(each, each) for each in file.tolist()], np.int64)
        places[:, own] = (np.full(len(own), chunk.order[0]), ranks, block, ordinal)
    arrays = {**claims._asdict(), **why}
    arrays |= dict(zip(("source", "file", "block", "ordinal"), places, strict=True))
    return write_staged(job.folder, f"faults-{attribute}", arrays)


def _changes(e: Int64s, v: Int64s, held: tuple[Int64s, Int64s], *, many: bool) -> tuple[Int64s, Int64s, Bools]:
    """What the distinct pairs change, in order: those that are new, and without `many` the values they replace."""
    held_e, held_v = held
    if not len(held_e):
        return e, v, np.ones(len(e), np.bool_)
    every_e, every_v = np.concatenate((held_e, e)), np.concatenate((held_v, v))
    given = np.arange(len(every_e)) >= len(held_e)
    order = order_of(every_e, every_v)
    every_e, every_v, given = every_e[order], every_v[order], given[order]
    same = np.zeros(len(order), np.bool_)
    same[1:] = (every_e[1:] == every_e[:-1]) & (every_v[1:] == every_v[:-1])
    twin = same.copy()
    twin[:-1] |= same[1:]
    # Every held pair is of an entity that is given a value here.
    which = ~twin & (given | (not many))
    return every_e[which], every_v[which], given[which]


def _relation(snapshot: Snapshot, attribute: Attribute, events: tuple[Int64s, Int64s, Bools], t: int) -> Relation:
    """The attribute's relation with everything up to t."""
    e, v, added = events
    data = snapshot.data_of(attribute.id)
    relation, young = data.shipped(t)
    stamps = np.full(len(e), t, np.int64)
    if not relation.count and not relation.t and not len(young):
        return Relation(Base(ev=Csr.from_sorted(e, v), ve=Csr.from_pairs(v, e), since=stamps, t=t, last=t))
    every = Columns.concat([young, Columns(e, v, stamps, added)])
    return relation.folded(every, t, keep_history=not attribute.no_history)


def _codes(snapshot: Snapshot, blocks: Mapping[int, Sequence[tuple[int, Segment]]]) -> Codes:
    """The database's codes and the new ones."""
    dictionaries = dict(snapshot.codes.dictionaries())
    for tag, own in blocks.items():
        old, young = dictionaries[tag].parts()
        known = Dictionary(old, young)
        known.append([block_of(open_segment(segment, trusted=True), tag, start, segment) for start, segment in own])
        dictionaries[tag] = known
    return Codes(dictionaries)


def referee(paths: Sequence[str], folder: str) -> list[tuple[int, str, int]]:
    """Who of those at fault has to go: (chunk, file of its rejected rows, how many).

    Refs that mean nobody reject their rows. If there are none of these, rows are granted what they claim in the
    order of source, file and line; a row that claims what is not granted to it is rejected whole.
    """
    faults = [(int(Path(path).name.split("-")[1]), read_staged(path)) for path in paths]
    lost: dict[tuple[int, int], tuple[int, int]] = {}
    missing = [arrays for _, arrays in faults if "missing" in arrays]
    for arrays in missing:
        for chunk, row, column in zip(*(arrays[each].tolist() for each in ("chunk", "row", "column")), strict=True):
            lost.setdefault((chunk, row), (column, Reason.NO_TARGET))
    if not missing:
        lost = _judged(faults)
    by_chunk: dict[int, list[tuple[int, int, int]]] = {}
    for (chunk, row), (column, reason) in sorted(lost.items()):
        by_chunk.setdefault(chunk, []).append((row, column, reason))
    return [(chunk, write_rejects(folder, str(chunk), _rejects(own)), len(own)) for chunk, own in by_chunk.items()]


def _rejects(rows: Sequence[tuple[int, int, int]]) -> Rejects:
    return Rejects(*(np.array(each, np.int32) for each in zip(*rows, strict=True)))


class _Claim(NamedTuple):
    attribute: int
    unique: bool
    e: int
    v: int
    column: int
    second: bool
    holder: int


_PLACE = ("source", "file", "block", "ordinal", "chunk", "row")


def _judged(faults: Sequence[tuple[int, Arrays]]) -> dict[tuple[int, int], tuple[int, int]]:
    """The rows, by chunk and number, that are not granted what they claim: the column at fault, and why."""
    claims: dict[tuple[int, ...], list[_Claim]] = {}
    for attribute, arrays in faults:
        unique = bool(arrays["unique"][0])
        names = (*_PLACE, "e", "v", "column", "second", "holder")
        for values in zip(*(arrays[name].tolist() for name in names), strict=True):
            claims.setdefault(values[:6], []).append(_Claim(attribute, unique, *values[6:]))
    granted: dict[tuple[int, int], int] = {}
    owners: dict[tuple[int, int], int] = {}
    lost: dict[tuple[int, int], tuple[int, int]] = {}
    for place in sorted(claims):
        own = claims[place]
        refused = []
        for claim in own:
            if claim.second and granted.get((claim.attribute, claim.e), claim.v) != claim.v:
                refused.append((claim.column, int(Reason.SECOND_VALUE)))
            holder = claim.e if claim.holder == MISSING else claim.holder
            if claim.unique and owners.get((claim.attribute, claim.v), holder) != claim.e:
                refused.append((claim.column, int(Reason.TAKEN)))
        if refused:
            lost[place[4], place[5]] = min(refused)
            continue
        for claim in own:
            granted[claim.attribute, claim.e] = claim.v
            owners[claim.attribute, claim.v] = claim.e
    return lost
