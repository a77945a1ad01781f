"""Rules that do not recur: heads, calls, scopes, where a call may stand, and how rules are given."""

from __future__ import annotations

import pytest

from adalog.datalog.edn import write
from tests.support import refused


@pytest.fixture
def people(db):
    db.tx(
        """[{:db/ident :parent :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
            {:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}
            {:db/ident :likes :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
            {:db/ident :cheese} {:db/ident :tea}]"""
    )
    db.tx(
        """[{:db/id 1 :name "Ada" :age 36 :parent [2 3] :likes [:tea]}
            {:db/id 2 :name "Byron" :age 60 :parent [4] :likes [:cheese :tea]}
            {:db/id 3 :name "Anne" :age 58}
            {:db/id 4 :name "Jack" :age 90 :likes [:cheese]}]"""
    )
    return db


GRANDPARENT = "[[(grandparent ?x ?z) [?x :parent ?y] [?y :parent ?z]]]"
RELATED = "[[(related ?x ?y) [?x :parent ?y]] [(related ?x ?y) [?y :parent ?x]]]"


# How rules are given


def test_rules_in_the_query(people):
    assert people.q(f"[:find ?x ?z :where (grandparent ?x ?z) :rules {GRANDPARENT}]") == "#{[1 4]}"
    assert people.q(f"{{:find [?x ?z] :where [(grandparent ?x ?z)] :rules {GRANDPARENT}}}") == "#{[1 4]}"


def test_rules_as_an_argument(people):
    assert people.q("[:find ?x ?z :in $ % :where (grandparent ?x ?z)]", GRANDPARENT) == "#{[1 4]}"


def test_rules_as_an_argument_of_text(people):
    assert people.q("[:find ?x ?z :in $ % :where (grandparent ?x ?z)]", f'"{GRANDPARENT}"') == "#{[1 4]}"


def test_rules_among_other_inputs(people):
    query = "[:find ?z :in $ % ?x :where (grandparent ?x ?z)]"
    assert people.q(query, GRANDPARENT, "1") == "#{[4]}"
    assert people.q(query, GRANDPARENT, "2") == "#{}"
    assert people.q("[:find ?z :in ?x % :where (grandparent ?x ?z)]", "1", GRANDPARENT) == "#{[4]}"


def test_rules_in_both_places_are_one_set(people):
    query = "[:find ?x ?y :in $ % :where (related ?x ?y) :rules [[(related ?x ?y) [?x :parent ?y]]]]"
    given = "[[(related ?x ?y) [?y :parent ?x]]]"
    assert people.q(query, given) == "#{[1 2] [1 3] [2 4] [2 1] [3 1] [4 2]}"


def test_rules_of_one_place_call_those_of_the_other(people):
    query = """[:find ?x ?z :in $ % :where (grandparent ?x ?z)
                :rules [[(grandparent ?x ?z) (up ?x ?y) (up ?y ?z)]]]"""
    assert people.q(query, "[[(up ?x ?y) [?x :parent ?y]]]") == "#{[1 4]}"


def test_equal_queries_with_other_rules(people):
    query = "[:find ?x ?y :in $ % :where (r ?x ?y)]"
    assert people.q(query, "[[(r ?x ?y) [?x :parent ?y]]]") == "#{[1 2] [1 3] [2 4]}"
    assert people.q(query, "[[(r ?y ?x) [?x :parent ?y]]]") == "#{[2 1] [3 1] [4 2]}"
    assert people.q(query, "[[(r ?x ?y) [?x :age ?y]]]") == "#{[1 36] [2 60] [3 58] [4 90]}"


def test_an_empty_rule_set(people):
    assert people.q("[:find ?x :in $ % :where [?x :age 36]]", "[]") == "#{[1]}"
    assert people.q("[:find ?x :where [?x :age 36] :rules []]") == "#{[1]}"


def test_rules_that_nobody_calls(people):
    assert people.q(f"[:find ?x :where [?x :age 36] :rules {GRANDPARENT}]") == "#{[1]}"


def test_names_of_every_kind(people):
    for name in ("older-than?", "is/older", "->", "r*", "first"):
        rules = f"[[({name} ?x) [?x :age ?a] [(> ?a 58)]]]"
        assert people.q(f"[:find ?x :where ({name} ?x) :rules {rules}]") == "#{[2] [4]}"


