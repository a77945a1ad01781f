"""Calls in the heads of rules: `[(net ?l (* ?p (- 1 ?d))) …]`, `[(total ?s (sum (* ?p ?q))) …]`."""

from __future__ import annotations

import pytest

from adalog.planner.model.plan import Options
from tests.language.test_live_traps import Live

SWITCHES = [Options(), Options(magic=False), Options(semi_naive=False), Options(reorder=False), Options(budget=1)]


@pytest.fixture
def lines(db):
    db.tx(
        """[{:db/ident :of :db/valueType :db.type/ref} {:db/ident :price :db/valueType :db.type/long}
            {:db/ident :number :db/valueType :db.type/long} {:db/ident :note :db/valueType :db.type/string}]"""
    )
    db.tx(
        """[{:db/id 1 :of 8 :price 10 :number 2} {:db/id 2 :of 8 :price 5 :number 4 :note "gift"}
            {:db/id 3 :of 9 :price 7 :number 1} {:db/id 4 :of 9 :price 7 :number 1}]"""
    )
    return db


def test_a_call_is_a_place(lines):
    rules = "[[(worth ?l (* ?p ?n)) [?l :price ?p] [?l :number ?n]]]"
    assert lines.q("[:find ?l ?w :in $ % :where (worth ?l ?w)]", rules) == "#{[1 20] [2 20] [3 7] [4 7]}"
    assert lines.q("[:find ?l :in $ % :where (worth ?l 7)]", rules) == "#{[3] [4]}"
    assert lines.q("[:find ?w . :in $ % :where (worth 1 ?w)]", rules) == "20"
    assert lines.q("[:find ?l :in $ % :where [?l :of 8] (not (worth ?l 7))]", rules) == "#{[1] [2]}"
    vectors = "[[[worth l (* p (+ n 1))] [l :price p] [l :number n]]]"
    assert lines.q("{:find [w] :in [$ %] :where [(worth 1 w)]}", vectors) == "#{[30]}"


def test_places_before_it_and_required_ones_are_its_variables(lines):
    rules = "[[(more [?l ?by] (+ ?p ?by) (* 2 ?by)) [?l :price ?p]]]"
    assert lines.q("[:find ?m ?t :in $ % :where [?l :number 4] (more ?l 3 ?m ?t)]", rules) == "#{[8 6]}"
    twice = "[[(twice ?x (* 2 ?x)) [_ :price ?x]]]"
    assert lines.q("[:find ?x ?y :in $ % :where (twice ?x ?y)]", twice) == "#{[10 20] [5 10] [7 14]}"
    implicit = "[[(times ?l ?by (* ?p ?by)) [?l :price ?p]]]"
    assert lines.q("[:find ?m . :in $ % :where (times 1 3 ?m)]", implicit) == "30"
    lines.refuses("UNBOUND_VARIABLE", f"[:find ?m :where (times 1 ?by ?m) :rules {implicit}]", says="?by")


def test_an_aggregate_of_a_call_keeps_rows_apart_by_its_variables(lines):
    """As in :find: 10 times 2 and 5 times 4 are two rows, 7 times 1 is one."""
    rules = "[[(total ?o (sum (* ?p ?n))) [?l :of ?o] [?l :price ?p] [?l :number ?n]]]"
    assert lines.q("[:find ?o ?t :in $ % :where (total ?o ?t)]", rules) == "#{[8 40] [9 7]}"
    assert lines.q("[:find ?t . :in $ % :where (total 8 ?t)]", rules) == "40"
    assert lines.q("[:find ?o ?t :in $ % :where (total ?o ?t) [(> ?t 10)]]", rules) == "#{[8 40]}"
    kept = rules.replace("[?l :of", ":with ?l [?l :of", 1)
    assert lines.q("[:find ?o ?t :in $ % :where (total ?o ?t)]", kept) == "#{[8 40] [9 14]}"
    both = "[[(all ?o (sum (* ?p ?n)) (max (- ?p)) (count ?l)) [?l :of ?o] [?l :price ?p] [?l :number ?n]]]"
    assert lines.q("[:find ?o ?t ?m ?n :in $ % :where (all ?o ?t ?m ?n)]", both) == "#{[8 40 -5 2] [9 14 -7 2]}"


