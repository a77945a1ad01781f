"""The fields `pull` and `pullMany`, pulls in `q` under every encoding, and what the command line makes of them."""

from __future__ import annotations

import io

import orjson
import pyarrow as pa
import pytest

from adalog.datalog.edn import read
from adalog.gateway.cli.output.console import Terminal
from adalog.gateway.cli.output.formats import ResultTable, csv_text, edn_text, json_text, print_table, write_arrow
from adalog.gateway.settings.config import Settings
from adalog.schema.writing.encoding import decode
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway, place_of

PULL = """query ($pattern: EDN!, $eid: EDN!, $basis: BasisInput, $as: Encoding) {
  pull(pattern: $pattern, eid: $eid, basis: $basis, encoding: $as)
}"""
MANY = """query ($pattern: EDN!, $eids: [EDN!]!, $basis: BasisInput, $as: Encoding) {
  pullMany(pattern: $pattern, eids: $eids, basis: $basis, encoding: $as)
}"""
TRANSACT = "mutation ($tx: EDN!) { transact(tx: $tx) { t } }"
UIDS = """[{:db/ident :uid :db/valueType :db.type/uuid :db/unique :db.unique/identity}
 {:uid #uuid "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21" :n 1}]"""
ADA = '[:person/name "Ada"]'
NESTED = "[:person/name :person/born {[:person/child :limit 1 :as :first] [:person/name]}]"


def pull(family: Gateway, pattern: str, eid: str, **more: object) -> object:
    return family.data(PULL, pattern=pattern, eid=eid, **more)["pull"]


def test_plain(family):
    assert pull(family, NESTED, ADA) == {
        ":person/name": "Ada",
        ":person/born": 1815,
        ":first": [{":person/name": "Byron"}],
    }


def test_tagged(family):
    shown = pull(family, NESTED, ADA, **{"as": "TAGGED"})
    assert shown["#map"][0] == [{"#kw": "person/name"}, "Ada"]
    assert decode(shown) == read('{:person/name "Ada" :person/born 1815 :first [{:person/name "Byron"}]}')
    assert pull(family, '[[:person/name :as "name"]]', ADA, **{"as": "TAGGED"}) == {"name": "Ada"}


def test_edn(family):
    shown = pull(family, NESTED, ADA, **{"as": "EDN"})
    assert read(shown) == read('{:person/name "Ada" :person/born 1815 :first [{:person/name "Byron"}]}')


def test_entities_by_number_ident_and_lookup_ref(family):
    number = pull(family, "[:db/id]", ADA)[":db/id"]
    assert pull(family, "[:person/born]", str(number)) == {":person/born": 1815}
    assert pull(family, "[:db/doc]", ":person/name") == {":db/doc": "What they are called"}


def test_an_entity_as_json(family):
    assert pull(family, "[:person/born]", orjson.dumps([":person/name", "Ada"]).decode()) == {":person/born": 1815}


def test_an_entity_that_nothing_can_be(family):
    error = family.error(MANY, pattern="[*]", eids=["1", "[:person/name :Ada]"])
    assert error["extensions"]["code"] == "ARG_INVALID"
    assert error["message"].startswith("eids[1]: nothing can be named by [:person/name :Ada]")
    family.data(TRANSACT, tx=UIDS)
    uid = "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21"
    assert pull(family, "[:n]", f'[":uid", "{uid}"]') == pull(family, "[:n]", f'[:uid #uuid "{uid}"]') == {":n": 1}
    error = family.error(PULL, pattern="[*]", eid=f'[:uid "{uid}"]')
    assert error["message"].endswith(f'did you mean [:uid #uuid "{uid}"]?')
    assert "such as [:user/email" in family.error(PULL, pattern="[*]", eid="ada@example.org")["message"]


@pytest.mark.parametrize("encoding", ["PLAIN", "TAGGED", "EDN"])
def test_nothing_is_null(family, encoding):
    assert pull(family, "[:person/name]", '[:person/name "Nobody"]', **{"as": encoding}) is None
    assert pull(family, "[:person/born]", '[:person/name "Byron"]', **{"as": encoding}) is None
    eids = ['[:person/name "Nobody"]', '[:person/name "Byron"]']
    assert family.data(MANY, pattern="[:person/born]", eids=eids, **{"as": encoding})["pullMany"] == [None, None]


def test_many(family):
    eids = [ADA, '[:person/name "Nobody"]', '[:person/name "Anne"]', ADA]
    plain = [{":person/name": "Ada"}, None, {":person/name": "Anne"}, {":person/name": "Ada"}]
    assert family.data(MANY, pattern="[:person/name]", eids=eids)["pullMany"] == plain
    texts = family.data(MANY, pattern="[:person/name]", eids=eids, **{"as": "EDN"})["pullMany"]
    assert texts == ['{:person/name "Ada"}', None, '{:person/name "Anne"}', '{:person/name "Ada"}']
    assert family.data(MANY, pattern="[*]", eids=[])["pullMany"] == []
    numbers = [str(number) for number in range(1000)]
    assert family.data(MANY, pattern="[:db/id]", eids=numbers)["pullMany"] == [{":db/id": n} for n in range(1000)]


def test_basis(family):
    family.database.transact('[{:person/name "Ada" :person/born 1816}]')
    assert pull(family, "[:person/born]", ADA) == {":person/born": 1816}
    assert pull(family, "[:person/born]", ADA, basis={"t": 2}) == {":person/born": 1815}
    assert pull(family, "[:person/name :person/born]", ADA, basis={"since": 2}) == {":person/born": 1816}
    assert family.code(PULL, pattern="[*]", eid=ADA, basis={"history": True}) == "ARG_INVALID"


