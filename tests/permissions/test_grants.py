"""What policies grant where names change, and where there is no time to find out."""

from __future__ import annotations

import pytest

from adalog.executor.permissions import evaluation
from tests.permissions.compared import answer, guard_of, opened

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
