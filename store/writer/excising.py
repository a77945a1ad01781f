"""What an excision comes to before it is appended: what is left in memory, and the payloads of the log.

On the writer's thread, once the excision's own datoms were applied.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from adalog.datalog.diagnostics import Diagnostic, Suspicion
from adalog.datalog.errors import unavailable
from adalog.store.excision.ended_datoms import EndedDatoms
from adalog.store.excision.logged_past import LoggedPast, once_forgetful
from adalog.store.excision.redaction import Redaction
from adalog.store.excision.remainder import Remainder, has_values
from adalog.store.excision.rewriting import ReplacedEntry, Rewriting
from adalog.store.files.packing import pack
from adalog.store.files.segment import Segment
from adalog.store.log.entry import LogEntry
from adalog.store.log.log import Log
from adalog.store.log.reader import MOST_PARTS
from adalog.store.state.head import Head
from adalog.store.tries.trie import distinct
from adalog.store.values import bootstrap, layout
from adalog.store.values.arrays import Int64s
from adalog.store.values.changes import Excision, Scope
from adalog.store.values.excised.placeholders import new_seed, runs_of

_NOTHING: Final = (
    "nothing was excised: what the transaction names has no datoms, at any moment; look up the entity's id, as in "
    '[:find ?e :where [?e :person/email "ada@example.org"]], and excise that'
)
# Later than any transaction.
_NEVER: Final = np.int64(1 << 60)


class AloneError(Exception):
    """An excision that is not the first of a group, which has to be one of its own."""


@dataclass(frozen=True, eq=False)
class PlannedExcision:
    """remainders: by id, of the attributes that lose datoms. replaces: the rewritten entries of the log.
    made, outdated: files that these name and did not name before, and the other way round."""

    excision: Excision
    remainders: Mapping[int, Remainder]
    replaces: Sequence[LogEntry]
    made: Sequence[Segment]
    outdated: Sequence[Segment]

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """A warning if nothing of what a transaction names was there."""
        is_empty = not self.excision.count and not self.replaces and not self.excision.is_retention
        return (Diagnostic(Suspicion.NOTHING_EXCISED, _NOTHING),) if is_empty else ()

    def remove_outdated(self) -> None:
        """Removes files of imports that the log does not name any more. What is left goes when the folder is opened
        again."""
        for each in self.outdated:
            with suppress(OSError):
                Path(each.path).unlink(missing_ok=True)


def planned(head: Head, log: Log, scopes: Sequence[Scope], past: LoggedPast | None = None) -> PlannedExcision:
    """Plans an excision and changes nothing yet. past: the part of the log that a retention read beside the writer;
    planning reads the rest into it. Raises BACKEND_UNAVAILABLE and INTERNAL if the log cannot be read."""
    excision = Excision(head.t, scopes, previous=head.excised)
    remainders = head.remainders(excision)
    try:
        if excision.is_retention:
            excision, replaced = _retained(head, log, excision, remainders, past)
        else:
            excision, replaced = _excised(head, log, excision, remainders)
    except OSError as error:
        raise unavailable(f"nothing was excised: a file of an import could not be written ({error})") from error
    return PlannedExcision(
        excision,
        remainders,
        [each.entry for each in replaced],
        [file for each in replaced for file in each.made],
        [file for each in replaced for file in each.outdated],
    )


def _excised(
    head: Head, log: Log, excision: Excision, remainders: Mapping[int, Remainder]
) -> tuple[Excision, list[ReplacedEntry]]:
    forgetful = once_forgetful(head.live(bootstrap.NO_HISTORY), head.t)
    redaction = Redaction(excision, head.schema, head.codes, forgetful)
    touched = {t for each in remainders.values() for t in each.times.tolist()}
    parts = _named(excision, forgetful)
    for entry in log.entries_of(_times(log, excision, touched, parts)):
        logged = log.decoded(entry) if parts is None or entry.t in touched else log.decoded_with(entry, parts)
        if logged is not None:
            redaction.look(entry, logged)
    gone = redaction.gone.union(*(each.values.tolist() for each in remainders.values()))
    unused = _unused(head, remainders, np.array(sorted(gone - redaction.used), np.int64))
    excision, renamed = _renaming(head, replace(excision, count=_count(remainders)), unused)
    rewriting = Rewriting(excision, head.schema, head.codes, renamed, log.files_folder)
    return excision, list(redaction.replaced(rewriting))


def _retained(
    head: Head, log: Log, excision: Excision, remainders: Mapping[int, Remainder], past: LoggedPast | None
) -> tuple[Excision, list[ReplacedEntry]]:
    """The same for a retention: what goes is known before the first entry is rewritten."""
    forgetful = once_forgetful(head.live(bootstrap.NO_HISTORY), head.t)
    points = {a: excision.ended_before(a) for a in forgetful}
    if past is not None and past.suits(forgetful, points, excision.previous):
        logged = past
    else:
        logged = LoggedPast(forgetful, points, head.codes, excision.previous)
    logged.read(log, excision.t - 1)
    # Of attributes without history the log has all that memory has, and more.
    every = {a: each.ended for a, each in remainders.items()} | logged.ended()
    gone = distinct(np.sort(np.concatenate([np.empty(0, np.int64), *(each.v for each in every.values())])))
    unused = _unused(head, remainders, np.setdiff1d(gone, logged.used(), assume_unique=True))
    count = 2 * sum(len(each.e) for each in every.values())
    excision, renamed = _renaming(head, replace(excision, count=count), unused)
    rewriting = Rewriting(excision, head.schema, head.codes, renamed, log.files_folder, _makers(head))
    ended, made = EndedDatoms(excision, every, head.codes), list[ReplacedEntry]()
    times = {t for each in every.values() for own in (each.added, each.retracted) for t in own.tolist()}
    # Slots of earlier excisions may have numbers of values that go now.
    times.update(log.rewritten() if renamed else ())
    for entry in log.entries_of(sorted(t for t in times if 0 < t < excision.t)):
        left = rewriting.replaced(ended.row(entry, log.decoded(entry)), lambda left, _: left.encoded())
        made += [] if left is None else [left]
    return excision, made


def _renaming(head: Head, excision: Excision, unused: Int64s) -> tuple[Excision, set[tuple[int, int]]]:
    """The excision with placeholders for values that nothing has any more, and these by tag and number."""
    tags, numbers = layout.tags_of(unused), unused & np.int64(layout.PAYLOAD_MASK)
    runs = [run for tag in np.unique(tags).tolist() for run in runs_of(tag, numbers[tags == tag].tolist())]
    seed = new_seed(runs, head.codes.dictionaries())
    found = set(zip(tags.tolist(), numbers.tolist(), strict=True))
    return replace(excision, renamed=runs, seed=seed), found


def _makers(head: Head) -> dict[int, Int64s]:
    """By tag and number, a transaction by which the value had got the number: the first one in which anything has a
    value of this or a larger number, as numbers are given in order."""
    made = {tag: np.full(len(own), _NEVER) for tag, own in head.codes.dictionaries().items()}
    for id_, live in head.data.items():
        attribute = head.schema.get(id_)
        if attribute is not None and attribute.is_ref:
            continue
        closed = live.relation.base.closed
        base = live.relation.base.current()
        above = [*(run.events() for run in live.relation.runs), live.delta.events(0, len(live.delta))]
        for v, t in ((base.v, base.t), (closed.v, closed.added), *((each.v, each.t) for each in above)):
            tags = layout.tags_of(v)
            for tag in np.flatnonzero(np.bincount(tags, minlength=1)).tolist():
                if tag in made:
                    own = tags == tag
                    np.minimum.at(made[tag], v[own] & np.int64(layout.PAYLOAD_MASK), t[own])
    return {tag: np.minimum.accumulate(own[::-1])[::-1] for tag, own in made.items()}


def _named(excision: Excision, forgetful: Collection[int]) -> list[bytes] | None:
    """What the log's entries have in them, packed, of which something may go though memory does not have it: the
    entities that go as a whole, which may have had tempids, and the forgetful attributes. None for many."""
    named = [scope.entities for scope in excision.scopes if scope.attributes is None and scope.entities is not None]
    entities: Int64s = np.unique(np.concatenate(named)) if named else np.empty(0, np.int64)
    ids = [*entities.tolist(), *forgetful]
    return None if len(ids) > MOST_PARTS else [pack(id_) for id_ in ids]


def _times(log: Log, excision: Excision, touched: Set[int], parts: Sequence[bytes] | None) -> Sequence[int]:
    """The transactions, in order, of which something may go: those that memory knows of, which are touched, those
    that have one of the parts, and all that are not written plainly, with slots of earlier excisions, too."""
    if parts is None:
        return range(1, excision.t)
    return sorted(t for t in touched | set(log.holding(parts)) if 0 < t < excision.t)


def _count(remainders: Mapping[int, Remainder]) -> int:
    return sum(each.count for each in remainders.values())


def _unused(head: Head, remainders: Mapping[int, Remainder], gone: Int64s) -> Int64s:
    """Of the codes of values that went and that the log does not have, those that memory does not have either."""
    found = gone[np.isin(layout.tags_of(gone), layout.DICTIONARY_TAGS)]
    for id_, live in head.data.items():
        attribute = head.schema.get(id_)
        if not len(found) or (attribute is not None and attribute.is_ref):
            continue
        left = remainders.get(id_)
        found = found[~has_values(live if left is None else left.relation, found)]
    return found
