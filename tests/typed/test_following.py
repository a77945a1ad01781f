"""The surface follows the database: what is declared can be asked for with the next request."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from graphql import build_schema as read_sdl
from graphql import get_introspection_query, validate_schema

from adalog.datalog.errors import AdalogError
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.schema.documents.operations import OperationRequest
from adalog.schema.live.stream import RefusedError
from adalog.schema.request.context import Context
from adalog.schema.typed.surface import SurfaceFactory
from tests.gateway.support import Gateway, gateway
from tests.typed.test_declarations import SCHEMA


@pytest.fixture
def opened() -> Iterator[Gateway]:
    with gateway(None, SCHEMA) as found:
        yield found


def message(opened: Gateway, document: str) -> str:
    return str(opened.error(document)["message"])


def test_a_declaration_is_there_with_the_next_request(opened: Gateway) -> None:
    for number in range(5):
        document = f"{{ people {{ name{number} }} }}"
        assert "Cannot query field" in message(opened, document)
        opened.database.transact(f"[{{:db/ident :person/name{number} :db/valueType :db.type/string}}]")
        assert opened.data(document) == {"people": []}
    opened.database.transact("[[:db/add :person/name0 :db/ident :human/name]]")
    assert opened.data("{ humans { name } }") == {"humans": []}
    assert "Cannot query field 'name0'" in message(opened, "{ people { name0 } }")


def test_what_variables_name_is_there_with_the_next_request(opened: Gateway) -> None:
    create = "mutation ($input: IssueCreateInput!) { createIssue(input: $input) { issue { title } } }"
    listed = "query ($where: IssueWhere) { issues(where: $where) { title } }"
    for number in range(5):
        key = f"00000000-0000-4000-8000-{number:012}"
        opened.database.transact(f"[{{:db/ident :issue/name{number} :db/valueType :db.type/string}}]")
        given = {"key": key, "title": "x", f"name{number}": "y"}
        assert opened.data(create, input=given)["createIssue"] == {"issue": {"title": "x"}}
        opened.database.transact(f"[{{:db/ident :status/s{number}}}]")
        assert opened.data(listed, where={"status": {"eq": f"S{number}"}}) == {"issues": []}
    wrong = opened.post(listed, where={"status": {"eq": "NOPE"}}).json()
    assert wrong["errors"][0]["extensions"]["code"] == "ARG_INVALID"


def test_a_subscription_may_name_what_was_just_declared(opened: Gateway) -> None:
    answering = opened.app.state.answering
    operations = answering.operations
    document = "subscription ($where: IssueWhere) { issuesLive(where: $where) { kind last } }"

    async def first_event(where: dict[str, Any]) -> Any:
        prepared = await operations.aprepare(document)
        asked = OperationRequest(prepared, Context(answering.services), {"where": where})
        stream = operations.subscribe_at_once(asked) or await operations.subscribe(asked)
        try:
            return orjson.loads((await asyncio.wait_for(anext(stream), 30)).payload)
        finally:
            stream.close()

    async def follow() -> None:
        expected = {"data": {"issuesLive": {"kind": "SNAPSHOT", "last": True}}}
        for number in range(5):
            assert await first_event({}) == expected
            opened.database.transact(f"[{{:db/ident :status/s{number}}}]")
            assert await first_event({"status": {"eq": f"S{number}"}}) == expected
        with pytest.raises(RefusedError):
            await first_event({"status": {"eq": "NOPE"}})

    asyncio.run(follow())


def test_a_client_that_gives_up_leaves_the_surface_to_others(
    opened: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    surfaces, make, held = opened.app.state.surfaces, SurfaceFactory.surface, threading.Event()
    begun = threading.Event()

    def slow(*given: Any) -> Any:
        begun.set()
        assert held.wait(30)
        return make(*given)

    monkeypatch.setattr(SurfaceFactory, "surface", slow)

    async def give_up() -> None:
        opened.database.transact("[{:db/ident :a/x :db/valueType :db.type/long}]")
        assert await asyncio.to_thread(begun.wait, 30)
        # Queued behind the one that is being made.
        opened.database.transact("[{:db/ident :a/y :db/valueType :db.type/long}]")
        waiting = asyncio.ensure_future(surfaces.current())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        held.set()
        assert "y" in (await asyncio.wait_for(surfaces.current(), 30)).model.types["A"].fields

    asyncio.run(give_up())
    assert opened.data("{ as { x y } }") == {"as": []}


def test_members_of_enums_follow_their_idents(opened: Gateway) -> None:
    document = "{ issues(where: {status: {eq: CLOSED}}) { id } }"
    assert "Value 'CLOSED' does not exist in 'Status' enum" in message(opened, document)
    opened.database.transact("[{:db/ident :status/closed}]")
    assert opened.data(document) == {"issues": []}


def test_other_idents_and_docs_make_no_surface(opened: Gateway) -> None:
    surfaces = opened.app.state.surfaces
    before = surfaces.caught_up().result()
    opened.database.transact('[{:db/ident :other/ident :db/doc "An ident."} [:db/add 1 :user/name "Ada"]]')
    assert surfaces.caught_up().result() is before
    assert not surfaces.is_stale
    opened.database.transact('[{:graphql/namespace :line-item :db/doc "Another one."}]')
    assert surfaces.caught_up().result() is not before


def test_documents_of_fixed_fields_survive_a_new_surface(opened: Gateway) -> None:
    operations = opened.app.state.answering.operations
    fixed, typed = "{ database { basisT } }", "{ issues { title } }"
    prepared = [operations.prepare(text) for text in (fixed, typed)]
    assert [each.surface for each in prepared] == [None, opened.app.state.surfaces.newest]
    opened.database.transact("[{:db/ident :a/x :db/valueType :db.type/long}]")
    opened.app.state.surfaces.caught_up().result()
    assert operations.prepare(fixed) is prepared[0]
    again = operations.prepare(typed)
    assert again.surface is opened.app.state.surfaces.newest is not prepared[1].surface


def test_a_document_is_answered_by_the_schema_of_the_data_that_it_reads(opened: Gateway) -> None:
    """A field whose attribute has another name by now is not read as empty, also while its schema is the newest."""
    surfaces = opened.app.state.surfaces
    opened.database.transact('[{:db/ident :q/key :db/valueType :db.type/string} {:db/id 900 :q/key "x"}]')
    document = "{ qs { key } }"
    assert opened.data(document) == {"qs": [{"key": "x"}]}
    free, operations = threading.Event(), opened.app.state.answering.operations

    async def prepared() -> Any:
        surfaces._builder.submit(free.wait)
        opened.database.transact("[[:db/add :q/key :db/ident :r/key]]")
        waiting = asyncio.ensure_future(operations.aprepare(document))
        fixed = await operations.aprepare("{ database { basisT } }")
        assert fixed.surface is None
        assert not waiting.done()
        free.set()
        return await waiting

    try:
        (refusal,) = asyncio.run(asyncio.wait_for(prepared(), 30)).refusal
    finally:
        free.set()
    assert "Cannot query field 'qs'" in refusal["message"]
    assert opened.data("{ rs { key } }") == {"rs": [{"key": "x"}]}


@pytest.mark.parametrize(
    "document",
    [
        "query { ...f } fragment f on Query { issues { title } }",
        "{ ... { ... on Query { issues { title } } } }",
        "{ database { basisT } issues { title } }",
        '{ __typename __type(name: "Issue") { name } issues { title } }',
    ],
)
def test_typed_fields_are_found_in_fragments(opened: Gateway, document: str) -> None:
    assert opened.data(document)["issues"] == []


def test_the_schema_is_served_as_text(opened: Gateway) -> None:
    first = opened.http.get("/graphql/schema")
    assert first.status_code == 200
    assert validate_schema(read_sdl(first.text)) == []
    known = {"if-none-match": first.headers["etag"]}
    assert opened.http.get("/graphql/schema", headers=known).status_code == 304
    opened.database.transact("[{:db/ident :a/x :db/valueType :db.type/long}]")
    later = opened.http.get("/graphql/schema", headers=known)
    assert later.status_code == 200
    assert "type A implements Node & Entity" in later.text


def test_introspection_is_of_the_newest_surface(opened: Gateway) -> None:
    def types() -> set[str]:
        shown: list[dict[str, Any]] = opened.data(get_introspection_query())["__schema"]["types"]
        return {each["name"] for each in shown}

    before = types()
    assert types() == before
    opened.database.transact("[{:db/ident :a/x :db/valueType :db.type/long}]")
    assert "A" in types() - before


def test_subscribers_are_told_of_each_new_surface(opened: Gateway) -> None:
    answering = opened.app.state.answering
    operations, declare = answering.operations, "[{{:db/ident :a/{} :db/valueType :db.type/long}}]"

    async def told(stream: Subscription) -> Any:
        return orjson.loads((await asyncio.wait_for(anext(stream), 30)).payload)

    async def follow() -> None:
        prepared = await operations.aprepare("subscription { now: schemaChanged }")
        stream = await operations.subscribe(OperationRequest(prepared, Context(answering.services)))
        assert await told(stream) == {"data": {"now": 1}}
        opened.database.transact(declare.format("x"))
        assert await told(stream) == {"data": {"now": 2}}
        opened.database.transact("[[:db/add 1 :a/x 1]]")
        opened.database.transact(declare.format("y"))
        assert await told(stream) == {"data": {"now": 4}}
        again = await operations.subscribe(OperationRequest(prepared, Context(answering.services)), "4")
        opened.database.transact(declare.format("z"))
        assert await told(again) == {"data": {"now": 5}}
        stream.close()
        answering.stop.begin()
        with pytest.raises(AdalogError, match="shutting down"):
            await told(again)

    asyncio.run(follow())


def test_warnings(opened: Gateway) -> None:
    document = "{ schemaWarnings { code message line column } }"
    assert opened.data(document) == {"schemaWarnings": []}
    opened.database.transact("[{:db/ident :a/ok? :db/valueType :db.type/long}]")
    [warning] = opened.data(document)["schemaWarnings"]
    assert (warning["code"], warning["line"]) == ("NAME_INVALID", None)


def test_an_old_surface_is_gone_without_the_collector(opened: Gateway) -> None:
    """Its types refer to each other; thousands of them would stop all threads while they are collected."""
    surfaces = opened.app.state.surfaces
    assert opened.data("{ issues { id assignee { name } } }") == {"issues": []}
    old, kind = weakref.ref(surfaces.newest), weakref.ref(surfaces.newest.schema.type_map["Issue"])
    gc.collect()
    gc.disable()
    try:
        opened.database.transact("[{:db/ident :a/x :db/valueType :db.type/long}]")
        assert opened.data("{ as { x } issues { id } }") == {"as": [], "issues": []}
        # What other threads still do with it ends meanwhile.
        for _ in range(1_000):
            if old() is None:
                break
            opened.data("{ database { basisT } }")
        assert old() is None
        left = kind()
        assert left is None or not vars(left), "a type refers to no other any more"
    finally:
        gc.enable()
