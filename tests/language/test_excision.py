"""Excision: `{:db/excise …}` takes datoms away as though nobody had ever asserted them."""

from __future__ import annotations

import re

import pytest

from adalog.datalog.errors import AdalogError, Code
from tests.support import MARK, World

SCHEMA = """[
  {:db/ident :name :db/valueType :db.type/string}
  {:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :tag :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
  {:db/ident :friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
  {:db/ident :address :db/valueType :db.type/ref :db/isComponent true}
  {:db/ident :street :db/valueType :db.type/string}
  {:db/ident :house :db/valueType :db.type/long}
  {:db/ident :place :db/valueType :db.type/tuple :db/tupleAttrs [:street :house]}
]"""
ALL = "[:find ?e ?a ?v :where [?e ?a ?v] [(< ?e 1000)]]"
NAMES = "[:find ?n ?tx ?added :where [?e :name ?n ?tx ?added]]"


@pytest.fixture
def people(db: World) -> World:
    """Two friends, one of whom has changed her name and has an address."""
    db.tx(SCHEMA)
    db.tx(
        '[{:db/id 1 :name "Ada" :email "ada@x" :tag ["a" "b"] :address {:db/id 3 :street "Elm" :house 4}}'
        '{:db/id 2 :name "Bob" :friend 1 :tag "a"}]'
    )
    db.tx('[{:db/id 1 :name "Augusta"} {:db/id 2 :name "Ada"}]')
    return db


def test_an_entity_with_its_parts_and_what_refers_to_it(people):
    people.tx("[{:db/excise 1}]")
    assert people.q(ALL) == '#{[2 :name "Ada"] [2 :tag "a"]}'


def test_the_past_never_shows_it_again(people):
    people.tx("[{:db/excise 1}]")
    assert people.at(t=2).q(ALL) == '#{[2 :name "Bob"] [2 :tag "a"]}'
    assert people.at(history=True).q("[:find ?n ?added :where [?e :name ?n _ ?added]]") == (
        '#{["Bob" true] ["Bob" false] ["Ada" true]}'
    )
    assert people.at(t=2).q('[:find ?e :where [?e :email "ada@x"]]') == "#{}"


def test_the_report_tells_its_transaction_alone(people):
    report = people.tx("[{:db/excise 1}]")
    assert [str(datom.a) for datom in report.datoms] == [":db/txInstant"]
    told = list(people.database.transactions(1, 10, 10))
    assert [str(datom.v) for datom in told[1].datoms if datom.e == 1 or datom.v == 1] == []
    assert all(datom.e == 2 for datom in told[2].datoms if datom.e < 1000)


@pytest.mark.parametrize("form", ["{:db/excise 9}", "{:db/excise 2 :db.excise/attrs [:address]}"])
def test_a_warning_if_there_is_nothing(people, form):
    report = people.tx(f"[{form}]")
    assert [each.code for each in report.diagnostics()] == ["NOTHING_EXCISED"]
    assert people.tx(f"[{form} {{:db/excise 2 :db.excise/attrs [:tag]}}]").diagnostics() == ()


def test_no_warning_if_something_of_the_past_alone_goes(people):
    people.tx("[[:db/retractEntity 1]]")
    assert people.tx("[{:db/excise 1}]").diagnostics() == ()
    assert [each.code for each in people.tx("[{:db/excise 1}]").diagnostics()] == ["NOTHING_EXCISED"]


def test_some_attributes_of_an_entity(people):
    people.tx("[{:db/excise 1 :db.excise/attrs [:name :tag]}]")
    assert people.q("[:find ?a ?v :where [1 ?a ?v]]") == '#{[:email "ada@x"] [:address 3]}'
    assert people.q("[:find ?e ?v :where [?e :tag ?v]]") == '#{[2 "a"]}'


def test_what_was_asserted_before_a_transaction_goes_with_its_retraction(people):
    people.tx("[{:db/excise 1 :db.excise/attrs :name :db.excise/beforeT 3}]")
    assert people.q("[:find ?v :where [1 :name ?v]]") == '#{["Augusta"]}'
    assert people.at(history=True).q("[:find ?v ?added :where [1 :name ?v _ ?added]]") == '#{["Augusta" true]}'


