"""Every built-in: a call and what it gives. `error` marks a call that is refused."""

from __future__ import annotations

import contextlib

import pytest

from adalog.datalog.errors import AdalogError

CALLS = """
(+ 1 2) => 3
(+ 1 2.5) => 3.5
(+ 1) => 1
(+) => 0
(+ 1 2 3 4) => 10
(+ 1N 2) => 3N
(+ 1.5M 2) => 3.5M
(- 5 2) => 3
(- 5) => -5
(- 10 1 2) => 7
(* 3 4) => 12
(* 2 0.5) => 1.0
(*) => 1
(/ 6 3) => 2
(/ 7 2) => 3.5
(/ 7.0 2) => 3.5
(/ 7N 2) => 3.5M
(/ 6N 3) => 2N
(/ 1N 3) => 0.3333333333333333333333333333333333M
(/ 1M 3) => 0.3333333333333333333333333333333333M
(/ 1234567890123456789012345678901234567.8901M 1) => 1234567890123456789012345678901234567.8901M
(/ 1 0) => error
(+ 1 "a") => error
(+ 9223372036854775807 1) => error
(* 9223372036854775807 2) => error
(quot 7 2) => 3
(quot -7 2) => -3
(quot 7.5 2) => 3.0
(quot 1 0) => error
(rem 7 2) => 1
(rem -7 2) => -1
(mod -7 2) => 1
(mod 7 -2) => -1
(mod 7.5 2) => 1.5
(inc 1) => 2
(inc 1.5) => 2.5
(inc 9223372036854775807) => error
(dec 1) => 0
(abs -3) => 3
(abs -3.5) => 3.5
(abs 3) => 3
(min 3 1 2) => 1
(max 3 1 2) => 3
(max 1 2.5) => 2.5
(= 1 1) => true
(= 1 1.0) => false
(= 1 1 1) => true
(= "a" "a") => true
(= :a ":a") => false
(== 1 1.0) => true
(== 1 2) => false
(not= 1 1.0) => true
(not= 1 1) => false
(< 1 2 3) => true
(< 1 3 2) => false
(<= 1 1 2) => true
(> 2 1) => true
(>= 2 2 1) => true
(< 1 "a") => false
(< "a" "b") => true
(str) => ""
(str 1 "a" :b true) => "1a:btrue"
(str nil) => ""
(str 1.0) => "1.0"
(str "a" nil "b") => "ab"
(subs "hello" 1) => "ello"
(subs "hello" 1 3) => "el"
(subs "hello" 5) => ""
(subs "hello" 6) => error
(subs "hello" 3 1) => error
(re-find "l+" "hello") => "ll"
(re-find "x" "hello") => nil
(re-find "(h)(e)" "hello") => ["he" "h" "e"]
(re-find #"l+" "hello") => "ll"
(re-matches "h.*o" "hello") => "hello"
(re-matches "h" "hello") => nil
(re-matches "(h)(.*)" "hello") => ["hello" "h" "ello"]
(re-seq "l" "hello") => ["l" "l"]
(re-find "(" "hello") => error
(starts-with? "hello" "he") => true
(starts-with? "hello" "lo") => false
(ends-with? "hello" "lo") => true
(includes? "hello" "ell") => true
(includes? "hello" "z") => false
(upper-case "Ada") => "ADA"
(lower-case "Ada") => "ada"
(count "hello") => 5
(count [1 2 3]) => 3
(count #{1 2}) => 2
(count {:a 1}) => 1
(count []) => 0
(count nil) => 0
(count 5) => error
(identity :x) => :x
(identity nil) => nil
(ground 5) => 5
(ground [1 2]) => [1 2]
(tuple 1 "a" :b) => [1 "a" :b]
(untuple [1 2]) => [1 2]
(true? true) => true
(true? 1) => false
(false? false) => true
(false? nil) => false
(nil? nil) => true
(nil? false) => false
(and true 1) => 1
(and true nil) => nil
(and 1 false 2) => false
(and) => true
(or nil 2) => 2
(or false nil) => nil
(or 1 2) => 1
(not true) => false
(not nil) => true
(not 0) => false
(string? "a") => true
(string? :a) => false
(keyword? :a) => true
(keyword? ":a") => false
(symbol? "a") => false
(number? 1) => true
(number? 1.5M) => true
(number? "1") => false
(integer? 1) => true
(integer? 1N) => true
(integer? 1.0) => false
(int? 1) => true
(double? 1.0) => true
(double? 1) => false
(float? 1.0) => true
(decimal? 1M) => true
(boolean? false) => true
(boolean? nil) => false
(inst? #inst "2020-01-01") => true
(uuid? #uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6") => true
(uuid? "f81d4fae-7dec-11d0-a765-00a0c91e6bf6") => false
(vector? [1]) => true
(map? {:a 1}) => true
(set? #{1}) => true
(some? nil) => false
(some? false) => true
(zero? 0) => true
(zero? 0.0) => true
(pos? 1) => true
(neg? -1) => true
(even? 2) => true
(odd? 2) => false
(zero? nil) => nil
(pos? nil) => nil
(even? nil) => nil
(min 1 ##NaN "a") => error
(year #inst "2020-02-29T12:34:56Z") => 2020
(month #inst "2020-02-29T12:34:56Z") => 2
(day #inst "2020-02-29T12:34:56Z") => 29
(hour #inst "2020-02-29T12:34:56Z") => 12
(minute #inst "2020-02-29T12:34:56Z") => 34
(second #inst "2020-02-29T12:34:56Z") => 56
(year "2020") => error
(clojure.string/upper-case "a") => "A"
(clojure.string/starts-with? "ab" "a") => true
(clojure.core/inc 1) => 2
"""


