"""Forms that came as JSON, and text with named values, mean what the same EDN means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import EdnMap, Keyword
from adalog.store.database import Database
from adalog.store.transact.given.transactions import GivenForms

SCHEMA = """[
  {:db/ident :i/id :db/valueType :db.type/uuid :db/unique :db.unique/identity}
  {:db/ident :i/name :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :i/status :db/valueType :db.type/keyword}
  {:db/ident :i/labels :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
  {:db/ident :i/at :db/valueType :db.type/instant}
  {:db/ident :i/price :db/valueType :db.type/bigdec}
  {:db/ident :i/count :db/valueType :db.type/long}
  {:db/ident :i/part :db/valueType :db.type/ref :db/isComponent true}
  {:db/ident :i/friends :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
  {:db/ident :i/pair :db/valueType :db.type/tuple :db/tupleTypes [:db.type/keyword :db.type/long]}
  {:db/ident :state/open}
  {:db/id 1 :i/name "one" :i/count 1} {:db/id 2 :i/name "two"}]"""
UUID_TEXT = "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21"

# JSON forms, and the EDN that they mean.
FORMS: list[tuple[list[Any], str]] = [
    ([{"i/id": UUID_TEXT, "i/status": ":open"}], f'[{{:i/id #uuid "{UUID_TEXT}" :i/status :open}}]'),
    ([{":i/name": "x", ":i/status": "open"}], '[{:i/name "x" :i/status :open}]'),
    ([{"i/name": ":x"}], '[{:i/name ":x"}]'),
    ([{"i/labels": ["a", ":b"]}], "[{:i/labels [:a :b]}]"),
    ([{"i/at": "2024-05-01T12:00:00Z"}], '[{:i/at #inst "2024-05-01T12:00:00Z"}]'),
    ([{"i/price": "9.90"}, {"i/price": 0.1}], "[{:i/price 9.90M} {:i/price 0.1M}]"),
    ([{"i/count": "9007199254740993"}], "[{:i/count 9007199254740993}]"),
    ([{"i/part": {"i/status": "open"}}], "[{:i/part {:i/status :open}}]"),
    ([{"i/part": ":state/open"}], "[{:i/part :state/open}]"),
    ([{"db/id": "a", "i/count": 5}, {"i/part": "a"}], '[{:db/id "a" :i/count 5} {:i/part "a"}]'),
    ([{"i/friends": ["i/name", "one"]}], '[{:i/friends [:i/name "one"]}]'),
    ([{"i/friends": [["i/name", "one"], [":i/name", "two"]]}], '[{:i/friends [[:i/name "one"] [:i/name "two"]]}]'),
    (
        [{"db/id": "a", "i/count": 5}, {"db/id": "b", "i/count": 6}, {"i/friends": ["a", "b"]}],
        '[{:db/id "a" :i/count 5} {:db/id "b" :i/count 6} {:i/friends ["a" "b"]}]',
    ),
    ([{"db/id": ["i/name", "one"], "i/_friends": [2, "new"]}, ["db/add", "new", "i/count", 3]],
     '[{:db/id [:i/name "one"] :i/_friends [2 "new"]} [:db/add "new" :i/count 3]]'),
    ([{"i/pair": ["a", 1]}], "[{:i/pair [:a 1]}]"),
    ([["db/add", 1, "i/status", "open"]], "[[:db/add 1 :i/status :open]]"),
    ([["db/cas", ["i/name", "one"], "i/count", 1, 2]], '[[:db/cas [:i/name "one"] :i/count 1 2]]'),
    ([[":db/retract", 1, "i/count"]], "[[:db/retract 1 :i/count]]"),
    ([["db/retractEntity", ["i/name", "one"]]], '[[:db/retractEntity [:i/name "one"]]]'),
    ([["db.fn/inc", 1, "i/count"]], "[[:db.fn/inc 1 :i/count]]"),
    ([["db/add", "datomic.tx", "n/why", ":x"]], '[[:db/add "datomic.tx" :n/why ":x"]]'),
    ([{"n/new": ":text"}], '[{:n/new ":text"}]'),
    ([{"n/new": {"i/name": "one"}}], '[{:n/new {:i/name "one"}}]'),
    (
        [{"db/ident": "n/kind", "db/valueType": "db.type/keyword", "db/cardinality": ":db.cardinality/many"},
         {"n/kind": ["a"]}],
        "[{:db/ident :n/kind :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many} {:n/kind [:a]}]",
    ),
]  # fmt: skip

# Text, the values of its variables, and the EDN that it means.
TEXTS: list[tuple[str, dict[str, Any], str]] = [
    ("[[:db/add 1 :i/status ?s]]", {"s": "open"}, "[[:db/add 1 :i/status :open]]"),
    ("[[:db/add [:i/name ?n] :i/status ?s]]", {"?n": "one", "s": ":open"},
     '[[:db/add [:i/name "one"] :i/status :open]]'),
    ("[{:i/id ?id :i/labels ?labels}]", {"id": UUID(UUID_TEXT), "labels": ("a", "b")},
     f'[{{:i/id #uuid "{UUID_TEXT}" :i/labels [:a :b]}}]'),
    ("[{:i/labels [:z ?label]}]", {"label": "a"}, "[{:i/labels [:z :a]}]"),
    ("[{:i/labels #{:z ?label}}]", {"label": "a"}, "[{:i/labels #{:z :a}}]"),
    ("[{?a 7}]", {"a": "i/count"}, "[{:i/count 7}]"),
    ("[[?op 1 ?a ?v]]", {"op": "db/add", "a": "i/status", "v": "x"}, "[[:db/add 1 :i/status :x]]"),
    ("[?form [:db/add 2 :i/count 2]]", {"form": EdnMap({"i/status": "open", "db/id": 1})},
     "[{:db/id 1 :i/status :open} [:db/add 2 :i/count 2]]"),
    ("[{:i/part ?part}]", {"part": EdnMap({"i/status": "open"})}, "[{:i/part {:i/status :open}}]"),
    ("[{:i/friends ?who}]", {"who": ("i/name", "one")}, '[{:i/friends [:i/name "one"]}]'),
    ("[{:db/id ?e :i/count 1} {:i/part ?e}]", {"e": "new"}, '[{:db/id "new" :i/count 1} {:i/part "new"}]'),
    ("[{:i/pair [?k 5]}]", {"k": "a"}, "[{:i/pair [:a 5]}]"),
    ("[{:n/new ?v}]", {"v": ":text"}, '[{:n/new ":text"}]'),
    ("[{:i/name ?v}]", {"v": '"] [:db/retractEntity 1'}, '[{:i/name "\\"] [:db/retractEntity 1"}]'),
]  # fmt: skip


@pytest.fixture
def two() -> Iterator[tuple[Database, Database]]:
    with Database.open(":memory:") as one, Database.open(":memory:") as other:
        one.transact(SCHEMA)
        other.transact(SCHEMA)
        yield one, other


def _told(report: Any) -> list[tuple[Any, ...]]:
    return [(d.e, d.a, d.v, d.added) for d in report.datoms if d.a != Keyword("db/txInstant")]


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_decoded, value))
    return EdnMap((key, _decoded(item)) for key, item in value.items()) if isinstance(value, dict) else value


@pytest.mark.parametrize(("forms", "meant"), FORMS)
def test_forms_of_json(two: tuple[Database, Database], forms: list[Any], meant: str) -> None:
    one, other = two
    assert _told(one.transact(GivenForms(_decoded(forms)))) == _told(other.transact(meant))


@pytest.mark.parametrize(("text", "values", "meant"), TEXTS)
def test_named_values(two: tuple[Database, Database], text: str, values: dict[str, Any], meant: str) -> None:
    one, other = two
    assert _told(one.transact(one.with_values(text, values))) == _told(other.transact(meant))


@pytest.mark.parametrize(
    ("text", "values", "code", "says"),
    [
        (
            "[{:i/name ?title}]",
            {"titel": "x"},
            Code.ARG_INVALID,
            "args has titel, which nothing in the transaction uses",
        ),
        ("[{:i/name 1}]", {"n": "x"}, Code.ARG_INVALID, "nothing in the transaction is a variable"),
        ("[{:i/name ?n}]", {"n": "x", "?n": "y"}, Code.ARG_INVALID, "a name twice"),
        ("[{?a 1 ?b 2}]", {"a": "i/count", "b": "i/count"}, Code.TX_INVALID, "one key twice"),
        ("[{:i/count ?n", {"n": 1}, Code.EDN_SYNTAX, "never closed"),
        ("{:i/count ?n}", {"n": 1}, Code.TX_INVALID, "a vector of forms"),
    ],
)
def test_refused(two: tuple[Database, Database], text: str, values: dict[str, Any], code: Code, says: str) -> None:
    with pytest.raises(AdalogError, match=r"(?s).*") as refused:
        two[0].transact(two[0].with_values(text, values))
    assert refused.value.code is code
    assert says in refused.value.message


def test_a_refused_value_has_the_place_of_its_variable(two: tuple[Database, Database]) -> None:
    with pytest.raises(AdalogError, match="is not a long, as :i/count wants") as refused:
        two[0].transact(two[0].with_values("[{:i/name ?n}\n {:i/count ?c}]", {"n": "x", "c": "many"}))
    position = refused.value.position
    assert position is not None
    assert (position.line, position.column) == (2, 12)


def test_a_refused_form_of_json_has_its_number(two: tuple[Database, Database]) -> None:
    forms = _decoded([{"i/count": 1}, {"i/count": "many"}])
    with pytest.raises(AdalogError, match=r"tx\[1\]: \"many\" is not a long"):
        two[0].transact(GivenForms(forms))
    with pytest.raises(AdalogError, match="a map has :i/count twice"):
        two[0].transact(GivenForms((EdnMap({"i/count": 1, ":i/count": 2}),)))


def test_a_variable_without_a_value_is_refused(two: tuple[Database, Database]) -> None:
    with pytest.raises(AdalogError, match="has no value; give it one in args"):
        two[0].transact(two[0].with_values("[{:db/id ?e :i/name ?n}]", {"n": "x"}))


def test_a_key_is_of_text_and_values(two: tuple[Database, Database]) -> None:
    database = two[0]
    first = database.transact(database.with_values("[{:i/name ?n}]", {"n": "x"}), idempotency_key="k")
    again = database.transact(database.with_values("[{:i/name ?n}]", {"n": "x"}), idempotency_key="k")
    assert again.t == first.t
    with pytest.raises(AdalogError, match="idempotency"):
        database.transact(database.with_values("[{:i/name ?n}]", {"n": "y"}), idempotency_key="k")


def test_forms_without_given_values_are_what_they_are(two: tuple[Database, Database]) -> None:
    text = "[{:i/part {:i/labels #{:a ?x}}} [:db/add 1 :i/labels :b]]"
    database = two[0]
    made = database.with_values(text, {"x": "c"})
    assert len(made) > len(text)
    assert _told(database.transact(made)) == _told(two[1].transact(text.replace("?x", ":c")))
    assert edn.read(text) is not None
