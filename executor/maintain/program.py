"""The relations that a plan's rules derive, kept from one moment to the next.

How to use it: `begin` derives everything at a moment; then each `step` moves from the moment where the program is
to another. After that `relations[name]` can be read by joins as OLD and as NEW (`Binding` takes it as it is), and
`came(name)` and `went(name)` are what differs, so that a query's body over these relations is maintained as one
over data patterns. Arguments are relations, too: those named in `inputs` change by what `step` is told came and
went of them. Magic sets read them, so one program derives what all feeds ask for, and subscribing is an insert.

A relation that recurs is kept with the time at which each fact was derived: from facts with earlier times alone.
What a change may have taken the ground from is asked for a derivation from earlier facts; what has none goes, and
what followed from it is asked in turn. So no cycle keeps itself alive. Then what went is derived again where other
facts, of whatever time, derive it, and what came is followed round by round (docs/adr/0017-recursion-by-levels.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from datalog.ast import FindAggregate, FindVar, Var
from datalog.values import sort_key
from executor.answer.aggregates import aggregated
from executor.bounds.run import Run
from executor.evaluation.bind import Binding, Held
from executor.evaluation.fixpoint import derived
from executor.extenders.changes import Moments
from executor.join.batch import Batch, Column, Mask
from executor.join.driver import Driver
from executor.join.generic_join import GenericJoin
from executor.rules.kept import ROW, BestKept, KeptFacts
from planner.joins import JoinPlan
from planner.logical import AndNode, DatomAtom, RelationAtom
from planner.maintenance.rules import Joined, Moving, RuleBodies, Start, bodies_of, refusal
from planner.plan import Plan
from planner.program import Derived, Stratum
from planner.statistics import Statistics
from planner.version import Version
from store.codes import Scratch
from store.difference import Difference, pairs_between
from store.layout import LONG_MAX, LONG_MIN, TAG_DOUBLE, tags_of
from store.snapshot import Snapshot
from store.trie import distinct

Between = Callable[[str, int], Difference]
"""What came and went of an attribute of a source."""

Rows = Sequence[Column]

# The share of a stratum's facts that may be taken away before all is derived afresh, at most and at least.
_MOST, _LEAST = 1 / 2, 1 / 16
# So many facts are taken away in any case.
_FEW: Final = 1000


class UnmaintainableError(Exception):
    """A program whose relations cannot be kept: the text says why, for explain."""


@dataclass(frozen=True, slots=True)
class Step:
    """The way from one moment to another. `moments`: of every database; `between`: what differs."""

    moments: Mapping[str, Moments]
    run: Run
    constants: Mapping[str, int]
    between: Between


class MaintainedProgram:
    """The relations of one plan's program. Not thread-safe.

    After an exception from `begin` or `step` it must `begin` again. `relations`: everything that a join over them
    reads, by name.
    """

    def __init__(
        self, plan: Plan, *, inputs: Mapping[str, int] | None = None, sources: frozenset[str] = frozenset(("$",))
    ) -> None:
        """`inputs`: how many columns each of the relations has that change otherwise; `sources`: the databases that
        go from moment to moment. Raises UnmaintainableError."""
        why = refusal(plan, sources)
        if why:
            raise UnmaintainableError(why)
        self.plan = plan
        self.relations: dict[str, Held] = {}
        self._inputs = dict(inputs or {})
        self._kept: dict[str, KeptFacts] = {}
        self._values: Scratch | None = None
        self._constants: dict[str, int] = {}
        self._joins = _Joins(plan)
        self._strata: list[_Stratum] = []
        below = frozenset(self._inputs)
        for stratum in plan.program.strata:
            moving = Moving(sources, below)
            self._strata.append(_Stratum(stratum, moving, self._kept, self._joins))
            below = below.union(each.name for each in stratum.relations)

    # For those who read it

    def came(self, name: str) -> list[Column]:
        """The rows of a relation that hold at the second moment alone."""
        kept = self._kept[name]
        return kept.columns_of(kept.came())

    def went(self, name: str) -> list[Column]:
        """The rows of a relation that held at the first moment alone."""
        kept = self._kept[name]
        return kept.columns_of(kept.went())

    def columns(self, name: str, version: Version = Version.NEW) -> list[Column]:
        """The rows of a relation at a moment."""
        return self._kept[name].columns_at(version)

    def nbytes(self) -> int:
        """Bytes kept."""
        return sum(each.nbytes() for each in self._kept.values())

    # From moment to moment

    def begin(
        self,
        databases: Mapping[str, Snapshot],
        relations: Mapping[str, Rows],
        run: Run,
        constants: Mapping[str, int],
    ) -> None:
        """Derives everything at a moment. `relations`: all inputs, also those that do not change; `constants`: the
        code of each variable of the rules that has one value (`executor.question.inputs.constant_codes`)."""
        self._kept.clear()
        self._values = None
        for name, width in self._inputs.items():
            self._kept[name] = KeptFacts(width)
            given = relations.get(name, ())
            if given and len(given[0]):
                self._kept[name].add(given, 0)
        for stratum in self._strata:
            stratum.renew()
        self.relations = {**relations, **self._kept}
        moments = {name: Moments(each, each) for name, each in databases.items()}
        step = self._step(moments, run, constants, _nothing_between)
        for each in self._strata:
            each.afresh(step)
        self._settle()

    def step(
        self,
        moments: Mapping[str, Moments],
        run: Run,
        constants: Mapping[str, int],
        came: Mapping[str, Rows] | None = None,
        went: Mapping[str, Rows] | None = None,
        between: Between | None = None,
    ) -> None:
        """Goes from one moment to another. `came`, `went`: rows of the relations that are named in `inputs`.

        `run` is used by all that reads the relations until the next step: codes of values that the database does
        not hold are those of its Scratch.
        """

        def compared(source: str, attribute: int) -> Difference:
            return pairs_between(moments[source].old, moments[source].new, attribute)

        self._settle()
        self._recode(run.values)
        for name, rows in (went or {}).items():
            kept = self._kept[name]
            found = kept.find(rows)
            kept.remove(kept.holding(found))
        for name, rows in (came or {}).items():
            if len(rows[0]):
                self._kept[name].add(rows, 0)
        moved = dict(constants) != self._constants
        step = self._step(moments, run, constants, between or compared)
        changed = _Changed(step, self._kept)
        for each in self._strata:
            if moved:
                each.afresh(step)
            else:
                each.step(step, changed)

    def _step(
        self, moments: Mapping[str, Moments], run: Run, constants: Mapping[str, int], between: Between
    ) -> Step:
        self._values = run.values
        self._constants = dict(constants)
        self._joins.prepare(moments, self.relations, run)
        return Step(moments, run, constants, between)

    def _settle(self) -> None:
        for each in self._kept.values():
            each.settle()

    def _recode(self, values: Scratch) -> None:
        """Gives values that the database did not hold the codes that they have now."""
        former = self._values
        if former is None or former is values or not former.made():
            return

        def change(codes: Column) -> Column:
            own = np.flatnonzero(Scratch.made_numbers(codes) >= 0)
            if not len(own):
                return codes
            changed = codes.copy()
            changed[own] = values.intern_many(former.decode_many(codes[own]))
            return changed

        for kept in self._kept.values():
            kept.recode(change)
        self._constants = {name: int(change(np.array([code]))[0]) for name, code in self._constants.items()}


def _nothing_between(source: str, attribute: int) -> Difference:
    raise AssertionError("there is one moment only")


class _Joins:
    """The bodies of a program, planned when they are first run and bound to the moments of a step."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._planned: dict[int, tuple[Joined, JoinPlan]] = {}
        self._bound: dict[int, GenericJoin | None] = {}
        self._moments: Mapping[str, Moments] = {}
        self._relations: Mapping[str, Held] = {}
        self._run: Run | None = None

    @property
    def values(self) -> Scratch:
        """The codes of the step."""
        assert self._run is not None
        return self._run.values

    def prepare(self, moments: Mapping[str, Moments], relations: Mapping[str, Held], run: Run) -> None:
        """Begins a step."""
        self._moments = moments
        self._relations = relations
        self._run = run.on_one_thread
        self._bound = {}

    def rows(self, joined: Joined, batch: Batch) -> list[Column]:
        """The heads that a body has from a first batch; repeats are possible."""
        found: list[list[Column]] = []

        def sink(rows: Batch) -> bool:
            found.append([rows.columns[name] for name in joined.head])
            return True

        if batch.size:
            self._drive(joined, batch, sink, seed=False)
        if len(found) == 1:
            return found[0]
        return [np.concatenate([part[i] for part in found] or [_NONE]) for i in range(len(joined.head))]

    def holds(self, joined: Joined, batch: Batch) -> Mask:
        """Which rows of a first batch a body holds for."""
        mask = np.zeros(batch.size, np.bool_)

        def sink(rows: Batch) -> bool:
            mask[rows.columns[ROW]] = True
            return not mask.all()

        if batch.size:
            self._drive(joined, batch.having(ROW, np.arange(batch.size)), sink, seed=True)
        return mask

    def _drive(self, joined: Joined, batch: Batch, sink: Callable[[Batch], bool], *, seed: bool) -> None:
        assert self._run is not None
        key = id(joined)
        if key in self._bound:
            join = self._bound[key]
        else:
            plan = self._plan_of(joined)
            databases = {name: each.new for name, each in self._moments.items()}
            binding = Binding(
                self.plan, databases, self._relations, self._run, moments=self._moments, derive=derived
            )
            join = binding.join_of(plan.body.items, joined.given, plan.levels, False, seed=seed)
            self._bound[key] = join
        if join is not None:
            Driver(join, sink, self._run.cancel).run(batch)

    def _plan_of(self, joined: Joined) -> JoinPlan:
        known = self._planned.get(id(joined))
        if known is None:
            rows = {name: _size_of(held) for name, held in self._relations.items()}
            databases = {name: each.new for name, each in self._moments.items()}
            known = joined, joined.plan(Statistics(databases, rows), self.plan.options)
            self._planned[id(joined)] = known
        return known[1]


