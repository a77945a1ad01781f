"""What an excision of entities leaves of a relation with runs and young events, against lists of datoms."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adalog.datalog.values import Keyword
from adalog.store.backup.integrity import relation_faults
from adalog.store.excision.remainder import Remainder, remainder
from adalog.store.tries import relation as relations
from adalog.store.tries import removal, signed
from adalog.store.tries.attribute_data import AttributeData
from adalog.store.tries.columns import Columns
from adalog.store.tries.delta import Delta
from adalog.store.tries.relation import Relation
from adalog.store.tries.relation_files import save_relation
from adalog.store.values.attribute import Attribute, AttributeKind
from adalog.store.values.changes import Excision, Scope
from adalog.store.values.codes import Codes
from tests.property.model import examples
from tests.store.tries.test_runs import columns, happened, rows, transactions

_A = 900
_ATTRIBUTE = Attribute(_A, Keyword("a"), 0, AttributeKind(cardinality="many"))
_REF = Attribute(_A, Keyword("a"), 0, AttributeKind("ref", cardinality="many"))


class Interval(NamedTuple):
    """A datom: its assertion, and its retraction, 0 where it holds."""

    e: int
    v: int
    added: int
    retracted: int


@pytest.fixture(autouse=True, params=[0, 4096])
def small_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "_LEAST", 4)
    monkeypatch.setattr(signed, "_FEW_ROWS", 0)
    monkeypatch.setattr(removal, "_FEW", request.param)
    monkeypatch.setattr(signed, "_MOST_CUTS", request.param)


def datoms(events: list[list[tuple[int, int, int, bool]]]) -> list[Interval]:
    held: dict[tuple[int, int], int] = {}
    found = []
    for e, v, t, added in (event for own in events for event in own):
        if added:
            held[e, v] = t
        else:
            found.append(Interval(e, v, held.pop((e, v)), t))
    return found + [Interval(e, v, t, 0) for (e, v), t in held.items()]


def made(steps: list[tuple[list[tuple[int, int]], bool]]) -> tuple[AttributeData, list[Interval]]:
    """An attribute's data after transactions, some of which a fold follows, and its datoms."""
    events, _ = happened(steps)
    relation, young = Relation(), Delta()
    for t, ((_, folds), own) in enumerate(zip(steps, events, strict=True), 1):
        for event in own:
            young.append(*event)
        if folds:
            relation, young = relation.folded(young.events(0, len(young)), t), Delta()
    return AttributeData(relation, young), datoms(events)


def left_of(data: AttributeData, attribute: Attribute, scopes: list[Scope], t: int) -> Remainder | None:
    return remainder(data, attribute, _A, Excision(t, scopes), t)


def check(left: Relation, stays: list[Interval], t: int) -> None:
    assert list(relation_faults(left)) == []
    data = AttributeData(left, Delta())
    every = [(each.e, each.v, each.added, True) for each in stays]
    every += [(each.e, each.v, each.retracted, False) for each in stays if each.retracted]
    assert sorted(rows(left.events())) == sorted(every)
    for moment in range(t + 1):
        held = sorted(
            (each.e, each.v) for each in stays if each.added <= moment and not 0 < each.retracted <= moment
        )
        for trie, pairs in (
            (data.ev(moment), held),
            (data.ve(moment), sorted((v, e) for e, v in held)),
        ):
            keys, values = trie.merged.pairs()
            assert list(zip(keys.tolist(), values.tolist(), strict=True)) == pairs
            assert (trie.pairs, trie.rows) == (len(pairs), len({key for key, _ in pairs}))
            asked = np.arange(8)
            assert trie.counts(asked).tolist() == [sum(key == each for key, _ in pairs) for each in range(8)]
    held_since = [(each.e, each.v, each.added, True) for each in stays if not each.retracted]
    assert rows(data.columns(t)) == sorted(held_since)
    assert (left.t, left.last) == (t, t)


some_scopes = st.lists(
    st.tuples(st.sets(st.integers(0, 8), min_size=1, max_size=3), st.integers(1, 31), st.booleans()),
    min_size=1,
    max_size=2,
)


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(transactions, some_scopes, st.booleans(), st.sampled_from(["after", "again"]))
def test_what_is_left_is_as_though_the_rest_had_never_been(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[list[tuple[int, int]], bool]],
    chosen: list[tuple[set[int], int, bool]],
    is_ref: bool,
    then: str,
) -> None:
    data, every = made(steps)
    before = rows(data.events(-1, len(steps)))
    t = len(steps) + 1
    scopes = [
        Scope(np.array(sorted(entities)), None, min(point, t), with_refs) for entities, point, with_refs in chosen
    ]

    def goes(each: Interval) -> bool:
        return any(
            each.added < scope.before
            and (each.e in scope.entities or (scope.with_refs and is_ref and each.v in scope.entities))
            for scope in scopes
            if scope.entities is not None
        )

    found = left_of(data, _REF if is_ref else _ATTRIBUTE, scopes, t)
    went, stays = [each for each in every if goes(each)], [each for each in every if not goes(each)]
    assert rows(data.events(-1, len(steps))) == before
    if found is None:
        assert went == []
        return
    assert went
    check(found.relation, stays, t)
    assert found.entities.tolist() == sorted({each.e for each in went})
    assert found.values.tolist() == sorted({each.v for each in went})
    times = {each.added for each in went} | {each.retracted for each in went if each.retracted}
    assert found.times.tolist() == sorted(times)
    assert found.count == len(went) + sum(each.retracted > 0 for each in went)
    ended = sorted(each for each in went if each.retracted)
    assert list(zip(*(getattr(found.ended, name).tolist() for name in Interval._fields), strict=True)) == ended
    if then == "again":
        # What came after it lies above it, is folded, and may go, too.
        new = Columns(np.array([0, 9]), np.array([9, 9]), np.full(2, t + 1), np.ones(2, np.bool_))
        stays += [Interval(0, 9, t + 1, 0), Interval(9, 9, t + 1, 0)]
        later = AttributeData(found.relation.folded(new, t + 1), Delta())
        again = left_of(later, _ATTRIBUTE, [Scope(np.array([9]), None, t + 2)], t + 2)
        assert again is not None
        check(again.relation, [each for each in stays if each.e != 9], t + 2)
    folder: Path = tmp_path_factory.mktemp("segments")
    saved = save_relation(folder, _A, found.relation, Codes())
    assert sorted(rows(saved.events())) == sorted(rows(found.relation.events()))
    assert list(relation_faults(saved)) == []


def test_parts_without_anything_that_goes_keep_their_files(tmp_path: Path) -> None:
    first = [(e, v, 1, True) for e in range(6) for v in range(2)]
    relation = Relation().folded(columns(first), 1).folded(columns([(6, 1, 2, True), (7, 1, 2, True)]), 2)
    assert len(relation.runs) == 1
    relation = save_relation(tmp_path, _A, relation, Codes())
    found = left_of(AttributeData(relation, Delta()), _ATTRIBUTE, [Scope(np.array([7]), None, 3)], 3)
    assert found is not None
    assert found.relation.base is relation.base
    (run,) = found.relation.runs
    assert run.segment is None
