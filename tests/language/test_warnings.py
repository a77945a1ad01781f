"""What is allowed and probably not meant: data, query, warnings. A mark stands where a warning points."""

from __future__ import annotations

import pytest

from tests.gateway.explorer.tracker import DATA, SCHEMA
from tests.support import World


@pytest.fixture
def tracker(db: World) -> World:
    db.tx(SCHEMA, DATA)
    return db


def quiet(world: World, query: str, *args: str) -> None:
    assert world.warnings(query, *args) == [], world.says(query, *args)


# Names


def test_an_attribute_that_nobody_declared(tracker):
    assert tracker.warnings("[:find ?i :where [?i ‸:issue/titel ?t]]") == ["UNKNOWN_ATTRIBUTE"]
    assert "did you mean :issue/title?" in tracker.says("[:find ?i :where [?i :issue/titel ?t]]")
    quiet(tracker, "[:find ?i :where [?i :issue/title ?t]]")


@pytest.mark.parametrize(
    "query",
    [
        "[:find ?i :where (or [?i :issue/title] [?i ‸:issue/titel])]",
        "[:find ?i :where [?i :issue/title] (not [?i ‸:issue/titel])]",
        "[:find ?i :where (named ?i) :rules [[(named ?i) [?i ‸:issue/titel]]]]",
        "[:find ?i :where (r ?i ?j) :rules [[(r ?i ?j) [?i ‸:issue/block ?j]] [(r ?i ?j) (r ?i ?k) (r ?k ?j)]]]",
        "[:find ?n :where [(q [:find (count ?i) . :where [?i ‸:issue/titel]] $) ?n]]",
        "[:find ?t :where [?i :issue/title ?t] [(get-else $ ?i ‸:issue/point 0) ?p] [(= ?p 0)]]",
        "[:find ?i :where [?i :issue/title] [(missing? $ ?i ‸:issue/point)]]",
        "[:find (pull ?i [:issue/title ‸:issue/point {:issue/owner [‸:user/nam]}]) :where [?i :issue/title]]",
        '[:find ?n :where [[‸:user/mail "ada@x.org"] :user/name ?n]]',
        '[:find ?i :where [?i :issue/owner [‸:user/mail "ada@x.org"]]]',
        '[:find ?i :where (of ?i [‸:user/mail "ada@x.org"]) :rules [[(of ?i ?u) [?i :issue/owner ?u]]]]',
    ],
)
def test_wherever_an_attribute_is_named(tracker, query):
    assert set(tracker.warnings(query)) == {"UNKNOWN_ATTRIBUTE"}


def test_an_attribute_that_was_declared_later(tracker):
    tracker.tx("[{:db/id 11 :issue/estimate 5}]")
    query = "[:find ?i :where [?i :issue/estimate]]"
    quiet(tracker, query)
    assert tracker.at(t=2).warnings(query) == ["UNKNOWN_ATTRIBUTE"]


def test_warnings_follow_the_schema(tracker):
    query = "[:find ?i :where [?i :issue/estimate]]"
    assert tracker.warnings(query) == ["UNKNOWN_ATTRIBUTE"]
    tracker.tx("[{:db/id 11 :issue/estimate 5}]")
    quiet(tracker, query)


def test_an_ident_that_names_nothing(tracker):
    assert tracker.warnings("[:find ?i :where [?i :issue/kind ‸:kind/bgu]]") == ["UNKNOWN_IDENT"]
    assert ":kind/bug?" in tracker.says("[:find ?i :where [?i :issue/kind :kind/bgu]]")
    quiet(tracker, "[:find ?i :where [?i :issue/kind :kind/bug]]")
    assert tracker.warnings("[:find ?a ?v :where [‸:kind/bgu ?a ?v]]") == ["UNKNOWN_IDENT"]


