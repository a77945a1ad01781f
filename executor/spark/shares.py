"""Divides a query into shares of about equal work: prefixes of its join, or values of an argument of its rules.

The values of the first variable are shared out by their numbers of candidates at the next level. A hub, a value
with too many for one share, is extended by one variable and shared out again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.ast import FindVar
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Binding
from adalog.executor.evaluation.fixpoint import Fixpoint, StratumCounts, derived
from adalog.executor.facts.facts import whole
from adalog.executor.join.batch import Batch, Column, concatenate
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.level import LevelCounts
from adalog.executor.join.protocol import UNBOUNDED
from adalog.executor.question.inputs import Inputs
from adalog.planner.model.multiplicity import DroppedRows
from adalog.planner.model.plan import Plan

_DEEPEST = 3
_MOST_PREFIXES = 1 << 21
# A prefix costs something even where it has no extension.
_PREFIX_WORK = 1.0
# With n candidates at this level and more levels to come the join looks at about n^1.5, not at n.
_EXPONENT = 1.5
# For each share that values or prefixes are dealt out to.
_PACKETS = 16


@dataclass(frozen=True, slots=True)
class Share:
    """Prefixes with the variables of the first `depth` levels bound."""

    depth: int
    prefixes: Batch
    work: float


@dataclass(frozen=True, eq=False)
class SharedQuery:
    """A query divided among tasks. relations: those that every task is given. counts, strata, dropped: of what was
    evaluated on the way, as `JoinOutcome` has them. No shares: there is no answer."""

    shares: Sequence[Share]
    relations: Mapping[str, Sequence[Column]]
    counts: list[LevelCounts]
    strata: list[StratumCounts]
    dropped: Mapping[str, DroppedRows] = field(default_factory=dict)


def divided(plan: Plan, inputs: Inputs, start: Batch, run: QueryRun, wanted: int) -> SharedQuery:
    """Divides a query into about `wanted` shares. start: the first batch. With a variable to share out the rules
    run in the tasks, each for its share of the variable's values; otherwise here, before the join is cut."""
    nothing = [LevelCounts() for _ in plan.levels]
    if plan.sharing is not None:
        fixpoint = Fixpoint(plan, inputs, start, run.on_one_thread)
        values = fixpoint.domain(plan.sharing)
        shares = dealt(plan.sharing.variable, values, fixpoint.work(plan.sharing, values), wanted)
        return SharedQuery(shares, inputs.relations, nothing, [])
    fixpoint = Fixpoint(plan, inputs, start, run)
    facts = fixpoint.relations_read()
    join = Binding(plan, inputs.databases, facts, run, derive=derived).join()
    if join is None:
        return SharedQuery([], {}, nothing, fixpoint.counts, fixpoint.dropped)
    shares = split(join, start, wanted, run.cancel)
    relations = {name: whole(held) for name, held in facts.items()}
    return SharedQuery(shares, relations, join.counts, fixpoint.counts, fixpoint.dropped)


def is_rows(plan: Plan) -> bool:
    """Whether the answer is the rows of the join, in any order."""
    query = plan.query
    if query.order_by or query.with_ or plan.weighted or query.is_limited:
        return False
    return all(isinstance(column, FindVar) for column in query.find.columns)


def are_apart(plan: Plan, shares: Sequence[Share]) -> bool:
    """Whether no row can be of two shares: rows do not repeat, or show what tells the shares apart."""
    shown = {element.var.name for element in plan.query.find.columns}
    repeat = plan.distinct or plan.query.with_
    return not repeat or all(shown >= set(share.prefixes.columns) for share in shares)