@pytest.mark.parametrize("options", SWITCHES)
def test_a_call_over_aggregates_is_computed_for_each_group(lines, options):
    def q(place, find="[:find ?o ?m :in $ % :where (mean ?o ?m)]", head="?o", with_=":with ?l"):
        rules = f"[[(mean {head} {place}) {with_} [?l :of ?o] [?l :price ?p] [?l :number ?n]]]"
        return lines.q(find, rules, options=options)

    assert q("(/ (sum ?p) (count ?l))") == "#{[8 7.5] [9 7]}"
    assert q("(quot (sum ?p) (count ?l))", "[:find ?m . :in $ % :where (mean 8 ?m)]") == "7"
    assert q("(+ (sum (* ?p ?n)) (max ?p) 1)", with_="") == "#{[8 51] [9 15]}"
    assert q("(if (> (count ?l) 1) (- (max ?p) (min ?p)))") == "#{[8 5] [9 0]}"
    assert q("(if (> (max ?n) 2) (max ?p))") == "#{[8 10]}"
    # A variable outside aggregates is a key, as in :find.
    assert q("(* ?o (sum ?p))", "[:find ?m :in $ % :where (mean ?m)]", head="") == "#{[120] [126]}"
    both = "[:find ?o ?s ?m :in $ % :where (mean ?o ?s ?m)]"
    assert q("(sum ?p) (quot (sum ?p) (count ?l))", both) == "#{[8 15 7] [9 14 7]}"
    assert q("(+ (max ?p) ?by)", "[:find ?m . :in $ % :where (mean 3 8 ?m)]", head="[?by] ?o") == "13"


def test_a_call_over_aggregates_is_followed(lines):
    rules = "[[(mean ?o (quot (sum ?p) (count ?l))) :with ?l [?l :of ?o] [?l :price ?p]]]"
    live = Live(lines, f"[:find ?o ?m :where (mean ?o ?m) :rules {rules}]")
    assert live.tx("[{:db/id 5 :of 9 :price 40 :number 1}]") == "+[9 18] -[9 7]"
    assert live.tx("[[:db/retract 1 :price]]") == "+[8 5] -[8 7]"


def test_a_call_over_aggregates_in_a_recursion(db):
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[[:db/add 1 :to 2] [:db/add 2 :to 3] [:db/add 1 :to 3] [:db/add 3 :to 1]]")
    rules = """[[(far ?x (+ 1 (min ?d))) (step ?x ?d)]
                [(step ?x ?d) [?x :to 3] [(ground 0) ?d]] [(step ?x ?d) [?x :to ?y] (far ?y ?d) [(< ?d 9)]]]"""
    assert db.q(f"[:find ?x ?d :where (far ?x ?d) :rules {rules}]") == "#{[1 1] [2 1] [3 2]}"
    db.refuses(
        "UNSTRATIFIABLE",
        "[:find ?x ?d :where (far ?x ?d) :rules [[(far ?x (+ 1 (sum ?d))) (far ?y ?d) [?x :to ?y]]]]",
    )


def test_heads_of_one_name_may_have_calls_of_other_variables(lines):
    rules = """[[(total (sum (* ?p ?n))) [?l :price ?p] [?l :number ?n]]
                [(total (sum ?p)) [_ :price ?p]]
                [(total (sum (+ ?e ?p ?n))) [?l :of ?e] [?l :price ?p] [?l :number ?n]]]"""
    # 20 + 20 + 7, 10 + 5 + 7 and 20 + 17 + 17.
    assert lines.q("[:find ?t . :in $ % :where (total ?t)]", rules) == "123"


def test_nil_drops_the_row_and_is_skipped_by_aggregates(lines):
    plain = "[[(big ?l (if (> ?p 6) ?p)) [?l :price ?p]]]"
    assert lines.q("[:find ?l ?p :in $ % :where (big ?l ?p)]", plain) == "#{[1 10] [3 7] [4 7]}"
    counts = "[[(of ?o (count (if (> ?p 9) ?l)) (sum ?n)) [?l :of ?o] [?l :price ?p] [?l :number ?n]]]"
    assert lines.q("[:find ?o ?c ?s :in $ % :where (of ?o ?c ?s)]", counts) == "#{[8 1 6] [9 0 2]}"
    # No value, no fact.
    sums = "[[(of ?o (sum (if (> ?p 9) ?p))) [?l :of ?o] [?l :price ?p]]]"
    assert lines.q("[:find ?o ?s :in $ % :where (of ?o ?s)]", sums) == "#{[8 10]}"
    both = "[[(of ?l (if (> ?p 6) ?p) (sum (if (> ?p 6) ?p))) [?l :price ?p]]]"
    assert lines.q("[:find ?l ?p ?s :in $ % :where (of ?l ?p ?s)]", both) == "#{[1 10 10] [3 7 7] [4 7 7]}"


