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
from adalog.executor.join.small.parts import Encoded, Part, Placed, Slots
from adalog.executor.kernels.small_join import (
    ASKED,
    COUNTED,
    MERGED,
    MOST_PARTS,
    MOST_RECORDS,
    SLOTS,
    WEIGHTED,
)

Names = tuple[tuple[str, int], ...]
"""Columns and their slots."""

Grouped = tuple[Part, int]
"""A check and its group: 0, or the number of a `not` among those of its level."""


@dataclass(slots=True)
class Program:
    """`numbers`: as of `kernels.small_join`. `places`: the words of them that each run fills in. `names`: the
    columns before the first record, and after each; `widths`: up to which slot these are. `checks_first`: whether
    the first record binds nothing."""

    names: list[Names]
    widths: list[int] = field(default_factory=list)
    checks_first: bool = False
    words: list[int] = field(default_factory=list)
    places: list[tuple[int, Placed]] = field(default_factory=list)
    numbers: Column = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def records(self) -> int:
        return len(self.names) - 1

    def record(self, slot: int, mode: int, ranges: Sequence[Part], checks: Sequence[Grouped], kept: Slots) -> None:
        """Adds a record. `kept`: the columns after it."""
        words, first = self.words, len(self.words)
        words += (0, slot, mode, len(ranges), len(checks), len(kept), *kept.values())
        orders: list[tuple[int, Sequence[int]]] = []
        for part, group in (*((part, 0) for part in ranges), *checks):
            if part.placed is not None:
                self.places.append((len(words) + 1, part.placed))
            orders.append((len(words) + 2, part.order))
            words += (part.kind, part.place, part.slot, part.constant, part.value, group)
        for place, order in orders:
            if order:
                words[place] = len(words)
                words += order
        words[first] = len(words)
        self.names.append(tuple(kept.items()))


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
    variable = level.variable
    ranged, others = body.at(variable)
    free = next((slot for slot in range(SLOTS - 1) if slot not in slots.values()), None)
    if not ranged or free is None or (level.counted and not weighted):
        return None
    bound = {**slots, variable: free}
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
    checks = _checks(others, variable, bound)
    if checks is None or len(narrow) > MOST_PARTS or not (narrow or len(wide) == 1):
        return None
    if narrow:
        checks = [*left, *checks]
    else:
        narrow = [wide[0][0]]
    keep = level.keep
    kept = {name: slot for name, slot in bound.items() if keep is None or name in keep}
    drops = variable not in kept
    mode = MERGED * level.merge | WEIGHTED * weighted
    if level.counted:
        mode |= COUNTED
    elif drops and not weighted and not checks:
        mode |= ASKED
    program.record(free, mode, narrow, checks, kept)
    return kept


def _checks(parts: Sequence[Extender], variable: str, slots: Slots) -> list[Grouped] | None:
    """Parts that only check; None if the kernel does not know one of them."""
    checks: list[Grouped] = []
    for group, extender in enumerate(parts, 1):
        if isinstance(extender, Encoded):
            inside: list[Part | None] = [extender.part(variable, slots)]
            group = 0
        elif isinstance(extender, NotExtender) and extender.lookups is not None:
            looked_up = extender.lookups.parts
            inside = [each.part(START, slots) if isinstance(each, Encoded) else None for each in looked_up]
        else:
            return None
        for part in inside:
            if part is None:
                return None
            checks.append((part, group))
    return checks
