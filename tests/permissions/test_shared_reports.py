"""What many identities see of a transaction, found for all of them at once, is what each sees of it by itself."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.permissions import evaluation
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.reports import VisibleReports, visible_report
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.pool import Pool
from adalog.store.values.datom import TxReport
from tests.permissions.compared import guard_of, numbers, opened
from tests.permissions.conditions import CLAIMS
from tests.permissions.random_worlds import history
from tests.support import World

_SCHEMA = """
[{:db/ident :user/id :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :team/member :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :doc/team :db/valueType :db.type/ref} {:db/ident :doc/title :db/valueType :db.type/string}]
"""
_POLICY = r"""
[{:policy/name "docs of teams" :policy/roles [:member] :policy/ops [:read] :policy/on [:doc]
  :policy/rules "[[(allow ?d) (claim :sub ?sub) [?u :user/id ?sub] [?t :team/member ?u] [?d :doc/team ?t]]]"}]
"""


@pytest.mark.parametrize("number", numbers(share=2))
def test_each_sees_what_it_sees_alone(number: int) -> None:
    rng = Random(f"reports {number}")
    texts, policies = history(rng)
    with opened(texts) as (database, own, other):
        now = database.snapshot()
        identities = [(roles, claims) for roles, claims in CLAIMS for _ in range(2)]
        # Several with the same roles, so that they are asked about together.
        identities += [(("member", "guest"), claims) for _, claims in CLAIMS]
        viewers = [
            VisibleMoments(own.permissions, Viewer(frozenset(roles), claims)) for roles, claims in identities
        ]
        for report in database.transactions(1, now.t + 1, now.t):
            together = VisibleReports(report, now, viewers)
            for (roles, claims), viewer in zip(identities, viewers, strict=True):
                alone = visible_report(guard_of(other, now, roles, claims).view(now.history()), report)
                about = f"world {number} t {report.t} {roles} {claims}\n" + "\n".join(
                    each.form for each in policies
                )
                assert together.of(viewer) == alone, about


@pytest.fixture
def docs(db: World) -> World:
    users = " ".join(f'{{:db/id {n} :user/id "u{n}"}}' for n in range(1, 41))
    teams = " ".join(f"{{:db/id {100 + n % 4} :team/member {n}}}" for n in range(1, 41))
    db.tx(_SCHEMA, f"[{users}]", f"[{teams}]", _POLICY)
    return db


def _viewers(pool: Pool) -> list[VisibleMoments]:
    return [VisibleMoments(pool.permissions, Viewer(frozenset({"member"}), {"sub": f"u{n}"})) for n in range(1, 41)]


def _report(world: World) -> TxReport:
    t = world.tx('[{:db/id 200 :doc/team 101 :doc/title "a"} {:db/id 201 :doc/team 102 :doc/title "b"}]').t
    [report] = world.database.transactions(t, t + 1, 1)
    return report


def _seen(world: World, report: TxReport) -> list[list[int]]:
    viewers = _viewers(world.pool)
    reports = VisibleReports(report, world.database.snapshot(), viewers)
    found = [reports.of(each) for each in viewers]
    return [sorted({each.e for each in seen.datoms if each.e < 1_000}) if seen else [] for seen in found]


_EXPECTED = [[200] if n % 4 == 1 else [201] if n % 4 == 2 else [] for n in range(1, 41)]


def test_rules_run_once_for_all(docs: World, monkeypatch: pytest.MonkeyPatch) -> None:
    report, runs, run = _report(docs), list[object](), evaluation.run_join

    def counted(*args: Any, **more: Any) -> Any:
        runs.append(args)
        return run(*args, **more)

    monkeypatch.setattr(evaluation, "run_join", counted)
    assert _seen(docs, report) == _EXPECTED
    assert len(runs) == 1


def test_those_who_see_the_same_have_one_report(docs: World) -> None:
    report, viewers = _report(docs), _viewers(docs.pool)
    reports = VisibleReports(report, docs.database.snapshot(), viewers)
    assert len({id(reports.of(each)) for each in viewers}) == 3


@pytest.mark.parametrize("code", [Code.TIMEOUT, Code.LIMIT_EXCEEDED])
def test_each_is_asked_by_itself_where_all_together_take_too_long(
    docs: World, monkeypatch: pytest.MonkeyPatch, code: Code
) -> None:
    report, first, run = _report(docs), [True], evaluation.run_join

    def overrun(*args: Any, **more: Any) -> Any:
        if first:
            first.clear()
            raise AdalogError(code, "too much")
        return run(*args, **more)

    monkeypatch.setattr(evaluation, "run_join", overrun)
    assert _seen(docs, report) == _EXPECTED
    assert not first


def test_work_that_is_over_ends_it(docs: World) -> None:
    report, cancel = _report(docs), Cancel()
    cancel.cancel()
    with docs.pool.memory.lent(cancel), pytest.raises(AdalogError) as caught:
        _seen(docs, report)
    assert caught.value.code is Code.CANCELLED
