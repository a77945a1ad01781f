"""A plan's rules and its join as one program, which a call of `kernels.small_rules` runs for one prefix.

Written from the same description as the fixpoint in columns: rules, their levels and their versions. What the
kernel does not know, and relations with aggregates, are left to that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from adalog.executor.evaluation.bind import Binding
from adalog.executor.facts.small_tables import SmallTable, Sort
from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.small.parts import Place, Placed
from adalog.executor.join.small.program import Program
from adalog.executor.join.small.running import placed
from adalog.executor.join.small.settled import BUFFERS, EMPTY
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.kernels.memory import MEMORY, RuleBuffers
from adalog.executor.kernels.seed import SEED
from adalog.executor.kernels.small_join import MERGED
from adalog.executor.kernels.small_rules import (
    ALL,
    ARENA,
    ENTRY,
    HEAD,
    MOST_COLUMNS,
    MOST_WORDS,
    MOST_WORK,
    OLDER,
    RECENT,
    TABLES,
    derive,
    sort_words,
    table_words,
)
from adalog.planner.model.logical import LevelPlan, Node, RelationAtom
from adalog.planner.model.plan import Plan
from adalog.planner.model.program import RulePlan, Stratum
from adalog.planner.model.version import Version

_BUFFERS = RuleBuffers()
_VERSIONS = {Version.ALL: ALL, Version.OLDER: OLDER, Version.RECENT: RECENT}


@dataclass(frozen=True, slots=True)
class SettledRules:
    """Rules and a join over one snapshot, as `SettledJoin`: `numbers` with their places, where the last record of
    the join begins at `last`, `held`: what these lead to, `slots`: of the columns of the join. Thread-safe."""

    numbers: Column
    last: int
    held: Sequence[Place]
    slots: Mapping[str, int]

    def merge(self) -> None:
        """As of `SettledJoin`."""
        self.numbers[self.last + 2] |= MERGED

    def columns(self, prefix: Sequence[int], slots: Sequence[int], most: int) -> list[Column] | None:
        """As of `SettledJoin`."""
        rows = _derived(self.numbers, prefix)
        if not 0 <= rows <= most:
            return None
        here = BUFFERS.frames[BUFFERS.report[1]]
        return [here[slot, :rows].copy() if rows else EMPTY for slot in slots]


@dataclass(frozen=True, slots=True)
class SmallRules:
    """`numbers`: as of `kernels.small_rules`. `places`: the words of them that each run fills in. `names`: the
    columns of the join after its last level, and their slots; `width`: up to which one these are. `last`: the first
    word of the last record of the join."""

    numbers: Column
    places: Sequence[tuple[int, Placed]]
    names: Sequence[tuple[str, int]]
    width: int
    last: int

    @staticmethod
    def of(plan: Plan, binding: Binding, given: Sequence[str]) -> SmallRules | None:
        """The program for one prefix with columns of these names; None where the kernel does not know all of it."""
        relations = plan.program.relations
        if plan.weighted or any(each.aggregates or not each.arity for each in relations):
            return None
        return _Writer(plan, binding, tuple(given)).written()

    def derived(self, batch: Batch) -> Batch | None:
        """The rows of the join for a batch of one prefix; None where they are not made here."""
        if not SMALL_JOIN.is_ready:
            SMALL_JOIN.ask()
            return None
        numbers = self.numbers
        # Keeps the places until the kernel has returned.
        held = placed(self.places, numbers)
        if held is None:
            return None
        rows = _derived(numbers, [int(column[0]) for column in batch.columns.values()])
        if rows < 0:
            return None
        slots = BUFFERS.frames[BUFFERS.report[1]][: self.width, :rows].copy()
        return Batch(rows, {name: slots[slot] for name, slot in self.names})

    def slots_of(self, names: Sequence[str]) -> list[int] | slice:
        """The slots of some columns; a slice, of which a copy takes less, where they follow each other."""
        known = dict(self.names)
        slots = [known[name] for name in names]
        run = slice(slots[0], slots[0] + len(slots))
        return run if slots == list(range(run.start, run.stop)) else slots

    def rows(self, prefix: Sequence[int], slots: list[int] | slice, work: int) -> Column | None:
        """int64[k, n]: the columns in some slots, whose rows may repeat; None where making them takes more than so
        much work. The kernel is ready."""
        numbers = self.numbers
        # Keeps the places until the kernel has returned.
        held = placed(self.places, numbers)
        rows = -1 if held is None else _derived(numbers, prefix, work)
        if rows < 0:
            return None
        found: Column = BUFFERS.frames[BUFFERS.report[1]][slots, :rows]
        return found.copy() if isinstance(slots, slice) else found

    def settled(self) -> SettledRules | None:
        """The same over what its parts read now."""
        numbers = self.numbers.copy()
        held = placed(self.places, numbers)
        return None if held is None else SettledRules(numbers, self.last, held, dict(self.names))


def _derived(numbers: Column, prefix: Sequence[int], work: int = MOST_WORK) -> int:
    """The number of rows in the thread's frames, or -1."""
    join, own = BUFFERS, _BUFFERS
    for place, code in enumerate(prefix):
        own.start[place] = code
    rows: int = derive(
        MEMORY, numbers, own.words, own.start, join.frames, join.scratch, join.scratch_place, join.state,
        join.report, own.arena, own.arena_place, work, SEED,
    )  # fmt: skip
    return rows