def cases():
    for line in CALLS.strip().splitlines():
        call, answer = line.split(" => ")
        yield pytest.param(call, answer, id=line)


@pytest.mark.parametrize(("call", "answer"), list(cases()))
def test_call(db, call, answer):
    """Inputs are bound by `ground`, so that a nil among the arguments is a value and not a missing row."""
    if answer == "error":
        error = db.refuses("QUERY_INVALID", f"[:find ?result . :where [{call} ?result]]")
        assert error.position is not None
    else:
        assert db.q(f"[:find ?result . :where [{call} ?result]]") == answer


def test_functions_over_rows(db):
    db.tx('[{:db/id 1 :name "ada" :a 1 :b 2} {:db/id 2 :name "byron" :a 10 :b 20}]')
    assert db.q("[:find ?e ?s :where [?e :a ?a] [?e :b ?b] [(+ ?a ?b) ?s]]") == "#{[1 3] [2 30]}"
    assert db.q("[:find ?u :where [?e :name ?n] [(upper-case ?n) ?u]]") == '#{["ADA"] ["BYRON"]}'
    assert db.q("[:find ?i :where [?e :name ?n] [(subs ?n 0 1) ?i]]") == '#{["a"] ["b"]}'


def test_different_inputs_one_result(db):
    assert db.q("[:find ?c :in [?s ...] :where [(count ?s) ?c]]", '["ab" "cd" "e"]') == "#{[2] [1]}"


def test_a_type_error_in_one_row_points_at_the_call(db):
    db.tx("[[:db/add 1 :v 1]]")
    db.refuses("QUERY_INVALID", "[:find ?y :in $ [?x ...] :where ‸[(inc ?x) ?y]]", '[1 "a"]')


def test_get_else(db):
    db.tx('[{:db/id 1 :name "Ada" :born 1815} {:db/id 2 :name "Nobody"}]')
    assert db.q("[:find ?n ?b :where [?e :name ?n] [(get-else $ ?e :born 0) ?b]]") == '#{["Ada" 1815] ["Nobody" 0]}'
    assert (
        db.q('[:find ?n ?b :where [?e :name ?n] [(get-else $ ?e :born "?") ?b]]')
        == '#{["Ada" 1815] ["Nobody" "?"]}'
    )
    assert (
        db.q("[:find ?n ?b :where [?e :name ?n] [(get-else $ ?e :never/seen 0) ?b]]") == '#{["Ada" 0] ["Nobody" 0]}'
    )


def test_get_else_refuses_nil_and_many(db):
    db.tx("[{:db/ident :tags :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :tags [:a :b]}]")
    db.refuses("QUERY_INVALID", "[:find ?t :where [?e :tags] [(get-else $ ?e :tags :none) ?t]]")
    db.refuses("QUERY_INVALID", "[:find ?t :where [?e :tags] [(get-else $ ?e :x nil) ?t]]")