def test_refusals_point_into_the_pattern(family):
    error = family.error(PULL, pattern="[:person/name\n {:person/child [7]}]", eid=ADA)
    assert error["extensions"]["code"] == "QUERY_INVALID"
    assert (error["extensions"]["line"], error["extensions"]["column"]) == (2, 18)
    error = family.error(PULL, pattern="[:person/name {:person/born [*]}]", eid=ADA)
    assert (error["extensions"]["line"], error["extensions"]["column"]) == (1, 16)
    assert family.code(PULL, pattern="[:person/name", eid=ADA) == "EDN_SYNTAX"
    error = family.error(MANY, pattern="[*]", eids=["1", "[:person/name"])
    assert error["extensions"]["code"] == "EDN_SYNTAX"
    assert error["message"].startswith("in eids[1], line 1, column 1: [ at 1:1 is never closed")
    assert place_of(error) == ("eids[1]", 1, 1)
    assert place_of(family.error(PULL, pattern="[*]", eid="[:person/name\n 1x]")) == ("eid", 2, 2)
    error = family.error(PULL, pattern="[*]", eid='"Ada"')
    assert error["extensions"]["code"] == "ARG_INVALID"
    assert error["message"].startswith("eid: ")
    assert place_of(error) == ("eid", 1, 1)


def test_limits():
    with gateway(Settings(data=":memory:", rows=2, result_bytes=60), SCHEMA, FAMILY) as small:
        assert small.code(MANY, pattern="[*]", eids=["1", "2", "3"]) == "LIMIT_EXCEEDED"
        assert small.data(MANY, pattern="[:person/born]", eids=[ADA])["pullMany"] == [{":person/born": 1815}]
        assert small.code(PULL, pattern="[*]", eid=ADA) == "LIMIT_EXCEEDED"


QUERY = """query ($query: EDN!, $args: [JSON!], $as: Encoding, $first: Int, $after: String) {
  q(query: $query, args: $args, encoding: $as, first: $first, after: $after) {
    columns { name type } rows value pageInfo { hasNextPage endCursor }
  }
}"""


def test_pulls_in_queries(family):
    query = "[:find ?n (pull ?e [:person/name]) :where [?e :person/name ?n] [?e :person/born]]"
    plain = family.data(QUERY, query=query)["q"]
    assert [column["type"] for column in plain["columns"]] == ["string", "map"]
    assert plain["rows"] == plain["value"] == [["Ada", {":person/name": "Ada"}]]
    tagged = family.data(QUERY, query=query, **{"as": "TAGGED"})["q"]
    assert tagged["rows"] == [["Ada", {"#map": [[{"#kw": "person/name"}, "Ada"]]}]]
    edn = family.data(QUERY, query=query, **{"as": "EDN"})["q"]
    assert (edn["rows"], edn["value"]) == (['["Ada" {:person/name "Ada"}]'], '[["Ada" {:person/name "Ada"}]]')


def test_shapes_of_pulls_in_queries(family):
    def value(find: str, encoding: str = "PLAIN") -> object:
        query = f"[:find {find} :where [?e :person/name] [?e :person/born]]"
        return family.data(QUERY, query=query, **{"as": encoding})["q"]["value"]

    shown = {":person/born": 1815}
    assert value("(pull ?e [:person/born]) .") == shown
    assert value("[(pull ?e [:person/born]) ...]") == [shown]
    assert value("[(pull ?e [:person/born])]") == [shown]
    assert value("(pull ?e [:person/born]) :keys who") == [{"who": shown}]
    assert value("(pull ?e [:person/born]) :keys who", "EDN") == "[{:who {:person/born 1815}}]"
    assert value("(pull ?e [:person/born]) .", "EDN") == "{:person/born 1815}"
    assert value("(pull ?e [:db/doc]) .") is None


def test_a_pattern_as_json(family):
    query = "[:find (pull ?e ?pattern) . :in $ ?pattern :where [?e :person/born]]"
    shown = {":person/name": "Ada"}
    assert family.data(QUERY, query=query, args=["[:person/name]"])["q"]["value"] == shown
    assert family.data(QUERY, query=query, args=[[{"#kw": "person/name"}]])["q"]["value"] == shown


def test_pages_of_pulls(family):
    query = "[:find (pull ?e [:person/name]) :where [?e :person/name]]"
    names, after = [], None
    while True:
        page = family.data(QUERY, query=query, first=3, after=after)["q"]
        names += [row[0][":person/name"] for row in page["rows"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert names == ["Ada", "Byron", "Anne", "Ralph"]


def test_maps_on_the_command_line():
    shown = read('{:n "Ada"}')
    table = ResultTable(["?e", "(pull ?e [:n])"], ["long", "map"], [[1, shown], [2, None]], None, "2 rows")
    out = io.StringIO()
    print_table(table, Terminal(file=out, width=100), 10)
    assert '{:n "Ada"}' in out.getvalue()
    assert csv_text(table).decode().splitlines()[1] == '1,"{:n ""Ada""}"'
    arrow = io.BytesIO()
    write_arrow(table, arrow)
    assert pa.ipc.open_stream(arrow.getvalue()).read_all().column(1).to_pylist() == ['{:n "Ada"}', None]
    whole = ResultTable([], [], [], ((1, shown),), "")
    assert edn_text(whole).decode() == '[[1 {:n "Ada"}]]\n'
    plain = ResultTable([], [], [], [[1, {":n": "Ada"}]], "")
    assert orjson.loads(json_text(plain)) == [[1, {":n": "Ada"}]]
