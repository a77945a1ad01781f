"""Each root field against a small database: Ada and her children."""

from __future__ import annotations

import pytest

from tests.gateway.support import Gateway, place_of

NAMES = "[:find ?n :where [?p :person/name ?n] :order-by [?n]]"


def test_q_rows_columns_and_value(family: Gateway) -> None:
    document = """query($query: EDN!) {
      q(query: $query) {
        columns { name type } rows value basisT pageInfo { hasNextPage endCursor } stats { engine rows }
      }
    }"""
    answer = family.data(document, query="[:find ?n ?b :where [?p :person/name ?n] [?p :person/born ?b]]")["q"]
    assert answer == {
        "columns": [{"name": "?n", "type": "string"}, {"name": "?b", "type": "long"}],
        "rows": [["Ada", 1815]],
        "value": [["Ada", 1815]],
        "basisT": 2,
        "pageInfo": {"hasNextPage": False, "endCursor": None},
        "stats": {"engine": "LOCAL", "rows": 1},
    }


def test_q_says_which_columns_show_entities(family: Gateway) -> None:
    document = "query($query: EDN!) { q(query: $query) { entityColumns columns { type } } }"
    query = """[:find ?n ?p ?tx ?older (count ?x)
                :where [?p :person/name ?n ?tx] (older ?older ?p) [?older _ ?x]
                :rules [[(older ?a ?b) [?a :person/child ?b]]]]"""
    answer = family.data(document, query=query)["q"]
    assert answer["entityColumns"] == [1, 2, 3]
    assert [each["type"] for each in answer["columns"]] == ["string", "long", "long", "long", "long"]
    assert family.data(document, query="[:find ?b . :where [_ :person/born ?b]]")["q"]["entityColumns"] == []


@pytest.mark.parametrize(
    ("query", "rows", "value"),
    [
        (NAMES, [["Ada"], ["Anne"], ["Byron"], ["Ralph"]], [["Ada"], ["Anne"], ["Byron"], ["Ralph"]]),
        (
            "[:find [?n ...] :where [?p :person/name ?n] :order-by [?n] :limit 2]",
            [["Ada"], ["Anne"]],
            ["Ada", "Anne"],
        ),
        ("[:find [?n ?b] :where [?p :person/name ?n] [?p :person/born ?b]]", [["Ada", 1815]], ["Ada", 1815]),
        ("[:find ?b . :where [_ :person/born ?b]]", [[1815]], 1815),
        ("[:find ?b . :where [_ :person/born ?b] [(< ?b 0)]]", [], None),
        ("[:find [?b] :where [_ :person/born ?b] [(< ?b 0)]]", [], None),
        ("[:find [?b ...] :where [_ :person/born ?b] [(< ?b 0)]]", [], []),
        ("[:find ?b :where [_ :person/born ?b] [(< ?b 0)]]", [], []),
        (
            "[:find ?n ?b :keys name born :where [?p :person/name ?n] [?p :person/born ?b]]",
            [["Ada", 1815]],
            [{"name": "Ada", "born": 1815}],
        ),
        (
            "[:find ?n :strs name :where [?p :person/name ?n] [?p :person/born _]]",
            [["Ada"]],
            [{"name": "Ada"}],
        ),
    ],
)
def test_the_value_has_the_shape_of_the_find_spec(family: Gateway, query: str, rows: object, value: object) -> None:
    answer = family.data("query($query: EDN!) { q(query: $query) { rows value } }", query=query)["q"]
    assert answer == {"rows": rows, "value": value}


def test_encodings(family: Gateway) -> None:
    document = "query($query: EDN!, $as: Encoding) { q(query: $query, encoding: $as) { rows value } }"
    query = "[:find ?a ?n :where [1 ?a ?n] [(= ?a :person/name)]]".replace("1 ", '[:person/name "Ada"] ')
    assert family.data(document, query=query, **{"as": "PLAIN"})["q"]["rows"] == [[":person/name", "Ada"]]
    assert family.data(document, query=query, **{"as": "TAGGED"})["q"]["rows"] == [[{"#kw": "person/name"}, "Ada"]]
    edn = family.data(document, query=query, **{"as": "EDN"})["q"]
    assert edn == {"rows": ['[:person/name "Ada"]'], "value": '[[:person/name "Ada"]]'}


def test_arguments_as_json_and_as_edn(family: Gateway) -> None:
    by_name = "[:find ?b . :in $ ?n :where [?p :person/name ?n] [?p :person/born ?b]]"
    assert family.q(by_name, "Ada") == [[1815]]
    assert family.q(
        "[:find ?n :in $ [?n ...] :where [_ :person/name ?n] :order-by [?n]]", ["Anne", "Ada", "X"]
    ) == [
        ["Ada"],
        ["Anne"],
    ]
    assert family.q('[:find ?n . :in $ ?a :where [[:person/name "Ada"] ?a ?n]]', {"#kw": "person/name"}) == [
        ["Ada"]
    ]
    document = "query($query: EDN!, $args: [EDN!]) { q(query: $query, argsEdn: $args) { value } }"
    assert family.data(document, query=by_name, args=['"Ada"'])["q"]["value"] == 1815


