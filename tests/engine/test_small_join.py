"""Small joins: what one kernel makes of a few prefixes is what the columnar join makes of them, row by row.

The same random conjunctions are run with the kernel and without; its room is so small in some of them that it hands
back prefixes before each level.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.comparisons import EqualityExtender
from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.extenders.relation import RelationExtender
from adalog.executor.join.batch import Batch
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.level import Level
from adalog.executor.join.negation import NotExtender
from adalog.executor.join.protocol import UNBOUNDED, Extender
from adalog.executor.join.small import running
from adalog.executor.kernels import small_join
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.store.tries import signed
from tests.engine.test_extender_laws import NAMES, TAG, Draw, Rank, columns_of, some_names, trie, two
from tests.property.model import examples

# So few that most joins have rows.
NUMBERS = tuple(range(4))
ALL = [(first, second) for first in NUMBERS for second in NUMBERS]
# From one version to the next about a third of the pairs come or go.
PAIRS = st.sets(st.sampled_from(ALL), min_size=6, max_size=15)


def a_pair_of(draw: Draw, rank: Rank, first: str | int | None, second: str | int | None) -> PairExtender:
    versions = draw(st.lists(PAIRS, min_size=1, max_size=4))
    forward, backward = trie(versions), trie(versions, turned=True)
    return PairExtender(first, second, lambda: forward, lambda: backward, rank)


def a_pair(draw: Draw, rank: Rank) -> Extender:
    return a_pair_of(draw, rank, *two(draw))


def a_half_pair(draw: Draw, rank: Rank) -> Extender:
    ends = draw(st.permutations([two(draw)[0], draw(st.sampled_from((None, *NUMBERS)))]))
    return a_pair_of(draw, rank, *ends)


def a_relation(draw: Draw, rank: Rank) -> Extender:
    names = some_names(draw)
    rows = draw(st.lists(st.tuples(*[st.sampled_from(NUMBERS)] * len(names)), min_size=4, max_size=48))
    return RelationExtender.of(names, columns_of(rows, len(names)), rank)


def an_equality(draw: Draw, rank: Rank) -> Extender:
    first, second = two(draw)
    return EqualityExtender(first, draw(st.sampled_from((second, 2))), rank, nil_fits=draw(st.booleans()))


@pytest.fixture(autouse=True)
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel, and tries that keep a level of signed pairs for each version."""
    SMALL_JOIN.load()
    monkeypatch.setattr(signed, "YOUNG", 0)
    monkeypatch.setattr(signed, "_RATIO", 0)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Room for so few rows that most levels do not fit."""
    monkeypatch.setattr(running, "_MOST_PREFIXES", 3)
    wide = running.BUFFERS.frames
    running.BUFFERS.frames = np.empty((2, small_join.SLOTS, 3), np.int64)
    yield
    running.BUFFERS.frames = wide


def a_lookup(draw: Draw, rank: Rank) -> Extender:
    """A `not` without variables of its own."""
    shared = some_names(draw)
    inside = dict.fromkeys(shared, -1)
    parts: list[Extender] = []
    for _ in range(draw(st.integers(1, 2))):
        first = draw(st.sampled_from(shared))
        others = [name for name in shared if name != first]
        parts.append(a_pair_of(draw, inside, first, draw(st.sampled_from((None, *NUMBERS, *others)))))
    return a_not(Conjunction(parts), (), shared, rank)


# Of a `not` alone.
INNER = ("?n1", "?n2", "?n3")


def a_negation(draw: Draw, rank: Rank) -> Extender:
    """A `not` with variables of its own, which may have others that look up or compare."""
    shared = some_names(draw)
    own = draw(st.permutations(INNER))[: draw(st.integers(1, 3))]
    inside = dict.fromkeys(shared, -1) | {name: i for i, name in enumerate(own)}
    names = [*shared, *own]

    def a_part(first: str) -> Extender:
        kind = draw(st.integers(0, 3))
        other = draw(st.sampled_from([None, *NUMBERS] if kind == 0 else [n for n in names if n != first]))
        if kind == 3:
            return EqualityExtender(first, other, inside, nil_fits=False)
        if kind == 2:
            chosen = draw(st.permutations(sorted({first, other}, key=inside.__getitem__)))
            rows = draw(st.lists(st.tuples(*[st.sampled_from(NUMBERS)] * 2), min_size=4, max_size=16))
            return RelationExtender.of(chosen, columns_of(rows, 2), inside)
        return a_pair_of(draw, inside, *draw(st.permutations([first, other])))

    parts = [a_part(name) for name in own]
    parts += [a_part(draw(st.sampled_from(names))) for _ in range(draw(st.integers(0, 2)))]
    if draw(st.integers(0, 3)) == 0:
        lookup = a_pair_of(
            draw, dict.fromkeys(names, -1), draw(st.sampled_from(names)), draw(st.sampled_from(NUMBERS))
        )
        parts.append(a_not(Conjunction([lookup]), (), sorted(lookup.variables), inside))
    body = Conjunction(parts)
    for name in own:
        ranged, _ = body.at(name)
        assume(ranged)
    return a_not(body, own, shared, rank)


def a_not(body: Conjunction, own: Sequence[str], shared: Sequence[str], rank: Rank) -> NotExtender:
    join = columnar(GenericJoin(body, [Level(name) for name in own]))

    def matches(batch: Batch) -> np.ndarray:
        mask = np.zeros(batch.size, np.bool_)

        def mark(part: Batch) -> bool:
            mask[part.columns["#origin"]] = True
            return True

        Driver(join, mark, Cancel()).run(batch.having("#origin", np.arange(batch.size)))
        return mask

    return NotExtender(shared, matches, rank, Cancel().check, distinct=bool(own), body=body, levels=own)


def levels_of(draw: Draw, names: Sequence[str], *, weighted: bool) -> list[Level]:
    """Levels that keep all, or drop what no part needs any more."""
    last = draw(st.integers(0, len(names)))
    if last == len(names) or (not weighted and draw(st.booleans())):
        return [Level(name) for name in names]
    made = [Level(name) for name in names[:last]]
    for place, name in enumerate(names[last:]):
        final = place == len(names) - last - 1
        counted = weighted and final and draw(st.booleans())
        keep = frozenset((TAG, *NAMES)) - ({name} if final else set())
        made.append(Level(name, keep, merge=True, counted=counted))
    return made


def found(join: GenericJoin, batch: Batch, names: Sequence[str]) -> tuple[Counter[tuple[int, ...]], list[object]]:
    """The rows of a join with their weights added up, and what its levels counted."""
    rows: Counter[tuple[int, ...]] = Counter()

    def sink(part: Batch) -> bool:
        shown = [name for name in names if name in part.columns]
        columns = [part.columns[name].tolist() for name in shown]
        for row in zip(*columns, part.weights().tolist(), strict=True):
            rows[row[:-1]] += row[-1]
        return True

    Driver(join, sink, Cancel()).run(batch)
    return rows, [(each.prefixes, each.rows + each.skipped) for each in join.counts]


def small(join: GenericJoin, batch: Batch, names: Sequence[str]) -> tuple[Counter[tuple[int, ...]], list[object]]:
    """The same of a second run: a program is written when such a batch comes again."""
    found(join, batch, names)
    join.count_anew()
    return found(join, batch, names)


def columnar(join: GenericJoin) -> GenericJoin:
    join._small = None
    return join


def a_case(draw: Draw) -> tuple[Conjunction, list[Level], Batch, bool]:
    order = draw(st.permutations(NAMES))
    first = draw(st.integers(0, len(order)))
    names = order[first:]
    rank = dict.fromkeys(order[:first], -1) | {name: i for i, name in enumerate(names)}
    kinds = st.sampled_from((a_pair, a_pair, a_pair, a_half_pair, a_relation, an_equality, a_lookup, a_negation))
    body = Conjunction([draw(kinds)(draw, rank) for _ in range(draw(st.integers(1, 4)))])
    weighted = draw(st.booleans())
    size = draw(st.integers(1, 4))
    columns = {name: np.array([draw(st.sampled_from(NUMBERS)) for _ in range(size)]) for name in order[:first]}
    batch = Batch(size, {TAG: np.arange(size), **columns})
    for name in names:
        ranged, others = body.at(name)
        assume(ranged or any((part.count(batch, name) < UNBOUNDED).all() for part in others))
    return body, levels_of(draw, names, weighted=weighted), batch, weighted


@settings(max_examples=examples(800))
@given(data=st.data())
def test_the_kernel_gives_the_rows_of_the_columnar_join(data: st.DataObject) -> None:
    body, levels, batch, weighted = a_case(data.draw)
    names = (TAG, *NAMES)
    expected = found(columnar(GenericJoin(body, levels, weighted)), batch, names)
    assert small(GenericJoin(body, levels, weighted), batch, names) == expected


@pytest.mark.usefixtures("narrow")
@settings(max_examples=examples(400))
@given(data=st.data())
def test_what_it_hands_back_goes_on_in_columns(data: st.DataObject) -> None:
    body, levels, batch, weighted = a_case(data.draw)
    names = (TAG, *NAMES)
    rows, _ = found(columnar(GenericJoin(body, levels, weighted)), batch, names)
    assert small(GenericJoin(body, levels, weighted), batch, names)[0] == rows


def test_places_stay_in_their_process() -> None:
    """A task has its tries from another process, where their arrays lie elsewhere."""
    found = trie([set(ALL[:8]), set(ALL[4:12])])
    assert found.placed is not None
    copy = pickle.loads(pickle.dumps(found))
    assert "placed" not in vars(copy) | vars(copy.base) | vars(copy.levels[0])
    assert copy.placed is not None
    assert copy.placed.place != found.placed.place
    assert copy.row(1).tolist() == found.row(1).tolist()
    with pytest.raises(TypeError, match="of one process"):
        pickle.dumps(found.placed)
