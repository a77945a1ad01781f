"""Requests made to hold the gateway up: each is answered in a sentence, and no turn of the event loop is long.

A turn's length is its work (`watched_turns`), not time. Before there were bounds, it was millions of calls.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from graphql import get_introspection_query

from adalog.gateway.settings.config import Settings
from tests.gateway.process.watchdog import watched_turns
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway

# Calls that a turn may make: about what 20 ms have room for.
MOST_CALLS = 40_000
ASK = "query($query: EDN!, $args: [JSON!], $edn: [EDN!]) { q(query: $query, args: $args, argsEdn: $edn) { value } }"
ID = "[:find ?x . :in $ ?x]"
COUNT = "[:find (count ?x) . :in $ [?x ...]]"
LONG = "x" * 300_000


def document(text: str, **variables: Any) -> dict[str, Any]:
    return {"query": text, "variables": variables}


def asked(query: str, *args: Any, **more: Any) -> dict[str, Any]:
    return document(ASK, query=query, args=list(args) if args else None, **more)


def doubling() -> str:
    pairs = " ".join(f"fragment F{i} on Query {{...F{i + 1} ...F{i + 1}}}" for i in range(28))
    return f"{{...F0}} {pairs} fragment F28 on Query {{database {{basisT}}}}"


ENTRIES = "{name type {ofType {ofType {name fields {name}}}} args {name type {name ofType {name}}}}"
HEAVY = {
    "fields compared in pairs": (document("{" + "database{basisT}" * 450 + "}"), "LIMIT_EXCEEDED"),
    "fields within fields in pairs": (
        document("{" + "datoms(index:EAVT){datoms{e}}" * 300 + "}"),
        "LIMIT_EXCEEDED",
    ),
    "the same through fragments": (
        document("{" + "...F " * 300 + "} fragment F on Query {database{basisT}}"),
        "LIMIT_EXCEEDED",
    ),
    "fragments that double": (document(doubling()), "LIMIT_EXCEEDED"),
    "a fragment in itself": (document("{...F} fragment F on Query {...F database{basisT}}"), "QUERY_INVALID"),
    "inline fragments": (document("{" + "...{" * 900 + "__typename" + "}" * 901), "LIMIT_EXCEEDED"),
    "directives": (document("{database{basisT " + "@skip(if:false) " * 600 + "}}"), "LIMIT_EXCEEDED"),
    "variables nobody uses": (
        document("query(" + " ".join(f"$v{i}:Int" for i in range(900)) + "){database{basisT}}"),
        "ARG_INVALID",
    ),
    "wrong fields": (document("{" + " ".join(f"x{i}" for i in range(900)) + "}"), "QUERY_INVALID"),
    "introspection often": (
        document("{" + " ".join(f"a{i}:__schema{{types{{fields{ENTRIES}}}}}" for i in range(29)) + "}"),
        "LIMIT_EXCEEDED",
    ),
    "introspection within itself": (
        document("{__schema{types{fields{type{fields{type{fields{type{fields{name}}}}}}}}}}"),
        "LIMIT_EXCEEDED",
    ),
    "introspection": (document(get_introspection_query()), None),
    "a long name": (document("{" + LONG + ": database{basisT}}"), "LIMIT_EXCEEDED"),
    "a long string": (document('{q(query:"' + " " * 1_500_000 + '"){value}}'), "LIMIT_EXCEEDED"),
    "a long document": (document("{database{basisT}}" + " " * 3_000_000), "LIMIT_EXCEEDED"),
    "digits in the document": (
        document("{datoms(index:EAVT,first:" + "9" * 100_000 + "){datoms{e}}}"),
        "ARG_INVALID",
    ),
    "digits within a literal": (
        document('{q(query:"' + ID + '",args:[[' + "9" * 10_000 + "]]){value}}"),
        "ARG_INVALID",
    ),
    "arguments by the hundred thousand": (asked(ID, edn=[str(i) for i in range(100_000)]), "LIMIT_EXCEEDED"),
    "components likewise": (
        document("query($c:[EDN!]){datoms(index:EAVT,components:$c){pageInfo{hasNextPage}}}", c=["1"] * 100_000),
        "ARG_INVALID",
    ),
    "entities likewise": (
        document(
            'query($e:[EDN!]!){pullMany(pattern:"[:person/name]",eids:$e)}', e=[str(i) for i in range(60_000)]
        ),
        None,
    ),
    "a long list of EDN": (asked(COUNT, edn=["[" + " ".join(map(str, range(60_000))) + "]"]), None),
    "a long list of JSON": (asked(COUNT, list(range(100_000))), None),
    "nested lists": (asked(ID, [[i, [i]] for i in range(20_000)]), None),
    "tags within tags": (asked(ID, [{"#set": [{"#list": [i]}]} for i in range(10_000)]), None),
    "a page of it": (
        document(
            "query($q:EDN!,$a:[JSON!]){q(query:$q,args:$a,first:5){value pageInfo{endCursor}}}",
            q=COUNT,
            a=[list(range(50_000))],
        ),
        None,
    ),
    "a million small values": (asked(ID, [{} for _ in range(600_000)]), "LIMIT_EXCEEDED"),
    "a long cursor": (
        document("query($c:String){datoms(index:EAVT,after:$c){pageInfo{hasNextPage}}}", c="A" * 5_000_000),
        "ARG_INVALID",
    ),
    "many columns": (asked("[:find " + "?x " * 3_000 + ":in $ ?x]", 1), None),
}
# Retractions of what nobody declared, and attributes declared by their use that look misspelt.
UNKNOWN = "[" + " ".join(f"[:db/retract 1 :u{i:05}/n 1]" for i in range(2_000)) + "]"
MISSPELT = "[" + " ".join(f"[:db/add 1 :attribut{i}/n{i:05} 1]" for i in range(2_000)) + "]"
ASKING = (
    "mutation($t: EDN!) { a: transact(tx: $t) { warnings { message } } b: transact(tx: $t) { warnings { code } } }"
)


def within(fields: str, count: int = 1, **variables: Any) -> dict[str, Any]:
    """A document with so many aliases of fields that are given `$w`."""
    return document(
        "query($w: EDN) {" + " ".join(f"f{n}: {fields}" for n in range(count)) + "}", w=UNKNOWN, **variables
    )


SUSPICIOUS = {
    "with, and warnings": within(
        'q(query: "[:find ?n . :where [?e :n/v ?n]]", with: $w) { value warnings { message } }'
    ),
    "with, several times": within('q(query: "[:find ?n . :where [?e :n/v ?n]]", with: $w) { value }', 4),
    "explain": within('explain(query: "[:find ?n . :where [?e :n/v ?n]]", with: $w) { warnings { message } }'),
    "datoms": within('datoms(index: AEVT, components: [":attribute/n00001"], first: 1, with: $w) { datoms { e } }'),
    "pull": within('pull(pattern: "[:n/v]", eid: "1", with: $w)'),
    "pullMany": within('pullMany(pattern: "[:n/v]", eids: ["1" "2"], with: $w)'),
    "with, and new names": document(
        'query($w: EDN) { q(query: "[:find ?n . :where [?e :n/v ?n]]", with: $w) { warnings { message } } }',
        w=MISSPELT,
    ),
    "transact": document("mutation($t: EDN!) { transact(tx: $t) { t warnings { message } } }", t=UNKNOWN),
    "transact, twice": document(ASKING, t=UNKNOWN),
    "a query of unknown names": document(
        "query($q: EDN!) { q(query: $q) { value warnings { message } } }",
        q="[:find ?e . :where " + " ".join(f"[?e :attribute/n{i:05}x ?v{i}]" for i in range(300)) + "]",
    ),
    "unknown names as arguments": document(
        "query($q: EDN!, $args: [JSON!]) { q(query: $q, args: $args) { value warnings { message } } }",
        q="[:find ?e . :in $ [[?a ?v]] :where [?e ?a ?v]]",
        args=[[[f":attribute/n{i:05}x", i] for i in range(900)]],
    ),
}


@pytest.fixture(scope="module")
def many_attributes() -> Iterator[Gateway]:
    """A gateway whose database has 5,000 attributes."""
    names = " ".join(f"[:db/add 1 :attribute/n{number:05} 1]" for number in range(5_000))
    with gateway(Settings(data=":memory:"), f"[{names}]") as opened:
        yield opened


@pytest.mark.parametrize("name", SUSPICIOUS)
def test_what_is_suspicious_is_not_looked_for_on_the_loop(many_attributes: Gateway, name: str) -> None:
    # Twice, since the second time much is known and a question is made on the spot.
    for _ in range(2):
        with watched_turns() as turns:
            answer = sent(many_attributes, SUSPICIOUS[name])
        assert "errors" not in answer, answer["errors"]
        assert turns.calls < MOST_CALLS, turns
    for each in answer["data"].values():
        warnings = each.get("warnings", ()) if isinstance(each, dict) else ()
        # Of `with`, and of the query.
        assert len(warnings) <= 2 * 21


BEFORE = {
    "q": document('{ q(query: "[:find ?n . :where [?e :db/ident ?n]]", basis: {t: 1}) { basisT } }'),
    "q as of an instant": document(
        '{ q(query: "[:find ?n . :where [?e :db/ident ?n]]", basis: {asOf: "2001-01-01"}) { basisT } }'
    ),
    "explain": document('{ explain(query: "[:find ?n . :where [?e :db/ident ?n]]", basis: {t: 1}) { text } }'),
    "datoms": document("{ datoms(index: EAVT, first: 1, basis: {t: 1}) { datoms { e } } }"),
    "pull": document('{ pull(pattern: "[:db/ident]", eid: ":db/ident", basis: {t: 1}) }'),
    "pullMany": document('{ pullMany(pattern: "[:db/ident]", eids: [":db/ident"], basis: {t: 1}) }'),
    "with": document(
        '{ pull(pattern: "[:db/doc]", eid: "1", basis: {t: 1}, with: "[[:db/add 1 :db/doc \\"x\\"]]") }'
    ),
    "as an argument": asked("[:find ?n . :in $ $old :where [$old ?e :db/ident ?n]]", {"basis": {"t": 1}}),
}


@pytest.mark.parametrize("name", BEFORE)
def test_the_schema_of_long_ago_is_not_read_on_the_loop(many_attributes: Gateway, name: str) -> None:
    many_attributes.database.transact("[[:db/add 1 :attribute/n00000 1]]")
    # Once so that the text is known; then of a moment that nobody has asked for.
    sent(many_attributes, BEFORE[name])
    many_attributes.database._past.clear()
    with watched_turns() as turns:
        answer = sent(many_attributes, BEFORE[name])
    assert "errors" not in answer, answer["errors"]
    assert turns.calls < MOST_CALLS, turns


def test_metrics_are_not_counted_on_the_loop(many_attributes: Gateway) -> None:
    with watched_turns() as turns:
        text = many_attributes.http.get("/metrics").text
    assert "adalog_store_memory_bytes" in text
    assert turns.calls < MOST_CALLS, turns


def test_lines_of_a_long_document_are_not_counted_for_each_error(
    family: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One by one they are found in Python, which takes a hundred milliseconds for each error."""
    looks: list[int] = []
    plain = re.compile(r"\r\n|[\n\r]")

    class Counted:
        def finditer(self, text: str) -> Iterator[re.Match[str]]:
            looks.append(threading.get_ident())
            return plain.finditer(text)

    monkeypatch.setattr("graphql.language.source._re_newline", Counted())
    monkeypatch.setattr("graphql.language.location._re_newline", Counted())
    lines = "\n" * 100_000
    fields = " ".join(f'{lines if n == 19 else ""} f{n}: q(query: "[") {{ value }}' for n in range(20))
    twice = 'f0: q(query: "[") { basisT }'
    errors = sent(family, document(f"{{ {fields} {twice} }}"))["errors"]
    assert threading.get_ident() not in looks
    assert {(each["path"][0], each["locations"][0]["line"]) for each in errors} <= {
        *((f"f{n}", 1) for n in range(19)),
        ("f19", 100_001),
    }


