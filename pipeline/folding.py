"""Folds of attributes that are too large for one process: a task for each range of pairs, one that joins them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from adalog.cluster.session import Session
from adalog.cluster.shipping import ShippedSnapshot, shipped_in
from adalog.cluster.tasks import SparkTasks, TaskRunner
from adalog.store.checkpoint.attribute_fold import Elsewhere, FoldJob
from adalog.store.files.segment import Segment
from adalog.store.tries import fold_pieces
from adalog.store.tries.fold_pieces import FoldTarget, Pair
from adalog.store.tries.value_index import INDEXED_TAGS
from adalog.store.values.layout import tag_of


@dataclass(frozen=True, slots=True)
class _Task:
    inverse: bool
    low: Pair
    high: Pair


def fold(runner: TaskRunner, job: FoldJob) -> Segment:
    size = job.size
    forward, backward = fold_pieces.sampled(job.relation, job.events, size)
    tasks = [_Task(False, *each) for each in fold_pieces.ranges_of([forward], size)]
    tasks += [_Task(True, *each) for each in fold_pieces.ranges_of([backward], size)]
    # A fold looks at no value, only at codes, but for the index of values.
    manifest, tags = job.manifest, _tags(job)
    blocks = {tag: own for tag, own in manifest.blocks.items() if tag in tags}
    young = {tag: own for tag, own in manifest.young.items() if tag in tags}
    shipped = shipped_in(Path(job.fold.folder) / "database", replace(manifest, blocks=blocks, young=young))
    pieces = runner.each("folding", partial(_piece, job.fold, shipped), tasks)
    last = max(job.relation.last, int(job.events.t.max(initial=0)))
    forwards = sum(not task.inverse for task in tasks)
    [made] = runner.each(
        "joining", partial(_joined, job.fold, shipped, last), [(pieces[:forwards], pieces[forwards:])]
    )
    return made


def _tags(job: FoldJob) -> set[int]:
    """The tag of an attribute's values, if they may have an index once they are folded."""
    columns = [job.relation.base.ve.keys, *(run.ve.keys for run in job.relation.runs), job.events.v]
    return {tag_of(int(column[0])) for column in columns if len(column)} & INDEXED_TAGS


def folding_on(session: Session) -> Elsewhere:
    """Folds on a session, while it runs."""
    return lambda job: fold(SparkTasks(session.live()), job)


def _piece(fold: FoldTarget, database: ShippedSnapshot, task: _Task) -> Segment:
    relation, young = database.open().data_of(fold.attribute).shipped(fold.t)
    name = uuid4().hex
    events = fold_pieces.within(young, task.low, task.high, inverse=task.inverse)
    write = fold_pieces.write_backward if task.inverse else fold_pieces.write_forward
    return write(fold, relation, events, task.low, task.high, name)


def _joined(
    fold: FoldTarget, database: ShippedSnapshot, last: int, pieces: tuple[Sequence[Segment], Sequence[Segment]]
) -> Segment:
    return fold_pieces.join_pieces(fold, *pieces, last, lambda: database.open().codes)