@pytest.mark.parametrize("options", SWITCHES)
def test_calls_in_the_heads_of_a_recursion(db, options):
    upto = "[[(upto [?n] ?n) [(>= ?n 0)]] [(upto [?n] (inc ?m)) (upto ?n ?m) [(< ?m 5)]]]"
    query = f"[:find [?m ...] :where (upto 2 ?m) :rules {upto}]"
    assert sorted(row[0] for row in db.run(query, options=options).rows()) == [2, 3, 4, 5]
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :to [2 3]} {:db/id 2 :to 4} {:db/id 4 :to [1 5]} {:db/id 3 :to 5}]")
    far = """[[(far ?a ?b (min (count "a"))) [?a :to ?b]]
              [(far ?a ?b (min (+ ?d 1))) (far ?a ?c ?d) [?c :to ?b]]]"""
    query = f"[:find ?b ?d :where (far 1 ?b ?d) :rules {far}]"
    assert {tuple(row) for row in db.run(query, options=options).rows()} == {(2, 1), (3, 1), (4, 2), (5, 2), (1, 3)}
    # A tuple with nil betters nothing, alone or beside another aggregate.
    some = """[[(far ?a ?b (min (if (= ?b 3) nil 1)) (max (if (= ?b 2) nil 1))) [?a :to ?b]]
               [(far ?a ?b (min (+ ?d 1)) (max (+ 0 ?m))) (far ?a ?c ?d ?m) [?c :to ?b]]]"""
    query = f"[:find ?b ?d ?m :where (far 1 ?b ?d ?m) :rules {some}]"
    assert db.run(query, options=options).rows() == []


def test_an_endless_recursion_ends_with_the_timeout(db):
    rules = "[[(n ?x) [(ground 0) ?x]] [(n (inc ?x)) (n ?x)]]"
    db.refuses("TIMEOUT", f"[:find (count ?x) :where (n ?x) :rules {rules} :timeout 50]")


@pytest.mark.parametrize(
    ("rules", "code", "says"),
    [
        ("[[(t (* ‸?p 2)) [?l :number ?n]]]", "UNBOUND_VARIABLE", "?p is in the head of t"),
        ("[[(t (sum (* ‸?p 2))) [?l :number ?n]]]", "UNBOUND_VARIABLE", "?p is in the head of t"),
        ("[[(t (/ (sum ‸?p) 2)) [?l :number ?n]]]", "UNBOUND_VARIABLE", "?p"),
        ("[[(t (/ (sum ?n) ‸?p)) [?l :number ?n]]]", "UNBOUND_VARIABLE", "?p is in the head of t"),
        ("[[(t (/ (sum ?n) ‸(rand ?n))) [?l :number ?n]]]", "QUERY_INVALID", "use it in :find"),
        ("[[(t (/ (sum ?n) (‸incc 1))) [?l :number ?n]]]", "QUERY_INVALID", "incc"),
        ("[[‸(t (+ (sum ?n) 1)) [?l :number ?n]] [(t ?n) [_ :price ?n]]]", "QUERY_INVALID", "several heads"),
        ("[[(t ‸(inc)) [?l :number ?n]]]", "QUERY_INVALID", "1 argument"),
        ("[[(t (‸incc ?n)) [?l :number ?n]]]", "QUERY_INVALID", "inc"),
        ("[[(t (sum (‸incc ?n))) [?l :number ?n]]]", "QUERY_INVALID", "inc"),
        ("[[(t ‸(sum ?n 1)) [?l :number ?n]]]", "QUERY_INVALID", "one variable or call"),
        ("[[(t ‸(rand ?n)) [?l :number ?n]]]", "QUERY_INVALID", "use it in :find"),
        ("[[(t ‸(?n 1)) [?l :number ?n]]]", "QUERY_INVALID", "?n"),
        ("[[(t (inc ?n)) :with ‸?l [?l :number ?n]]]", "QUERY_INVALID", "has none"),
        ("[[(t (sum (inc ?t))) (t ?t)] ]", "UNSTRATIFIABLE", "sum"),
    ],
)
def test_mistakes(lines, rules, code, says):
    query = f"[:find ?x :where (t ?x) :rules {rules}]"
    lines.refuses(code, query, says=says)
