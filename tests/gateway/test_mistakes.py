"""Mistakes of newcomers over GraphQL and HTTP: the code, the place, and what the message says to write."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from adalog.executor.pool import Pool
from adalog.gateway.settings import origins
from adalog.store.database import Database
from tests.gateway.support import Gateway, gateway

SCHEMA = """
[{:db/ident :issue/title :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :issue/id :db/valueType :db.type/long
  :db/cardinality :db.cardinality/one :db/unique :db.unique/identity}
 {:db/ident :issue/priority :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :issue/status :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
 {:db/ident :issue/kind :db/valueType :db.type/keyword :db/cardinality :db.cardinality/one}
 {:db/ident :issue/created :db/valueType :db.type/instant :db/cardinality :db.cardinality/one}
 {:db/ident :issue/done :db/valueType :db.type/boolean :db/cardinality :db.cardinality/one}
 {:db/ident :issue/open} {:db/ident :issue/closed}]
"""
DATA = '[{:issue/title "First" :issue/id 1 :issue/priority 3 :issue/status :issue/open :issue/kind :bug}]'
ASK = "query($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args) { rows warnings { message } } }"
TRANSACT = "mutation($tx: EDN!) { transact(tx: $tx) { t } }"
MARK = "‸"


@pytest.fixture(scope="module")
def issues() -> Iterator[Gateway]:
    with gateway(None, SCHEMA, DATA) as opened:
        yield opened


@pytest.fixture(scope="module")
def strict() -> Iterator[Gateway]:
    with Database.open(":memory:", schema="strict") as database:
        database.transact(SCHEMA)
        pool = Pool(database)
        opened = Gateway(database, pool)
        with opened.app.state.hub:
            yield opened
        opened.http.close()
        pool.close()


def refusal(asked: Gateway, document: str, **variables: Any) -> tuple[str, str, tuple[int | None, int | None]]:
    """(code, message, place) of the first error."""
    error = asked.post(document, **variables).json()["errors"][0]
    extensions = error["extensions"]
    return extensions["code"], error["message"], (extensions.get("line"), extensions.get("column"))


def check(found: tuple[str, str, tuple[int | None, int | None]], code: str, marked: str, says: str) -> None:
    assert found[0] == code, found
    assert says in found[1], found
    if MARK in marked:
        assert found[2] == (1, marked.index(MARK) + 1), found


DOCUMENTS = [
    ("ARG_INVALID", "query($query: EDN!) { q(query: ‸$quer) { rows } }", "did you mean $query?"),
    ("ARG_INVALID", "query(‸$query: String!) { q(query: $query) { rows } }", "declare $query: EDN!"),
    ("ARG_INVALID", 'query(‸$a: [String]) { q(query: "[]", args: $a) { rows } }', "declare $a: [JSON!]"),
    ("ARG_INVALID", '{ q(query: "[]", basis: {t: ‸"abc"}) { rows } }', "got 'abc' (argument basis.t of q)"),
    ("ARG_INVALID", '{ q(query: "[]", basis: {asOf: ‸2}) { rows } }', "a transaction's number is t: {t: 2}"),
    ("ARG_INVALID", '{ q(query: "[]", basis: {asOf: {t: 2}}) { rows } }', "a transaction's number is t: {t: 2}"),
    ("ARG_INVALID", '{ q(query: "[]", basis: {asOf: "2"}) { rows } }', "a transaction's number is t: {t: 2}"),
    ("ARG_INVALID", '{ q(query: "[]", basis: ‸2) { rows } }', "write {t: 2}"),
    ("ARG_INVALID", '{ q(query: "[]", basis: {‸as_of: 2}) { rows } }', "Did you mean 'asOf'?"),
    ("QUERY_INVALID", '{ q(query: "[]", ‸asOf: 2) { rows } }', "a past state is basis: {t: 2}"),
    ("QUERY_INVALID", '{ q(query: "[]", ‸variables: []) { rows } }', "it takes query, args, argsEdn, basis"),
    ("QUERY_INVALID", '{ ‸query(q: "[]") { rows } }', "Query has q,"),
    ("QUERY_INVALID", '{ ‸transact(tx: "[]") { t } }', "it is a field of Mutation: mutation { transact("),
    ("QUERY_INVALID", '{ ‸live(query: "[]") { t } }', "it is a field of Subscription: subscription { live("),
    ("QUERY_INVALID", 'mutation { transact(tx: "[]") { ‸basisT } }', "TxReport has t, basisBefore"),
    ("ARG_INVALID", '{ pull(pattern: "[*]", eid: ‸1) }', 'EDN is text in a string, such as "1"'),
    ("QUERY_INVALID", "{ q(query: [‸:find ?x]) { rows } }", "EDN is a string in GraphQL"),
    ("QUERY_INVALID", "‸[:find ?t :where [?e :issue/title ?t]]", "best sent as a variable: query($query: EDN!)"),
    ("QUERY_INVALID", '{ q(query: "[:find ?e :where [?e :a "b‸"]]") { rows } }', "EDN is a string in GraphQL"),
    ("QUERY_INVALID", "‸SELECT * FROM issue", "this is SQL; a query is EDN Datalog"),
    ("QUERY_INVALID", '{ q(query: "[:find ?e :where [?e :a]]") { rows }‸', "a closing bracket or quote is missing"),
]


@pytest.mark.parametrize(("code", "marked", "says"), DOCUMENTS, ids=[case[1][:60] for case in DOCUMENTS])
def test_a_mistake_in_a_document(issues: Gateway, code: str, marked: str, says: str) -> None:
    check(refusal(issues, marked.replace(MARK, "")), code, marked, says)


def test_mistakes_in_variables(issues: Gateway) -> None:
    document = "query($query: EDN!, $basis: BasisInput) { q(query: $query, basis: $basis) { rows } }"
    assert "`variables` has 'quer' in its place" in refusal(issues, document, quer="[]")[1]
    assert '"variables": {"query": …}' in refusal(issues, document)[1]
    assert "a transaction's number is t: {t: 2}" in refusal(issues, document, query="[]", basis={"asOf": 2})[1]
    assert (
        "Variable '$basis' has invalid value at .t: Long is"
        in refusal(issues, document, query="[]", basis={"t": "abc"})[1]
    )


TRANSACTIONS = [
    (
        "TX_INVALID",
        '[{:issue/status ‸":issue/open" :issue/id 1}]',
        "did you mean the ident :issue/open, without quotes?",
    ),
    ("TX_INVALID", '[{:issue/status ‸"issue/open" :issue/id 1}]', "did you mean the ident :issue/open"),
    ("TX_INVALID", '[{:issue/status ‸"open" :issue/id 1}]', "did you mean the ident :issue/open"),
    ("TX_INVALID", "[{:issue/status ‸:issue/opne :issue/id 1}]", "(did you mean :issue/open?)"),
    ("TX_INVALID", "[{:issue/status ‸[:issue/open] :issue/id 1}]", "or a lookup ref: :issue/open"),
    ("TX_INVALID", '[{:issue/kind ‸":bug" :issue/id 1}]', "did you mean :bug?"),
    ("TX_INVALID", '[{:issue/kind ‸"bug" :issue/id 1}]', "did you mean :bug?"),
    ("TX_INVALID", '[{‸issue/title "x"}]', "write :issue/title"),
    ("TX_INVALID", '[{‸"issue/title" "x"}]', "write :issue/title"),
    ("TX_INVALID", '[[:db/add 1 ‸issue/title "x"]]', "write :issue/title"),
    ("EDN_SYNTAX", '{"issue/title"‸: "x"}', "after a key it is JSON"),
    ("TX_INVALID", '[‸:db/add 1 :issue/title "x"]', "a transaction is a vector of such forms: [[:db/add …] …]"),
    ("TX_INVALID", '[‸[1 :issue/title "x"]]', 'write [:db/add 1 :issue/title "x"]'),
    ("TX_INVALID", '[[‸:db/update 1 :issue/title "x"]]', "write [:db/add 1"),
    ("TX_INVALID", "[[‸:db/delete 1]]", "write [:db/retractEntity 1]"),
    ("TX_INVALID", "[[‸:db.fn/call :f 1]]", "a function is called by its name: [:my/function 1]"),
    ("TX_INVALID", '[{:db/id ‸?e :issue/title "x"}]', "?e has no value; give it one in args"),
    ("TX_INVALID", "[{:issue/title ‸?title}]", "it has no value; give it one in args"),
    ("TX_INVALID", "[{:issue/new ‸?title}]", "?title has no value; give it one in args"),
    ("TX_INVALID", "[{:issue/new ‸[?a ?b]}]", "declare :issue/new with :db/valueType :db.type/symbol"),
    ("TX_INVALID", '[{:db/id ‸{:issue/id 1} :issue/title "x"}]', "a lookup ref: [:issue/id 1]"),
    ("TX_INVALID", '[{:db/id ‸[issue/id 1] :issue/title "x"}]', "a lookup ref: [:issue/id 1]"),
    ("TX_INVALID", '[[:db/add ‸["issue/id" 1] :issue/title "x"]]', "a lookup ref: [:issue/id 1]"),
    ("TX_INVALID", '[[‸:issue/id 1] :issue/title "x"]', ":issue/id is an attribute, and no operation"),
    ("TX_INVALID", '[[‸:issue/title "x"]]', '[:db/add entity :issue/title "x"] or {:issue/title "x"}'),
    (
        "TX_INVALID",
        "[[‸:issue/open 1]]",
        "as an attribute, write [:db/add entity :issue/open 1] or {:issue/open 1}",
    ),
    (
        "CAS_FAILED",
        "[‸[:db/cas [:issue/id 1] :issue/status :issue/closed :issue/open]]",
        "is :issue/open, not :issue/closed",
    ),
    (
        "TX_INVALID",
        '[[:db/add "datomic.tx" ‸:db/principal "eve"]]',
        "a server that authenticates its clients writes",
    ),
    ("TX_INVALID", "[[:db/retractEntity ‸[issue/id 1]]]", "a lookup ref: [:issue/id 1]"),
    ("EDN_SYNTAX", "[{:issue/title ‸'x'}]", 'in double quotes, as in "x"'),
    ("TX_INVALID", '[{:issue/priority ‸"3"}]', "did you mean 3?"),
    ("TX_INVALID", "[{:issue/title ‸5}]", 'did you mean "5"?'),
    ("TX_INVALID", '[{:issue/title ‸["a" "b"]}]', "several values need :db.cardinality/many"),
    ("TX_INVALID", '[{:issue/done ‸"true"}]', "did you mean true?"),
    ("TX_INVALID", "[{:issue/done ‸None}]", "None is nil in EDN, and no value"),
    ("TX_INVALID", '[{:issue/created ‸"2024-05-01"}]', 'did you mean #inst "2024-05-01T'),
    ("TX_INVALID", "[{:issue/created ‸1714521600000}]", 'did you mean #inst "2024-05-01T'),
    ("TX_INVALID", "[{:issue/_status ‸1}]", "this map says nothing of its entity: add an attribute"),
    ("TX_INVALID", "[{:db/ident :a/b :db/valueType ‸:string}]", "(did you mean :db.type/string?)"),
    ("TX_INVALID", '[{:db/ident :a/b :db/valueType ‸"string"}]', "did you mean the ident :db.type/string"),
    ("TX_INVALID", "[{:db/ident :a/b :db/valueType ‸:db.type/int}]", "(did you mean :db.type/long?); types are"),
    ("TX_INVALID", "[{:db/ident :a/b :db/cardinality ‸:one}]", "(did you mean :db.cardinality/one?)"),
    ("TX_INVALID", "[{:db/ident :a/b :db/unique ‸true}]", "write :db.unique/identity or :db.unique/value"),
    ("UNKNOWN_ATTRIBUTE", "[{:db/ident :a/b ‸:db/type :db.type/string}]", "(did you mean :db/valueType?)"),
    ("UNKNOWN_ATTRIBUTE", "[{‸:db/name :a/b}]", "(did you mean :db/ident?)"),
    ("TX_INVALID", "‸{:a/b {:db/valueType :db.type/string}}", "an attribute is declared by [{:db/ident"),
]


@pytest.mark.parametrize(("code", "marked", "says"), TRANSACTIONS, ids=[case[1][:60] for case in TRANSACTIONS])
def test_a_mistake_in_a_transaction(issues: Gateway, code: str, marked: str, says: str) -> None:
    check(refusal(issues, TRANSACT, tx=marked.replace(MARK, "")), code, marked, says)


STRICT = [
    ("[:find ?t :where [?e ‸issue/title ?t]]", "the attribute is :issue/title"),
    (
        "[:find ?t :where [?e ‸issue/titel ?t]]",
        "a keyword, as :issue/titel (did you mean :issue/title?)",
    ),
    ("[:find ?p :where [?e :issue/priority ?p] [?p ‸> 3]]", "written [(> ?p 3)]"),
    ("[:find ?p :where [?e :issue/priority ?p] [‸> ?p 3]]", "written [(> ?p 3)]"),
    ("[:find ?e :where [?e :issue/priority ‸> 3]]", "after [?e :issue/priority ?n]: [(> ?n 3)]"),
    ("[:find ?p :where [(q [:find ?q :where [?e ‸issue/title ?q]] $) [[?p]]]]", "the attribute is :issue/title"),
]


@pytest.mark.parametrize(("marked", "says"), STRICT)
def test_a_strict_schema_refuses_a_symbol_that_is_no_variable(strict: Gateway, marked: str, says: str) -> None:
    check(refusal(strict, ASK, query=marked.replace(MARK, "")), "QUERY_INVALID", marked, says)
    assert strict.q("[:find title :where [e :issue/title title]]") == []


@pytest.mark.parametrize(
    ("query", "args", "says"),
    [
        ("[:find ?p :where [?e :issue/priority ?p] [?p > 3]]", None, "written [(> ?p 3)]"),
        ("[:find ?e :where [?e :issue/done True]]", None, "the constant is written true"),
        ("[:find ?e :where [?e :issue/done null]]", None, "[(missing? $ ?e"),
        ("[:find ?e :where [?e :issue/title nil]]", None, "[(missing? $ ?e"),
        ("[:find ?e :in $ ?k :where [?e :issue/kind ?k]]", ["bug"], 'did you mean ":bug"?'),
        ("[:find ?e :where [?e :issue/status :issue/opne]]", None, "(did you mean :issue/open?)"),
        ("[:find ?e :where [?e :issue/priority > 3]]", None, "after [?e :issue/priority ?n]: [(> ?n 3)]"),
        ("[:find ?e :where [?e :issue/priority >=3]]", None, "after [?e :issue/priority ?n]: [(>= ?n 3)]"),
        (
            "[:find ?e :where [?e :issue/priority > 3] [?e :issue/id > 1]]",
            None,
            "after [?e :issue/priority ?n]: [(> ?n 3)]",
        ),
        ("[:find ?e :where [?e :status/one 1]]", None, "no attribute :status/one is declared, so nothing has it"),
        ("[:find ?e :where [?e :issue/priority IN 1]]", None, "after [?e :issue/priority ?n]: [(in ?n 1)]"),
        ("[:find ?t :where [:issue/id 1 :issue/title ?t]]", None, "in brackets of its own: [[:person/id 1]"),
        ("[:find ?t :in $ ?e :where [?e :issue/title ?t]]", [["issue/id", 1]], 'did you mean [":issue/id", 1]?'),
        ("[:find ?t :in $ ?e :where [?e :issue/title ?t]]", [{"issue/id": 1}], 'did you mean [":issue/id", 1]?'),
        ("[:find ?t :in $ ?s :where [?t :issue/status ?s]]", ["open"], 'did you mean ":issue/open"?'),
        ("[:find ?t :in $ ?a :where [_ ?a ?t]]", ["title"], 'did you mean ":issue/title"?'),
        ('[:find ?e :where [?e issue.title "x"]]', None, "the attribute is :issue/title"),
        # What is built in is proposed for names that look like it, and for no others.
        ("[:find ?e :where [?e :no/ident 3]]", None, "no attribute :no/ident is declared, so nothing has it"),
        ("[:find ?e :where [?e :d/ident :a]]", None, "(did you mean :db/ident?)"),
    ],
)
def test_what_is_allowed_and_not_meant_is_warned_of(issues: Gateway, query: str, args: Any, says: str) -> None:
    (warning,) = issues.data(ASK, query=query, args=args)["q"]["warnings"]
    assert says in warning["message"]


@pytest.mark.parametrize("entity", ["issue/id", '":issue/id"', '"issue/id"'])
def test_a_lookup_ref_without_its_colon(issues: Gateway, entity: str) -> None:
    marked = f"[:find ?t :where [‸[{entity} 1] :issue/title ?t]]"
    check(refusal(issues, ASK, query=marked.replace(MARK, "")), "QUERY_INVALID", marked, "; write [:issue/id 1]")
    pull = 'query($eid: EDN!) { pull(pattern: "[*]", eid: $eid) }'
    if entity != '":issue/id"':
        check(refusal(issues, pull, eid=f"[{entity} 1]"), "ARG_INVALID", "", "did you mean [:issue/id 1]?")


def test_an_assignment_for_a_lookup_ref(issues: Gateway) -> None:
    pull = 'query($eid: EDN!) { pull(pattern: "[*]", eid: $eid) }'
    check(refusal(issues, pull, eid="issue/id=1"), "ARG_INVALID", "", "; did you mean [:issue/id 1]?")


@pytest.mark.parametrize(
    ("tx", "column", "says"),
    [
        ('[[:db/retract [:issue/id 1] :issue/title "nope"]]', 2, "has no such :issue/title"),
        ("[[:db/retract [:issue/id 1] :issue/done]]", 2, "has no such :issue/done"),
        ("[[:db/retractEntity 777777]]", 2, "nothing was retracted here: entity 777777 has nothing"),
    ],
)
def test_a_retraction_of_what_is_not_there(issues: Gateway, tx: str, column: int, says: str) -> None:
    document = "mutation($tx: EDN!) { transact(tx: $tx) { warnings { code message column } } }"
    (warning,) = issues.data(document, tx=tx)["transact"]["warnings"]
    assert (warning["code"], warning["column"]) == ("NOTHING_RETRACTED", column)
    assert says in warning["message"]


def test_a_dot_where_a_slash_was_meant(issues: Gateway) -> None:
    document = "mutation($tx: EDN!) { transact(tx: $tx) { warnings { message } } }"
    (warning,) = issues.data(document, tx='[{:issue.title "x"}]')["transact"]["warnings"]
    assert "(did you mean :issue/title?)" in warning["message"]


def test_an_ident_in_quotes(issues: Gateway) -> None:
    marked = '[:find ?e :where [?e :issue/status ‸":issue/open"]]'
    check(refusal(issues, ASK, query=marked.replace(MARK, "")), "QUERY_INVALID", marked, "did you mean :issue/open")


def test_counting_entities_in_where(issues: Gateway) -> None:
    found = refusal(issues, ASK, query="[:find ?n :where [?e :issue/title] [(count ?e) ?n]]")
    assert "in :find, (count ?e)" in found[1]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/grapqhl", 404), ("POST", "/", 405), ("GET", "/nope", 404), ("POST", "/graphql/graphql", 404)],
)
def test_a_wrong_path_names_the_right_one(issues: Gateway, method: str, path: str, status: int) -> None:
    answer = issues.http.request(method, path, json={"query": "{ __typename }"})
    assert answer.status_code == status
    (error,) = answer.json()["errors"]
    assert "GraphQL is at /graphql, by POST" in error["message"]
    assert path in error["message"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('{"q": "{ __typename }"}', "`query` is missing: the text of a GraphQL document; there is 'q'"),
        ('{"query": "{\n}"}', "a line break in a string is written \\n"),
        ("{query: 1}", "the request is not JSON"),
    ],
)
def test_a_wrong_body(issues: Gateway, body: str, says: str) -> None:
    answer = issues.http.post("/graphql", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert says in answer.json()["errors"][0]["message"]


def test_a_refused_origin_is_one_line_of_the_log(issues: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    origins._LOGGED.clear()
    with caplog.at_level(logging.WARNING, "adalog.server"):
        for _ in range(3):
            answer = issues.http.post("/graphql", json={}, headers={"origin": "https://app.example.com"})
            assert answer.status_code == 403
    (line,) = [each.getMessage() for each in caplog.records]
    assert "ADALOG_ALLOWED_ORIGINS=https://app.example.com" in line
    assert "https://app.example.com" in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize("origin", ["https://app.example.com", "null"])
def test_a_refused_preflight_is_one_line_of_the_log(
    issues: Gateway, caplog: pytest.LogCaptureFixture, origin: str
) -> None:
    """After it the browser sends nothing that could be refused."""
    origins._LOGGED.clear()
    headers = {"origin": origin, "access-control-request-method": "POST"}
    with caplog.at_level(logging.WARNING, "adalog.server"):
        for _ in range(3):
            issues.http.request("OPTIONS", "/graphql", headers=headers)
        issues.http.request("OPTIONS", "/graphql", headers={**headers, "sec-fetch-site": "same-origin"})
    (line,) = [each.getMessage() for each in caplog.records]
    assert "ADALOG_ALLOWED_ORIGINS" in line
    assert (origin if origin != "null" else "without an origin") in line


def test_refused_origins_do_not_fill_the_log(issues: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    origins._LOGGED.clear()
    with caplog.at_level(logging.WARNING, "adalog.server"):
        for i in range(2 * origins._MOST_LOGGED):
            issues.http.post("/graphql", json={}, headers={"origin": f"https://{i}.example.com"})
    assert len(caplog.records) == origins._MOST_LOGGED
    origins._LOGGED.clear()
