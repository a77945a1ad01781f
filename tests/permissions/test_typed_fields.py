"""The typed surface has what the policies of an identity's roles name, and shows what it may see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.support import Gateway, served
from tests.permissions.issues import bearer, code, data, issues
from tests.permissions.test_live import over_events, over_socket

DECLARED = """
[[:db/add :issue/project :graphql/type :project] [:db/add :project/parent :graphql/type :project]
 [:db/add :project/members :graphql/type :user]
 {:graphql/namespace :issue :graphql/name "Ticket" :graphql/anchor :issue/points :db/doc "What is to be done."}
 {:graphql/namespace :secret :graphql/name "Secret"}
 {:db/ident :issue/state :db/valueType :db.type/ref :db/cardinality :db.cardinality/one :graphql/enum :state}
 {:db/ident :state/open} {:db/ident :state/done}]
"""
ANN = 'as: {roles: ["member"], claims: {sub: "ann"}}'


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Gateway]:
    with issues(tmp_path, DECLARED, port=0) as found:
        yield found


def schema(opened: Gateway, name: str) -> tuple[str, str]:
    """(the schema as text, its ETag)"""
    response = opened.http.get("/graphql/schema", headers=bearer(name))
    assert response.status_code == 200
    return response.text, response.headers["etag"]


def test_a_schema_has_what_policies_name(opened: Gateway) -> None:
    texts = {name: schema(opened, name) for name in ("ann", "bob", "nobody", "root")}
    ann, bob, nobody, root = (texts[name][0] for name in ("ann", "bob", "nobody", "root"))
    assert len({etag for _, etag in texts.values()}) == 4
    for text in (ann, bob):
        assert "type Project " in text
        assert '"""What is to be done."""\ntype Ticket ' in text
    assert "points" in ann
    assert "points" not in bob
    assert "type Ticket " not in nobody
    assert "type User " in nobody
    for text in (ann, bob, nobody):
        assert "salary" not in text
        assert "Secret" not in text
        assert "issue/state" not in text
        assert "enum State" not in text
    for word in ("salary", "points", "enum State"):
        assert word in root
    headers = {**bearer("ann"), "If-None-Match": texts["ann"][1]}
    assert opened.http.get("/graphql/schema", headers=headers).status_code == 304
    # A policy for another attribute makes another schema; what is hidden makes none.
    opened.database.transact(
        "[{:db/ident :user/secret :db/valueType :db.type/long :db/cardinality :db.cardinality/one}]"
    )
    assert schema(opened, "ann") == texts["ann"]
    assert schema(opened, "root") != texts["root"]
    opened.database.transact(
        '[{:policy/name "salaries" :policy/roles [:member] :policy/ops [:read] :policy/on [:user/salary]}]'
    )
    assert "salary" in schema(opened, "ann")[0]
    assert schema(opened, "bob") == texts["bob"]


def test_introspection_warnings_and_suggestions(opened: Gateway) -> None:
    fields = '{ __type(name: "User") { fields { name } } }'
    names = {
        name: {each["name"] for each in data(opened, name, fields)["__type"]["fields"]} for name in ("ann", "root")
    }
    assert names["root"] - names["ann"] == {"salary"}
    assert data(opened, "ann", '{ __type(name: "State") { name } }')["__type"] is None
    assert data(opened, "root", '{ __type(name: "State") { name } }')["__type"] == {"name": "State"}
    warned = "{ schemaWarnings { message } }"
    assert data(opened, "ann", warned)["schemaWarnings"] == []
    assert "secret" in data(opened, "root", warned)["schemaWarnings"][0]["message"]
    for asked in ("{ users { salari } }", "{ users { salary } }"):
        [error] = opened.post(asked, bearer("ann")).json()["errors"]
        assert "salary" not in error["message"].replace('field "salary"', "").replace("field 'salary'", "")
    [error] = opened.post("{ users { salari } }", bearer("root")).json()["errors"]
    assert "salary" in error["message"]


def test_typed_fields(opened: Gateway) -> None:
    listed = "{ tickets { title project { name } } ticketsConnection { totalCount aggregate { count } } }"
    ann = data(opened, "ann", listed)
    assert ann["tickets"] == [
        {"title": "one", "project": {"name": "open"}},
        {"title": "two", "project": {"name": "inner"}},
    ]
    assert ann["ticketsConnection"] == {"totalCount": 2, "aggregate": {"count": 2}}
    # Bob does not see what anchors a ticket: of what he sees another attribute does.
    assert data(opened, "bob", "{ tickets { title } }")["tickets"] == [{"title": "three"}]
    assert data(opened, "ann", '{ ticket(title: "three") { title } }')["ticket"] is None
    assert data(opened, "ann", "{ projects { name members { name } } }")["projects"] == [
        {"name": "open", "members": [{"name": "ann"}]},
        {"name": "inner", "members": []},
    ]


def test_typed_fields_as_another(opened: Gateway) -> None:
    assert len(data(opened, "root", "{ tickets { title } }")["tickets"]) == 3
    mixed = f"{{ all: tickets {{ title }} hers: tickets({ANN}) {{ title }} }}"
    found = data(opened, "root", mixed)
    assert [len(found[name]) for name in ("all", "hers")] == [3, 2]
    assert data(opened, "root", f'{{ ticket(title: "three", {ANN}) {{ title }} }}')["ticket"] is None
    assert code(opened, "ann", f"{{ tickets({ANN}) {{ title }} }}") == "FORBIDDEN"
    [hidden] = [
        each["id"]
        for each in data(opened, "root", "{ tickets { id title } }")["tickets"]
        if each["title"] == "three"
    ]
    assert data(opened, "ann", f'{{ node(id: "{hidden}") {{ id }} }}')["node"] is None
    assert data(opened, "root", f'{{ nodes(ids: ["{hidden}"], {ANN}) {{ id }} }}')["nodes"] == [None]


def test_cursors_of_typed_fields(opened: Gateway) -> None:
    page = """query($after: String) {
        ticketsConnection(first: 1, after: $after) { nodes { title } pageInfo { endCursor } }
    }"""
    cursor = data(opened, "ann", page)["ticketsConnection"]["pageInfo"]["endCursor"]
    assert data(opened, "ann", page, after=cursor)["ticketsConnection"]["nodes"] == [{"title": "two"}]
    assert code(opened, "bob", page, after=cursor) == "ARG_INVALID"
    assert code(opened, "root", page, after=cursor) == "ARG_INVALID"


@pytest.mark.parametrize("over", [over_events, over_socket], ids=["events", "socket"])
def test_typed_live_fields_and_schema_changes(opened: Gateway, over: Any) -> None:
    live = "subscription { ticketsLive { kind added { title } removed } }"
    with ExitStack() as stack:
        address = stack.enter_context(served(opened.app, opened.settings))
        ann, bob = (stack.enter_context(over(address, name, live, {})) for name in ("ann", "bob"))
        changes = {
            name: stack.enter_context(over(address, name, "subscription { schemaChanged }", {}))
            for name in ("ann", "nobody", "root")
        }

        def told(events: Iterator[Any]) -> Any:
            found = (each["data"]["ticketsLive"] for each in events)
            return next(each for each in found if each["kind"] != "PROGRESS")

        assert [len(told(each)["added"]) for each in (ann, bob)] == [2, 1]
        opened.database.transact('[[:db/add [:project/name "secret"] :project/members [:user/name "ann"]]]')
        assert told(ann)["added"] == [{"title": "three"}]
        for each in changes.values():
            next(each)
        added = "{:db/ident :issue/more :db/valueType :db.type/long :db/cardinality :db.cardinality/one}"
        opened.database.transact(f"[{added}]")
        changed = next(changes["root"])["data"]["schemaChanged"]
        assert changed == 6
        opened.database.transact(
            '[{:policy/name "more" :policy/roles [:member] :policy/ops [:read] :policy/on [:issue/more]}]'
        )
        next(changes["ann"])
        assert "more" in schema(opened, "ann")[0]
        opened.database.transact(
            '[{:policy/name "all" :policy/roles [:*] :policy/ops [:read] :policy/on [:issue/more]}]'
        )
        # Of all these the first that Nobody hears of.
        next(changes["nobody"])
        assert "more" in schema(opened, "nobody")[0]
