"""Sources: `$name` databases at other points in time, and plain relations matched by position."""

from __future__ import annotations

import pytest

from tests.support import World


@pytest.fixture
def ages(db):
    db.tx('[{:db/id 1 :name "Ada" :age 36} {:db/id 2 :name "Byron" :age 40}]', "[[:db/add 1 :age 37]]")
    return db


def test_a_relation_by_position(db):
    query = "[:find ?a ?b :in $ $edges :where [$edges ?a ?b]]"
    assert db.q(query, "[[1 2] [2 3]]") == "#{[1 2] [2 3]}"


def test_a_relation_joins_itself(db):
    query = "[:find ?a ?c :in $ $g :where [$g ?a ?b] [$g ?b ?c]]"
    assert db.q(query, "[[1 2] [2 3] [3 4]]") == "#{[1 3] [2 4]}"


def test_a_relation_joins_the_database(ages):
    query = "[:find ?n ?city :in $ $homes :where [?e :name ?n] [$homes ?n ?city]]"
    assert ages.q(query, '[["Ada" "London"] ["Nobody" "Nowhere"]]') == '#{["Ada" "London"]}'


def test_constants_blanks_and_repeats_in_a_relation(db):
    rows = "[[1 :to 2] [2 :to 2] [3 :from 3]]"
    assert db.q("[:find ?a :in $ $r :where [$r ?a :to _]]", rows) == "#{[1] [2]}"
    assert db.q("[:find ?a :in $ $r :where [$r ?a _ ?a]]", rows) == "#{[2] [3]}"
    assert db.q("[:find ?a :in $ $r :where [$r ?a]]", rows) == "#{[1] [2] [3]}"


def test_repeated_rows_of_a_relation_count_once(db):
    assert db.q("[:find (count ?a) . :in $ $r :where [$r ?a ?b]]", "[[1 2] [1 2] [2 2]]") == "2"
    assert db.q("[:find (sum ?b) . :with ?a :in $ $r :where [$r ?a ?b]]", "[[1 2] [1 2] [2 2]]") == "4"


def test_equality_in_a_relation_is_typed(db):
    rows = '[[1 "long"] [1.0 "double"] [true "boolean"] [:a "keyword"] [":a" "string"]]'
    assert db.q("[:find ?t :in $ $r :where [$r 1 ?t]]", rows) == '#{["long"]}'
    assert db.q("[:find ?t :in $ $r :where [$r 1.0 ?t]]", rows) == '#{["double"]}'
    assert db.q("[:find ?t :in $ $r :where [$r :a ?t]]", rows) == '#{["keyword"]}'


def test_a_relation_may_be_wide(db):
    query = "[:find ?f :in $ $r :where [$r ?a ?b ?c ?d ?e]  [$r _ _ _ _ ?f]]"
    assert db.q(query, "[[1 2 3 4 5 6]]") == "#{[5]}"


def test_an_empty_relation(db):
    assert db.q("[:find ?a :in $ $r :where [$r ?a ?b]]", "[]") == "#{}"


def test_a_pattern_longer_than_the_rows_is_refused(db):
    db.refuses("ARG_INVALID", "[:find ?a :in $ $r :where [$r ?a ?b ?c]]", "[[1 2]]")


def test_the_database_at_another_time(ages):
    query = "[:find ?n ?before ?now :in $ $old :where [?e :name ?n] [?e :age ?now] [$old ?e :age ?before]]"
    assert ages.q(query, ages.at(as_of=1)) == '#{["Ada" 36 37] ["Byron" 40 40]}'


def test_what_changed_between_two_times(ages):
    query = "[:find ?e ?v :in $ $old :where [?e :age ?v] (not [$old ?e :age ?v])]"
    assert ages.q(query, ages.at(as_of=1)) == "#{[1 37]}"


def test_history_as_a_source(ages):
    query = "[:find ?n ?v ?added :in $ $h :where [?e :name ?n] [$h ?e :age ?v _ ?added]]"
    assert ages.q(query, ages.at(history=True)) == (
        '#{["Ada" 36 true] ["Ada" 36 false] ["Ada" 37 true] ["Byron" 40 true]}'
    )