def test_a_plain_symbol_that_names_a_rule(tracker):
    rules = ":rules [[(blocks ?a ?b) [?a :issue/blocks ?b]]]"
    assert tracker.warnings(f"[:find ?a :where [‸blocks ?a] {rules}]") == ["PLAIN_SYMBOL"]
    assert "(blocks …)" in tracker.says(f"[:find ?a :where [blocks ?a] {rules}]")
    quiet(tracker, f"[:find ?a ?c :where [blocks ?a ?b] [blocks ?b ?c] {rules}]")
    quiet(tracker, f"[:find ?a ?b :where (blocks ?a ?b) {rules}]")


def test_a_plain_symbol_that_names_a_rule_given_for_percent(tracker):
    rules = "[[(blocks ?a ?b) [?a :issue/blocks ?b]]]"
    assert tracker.warnings("[:find ?a :in $ % :where [‸blocks ?a]]", rules) == ["PLAIN_SYMBOL"]


def test_a_plain_symbol_that_names_an_attribute(tracker):
    assert tracker.warnings("[:find ?t :where [?i ‸issue/title ?t]]") == ["PLAIN_SYMBOL"]
    assert "the attribute is :issue/title" in tracker.says("[:find ?t :where [?i issue/title ?t]]")


def test_a_plain_symbol_in_the_place_of_an_attribute(tracker):
    assert tracker.warnings("[:find ?i ?t :where [?i ‸title ?t]]") == ["PLAIN_SYMBOL"]
    assert ":issue/title" in tracker.says("[:find ?i ?t :where [?i title ?t]]")
    quiet(tracker, "[:find ?i a ?t :where [?i a ?t]]")


def test_a_plain_symbol_where_a_value_was_meant(tracker):
    assert tracker.warnings("[:find ?i :where [?i :issue/status ‸open]]") == ["PLAIN_SYMBOL"]
    assert 'write :open, "open" or _' in tracker.says("[:find ?i :where [?i :issue/status open]]")
    quiet(tracker, "[:find ?i :where [?i :issue/status _open]]")


@pytest.mark.parametrize("clause", ["[?p ‸> 2]", "[‸> ?p 2]", "[‸> ?p 2] [> ?p 1]"])
def test_a_plain_symbol_that_names_a_built_in(tracker, clause):
    query = "[:find ?i :where [?i :issue/points ?p] CLAUSE]"
    assert tracker.warnings(query.replace("CLAUSE", clause)) == ["PLAIN_SYMBOL"]
    assert "[(> ?p 2)]" in tracker.says(query.replace("CLAUSE", clause.replace("‸", "")))


def test_a_date_as_text_says_how_it_is_written(tracker):
    query = '[:find ?i :where [?i :issue/created ?c] ‸[(<= "2024-05-01" ?c)]]'
    assert tracker.warnings(query) == ["IMPOSSIBLE_VALUE"]
    assert 'an instant is written #inst "2024-05-01"' in tracker.says(query.replace("‸", ""))


@pytest.mark.parametrize(
    "condition",
    [
        "(= ?c 9.99)",
        "(== ?c 9.99)",
        "(== 9.99 ?c)",
        "(>= ?c 9.99)",
        "(between ?c 9.99 12.5)",
        "(in ?c [1M 9.99])",
        "(not-in ?c #{9.99})",
    ],
)
def test_a_double_that_no_bigdec_equals_says_how_a_bigdec_is_written(tracker, condition):
    query = f"[:find ?i :where [?i :issue/cost ?c] ‸[{condition}]]"
    assert tracker.warnings(query) == ["IMPOSSIBLE_VALUE"]
    assert "write 9.99M" in tracker.says(query.replace("‸", ""))
    quiet(tracker, query.replace("‸", "").replace("9.99", "9.99M").replace("12.5", "12.5M"))


@pytest.mark.parametrize("condition", ["(== ?c 9.5)", "(< 0.25 ?c)", "(between ?c 1 2.5)", "(in ?c [1M 2M])"])
def test_a_double_that_is_exactly_what_is_written_is_no_mistake(tracker, condition):
    quiet(tracker, f"[:find ?i :where [?i :issue/cost ?c] [{condition}]]")