def test_plain_symbols(people):
    rules = "[[(grandparent x z) [x :parent y] [y :parent z]]]"
    assert people.q(f"{{:find [y z] :where [(grandparent y z)] :rules {rules}}}") == "#{[1 4]}"


# Heads


def test_several_heads_are_a_disjunction(people):
    assert (
        people.q(f"[:find ?x ?y :where (related ?x ?y) :rules {RELATED}]")
        == "#{[1 2] [1 3] [2 4] [2 1] [3 1] [4 2]}"
    )


def test_heads_may_name_their_variables_differently(people):
    rules = "[[(related ?x ?y) [?x :parent ?y]] [(related ?child ?x) [?x :parent ?child]]]"
    assert (
        people.q(f"[:find ?x ?y :where (related ?x ?y) :rules {rules}]") == "#{[1 2] [1 3] [2 4] [2 1] [3 1] [4 2]}"
    )


def test_a_row_once_however_many_heads_give_it(people):
    rules = (
        "[[(adult ?x) [?x :age ?a] [(> ?a 50)]] [(adult ?x) [?x :age ?a] [(> ?a 55)]] [(adult ?x) [_ :parent ?x]]]"
    )
    assert people.q(f"[:find ?x :where (adult ?x) :rules {rules}]") == "#{[2] [3] [4]}"
    assert people.q(f"[:find (count ?x) . :where (adult ?x) :rules {rules}]") == "3"


def test_a_repeated_variable_in_the_head(people):
    rules = "[[(same ?x ?x) [?x :age]]]"
    assert people.q(f"[:find ?a ?b :where (same ?a ?b) :rules {rules}]") == "#{[1 1] [2 2] [3 3] [4 4]}"
    assert people.q(f"[:find ?b :where (same 2 ?b) :rules {rules}]") == "#{[2]}"
    assert people.q(f"[:find ?x ?y :where [?x :parent ?y] (same ?x ?y) :rules {rules}]") == "#{}"


# Calls


def test_constants_at_the_call(people):
    assert people.q(f"[:find ?z :where (grandparent 1 ?z) :rules {GRANDPARENT}]") == "#{[4]}"
    assert people.q(f"[:find ?x :where (grandparent ?x 4) :rules {GRANDPARENT}]") == "#{[1]}"
    assert people.q(f"[:find ?a :where (grandparent 1 4) [1 :age ?a] :rules {GRANDPARENT}]") == "#{[36]}"
    assert people.q(f"[:find ?a :where (grandparent 1 3) [1 :age ?a] :rules {GRANDPARENT}]") == "#{}"


def test_a_constant_has_its_type(people):
    rules = "[[(aged ?x ?a) [?x :age ?a]]]"
    assert people.q(f"[:find ?x :where (aged ?x 36) :rules {rules}]") == "#{[1]}"
    assert people.q(f'[:find ?x :where (aged ?x "36") :rules {rules}]') == "#{}"


def test_blanks_at_the_call(people):
    assert people.q(f"[:find ?x :where (related ?x _) :rules {RELATED}]") == "#{[1] [2] [3] [4]}"
    assert people.q(f"[:find ?x :where [?x :age 36] (related _ _) :rules {RELATED}]") == "#{[1]}"
    assert people.q(f"[:find ?x :where (grandparent ?x _) :rules {GRANDPARENT}]") == "#{[1]}"


def test_a_blank_at_the_call_of_several_heads(people):
    """The first head of `s` says yes or no; with it what the second binds is nobody's."""
    people.tx("[[:db/add 3 :e 1] [:db/add 3 :f 3] [:db/add 5 :f 4]]")
    rules = """:rules [[(r ?p) [_ :f ?p]] [(r ?p) [?p :parent] (s _)]
                       [(s ?v) [_ :f ?v]] [(s ?v) [?v :e ?w] [?w :age]]]"""
    assert people.q(f"[:find ?p :where (r ?p) {rules}]") == "#{[1] [2] [3] [4]}"


