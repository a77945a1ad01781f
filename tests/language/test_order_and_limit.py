"""`:order-by`, `:limit`, `:offset`, `:timeout`: a total order, and duplicates gone before the limit."""

from __future__ import annotations

import pytest

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import sort_key


@pytest.fixture
def people(db):
    db.tx("""[{:db/id 1 :name "Ada" :age 36} {:db/id 2 :name "Byron" :age 36} {:db/id 3 :name "Zoe" :age 9}
              {:db/id 4 :name "Cy" :age 50}]""")
    return db


WHERE = ":where [?e :name ?n] [?e :age ?a]"


def test_ascending_and_descending(people):
    assert people.q(f"[:find ?n ?a {WHERE} :order-by [?n]]") == '[["Ada" 36] ["Byron" 36] ["Cy" 50] ["Zoe" 9]]'
    assert (
        people.q(f"[:find ?n ?a {WHERE} :order-by [[?n :desc]]]") == '[["Zoe" 9] ["Cy" 50] ["Byron" 36] ["Ada" 36]]'
    )


def test_several_keys(people):
    expected = '[["Cy" 50] ["Ada" 36] ["Byron" 36] ["Zoe" 9]]'
    assert people.q(f"[:find ?n ?a {WHERE} :order-by [[?a :desc] ?n]]") == expected
    assert people.q(f"[:find ?n ?a {WHERE} :order-by [[?a :desc] [?n :asc]]]") == expected


def test_a_single_key_may_stand_alone_in_the_list_form(people):
    assert people.q(f"[:find ?n {WHERE} :order-by ?n]") == '[["Ada"] ["Byron"] ["Cy"] ["Zoe"]]'


def test_collection_in_order(people):
    assert people.q(f"[:find [?n ...] {WHERE} :order-by [[?n :desc]]]") == '["Zoe" "Cy" "Byron" "Ada"]'


def test_scalar_and_tuple_take_the_first(people):
    assert people.q(f"[:find ?n . {WHERE} :order-by [[?n :desc]]]") == '"Zoe"'
    assert people.q(f"[:find [?n ?a] {WHERE} :order-by [?a]]") == '["Zoe" 9]'


def test_limit_and_offset(people):
    assert people.q(f"[:find ?n {WHERE} :order-by [?n] :limit 2]") == '[["Ada"] ["Byron"]]'
    assert people.q(f"[:find ?n {WHERE} :order-by [?n] :limit 2 :offset 1]") == '[["Byron"] ["Cy"]]'
    assert people.q(f"[:find ?n {WHERE} :order-by [?n] :offset 3]") == '[["Zoe"]]'
    assert people.q(f"[:find ?n {WHERE} :order-by [?n] :offset 4]") == "[]"
    assert people.q(f"[:find ?n {WHERE} :order-by [?n] :limit 100]") == '[["Ada"] ["Byron"] ["Cy"] ["Zoe"]]'


def test_duplicates_are_gone_before_the_limit(people):
    assert people.q(f"[:find ?a {WHERE} :order-by [?a] :limit 2]") == "[[9] [36]]"
    assert len(people.q(f"[:find ?a {WHERE} :limit 3]")) == 3
    assert people.q(f"[:find ?a {WHERE} :order-by [?a] :offset 1]") == "[[36] [50]]"


def test_limit_without_order(people):
    answer = people.q(f"[:find ?n {WHERE} :limit 2]")
    assert len(answer) == 2
    assert {row[0] for row in answer.rows} < {"Ada", "Byron", "Cy", "Zoe"}


def test_limit_over_projection_finds_enough_distinct_rows(db):
    pairs = " ".join(f"[{number % 5} {number}]" for number in range(5000))
    assert len(db.q("[:find ?x :in [[?x ?y]] :limit 4]", f"[{pairs}]")) == 4
    assert len(db.q("[:find ?x :in [[?x ?y]] :limit 40]", f"[{pairs}]")) == 5


def test_limit_comes_after_aggregates(people):
    assert people.q("[:find (count ?e) . :where [?e :age] :limit 1]") == "4"
    assert people.q("[:find ?a (count ?e) :where [?e :age ?a] :order-by [?a] :limit 2]") == "[[9 1] [36 2]]"


def test_limit_zero(people):
    assert people.q(f"[:find ?n {WHERE} :limit 0]") == "#{}"


@pytest.mark.timeout(60)
def test_limit_stops_early(db):
    numbers = " ".join(str(number) for number in range(3000))
    query = "[:find ?x ?y ?z :in [?x ...] [?y ...] [?z ...] :limit 10]"
    assert len(db.q(query, f"[{numbers}]", f"[{numbers}]", f"[{numbers}]")) == 10