def test_the_time_that_a_request_has_is_that_of_its_warnings_too(many_attributes: Gateway) -> None:
    text = 'query($w: EDN) { q(query: "[:find ?n . :where [?e :n/v ?n]]", with: $w, timeoutMs: 1) { value } }'
    [error] = sent(many_attributes, document(text, w=UNKNOWN))["errors"]
    assert error["extensions"]["code"] == "TIMEOUT"


@pytest.fixture(scope="module")
def family() -> Iterator[Gateway]:
    with gateway(Settings(data=":memory:"), SCHEMA, FAMILY) as opened:
        yield opened


def sent(to: Gateway, body: Any) -> dict[str, Any]:
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    response = to.http.post("/graphql", content=content, headers={"Content-Type": "application/json"})
    answer: dict[str, Any] = response.json()
    return answer


@pytest.mark.parametrize("name", HEAVY)
def test_no_turn_of_the_loop_is_long(family: Gateway, name: str) -> None:
    body, code = HEAVY[name]
    with watched_turns() as turns:
        answer = sent(family, body)
    assert turns.calls < MOST_CALLS, turns
    assert [error["extensions"]["code"] for error in answer.get("errors", ())][:1] == ([code] if code else [])
    assert all(len(error["message"]) <= 400 for error in answer.get("errors", ()))


