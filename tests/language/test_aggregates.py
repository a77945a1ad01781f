"""Aggregates run over the distinct tuples of find and `:with` variables, in written order among plain variables."""

from __future__ import annotations

import pytest

from adalog.datalog.edn import read, write
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import identity


@pytest.fixture
def heads(db):
    """The monsters of the Datomic documentation: four heads in all, two monsters with one head each."""
    db.tx("""[{:db/id 1 :monster "Cerberus" :heads 3} {:db/id 2 :monster "Medusa" :heads 1}
              {:db/id 3 :monster "Cyclops" :heads 1} {:db/id 4 :monster "Chimera" :heads 1}]""")
    return db


def test_a_set_before_the_aggregate(heads):
    assert heads.q("[:find (sum ?h) . :where [_ :heads ?h]]") == "4"
    assert heads.q("[:find (count ?h) . :where [_ :heads ?h]]") == "2"


def test_with_keeps_duplicates_apart(heads):
    assert heads.q("[:find (sum ?h) . :with ?m :where [?m :heads ?h]]") == "6"
    assert heads.q("[:find (count ?h) . :with ?m :where [?m :heads ?h]]") == "4"


def test_a_sum_beyond_64_bits(db):
    most = "9223372036854775807"
    assert db.q("[:find (sum' ?n) (sum ?m) :in [[?n ?m]]]", f"[[{most} 1] [2 2]]") == "#{[9223372036854775809N 3]}"
    assert db.q("[:find (sum' ?n) . :in [?n ...]]", f"[{most} -1]") == "9223372036854775806"
    assert db.q("[:find (sum' ?n) . :in [?n ...]]", f"[{most}N -1]") == "9223372036854775806N"
    assert db.q("[:find (sum' ?n) . :in [?n ...]]", f"[{most} 0.5]") == "9.223372036854775807E18"
    with pytest.raises(AdalogError, match=r"beyond the 64 bits of a long; \(sum' …\) gives it as a bigint"):
        db.q("[:find (sum ?n) . :in [?n ...]]", f"[{most} 1]")


def test_with_is_no_grouping_key(heads):
    assert heads.q("[:find (sum ?h) :with ?m :where [?m :heads ?h]]") == "#{[6]}"


def test_with_without_aggregates_is_projected_away(heads):
    assert heads.q("[:find ?h :with ?m :where [?m :heads ?h]]") == "#{[3] [1]}"


def test_with_a_find_variable(heads):
    assert heads.q("[:find ?h (count ?m) :with ?h :where [?m :heads ?h]]") == "#{[3 1] [1 3]}"


def test_several_with_variables(heads):
    assert heads.q("[:find (sum ?h) . :with ?e ?n :where [?e :heads ?h] [?e :monster ?n]]") == "6"


def test_groups(heads):
    assert heads.q("[:find ?h (count ?m) :where [?m :heads ?h]]") == "#{[3 1] [1 3]}"
    assert heads.q("[:find (count ?m) ?h :where [?m :heads ?h]]") == "#{[1 3] [3 1]}"
    assert heads.q("[:find ?h (min ?n) (max ?n) :where [?m :heads ?h] [?m :monster ?n]]") == (
        '#{[3 "Cerberus" "Cerberus"] [1 "Chimera" "Medusa"]}'
    )


def test_plain_variables_on_both_sides(db):
    rows = "[[1 2 10] [1 2 20] [1 3 5]]"
    assert db.q("[:find ?a (sum ?c) ?b :in [[?a ?b ?c]]]", rows) == "#{[1 30 2] [1 5 3]}"


def test_an_aggregate_of_a_grouping_variable(heads):
    assert heads.q("[:find ?h (sum ?h) :where [_ :heads ?h]]") == "#{[3 3] [1 1]}"


def test_several_aggregates_share_the_tuples(heads):
    """Tuples are distinct over all find variables together, so here every monster counts."""
    assert heads.q("[:find (sum ?h) (count ?m) :where [?m :heads ?h]]") == "#{[6 4]}"


def test_over_nothing_there_is_no_row(heads):
    assert heads.q("[:find (count ?x) :where [?x :no-such]]") == "#{}"
    assert heads.q("[:find (count ?x) . :where [?x :no-such]]") == "nil"
    assert heads.q("[:find [(sum ?x)] :where [_ :no-such ?x]]") == "nil"
    assert heads.q("[:find ?h (count ?x) :where [?x :no-such] [?x :heads ?h]]") == "#{}"