def _size_of(held: Held) -> int:
    if isinstance(held, Sequence):
        return len(held[0]) if held else 0
    return len(held)


@dataclass
class _Changed:
    """What came and went of each atom, found when it is first asked for."""

    step: Step
    kept: Mapping[str, KeptFacts]
    _found: dict[DatomAtom | RelationAtom, tuple[Batch, Batch]] = field(default_factory=dict)

    def rows(self, start: Start) -> Batch:
        """The rows that a body begins with."""
        atom = start.atom
        found = self._found.get(atom)
        if found is None:
            found = self._found[atom] = self._rows(atom)
        return found[0] if start.came else found[1]

    def _rows(self, atom: DatomAtom | RelationAtom) -> tuple[Batch, Batch]:
        if isinstance(atom, RelationAtom):
            kept = self.kept[atom.relation]
            return _of_atom(atom, kept, kept.came()), _of_atom(atom, kept, kept.went())
        step = self.step
        moments = step.moments[atom.source]
        came, went = moments.rows(atom, step.run.strict, lambda id_: step.between(atom.source, id_))
        return came.distinct(), went.distinct()


def _of_atom(atom: RelationAtom, kept: KeptFacts, rows: Column) -> Batch:
    names = [term for term in atom.terms if isinstance(term, str)]
    return Batch(len(rows), dict(zip(names, kept.columns_of(rows), strict=True)))


