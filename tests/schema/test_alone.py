"""A document that is one read is answered byte for byte as GraphQL's executor would answer it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from adalog.executor.cache.settings import CacheSettings
from adalog.gateway.settings.config import Settings
from adalog.schema.documents.operations import Operations, PreparingExecutor
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway

MORE = """[{:db/ident :x/any :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
 {:db/ident :x/when :db/valueType :db.type/instant :db/cardinality :db.cardinality/one}
 {:db/ident :x/price :db/valueType :db.type/bigdec :db/cardinality :db.cardinality/one}
 {:db/ident :x/key :db/valueType :db.type/keyword :db/cardinality :db.cardinality/one}]"""
VALUES = """[{:person/name "Ünï \\"q\\" \\u2028" :x/when #inst "2024-05-01T12:00:00.000Z" :x/price 1.50M :x/key :a/b
 :x/any [1 2 9007199254740993] :x/double 2.5 :x/flag true :x/text "</script>\t"}]"""

NAMES = "[:find ?n :where [_ :person/name ?n]]"
OF = "[:find ?c ?cn :in $ ?n :where [?p :person/name ?n] [?p :person/child ?c] [?c :person/name ?cn]]"
ALL = '[:find ?a ?v :where [?e :person/name ?n] [?e ?a ?v] [(not= ?n "Ada")]]'
RULES = "[:find ?d :in $ % ?n :where [?p :person/name ?n] (d ?p ?d)]"
WHOLE = "rows value basisT columns { name type } pageInfo { hasNextPage endCursor hasPreviousPage startCursor }"
STATS = "stats { engine cache elapsedMs rows waitedMs lane }"
WARNED = "warnings { code message line column }"
RENAMED = "c: columns { n: name __typename }"
_Q = "query ($q: EDN!) { q(query: $q)"
_A = "query ($q: EDN!, $a: [JSON!]) { q(query: $q, args: $a)"
_E = "query ($q: EDN!, $e: [EDN!]) { q(query: $q, argsEdn: $e)"
_THEM = """query ($p: EDN!, $e: [EDN!]!, $x: Encoding, $b: BasisInput, $m: Int, $w: EDN) {
 them: pullMany(pattern: $p, eids: $e, encoding: $x, basis: $b, timeoutMs: $m, with: $w) }"""
_P = "query ($p: EDN!, $e: EDN!) { pull(pattern: $p, eid: $e) }"
_M = "query ($p: EDN!, $e: [EDN!]!) { pullMany(pattern: $p, eids: $e) }"
DEEP: Any = "x"
for _ in range(300):
    DEEP = [DEEP]

# fmt: off
DOCUMENTS: list[tuple[str, dict[str, Any]]] = [
    (_Q + " { rows } }", {"q": NAMES}),
    (_Q + f" {{ {WHOLE} {STATS} {WARNED} __typename }} }}", {"q": NAMES}),
    (f"query N($q: EDN!) {{ all: q(query: $q) {{ at: basisT r: rows v: value {RENAMED} w: {WARNED} }} }}",
     {"q": NAMES}),
    (_Q + " { pageInfo { __typename more: hasNextPage } stats { __typename } } }", {"q": NAMES}),
    (f'{{ q(query: "{NAMES}") {{ rows }} }}', {}),
    (f'query {{ q(query: """{NAMES}""", args: [], encoding: EDN) {{ rows value }} }}', {}),
    *((_Q + " { value rows basisT } }", {"q": q}) for q in (
        "[:find ?n . :where [_ :person/name ?n]]", "[:find [?n ...] :where [_ :person/name ?n]]",
        "[:find [?n ?p] :where [?p :person/name ?n]]", "[:find ?n :keys name :where [_ :person/name ?n]]",
        "[:find (pull ?p [*]) :where [?p :person/born]]", "[:find ?n . :where [_ :person/name ?n] [(= ?n 7)]]",
        "[:find (count ?n) (max ?n) :where [_ :person/name ?n]]", "[:find ?x :where [(/ 1 0) ?x]]",
        "[:find ?n :where [_ :person/name ?n] :order-by [[?n :desc]] :limit 2]", "[:find", "", "{}", "[:find ?x]",
        "[:find ?n :where [_ :persn/name ?n]]", "[:find ?n :where\n [?p :person/name ?n]\n [?q :person/born 7]]",
    )),
    *((f"query ($q: EDN!, $x: Encoding) {{ q(query: $q, encoding: $x) {{ {WHOLE} }} }}", {"q": ALL, "x": x})
      for x in ("PLAIN", "TAGGED", "EDN", None, "edn", 1, ["EDN"])),
    ("query ($q: EDN!, $x: Encoding = EDN) { q(query: $q, encoding: $x) { rows } }", {"q": ALL}),
    ("query ($q: EDN!, $x: Encoding = EDN) { q(query: $q, encoding: $x) { rows } }", {"q": ALL, "x": None}),
    ("query ($q: EDN!, $x: Encoding! = TAGGED) { q(query: $q, encoding: $x) { rows } }", {"q": ALL}),
    ("query ($q: EDN!, $x: Encoding! = TAGGED) { q(query: $q, encoding: $x) { rows } }", {"q": ALL, "x": None}),
    (f'query ($q: EDN = "{NAMES}") {{ q(query: $q) {{ rows }} }}', {}),
    (f'query ($q: EDN = "{NAMES}") {{ q(query: $q) {{ rows }} }}', {"q": None}),
    ("query ($q: EDN = 7) { q(query: $q) { rows } }", {}),
    (f'query ($a: [JSON!] = ["Ada"]) {{ q(query: "{OF}", args: $a) {{ rows }} }}', {}),
    (f'query ($a: [JSON!] = "Ada") {{ q(query: "{OF}", args: $a) {{ rows }} }}', {}),
    (f'query ($n: JSON!) {{ q(query: "{OF}", args: [$n]) {{ rows }} }}', {"n": "Ada"}),
    (f'{{ q(query: "{OF}", args: ["Ada"]) {{ rows }} }}', {}),
    (f'{{ q(query: "{OF}", args: "Ada") {{ rows }} }}', {}),
    (f'{{ q(query: "{OF}", args: [{{a: 1}}, 1.5, X, null]) {{ rows }} }}', {}),
    *((_A + f" {{ rows {WARNED} }} }}", {"q": OF, "a": a}) for a in (
        ["Ada"], ["nobody"], [], None, "Ada", [None], [7], [{"#edn": '"Ada"'}], [{"#kw": 7}], [DEEP], ["Ada", 1],
        [{"basis": {"t": 1}}], [["Ada"]], {"a": 1}, [True], [1.5],
    )),
    *((_E + " { rows } }", {"q": OF, "e": e})
      for e in (['"Ada"'], ["["], [7], '"Ada"', None, [None], ['"Ada"', "1"])),
    ("query ($q: EDN!, $a: [JSON!], $e: [EDN!]) { q(query: $q, args: $a, argsEdn: $e) { rows } }",
     {"q": OF, "a": ["Ada"], "e": ['"Ada"']}),
    (_A + " { rows } }", {"q": RULES, "a": ["[[(d ?p ?c) [?p :person/child ?c]]]", "Ada"]}),
    *((f"query ($q: EDN!, $f: Int, $after: String) {{ q(query: $q, first: $f, after: $after) {{ {WHOLE} }} }}",
       {"q": NAMES, **page}) for page in (
        {"f": 2}, {"f": 0}, {"f": -1}, {"f": 2**31}, {"f": 2**40}, {"f": "2"}, {"f": 2.0}, {"f": True}, {"f": None},
        {"f": 10_000_000}, {"after": "nonsense"}, {"after": ""}, {"f": 1, "after": None},
    )),
    *((f"query ($q: EDN!, $b: BasisInput) {{ q(query: $q, basis: $b, first: 9) {{ {WHOLE} {WARNED} }} }}",
       {"q": NAMES, "b": b}) for b in (
        None, {}, {"t": 2}, {"t": 99}, {"t": "2"}, {"t": 1.5}, {"asOf": "2050-01-01T00:00:00Z"}, {"asOf": "x"},
        {"since": 1}, {"sinceInstant": "2001-01-01"}, {"history": True}, {"history": None}, {"history": 1},
        {"t": 1, "asOf": "2050-01-01"}, {"no": 1}, [], {"t": None, "since": None}, {"t": -1},
    )),
    (f'{{ q(query: "{NAMES}", basis: {{t: 2}}) {{ rows }} }}', {}),
    *((f"query ($q: EDN!, $w: EDN, $v: JSON) {{ q(query: $q, with: $w, withArgs: $v) {{ rows basisT {WARNED} }} }}",
       {"q": NAMES, **w}) for w in (
        {"w": '[{:person/name "New"}]'}, {"w": "["}, {"w": "[{:person/name ?n}]", "v": {"n": "New"}},
        {"v": {"n": 1}}, {"w": '[{:persn/name "New"}]'},
    )),
    *(("query ($q: EDN!, $m: Int) { q(query: $q, timeoutMs: $m) { rows } }", {"q": NAMES, "m": m})
      for m in (1000, 0, -5, None, "1")),
    *(("query ($q: EDN!, $g: Engine) { q(query: $q, engine: $g) { rows } }", {"q": NAMES, "g": g})
      for g in ("AUTO", "LOCAL", "SPARK", None, "x")),
    ("query ($q: EDN!, $as: AsInput) { q(query: $q, as: $as) { rows } }",
     {"q": NAMES, "as": {"claims": {}, "roles": []}}),
    *((_Q + " { rows } }", variables)
      for variables in ({}, {"q": None}, {"q": 7}, {"q": [NAMES]}, {"q": NAMES, "z": 1})),
    (_Q + " { entityColumns rows } }", {"q": NAMES}),
    (_Q + " { arrow } }", {"q": NAMES}),
    (_Q + " { ...F } } fragment F on QueryResult { rows }", {"q": NAMES}),
    (_Q + " { ... on QueryResult { rows } } }", {"q": NAMES}),
    ("query ($q: EDN!, $no: Boolean = false) { q(query: $q) { rows @include(if: $no) basisT } }", {"q": NAMES}),
    ("query ($q: EDN!, $no: Boolean = false) { q(query: $q) @skip(if: $no) { rows } }", {"q": NAMES}),
    (_Q + " { rows rows columns { name } columns { type } } }", {"q": NAMES}),
    ("query ($q: EDN!) { a: q(query: $q) { rows } b: q(query: $q) { rows } }", {"q": NAMES}),
    ("query ($q: EDN!, $z: Int) { q(query: $q) { rows } }", {"q": NAMES}),
    ("query ($q: EDN!) { q(query: $q, no: 1) { rows } }", {"q": NAMES}),
    ("query ($q: String!) { q(query: $q) { rows } }", {"q": NAMES}),
    ("query A($q: EDN!) { q(query: $q) { rows } } query B { __typename }", {"q": NAMES}),
    *((_P, {"p": p, "e": e}) for p, e in (
        ("[*]", '[:person/name "Ada"]'), ("[:person/name {:person/child [:person/name]}]", '[:person/name "Ada"]'),
        ("[*]", '[:person/name "nobody"]'), ("[*]", "99999"), ("[*]", "["), ("[", "1"), ("[:persn/name]", "1"),
        ("[*]", ":person/name"), ("[*]", '"x"'), ("[*]", "-1"), ("[{:person/_child [:person/name]}]",
        '[:person/name "Byron"]'), ("[*]", ""), ("[*]", "[:x/any 1]"),
        ("[(:x/any :limit 2)]", '[:person/name "Ada"]'),
    )),
    *((_P, variables) for variables in ({}, {"p": "[*]"}, {"p": "[*]", "e": 7}, {"p": "[*]", "e": None})),
    ('{ pull(pattern: "[*]", eid: "[:person/name \\"Ada\\"]") }', {}),
    ('{ it: pull(pattern: "[:persn/name]", eid: "[:person/name \\"Ada\\"]") }', {}),
    *((_M, {"p": "[:person/name :x/any :x/when :x/price]", "e": e}) for e in (
        ['[:person/name "Ada"]', "99999", '[:person/name "nobody"]'], [], ["["], ["1", "["], "1", [1], [None],
        None,
    )),
    *((_THEM, {"p": "[*]", "e": ['[:person/name "Ada"]'], **more}) for more in (
        {"x": "EDN"}, {"x": "TAGGED"}, {"b": {"t": 1}}, {"b": {"t": 2}}, {"m": 0},
        {"w": "[[:db/add 7 :person/born 1]]"}, {"x": None, "b": None, "m": None, "w": None},
    )),
    ("{ __typename }", {}),
]
# fmt: on


@pytest.fixture(scope="module", params=[False, True], ids=["uncached", "cached"])
def opened(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    cache = CacheSettings() if request.param else None
    with gateway(None, SCHEMA, FAMILY, MORE, VALUES, cache=cache) as made:
        yield made


def answered(opened: Gateway, document: str, variables: dict[str, Any], **more: Any) -> tuple[int, str]:
    response = opened.http.post("/graphql", json={"query": document, "variables": variables, **more})
    text = re.sub(r'"(elapsedMs|waitedMs)":[0-9.e-]+', r'"\1":0', response.text)
    # Lookups in the cache wait for no place.
    return response.status_code, re.sub(
        r'"lane":(null|"LIGHT")', '"lane":0', re.sub("incident [0-9a-f]+", "", text)
    )


@pytest.mark.parametrize(("document", "variables"), DOCUMENTS)
def test_the_same_answer(
    opened: Gateway, document: str, variables: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(opened, document, variables)
    alone = answered(opened, document, variables)
    monkeypatch.setattr(Operations, "alone", lambda *_: None)
    assert answered(opened, document, variables) == alone


def test_the_same_page_after_a_cursor(opened: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    document = f"query ($q: EDN!, $c: String) {{ q(query: $q, first: 2, after: $c) {{ {WHOLE} }} }}"
    first = opened.data(document, q=NAMES)["q"]
    variables = {"q": NAMES, "c": first["pageInfo"]["endCursor"]}
    alone = answered(opened, document, variables)
    monkeypatch.setattr(Operations, "alone", lambda *_: None)
    assert opened.data(document, q=NAMES)["q"] == first
    assert answered(opened, document, variables) == alone


@pytest.mark.parametrize("name", ["One", "Two", None, ""])
def test_the_operation_that_is_named(opened: Gateway, name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    document = "query One($q: EDN!) { q(query: $q) { rows } }"
    alone = answered(opened, document, {"q": NAMES}, operationName=name)
    monkeypatch.setattr(Operations, "alone", lambda *_: None)
    assert answered(opened, document, {"q": NAMES}, operationName=name) == alone


@pytest.mark.parametrize("field", ["rows", "value", "value rows", "rows value", "basisT value"])
def test_an_answer_that_is_too_large(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = f"query ($q: EDN!) {{ it: q(query: $q) {{ basisT {field} }} }}"
    values = " ".join(f'{{:person/name "{number:01000}"}}' for number in range(60))
    with gateway(Settings(data=":memory:", result_bytes=40_000), SCHEMA, f"[{values}]") as opened:
        alone = answered(opened, document, {"q": NAMES})
        assert "LIMIT_EXCEEDED" in alone[1]
        monkeypatch.setattr(Operations, "alone", lambda *_: None)
        assert answered(opened, document, {"q": NAMES}) == alone


def test_nothing_of_graphql_runs(opened: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("GraphQL's executor")

    monkeypatch.setattr(PreparingExecutor, "build", refuse)
    assert opened.q(OF, "Ada")
    assert opened.data(_Q + f" {{ {WHOLE} {STATS} {WARNED} }} }}", q=NAMES)["q"]["rows"]
    assert opened.data(_P, p="[*]", e='[:person/name "Ada"]')["pull"]
    assert opened.data(_M, p="[*]", e=['[:person/name "Ada"]'])["pullMany"]
    assert opened.code(_Q + " { rows } }", q="[:find") == "EDN_SYNTAX"
