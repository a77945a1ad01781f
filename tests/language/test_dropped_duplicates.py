"""Equal values that fall together before they are summed are warned of: data, query, how many."""

from __future__ import annotations

import random

import pytest

from adalog.executor.cache.cached_value import fetched_rows
from adalog.executor.cache.codec import NotAnEntryError, decode, encode, entry_of
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from tests.support import World

SCHEMA = """
[{:db/ident :line/supplier :db/valueType :db.type/ref}
 {:db/ident :line/qty :db/valueType :db.type/long}
 {:db/ident :line/price :db/valueType :db.type/bigdec}
 {:db/ident :line/tag :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :order/line :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :order/customer :db/valueType :db.type/keyword}
 {:db/ident :supplier/name :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :supplier/nation :db/valueType :db.type/keyword}
 {:db/ident :tag/name :db/valueType :db.type/keyword}]
"""
DATA = """
[{:db/id 1 :supplier/name "A" :supplier/nation :de} {:db/id 2 :supplier/name "B" :supplier/nation :fr}
 {:db/id 3 :supplier/name "C" :supplier/nation :de}
 {:db/id 11 :line/supplier 1 :line/qty 5 :line/price 2M :line/tag [21 22]}
 {:db/id 12 :line/supplier 1 :line/qty 5 :line/price 2M}
 {:db/id 13 :line/supplier 1 :line/qty 7 :line/price 1M :line/tag 21}
 {:db/id 14 :line/supplier 2 :line/qty 5 :line/price 2M :line/tag 22}
 {:db/id 15 :line/supplier 3 :line/qty 7 :line/price 2M}
 {:db/id 21 :tag/name :a} {:db/id 22 :tag/name :b}
 {:db/id 31 :order/line [11 12 13] :order/customer :x} {:db/id 32 :order/line [14 15] :order/customer :x}]
"""


@pytest.fixture
def shop(db: World) -> World:
    db.tx(SCHEMA, DATA)
    return db


def said(world: World, query: str, *args: str) -> str:
    codes = world.warnings(query, *args)
    assert set(codes) <= {"DROPPED_DUPLICATES"}
    return world.says(query, *args)


@pytest.mark.parametrize(
    ("query", "number", "owner"),
    [
        ("[:find (sum ?q) . :where [?l :line/qty ?q]]", 3, "?l"),
        ("[:find (avg ?q) . :where [?l :line/qty ?q] [(> ?q 5)]]", 1, "?l"),
        ("[:find (sum (* 2 ?q)) . :where [?l :line/qty ?q]]", 3, "?l"),
        ("[:find (sum (* ?p ?q)) . :where [?l :line/qty ?q] [?l :line/price ?p]]", 2, "?l"),
        ("[:find (sum ?q) . :where [?l :line/qty ?q] [?l :line/price ?p]]", 3, "?l"),
        ("[:find ?s (sum ?q) :where [?l :line/supplier ?s] [?l :line/qty ?q]]", 1, "?l"),
        ("[:find ?n (sum ?q) :where [?l :line/supplier ?s] [?l :line/qty ?q] [?s :supplier/name ?n]]", 1, "?l"),
        ("[:find ?n (sum ?q) :where [?l :line/supplier ?s] [?l :line/qty ?q] [?s :supplier/nation ?n]]", 2, "?l"),
        (
            "[:find (median ?q) :in $ ?n :where [?l :line/supplier ?s] [?l :line/qty ?q] [?s :supplier/nation ?n]]",
            2,
            "?l",
        ),
        ("[:find ?c (variance ?q) :where [?o :order/line ?l] [?l :line/qty ?q] [?o :order/customer ?c]]", 3, "?l"),
        ("[:find (sum ?v) . :where [?l :line/qty ?q] [?l :line/price ?p] [(* ?q ?p) ?v]]", 2, "?l"),
        ("[:find (stddev ?v) . :where [?l :line/qty ?q] [?l :line/supplier 1] [(* ?q 2) ?v]]", 1, "?l"),
        ("[:find (sum ?q) (count ?s) :where [?l :line/supplier ?s] [?l :line/qty ?q]]", 1, "?l"),
        ("[:find (sum ?q) (max ?p) :where [?l :line/price ?p] [?l :line/qty ?q]]", 2, "?l"),
    ],
)
def test_how_many_and_what_tells_them_apart(shop, query, number, owner):
    args = (":de",) if ":in" in query else ()
    message = said(shop, query, *args)
    rows = "1 row that differs from another" if number == 1 else f"{number} rows that differ from others"
    assert f" {rows} only in {owner} " in message
    assert f":with {owner} counts each" in message
    assert said(shop, query.replace(" :where", f" :with {owner} :where"), *args) == ""


def test_the_place_is_the_aggregate(shop):
    assert shop.warnings("[:find ?s ‸(sum ?q) :where [?l :line/supplier ?s] [?l :line/qty ?q]]") == [
        "DROPPED_DUPLICATES"
    ]


