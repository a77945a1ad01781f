"""What a rule needs from its caller: required places, and those that only a predicate or function reads."""

from __future__ import annotations

import pytest

from adalog.planner.model.plan import Options


@pytest.fixture
def people(db):
    db.tx("[{:db/id 1 :age 20} {:db/id 2 :age 30} {:db/id 3 :age 40} {:db/id 4 :limit 25} {:db/id 5 :limit 35}]")
    return db


OLDER = "[[(older ?p ?min) [?p :age ?a] [(> ?a ?min)]]]"


@pytest.mark.parametrize("options", [Options(), Options(magic=False), Options(reorder=False), Options(budget=1)])
@pytest.mark.parametrize("rules", [OLDER, "[[(older ?p ?min) [(> ?a ?min)] [?p :age ?a]]]"])
def test_a_place_that_only_a_predicate_reads(people, rules, options):
    def ask(query, *args):
        return people.q(f"{query} :rules {rules}]", *args, options=options)

    assert ask("[:find ?p :where (older ?p 25)") == "#{[2] [3]}"
    assert ask("[:find ?p :in $ ?min :where (older ?p ?min)", "35") == "#{[3]}"
    assert ask("[:find ?p ?min :in $ [?min ...] :where (older ?p ?min)", "[25 35 45]") == "#{[2 25] [3 25] [3 35]}"
    assert ask("[:find ?x ?p :where [?x :limit ?n] (older ?p ?n)") == "#{[4 2] [4 3] [5 3]}"
    assert ask("[:find ?x ?p :where (older ?p ?n) [?x :limit ?n]") == "#{[4 2] [4 3] [5 3]}"
    assert ask("[:find ?p :where [(+ 20 15) ?n] (older ?p ?n)") == "#{[3]}"
    assert ask("[:find ?p :where (older ?p ?n) [(+ 20 15) ?n]") == "#{[3]}"
    assert ask("[:find ?p :where [?p :age] (not (older ?p 25))") == "#{[1]}"


def test_left_unbound(people):
    people.refuses("UNBOUND_VARIABLE", f"[:find ?p :where ‸(older ?p ?n) :rules {OLDER}]", says="?n")
    people.refuses("UNBOUND_VARIABLE", f"[:find ?p :where ‸(older ?p _) :rules {OLDER}]", says="older")
    people.refuses("UNBOUND_VARIABLE", f"[:find ?p :where [?p :age] (not (older ?p ?n)) :rules {OLDER}]")


def test_required_places(people):
    rules = "[[(aged [?x] ?p) [?p :age ?x]]]"
    assert people.q(f"[:find ?p :where (aged 30 ?p) :rules {rules}]") == "#{[2]}"
    assert people.q(f"[:find ?p :in $ [?x ...] :where (aged ?x ?p) :rules {rules}]", "[20 40]") == "#{[1] [3]}"
    assert people.q(f"[:find ?p :where (aged ?x ?p) [(identity 40) ?x] :rules {rules}]") == "#{[3]}"
    assert people.q(f"[:find ?q :where [1 :age ?x] [(* 2 ?x) ?y] (aged ?y ?q) :rules {rules}]") == "#{[3]}"


def test_required_and_not_bound(people):
    rules = "[[(aged [?x] ?p) [?p :age ?x]]]"
    people.refuses("UNBOUND_VARIABLE", f"[:find ?p :where ‸(aged ?x ?p) :rules {rules}]", says="?x")
    people.refuses("UNBOUND_VARIABLE", f"[:find ?x ?p :where [?p :age] ‸(aged ?x ?p) :rules {rules}]", says="?x")
    people.refuses("UNBOUND_VARIABLE", f"[:find ?p :where ‸(aged _ ?p) :rules {rules}]", says="aged")


def test_required_and_bound_by_another_call_of_the_same_rule_only(people):
    rules = "[[(linked [?x] ?y) [?p :age ?x] [?p :age ?y]]]"
    people.refuses("UNBOUND_VARIABLE", f"[:find ?x :where (linked ?x ?y) (linked ?y ?x) :rules {rules}]")