def test_several_heads_call_several_heads(db):
    """As in a nested `or`, a row satisfies one whole head of each rule."""
    db.tx("""[{:db/ident :e :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
              {:db/ident :f :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
              {:db/ident :n :db/valueType :db.type/long}]""")
    db.tx("[[:db/add 3 :e 1] [:db/add 3 :f 3] [:db/add 3 :n 0] [:db/add 5 :n 3]]")
    query = """[:find ?c :where [?b :f ?d] (outer ?b ?c ?d)
                :rules [[(outer ?b ?c ?d) (inner ?b ?c ?d)] [(outer ?b ?c ?d) [?c :n ?b] [?d :n _]]
                        [(inner ?b ?c ?d) [_ :n ?c] [?b :n ?d]] [(inner ?b ?c ?d) [?b :e ?c] [?d :n _]]]]"""
    assert db.q(query) == "#{[1] [5]}"


def test_a_variable_twice_at_the_call(people):
    people.tx("[[:db/add 3 :parent 3]]")
    assert people.q(f"[:find ?x :where (related ?x ?x) :rules {RELATED}]") == "#{[3]}"
    assert people.q(f"[:find ?x :where (grandparent ?x ?x) :rules {GRANDPARENT}]") == "#{[3]}"


def test_lookup_refs_at_the_call(people):
    assert people.q(f'[:find ?z :where (grandparent [:name "Ada"] ?z) :rules {GRANDPARENT}]') == "#{[4]}"
    assert people.q(f'[:find ?z :where (grandparent [:name "Nobody"] ?z) :rules {GRANDPARENT}]') == "#{}"


def test_idents_at_the_call(people):
    rules = "[[(fan ?x ?what) [?x :likes ?what]] [(fan ?x ?what) [?y :parent ?x] (fan ?y ?what)]]"
    assert people.q(f"[:find ?x :where (fan ?x :cheese) :rules {rules}]") == "#{[2] [4]}"
    assert people.q(f"[:find ?x :where (fan ?x :tea) :rules {rules}]") == "#{[1] [2] [3] [4]}"
    simple = "[[(fan ?x ?what) [?x :likes ?what]]]"
    assert people.q(f"[:find ?x :where (fan ?x :cheese) :rules {simple}]") == "#{[2] [4]}"


def test_keywords_that_are_values_stay_keywords(people):
    people.tx("[{:db/id 1 :role :tea} {:db/id 3 :role :king}]")
    rules = "[[(has ?x ?role) [?x :role ?role]]]"
    assert people.q(f"[:find ?x :where (has ?x :tea) :rules {rules}]") == "#{[1]}"
    assert people.q(f"[:find ?x :where (has ?x :king) :rules {rules}]") == "#{[3]}"


def test_several_calls_join(people):
    query = "[:find ?x ?y :where (related ?x ?y) (old ?x) (old ?y) :rules %s]"
    rules = "[[(related ?x ?y) [?x :parent ?y]] [(old ?p) [?p :age ?x] [(>= ?x 60)]]]"
    assert people.q(query % rules) == "#{[2 4]}"


def test_a_call_before_what_binds_its_variables(people):
    assert people.q(f"[:find ?z :where (grandparent ?x ?z) [?x :age 36] :rules {GRANDPARENT}]") == "#{[4]}"


def test_collections_and_relations_as_inputs(people):
    query = f"[:find ?x ?y :in $ [?x ...] :where (related ?x ?y) :rules {RELATED}]"
    assert people.q(query, "[1 4 1 17]") == "#{[1 2] [1 3] [4 2]}"
    query = f"[:find ?x ?y :in $ [[?x ?y]] :where (related ?x ?y) :rules {RELATED}]"
    assert people.q(query, "[[1 2] [2 1] [3 4]]") == "#{[1 2] [2 1]}"


# Scopes


def test_local_variables_are_not_those_of_the_query(people):
    query = f"[:find ?x ?z ?y :where (grandparent ?x ?z) [?y :age 58] :rules {GRANDPARENT}]"
    assert people.q(query) == "#{[1 4 3]}"