def test_get_attr(db):
    db.tx("[{:db/ident :tags :db/valueType :db.type/string :db/cardinality :db.cardinality/many}]")
    db.tx('[{:db/id 1 :name "Ada" :tags ["b" "a" "c"] :ok false} {:db/id 2 :name "Bob"}]')
    assert db.q("[:find ?n ?t :where [?e :name ?n] [(get-attr ?e :tags) ?t]]") == '#{["Ada" ["a" "b" "c"]]}'
    query = '[:find ?n ?t :where [?e :name ?n] [(get-attr $ ?e :tags "none") %s]]'
    assert db.q(query % "[?t ...]") == '#{["Ada" "a"] ["Ada" "b"] ["Ada" "c"] ["Bob" "none"]}'
    assert db.q(query % "[?t]") == '#{["Ada" "a"] ["Bob" "none"]}'
    assert db.q("[:find ?n ?t :where [?e :name ?n] [(get-attr ?e :tags) [?t ...]]]") == (
        '#{["Ada" "a"] ["Ada" "b"] ["Ada" "c"]}'
    )
    assert db.q("[:find ?n :where [?e :name ?n] [(get-attr ?e :ok)]]") == '#{["Ada"]}'
    assert db.q("[:find ?n :where [?e :name ?n] (not [(get-attr ?e :ok)])]") == '#{["Bob"]}'
    query = "[:find ?t :in $ $old :where ($old and [1 :name] [(get-attr 1 :tags) ?t])]"
    db.tx('[[:db/retract 1 :tags "b"]]')
    assert db.q(query, db.at(as_of=2)) == '#{[["a" "b" "c"]]}'


def test_get_some(db):
    db.tx('[{:db/id 1 :nick "A" :name "Ada"} {:db/id 2 :name "Bob"} {:db/id 3 :age 4}]')
    query = "[:find ?e ?a ?v :in $ [?e ...] :where [(get-some $ ?e :nick :name) [?a ?v]]]"
    assert db.q(query, "[1 2 3]") == '#{[1 :nick "A"] [2 :name "Bob"]}'


def test_missing(db):
    db.tx('[{:db/id 1 :name "Ada" :born 1815} {:db/id 2 :name "Nobody"}]')
    assert db.q("[:find ?n :where [?e :name ?n] [(missing? $ ?e :born)]]") == '#{["Nobody"]}'
    assert db.q("[:find ?n :where [?e :name ?n] (not [(missing? $ ?e :born)])]") == '#{["Ada"]}'
    assert len(db.q("[:find ?n :where [?e :name ?n] [(missing? $ ?e :never/seen)]]")) == 2


def test_tx_ids_and_tx_data(db):
    db.tx("[[:db/add 1 :x 1]]", "[[:db/add 1 :x 2]]", "[[:db/add 1 :x 3]]")
    query = "[:find (count ?tx) . :in $ ?from ?to :where [(tx-ids $ ?from ?to) [?tx ...]]]"
    assert db.q(query, "1", "3") == "2"
    query = """[:find ?e ?v ?added :in $ ?from ?to :where [:x :db/ident] [(tx-ids $ ?from ?to) [?tx ...]]
                [(tx-data $ ?tx) [[?e ?a ?v _ ?added]]] [?a :db/ident :x]]"""
    assert db.q(query, "2", "3") == "#{[1 1 false] [1 2 true]}"


def test_a_call_does_not_see_the_future(db):
    db.tx("[[:db/add 1 :x 1]]", "[[:db/add 1 :x 2]]")
    assert db.at(as_of=1).q("[:find ?v . :where [1 :x _] [(get-else $ 1 :x 0) ?v]]") == "1"


def test_catastrophic_patterns_do_not_hang(db):
    text = '"' + "a" * 40 + '!"'
    query = '[:find ?m :in ?s :where [(re-find "(a+)+$" ?s) ?m]] '
    with contextlib.suppress(AdalogError):
        db.run(query, text, timeout_ms=1000)
    assert db.q("[:find ?x :in ?x]", "1") == "#{[1]}"


def test_an_output_that_is_among_the_arguments_is_no_constant(db):
    db.tx("[[:db/add 1 :x 1] [:db/add 2 :x 2] [:db/add 3 :x 2]]")
    assert db.q("[:find ?c :in $ ?c :where [_ :x ?d] [(identity ?d) ?d]]", "1") == "#{[1]}"
    assert db.q("[:find ?d (count ?e) :where [?e :x ?d] [(max ?d 2) ?d]]") == "#{[2 2]}"
    assert db.q("[:find ?c (count ?d) :in $ ?c :where [_ :x ?d] [(* ?d 1) ?d]]", "1") == "#{[1 2]}"
