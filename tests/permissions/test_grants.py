"""What policies grant where names change, and where there is no time to find out."""

from __future__ import annotations

from contextlib import closing

import pytest

from adalog.datalog.values import Keyword
from adalog.executor.permissions import evaluation
from adalog.executor.permissions.grants import Viewer
from adalog.executor.pool import Pool
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from tests.permissions.compared import answer, guard_of, opened
from tests.support import World

_RENAMED = (
    "[{:db/ident :public/pay :db/valueType :db.type/long} {:db/ident :own/name :db/valueType :db.type/string}]",
    '[{:db/id 1 :public/pay 7 :own/name "Ada"}]',
    "[{:db/id :public/pay :db/ident :private/pay} {:db/id :own/name :db/ident :public/name}]",
    '[{:policy/name "public" :policy/roles [:*] :policy/ops [:read] :policy/on [:public]}]',
)


def test_policies_name_attributes_as_they_are_called_now() -> None:
    with opened(_RENAMED) as (database, pool, _):
        now = database.snapshot()
        guard = guard_of(pool, now, (), {})
        asked = "[:find ?a ?v :where [1 ?a ?v]]"
        assert answer(asked)(pool, guard.view(now))[0] == [(":public/name", '"Ada"')]
        # Then it was called otherwise, and what is hidden now was public.
        assert answer(asked)(pool, guard.view(now.as_of(2)))[0] == [(":own/name", '"Ada"')]
        assert answer("[:find ?v :where [_ :public/pay ?v]]")(pool, guard.view(now.as_of(2)))[0] == []


def test_what_was_denied_for_want_of_time_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = (
        '[{:db/id 1 :doc/title "a"} {:db/id 2 :doc/title "b"}]',
        """[{:policy/name "a" :policy/roles [:*] :policy/ops [:read] :policy/on [:doc]
             :policy/rules "[[(allow ?e) [?e :doc/title \\"a\\"]]]"}]""",
    )
    with opened(texts) as (database, pool, _):
        now = database.snapshot()
        asked = answer("[:find ?e :where [?e :doc/title]]")
        with monkeypatch.context() as patched:
            patched.setattr(evaluation, "_TIMEOUT_MS", -1)
            assert asked(pool, guard_of(pool, now, (), {}).view(now))[0] == []
        assert asked(pool, guard_of(pool, now, (), {}).view(now))[0] == [("1",)]


def test_a_composite_of_a_transaction_is_visible_with_its_parts(db: World) -> None:
    db.tx(
        "[{:db/ident :part/a :db/valueType :db.type/long} {:db/ident :part/b :db/valueType :db.type/long}"
        " {:db/ident :part/both :db/valueType :db.type/tuple :db/tupleAttrs [:part/a :part/b]}]"
    )
    db.tx(
        '[{:policy/name "parts" :policy/roles [:member] :policy/ops [:read] :policy/on [:part]'
        ' :policy/rules "[[(allow ?e) [?e :part/a 1]]]"}]'
    )
    db.tx('[[:db/add "datomic.tx" :part/a 2] [:db/add "datomic.tx" :part/b 3]]')
    db.tx('[[:db/add "datomic.tx" :part/a 2] [:db/add "datomic.tx" :part/b 4] {:part/a 1 :part/b 5}]')
    now = db.database.snapshot()
    guard = db.pool.permissions.guard(Viewer(frozenset({"member"}), {}), now)
    assert guard is not None
    seen = World(db.database, db.pool, guard.view(now))
    assert seen.q("[:find ?v :where [_ :part/both ?v]]") == "#{[[1 5]] [[2 4]]}"


def test_rules_that_contradict_themselves_deny_wherever_they_come_from() -> None:
    """A database without an engine checks no policy."""
    with Database.open(":memory:") as database:
        database.transact('[{:db/id 1 :doc/title "a"} {:db/id 1 :doc/kind "b"}]')
        rules = "[[(allow ?e) [?e :doc/title] (not (hidden ?e))] [(hidden ?e) [?e :doc/title] (not (allow ?e))]]"
        form = ":policy/roles [:*] :policy/ops [:read]"
        database.transact(f'[{{:policy/name "a" {form} :policy/on [:doc/title] :policy/rules "{rules}"}}]')
        database.transact(f'[{{:policy/name "b" {form} :policy/on [:doc/kind]}}]')
        with closing(Pool(database)) as pool:
            now = database.snapshot()
            view = guard_of(pool, now, (), {}).view(now)
            assert answer("[:find ?a ?v :where [1 ?a ?v]]")(pool, view)[0] == [(":doc/kind", '"b"')]
            assert answer("[:find ?v :where [1 :doc/title ?v]]")(pool, view) == ([], [])


def test_what_is_tried_on_the_past_is_not_taken_for_what_came_then(db: World) -> None:
    """Both change policies in the transaction of the same number."""

    def policy(on: str) -> str:
        return f'[{{:policy/name "one" :policy/roles [:*] :policy/ops [:read] :policy/on [{on}]}}]'

    db.tx("[{:a/x 1 :b/x 2}]")
    db.tx(policy(":a"))
    before = db.database.snapshot()
    db.tx(f'[[:db/retract [:policy/name "one"] :policy/on :a] {policy(":b")[1:-1]}]')
    now = db.database.snapshot()

    def seen(at: Snapshot) -> list[str]:
        guard = db.pool.permissions.guard(Viewer(frozenset(), {}), at)
        assert guard is not None
        return [name for name in ("a/x", "b/x") if guard.view(at).attribute(Keyword(name)) is not None]

    tried, _ = db.database.speculate(before, policy(":b"))
    again, _ = db.database.speculate(before, "[{:a/x 3}]")
    for _ in range(2):
        assert seen(now) == ["b/x"]
        assert seen(tried) == ["a/x", "b/x"]
        assert seen(again) == ["a/x"]
        assert seen(before) == ["a/x"]