def test_args_and_args_edn_together_are_refused(family: Gateway) -> None:
    assert family.code('{ q(query: "[:find ?x :in $ ?x]", args: [1], argsEdn: ["1"]) { rows } }') == "ARG_INVALID"


def test_a_named_source_can_be_another_basis(family: Gateway) -> None:
    family.database.transact('[[:db/add [:person/name "Ada"] :person/born 1816]]')
    query = "[:find ?then ?now :in $ $old :where [?p :person/born ?now] [$old ?p :person/born ?then]]"
    assert family.q(query, {"#basis": {"t": 2}}) == [[1815, 1816]]


def test_basis(family: Gateway) -> None:
    family.database.transact('[[:db/add [:person/name "Ada"] :person/born 1816]]')
    document = (
        'query($b: BasisInput) { q(query: "[:find ?b :where [_ :person/born ?b] :order-by [?b]]", basis: $b) '
    )
    document += "{ rows basisT } }"

    def at(**basis: object) -> object:
        return family.data(document, b=basis)["q"]["rows"]

    assert at() == [[1816]]
    assert at(t=2) == [[1815]]
    assert at(t="2") == [[1815]]
    assert at(t=1) == []
    assert at(since=2) == [[1816]]
    assert at(history=True) == [[1815], [1816]]
    instant = family.data("{ transactions(from: 2, to: 3) { txInstant } }")["transactions"][0]["txInstant"]
    assert at(asOf=instant) == [[1815]]
    assert at(asOf=f'#inst "{instant}"') == [[1815]]
    assert family.code(document, b={"t": 99}) == "BASIS_FUTURE"
    assert family.code(document, b={"t": -1}) == "ARG_INVALID"
    assert family.code(document, b={"t": 1, "asOf": instant}) == "ARG_INVALID"
    assert family.code(document, b={"asOf": "yesterday"}) == "ARG_INVALID"


def test_explain(family: Gateway) -> None:
    document = "query($q: EDN!, $a: Boolean) { explain(query: $q, analyze: $a) { text plan } }"
    for analyze in (False, True):
        answer = family.data(document, q=NAMES, a=analyze)["explain"]
        assert "person/name" in answer["text"]
        assert isinstance(answer["plan"], dict)


def test_transact_and_its_report(empty: Gateway) -> None:
    document = """mutation($tx: EDN!, $t: Long, $key: String) {
      transact(tx: $tx, expectedBasisT: $t, idempotencyKey: $key) {
        t basisBefore txInstant tempids datoms { e a v t added }
      }
    }"""
    report = empty.data(document, tx='[[:db/add "ada" :person/name "Ada"]]', t=0, key="k1")["transact"]
    entity = report["tempids"]["ada"]
    assert (report["t"], report["basisBefore"]) == (1, 0)
    assert {"e": entity, "a": ":person/name", "v": "Ada", "t": 1, "added": True} in report["datoms"]
    assert report["txInstant"].endswith("Z")
    again = empty.data(document, tx='[[:db/add "ada" :person/name "Ada"]]', key="k1")["transact"]
    assert again["t"] == 1
    assert empty.database.snapshot().t == 1
    assert empty.code(document, tx="[]", t=0) == "BASIS_CONFLICT"


def test_a_refused_transaction_says_where(empty: Gateway) -> None:
    error = empty.error('mutation { transact(tx: "[[:db/add 1 :a 1]\\n [:db/nope 1]]") { t } }')
    assert error["extensions"]["code"] == "TX_INVALID"
    assert error["extensions"]["line"] == 2
    assert error["extensions"]["retryable"] is False
    assert empty.database.snapshot().t == 0


def test_datoms_in_index_order(family: Gateway) -> None:
    document = (
        """query($i: Index!, $c: [EDN!]) { datoms(index: $i, components: $c) { datoms { e a v t added } } }"""
    )
    names = family.data(document, i="AEVT", c=[":person/name"])["datoms"]["datoms"]
    assert {datom["a"] for datom in names} == {":person/name"}
    assert [datom["e"] for datom in names] == sorted(datom["e"] for datom in names)
    by_value = family.data(document, i="AVET", c=[":person/name"])["datoms"]["datoms"]
    assert [datom["v"] for datom in by_value] == ["Ada", "Anne", "Byron", "Ralph"]
    ada = family.data(document, i="EAVT", c=[str(by_value[0]["e"]), ":person/born"])["datoms"]["datoms"]
    assert ada == [{"e": by_value[0]["e"], "a": ":person/born", "v": 1815, "t": 2, "added": True}]
    parents = family.data(document, i="VAET", c=[str(by_value[1]["e"])])["datoms"]["datoms"]
    assert [datom["a"] for datom in parents] == [":person/child"]