def test_all_places_required(people):
    rules = "[[(close [?x ?y]) [(- ?x ?y) ?d] [(< -15 ?d 15)]]]"
    query = f"[:find ?p ?q :where [?p :age ?x] [?q :age ?y] (close ?x ?y) [(< ?p ?q)] :rules {rules}]"
    assert people.q(query) == "#{[1 2] [2 3]}"
    assert people.q(f"[:find ?p :where (close 1 2) [?p :age 20] :rules {rules}]") == "#{[1]}"
    assert people.q(f"[:find ?p :where (close 1 200) [?p :age 20] :rules {rules}]") == "#{}"


def test_required_places_in_recursion(people):
    rules = "[[(down [?n] ?m) [(identity ?n) ?m]] [(down [?n] ?m) [(> ?n 0)] [(dec ?n) ?k] (down ?k ?m)]]"
    assert people.q(f"[:find ?m :where (down 3 ?m) :rules {rules}]") == "#{[0] [1] [2] [3]}"
    assert people.q(
        f"[:find ?p ?m :where [?p :age ?a] [(quot ?a 15) ?n] (down ?n ?m) [(> ?m 0)] :rules {rules}]"
    ) == ("#{[1 1] [2 1] [2 2] [3 1] [3 2]}")
    people.refuses("UNBOUND_VARIABLE", f"[:find ?n ?m :where ‸(down ?n ?m) :rules {rules}]", says="?n")


def test_a_requirement_passed_on_by_another_rule(people):
    rules = f"{OLDER[:-1]} [(much-older ?p ?min) [(+ ?min 10) ?more] (older ?p ?more)]]"
    assert people.q(f"[:find ?p :where (much-older ?p 25) :rules {rules}]") == "#{[3]}"
    people.refuses("UNBOUND_VARIABLE", f"[:find ?p :where ‸(much-older ?p ?n) :rules {rules}]", says="?n")


def test_one_branch_needs_what_another_binds(people):
    rules = "[[(r ?p ?n) [?p :limit ?n]] [(r ?p ?n) [?p :age ?a] [(< ?a ?n)]]]"
    assert people.q(f"[:find ?p :where (r ?p 25) :rules {rules}]") == "#{[1] [4]}"
    people.refuses("UNBOUND_VARIABLE", f"[:find ?p ?n :where ‸(r ?p ?n) :rules {rules}]", says="?n")
    assert people.q(f"[:find ?p ?q :where (r ?p ?n) [?q :limit ?n] :rules {rules}]") == (
        "#{[1 4] [4 4] [1 5] [2 5] [5 5]}"
    )


def test_a_variable_of_a_rule_that_nothing_binds(people):
    rules = "[[(r ?p) [?p :age ?a] [(< ?a ?nothing)]]]"
    people.refuses("UNBOUND_VARIABLE", f"[:find ?p :where (r ?p) :rules {rules}]", says="?nothing")
    rules = "[[(r ?p) [?p :age ?a] [(< ?a ‸?nothing)]]]"
    people.refuses("UNBOUND_VARIABLE", f"[:find ?p :where (r ?p) :rules {rules}]", says="?nothing")


def test_a_head_variable_that_no_clause_mentions(people):
    rules = "[[(r ?p ?free) [?p :age 20]]]"
    assert people.q(f"[:find ?p ?x :in $ ?x :where (r ?p ?x) :rules {rules}]", "7") == "#{[1 7]}"
    people.refuses("UNBOUND_VARIABLE", f"[:find ?p ?x :where (r ?p ?x) :rules {rules}]", says="?x")


def test_a_not_over_a_head_variable(people):
    rules = "[[(other ?p ?q) [?p :age] (not [(= ?p ?q)])]]"
    assert people.q(f"[:find ?p ?q :where [?q :age 20] (other ?p ?q) :rules {rules}]") == "#{[2 1] [3 1]}"
    assert people.q(f"[:find ?p :where (other ?p 2) :rules {rules}]") == "#{[1] [3]}"
    people.refuses("UNBOUND_VARIABLE", f"[:find ?p ?q :where (other ?p ?q) :rules {rules}]", says="?q")


def test_an_output_bound_by_the_caller_filters(people):
    rules = "[[(half ?p ?h) [?p :age ?a] [(quot ?a 2) ?h]]]"
    assert people.q(f"[:find ?p :where (half ?p 15) :rules {rules}]") == "#{[2]}"
    assert people.q(f"[:find ?p ?q :where (half ?p ?h) [?q :age ?h] :rules {rules}]") == "#{[3 1]}"