def test_two_calls_of_a_rule_have_their_own_local_variables(people):
    rules = "[[(has-parent ?x) [?x :parent ?y] [?y :age ?a] [(> ?a 59)]]]"
    assert people.q(f"[:find ?x ?y :where (has-parent ?x) (has-parent ?y) [?x :parent ?y] :rules {rules}]") == (
        "#{[1 2]}"
    )


def test_head_variables_are_renamed_together(people):
    """?x ↦ ?y and ?y ↦ ?x at once, not one after the other."""
    rules = "[[(parent ?x ?y) [?x :parent ?y]] [(child ?x ?y) (parent ?y ?x)]]"
    assert people.q(f"[:find ?y ?x :where (child ?y ?x) :rules {rules}]") == "#{[2 1] [3 1] [4 2]}"
    assert people.q(f"[:find ?x ?y :where (child ?x ?y) :rules {rules}]") == "#{[2 1] [3 1] [4 2]}"


def test_a_local_variable_named_as_the_argument(people):
    rules = "[[(up ?a ?c) [?a :parent ?b] (step ?b ?c)] [(step ?c ?b) [?c :parent ?a] [(identity ?a) ?b]]]"
    assert people.q(f"[:find ?b ?a :where (up ?b ?a) :rules {rules}]") == "#{[1 4]}"


def test_inputs_of_the_query_are_not_seen_in_rules(people):
    query = "[:find ?x :in $ ?a :where (someone ?x) :rules [[(someone ?x) [?x :age ?a]]]]"
    assert people.q(query, "36") == "#{[1] [2] [3] [4]}"


def test_scopes_of_or_join_and_not_join_in_a_rule(people):
    rules = """[[(childless ?x) [?x :age] (not-join [?x] [?y :parent ?x])]
                [(near ?x ?y) (or-join [?x ?y] [?x :parent ?y] (and [?x :parent ?z] [?z :parent ?y]))]]"""
    assert people.q(f"[:find ?x :where (childless ?x) :rules {rules}]") == "#{[1]}"
    assert people.q(f"[:find ?z ?y :where (near ?z ?y) :rules {rules}]") == "#{[1 2] [1 3] [1 4] [2 4]}"


# Where a call may stand


def test_inside_or(people):
    query = f"[:find ?x :where (or (grandparent ?x 4) [?x :age 58]) :rules {GRANDPARENT}]"
    assert people.q(query) == "#{[1] [3]}"
    query = "[:find ?x :where (or (and [?x :age ?a] (grandparent ?x ?a)) (and (grandparent ?x 4) [?x :age ?a]))"
    assert people.q(f"{query} :rules {GRANDPARENT}]") == "#{[1]}"


def test_inside_or_join(people):
    query = "[:find ?x :where (or-join [?x] (grandparent ?x ?z) (and [?z :parent ?x] [?z :age 60]))"
    assert people.q(f"{query} :rules {GRANDPARENT}]") == "#{[1] [4]}"


def test_inside_not(people):
    query = f"[:find ?x :where [?x :age] (not (grandparent ?x _)) :rules {GRANDPARENT}]"
    assert people.q(query) == "#{[2] [3] [4]}"
    query = f"[:find ?x :where [?x :age] (not (related ?x 2)) :rules {RELATED}]"
    assert people.q(query) == "#{[2] [3]}"


def test_a_variable_of_a_call_in_a_not_is_existential(people):
    query = f"[:find ?x :where [?x :age] (not (grandparent ?x ?z)) :rules {GRANDPARENT}]"
    assert people.q(query) == "#{[2] [3] [4]}"


def test_inside_not_join(people):
    query = "[:find ?x :where [?x :age ?a] (not-join [?x] (related ?x ?y) [?y :age ?a] [(> ?a 80)])"
    assert people.q(f"{query} :rules {RELATED}]") == "#{[1] [3] [4]}"


def test_a_not_over_nothing_but_a_call_without_variables(people):
    query = f"[:find ?x :where [?x :age 36] (not (grandparent %s _)) :rules {GRANDPARENT}]"
    assert people.q(query % "1") == "#{}"
    assert people.q(query % "2") == "#{[1]}"


def test_a_not_that_shares_nothing(people):
    query = f"[:find ?x :where [?x :age 36] (not (grandparent ?y ?z)) :rules {GRANDPARENT}]"
    people.refuses("UNBOUND_VARIABLE", query)


