"""The third step: one attribute's values from all chunks, as its changes and as its new segments.

Faults are found here, too: refs without a target, second values, unique values that are taken. An attribute with
faults is not written; its rows at fault are named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adalog.cluster.array_files import Arrays, read_arrays, write_arrays
from adalog.pipeline.importing.decide.claims import NOTHING, AttributesJob, Claims, Pairs, claims_of, settled
from adalog.pipeline.importing.decide.endings import ending_entities, ending_pairs
from adalog.pipeline.importing.decide.keys import MISSING
from adalog.pipeline.importing.decide.previews import Preview, preview_of
from adalog.pipeline.importing.read.chunks import Reason, Rejects, places_of, write_rejects
from adalog.pipeline.importing.read.ids import marks
from adalog.pipeline.importing.read.typed_columns import Int64s
from adalog.store.files.segment import Segment, open_segment
from adalog.store.log.imported import LoggedFile, write_logged
from adalog.store.snapshot.free_ids import referred
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.base import Base
from adalog.store.tries.columns import Columns
from adalog.store.tries.relation import Relation
from adalog.store.tries.relation_files import block_of, save_relation
from adalog.store.tries.signed import among, order_of, run_starts, runs
from adalog.store.tries.trie import Csr, distinct
from adalog.store.values.arrays import Bools
from adalog.store.values.attribute import Attribute
from adalog.store.values.codes import Codes
from adalog.store.values.dictionary import Dictionary

Events = tuple[Int64s, Int64s, Bools]
"""Entities, values, and which are asserted; in order."""


class AttributeResult(NamedTuple):
    """The outcome for one attribute: the files of its relation and of its log, if anything changed; or files of the
    faults, and their numbers. ids: marks of the ids that tuples name. preview: of a dry run."""

    attribute: int
    relation: tuple[Segment, ...] = ()
    logged: tuple[LoggedFile, ...] = ()
    added: int = 0
    retracted: int = 0
    faults: tuple[str, ...] = ()
    missing: int = 0
    contested: int = 0
    ids: Int64s = NOTHING
    preview: Preview = Preview()


class ContestedClaims(NamedTuple):
    """Claims that cannot all be granted, with all that compete with them. second: which are of entities with
    several values. holder: the entity that keeps a unique value, or MISSING."""

    claims: Claims
    second: Bools
    holder: Int64s

    def why(self, attribute: Attribute) -> Arrays:
        """The arrays of `write_faults`."""
        return {
            "second": self.second,
            "holder": self.holder,
            "unique": np.full(1, attribute.kind.unique is not None),
        }


def write_attribute(job: AttributesJob, attribute: int) -> AttributeResult:
    declared = job.attributes[attribute]
    claims, gone = settled(claims_of(job, attribute), many=declared.is_many)
    missing = claims.v == MISSING if declared.is_ref else np.zeros(0, np.bool_)
    if missing.any():
        path = write_faults(job, attribute, claims.take(missing), {"missing": np.ones(1, np.bool_)})
        return AttributeResult(attribute, faults=(path,), missing=int(missing.sum()))
    claims = claims.take(order_of(claims.e, claims.v))
    snapshot = job.database.open()
    gone = gone if len(gone[0]) else ending_pairs(job, attribute, snapshot, ending_entities(job, attribute), claims)
    held = held_by(snapshot, attribute, claims.e)
    contested = _contested(job, claims, gone, declared, snapshot)
    if len(contested.second):
        path = write_faults(job, attribute, contested.claims, contested.why(declared))
        return AttributeResult(attribute, faults=(path,), contested=len(contested.second))
    events = events_of(claims, gone, held, snapshot, declared)
    added = int(events[2].sum())
    if not len(events[0]):
        return AttributeResult(attribute)
    codes = codes_of(snapshot, job.blocks)
    if job.dry:
        preview = preview_of(job, declared, snapshot, codes, claims, events)
        return AttributeResult(attribute, added=added, retracted=len(events[0]) - added, preview=preview)
    folder = Path(job.folder)
    relation = save_relation(folder, attribute, _relation(snapshot, declared, events, job.t), codes)
    logged = write_logged(folder, attribute, job.t, events, codes)
    segments, ids = tuple(relation.segments), ids_named(declared, events, codes)
    return AttributeResult(attribute, segments, (logged,), added=added, retracted=len(events[0]) - added, ids=ids)


def ids_named(attribute: Attribute, events: Events, codes: Codes) -> Int64s:
    """Marks of the ids that the tuples name which are asserted."""
    if attribute.is_ref or not attribute.refers:
        return NOTHING
    values = distinct(np.sort(events[1][events[2]])).tolist()
    return marks(np.array([id_ for value in values for id_ in referred(attribute, value, codes)], np.int64))


def events_of(claims: Claims, gone: Pairs, held: Pairs, snapshot: Snapshot, attribute: Attribute) -> Events:
    """What claims, in order and granted, change, in order. gone: pairs that end. held: what their entities have."""
    events = _changes(*_once(claims.e, claims.v), held, many=attribute.is_many)
    return _with_ends(events, gone, snapshot, attribute.id) if len(gone[0]) else events


def _with_ends(events: Events, gone: Pairs, snapshot: Snapshot, attribute: int) -> Events:
    """The events, in order, with retractions of those of the pairs that the database has."""
    ends = among(*gone, *held_by(snapshot, attribute, gone[0]))
    e, v, added = events
    ends &= ~among(*gone, e, v)
    if not ends.any():
        return events
    e, v = np.concatenate((e, gone[0][ends])), np.concatenate((v, gone[1][ends]))
    added = np.concatenate((added, np.zeros(int(ends.sum()), np.bool_)))
    order = order_of(e, v)
    return e[order], v[order], added[order]


def held_by(snapshot: Snapshot, attribute: int, e: Int64s) -> tuple[Int64s, Int64s]:
    """What the claims' entities, which are in order, have already: pairs, in order."""
    if not snapshot.has_data(attribute):
        return e[:0], e[:0]
    return snapshot.trie(attribute, inverse=False).pairs_of(distinct(e))