TABLE = """
(count ?x) | [1 2 2 3] => 3
(count-distinct ?x) | [1 2 2 3] => 3
(sum ?x) | [1 2 3] => 6
(sum ?x) | [1 2.5] => 3.5
(sum ?x) | [1.5 2.5] => 4.0
(sum ?x) | [1M 2.5M] => 3.5M
(sum ?x) | [9223372036854775807 1N] => 9223372036854775808N
(avg ?x) | [1 2] => 1.5
(avg ?x) | [1 2 3] => 2.0
(median ?x) | [5 1 3] => 3
(median ?x) | [1 2] => 1.5
(median ?x) | [1.0 2.0 4.0 10.0] => 3.0
(median ?x) | [1M 1 1.0] => 1.0
(median ?x) | [1.7e308 1.3e308] => 1.5e308
(median ?x) | [9223372036854775807 9223372036854775805] => 9.223372036854775807e18
(sum ?x) | [1e16 1.0 -1e16] => 1.0
(sum ?x) | [1e308 1.7e308 -1.6e308] => 1.1e308
(sum ?x) | [1e308 1.7e308] => ##Inf
(sum ?x) | [##Inf 1.0] => ##Inf
(sum ?x) | [##Inf ##-Inf 1.0] => ##NaN
(sum ?x) | [9007199254740993 0.5] => 9007199254740994.0
(sum ?x) | [1e16 1 -1e16] => 1.0
(avg ?x) | [1e308 1.7e308] => 1.35e308
(avg ?x) | [5e-324 1e-323] => 1e-323
(avg ?x) | [9007199254740993 9007199254740994 9007199254740998] => 9007199254740995.0
(avg ?x) | [9223372036854775807 9223372036854775806] => 9.223372036854775807e18
(avg ?x) | [1234567890123456789012345678901234567.8901M] => 1234567890123456789012345678901234567.8901M
(avg ?x) | [1M 2M] => 1.5M
(avg ?x) | [1M 0M 0.5M 4.5M 0.1M 0.2M] => 1.05M
(avg ?x) | [1M 2M 1.5M 0.5M 0.4M 0.6M 0.1M] => 0.8714285714285714285714285714285714M
(avg ?x) | [1N 2] => 1.5M
(avg ?x) | [100000000000000000000000000000000000000001N] => 100000000000000000000000000000000000000001M
(avg ?x) | [1M 2.0] => 1.5
(median ?x) | [1234567890123456789012345678901234567.8901M] => 1234567890123456789012345678901234567.8901M
(median ?x) | [12345678901234567890123456789012345.2M 2M 1M] => 2M
(median ?x) | [1N 2N] => 1.5M
(variance ?x) | [100000000.1 100000000.3] => 0.010000000298023226
(variance ?x) | [1e200 3e200] => ##Inf
(stddev ?x) | [1e200 3e200] => 1e200
(variance ?x) | [1 2 3 4] => 1.25
(variance ?x) | [5] => 0.0
(stddev ?x) | [1 2 3 4] => 1.118033988749895
(min ?x) | [3 1 2] => 1
(max ?x) | [3 1 2] => 3
(min ?x) | ["b" "a"] => "a"
(max ?x) | [:b :a] => :b
(max ?x) | [#inst "2020-01-01" #inst "2021-01-01"] => #inst "2021-01-01"
(min 2 ?x) | [3 1 2] => [1 2]
(max 2 ?x) | [3 1 2] => [3 2]
(min 5 ?x) | [3 1 2] => [1 2 3]
(max 5 ?x) | [3 1 2] => [3 2 1]
(distinct ?x) | [3 1 1] => #{1 3}
(sample 5 ?x) | [3] => [3]
(rand ?x) | [3] => 3
(rand 3 ?x) | [7] => [7 7 7]
"""


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_each_aggregate(db, line):
    call, rest = line.split(" | ")
    values, answer = rest.split(" => ")
    assert db.q(f"[:find {call} . :in [?x ...]]", values) == answer


@pytest.mark.parametrize("function", ["avg", "median"])
def test_equal_bigdecs_of_many_digits(db, function):
    long = "1234567890123456789012345678901234567.8901M"
    query = f"[:find ?g ({function} ?x) :with ?k :in [[?g ?k ?x]]]"
    assert db.q(query, f"[[1 1 {long}] [1 2 {long}] [2 1 {long}]]") == f"#{{[1 {long}] [2 {long}]}}"


