"""Rules as other dialects write them: vectors for heads and calls, `:with`, `min-by`, wrong rules without calls."""

from __future__ import annotations

import pytest

FRIENDS = "[[(friends ?a ?b) [?a :friend ?b]] [(friends ?a ?b) [?a :friend ?c] (friends ?c ?b)]]"


@pytest.fixture
def people(db):
    db.tx("""[{:db/id 1 :name "Ada" :friend 2} {:db/id 2 :name "Bo" :friend 3} {:db/id 3 :name "Cy"}]""")
    return db


def test_heads_may_be_vectors(people):
    rules = "[[[friends ?a ?b] [?a :friend ?b]] [[friends ?a ?b] [?a :friend ?c] (friends ?c ?b)]]"
    for given in (rules, f"({rules[1:-1]})"):
        assert people.q("[:find ?b :in $ % :where (friends 1 ?b)]", given) == "#{[2] [3]}"
    assert people.q(f"[:find ?b :where (friends 1 ?b) :rules {rules}]") == "#{[2] [3]}"
    assert people.q("[:find ?b :where (to 1 ?b) :rules [[to ?a ?b] [?a :friend ?b]]]") == "#{[2]}"


def test_calls_may_be_vectors(people):
    assert people.q(f"[:find ?b :where [friends 1 ?b] :rules {FRIENDS}]") == "#{[2] [3]}"
    assert people.q("[:find ?b :in $ % :where [friends 1 ?b]]", FRIENDS) == "#{[2] [3]}"
    assert people.q(f"[:find ?a :where [?a :name] (not [friends 1 ?a]) :rules {FRIENDS}]") == "#{[1]}"
    rules = FRIENDS.replace("(friends ?c ?b)", "[friends ?c ?b]")
    assert people.q("[:find ?b :in $ % :where [friends 1 ?b]]", rules) == "#{[2] [3]}"
    wide = "[[(four ?a ?b ?c ?d) [?a :friend ?b] [?b :friend ?c] [(ground :x) ?d]]]"
    assert people.q("[:find ?a :in $ % :where [four ?a 2 ?c :x]]", wide) == "#{[1]}"


def test_a_vector_is_a_pattern_where_its_symbol_is_a_variable(people):
    rules = "[[(p ?x ?y) [?x :friend ?y]]]"
    assert people.q("{:find [p] :in [$ %] :where [[p :friend n]]}", rules) == "#{[1] [2]}"
    assert people.q("{:find [n] :in [$ %] :where [[p :friend n] [n :name p]]}", "[[(p ?x) [?x :friend]]]") == "#{}"
    # Another number of arguments.
    assert people.q("{:find [n] :in [$ %] :where [[p :friend n]]}", "[[(p ?x) [?x :friend]]]") == "#{[2] [3]}"
    assert people.q("{:find [n] :where [[?p :friend n]]}") == "#{[2] [3]}"


def test_a_vector_that_may_be_both_is_refused(people):
    people.refuses(
        "QUERY_INVALID",
        "[:find ?n :where ‸[p :friend ?n] :rules [[(p ?x ?y) [?x :friend ?y]]]]",
        says="(p :friend ?n)",
    )


def test_with_keeps_rows_apart_for_aggregates_of_a_head(db):
    db.tx("[{:db/id 1 :to 7 :q 5} {:db/id 2 :to 7 :q 5} {:db/id 3 :to 8 :q 1}]")
    rules = "[[(total ?s (sum ?q)) :with ?l [?l :to ?s] [?l :q ?q]]]"
    assert db.q("[:find ?s ?t :in $ % :where (total ?s ?t)]", rules) == "#{[7 10] [8 1]}"
    assert db.q("[:find ?t :in $ % :where (total 7 ?t)]", rules) == "#{[10]}"
    assert db.q("[:find ?s :in $ % :where (total ?s _)]", rules) == "#{[7] [8]}"
    assert db.q("[:find ?s :in $ % :where [_ :to ?s] (not (total ?s 10))]", rules) == "#{[8]}"
    assert db.warnings("[:find ?s ?t :in $ % :where (total ?s ?t)]", rules) == []
    two = "[[(all ?s (sum ?q) (count ?q)) :with ?l ?k [?l :to ?s] [?l :q ?q] [(ground [1 2]) [?k ...]]]]"
    assert db.q("[:find ?s ?t ?n :in $ % :where (all ?s ?t ?n)]", two) == "#{[7 20 4] [8 2 2]}"
    best = "[[(best ?s (min ?q)) :with ?l [?l :to ?s] [?l :q ?q]]]"
    assert db.q("[:find ?s ?t :in $ % :where (best ?s ?t)]", best) == "#{[7 5] [8 1]}"


def test_heads_of_one_rule_with_with(db):
    db.tx("[{:db/id 1 :a 5} {:db/id 2 :a 5 :b 5} {:db/id 3 :b 1}]")
    rules = "[[(total (sum ?n)) :with ?e [?e :a ?n]] [(total (sum ?n)) :with ?e [?e :b ?n]]]"
    # (2, 5) is in both.
    assert db.q("[:find ?t . :in $ % :where (total ?t)]", rules) == "11"