class _Found:
    """Rows by number, of several relations."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Column]] = {}

    def __bool__(self) -> bool:
        return bool(self._rows)

    def add(self, name: str, rows: Column) -> None:
        if len(rows):
            self._rows.setdefault(name, []).append(rows)

    def items(self) -> Iterable[tuple[str, Column]]:
        """Each relation with its rows, once."""
        for name, parts in self._rows.items():
            yield name, parts[0] if len(parts) == 1 else distinct(np.concatenate(parts))


class _TooManyError(Exception):
    """So much would be taken away that it is better to derive everything afresh."""


class _Stratum:
    """The relations of one stratum, and what its rules do when something below it changed."""

    def __init__(self, stratum: Stratum, below: Moving, kept: dict[str, KeptFacts], joins: _Joins) -> None:
        self.stratum = stratum
        self.joins = joins
        self.rules = bodies_of(stratum, below)
        self.rules_of = {
            each.name: [rule for rule in self.rules if rule.target == each.name] for each in stratum.relations
        }
        self.onward: dict[str, list[tuple[RuleBodies, Start]]] = {each.name: [] for each in stratum.relations}
        for rule in self.rules:
            for start in rule.onward:
                assert isinstance(start.atom, RelationAtom)
                self.onward[start.atom.relation].append((rule, start))
        self._kept = kept
        self._facts: dict[str, KeptFacts] = {}
        self._groups: dict[str, _Groups] = {}
        self._time = 0
        self._share = _MOST
        self._left: float | None = None

    def renew(self) -> None:
        """Begins with nothing."""
        self._time = 0
        for each in self.stratum.relations:
            self._kept[each.name] = self._facts[each.name] = self._new(each)
            if each.aggregates and not self.stratum.recursive:
                groups = self._groups[each.name] = _Groups(each, self._kept[each.name], self.joins)
                self._kept[groups.name] = self._facts[each.name] = groups.rows

    def _new(self, relation: Derived) -> KeptFacts:
        if not relation.aggregates or not self.stratum.recursive:
            return KeptFacts(relation.arity)
        place = next(i for i, name in enumerate(relation.aggregates) if name is not None)
        sign = 1 if relation.aggregates[place] == "min" else -1
        return BestKept(relation.arity, place, lambda codes: sign * _ranked(codes, self.joins.values))

    # Everything

    def afresh(self, step: Step) -> None:
        """Derives all that holds, in the place of what did."""
        for facts in self._facts.values():
            facts.clear()
        self._left = None
        added, displaced = _Found(), _Found()
        for rule in self.rules:
            if rule.once is not None:
                batch = _with_constants(Batch(1, {}), rule.once, step)
                self._take(rule, self.joins.rows(rule.once, batch), added, displaced)
        self._complete(step, added, displaced)

    # What changed

    def step(self, step: Step, changed: _Changed) -> None:
        """Takes away what no longer holds, and adds what does now."""
        self._left = max(_FEW, self._share * sum(facts.size for facts in self._facts.values()))
        try:
            self._step(step, changed)
            self._share = min(_MOST, 1.25 * self._share)
        except _TooManyError:
            self._share = max(_LEAST, self._share / 2)
            self.afresh(step)

    def _step(self, step: Step, changed: _Changed) -> None:
        pending, added, displaced = _Found(), _Found(), _Found()
        for rule in self.rules:
            facts = self._facts[rule.target]
            for start in rule.leaving:
                batch = changed.rows(start)
                if batch.size:
                    heads = self._joined(start, batch, step)
                    pending.add(rule.target, facts.holding(facts.find(heads)))
        gone = self._taken_away(step, pending)
        for rule in self.rules:
            for start in rule.entering:
                batch = changed.rows(start)
                if batch.size:
                    self._take(rule, self._joined(start, batch, step), added, displaced)
        self._again(step, gone, added, displaced)
        self._complete(step, added, displaced)

    def _complete(self, step: Step, added: _Found, displaced: _Found) -> None:
        """Follows what was added, until nothing follows that is not known.

        What was derived from values that better ones have displaced is asked for another derivation.
        """
        while True:
            while added:
                step.run.cancel.check()
                recent, added = added, _Found()
                for name, rows in recent.items():
                    for rule, start in self.onward[name]:
                        assert isinstance(start.atom, RelationAtom)
                        batch = _of_atom(start.atom, self._facts[name], rows)
                        self._take(rule, self._joined(start, batch, step), added, displaced)
            if not displaced:
                break
            gone = self._taken_away(step, self._followers(step, displaced))
            displaced = _Found()
            self._again(step, gone, added, displaced)
        for groups in self._groups.values():
            groups.group(step)

    def _joined(self, start: Start, batch: Batch, step: Step) -> list[Column]:
        return self.joins.rows(start.joined, _with_constants(batch, start.joined, step))

    def _take(self, rule: RuleBodies, columns: Rows, added: _Found, displaced: _Found) -> None:
        """Has derived rows hold, from a time on that is later than that of all they can have been derived from."""
        if len(columns[0]):
            self._time += 1
            rows, worse = self._facts[rule.target].add(columns, self._time)
            added.add(rule.target, rows)
            displaced.add(rule.target, worse)

    def _taken_away(self, step: Step, pending: _Found) -> _Found:
        """Takes away those of the facts that are not derived from earlier ones, and what so loses its ground. All
        that went."""
        gone = _Found()
        while pending:
            step.run.cancel.check()
            lost = _Found()
            for name, rows in pending.items():
                lost.add(name, rows[~self._held(step, name, rows)])
            for name, rows in lost.items():
                self._facts[name].remove(rows)
                gone.add(name, rows)
                if self._left is not None:
                    self._left -= len(rows)
            if self._left is not None and self._left < 0:
                raise _TooManyError
            pending = self._followers(step, lost)
        return gone

    def _followers(self, step: Step, lost: _Found) -> _Found:
        """The facts that hold and have a derivation from some that do not any more."""
        found = _Found()
        for name, rows in lost.items():
            self._facts[name].leave(rows)
        for name, rows in lost.items():
            for rule, start in self.onward[name]:
                assert isinstance(start.atom, RelationAtom)
                batch = _of_atom(start.atom, self._facts[name], rows)
                facts = self._facts[rule.target]
                found.add(rule.target, facts.holding(facts.find(self._joined(start, batch, step))))
        for name, rows in lost.items():
            self._facts[name].forget(rows)
        return found

    def _held(self, step: Step, name: str, rows: Column) -> Mask:
        """Which facts are derived from earlier ones."""
        held = np.zeros(len(rows), np.bool_)
        for rule in self.rules_of[name]:
            self._ask(step, rule, rule.holds, rows, held, earlier=True)
        return held

    def _ask(
        self, step: Step, rule: RuleBodies, joined: Joined, rows: Column, held: Mask, *, earlier: bool = False
    ) -> None:
        """Marks those of the facts not marked yet which a rule derives."""
        facts = self._facts[rule.target]
        left = np.flatnonzero(~held)
        columns = facts.columns_of(rows[left])
        fits = np.ones(len(left), np.bool_)
        named: dict[str, Column] = {}
        for name, column in zip(rule.head, columns, strict=True):
            if name in named:
                fits &= named[name] == column
            elif name in step.constants:
                fits &= column == step.constants[name]
            named.setdefault(name, column)
        batch = Batch(len(left), named)
        if not fits.all():
            left, batch = left[fits], batch.keep(fits)
        if not len(left):
            return
        if earlier:
            limits = facts.times_of(rows[left])
            for each in self._facts.values():
                each.since(limits)
        held[left] = self.joins.holds(joined, _with_constants(batch, joined, step))

    def _again(self, step: Step, gone: _Found, added: _Found, displaced: _Found) -> None:
        """Has those hold again of what went that facts of any time derive; of a group that lost its value the best
        there is."""
        for name, rows in gone.items():
            facts = self._facts[name]
            if isinstance(facts, BestKept):
                for rule in self.rules_of[name]:
                    groups = self._groups_lost(step, rule, rows)
                    if groups.size:
                        self._take(rule, self.joins.rows(rule.again, groups), added, displaced)
                continue
            rows = facts.missing(rows)
            held = np.zeros(len(rows), np.bool_)
            for rule in self.rules_of[name]:
                self._ask(step, rule, rule.again, rows, held)
            self._take(self.rules_of[name][0], facts.columns_of(rows[held]), added, displaced)

    def _groups_lost(self, step: Step, rule: RuleBodies, rows: Column) -> Batch:
        """A first batch with the groups of rows."""
        facts = self._facts[rule.target]
        columns = dict(zip(rule.head, facts.columns_of(rows), strict=True))
        fits = np.ones(len(rows), np.bool_)
        for name, column in zip(rule.head, facts.columns_of(rows), strict=True):
            if name in rule.again.given:
                fits &= columns[name] == column
                if name in step.constants:
                    fits &= column == step.constants[name]
        batch = Batch(len(rows), {name: columns[name] for name in rule.again.given if name in columns}).keep(fits)
        return _with_constants(batch.distinct(), rule.again, step) if batch.size else batch


class _Groups:
    """A relation with aggregates outside of a recursion: the distinct rows under it, and a row for each group.

    A group that a row came to or went from is aggregated again. `name`: the rows', for joins.
    """

    def __init__(self, relation: Derived, result: KeptFacts, joins: _Joins) -> None:
        self.name = f"{relation.name} ungrouped"
        self.rows = KeptFacts(relation.arity)
        self.result = result
        self.joins = joins
        self.names = tuple(f"place·{i}" for i in range(relation.arity))
        self.keys = tuple(name for name, each in zip(self.names, relation.aggregates, strict=True) if each is None)
        self.elements = [
            FindVar(Var(name)) if each is None else FindAggregate(each, (), Var(name))
            for name, each in zip(self.names, relation.aggregates, strict=True)
        ]
        self._own, self._shown = (
            Joined(
                AndNode((RelationAtom(name, self.names, derived=True, version=Version.NEW),)), self.keys, self.names
            )
            for name in (self.name, relation.name)
        )

    def group(self, step: Step) -> None:
        """Aggregates the groups that changed."""
        changed = np.concatenate((self.rows.came(), self.rows.went()))
        if not len(changed):
            return
        columns = dict(zip(self.names, self.rows.columns_of(changed), strict=True))
        touched = Batch(len(changed), {name: columns[name] for name in self.keys}).distinct()
        before = self.result.find(self.joins.rows(self._shown, touched))
        rows = self.joins.rows(self._own, touched)
        batch = Batch(len(rows[0]), dict(zip(self.names, rows, strict=True)))
        made = aggregated(batch, self.elements, step.run.values, step.run.cancel)
        after = self.result.enter(made)
        self.result.remove(np.setdiff1d(before, after))
        self.result.add(made, 0)


def _with_constants(batch: Batch, joined: Joined, step: Step) -> Batch:
    """The rows of a first batch that suit the variables with one value, which all have a column then."""
    for name in joined.constants:
        column = batch.columns.get(name)
        if column is None:
            batch = batch.having(name, np.full(batch.size, step.constants[name]))
        else:
            batch = batch.keep(column == step.constants[name])
    return batch


def _ranked(codes: Column, values: Scratch) -> Column:
    """int64[n]: numbers in the order of the values that the codes stand for."""
    if not len(codes) or (int(codes.min()) >= LONG_MIN and int(codes.max()) <= LONG_MAX):
        return codes
    if (tags_of(codes) == TAG_DOUBLE).all():
        numbers = values.doubles(codes)
        if not np.isnan(numbers).any():
            bits = numbers.view(np.int64)
            return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
    each, which = np.unique(codes, return_inverse=True)
    decoded = values.decode_many(each)
    order = sorted(range(len(each)), key=lambda i: sort_key(decoded[i]))
    ranks = np.empty(len(each), np.int64)
    ranks[order] = np.arange(len(each))
    return ranks[which]


_NONE: Final = np.empty(0, np.int64)
