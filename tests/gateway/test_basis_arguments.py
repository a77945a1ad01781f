"""A basis among the arguments: one query over several points in time, and what is refused of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.support import Gateway

BORN = "[:find ?then ?now :in $ $old :where [?p :person/born ?now] [$old ?p :person/born ?then]]"
ASK = """query($query: EDN!, $args: [JSON!], $basis: BasisInput) {
  q(query: $query, args: $args, basis: $basis) { rows } }"""
ASK_EDN = "query($query: EDN!, $args: [EDN!]) { q(query: $query, argsEdn: $args) { rows } }"
EXPLAIN = "query($query: EDN!, $args: [JSON!]) { explain(query: $query, args: $args) { text } }"
PAGE = """query($query: EDN!, $args: [JSON!], $after: String) {
  q(query: $query, args: $args, first: 1, after: $after) { rows pageInfo { hasNextPage endCursor } } }"""


@pytest.fixture
def lives(family: Gateway) -> Gateway:
    """Ada is born in 1815 as of t = 2, in 1816 since t = 3."""
    family.database.transact('[[:db/add [:person/name "Ada"] :person/born 1816]]')
    return family


@pytest.mark.parametrize(
    "basis",
    [
        {"t": 2},
        {"t": "2"},
        {"asOf": 2},
        {"asOf": "2"},
        {"asOf": 2, "since": 1},
        {"t": 2, "asOf": None, "since": None, "history": None},
    ],
)
@pytest.mark.parametrize("key", ["basis", "#basis"])
def test_an_earlier_point_in_time(lives: Gateway, key: str, basis: Any) -> None:
    assert lives.q(BORN, {key: basis}) == [[1815, 1816]]


def test_an_instant(lives: Gateway) -> None:
    instant = lives.data("{ transactions(from: 2, to: 3) { txInstant } }")["transactions"][0]["txInstant"]
    for as_of in (instant, f'#inst "{instant}"', {"#inst": instant}):
        assert lives.q(BORN, {"basis": {"asOf": as_of}}) == [[1815, 1816]]


def test_since_an_instant(lives: Gateway) -> None:
    query = "[:find ?b :in $ $h :where [?p :person/born] [$h ?p :person/born ?b]]"
    assert lives.q(query, {"basis": {"since": "2000-01-01"}}) == [[1816]]
    assert lives.q(query, {"basis": {"since": "2100-01-01T00:00:00Z"}}) == []
    born = "[:find ?b :where [_ :person/born ?b]]"
    rows = f'query($b: BasisInput) {{ q(query: "{born}", basis: $b) {{ rows warnings {{ code }} }} }}'
    assert len(lives.data(rows, b={"sinceInstant": "2000-01-01"})["q"]["rows"]) > 0
    answer = lives.data(rows, b={"sinceInstant": "2100-01-01"})["q"]
    assert answer == {"rows": [], "warnings": [{"code": "BASIS_FUTURE"}]}
    assert lives.code(rows, b={"sinceInstant": "2100-01-01", "since": 1}) == "ARG_INVALID"
    assert lives.code(rows, b={"sinceInstant": "soon"}) == "ARG_INVALID"


def test_since_and_history(lives: Gateway) -> None:
    query = "[:find ?b ?added :in $ $h :where [?p :person/born] [$h ?p :person/born ?b _ ?added]]"
    assert sorted(lives.q(query, {"basis": {"history": True}})) == [[1815, False], [1815, True], [1816, True]]
    assert lives.q(query, {"basis": {"since": 2}}) == [[1816, True]]
    assert sorted(lives.q(query, {"basis": {"history": True, "since": 2}})) == [[1815, False], [1816, True]]
    assert lives.q(query, {"basis": {"history": True, "t": 2}}) == [[1815, True]]


def test_it_is_of_the_moment_of_the_default_source(lives: Gateway) -> None:
    query = "[:find ?b ?added :in $ $h :where [?p :person/born] [$h ?p :person/born ?b _ ?added]]"
    answer = lives.data(ASK, query=query, args=[{"basis": {"history": True}}], basis={"t": 2})
    assert answer["q"]["rows"] == [[1815, True]]
    answer = lives.data(ASK, query=BORN, args=[{"basis": {}}], basis={"t": 2})
    assert answer["q"]["rows"] == [[1815, 1815]]


def test_as_edn(lives: Gateway) -> None:
    for text in ("{:basis {:as-of 2}}", "{:basis {:asOf 2}}", "{:basis {:t 2}}", "{:basis {:t 2 :history false}}"):
        assert lives.data(ASK_EDN, query=BORN, args=[text])["q"]["rows"] == [[1815, 1816]]
    instant = lives.data("{ transactions(from: 2, to: 3) { txInstant } }")["transactions"][0]["txInstant"]
    text = f'{{:basis {{:as-of #inst "{instant}"}}}}'
    assert lives.data(ASK_EDN, query=BORN, args=[text])["q"]["rows"] == [[1815, 1816]]


def test_explain_takes_it_too(lives: Gateway) -> None:
    assert "$old" in lives.data(EXPLAIN, query=BORN, args=[{"basis": {"t": 2}}])["explain"]["text"]


def test_pages_stay_at_their_point_in_time(lives: Gateway) -> None:
    query = "[:find ?b :in $ $h :where [?p :person/born] [$h ?p :person/born ?b]]"
    args = [{"basis": {"history": True}}]
    first = lives.data(PAGE, query=query, args=args)["q"]
    lives.database.transact('[[:db/add [:person/name "Ada"] :person/born 1700]]')
    second = lives.data(PAGE, query=query, args=args, after=first["pageInfo"]["endCursor"])["q"]
    assert first["rows"] + second["rows"] == [[1815], [1816]]
    assert second["pageInfo"]["hasNextPage"] is False


def test_for_anything_but_a_source_it_is_a_map(family: Gateway) -> None:
    assert family.q("[:find ?m :in $ ?m]", {"basis": {"asOf": 2}}) == [[{"basis": {"asOf": 2}}]]
    assert family.q("[:find ?m :in $ [?m ...]]", [{"basis": 1}]) == [[{"basis": 1}]]
    answer = family.data(ASK_EDN, query="[:find ?m :in $ ?m]", args=["{:basis {:as-of 2}}"])
    assert answer["q"]["rows"] == [[{":basis": {":as-of": 2}}]]


@pytest.mark.parametrize(
    ("basis", "says"),
    [
        ({"tt": 1}, "args[0].basis has no tt; it takes t, asOf, since and history"),
        ({"t": 1, "asOf": 1}, "both t and asOf"),
        ({"t": -1}, "args[0].basis.t is -1"),
        ({"since": "x"}, "args[0].basis.since 'x' is no instant"),
        ({"asOf": "yesterday"}, "args[0].basis.asOf 'yesterday' is no instant"),
        ({"asOf": []}, "args[0].basis.asOf"),
        ({"t": 1.5}, "args[0].basis.t is a transaction's number, not 1.5"),
        ({"history": "yes"}, "args[0].basis.history is true or false, not 'yes'"),
        (5, "args[0].basis is a map of t, asOf, since and history"),
        (None, "args[0].basis is a map of t, asOf, since and history"),
    ],
)
def test_what_is_no_basis(family: Gateway, basis: Any, says: str) -> None:
    error = family.error(ASK, query=BORN, args=[{"basis": basis}])
    assert error["extensions"]["code"] == "ARG_INVALID"
    assert says in error["message"]


@pytest.mark.parametrize("written", [{"asOf": 2}, {"t": 2, "history": True}])
def test_a_basis_that_nothing_says_is_one(family: Gateway, written: Any) -> None:
    error = family.error(ASK, query=BORN, args=[written])
    assert error["extensions"]["code"] == "ARG_INVALID"
    assert 'args[0]: a basis is written {"basis": {"asOf": 5}}' in error["message"]
    error = family.error(ASK_EDN, query=BORN, args=["{:as-of 2}"])
    assert "argsEdn[0]: a basis is written" in error["message"]
    assert family.q("[:find ?m :in $ ?m]", {"asOf": 2}) == [[{"asOf": 2}]]
    assert "$old takes a basis or a list of tuples" in family.error(ASK, query=BORN, args=[5])["message"]


def test_the_future_is_refused(family: Gateway) -> None:
    error = family.error(ASK, query=BORN, args=[{"basis": {"asOf": 99}}])
    assert error["extensions"]["code"] == "BASIS_FUTURE"
    assert "args[0].basis: " in error["message"]


def test_a_tagged_basis_is_nothing_but_a_source(family: Gateway) -> None:
    error = family.error(ASK, query="[:find ?m :in $ ?m]", args=[{"#basis": {"t": 1}}])
    assert error["extensions"]["code"] == "ARG_INVALID"
    assert "?m takes a value" in error["message"]