def test_bigdecs_in_rules_and_nested_queries(db):
    long = "1234567890123456789012345678901234567.8901M"
    db.tx(f"[{{:db/id 1 :g :a :x {long}}} {{:db/id 2 :g :b :x 1M}} {{:db/id 3 :g :b :x 0.25M}}]")
    rules = "[[(mean ?g (avg ?x) (median ?x)) [?e :g ?g] [?e :x ?x]]]"
    answer = f"#{{[:a {long} {long}] [:b 0.625M 0.625M]}}"
    assert db.q("[:find ?g ?a ?m :in $ % :where (mean ?g ?a ?m)]", rules) == answer
    inner = "[:find ?g (avg ?x) (median ?x) :where [?e :g ?g] [?e :x ?x]]"
    assert db.q(f"[:find ?g ?a ?m :where [(q {inner} $) [[?g ?a ?m]]]]") == answer


def test_computed_bigdecs_have_no_zeros_at_their_end(db):
    def written(call, values):
        return write(db.q(f"[:find {call} . :with ?k :in [[?k ?x]]]", values).value)

    assert written("(sum ?x)", "[[1 1.25M] [2 1.75M]]") == "3M"
    assert written("(avg ?x)", "[[1 5.00M] [2 0.0M]]") == "2.5M"
    assert written("(median ?x)", "[[1 99M] [2 101.00M]]") == "100M"
    assert write(db.q("[:find ?x . :where [(* 2.50M 1.20M) ?x]]").value) == "3M"
    assert write(db.q("[:find ?x . :where [(/ 7.50M 3) ?x]]").value) == "2.5M"
    assert write(db.q("[:find ?x . :where [(- 100.50M 0.50M) ?x]]").value) == "100M"


def test_min_and_max_are_total_over_mixed_types(db):
    """By type first, then by value: whatever the order of types, min and max are its two ends."""
    values = '[2 1 1.5 "a" :k true nil #inst "2020-01-01"]'
    ordered = db.q("[:find [?x ...] :in [?x ...] :order-by [?x]]", values).value
    # Nil is last in the order, and aggregates skip it.
    assert len(ordered) == 8
    assert ordered[-1] is None
    assert identity(db.q("[:find (min ?x) . :in [?x ...]]", values).value) == identity(ordered[0])
    assert identity(db.q("[:find (max ?x) . :in [?x ...]]", values).value) == identity(ordered[-2])


def test_min_n_keeps_what_with_tells_apart(db):
    assert db.q("[:find (min 3 ?x) . :with ?k :in [[?k ?x]]]", "[[1 5] [2 5] [3 7] [4 9]]") == "[5 5 7]"
    assert db.q("[:find (min 3 ?x) . :in [[_ ?x]]]", "[[1 5] [2 5] [3 7] [4 9]]") == "[5 7 9]"


def test_count_distinct_under_with(db):
    rows = "[[1 5] [2 5] [3 7]]"
    assert db.q("[:find (count ?x) (count-distinct ?x) :with ?k :in [[?k ?x]]]", rows) == "#{[3 2]}"


def test_typed_distinct(db):
    assert db.q("[:find (count-distinct ?x) . :in [?x ...]]", "[1 1.0 true]") == "3"


def test_sample_and_rand_take_from_the_values(db):
    values = set(read("[1 2 3 4 5 6 7 8]"))
    sample = db.q("[:find (sample 3 ?x) . :in [?x ...]]", "[1 2 3 4 5 6 7 8]").value
    assert len(sample) == 3 == len(set(sample))
    assert set(sample) <= values
    assert db.q("[:find (rand ?x) . :in [?x ...]]", "[1 2 3 4 5 6 7 8]").value in values
    assert len(db.q("[:find (rand 20 ?x) . :in [?x ...]]", "[1 2 3 4 5 6 7 8]").value) == 20
    assert len(db.q("[:find (sample 20 ?x) . :in [?x ...]]", "[1 2 3]").value) == 3


def test_counting_a_large_product_without_writing_it_out(db):
    numbers = " ".join(str(number) for number in range(2000))
    query = "[:find (count ?y) . :with ?x :in [?x ...] [?y ...]]"
    assert db.q(query, f"[{numbers}]", f"[{numbers}]") == "4000000"


def test_count_of_a_join_with_hidden_variables(db):
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :to [2 3]} {:db/id 2 :to [3 4]} {:db/id 3 :to [4]}]")
    assert db.q("[:find (count ?c) . :where [?a :to ?b] [?b :to ?c]]") == "2"
    assert db.q("[:find (count ?c) . :with ?a ?b :where [?a :to ?b] [?b :to ?c]]") == "4"
    assert db.q("[:find ?a (count ?c) :where [?a :to ?b] [?b :to ?c]]") == "#{[1 2] [2 1]}"


def test_a_sum_of_what_is_no_number(db):
    db.refuses("QUERY_INVALID", "[:find ‸(sum ?x) . :in [?x ...]]", '[1 "a"]')