def test_a_list_for_one_value_says_what_binds_it(tracker):
    assert "[?s ...]" in tracker.says("[:find ?i :in $ ?s :where [?i :issue/status ?s]]", "[:open :closed]")


def test_not_in_square_brackets(tracker):
    tracker.refuses(
        "QUERY_INVALID",
        "[:find ?i :where [?i :issue/title] ‸[not [?i :issue/status :open]]]",
        says="not stands in round brackets: (not …)",
    )
    tracker.refuses("QUERY_INVALID", "[:find ?i :where ‸[or [?i :issue/status :open]]]", says="(or …)")


NAMED = "[[(named ?a ?n) [?a :db/ident ?n]] [(named ?a ?n) [?a :db/valueType ?b] (named ?b ?n)]]"


@pytest.mark.parametrize(
    "query",
    [
        "[:find ?n :where [?i :issue/title] [?i ?a] ‸(named ?a ?n) :rules RULES]",
        "[:find ?n :where [?i :issue/title] (not [?i ?a] ‸(named ?a :issue/title)) [?i ?n] :rules RULES]",
        "[:find ?i :where (uses ?i ?a) ‸[?a :db/ident] :rules [[(uses ?i ?a) [?i ?a]]]]",
    ],
)
def test_the_variable_of_an_attribute_is_its_keyword_across_a_rule_call(tracker, query):
    query = query.replace("RULES", NAMED)
    assert tracker.warnings(query) == ["IMPOSSIBLE_JOIN"]
    assert "[?x :db/ident ?a] gives the entity ?x" in tracker.says(query.replace("‸", ""))


def test_what_joins_the_entity_of_an_attribute(tracker):
    query = "[:find ?t :where [?i :issue/title] [?i ?a] [?x :db/ident ?a] [?x :db/valueType ?t]]"
    quiet(tracker, query)
    assert len(tracker.q(query)) > 1
    quiet(tracker, f"[:find ?n :where [?i :issue/title] [?i ?a] [?x :db/ident ?a] (named ?x ?n) :rules {NAMED}]")


def test_what_a_branch_of_a_rule_can_take(tracker):
    rules = ":rules [[(r ?x ?n) [?x :user/name ?n]] [(r ?x ?n) [_ ?x ?n]] [(r ?x ?n) (r ?x ?m) [?m :user/name ?n]]]"
    quiet(tracker, f"[:find ?n :where [?i :issue/title] [?i ?a] (r ?a ?n) {rules}]")


def test_plain_symbols_are_variables(tracker):
    quiet(tracker, "[:find title :where [issue :issue/title title]]")
    quiet(tracker, "[:find issue :where [issue :issue/title title]]")


# Values


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ('[:find ?i :where [?i :issue/status ‸":open"]]', ":open?"),
        ("[:find ?i :where [?i :issue/title ‸:open]]", '"open"'),
        ('[:find ?i :where [?i :issue/created ‸"2024-05-01"]]', '#inst "2024-05-01T00:00'),
        ('[:find ?i :where [?i :issue/points ‸"3"]]', "3?"),
        ("[:find ?i :where [?i :issue/points ‸3.5]]", "a value such as 5"),
        ("[:find ?i :where [?i :issue/cost ‸9.99]]", "9.99M?"),
        ("[:find ?i :where [?i :issue/open? ‸1]]", "true"),
        ("[:find ?i :where (scored ?i ‸1) :rules [[(scored ?i ?s) [?i :issue/score ?s]]]]", "1.0?"),
    ],
)
def test_a_literal_that_nothing_there_can_equal(tracker, query, meant):
    assert tracker.warnings(query) == ["IMPOSSIBLE_VALUE"]
    assert meant in tracker.says(query.replace("‸", ""))


