"""Queries of texts that were asked before are run at once, and answer what any way answers."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adalog
from adalog.datalog import tracing
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.plain_run import SettledRun
from adalog.executor.pool import Pool
from tests.gateway.test_plain_questions import DATA, DECLARED, LATER, TEXTS, TWO_HOPS

REACHED = """[:find ?m :in $ ?n :where [?e :x/name ?n] (linked ?e ?d) [?d :x/name ?m]
    :rules [[(linked ?a ?b) [?a :x/many ?b]] [(linked ?a ?c) (linked ?a ?b) [?b :x/many ?c]]]]"""
ALL = [*TEXTS, REACHED]
VALUES: list[Any] = [
    *("a", "b", "c", "t", "no", "", ":k/v", "k/v", "1", 1, 2, -5, 0, 9007199254740993, 2**62, 2**70, 2.0, -1.5),
    *(True, False, None, [], ["a"], {}, {"a": 1}, (":x/name", "a"), adalog.Keyword(":k/v"), Decimal("1.50")),
    *(datetime(2024, 5, 1, 12, tzinfo=UTC), UUID(int=1), b"x", float("nan")),
]
arguments = st.one_of(
    st.lists(st.sampled_from(["a", "b", "c", "no"]), min_size=1, max_size=1),
    st.lists(st.sampled_from([1, 2, 3, 2**61]), min_size=1, max_size=3),
    st.lists(st.sampled_from(VALUES), max_size=3),
)


@pytest.fixture(scope="module", autouse=True)
def kernel() -> None:
    SMALL_JOIN.load()


@pytest.fixture(scope="module")
def opened() -> Iterator[adalog.Connection]:
    with adalog.connect(":memory:") as db:
        for each in (DECLARED, DATA, LATER):
            db.transact(each)
        warm(db, *ALL)
        yield db


def warm(db: adalog.Database, *texts: str) -> None:
    for _ in range(4):
        for text in texts:
            for args in (["a"], ["b"], [1], [True], [1, 1], [1, 1, 1]):
                answered(db, text, args)


def answered(db: adalog.Database, text: str, args: list[Any]) -> Any:
    """All that an answer shows, or why it was refused."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = db.q(text, *args)
        except adalog.Error as error:
            return str(error)
        rows = sorted(map(repr, found.rows)), [type(cell) for row in found.rows[:1] for cell in row]
        shown = sorted(map(repr, found.value)) if found.shape in ("relation", "collection") else repr(found.value)
        about = found.columns, found.shape, found.keys, found.basis_t, found.warnings, len(found), bool(found)
        copy = pickle.loads(pickle.dumps(found))
        assert copy.rows == found.rows
        assert found.arrow(dictionaries=False).num_rows == len(found)
        return rows, shown, about, [str(each.message) for each in told]


def usual(db: adalog.Database, text: str, args: list[Any]) -> Any:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Pool, "at_once", lambda *given, **more: None)
        return answered(db, text, args)


def at_once(db: adalog.Database, text: str, *args: Any) -> tuple[Any, int]:
    """(the rows in order, how many runs took what the snapshot keeps)"""
    ran: list[Any] = []
    original = SettledRun.columns
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SettledRun, "columns", lambda *given: ran.append(1) or original(*given))
        return sorted(db.q(text, *args).rows), len(ran)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.sampled_from([*ALL, TWO_HOPS, REACHED]), args=arguments)
def test_answers_are_those_of_the_usual_way(opened: adalog.Connection, text: str, args: list[Any]) -> None:
    assert answered(opened, text, args) == usual(opened, text, args)


def test_a_known_text_is_run_at_once_on_its_snapshot() -> None:
    with adalog.connect(":memory:") as db:
        for each in (DECLARED, DATA):
            db.transact(each)
        for change in (None, LATER, '[{:x/name "d" :x/tags "new"}]'):
            if change is not None:
                db.transact(change)
                # Plans are made anew at transaction 4.
                for text in (TWO_HOPS, REACHED):
                    assert at_once(db, text, "b")[1] == (change == LATER)
            warm(db, TWO_HOPS, REACHED)
            for text in (TWO_HOPS, REACHED):
                rows, ran = at_once(db, text, "b")
                assert ran == 1
                assert (sorted(map(repr, rows)), usual(db, text, ["b"])[0][1]) == usual(db, text, ["b"])[0]
        assert at_once(db, REACHED, "a") == ([("a",), ("b",), ("c",)], 1)
        # Another moment, another user, another type.
        for other in (
            db.as_of(2),
            db.since(1),
            db.history(),
            db.with_([{"x/name": "e"}]),
            db.as_user({}, roles=["none"]),
        ):
            assert at_once(other, TWO_HOPS, "b")[1] == 0
        with pytest.warns(adalog.QueryWarning, match="IMPOSSIBLE_VALUE"):
            assert at_once(db, TWO_HOPS, adalog.Keyword(":b")) == ([], 0)
        assert at_once(db, TWO_HOPS, "a")[1] == 1


def test_what_is_suspicious_is_told_each_time() -> None:
    text = "[:find ?m :in $ ?n :where [?e :x/name ?n] [?e :x/name ?m] (not [?e :x/nothing ?m])]"
    with adalog.connect(":memory:") as db:
        for each in (DECLARED, DATA):
            db.transact(each)
        for _ in range(6):
            with pytest.warns(adalog.QueryWarning, match="UNKNOWN_ATTRIBUTE"):
                assert db.q(text, "a").rows == [("a",)]


def test_spans_are_those_of_the_usual_way(opened: adalog.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    assert at_once(opened, TWO_HOPS, "b")[1] == 1
    monkeypatch.setattr(tracing, "is_on", lambda: True)
    assert at_once(opened, TWO_HOPS, "b")[1] == 0


def test_what_an_excision_took_is_not_shown() -> None:
    text = "[:find ?t :in $ ?n :where [?e :x/name ?n] [?e :x/tags ?t]]"
    with adalog.connect(":memory:") as db:
        db.transact(DECLARED)
        for number in range(3):
            tags = [f"tag {number} {i}" for i in range(30)]
            db.transact([{"x/name": "a", "x/tags": tags}])
            for _ in range(4):
                assert len(db.q(text, "a")) == 30
                assert set(db.q(text, "a").rows) == {(tag,) for tag in tags}
            db.transact('[{:db/excise [:x/name "a"] :db.excise/attrs [:x/tags]}]')
            assert db.q(text, "a").rows == []


def test_a_closed_connection_refuses() -> None:
    with adalog.connect(":memory:") as db:
        for each in (DECLARED, DATA):
            db.transact(each)
        warm(db, TWO_HOPS)
    with pytest.raises(adalog.Error, match="the connection is closed"):
        db.q(TWO_HOPS, "b")
