"""A document that is one typed field is answered as GraphQL's executor answers it, whatever limits, policies and
schemas say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from adalog.executor.cache.settings import CacheSettings
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.plain_run import SettledRun
from adalog.gateway.protocols.answering import Answering
from adalog.gateway.settings.config import Settings
from adalog.schema.documents.operations import Operations, PreparingExecutor
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway
from tests.permissions.issues import POLICIES, bearer, issues

TYPED = """[[:db/add :issue/project :graphql/type :project] [:db/add :project/parent :graphql/type :project]
 [:db/add :project/members :graphql/type :user]]"""
ISSUES = """query ($t: String, $p: Long, $w: IssueWhere) {
  issues(where: {title: {ne: $t}, points: {gte: $p}, and: [{not: {title: {eq: "x"}}}]}, orderBy: [{title: ASC}])
    { id title project { name parent { name } members { name } } issues: project { name } } }"""
DECLARED = "[[:db/add :person/child :graphql/type :person]]"
DOCUMENTS = [
    ISSUES.replace(", $w: IssueWhere", ""),
    "query ($t: String, $p: Long) { issues(where: {title: {eq: $t}, points: {gt: $p}}) { title points } }",
    "query ($t: String) { issue(title: $t) { title points project { name } } }",
    "query ($w: IssueWhere) { issues(where: $w) { title } }",
    "{ users { name salary } }",
    "{ users { name } }",
    "{ projects { name members { name } issues(first: 2) { title } } }",
    'query ($t: String) { issue(title: $t, as: {roles: ["member"], claims: {sub: "ann"}}) { title points } }',
    """query ($t: String) { issuesConnection(where: {title: {ne: $t}}, first: 1) {
         totalCount nodes { title } pageInfo { hasNextPage endCursor } } }""",
    "query ($id: ID!) { node(id: $id) { id ident __typename ... on Issue { title } ... on Project { name } } }",
    "query ($ids: [ID!]!) { nodes(ids: $ids) { id __typename } }",
]
GIVEN: list[dict[str, Any]] = [
    {"t": "one", "p": 1, "id": "1001", "ids": ["1001", "1003", "7"]},
    {"t": "three", "p": 0, "id": "1", "ids": []},
    {"t": "one", "p": 2, "w": {"title": {"in": ["one", "three"]}}, "id": "x", "ids": ["x"]},
    {"w": {"project": {"name": {"startsWith": "s"}}}},
    {"w": {"points": {"gt": 0}}, "t": None, "p": "1"},
    {"t": ["one"]},
]


def both(opened: Gateway, document: str, variables: dict[str, Any], **more: Any) -> tuple[bytes, bytes]:
    """(the answer, that of GraphQL's executor)"""

    def ask() -> bytes:
        response: httpx.Response = opened.http.post(
            "/graphql", json={"query": document, "variables": variables}, **more
        )
        return re.sub(rb"incident [0-9a-f]+", b"", b"%d " % response.status_code + response.content)

    first = ask()
    assert ask() == first
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Operations, "alone", lambda *_: None)
        return first, ask()


@pytest.fixture(scope="module", autouse=True)
def kernel() -> None:
    SMALL_JOIN.load()


@pytest.fixture(params=[False, True], ids=["all", "guarded"])
def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gateway]:
    with issues(tmp_path, TYPED, port=0) as found:
        if not request.param:
            names = re.findall(r':policy/name ("[^"]*")', POLICIES)
            found.database.transact(f"[{' '.join(f'[:db/retractEntity [:policy/name {each}]]' for each in names)}]")
        yield found


def test_policies_hide_the_same(guarded: Gateway) -> None:
    shown = set()
    for name in ("ann", "bob", "root"):
        for document in DOCUMENTS:
            for given in GIVEN:
                alone, usual = both(guarded, document, given, headers=bearer(name))
                assert alone == usual, (name, document, given)
                shown.add(alone)
    assert len(shown) > 30