@pytest.mark.parametrize(
    "query",
    [
        "[:find ?i :where [?i :issue/score 1]]",
        "[:find ?i :where [?i :issue/cost 10]]",
        "[:find ?i :where [?i :issue/points 3.0]]",
        "[:find ?i :where [?i :issue/status :never]]",
        '[:find ?i :where [?i :issue/owner [:user/email "nobody@x.org"]]]',
        "[:find ?i :where [?i :issue/owner 999]]",
        "[:find ?i :where [?i ?a 3]]",
        "[:find ?x :in [?x ...] :where [(= ?x 1)]]",
    ],
)
def test_what_is_only_not_there_yet_is_no_mistake(tracker, query):
    quiet(tracker, query, *(["[1 2]"] if ":in" in query else []))


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ('[:find ?i :where [?i :issue/created ?c] ‸[(> ?c "2024-05-15")]]', "an instant with a string"),
        ("[:find ?i :where [?i :issue/score ?s] ‸[(= ?s 1)]]", "=="),
        ("[:find ?i :where [?i :issue/kind ?k] ‸[(= ?k :kind/bug)]]", "an entity is its number"),
        ("[:find ?i :where [?i :issue/title ?t] [?i :issue/points ?p] ‸[(< ?t ?p)]]", "a string with a long"),
        ('[:find ?i :where [?i :issue/status ?s] (not ‸[(= ?s "open")])]', "a keyword with a string"),
    ],
)
def test_a_comparison_of_different_types(tracker, query, says):
    assert tracker.warnings(query) == ["IMPOSSIBLE_VALUE"]
    assert says in tracker.says(query.replace("‸", ""))


def test_numbers_of_different_types_are_compared(tracker):
    quiet(tracker, "[:find ?i :where [?i :issue/score ?s] [(< ?s 2)]]")
    quiet(tracker, "[:find ?i :where [?i :issue/score ?s] [(== ?s 1)]]")
    quiet(tracker, "[:find ?i :where [?i :issue/score ?s] [?i :issue/cost ?c] [(< ?s ?c)]]")


def test_a_join_of_different_types(tracker):
    query = "[:find ?i :where [?i :issue/title ?v] ‸[?j :issue/points ?v]]"
    assert tracker.warnings(query) == ["IMPOSSIBLE_JOIN"]
    assert ":issue/title holds strings, :issue/points holds longs" in tracker.says(query.replace("‸", ""))
    quiet(tracker, "[:find ?i :where [?i :issue/points ?v] [?j :issue/owner ?v]]")
    quiet(tracker, "[:find ?i :where [?i :issue/kind] (or [?i :issue/title ?v] [?i :issue/points ?v])]")
    quiet(tracker, "[:find ?a :where [_ :issue/owner ?a] (or [_ ?a 1] [_ ?a 2])]")
    quiet(tracker, "[:find ?a :where (or [_ :issue/owner ?a] [_ ?a 1]) [?a :db/doc]]")
    query = "[:find ?i :where [?i :issue/title ?v] (or [?i :issue/status :open] ‸[?i :issue/points ?v])]"
    assert tracker.warnings(
        "[:find ?i :where [?i :issue/title ?v] (or-join [?i ?v] [?i :issue/title ?v] ‸[?i :issue/points ?v])]"
    ) == ["IMPOSSIBLE_JOIN"]


def test_an_argument_that_means_different_things(tracker):
    query = "[:find ?i :in $ ?v :where (or [?i :issue/points ?v] [?i :issue/score ?v])]"
    assert tracker.warnings(query, "3") == ["AMBIGUOUS_ARGUMENT"]
    assert tracker.q(query, "3") == "#{[11]}"


# Parts


def test_parts_that_share_no_variable(tracker):
    query = '[:find ?i ?u :where [?i :issue/title "Crash"] ‸[?u :user/name "Ada"]]'
    assert tracker.warnings(query) == ["CARTESIAN_PRODUCT"]
    query = "[:find ?i ?u :where [?i :issue/title ?t] [?u :user/name ?n]\n ‸[?x :issue/owner ?y]]"
    assert tracker.warnings(query.replace("‸", "")) == ["CARTESIAN_PRODUCT"]


