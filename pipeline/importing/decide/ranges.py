"""The third step for attributes that are too large for one task: the same by ranges of entities, then of values.

Chunks' claims are sorted, each chunk's by itself, and cut by samples of them. A task takes a range of entities from
all chunks: its claims, its changes, its faults. Others then take ranges of values: claims of unique values, and the
other direction of the segments. Each attribute becomes one new base. Only names of files, counts and samples go
through the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np

from adalog.cluster.array_files import Arrays, read_arrays, write_arrays
from adalog.pipeline.importing.decide.attributes import (
    AttributeResult,
    ContestedClaims,
    codes_of,
    events_of,
    given_otherwise,
    held_by,
    ids_named,
    second_values,
    taken_values,
    write_faults,
)
from adalog.pipeline.importing.decide.claims import (
    NO_CLAIMS,
    NOTHING,
    AttributesJob,
    Claims,
    TimedClaims,
    claimed,
    claims_of,
    settled,
    timed,
)
from adalog.pipeline.importing.decide.endings import ending_entities, ending_pairs
from adalog.pipeline.importing.decide.keys import MISSING
from adalog.pipeline.importing.decide.previews import Preview, preview_of
from adalog.pipeline.importing.read.runner import ImportRunner
from adalog.pipeline.importing.read.typed_columns import Int64s
from adalog.store.checkpoint.fold_memory import PAIR_BYTES, pairs_in
from adalog.store.files.segment import Segment
from adalog.store.log.imported import LoggedFile, write_logged
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries import fold_pieces
from adalog.store.tries.columns import Columns
from adalog.store.tries.fold_pieces import FoldTarget, Pair, ranges_of, samples_of, within
from adalog.store.tries.signed import among, order_of
from adalog.store.tries.trie import distinct
from adalog.store.values.arrays import Bools
from adalog.store.values.attribute import Attribute


def is_large(job: AttributesJob, attribute: int, snapshot: Snapshot, most: int) -> bool:
    """Whether an attribute would take more than so many bytes of one task."""
    # What goes has no claims, and about one value for each entity.
    values = sum(claimed(job, attribute, chunk) for chunk in job.chunks) + job.removed[1]
    if values == 0:
        return False
    return (values + snapshot.data_of(attribute).relation.fold_size(values)) * PAIR_BYTES > 2 * most


def write_in_ranges(
    runner: ImportRunner, job: AttributesJob, attribute: int, snapshot: Snapshot, most: int
) -> AttributeResult:
    """What `write_attribute` does, by tasks of which none takes much more than so many bytes."""
    size, data = pairs_in(most), snapshot.data_of(attribute)
    sizes = [claimed(job, attribute, chunk) for chunk in job.chunks]
    groups = [tuple(each) for each in _groups(sizes, size)]
    sources = runner.each("sorting values", partial(_sorted, job, attribute, size), groups)
    forward, backward = fold_pieces.sampled(
        data.relation, data.delta.events(0, data.delta.length_at(snapshot.t)), size
    )
    samples = [forward, *(np.array(each.sample, np.int64) for each in sources)]
    # An entity's values are looked at together.
    ranges = ranges_of(samples, size, whole=True)
    [ending] = runner.each("sorting values", partial(_ending, job), [attribute])
    work = partial(_range, job, attribute, size, tuple(each.path for each in sources), ending)
    parts = runner.each("attributes in ranges", work, list(enumerate(ranges)))
    faults = tuple(each.faults for each in parts if each.faults)
    missing, contested = sum(each.missing for each in parts), sum(each.contested for each in parts)
    by_value = ranges_of([backward, *(np.array(each.sample, np.int64) for each in parts)], size)
    paths = tuple((low, each.path) for (low, _), each in zip(ranges, parts, strict=True))
    if job.attributes[attribute].kind.unique is not None and not missing:
        values = [
            tuple(each) for each in ranges_of([np.array(each.sample, np.int64) for each in parts], size, whole=True)
        ]
        taken = runner.each("unique values", partial(_taken, job, attribute, paths), values)
        faults += tuple(path for path, _ in taken if path)
        contested += sum(count for _, count in taken)
    added, retracted = sum(each.added for each in parts), sum(each.retracted for each in parts)
    if faults:
        return AttributeResult(attribute, faults=faults, missing=missing, contested=contested)
    if job.dry or not added + retracted:
        preview = reduce(Preview.plus, (each.preview for each in parts), Preview())
        return AttributeResult(attribute, added=added, retracted=retracted, preview=preview)
    turned = runner.each("values in ranges", partial(_turned, job, attribute, paths), by_value)
    pieces = tuple(each.piece for each in parts if each.piece is not None)
    [base] = runner.each("joining ranges", partial(_joined, job, attribute), [(pieces, tuple(turned))])
    logged = tuple(each.logged for each in parts if each.logged is not None)
    ids = distinct(np.sort(np.concatenate([each.ids for each in parts])))
    return AttributeResult(attribute, (base,), logged, added=added, retracted=retracted, ids=ids)


def _groups(sizes: Sequence[int], size: int) -> Iterator[list[int]]:
    """Chunks with claims, together while they are few."""
    held: list[int] = []
    count = 0
    for number, claims in enumerate(sizes):
        if claims:
            if held and count + claims > size:
                yield held
                held, count = [], 0
            held.append(number)
            count += claims
    if held:
        yield held


class _Sorted(NamedTuple):
    """A file of claims sorted by entity and value, and every so many-th of these."""

    path: str
    sample: list[list[int]]


def _sorted(job: AttributesJob, attribute: int, size: int, chunks: Sequence[int]) -> _Sorted:
    claims, t, added = claims_of(job, attribute, chunks=frozenset(chunks))
    order = order_of(claims.e, claims.v)
    claims = claims.take(order)
    arrays: Arrays = dict(claims._asdict())
    if t is not None and added is not None:
        arrays |= {"t": t[order], "added": added[order]}
    path = write_arrays(job.folder, f"sorted-{attribute}", arrays)
    return _Sorted(path, samples_of(claims.e, claims.v, size).tolist())


def _ending(job: AttributesJob, attribute: int) -> str:
    """A file of the entities of which rows retract what they have."""
    return write_arrays(job.folder, f"ending-{attribute}", {"e": ending_entities(job, attribute)})


class _Part(NamedTuple):
    """What came of a range of entities. path: the claims that hold, the pairs that end, and the events, by value as
    well as by entity. piece: of the new base."""

    path: str
    sample: list[list[int]]
    faults: str = ""
    missing: int = 0
    contested: int = 0
    added: int = 0
    retracted: int = 0
    piece: Segment | None = None
    logged: LoggedFile | None = None
    ids: Int64s = NOTHING
    preview: Preview = Preview()


def _range(
    job: AttributesJob,
    attribute: int,
    size: int,
    sources: Sequence[str],
    ending: str,
    item: tuple[int, tuple[Pair, Pair]],
) -> _Part:
    number, (low, high) = item
    declared, snapshot = job.attributes[attribute], job.database.open()
    claims, gone = settled(_between(sources, low[0], high[0]), many=declared.is_many)
    claims = claims.take(order_of(claims.e, claims.v))
    if not len(gone[0]):
        ends = read_arrays(ending)["e"]
        gone = ending_pairs(job, attribute, snapshot, ends, claims, (low[0], high[0]))
    missing = claims.v == MISSING if declared.is_ref else np.zeros(0, np.bool_)
    if missing.any():
        faults = write_faults(job, attribute, claims.take(missing), {"missing": np.ones(1, np.bool_)})
        return _Part("", [[], []], faults=faults, missing=int(missing.sum()))
    second = second_values(claims, declared)
    faults = ""
    if second.any():
        own = ContestedClaims(claims.take(second), second[second], np.full(int(second.sum()), MISSING, np.int64))
        faults = write_faults(job, attribute, own.claims, own.why(declared))
    e, v, added = events_of(claims, gone, held_by(snapshot, attribute, claims.e), snapshot, declared)
    by_value = order_of(v, e)
    arrays = {"event.e": e[by_value], "event.v": v[by_value], "event.added": added[by_value]}
    if declared.kind.unique is not None:
        turned = claims.take(order_of(claims.v, claims.e))
        arrays |= {f"turned.{name}": column for name, column in turned._asdict().items()}
        arrays |= {f"claim.{name}": column for name, column in claims._asdict().items()}
        arrays |= {"gone.e": gone[0], "gone.v": gone[1]}
        sample = samples_of(turned.v, turned.e, size)
    else:
        sample = samples_of(v[by_value], e[by_value], size)
    count = int(added.sum())
    part = _Part(
        write_arrays(job.folder, f"range-{attribute}", arrays),
        sample.tolist(),
        faults,
        contested=int(second.sum()),
        added=count,
        retracted=len(e) - count,
    )
    if faults:
        return part
    if job.dry:
        codes = codes_of(snapshot, job.blocks)
        return part._replace(preview=preview_of(job, declared, snapshot, codes, claims, (e, v, added)))
    relation, young = snapshot.data_of(attribute).shipped(job.t)
    every = Columns.concat([within(young, low, high), Columns(e, v, np.full(len(e), job.t, np.int64), added)])
    piece = fold_pieces.write_forward(_fold(job, declared), relation, every, low, high, uuid4().hex)
    if not len(e):
        return part._replace(piece=piece)
    codes = codes_of(snapshot, job.blocks)
    logged = write_logged(Path(job.folder), attribute, job.t, (e, v, added), codes, part=number)
    return part._replace(piece=piece, logged=logged, ids=ids_named(declared, (e, v, added), codes))


def _fold(job: AttributesJob, attribute: Attribute) -> FoldTarget:
    return FoldTarget(job.folder, attribute.id, job.t, not attribute.kind.no_history)


def _between(sources: Sequence[str], low: int, high: int) -> TimedClaims:
    """What all sources claim of the entities from `low` to before `high`."""
    parts: list[Claims] = [NO_CLAIMS]
    times: list[tuple[Int64s, Bools] | None] = [None]
    for path in sources:
        arrays = read_arrays(path)
        which = slice(*arrays["e"].searchsorted([low, high]).tolist())
        parts.append(Claims(*(arrays[name][which] for name in Claims._fields)))
        times.append((arrays["t"][which], arrays["added"][which]) if "t" in arrays else None)
    return timed(parts, times)


class _InRanges:
    """What all rows claim, in files by ranges of entities, each with the pair that it begins with."""

    def __init__(self, job: AttributesJob, files: Sequence[tuple[Pair, Arrays]]) -> None:
        self._job = job
        self._files = files
        self._lows = np.array([low[0] for low, _ in files], np.int64)

    def _by_file(self, e: Int64s) -> Iterator[tuple[Arrays, Int64s]]:
        """Files, and which of the entities are theirs."""
        files = np.maximum(self._lows.searchsorted(e, side="right") - 1, 0)
        for number in distinct(np.sort(files)).tolist():
            yield self._files[number][1], np.flatnonzero(files == number)

    def otherwise(self, e: Int64s, v: Int64s) -> Bools:
        found = np.zeros(len(e), np.bool_)
        for arrays, own in self._by_file(e):
            claims = Claims(*(arrays[f"claim.{name}"] for name in Claims._fields))
            found[own] = given_otherwise(self._job, claims, e[own], v[own])
        return found

    def ended(self, e: Int64s, v: Int64s) -> Bools:
        found = np.zeros(len(e), np.bool_)
        for arrays, own in self._by_file(e):
            found[own] = among(e[own], v[own], arrays["gone.e"], arrays["gone.v"])
        return found


def _taken(
    job: AttributesJob, attribute: int, paths: Sequence[tuple[Pair, str]], bounds: tuple[Pair, Pair]
) -> tuple[str, int]:
    """A file of the claims of a range of values that are taken, and how many these are."""
    declared, snapshot = job.attributes[attribute], job.database.open()
    files = [(low, read_arrays(path)) for low, path in paths]
    parts = []
    for _, arrays in files:
        which = slice(*arrays["turned.v"].searchsorted([bounds[0][0], bounds[1][0]]).tolist())
        parts.append(Claims(*(arrays[f"turned.{name}"][which] for name in Claims._fields)))
    claims = Claims(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    if not len(claims.e):
        return "", 0
    claims = claims.take(order_of(claims.e, claims.v))
    others = _InRanges(job, files)
    taken, holder = taken_values(claims, others.ended, others.otherwise, declared, snapshot)
    if not taken.any():
        return "", 0
    own = ContestedClaims(claims.take(taken), np.zeros(int(taken.sum()), np.bool_), holder[taken])
    return write_faults(job, attribute, own.claims, own.why(declared)), len(own.second)


def _turned(
    job: AttributesJob, attribute: int, paths: Sequence[tuple[Pair, str]], bounds: tuple[Pair, Pair]
) -> Segment:
    """The piece of a range of values."""
    declared, snapshot = job.attributes[attribute], job.database.open()
    relation, young = snapshot.data_of(attribute).shipped(job.t)
    events = [within(young, *bounds, inverse=True)]
    for _, path in paths:
        arrays = read_arrays(path)
        values = arrays["event.v"]
        # The first value and the last one may be cut.
        which = slice(int(values.searchsorted(bounds[0][0])), int(values.searchsorted(bounds[1][0], side="right")))
        e, v, added = (arrays[f"event.{name}"][which] for name in ("e", "v", "added"))
        events.append(within(Columns(e, v, np.full(len(e), job.t, np.int64), added), *bounds, inverse=True))
    return fold_pieces.write_backward(_fold(job, declared), relation, Columns.concat(events), *bounds, uuid4().hex)


def _joined(job: AttributesJob, attribute: int, pieces: tuple[Sequence[Segment], Sequence[Segment]]) -> Segment:
    fold = _fold(job, job.attributes[attribute])
    return fold_pieces.join_pieces(fold, *pieces, job.t, lambda: codes_of(job.database.open(), job.blocks))
