"""Taken for a few prefixes, of which one call of a kernel makes the rows of as many levels as it can.

Saves arrays, batches and Python's steps between one level and the next. The prefixes that are left go on in
columns: before a level with too many candidates, or one with a function, an `or`, a comparison.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.level import Level, LevelCounts
from adalog.executor.join.small.parts import Place, Placed
from adalog.executor.join.small.program import Program, program_of
from adalog.executor.join.small.settled import BUFFERS, SettledJoin
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.kernels.memory import MEMORY
from adalog.executor.kernels.seed import SEED
from adalog.executor.kernels.small_join import LEVEL, REPORT, SLOTS, extend

# Prefixes that a call begins with.
_MOST_PREFIXES: Final = 256

_Shape = tuple[int, bool, tuple[str, ...]]


class SmallJoin:
    """The programs of one join, each made when a batch of its columns comes again. Safe to run from several
    threads: what these write into a program is the same."""

    def __init__(self, body: Conjunction, levels: Sequence[Level]) -> None:
        self._body = body
        self._levels = levels
        self._programs: dict[_Shape, Program | None] = {}
        self._seen: set[_Shape] = set()

    def extend(self, batch: Batch, depth: int, counts: Sequence[LevelCounts] | None) -> tuple[Batch, int] | None:
        """(extensions of a batch, how many of its levels bind them), from the level `depth` on; -1: what is bound
        already is checked first. counts: of all levels; None: nothing is counted. None where nothing was done."""
        n = batch.size
        if not 0 < n <= _MOST_PREFIXES:
            return None
        weight = batch.weight
        shape = depth, weight is not None, tuple(batch.columns)
        program = self._programs.get(shape)
        if program is None:
            if shape not in self._programs and self._is_again(shape):
                program = self._programs[shape] = self._program(shape)
            if program is None:
                return None
        if not SMALL_JOIN.is_ready:
            SMALL_JOIN.ask()
            return None
        began = 0.0 if counts is None else time.perf_counter()
        numbers = program.numbers
        # Keeps the places until the kernel has returned.
        held = placed(program.places, numbers)
        if held is None:
            return None
        own = BUFFERS
        frames, report = own.frames, own.report
        for slot, column in enumerate(batch.columns.values()):
            frames[0, slot, :n] = column
        if weight is not None:
            frames[0, SLOTS - 1, :n] = weight
        rows = extend(
            MEMORY, numbers, program.records, frames, n, own.scratch, own.scratch_place, own.state, report, SEED
        )
        done, side = report[:2].tolist()
        if not done:
            return None
        first = max(depth, 0) - program.checks_first
        if counts is not None:
            _count(counts, report, program, range(program.checks_first, done), first, time.perf_counter() - began)
        here = frames[side]
        # One copy of all slots up to the last one that is bound.
        slots = here[: program.widths[done], :rows].copy()
        columns = {name: slots[slot] for name, slot in program.names[done]}
        return Batch(rows, columns, None if weight is None else here[SLOTS - 1, :rows].copy()), first + done

    def settled(self, names: Sequence[str]) -> SettledJoin | None:
        """The join of one prefix with columns of these names, over what its parts read now; None where a run before
        made no program for all levels."""
        program = self._programs.get((-1, False, tuple(names)))
        if program is None or program.records - program.checks_first < len(self._levels):
            return None
        numbers = program.numbers.copy()
        held = placed(program.places, numbers)
        return (
            None
            if held is None
            else SettledJoin(numbers, program.records, program.last, held, dict(program.names[-1]))
        )

    def _is_again(self, shape: _Shape) -> bool:
        """Whether such a batch came before: a program costs more than a join in columns saves once."""
        if shape in self._seen:
            return True
        self._seen.add(shape)
        return False

    def _program(self, shape: _Shape) -> Program | None:
        depth, weighted, names = shape
        levels = self._levels[max(depth, 0) :]
        return program_of(self._body, levels, names, starts=depth < 0, weighted=weighted)


def placed(places: Sequence[tuple[int, Placed]], numbers: Column) -> list[Place] | None:
    """The places of what a program reads now, which are written into these words of its numbers; None where one has
    none."""
    held = []
    for word, asked in places:
        found = asked()
        if found is None:
            return None
        numbers[word] = found.place
        held.append(found)
    return held


def _count(
    counts: Sequence[LevelCounts], report: Column, program: Program, records: range, first: int, seconds: float
) -> None:
    """Adds what the kernel reports of some records to the counts of their levels, from number `first` on."""
    figures = report[REPORT : REPORT + LEVEL * program.records].tolist()
    seconds /= records.stop
    for record in records:
        count = counts[first + record]
        prefixes, candidates, left, skipped = figures[LEVEL * record : LEVEL * record + LEVEL]
        count.prefixes += prefixes
        count.candidates += candidates
        count.rows += left
        count.skipped += skipped
        count.seconds += seconds
        if not left:
            break
