"""Warnings over HTTP: of fields that cannot carry them, of a basis in the future, of answers from a cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import orjson
import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from adalog.executor.cache.answers import ResultCache
from adalog.executor.cache.settings import CacheSettings
from adalog.planner.scope.pending_warnings import Proposals, UnknownName
from adalog.store.snapshot import transaction_ids
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway, served

MORE = """[{:db/ident :person/mood :db/valueType :db.type/ref} {:db/ident :mood/gay}
 {:db/id 9001 :person/name "Eve"}]"""


@pytest.fixture
def people() -> Any:
    with gateway(None, SCHEMA, FAMILY, MORE) as opened:
        yield opened


def answer(people: Gateway, field: str, **variables: Any) -> Any:
    found = people.post(f"{{ {field} }}", **variables).json()
    assert "errors" not in found, found
    return found


def told(people: Gateway, field: str) -> list[dict[str, Any]]:
    """The warnings beside the data."""
    found: list[dict[str, Any]] = answer(people, field).get("extensions", {}).get("warnings", [])
    return found


def codes(people: Gateway, field: str) -> list[str]:
    return [each["code"] for each in told(people, field)]


def test_an_attribute_of_a_pull_that_nobody_declared(people: Gateway) -> None:
    field = 'pull(pattern: "[:person/name\\n :person/nmae]", eid: "9001")'
    assert answer(people, field)["data"] == {"pull": {":person/name": "Eve"}}
    assert told(people, field) == [
        {
            "code": "UNKNOWN_ATTRIBUTE",
            "message": "no attribute :person/nmae is declared (did you mean :person/name?), so nothing has it",
            "line": 2,
            "column": 2,
            "path": ["pull"],
        }
    ]


@pytest.mark.parametrize("encoding", ["PLAIN", "TAGGED", "EDN"])
def test_wherever_a_pattern_names_one(people: Gateway, encoding: str) -> None:
    pattern = "[* {:person/chidl [:person/nmae]} {[:person/child :limit 5] [:person/_chidl :person/brn]} :db/id]"
    found = told(people, f'pullMany(pattern: "{pattern}", eids: ["9001", "77"], encoding: {encoding})')
    assert [each["message"].split()[2] for each in found] == [":person/chidl", ":person/nmae", ":person/brn"]
    assert {tuple(each["path"]) for each in found} == {("pullMany",)}


@pytest.mark.parametrize(
    ("eid", "code", "says"),
    [
        (":mood/gya", "UNKNOWN_IDENT", "eid: no entity has the ident :mood/gya (did you mean :mood/gay?)"),
        (
            '[:person/nmae \\"Eve\\"]',
            "UNKNOWN_ATTRIBUTE",
            "eid: no attribute :person/nmae is declared (did you mean",
        ),
    ],
)
def test_an_entity_that_is_named_by_nothing(people: Gateway, eid: str, code: str, says: str) -> None:
    [warning] = told(people, f'pull(pattern: "[:person/name]", eid: "{eid}")')
    assert (warning["code"], warning["line"]) == (code, None)
    assert warning["message"].startswith(says)


def test_which_of_many_it_is(people: Gateway) -> None:
    found = told(
        people, 'pullMany(pattern: "[:person/name]", eids: ["9001", ":mood/gya", ":mood/gay", ":no/such"])'
    )
    assert [each["message"].split(":")[0] for each in found] == ["eids[1]", "eids[3]"]


@pytest.mark.parametrize(
    "field",
    [
        'pull(pattern: "[*]", eid: "9001")',
        'pull(pattern: "[:person/name :db/id {:person/child ...}]", eid: "77")',
        'pull(pattern: "[:person/name]", eid: "[:person/name \\"Nobody\\"]")',
        'pullMany(pattern: "[:person/name]", eids: [":mood/gay", ":person/name"])',
        'datoms(index: AVET, components: [":person/name", "\\"Nobody\\""]) { datoms { v } }',
        'datoms(index: EAVT, components: ["77"]) { datoms { v } }',
        'datoms(index: VAET, components: [":mood/gay"]) { datoms { v } }',
        "database { basisT }",
    ],
)
def test_what_is_only_not_there_is_no_mistake(people: Gateway, field: str) -> None:
    assert "extensions" not in answer(people, field)


def test_several_fields_of_one_document_have_their_own(people: Gateway) -> None:
    document = """
      c: pull(pattern: "[:person/nmae]", eid: "9001")
      b: pull(pattern: "[:person/name]", eid: "9001")
      a: pullMany(pattern: "[:person/brn]", eids: ["9001"])
      d: q(query: "[:find ?e :where [?e :person/nmae]]") { warnings { code } }
    """
    assert [(each["path"], each["line"]) for each in told(people, document)] == [(["c"], 1), (["a"], 1)]


def test_one_that_fails_beside_one_that_is_warned_of(people: Gateway) -> None:
    document = """{
      wrong: pull(pattern: "[", eid: "1")
      misspelt: pull(pattern: "[:person/nmae]", eid: "1")
    }"""
    found = people.post(document).json()
    assert [error["path"] for error in found["errors"]] == [["wrong"]]
    assert [each["path"] for each in found["extensions"]["warnings"]] == [["misspelt"]]


def test_they_come_with_every_way_of_asking(people: Gateway) -> None:
    document = '{ pull(pattern: "[:person/nmae]", eid: "1") }'
    got = people.http.get("/graphql", params={"query": document})
    again = people.http.get("/graphql", params={"query": document}, headers={"If-None-Match": got.headers["etag"]})
    assert [each["path"] for each in got.json()["extensions"]["warnings"]] == [["pull"]]
    assert again.status_code == 304
    event = people.post(document, {"Accept": "text/event-stream"}).text
    assert '"extensions":{"warnings":[{"code":"UNKNOWN_ATTRIBUTE"' in event


def test_their_number_and_length_is_bounded(people: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    hint = Proposals.hint

    def counted(proposals: Proposals, unknown: UnknownName) -> str:
        compared.append(str(unknown.name))
        return hint(proposals, unknown)

    monkeypatch.setattr(Proposals, "hint", counted)
    many = " ".join(f":x/n{number}" for number in range(2_000))
    found = told(people, f'pull(pattern: "[{many}]", eid: "1")')
    assert (len(found), found[-1]["message"]) == (21, "1,980 more warnings are left out")
    eids = ", ".join(f'":x/n{number}"' for number in range(2_000))
    assert len(told(people, f'pullMany(pattern: "[*]", eids: [{eids}])')) == 21
    assert len(compared) == 40
    long = "n" * 50_000
    [warning] = told(people, f'pull(pattern: "[:x/{long}]", eid: "1")')
    assert len(warning["message"]) < 200
    found = answer(people, f'q(query: "[:find ?e :where [?e :x/{long}]]") {{ warnings {{ message }} }}')
    assert len(found["data"]["q"]["warnings"][0]["message"]) <= 1_000


@pytest.mark.parametrize(
    ("index", "components", "code", "says"),
    [
        ("EAVT", [":mood/gya"], "UNKNOWN_IDENT", "components[0]: no entity has the ident :mood/gya"),
        ("EAVT", ["[:person/nmae 1]"], "UNKNOWN_ATTRIBUTE", "components[0]: no attribute :person/nmae"),
        ("VAET", [":mood/gya"], "UNKNOWN_IDENT", "components[0]: no entity"),
        ("AEVT", [":person/name", ":mood/gya"], "UNKNOWN_IDENT", "components[1]: no entity"),
        ("AVET", [":person/mood", ":mood/gya"], "UNKNOWN_IDENT", "components[1]: no entity"),
        ("AVET", [":person/name", "5"], "IMPOSSIBLE_VALUE", "components[1]: nothing can equal 5 here"),
        ("EAVT", ["1", ":person/born", ":soon"], "IMPOSSIBLE_VALUE", "components[2]: nothing can equal :soon here"),
    ],
)
def test_components_of_an_index(people: Gateway, index: str, components: list[str], code: str, says: str) -> None:
    found = people.post(
        f"query ($of: [EDN!]) {{ datoms(index: {index}, components: $of) {{ datoms {{ e }} }} }}", of=components
    ).json()
    assert found["data"] == {"datoms": {"datoms": []}}
    [warning] = found["extensions"]["warnings"]
    assert (warning["code"], warning["path"]) == (code, ["datoms"])
    assert warning["message"].startswith(says)


READS = [
    ("q", 'q(query: "[:find ?n :where [_ :person/name ?n]]", %s) { warnings { code message } }'),
    ("explain", 'explain(query: "[:find ?n :where [_ :person/name ?n]]", %s) { warnings { code message } }'),
    ("pull", 'pull(pattern: "[*]", eid: "9001", %s)'),
    ("pullMany", 'pullMany(pattern: "[*]", eids: ["9001"], %s)'),
    ("datoms", "datoms(index: EAVT, %s) { datoms { e } }"),
]


def warned(people: Gateway, name: str, field: str) -> list[str]:
    found = answer(people, field)
    carried = found["data"][name]["warnings"] if name in ("q", "explain") else None
    return [each["message"] for each in carried or found.get("extensions", {}).get("warnings", ())]


@pytest.mark.parametrize(("name", "field"), READS)
def test_a_basis_in_the_future(people: Gateway, name: str, field: str) -> None:
    [message] = warned(people, name, field % 'basis: { asOf: "2199-01-01" }')
    assert message.startswith(
        "basis.asOf 2199-01-01T00:00:00.000Z is in the future: until then it means the newest"
    )
    [message] = warned(people, name, field % "basis: { since: 4 }")
    assert message.startswith("basis.since 4 is in the future: the newest transaction is 3")
    for basis in ('{ asOf: "2000-01-01" }', "{ since: 3 }", "{ t: 3 }", "{ asOf: null }"):
        assert [each for each in warned(people, name, field % f"basis: {basis}") if "future" in each] == []
    [message] = warned(people, name, field % 'with: "[{:person/nmae 1}]"')
    assert message.startswith("in with, line 1, column 3: :person/nmae was declared by this use")


@pytest.mark.parametrize(("name", "field"), READS)
def test_a_basis_before_the_first_transaction(people: Gateway, name: str, field: str) -> None:
    message, *others = warned(people, name, field % 'basis: { asOf: "2000-01-01" }')
    assert message.startswith("basis.asOf 2000-01-01T00:00:00.000Z is before the first transaction, ")
    assert not [each for each in others if "first transaction" in each]
    assert not [each for each in warned(people, name, field % "basis: { t: 0 }") if "first transaction" in each]


def test_between_the_last_transaction_and_now_is_no_future(
    people: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, field = READS[0]
    last = datetime.fromisoformat(answer(people, "database { txInstant }")["data"]["database"]["txInstant"])

    def at(seconds: float) -> list[str]:
        as_of = (last + timedelta(seconds=seconds)).isoformat()
        found = warned(people, name, field % f'basis: {{ asOf: "{as_of}" }}')
        return [each for each in found if "future" in each]

    monkeypatch.setattr(transaction_ids, "time", Frozen(last.timestamp() + 10))
    assert [len(at(seconds)) for seconds in (0, 5, 10, 10.002, 60)] == [0, 0, 0, 1, 1]
    # The clock jumped back: what was written since is of a moment that has not come yet.
    monkeypatch.setattr(transaction_ids, "time", Frozen(last.timestamp() - 100))
    assert [len(at(seconds)) for seconds in (-50, 0, 0.002)] == [0, 0, 1]


class Frozen:
    """The module `time`, whose clock stands still."""

    def __init__(self, now: float) -> None:
        self.now = now

    def time(self) -> float:
        return self.now


def test_of_an_empty_database(empty: Gateway) -> None:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    assert codes(empty, f'pull(pattern: "[*]", eid: "1", basis: {{ asOf: "{later}" }})') == ["BASIS_FUTURE"]
    assert codes(empty, 'pull(pattern: "[*]", eid: "1", basis: { asOf: "2000-01-01" })') == []


@pytest.mark.parametrize(
    ("basis", "says"),
    [
        ({"asOf": "2199-01-01"}, "args[0].basis.asOf 2199-01-01T00:00:00.000Z is in the future"),
        ({"since": 9}, "args[0].basis.since 9 is in the future"),
        ({"since": 9, "asOf": 2}, "args[0].basis.since 9 is in the future"),
    ],
)
def test_a_source_in_the_future(people: Gateway, basis: dict[str, Any], says: str) -> None:
    ask = "query ($args: [JSON!]) { %s(query: %s, args: $args) { warnings { code message line column } } }"
    query = '"[:find ?n :in $ $o :where [$o _ :person/name ?n]]"'
    for field in ("q", "explain", "q"):
        [warning] = people.data(ask % (field, query), args=[{"basis": basis}])[field]["warnings"]
        assert (warning["code"], warning["line"], warning["column"]) == ("BASIS_FUTURE", 1, 17)
        assert warning["message"].startswith(says)
    # As a value it is the map that it looks like.
    value = '"[:find ?n ?m :in $ ?m :where [_ :person/name ?n]]"'
    assert people.data(ask % ("explain", value), args=[{"basis": basis}])["explain"]["warnings"] == []


def test_an_answer_from_the_cache_has_those_of_its_own_text(people: Gateway) -> None:
    # The pool closes it.
    people.pool.cache = people.pool.answers = ResultCache(
        people.database, CacheSettings(), people.pool.engine, people.pool.turns
    )
    ask = "query ($q: EDN!) { q(query: $q) { stats { cache } warnings { line column } } }"
    first = "[:find ?e :where [?e :person/nmae]]"
    second = "[:find ?x\n :where [?x :person/nmae]]"
    found = [people.data(ask, q=each)["q"] for each in (first, second, first)]
    assert [each["stats"]["cache"] for each in found[1:]] == ["HIT", "HIT"]
    assert [each["warnings"] for each in found] == [
        [{"line": 1, "column": 22}], [{"line": 2, "column": 13}], [{"line": 1, "column": 22}]
    ]  # fmt: skip


@pytest.mark.parametrize("given", [{"args": ["[:person/nmae]"]}, {"argsEdn": ["[:person/nmae]"]}])
def test_a_pattern_that_is_an_argument(people: Gateway, given: dict[str, Any]) -> None:
    ask = """query ($q: EDN!, $args: [JSON!], $argsEdn: [EDN!]) {
      q(query: $q, args: $args, argsEdn: $argsEdn) { warnings { code message } }
    }"""
    query = "[:find (pull ?e ?p) :in $ ?p :where [?e :person/name]]"
    for _ in range(2):
        [warning] = people.data(ask, q=query, **given)["q"]["warnings"]
        assert warning["code"] == "UNKNOWN_ATTRIBUTE"
        assert warning["message"].startswith("in the pattern given for ?p")
    right = people.data(ask, q=query, argsEdn=["[:person/name]"])["q"]
    assert right["warnings"] == []


LIVE = """subscription { live(query: "[:find ?e :where [?e :person/nmae]]") {
  rows added warnings { code line column }
} }"""
MISSPELT = [{"code": "UNKNOWN_ATTRIBUTE", "line": 1, "column": 22}]


def test_a_live_query_over_every_protocol(people: Gateway) -> None:
    with served(people.app) as url, ExitStack() as streams:
        readers = [_events(streams, url), _events(streams, url, get=True), _messages(streams, url)]
        for reader in readers:
            assert next(reader) == {"rows": [], "added": None, "warnings": MISSPELT}
        people.database.transact("[{:db/id 9001 :person/nmae 1}]")
        for reader in readers:
            assert next(reader) == {"rows": None, "added": [[9001]], "warnings": None}
        late = _messages(streams, url)
        assert next(late) == {"rows": [[9001]], "added": None, "warnings": []}


def _events(streams: ExitStack, url: str, *, get: bool = False) -> Iterator[Any]:
    given: Any = {"params": {"query": LIVE}} if get else {"json": {"query": LIVE}}
    headers = {"Accept": "text/event-stream"}
    response = streams.enter_context(
        httpx.stream("GET" if get else "POST", f"{url}/graphql", headers=headers, timeout=20, **given)
    )
    for line in response.iter_lines():
        if line.startswith("data: "):
            yield orjson.loads(line[6:])["data"]["live"]


def _messages(streams: ExitStack, url: str) -> Iterator[Any]:
    address = url.replace("http", "ws") + "/graphql"
    socket = streams.enter_context(connect(address, subprotocols=[Subprotocol("graphql-transport-ws")]))
    socket.send(orjson.dumps({"type": "connection_init"}).decode())
    socket.send(orjson.dumps({"id": "1", "type": "subscribe", "payload": {"query": LIVE}}).decode())
    while True:
        message = orjson.loads(socket.recv(20))
        if message["type"] == "next":
            yield message["payload"]["data"]["live"]


def test_a_query_over_a_websocket(people: Gateway) -> None:
    with served(people.app) as url:
        address = url.replace("http", "ws") + "/graphql"
        with connect(address, subprotocols=[Subprotocol("graphql-transport-ws")]) as socket:
            socket.send('{"type":"connection_init"}')
            query = '{ a: pull(pattern: "[:person/nmae]", eid: "1") }'
            subscribe = {"id": "1", "type": "subscribe", "payload": {"query": query}}
            socket.send(orjson.dumps(subscribe).decode())
            messages = [orjson.loads(socket.recv(20)) for _ in range(3)]
    [warning] = messages[1]["payload"]["extensions"]["warnings"]
    assert (warning["code"], warning["path"]) == ("UNKNOWN_ATTRIBUTE", ["a"])


def test_one_answer_has_one_bound_whatever_found_its_warnings(people: Gateway) -> None:
    # 25 of the transaction data, 30 of arguments, 40 of the query's text, and one that the run finds.
    retractions = " ".join(f"[:db/retract 9001 :x/r{number} 1]" for number in range(25))
    clauses = " ".join(f"(not [?e :x/n{number} _])" for number in range(40))
    given = " ".join(f"?a{number}" for number in range(30))
    passed = " ".join(f"(not [?e :person/born ?a{number}])" for number in range(30))
    query = f"[:find (sum ?y) . :in $ {given} :where [?e :person/born ?y] {clauses} {passed}]"
    ask = """query ($q: EDN!, $args: [JSON!], $with: EDN) {
      q(query: $q, args: $args, with: $with) { warnings { code message line } }
      explain(query: $q, args: $args, with: $with, analyze: true) { warnings { code message line } }
    }"""
    year = "[{:db/id 9001 :person/born 1970} {:db/id 9002 :person/born 1970} {:db/id 9003 :person/born 1970}]"
    people.database.transact(year)
    found = people.data(ask, q=query, args=["no year"] * 30, **{"with": f"[{retractions}]"})
    for field in ("q", "explain"):
        *shown, last = found[field]["warnings"]
        assert [each["message"].partition(",")[0] for each in shown] == ["in with"] * 20
        assert last == {"code": "UNKNOWN_ATTRIBUTE", "message": "76 more warnings are left out", "line": None}
    found = people.data(ask, q=query, args=["no year"] * 30)
    assert [found[field]["warnings"][-1]["message"] for field in found] == ["51 more warnings are left out"] * 2


def test_a_pull_with_transaction_data_has_one_bound(people: Gateway) -> None:
    retractions = " ".join(f"[:db/retract 9001 :x/r{number} 1]" for number in range(25))
    names = " ".join(f":x/n{number}" for number in range(40))
    found = told(people, f'pull(pattern: "[{names}]", eid: "9001", with: "[{retractions}]")')
    assert (len(found), found[-1]["message"]) == (21, "45 more warnings are left out")
