"""Tries of what is visible are kept for as long as the same is visible, and for no other viewer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.executor.permissions import evaluation
from adalog.executor.permissions.grants import Viewer
from adalog.executor.question.request import QueryRequest
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import Trie
from tests.support import World

_SCHEMA = """
[{:db/ident :doc/parent :db/valueType :db.type/ref}
 {:db/ident :doc/owner :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
 {:db/ident :doc/mark :db/valueType :db.type/long} {:db/ident :tx/why :db/valueType :db.type/long}]
"""
_DATA = """
[{:db/id 1 :doc/owner ["ann" "bob"]} {:db/id 2 :doc/parent 1 :doc/owner "ann"}
 {:db/id 3 :doc/parent 2 :doc/owner ["ann" "bob"]} {:db/id 4 :doc/parent 3 :doc/owner "bob"}]
"""
_OWN = r"[[(allow ?e) (claim :sub ?sub) [?e :doc/owner ?sub]]]"
_CLOSURE = "[:find ?a ?b :where [?a :doc/parent+ ?b]]"
_OF_ANN = [(2, 1), (3, 1), (3, 2)]
_OF_BOB = [(3, 2), (4, 2), (4, 3)]


@pytest.fixture
def docs(db: World) -> World:
    db.tx(_SCHEMA, _DATA, _policy(_OWN))
    return db


def _policy(rules: str, on: str = ":doc") -> str:
    return (
        f'[{{:policy/name "docs" :policy/roles [:member] :policy/ops [:read] :policy/on [{on}]'
        f' :policy/rules "{rules}"}}]'
    )


def _view(world: World, sub: str, raw: Snapshot | None = None) -> GuardedSnapshot:
    """As a request sees it."""
    now = world.database.snapshot()
    guard = world.pool.permissions.guard(Viewer(frozenset({"member"}), {"sub": sub}), now)
    assert guard is not None
    return guard.view(raw or now)


def _trie(view: GuardedSnapshot, name: str = "doc/parent") -> Trie:
    attribute = view.attribute(Keyword(name))
    assert attribute is not None
    return view.ve(attribute)


def _pairs(trie: Trie) -> list[tuple[int, int]]:
    values, entities = trie.merged.pairs()
    return sorted(zip(entities.tolist(), values.tolist(), strict=True))


def _closure(world: World, view: Snapshot) -> Sequence[tuple[object, ...]]:
    return sorted(map(tuple, world.pool.run(QueryRequest(_CLOSURE, snapshot=view)).rows()))


def test_requests_share_a_trie(docs: World) -> None:
    assert _closure(docs, _view(docs, "ann")) == _OF_ANN
    first = _trie(_view(docs, "ann"))
    docs.tx("[{:db/id 1 :doc/mark 1}]")
    assert _trie(_view(docs, "ann")) is first
    assert _closure(docs, _view(docs, "ann")) == _OF_ANN


def test_other_claims_have_another_one(docs: World) -> None:
    assert _closure(docs, _view(docs, "ann")) == _OF_ANN
    assert _closure(docs, _view(docs, "bob")) == _OF_BOB


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ('[[:db/add 4 :doc/owner "ann"]]', [(2, 1), (3, 2), (4, 3)]),
        ('[[:db/retract 2 :doc/owner "ann"]]', [(3, 2)]),
        ("[[:db/add 2 :doc/parent 4]]", [(2, 4), (3, 2)]),
        (_policy("[[(allow ?e) [?e :doc/owner]]]"), [(2, 1), (3, 2), (4, 3)]),
    ],
)
def test_what_changes_what_is_visible_makes_another_one(
    docs: World, change: str, expected: list[tuple[int, int]]
) -> None:
    first = _trie(_view(docs, "ann"))
    docs.tx(change)
    second = _trie(_view(docs, "ann"))
    assert (second is first, _pairs(second)) == (False, expected)


def test_what_is_tried_keeps_none(docs: World) -> None:
    now = docs.database.snapshot()
    first = _trie(_view(docs, "ann"))
    for text in ('[[:db/retract 2 :doc/owner "ann"]]', "[[:db/add 2 :doc/parent 3]]"):
        tried, _ = docs.database.speculate(now, text)
        guard = docs.pool.permissions.guard(Viewer(frozenset({"member"}), {"sub": "ann"}), tried)
        assert guard is not None
        seen = guard.view(tried)
        assert _trie(seen) is not first
        assert not seen.visible.kept_trie(_parent(seen), inverse=True)
    assert _trie(_view(docs, "ann")) is first


def _parent(view: GuardedSnapshot) -> int:
    attribute = view.attribute(Keyword("doc/parent"))
    assert attribute is not None
    return attribute.id


@pytest.mark.parametrize("code", [Code.TIMEOUT, Code.LIMIT_EXCEEDED])
def test_what_was_denied_for_want_of_means_is_not_kept(
    docs: World, monkeypatch: pytest.MonkeyPatch, code: Code
) -> None:
    def overrun(*_: object, **__: object) -> None:
        raise AdalogError(code, "too much")

    with monkeypatch.context() as patched:
        patched.setattr(evaluation, "run_join", overrun)
        assert _pairs(_trie(_view(docs, "ann"))) == []
    assert _pairs(_trie(_view(docs, "ann"))) == [(2, 1), (3, 2)]


def test_attributes_of_transactions_are_visible_by_what_else_these_say(docs: World) -> None:
    """The reason of a transaction is shown with the other facts of it, whatever policies say of reasons."""
    docs.tx(_policy(_OWN, ":doc :tx"), '[[:db/add "datomic.tx" :tx/why 7] [:db/add 4 :doc/mark 1]]')
    assert _pairs(_trie(_view(docs, "ann"), "tx/why")) == []
    docs.tx('[[:db/add 4 :doc/owner "ann"]]')
    [(_, why)] = _pairs(_trie(_view(docs, "ann"), "tx/why"))
    assert why == 7


def test_the_past_has_tries_of_its_own(docs: World) -> None:
    before = docs.database.snapshot()
    docs.tx("[[:db/add 2 :doc/parent 3]]")
    now, past = docs.database.snapshot(), before.history()
    assert _pairs(_trie(_view(docs, "ann"))) == [(2, 3), (3, 2)]
    assert _pairs(_trie(_view(docs, "ann", before))) == [(2, 1), (3, 2)]
    assert _pairs(_trie(_view(docs, "ann", now.since(before.t)))) == [(2, 3)]
    assert _pairs(_trie(_view(docs, "ann", now.history()))) == [(2, 1), (2, 3), (3, 2)]
    assert _pairs(_trie(_view(docs, "ann", past))) == [(2, 1), (3, 2)]


def test_a_change_of_policies_drops_what_was_kept(docs: World) -> None:
    memory = _view(docs, "ann").visible.guard.memory
    for sub in ("ann", "bob"):
        _trie(_view(docs, sub))
    assert len(memory.tries) == 2
    docs.tx(_policy("[[(allow ?e) [?e :doc/owner]]]"))
    _trie(_view(docs, "ann"))
    assert len(memory.tries) == 1
