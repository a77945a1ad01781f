"""What a dry run says of an attribute, with samples, and of rejected rows by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from adalog.cluster.array_files import read_arrays
from adalog.datalog.edn.writer import write
from adalog.pipeline.importing.decide.claims import AttributesJob, Claims
from adalog.pipeline.importing.decide.keys import ChunkKeys
from adalog.pipeline.importing.read.chunks import read_rejects
from adalog.pipeline.importing.read.ids import IDS
from adalog.pipeline.importing.read.typed_columns import Int64s
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.arrays import Bools
from adalog.store.values.attribute import Attribute
from adalog.store.values.codes import Codes

# Letters of a value in a sample.
_MOST: Final = 40


class Preview(NamedTuple):
    """changed: entities that get another value of a cardinality-one attribute. samples: an entity of each kind."""

    changed: int = 0
    samples: tuple[str, ...] = ()

    def plus(self, other: Preview) -> Preview:
        """Of two parts of an attribute."""
        return Preview(self.changed + other.changed, self.samples or other.samples)


def preview_of(
    job: AttributesJob,
    attribute: Attribute,
    snapshot: Snapshot,
    codes: Codes,
    claims: Claims,
    events: tuple[Int64s, Int64s, Bools],
) -> Preview:
    """What the events of an attribute come to. claims: in order; those that the events stem from."""
    e, v, added = events
    both = e[:0] if attribute.is_many else np.intersect1d(e[added], e[~added])
    names = _Names(job, attribute, snapshot, codes, claims)
    samples: list[str] = []
    for sign, which in (("+", added & ~np.isin(e, both)), ("-", ~added & ~np.isin(e, both))):
        first = np.flatnonzero(which)[:1].tolist()
        samples += [f"{names.entity(int(e[at]), int(v[at]))} {sign} {names.value(int(v[at]))}" for at in first]
    for entity in both[:1].tolist():
        old, new = (int(v[(e == entity) & side][0]) for side in (~added, added))
        samples.append(f"{names.entity(entity, new)}: {names.value(old)} -> {names.value(new)}")
    return Preview(len(both), tuple(samples))


class _Names:
    """Texts for entities and values."""

    def __init__(
        self, job: AttributesJob, attribute: Attribute, snapshot: Snapshot, codes: Codes, claims: Claims
    ) -> None:
        self._job = job
        self._attribute = attribute
        self._snapshot = snapshot
        self._codes = codes
        self._claims = claims

    def value(self, code: int) -> str:
        return self._known(code) if self._attribute.is_ref else self._text(code)

    def entity(self, entity: int, value: int) -> str:
        """What names an entity to readers: its key. value: of the attribute."""
        if self._attribute.id in self._job.identities:
            return self._text(value)
        if entity < self._job.numbering.first_id:
            return self._known(entity)
        at = int(self._claims.e.searchsorted(entity))
        if at == len(self._claims.e) or self._claims.e[at] != entity:
            return "a new entity"
        key = self._key(int(self._claims.chunk[at]), int(self._claims.row[at]))
        column = self._job.sources[self._job.chunks[int(self._claims.chunk[at])].order[0]][
            int(self._claims.column[at])
        ]
        return f"in {key}" if column.outer else key

    def _known(self, entity: int) -> str:
        """An entity of the database by its identity, if it has one."""
        if entity >= self._job.numbering.first_id:
            return "a new entity"
        for identity in self._job.identities:
            if identity != IDS and self._snapshot.has_data(identity):
                values = self._snapshot.trie(identity, inverse=False).row(entity)
                if len(values):
                    return self._text(int(values[0]))
        return f"entity {entity}"

    def _key(self, number: int, row: int) -> str:
        """The key of the entity of a row."""
        chunk = self._job.chunks[number]
        if self._job.sources[chunk.order[0]][0].attribute == IDS:
            return "a new entity"
        values, keys = read_arrays(chunk.values_path), read_arrays(chunk.keys_path)
        buckets = [read_arrays(bucket.path) for bucket in self._job.numbering.buckets]
        names = ChunkKeys(number, values, keys, self._job.numbering, buckets)
        for name in [name for name in values if name.startswith("0.") and name.endswith(".rows")]:
            at = np.flatnonzero(values[name] == row)
            if len(at):
                domain = int(name.split(".")[1])
                return self._text(int(names.codes(domain)[values[f"0.{domain}.values"][at[0]]]))
        return "a new entity"

    def _text(self, code: int) -> str:
        text = write(self._codes.decode(code))
        return text if len(text) <= _MOST else f"{text[:_MOST]}..."


def rejected_by_column(item: tuple[int, Sequence[str]]) -> list[tuple[int, int]]:
    """How many rows of a chunk were rejected for each of so many columns, and why the first one was."""
    count, paths = item
    rejects = read_rejects(paths)
    counts = np.bincount(rejects.columns, minlength=count).tolist()
    columns, first = np.unique(rejects.columns, return_index=True)
    reasons = dict(zip(columns.tolist(), rejects.reasons[first].tolist(), strict=True))
    return [(own, reasons.get(column, 0)) for column, own in enumerate(counts)]