def test_rules_calling_rules(people):
    rules = """[[(elder ?x) (parent _ ?x) (not (child ?x))]
                [(parent ?x ?y) [?x :parent ?y]]
                [(child ?x) (parent ?x _)]]"""
    assert people.q(f"[:find ?x :where (elder ?x) :rules {rules}]") == "#{[3] [4]}"


def test_functions_and_predicates_in_a_rule(people):
    rules = "[[(in-months ?x ?m) [?x :age ?y] [(* ?y 12) ?m]] [(old ?x) (in-months ?x ?m) [(> ?m 700)]]]"
    assert people.q(f"[:find ?x ?m :where (old ?x) (in-months ?x ?m) :rules {rules}]") == "#{[2 720] [4 1080]}"
    assert people.q(f"[:find ?x :where (in-months ?x 432) :rules {rules}]") == "#{[1]}"


def test_a_rule_that_is_never_true(people):
    rules = "[[(none ?x) [?x :age ?a] [(> ?a 100)]]]"
    assert people.q(f"[:find ?x :where (none ?x) :rules {rules}]") == "#{}"
    assert people.q(f"[:find ?x :where [?x :age 36] (not (none ?x)) :rules {rules}]") == "#{[1]}"
    assert people.q(f"[:find (count ?x) :where (none ?x) :rules {rules}]") == "#{}"


def test_a_rule_over_an_attribute_that_is_not_there(people):
    rules = "[[(has ?x ?y) [?x :nothing ?y]] [(has ?x ?y) [?x :age ?y]]]"
    assert people.q(f"[:find ?y :where (has 1 ?y) :rules {rules}]") == "#{[36]}"


def test_rules_with_attribute_variables(people):
    rules = "[[(value ?e ?a ?v) [?e ?a ?v]]]"
    assert people.q(f"[:find ?a ?v :where (value 3 ?a ?v) :rules {rules}]") == '#{[:name "Anne"] [:age 58]}'
    assert people.q(f"[:find ?e :where (value ?e :age 58) :rules {rules}]") == "#{[3]}"


# Refusals


def test_an_unknown_rule(people):
    people.refuses(
        "QUERY_INVALID",
        f"[:find ?x :where [?x :age] (‸granparent ?x 4) :rules {GRANDPARENT}]",
        says="grandparent",
    )
    people.refuses("QUERY_INVALID", "[:find ?x :where [?x :age] (‸nothing ?x)]", says="nothing")


def test_an_unknown_rule_with_rules_as_an_argument(people):
    query = "[:find ?x :in $ % :where [?x :age] (‸granparent ?x 4)]"
    people.refuses("QUERY_INVALID", query, GRANDPARENT, says="grandparent")


def test_an_unknown_rule_inside_a_rule(people):
    query = "[:find ?x :where (a ?x) :rules [[(a ?x) (‸nothing ?x)]]]"
    people.refuses("QUERY_INVALID", query, says="nothing")


def test_too_many_and_too_few_arguments(people):
    query = f"[:find ?x :where ‸(grandparent ?x) :rules {GRANDPARENT}]"
    people.refuses("QUERY_INVALID", query, says="2")
    query = f"[:find ?x :where [?x :age] (not ‸(grandparent ?x ?y ?z)) :rules {GRANDPARENT}]"
    people.refuses("QUERY_INVALID", query, says="2")


def test_heads_of_different_widths(people):
    query = "[:find ?x :where (r ?x ?y) :rules [[(r ?x) [?x :age]] [‸(r ?x ?y) [?x :parent ?y]]]]"
    people.refuses("QUERY_INVALID", query, says="r has")


def test_heads_with_different_requirements(people):
    query = "[:find ?x :where (r ?x 1) :rules [[(r ?x ?y) [?x :age ?y]] [‸(r [?x] ?y) [?x :parent ?y]]]]"
    people.refuses("QUERY_INVALID", query)


