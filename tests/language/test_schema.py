"""Schema is data: declared attributes, attributes declared by first use, strict mode, changes and refusals."""

from __future__ import annotations

import pytest

MANY = '[{:db/ident :tags :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many :db/doc "Labels"}]'


def test_an_attribute_is_declared_as_data(db):
    db.tx(MANY)
    query = """[:find ?type ?card ?doc :where [?a :db/ident :tags] [?a :db/doc ?doc]
                [?a :db/valueType ?t] [?t :db/ident ?type] [?a :db/cardinality ?c] [?c :db/ident ?card]]"""
    assert db.q(query) == '#{[:db.type/keyword :db.cardinality/many "Labels"]}'


def test_cardinality_defaults_to_one(db):
    db.tx("[{:db/ident :n :db/valueType :db.type/long}]")
    db.tx("[[:db/add 1 :n 1]]", "[[:db/add 1 :n 2]]")
    assert db.q("[:find ?v :where [1 :n ?v]]") == "#{[2]}"


def test_open_schema_declares_by_first_use(db):
    db.tx('[{:db/id 1 :name "Ada"}]')
    assert db.q("[:find ?t . :where [:name :db/valueType ?v] [?v :db/ident ?t]]") == ":db.type/string"
    assert db.q("[:find ?c . :where [:name :db/cardinality ?v] [?v :db/ident ?c]]") == ":db.cardinality/one"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("1", "long"),
        ("1.5", "double"),
        ("1N", "bigint"),
        ("1M", "bigdec"),
        ('"a"', "string"),
        (":a", "keyword"),
        ("a", "symbol"),
        ("true", "boolean"),
        ('#inst "2020-01-01"', "instant"),
        ('#uri "x:y"', "uri"),
        ('#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"', "uuid"),
        ('#bytes "AA=="', "bytes"),
    ],
)
def test_the_type_of_first_use(db, value, kind):
    db.tx(f"[[:db/add 1 :v {value}]]")
    assert db.q("[:find ?t . :where [:v :db/valueType ?v] [?v :db/ident ?t]]") == f":db.type/{kind}"


def test_the_type_of_first_use_holds_from_then_on(db):
    db.tx("[[:db/add 1 :v 1]]")
    db.tx_refuses("TX_INVALID", '[[:db/add 2 :v ‸"text"]]', says="long")


def test_two_types_of_first_use_in_one_transaction(db):
    db.tx_refuses("TX_INVALID", '[[:db/add 1 :v 1] [:db/add 2 :v "text"]]')


def test_a_nested_map_as_first_use_is_a_ref(db):
    db.tx('[{:db/id 1 :address {:db/id "a" :street "Main"}}]')
    assert db.q("[:find ?s . :where [1 :address ?a] [?a :street ?s]]") == '"Main"'


def test_strict_schema_refuses_the_undeclared(strict):
    strict.tx_refuses("UNKNOWN_ATTRIBUTE", '[[:db/add 1 ‸:name "Ada"]]', says=":name")
    strict.tx_refuses("UNKNOWN_ATTRIBUTE", '[{:db/id 1 ‸:name "Ada"}]')
    strict.tx("[{:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}]")
    strict.tx('[[:db/add 1 :name "Ada"]]')
    strict.tx_refuses("UNKNOWN_ATTRIBUTE", '[[:db/add 1 ‸:nam "Ada"]]', says=":name")


def test_strict_schema_refuses_queries_of_the_undeclared(strict):
    strict.tx("[{:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}]")
    strict.refuses("UNKNOWN_ATTRIBUTE", "[:find ?e :where [?e ‸:nam _]]", says=":name")


@pytest.mark.parametrize(
    "text",
    [
        "[{:db/ident :v :db/valueType ‸:db.type/lng}]",
        "[{:db/ident :v :db/valueType :db.type/long :db/cardinality ‸:db.cardinality/two}]",
        "[{:db/ident :v :db/valueType :db.type/long :db/unique ‸:db.unique/yes}]",
        '[{:db/ident ‸"v" :db/valueType :db.type/long}]',
        "[{:db/ident :v :db/valueType :db.type/long :db/isComponent ‸true}]",
        "[{:db/ident :v :db/valueType :db.type/long :db/index ‸1}]",
    ],
)
def test_malformed_schema(db, text):
    db.tx_refuses("TX_INVALID", text)


def test_cardinality_may_grow(db):
    db.tx("[[:db/add 1 :n 1]]")
    db.tx("[{:db/id :n :db/cardinality :db.cardinality/many}]", "[[:db/add 1 :n 2]]")
    assert db.q("[:find ?v :where [1 :n ?v]]") == "#{[1] [2]}"


def test_cardinality_may_shrink_only_where_the_data_allows(db):
    db.tx(MANY, "[{:db/id 1 :tags [:a]}]")
    db.tx("[{:db/id :tags :db/cardinality :db.cardinality/one}]")
    db.tx("[[:db/add 1 :tags :b]]")
    assert db.q("[:find ?v :where [1 :tags ?v]]") == "#{[:b]}"


