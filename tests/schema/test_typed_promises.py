"""Sentences of docs/reference/graphql.md, one test each, as far as no other test is about them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.typed.tracker import Tracker

SCHEMA = """[
  {:db/ident :box/number :db/valueType :db.type/long :db/unique :db.unique/identity}
  {:db/ident :box/name :db/valueType :db.type/string}
  {:db/ident :box/words :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
  {:db/ident :box/risks :db/valueType :db.type/double :db/cardinality :db.cardinality/many}
  {:db/ident :box/state :db/valueType :db.type/ref :graphql/enum :state}
  {:db/ident :box/states :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :graphql/enum :state}
  {:db/ident :box/owner :db/valueType :db.type/ref :graphql/type :person}
  {:db/ident :box/friends :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :graphql/type :person}
  {:db/ident :box/about :db/valueType :db.type/ref}
  {:db/ident :box/parts :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :db/isComponent true
   :graphql/type :part}
  {:db/ident :box/place :db/valueType :db.type/tuple :db/tupleAttrs [:box/number :box/name]}
  {:db/ident :box/secret :db/valueType :db.type/string :graphql/hidden true}
  {:db/ident :part/text :db/valueType :db.type/string}
  {:db/ident :part/size :db/valueType :db.type/long}
  {:db/ident :person/email :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :person/name :db/valueType :db.type/string}
  {:db/ident :state/level :db/valueType :db.type/long}
  {:db/ident :state/on} {:db/ident :state/off} {:db/ident :other/ident}]"""
BOXES = """[
  {:db/id "ada" :person/email "ada@x" :person/name "Ada"} {:db/id "bob" :person/name "Bob"}
  {:box/number 1 :box/name "one" :box/words ["a" "b"] :box/risks [0.5 ##NaN ##Inf] :box/state :state/on
   :box/states [:state/on :other/ident] :box/owner "bob" :box/friends ["ada" "bob"] :box/about :state/off
   :box/parts [{:part/text "x" :part/size 1} {:part/text "y"}]}
  {:box/number 2 :box/name "two" :box/words ["b"] :box/state :other/ident :box/owner "ada" :box/about "ada"}
  {:box/number 3 :box/state :state/on :box/owner "ada"}]"""


@pytest.fixture
def own() -> Iterator[Tracker]:
    with Tracker.opened(SCHEMA, BOXES) as opened:
        yield opened


def test_entities_that_a_ref_leads_to_are_shown_whether_or_not_they_have_the_anchor(own: Tracker) -> None:
    found = own.data(
        "{ box(number: 1) { owner { __typename name } friends { name } friendsConnection { totalCount } } }"
    )
    assert found["box"] == {
        "owner": {"__typename": "Person", "name": "Bob"},
        "friends": [{"name": "Ada"}, {"name": "Bob"}],
        "friendsConnection": {"totalCount": 2},
    }
    assert own.data("{ people { name } }") == {"people": [{"name": "Ada"}]}
    assert own.data('{ boxes(where: {owner: {name: {eq: "Bob"}}}) { number } }') == {"boxes": [{"number": 1}]}


def test_members_of_an_enum_are_idents_but_attributes_and_others_are_null(own: Tracker) -> None:
    shown = own.data('{ __type(name: "State") { enumValues { name } } }')["__type"]["enumValues"]
    assert [each["name"] for each in shown] == ["ON", "OFF"]
    found = own.data("{ boxes { state states } }")["boxes"]
    assert found == [
        {"state": "ON", "states": ["ON"]},
        {"state": None, "states": []},
        {"state": "ON", "states": []},
    ]
    assert own.data("{ boxes(where: {state: {isNull: false}}) { number } }")["boxes"] == [
        {"number": each} for each in (1, 2, 3)
    ]


def test_what_is_no_finite_number_is_null_within_lists(own: Tracker) -> None:
    assert sorted(own.data("{ box(number: 1) { risks } }")["box"]["risks"], key=str) == [0.5, None, None]


def test_keys_of_groups_have_all_their_fields_and_ids_as_text(own: Tracker) -> None:
    document = """{ boxesConnection { groupBy(by: [STATE, OWNER]) { key aggregate { count number { sum } } }
                      words: groupBy(by: [WORDS]) { key aggregate { count } } } }"""
    found = own.data(document)["boxesConnection"]
    ada = own.entity('[:person/email "ada@x"]')
    bob = own.data("{ box(number: 1) { owner { id } } }")["box"]["owner"]["id"]
    groups = {(each["key"]["state"], each["key"]["owner"]): each["aggregate"] for each in found["groupBy"]}
    assert groups == {
        ("ON", bob): {"count": 1, "number": {"sum": 1}},
        ("ON", ada): {"count": 1, "number": {"sum": 3}},
        (None, ada): {"count": 1, "number": {"sum": 2}},
    }
    # An entity is in the group of each of its values; groups are in the order of their keys, absent ones last.
    assert found["words"] == [
        {"key": {"words": each}, "aggregate": {"count": count}} for each, count in (("a", 1), ("b", 2), (None, 1))
    ]


def test_cursors_of_two_responses_are_refused_within_one_root_field(own: Tracker) -> None:
    edge = "pageInfo {{ endCursor }}"
    lists = f"friendsConnection(first: 1{{}}) {{{{ {edge} }}}} partsConnection(first: 1{{}}) {{{{ {edge} }}}}"
    document = "{{ box(number: 1) {{ " + lists + " }} }}"
    first = own.data(document.format("", ""))["box"]["friendsConnection"]["pageInfo"]["endCursor"]
    own.transact('[[:db/add [:box/number 2] :box/name "2"]]')
    second = own.data(document.format("", ""))["box"]["partsConnection"]["pageInfo"]["endCursor"]
    message = own.error(document.format(f', after: "{first}"', f', after: "{second}"'))
    assert "the cursors of one root field come from one response" in message


def test_a_filter_has_so_many_conditions_and_levels(own: Tracker) -> None:
    document = "query ($where: BoxWhere) { boxes(where: $where) { number } }"
    least = {"number": {"gte": 0}}
    assert len(own.data(document, where={"and": [least] * 50})["boxes"]) == 3
    assert "has more than 1,000 conditions" in own.error(document, where={"and": [least] * 1_000})
    deep = least
    for _ in range(40):
        deep = {"not": deep}  # type: ignore[dict-item]
    assert len(own.data(document, where=deep)["boxes"]) == 3
    for _ in range(20):
        deep = {"not": deep}  # type: ignore[dict-item]
    assert "nested more than 50 levels deep" in own.error(document, where=deep)


def test_a_list_of_values_replaces_those_that_an_entity_has(own: Tracker) -> None:
    document = "mutation ($words: [String!]) { updateBox(by: {number: 1}, set: {words: $words}) { box { words } } }"
    for words in (["b", "c"], [], ["c", "c"]):
        assert own.data(document, words=words)["updateBox"]["box"]["words"] == sorted(set(words))
    assert own.data(document)["updateBox"]["box"]["words"] == ["c"]
    assert own.data(document, words=None)["updateBox"]["box"]["words"] == []


def test_a_deletion_retracts_components_and_references(own: Tracker) -> None:
    parts = [each["id"] for each in own.data("{ box(number: 1) { parts { id } } }")["box"]["parts"]]
    deleted = own.data("mutation { deleteBox(by: {number: 1}) { ids } }")["deleteBox"]["ids"]
    assert (
        own.data("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", ids=[*deleted, *parts])["nodes"] == [None] * 3
    )
    own.data('mutation { deletePerson(by: {email: "ada@x"}) { t } }')
    assert own.data("{ boxes { number owner { id } } }")["boxes"] == [
        {"number": 2, "owner": None},
        {"number": 3, "owner": None},
    ]


@pytest.mark.parametrize(
    ("name", "absent", "present"),
    [
        ("BoxCreateInput", {"place", "secret"}, {"number", "name", "parts", "owner"}),
        ("BoxWhere", {"secret"}, {"place", "aboutIsNull", "ownerIsNull", "and", "not"}),
        ("BoxOrderBy", {"secret", "words", "parts", "place", "about"}, {"owner", "state", "id"}),
        ("PartCreateInput", set(), {"text", "box"}),
    ],
)
def test_inputs(own: Tracker, name: str, absent: set[str], present: set[str]) -> None:
    shown = own.data(f'{{ __type(name: "{name}") {{ inputFields {{ name type {{ kind }} }} }} }}')["__type"][
        "inputFields"
    ]
    names = {each["name"] for each in shown}
    assert not names & absent
    assert present <= names
    # The anchor is required where it is one attribute.
    required = {each["name"] for each in shown if each["type"]["kind"] == "NON_NULL"}
    assert required == ({"number"} if name == "BoxCreateInput" else set())


def test_a_ref_without_a_type_is_filtered_and_written_by_id_or_ident(own: Tracker) -> None:
    off, ada = own.entity(":state/off"), own.entity('[:person/email "ada@x"]')
    document = "query ($id: ID) { boxes(where: {about: {id: {eq: $id}}}) { number about { id ident } } }"
    assert own.data(document, id=off)["boxes"] == [{"number": 1, "about": {"id": off, "ident": ":state/off"}}]
    assert own.data(document, id=ada)["boxes"] == [{"number": 2, "about": {"id": ada, "ident": None}}]
    assert own.data("{ boxes(where: {aboutIsNull: true}) { number } }")["boxes"] == [{"number": 3}]
    update = """mutation ($to: EntityRefUpdateInput) {
        updateBox(by: {number: 3}, set: {about: $to}) { box { about { id } } } }"""
    for to, shown in (
        ({"connect": {"ident": ":state/off"}}, {"id": off}),
        ({"connect": {"id": ada}}, {"id": ada}),
        ({"disconnect": True}, None),
    ):
        assert own.data(update, to=to)["updateBox"]["box"]["about"] == shown
    assert "there is no entity with ident" in own.error(update, to={"connect": {"ident": ":no/ident"}})


def test_a_ref_with_both_declarations_is_an_enum(own: Tracker) -> None:
    own.transact("[{:db/ident :box/both :db/valueType :db.type/ref :graphql/enum :state :graphql/type :person}]")
    found = own.data("{ schemaWarnings { code message } }")["schemaWarnings"]
    warnings = {each["code"]: each["message"] for each in found}
    assert ":box/both has :graphql/enum" in warnings["NO_TYPE"]
    assert own.data("{ boxes { both } }")["boxes"][0] == {"both": None}


def test_a_field_named_and_has_no_condition(own: Tracker) -> None:
    own.transact('[{:db/ident :box/and :db/valueType :db.type/string} {:box/number 1 :box/and "x"}]')
    assert own.data("{ boxes(where: {and: [{number: {eq: 1}}]}, orderBy: [{and: ASC}]) { and } }")["boxes"] == [
        {"and": "x"}
    ]


def test_the_payload_of_a_bulk_change_shows_all_of_its_entities(own: Tracker) -> None:
    own.transact(f"[{' '.join(f'{{:box/number {number}}}' for number in range(100, 350))}]")
    update = """mutation {
        updateBoxes(where: {number: {gte: 100}}, set: {name: "x"}, expected: 250) { boxes { name } } }"""
    assert own.data(update)["updateBoxes"]["boxes"] == [{"name": "x"}] * 250
