"""Typed mutations over HTTP: roles, the transaction's principal, units, warnings, and several clients at once."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import Settings
from tests.gateway.bounds import bounded
from tests.gateway.support import Gateway, gateway, served

SCHEMA = """
[{:db/ident :counter/name :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :counter/value :db/valueType :db.type/long}
 {:db/ident :counter/seen :db/valueType :db.type/string :db/cardinality :db.cardinality/many}]
"""
CREATE = "mutation ($n: String!, $seen: [String!]) { createCounter(input: {name: $n, seen: $seen}) { t } }"
UPDATE = """mutation ($value: Long!, $basis: Long!) {
  updateCounter(by: {name: "c"}, set: {value: $value}, expectedBasisT: $basis) { t } }"""
READ = '{ counter(name: "c") { value } database { basisT } }'


def code(response: httpx.Response) -> str:
    (error,) = response.json()["errors"]
    return str(error["extensions"]["code"])


def test_writers_write_and_the_transaction_has_their_name(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    named = ((each, hashlib.sha256(each.encode()).hexdigest()) for each in ("read", "write"))
    path.write_text("".join(f"{role}-client:{role}:{digest}\n" for role, digest in named))
    with gateway(Settings(data=":memory:", auth=str(path)), SCHEMA) as opened:
        refused = opened.post(CREATE, {"Authorization": "Bearer read"}, n="a")
        assert (refused.status_code, code(refused)) == (403, "FORBIDDEN")
        made = opened.post(CREATE, {"Authorization": "Bearer write"}, n="a")
        assert made.json() == {"data": {"createCounter": {"t": 2}}}
        assert [
            datom.v for datom in next(opened.database.transactions(2, 3, 1)).datoms if datom.a.local == "principal"
        ] == ["write-client"]


def test_a_mutation_costs_by_its_input_and_its_datoms() -> None:
    with pytest.MonkeyPatch.context() as patch:
        settings = checked(bounded(patch, rate_units=0.001, rate_burst_units=200_000))
        with gateway(settings, SCHEMA) as opened:
            assert opened.post(CREATE, n="a").status_code == 200
            assert opened.post(CREATE, n="b", seen=[str(each) for each in range(2_000)]).status_code == 200
            refused = opened.post(CREATE, n="c")
            assert (refused.status_code, code(refused)) == (429, "RATE_LIMITED")


def test_no_update_is_lost_under_contention() -> None:
    """Clients that read, add one and write with the basis that they read, until it is accepted."""
    with gateway(None, SCHEMA, '[{:counter/name "c" :counter/value 0}]') as opened, served(opened.app) as url:

        def add(_: int) -> None:
            with httpx.Client(timeout=30) as client:
                while True:
                    read = client.post(f"{url}/graphql", json={"query": READ}).json()["data"]
                    variables = {"value": read["counter"]["value"] + 1, "basis": read["database"]["basisT"]}
                    response = client.post(f"{url}/graphql", json={"query": UPDATE, "variables": variables})
                    if "errors" not in response.json():
                        return
                    assert code(response) == "BASIS_CONFLICT"

        with ThreadPoolExecutor(4) as clients:
            list(clients.map(add, range(12)))
        assert opened.data(READ)["counter"] == {"value": 12}


def test_of_clients_that_create_the_same_one_succeeds() -> None:
    with gateway(None, SCHEMA) as opened, served(opened.app) as url:

        def create(_: int) -> str:
            answer = httpx.post(f"{url}/graphql", json={"query": CREATE, "variables": {"n": "x"}}, timeout=30)
            return "made" if "errors" not in answer.json() else code(answer)

        with ThreadPoolExecutor(4) as clients:
            found = sorted(clients.map(create, range(8)))
        assert found == ["UNIQUE_CONFLICT"] * 7 + ["made"]


def test_a_new_attribute_can_be_written_with_the_next_request(empty: Gateway) -> None:
    for number, name in enumerate(("a", "b")):
        empty.data(
            "mutation ($tx: EDN!) { transact(tx: $tx) { t } }",
            tx=f"[{{:db/ident :thing/{name} :db/valueType :db.type/long}}]",
        )
        made = empty.data(f"mutation {{ createThing(input: {{{name}: {number}}}) {{ thing {{ {name} }} }} }}")
        assert made == {"createThing": {"thing": {name: number}}}
