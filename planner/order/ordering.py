"""The order in which the join binds variables.

A beam search over orders: at each step the variables that something can propose are tried, and the cheapest few
partial orders survive. The cost of an order is the number of candidates looked at and prefixes made. Deterministic
for equal statistics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from heapq import heapify, heappop, heappush
from itertools import filterfalse, islice
from operator import or_
from typing import NamedTuple

from adalog.datalog.ast import Const
from adalog.planner.model.logical import AndNode, DatomAtom, Leaf, Node, OrNode, conjuncts, leaves, variables
from adalog.planner.order.statistics import FILTER, Statistics
from adalog.planner.scope.comparisons import beginning, bounds, equates, narrows

# The share of a variable's values that lie between two bounds.
_BETWEEN = 0.001
# Partial orders that survive a step; fewer where there are more than _MANY variables.
_BEAM = 8
# With more variables to choose from, all but a few of those that nothing bound leads to are left for later.
_MANY, _FEW = 10, 3
# The cost from which on a beam's order is improved, some hundredths of a second, and what a step of that is worth.
_EXPENSIVE, _STEP = 2e5, 400.0
_MOST_STEPS, _MOST_MOVED = 5000, 30
# What a prefix costs whose value is taken from a column as it is, or is looked up in the order of keys, as
# a share of one that is looked up anywhere; from so many prefixes on.
_ALIGNED, _IN_ORDER, _LONG = 0.2, 0.5, 1e4
# What a better order costs at most of the one before it; more is in the estimates' noise.
_CLEARLY = 0.9


Binds = Callable[[Leaf, str, frozenset[str]], bool]
"""Whether a leaf gives values of a variable once some are bound."""

Tried = Callable[[Sequence[str], frozenset[str]], Sequence[str]]
"""Those of the variables that can be next, once some are bound, that a search tries."""


def gives(leaf: Leaf, variable: str, bound: frozenset[str]) -> bool:
    """Whether a leaf gives values of a variable that is not bound, once `bound` are."""
    return variable in leaf.gives and leaf.needs <= bound


def _proposes(leaf: Leaf, variable: str, bound: frozenset[str]) -> bool:
    return gives(leaf, variable, bound) or equates(leaf, variable, bound)


def can_bind(node: Node, variable: str, bound: frozenset[str], binds: Binds = gives) -> bool:
    """Whether the node makes the variable safe once `bound` are bound. `binds`: the same of a leaf."""
    match node:
        case AndNode():
            return variable in node.names and any(can_bind(item, variable, bound, binds) for item in node.items)
        case OrNode():
            if variable not in node.names or not node.required <= bound:
                return False
            owners = dict(node.local_to)
            if variable in owners:
                return can_bind(node.branches[owners[variable]], variable, bound, binds)
            taking = [branch for branch in node.branches if variable in variables(branch)]
            return len(taking) == len(node.branches) and all(can_bind(b, variable, bound, binds) for b in taking)
        case _:
            return binds(node, variable, bound)


def can_propose(node: Node, variable: str, bound: frozenset[str]) -> bool:
    """Whether the node can propose values of the variable once `bound` are bound: an equality can as well."""
    return can_bind(node, variable, bound, _proposes)


@dataclass(frozen=True, slots=True)
class PartialOrder:
    """A partial order: variables bound so far, expected prefixes after each, total cost.

    `kept`: those bound by a level that later levels or the answer need, in the order in which they were bound.
    `bits`: those bound by a level, as a set of bits. `last`: by the bit of a variable that is not bound, those kept
    that nothing needs any more once it is.
    """

    order: tuple[str, ...]
    bound: frozenset[str]
    prefixes: tuple[float, ...]
    cost: float
    kept: tuple[str, ...] = ()
    bits: int = 0
    last: Mapping[int, frozenset[str]] = field(default_factory=dict)


class _Column(NamedTuple):
    """`key`: the variable that values are looked up by. `is_single`: whether each key has one."""

    key: str
    is_single: bool


class _Level(NamedTuple):
    """What a level that binds a variable is expected to do with a prefix; the same wherever the same of its
    neighbours are bound.

    `least`: candidates. `share`: the part of them that remains. `between`: whether they lie between two bounds that
    are bound. `looked_up`: whether the level only asks if there are any. `sorting`: the cost that is paid once.
    `column`: as of `_Search._column_of`, where one item proposes.
    """

    least: float
    share: float
    between: bool
    looked_up: bool
    sorting: float
    column: _Column | None


def order_variables(
    body: AndNode, given: frozenset[str], needed: frozenset[str], statistics: Statistics, *, reorder: bool = True
) -> PartialOrder | None:
    """The cheapest order found, or None where some variable can never be bound.

    given: bound before the first level. needed: what the answer is made of; others are dropped after their last
    use, which bounds the number of prefixes by the domains of those kept. Without `reorder` the variables are
    bound in the order in which the text first mentions them, as far as they can be.
    """
    written = list(dict.fromkeys(name for leaf in leaves(body) for name in leaf.mentions))
    wanted = [name for name in written if name not in given]
    search = _Search(body, wanted, given, needed, statistics, shorten=reorder)
    start = PartialOrder((), given, (), 0.0)
    if not reorder:
        return search.cheapest(start, 1, lambda options, _: options[:1])
    width = max(2, _BEAM * _MANY // max(len(wanted), _MANY))
    best = search.cheapest(start, width, search.promising)
    if best is None or best.cost < _EXPENSIVE or len(wanted) > _MOST_MOVED:
        return best
    return search.improved(start, best)


@dataclass(slots=True)
class _Nest:
    """An `or` with so many local variables that only those are tried which have the fewest values: what is bound in
    one branch says nothing of the others. `before`, `after`: the variables in that order while nothing outside is
    bound, and once all is. `totals`: sums over the branches, of finite counts, and the number of others, by a
    variable that they share and those that are bound, for orders of this length and (`shorter`) of one less."""

    node: OrNode
    before: tuple[str, ...]
    after: tuple[str, ...]
    totals: dict[tuple[str, frozenset[str]], tuple[float, int]] = field(default_factory=dict)
    shorter: dict[tuple[str, frozenset[str]], tuple[float, int]] = field(default_factory=dict)
    length: int = 0

    @staticmethod
    def of(node: OrNode, given: frozenset[str], statistics: Statistics) -> _Nest:
        before = sorted((statistics.count(node, name, given), name) for name in node.owners)
        local: list[set[str]] = [set() for _ in node.branches]
        for name, owner in node.owners.items():
            local[owner].add(name)
        bound = [given | (branch.names - local[owner]) for owner, branch in enumerate(node.branches)]

        def next_of(owner: int) -> Iterator[tuple[float, str, int]]:
            """The variable of a branch that has the fewest values next."""
            statistics.check()
            yield from sorted((statistics.count(node, name, bound[owner]), name, owner) for name in local[owner])[
                :1
            ]

        after: list[str] = []
        heap = [first for owner in range(len(local)) for first in next_of(owner)]
        heapify(heap)
        while heap:
            _, name, owner = heappop(heap)
            after.append(name)
            bound[owner] |= {name}
            local[owner].discard(name)
            for following in next_of(owner):
                heappush(heap, following)
        return _Nest(node, tuple(name for _, name in before), tuple(after))

    def first(self, bound: frozenset[str]) -> dict[str, None]:
        """A few that are not bound."""
        left = (filterfalse(bound.__contains__, names) for names in (self.before, self.after))
        return dict.fromkeys(name for names in left for name in islice(names, _FEW))

    def total(self, name: str, partial: PartialOrder, statistics: Statistics) -> float:
        """What all branches propose for a variable that they share."""
        if len(partial.order) > self.length:
            self.shorter = self.totals if len(partial.order) == self.length + 1 else {}
            self.totals, self.length = {}, len(partial.order)
        last = partial.order[-1:]
        known = self.shorter.get((name, partial.bound.difference(last)))
        if known is None or last[0] not in self.node.owners:
            branches: Sequence[AndNode] = self.node.branches
            known = 0.0, 0
        else:
            branches = (self.node.branches[self.node.owners[last[0]]],)
            finite, others = known
            before = statistics.count(branches[0], name, partial.bound.difference(last))
            known = (finite - before, others) if before < FILTER else (finite, others - 1)
        finite, others = known
        for branch in branches:
            count = statistics.count(branch, name, partial.bound)
            finite, others = (finite + count, others) if count < FILTER else (finite, others + 1)
        self.totals[name, partial.bound] = finite, others
        return FILTER if others else min(finite, FILTER)


class _Search:
    """A body by its variables: for each the items it stands in, and the variables of each leaf it stands in."""

    def __init__(
        self,
        body: AndNode,
        wanted: Sequence[str],
        given: frozenset[str],
        needed: frozenset[str],
        statistics: Statistics,
        *,
        shorten: bool,
    ) -> None:
        self.wanted = wanted
        # With what something proposed a variable first: so it does with more.
        self.first_bound: dict[str, frozenset[str]] = {}
        self.needed = needed
        self.statistics = statistics
        self.items: dict[str, list[tuple[Node, frozenset[str]]]] = {name: [] for name in wanted}
        self.spans: dict[str, list[frozenset[str]]] = {name: [] for name in wanted}
        # Variables as bits: each, and all with which it shares an item or a leaf. What is neither bound by a level
        # nor from the start has a bit that is never bound.
        self.bits = {name: 1 << place for place, name in enumerate(wanted)}
        bits = defaultdict(lambda: 1 << len(wanted), self.bits)
        bits.update(dict.fromkeys(given, 0))
        self.near = dict.fromkeys(wanted, 0)
        self.reach = dict.fromkeys(wanted, 0)
        for item in conjuncts(body.items):
            names = variables(item)
            together = reduce(or_, map(bits.__getitem__, names), 0)
            for name in names & self.items.keys():
                self.items[name].append((item, names))
                self.near[name] |= together
        for leaf in leaves(body):
            names = variables(leaf)
            together = reduce(or_, map(bits.__getitem__, names), 0)
            for name in names & self.spans.keys():
                self.spans[name].append(names)
                self.reach[name] |= together
        self.levels: dict[tuple[str, int], _Level] = {}
        self.domains = {
            name: min((statistics.domain(item, name) for item, _ in items), default=1.0)
            for name, items in self.items.items()
        }
        # Of those whose values lie between constants: the share that does, where it is known.
        self.shares: dict[str, float] = {}
        for name, items in self.items.items():
            share = statistics.range_share([item for item, _ in items], name)
            if share is not None:
                self.shares[name] = share
        self.nests = {
            id(item): _Nest.of(item, given, statistics)
            for item in body.items
            if isinstance(item, OrNode) and shorten and len(item.owners) > _MANY
        }
        self.outside = wanted
        if self.nests:
            inside = frozenset[str]().union(*(nest.node.owners for nest in self.nests.values()))
            self.outside = [name for name in wanted if name not in inside]

    def cheapest(self, start: PartialOrder, width: int, tried: Tried) -> PartialOrder | None:
        """The cheapest order that a beam of a width finds; None where some variable can never be bound."""
        beam = [start]
        for _ in self.wanted:
            grown: dict[int, tuple[float, PartialOrder, str, float]] = {}
            for partial in beam:
                self.statistics.check()
                for name in tried(self.options(partial.bound), partial.bound):
                    cost, after = self.expected(partial, name)
                    bits = partial.bits | self.bits[name]
                    best = grown.get(bits)
                    if best is None or cost < best[0]:
                        grown[bits] = cost, partial, name, after
            if not grown:
                return None
            cheapest = sorted(grown.values(), key=lambda each: (each[0], each[1].order, each[2]))[:width]
            beam = [self.extended(partial, name, cost, after) for cost, partial, name, after in cheapest]
        return beam[0]

    def improved(self, start: PartialOrder, best: PartialOrder) -> PartialOrder:
        """The order with variables moved to other places while that makes it clearly cheaper. In a beam those with
        few values, which are cheap to begin with, crowd out the one that connects them."""
        left = int(min(best.cost / _STEP, _MOST_STEPS))
        waiting = list(best.order)
        while waiting and left > 0:
            name = waiting.pop()
            others = [each for each in best.order if each != name]
            for place in range(len(others) + 1):
                moved = self.in_order(start, [*others[:place], name, *others[place:]], _CLEARLY * best.cost)
                left -= len(others)
                if moved is not None:
                    best, waiting = moved, [each for each in moved.order if each != name]
        return best

    def in_order(self, start: PartialOrder, names: Sequence[str], below: float) -> PartialOrder | None:
        """The order that begins so and binds variables in a sequence, each as soon as it can be bound; None where
        that costs no less than `below`."""
        self.statistics.check()
        partial, left = start, list(names)
        while left:
            name = next((each for each in left if self.binds(each, partial.bound)), None)
            if name is None or partial.cost >= below:
                return None
            left.remove(name)
            partial = self.extended(partial, name, *self.expected(partial, name))
        return partial if partial.cost < below else None

    def options(self, bound: frozenset[str]) -> list[str]:
        """The variables that something can propose; of those local to the branches of a large `or` a few."""
        if self.nests:
            few = [*self.outside, *(name for nest in self.nests.values() for name in nest.first(bound))]
            found = [name for name in few if name not in bound and self.binds(name, bound)]
            if found:
                return found
        return [name for name in self.wanted if name not in bound and self.binds(name, bound)]

    def binds(self, name: str, bound: frozenset[str]) -> bool:
        """Whether some item can propose values of the variable."""
        first = self.first_bound.get(name)
        if first is not None and first <= bound:
            return True
        if any(can_propose(item, name, bound) for item, _ in self.items[name]):
            self.first_bound[name] = bound
            return True
        return False

    def promising(self, options: Sequence[str], bound: frozenset[str]) -> Sequence[str]:
        """Of many variables those that share a leaf with bound ones, and the few others with the fewest values."""
        if len(options) <= _MANY:
            return options
        apart = [name for name in options if not any(span & bound for span in self.spans[name])]
        apart.sort(key=lambda name: (self.domains[name], name))
        dropped = frozenset(apart[_FEW if len(apart) < len(options) else _MANY :])
        return [name for name in options if name not in dropped]

    def count(self, item: Node, name: str, partial: PartialOrder) -> float:
        """`Statistics.count`, of a large `or` from what it was one variable before."""
        nest = self.nests.get(id(item))
        if nest is None or name in nest.node.owners or name in nest.node.required:
            return self.statistics.count(item, name, partial.bound)
        return nest.total(name, partial, self.statistics)

    def expected(self, partial: PartialOrder, name: str) -> tuple[float, float]:
        """The cost of the order with one variable more, and the prefixes after that."""
        before = partial.prefixes[-1] if partial.prefixes else 1.0
        key = name, partial.bits & self.near[name]
        level = self.levels.get(key)
        if level is None:
            level = self.levels[key] = self._level(partial, name)
        candidates = before * level.least
        after = candidates * level.share
        known = self.shares.get(name)
        if known is not None:
            after *= known
            # Of a whole column a range is read.
            candidates = max(before, candidates * known) if level.least > 1.0 else candidates
        elif level.between:
            # What lies between two bounds is found, and is little as a rule.
            candidates = after = before * max(1.0, _BETWEEN * level.least)
        if level.looked_up:
            # One value of a range is enough where nothing asks for the value.
            candidates = before
            after = min(after, before)
        # Dropped variables merge prefixes: there are never more than the domains of the kept ones allow, each of
        # which is 1 at least.
        bit = self.bits[name]
        kept = name in self.needed or self.reach[name] & ~(partial.bits | bit)
        most = self.domains[name] if kept else 1.0
        if most < after:
            dropped = partial.last.get(bit, ())
            for other in partial.kept:
                if other not in dropped:
                    most *= self.domains[other]
                    if most >= after:
                        break
            after = min(after, most)
        step = candidates + after
        if level.column is not None and before >= _LONG and partial.order[:1] == (level.column.key,):
            # The values that the first level bound are in order, if each is still there once.
            in_order = partial.prefixes[0] == before
            is_aligned = before == after and level.column.is_single
            step *= (_ALIGNED if is_aligned else _IN_ORDER) if in_order else 1.0
        return partial.cost + step + level.sorting, after

    def extended(self, partial: PartialOrder, name: str, cost: float, after: float) -> PartialOrder:
        """The partial order with one variable more, with what was expected of it."""
        bits = partial.bits | self.bits[name]
        dropped = partial.last.get(self.bits[name], ())
        kept: list[str] = []
        last: dict[int, frozenset[str]] = {}
        for other in (*partial.kept, name):
            if other in self.needed:
                kept.append(other)
            elif other not in dropped and (waits := self.reach[other] & ~bits):
                kept.append(other)
                if waits & (waits - 1) == 0:
                    last[waits] = last.get(waits, frozenset()) | {other}
        bound = partial.bound | {name}
        prefixes = (*partial.prefixes, after)
        return PartialOrder((*partial.order, name), bound, prefixes, cost, tuple(kept), bits, last)

    def _level(self, partial: PartialOrder, name: str) -> _Level:
        bound = partial.bound | {name}
        taking = self.items[name]
        counts = [self.count(item, name, partial) for item, _ in taking]
        domain = self.domains[name]
        least = min((count for count in counts if count < FILTER), default=domain)
        share, known = 1.0, self.shares.get(name)
        skipped = False
        for (item, names), count in zip(taking, counts, strict=True):
            if count == least and not skipped:
                skipped = True
            elif count < FILTER:
                share *= min(1.0, count / max(domain, 1.0, least))
            elif names <= bound and not (known is not None and _is_counted(item, name)):
                share *= item.selectivity
        between = {bounds(item, name, partial.bound) for item, _ in taking} >= {True, False}
        looked_up = self._is_looked_up(name, partial.bound)
        proposing = [item for (item, _), count in zip(taking, counts, strict=True) if count < FILTER]
        column = self._column_of(name, proposing[0]) if len(proposing) == 1 else None
        return _Level(least, share, between, looked_up, self._sorting(name, partial.bound), column)

    def _column_of(self, name: str, item: Node) -> _Column | None:
        """By which of a pattern's variables the values of another one are looked up."""
        if not isinstance(item, DatomAtom) or not isinstance(item.attribute, Const):
            return None
        if name not in (item.entity, item.value):
            return None
        key = item.entity if item.value == name else item.value
        if not isinstance(key, str) or key == name:
            return None
        size = self.statistics.size(item)
        return _Column(key, item.value == name and size.rows == size.firsts)

    def _sorting(self, name: str, bound: frozenset[str]) -> float:
        """What it costs to sort a variable's values for the comparisons that look them up."""
        if not any(narrows(item, name, bound) for item, _ in self.items[name]):
            return 0.0
        if name in self.shares and all(
            narrows(item, name, frozenset()) for item, _ in self.items[name] if narrows(item, name, bound)
        ):
            return 0.0
        sorts = any(self.statistics.is_coded(item, name) for item, _ in self.items[name])
        return self.domains[name] if sorts else 0.0

    def _is_looked_up(self, name: str, bound: frozenset[str]) -> bool:
        """Whether a level only asks if there are values in a range: of a variable that stands in comparisons with
        bound variables and once besides, in a clause that nothing bound narrows."""
        if name in self.needed:
            return False
        others = [(item, names) for item, names in self.items[name] if not narrows(item, name, bound)]
        return len(others) == 1 < len(self.items[name]) and others[0][1] == {name}


def _is_counted(item: Node, name: str) -> bool:
    """Whether the known share of a variable's values counts the item."""
    return bounds(item, name, frozenset()) is not None or beginning(item, name) is not None