def _once(e: Int64s, v: Int64s) -> tuple[Int64s, Int64s]:
    first = run_starts(e, v)
    return e[first], v[first]


def _contested(
    job: AttributesJob, claims: Claims, gone: Pairs, attribute: Attribute, snapshot: Snapshot
) -> ContestedClaims:
    """What is contested among the claims, which are in order. gone: pairs that end."""
    second = second_values(claims, attribute)
    taken = np.zeros(len(claims.e), np.bool_)
    holder = np.full(len(claims.e), MISSING, np.int64)
    if attribute.kind.unique is not None and len(claims.e):
        taken, holder = taken_values(
            claims, lambda e, v: among(e, v, *gone), partial(given_otherwise, job, claims), attribute, snapshot
        )
    which = second | taken
    return ContestedClaims(claims.take(which), second[which], holder[which])


def second_values(claims: Claims, attribute: Attribute) -> Bools:
    """Which of the claims, in order, are of entities that are given several values where they can have but one."""
    if attribute.is_many or not len(claims.e):
        return np.zeros(len(claims.e), np.bool_)
    starts = np.flatnonzero(run_starts(claims.e))
    low, high = np.minimum.reduceat(claims.v, starts), np.maximum.reduceat(claims.v, starts)
    return np.repeat(low != high, np.diff(np.append(starts, len(claims.e))))


def given_otherwise(job: AttributesJob, claims: Claims, e: Int64s, v: Int64s) -> Bools:
    """Which entities are given another value than v by the first of their rows. claims: in order."""
    start, stop = claims.e.searchsorted(e), claims.e.searchsorted(e, side="right")
    found = np.flatnonzero(stop > start)
    given = v.copy()
    given[found] = claims.v[start[found]]
    # Values are in the order of their codes, which says nothing of their rows.
    several = found[claims.v[start[found]] != claims.v[stop[found] - 1]]
    if len(several):
        sizes = stop[several] - start[several]
        own, whose = claims.take(runs(start[several], sizes)), np.repeat(several, sizes)
        order = np.lexsort((own.row, *places_in(job, own)[::-1], whose))
        given[several] = own.v[order[run_starts(whose[order])]]
    other: Bools = given != v
    return other


PairTest = Callable[[Int64s, Int64s], Bools]
"""Which of the pairs, each there once, are of a kind."""


