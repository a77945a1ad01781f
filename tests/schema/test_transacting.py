"""A document that is one transaction is answered as GraphQL's executor would answer it, and nothing else is taken
for one."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import json
import weakref
from typing import Any

import pytest

from adalog.schema.documents import operations, preparation
from adalog.schema.request.thread_results import arrived
from tests.gateway.support import SCHEMA, Gateway, gateway

NEW = """[{:person/name "Ada" :person/born 1815} {:db/id "c" :person/born 1}
 {:db/id "b" :person/name "Byron" :person/child ["c"]}]"""
_T = "mutation ($tx: EDN!) { transact(tx: $tx)"
_X = "mutation ($x: Encoding, $tx: EDN!) { transact(tx: $tx, encoding: $x)"
_N = "mutation ($tx: EDN!, $no: Boolean = false) { transact(tx: $tx)"
ALL = "t basisBefore txInstant tempids datoms { e a v t added } warnings { code message line column }"

# fmt: off
DOCUMENTS: list[tuple[str, dict[str, Any]]] = [
    (_T + " { t } }", {"tx": NEW}),
    (f"mutation ($tx: EDN!) {{ transact(tx: $tx) {{ {ALL} }} }}", {"tx": NEW}),
    ("mutation M($tx: EDN!) { done: transact(tx: $tx) { __typename now: t before: basisBefore t } }", {"tx": NEW}),
    (_T + " { datoms { v } warnings { message } } }", {"tx": "[{:persn/name 1}]"}),
    ("mutation ($tx: EDN!) { transact(tx: $tx, encoding: TAGGED) { datoms { a v e } } }", {"tx": NEW}),
    (_X + " { datoms { a v } } }", {"tx": NEW, "x": "EDN"}),
    (_X + " { t } }", {"tx": NEW, "x": "edn"}),
    (_X + " { t } }", {"tx": NEW, "x": None}),
    ("mutation ($x: Encoding = EDN, $tx: EDN!) { transact(tx: $tx, encoding: $x) { datoms { v } } }", {"tx": NEW}),
    ('mutation ($tx: EDN = "[{:person/born 1}]") { transact(tx: $tx) { datoms { v } } }', {}),
    *(
        ("mutation ($t: Long, $tx: EDN!) { transact(tx: $tx, expectedBasisT: $t) { t } }", {"tx": NEW, "t": t})
        for t in (1, 0, 7, "1", "x", 1.0, 1.5, True, None, 2**63, -(2**63), [1])
    ),
    *(
        ("mutation ($k: String, $tx: EDN!) { transact(tx: $tx, idempotencyKey: $k) { t } }", {"tx": NEW, "k": k})
        for k in ("a key", "", "x" * 300, None, 7, "\0")
    ),
    *(
        (_T + " { t tempids } }", variables)
        for variables in (
            {}, {"tx": None}, {"tx": 7}, {"tx": [NEW]}, {"tx": ""}, {"tx": "["}, {"tx": "{}"}, {"tx": "[]"},
            {"tx": "[{:person/name 7}]"}, {"tx": "[\n [:db/add 1 :person/born \"x\"]]"}, {"tx": NEW, "more": 1},
            {"tx": '[{:person/name "A"} {:person/name "B"} [:db/cas 1 :person/born 1 2]]'},
            {"tx": '[[:db/add 1 :person/born 1] [:db/add 1 :person/born 2]]'}, {"tx": "[[:no/function 1]]"},
        )
    ),
    (f"mutation {{ transact(tx: {json.dumps(NEW)}) {{ t tempids }} }}", {}),
    ("mutation ($tx: EDN!) { a: transact(tx: $tx) { t } b: transact(tx: $tx) { t datoms { v } } }", {"tx": NEW}),
    (_T + " { ...F } } fragment F on TxReport { t }", {"tx": NEW}),
    ("mutation ($tx: EDN!) { ... { transact(tx: $tx) { t } } }", {"tx": NEW}),
    (_T + " { ... on TxReport { t } } }", {"tx": NEW}),
    (_N + " { t @include(if: $no) basisBefore } }", {"tx": NEW}),
    (_N + " @include(if: $no) { t } }", {"tx": NEW}),
    (_T + " { datoms { e } datoms { v } t t } }", {"tx": NEW}),
    (_T + " { nothing } }", {"tx": NEW}),
    ("mutation ($tx: EDN) { transact(tx: $tx) { t } }", {"tx": NEW}),
    ("mutation ($tx: String!) { transact(tx: $tx) { t } }", {"tx": NEW}),
    ("mutation { __typename }", {}),
]
# fmt: on


def answered(opened: Gateway, document: str, variables: dict[str, Any], name: str | None = None) -> Any:
    body = {"query": document, "variables": variables, **({} if name is None else {"operationName": name})}
    response = opened.http.post("/graphql", json=body)
    answer = response.json()
    for shown in (answer.get("data") or {}).values():
        if isinstance(shown, dict):
            shown.pop("txInstant", None)
            for datom in shown.get("datoms", ())[:1]:
                datom.pop("v", None)
    return response.status_code, json.dumps(answer), opened.database.snapshot().t


@pytest.mark.parametrize(("document", "variables"), DOCUMENTS)
def test_the_same_answer(document: str, variables: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with gateway(None, SCHEMA) as opened:
        short = answered(opened, document, variables), answered(opened, document, variables)
    monkeypatch.setattr(preparation, "field_alone", lambda *_: None)
    with gateway(None, SCHEMA) as opened:
        assert (answered(opened, document, variables), answered(opened, document, variables)) == short


def test_the_operation_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    one = "mutation One($tx: EDN!) { transact(tx: $tx) { t } }"
    asked = [(one, "One"), (one, "Two"), (one, None), (f"{one} query Two {{ __typename }}", "One")]
    asked += [(f"{one} query Two {{ __typename }}", "Two"), (f"{one} query Two {{ __typename }}", None)]
    with gateway(None, SCHEMA) as opened:
        short = [answered(opened, document, {"tx": NEW}, name) for document, name in asked]
    monkeypatch.setattr(preparation, "field_alone", lambda *_: None)
    with gateway(None, SCHEMA) as opened:
        assert [answered(opened, document, {"tx": NEW}, name) for document, name in asked] == short


def test_a_large_report_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    document = f"mutation ($tx: EDN!) {{ transact(tx: $tx) {{ {ALL} }} }}"
    tx = {"tx": "[" + " ".join(f'{{:db/id "n{i}" :person/name "{i}"}}' for i in range(1500)) + "]"}
    with gateway(None, SCHEMA) as opened:
        short = answered(opened, document, tx)
        assert short[1].count('":person/name"') == 1500
    monkeypatch.setattr(preparation, "field_alone", lambda *_: None)
    with gateway(None, SCHEMA) as opened:
        assert answered(opened, document, tx) == short


def test_nothing_of_graphql_runs_for_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("GraphQL's executor")

    monkeypatch.setattr(operations.PreparingExecutor, "build", refuse)
    with gateway(None, SCHEMA) as opened:
        document = f"mutation ($tx: EDN!, $k: String) {{ transact(tx: $tx, idempotencyKey: $k) {{ {ALL} }} }}"
        assert opened.data(document, tx=NEW)["transact"]["t"] == 2
        assert opened.code(document, tx="[") == "EDN_SYNTAX"


def test_no_loop_is_kept() -> None:
    async def main() -> weakref.ref[asyncio.AbstractEventLoop]:
        work: concurrent.futures.Future[int] = concurrent.futures.Future()
        waiting = arrived(work)
        work.set_result(1)
        assert await waiting == 1
        return weakref.ref(asyncio.get_running_loop())

    loop = asyncio.run(main())
    gc.collect()
    assert loop() is None


def test_what_comes_together_wakes_the_loop_once() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        told = []
        call = loop.call_soon_threadsafe
        work: list[concurrent.futures.Future[int]] = [concurrent.futures.Future() for _ in range(5)]
        waiting = [arrived(each) for each in work]

        def counted(*given: Any, **named: Any) -> Any:
            told.append(given)
            return call(*given, **named)

        loop.call_soon_threadsafe = counted  # type: ignore[method-assign, assignment]
        waiting[1].cancel()
        work[0].set_result(0)
        work[1].set_result(1)
        work[2].set_exception(ValueError("two"))
        work[3].cancel()
        assert len(told) == 1
        assert await waiting[0] == 0
        with pytest.raises(ValueError, match="two"):
            await waiting[2]
        with pytest.raises(asyncio.CancelledError):
            await waiting[3]
        work[4].set_result(4)
        assert await waiting[4] == 4
        assert len(told) == 2

    asyncio.run(main())
