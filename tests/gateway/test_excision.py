"""Excision over GraphQL: for admins, in EDN and as JSON, with policies and without."""

from __future__ import annotations

import gc
import hashlib
import weakref
from pathlib import Path
from typing import Any

import httpx
import pytest

from adalog.gateway.settings.config import Settings
from tests.gateway.support import Gateway, gateway
from tests.waiting import until

SCHEMA = """[{:db/ident :person/email :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :person/name :db/valueType :db.type/string}]"""
DATA = '[{:person/email "ada@x" :person/name "Ada"} {:person/email "bob@x" :person/name "Bob"}]'
POLICY = """[{:policy/name "writers" :policy/roles [:write] :policy/on [:*]
              :policy/ops [:read :create :update :delete]}
             [:db/add :policy/enforcement :policy/enforced true]]"""
TRANSACT = "mutation ($tx: EDN!) { transact(tx: $tx) { t datoms { a } } }"
TRANSACT_JSON = "mutation ($tx: [JSON!]!) { transactJson(tx: $tx) { t datoms { a } } }"
EDN = '[{:db/excise [:person/email "ada@x"]}]'
FORMS: Any = [{"db/excise": ["person/email", "ada@x"], "db.excise/attrs": ["person/name"]}]


def code(response: httpx.Response) -> str:
    (error,) = response.json()["errors"]
    return str(error["extensions"]["code"])


def names(opened: Gateway) -> set[str]:
    return {datom.v for datom in opened.database.snapshot().datoms("EAVT") if str(datom.a) == ":person/name"}


@pytest.mark.parametrize("policies", [(), (POLICY,)])
def test_admins_alone_excise(tmp_path: Path, policies: tuple[str, ...]) -> None:
    path = tmp_path / "tokens"
    named = ((each, hashlib.sha256(each.encode()).hexdigest()) for each in ("read", "write", "admin"))
    path.write_text("".join(f"{role}-client:{role}:{digest}\n" for role, digest in named))
    with gateway(Settings(data=":memory:", auth=str(path)), SCHEMA, DATA, *policies) as opened:
        for role in ("read", "write"):
            refused = opened.post(TRANSACT, {"Authorization": f"Bearer {role}"}, tx=EDN)
            assert code(refused) == "FORBIDDEN"
        assert names(opened) == {"Ada", "Bob"}
        made = opened.post(TRANSACT, {"Authorization": "Bearer admin"}, tx=EDN)
        told = [datom["a"] for datom in made.json()["data"]["transact"]["datoms"]]
        assert set(told) <= {":db/txInstant", ":db/principal", ":db/ident", ":db/valueType", ":db/cardinality"}
        assert names(opened) == {"Bob"}


def test_as_json() -> None:
    with gateway(None, SCHEMA, DATA) as opened:
        assert "errors" not in opened.post(TRANSACT_JSON, tx=FORMS).json()
        assert names(opened) == {"Bob"}
        assert "errors" not in opened.post(TRANSACT_JSON, tx=[{"db/excise": "person/name"}]).json()
        assert "errors" not in opened.post(TRANSACT_JSON, tx=[{"db/excise": ":person/name"}]).json()
        assert names(opened) == set()


@pytest.mark.parametrize(
    "document",
    [
        "{ database { basisT } }",
        '{ q(query: "[:find ?e ?n :where [?e :person/name ?n]]") { rows } }',
        '{ pull(pattern: "[:person/name]", eid: "[:person/email \\"bob@x\\"]") }',
        "{ people { name } }",
    ],
    ids=["nothing", "query", "pull", "typed"],
)
def test_what_is_kept_for_later_requests_holds_no_value_from_before(document: str) -> None:
    """Neither their texts, nor files that were removed but would still take room on the disk."""
    with gateway(None, SCHEMA, DATA) as opened:
        for _ in range(3):
            opened.data(document)
        values = weakref.ref(opened.database.snapshot().codes)
        opened.data(TRANSACT, tx=EDN)

        def is_gone() -> bool:
            gc.collect()
            return values() is None

        until(is_gone)


PAGES = """query ($after: String, $basis: BasisInput) {
    q(query: "[:find ?e ?n :where [?e :person/name ?n]]", first: 1, after: $after, basis: $basis) {
        rows pageInfo { endCursor } } }"""
DATOMS = """query ($after: String, $basis: BasisInput) {
    datoms(index: AVET, components: [":person/name"], first: 1, after: $after, basis: $basis) {
        datoms { v } pageInfo { endCursor } } }"""
TYPED = """query ($after: String, $basis: BasisInput) {
    peopleConnection(first: 1, after: $after, basis: $basis, orderBy: [{name: ASC}]) {
        edges { node { name } } pageInfo { endCursor } } }"""


@pytest.mark.parametrize(("document", "field"), [(PAGES, "q"), (DATOMS, "datoms"), (TYPED, "peopleConnection")])
def test_pages_that_were_begun_before_begin_anew(document: str, field: str) -> None:
    """A page after it would lack the rows that have moved to where those were that went."""
    more = '[{:person/email "cid@x" :person/name "Cid"} {:person/email "dan@x" :person/name "Dan"}]'
    with gateway(None, SCHEMA, DATA, more) as opened:
        cursor = opened.data(document)[field]["pageInfo"]["endCursor"]
        assert "Bob" in str(opened.data(document, after=cursor))
        opened.data(TRANSACT, tx=EDN)
        refused = opened.error(document, after=cursor)
        assert refused["extensions"]["code"] == "ARG_INVALID"
        assert "an excision" in refused["message"]
        for basis in (None, {"t": 3}):
            cursor = opened.data(document, basis=basis)[field]["pageInfo"]["endCursor"]
            opened.data(TRANSACT, tx='[{:person/email "eve@x" :person/name "Aaron"}]')
            assert "Cid" in str(opened.data(document, after=cursor, basis=basis))
        opened.data(TRANSACT, tx='[{:db/excise [:person/email "dan@x"]}]')
        assert "an excision" in opened.error(document, after=cursor, basis=basis)["message"]
