"""The argument `with` of every field that reads, and `--with` of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adalog.gateway.cli import main
from tests.gateway.support import Gateway, gateway, place_of

DATA = "[" + " ".join(f"[:db/add {number} :n/value {number}]" for number in range(1, 21)) + "]"
WITH = "[[:db/add 1 :n/value 100] {:n/value 50} {:n/value 51} [:db/retract 2 :n/value 2]]"
ASK = "[:find ?e ?v :where [?e :n/value ?v]]"
Q = """query($query: EDN!, $with: EDN, $basis: BasisInput, $first: Int, $after: String, $args: [JSON!]) {
  q(query: $query, with: $with, basis: $basis, first: $first, after: $after, args: $args) {
    rows basisT pageInfo { hasNextPage endCursor }
  }
}"""


@pytest.fixture
def numbers() -> Any:
    with gateway(None, DATA) as opened:
        yield opened


def test_queries(numbers: Gateway) -> None:
    rows = numbers.data(Q, query="[:find (count ?e) (max ?v) :where [?e :n/value ?v]]", **{"with": WITH})["q"][
        "rows"
    ]
    assert rows == [[21, 100]]
    assert numbers.data(Q, query="[:find (count ?e) (max ?v) :where [?e :n/value ?v]]")["q"]["rows"] == [[20, 20]]
    assert numbers.database.snapshot().t == 1


def test_before_and_after_in_one_query(numbers: Gateway) -> None:
    query = "[:find ?e ?old ?new :in $ $old :where [?e :n/value ?new] [$old ?e :n/value ?old] [(not= ?old ?new)]]"
    rows = numbers.data(Q, query=query, args=[{"basis": {}}], **{"with": WITH})["q"]["rows"]
    assert rows == [[1, 1, 100]]


def test_on_a_basis(numbers: Gateway) -> None:
    numbers.database.transact("[[:db/add 1 :n/value 7]]")
    asked = {"query": "[:find ?v . :where [1 :n/value ?v]]", "with": "[[:db.fn/inc 1 :n/value 10]]"}
    assert numbers.data(Q, **asked)["q"]["rows"] == [[17]]
    assert numbers.data(Q, basis={"t": 1}, **asked)["q"]["rows"] == [[11]]
    history = {"query": "[:find ?v ?added :where [1 :n/value ?v _ ?added]]", "with": asked["with"]}
    rows = numbers.data(Q, basis={"t": 1, "history": True}, **history)["q"]["rows"]
    assert sorted(rows) == [[1, False], [1, True], [11, True]]


def test_pages_are_of_one_outcome(numbers: Gateway) -> None:
    found: list[Any] = []
    after = None
    while True:
        page = numbers.data(Q, query=ASK, first=6, after=after, **{"with": WITH})["q"]
        found += page["rows"]
        after = page["pageInfo"]["endCursor"]
        numbers.database.transact("[{:n/value 1000}]")
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert [value for _, value in found] == [100, *range(3, 21), 50, 51]
    assert len({entity for entity, _ in found}) == 21


def test_a_cursor_belongs_to_its_transaction_data(numbers: Gateway) -> None:
    page = numbers.data(Q, query=ASK, first=6, **{"with": WITH})["q"]
    cursor = page["pageInfo"]["endCursor"]
    assert numbers.error(Q, query=ASK, first=6, after=cursor)["extensions"]["code"] == "ARG_INVALID"
    assert (
        numbers.error(Q, query=ASK, first=6, after=cursor, **{"with": "[]"})["extensions"]["code"] == "ARG_INVALID"
    )


def test_datoms(numbers: Gateway) -> None:
    document = """query($with: EDN, $after: String) {
      datoms(index: AEVT, components: [":n/value"], with: $with, first: 15, after: $after) {
        datoms { e v t } pageInfo { endCursor }
      }
    }"""
    first = numbers.data(document, **{"with": WITH})["datoms"]
    numbers.database.transact("[{:n/value 1000}]")
    rest = numbers.data(document, after=first["pageInfo"]["endCursor"], **{"with": WITH})["datoms"]
    datoms = first["datoms"] + rest["datoms"]
    assert [datom["v"] for datom in datoms] == [100, *range(3, 21), 50, 51]
    assert {datom["t"] for datom in datoms} == {1, 2}


def test_pull(numbers: Gateway) -> None:
    document = """query($with: EDN) {
      pull(pattern: "[:n/value]", eid: "1", with: $with)
      pullMany(pattern: "[:n/value]", eids: ["1", "2", "3"], with: $with)
    }"""
    answer = numbers.data(document, **{"with": WITH})
    assert answer["pull"] == {":n/value": 100}
    assert answer["pullMany"] == [{":n/value": 100}, None, {":n/value": 3}]


def test_explain(numbers: Gateway) -> None:
    document = (
        """query($query: EDN!, $with: EDN) { explain(query: $query, with: $with, analyze: true) { text plan } }"""
    )
    plan = numbers.data(document, query=ASK, **{"with": WITH})["explain"]["plan"]
    assert plan["rows"] == 21


def test_refusals_say_where_in_the_transaction_data(numbers: Gateway) -> None:
    error = numbers.error(Q, query=ASK, **{"with": "[[:db/add 1 :n/value :x]]"})
    assert error["extensions"]["code"] == "TX_INVALID"
    assert error["message"].startswith("in with, line 1, column 22: :x is not a long")
    assert place_of(error) == ("with", 1, 22)
    error = numbers.error(Q, query=ASK, **{"with": "[\n[:db/add"})
    assert error["extensions"]["code"] == "EDN_SYNTAX"
    assert place_of(error) == ("with", 2, 1)


def test_what_is_suspicious_about_it_is_warned_of(numbers):
    warned = "warnings { code message line }"
    document = f"""query($query: EDN!, $with: EDN) {{ q(query: $query, with: $with) {{ {warned} }}
      explain(query: $query, with: $with) {{ {warned} }} }}"""
    data = numbers.data(document, query="[:find ?v :where [1 :n/vaule ?v]]", **{"with": "[[:db/add 1 :n/valeu 5]]"})
    for field in ("q", "explain"):
        transaction, query = data[field]["warnings"]
        assert (transaction["code"], transaction["line"]) == ("NEW_ATTRIBUTE", None)
        assert transaction["message"].startswith(
            "in with, line 1, column 13: :n/valeu was declared by this use (did you mean"
        )
        assert query["code"] == "UNKNOWN_ATTRIBUTE"


def test_the_command_line(tmp_path: Path) -> None:
    data, file, tx = str(tmp_path / "data"), tmp_path / "tx.edn", tmp_path / "with.edn"
    file.write_text("[[:db/add 1 :n 1]]", "utf-8")
    tx.write_text("[[:db/add 1 :n 5]]", "utf-8")
    run = CliRunner().invoke
    assert run(main, ["transact", "--data", data, str(file)]).exit_code == 0
    query = ["query", "--data", data, "--format", "edn", "[:find ?n . :where [1 :n ?n]]"]
    assert run(main, [*query, "--with", str(tx)]).output.strip() == "5"
    assert run(main, query).output.strip() == "1"
    assert run(main, ["explain", "--data", data, "--with", str(tx), query[-1]]).exit_code == 0
