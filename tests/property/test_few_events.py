"""The short paths of few events against the general ones: what they come to, and the trie after them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.store.snapshot.difference import Difference, _settled, _settled_few
from adalog.store.tries.columns import Columns
from adalog.store.tries.delta import Delta
from adalog.store.tries.signed import pushed
from adalog.store.tries.trie import Csr, Trie

Pair = tuple[int, int]

pairs = st.tuples(st.integers(-2, 3), st.integers(-2, 3))
held = st.frozensets(pairs, max_size=12)


def sides(found: Difference) -> list[list[list[int]]]:
    assert all(column.dtype == np.int64 for side in (found.added, found.removed) for column in side)
    return [[column.tolist() for column in side] for side in (found.added, found.removed)]


@settings(max_examples=400, deadline=None)
@given(
    held,
    st.lists(st.tuples(pairs, st.booleans()), max_size=8),
    st.randoms(use_true_random=False),
)
def test_few_events_are_settled_as_many_are(
    base: frozenset[Pair], steps: list[tuple[Pair, bool]], random: Random
) -> None:
    """Each event toggles its pair. Within one transaction a retraction comes before an assertion."""
    now, rows, t = set(base), [], 1
    for pair, same in steps:
        added = pair not in now
        # A retraction after an assertion of the same pair is of a later transaction.
        t += not (same and added)
        now ^= {pair}
        rows.append((*pair, t, added))
    few = sides(_settled_few([(e, v, added) for e, v, _, added in rows]))
    random.shuffle(rows)
    table = np.array(rows, np.int64).reshape(-1, 4)
    events = Columns(*(table[:, place].copy() for place in range(3)), table[:, 3].astype(np.bool_))
    assert few == sides(_settled(events))
    came, went = (list(zip(*side, strict=True)) for side in few)
    assert came == sorted(now - base)
    assert went == sorted(base - now)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(pairs, st.integers(0, 2), st.booleans()), max_size=90), st.data())
def test_few_events_of_some_transactions_are_found_from_the_newest_on(
    rows: list[tuple[Pair, int, bool]], data: st.DataObject
) -> None:
    delta, events, t = Delta(), [], 1
    for (e, v), later, added in rows:
        t += later
        delta.append(e, v, t, added)
        events.append((e, v, t, added))
    since = data.draw(st.integers(0, t + 1))
    until = data.draw(st.integers(since, t + 2))
    wanted = [(e, v, added) for e, v, at, added in events if since < at <= until]
    later = [at for *_, at, _ in events if at > until]
    few = delta.few_between(since, until)
    assert few == wanted or (few is None and (len(wanted) > 8 or len(later) >= 64))
    if len(wanted) <= 8 and len(later) < 64:
        assert few == wanted


@settings(max_examples=400, deadline=None)
@given(held, st.lists(st.tuples(pairs, st.lists(pairs, max_size=7), st.booleans()), max_size=12))
def test_few_events_make_the_trie_that_many_make(
    base: frozenset[Pair], steps: list[tuple[Pair, list[Pair], bool]]
) -> None:
    table = np.array(sorted(base), np.int64).reshape(-1, 2)
    short = general = Trie(Csr.from_sorted(table[:, 0].copy(), table[:, 1].copy()))
    now = set(base)
    for first, others, again in steps:
        events, added, former = [first, *((first,) if again else others)], [], set(now)
        for pair in events:
            added.append(pair not in now)
            now ^= {pair}
        table = np.array(events, np.int64)
        columns = table[:, 0].copy(), table[:, 1].copy(), np.array(added)
        before, short = short, short.advanced(*columns)
        assert (short is before) is (now == former)
        fresh, size = general.difference(*columns)
        general = Trie(general.base, pushed(fresh, general.levels), size) if len(fresh) else general
        assert (short.pairs, short.rows) == (general.pairs, general.rows) == (len(now), len({k for k, _ in now}))
        assert short.size.longest >= general.size.longest
        assert [each.tolist() for each in short.merged.pairs()] == [
            each.tolist() for each in general.merged.pairs()
        ]
        assert len(short.levels) == len(general.levels)
        for one, two in zip(short.levels, general.levels, strict=True):
            for name in ("keys", "offsets", "values", "added", "counts"):
                assert getattr(one, name).tolist() == getattr(two, name).tolist()


@pytest.mark.parametrize("later", [63, 64, 65, 70, 72, 73])
def test_events_that_many_came_after_are_not_mixed_with_these(later: int) -> None:
    """A view that is some seventy transactions behind asks for the one that it is at."""
    delta = Delta()
    for t in range(1, later + 3):
        delta.append(t, 7, t, True)
    assert delta.few_between(1, 2) in (None, [(2, 7, True)])