@pytest.mark.parametrize(
    ("rules", "code", "says"),
    [
        ("[[(t (sum ?n)) ‸:with [?e :n ?n]]]", "QUERY_INVALID", ":with takes variables"),
        ("[[(t ?n) :with ‸?e [?e :n ?n]]]", "QUERY_INVALID", "has none"),
        ("[[(t (sum ?n)) :with ‸?x [?e :n ?n]]]", "UNBOUND_VARIABLE", "?x"),
        ("[[(t (sum ?n)) :with ?e [?e :n ?n]] [‸(t (sum ?n)) [?e :m ?n]]]", "QUERY_INVALID", ":with elsewhere"),
        ("[[(t ‸(min-by ?n)) [?e :n ?n]]]", "QUERY_INVALID", "(min-by ?cost ?path)"),
        ("[[(t ?a) [(nothing ?a) ?b]] [(u ?a) (t ?a)]]", None, ""),
    ],
)
def test_mistakes_of_heads(db, rules, code, says):
    if code is None:
        assert db.q(f"[:find ?e :where [?e :n] :rules {rules}]") == "#{}"
    else:
        db.refuses(code, f"[:find ?x :where (t ?x) :rules {rules}]", says=says)


def test_a_rule_that_nothing_calls_may_be_wrong(people):
    wrong = (
        "[[(f ?a) [?a :name]] [(g ?a) (h ?a) [(nothing ?a)]] [(k ?a ?b) [?a :b]] [(k ?a) [?a :c]] [(m ?a) [$x ?a]]]"
    )
    assert people.q("[:find ?a :in $ % :where (f ?a)]", wrong) == "#{[1] [2] [3]}"
    assert people.q(f"[:find ?a :where (f ?a) :rules {wrong}]") == "#{[1] [2] [3]}"
    people.refuses("QUERY_INVALID", f"[:find ?a :where (g ?a) :rules {wrong.replace('(h', '(‸h')}]", says="h")
    people.refuses("QUERY_INVALID", f"[:find ?a :where (k ?a) :rules {wrong.replace('[(k ?a) ', '[‸(k ?a) ')}]")
    called = "[[(f ?a) (or [?a :name] (g ?a))] [(g ?a) [(‸nothing ?a)]]]"
    people.refuses("QUERY_INVALID", f"[:find ?a :where (f ?a) :rules {called}]", says="nothing")
    # Its syntax is checked.
    people.refuses("QUERY_INVALID", "[:find ?a :where [?a :name] :rules [‸[(g ?a)]]]", says="says nothing")


def test_min_by_and_max_by(db):
    db.tx("[{:db/id 1 :n 3 :s :x} {:db/id 2 :n 1 :s :y} {:db/id 3 :n 3 :s :y} {:db/id 4 :n 1 :s :x}]")
    where = ":where [?e :n ?n] [?e :s ?s]"
    assert db.q(f"[:find ?s (min-by ?n ?e) (max-by ?n ?e) {where}]") == "#{[:x 4 1] [:y 2 3]}"
    # Among equals the order of the second decides.
    assert db.q(f"[:find [(min-by ?n ?e) (max-by ?n ?e)] {where}]") == "[2 3]"
    assert db.q(f"[:find (min-by ?n ?e) . {where}]") == "2"
    assert db.run(f"[:find ?s (min-by ?n ?e) {where}]").columns[1].name == "(min-by ?n ?e)"
    assert db.q(f"[:find ?s (min-by ?n ?e) {where} :order-by [(min-by ?n ?e) :desc]]") == "[[:x 4] [:y 2]]"
    rules = "[[(best ?s (min-by ?n ?e)) [?e :n ?n] [?e :s ?s]]]"
    assert db.q("[:find ?s ?e :in $ % :where (best ?s ?e)]", rules) == "#{[:x 4] [:y 2]}"
    assert db.q("[:find ?s :in $ % :where (best ?s 4)]", rules) == "#{[:x]}"
    assert db.q("[:find ?s :in $ % :where [_ :s ?s] (not (best ?s 4))]", rules) == "#{[:y]}"
    assert db.q("[:find ?s :in $ % :where (best ?s _)]", rules) == "#{[:x] [:y]}"


def test_the_shortest_path_with_its_nodes(db):
    db.tx("[{:db/id 1 :to #{2 3}} {:db/id 2 :to 4} {:db/id 3 :to 4} {:db/id 4 :to #{1 5}}]")
    rules = """[[(path ?a ?b (min ?d) (min-by ?d ?p)) [?a :to ?b] [(ground 1) ?d] [(tuple ?a ?b) ?p]]
                [(path ?a ?b (min ?d) (min-by ?d ?p))
                 (path ?a ?c ?before ?q) [?c :to ?b] [(inc ?before) ?d] [(tuple ?q ?b) ?p]]]"""
    assert db.q("[:find ?b ?d ?p :in $ % :where (path 1 ?b ?d ?p)]", rules) == (
        "#{[2 1 [1 2]] [3 1 [1 3]] [4 2 [[1 2] 4]] [5 3 [[[1 2] 4] 5]] [1 3 [[[1 2] 4] 1]]}"
    )