def test_all_values_of_an_attribute_whose_declaration_stays(people):
    people.tx("[{:db/excise :tag}]")
    assert people.q("[:find ?v :where [?e :tag ?v]]") == "#{}"
    people.tx('[{:db/id 2 :tag ["c" "d"]}]')
    assert people.q("[:find ?v :where [?e :tag ?v]]") == '#{["c"] ["d"]}'


def test_by_a_lookup_ref_and_an_ident(people):
    people.tx('[{:db/id 5 :db/ident :someone :name "Eve"}]')
    people.tx('[{:db/excise [:email "ada@x"]} {:db/excise :someone}]')
    assert people.q("[:find ?n :where [?e :name ?n]]") == '#{["Ada"]}'
    people.tx('[{:db/ident :someone :name "Carl"}]')


def test_several_in_one_transaction(people):
    people.tx("[{:db/excise 1 :db.excise/attrs [:name]} {:db/excise :tag}]")
    assert people.q("[:find ?e ?n :where [?e :name ?n]]") == '#{[2 "Ada"]}'
    assert people.q("[:find ?v :where [?e :tag ?v]]") == "#{}"


def test_new_entities_never_get_the_ids_of_excised_ones(people):
    people.tx("[{:db/excise 1}]")
    report = people.tx('[{:db/id "new" :name "Carl"}]')
    assert report.tempids["new"] > 3


def test_a_part_that_is_anothers_now_stays(people):
    people.tx("[[:db/retract 1 :address 3] [:db/add 2 :address 3]]")
    people.tx("[{:db/excise 1}]")
    assert people.q("[:find ?s :where [2 :address ?a] [?a :street ?s]]") == '#{["Elm"]}'


def test_an_entity_that_was_excised_may_come_again(people):
    people.tx("[{:db/excise 1}]", '[{:db/id 1 :name "Ada" :email "ada@x"}]')
    assert people.q("[:find ?n ?m :where [1 :name ?n] [1 :email ?m]]") == '#{["Ada" "ada@x"]}'


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ('[{:db/excise 1} ‸{:db/id 2 :name "x"}]', Code.TX_INVALID, "a transaction of its own"),
        ('[‸{:db/excise 1 :name "x"}]', Code.TX_INVALID, "not :name"),
        ('[{:db/excise ‸"ada"}]', Code.TX_INVALID, "is a tempid"),
        ('[{:db/excise ‸[:email "nobody"]}]', Code.TX_INVALID, "is no entity"),
        ('[{:db/excise ‸[:name "Ada"]}]', Code.TX_INVALID, "is not unique"),
        ("[{:db/excise ‸:nmae}]", Code.TX_INVALID, ":nmae is no entity (did you mean :name?)"),
        ("[{:db/excise ‸:db/ident}]", Code.TX_INVALID, "built in"),
        ("[{:db/excise ‸[:db/ident :name]}]", Code.TX_INVALID, "is or was an attribute"),
        ("[{:db/excise ‸:db.type/string}]", Code.TX_INVALID, "built in"),
        ("[{:db/excise :tag :db.excise/attrs ‸[:name]}]", Code.TX_INVALID, "is an attribute"),
        ("[{:db/excise 1 :db.excise/attrs ‸[]}]", Code.TX_INVALID, "is empty"),
        (
            "[{:db/excise 1 :db.excise/attrs ‸[:nmae]}]",
            Code.UNKNOWN_ATTRIBUTE,
            "no attribute :nmae (did you mean :name?)",
        ),
        ("[{:db/excise 1 :db.excise/beforeT ‸9}]", Code.TX_INVALID, "from 1 to 4"),
        ('[{:db/excise 1 :db.excise/beforeT ‸"2"}]', Code.TX_INVALID, "number of a transaction"),
        ("[‸{:db/excise 3 :db.excise/attrs [:street]}]", Code.TX_INVALID, ":place is kept from :street and :house"),
        ("[‸{:db/excise :house}]", Code.TX_INVALID, "excise all of these and it, or none"),
        ("[‸{:db/excise 3 :db.excise/beforeT 2}]", Code.TX_INVALID, "leave :db.excise/beforeT out"),
    ],
)
def test_what_is_no_excision(people, text, code, part):
    before = people.q(ALL).value
    with pytest.raises(AdalogError) as refused:
        people.tx(text.replace(MARK, ""))
    assert refused.value.code is code
    assert part in refused.value.message
    assert refused.value.position is not None
    assert refused.value.position.column == text.index(MARK) + 1
    assert people.q(ALL).value == before


