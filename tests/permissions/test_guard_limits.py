"""What ends the evaluation of a guard: the end of the request that it is for, and limits of its own, which deny."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.watched import look
from adalog.executor import stored_queries
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.permissions import evaluation, policies, rule_checks
from adalog.executor.permissions.grants import Viewer
from adalog.executor.pool import Pool, PullRequest
from adalog.executor.question.request import QueryRequest
from adalog.store.snapshot.snapshot import Snapshot
from tests.support import World

_ASKED = "[:find [?title ...] :where [_ :doc/title ?title]]"
# Counts for longer than any test waits.
_ENDLESS = r"""[[(allow ?e) [?e :doc/title ?title] (reached ?n) [(= ?n -1)]]
  [(reached ?n) [(ground 0) ?n]] [(reached ?n) (reached ?m) [(inc ?m) ?n] [(< ?n 150000000)]]]"""
_MEMBER = Viewer(frozenset({"member"}), {"sub": "ann"})


@pytest.fixture
def docs(db: World) -> World:
    db.tx(
        "[{:db/ident :doc/title :db/valueType :db.type/string}"
        " {:db/ident :doc/owner :db/valueType :db.type/string}]"
    )
    db.tx('[{:db/id 1 :doc/title "a" :doc/owner "ann"} {:db/id 2 :doc/title "b" :doc/owner "bob"}]')
    return db


@pytest.fixture
def endless(docs: World) -> World:
    _policy(docs, _ENDLESS)
    return docs


def _policy(world: World, rules: str, ops: str = ":read") -> None:
    world.tx(
        f'[{{:policy/name "docs" :policy/roles [:member] :policy/ops [{ops}] :policy/on [:doc]'
        f' :policy/rules "{rules}"}}]'
    )


def _view(world: World) -> Snapshot:
    now = world.database.snapshot()
    guard = world.pool.permissions.guard(_MEMBER, now)
    assert guard is not None
    return guard.view(now)


def _request(world: World, **more: Any) -> QueryRequest:
    return QueryRequest(_ASKED, snapshot=_view(world), **more)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when a guard's evaluation has begun."""
    event, run = threading.Event(), evaluation.run_join

    def noticed(*args: Any, **more: Any) -> Any:
        event.set()
        return run(*args, **more)

    monkeypatch.setattr(evaluation, "run_join", noticed)
    return event


def test_a_cancelled_query_ends_its_guard(endless: World, begun: threading.Event) -> None:
    pool, request, cancel = endless.pool, _request(endless), Cancel()
    future = pool.submit(cancel, lambda flag: pool.run(request, flag))
    assert begun.wait(60)
    cancel.cancel()
    with pytest.raises(AdalogError) as caught:
        future.result(60)
    assert caught.value.code is Code.CANCELLED


def test_work_that_is_no_query_ends_its_guard(endless: World, begun: threading.Event) -> None:
    cancel, view = Cancel(), _view(endless)
    attribute = next(each for each in view.attributes() if each.ident.local == "title")
    future = endless.pool.submit(cancel, lambda _: view.count(attribute))
    assert begun.wait(60)
    cancel.cancel()
    with pytest.raises(AdalogError) as caught:
        future.result(60)
    assert caught.value.code is Code.CANCELLED


_ASKING: dict[str, Callable[[World, Snapshot], object]] = {
    "query": lambda world, view: world.pool.run(QueryRequest(_ASKED, snapshot=view, timeout_ms=100)),
    "pull": lambda world, view: world.pool.pull(PullRequest("[*]", [1], view, timeout_ms=100)),
    "explain": lambda world, view: world.pool.explain(
        QueryRequest(_ASKED, snapshot=view, timeout_ms=100), analyze=True
    ),
}


@pytest.mark.parametrize("kind", _ASKING)
def test_a_request_whose_time_is_over_says_so(endless: World, kind: str) -> None:
    with pytest.raises(AdalogError) as caught:
        _ASKING[kind](endless, _view(endless))
    assert caught.value.code is Code.TIMEOUT


def test_a_guard_whose_own_time_is_over_denies(endless: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "_TIMEOUT_MS", 50)
    assert endless.pool.run(_request(endless)).rows() == []


@pytest.mark.parametrize("code", [Code.TIMEOUT, Code.LIMIT_EXCEEDED])
@pytest.mark.parametrize("text", [_ASKED, "[:find (pull ?e [:doc/title]) :where [?e :doc/owner]]"])
def test_what_a_guard_denied_for_want_of_means_is_not_kept(
    docs: World, monkeypatch: pytest.MonkeyPatch, text: str, code: Code
) -> None:
    _policy(docs, "[[(allow ?e) (claim :sub ?sub) [?e :doc/owner ?sub]]]")

    def overrun(*_: object, **__: object) -> None:
        raise AdalogError(code, "too much")

    pool = Pool(docs.database, cache=CacheSettings())
    try:

        def asked() -> tuple[int, str]:
            result = pool.run(QueryRequest(text, snapshot=_view(World(docs.database, pool))))
            return len(result.rows()), result.cache

        with monkeypatch.context() as patched:
            patched.setattr(evaluation, "run_join", overrun)
            assert asked() == (0, "MISS")
        assert asked() == (1, "MISS")
        assert asked() == (1, "HIT")
    finally:
        pool.close()


