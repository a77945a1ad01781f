"""`or`: a row satisfies one whole branch, never half of one and half of another."""

from __future__ import annotations

import pytest

from adalog.planner.model.plan import Options


@pytest.fixture
def family(db):
    db.tx("""[{:db/id 1 :first "Ada" :last "Lovelace" :sex :f}
              {:db/id 2 :first "William" :last "Lovelace" :sex :m}
              {:db/id 3 :first "George" :last "Byron" :sex :m}
              {:db/id 4 :first "Annabella" :last "Byron" :sex :f}]""")
    return db


def test_one_of_two_values(family):
    query = '[:find ?p :where [?p :last "Lovelace"] (or [?p :first "Ada"] [?p :first "William"])]'
    assert family.q(query) == "#{[1] [2]}"


def test_an_or_alone(family):
    assert family.q('[:find ?p :where (or [?p :first "Ada"] [?p :last "Byron"])]') == "#{[1] [3] [4]}"


def test_a_row_from_two_branches_counts_once(family):
    query = '[:find (count ?p) . :where (or [?p :first "Ada"] [?p :last "Lovelace"])]'
    assert family.q(query) == "2"


def test_branches_with_and(family):
    query = """[:find ?p :where (or (and [?p :last "Lovelace"] [?p :sex :m])
                                    (and [?p :last "Byron"] [?p :sex :f]))]"""
    assert family.q(query) == "#{[2] [4]}"


def test_halves_of_branches_do_not_mix(db):
    """Branch one binds (x, y) through :a, branch two through :b; (1, 4) is half of each."""
    db.tx("[[:db/add 1 :a 2] [:db/add 3 :b 4] [:db/add 1 :b 5] [:db/add 2 :mark true] [:db/add 4 :mark true]]")
    query = "[:find ?x ?y :where (or (and [?x :a ?y] [?y :mark true]) (and [?x :b ?y] [?y :mark true]))]"
    assert db.q(query) == "#{[1 2] [3 4]}"


def test_halves_of_branches_do_not_mix_over_three_variables(db):
    db.tx("[[:db/add 1 :a 10] [:db/add 10 :a 100] [:db/add 1 :b 20] [:db/add 20 :b 200]]")
    db.tx("[[:db/add 20 :a 300] [:db/add 10 :b 400]]")
    query = "[:find ?x ?y ?z :where (or (and [?x :a ?y] [?y :a ?z]) (and [?x :b ?y] [?y :b ?z]))]"
    assert db.q(query) == "#{[1 10 100] [1 20 200]}"


def test_halves_do_not_mix_when_joined_from_outside(db):
    db.tx("[[:db/add 1 :a 10] [:db/add 1 :b 20] [:db/add 10 :c 7] [:db/add 20 :c 7]]")
    db.tx("[[:db/add 20 :d 8] [:db/add 10 :d 9]]")
    query = "[:find ?y ?z :where (or (and [?x :a ?y] [?y :c ?z]) (and [?x :b ?y] [?y :d ?z])) [?x :a] [?y :c]]"
    assert db.q(query) == "#{[10 7] [20 8]}"


def test_branches_of_predicates(family):
    query = '[:find ?p :where [?p :first ?n] (or [(= ?n "Ada")] [(starts-with? ?n "G")])]'
    assert family.q(query) == "#{[1] [3]}"


def test_a_predicate_beside_a_pattern(family):
    query = '[:find ?p :where [?p :first ?n] (or [(= ?n "Ada")] (and [?p :sex :m] [?p :first ?n]))]'
    family.refuses("QUERY_INVALID", query)
    query = '[:find ?p :where [?p :first ?n] (or-join [?p ?n] [(= ?n "Ada")] [?p :sex :m])]'
    assert family.q(query) == "#{[1] [2] [3]}"


def test_branches_of_functions(db):
    query = "[:find ?x ?y :in [?x ...] :where (or [(inc ?x) ?y] [(* ?x 10) ?y])]"
    assert db.q(query, "[1 2]") == "#{[1 2] [1 10] [2 3] [2 20]}"


def test_nested_or(family):
    query = """[:find ?p :where (or [?p :first "Ada"] (or [?p :first "George"] (or [?p :first "Annabella"])))]"""
    assert family.q(query) == "#{[1] [3] [4]}"


