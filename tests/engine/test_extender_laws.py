"""The laws of `executor.join.protocol.Extender`, one run over every kind of extender there is.

What is proposed is what would have been accepted, no more than was counted, sorted and distinct for each prefix, in
the prefixes' order. What is accepted is a matter of the row alone: it keeps its place, its repeats and its other
columns. Only a conjunction may propose more, where one of its parts is asked again at the next level; then the rows
are the same once all levels are bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from adalog.datalog.ast import Const
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.values import EdnSet, Keyword, identity
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.expressions.calls import Call
from adalog.executor.extenders.attributes import AttributesExtender
from adalog.executor.extenders.changes import Moments
from adalog.executor.extenders.comparisons import ComparisonExtender, EqualityExtender
from adalog.executor.extenders.functions import FilterExtender, FunctionExtender, UnnestExtender
from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.extenders.patterns import Patterns
from adalog.executor.extenders.relation import RelationExtender, UnionExtender
from adalog.executor.join.batch import ORIGIN, Batch, Column
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.disjunction import Nest, OrBranch, OrExtender
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.level import Level
from adalog.executor.join.negation import NotExtender
from adalog.executor.join.protocol import START, UNBOUNDED, Extender
from adalog.executor.join.ranges import RangeExtender
from adalog.planner.model.logical import DatomAtom, Term
from adalog.planner.model.version import Version
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import Csr, Trie
from adalog.store.values.attribute import TX_BASE
from adalog.store.values.codes import Codes, Scratch
from adalog.store.values.layout import FALSE, TRUE
from tests.property.model import examples

Draw = Callable[[st.SearchStrategy], object]
Rank = dict[str, int]
Pairs = set[tuple[int, int]]

TAG = "#tag"
NUMBERS = tuple(range(6))
NAMES = ("a", "b", "c")
COLLECTION = "v"
VALUES = Scratch(Codes())
COLLECTIONS = tuple(map(VALUES.intern, ((), (1, 2), (5, 3, 3, None), EdnSet((4, 0)), (9,))))


@dataclass(frozen=True)
class Running:
    """Whatever calls run in."""

    run: QueryRun


RUNNING = Running(QueryRun(VALUES))


@dataclass(frozen=True)
class Case:
    """An extender and what to ask it. `first`: the variables that the first batch binds; `levels`: the others in
    their order; `domains`: values to try; `states`: columns beside the variables, all bits set at the start;
    `local`: variables that one branch of an `or` alone knows."""

    extender: Extender
    first: tuple[str, ...]
    levels: tuple[str, ...]
    domains: Mapping[str, Sequence[int]]
    states: tuple[str, ...] = ()
    local: frozenset[str] = frozenset()


# Kinds of extenders over ranked variables


def trie(versions: Sequence[Pairs], turned: bool = False) -> Trie:
    """The last of the versions: the first as its base, each later one as a level of signed pairs."""

    def columns(pairs: Sequence[tuple[int, int]]) -> tuple[Column, Column]:
        array = np.array(pairs, np.int64).reshape(-1, 2)
        first, second = array[:, 0].copy(), array[:, 1].copy()
        return (second, first) if turned else (first, second)

    made = Trie(Csr.from_pairs(*columns(sorted(versions[0]))))
    for before, after in itertools.pairwise(versions):
        changed = sorted(before ^ after)
        made = made.advanced(*columns(changed), np.array([pair in after for pair in changed], np.bool_))
    return made


PAIRS = st.sets(st.tuples(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)), max_size=14)
TRIES = st.lists(PAIRS, min_size=1, max_size=4)


def pair(draw: Draw, rank: Rank, first: str | int | None, second: str | int | None) -> PairExtender:
    versions = draw(TRIES)
    forward, backward = trie(versions), trie(versions, turned=True)
    return PairExtender(first, second, lambda: forward, lambda: backward, rank)


def two(draw: Draw) -> tuple[str, str]:
    return tuple(draw(st.permutations(NAMES))[:2])  # type: ignore[return-value]


def a_pair(draw: Draw, rank: Rank) -> Extender:
    return pair(draw, rank, *two(draw))


def a_diagonal(draw: Draw, rank: Rank) -> Extender:
    name, _ = two(draw)
    return pair(draw, rank, name, name)


def a_pair_with_a_constant(draw: Draw, rank: Rank) -> Extender:
    ends = [two(draw)[0], draw(st.sampled_from(NUMBERS))]
    return pair(draw, rank, *draw(st.permutations(ends)))


def a_pair_with_a_blank(draw: Draw, rank: Rank) -> Extender:
    return pair(draw, rank, *draw(st.permutations([two(draw)[0], None])))


def any_attribute(draw: Draw, rank: Rank) -> Extender:
    first, second = two(draw)
    attribute = draw(st.sampled_from([None, *set(NAMES) - {first, second}]))
    ends = draw(
        st.sampled_from([(first, second), (first, None), (None, second), (first, first), (first, 3), (2, second)])
    )
    idents = draw(st.sets(st.sampled_from(NUMBERS), min_size=1, max_size=3))
    pairs = {ident: pair(draw, rank, *ends) for ident in idents}
    return AttributesExtender(attribute, frozenset(end for end in ends if isinstance(end, str)), pairs, rank)


def rows(draw: Draw, width: int) -> list[tuple[int, ...]]:
    return draw(st.lists(st.tuples(*[st.sampled_from(NUMBERS)] * width), max_size=16))


def columns_of(given_rows: Sequence[tuple[int, ...]], width: int) -> list[Column]:
    return list(np.array(given_rows, np.int64).reshape(-1, width).T.copy())


def some_names(draw: Draw) -> tuple[str, ...]:
    return tuple(draw(st.permutations(NAMES))[: draw(st.integers(1, 3))])


def a_relation(draw: Draw, rank: Rank) -> Extender:
    names = some_names(draw)
    return RelationExtender.of(names, columns_of(rows(draw, len(names)), len(names)), rank)


def a_union(draw: Draw, rank: Rank) -> Extender:
    names = some_names(draw)
    whole = sorted(set(rows(draw, len(names))))
    parts = draw(st.integers(1, 3))
    return UnionExtender(
        [RelationExtender.of(names, columns_of(whole[i::parts], len(names)), rank) for i in range(parts)]
    )


def call(name: str, arguments: tuple[str | int, ...], apply: Callable[..., object]) -> Call:
    return Call(name, arguments, apply, RUNNING, None)


def a_filter(draw: Draw, rank: Rank) -> Extender:
    first, second = two(draw)
    called = draw(
        st.sampled_from(
            [
                call("<", (first, second), lambda x, y: x < y),
                call("<=", (first, 3), lambda x, y: x <= y),
                call("near?", (first, second), lambda x, y: None if x == y else abs(x - y) < 2),
            ]
        )
    )
    return FilterExtender(called, rank)


def a_function(draw: Draw, rank: Rank) -> Extender:
    first, second = two(draw)
    out = draw(st.sampled_from(NAMES))
    called = draw(
        st.sampled_from(
            [
                call("+", (first, 1), lambda x, y: x + y),
                call("half", (first,), lambda x: x // 2 if x % 2 == 0 else None),
                call("twist", (first, second), lambda x, y: (x * y + 1) % 6),
                call("three", (), lambda: 3),
            ]
        )
    )
    return FunctionExtender(called, out, rank)


def an_unnesting(draw: Draw, rank: Rank) -> Extender:
    return UnnestExtender(COLLECTION, draw(st.sampled_from(NAMES)), VALUES, None, rank)


def an_equality(draw: Draw, rank: Rank) -> Extender:
    first, second = two(draw)
    return EqualityExtender(first, draw(st.sampled_from((second, 3))), rank, nil_fits=draw(st.booleans()))


def a_comparison(draw: Draw, rank: Rank) -> Extender:
    terms = draw(st.permutations((two(draw)[0], draw(st.sampled_from((*NAMES, 3))))))
    name = draw(st.sampled_from(("<", ">", "<=", ">=", "==")))
    return ComparisonExtender(call(name, tuple(terms), BUILTINS[name].call), rank)


SIMPLE = (
    a_pair,
    a_diagonal,
    a_pair_with_a_constant,
    a_pair_with_a_blank,
    any_attribute,
    a_relation,
    a_union,
    a_filter,
    an_equality,
    a_comparison,
    a_function,
    an_unnesting,
)


def a_not(draw: Draw, rank: Rank) -> Extender:
    shared = some_names(draw)
    inside = dict.fromkeys(shared, -1) | {"z": 0}
    own = draw(st.booleans())
    names = (*shared, "z") if own else shared
    relation = RelationExtender.of(names, columns_of(rows(draw, len(names)), len(names)), inside)
    join = GenericJoin(Conjunction([relation]), [Level("z")] if own else [])

    def matches(batch: Batch) -> NDArray[np.bool_]:
        mask = np.zeros(batch.size, np.bool_)

        def mark(found: Batch) -> bool:
            mask[found.columns[ORIGIN]] = True
            return True

        Driver(join, mark, Cancel()).run(batch.having(ORIGIN, np.arange(batch.size)))
        return mask

    return NotExtender(shared, matches, rank, Cancel().check, distinct=own)


def parts(draw: Draw, rank: Rank, nest: Nest | None = None, depth: int = 0) -> list[Extender]:
    made: list[Extender] = []
    for _ in range(draw(st.integers(1, 3))):
        if nest is not None and depth < 2 and draw(st.integers(0, 4)) == 0:
            made.append(disjunction(draw, rank, nest, depth + 1))
        else:
            made.append(draw(st.sampled_from((*SIMPLE, a_not)))(draw, rank))
    return made


def disjunction(draw: Draw, rank: Rank, nest: Nest, depth: int = 0) -> OrExtender:
    branches: list[OrBranch] = []
    for _ in range(draw(st.integers(1, 3))):
        first = nest.bit()
        body = Conjunction(parts(draw, rank, nest, depth))
        branches.append(OrBranch(body, range(first, nest.used)))
    return OrExtender(nest, branches, frozenset(), rank, Cancel().check)


# Cases


def ranked(draw: Draw, names: Sequence[str]) -> tuple[Rank, tuple[str, ...], tuple[str, ...]]:
    """(the ranks, the variables of the first batch, the levels)."""
    order = draw(st.permutations(names))
    first = draw(st.integers(0, len(order)))
    levels = tuple(order[first:])
    return (
        dict.fromkeys(order[:first], -1) | {name: i for i, name in enumerate(levels)},
        tuple(order[:first]),
        levels,
    )


DOMAINS = dict.fromkeys(NAMES, NUMBERS) | {COLLECTION: COLLECTIONS}


def simple(make: Callable[[Draw, Rank], Extender]) -> Callable[[Draw], Case]:
    def case(draw: Draw) -> Case:
        rank, first, levels = ranked(draw, (*NAMES, COLLECTION))
        return Case(make(draw, rank), first, levels, DOMAINS)

    return case


def a_conjunction(draw: Draw) -> Case:
    rank, first, levels = ranked(draw, (*NAMES, COLLECTION))
    return Case(Conjunction(parts(draw, rank)), first, levels, DOMAINS)


def an_or(draw: Draw) -> Case:
    rank, first, levels = ranked(draw, (*NAMES, COLLECTION))
    nest = Nest(0, -1)
    extender = disjunction(draw, rank, nest)
    return Case(extender, first, levels, DOMAINS, nest.columns)


def an_or_with_a_local_variable(draw: Draw) -> Case:
    """Two branches, one of which has a variable that the other does not know."""
    rank, first, levels = ranked(draw, ("a", "b"))
    assume("b" in levels)
    nest = Nest(0, -1)
    bodies = [
        Conjunction([pair(draw, rank, "a", "b"), *([a_pair_with_a_constant_at("a", draw, rank)])]),
        Conjunction([a_pair_with_a_constant_at("a", draw, rank)]),
    ]
    branches = [OrBranch(body, range(i, i + 1)) for i, body in enumerate(bodies) if nest.bit() == i]
    extender = OrExtender(nest, branches, frozenset(("b",)), rank, Cancel().check)
    return Case(extender, first, levels, DOMAINS, nest.columns, frozenset(("b",)))


def a_pair_with_a_constant_at(name: str, draw: Draw, rank: Rank) -> Extender:
    return pair(draw, rank, name, draw(st.sampled_from(NUMBERS)))


@cache
def worlds() -> tuple[Snapshot, ...]:
    """Snapshots of each kind: with and without transactions since their bases, past, histories, speculative."""
    database = Database.open(":memory:")
    database.transact(
        "[{:db/ident :n :db/valueType :db.type/long :db/cardinality :db.cardinality/one}"
        " {:db/ident :s :db/valueType :db.type/string :db/cardinality :db.cardinality/many}"
        " {:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"
    )
    database.transact('[[:db/add 1 :n 1] [:db/add 2 :n 2] [:db/add 1 :to 2] [:db/add 2 :to 2] [:db/add 1 :s "x"]]')
    database.compact()
    found = [database.snapshot()]
    database.transact('[[:db/add 1 :n 2] [:db/add 3 :to 1] [:db/retract 1 :to 2] [:db/add 3 :s "x"]]')
    found.append(database.snapshot())
    database.transact('[[:db/add 3 :n 2] [:db/add 1 :to 2] [:db/retract 1 :s "x"] [:db/add 3 :s "y"]]')
    found += [database.snapshot(), database.at(as_of=2), database.at(since=2), database.at(history=True)]
    found.append(database.speculate(database.snapshot(), '[[:db/add 2 :s "new"] [:db/retract 3 :to 1]]')[0])
    return tuple(found)


def interesting(snapshot: Snapshot, name: str) -> list[int]:
    if name == "?a":
        return [snapshot.attribute(Keyword(ident)).ident_code for ident in ("n", "s", "to", "db/ident")]
    found = {1, 2, 3, 9, TX_BASE + 1, TX_BASE + 2, TX_BASE + 3, TRUE, FALSE}
    for ident in ("n", "s", "to"):
        attribute = snapshot.attribute(Keyword(ident))
        found.update(snapshot.columns(attribute).v.tolist())
    return sorted(found)


def const(value: object) -> Const:
    return Const(value, identity(value))


def an_atom(draw: Draw, version: Version) -> DatomAtom:
    attribute: Term = draw(st.sampled_from(["?a", None, *(const(Keyword(name)) for name in ("n", "s", "to"))]))
    entity = draw(st.sampled_from(["?e", "?v", None, const(1), const(3)]))
    values: dict[object, list[Term]] = {"n": [const(2)], "s": [const("x")], "to": [const(2)]}
    own = values.get(attribute.value.name, []) if isinstance(attribute, Const) else [const(2)]
    value = draw(st.sampled_from(["?v", None, *own]))
    tx, added = None, None
    if draw(st.booleans()):
        tx = draw(st.sampled_from(["?t", None, const(2)]))
        added = draw(st.sampled_from(["?op", None, const(True)]))
    return DatomAtom("$", entity, attribute, value, tx, added, version=version)


def of_a_pattern(draw: Draw, bind: Callable[[Rank, DatomAtom], object], atom: DatomAtom, world: Snapshot) -> Case:
    names = sorted({term for term in atom.terms if isinstance(term, str)})
    rank, first, levels = ranked(draw, names)
    bound = bind(rank, atom)
    assume(not isinstance(bound, bool))
    return Case(bound, first, levels, {name: interesting(world, name) for name in names})  # type: ignore[arg-type]


def a_data_pattern(draw: Draw) -> Case:
    world = draw(st.sampled_from(worlds()))
    atom = an_atom(draw, Version.ALL)
    return of_a_pattern(draw, lambda rank, atom: Patterns(world, rank, True).extender(atom), atom, world)


def a_pattern_at_a_moment(draw: Draw) -> Case:
    old, new = draw(st.permutations(worlds()))[:2]
    moments = Moments(old, new)
    atom = an_atom(draw, draw(st.sampled_from((Version.OLD, Version.NEW, Version.WENT))))
    return of_a_pattern(draw, lambda rank, atom: moments.extender(atom, rank, True), atom, new)


KINDS: tuple[Callable[[Draw], Case], ...] = (
    a_data_pattern,
    a_pattern_at_a_moment,
    a_conjunction,
    an_or,
    an_or_with_a_local_variable,
)
EVERY_KIND = {each.__name__: simple(each) for each in (*SIMPLE, a_not)} | {each.__name__: each for each in KINDS}


# The laws


def prefixes(draw: Draw, case: Case, names: Sequence[str]) -> Batch:
    """Some prefixes, in no order, perhaps none, perhaps the same twice."""
    n = draw(st.integers(0, 7)) if names else draw(st.integers(0, 2))
    drawn = [draw(st.lists(st.sampled_from(case.domains[name]), min_size=n, max_size=n)) for name in names]
    weights = draw(st.lists(st.sampled_from((1, 2, 3)), min_size=n, max_size=n))
    columns = {name: np.array(column, np.int64) for name, column in zip(names, drawn, strict=True)}
    columns |= {state: np.full(n, -1, np.int64) for state in case.states}
    return Batch(n, columns, np.array(weights, np.int64))


def asked(draw: Draw, case: Case) -> Iterator[tuple[str, Batch]]:
    """The levels that it takes part in, each with prefixes. States are those that the levels before have left."""
    for depth, variable in enumerate((START, *case.levels)):
        if not case.extender.participates(variable):
            continue
        batch = prefixes(draw, case, (*case.first, *case.levels[: max(depth - 1, 0)]))
        if case.states:
            for earlier in (START, *case.levels)[:depth]:
                if case.extender.participates(earlier):
                    batch = case.extender.intersect(batch, earlier)
        yield variable, tagged(batch)


def tagged(batch: Batch) -> Batch:
    return batch.having(TAG, np.arange(batch.size))


def with_each(batch: Batch, variable: str, values: Sequence[int]) -> Batch:
    """Every prefix with every value, which is sorted."""
    column = np.array(sorted(values), np.int64)
    return batch.extend(np.repeat(np.arange(batch.size), len(column)), variable, np.tile(column, batch.size))


def same(one: Batch, other: Batch, but: frozenset[str] = frozenset()) -> None:
    assert one.columns.keys() - but == other.columns.keys() - but
    assert one.size == other.size
    assert one.weights().tolist() == other.weights().tolist()
    for name in one.columns.keys() - but:
        assert one.columns[name].dtype == np.int64
        assert len(one.columns[name]) == one.size
        assert one.columns[name].tolist() == other.columns[name].tolist(), name


def copied(batch: Batch) -> Batch:
    return batch.take(np.arange(batch.size))


NOTHING = np.empty(0, np.int64)


def check_intersect(extender: Extender, batch: Batch, variable: str, changing: frozenset[str]) -> Batch:
    """`changing`: the columns beside variables that an extender may write."""
    batch = tagged(batch)
    before = copied(batch)
    kept = extender.intersect(batch, variable)
    same(batch, before)
    tags = kept.columns[TAG]
    assert (np.diff(tags) > 0).all(), "rows stay in their order, and none is made"
    same(kept, batch.take(tags), changing)
    same(extender.intersect(batch.take(tags), variable), kept)
    twice = extender.intersect(batch.take(np.repeat(np.arange(batch.size), 2)), variable)
    same(twice, kept.take(np.repeat(np.arange(kept.size), 2)))
    backwards = extender.intersect(batch.take(np.arange(batch.size)[::-1]), variable)
    same(backwards, kept.take(np.arange(kept.size)[::-1]))
    nothing = extender.intersect(batch.take(NOTHING), variable)
    assert nothing.size == 0
    assert nothing.columns.keys() == batch.columns.keys()
    return kept


def check_propose(extender: Extender, batch: Batch, variable: str, changing: frozenset[str]) -> Batch:
    before = copied(batch)
    proposed = extender.propose(batch, variable)
    same(batch, before)
    assert proposed.columns.keys() == {*batch.columns, variable}
    parent, value = proposed.columns[TAG], proposed.columns[variable]
    same(proposed.without(frozenset((variable,))), batch.take(parent), changing)
    assert (np.diff(parent) >= 0).all(), "prefixes keep their order"
    assert (np.diff(value)[np.diff(parent) == 0] > 0).all(), "values are sorted and distinct for each prefix"
    count = extender.count(batch, variable)
    assert (np.bincount(parent, minlength=batch.size) <= count).all(), "no more is proposed than was counted"
    twice = extender.propose(tagged(batch.take(np.repeat(np.arange(batch.size), 2))), variable)
    each = [np.flatnonzero(parent == row) for row in range(batch.size) for _ in range(2)]
    same(twice, proposed.take(np.concatenate([*each, NOTHING])), frozenset((TAG,)))
    nothing = extender.propose(batch.take(NOTHING), variable)
    assert nothing.size == 0
    assert nothing.columns.keys() == proposed.columns.keys()
    return proposed


def is_exact(extender: Extender, variable: str) -> bool:
    """Whether it leaves nothing that it proposes to the next level."""
    match extender:
        case Conjunction():
            later = (
                isinstance(part, RangeExtender) and part.narrows_next(variable) for part in extender.at(variable)[0]
            )
            return not any(later) and all(is_exact(part, variable) for part in extender.parts)
        case OrExtender():
            return all(is_exact(body, variable) for body in extender.bodies)
    return True


def bound_to_the_end(case: Case, batch: Batch, variable: str) -> set[tuple[int, ...]]:
    """The rows over all variables but local ones that come of these, every value tried at each later level."""
    for later in case.levels[case.levels.index(variable) + 1 :]:
        batch = with_each(batch, later, case.domains[later])
        if case.extender.participates(later):
            batch = case.extender.intersect(batch, later)
    return found(batch, (TAG, *(name for name in (*case.first, *case.levels) if name not in case.local)))


def found(batch: Batch, names: Sequence[str]) -> set[tuple[int, ...]]:
    return set(zip(*(batch.columns[name].tolist() for name in names), strict=True))


def check_agreement(case: Case, batch: Batch, proposed: Batch, variable: str) -> None:
    """Proposing gives what trying every value and striking out would give."""
    values = {*case.domains[variable], *proposed.columns[variable].tolist()}
    accepted = case.extender.intersect(with_each(batch, variable, sorted(values)), variable)
    if variable in case.local:
        # Rows that a branch without the variable accepts with any value are proposed with none.
        assert found(proposed, (TAG, variable)) <= found(accepted, (TAG, variable))
    elif is_exact(case.extender, variable):
        same(proposed, accepted)
    if isinstance(case.extender, Conjunction | OrExtender):
        assert bound_to_the_end(case, proposed, variable) == bound_to_the_end(case, accepted, variable)


def test_a_conjunction_counts_what_its_ranges_propose_though_a_part_that_checks_later_has_less() -> None:
    rank = {"a": -1, "b": 0, "c": 1}
    many = RelationExtender.of(("a", "b"), [np.zeros(9, np.int64), np.arange(9)], rank)
    few = RelationExtender.of(("b", "c"), [np.array([3]), np.array([1])], rank)
    batch = tagged(Batch(1, {"a": np.zeros(1, np.int64)}))
    check_propose(Conjunction([many, few]), batch, "b", frozenset())


@pytest.mark.parametrize("kind", EVERY_KIND)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_every_extender_keeps_the_laws(kind: str, data: st.DataObject) -> None:
    case = EVERY_KIND[kind](data.draw)
    extender = case.extender
    changing = frozenset(case.states)
    for variable, batch in asked(data.draw, case):
        if variable == START:
            check_intersect(extender, batch, variable, changing)
            continue
        check_intersect(extender, with_each(batch, variable, case.domains[variable]), variable, changing)
        count = extender.count(batch, variable)
        assert (count.dtype, len(count)) == (np.int64, batch.size)
        assert ((count >= 0) & (count <= UNBOUNDED)).all()
        batch = tagged(batch.keep(count < UNBOUNDED))
        if batch.size:
            proposed = check_propose(extender, batch, variable, changing)
            check_agreement(case, batch, proposed, variable)
