"""Odd arguments have the same values, or are refused alike, in process and over HTTP; answers can be copied."""

from __future__ import annotations

import copy
import enum
import math
import pickle
from collections import UserDict, namedtuple
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

import adalog
from adalog import Keyword, Symbol, edn
from adalog.client.local import CodedAnswer
from tests.clients.library.places import KINDS

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ONE = "[:find ?x . :in $ ?x]"
NAMES = "[:find [?n ...] :where [_ :user/name ?n]]"


@pytest.fixture(scope="module", params=["memory", "http"])
def db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[adalog.Connection]:
    with KINDS[request.param](tmp_path_factory.mktemp("data"), lambda: None) as opened:  # type: ignore[arg-type]
        opened.transact(
            """[{:db/ident :user/name :db/valueType :db.type/string :db/unique :db.unique/identity}
                {:db/ident :user/knows :db/valueType :db.type/ref}
                {:db/ident :user/kind :db/valueType :db.type/keyword}]"""
        )
        opened.transact([{"db/id": 1, "user/name": "Ada", "user/kind": "open", "user/knows": {"user/name": "Bob"}}])
        yield opened


class Colour(str, enum.Enum):  # noqa: UP042
    RED = "red"


class Size(enum.IntEnum):
    LARGE = 3


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, None),
        (Colour.RED, "red"),
        (Size.LARGE, 3),
        (Point(1, "a"), (1, "a")),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (pd.Timestamp("2024-05-01 12:00:00.000000001", tz="UTC"), NOON),
        (UserDict({"a": 1}), {"a": 1}),
        (MappingProxyType({"#edn": "1"}), {"#edn": "1"}),
        ([None, (None,)], (None, (None,))),
        ({"#basis": {"t": 1}}, {"#basis": {"t": 1}}),
        (10**30, 10**30),
    ],
)
def test_arguments(db: adalog.Connection, given: Any, found: Any) -> None:
    answer = db.q(ONE, given).value
    assert answer == found
    assert isinstance(answer, type(found))


def _within(value: Any, depth: int) -> Any:
    return _within([value], depth - 1) if depth else value


def _recursive() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ("a\ud800", "ARG_INVALID", "a text has U+D800, half of a surrogate pair, which is not a character"),
        (Decimal("NaN"), "ARG_INVALID", "NaN is no bigdec, which is a finite number"),
        (Decimal("-Infinity"), "ARG_INVALID", "-Infinity is no bigdec, which is a finite number"),
        (Keyword("a b] ["), "ARG_INVALID", ":a b] [ is not a keyword; one is written :name or :namespace/name"),
        (Symbol("1"), "ARG_INVALID", "'1' is not a symbol; one is written name or namespace/name"),
        (Symbol(":a"), "ARG_INVALID", "':a' is not a symbol; one is written name or namespace/name"),
        (
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
            "ARG_INVALID",
            "0001-01-01T00:00:00+05:00 is before the year 1 or after 9999 in UTC",
        ),
        (
            pd.NaT,
            "ARG_INVALID",
            "NaT is no instant; leave the attribute of a missing value out, or the value out of a list",
        ),
        (_recursive(), "LIMIT_EXCEEDED", "a value is nested more than 64 deep"),
        (_within(1, 65), "LIMIT_EXCEEDED", "a value is nested more than 64 deep"),
    ],
)
def test_what_is_no_value(db: adalog.Connection, given: Any, code: str, message: str) -> None:
    for call in (
        lambda: db.q(ONE, given),
        lambda: db.transact([{"user/kind": given}]),
        lambda: db.transact("[{:user/kind ?k}]", args={"k": given}),
        lambda: edn.write(given),
    ):
        with pytest.raises(adalog.Error) as error:
            call()
        assert (error.value.code, error.value.message) == (code, message)


def test_the_deepest_value(db: adalog.Connection) -> None:
    value = edn.read("[" * 64 + "1" + "]" * 64)
    assert edn.read(edn.write(value)) == value
    # GraphQL's variables have limits of their own.
    assert db.q(ONE, _within(1, 30)).value == edn.read("[" * 30 + "1" + "]" * 30)