NUMBERS = {
    "digits": [{tag: "9" * 300_000} for tag in ("#bigint", "#long", "#dec")],
    "an exponent": [{"#dec": text} for text in ("1e300000000", "1E-300000000", "1e4001", "1e99999999999999999999")],
    "no number": [{"#dec": text} for text in ("NaN", "sNaN", "Infinity", "-Infinity", "x", [], True)],
    "a float": [{"#float": number} for number in (1e39, -1e39, "1e300")],
    "no text": [{tag: [LONG]} for tag in ("#kw", "#sym", "#inst", "#uuid", "#bytes", "#char", "#uri")],
    "text": [{tag: LONG} for tag in ("#uuid", "#inst", "#long", "#double", "#set", "#map", "#nope", "#" + LONG)],
    "pairs": [{"#map": items} for items in ([1], ["ab"], [[1]], [[1, 2, 3]], {"a": 1}, [[1, 2], [1, 3]])],
    "characters": [{"#char": text} for text in ("", "ab")],
    "members": [{"#set": [1, 1]}, {"#set": [{"#kw": "a"}, {"#kw": "a"}]}],
}


@pytest.mark.parametrize("given", [each for group in NUMBERS.values() for each in group], ids=lambda x: str(x)[:40])
def test_tagged_json_is_read_as_strictly_as_edn(family: Gateway, given: Any) -> None:
    [error] = sent(family, asked(ID, given))["errors"]
    assert error["extensions"]["code"] in ("ARG_INVALID", "LIMIT_EXCEEDED")
    assert len(error["message"]) <= 400


