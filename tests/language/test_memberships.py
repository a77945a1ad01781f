"""`in` and `between` as what finds values, not only as tests of them."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.builtins.comparison import same_value
from adalog.datalog.edn import read
from adalog.datalog.values import compare
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.arguments import GivenArgument
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.property.model import SWITCHES, examples

NUMBERS = """1 1.0 1N 1M 1.00M 0 0.0 -0.0 0M 0N 0.1 0.1M 0.5 0.5M 9007199254740993 9007199254740992.0
             9007199254740993N 18446744073709551616N 18446744073709551616.0 1e300 1e300M 1e400M ##Inf ##-Inf
             ##NaN"""
VALUES = [*NUMBERS.split(), '"a"', '"b"', ":a", "true", "[1 2]", '#inst "2020-01-01"', "\\a"]


@pytest.fixture
def people(db):
    db.tx('[{:db/id 1 :age 36 :s "x"} {:db/id 2 :age 20 :s "y"} {:db/id 3 :age 20 :s "z"}]')
    return db


@pytest.mark.parametrize(
    "condition",
    [
        "[(between ?t ?low ?high)]",
        "[(if (< ?t ?low) false (<= ?t ?high))]",
        "[(<= ?low ?t) ?r] [(<= ?t ?high) ?r] [(true? ?r)]",
        "(not [(not (between ?t ?low ?high))])",
    ],
)
def test_text_of_json_is_what_it_is_compared_with(db, condition):
    db.tx('[{:db/id 1 :at #inst "2020-01-01"} {:db/id 2 :at #inst "2021-01-01"} {:db/id 3 :at #inst "2022-01-01"}]')
    ends = [GivenArgument(each, json=True) for each in ("2020-06-01", "2021-06-01")]
    assert db.q(f"[:find ?e :in $ ?low ?high :where [?e :at ?t] {condition}]", *ends) == "#{[2]}"


def test_between_values_in_no_order_is_warned_of(db):
    db.tx('[{:db/id 1 :at #inst "2020-01-01"}]')
    text = '[:find ?e :where [?e :at ?t] ‸[(between ?t "2020" "2021")]]'
    assert db.warnings(text) == ["IMPOSSIBLE_VALUE"]


def test_a_list_binds_its_values(people):
    assert people.q("[:find ?x :where [(in ?x [1 2 2])]]") == "#{[1] [2]}"
    assert people.q("[:find ?x :in $ ?l :where [(in ?x ?l)]]", "#{:a 1.0}") == "#{[:a] [1.0]}"
    assert people.q("[:find ?e :where [(in ?x [20 21])] [?e :age ?x]]") == "#{[2] [3]}"
    assert people.q('[:find ?e :where (or [(in ?e [1 9])] [?e :s "y"])]') == "#{[1] [9] [2]}"
    assert people.q("[:find ?x :where [(in ?x [1 2 3])] [(> ?x 1)] (not [?e :age 36] [(in ?x [3])])]") == "#{[2]}"
    assert people.q("[:find ?x :where [(in ?x [1 nil ##NaN])]]") == "#{[1]}"
    rules = "[[(few ?x) [(in ?x [:a :b])]] [(small ?x) [(in ?x [1 2])] [(identity ?x) ?y]]]"
    assert people.q("[:find ?x :in $ % :where (few ?x)]", rules) == "#{[:a] [:b]}"
    assert people.q("[:find ?x :in $ % [?x ...] :where (small ?x)]", rules, "[1.0 3 2]") == "#{[1.0] [2]}"


def test_explain_begins_with_a_short_list(people):
    people.tx("[" + " ".join(f'[:db/add {number} :s "s{number}"]' for number in range(10, 500)) + "]")
    plan = people.pool.explain(QueryRequest('[:find ?e :where [?e :s ?s] [(in ?s ["x" "y"])]]'), analyze=True).plan
    assert [each["variable"] for each in plan["levels"]][-2:] == ["?s", "?e"]
    assert max(each["actual"]["candidates"] for each in plan["levels"]) <= 2


@settings(max_examples=examples(60))
@given(st.integers(0, 2**48))
def test_it_is_the_test_that_it_was(seed):
    rng = Random(seed)
    values = [rng.choice(VALUES) for _ in range(8)]
    among = list(dict.fromkeys(rng.choice(VALUES) for _ in range(rng.randint(0, 4))))
    given = [(place, read(each)) for place, each in enumerate(values)]
    rows = f"[{' '.join(f'[{place} {each}]' for place, each in enumerate(values))}]"
    low, high = rng.choice(VALUES), rng.choice(VALUES)
    members = [read(each) for each in among]
    wanted_in = {place for place, value in given if any(same_value(value, each) for each in members)}
    ends = read(low), read(high)
    wanted_between = {
        place for place, value in given if compare(ends[0], value) in (-1, 0) and compare(value, ends[1]) in (-1, 0)
    }
    with Database.open(":memory:") as database:
        pool = Pool(database, PoolSettings(threads=1))
        for clause, wanted in (
            (f"(in ?x [{' '.join(among)}])", wanted_in),
            (f"(not-in ?x [{' '.join(among)}])", {place for place, _ in given} - wanted_in),
            (f"(between ?x {low} {high})", wanted_between),
        ):
            for options in (SWITCHES[0], rng.choice(SWITCHES)):
                query = f"[:find ?i :in $ [[?i ?x]] :where [{clause}]]"
                request = QueryRequest(query, [read(rows)], options=options)
                assert {row[0] for row in pool.run(request).rows()} == wanted, f"{query} {rows}"
            rule = f"[:find ?i :in $ [[?i ?x]] :where (r ?x) :rules [[(r ?x) [{clause}]]]]"
            assert {row[0] for row in pool.run(QueryRequest(rule, [read(rows)])).rows()} == wanted, rule
        pool.close()


def test_longer_lists_stay_a_test(people):
    among = f"[{' '.join(map(str, range(2_000)))}]"
    assert people.q(f"[:find ?e :where [?e :age ?x] [(in ?x {among})]]") == "#{[1] [2] [3]}"
    assert len(people.q(f"[:find ?x :where [(in ?x {among})]]")) == 2_000
