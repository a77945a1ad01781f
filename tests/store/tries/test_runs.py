"""Relations of a base and runs against sets of datoms: every moment stays readable through folds and files."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adalog.store.tries import relation as relations
from adalog.store.tries import signed
from adalog.store.tries.attribute_data import AttributeData
from adalog.store.tries.columns import NO_COLUMNS, Columns
from adalog.store.tries.delta import Delta
from adalog.store.tries.relation import Relation
from adalog.store.tries.relation_files import load_base, load_run, save_relation
from adalog.store.values.codes import Codes

Event = tuple[int, int, int, bool]
Held = dict[tuple[int, int], int]

pairs = st.tuples(st.integers(0, 7), st.integers(0, 7))
# Of each transaction the pairs that it puts where they are not and drops where they are; whether a fold follows.
transactions = st.lists(st.tuples(st.lists(pairs, max_size=5, unique=True), st.booleans()), max_size=30)


@pytest.fixture(autouse=True)
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "_LEAST", 4)
    monkeypatch.setattr(signed, "_FEW_ROWS", 0)


def columns(events: list[Event]) -> Columns:
    if not events:
        return NO_COLUMNS
    e, v, t, added = (np.array(column, np.int64) for column in zip(*events, strict=True))
    return Columns(e, v, t, added.astype(np.bool_))


def rows(found: Columns) -> list[Event]:
    return list(zip(found.e.tolist(), found.v.tolist(), found.t.tolist(), found.added.tolist(), strict=True))


def happened(steps: list[tuple[list[tuple[int, int]], bool]]) -> tuple[list[list[Event]], list[Held]]:
    """The events of each transaction, retractions first, and what holds after each, with since when."""
    held: Held = {}
    events, moments = [], [dict(held)]
    for t, (touched, _) in enumerate(steps, 1):
        gone = [pair for pair in touched if pair in held]
        new = [pair for pair in touched if pair not in held]
        events.append([(*pair, t, False) for pair in gone] + [(*pair, t, True) for pair in new])
        for pair in gone:
            del held[pair]
        held |= dict.fromkeys(new, t)
        moments.append(dict(held))
    return events, moments


def check(data: AttributeData, every: list[Event], moments: list[Held], upto: int) -> None:
    for t in range(upto + 1):
        held = moments[t]
        assert rows(data.columns(t)) == sorted((*pair, since, True) for pair, since in held.items())
        for trie, flipped in ((data.ev(t), False), (data.ve(t), True)):
            keys, values = trie.merged.pairs()
            assert list(zip(keys.tolist(), values.tolist(), strict=True)) == sorted(
                pair[::-1] if flipped else pair for pair in held
            )
            assert trie.pairs == len(held)
            assert trie.rows == len({pair[flipped] for pair in held})
        expected = [event for event in every if event[2] <= t]
        assert sorted(rows(data.events(-1, t))) == sorted(expected)
        assert data.last_touched(t) == max((event[2] for event in expected), default=0)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=transactions, on_disk=st.booleans())
def test_every_moment_is_readable_after_folds(
    steps: list[tuple[list[tuple[int, int]], bool]], on_disk: bool, tmp_path: Path
) -> None:
    events, moments = happened(steps)
    relation, delta = Relation(), Delta()
    snapshots = []
    for t, ((_, fold), own) in enumerate(zip(steps, events, strict=True), 1):
        for event in own:
            delta.append(*event)
        if fold:
            relation = relation.folded(delta.events(0, len(delta)), t)
            if on_disk and relation.t:
                relation = save_relation(tmp_path, 1, relation, Codes())
                assert all(part.segment is not None for part in relation.parts)
                base, *runs = relation.segments
                relation = Relation(load_base(base), tuple(map(load_run, runs)))
            delta = Delta()
            lengths = [len(run) for run in relation.runs]
            assert all(2 * newer <= older for newer, older in pairwise(lengths))
        snapshots.append((AttributeData(relation, delta), t))
    every = [event for own in events for event in own]
    for data, t in snapshots[-6:]:
        check(data, every, moments, t)


@settings(max_examples=60)
@given(transactions)
def test_without_history_only_what_holds_is_kept(steps: list[tuple[list[tuple[int, int]], bool]]) -> None:
    events, moments = happened(steps)
    relation, young = Relation(), []
    for t, ((_, fold), own) in enumerate(zip(steps, events, strict=True), 1):
        young += own
        if fold:
            relation = relation.folded(columns(young), t, keep_history=False)
            young = []
            assert rows(relation.current()) == sorted((*p, since, True) for p, since in moments[t].items())
            assert not len(relation.base.closed.e)
            assert all(len(run.past) <= 2 * len(moments[t]) for run in relation.runs)


@given(transactions, st.lists(st.integers(0, 8), unique=True))
def test_what_holds_for_some_entities(steps: list[tuple[list[tuple[int, int]], bool]], some: list[int]) -> None:
    events, moments = happened(steps)
    relation, young = Relation(), []
    for t, ((_, fold), own) in enumerate(zip(steps, events, strict=True), 1):
        young += own
        if fold:
            relation, young = relation.folded(columns(young), t), []
            found = relation.current_of(np.array(sorted(some), np.int64))
            assert rows(found) == sorted((*p, since, True) for p, since in moments[t].items() if p[0] in some)


def test_each_datom_is_written_again_a_logarithmic_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "_LEAST", 64)
    relation, written, total = Relation(), 0, 1 << 15
    for t, first in enumerate(range(0, total, 128), 1):
        e = np.arange(first, first + 128)
        new = relation.folded(Columns.asserted(e, e % 17, np.full(128, t)), t)
        parts = {id(part) for part in relation.parts}
        written += sum(len(part) for part in new.runs if id(part) not in parts)
        written += new.base.count if id(new.base) not in parts else 0
        relation = new
        assert len(relation.runs) < 9
    assert relation.count == total
    assert written < 10 * total