def test_order_is_total_over_mixed_types(db):
    values = '[2 1 1.5 0.5 "b" "a" :k :j true false #inst "2020-01-01" 3N 2M [1 2]]'
    mixed = db.q("[:find [?x ...] :in [?x ...] :order-by [?x]]", values).value
    assert mixed == sorted(mixed, key=sort_key)
    assert len(mixed) == 14
    assert db.q("[:find [?x ...] :in [?x ...] :order-by [[?x :desc]]]", values).value == mixed[::-1]


def test_order_by_negative_and_large_numbers(db):
    values = "[3 -1 0 -9223372036854775808 9223372036854775807 576460752303423488]"
    assert db.q("[:find [?x ...] :in [?x ...] :order-by [?x]]", values) == (
        "[-9223372036854775808 -1 0 3 576460752303423488 9223372036854775807]"
    )
    assert db.q("[:find [?x ...] :in [?x ...] :order-by [?x]]", "[1.5 -1.5 0.0 ##-Inf ##Inf 1e300 -1e300]") == (
        "[##-Inf -1e300 -1.5 0.0 1.5 1e300 ##Inf]"
    )


def test_order_by_keys_of_maps(people):
    assert people.q(f"[:find ?n ?a :keys n a {WHERE} :order-by [?a] :limit 1]") == '[{:n "Zoe" :a 9}]'


def test_a_direction_belongs_to_the_term_before_it(people):
    expected = '[["Zoe" 9] ["Byron" 36] ["Ada" 36] ["Cy" 50]]'
    assert people.q(f"[:find ?n ?a {WHERE} :order-by [?a ?n :desc]]") == expected
    assert people.q(f"[:find ?n ?a {WHERE} :order-by [?a :asc ?n :desc]]") == expected
    assert people.q("{:find [?n ?a] :where [[?e :name ?n] [?e :age ?a]] :order-by [[?a] ?n :desc]}") == expected
    assert people.q(f"[:find [?n ...] {WHERE} :order-by [?n :desc]]") == '["Zoe" "Cy" "Byron" "Ada"]'


def test_columns_by_number(people):
    expected = '[["Cy" 50] ["Ada" 36] ["Byron" 36] ["Zoe" 9]]'
    assert people.q(f"[:find ?n ?a {WHERE} :order-by [2 :desc 1]]") == expected
    assert people.q(f"[:find ?n ?a {WHERE} :order-by [[2 :desc]]]") == expected
    assert people.q("[:find ?a (count ?e) :where [?e :age ?a] :order-by [2 :desc 1]]") == "[[36 2] [9 1] [50 1]]"
    people.refuses("QUERY_INVALID", f"[:find ?n {WHERE} :order-by [‸0]]", says="counted from 1")
    people.refuses("QUERY_INVALID", f"[:find ?n {WHERE} :order-by [‸2]]", says="1 column")


def test_a_variable_outside_find_orders_by_its_least_value_or_its_greatest(db):
    db.tx("[{:db/id 1 :n 5 :s #{0}} {:db/id 2 :n 1 :s #{1 9}} {:db/id 3 :n 3 :s #{4}}]")
    assert db.q("[:find [?e ...] :where [?e :n ?n] :order-by [?n]]") == "[2 3 1]"
    assert db.q("[:find [?e ...] :where [?e :s ?s] :order-by [?s]]") == "[1 2 3]"
    assert db.q("[:find [?e ...] :where [?e :s ?s] :order-by [?s :desc]]") == "[2 3 1]"
    assert db.q("[:find ?e . :where [?e :s ?s] :order-by [?s :desc]]") == "2"
    assert db.q("[:find [?e ...] :where [?e :s ?s] :order-by [?s :desc] :limit 1 :offset 1]") == "[3]"
    assert db.q("[:find (pull ?e [:n]) :where [?e :s ?s] :order-by [?s :desc] :limit 1]") == "[[{:n 1}]]"


def test_an_aggregate_does_not_see_what_only_orders(db):
    db.tx("[{:db/id 1 :g :a :n 1 :o #{3 4}} {:db/id 2 :g :b :n 1 :o 1} {:db/id 3 :g :a :n 1 :o 9}]")
    where = ":where [?e :g ?g] [?e :n ?n] [?e :o ?o]"
    assert db.q(f"[:find ?g (sum ?n) (count ?e) {where} :order-by [?o]]") == "[[:b 1 1] [:a 2 2]]"
    assert db.q(f"[:find ?g (sum ?n) :with ?e {where} :order-by [?o :desc]]") == "[[:a 2] [:b 1]]"
    assert db.q(f"[:find (sum ?n) . :with ?e {where} :order-by [?o :desc]]") == "3"


