"""Every scalar of the typed surface in every place, against a table of three values in ascending order each.

The table is the oracle: a value is equal to itself alone, and less than those after it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from tests.typed.tracker import Tracker

ID = "00000000-0000-4000-8000-00000000000{}"


@dataclass(frozen=True)
class ScalarCase:
    """name: of the fields. declared: the attribute's type. edn: the values in transactions, in ascending order.
    json: the same in GraphQL, as variables give them and answers show them. is_name: literals are names. ordered,
    compared: whether `orderBy` and the conditions `lt lte gt gte` take them."""

    name: str
    declared: str
    scalar: str
    edn: Sequence[str]
    json: Sequence[Any]
    is_name: bool = False
    ordered: bool = True
    compared: bool = False

    def literal(self, place: int) -> str:
        value = self.json[place]
        return str(value) if self.is_name else orjson.dumps(value).decode()


def _texts(template: str, values: Sequence[str]) -> list[str]:
    return [template.format(each) for each in values]


INSTANTS = ("1969-12-31T23:59:59.999Z", "2026-03-01T00:00:00.000Z", "2026-03-01T00:00:00.001Z")
DURATIONS = ("-PT1S", "PT0S", "P1DT2H")
IDS = tuple(ID.format(each) for each in "139")
URIS = ("http://example.org/", "http://example.org/a", "urn:b")
WIDE = (-(2**63), 2**53, 2**63 - 1)
HUGE = ("-100000000000000000000", 0, "100000000000000000000")
EXACT = ("-0.3", "0.1", "12345678901234567890.5")

CASES = (
    ScalarCase("text", "string", "String", ('""', '"A"', '"é"'), ("", "A", "é"), compared=True),
    ScalarCase("flag", "boolean", "Boolean", ("false", "true", "true"), (False, True, True)),
    ScalarCase("small", "long", "Long", ("-1", "0", "7"), (-1, 0, 7), compared=True),
    ScalarCase("wide", "long", "Long", tuple(map(str, WIDE)), tuple(map(str, WIDE)), compared=True),
    ScalarCase("real", "double", "Float", ("-1.5", "0.1", "1e300"), (-1.5, 0.1, 1e300), compared=True),
    ScalarCase("single", "float", "Float", ("-1.5", "0.25", "8.0"), (-1.5, 0.25, 8.0), compared=True),
    ScalarCase("huge", "bigint", "BigInt", _texts("{}N", HUGE), HUGE, compared=True),
    ScalarCase("exact", "bigdec", "Decimal", _texts("{}M", EXACT), EXACT, compared=True),
    ScalarCase("moment", "instant", "DateTime", _texts('#inst "{}"', INSTANTS), INSTANTS, compared=True),
    ScalarCase("length", "duration", "Duration", _texts('#duration "{}"', DURATIONS), DURATIONS, compared=True),
    ScalarCase("guid", "uuid", "UUID", _texts('#uuid "{}"', IDS), IDS),
    ScalarCase("link", "uri", "URI", _texts('#uri "{}"', URIS), URIS),
    ScalarCase("blob", "bytes", "Bytes", _texts('#bytes "{}"', ("AA==", "AAE=", "/w==")), ("AA==", "AAE=", "/w==")),
    ScalarCase("word", "keyword", "Keyword", (":a", ":b", ":x/y"), (":a", ":b", ":x/y")),
    ScalarCase("sign", "symbol", "Symbol", ("a", "b", "x/y"), ("a", "b", "x/y")),
    ScalarCase(
        "pair",
        "tuple :db/tupleTypes [:db.type/long :db.type/string]",
        "JSON",
        ('[1 "b"]', '[2 "a"]', '[2 "b"]'),
        ([1, "b"], [2, "a"], [2, "b"]),
        ordered=False,
    ),
    ScalarCase(
        "state",
        "ref :graphql/enum :state",
        "State",
        (":state/off", ":state/on", ":state/half-way"),
        ("OFF", "ON", "HALF_WAY"),
        is_name=True,
    ),
    ScalarCase(
        "mark",
        "ref :graphql/enum :nothing-there",
        "Keyword",
        (":mark/a", ":mark/b", ":mark/c"),
        (":mark/a", ":mark/b", ":mark/c"),
    ),
)
BY_NAME = {each.name: each for each in CASES}
NAMES = list(BY_NAME)
# Of each entity the places of its values: of the attribute with one value, and of the one with many.
ONE = (0, 1, 2, None, 0, 2)
MANY = ((0, 1), (2,), (), (0, 2), (1,), ())


def declarations() -> str:
    parts = ["{:db/ident :thing/number :db/valueType :db.type/long :db/unique :db.unique/identity}"]
    parts += [f"{{:db/ident {each}}}" for name in ("state", "mark") for each in BY_NAME[name].edn]
    for each in CASES:
        kind = f":db/valueType :db.type/{each.declared}"
        parts.append(f"{{:db/ident :thing/{each.name} {kind}}}")
        parts.append(f"{{:db/ident :thing/{each.name}-list {kind} :db/cardinality :db.cardinality/many}}")
        parts.append(f"{{:db/ident :thing/{each.name}-key {kind} :db/unique :db.unique/value}}")
    return f"[{' '.join(parts)}]"


def entities() -> str:
    parts = []
    for number, (one, many) in enumerate(zip(ONE, MANY, strict=True)):
        text = f":thing/number {number}"
        for each in CASES:
            if one is not None:
                text += f" :thing/{each.name} {each.edn[one]}"
            if many:
                text += f" :thing/{each.name}-list [{' '.join(each.edn[place] for place in many)}]"
            if number < (2 if each.name == "flag" else 3):
                text += f" :thing/{each.name}-key {each.edn[number]}"
        parts.append(f"{{{text}}}")
    return f"[{' '.join(parts)}]"


@pytest.fixture(scope="module")
def things() -> Iterator[Tracker]:
    with Tracker.opened(declarations(), entities()) as opened:
        yield opened


def numbers(things: Tracker, arguments: str) -> list[int]:
    return [each["number"] for each in things.data(f"{{ things({arguments}) {{ number }} }}")["things"]]


def of_one(places: Collection[int], *, absent: bool = False) -> list[int]:
    """The entities whose one value has one of these places. absent: and those without one."""
    return [number for number, each in enumerate(ONE) if (absent if each is None else each in places)]


def of_many(places: Collection[int]) -> list[int]:
    return [number for number, each in enumerate(MANY) if set(places) & set(each)]


@pytest.mark.parametrize("name", NAMES)
def test_values_are_shown(things: Tracker, name: str) -> None:
    case = BY_NAME[name]
    found = things.data(f"{{ things {{ {name} {name}List }} }}")["things"]
    assert [each[name] for each in found] == [None if place is None else case.json[place] for place in ONE]
    for each, places in zip(found, MANY, strict=True):
        assert sorted(map(repr, each[f"{name}List"])) == sorted(repr(case.json[place]) for place in places)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_equal_to_themselves(things: Tracker, name: str) -> None:
    case = BY_NAME[name]
    for place, value in enumerate(case.json):
        literal = case.literal(place)
        same = {other for other, each in enumerate(case.json) if each == value}
        others = [each for each in case.json if each != value]
        conditions = [("eq", value, of_one(same)), ("ne", value, of_one({0, 1, 2} - same, absent=True))]
        if case.scalar != "Boolean":
            conditions += [
                ("in", [value, value], of_one(same)),
                ("in", [], []),
                ("notIn", others, of_one(same, absent=True)),
                ("notIn", [], of_one({0, 1, 2}, absent=True)),
            ]
        for condition, given, wanted in conditions:
            of = f"[{case.scalar}!]" if condition in ("in", "notIn") else case.scalar
            document = f"query ($v: {of}) {{ things(where: {{{name}: {{{condition}: $v}}}}) {{ number }} }}"
            assert [each["number"] for each in things.data(document, v=given)["things"]] == wanted
        assert numbers(things, f"where: {{{name}: {{eq: {literal}}}}}") == of_one(same)
        assert numbers(things, f"where: {{{name}List: {{eq: {literal}}}}}") == of_many(same)
        denied = [number for number in range(len(MANY)) if number not in of_many(same)]
        assert numbers(things, f"where: {{{name}List: {{ne: {literal}}}}}") == denied


@pytest.mark.parametrize("name", NAMES)
def test_values_are_absent(things: Tracker, name: str) -> None:
    present = {"false": of_one({0, 1, 2}), "true": [3]}
    listed = {"false": of_many({0, 1, 2}), "true": [2, 5]}
    for absent in ("false", "true"):
        assert numbers(things, f"where: {{{name}: {{isNull: {absent}}}}}") == present[absent]
        assert numbers(things, f"where: {{{name}List: {{isNull: {absent}}}}}") == listed[absent]


@pytest.mark.parametrize("name", [each.name for each in CASES if each.compared])
def test_values_are_compared(things: Tracker, name: str) -> None:
    case = BY_NAME[name]
    for place in range(3):
        below, above = set(range(place)), set(range(place + 1, 3))
        wanted = {"lt": below, "lte": below | {place}, "gt": above, "gte": above | {place}}
        for condition, places in wanted.items():
            given = f"{{{condition}: {case.literal(place)}}}"
            assert numbers(things, f"where: {{{name}: {given}}}") == of_one(places)
            assert numbers(things, f"where: {{{name}List: {given}}}") == of_many(places)
    # One value satisfies both conditions.
    between = f"{{gt: {case.literal(0)}, lt: {case.literal(2)}}}"
    assert numbers(things, f"where: {{{name}: {between}}}") == of_one({1})
    assert numbers(things, f"where: {{{name}List: {between}}}") == of_many({1})


@pytest.mark.parametrize("name", [each.name for each in CASES if each.ordered])
@pytest.mark.parametrize("way", ["ASC", "DESC"])
def test_values_are_in_order(things: Tracker, name: str, way: str) -> None:
    ranks = [None if place is None else BY_NAME[name].json.index(BY_NAME[name].json[place]) for place in ONE]
    sign = 1 if way == "ASC" else -1
    wanted = sorted(
        range(len(ONE)), key=lambda number: (ranks[number] is None, sign * (ranks[number] or 0), number)
    )
    assert numbers(things, f"orderBy: [{{{name}: {way}}}]") == wanted
    # Backwards, and across pages.
    document = f"""query ($at: String) {{ thingsConnection(orderBy: [{{{name}: {way}}}], last: 4, before: $at) {{
        nodes {{ number }} pageInfo {{ startCursor }} }} }}"""
    page = things.data(document)["thingsConnection"]
    rest = things.data(document, at=page["pageInfo"]["startCursor"])["thingsConnection"]
    assert [each["number"] for each in rest["nodes"] + page["nodes"]] == wanted


@pytest.mark.parametrize("name", NAMES)
def test_values_are_keys_of_groups(things: Tracker, name: str) -> None:
    case, field = BY_NAME[name], name.upper()
    document = f"""{{ thingsConnection {{ one: groupBy(by: [{field}]) {{ key aggregate {{ count }} }}
        many: groupBy(by: [{field}_LIST]) {{ key aggregate {{ count number {{ sum }} }} }}
        both: groupBy(by: [NUMBER, {field}]) {{ key }} }} }}"""
    found = things.data(document)["thingsConnection"]
    groups: dict[str, list[int]] = {}
    for number, place in enumerate(ONE):
        groups.setdefault(repr(None if place is None else case.json[place]), []).append(number)
    assert {repr(each["key"][name]): each["aggregate"]["count"] for each in found["one"]} == {
        key: len(members) for key, members in groups.items()
    }
    assert len(found["one"]) == len(groups)
    shown = [None if place is None else case.json[place] for place in ONE]
    assert [each["key"] for each in found["both"]] == [
        {"number": number, name: value} for number, value in enumerate(shown)
    ]
    groups = {}
    for number, places in enumerate(MANY):
        for key in {repr(case.json[place]) for place in places} or {"None"}:
            groups.setdefault(key, []).append(number)
    listed = {repr(each["key"][f"{name}List"]): each["aggregate"] for each in found["many"]}
    assert listed == {
        key: {"count": len(members), "number": {"sum": sum(members)}} for key, members in groups.items()
    }


@pytest.mark.parametrize("name", [each.name for each in CASES if each.name not in ("pair", "state", "mark")])
def test_values_are_aggregated(things: Tracker, name: str) -> None:
    case = BY_NAME[name]
    sums = case.scalar in ("Long", "Float", "BigInt", "Decimal")
    ordered = case.scalar not in ("Boolean", "Bytes")
    fields = f"count {'min max' if ordered else ''} {'sum avg' if sums else ''}"
    document = f"""{{ thingsConnection {{ aggregate {{ {name} {{ {fields} }} {name}List {{ {fields} }} }} }}
        none: thingsConnection(where: {{or: []}}) {{ aggregate {{ {name} {{ {fields} }} }} }} }}"""
    found = things.data(document)
    one, many = (found["thingsConnection"]["aggregate"][each] for each in (name, f"{name}List"))
    assert found["none"]["aggregate"][name] == {each: 0 if each == "count" else None for each in fields.split()}
    # Of an attribute with many values, equal ones of one entity are one.
    assert (one["count"], many["count"]) == (5, 6)
    if ordered:
        assert (one["min"], one["max"]) == (many["min"], many["max"]) == (case.json[0], case.json[2])
    if name in ("small", "single", "exact", "huge", "wide"):
        number = {"small": int, "wide": int, "huge": int}.get(name, float)
        values = [number(each) for each in case.json]
        wanted = sum(values[place] for place in ONE if place is not None)
        assert number(one["sum"]) == pytest.approx(wanted) if number is float else int(one["sum"]) == wanted
        assert float(one["avg"]) == pytest.approx(float(wanted) / 5)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_written(things: Tracker, name: str) -> None:
    case, shown = BY_NAME[name], f"thing {{ {name} {name}List }}"
    numbers = itertools.count(100)
    create = f"""mutation ($number: Long!, $one: {case.scalar}, $many: [{case.scalar}!]) {{
        createThing(input: {{number: $number, {name}: $one, {name}List: $many}}) {{ {shown} }} }}"""
    try:
        for place, value in enumerate(case.json):
            wanted = {name: value, f"{name}List": [value]}
            made = things.data(create, number=next(numbers), one=value, many=[value, value])
            assert made["createThing"]["thing"] == wanted
            literal = case.literal(place)
            given = f"number: {next(numbers)}, {name}: {literal}, {name}List: [{literal}, {literal}]"
            made = things.data(f"mutation {{ createThing(input: {{{given}}}) {{ {shown} }} }}")
            assert made["createThing"]["thing"] == wanted
        removed = f"updateThing(by: {{number: 100}}, set: {{{name}: null, {name}List: null}}) {{ {shown} }}"
        found = things.data(f"mutation {{ {removed} }}")["updateThing"]["thing"]
        assert found == {name: None, f"{name}List": []}
        history = things.data(
            f"{{ thing(number: 100) {{ history(attributes: [{name.upper()}]) {{ nodes {{ value added }} }} }} }}"
        )["thing"]["history"]["nodes"]
        value = case.json[0]
        if name in ("state", "mark"):
            value = int(things.entity(case.edn[0]))
        assert history == [{"value": value, "added": True}, {"value": value, "added": False}]
    finally:
        things.data(
            f"mutation {{ deleteThings(where: {{number: {{gte: 100}}}}, expected: {next(numbers) - 100}) {{ t }} }}"
        )


@pytest.mark.parametrize("name", [each.name for each in CASES if each.name not in ("state", "mark")])
def test_values_name_entities(things: Tracker, name: str) -> None:
    case = BY_NAME[name]
    document = f"query ($given: {case.scalar}) {{ thing({name}Key: $given) {{ number }} }}"
    for place in range(2 if name == "flag" else 3):
        assert things.data(document, given=case.json[place])["thing"] == {"number": place}
        literal = case.literal(place)
        assert things.data(f"{{ thing({name}Key: {literal}) {{ number }} }}")["thing"] == {"number": place}
        update = f"mutation {{ updateThing(by: {{{name}Key: {literal}}}, set: {{}}) {{ thing {{ number }} }} }}"
        assert things.data(update)["updateThing"]["thing"] == {"number": place}


def test_items_of_tuples_have_their_types() -> None:
    declared = """[{:db/ident :item/number :db/valueType :db.type/long :db/unique :db.unique/identity}
      {:db/ident :item/word :db/valueType :db.type/keyword}
      {:db/ident :item/mixed :db/valueType :db.type/tuple
       :db/tupleTypes [:db.type/keyword :db.type/instant :db.type/bigdec :db.type/ref]}
      {:db/ident :item/words :db/valueType :db.type/tuple :db/tupleType :db.type/keyword}
      {:db/ident :item/both :db/valueType :db.type/tuple :db/tupleAttrs [:item/number :item/word]
       :db/unique :db.unique/identity}]"""
    item = """{:item/number 1 :item/word :w :item/mixed [:a #inst "2026-01-01" 1.5M 1] :item/words [:a :b]}"""
    values = {
        "mixed": [":a", "2026-01-01T00:00:00.000Z", "1.5", 1],
        "words": [":a", ":b"],
        "both": [1, ":w"],
    }
    with Tracker.opened(declared, f"[{item} {{:item/number 2}}]") as own:
        shown = own.data("{ item(number: 1) { mixed words both } }")["item"]
        assert shown == values
        for name, value in values.items():
            for condition, of, given in (("eq", "JSON", value), ("in", "[JSON!]", [value])):
                document = f"query ($v: {of}) {{ items(where: {{{name}: {{{condition}: $v}}}}) {{ number }} }}"
                assert own.data(document, v=given) == {"items": [{"number": 1}]}
            denied = f"query ($v: JSON) {{ items(where: {{{name}: {{ne: $v}}}}) {{ number }} }}"
            assert own.data(denied, v=value) == {"items": [{"number": 2}]}
        assert own.data('{ item(both: [1, ":w"]) { number } }') == {"item": {"number": 1}}
        assert own.data('{ items(where: {mixed: {eq: [":a", "2026-01-01", 1.50, "1"]}}) { number } }')["items"]
        update = 'mutation { updateItem(by: {both: [1, ":w"]}, set: {words: [":c", null]}) { item { words } } }'
        assert own.data(update)["updateItem"]["item"]["words"] == [":c", None]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{ things(where: {pair: {eq: 5}}) { id } }", "where.pair.eq: a tuple is written as a list, not 5"),
        (
            '{ things(where: {pair: {eq: ["a", "b"]}}) { id } }',
            "where.pair.eq: 'a' is no long, an item of the tuple",
        ),
        (
            "{ things(where: {pair: {in: [[1]]}}) { id } }",
            "where.pair.in[0]: [1] has 1 items, and the tuple 2: long",
        ),
        ("{ thing(pairKey: 5) { id } }", "pairKey: a tuple is written as a list, not 5"),
        (
            "mutation { updateThing(by: {number: 1}, set: {pair: [1, 2]}) { t } }",
            "set.pair: 2 is no string, an item of the tuple",
        ),
    ],
)
def test_wrong_tuples_are_refused_with_their_place(things: Tracker, document: str, message: str) -> None:
    assert message in things.error(document)