def test_a_composite_tuple_goes_with_its_parts(people):
    people.tx("[{:db/excise 3 :db.excise/attrs [:street :house :place]}]")
    assert people.q("[:find ?a :where [3 ?a]]") == "#{}"


@pytest.mark.parametrize("retracted", ["", "[:db/retract 7 :of 2]"])
def test_an_entity_within_anothers_composite_tuple_goes_with_that(people, retracted):
    """The tuple would go on having it."""
    people.tx("""[{:db/ident :of :db/valueType :db.type/ref} {:db/ident :rank :db/valueType :db.type/long}
                  {:db/ident :of+rank :db/valueType :db.type/tuple :db/tupleAttrs [:of :rank]}]""")
    people.tx('[{:db/id 7 :of 2 :rank 3 :name "seven"} {:db/id 8 :of 1 :rank 3}]', f"[{retracted}]")
    before = people.q(ALL).value
    for form in ("{:db/excise 2}", "{:db/excise 2 :db.excise/beforeT 5}"):
        with pytest.raises(AdalogError, match="entity 7 refers to it in :of\\+rank") as refused:
            people.tx(f"[{form}]")
        assert refused.value.code is Code.TX_INVALID
    assert people.q(ALL).value == before
    assert "{:db/excise 7 :db.excise/attrs [:of :rank :of+rank]}" in refused.value.message
    people.tx("[{:db/excise 2} {:db/excise 7 :db.excise/attrs [:of :rank :of+rank]}]")
    assert people.at(history=True).q("[:find ?e ?v :where [?e :of+rank ?v]]") == "#{[8 [1 3]]}"
    assert people.q("[:find ?e :where [?e :name] [(> ?e 2)]]") == "#{[7]}"


def test_all_that_refer_to_an_entity_in_composite_tuples_are_named(people):
    people.tx("""[{:db/ident :of :db/valueType :db.type/ref} {:db/ident :rank :db/valueType :db.type/long}
                  {:db/ident :of+rank :db/valueType :db.type/tuple :db/tupleAttrs [:of :rank]}]""")
    people.tx("[{:db/id 7 :of 2 :rank 3} {:db/id 8 :of 2 :rank 4} {:db/id 9 :of 2}]")
    seven = "{:db/excise 7 :db.excise/attrs [:of :rank :of+rank]}"
    for forms, message in (
        ("", f"entity 7 refers to it .* add {re.escape(seven)} to the transaction, and the same for 8, 9$"),
        (seven, r"entity 8 refers to it .* and the same for 9$"),
        (f"{seven} {seven.replace('7', '8')}", r"entity 9 refers to it .* to the transaction$"),
    ):
        with pytest.raises(AdalogError, match=message):
            people.tx(f"[{{:db/excise 2}} {forms}]")
    people.tx(f"[{{:db/excise 2}} {' '.join(seven.replace('7', each) for each in '789')}]")
    assert people.at(history=True).q("[:find ?e ?v :where [?e :of+rank ?v]]") == "#{}"


def test_nowhere_but_in_a_transaction(people):
    with pytest.raises(AdalogError, match="with transact and nowhere else"):
        people.database.speculate(people.database.snapshot(), "[{:db/excise 1}]")
    with pytest.raises(AdalogError, match="admins alone excise"):
        people.database.submit("[{:db/excise 1}]").result()
    with pytest.raises(AdalogError, match="nowhere else"):
        people.database.bulk_load("[{:db/excise 1}]", {})


def test_among_many_transactions_at_once(people):
    database = people.database
    waiting = [database.submit(f'[{{:db/id {number} :name "n{number}"}}]') for number in range(100, 120)]
    waiting.append(database.submit("[{:db/excise 105}]", may_excise=True))
    waiting += [database.submit(f'[{{:db/id {number} :name "n{number}"}}]') for number in range(120, 140)]
    assert [each.result().t for each in waiting] == list(range(4, 45))
    assert people.q("[:find (count ?e) . :where [?e :name] [(>= ?e 100)]]") == "39"
