"""The fold of one attribute: in this process, or elsewhere if it would take too much memory here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from adalog.datalog.errors import AdalogError
from adalog.store.checkpoint.adoption import unfinished
from adalog.store.checkpoint.fold_memory import PAIR_BYTES, pairs_in
from adalog.store.files.folder import Folder
from adalog.store.files.segment import Segment, synced
from adalog.store.snapshot.manifest import Manifest
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.attribute_data import AttributeData
from adalog.store.tries.columns import Columns
from adalog.store.tries.fold_pieces import FoldTarget
from adalog.store.tries.relation import Relation
from adalog.store.tries.relation_files import load_base

_LOGGER: Final = logging.getLogger("adalog.store")


@dataclass(frozen=True, eq=False)
class FoldJob:
    """An attribute to be folded elsewhere. relation, events: its data; manifest: the same for other processes.
    fold: the target, and the transaction up to which. size: the number of pairs that fit into one process."""

    relation: Relation
    events: Columns
    manifest: Manifest
    fold: FoldTarget
    size: int


Elsewhere = Callable[[FoldJob], Segment]
"""Folds an attribute in other processes, into a base in the job's folder. Raises BACKEND_UNAVAILABLE where there
are none."""


def folded(
    snapshot: Snapshot,
    attribute: int,
    data: AttributeData,
    folder: Folder | None,
    elsewhere: Elsewhere | None,
    most: int,
) -> Relation:
    """An attribute's relation with its delta as of a snapshot folded in. elsewhere: folds into the folder what
    would take more than `most` bytes in this process. Raises OSError."""
    declared = snapshot.attribute(attribute)
    events = data.delta.events(0, data.delta.length_at(snapshot.t))
    keep_history = declared is None or not declared.kind.no_history
    if (
        folder is not None
        and elsewhere is not None
        and not is_unsaved(data.relation)
        and data.relation.fold_size(len(events)) * PAIR_BYTES > most
    ):
        manifest = snapshot.manifest().only({attribute})
        try:
            with unfinished(folder) as path:
                fold = FoldTarget(str(path.resolve()), attribute, snapshot.t, keep_history)
                made = elsewhere(FoldJob(data.relation, events, manifest, fold, pairs_in(most)))
                # Mapped first, and so held before a sweep can take it for garbage.
                base = load_base(made, trusted=True)
                kept = folder.segments / made.file
                Path(made.path).rename(kept)
                synced(folder.segments)
            found = Relation(replace(base, segment=Segment(str(kept), made.checksum)))
            found.prepare()
            return found
        except AdalogError as error:
            _LOGGER.info("an attribute is folded here, not on Spark: %s", error.message)
    found = data.relation.folded(events, snapshot.t, keep_history=keep_history)
    found.prepare()
    return found


def is_unsaved(relation: Relation) -> bool:
    """Whether some of it was made by a bulk load and is in no file yet."""
    return any(part.t > 0 and part.segment is None for part in relation.parts)
