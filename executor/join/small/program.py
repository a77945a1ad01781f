"""From the description of a join to the program of a small one: as many levels as the kernel knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from adalog.executor.join.batch import Column
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.level import Level
from adalog.executor.join.negation import NotExtender
from adalog.executor.join.protocol import START, Extender
from adalog.executor.join.small.parts import Encoded, Grouped, InnerRecord, Part, Placed, Slots
from adalog.executor.kernels.small_join import (
    ASKED,
    COUNTED,
    HEAD,
    MERGED,
    MOST_INNER,
    MOST_PARTS,
    MOST_RECORDS,
    PAIRS,
    SLOTS,
    WEIGHTED,
)

Names = tuple[tuple[str, int], ...]
"""Columns and their slots."""


@dataclass(slots=True)
class Program:
    """`numbers`: as of `kernels.small_join`. `places`: the words of them that each run fills in; `derived`: those
    that name sorts of `kernels.small_rules`, with the numbers of these. `names`: the columns before the first
    record, and after each; `widths`: up to which slot these are. `checks_first`: whether the first record binds
    nothing. `last`: the first word of the last record."""

    names: list[Names]
    widths: list[int] = field(default_factory=list)
    checks_first: bool = False
    words: list[int] = field(default_factory=list)
    places: list[tuple[int, Placed]] = field(default_factory=list)
    derived: list[tuple[int, int]] = field(default_factory=list)
    last: int = 0
    numbers: Column = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def records(self) -> int:
        return len(self.names) - 1

    @property
    def values_slot(self) -> int:
        """The slot of the last record, if it does nothing but read the values of a key, else -1."""
        if not self.records:
            return -1
        _, slot, mode, ranges, checks, kept = self.words[self.last : self.last + HEAD]
        is_plain = ranges == 1 and checks == 0 and not mode & (COUNTED | ASKED)
        return slot if is_plain and self.words[self.last + HEAD + kept] == PAIRS else -1

    def record(self, slot: int, mode: int, ranges: Sequence[Part], checks: Sequence[Grouped], kept: Slots) -> None:
        """Adds a record. `kept`: the columns after it."""
        self.last = len(self.words)
        self._write(slot, mode, ranges, checks, tuple(kept.values()))
        self.names.append(tuple(kept.items()))

    def _write(
        self, slot: int, mode: int, ranges: Sequence[Part], checks: Sequence[Grouped], kept: Sequence[int] = ()
    ) -> None:
        words, first = self.words, len(self.words)
        words += (0, slot, mode, len(ranges), len(checks), len(kept), *kept)
        written: list[tuple[int, Part]] = []
        for part, group in (*((part, 0) for part in ranges), *checks):
            if part.placed is not None:
                self.places.append((len(words) + 1, part.placed))
            if part.sort >= 0:
                self.derived.append((len(words) + 1, part.sort))
            written.append((len(words), part))
            words += (part.kind, part.place, part.slot, part.constant, part.value, group)
        for at, part in written:
            if part.order:
                words[at + 2] = len(words)
                words += part.order
            if part.inner:
                words[at + 1] = len(words)
                for record in part.inner:
                    self._write(record.slot, 0, record.ranges, record.checks)
        words[first] = len(words)


def program_of(
    body: Conjunction, levels: Sequence[Level], names: Sequence[str], *, starts: bool, weighted: bool
) -> Program | None:
    """The program of the first of some levels, for batches with columns of these names. starts: what is bound
    already is checked before. None if the kernel does not know the first of them."""
    slots = {name: slot for slot, name in enumerate(names)}
    if len(slots) >= SLOTS:
        return None
    program = Program([tuple(slots.items())])
    if starts:
        checks = _checks((*body.at(START)[0], *body.at(START)[1]), START, slots)
        if checks is None:
            return None
        program.checks_first = bool(checks)
        if checks:
            program.record(-1, 0, (), checks, slots)
    for level in levels:
        full = program.records == MOST_RECORDS
        kept = None if full else _add_level(program, body, level, slots, weighted=weighted)
        if kept is None:
            break
        slots = kept
    if program.records == program.checks_first and levels:
        return None
    program.numbers = np.array(program.words, np.int64)
    program.widths = [1 + max((slot for _, slot in names), default=-1) for names in program.names]
    return program


def _add_level(
    program: Program, body: Conjunction, level: Level, slots: dict[str, int], *, weighted: bool
) -> dict[str, int] | None:
    """Adds a level; `slots` are bound before it. Returns those that are bound after it, None if the kernel does not
    know the level."""
    free = _free_slot(slots)
    if free is None or (level.counted and not weighted):
        return None
    bound = {**slots, level.variable: free}
    parts = _level_parts(body, level.variable, bound)
    if parts is None:
        return None
    narrow, checks = parts
    keep = level.keep
    kept = {name: slot for name, slot in bound.items() if keep is None or name in keep}
    drops = level.variable not in kept
    mode = MERGED * level.merge | WEIGHTED * weighted
    if level.counted:
        mode |= COUNTED
    elif drops and not weighted and not checks:
        mode |= ASKED
    program.record(free, mode, narrow, checks, kept)
    return kept


def _free_slot(slots: Slots) -> int | None:
    taken = set(slots.values())
    return next((slot for slot in range(SLOTS - 1) if slot not in taken), None)


def _level_parts(
    body: Conjunction, variable: str, bound: Slots, *, within: bool = False
) -> tuple[list[Part], list[Grouped]] | None:
    """The ranges and the checks of a level; None if the kernel does not know one of them. within: of a `not`."""
    ranged, others = body.at(variable)
    narrow: list[Part] = []
    wide: list[tuple[Part, bool]] = []
    for extender in ranged:
        part = extender.part(variable, bound) if isinstance(extender, Encoded) else None
        if part is None:
            return None
        if part.is_whole:
            wide.append((part, extender.narrows_next(variable)))
        else:
            narrow.append(part)
    # As in the columnar join, a part that looks for the prefix at the next level is not asked here.
    left = [(part, 0) for part, is_asked_next in wide if not is_asked_next]
    checks = _checks(others, variable, bound, within=within)
    if checks is None or len(narrow) > MOST_PARTS or not (narrow or len(wide) == 1):
        return None
    return (narrow, [*left, *checks]) if narrow else ([wide[0][0]], checks)


def _checks(
    parts: Sequence[Extender], variable: str, slots: Slots, *, within: bool = False
) -> list[Grouped] | None:
    """Parts that only check; None if the kernel does not know one of them."""
    checks: list[Grouped] = []
    for group, extender in enumerate(parts, 1):
        if isinstance(extender, Encoded):
            inside: Sequence[Part | None] = [extender.part(variable, slots)]
            group = 0
        elif isinstance(extender, NotExtender) and extender.body is not None:
            if not extender.levels:
                looked_up = extender.body.parts
                inside = [each.part(START, slots) if isinstance(each, Encoded) else None for each in looked_up]
            elif within:
                return None
            else:
                records = _inner_records(extender.body, extender.levels, extender.shared, slots)
                inside = [None if records is None else Part.join(records)]
        else:
            return None
        for part in inside:
            if part is None:
                return None
            checks.append((part, group))
    return checks


def _inner_records(
    body: Conjunction, levels: Sequence[str], shared: Sequence[str], slots: Slots
) -> list[InnerRecord] | None:
    """The join of a `not`, for prefixes with these slots; None if the kernel does not know it whole."""
    # What its own variables have must be no slot of a prefix.
    taken = dict(slots)
    bound = {name: slots[name] for name in shared}
    started = _checks((*body.at(START)[0], *body.at(START)[1]), START, bound, within=True)
    if started is None:
        return None
    records = [InnerRecord(-1, (), started)] if started else []
    for number, variable in enumerate(levels):
        free = _free_slot(taken)
        if free is None:
            return None
        taken[f"#{number}"] = bound[variable] = free
        parts = _level_parts(body, variable, bound, within=True)
        if parts is None:
            return None
        records.append(InnerRecord(free, *parts))
    return records if len(records) <= MOST_INNER else None