def taken_values(
    claims: Claims, ended: PairTest, otherwise: PairTest, attribute: Attribute, snapshot: Snapshot
) -> tuple[Bools, Int64s]:
    """Which claims are of a value that several entities claim or that another entity keeps; and that entity. The
    claims are all that there are of their values. ended: which pairs end. otherwise: whose entity is given another
    value first."""
    order = order_of(claims.v, claims.e)
    v, e = claims.v[order], claims.e[order]
    starts = np.flatnonzero(run_starts(v))
    several = e[starts] != e[np.append(starts[1:], len(e)) - 1]
    keeper = np.full(len(starts), MISSING, np.int64)
    if snapshot.has_data(attribute.id):
        codes, holders = snapshot.trie(attribute.id, inverse=True).pairs_of(v[starts])
        if len(codes):
            # A holder with another value of its own gives this one up, where it can have but one.
            keeps = ~ended(holders, codes)
            if not attribute.is_many:
                keeps &= ~otherwise(holders, codes)
            at = np.searchsorted(v[starts], codes)[keeps]
            keeper[at] = holders[keeps]
            several[at] |= e[starts][at] != holders[keeps]
    sizes = np.diff(np.append(starts, len(v)))
    taken, holder = np.zeros(len(v), np.bool_), np.empty(len(v), np.int64)
    taken[order], holder[order] = np.repeat(several, sizes), np.repeat(keeper, sizes)
    return taken, holder


def write_faults(job: AttributesJob, attribute: int, claims: Claims, why: Arrays) -> str:
    """A file of claims with where their rows stand."""
    arrays = {**claims._asdict(), **why}
    arrays |= dict(zip(("source", "file", "block", "ordinal"), places_in(job, claims), strict=True))
    return write_arrays(job.folder, f"faults-{attribute}", arrays)


def places_in(job: AttributesJob, claims: Claims) -> Int64s:
    """Source, file, block and number of each claim's row, by which rows go before others; int64[4, n]."""
    places = np.zeros((4, len(claims.e)), np.int64)
    for at in distinct(np.sort(claims.chunk)).tolist():
        own = np.flatnonzero(claims.chunk == at)
        chunk = job.chunks[at]
        file, block, ordinal = places_of(read_arrays(chunk.values_path), claims.row[own])
        ranks = np.array([job.files.get(each, each) for each in file.tolist()], np.int64)
        places[:, own] = (np.full(len(own), chunk.order[0]), ranks, block, ordinal)
    return places


def _changes(e: Int64s, v: Int64s, held: tuple[Int64s, Int64s], *, many: bool) -> Events:
    """What the distinct pairs change, in order: those that are new, and without `many` the values they replace."""
    held_e, held_v = held
    if not len(held_e):
        return e, v, np.ones(len(e), np.bool_)
    every_e, every_v = np.concatenate((held_e, e)), np.concatenate((held_v, v))
    given = np.arange(len(every_e)) >= len(held_e)
    order = order_of(every_e, every_v)
    every_e, every_v, given = every_e[order], every_v[order], given[order]
    same = ~run_starts(every_e, every_v)
    twin = same.copy()
    twin[:-1] |= same[1:]
    # Every held pair is of an entity that is given a value here.
    which = ~twin & (given | (not many))
    return every_e[which], every_v[which], given[which]


def _relation(snapshot: Snapshot, attribute: Attribute, events: Events, t: int) -> Relation:
    """The attribute's relation with everything up to t."""
    e, v, added = events
    relation, young = snapshot.data_of(attribute.id).shipped(t)
    stamps = np.full(len(e), t, np.int64)
    if not relation.count and not relation.t and not len(young):
        return Relation(Base(ev=Csr.from_sorted(e, v), ve=Csr.from_pairs(v, e), since=stamps, t=t, last=t))
    every = Columns.concat([young, Columns(e, v, stamps, added)])
    return relation.folded(every, t, keep_history=not attribute.kind.no_history)


def codes_of(snapshot: Snapshot, blocks: Mapping[int, Sequence[tuple[int, Segment]]]) -> Codes:
    """The database's codes and the new ones."""
    dictionaries = dict(snapshot.codes.dictionaries())
    for tag, own in blocks.items():
        old, young = dictionaries[tag].parts()
        known = Dictionary(old, young)
        known.append([block_of(open_segment(segment, trusted=True), tag, start, segment) for start, segment in own])
        dictionaries[tag] = known
    return Codes(dictionaries)


def referee(paths: Sequence[str], folder: str) -> list[tuple[int, str, int]]:
    """The rows to reject: (chunk, file of its rejected rows, how many). Refs without a target reject their rows. If
    there are none, rows get what they claim in the order of source, file and line; a row that does not get all that
    it claims is rejected whole."""
    faults = [(int(Path(path).name.split("-")[1]), read_arrays(path)) for path in paths]
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
    rejected = []
    for chunk, own in by_chunk.items():
        rejects = Rejects(*(np.array(each, np.int32) for each in zip(*own, strict=True)))
        rejected.append((chunk, write_rejects(folder, str(chunk), rejects), len(own)))
    return rejected


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