class _Writer:
    """Writes the numbers of one program."""

    def __init__(self, plan: Plan, binding: Binding, given: tuple[str, ...]) -> None:
        self._plan = plan
        self._binding = binding
        self._given = given
        self._sorts: dict[Sort, int] = {}
        self._relations = {each.name: each for each in plan.program.relations}
        self._numbers = {name: number for number, name in enumerate(self._relations)}
        self._words: list[int] = [0] * HEAD
        self._places: list[tuple[int, Placed]] = []
        self._named: list[int] = []
        # The columns of recent rows with which rules begin.
        self._scanned: dict[int, Sequence[int]] = {}

    def written(self) -> SmallRules | None:
        plan, words = self._plan, self._words
        strata = plan.program.strata
        rules = [rule for each in strata for rule in (*each.once, *each.rounds)]
        programs = [*map(self._rule_program, rules), self._program(plan.body.items, plan.given, plan.levels)]
        known = [each for each in programs if each is not None]
        # What the columns of an arena are for is known now: all sorts are.
        arena = self._laid_out()
        if len(known) < len(programs) or arena > ARENA:
            return None
        left = iter(known)
        words[0], words[1] = len(strata), len(words)
        for stratum in strata:
            self._write_stratum(stratum, left)
        words[2] = len(words)
        program = next(left)
        self._write_rule(plan, program)
        words[7], words[8] = len(self._named) // 2, len(words)
        words += self._named
        if len(words) > MOST_WORDS:
            return None
        last = words[words[2] + 1] + program.last
        return SmallRules(np.array(words, np.int64), self._places, program.names[-1], program.widths[-1], last)

    def _rule_program(self, rule: RulePlan) -> Program | None:
        """Of a rule: it begins with the recent rows that it needs, if these are all read in one place."""
        if not set(rule.given) <= set(self._given):
            return None
        recent, sorts = _recent_atom(rule), dict(self._sorts)
        if recent is not None:
            names = [term for term in recent.terms if isinstance(term, str)]
            items = [each for each in rule.body.items if each is not recent and not self._is_implied(each, recent)]
            program = self._program(items, (*rule.given, *names), _levels_after(rule.levels, names))
            if program is not None:
                places = [place for place, term in enumerate(recent.terms) if isinstance(term, str)]
                self._scanned[id(rule)] = places
                return program
            self._sorts = sorts
        return self._program(rule.body.items, rule.given, rule.levels)

    def _is_implied(self, item: Node, atom: RelationAtom) -> bool:
        """Whether an atom holds of all rows of another's relation, as each rule that derives these demands it: that
        of the magic set does. Such a check of each row costs more than a row."""
        if not isinstance(item, RelationAtom) or item.version is not Version.ALL:
            return False
        if not all(isinstance(term, str) and term in atom.terms for term in item.terms):
            return False
        places = [atom.terms.index(term) for term in item.terms]
        rules = [rule for each in self._plan.program.strata for rule in (*each.once, *each.rounds)]
        return all(
            any(
                isinstance(each, RelationAtom)
                and each.relation == item.relation
                and list(each.terms) == [rule.head[place] for place in places]
                for each in rule.body.items
            )
            for rule in rules
            if rule.target == atom.relation
        )

    def _program(self, items: Sequence[Node], given: Sequence[str], levels: Sequence[LevelPlan]) -> Program | None:
        """The program of a join that reads tables of the kernel."""
        binding = self._binding
        binding.relations = {name: SmallTable(name, self._sorts) for name in self._relations}
        binding.readers, binding.lasting = [], True
        join = binding.join_of(items, given, levels, False)
        binding.relations = {}
        return join.program(given) if join is not None and binding.lasting else None

    def _laid_out(self) -> int:
        """Writes tables and sorts; the words of the arena that these take."""
        words, at = self._words, TABLES
        words[3], words[4] = len(self._relations), len(words)
        for relation in self._relations.values():
            # A bitmap of the last column, unless a rule says which one it derives last.
            words += (relation.arity, at, relation.arity - 1)
            at += table_words(relation.arity)
        words[5], words[6] = len(self._sorts), len(words)
        for sort in self._sorts:
            columns = len(sort.places)
            unused = (0,) * (MOST_COLUMNS - columns)
            words += (self._numbers[sort.relation], _VERSIONS[sort.version], columns, at, *sort.places, *unused)
            at += sort_words(columns)
        return at

    def _write_stratum(self, stratum: Stratum, programs: Iterator[Program]) -> None:
        words, own = self._words, {each.name for each in stratum.relations}
        once, rounds = ([next(programs) for _ in rules] for rules in (stratum.once, stratum.rounds))
        sorts = {number: sort for sort, number in self._sorts.items() if sort.relation in own}
        before = sorted({number for each in rounds for _, number in each.derived if number in sorts})
        # Later strata and the query's join read ALL.
        after = [number for number, sort in sorts.items() if sort.version is Version.ALL]
        tables = [self._numbers[each.name] for each in stratum.relations]
        first = len(words)
        words += (0, 0, len(stratum.once), len(stratum.rounds), len(before), len(after), len(tables))
        words += (*before, *after, *tables)
        for rule, program in zip(stratum.once, once, strict=True):
            self._write_rule(rule, program)
        words[first + 1] = len(words)
        for rule, program in zip(stratum.rounds, rounds, strict=True):
            self._write_rule(rule, program)
        words[first] = len(words)

    def _write_rule(self, rule: RulePlan | Plan, program: Program) -> None:
        words, slots = self._words, dict(program.names[-1])
        target, delta, head, columns = -1, -1, [], self._scanned.get(id(rule), ())
        if isinstance(rule, RulePlan):
            target, head = self._numbers[rule.target], [slots[name] for name in rule.head]
            delta = -1 if rule.delta is None else self._numbers[rule.delta]
        first = len(words)
        words += (0, 0, program.records, target, delta, len(rule.given), len(head), len(columns), 0, -1)
        words += (*(self._given.index(name) for name in rule.given), *head, *columns)
        words[first + 1] = base = len(words)
        words += program.words
        own = program.values_slot
        if head.count(own) == 1:
            words[first + 8 : first + 10] = base + program.last, head.index(own)
            words[words[4] + ENTRY * target + 2] = head.index(own)
        self._places += [(base + word, asked) for word, asked in program.places]
        for word, sort in program.derived:
            self._named += (base + word, sort)
        words[first] = len(words)


def _recent_atom(rule: RulePlan) -> RelationAtom | None:
    """What reads the recent rows of a rule's relation, if it reads all of them."""
    for item in rule.body.items:
        if isinstance(item, RelationAtom) and item.relation == rule.delta and item.version is Version.RECENT:
            names = [term for term in item.terms if isinstance(term, str)]
            is_plain = len(set(names)) == len(names) and all(t is None or isinstance(t, str) for t in item.terms)
            return item if names and is_plain and not set(names) & set(rule.given) else None
    return None


def _levels_after(levels: Sequence[LevelPlan], names: Collection[str]) -> list[LevelPlan]:
    """The levels that are left where some variables are bound first. A level does not say that it keeps those that
    the given order binds after it."""
    left: list[LevelPlan] = []
    bound_later: frozenset[str] = frozenset()
    for level in reversed(levels):
        if level.variable in names:
            bound_later |= {level.variable}
        else:
            left.append(level if level.keep is None else replace(level, keep=level.keep | bound_later))
    return left[::-1]
