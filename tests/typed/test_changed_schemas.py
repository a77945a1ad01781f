"""Typed fields over a past whose attributes had another type or cardinality, and names that no pattern reads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.typed.tracker import Tracker

SCHEMA = """[{:db/ident :item/id :db/valueType :db.type/long :db/unique :db.unique/identity}
             {:db/ident :item/name :db/valueType :db.type/string}
             {:db/ident :item/size :db/valueType :db.type/long}
             {:db/ident :item/state :db/valueType :db.type/ref :graphql/enum :state}
             {:db/ident :item/next :db/valueType :db.type/ref :graphql/type :item}
             {:db/ident :state/on} {:db/ident :state/off}]"""
ITEMS = """[{:db/id "a" :item/id 1 :item/name "Login" :item/size 3 :item/state :state/on :item/next "b"}
            {:db/id "b" :item/id 2 :item/name "Page"}]"""
FIELDS = "name state next { name } size"


@pytest.fixture
def tracker() -> Iterator[Tracker]:
    with Tracker.opened(SCHEMA, ITEMS) as opened:
        yield opened


def test_values_of_a_past_with_one_value_are_lists(tracker: Tracker) -> None:
    many = " ".join(
        f"{{:db/id :item/{each} :db/cardinality :db.cardinality/many}}" for each in ("name", "state", "next")
    )
    tracker.transact(f"[{many}]")
    expected = {"name": ["Login"], "state": ["ON"], "next": [{"name": ["Page"]}], "size": 3}
    assert tracker.data(f"{{ item(key: 1, basis: {{t: 2}}) {{ {FIELDS} }} }}") == {"item": expected}
    assert tracker.data(f"{{ items(where: {{key: {{eq: 1}}}}) {{ {FIELDS} }} }}") == {"items": [expected]}


def test_of_a_past_with_several_values_one_is_shown(tracker: Tracker) -> None:
    names = ("name", "state", "next")
    many = (f"{{:db/id :item/{each} :db/cardinality :db.cardinality/many}}" for each in names)
    tracker.transact(f"[{' '.join(many)}]")
    tracker.transact('[{:item/id 1 :item/name ["Login" "A"] :item/next [{:item/id 3 :item/name "C"}]}]')
    t = tracker.database.snapshot().t
    tracker.transact(
        '[[:db/retract [:item/id 1] :item/name "A"] [:db/retract [:item/id 1] :item/next [:item/id 3]]]'
    )
    one = (f"{{:db/id :item/{each} :db/cardinality :db.cardinality/one}}" for each in names)
    tracker.transact(f"[{' '.join(one)}]")
    found = tracker.data(f"{{ item(key: 1, basis: {{t: {t}}}) {{ {FIELDS} }} }}")["item"]
    assert found["name"] in ("A", "Login")
    assert found["state"] == "ON"
    assert found["next"]["name"] in ("Page", "C")


@pytest.mark.parametrize("back", [False, True])
def test_a_repeated_mutation_is_answered_after_a_change_of_cardinality(back: bool) -> None:
    mutations = [
        'createItem(input: {key: 7, name: "x", state: ON, next: {create: {key: 8}}}, idempotencyKey: "1")',
        'upsertItem(input: {key: 7, name: "x"}, idempotencyKey: "2")',
        'upsertItem(input: {key: 9, name: "x"}, idempotencyKey: "3")',
        'updateItem(by: {key: 7}, set: {name: "y", state: OFF, next: {connect: {key: 9}}}, idempotencyKey: "4")',
        'updateItems(where: {name: {eq: "y"}}, set: {name: "z"}, expected: 1, idempotencyKey: "5")',
        'updateItem(by: {key: 7}, set: {name: null, next: null}, idempotencyKey: "6")',
        'deleteItem(by: {key: 8}, idempotencyKey: "7")',
    ]
    shown = ["item { key }"] * 4 + ["items { key }", "item { key }", "ids"]
    documents = [f"mutation {{ {each} {{ t {what} }} }}" for each, what in zip(mutations, shown, strict=True)]
    names = ("name", "state", "next")
    declared = {
        many: " ".join(f"{{:db/id :item/{each} :db/cardinality :db.cardinality/{many}}}" for each in names)
        for many in ("one", "many")
    }
    with Tracker.opened(SCHEMA) as tracker:
        if back:
            tracker.transact(f"[{declared['many']}]")
        answers = [tracker.data(each) for each in documents]
        tracker.transact(f"[{declared['one' if back else 'many']}]")
        t = tracker.database.snapshot().t
        assert [tracker.data(each) for each in documents] == answers
        assert tracker.database.snapshot().t == t
        other = tracker.ask(documents[0].replace('"x"', '"w"'))
        assert other["errors"][0]["extensions"]["code"] == "ARG_INVALID"


def test_values_of_another_type_are_not_shown(tracker: Tracker) -> None:
    tracker.transact("[[:db/retract [:item/id 1] :item/size]]")
    tracker.transact("[{:db/id :item/size :db/valueType :db.type/instant}]")
    assert tracker.data("{ item(key: 1, basis: {t: 2}) { name size } }") == {
        "item": {"name": "Login", "size": None}
    }


def test_attributes_that_a_pattern_reads_backwards_are_left_out(tracker: Tracker) -> None:
    tracker.transact("[{:db/ident :item/_secret :db/valueType :db.type/string}]")
    (warning,) = tracker.data("{ schemaWarnings { code message } }")["schemaWarnings"]
    assert warning["code"] == "NAME_INVALID"
    assert ":item/_secret is no field" in warning["message"]
    assert "secret" in tracker.error("{ items { secret } }")


def test_a_cursor_belongs_to_the_list_of_one_entity(tracker: Tracker) -> None:
    tracker.transact('[{:item/id 4 :item/name "D" :item/next [:item/id 2]} {:item/id 5 :item/next [:item/id 1]}]')
    document = (
        "query ($key: Long, $after: String) { item(key: $key) { items: itemsConnection(first: 1, after: $after) "
    )
    document += "{ nodes { key } pageInfo { endCursor hasNextPage } } } }"
    first = tracker.data(document, key=2)["item"]["items"]
    assert first["nodes"] == [{"key": 1}]
    after = first["pageInfo"]["endCursor"]
    assert tracker.data(document, key=2, after=after)["item"]["items"]["nodes"] == [{"key": 4}]
    assert "the cursor belongs to the list of entity" in tracker.error(document, key=1, after=after)


def test_instants_have_milliseconds(tracker: Tracker) -> None:
    tracker.transact("[{:db/ident :item/made :db/valueType :db.type/instant}]")
    create = 'mutation {{ createItem(input: {{key: 9, made: "2026-12-01T10:00:00.{}Z"}}) {{ item {{ made }} }} }}'
    assert "DateTime has milliseconds" in tracker.error(create.format("123456"))
    made = tracker.data(create.format("123000"))["createItem"]["item"]["made"]
    assert made == "2026-12-01T10:00:00.123Z"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{ items(where: {state: {eq: CLOSED}}) { name } }", "it is one of ON, OFF"),
        ('{ items(where: {state: {eq: ":state/on"}}) { name } }', "it is one of ON, OFF"),
        ("mutation { createItem(input: {key: 7, next: 1}) { t } }", "ItemRefInput has connect, create"),
    ],
)
def test_errors_say_what_there_is(tracker: Tracker, document: str, said: str) -> None:
    (error, *_) = tracker.ask(document)["errors"]
    assert said in error["message"]