@pytest.mark.parametrize(
    "query",
    [
        "[:find ?l (sum ?q) :where [?l :line/qty ?q]]",
        "[:find (sum ?q) . :with ?l :where [?l :line/qty ?q]]",
        # One tag or several, of one line.
        "[:find (sum ?q) . :with ?l :where [?l :line/qty ?q] [?l :line/tag ?t] [?t :tag/name]]",
        "[:find (sum ?q) . :with ?l :where [?l :line/qty ?q] [?l :line/tag]]",
        "[:find (count ?q) . :where [?l :line/qty ?q]]",
        "[:find (min ?q) (max ?q) (count-distinct ?q) (distinct ?q) :where [?l :line/qty ?q]]",
        "[:find ?q (count ?l) :where [?l :line/qty ?q]]",
        # Entities are themselves.
        "[:find (sum ?s) . :where [?l :line/supplier ?s] [?s :supplier/name]]",
        "[:find ?n (sum ?q) :where [?s :supplier/name ?n] [?l :line/supplier ?s] [?l :line/qty ?q] [(= ?l 11)]]",
        "[:find (sum ?x) . :in [?x ...]]",
        "[:find (sum ?q) . :where [11 :line/qty ?q]]",
        "[:find ?s (sum ?q) :where [?l :line/tag 21] [?l :line/supplier ?s] [?l :line/qty ?q] [?s :supplier/name]]",
        # What multiplies rows may be the tags alone.
        "[:find (sum ?q) . :where [?l :line/qty ?q] [?l :line/tag ?t] [?t :tag/name]]",
    ],
)
def test_nothing_is_said(shop, query):
    assert said(shop, query, *(["[1 1 2]"] if ":in" in query else [])) == ""


RULE = "[[(rev ?s (sum ?q)) [?l :line/supplier ?s] [?l :line/qty ?q]]]"


def test_rules(shop):
    message = said(shop, "[:find ?s ?q :in $ % :where (rev ?s ?q)]", RULE)
    assert "1 row that differs from another only in ?l is left out" in message
    assert "(sum …) of the rule rev" in message
    assert said(shop, "[:find ?q . :in $ % :where (rev 1 ?q)]", RULE) == message
    assert said(shop, "[:find ?q . :in $ % :where (rev 2 ?q)]", RULE) == ""
    assert said(shop, "[:find ?s :in $ % :where (rev ?s ?q) [(> ?q 10)]]", RULE) == message


def test_a_rule_over_one_pattern(shop):
    rule = "[[(all (sum ?q)) [?l :line/qty ?q]]]"
    assert "3 rows that differ from others only in ?l are left out" in said(
        shop, "[:find ?q . :in $ % :where (all ?q)]", rule
    )


def test_a_local_variable_of_a_rule(shop):
    rules = "[[(of ?s ?q) [?l :line/supplier ?s] [?l :line/qty ?q]]]"
    message = said(shop, "[:find ?s (sum ?q) :in $ % :where (of ?s ?q)]", rules)
    assert "1 row that differs from another only in ?l is left out" in message
    assert "where the rule or clause that it is local to shares it" in message


def test_explain_analyze(shop):
    request = QueryRequest("[:find (sum ?q) . :where [?l :line/qty ?q]]", snapshot=shop.database.snapshot())
    assert [each.code for each in shop.pool.explain(request, analyze=True).diagnostics] == ["DROPPED_DUPLICATES"]
    assert not shop.pool.explain(request).diagnostics


def test_a_kept_answer_has_the_same_warnings(shop):
    pool = Pool(shop.database, cache=CacheSettings())
    try:
        world = World(shop.database, pool)
        query = "[:find ?s (sum ?q) :where [?l :line/supplier ?s] [?l :line/qty ?q]]"
        for asked, owner in ((query, "?l"), (query, "?l"), (query.replace("?l", "?line"), "?line")):
            result = world.run(asked)
            (found,) = pool.found_out(result.question, result.dropped)
            assert f"1 row that differs from another only in {owner} is left out" in found.message
        assert result.cache == "HIT"
    finally:
        pool.close()


def test_an_answer_from_another_gateway_has_them(shop):
    result = shop.run("[:find (sum ?q) . :where [?l :line/qty ?q]]")
    key = bytes(32)
    entry = decode(key, encode(key, entry_of(result)))
    assert entry.dropped == {"": (3, True)}
    kept = fetched_rows(entry, 1, shop.database.snapshot().codes)
    assert kept is not None
    assert kept.result is not None
    assert kept.result.dropped == result.dropped


@pytest.mark.parametrize("said", ["[]", '{"": 1}', '{"": [true, true]}', '{"": [1, 1]}', "{", '{"": ["1", true]}'])
def test_an_entry_that_says_anything_else_is_none(shop, said, monkeypatch):
    result = shop.run("[:find (sum ?q) . :where [?l :line/qty ?q]]")
    key = bytes(32)
    monkeypatch.setattr("adalog.executor.cache.codec.json.dumps", lambda _: said)
    data = encode(key, entry_of(result))
    with pytest.raises(NotAnEntryError):
        decode(key, data)


def test_against_brute_force(db):
    """What is said is true; where the schema tells enough, it is said."""
    rng = random.Random(7)
    db.tx(SCHEMA)
    forms = [f'{{:db/id {n} :supplier/name "{n}" :supplier/nation :n{n % 3}}}' for n in range(1, 9)]
    lines = {}
    for line in range(100, 700):
        lines[line] = (rng.randrange(1, 9), rng.randrange(30))
        forms.append(f"{{:db/id {line} :line/supplier {lines[line][0]} :line/qty {lines[line][1]}}}")
    db.tx(f"[{' '.join(forms)}]")
    by = {
        "?s": lambda s: s,
        "?n": lambda s: s % 3,
        "?name": lambda s: s,
    }
    for key, group in by.items():
        for extra in ("", " [(> ?q 9)]", " [(even? ?q)]"):
            query = (
                f"[:find {key} (sum ?q) :where [?l :line/supplier ?s] [?s :supplier/nation ?n] "
                f"[?s :supplier/name ?name] [?l :line/qty ?q]{extra}]"
            )
            kept = [q > 9 if ">" in extra else q % 2 == 0 or not extra for _, q in lines.values()]
            rows = [(group(s), q) for (s, q), keep in zip(lines.values(), kept, strict=True) if keep]
            fell = len(rows) - len(set(rows))
            assert f" {fell} row" in said(db, query), query
