"""A question kept up to date: what every kind of view offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from adalog.datalog.errors import AdalogError
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.join.batch import Column
from adalog.store.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Change:
    """What a step made of one answer: disjoint sets of rows, not both empty. `order`: the codes of a page's first
    column, in order, where these are others than before. Rows that only change places are no change of the set."""

    added: Result
    removed: Result
    order: Column | None = None


@dataclass(frozen=True, slots=True)
class Interest:
    """Datoms that can touch a view: those of an attribute, by its entity id (None: of any), and where given those
    with this entity and this code of a value. `names`: they give entities the names by which the view knows them,
    and so change its other interests. `learns`: they may bring a value that an argument waits for and that the
    database did not know, which changes its interests likewise."""

    attribute: int | None
    entity: int | None = None
    value: int | None = None
    names: bool = False
    learns: bool = False


class LiveView(Protocol):
    """One question kept up to date, a feed for each tuple of arguments. Used by one thread at a time."""

    @property
    def intact(self) -> bool:
        """Whether it is at a moment. Where not, a step was given up half way, and the view has to be made anew."""

    def interests(self, at: Snapshot) -> Sequence[Interest]:
        """The datoms that can touch it and its feeds until another feed is added, the schema changes, or a datom
        comes that `names` or `learns`."""

    def add(self, feed: int, question: UndatedQuestion, at: Snapshot, cancel: Cancel) -> None:
        """Follows the question's answer from a moment on; makes what has to be kept for that."""

    def drop(self, feed: int) -> None:
        """Frees what is kept for a feed."""

    def step(self, tick: Moments, cancel: Cancel) -> Mapping[int, Change | AdalogError]:
        """What became of each feed's answer between two moments, where it changed or can no longer be told. A view
        is at the first moment: what was written since its last step does not touch it."""

    def nbytes(self) -> int:
        """Bytes kept."""

    def spare(self) -> int:
        """Bytes of these that make the next step quicker, and could be made again for it."""

    def lighten(self) -> None:
        """Lets go of what is spare. Between two steps."""