@pytest.mark.parametrize(
    "rules",
    [
        "[‸[(r)]]",
        "[[‸(r) [1 :age 36]]]",
        "[‸[(r ?x)]]",
        "[[(r ‸1) [?x :age]]]",
        "[[(r ‸_) [?x :age]]]",
        "[[‸(1 ?x) [?x :age]]]",
        "[[(‸not ?x) [?x :age]]]",
        "[[(‸or-join ?x) [?x :age]]]",
        "[[(r ?x) ‸17]]",
        "[[(r ?x) (or [?x :age 1] ‸?x)]]",
    ],
)
def test_grammar(people, rules):
    if "(r)" in rules:
        people.refuses("QUERY_INVALID", f"[:find ?x :where [?x :age] :rules {rules.replace('‸', '')}]")
    else:
        people.refuses("QUERY_INVALID", f"[:find ?x :where [?x :age] :rules {rules}]")


def test_a_place_in_rules_given_as_an_argument(people):
    query = "[:find ?x :in $ % :where (r ?x)]"
    refused("QUERY_INVALID", "[[(r ?x)\n  (‸nothing ?x)]]", "nothing", lambda text: people.q(query, text_of(text)))
    refused("EDN_SYNTAX", "[[(r ?x) [?x :age]]", "", lambda text: people.q(query, text_of(text)))


def test_an_argument_that_is_no_rule_set(people):
    query = "[:find ?x :in $ % :where [?x :age]]"
    for argument in ("17", ":a", "{}", "[17]", '"(r"', "nil"):
        with pytest.raises(Exception, match=r"QUERY_INVALID|ARG_INVALID|EDN_SYNTAX"):
            people.q(query, argument)


def test_rules_asked_for_and_not_given(people):
    people.refuses("ARG_INVALID", "[:find ?x :in $ % :where [?x :age]]")


@pytest.mark.parametrize(
    "rules",
    [
        "[[(more ?p) [?p :n/x ?x] [(>= ?x ?least)]]]",
        "[[(more ?p) [?p :n/x ?x] [(+ ?x ?least) ?y] [(> ?y 3)]]]",
        "[[(more ?p) [?p :n/x ?x]] [(more ?p) (more ?q) [?p :n/x ?q] [(>= ?q ?least)]]]",
    ],
)
@pytest.mark.parametrize("given", ["?least", "[?least ...]", "[[?least]]"])
def test_a_rule_sees_no_variable_of_in(db, rules, given):
    query = f"[:find ?p :in $ {given} :where (more ?p) :rules {rules}]"
    argument = {"?least": "5", "[?least ...]": "[5]", "[[?least]]": "[[5]]"}[given]
    says = "nothing binds ?least: a rule has its own variables, and sees none of :in; give it ?least as an argument"
    refused("UNBOUND_VARIABLE", query, says, lambda text: db.run(text, argument))


def text_of(rules: str) -> str:
    """The text as an EDN string."""
    return '"' + rules.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.mark.parametrize(
    ("rules", "code", "says"),
    [
        ("[[(r ?a ?b)\n (nees ?a)]]", "QUERY_INVALID", "line 2, column 3: there is no rule"),
        ("[[(r ?a ?b)\n [?a :to", "EDN_SYNTAX", "line 2, column 2: [ at 2:2 is never closed"),
        ("[[(r ?a ?b)\n [?a :to ?b] [(< ?a ?z)]]]", "UNBOUND_VARIABLE", "line 2, column 21: nothing binds ?z"),
        ("[[(r ?a ?b)\n [?a :to ?b] (not (r ?b ?a))]]", "UNSTRATIFIABLE", "line 1, column 2"),
    ],
)
def test_a_mistake_in_the_rules_given_is_shown_there(db, rules, code, says):
    error = refused(code, rules, says, lambda text: db.run("[:find ?x :in $ % :where (r ?x 1)]", write(text)))
    assert error.message.startswith("in the rules given for %")
    assert error.position.origin


@pytest.mark.parametrize(
    "rules", [(("needs", "?a"), (1, ":to", "?a")), ((("needs", "?a"), ("?a", ":to", 1)),), ("[(r ?a)]",)]
)
def test_rules_as_json_are_told_to_come_as_text(db, rules):
    db.refuses(
        "QUERY_INVALID", "[:find ?a :in $ % :where (needs ?a)]", rules, says="as JSON, give them as one string"
    )