def test_or_inside_and_inside_or(family):
    query = """[:find ?p :where (or (and [?p :sex :f] (or [?p :last "Byron"] [?p :first "Nobody"]))
                                    [?p :first "William"])]"""
    assert family.q(query) == "#{[2] [4]}"


def test_two_ors_join(family):
    query = """[:find ?p :where (or [?p :first "Ada"] [?p :first "George"]) (or [?p :sex :m] [?p :last "Byron"])]"""
    assert family.q(query) == "#{[3]}"


def test_a_branch_that_matches_nothing(family):
    assert family.q('[:find ?p :where (or [?p :first "Ada"] [?p :no-such "x"])]') == "#{[1]}"
    assert family.q('[:find ?p :where (or [?p :nothing 1] [?p :no-such "x"])]') == "#{}"


def test_branches_may_bind_different_constants_of_one_variable(db):
    query = """[:find ?e ?how :in [?e ...]
                :where (or (and [(= ?e 1)] [(ground :one) ?how]) (and [(< ?e 3)] [(ground :few) ?how]))]"""
    assert db.q(query, "[1 2 3]") == "#{[1 :one] [1 :few] [2 :few]}"


def test_blanks_are_local_to_each_branch(family):
    assert family.q("[:find ?p :where [?p :sex :f] (or [?p :first _] [_ :last ?p])]") == "#{[1] [4]}"


def test_gates_as_branches(family):
    assert family.q('[:find ?p :where [?p :first "Ada"] (or [2 :sex :m] [2 :sex :f])]') == "#{[1]}"
    assert family.q('[:find ?p :where [?p :first "Ada"] (or [2 :sex :x] [2 :sex :f])]') == "#{}"


def test_not_inside_or(family):
    query = '[:find ?p :where [?p :first] (or [?p :last "Lovelace"] (not [?p :sex :m]))]'
    assert family.q(query) == "#{[1] [2] [4]}"


def test_attribute_variables_in_branches(family):
    query = '[:find ?p ?a :where (or (and [?p ?a "Ada"]) (and [?p ?a "Byron"]))]'
    assert family.q(query) == "#{[1 :first] [3 :last] [4 :last]}"


def test_or_binds_what_a_later_function_needs(db):
    db.tx("[[:db/add 1 :a 5] [:db/add 2 :b 6]]")
    assert db.q("[:find ?e ?m :where (or [?e :a ?n] [?e :b ?n]) [(inc ?n) ?m]]") == "#{[1 6] [2 7]}"


def test_branches_need_the_same_variables(family):
    family.refuses("QUERY_INVALID", '[:find ?p :where (or [?p :first "Ada"] ‸[?p :last ?l])]', says="or-join")
    family.refuses(
        "QUERY_INVALID", "[:find ?p ?l :where (or (and [?p :last ?l] [?p :sex :m]) ‸[?p :first])]", says="?l"
    )


def test_an_empty_or(family):
    family.refuses("QUERY_INVALID", "[:find ?p :where [?p :first] ‸(or)]")


def test_an_empty_branch(family):
    family.refuses("QUERY_INVALID", "[:find ?p :where [?p :first] (or [?p :sex :m] ‸(and))]")


def test_an_unbound_branch(family):
    family.refuses("UNBOUND_VARIABLE", "[:find ?p :where (or [(< ?p 3)] [(> ?p 5)])]", says="?p")


def test_branch_counts_that_add_up(db):
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :to [2 3 4]} {:db/id 2 :to [3 4]} {:db/id 3 :to [4 1]}]")
    query = "[:find ?a ?b :where (or [?a :to ?b] [?b :to ?a])]"
    assert db.q(query) == "#{[1 2] [2 1] [1 3] [3 1] [1 4] [4 1] [2 3] [3 2] [2 4] [4 2] [3 4] [4 3]}"


@pytest.fixture
def refs(db):
    db.tx("""[{:db/ident :e :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
              {:db/ident :f :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
              {:db/ident :n :db/valueType :db.type/long}]""")
    return db


