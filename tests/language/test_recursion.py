"""Recursive rules: linear, nonlinear and mutual, over cycles, asked from one end or both."""

from __future__ import annotations

import pytest

from adalog.planner.model.plan import Options

LEFT = "[[(path ?a ?b) [?a :to ?b]] [(path ?a ?c) (path ?a ?b) [?b :to ?c]]]"
RIGHT = "[[(path ?a ?b) [?a :to ?b]] [(path ?a ?c) [?a :to ?b] (path ?b ?c)]]"
NONLINEAR = "[[(path ?a ?b) [?a :to ?b]] [(path ?a ?c) (path ?a ?b) (path ?b ?c)]]"
RECURSION_FIRST = "[[(path ?a ?c) (path ?b ?c) [?a :to ?b]] [(path ?a ?b) [?a :to ?b]]]"
IN_OR_JOIN = "[[(path ?a ?c) (or-join [?a ?c] [?a :to ?c] (and [?a :to ?b] (path ?b ?c)))]]"
IN_OR = "[[(path ?a ?c) [?a :to ?b] (or (and [?b :to] [(= ?b ?c)] [?c :n]) (and [?b :n] (path ?b ?c)))]]"
MUTUAL = "[[(path ?a ?b) [?a :to ?b]] [(path ?a ?c) [?a :to ?b] (onward ?b ?c)] [(onward ?a ?b) (path ?a ?b)]]"
BOTH_ENDS = """[[(path ?a ?b) [?a :to ?b]] [(path ?a ?b) [?a :to ?x] [?x :to ?b]]
                [(path ?a ?b) [?a :to ?x] (path ?x ?y) [?y :to ?b]]]"""
PATHS = [LEFT, RIGHT, NONLINEAR, RECURSION_FIRST, IN_OR_JOIN, MUTUAL, BOTH_ENDS]

SWITCHES = [
    Options(),
    Options(magic=False),
    Options(semi_naive=False),
    Options(reorder=False),
    Options(project=False),
    Options(budget=1),
    Options(magic=False, semi_naive=False, reorder=False, project=False, budget=3),
]


@pytest.fixture
def graph(db):
    """1 → 2 → 3 → 1 is a cycle, 3 → 4 → 5 leads out of it; 6 → 6 stands alone; 7 has no edges."""
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :to 2} {:db/id 2 :to 3} {:db/id 3 :to [1 4]} {:db/id 4 :to 5} {:db/id 6 :to 6}]")
    db.tx(f"[{' '.join(f'[:db/add {e} :n {10 * e}]' for e in range(1, 8))}]")
    return db


CLOSURE = {(a, b) for a in (1, 2, 3) for b in (1, 2, 3, 4, 5)} | {(4, 5), (6, 6)}


def edn(rows):
    return "#{" + " ".join(f"[{' '.join(map(str, row))}]" for row in rows) + "}"


@pytest.mark.parametrize("rules", PATHS)
@pytest.mark.parametrize("options", SWITCHES)
def test_transitive_closure_over_a_cycle(graph, rules, options):
    def ask(query):
        return graph.q(f"{query} :rules {rules}]", options=options)

    assert ask("[:find ?a ?b :where (path ?a ?b)") == edn(CLOSURE)
    assert ask("[:find ?b :where (path 2 ?b)") == "#{[1] [2] [3] [4] [5]}"
    assert ask("[:find ?a :where (path ?a 5)") == "#{[1] [2] [3] [4]}"
    assert ask("[:find ?n :where (path 2 5) [2 :n ?n]") == "#{[20]}"
    assert ask("[:find ?n :where (path 5 2) [2 :n ?n]") == "#{}"
    assert ask("[:find ?a :where (path ?a ?a)") == "#{[1] [2] [3] [6]}"
    assert ask("[:find ?a :where (path ?a _)") == "#{[1] [2] [3] [4] [6]}"
    assert ask("[:find ?a :where [?a :n] (not (path ?a _))") == "#{[5] [7]}"
    assert ask("[:find ?a :where [?a :n] (not (path 1 ?a))") == "#{[6] [7]}"
    assert ask("[:find ?b :where [?a :n 40] (path ?a ?b)") == "#{[5]}"
    assert ask("[:find (count ?b) . :where (path 1 ?b)") == "5"