def test_a_source_before_or_and_not(db):
    query = "[:find ?x :in $ $r [?x ...] :where ($r not [?x :gone])]"
    assert db.q(query, "[[1 :gone] [2 :here]]", "[1 2 3]") == "#{[2] [3]}"
    query = "[:find ?x :in $ $r :where ($r or [?x :gone] [?x :here])]"
    assert db.q(query, "[[1 :gone] [2 :here] [3 :lost]]") == "#{[1] [2]}"
    query = "[:find ?x :in $ $r :where ($r or-join [?x] [?x :gone] (and [?x :here ?y] [?y :gone]))]"
    assert db.q(query, "[[1 :gone 0] [2 :here 1] [3 :here 2]]") == "#{[1] [2]}"
    query = "[:find ?x :in $ $r [?x ...] :where ($r not-join [?x] [?x ?y] [?y _])]"
    assert db.q(query, "[[1 2] [2 3]]", "[1 2]") == "#{[2]}"


DATOMS = '[[1 :name "Ivan"] [1 :age 19] [2 :name "Oleg"] [2 :age 15] [1 :friend 2]]'


def test_a_relation_as_the_default_source(ages):
    assert ages.q("[:find ?n ?a :where [?e :name ?n] [?e :age ?a]]", DATOMS) == '#{["Ivan" 19] ["Oleg" 15]}'
    query = "[:find ?e . :in $ ?n :where [?e :name ?n]]"
    assert ages.q(query, DATOMS, '"Oleg"') == "2"
    assert ages.q(query.replace("$ ?n", "?n $"), '"Oleg"', DATOMS) == "2"
    assert ages.q(query, '"Byron"') == "2"
    assert ages.q("[:find ?x :where [?x]]", "#{[5] [6]}") == "#{[5] [6]}"
    assert ages.q("[:find ?x :where [?x]]", "[]") == "#{}"


def test_what_reads_a_relation_as_the_default_source(ages):
    rules = "[[(knows ?a ?b) [?a :friend ?b]] [(knows ?a ?b) [?b :friend ?a]]]"
    query = "[:find ?a ?b :in $ % :where (knows ?a ?b)]"
    assert ages.q(query, DATOMS, rules) == "#{[1 2] [2 1]}"
    query = "[:find [?n ...] :where [?e :name ?n] (not [?e :friend]) (or [?e :age 15] [?e :age 19])]"
    assert ages.q(query, DATOMS) == '#{"Oleg"}'
    query = "[:find ?n ?now :in $ $now :where [?e :name ?n] [$now ?e :age ?now] ($now not [$ ?e :age ?now])]"
    assert ages.q(query, DATOMS, ages.at(as_of=2)) == '#{["Ivan" 37] ["Oleg" 40]}'
    query = "[:find (max ?m) . :where [(q [:find (max ?a) . :where [_ :age ?a]] $) ?m]]"
    assert ages.q(query, DATOMS) == "19"


def test_only_a_list_of_tuples_is_given_as_the_default_source(ages):
    query = "[:find ?e :where [?e :name]]"
    ages.refuses("ARG_INVALID", query, "7", says="no :in after $, but 1 was given; add :in to the query")
    ages.refuses("ARG_INVALID", query, "[1 2]", says="no :in after $")
    ages.refuses("ARG_INVALID", query, "[[1 2] [3]]", says="$ takes a basis or a list of tuples")
    ages.refuses("QUERY_INVALID", "[:find ‸(pull ?e [*]) :where [?e :name]]", DATOMS, says="pull takes a database")
    ages.refuses(
        "ARG_INVALID", "[:find ?v :where [1 :age] [(get-else $ 1 :age 0) ?v]]", DATOMS, says="looks into a database"
    )


def test_the_default_source_by_name_within_another(ages):
    old = ages.at(as_of=1)
    query = "[:find ?n ?now :in $ $old :where ($old and [?e :age 36] [?e :name ?n] [$ ?e :age ?now])]"
    assert ages.q(query, old) == '#{["Ada" 37]}'
    query = "[:find ?e :in $ $old :where [?e :age] ($old not [$ ?e :age ?v] [?e :age ?v])]"
    assert ages.q(query, old) == "#{[1]}"
    query = "[:find ?e :in $ $old :where [?e :name] ($old or [$ ?e :age 37] (and [$ ?e :name] [?e :age 40]))]"
    assert ages.q(query, old) == "#{[1] [2]}"
    query = "[:find ?v ?w :in $ $old :where ($old and [(get-else $ 1 :age 0) ?v] [(get-else 1 :age 0) ?w])]"
    assert ages.q(query, old) == "#{[37 36]}"
    query = "[:find ?n :in $ $old :where ($old optional [?e :age 36] [$ ?e :age ?n])]"
    assert ages.q(query, old) == "#{[37]}"


