"""What an excision comes to before it is appended: what is left in memory, and the payloads of the log.

On the writer's thread, once the excision's own datoms were applied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from adalog.datalog.errors import unavailable
from adalog.store.excision.placeholders import placeholder
from adalog.store.excision.redaction import Redaction
from adalog.store.excision.remainder import Remainder, has_values
from adalog.store.files.packing import pack
from adalog.store.files.segment import Segment
from adalog.store.log.entry import LogEntry
from adalog.store.log.log import Log
from adalog.store.state.head import Head
from adalog.store.values import bootstrap, layout
from adalog.store.values.arrays import Int64s
from adalog.store.values.changes import Excision, Scope

# Entities that are looked for in the log by their bytes. With more of them everything is read.
_FEW: Final = 16


class AloneError(Exception):
    """An excision that is not the first of a group, which has to be one of its own."""


@dataclass(frozen=True, eq=False)
class PlannedExcision:
    """remainders: what is left of each attribute of which something goes. replaces: the log's entries as they will
    be. made, outdated: files that these name and did not name before, and the other way round."""

    excision: Excision
    remainders: Mapping[int, Remainder]
    replaces: Sequence[LogEntry]
    made: Sequence[Segment]
    outdated: Sequence[Segment]

    def remove_outdated(self) -> None:
        """Removes files of imports that the log does not name any more. What is left goes when the folder is opened
        again."""
        for each in self.outdated:
            with suppress(OSError):
                Path(each.path).unlink(missing_ok=True)


def planned(head: Head, log: Log, scopes: Sequence[Scope]) -> PlannedExcision:
    """What is to be done, of which nothing is done yet. Raises BACKEND_UNAVAILABLE and INTERNAL where the log
    cannot be read."""
    excision = Excision(head.t, scopes, previous=head.excised)
    remainders = head.remainders(excision)
    # Of these the log has more than memory.
    declared = head.live(bootstrap.NO_HISTORY)
    forgetful = frozenset(declared.events(-1, head.t).e.tolist())
    redaction = Redaction(excision, head.schema, head.codes, forgetful)
    for entry in log.entries_of(_times(log, excision, remainders, everything=bool(forgetful))):
        redaction.look(entry, log.decoded(entry))
    unused = _unused(head, remainders, redaction)
    dictionaries = head.codes.dictionaries()
    renamed = {
        (layout.tag_of(code), code & layout.PAYLOAD_MASK): placeholder(
            layout.tag_of(code), dictionaries[layout.tag_of(code)]
        )
        for code in unused.tolist()
    }
    excision = replace(excision, renamed=renamed, count=sum(each.count for each in remainders.values()))
    try:
        replaced = list(redaction.replaced(renamed, log.files_folder))
    except OSError as error:
        raise unavailable(f"nothing was excised: a file of an import could not be written ({error})") from error
    return PlannedExcision(
        excision,
        remainders,
        [each.entry for each in replaced],
        [file for each in replaced for file in each.made],
        [file for each in replaced for file in each.outdated],
    )


def _times(log: Log, excision: Excision, remainders: Mapping[int, Remainder], *, everything: bool) -> Sequence[int]:
    """The transactions of which something may go, in order."""
    named = [scope.entities for scope in excision.scopes if scope.attributes is None and scope.entities is not None]
    entities: Int64s = np.unique(np.concatenate(named)) if named else np.empty(0, np.int64)
    if everything or len(entities) > _FEW:
        return range(1, excision.t)
    found = {t for each in remainders.values() for t in each.times.tolist()}
    # Tempids of an entity that it was there for already, and slots of earlier excisions.
    found.update(log.holding([pack(entity) for entity in entities.tolist()]))
    return sorted(t for t in found if 0 < t < excision.t)


def _unused(head: Head, remainders: Mapping[int, Remainder], redaction: Redaction) -> Int64s:
    """The codes of values that went and that nothing has any more."""
    gone = redaction.gone.difference(redaction.used)
    for remainder in remainders.values():
        gone.update(set(remainder.values.tolist()) - redaction.used)
    found = np.array(sorted(gone), np.int64)
    found = found[np.isin(layout.tags_of(found), layout.DICTIONARY_TAGS)]
    for id_, live in head.data.items():
        attribute = head.schema.get(id_)
        if not len(found) or (attribute is not None and attribute.is_ref):
            continue
        left = remainders.get(id_)
        found = found[~has_values(live if left is None else left.relation, found)]
    return found
