"""What ends of an attribute without a row that names the value: of entities that go, and of rows with whole lists.

For the tasks of the third step (`attributes`). What rows assert stays, as in a transaction.
"""

from __future__ import annotations

import numpy as np

from adalog.cluster.array_files import read_arrays
from adalog.pipeline.importing.decide.claims import NOTHING, AttributesJob, Claims, Pairs, entities_of
from adalog.pipeline.importing.decide.keys import ChunkKeys
from adalog.pipeline.importing.read.chunks import ENDING
from adalog.pipeline.importing.read.typed_columns import Int64s
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.signed import among, order_of, run_starts
from adalog.store.tries.trie import distinct


def ending_entities(job: AttributesJob, attribute: int) -> Int64s:
    """The entities, in order, of which rows retract what they have of an attribute."""
    wanted = [
        [
            number
            for number, column in enumerate(columns)
            if column.attribute == attribute and (column.replaces or column.retracts)
        ]
        for columns in job.sources
    ]
    if not any(wanted):
        return NOTHING
    buckets = [read_arrays(bucket.path) for bucket in job.numbering.buckets]
    found = [NOTHING]
    for at, chunk in enumerate(job.chunks):
        source = chunk.order[0]
        if wanted[source]:
            values, keys = read_arrays(chunk.values_path), read_arrays(chunk.keys_path)
            names = ChunkKeys(at, values, keys, job.numbering, buckets)
            for number in wanted[source]:
                outer = job.sources[source][number].outer
                whose = entities_of(chunk, job.sources[source][outer], values, names, number=outer)
                found.append(whose[values[f"{ENDING}{number}"]])
    return distinct(np.concatenate(found))


def ending_pairs(
    job: AttributesJob,
    attribute: int,
    snapshot: Snapshot,
    ending: Int64s,
    claims: Claims,
    bounds: tuple[int, int] | None = None,
) -> Pairs:
    """The pairs of the database that end, in order, apart from those that rows claim. ending: entities, in order.
    claims: in order. bounds: of the entities, from the first to before the second."""
    gone = job.gone()
    if not (len(ending) or len(gone)) or not snapshot.has_data(attribute):
        return NOTHING, NOTHING
    both = distinct(np.concatenate((ending, gone)))
    if bounds is not None:
        both = both[slice(*both.searchsorted(bounds).tolist())]
    e, v = snapshot.trie(attribute, inverse=False).pairs_of(both)
    if len(gone) and job.attributes[attribute].is_ref:
        named, holders = snapshot.trie(attribute, inverse=True).pairs_of(gone)
        if bounds is not None:
            which = (holders >= bounds[0]) & (holders < bounds[1])
            named, holders = named[which], holders[which]
        e, v = np.concatenate((e, holders)), np.concatenate((v, named))
        order = order_of(e, v)
        e, v = e[order], v[order]
        first = run_starts(e, v)
        e, v = e[first], v[first]
    once = run_starts(claims.e, claims.v)
    ends = ~among(e, v, claims.e[once], claims.v[once])
    return e[ends], v[ends]