def test_halves_of_branches_of_an_or_within_an_or_do_not_mix(refs):
    refs.tx("[[:db/add 3 :e 1] [:db/add 3 :f 3] [:db/add 3 :n 0] [:db/add 5 :n 3]]")
    query = """[:find ?c :where [?b :f ?d]
                                (or (or (and [_ :n ?c] [?b :n ?d])
                                        (and [?b :e ?c] [?d :n _]))
                                    (and [?c :n ?b] [?d :n _]))]"""
    assert refs.q(query) == "#{[1] [5]}"


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("budget", [1, 2, 3, 4, 5, 6, 7])
def test_halves_do_not_mix_where_chunks_are_gathered(db, first, budget):
    """The first kids reach only one branch of the outer `or`, the others only the other; `:e` is the rarer."""
    db.tx("""[{:db/ident :kid :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
              {:db/ident :e :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]""")
    reached = ["[21 22 23]", "[31 32 33]"]
    kids = [
        f"{{:db/id 1 :kid {kid}}} {{:db/id {kid} :e {reached[first ^ (kid > 12)]}}}" for kid in (11, 12, 13, 14)
    ]
    db.tx(*(f"[{kid}]" for kid in kids))
    db.tx(f"[{' '.join(f'[:db/add {x} :t {int(x in (31, 32, 33) or x > 50)}]' for x in range(21, 70))}]")
    db.tx(f"[{' '.join(f'[:db/add {x} :u 1] [:db/add {x} :v 1]' for x in range(40, 70))}]")
    db.tx("""[[:db/add 21 :p 1] [:db/add 21 :q 2] [:db/add 22 :u 1] [:db/add 22 :q 3]
              [:db/add 23 :v 1] [:db/add 23 :s 4]
              [:db/add 31 :u 1] [:db/add 31 :q 5] [:db/add 31 :s 6] [:db/add 31 :p 7]
              [:db/add 32 :v 1] [:db/add 32 :q 8] [:db/add 32 :s 9] [:db/add 33 :s 10] [:db/add 33 :q 11]]""")
    query = """[:find ?y :where [1 :kid ?a] [?a :e ?x]
                                (or (and [?x :t 0] [?x :p ?y])
                                    (and [?x :t 1] (or (and [?x :u 1] [?x :q ?y])
                                                       (and [?x :v 1] [?x :s ?y]))))]"""
    assert db.q(query, options=Options(budget=budget, reorder=False)) == "#{[1] [5] [9]}"


def test_a_gate_as_a_branch_decides_a_nested_or(refs):
    """Nothing is left that knows `?v`, and ?v is still to be passed."""
    refs.tx("[[:db/add 3 :e 1] [:db/add 3 :f 3] [:db/add 5 :f 4] [:db/add 3 :n 0]]")
    query = """[:find ?p :where (or [_ :f ?p]
                                    (and [?p :e _] (or-join [?p] (and [_ :n ?v] [?p :e ?v]) [3 :f 3])))]"""
    assert refs.q(query) == "#{[3] [4]}"
    assert refs.q(query.replace("[3 :f 3]", "[3 :f 9]")) == "#{[3] [4]}"


def test_more_branches_than_a_word_has_bits(db):
    db.tx(f"[{' '.join(f'[:db/add {e} :n {e % 100}]' for e in range(1, 200))}]")
    inner = " ".join(f"(and [?p :n {i}] (or [?p :n {i}] [?p :m {i}]))" for i in range(40, 90))
    query = f"[:find (count ?p) . :where (or {' '.join(f'[?p :n {i}]' for i in range(70))} {inner})]"
    assert db.q(query) == "179"
    assert db.q(query, options=Options(reorder=False, project=False, budget=3)) == "179"


def test_many_branches_with_variables_of_their_own(db):
    data = " ".join(f"{{:db/id {n} :n {n} :to {n % 7 + 1} :s {n % 3}}}" for n in range(1, 31))
    db.tx("[{:db/ident :to :db/valueType :db.type/ref}]", f"[{data}]")
    one = "(and [?e :n ?n{0}] [(= ?n{0} {0})])"
    other = "(and [?e :to ?a{0}] [?a{0} :n ?b{0}] [(< ?b{0} 2)] [?e :s ?c{0}] [(== ?c{0} {0})])"
    for number in (9, 30):
        branches = " ".join((one, other)[each % 2 == 0].format(each) for each in range(number))
        found = db.q(f"[:find ?e :where (or-join [?e] {branches})]")
        assert {row[0] for row in found.rows} == {*range(1, number, 2), 14, 21}
