"""The two written forms of a query, quotes, plain symbols as variables, and what is not a query at all."""

from __future__ import annotations

import pytest


@pytest.fixture
def lovelace(db):
    db.tx("""[{:db/id 1 :first-name "Ada" :last-name "Lovelace"}
              {:db/id 2 :first-name "William" :last-name "Lovelace"}
              {:db/id 3 :first-name "George" :last-name "Byron"}]""")
    return db


@pytest.mark.parametrize(
    "query",
    [
        '[:find ?n :where [?e :last-name "Lovelace"] [?e :first-name ?n]]',
        '{:find [?n] :where [[?e :last-name "Lovelace"] [?e :first-name ?n]]}',
        """'{:find [?n] :where [[?e :last-name "Lovelace"] [?e :first-name ?n]]}""",
        """'[:find ?n :where [?e :last-name "Lovelace"] [?e :first-name ?n]]""",
        '(quote [:find ?n :where [?e :last-name "Lovelace"] [?e :first-name ?n]])',
        '{:find [n] :where [[p :last-name "Lovelace"] [p :first-name n]]}',
        '[:where [?e :last-name "Lovelace"] [?e :first-name ?n] :find ?n]',
        '[:find ?n\n ; the family\n :in $ #_ ?unused\n :where [?e :last-name "Lovelace"], [?e :first-name ?n]]',
    ],
)
def test_ways_to_write_one_query(lovelace, query):
    assert lovelace.q(query) == '#{["Ada"] ["William"]}'


def test_plain_symbols_and_question_marks_mix(lovelace):
    query = '{:find [p ?l] :where [[p :last-name ?l] [p :first-name "Ada"]]}'
    assert lovelace.q(query) == '#{[1 "Lovelace"]}'


def test_plain_symbols_in_every_place(lovelace):
    query = """{:find [person (count name)] :in [$ [name ...]]
                :where [[person :first-name name] [(str name "!") loud] (not [person :last-name "Byron"])
                        [(not= loud "Ada!")]]}"""
    assert lovelace.q(query, '["Ada" "William" "George"]') == "#{[2 1]}"


def test_every_map_key_in_its_bracketed_form(lovelace):
    query = """{:find [?e ?n] :keys [id name] :in [$ ?l] :with [] :where [[?e :last-name ?l] [?e :first-name ?n]]
                :order-by [[?n :desc]] :limit 1 :offset 0 :timeout 10000}"""
    assert lovelace.q(query, '"Lovelace"') == '[{:id 2 :name "William"}]'


def test_every_key_in_the_list_form(lovelace):
    query = """[:find ?e ?n :keys id name :in $ ?l :where [?e :last-name ?l] [?e :first-name ?n]
                :order-by [[?n :desc]] :limit 1 :offset 0 :timeout 10000]"""
    assert lovelace.q(query, '"Lovelace"') == '[{:id 2 :name "William"}]'


def test_no_where_is_the_inputs_alone(db):
    assert db.q("[:find ?x ?y :in ?x [?y ...]]", "1", "[2 3]") == "#{[1 2] [1 3]}"


def test_a_query_needs_a_find(db):
    db.refuses("QUERY_INVALID", "‸[:where [?e :a ?v]]", says=":find")


def test_an_unknown_key_is_named(db):
    db.refuses("QUERY_INVALID", "[:find ?e ‸:were [?e :a ?v]]", says=":where")


def test_a_key_twice(db):
    db.refuses("QUERY_INVALID", "[:find ?e :where [?e :a] ‸:find ?e]")


@pytest.mark.parametrize("text", ["‸42", '‸"[:find ?e]"', "‸:find", "‸#{:find}", "‸nil"])
def test_what_is_no_query(db, text):
    db.refuses("QUERY_INVALID", text)


@pytest.mark.parametrize("text", ["", "[:find ?e :where [?e :a ?v]", "[:find ?e]]", '[:find ?e :where [?e :a "x]]'])
def test_broken_edn(db, text):
    error = db.refuses("EDN_SYNTAX", text)
    assert error.position is not None


def test_a_find_variable_that_nothing_binds(db):
    db.refuses("UNBOUND_VARIABLE", "[:find ?e ‸?nobody :where [?e :a ?v]]", says="?nobody")


def test_a_with_variable_that_nothing_binds(db):
    db.refuses("UNBOUND_VARIABLE", "[:find (count ?e) :with ‸?nobody :where [?e :a ?v]]", says="?nobody")


def test_what_is_no_clause(db):
    db.refuses("QUERY_INVALID", "[:find ?e :where [?e :a ?v] ‸42]")
    db.refuses("QUERY_INVALID", "[:find ?e :where [?e :a ?v] ‸()]")


def test_positions_count_lines(db):
    db.refuses("UNBOUND_VARIABLE", "[:find ?e\n :where\n  [?e :a ?v]\n  [(< ?v ‸?w)]]", says="?w")