@pytest.mark.parametrize("limits", [{"rows": 2}, {"result_bytes": 300}], ids=str)
@pytest.mark.parametrize("cached", [False, True])
def test_limits_are_the_same(limits: dict[str, Any], cached: bool) -> None:
    cache = CacheSettings() if cached else None
    settings = replace(Settings(data=":memory:"), **limits)
    documents = [
        "{ people { id name born child { name child { name } } } }",
        "query ($f: Int) { people(first: $f) { n: name m: name child(first: 3) { name } } }",
        "query ($n: String) { person(name: $n) { name child { a: name b: born } } }",
    ]
    with gateway(settings, SCHEMA, FAMILY, DECLARED, cache=cache) as opened:
        for document in documents:
            for given in ({}, {"f": 2, "n": "Ada"}, {"f": 3, "n": "nobody"}, {"f": 0}):
                alone, usual = both(opened, document, given)
                assert alone == usual, document
                assert all(opened.post_directly(document, **given) == usual[4:] for _ in range(3))


LISTS = [
    "query ($n: String) { person(name: $n) { id name born child { name __typename } } }",
    "query ($n: String, $f: Int, $o: Int) { x: people(where: {name: {eq: $n}}, first: $f, offset: $o) { name } }",
    "query ($b: Long, $f: Int, $o: Int) { people(where: {born: {eq: $b}}, offset: $o, first: $f) { id born } }",
    "query ($b: Long) { people(where: {child: {some: {born: {eq: $b}}}}, first: 2) { name } }",
    "query ($n: String) { people(where: {child: {some: {name: {eq: $n}}}}) { name } }",
    "query ($f: Int, $o: Int) { people(first: $f, offset: $o) { name child { name } } }",
    "query ($n: String) { people(where: {name: {eq: $n}}, orderBy: [{born: DESC}]) { name } }",
    "query ($n: String, $t: Long) { people(where: {name: {eq: $n}}, basis: {t: $t}) { name } }",
    'query ($n: String) { people(where: {name: {eq: $n}}, as: {roles: [], claims: {sub: "x"}}) { name } }',
]
LISTED: list[dict[str, Any]] = [
    {"n": "Ada", "b": 1815, "f": 2, "o": 0, "t": 3},
    {"n": "Byron", "b": 1816, "f": 1, "o": 1, "t": 2},
    {"n": "Anne", "b": 7, "f": 5, "o": 3},
    {"n": "Ralph", "b": 1815, "f": 0, "o": 2},
    {"n": "nobody", "b": -1, "f": 2, "o": 2**53},
    {"n": None, "b": None, "f": None, "o": None},
    {"n": "", "b": "1815", "f": -1, "o": -1},
    {"n": 7, "b": 1.5, "f": 10_000_000},
    {"f": 3},
    {"f": 2, "o": 1},
]
CHANGES = ("[]", '[{:person/name "Ada" :person/born 1816}]', '[[:db/retractEntity [:person/name "Abel"]]]')
OTHERS = """[{:person/name "Eve" :person/born 1815 :person/child {:person/name "Cain" :person/born 1816}}
 {:person/name "Abel" :person/born 1816} {:person/name "long %s" :person/born 1816}]""" % ("x" * 600)  # fmt: skip


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("document", LISTS)
def test_what_is_read_at_once_is_the_same(document: str, cached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    original = SettledRun.columns
    monkeypatch.setattr(SettledRun, "columns", lambda *given: ran.append(1) or original(*given))
    cache = CacheSettings() if cached else None
    with gateway(None, SCHEMA, FAMILY, DECLARED, OTHERS, cache=cache) as opened:
        for change in CHANGES:
            opened.database.transact(change)
            for given in [each for each in LISTED for _ in range(3)]:
                if cached:
                    opened.pool.cache.memory.clear()
                assert opened.post_directly(document, **given) == both(opened, document, given)[1][4:], given
    # Those with an order, a basis or a viewer of their own are not.
    assert bool(ran) == (document in LISTS[:-3])


POINTS = """[:find ?n ?o :in $ ?t
  :where [?i :issue/title ?t] [?i :issue/project ?p] [?p :project/name ?n] [?i :issue/points ?o]]"""
Q = f"query ($a: [JSON!]) {{ q(query: {json.dumps(POINTS)}, args: $a) {{ rows }} }}"
TITLED = "query ($t: String) { issue(title: $t) { title points project { name } } }"


@pytest.mark.parametrize(("document", "cached"), [(Q, False), (TITLED, False), (Q, True), (TITLED, True)])
def test_what_is_read_at_once_is_what_one_may_see(
    document: str, cached: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Any] = []
    original = SettledRun.columns
    monkeypatch.setattr(SettledRun, "columns", lambda *given: ran.append(1) or original(*given))
    with issues(tmp_path, TYPED, cached=cached, port=0) as found:
        asked = [(name, title) for name in ("root", "ann", "bob", "nobody") for title in ("one", "three")]

        def seen(*, at_once: bool) -> list[bytes]:
            if cached:
                found.pool.cache.memory.clear()
            with pytest.MonkeyPatch.context() as patched:
                if not at_once:
                    patched.setattr(Answering, "at_once", lambda *_: None)
                return [found.post_directly(document, bearer(name), t=title, a=[title]) for name, title in asked]

        for change in ("[]", '[[:db/retract [:project/name "open"] :project/members [:user/name "ann"]]]'):
            found.database.transact(change)
            for _ in range(4):
                shown = seen(at_once=True)
            assert shown == seen(at_once=False)
            assert len(set(shown)) > 2
            before = len(ran)
            assert seen(at_once=True)[:2] == shown[:2]
            # Of those who see everything, and of no other.
            assert before < len(ran) <= before + 2
        # Policies that are gone hide nothing.
        names = re.findall(r':policy/name ("[^"]*")', POLICIES)
        found.database.transact(f"[{' '.join(f'[:db/retractEntity [:policy/name {each}]]' for each in names)}]")
        for _ in range(4):
            shown = seen(at_once=True)
        assert shown == seen(at_once=False)


def test_documents_are_measured_alike() -> None:
    deep, wide = "name", " ".join(f"n{number}: name" for number in range(300))
    for _ in range(40):
        deep = f"child {{ {deep} }}"
    lists = "name"
    for _ in range(5):
        lists = f"child(first: 1000) {{ {lists} }}"
    with gateway(None, SCHEMA, FAMILY, DECLARED) as opened:
        for shown in (deep, wide, lists, "name " * 20_000):
            alone, usual = both(opened, f"{{ people {{ {shown} }} }}", {})
            assert alone == usual
            assert b"LIMIT_EXCEEDED" in alone


def test_nothing_of_graphql_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("GraphQL's executor")

    with gateway(None, SCHEMA, FAMILY) as opened:
        monkeypatch.setattr(PreparingExecutor, "build", refuse)
        one = "query ($n: String!) { person(name: $n) { name } }"
        assert opened.data(one, n="Ada") == {"person": {"name": "Ada"}}
        assert opened.data("{ people { name } }")["people"]
        assert opened.code("{ people(first: -1) { name } }") == "ARG_INVALID"
        with pytest.raises(AssertionError):
            opened.post(one, n=7)


def test_declarations_count_at_once() -> None:
    document = "query ($n: String) { person(name: $n) { name nick child { name } } }"
    with gateway(None, SCHEMA, FAMILY) as opened:
        for change in (
            "[]",
            "[{:db/ident :person/nick :db/valueType :db.type/string :db/cardinality :db.cardinality/one}]",
            '[{:person/name "Ada" :person/nick "al"}]',
            "[[:db/add :person/nick :db/cardinality :db.cardinality/many]]",
            '[{:person/name "Ada" :person/nick "be"}]',
            "[[:db/add :person/child :graphql/type :person]]",
            "[[:db/add :person/nick :db/ident :person/other]]",
            '[[:db/add :person/other :graphql/name "nick"]]',
            '[[:db/retractEntity [:person/name "Ada"]]]',
        ):
            opened.database.transact(change)
            for name in ("Ada", "Byron", None):
                alone, usual = both(opened, document, {"n": name})
                assert alone == usual, change


def test_a_transaction_that_the_client_has_seen_is_waited_for() -> None:
    with gateway(None, SCHEMA, FAMILY) as opened:
        document = "query ($n: String) { person(name: $n) { name } }"
        for t in (1, opened.database.snapshot().t, 99):
            body = {"query": document, "variables": {"n": "Ada"}, "extensions": {"minBasisT": t}}
            alone = opened.http.post("/graphql", json=body).content
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(Operations, "alone", lambda *_: None)
                assert opened.http.post("/graphql", json=body).content == alone