def test_tagged_json_may_be_as_deep_as_edn_and_no_deeper(family: Gateway) -> None:
    def nested(levels: int, step: Any) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = step(value)
        return value

    for step in (lambda x: [x], lambda x: {"#list": [x]}, lambda x: {"a": x}, lambda x: {"#map": [[1, x]]}):
        assert "errors" not in sent(family, asked(ID, nested(64, step)))
        [error] = sent(family, asked(ID, nested(65, step)))["errors"]
        assert error["extensions"]["code"] == "LIMIT_EXCEEDED"
    deep = b'{"query":"' + ASK.encode() + b'","variables":{"query":"' + ID.encode() + b'","args":['
    for levels in (200, 900):
        [error] = sent(family, deep + b"[" * levels + b"]" * levels + b"]}}")["errors"]
        assert error["extensions"]["code"] == "LIMIT_EXCEEDED"


@pytest.mark.parametrize(
    "moment", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00", '#inst "9999-12-31T23:59:59-05:00"']
)
def test_moments_at_the_end_of_the_calendar(family: Gateway, moment: str) -> None:
    text = "query($b: BasisInput) { datoms(index: EAVT, basis: $b) { pageInfo { hasNextPage } } }"
    [error] = sent(family, document(text, b={"asOf": moment}))["errors"]
    assert error["extensions"]["code"] in ("ARG_INVALID", "EDN_SYNTAX")
    [error] = sent(family, asked("[:find ?e :in $ $b :where [$b ?e :person/name]]", {"basis": {"asOf": moment}}))[
        "errors"
    ]
    assert error["extensions"]["code"] in ("ARG_INVALID", "EDN_SYNTAX")