@pytest.mark.parametrize("kind", _ASKING)
def test_a_request_whose_time_is_over_while_its_policies_are_planned_says_so(
    docs: World, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    _policy(docs, "[[(allow ?e) (claim :sub ?sub) [?e :doc/owner ?sub]]]")
    _plan_endlessly(monkeypatch, evaluation)
    with pytest.raises(AdalogError) as caught:
        _ASKING[kind](docs, _view(docs))
    assert caught.value.code is Code.TIMEOUT


def test_a_guard_whose_own_time_is_over_while_it_is_planned_denies(
    docs: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _policy(docs, "[[(allow ?e) (claim :sub ?sub) [?e :doc/owner ?sub]]]")
    _plan_endlessly(monkeypatch, evaluation)
    monkeypatch.setattr(evaluation, "_TIMEOUT_MS", 50)
    assert docs.pool.run(_request(docs)).rows() == []


def test_a_policy_that_takes_too_long_to_plan_is_refused(docs: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _plan_endlessly(monkeypatch, rule_checks)
    monkeypatch.setattr(stored_queries, "SECONDS", 0.05)
    with pytest.raises(AdalogError, match=r"take more than 0\.05 seconds to plan") as caught:
        _policy(docs, "[[(allow ?e) [?e :doc/owner]]]")
    assert caught.value.code is Code.LIMIT_EXCEEDED


def _plan_endlessly(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Has a module plan until something ends it."""

    def slow(*_: object, **__: object) -> None:
        give_up = time.monotonic() + 60
        while time.monotonic() < give_up:
            look()
        raise AssertionError("nothing ended it")

    monkeypatch.setattr(module, "plan_query", slow)


def test_who_waits_for_what_another_finds_may_leave(docs: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _policy(docs, "[[(allow ?e) (claim :sub ?sub) [?e :doc/owner ?sub]]]")
    begun, go_on, run = threading.Event(), threading.Event(), evaluation.run_join

    def slow(*args: Any, **more: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        return run(*args, **more)

    monkeypatch.setattr(evaluation, "run_join", slow)
    pool, cancel = docs.pool, Cancel()
    first = pool.submit(Cancel(), lambda flag: pool.run(_request(docs), flag))
    assert begun.wait(60)
    second = pool.submit(cancel, lambda flag: pool.run(_request(docs), flag))
    cancel.cancel()
    with pytest.raises(AdalogError) as caught:
        second.result(60)
    assert caught.value.code is Code.CANCELLED
    go_on.set()
    assert [tuple(row) for row in first.result(60).rows()] == [("a",)]


def test_a_transaction_is_denied_where_its_policies_take_too_long(
    docs: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _policy(docs, _ENDLESS, ":create :read")
    monkeypatch.setattr(stored_queries, "SECONDS", 0.05)
    before = docs.database.snapshot().t
    with pytest.raises(AdalogError) as caught:
        docs.database.submit('[{:doc/title "c"}]', viewer=_MEMBER).result(60)
    assert caught.value.code is Code.FORBIDDEN
    assert "the policies took more than 0.05 seconds to decide about the transaction" in caught.value.message
    assert docs.database.snapshot().t == before
    # Those whose policies do not decide about them go on.
    docs.tx('[{:doc/title "d"}]')


def test_policies_are_read_and_planned_once_for_many_transactions(
    docs: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = "[[(allow ?e) (claim :sub ?sub) [?e :doc/owner ?sub]]]"
    _policy(docs, rules, ":create :read :update")

    def add(title: str, owner: str) -> None:
        docs.database.submit(f'[{{:doc/title "{title}" :doc/owner "{owner}"}}]', viewer=_MEMBER).result(60)

    add("c", "ann")
    with monkeypatch.context() as patched:
        patched.setattr(policies, "read_policy_rules", None)
        patched.setattr(evaluation, "plan_query", None)
        add("d", "ann")
        with pytest.raises(AdalogError, match="no policy grants you :create"):
            add("e", "bob")
    _policy(docs, rules.replace("?sub]]", "?owner] [(!= ?owner ?sub)]]"), ":create :read :update")
    with pytest.raises(AdalogError, match="no policy grants you :create"):
        add("f", "ann")
    add("g", "bob")