@pytest.mark.parametrize("options", SWITCHES)
def test_asked_with_inputs(graph, options):
    def ask(inputs, where, *args):
        return graph.q(f"[:find ?a ?b :in $ {inputs} :where {where} :rules {RIGHT}]", *args, options=options)

    assert ask("?a", "(path ?a ?b)", "4") == "#{[4 5]}"
    assert ask("[?a ...]", "(path ?a ?b)", "[4 6 7 4]") == "#{[4 5] [6 6]}"
    assert ask("[?b ...]", "(path ?a ?b)", "[6]") == "#{[6 6]}"
    assert ask("[[?a ?b]]", "(path ?a ?b)", "[[1 5] [5 1] [4 4] [6 6]]") == "#{[1 5] [6 6]}"
    assert ask("?a ?b", "(path ?a ?b)", "1", "5") == "#{[1 5]}"
    assert ask("?a ?b", "(path ?a ?b)", "5", "1") == "#{}"
    assert ask("[?a ...]", "(path ?a ?b)", "[]") == "#{}"
    assert ask("?a", "(path ?a ?b)", '"nobody"') == "#{}"
    assert ask("?a", "(path ?a ?b)", "4.0") == "#{}"


def test_a_call_for_each_row(graph):
    query = f"[:find ?a ?b :where [?x :n ?n] [(< ?n 20)] [?x :to ?a] (path ?a ?b) (not (path ?b ?a)) :rules {LEFT}]"
    assert graph.q(query) == "#{[2 4] [2 5]}"


def test_two_calls_with_other_bindings(graph):
    query = f"[:find ?a :where (path 1 ?a) (path ?a 5) (path ?a ?a) :rules {LEFT}]"
    assert graph.q(query) == "#{[1] [2] [3]}"


def test_calls_in_the_branches_of_an_or(graph):
    query = f"[:find ?b :where (or (path 6 ?b) (path 4 ?b)) :rules {LEFT}]"
    assert graph.q(query) == "#{[5] [6]}"
    query = "[:find ?a ?b :where [?a :n ?n] (or-join [?a ?b] (path ?a ?b) (and [?a :n 70] [(identity ?a) ?b]))"
    assert graph.q(f"{query} [(> ?n 30)] :rules {LEFT}]") == "#{[4 5] [6 6] [7 7]}"


def test_capture_in_recursion(graph):
    """The query's variables have the names of the rule's own, in other places."""
    query = f"[:find ?c ?b :where [?c :n 30] (path ?c ?b) [?a :n 70] [?b :n ?x] [(< ?x 45)] :rules {RIGHT}]"
    assert graph.q(query) == "#{[3 1] [3 2] [3 3] [3 4]}"
    assert graph.q(f"[:find ?b ?a :where (path ?b ?a) [?b :n 40] :rules {RIGHT}]") == "#{[4 5]}"


def test_an_input_named_as_a_local_variable(graph):
    query = "[:find ?a ?c :in $ % ?b :where (path ?a ?c) [?a :n ?b]]"
    assert graph.q(query, RIGHT, "40") == "#{[4 5]}"


def test_rules_that_only_call_themselves(graph):
    rules = "[[(never ?a ?b) (never ?b ?a)]]"
    assert graph.q(f"[:find ?a ?b :where (never ?a ?b) :rules {rules}]") == "#{}"
    assert graph.q(f"[:find ?b :where (never 1 ?b) :rules {rules}]") == "#{}"
    assert graph.q(f"[:find ?a :where [?a :n 10] (not (never ?a _)) :rules {rules}]") == "#{[1]}"


def test_symmetry(graph):
    rules = "[[(joined ?a ?b) [?a :to ?b]] [(joined ?a ?b) (joined ?b ?a)]]"
    assert graph.q(f"[:find ?b :where (joined 3 ?b) :rules {rules}]") == "#{[1] [2] [4]}"


def test_swapped_places(graph):
    """The bound place changes from call to call."""
    rules = "[[(alternating ?a ?b) [?a :to ?b]] [(alternating ?a ?c) [?a :to ?b] (alternating ?c ?b)]]"
    wanted = {(a, b) for a, b in _alternating()}
    assert graph.q(f"[:find ?a ?b :where (alternating ?a ?b) :rules {rules}]") == edn(wanted)
    for node in (1, 3, 4, 6, 7):
        mine = edn((b,) for a, b in wanted if a == node)
        assert graph.q(f"[:find ?b :where (alternating {node} ?b) :rules {rules}]") == mine