def split(join: GenericJoin, start: Batch, wanted: int, cancel: Cancel) -> list[Share]:
    """About `wanted` shares, the largest first; none where the join has no answer."""
    frontier, depth = join.start(start), 0
    last = len(join.levels) - 1
    shares: list[Share] = []
    shared = 0.0
    while frontier.size and depth < min(last, _DEEPEST):
        cancel.check()
        if _candidates(join, frontier, depth).sum() > _MOST_PREFIXES:
            break
        frontier = _extended(join, frontier, depth, cancel)
        depth += 1
        if not frontier.size:
            break
        work = _work(join, frontier, depth)
        most = (shared + float(work.sum())) / wanted
        heavy = work > most
        light = ~heavy
        if light.any():
            shares += cut(frontier.keep(light), depth, work[light], most)
            shared += float(work[light].sum())
        frontier = frontier.keep(heavy) if heavy.any() else Batch(0, {})
    if frontier.size:
        shares += cut(frontier, depth, _work(join, frontier, depth), 0.0 if depth else np.inf)
    return sorted(shares, key=lambda share: -share.work)


def dealt(variable: str, values: Column, work: NDArray[np.float64], wanted: int) -> list[Share]:
    """At most `wanted` shares of a variable's values, of about equal work, the largest first. Values with much of
    it are dealt out one by one, the others in packets of a few from everywhere."""
    hands = min(wanted, len(values))
    if not hands:
        return []
    heavy = work * hands * _PACKETS > work.sum()
    others = np.flatnonzero(~heavy)
    packets = [others[i :: hands * _PACKETS] for i in range(min(hands * _PACKETS, len(others)))]
    packets += [np.array([place]) for place in np.flatnonzero(heavy).tolist()]
    hand = _hands(np.array([work[packet].sum() for packet in packets]), hands)
    shares = []
    for number in np.unique(hand).tolist():
        places = np.sort(np.concatenate([packets[at] for at in np.flatnonzero(hand == number)]))
        shares.append(Share(0, Batch(len(places), {variable: values[places]}), float(work[places].sum())))
    return sorted(shares, key=lambda share: -share.work)


def _hands(work: NDArray[np.float64], hands: int) -> NDArray[np.int64]:
    """The hand of each packet: the heaviest first, each to the least loaded hand (Graham's LPT rule)."""
    dealt_to = np.empty(len(work), np.int64)
    least = [(0.0, hand) for hand in range(hands)]
    for number in np.argsort(-work, kind="stable").tolist():
        total, hand = heappop(least)
        dealt_to[number] = hand
        heappush(least, (total + float(work[number]), hand))
    return dealt_to


def cut(prefixes: Batch, depth: int, work: NDArray[np.float64], most: float) -> list[Share]:
    """Shares of up to about `most` work. Packets of neighbours are dealt out, so that each share has some of
    everywhere: where the work is estimated wrongly it is so for whole stretches of prefixes."""
    ends = np.cumsum(work)
    total = float(ends[-1])
    pieces = max(1, min(prefixes.size, round(total / most))) if most > 0 else prefixes.size
    packet = np.minimum((ends - work) * (pieces * _PACKETS / total), pieces * _PACKETS - 1).astype(np.int64)
    hand = _hands(np.bincount(packet, work).astype(np.float64), pieces)[packet]
    order = np.argsort(hand, kind="stable")
    edges = np.searchsorted(hand[order], np.arange(pieces + 1)).tolist()
    places = [order[lo:hi] for lo, hi in pairwise(edges) if lo < hi]
    return [Share(depth, prefixes.take_all(own), float(work[own].sum())) for own in places]


def _extended(join: GenericJoin, batch: Batch, depth: int, cancel: Cancel) -> Batch:
    chunks: list[Batch] = []
    for chunk in join.extend(batch, depth):
        cancel.check()
        chunks.append(chunk)
    if not chunks:
        return Batch(0, {})
    whole = concatenate(chunks)
    return whole.distinct() if join.levels[depth].merge else whole


def _candidates(join: GenericJoin, batch: Batch, depth: int) -> NDArray[np.int64]:
    """Per prefix an upper bound on its extensions at the level; 1 where nothing constrains the variable."""
    counts = join.count(batch, depth)
    return np.where(counts >= UNBOUNDED, 1, counts)


def _work(join: GenericJoin, batch: Batch, depth: int) -> NDArray[np.float64]:
    if depth == len(join.levels):
        return np.ones(batch.size)
    candidates = _candidates(join, batch, depth).astype(np.float64)
    if depth < len(join.levels) - 1:
        candidates **= _EXPONENT
    return candidates + _PREFIX_WORK