def test_an_order_within_a_query_within(db):
    db.tx("[{:db/id 1 :g :a :n 1} {:db/id 2 :g :b :n 3} {:db/id 3 :g :a :n 2}]")
    inner = "[:find [?e ...] :in $ ?g ?k :where [?e :g ?g] [?e :n ?n] :order-by [?n :desc] :limit ?k]"
    ask = f"[:find ?g ?k ?es :in $ [[?g ?k]] :where [(q {inner} $ ?g ?k) ?es]]"
    assert db.q(ask, "[[:a 1] [:a 5] [:b 1] [:b 0]]") == "#{[:a 1 [3]] [:a 5 [3 1]] [:b 1 [2]] [:b 0 []]}"


def test_limit_and_offset_as_arguments(people):
    ask = f"[:find [?n ...] :in $ ?limit ?offset {WHERE} :order-by [?n] :limit ?limit :offset ?offset]"
    assert people.q(ask, 2, 1) == '["Byron" "Cy"]'
    assert people.q(ask, 1, 0) == '["Ada"]'
    assert people.q(ask, 0, 0) == "[]"
    assert len(people.q(f"[:find ?n :in $ ?k {WHERE} :limit ?k]", 3)) == 3
    people.refuses("QUERY_INVALID", f"[:find ?n :in $ [?k ...] {WHERE} :limit ‸?k]", says=":in $ ?k")


@pytest.mark.parametrize("wrong", ["-1", '"2"', "nil", "1.0", "2N"])
def test_an_argument_for_limit_is_a_whole_number(people, wrong):
    with pytest.raises(AdalogError, match="non-negative whole number") as caught:
        people.q(f"[:find ?n :in $ ?k {WHERE} :limit ?k]", wrong)
    assert str(caught.value.code) == "ARG_INVALID"


def test_order_by_what_nothing_binds(people):
    people.refuses("UNBOUND_VARIABLE", f"[:find ?n {WHERE} :order-by [‸?nobody]]", says="?nobody")
    text = f"[:find ?n {WHERE} :order-by [(count ‸?a)]]"
    people.refuses("QUERY_INVALID", text, says="neither in :find nor in :with")


@pytest.mark.parametrize(
    "clause",
    [
        ":order-by [[?n ‸:down]]",
        ":order-by [‸42]",
        ":order-by [‸:desc ?n]",
        ":order-by [?n :desc ‸:asc]",
        ":order-by [?n ‸:down]",
        ":limit ‸-1",
        ":limit ‸1.5",
        ':limit ‸"2"',
        ":offset ‸-1",
        ":timeout ‸0",
        ":timeout ‸:soon",
        ":limit ‸?n",
    ],
)
def test_malformed(people, clause):
    people.refuses("QUERY_INVALID", f"[:find ?n {WHERE} {clause}]")


@pytest.mark.timeout(60)
def test_timeout_stops_a_large_query(db):
    numbers = " ".join(str(number) for number in range(3000))
    arguments = [f"[{numbers}]"] * 4
    query = """[:find (count ?x) . :in [?x ...] [?y ...] [?z ...] [?w ...]
                :where [(+ ?x ?y) ?s] [(+ ?z ?w) ?t] [(= ?s ?t)] [(< ?x ?w)] :timeout 300]"""
    with pytest.raises(AdalogError) as caught:
        db.q(query, *arguments)
    assert str(caught.value.code) == "TIMEOUT"
    assert caught.value.retryable


def test_a_request_deadline_stops_it_too(db):
    numbers = " ".join(str(number) for number in range(3000))
    query = "[:find ?x ?y ?z :in [?x ...] [?y ...] [?z ...]]"
    with pytest.raises(AdalogError) as caught:
        db.q(query, *[f"[{numbers}]"] * 3, timeout_ms=300, max_rows=10**12)
    assert str(caught.value.code) in ("TIMEOUT", "LIMIT_EXCEEDED")
    assert db.q("[:find ?x :in ?x]", "1") == "#{[1]}"


def test_max_rows_is_a_limit_not_a_cut(db):
    numbers = " ".join(str(number) for number in range(100))
    with pytest.raises(AdalogError) as caught:
        db.q("[:find ?x ?y :in [?x ...] [?y ...]]", f"[{numbers}]", f"[{numbers}]", max_rows=1000)
    assert str(caught.value.code) == "LIMIT_EXCEEDED"


def test_not_a_number_is_last_among_numbers_also_where_it_is_computed(db) -> None:
    """Zero times infinity has a sign in some processors."""
    rows = "[[0 0.0 ##Inf] [1 1.0 -1.0] [2 1.0 ##Inf] [3 -0.0 1.0] [4 0.0 1.0]]"
    assert db.q("[:find ?i :in $ [[?i ?a ?b]] :order-by [(* ?a ?b) ?i]]", rows) == "[[1] [3] [4] [2] [0]]"