@pytest.mark.parametrize(
    ("index", "components", "code", "place"),
    [
        ("EAVT", ["1", "[:a\n 1x]"], "EDN_SYNTAX", ("components[1]", 2, 2)),
        ("AEVT", ['"name"'], "ARG_INVALID", ("components[0]", 1, 1)),
        ("EAVT", ["1", ":no/attribute"], "UNKNOWN_ATTRIBUTE", ("components[1]", 1, 1)),
        ("EAVT", ["1", ":person/born", "1815", ":soon"], "ARG_INVALID", ("components[3]", 1, 1)),
    ],
)
def test_a_wrong_component_of_datoms_has_a_place(
    family: Gateway, index: str, components: list[str], code: str, place: tuple[str, int, int]
) -> None:
    document = "query($i: Index!, $c: [EDN!]) { datoms(index: $i, components: $c) { datoms { e } } }"
    error = family.error(document, i=index, c=components)
    assert (error["extensions"]["code"], place_of(error)) == (code, place)
    assert place[0] in error["message"]


def test_datoms_can_be_named_freely(family: Gateway) -> None:
    document = """{ datoms(index: AVET, components: [":person/born"]) { datoms { __typename year: v ...F } } }
    fragment F on Datom { added }"""
    assert family.data(document)["datoms"]["datoms"] == [{"__typename": "Datom", "year": 1815, "added": True}]


def test_transactions_by_range(family: Gateway) -> None:
    family.database.transact("[[:db/add 1 :person/born 1]]")
    document = "query($a: Long, $b: Long, $n: Int) { transactions(from: $a, to: $b, first: $n) { t basisBefore } }"

    def seen(**arguments: object) -> list[int]:
        return [report["t"] for report in family.data(document, **arguments)["transactions"]]

    assert seen() == [1, 2, 3]
    assert seen(a=2) == [2, 3]
    assert seen(a=1, b=3) == [1, 2]
    assert seen(n=1) == [1]
    assert seen(a=9) == []


def test_attributes(family: Gateway) -> None:
    document = "{ attributes { ident valueType cardinality unique isComponent doc datomCount } }"
    found = {attribute["ident"]: attribute for attribute in family.data(document)["attributes"]}
    assert found[":person/name"] == {
        "ident": ":person/name",
        "valueType": "string",
        "cardinality": "one",
        "unique": "identity",
        "isComponent": False,
        "doc": "What they are called",
        "datomCount": 4,
    }
    assert found[":person/child"]["valueType"] == "ref"


def test_database(empty: Gateway) -> None:
    document = "{ database { basisT txInstant datomCount entityCount } }"
    assert empty.data(document)["database"]["basisT"] == 0
    empty.database.transact('[[:db/add 1 :person/name "Ada"]]')
    after = empty.data(document)["database"]
    assert after["basisT"] == 1
    assert after["txInstant"].endswith("Z")
    assert after["datomCount"] > 0
    assert after["entityCount"] > 0


def test_several_fields_in_one_request(family: Gateway) -> None:
    answer = family.data(f"{{ a: q(query: {_quoted(NAMES)}) {{ rows }} b: database {{ basisT }} __typename }}")
    assert answer["b"] == {"basisT": 2}
    assert len(answer["a"]["rows"]) == 4


def test_introspection(empty: Gateway) -> None:
    answer = empty.data('{ __schema { queryType { name } types { name } } __type(name: "Long") { kind } }')
    assert {"EDN", "JSON", "Long"} <= {kind["name"] for kind in answer["__schema"]["types"]}


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


@pytest.mark.parametrize(
    "field",
    [
        'explain(query: "[:find ?x :where [?x :person/name]]", timeoutMs: {}) {{ text }}',
        'pull(pattern: "[*]", eid: "1", timeoutMs: {})',
        'pullMany(pattern: "[*]", eids: ["1"], timeoutMs: {})',
    ],
)
def test_a_plan_and_a_pull_take_a_timeout_too(family: Gateway, field: str) -> None:
    assert family.data("{ " + field.format(60_000) + " }")
    assert family.code("{ " + field.format(0) + " }") == "ARG_INVALID"


def test_edn_among_json_arguments(family: Gateway) -> None:
    query = "[:find [?x ?y] :in $ ?x ?y]"
    assert family.q(query, {"#edn": "[:a #{1}]"}, "b") == [[[":a", [1]], "b"]]
    rules = "[[(named ?p ?n) [?p :person/name ?n]]]"
    ask = "[:find ?n :in $ % ?n :where (named _ ?n)]"
    assert family.q(ask, {"#edn": rules}, "Ada") == [["Ada"]]
    born = "[:find ?b :in $ $old :where [$old _ :person/born ?b]]"
    assert family.q(born, {"#edn": "{:basis {:as-of 1}}"}) == []


@pytest.mark.parametrize("value", ["[1", 5, None])
def test_edn_among_json_arguments_is_one_text(family: Gateway, value: object) -> None:
    document = 'query($args: [JSON!]) { q(query: "[:find ?x :in $ ?x]", args: $args) { rows } }'
    error = family.error(document, args=[{"#edn": value}])
    assert error["extensions"]["code"] in ("EDN_SYNTAX", "ARG_INVALID")
    assert "args[0]" in error["message"]