def test_requirements_inside_or_and_not(people):
    query = f"[:find ?p ?n :where [_ :limit ?n] (or (older ?p ?n) (and [?p :limit ?n])) :rules {OLDER}]"
    assert people.q(query) == "#{[2 25] [3 25] [4 25] [3 35] [5 35]}"
    query = f"[:find ?p ?n :where [?p :age] [_ :limit ?n] (not (older ?p ?n)) :rules {OLDER}]"
    assert people.q(query) == "#{[1 25] [1 35] [2 35]}"


def test_tuples_and_blanks_from_functions_feed_a_call(people):
    query = f"[:find ?p ?n :where [(ground [[25 :a] [35 :b]]) [[?n _]]] (older ?p ?n) :rules {OLDER}]"
    assert people.q(query) == "#{[2 25] [3 25] [3 35]}"


def test_a_branch_of_a_rule_that_does_not_bind_what_another_one_does(people):
    """The second branch of `either` leaves ?p to the call after it."""
    rules = """[[(either ?p ?n) (deep ?p ?n)] [(either ?p ?n) [_ :limit]]
                [(deep ?p ?n) [?p :age ?n]] [(deep ?p ?n) (deep ?n ?p)]]"""
    query = f"[:find ?p ?n :where (either ?p 1) (deep ?p ?n) [?p :age] :rules {rules}]"
    assert people.q(query) == "#{[1 20] [2 30] [3 40]}"


def test_a_function_that_feeds_itself(people):
    rules = "[[(r ?n) [_ :age ?n]] [(r ?n) (r ?n) [(abs ?n) ?n]]]"
    assert people.q(f"[:find ?n :where (r ?n) :rules {rules}]") == "#{[20] [30] [40]}"


def test_a_required_place_repeated_in_the_head(people):
    rules = "[[(same [?n] ?p ?n) [?p :age]]]"
    assert people.q(f"[:find ?p ?m :where (same 7 ?p ?m) :rules {rules}]") == "#{[1 7] [2 7] [3 7]}"


def test_a_required_place_repeated_in_the_head_of_a_recursive_rule(people):
    rules = "[[(r [?d] ?p ?d) [?p :age 30]] [(r [?d] ?p ?e) (r ?p 2 ?d) [?p :age ?e]]]"
    assert people.q(f"[:find ?l :where (r 7.0 _ ?l) :rules {rules}]") == "#{[7.0]}"
    assert people.q(f"[:find ?p ?l :where (r 2 ?p ?l) :rules {rules}]") == "#{[2 2] [2 30]}"


@pytest.mark.parametrize("options", [Options(), Options(project=False), Options(reorder=False, project=False)])
def test_an_or_that_binds_half_of_what_it_mentions_before_a_call(db, options):
    """What is asked of `seen` is not asked through an `or` that waits for `[?x :m]`."""
    rules = "[[(self ?a) (self 5) [?a :m]] [(self ?a) [?a :n]] [(seen ?c) [?x :f ?b] [?x :n ?c] (self ?b)]]"
    query = "[:find ?c :in [?c ...] % :where (not (seen ?c)) (or-join [?c ?x] [?x :f] [3 :b] (self ?c)) [?x :m]]"
    assert db.q(query, "[2 5 2]", rules, options=options) == "#{}"
    db.tx("[[:db/add 3 :b 0] [:db/add 7 :m 0] [:db/add 8 :f 5] [:db/add 8 :n 2] [:db/add 5 :n 1]]")
    assert db.q(query, "[2 5 2]", rules, options=options) == "#{[5]}"


def test_a_required_place_that_no_body_reads_takes_a_constant(db):
    db.tx('[{:db/id 1 :n 1 :s "a"} {:db/id 2 :n 2 :s "b"}]')
    rule = '[(of [?e ?a ?v]) [?e :s "a"] [(not= ?v 5)]]'
    for constant in ("7", ":n", '"x"'):
        assert db.q(f"[:find ?e ?v :where [?e :n ?v] (of ?e {constant} ?v) :rules [{rule}]]") == "#{[1 1]}"
    twice = f"{rule} [(of [?e ?a ?v]) [?e :s ?a] [(= ?v 2)]]"
    assert db.q(f'[:find ?e ?v :where [?e :n ?v] (of ?e "b" ?v) :rules [{twice}]]') == "#{[1 1] [2 2]}"
