"""The arguments of a view's feeds as relations of codes, kept from step to step.

Feeds with the same owner, the value of a scalar argument, have lists in common, whose rows begin with the owner.

A value that the database does not know has a code of the view's own until the database learns it, which is noticed
by what was added to the dictionaries since.

Relations are put together again, with their sorted levels and the joins that read them, only when a step has to: it
has a changed row that a feed asks for which came since, or many feeds came or went. Until then `relations` lack the
rows of such feeds, and have those of feeds that went, whose heads are to be left out.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from adalog.executor.facts.facts import DerivedRelation, FactRows
from adalog.executor.join.batch import Batch, Column
from adalog.executor.question.inputs import Inputs
from adalog.planner.feeds import FEED, SCALARS, FedBody
from adalog.store.tries.trie import among, distinct
from adalog.store.values.codes import Codes, Scratch
from adalog.store.values.keys import spell
from adalog.store.values.layout import code_of

# Feeds that came or went, up to which relations need not be put together again.
_FEW_FEEDS: Final = 128
# Values that are looked up in plain Python.
_FEW_VALUES: Final = 64


@dataclass
class _Rows:
    """The rows of one relation, the number of their feed or their owner first. `columns`: all of them, but for the
    `young` ones, which came since; `parts`: the same for joins. `came`, `went`: the rows since these were last
    taken, if it `follows`."""

    width: int
    follows: bool
    young: list[array[int]] = field(init=False)
    dropped: set[int] = field(default_factory=set)
    columns: FactRows | None = None
    parts: DerivedRelation | None = None
    came: list[Sequence[Column]] = field(default_factory=list)
    went: list[Sequence[Column]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.young = self._none()

    def _none(self) -> list[array[int]]:
        return [array("q") for _ in range(self.width)]

    def add(self, feed: int, columns: Sequence[Column], size: int) -> None:
        if feed in self.dropped:
            self.settled()
        numbers, *others = self.young
        numbers.extend((feed,) * size)
        for young, column in zip(others, columns, strict=True):
            young.frombytes(column.tobytes())

    def drop(self, feed: int) -> None:
        self.dropped.add(feed)

    def asks_for(self, place: int, values: Column) -> bool:
        """Whether a row that came since the rows were put together has one of some values in a column."""
        young = self.young[place]
        if len(values) <= _FEW_VALUES:
            return bool(young) and not set(young).isdisjoint(values.tolist())
        return bool(among(values, distinct(np.array(young, np.int64))).any())

    def latest(self) -> FactRows:
        """The rows as they were last put together."""
        if self.columns is None:
            self.columns = FactRows(_joined([], self.width))
        return self.columns

    def settled(self) -> FactRows:
        known = self.columns
        if known is not None and not self.young[0] and not self.dropped:
            return known
        young = [np.array(column, np.int64) for column in self.young]
        whole = young if known is None else _joined([known.columns, young], self.width)
        if self.follows and len(young[0]):
            self.came.append(young)
        if self.dropped:
            gone = np.isin(whole[0], np.array(sorted(self.dropped), np.int64))
            if self.follows:
                self.went.append([column[gone] for column in whole])
                came = _joined(self.came, self.width)
                stays = ~np.isin(came[0], np.array(sorted(self.dropped), np.int64))
                self.came = [[column[stays] for column in came]]
            whole = [column[~gone] for column in whole]
        self.young, self.dropped = self._none(), set()
        self.columns, self.parts = FactRows(whole), None
        return self.columns

    def read(self) -> DerivedRelation:
        """The same as joins read them: the same object until they are put together again."""
        if self.parts is None:
            self.parts = DerivedRelation.of([self.latest()])
        return self.parts

    def taken(self) -> tuple[list[Column], list[Column]]:
        """(the rows that came, the rows that went) since the last time; no columns where there are none of both."""
        self.settled()
        if not self.came and not self.went:
            return [], []
        found = _joined(self.came, self.width), _joined(self.went, self.width)
        self.came, self.went = [], []
        return found

    def recode(self, learned: dict[int, int]) -> None:
        columns = self.settled()
        self.columns, self.parts = FactRows(_recoded_rows(columns.columns, learned)), None
        self.came = [_recoded_rows(part, learned) for part in self.came]
        self.went = [_recoded_rows(part, learned) for part in self.went]

    @property
    def size(self) -> int:
        """How many rows there are, with those that were dropped since they were last put together."""
        return len(self.young[0]) + (0 if self.columns is None else len(self.columns))

    def nbytes(self) -> int:
        # As much again for the sorted levels.
        return 2 * self.size * self.width * np.dtype(np.int64).itemsize


def _joined(parts: Sequence[Sequence[Column]], width: int) -> list[Column]:
    if not parts:
        return [np.empty(0, np.int64) for _ in range(width)]
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def _recoded_rows(columns: Sequence[Column], learned: dict[int, int]) -> list[Column]:
    return [columns[0], *(recoded(column, learned) for column in columns[1:])]


def recoded(column: Column, learned: dict[int, int]) -> Column:
    made = column.copy()
    for own, code in learned.items():
        made[column == own] = code
    return made


class Arguments:
    """`values`: the codes of what the database does not know."""

    def __init__(
        self, fed: FedBody, widths: dict[str, int], owned: Mapping[str, str], codes: Codes, *, follows: bool
    ) -> None:
        """`widths`: of the relations of collections, FEED left out, and of owned lists. `owned`: these with the
        variable of their owners. `follows`: what came and went is taken."""
        self.values = Scratch(codes)
        self._codes = codes
        self._scalars = fed.scalars
        self._unknown: dict[tuple[int, bytes], int] = {}
        # How far the dictionaries were looked through for values that were unknown.
        self._seen: dict[int, int] = {}
        self._rows = {name: _Rows(widths[name] + 1, follows) for name in fed.collections}
        if fed.scalars is not None:
            self._rows[SCALARS] = _Rows(len(fed.scalars) + 1, follows)
        self._owned = {name: owner for name, owner in owned.items() if owner in (fed.scalars or ())}
        self._rows |= {name: _Rows(widths[name], follows) for name in self._owned}
        # By feed and list.
        self._owners: dict[int, dict[str, int]] = {}
        # Feeds that came and went since the relations were put together: those that went are among their rows.
        self._came: set[int] = set()
        self._went: set[int] = set()
        self._owning: Counter[tuple[str, int]] = Counter()

    def add(self, feed: int, inputs: Inputs, given: Scratch) -> None:
        """Takes the arguments of a feed; `given` has the codes of those that the database does not know."""
        if feed in self._went:
            self.settle()
        if self._rows:
            self._came.add(feed)
        if self._scalars is not None and inputs.start is not None:
            columns = [self._own(inputs.start.columns[name], given) for name in self._scalars]
            self._rows[SCALARS].add(feed, columns, 1)
            self._own_lists(feed, inputs, given)
        for name, rows in self._rows.items():
            if name != SCALARS and name not in self._owned:
                rows.add(feed, *self._distinct(inputs.relations[name], given))

    def _own_lists(self, feed: int, inputs: Inputs, given: Scratch) -> None:
        assert inputs.start is not None
        for name, variable in self._owned.items():
            owner = int(inputs.start.columns[variable][0])
            self._owners.setdefault(feed, {})[name] = owner
            self._owning[name, owner] += 1
            columns = inputs.relations[name]
            if self._owning[name, owner] == 1 and columns and len(columns[0]):
                assert (columns[0] == owner).all(), "a list has the rows of its owner"
                self._rows[name].add(owner, *self._distinct(columns[1:], given))

    def _distinct(self, columns: Sequence[Column], given: Scratch) -> tuple[list[Column], int]:
        """Each row once, as of everything that is joined; and how many there are."""
        numbered = {str(i): self._own(column, given) for i, column in enumerate(columns)}
        distinct = Batch(len(columns[0]), numbered).distinct()
        return list(distinct.columns.values()), distinct.size

    def drop(self, feed: int) -> None:
        if self._rows:
            self._came.discard(feed)
            self._went.add(feed)
        for name, rows in self._rows.items():
            if name not in self._owned:
                rows.drop(feed)
        for name, owner in self._owners.pop(feed, {}).items():
            self._owning[name, owner] -= 1
            if not self._owning[name, owner]:
                del self._owning[name, owner]
                self._rows[name].drop(owner)

    def learn(self) -> dict[int, int]:
        """Gives values that the database has learnt since its codes: by the own ones that they had."""
        if not self._unknown:
            return {}
        learned: dict[int, int] = {}
        for tag, dictionary in self._codes.dictionaries().items():
            size = len(dictionary)
            for number in range(self._seen[tag], size):
                own = self._unknown.pop((tag, dictionary.key(number)), None)
                if own is not None:
                    learned[own] = code_of(tag, number)
            self._seen[tag] = size
        if learned:
            self.settle()
            self.values.learn(learned)
            for rows in self._rows.values():
                rows.recode(learned)
        return learned

    def relations(self) -> dict[str, DerivedRelation]:
        """The relations as they were last put together."""
        return {name: rows.read() for name, rows in self._rows.items()}

    def settle(self) -> None:
        """Puts the relations together: of the feeds that there are."""
        if self._came or self._went:
            for rows in self._rows.values():
                rows.settled()
            self._came, self._went = set(), set()

    def settle_if_many(self) -> bool:
        """The same where many feeds came or went since the last time, and whether they did."""
        are_many = len(self._came) + len(self._went) > _FEW_FEEDS
        if are_many:
            self.settle()
        return are_many

    def asks_for(self, probes: Sequence[tuple[str, int, str]], batch: Batch) -> bool:
        """Whether a feed that came since the relations were put together may ask for rows of a batch, by all
        (relation, column, variable) that it has to be found by."""
        if not self._came:
            return False
        return all(self._rows[name].asks_for(place, batch.columns[variable]) for name, place, variable in probes)

    def present(self, heads: Batch) -> Batch:
        """Heads without those of feeds that went."""
        if not self._went or not heads.size:
            return heads
        if heads.size <= _FEW_VALUES and self._went.isdisjoint(heads.columns[FEED].tolist()):
            return heads
        return heads.keep(~among(heads.columns[FEED], np.array(sorted(self._went), np.int64)))

    def asked_for(self, name: str, place: int, batch: Batch, variable: str) -> Batch:
        """The rows of a batch whose value of a variable some feed has in a column of a relation, as these were last
        put together."""
        known, values = self._rows[name].latest().levels((place,)).values[0], batch.columns[variable]
        if batch.size == 1:
            at = known.searchsorted(values[0])
            return batch if at < len(known) and known[at] == values[0] else Batch(0, {})
        return batch.keep(among(values, known)) if batch.size else batch

    def distinct(self, name: str, place: int, most: int) -> list[int] | None:
        """The distinct codes in a column of a relation; None where there are more than `most`."""
        rows = self._rows[name]
        if rows.size > most:
            return None
        self.settle()
        codes: list[int] = rows.latest().levels((place,)).values[0].tolist()
        return codes

    def columns(self) -> dict[str, list[Column]]:
        self.settle()
        return {name: list(rows.latest().columns) for name, rows in self._rows.items()}

    def widths(self) -> dict[str, int]:
        return {name: rows.width for name, rows in self._rows.items()}

    def taken(self) -> tuple[dict[str, list[Column]], dict[str, list[Column]]]:
        """(the rows that came, the rows that went) since the last time, by the relations that they are of."""
        self.settle()
        found = {name: rows.taken() for name, rows in self._rows.items()}
        came = {name: rows for name, (rows, _) in found.items() if rows and len(rows[0])}
        return came, {name: rows for name, (_, rows) in found.items() if rows and len(rows[0])}

    def sizes(self) -> dict[str, int]:
        """About how many rows the relations have."""
        return {name: rows.size for name, rows in self._rows.items()}

    def own(self, columns: Sequence[Column], given: Scratch) -> list[Column]:
        """Columns of another's codes with the view's for what the database does not know."""
        return [self._own(column, given) for column in columns]

    def nbytes(self) -> int:
        return sum(rows.nbytes() for rows in self._rows.values()) + 300 * len(self._unknown)

    def _own(self, column: Column, given: Scratch) -> Column:
        if not given.made():
            return column
        places = np.flatnonzero(Scratch.made_numbers(column) >= 0)
        if not len(places):
            return column
        made = column.copy()
        if not self._unknown:
            # Before a value is looked up: what the database learns from now on is noticed.
            self._seen = {tag: len(dictionary) for tag, dictionary in self._codes.dictionaries().items()}
        for place in places.tolist():
            value = given.decode(int(column[place]))
            code = self.values.intern(value)
            tag, key = spell(value)
            assert isinstance(key, bytes)
            if Scratch.made_numbers(np.array([code]))[0] >= 0:
                self._unknown[tag, key] = code
            made[place] = code
        return made