def _alternating():
    edges = {(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (6, 6)}
    found = set(edges)
    while True:
        grown = found | {(a, c) for a, b in edges for c, other in found if other == b}
        if grown == found:
            return found
        found = grown


def test_mutual_recursion_of_different_widths(graph):
    rules = """[[(even ?a ?b) [?a :n] [(identity ?a) ?b]] [(even ?a ?c) (odd ?a ?b ?x) [?b :to ?c]]
                [(odd ?a ?c ?b) (even ?a ?b) [?b :to ?c]]]"""
    assert graph.q(f"[:find ?b :where (even 4 ?b) :rules {rules}]") == "#{[4]}"
    assert graph.q(f"[:find ?b :where (odd 4 ?b _) :rules {rules}]") == "#{[5]}"
    assert graph.q(f"[:find ?b :where (even 3 ?b) :rules {rules}]") == "#{[1] [2] [3] [4] [5]}"
    assert graph.q(f"[:find ?x :where (odd 2 5 ?x) :rules {rules}]") == "#{[4]}"


def test_three_rules_in_a_ring(graph):
    rules = """[[(x ?a ?b) [?a :to ?b]] [(x ?a ?c) (z ?a ?b) [?b :to ?c]]
                [(y ?a ?c) (x ?a ?b) [?b :to ?c]] [(z ?a ?c) (y ?a ?b) [?b :to ?c]]]"""
    assert graph.q(f"[:find ?b :where (x 1 ?b) :rules {rules}]") == "#{[2] [5]}"
    assert graph.q(f"[:find ?b :where (y 1 ?b) :rules {rules}]") == "#{[3]}"
    assert graph.q(f"[:find ?b :where (z 1 ?b) :rules {rules}]") == "#{[1] [4]}"


def test_same_generation(db):
    db.tx("[{:db/ident :parent :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("""[[:db/add 2 :parent 1] [:db/add 3 :parent 1] [:db/add 4 :parent 2] [:db/add 5 :parent 3]
              [:db/add 6 :parent 5] [:db/add 7 :parent 4]]""")
    rules = """[[(cousins ?x ?y) [?x :parent ?p] [?y :parent ?p]]
                [(cousins ?x ?y) [?x :parent ?a] (cousins ?a ?b) [?y :parent ?b]]]"""
    everyone = "#{[2 2] [2 3] [3 2] [3 3] [4 4] [4 5] [5 4] [5 5] [6 6] [6 7] [7 6] [7 7]}"
    assert db.q(f"[:find ?x ?y :where (cousins ?x ?y) :rules {rules}]") == everyone
    assert db.q(f"[:find ?y :where (cousins 4 ?y) :rules {rules}]") == "#{[4] [5]}"
    assert db.q(f"[:find ?x :where (cousins ?x 7) [(not= ?x 7)] :rules {rules}]") == "#{[6]}"


def test_points_to(db):
    db.tx("""[{:db/ident :new :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
              {:db/ident :assign :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
              {:db/ident :load :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
              {:db/ident :store :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]""")
    db.tx(
        "[[:db/add 1 :new 101] [:db/add 2 :new 102] [:db/add 3 :assign 1] [:db/add 3 :store 2] [:db/add 4 :load 1]]"
    )
    rules = """[[(points ?v ?h) [?v :new ?h]]
                [(points ?v ?h) [?v :assign ?w] (points ?w ?h)]
                [(points ?v ?h) [?v :load ?p] (points ?p ?o) (holds ?o ?h)]
                [(holds ?o ?h) [?p :store ?w] (points ?p ?o) (points ?w ?h)]]"""
    assert db.q(f"[:find ?v ?h :where (points ?v ?h) :rules {rules}]") == "#{[1 101] [2 102] [3 101] [4 102]}"
    assert db.q(f"[:find ?h :where (points 4 ?h) :rules {rules}]") == "#{[102]}"
    assert db.q(f"[:find ?v :where (points ?v 101) :rules {rules}]") == "#{[1] [3]}"


def test_unary_recursion(graph):
    rules = "[[(reached ?x) [?x :n 30]] [(reached ?x) (reached ?y) [?y :to ?x]]]"
    assert graph.q(f"[:find ?x :where (reached ?x) :rules {rules}]") == "#{[1] [2] [3] [4] [5]}"
    assert graph.q(f"[:find ?n :where [?x :n ?n] (not (reached ?x)) :rules {rules}]") == "#{[60] [70]}"
    assert graph.q(f"[:find ?n :where [4 :n ?n] (reached 4) :rules {rules}]") == "#{[40]}"
    assert graph.q(f"[:find ?n :where [7 :n ?n] (reached 7) :rules {rules}]") == "#{}"


def test_a_recursive_rule_with_a_constant_inside(graph):
    rules = "[[(from-one ?b) [1 :to ?b]] [(from-one ?b) (from-one ?a) [?a :to ?b] [?b :n ?n] [(not= ?n 40)]]]"
    assert graph.q(f"[:find ?b :where (from-one ?b) :rules {rules}]") == "#{[1] [2] [3]}"


def test_negation_of_a_lower_stratum_in_recursion(graph):
    rules = """[[(dead-end ?x) [_ :to ?x] (not [?x :to _])]
                [(safe ?a ?b) [?a :to ?b] (not (dead-end ?b))]
                [(safe ?a ?c) (safe ?a ?b) [?b :to ?c] (not (dead-end ?c))]]"""
    assert graph.q(f"[:find ?b :where (safe 1 ?b) :rules {rules}]") == "#{[1] [2] [3] [4]}"


def test_the_complement_of_a_recursive_rule(graph):
    rules = f"{RIGHT[:-1]} [(apart ?a ?b) [?a :n] [?b :n] (not (path ?a ?b))]]"
    query = f"[:find ?a ?b :where (apart ?a ?b) [?a :n ?x] [(> ?x 50)] [?b :n ?y] [(< ?y 20)] :rules {rules}]"
    assert graph.q(query) == "#{[6 1] [7 1]}"
    assert graph.q(f"[:find ?b :where (apart 6 ?b) :rules {rules}]") == "#{[1] [2] [3] [4] [5] [7]}"


# Functions within recursion


@pytest.mark.parametrize("options", SWITCHES)
def test_counting_up_to_a_bound(graph, options):
    rules = """[[(walk ?a ?b ?n) [?a :to ?b] [(ground 1) ?n]]
                [(walk ?a ?c ?m) (walk ?a ?b ?n) [(< ?n 5)] [(inc ?n) ?m] [?b :to ?c]]]"""
    query = f"[:find ?n :where (walk 1 1 ?n) :rules {rules}]"
    assert graph.q(query, options=options) == "#{[3]}"
    query = f"[:find ?b ?n :where (walk 3 ?b ?n) [(> ?n 3)] :rules {rules}]"
    assert graph.q(query, options=options) == "#{[1 4] [2 5] [4 4] [5 5]}"


@pytest.mark.parametrize("options", SWITCHES)
def test_a_bound_argument_rebound_by_a_function(graph, options):
    rules = """[[(within ?a ?b ?n) [(>= ?n 1)] [?a :to ?b]]
                [(within ?a ?c ?n) [(> ?n 1)] [(dec ?n) ?m] [?a :to ?b] (within ?b ?c ?m)]]"""
    assert graph.q(f"[:find ?b :where (within 2 ?b 1) :rules {rules}]", options=options) == "#{[3]}"
    assert graph.q(f"[:find ?b :where (within 2 ?b 2) :rules {rules}]", options=options) == "#{[1] [3] [4]}"
    query = f"[:find ?n ?b :in $ [?n ...] :where (within 4 ?b ?n) :rules {rules}]"
    assert graph.q(query, "[0 1 9]", options=options) == "#{[1 5] [9 5]}"


@pytest.mark.parametrize("options", SWITCHES)
def test_numbers_from_nothing(db, options):
    rules = "[[(upto [?n] ?m) [(identity ?n) ?m]] [(upto [?n] ?m) [(< ?n 5)] [(inc ?n) ?k] (upto ?k ?m)]]"
    assert db.q(f"[:find ?m :where (upto 2 ?m) :rules {rules}]", options=options) == "#{[2] [3] [4] [5]}"
    assert db.q(f"[:find ?m :in $ ?n :where (upto ?n ?m) :rules {rules}]", "4", options=options) == "#{[4] [5]}"
    assert db.q(f"[:find ?m :in $ ?n :where (upto ?n ?m) :rules {rules}]", "9", options=options) == "#{[9]}"


def test_factorial(db):
    rules = """[[(factorial [?n] ?f) [(= ?n 0)] [(ground 1) ?f]]
                [(factorial [?n] ?f) [(> ?n 0)] [(dec ?n) ?m] (factorial ?m ?g) [(* ?n ?g) ?f]]]"""
    assert db.q(f"[:find ?f . :where (factorial 10 ?f) :rules {rules}]") == "3628800"


def test_strings_grown_in_recursion(graph):
    rules = """[[(route ?a ?b ?s) [?a :to ?b] [(str ?a ">" ?b) ?s]]
                [(route ?a ?c ?t) (route ?a ?b ?s) [?b :to ?c] [(count ?s) ?n] [(< ?n 7)] [(str ?s ">" ?c) ?t]]]"""
    assert graph.q(f"[:find ?s :where (route 2 5 ?s) :rules {rules}]") == '#{["2>3>4>5"]}'


# Snapshots, sources, limits


def test_as_of(graph):
    t = graph.database.snapshot().t
    graph.tx("[[:db/retract 3 :to 1] [:db/add 5 :to 6]]")
    query = f"[:find ?b :where (path 2 ?b) :rules {LEFT}]"
    assert graph.q(query) == "#{[3] [4] [5] [6]}"
    assert graph.at(as_of=t).q(query) == "#{[1] [2] [3] [4] [5]}"
    assert graph.at(since=t).q(f"[:find ?a ?b :where (path ?a ?b) :rules {LEFT}]") == "#{[5 6]}"


def test_history(graph):
    graph.tx("[[:db/retract 3 :to 1] [:db/retract 3 :to 4]]")
    query = f"[:find ?b :where (path 2 ?b) :rules {LEFT}]"
    assert graph.q(query) == "#{[3]}"
    assert graph.at(history=True).q(query) == "#{[1] [2] [3] [4] [5]}"


def test_over_a_named_source(graph):
    before = graph.at(as_of=graph.database.snapshot().t)
    graph.tx("[[:db/retract 3 :to 1] [:db/retract 4 :to 5]]")
    query = f"[:find ?b :in $ $old :where ($old path 2 ?b) (not (path 2 ?b)) :rules {LEFT}]"
    assert graph.q(query, before) == "#{[1] [2] [5]}"
    query = f"[:find ?a ?b :in $ $old :where ($old path ?a ?b) (path ?a ?b) [?a :n 20] :rules {NONLINEAR}]"
    assert graph.q(query, before) == "#{[2 3] [2 4]}"


def test_a_rule_that_reads_two_sources(graph):
    before = graph.at(as_of=graph.database.snapshot().t)
    graph.tx("[[:db/retract 3 :to 4] [:db/add 5 :to 7]]")
    rules = "[[(ever ?a ?b) [?a :to ?b]] [(ever ?a ?b) [$old ?a :to ?b]] [(ever ?a ?c) (ever ?a ?b) (ever ?b ?c)]]"
    query = f"[:find ?b :in $ $old :where (ever 3 ?b) :rules {rules}]"
    assert graph.q(query, before) == "#{[1] [2] [3] [4] [5] [7]}"


def test_a_recursion_that_changes_its_source(graph):
    """The body's call says `$old`: from there on the default source is the old one."""
    before = graph.at(as_of=graph.database.snapshot().t)
    graph.tx("[[:db/retract 4 :to 5] [:db/retract 3 :to 4] [:db/add 7 :to 3]]")
    rules = "[[(step ?a ?b) [?a :to ?b]] [(step ?a ?c) [?a :to ?b] ($old path ?b ?c)]" + RIGHT[1:]
    query = f"[:find ?b :in $ $old :where (step 7 ?b) :rules {rules}]"
    assert graph.q(query, before) == "#{[1] [2] [3] [4] [5]}"
    assert graph.q(query.replace("$old path", "path"), before) == "#{[1] [2] [3]}"


def test_a_source_for_a_not_or_an_or_with_a_call_inside(graph):
    before = graph.at(as_of=graph.database.snapshot().t)
    graph.tx("[[:db/retract 3 :to 4]]")
    query = "[:find ?b :in $ $old :where [?b :n] %s :rules " + LEFT + "]"
    assert graph.q(query % "($old not (path 1 ?b))", before) == "#{[6] [7]}"
    assert graph.q(query % "(not (path 1 ?b))", before) == "#{[4] [5] [6] [7]}"
    assert graph.q(query % "($old or (path 4 ?b) (path 6 ?b))", before) == "#{[5] [6]}"


def test_over_a_plain_relation(db):
    rules = "[[(path ?a ?b) [$edges ?a ?b]] [(path ?a ?c) (path ?a ?b) [$edges ?b ?c]]]"
    query = f"[:find ?b :in $edges :where (path 1 ?b) :rules {rules}]"
    assert db.q(query, "[[1 2] [2 3] [3 1] [4 5]]") == "#{[1] [2] [3]}"
    rules = "[[(path ?a ?b) [?a ?b]] [(path ?a ?c) (path ?a ?b) [?b ?c]]]"
    query = f'[:find ?b :in $ $edges :where ($edges path "a" ?b) :rules {rules}]'
    assert db.q(query, '[["a" "b"] ["b" :c] [:c 4.0]]') == '#{["b"] [:c] [4.0]}'


def test_limit_and_order(graph):
    query = f"[:find ?a ?b :where (path ?a ?b) :order-by [[?b :desc] ?a] :limit 3 :offset 1 :rules {LEFT}]"
    assert graph.q(query) == "[[1 5] [2 5] [3 5]]"
    assert len(graph.q(f"[:find ?a ?b :where (path ?a ?b) :limit 4 :rules {LEFT}]")) == 4
    assert len(graph.q(f"[:find ?a ?b :where (path ?a ?b) :limit 400 :rules {LEFT}]")) == len(CLOSURE)
    assert graph.q(f"[:find ?a ?b :where (path ?a ?b) :limit 0 :rules {LEFT}]") == "#{}"


def test_find_specs(graph):
    assert graph.q(f"[:find [?b ...] :where (path 4 ?b) :rules {LEFT}]") == "[5]"
    assert graph.q(f"[:find ?b . :where (path 4 ?b) :rules {LEFT}]") == "5"
    assert graph.q(f"[:find ?b . :where (path 5 ?b) :rules {LEFT}]") == "nil"
    assert graph.q(f"[:find ?b :keys node :where (path 4 ?b) :rules {LEFT}]") == "[{:node 5}]"


def test_a_long_chain(db):
    """Many rounds, asked from both ends."""
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx(f"[{' '.join(f'[:db/add {i} :to {i + 1}]' for i in range(1, 300))}]")
    for rules in (LEFT, RIGHT, NONLINEAR, MUTUAL):
        assert db.q(f"[:find (count ?b) . :where (path 1 ?b) :rules {rules}]") == "299"
        assert db.q(f"[:find (count ?a) . :where (path ?a 300) :rules {rules}]") == "299"
        assert db.q(f"[:find (count ?a) . :with ?b :where (path ?a ?b) :rules {rules}]") == str(299 * 300 // 2)


def test_wide_rules(graph):
    rules = """[[(walk ?a ?b ?c ?d ?e) [?a :to ?b] [?b :to ?c] [?c :to ?d] [?d :to ?e]]
                [(walk ?b ?c ?d ?e ?f) (walk ?a ?b ?c ?d ?e) [?e :to ?f]]]"""
    assert graph.q(f"[:find ?e :where (walk 1 _ _ _ ?e) :rules {rules}]") == "#{[2] [5]}"
    assert graph.q(f"[:find ?a ?e :where (walk ?a 3 ?c 2 ?e) :rules {rules}]") == "#{[2 3]}"


def test_endless_recursion_is_stopped(graph):
    rules = "[[(count-up ?x ?n) [?x :n ?n]] [(count-up ?x ?m) (count-up ?x ?n) [(inc ?n) ?m]]]"
    with pytest.raises(Exception, match=r"TIMEOUT|LIMIT_EXCEEDED"):
        graph.q(f"[:find (count ?n) :where (count-up 1 ?n) :rules {rules}]", timeout_ms=300)


def test_strings_that_double_in_every_round_are_refused_before_memory_ends(db):
    rules = '[[(text ?s) [(ground "a") ?s]] [(text ?s) (text ?half) ‸[(str ?half ?half) ?s]]]'
    db.refuses("LIMIT_EXCEEDED", f"[:find (count ?s) . :where (text ?s) :rules {rules}]", says="1,048,576")
