"""Pages of q and datoms: every row once, on the snapshot of the first page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.support import Gateway, gateway

NUMBERS = "[" + " ".join(f"[:db/add {number} :n/value {number * 7 % 50}]" for number in range(1, 51)) + "]"
ASK = "[:find ?v ?e :where [?e :n/value ?v]]"
PAGE = """query($query: EDN!, $args: [JSON!], $first: Int, $after: String, $basis: BasisInput) {
  q(query: $query, args: $args, first: $first, after: $after, basis: $basis) {
    rows value basisT pageInfo { hasNextPage endCursor } stats { rows }
  }
}"""
DATOMS = """query($first: Int, $after: String) {
  datoms(index: AEVT, components: [":n/value"], first: $first, after: $after) {
    datoms { e v } pageInfo { hasNextPage endCursor }
  }
}"""


@pytest.fixture
def numbers() -> Any:
    with gateway(None, NUMBERS) as opened:
        yield opened


def pages(numbers: Gateway, first: int, **more: Any) -> list[Any]:
    found: list[Any] = []
    after = None
    while True:
        page = numbers.data(PAGE, query=ASK, first=first, after=after, **more)["q"]
        found.append(page)
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            return found


@pytest.mark.parametrize("first", [1, 7, 25, 49, 50, 51])
def test_pages_hold_every_row_once_in_order(numbers: Gateway, first: int) -> None:
    whole = sorted([number * 7 % 50, number] for number in range(1, 51))
    found = pages(numbers, first)
    assert [row for page in found for row in page["rows"]] == whole
    assert all(len(page["rows"]) <= first for page in found)
    assert all(page["rows"] == page["value"] for page in found)
    assert {page["stats"]["rows"] for page in found} == {50}


def test_pages_stay_on_the_first_ones_snapshot(numbers: Gateway) -> None:
    first = numbers.data(PAGE, query=ASK, first=20)["q"]
    numbers.database.transact("[[:db/add 60 :n/value 1] [:db/retract 1 :n/value 7] [:db/add 2 :n/value 99]]")
    rest = numbers.data(PAGE, query=ASK, first=100, after=first["pageInfo"]["endCursor"])["q"]
    assert rest["basisT"] == first["basisT"] == 1
    assert first["rows"] + rest["rows"] == sorted([number * 7 % 50, number] for number in range(1, 51))


def test_order_by_is_kept(numbers: Gateway) -> None:
    query = "[:find ?v :where [_ :n/value ?v] :order-by [[?v :desc]]]"
    page = numbers.data(PAGE, query=query, first=3)["q"]
    assert page["rows"] == [[49], [48], [47]]
    page = numbers.data(PAGE, query=query, first=3, after=page["pageInfo"]["endCursor"])["q"]
    assert page["rows"] == [[46], [45], [44]]


def test_first_of_nothing(numbers: Gateway) -> None:
    page = numbers.data(PAGE, query=ASK, first=0)["q"]
    assert page["rows"] == []
    assert page["pageInfo"]["hasNextPage"] is True
    none = numbers.data(PAGE, query="[:find ?e :where [?e :n/value 1000]]", first=5)["q"]
    assert none["pageInfo"] == {"hasNextPage": False, "endCursor": None}


def test_a_cursor_is_bound_to_its_question(numbers: Gateway) -> None:
    query = "[:find ?v ?e :in $ ?least :where [?e :n/value ?v] [(< ?least ?v)]]"
    cursor = numbers.data(PAGE, query=query, args=[5], first=5)["q"]["pageInfo"]["endCursor"]
    assert numbers.code(PAGE, query=ASK, first=5, after=cursor) == "ARG_INVALID"
    assert numbers.code(PAGE, query=query, args=[6], first=5, after=cursor) == "ARG_INVALID"
    assert numbers.code(PAGE, query=query, args=[5.0], first=5, after=cursor) == "ARG_INVALID"
    assert numbers.code(PAGE, query=query, args=[5], first=5, after=cursor, basis={"t": 1}) == "ARG_INVALID"
    assert numbers.code(PAGE, query=query, args=[5], first=5, after=cursor[:-3] + "abc") == "ARG_INVALID"
    assert numbers.code(PAGE, query=query, args=[5], first=5, after="") == "ARG_INVALID"


def test_a_cursor_of_another_database_is_refused(numbers: Gateway) -> None:
    cursor = numbers.data(PAGE, query=ASK, first=5)["q"]["pageInfo"]["endCursor"]
    with gateway(None, NUMBERS) as other:
        assert other.code(PAGE, query=ASK, first=5, after=cursor) == "ARG_INVALID"


def test_pages_of_history(numbers: Gateway) -> None:
    numbers.database.transact("[[:db/add 2 :n/value 99]]")
    basis = {"history": True}
    found = pages(numbers, 20, basis=basis)
    rows = [row for page in found for row in page["rows"]]
    assert len(rows) == 51
    assert [14, 2] in rows
    assert [99, 2] in rows


@pytest.mark.parametrize("first", [1, 20, 50, 51])
def test_pages_of_datoms(numbers: Gateway, first: int) -> None:
    seen: list[Any] = []
    after = None
    while True:
        page = numbers.data(DATOMS, first=first, after=after)["datoms"]
        seen += page["datoms"]
        after = page["pageInfo"]["endCursor"]
        numbers.database.transact(f"[[:db/add {100 + len(seen)} :n/value 1]]")
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert seen == [{"e": number, "v": number * 7 % 50} for number in range(1, 51)]


def test_a_negative_page_is_refused(numbers: Gateway) -> None:
    assert numbers.code(PAGE, query=ASK, first=-1) == "ARG_INVALID"
    assert numbers.code(DATOMS, first=-1) == "ARG_INVALID"