Call = Callable[[adalog.Connection], object]
REFUSED: list[tuple[Call, str]] = [
    (lambda db: db.q(ONE, 1, timeout="2"), "timeout is a number of seconds, not '2'"),  # type: ignore[arg-type]
    (
        lambda db: db.q(ONE, 1, timeout=math.inf),
        "timeout is inf; give more than 0 seconds and at most 2,147,483",
    ),
    (lambda db: db.q(ONE, 1, timeout=math.nan), "timeout is nan; give more than 0 seconds"),
    (lambda db: db.q(ONE, 1, timeout=10**7), "timeout is 10000000; give more than 0 seconds and at most"),
    (lambda db: db.q(ONE, 1, as_of=2**70), "as_of is a transaction's number, an aware datetime or ISO text, not "),
    (
        lambda db: db.q(ONE, 1, as_of=True),
        "as_of is a transaction's number, an aware datetime or ISO text, not True",
    ),
    (lambda db: db.as_of("last week"), "as_of is 'last week', which is no instant; write e.g. "),
    (lambda db: db.since("20240101"), "since is '20240101', which is no instant"),
    (lambda db: db.since(2**70), "since is a transaction's number, an aware datetime or ISO text, not "),
    (lambda db: db.pull_many("[*]", 1), "entities are a list, not 1; `pull` takes a single one"),  # type: ignore[arg-type]
    (lambda db: db.pull_many("[*]", "user/name"), "entities are a list, not 'user/name'"),
    (lambda db: db.datoms(None), "no index None; there are eavt, aevt, avet, vaet"),  # type: ignore[arg-type]
    (lambda db: db.datoms("eavt", limit=-1), "limit is -1; give 0 or more, or None for all"),
    (lambda db: db.datoms("eavt", limit="3"), "limit is a whole number of 64 bits, not '3'"),  # type: ignore[arg-type]
    (lambda db: db.datoms("aevt", "a b] :c"), ":a b] :c is not a keyword"),
    (lambda db: db.transact("[]", args=["a"]), "args are a dict of names and values, not ['a']"),  # type: ignore[arg-type]
    (lambda db: db.transact("[]", expected_basis_t="1"), "expected_basis_t is a whole number of 64 bits, not '1'"),  # type: ignore[arg-type]
    (lambda db: db.transact("[]", expected_basis_t=2**70), "expected_basis_t is a whole number of 64 bits, not "),
    (lambda db: db.transact("[]", idempotency_key=5), "idempotency_key is a str, not 5"),  # type: ignore[arg-type]
    (lambda db: db.live(NAMES, from_t=True), "from_t is a whole number of 64 bits, not True"),
    (lambda db: db.live(NAMES, resume=b"x"), "resume is a str, not b'x'"),  # type: ignore[arg-type]
    (lambda db: db.as_user(None), "claims are a dict of names and values, not None"),  # type: ignore[arg-type]
    (lambda db: db.as_user({"sub": object()}), "claims are JSON: "),
    (lambda db: db.as_user({1: 2}), "claims are JSON: "),  # type: ignore[dict-item]
    (lambda db: db.as_user({}, roles="admin"), "roles are a list of names, not 'admin'"),
    (lambda db: db.as_user({}, roles=[1]), "roles are a list of names, and 1 is none"),  # type: ignore[list-item]
    (lambda db: edn.read(b"1"), "a value is EDN text in a str, not b'1'"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_refused(db: adalog.Connection, call: Call, message: str) -> None:
    with pytest.raises(adalog.Error) as error:
        call(db)
    assert error.value.code == "ARG_INVALID"
    assert error.value.message.startswith(message)


def test_half_a_character_in_a_query_has_its_place(db: adalog.Connection) -> None:
    with pytest.raises(adalog.Error) as error:
        db.q('[:find ?x\n :where [?x :user/name "\ud800"]]')
    assert (error.value.code, error.value.line, error.value.column) == ("EDN_SYNTAX", 2, 25)


def test_numbers_of_numpy_are_moments(db: adalog.Connection) -> None:
    assert db.as_of(np.int64(1)).q(NAMES).value == []  # type: ignore[arg-type]
    assert db.datoms("eavt", np.int64(1), limit=np.int64(1)) == db.datoms("eavt", 1, limit=1)  # type: ignore[arg-type]


def test_vaet_takes_an_entity_first(db: adalog.Connection) -> None:
    [datom] = db.datoms("vaet", ("user/name", "Bob"))
    assert (datom.e, datom.a) == (1, ":user/knows")


def test_claims_are_those_of_a_token(db: adalog.Connection) -> None:
    policy = (
        '[{:policy/name "own" :policy/roles [:member] :policy/ops [:read] :policy/on [:user/name] '
        ':policy/rules "[[(allow ?u) (claim :name ?n) [?u :user/name ?n]]]"}]'
    )
    tried = db.with_(policy)
    for name, found in ((Keyword("Ada"), []), (Colour.RED, []), ("Ada", ["Ada"])):
        assert tried.as_user({"name": name, "id": UUID(int=1)}, roles=("member",)).q(NAMES).value == found


@pytest.mark.filterwarnings("ignore::adalog.QueryWarning")
def test_answers_are_pickled_and_copied(db: adalog.Connection) -> None:
    query = "[:find ?a ?b ?c ?d :keys a b c d :in $ [[?a ?b ?c ?d]] :order-by [?a]]"
    rows = [
        (1, Keyword("a"), Decimal("1.50"), {"x": [1, None]}),
        (2, UUID(int=1), 2**70, b"x"),
        (3, NOON, 0.5, (1, "a")),
    ]
    for result in (
        db.q(query, rows),
        db.q("[:find (pull ?u [:user/name {:user/knows [:user/name]}]) :where [?u :user/knows]]"),
        db.q("[:find ?u :where [?u :user/nmae]]"),
    ):
        warnings, value = result.warnings, result.value
        for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
            assert not isinstance(other.answer, CodedAnswer)
            assert (other.value, other.warnings, other.columns) == (value, warnings, result.columns)
            assert (other.basis_t, len(other)) == (result.basis_t, len(result))
            assert other.arrow().equals(result.arrow())
    report = db.transact([{"db/id": "new", "user/nmae": "x"}])
    again = pickle.loads(pickle.dumps(report))
    assert again == report
    assert again.warnings == report.warnings


def test_a_notebook_shows_rows_without_reading_all(db: adalog.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    result = db.q("[:find ?x ?y :in $ [?x ...] :where [(str ?x) ?y] :order-by [?x]]", list(range(1000)))
    read: list[int] = []
    answer = type(result.answer)
    values = answer.values

    def counted(self: Any, column: int, most: int | None = None) -> Any:
        found = values(self, column, most)
        read.append(len(found))
        return found

    monkeypatch.setattr(answer, "values", counted)
    assert "980 more rows" in result._repr_html_()
    assert read == [20, 20]


def test_keywords_of_the_database_are_given_back(db: adalog.Connection, tmp_path: Path) -> None:
    for name in ("a", "a/b", "a.b/c-d", "a/b/c", "é", "a:b", "1"):
        try:
            known = edn.read(f":{name}")
        except adalog.Error:
            continue
        assert db.q(ONE, known).value == known
        assert isinstance(db.q(ONE, Keyword(name)).value, Keyword)