def test_cardinality_may_not_shrink_against_the_data(db):
    db.tx(MANY, "[{:db/id 77 :tags [:a :b]}]")
    db.tx_refuses("TX_INVALID", "[{:db/id :tags :db/cardinality :db.cardinality/one}]", says="77")


def test_the_type_of_an_attribute_with_data_may_not_change(db):
    db.tx("[[:db/add 1 :n 1]]")
    db.tx_refuses("TX_INVALID", "[{:db/id :n :db/valueType :db.type/string}]", says=":n")


def test_an_ident_may_be_renamed(db):
    db.tx("[[:db/add 1 :n 1]]", "[[:db/add :n :db/ident :number]]")
    assert db.q("[:find ?v :where [1 :number ?v]]") == "#{[1]}"
    assert db.q("[:find ?a :where [1 ?a]]") == "#{[:number]}"


def test_doc_may_be_added_later(db):
    db.tx("[[:db/add 1 :n 1]]", '[[:db/add :n :db/doc "A number"]]')
    assert db.q("[:find ?d . :where [:n :db/doc ?d]]") == '"A number"'


def test_an_attribute_and_its_first_data_in_one_transaction(db):
    """A transaction is a set, so the declaration counts for all of it (Datomic asks for two transactions)."""
    db.tx("""[{:db/id 1 :t [:a :b]}
              {:db/ident :t :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}]""")
    assert db.q("[:find ?v :where [1 :t ?v]]") == "#{[:a] [:b]}"


def test_system_attributes_are_protected(db):
    db.tx_refuses("TX_INVALID", "[[:db/add :db/ident :db/valueType :db.type/string]]")
    db.tx_refuses("TX_INVALID", "[[:db/add :db/txInstant :db/cardinality :db.cardinality/many]]")


def test_no_history(db):
    db.tx("[{:db/ident :n :db/valueType :db.type/long :db/noHistory true}]")
    db.tx("[[:db/add 1 :n 1]]", "[[:db/add 1 :n 2]]")
    assert db.q("[:find ?v :where [1 :n ?v]]") == "#{[2]}"


def test_unique_may_not_begin_against_the_data(db):
    db.tx("[[:db/add 7 :n 1] [:db/add 8 :n 1] [:db/add 9 :n 2]]")
    db.tx_refuses("TX_INVALID", "[{:db/id :n :db/unique ‸:db.unique/value}]", says="entities 7 and 8")
    db.tx("[[:db/add 8 :n 3]]", "[{:db/id :n :db/unique :db.unique/identity}]")
    assert db.q("[:find ?e . :in $ ?e :where [?e :n]]", "[:n 3]") == "8"


def test_unique_may_change_and_go(db):
    db.tx("[{:db/ident :n :db/valueType :db.type/long :db/unique :db.unique/value} [:db/add 1 :n 1]]")
    db.tx("[{:db/id :n :db/unique :db.unique/identity}]", '[{:n 1 :name "one"}]')
    assert db.q("[:find ?e . :where [?e :name]]") == "1"
    db.tx("[[:db/retract :n :db/unique :db.unique/identity]]", "[[:db/add 2 :n 1]]")


def test_a_component_may_not_begin_on_what_is_no_ref(db):
    db.tx("[[:db/add 1 :n 1]]")
    db.tx_refuses("TX_INVALID", "[{:db/id :n :db/isComponent ‸true}]", says=":db.type/ref")
    db.tx("[{:db/ident :part :db/valueType :db.type/ref}]", "[{:db/id :part :db/isComponent true}]")


def test_an_attribute_with_data_may_not_go(db):
    db.tx("[[:db/add 77 :n 1]]")
    db.tx_refuses("TX_INVALID", "[[:db/retractEntity :n]]", says="77")
    db.tx_refuses("TX_INVALID", "[[:db/retract :n :db/valueType]]", says="77")
    db.tx("[[:db/retract 77 :n]]", "[[:db/retractEntity :n]]", '[[:db/add 1 :n "text"]]')


def test_the_type_may_change_when_the_data_is_gone(db):
    db.tx("[[:db/add 77 :n 1]]", "[[:db/retract 77 :n]]", "[{:db/id :n :db/valueType :db.type/string}]")
    db.tx('[[:db/add 1 :n "text"]]')


def test_index_is_accepted(db):
    db.tx("[{:db/ident :n :db/valueType :db.type/long :db/index true}]", "[{:db/id :n :db/index false}]")


def test_an_old_ident_may_be_given_again(db):
    db.tx("[[:db/add 1 :n 1]]", "[[:db/add :n :db/ident :old]]", '[[:db/add 2 :n "new"]]')
    assert db.q("[:find ?e ?v :where (or [?e :n ?v] [?e :old ?v])]") == '#{[1 1] [2 "new"]}'
