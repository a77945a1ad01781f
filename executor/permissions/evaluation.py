"""Runs the rules of policies: which of many entities or datoms one policy allows, at one state of the database.

The rules see the whole database. They run for the entities that are asked for, whose number is pushed into them by
magic sets, or once for all that they allow where many are asked for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from adalog.datalog import ast
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.parsing.policy_rules import ALLOW, ClaimSource, PolicyRules
from adalog.datalog.values import Keyword, identity
from adalog.datalog.watched import watching
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.bounds.run import QueryRun
from adalog.executor.bounds.running import Flag
from adalog.executor.evaluation.caution import cautiously
from adalog.executor.evaluation.local import run_join
from adalog.executor.join.batch import Batch, Column, Mask
from adalog.executor.permissions.claims import claim_rows
from adalog.executor.question.arguments import GivenArgument, matched, settled
from adalog.executor.question.inputs import bind_inputs, sizes_of
from adalog.planner.model.plan import Options, Plan
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import plan_query
from adalog.planner.scope.outline import Outline, outline_of
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import among, distinct
from adalog.store.values.codes import Scratch

Made = TypeVar("Made")

_SUBJECTS: Final = "$subjects"
_ENTITY, _ATTRIBUTE, _VALUE = ast.Var("?e"), ast.Var("?a"), ast.Var("?v")
# So many entities are asked about one by one before all that the policy allows are found instead.
_MANY: Final = 4_096
_TIMEOUT_MS: Final = 30_000
# Seconds between two looks at the flags of what waits for another evaluation.
_LOOK_SECONDS: Final = 0.02
_PLAN_BYTES: Final = 16 << 20
# Approximate bytes of one plan.
_PLANNED_BYTES: Final = 64 << 10
# A table for entities may have so many places for each of them.
_SPARSE: Final = 128
# Entities that are looked up in it at once.
_SLICE: Final = 1 << 14
_MEANS: Final = frozenset((Code.TIMEOUT, Code.LIMIT_EXCEEDED))
_NOT_THE_GUARDS: Final = frozenset((Code.CANCELLED, Code.BACKEND_UNAVAILABLE, Code.RATE_LIMITED))
"""Errors that are no failure of a guard."""


@dataclass(eq=False)
class GuardedWork:
    """The work that a guard is asked for. `flags`: what ends the work ends the guard's evaluation, and denies
    nothing. `ran_out`: a guard denied something because it took too long or too much memory, and may allow it the
    next time."""

    flags: Sequence[Flag]
    ran_out: bool = False

    def check(self, now: float | None = None) -> None:
        """Raises what ends the work."""
        if now is None:
            now = time.monotonic()
        for each in self.flags:
            each.check_flag(now)


class GuardCancel(Cancel):
    """The flag of an evaluation, with those of the work that it is for. It waits for no turn: work that has one may
    wait for what it finds."""

    def __init__(self, deadline: float, work: GuardedWork) -> None:
        super().__init__(deadline)
        self._work = work

    def check_flag(self, now: float) -> None:
        self._work.check(now)
        super().check_flag(now)


class RuleQuery(Protocol):
    """A query that calls the rules of a policy. `key`: what tells it from others of that policy."""

    @property
    def key(self) -> Hashable: ...

    @property
    def query(self) -> ast.Query: ...

    @property
    def outline(self) -> Outline: ...


@dataclass(frozen=True)
class PolicyQuestion:
    """The rules of a policy as a query. `subjects`: it asks about given ones, else for all that are allowed.
    `attribute`: of `(allow ?e ?a ?v)`, the attribute asked about."""

    rules: PolicyRules
    subjects: bool
    attribute: Keyword | None
    query: ast.Query
    outline: Outline

    @property
    def key(self) -> Hashable:
        return self.attribute, self.subjects

    @staticmethod
    def of(rules: PolicyRules, attribute: Keyword | None, *, subjects: bool) -> PolicyQuestion:
        pair = rules.places == 3
        found = (_ENTITY, _VALUE) if pair else (_ENTITY,)
        name: ast.Term = _ATTRIBUTE if attribute is None else ast.Const(attribute, identity(attribute))
        named: tuple[ast.Term, ...] = (_ENTITY, name, _VALUE) if pair else (_ENTITY,)
        sources = [each.source for each in rules.claims]
        where: list[ast.Clause] = [ast.RuleCall(ALLOW, named, ast.Source())]
        if subjects:
            sources.append(_SUBJECTS)
            where.insert(0, ast.Pattern(ast.Source(_SUBJECTS), found))
        query = ast.Query(
            find=ast.Find(tuple(map(ast.FindVar, found))),
            with_=(),
            inputs=(ast.SourceInput("$"), *map(ast.SourceInput, sources)),
            where=tuple(where),
            rules=rules.rules,
        )
        return PolicyQuestion(rules, subjects, attribute, query, outline_of(query, frozenset(sources)))

    def arguments(self, claims: Mapping[str, Any], state: Snapshot) -> tuple[Any, ...]:
        """The values of claims as their places want them, and nothing for the subjects."""
        given: list[Any] = [_argument(each, claims) for each in self.rules.claims]
        if self.subjects:
            given.append(())
        return settled(self.outline, matched(self.query, given), state).args


def _argument(source: ClaimSource, claims: Mapping[str, Any]) -> GivenArgument:
    return GivenArgument(claim_rows(source, claims), json=True)


class RuleRunner:
    """Runs queries that call the rules of policies; identities and states share their plans. Thread-safe."""

    def __init__(self, memory: Memory, nbytes: int = _PLAN_BYTES) -> None:
        self._memory = memory
        self._questions: LruCache[Hashable, Any] = LruCache(nbytes // 4)
        self._plans: LruCache[Any, Plan] = LruCache(nbytes)

    def question(
        self, policy: str, rules: PolicyRules, attribute: Keyword | None, *, subjects: bool
    ) -> PolicyQuestion:
        """`policy`: equal for policies with equal rules."""
        return self.made(
            (policy, attribute, subjects), lambda: PolicyQuestion.of(rules, attribute, subjects=subjects)
        )

    def made(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What is made of the rules of a policy, once."""
        found: Made | None = self._questions.get(key)
        if found is None:
            found = make()
            self._questions.put(key, found, _PLANNED_BYTES // 4)
        return found

    def _plan(
        self,
        policy: str,
        asked: RuleQuery,
        sizes: Mapping[str, int],
        state: Snapshot,
        options: Options,
        check: Callable[[], None],
    ) -> Plan:
        """For relations of about these sizes, and states of about this one's size. Planning calls `check`."""
        magnitudes = tuple((name, size.bit_length()) for name, size in sizes.items())
        known_by = (state.schema.key, state.statistics_epoch)
        key = (policy, asked.key, magnitudes, known_by, options)
        found = self._plans.get(key)
        if found is None:
            statistics = Statistics({"$": state}, sizes, check=check)
            with watching(check):
                found = plan_query(asked.query, statistics, asked.outline.relations, options)
            self._plans.put(key, found, _PLANNED_BYTES)
        return found

    def rows(
        self,
        policy: str,
        asked: RuleQuery,
        args: Sequence[Any],
        given: Mapping[str, Sequence[Column]],
        state: Snapshot,
        cancel: GuardCancel,
    ) -> Batch:
        """The rows of a query. `given`: relations as columns of codes, in place of arguments."""
        sizes = {**sizes_of(asked.query, args), **{name: len(columns[0]) for name, columns in given.items()}}

        def rows(options: Options) -> Batch:
            cancel.check()
            plan = self._plan(policy, asked, sizes, state, options, cancel.check)
            values = Scratch(state.codes, take=cancel.budget.take)
            inputs = bind_inputs(plan, args, state, values, cancel.check)
            for name, columns in given.items():
                inputs.relations[name] = list(columns)
            return run_join(plan, inputs, QueryRun(values, cancel), most=None).rows

        with self._memory.lent(cancel):
            return cautiously(Options(), rows, cancel)


@dataclass
class PolicyAnswers:
    """What a policy allows to an identity with some claims, at states alike in all that it reads. It remembers
    it. `policy`: equal for policies with equal rules. Thread-safe."""

    policy: str
    rules: PolicyRules
    claims: Mapping[str, Any]
    runner: RuleRunner
    _all: _Entities | None = None
    _enumerable: bool = field(init=False)
    _known: Column = field(default_factory=lambda: np.empty(0, np.int64))
    _allowed: Mask = field(default_factory=lambda: np.empty(0, np.bool_))
    _args: dict[tuple[bool, Keyword | None], tuple[Any, ...]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._enumerable = self.rules.enumerable and self.rules.places == 1

    @property
    def nbytes(self) -> int:
        everything = 0 if self._all is None else self._all.nbytes
        return 4_000 + everything + self._known.nbytes + self._allowed.nbytes

    def entities(self, asked: Column, state: Snapshot, work: GuardedWork) -> Mask:
        """bool[n]: which of the entities, distinct and sorted, it allows. For `(allow ?e)`."""
        with self._alone(work):
            if self._all is None and self._enumerable and len(asked) + len(self._known) > _MANY:
                self._find_all(state, work)
            if self._all is not None:
                return self._all.have(asked)
            new = asked[~among(asked, self._known)]
            if len(new):
                check = _Check(self, state, None, work)
                allowed = check.allowed([new])
                if check.ran_out:
                    known = among(asked, self._known)
                    found = np.zeros(len(asked), np.bool_)
                    found[known] = self._allowed[np.searchsorted(self._known, asked[known])]
                    found[~known] = allowed
                    return found
                self._remember(new, allowed)
            return self._allowed[np.searchsorted(self._known, asked)]

    def datoms(self, attribute: Keyword, e: Column, v: Column, state: Snapshot, work: GuardedWork) -> Mask:
        """bool[n]: which of the datoms it allows. For `(allow ?e ?a ?v)`."""
        return _Check(self, state, attribute, work).allowed([e, v])

    @contextmanager
    def _alone(self, work: GuardedWork) -> Iterator[None]:
        """One thread at a time finds what others need, too. The others wait as long as their work goes on."""
        while not self._lock.acquire(timeout=_LOOK_SECONDS):
            work.check()
        try:
            yield
        finally:
            self._lock.release()

    def _find_all(self, state: Snapshot, work: GuardedWork) -> None:
        try:
            self._all = _Entities(distinct(_Check(self, state, None, work).rows(None).columns[_ENTITY.name]))
        except AdalogError as error:
            work.check()
            if error.code in _NOT_THE_GUARDS:
                raise
            # Some entity's guard fails: those that do not are found one by one.
            self._enumerable = False

    def _remember(self, entities: Column, allowed: Mask) -> None:
        known = np.concatenate((self._known, entities))
        order = np.argsort(known, kind="stable")
        self._known, self._allowed = known[order], np.concatenate((self._allowed, allowed))[order]

    def arguments(self, asked: PolicyQuestion, state: Snapshot) -> tuple[Any, ...]:
        key = (asked.subjects, asked.attribute)
        found = self._args.get(key)
        if found is None:
            found = self._args[key] = asked.arguments(self.claims, state)
        return found


class _Entities:
    """Entities, sorted and distinct; with a table of all between the first and the last where it is not large."""

    def __init__(self, ids: Column) -> None:
        self._ids = ids
        self._low = int(ids[0]) if len(ids) else 0
        self._table: Mask | None = None
        span = int(ids[-1]) - self._low + 1 if len(ids) else 0
        if 0 < span <= _SPARSE * len(ids):
            # The last place stands for all entities beyond.
            self._table = np.zeros(span + 1, np.bool_)
            self._table[ids - self._low] = True

    @property
    def nbytes(self) -> int:
        return self._ids.nbytes + (0 if self._table is None else self._table.nbytes)

    def have(self, asked: Column) -> Mask:
        if self._table is None:
            return among(asked, self._ids)
        found = np.empty(len(asked), np.bool_)
        # In slices, whose columns stay in the processor's cache.
        for start in range(0, len(asked), _SLICE):
            places = asked[start : start + _SLICE] - self._low
            # A negative one is large without its sign.
            at = np.minimum(places.view(np.uint64), len(self._table) - 1).view(np.int64)
            found[start : start + _SLICE] = self._table[at]
        return found


@dataclass
class _Check:
    """One look at which rows a policy allows at a state, with a time for all of it. `ran_out`: as of the work."""

    answers: PolicyAnswers
    state: Snapshot
    attribute: Keyword | None
    work: GuardedWork
    ran_out: bool = False
    _until: float = field(default_factory=lambda: time.monotonic() + _TIMEOUT_MS / 1000)

    def allowed(self, columns: Sequence[Column]) -> Mask:
        """Which rows are allowed; a row whose guard fails is not."""
        size = len(columns[0])
        if not size:
            return np.zeros(0, np.bool_)
        try:
            found = self.rows(columns)
        except AdalogError as error:
            # What ends the work that the guard is for is no failure of the guard.
            self.work.check()
            if error.code in _NOT_THE_GUARDS:
                raise
            if error.code in _MEANS:
                self.ran_out = self.work.ran_out = True
            if size == 1 or error.code is Code.TIMEOUT:
                return np.zeros(size, np.bool_)
            half = size // 2
            halves = ([each[:half] for each in columns], [each[half:] for each in columns])
            return np.concatenate([self.allowed(each) for each in halves])
        own = found.columns[_ENTITY.name]
        if len(columns) == 1:
            return among(columns[0], distinct(own))
        return _pairs_among(columns, [own, found.columns[_VALUE.name]])

    def rows(self, subjects: Sequence[Column] | None) -> Batch:
        """What it allows of the subjects, or all that it allows."""
        answers, state, runner = self.answers, self.state, self.answers.runner
        asked = runner.question(answers.policy, answers.rules, self.attribute, subjects=subjects is not None)
        given = {} if subjects is None else {_SUBJECTS: subjects}
        cancel = GuardCancel(self._until, self.work)
        return runner.rows(answers.policy, asked, answers.arguments(asked, state), given, state, cancel)


def _pairs_among(rows: Sequence[Column], found: Sequence[Column]) -> Mask:
    """Which pairs are among those found."""
    both = [np.concatenate(each) for each in zip(rows, found, strict=True)]
    _, number = np.unique(np.stack(both), axis=1, return_inverse=True)
    number = number.reshape(-1)
    size = len(rows[0])
    mask: Mask = np.isin(number[:size], number[size:])
    return mask