ECHOES = {
    "an enum's value": document("query($i:Index!){datoms(index:$i){datoms{e}}}", i=LONG),
    "an operation's name": {"query": "{database{basisT}}", "operationName": LONG},
    "a rule": asked(f"[:find ?e :where ({LONG} ?e)]"),
    "a query": asked(LONG),
    "a function": asked(f"[:find ?e :where [({LONG} 1) ?e]]"),
    "an EDN token": asked("[:find ?e :where [?e :a #" + LONG + " 1]]"),
    "an argument": asked("[:find ?x :in $ [?x ...]]", LONG),
    "an EDN argument": asked(ID, edn=["[" + LONG]),
    "a tag": asked(ID, {"#" + LONG: 1}),
    "a tag's content": asked(ID, {"#uuid": LONG}),
    "a basis": asked("[:find ?e :in $ $b :where [$b ?e :person/name]]", {"basis": {"asOf": LONG}}),
    "a basis' key": asked("[:find ?e :in $ $b :where [$b ?e :person/name]]", {"basis": {LONG: 1}}),
    "an instant": document("query($b:BasisInput){datoms(index:EAVT,basis:$b){datoms{e}}}", b={"asOf": LONG}),
    "a Long": document("query($b:BasisInput){datoms(index:EAVT,basis:$b){datoms{e}}}", b={"t": LONG}),
    "a component": document("query($c:[EDN!]){datoms(index:AEVT,components:$c){datoms{e}}}", c=[":" + LONG]),
    "a component that is none": document(
        "query($c:[EDN!]){datoms(index:AEVT,components:$c){datoms{e}}}", c=[f'"{LONG}"']
    ),
    "a pattern": document('query($p:EDN!){pull(pattern:$p,eid:"1")}', p="[" + LONG + "]"),
    "an entity": document('query($e:EDN!){pull(pattern:"[*]",eid:$e)}', e=f'[:person/born "{LONG}"]'),
    "a transaction": document("mutation($t:EDN!){transact(tx:$t){t}}", t=f'[[:db/add 1 :person/born "{LONG}"]]'),
    "a transaction's function": document("mutation($t:EDN!){transact(tx:$t){t}}", t=f"[[:{LONG} 1]]"),
    "a field": document("{" + "a" * 190 + "}"),
    "a type": document("query($x:" + LONG + "){database{basisT}}"),
    "a variable": document("query{q(query:$" + LONG + "){value}}"),
    "a directive": document("{database @" + LONG + " {basisT}}"),
    "a string for an enum": document('{datoms(index:"' + LONG + '"){datoms{e}}}'),
    "a number": document('{datoms(index:EAVT,first:"' + LONG + '"){datoms{e}}}'),
}


@pytest.mark.parametrize("name", ECHOES)
def test_messages_echo_no_more_than_a_line(family: Gateway, name: str) -> None:
    answer = sent(family, ECHOES[name])
    assert answer["errors"]
    for error in answer["errors"]:
        assert error["extensions"]["code"] != "INTERNAL"
        assert "x" * 100 not in error["message"]
        assert len(error["message"]) <= 400


@pytest.mark.parametrize(
    "header", [{"Accept": LONG[:60_000]}, {"Content-Type": LONG[:60_000]}, {"Host": LONG[:60_000]}]
)
def test_nor_do_refusals_of_headers(family: Gateway, header: dict[str, str]) -> None:
    response = family.http.post("/graphql", content=b"{}", headers={"Content-Type": "application/json", **header})
    assert response.status_code >= 400
    assert len(response.content) < 600


def test_a_response_has_one_budget_for_all_its_fields() -> None:
    numbers = "[" + " ".join(f"[:db/add {i} :n/value {i}]" for i in range(1, 1001)) + "]"
    find = '"[:find ?e ?v :where [?e :n/value ?v]]"'
    settings = Settings(data=":memory:", result_bytes=50_000)
    with gateway(settings, numbers) as small:
        for field in (f"q(query: {find}) {{ rows }}", "datoms(index: EAVT) { datoms { e a v t added } }"):
            one = sent(small, document("{" + field + "}"))
            few = sent(small, document("{" + " ".join(f"a{i}: {field}" for i in range(8)) + "}"))
            assert "errors" in few, field
            assert {error["extensions"]["code"] for error in few["errors"]} == {"LIMIT_EXCEEDED"}
            assert "ADALOG_RESULT_BYTES" in few["errors"][0]["message"]
            assert "errors" not in one or "datoms" in field
        log = sent(small, document("{ transactions { t datoms { e a v t added } } }"))
        assert log["errors"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"
