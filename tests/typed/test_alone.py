"""Documents that are one typed field: random ones, and what of them GraphQL's executor has to answer.

`Tracker.ask` answers each document both ways, and compares the bytes.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from graphql import (
    GraphQLInputType,
    GraphQLSchema,
    get_named_type,
    get_nullable_type,
    is_enum_type,
    is_input_object_type,
    is_list_type,
    parse,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.values import Keyword
from adalog.executor.pool import Pool, PoolSettings
from adalog.schema.request.budget import assembled
from adalog.schema.request.context import Context
from adalog.schema.typed.alone import typed_field
from adalog.schema.typed.reading.writer import JsonWriter
from adalog.schema.typed.selection import Selected
from adalog.store.database import Database
from tests.property.model import examples
from tests.typed.generated import connections, data, declared, filters, orders, schemas, selections
from tests.typed.tracker import Tracker, tracker_texts

ODD: list[Any] = [None, 0, -1, "", "x", "a", True, 2, 1.5, [], ["a"], {}, {"eq": "a"}, {"id": {"eq": "1"}}, [{}]]


@dataclass
class DocumentWriter:
    """Writes a selection as a document, some values of which are variables."""

    schema: GraphQLSchema
    choose: st.DataObject
    types: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def document(self, root: Selected) -> str:
        query = self.schema.query_type
        assert query is not None
        text = self.field(root, query)
        declared = ", ".join(f"${name}: {of}" for name, of in self.types.items())
        return f"query {f'({declared})' if declared else ''} {{ {text} }}"

    def field(self, chosen: Selected, parent: Any) -> str:
        definition = parent.fields[chosen.field]
        given = ", ".join(
            f"{name}: {self.value(value, definition.args[name].type)}" for name, value in chosen.arguments.items()
        )
        inner = ""
        for each in chosen.fields.values():
            shown = " ".join(self.field(one, get_named_type(definition.type)) for one in each)
            inner = f"{{ {shown} }}"
        return f"{chosen.key}: {chosen.field}{f'({given})' if given else ''} {inner}"

    def value(self, value: Any, of: GraphQLInputType) -> str:
        value = _json(value)
        if self.choose.draw(st.integers(0, 3)) == 0:
            name = f"v{len(self.types)}"
            self.types[name] = str(of)
            self.values[name] = value
            return f"${name}"
        kind: Any = get_nullable_type(of)
        if is_list_type(kind) and isinstance(value, list):
            return f"[{', '.join(self.value(each, kind.of_type) for each in value)}]"
        if is_input_object_type(kind):
            # Of booleans the schema has fewer conditions than filters know.
            known = {name: each for name, each in value.items() if name in kind.fields}
            inner = (f"{name}: {self.value(each, kind.fields[name].type)}" for name, each in known.items())
            return f"{{{', '.join(inner)}}}"
        return str(value) if is_enum_type(kind) else json.dumps(value)


def _json(value: Any) -> Any:
    if isinstance(value, Keyword):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return 2.5
    return value


@given(st.data())
@settings(max_examples=examples(60), deadline=None)
def test_random_documents(choose: st.DataObject) -> None:
    schema = choose.draw(schemas())
    with Database.open(":memory:") as database:
        database.transact(declared(schema))
        database.transact(choose.draw(data(schema)))
        pool = Pool(database, PoolSettings(threads=1))
        try:
            tracker = Tracker.of(database, pool)
            for _ in range(3):
                root, kept = _root(choose, tracker), len(tracker.alone)
                writer = DocumentWriter(tracker.surface.schema, choose)
                document = writer.document(root)
                for _ in range(4):
                    tracker.ask(document, **writer.values)
                    for name in writer.values:
                        other = choose.draw(st.integers(0, 3))
                        if other == 0:
                            writer.values[name] = choose.draw(st.sampled_from(ODD))
                    left_out = (
                        choose.draw(st.sets(st.sampled_from(sorted(writer.values)))) if writer.values else set()
                    )
                    rest = {name: value for name, value in writer.values.items() if name not in left_out}
                    tracker.ask(document, **rest)
                if len(tracker.alone) > kept:
                    assert list(tracker.alone.values())[-1] is not None, document
        finally:
            pool.close()


def _root(choose: st.DataObject, tracker: Tracker) -> Selected:
    model = tracker.surface.model
    kind = choose.draw(st.sampled_from(list(model.types.values())))
    way = choose.draw(st.sampled_from(["list", "list", "one", "node", "nodes", "connection"]))
    ids = st.sampled_from(["1", "1001", "1002", "1003", "1010", "x"])
    if way == "one":
        names = st.sampled_from(["id", *kind.uniques])
        keys = choose.draw(st.lists(names, min_size=1, max_size=2, unique=True))
        arguments: dict[str, Any] = {
            key: choose.draw(ids) if key == "id" else choose.draw(st.integers(0, 3)) for key in keys
        }
        name = kind.singular
    elif way in ("node", "nodes"):
        listed = st.lists(ids, max_size=3)
        given: dict[str, Any] = {"id": choose.draw(ids)} if way == "node" else {"ids": choose.draw(listed)}
        shown = (Selected("id", "id"), Selected("t", "ident"))
        return Selected("it", way, given, "Node", {"Node": shown[:1]})
    else:
        arguments = {}
        if choose.draw(st.booleans()):
            arguments["where"] = choose.draw(filters(model, kind))
        if choose.draw(st.booleans()):
            arguments["orderBy"] = choose.draw(orders(model, kind))
        if way == "connection":
            return choose.draw(connections(model, kind, "it", f"{kind.plural}Connection", arguments, 1))
        arguments |= choose.draw(st.fixed_dictionaries({}, optional={"first": st.integers(-1, 3)}))
        arguments |= choose.draw(st.fixed_dictionaries({}, optional={"offset": st.integers(0, 2)}))
        name = kind.plural
    if choose.draw(st.integers(0, 4)) == 0:
        arguments["basis"] = {"t": choose.draw(st.integers(0, 4))}
    return Selected("it", name, arguments, kind.name, {kind.name: choose.draw(selections(model, kind))})


@pytest.fixture(scope="module")
def tracker() -> Iterator[Tracker]:
    with Tracker.opened(*tracker_texts()) as opened:
        yield opened


ALONE = [
    "{ issues { id } }",
    "query N { them: issues(first: 2) { n: number } }",
    "query ($n: Long) { issue(number: $n) { title } }",
    'query ($t: String = "x") { issues(where: {title: {eq: $t}}) { id } }',
    "{ issues { ...F } } fragment F on Issue { labels { name } }",
    "{ node(id: 1) { ... on Issue { title } __typename } }",
    "{ issues { id @include(if: true) title @skip(if: true) } }",
    "query ($i: [ID!]!) { nodes(ids: $i) { id } }",
]
NOT_ALONE = [
    "{ __typename }",
    "{ issues { id } __typename }",
    "{ a: issues { id } b: issues { id } }",
    "{ issues { id } issues { title } }",
    "{ ...F } fragment F on Query { issues { id } }",
    "{ ... { issues { id } } }",
    "{ issues @include(if: true) { id } }",
    "query ($x: Boolean!) { issues { id @include(if: $x) } }",
    "query ($x: Boolean!) { issues { ... @skip(if: $x) { id } } }",
    "{ schemaWarnings { code } }",
    '{ q(query: "[:find ?e :where [?e :issue/title]]") { rows } }',
    "mutation { deleteIssue(by: {number: 99}) { t } }",
    "query A { issues { id } } query B { issues { title } }",
]


@pytest.mark.parametrize("document", ALONE)
def test_one_typed_field_is_answered_alone(tracker: Tracker, document: str) -> None:
    assert typed_field(parse(document), tracker.surface.schema) is not None
    tracker.ask(document)
    tracker.ask(document, n=1, t="", i=["1"])


@pytest.mark.parametrize("document", NOT_ALONE)
def test_other_documents_are_left_to_the_executor(tracker: Tracker, document: str) -> None:
    assert typed_field(parse(document), tracker.surface.schema) is None


def test_a_few_entities_are_written_from_codes(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    document = """query ($n: Long, $t: String) { issues(where: {number: {lt: $n}, title: {ne: $t}}) {
      __typename id key title status risk budget urgent dueDate assignee { name nickname } labels { name } } }"""
    single = typed_field(parse(document), tracker.surface.schema)
    assert single is not None

    def body(**variables: Any) -> bytes:
        async def answer() -> bytes:
            given = single.given(variables)
            assert given is not None
            return b"".join(assembled(await single.answer(Context(tracker.services), given)))

        return asyncio.run(answer())

    expected = [tracker.ask(document, n=n, t="x") for n in range(5)]
    monkeypatch.setattr(JsonWriter, "text", lambda *_: pytest.fail("a map is written"))
    assert [json.loads(body(n=n, t="x")) for n in range(5)] == expected


def test_values_that_decide_how_a_query_is_written_are_told_apart(tracker: Tracker) -> None:
    document = """query ($w: IssueWhere! = {}, $f: Int, $n: Int, $o: [IssueOrderBy!], $s: String, $c: Boolean,
      $k: String) {
      issues(where: {and: [$w, {title: {contains: $s, ignoreCase: $c}}, {not: {title: {eq: $k}}}]},
             first: $f, orderBy: $o) { number labels(first: $n, where: {name: {ne: $k}}) { name } } }"""
    asked: list[dict[str, Any]] = [
        {"f": 1}, {"f": 2}, {"f": None}, {"f": True}, {"f": 1.0}, {"f": "1"}, {"n": 0}, {"n": 1}, {"n": -1},
        {"f": -1, "n": -1}, {"o": [{"number": "DESC"}]}, {"o": {"number": "DESC"}}, {"o": [{"title": "ASC"}]},
        {"w": {}}, {"w": {"number": {"gt": 2}}}, {"w": {"number": {"gt": 3}}}, {"w": {"no": 1}}, {"w": None},
        {"s": "LOGIN", "c": True}, {"s": "LOGIN", "c": False}, {"s": "LOGIN"}, {"s": None}, {"s": "", "c": None},
        {"k": "bug"}, {"k": "docs"}, {"k": None}, {"k": 7}, {"s": "o", "k": "docs"}, {"s": "i", "k": "docs"},
    ]  # fmt: skip
    answers = [tracker.ask(document, **each) for each in asked]
    assert [tracker.ask(document, **each) for each in asked] == answers
    assert len({json.dumps(each) for each in answers}) > 10


def test_variables_within_json_are_left_to_the_executor() -> None:
    declared = """[{:db/ident :thing/number :db/valueType :db.type/long :db/unique :db.unique/identity}
      {:db/ident :thing/pair :db/valueType :db.type/tuple :db/tupleTypes [:db.type/string :db.type/long]}]"""
    with Tracker.opened(
        declared, '[{:thing/number 1 :thing/pair ["a" 1]} {:thing/number 2 :thing/pair ["b" 2]}]'
    ) as opened:
        document = "query ($a: JSON) { things(where: {pair: {eq: %s}}) { number pair } }"
        for within in ("[$a, 1]", "[$a, $a]", "{a: $a}", "[[$a]]"):
            assert typed_field(parse(document % within), opened.surface.schema) is None
            opened.ask(document % within, a="a")
        whole = document % "$a"
        assert typed_field(parse(whole), opened.surface.schema) is not None
        for value in (["a", 1], ["b", 2], ["b", 1], [1], "a", {"#edn": "nil"}, None, [{"#edn": '"a"'}, 1]):
            opened.ask(whole, a=value)
        assert [each["pair"] for each in opened.data(whole, a=["b", 2])["things"]] == [["b", 2]]
