"""Single values of many prefixes read as a column: the same rows, in the same order, as by ranges."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders import pairs
from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.join.batch import Batch
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.level import Level
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.store.checkpoint import compactor
from adalog.store.database import Database
from adalog.store.tries.trie import Csr, Trie

Pairs = set[tuple[int, int]]


@pytest.fixture(autouse=True)
def few_keys_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_FEW_KEYS", 2)
    monkeypatch.setattr(compactor, "_LEAST", 1)


def tries(before: Pairs, now: Pairs) -> tuple[Trie, Trie]:
    """The pairs by their firsts and by their seconds: a base of those before, and a level of what changed."""
    made = []
    for turned in (False, True):
        base, changed = ([pair[::-1] if turned else pair for pair in some] for some in (before, before ^ now))
        trie = Trie(Csr.from_pairs(*np.array(sorted(base), np.int64).reshape(-1, 2).T))
        if changed:
            columns = np.array(sorted(changed), np.int64)
            added = [(pair[::-1] if turned else pair) in now for pair in map(tuple, columns.tolist())]
            trie = trie.advanced(columns[:, 0], columns[:, 1], np.array(added, np.bool_))
        made.append(trie)
    return made[0], made[1]


@st.composite
def relations(draw: st.DrawFn) -> list[tuple[Pairs, Pairs]]:
    """Of some entities, with gaps or without: values that some miss, several of some, and changes since."""
    entities = sorted(draw(st.one_of(st.just(set(range(5, 14))), st.sets(st.integers(0, 20), min_size=1))))
    made = []
    for _ in range(3):
        values = {(e, draw(st.integers(0, 9))) for e in entities}
        for odd in draw(st.lists(st.tuples(st.sampled_from(entities), st.integers(0, 9)), max_size=2)):
            values ^= {odd}
        values = values or {(0, 0)}
        changed = draw(st.sets(st.sampled_from(sorted(values)), max_size=2)) if draw(st.booleans()) else set()
        made.append((values, values ^ changed))
    return made


def rows(
    given_relations: list[tuple[Pairs, Pairs]], order: str, levels: list[Level], budget: int, *, weighted: bool
) -> list[tuple[tuple[int, ...], int]]:
    rank = {name: i for i, name in enumerate(order)}
    made = [tries(*each) for each in given_relations]
    ends = (("l", "p"), ("l", "q"), ("p", "r"))
    parts = [
        PairExtender(first, second, lambda both=both: both[0], lambda both=both: both[1], rank)  # type: ignore[misc]
        for (first, second), both in zip(ends, made, strict=True)
    ]
    taken: list[tuple[tuple[int, ...], int]] = []

    def sink(batch: Batch) -> bool:
        columns = [batch.columns[name].tolist() for name in sorted(batch.columns)]
        taken.extend(zip(zip(*columns, strict=True) if columns else [()], batch.weights().tolist(), strict=True))
        return True

    Driver(GenericJoin(Conjunction(parts), levels, weighted, budget), sink, Cancel()).run(Batch(1, {}))
    return taken


@settings(max_examples=80, deadline=None)
@given(relations(), st.permutations("lpqr"), st.sampled_from((1, 3, 64)), st.integers(0, 2), st.booleans())
def test_the_rows_are_those_of_ranges(
    made: list[tuple[Pairs, Pairs]], names: list[str], budget: int, dropped: int, weighted: bool
) -> None:
    order = "".join(names)
    keep = frozenset(order[dropped:]) if dropped else None
    levels = [Level(name) for name in order[:-1]]
    levels.append(Level(order[-1], keep, merge=dropped > 0, counted=weighted and order[-1] not in (keep or order)))
    found = rows(made, order, levels, budget, weighted=weighted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PairExtender, "single_values", lambda *_: None)
        assert found == rows(made, order, levels, budget, weighted=weighted)
    if not dropped:
        now = [each for _, each in made]
        wanted = {
            tuple({"l": line, "p": p, "q": q, "r": r}[name] for name in sorted(order))
            for line, p in now[0] for e, q in now[1] if e == line for v, r in now[2] if v == p
        }  # fmt: skip
        assert {row for row, _ in found} == wanted
        assert len(found) == len(wanted)


def test_values_are_copied_out_of_a_column() -> None:
    for step in (1, 2):
        keys = np.arange(100, 500, step)
        base = Csr.from_sorted(keys, keys * 3)
        for asked in (keys, keys[7:90], keys[::-1], keys[::2], np.append(keys[:80], 7), np.append(keys[:80], 501)):
            found = pairs.single_values(base, asked)
            follow = bool(len(asked) < 2 or (np.diff(asked) == step).all()) and asked[-1] <= 499
            within = step == 1 and asked.min() >= 100 and asked.max() < 500
            assert (found is not None) == (follow or within)
            if found is not None:
                assert np.array_equal(found, asked * 3)
                assert not np.shares_memory(found, base.values)


@pytest.fixture
def folded(tmp_path: Path) -> Iterator[Database]:
    """Lines with a price and a quantity each, folded."""
    with Database.open(str(tmp_path)) as database:
        database.transact(
            "[{:db/ident :l/p :db/valueType :db.type/long} {:db/ident :l/q :db/valueType :db.type/long}]"
        )
        rng = random.Random(3)
        lines = " ".join(
            f"{{:db/id {9000 + i} :l/p {rng.randrange(30)} :l/q {rng.randrange(5)}}}" for i in range(200)
        )
        database.transact(f"[{lines}]")
        database.compact()
        yield database


QUERIES = (
    "[:find ?l ?p ?q :where [?l :l/p ?p] [?l :l/q ?q]]",
    "[:find ?q (sum ?p) :with ?l :where [?l :l/p ?p] [?l :l/q ?q]]",
    "[:find (sum ?y) . :with ?l :where [?l :l/p ?p] [?l :l/q ?q] [(* ?p ?q) ?y]]",
    "[:find ?p (count ?l) :where [?l :l/p ?p] [?l :l/q ?q] [(< ?q 3)]]",
    "[:find ?l ?p :where [?l :l/p ?p] (not [?l :l/q 2])]",
)


@pytest.mark.parametrize("change", ["", "[[:db/retract 9007 :l/q]]", "[{:db/id 9007 :l/p 77} {:l/p 1 :l/q 2}]"])
def test_queries_now_and_then(folded: Database, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(folded)
    before = folded.snapshot().t
    if change:
        folded.transact(change)
    read: list[int] = []
    whole = PairExtender.single_values

    def counting(self: PairExtender, batch: Batch, variable: str) -> object:
        found = whole(self, batch, variable)
        read.append(found is not None)
        return found

    def answers() -> list[object]:
        views = (folded.snapshot(), folded.at(as_of=before), folded.at(history=True))
        return [
            sorted(map(repr, pool.run(QueryRequest(query=query, snapshot=view, options=options)).rows()))
            for query in QUERIES
            for view in views
            for options in (Options(budget=16), Options(budget=16, reorder=False))
        ]

    try:
        monkeypatch.setattr(PairExtender, "single_values", counting)
        found = answers()
        assert any(read)
        monkeypatch.setattr(PairExtender, "single_values", lambda *_: None)
        assert found == answers()
    finally:
        pool.close()