@pytest.mark.parametrize(
    "query",
    [
        "[:find ?i ?n :where [?i :issue/owner ?u] [?u :user/name ?n]]",
        "[:find ?i ?n :where [?i :issue/title ?t] [?u :user/name ?n] [(= ?t ?n)]]",
        "[:find ?i ?n :where [?i :issue/title] [?u :user/name ?n] (or [?i :issue/owner ?u] [?i :issue/kind ?u])]",
        "[:find ?i :where [?i :issue/title] [_ :user/name]]",
        "[:find ?i ?k :where [?i :issue/title] [(ground [1 2 3]) [?k ...]]]",
        "[:find ?i ?n :where [?i :issue/title ?t] [?u :user/name ?n] (not [?i :issue/owner ?u])]",
        "[:find ?a ?b :where (both ?a ?b) :rules [[(both ?a ?b) [?a :issue/title] [?b :user/name]]]]",
    ],
)
def test_parts_that_hang_together(tracker, query):
    quiet(tracker, query)


def test_a_check_of_an_argument_is_no_part(tracker):
    quiet(tracker, "[:find ?i :in $ ?u :where [?i :issue/title] [?u :user/name]]", "1")


# Transactions


def codes(world: World, text: str) -> list[str]:
    return [each.code.value for each in world.tx(text).diagnostics()]


def test_a_function_that_gives_no_rows(tracker):
    query = (
        "[:find ?op ?i ?a ?v :in $ ?n :where [?i :issue/title ?n] [(ground [:db/add :issue/points 1]) [?op ?a ?v]]]"
    )
    tracker.tx(f'[{{:db/ident :issue/reset :db/fn "{query}"}}]')
    assert codes(tracker, '[[:issue/reset "Crash"]]') == []
    report = tracker.tx('[[:db/add 12 :issue/points 6]\n [:issue/reset "Crush"]]')
    (only,) = report.diagnostics()
    assert (only.code.value, only.position.line, only.position.column) == ("NO_ROWS", 2, 2)


def test_an_attribute_that_looks_misspelt(tracker):
    report = tracker.tx('[{:db/id 11 :issue/titel "x"}]')
    (only,) = report.diagnostics()
    assert (only.code.value, only.position.column) == ("NEW_ATTRIBUTE", 13)
    assert "did you mean :issue/title?" in only.message
    assert codes(tracker, "[{:db/id 11 :sensor/t1 1 :sensor/t2 2 :issue/estimate 3}]") == []
    assert codes(tracker, "[{:db/id 11 :sensor/t3 1}]") == []
    assert codes(tracker, '[{:db/id 12 :issue/titel "y"}]') == []


def test_further_warnings_are_counted(tracker):
    text = "[" + "\n ".join(f"[:db/retract 11 :issue/titel{i} 1]" for i in range(1_000)) + "]"
    *shown, last = tracker.tx(text).diagnostics()
    assert [(each.position.line, each.position.column) for each in shown] == [(i + 1, 18) for i in range(20)]
    assert all("did you mean :issue/title?" in each.message for each in shown)
    assert last.code.value == "UNKNOWN_ATTRIBUTE"
    assert last.message == "980 more warnings are left out"
    assert last.position is None


def test_further_warnings_of_a_query_are_counted(tracker):
    clauses = " ".join(f"[?i :issue/titel{i} ?v{i}]" for i in range(50))
    lines = tracker.says(f"[:find ?i :where {clauses}]").splitlines()
    assert len(lines) == 21
    assert all("did you mean :issue/title?" in line for line in lines[:20])
    assert lines[20] == "30 more warnings are left out"


def test_a_retraction_of_what_nobody_declared(tracker):
    assert codes(tracker, '[[:db/retract 11 :issue/titel "x"]]') == ["UNKNOWN_ATTRIBUTE"]