def test_unknown_aggregate(db):
    db.refuses("QUERY_INVALID", "[:find (‸totl ?x) :in [?x ...]]", "[1]")
    db.refuses("QUERY_INVALID", "[:find (‸summ ?x) :in [?x ...]]", "[1]", says="sum")


@pytest.mark.parametrize(
    "element", ["(count)", "(count ?x ?y)", "(min :a ?x)", "(min -1 ?x)", "(sum 3 ?x)", "(count 1)"]
)
def test_malformed_aggregates(db, element):
    db.refuses("QUERY_INVALID", f"[:find {element} :in [?x ...] ?y]", "[1]", "1")


def test_sums_of_doubles_do_not_depend_on_what_is_summed_beside_them(db):
    query = "[:find ?g (sum ?x) (avg ?x) :in [[?g ?x]]]"
    rows = "[1 1e16] [1 1.0] [1 -1e16] [1 2.0]"
    alone = db.q(query, f"[{rows}]")
    assert alone == "#{[1 3.0 0.75]}"
    assert db.q(query, f"[[2 7.0] {rows} [3 1e300]]") == "#{[1 3.0 0.75] [2 7.0 7.0] [3 1e300 1e300]}"


def test_sums_of_floats(db):
    db.tx("[{:db/ident :n :db/valueType :db.type/float}]")
    db.tx("[[:db/add 1 :n 16777216.0] [:db/add 2 :n 1.0] [:db/add 3 :n 0.5]]")
    assert db.q("[:find (sum ?n) (avg ?n) :where [_ :n ?n]]") == "#{[16777217.5 5592405.833333333]}"


def test_sums_with_hidden_variables(db):
    rows, times = "[[1 0.1] [2 0.3]]", " ".join(map(str, range(1000)))
    query = "[:find (sum ?x) (avg ?x) (stddev ?x) (median ?x) :with ?k ?t :in [[?k ?x]] [?t ...]]"
    assert db.q(query, rows, f"[{times}]") == "#{[400.0 0.2 0.09999999999999999 0.2]}"


def test_sums_in_rules_and_in_queries_within(db):
    rows = "[[1 1e16] [1 1.0] [1 -1e16] [2 7.0]]"
    within = "[:find ?g ?s :in $r :where [$r ?g _] [(q [:find (sum ?x) . :in $r ?g :where [$r ?g ?x]] $r ?g) ?s]]"
    assert db.q(within, rows) == "#{[1 1.0] [2 7.0]}"
    db.tx("[[:db/add 1 :x 1e16] [:db/add 2 :x 1.0] [:db/add 3 :x -1e16] [:db/add 4 :x 7.0]]")
    rule = "[[(total (sum ?x)) [?e :x ?x] [(< ?e 4)]]]"
    assert db.q(f"[:find ?s . :where (total ?s) :rules {rule}]") == "1.0"


def test_an_unbound_aggregate_variable(db):
    db.refuses("UNBOUND_VARIABLE", "[:find (sum ‸?y) :in [?x ...]]", "[1]", says="?y")


def test_rows_are_counted(db):
    db.tx('[{:db/id 1 :n "a" :k #{:x :y}} {:db/id 2 :n "a" :k #{:x}} {:db/id 3 :n "b" :age 7} {:db/id 4 :age 7}]')
    assert db.q("[:find (count *) . :where [?e :n ?n] [?e :k ?k]]") == "3"
    assert db.q("[:find ?n (count *) :where [?e :n ?n]]") == '#{["a" 2] ["b" 1]}'
    assert db.q("[:find (count-distinct *) (sum ?a) :where [?e :age ?a]]") == "#{[2 14]}"
    assert db.q("[:find (count *) . :where [_ :age ?a]]") == "1"
    assert db.q('[:find (count *) . :where [?e :age ?a] [?e :n "nobody"]]') == "nil"
    assert db.q("[:find (count *) . :in [?x ...] :where [_ :age ?a]]", "[1 2 3]") == "3"
    assert db.q("[:find (count *) . :where [?e :n ?n] (optional [?e :k ?k])]") == "4"
    assert db.q("[:find ?n (* 2 (count *)) :where [?e :n ?n] :order-by [[(count *) :desc]]]") == '[["a" 4] ["b" 2]]'
    assert db.q("[:find ?n :with ?e :where [?e :n ?n] [?e :k ?k] :having [(> (count *) 1)]]") == '#{["a"]}'
    db.refuses("QUERY_INVALID", "[:find (count *) :where [?e :n ‸*]]", says="give the variable another name")
    db.refuses("QUERY_INVALID", "[:find (sum ‸*) :where [?e :age ?a]]", says="sum aggregates a variable")
