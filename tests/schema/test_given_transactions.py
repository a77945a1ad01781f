"""`transact` with `args`, `transactJson`, and `withArgs` beside `with`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.support import Gateway, gateway

SCHEMA = """[{:db/ident :i/id :db/valueType :db.type/uuid :db/unique :db.unique/identity}
  {:db/ident :i/status :db/valueType :db.type/keyword}
  {:db/ident :i/title :db/valueType :db.type/string}]"""
UUID_TEXT = "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21"
TRANSACT = "mutation ($tx: EDN!, $args: JSON) { transact(tx: $tx, args: $args) { t tempids datoms { a v } } }"
JSON_TRANSACT = """mutation ($tx: [JSON!]!, $k: String, $t: Long) {
  transactJson(tx: $tx, idempotencyKey: $k, expectedBasisT: $t) { t tempids datoms { a v } }
}"""
Q = """query ($q: EDN!, $w: EDN, $a: JSON, $n: Int, $c: String) {
  q(query: $q, with: $w, withArgs: $a, first: $n, after: $c) { value pageInfo { endCursor } }
}"""


@pytest.fixture
def items() -> Iterator[Gateway]:
    with gateway(None, SCHEMA) as opened:
        yield opened


def _values(report: dict[str, Any]) -> set[tuple[str, Any]]:
    return {(each["a"], each["v"]) for each in report["datoms"] if each["a"] != ":db/txInstant"}


def test_named_values(items: Gateway) -> None:
    given = {"id": UUID_TEXT, "status": "open", "title": "] x"}
    tx = "[{:i/id ?id :i/status ?status :i/title ?title}]"
    report = items.data(TRANSACT, tx=tx, args=given)["transact"]
    assert _values(report) == {(":i/id", UUID_TEXT), (":i/status", ":open"), (":i/title", "] x")}
    report = items.data(
        TRANSACT, tx="[[:db/add [:i/id ?id] :i/status ?s]]", args={"id": UUID_TEXT, "s": {"#kw": "x"}}
    )
    assert (":i/status", ":x") in _values(report["transact"])


def test_forms_of_json(items: Gateway) -> None:
    tx = [{"db/id": "a", "i/id": UUID_TEXT, "i/status": ":open"}, ["db/add", "a", "i/title", ":x"]]
    report = items.data(JSON_TRANSACT, tx=tx, k="once")["transactJson"]
    assert _values(report) == {(":i/id", UUID_TEXT), (":i/status", ":open"), (":i/title", ":x")}
    assert set(report["tempids"]) == {"a"}
    assert items.data(JSON_TRANSACT, tx=tx, k="once")["transactJson"]["t"] == report["t"]


def test_texts_for_built_in_attributes_that_nothing_had_before(items: Gateway) -> None:
    policy = {"policy/name": "p", "policy/roles": ["*"], "policy/ops": ["read"], "policy/on": [":i"]}
    typed = {"graphql/namespace": "i", "graphql/name": "Item"}
    report = items.data(JSON_TRANSACT, tx=[policy, typed])["transactJson"]
    assert {
        *((":policy/roles", ":*"), (":policy/ops", ":read"), (":policy/on", ":i")),
        *((":graphql/namespace", ":i"), (":graphql/name", "Item")),
    } <= _values({"datoms": [each for each in report["datoms"] if isinstance(each["v"], str)]})


@pytest.mark.parametrize(
    ("document", "variables", "code", "place"),
    [
        (TRANSACT, {"tx": "[{:i/title ?t}]", "args": {"x": 1}}, "ARG_INVALID", None),
        (TRANSACT, {"tx": "[{:i/title ?t}]", "args": [1]}, "ARG_INVALID", None),
        (TRANSACT, {"tx": "[{:i/title ?t}]", "args": {"t": {"#nope": 1}}}, "ARG_INVALID", None),
        (TRANSACT, {"tx": "[{:i/title ?t}]", "args": {"t": 1}}, "TX_INVALID", (1, 12)),
        (TRANSACT, {"tx": "[", "args": {"t": 1}}, "EDN_SYNTAX", (1, 1)),
        (JSON_TRANSACT, {"tx": [{"i/title": 7}]}, "TX_INVALID", None),
        (JSON_TRANSACT, {"tx": [{"i/title": {"#nope": 1}}]}, "ARG_INVALID", None),
        (JSON_TRANSACT, {"tx": ["x"]}, "TX_INVALID", None),
        (JSON_TRANSACT, {"tx": [{"i/title": "x"}], "t": 0}, "BASIS_CONFLICT", None),
    ],
)
def test_refused(
    items: Gateway, document: str, variables: dict[str, Any], code: str, place: tuple[int, int] | None
) -> None:
    error = items.error(document, **variables)
    extensions = error["extensions"]
    assert extensions["code"] == code, error
    assert (extensions.get("line"), extensions.get("column")) == (place or (None, None))


def test_with_values(items: Gateway) -> None:
    asked = {"q": "[:find [?s ...] :where [_ :i/status ?s]]", "w": "[?form {:i/status ?s}]"}
    given = {"form": {"i/status": "open"}, "s": "shut"}
    assert sorted(items.data(Q, **asked, a=given)["q"]["value"]) == [":open", ":shut"]
    first = items.data(Q, **asked, a=given, n=1)["q"]
    rest = items.data(Q, **asked, a=given, n=5, c=first["pageInfo"]["endCursor"])["q"]
    assert sorted(first["value"] + rest["value"]) == [":open", ":shut"]
    # A cursor belongs to the values, too.
    assert items.code(Q, **asked, a={**given, "s": "x"}, n=5, c=first["pageInfo"]["endCursor"]) == "ARG_INVALID"
    alone = items.error(Q, q=asked["q"], a=given)
    assert "values of variables in `with`" in alone["message"]