def test_functions_name_their_source(ages):
    query = "[:find ?e ?v :in $ $old :where [?e :name] [(get-else $old ?e :age 0) ?v]]"
    assert ages.q(query, ages.at(as_of=1)) == "#{[1 36] [2 40]}"


def test_an_unknown_source(db):
    db.refuses("QUERY_INVALID", "[:find ?a :in $ $homes :where [‸$home ?a ?b]]", "[]", says="$home")
    db.refuses("QUERY_INVALID", "[:find ?a :where [‸$other ?a ?b]]", says="$other")


def test_a_source_twice(db):
    db.refuses("QUERY_INVALID", "[:find ?a :in $ $r ‸$r :where [$r ?a]]", "[]", "[]")


@pytest.mark.parametrize("argument", ["1", '"text"', "[1 2]", "[[1] 2]"])
def test_what_is_no_relation(db, argument):
    db.refuses("ARG_INVALID", "[:find ?a :in $ $r :where [$r ?a]]", argument)


def test_several_sources_of_every_kind(ages):
    """Now, then, all that ever was, and a list: in one query."""
    query = """[:find ?n ?limit ?then ?now :in $ $old $hist $limits
                :where [$limits ?n ?limit] [?e :name ?n] [?e :age ?now] [$old ?e :age ?then]
                       [$hist ?e :age ?then _ false] [(< ?then ?limit)]]"""
    args = (ages.at(as_of=1), ages.at(history=True), '[["Ada" 40] ["Byron" 50]]')
    assert ages.q(query, *args) == '#{["Ada" 40 36 37]}'


def test_a_list_is_no_database(db):
    db.refuses(
        "ARG_INVALID",
        "[:find ?v :in $ $r :where [$r ?e] ‸[(get-else $r ?e :a 0) ?v]]",
        "[[1]]",
        says="$r was given a list",
    )
    db.refuses("ARG_INVALID", "[:find ?e :in $ $r :where [$r ?e] ‸[(missing? $r ?e :a)]]", "[[1]]", says="$r")


def test_a_database_is_no_value(ages):
    ages.refuses("ARG_INVALID", "[:find ?v :in $ ‸?v]", ages.at(as_of=1), says="?v takes a value")
    ages.refuses("ARG_INVALID", "[:find ?v :in $ ‸[?v ...]]", ages.at(as_of=1), says="[?v ...] takes a value")


def test_what_left_and_what_came_between_two_times(ages):
    ages.tx("[[:db/retract 2 :age 40] [:db/add 3 :age 50]]")
    query = """[:find ?change ?e ?v :in $ $old
                :where (or (and [$old ?e :age ?v] (not [?e :age ?v]) [(ground :left) ?change])
                           (and [?e :age ?v] (not [$old ?e :age ?v]) [(ground :came) ?change]))]"""
    assert ages.q(query, ages.at(as_of=2)) == "#{[:left 2 40] [:came 3 50]}"


def test_values_of_sources_join_by_value(ages):
    """Two views of one database have the same codes; a list has what the database may not know."""
    query = "[:find ?e :in $ $r $old :where [?e :age ?v] [$r ?v] [$old ?e :age ?w] [$r ?w]]"
    assert ages.q(query, "[[37] [36] [1000000]]", ages.at(as_of=1)) == "#{[1]}"


def test_a_lookup_ref_of_in_is_of_the_source_that_reads_it(db: World) -> None:
    db.tx(
        "[{:db/ident :u/email :db/valueType :db.type/string :db/unique :db.unique/identity}"
        " {:db/ident :u/name :db/valueType :db.type/string}]"
    )
    db.tx('[{:db/id 1 :u/email "x" :u/name "then"}]')
    then = World(db.database, db.pool, db.database.snapshot())
    db.tx('[[:db/retract 1 :u/email "x"]]')
    db.tx('[{:db/id 2 :u/email "x" :u/name "now"}]')
    email = '[:u/email "x"]'
    assert db.q("[:find ?n . :in $ $2 ?e :where [$2 ?e :u/name ?n]]", then, email) == '"then"'
    assert db.q("[:find [?n ...] :in $ $2 [?e ...] :where [$2 ?e :u/name ?n]]", then, f"[{email}]") == '["then"]'
    assert db.q("[:find ?n . :in $ $2 ?e :where [?e :u/name ?n]]", then, email) == '"now"'
    # Of two sources it is of the first.
    assert db.q("[:find ?n . :in $ $2 ?e :where [$2 ?e :u/name] [?e :u/name ?n]]", then, email) == "nil"
