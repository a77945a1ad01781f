"""Mistakes of newcomers from SQL, Datomic, GraphQL and JSON: where the message points, and what it says to write.

Each is refused before any database is looked at. A `‸` stands before the place that the refusal points at.
"""

from __future__ import annotations

import pytest

from adalog.datalog.builtins import BUILTINS
from adalog.datalog.hints import nearest
from adalog.datalog.parsing.foreign_names import USAGES, instead_of_builtin
from adalog.datalog.parsing.parser import parse_query
from tests.support import MARK, refused

_HAVING = "[:find ?o (count ?i) :where [?i :owner ?o] [?i :n ?n] :having "
_WHERE = "[:find ?t :where [?e :issue/title ?t] "

MISTAKES = [
    # Other languages
    (
        "EDN_SYNTAX",
        "‸SELECT title FROM issue WHERE priority > 3",
        "this is SQL; a query is EDN Datalog: [:find ?name",
    ),
    ("EDN_SYNTAX", "\n  ‸select * from issues;", '; "Coming from SQL" in the docs, coming-from/sql, has more'),
    ("EDN_SYNTAX", "‸INSERT INTO issue VALUES (1)", 'data is added as EDN: [{:person/name "Ada"}]'),
    ("EDN_SYNTAX", "‸DELETE FROM issue WHERE id = 1", "[[:db/retractEntity 42]]"),
    ("EDN_SYNTAX", "‸CREATE TABLE issue (id int)", "an attribute is declared by [{:db/ident"),
    ("EDN_SYNTAX", "‸{ issues { title } }", "this is GraphQL, where EDN is wanted"),
    ("EDN_SYNTAX", "‸query { q(query: 1) { rows } }", "this is GraphQL, where EDN is wanted"),
    ("EDN_SYNTAX", "‸MATCH (n:Issue) RETURN n", "this is Cypher"),
    ("EDN_SYNTAX", "‸r(X) :- issue(X, Y).", "this is Prolog's notation; a rule is [(ancestor ?a ?d) ["),
    ("EDN_SYNTAX", '{"find"‸: ["?t"]}', "after a key it is JSON, and EDN has keywords for keys"),
    ("QUERY_INVALID", '{‸"find" ["?t"]}', "a keyword such as :find or :where"),
    ("QUERY_INVALID", "(‸d/q '[:find ?e :where [?e :issue/title]] db)", "send the query alone"),
    ("QUERY_INVALID", "{‸:query [:find ?e :where [?e :issue/title]]}", "send its value alone"),
    ("EDN_SYNTAX", "‸find ?e where ?e :issue/title", "a query stands in brackets: [:find"),
    ("EDN_SYNTAX", "‸:find ?e :where [?e :issue/title]", "a query stands in brackets: [:find"),
    # Brackets
    ("EDN_SYNTAX", "‸[:find ?t :where [?e :issue/title ?t]", "[ at 1:1 is never closed; ] is missing, at the end"),
    (
        "EDN_SYNTAX",
        "[:find ?t\n :where ‸[?e :issue/title ?t\n        [?e :issue/priority ?p]]",
        "[ at 2:9 is never closed; ] is missing, probably before 3:9",
    ),
    ("EDN_SYNTAX", "[:find ?t :where ‸[?e :issue/title ?t [?e :issue/id 1]]", "probably before 1:38"),
    ("EDN_SYNTAX", "[:find ?t :in $ ‸[?t ... :where [?e :issue/title ?t]]", "probably before 1:25"),
    ("EDN_SYNTAX", "{:find [?t :where [[?e :issue/title ?t]]‸}", "[ at 1:8 is still open"),
    ("EDN_SYNTAX", "[:find ?t :where [?e :issue/title ?t‸)]", "[ at 1:18 is still open"),
    # Text
    ("EDN_SYNTAX", "[:find ?e :where [?e :issue/title ‸'First']]", 'double quotes, as in "First"'),
    ("EDN_SYNTAX", "[:find ?e :where [?e :issue/title ‸'First bug']]", 'double quotes, as in "First bug"'),
    ("EDN_SYNTAX", "[:find ?e :where [?e :issue/title ‸“First”]]", 'straight double quotes, as in "Ada"'),
    ("EDN_SYNTAX", "[:find ?e :where [?e :issue/title ‸`First`]]", 'in double quotes, as in "Ada"'),
    ("EDN_SYNTAX", "[:find ?e :where [?e :issue/title ‸@name]]", "as in :in $ ?name"),
    ("EDN_SYNTAX", "[:find ?e ‸// all\n :where [?e :issue/title]]", "a comment begins with ;"),
    ("EDN_SYNTAX", "[:find ?e ‸/* all */ :where [?e :issue/title]]", "a comment begins with ;"),
    ("UNBOUND_VARIABLE", "[:find ?e ‸-- all\n :where [?e :issue/title]]", "a comment begins with ;"),
    ("EDN_SYNTAX", '[:find ?e :where [?e :issue/at ‸#date "2024-05-01"]]', "(did you mean #inst?)"),
    ("EDN_SYNTAX", "[:find ?e :where [?e :issue/at ‸2024-05-01]]", 'a date is written #inst "2024-05-01"'),
    # :find and what follows it
    ("QUERY_INVALID", "[:find (‸average ?t) :where [?e :a ?t]]", "there is no aggregate average; write avg"),
    ("QUERY_INVALID", "[:find count(‸?t) :where [?e :a ?t]]", "(count ?t), not count(?t)"),
    ("QUERY_INVALID", "[:find (sum ‸*) :where [?e :a ?t]]", "sum aggregates a variable: (sum ?e) for the entities"),
    ("QUERY_INVALID", "[:find ‸(count distinct ?t) :where [?e :a ?t]]", "write (count-distinct ?t)"),
    ("QUERY_INVALID", "[:find ‸(count (distinct ?t)) :where [?e :a ?t]]", "write (count-distinct ?t)"),
    ("UNBOUND_VARIABLE", "[:find ‸* :where [?e :a ?t]]", "all attributes of an entity are (pull ?e [*])"),
    ("UNBOUND_VARIABLE", "[:find ?t ‸as title :where [?e :a ?t]]", "columns are named by :keys"),
    ("QUERY_INVALID", "[:find (pull ?e ‸*) :where [?e :a]]", "a pull pattern is a vector: (pull ?e [*])"),
    ("QUERY_INVALID", "[:find (pull ‸:ident [*]) :where [?e :a]]", "bind it in :where, [?e :db/ident :ident],"),
    ("QUERY_INVALID", "[:find (pull ‸[:issue/id 1] [*]) :where [?e :a]]", "bind it in :where, [?e :issue/id 1],"),
    ("QUERY_INVALID", "[:find (pull ‸17 [*]) :where [?e :a]]", "bind it in :where, [(ground 17) ?e],"),
    ("QUERY_INVALID", "[:find ‸pull(?e [*]) :where [?e :a]]", "within the brackets: (pull ?e [*])"),
    ("QUERY_INVALID", "[:find ?t ‸WHERE [?e :a ?t]]", "a section begins with a colon: write :where"),
    ("UNBOUND_VARIABLE", "[:find ‸?e.title :where [?e :a]]", "bound in :where: [?e :…/title ?title]"),
    ("QUERY_INVALID", "[‸object Object]", "what JavaScript makes of an object: send the query as text"),
    ("EDN_SYNTAX", "‸", "the text holds no form: it is empty, or a comment"),
    ("QUERY_INVALID", "[:find (pull ?e [{:a ‸*}]) :where [?e :a]]", "not *; write [*]"),
    ("QUERY_INVALID", "[:find (pull ?e [[:a ‸[:b]]]) :where [?e :a]]", "write {:a [:b]}"),
    ("QUERY_INVALID", "[:find (pull ?e [(:a {‸:lim 3})]) :where [?e :a]]", "an option is :as, :limit"),
    ("QUERY_INVALID", "[:find (pull ?e ‸:issue/title) :where [?e :a]]", "a vector such as [:issue/title]"),
    ("QUERY_INVALID", "[:find (pull ?e [‸issue/title]) :where [?e :a]]", "write :issue/title"),
    ("QUERY_INVALID", '[:find (pull ?e [‸":issue/title"]) :where [?e :a]]', "write :issue/title"),
    ("QUERY_INVALID", "[:find (pull ?e [{:issue/status ‸:db/ident}]) :where [?e :a]]", "write [:db/ident]"),
    (
        "QUERY_INVALID",
        "[:find ?t :where [?e :a ?t] :order-by ?t ‸:desc]",
        ":order-by [[?t :desc]]",
    ),
    ("QUERY_INVALID", "[:find ?t :where [?e :a ?t] :order-by ‸desc(?t)]", "as in [[?x :desc]]"),
    ("QUERY_INVALID", "[:find ?t :where [?e :a ?t] ‸:group-by ?t]", "grouped by the other variables of :find"),
    ("QUERY_INVALID", "[‸:select ?t :where [?e :a ?t]]", "what is returned stands in :find"),
    ("QUERY_INVALID", _HAVING + "‸(count ?i)]", ":having takes conditions, such as (> (count ?i) 1)"),
    ("QUERY_INVALID", _HAVING + "‸?i]", "takes conditions on groups, such as (> (count ?x) 1), not ?i"),
    ("QUERY_INVALID", _HAVING + "(> (sum ‸?n) 1)]", "?n in :having stands neither in :find nor in :with"),
    ("QUERY_INVALID", _HAVING + "(> (sum (* 2 ‸?n)) 1)]", "add it to :with"),
    ("QUERY_INVALID", _HAVING + "(> ‸?i 1)]", "?i is no key of groups, which :find has outside aggregates"),
    ("QUERY_INVALID", _HAVING + "(> (+ ‸?i (count ?i)) 1)]", "?i in :having is no key of the groups"),
    ("QUERY_INVALID", _HAVING + "(> ‸(get-else $ (max ?i) :a 1) 1)]", "bind its value in :where"),
    ("UNBOUND_VARIABLE", "[:find (inc ‸?x) :where [?e :a]]", "?x is in :find, but nothing"),
    ("QUERY_INVALID", "[:find (sum (inc ‸(sum ?e))) :where [?e :a]]", "(sum ?e) is one of a group"),
    ("QUERY_INVALID", "[:find (min ‸?e ?e) :where [?e :a]]", "a variable that stands by itself in :in, not ?e"),
    ("QUERY_INVALID", "[:find count(‸*) :where [?e :a]]", "(count ?e) for the"),
    ("QUERY_INVALID", "[:find ?t ‸WHERE (not [?e :a ?t])]", "a section begins with a colon: write :where"),
    # Clauses
    ("QUERY_INVALID", "[:find ?t :where ?e ‸:issue/title ?t]", "in brackets: [?e :issue/title ?value]"),
    ("QUERY_INVALID", "[:find ?t :where ‸(?e ?a ?t)]", "in square brackets: [?e ?a ?t]"),
    ("QUERY_INVALID", "[:find ?t :where ‸[[?e :issue/title ?t]]]", "without a further bracket around them"),
    ("QUERY_INVALID", "[:find ?t :where ‸{:issue/title ?t}]", "a map is no clause"),
    ("QUERY_INVALID", _WHERE + "‸or [?e :issue/id 1]]", "or comes first, in round brackets: (or ["),
    ("QUERY_INVALID", _WHERE + "‸and [?e :issue/id 1]]", "leave out the and between them"),
    ("QUERY_INVALID", _WHERE + "‸$ [?e :issue/id 1]]", "a source stands within its pattern: [$ ?e :person/name]"),
    (
        "QUERY_INVALID",
        '[:find ?e :where [?e :issue/title ‸LIKE "F%"]]',
        'a condition is a clause of its own, after [?e :issue/title ?n]: [(like ?n "F%")]',
    ),
    ("QUERY_INVALID", '[:find ?e :where [?e :issue/id ‸= "1"]]', 'after [?e :issue/id ?n]: [(= ?n "1")]'),
    (
        "QUERY_INVALID",
        "[:find ?e :where [?e :issue/id ‸IN [1 2]]]",
        "after [?e :issue/id ?n]: [(in ?n [1 2])]",
    ),
    ("QUERY_INVALID", "[:find ?e :where [?e :issue/id ‸is nil]]", "found with [(missing? $ ?e :person/name)]"),
    ("QUERY_INVALID", "[:find ?e :where [?e :issue/id ?id ‸true]]", "the fifth: [?e :person/name ?name _ true]"),
    (
        "QUERY_INVALID",
        "[:find ?e :where [?e :issue/id 1 ‸:issue/done true]]",
        "each attribute has a pattern of its own",
    ),
    ("QUERY_INVALID", "[:find ?e :where ‸[?e :issue/id 1 and :issue/done true]]", "a pattern of its own: [?e"),
    ("QUERY_INVALID", "[:find ?e :where [?e :a] [‸(not [?e :issue/done true])]]", "leave out the brackets"),
    ("QUERY_INVALID", '[:find ?e :where [?e :issue/id ?id ‸"x"]]', "is the transaction, a number or an entity id"),
    ("QUERY_INVALID", "[:find ?t :where [(‸issue/id 1) :issue/title ?t]]", "there is no built-in issue/id"),
    ("QUERY_INVALID", _WHERE + "‸(count ?t)]", "count is an aggregate, which stands in :find: (count ?t)"),
    ("QUERY_INVALID", _WHERE + "[(‸sum ?t) ?n]]", "sum is an aggregate, which stands in :find"),
    (
        "QUERY_INVALID",
        _WHERE + "[(> ‸(avg ?e) 1)]]",
        "avg is an aggregate; a condition on a group stands in :having",
    ),
    ("QUERY_INVALID", _WHERE + "[(> (‸frob ?e 1) 1)]]", "there is no built-in frob"),
    ("QUERY_INVALID", _WHERE + "[(= ‸(q [:find ?x :where [?x :a]]) 1)]]", "bind it, e.g. [(q"),
    ("QUERY_INVALID", _WHERE + "[‸(if ?t) ?x]]", "(if …) takes 2 to 3 arguments, not 1, as in (if (> ?n 0) ?n 0)"),
    ("QUERY_INVALID", _WHERE + "[(cond ?t 1 ‸?e) ?x]]", "(cond …) takes pairs of a condition and a value"),
    ("QUERY_INVALID", _WHERE + "[(case ?t ‸?e 1 2) ?x]]", "?e is none: write cond"),
    ("QUERY_INVALID", "[:find ?e :where [?e :a ‸(inc 1)]]", "bind its value first: [(inc 1) ?x]"),
    ("QUERY_INVALID", _WHERE + "(‸left-join [?e :owner ?o])]", "a left join is (optional [?e :person/name ?name])"),
    ("QUERY_INVALID", _WHERE + "(‸sub ?e 3)]", "no rule or clause (sub …); rules come in :rules, or in :in as %"),
    ("QUERY_INVALID", _WHERE + '[(‸ilike ?t "F%")]]', "write like, after lower-case"),
    ("QUERY_INVALID", _WHERE + '‸(like ?t "F%")]', 'a call stands in brackets: [(like ?t "F%")]'),
    ("QUERY_INVALID", _WHERE + "[(‸is-in ?t [1 2])]]", "[(in ?x [1 2])]"),
    ("QUERY_INVALID", _WHERE + "[(‸?t > 3)]]", "the name of a built-in comes first: [(> ?t 3)]"),
    ("QUERY_INVALID", _WHERE + "[?e :issue/id ‸$id]]", "names with $ are sources; write a variable, ?id"),
    ("QUERY_INVALID", _WHERE + "[‸(get-else $ ?e :a) ?n]]", 'as in [(get-else $ ?e :person/name "none") ?name]'),
    ("QUERY_INVALID", _WHERE + "[(= ?t 1) ‸or (= ?t 2)]]", "conditions are clauses: (or [(= ?t 1)] [(= ?t 2)])"),
    ("QUERY_INVALID", _WHERE + "[(inc ?t) :as ‸?y]]", "a call takes one binding: [(inc ?t) ?y]"),
    ("QUERY_INVALID", "[:find (‸entity ?e) :where [?e :a]]", "write (pull ?e [*])"),
    ("EDN_SYNTAX", "‸{ title, status, id }", "or [:person/name] to pull"),
    # Rules
    ("QUERY_INVALID", "[:find ?x :where [(‸r ?x)] :rules [[(r ?x) [?x :a]]]]", "without square brackets: (r ?x)"),
    (
        "QUERY_INVALID",
        "[:find ?x :where (r ?x) :rules [[(r ?x) ‸:- [?x :a]]]]",
        "follow its head, without :- between",
    ),
    (
        "QUERY_INVALID",
        "{:find [?t] :rules [[(r ?x) [?x :a]]] :where [[(q [:find ?x :in $ :where (‸r ?x)] $) [[?t]]]]}",
        "the query within has no rule r: it takes those of the outer query if its :in has %",
    ),
    (
        "QUERY_INVALID",
        "[:find ?t :in $ % :where [(q [:find ?x :in $ :where (‸r ?x)] $) [[?t]]]]",
        "as in (q [:find ?x :in $ % :where …] $ %)",
    ),
]


@pytest.mark.parametrize(("code", "marked", "says"), MISTAKES, ids=[case[1][:60] for case in MISTAKES])
def test_a_mistake_is_shown_with_what_would_be_right(code: str, marked: str, says: str) -> None:
    refused(code, marked, says, parse_query)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("startsWith", "(did you mean starts-with?)"),
        (".startsWith", "(did you mean starts-with?)"),
        ("str/includes?", "(did you mean includes?)"),
        ("java.lang.Math/abs", "(did you mean abs?)"),
        ("upper_case", "write upper-case"),
        ("toUpperCase", "write upper-case"),
        ("Math/round", "(did you mean round?)"),
        ("trunc", "the fraction is cut off by [(long ?x) ?n]"),
        ("IS_NULL", "(missing? $ ?e :person/name)"),
        ("ifnull", "write coalesce"),
        ("switch", "write if, cond or case"),
        ("<>", "write not="),
        ("===", "write ="),
        ("regexp", "re-find"),
        ("now", "take the instant from :in"),
        ("lpad_start", ""),
        ("datetrunc", "[(truncate ?t :month) ?month]"),
        ("java.lang.System/exit", "calls no functions of the application"),
        ("frobnicate", ""),
        ("x", ""),
    ],
)
def test_a_name_of_another_language_leads_to_the_one_here(name: str, advice: str) -> None:
    found = instead_of_builtin(name)
    assert advice in found
    assert bool(advice) == bool(found)


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("nto", ["not", "or"], "not"),
        ("cuont", ["count", "min"], "count"),
        ("asof", ["t", "asOf"], "asOf"),
        ("as_of", ["t", "asOf"], "asOf"),
        ("in", ["min", "int?"], None),
        ("r", ["or", "q"], None),
        ("round", ["ground"], "ground"),
        ("any?", ["blank?"], None),
        ("instant", ["inst"], None),
    ],
)
def test_only_a_misspelling_is_proposed(name: str, known: list[str], meant: str | None) -> None:
    assert nearest(name, known) == ("" if meant is None else f" (did you mean {meant}?)")


@pytest.mark.parametrize("name", USAGES)
def test_calls_that_messages_show_can_be_made(name: str) -> None:
    assert name in BUILTINS
    text = f"[:find ?e :where [?e :a ?name] [?e :b ?tx] {USAGES[name]}]"
    assert parse_query(text).where


def test_the_marks_of_the_table_are_places() -> None:
    assert all(marked.count(MARK) == 1 for _, marked, _ in MISTAKES)


def test_a_quote_before_a_form_is_still_dropped() -> None:
    assert parse_query("'[:find ?x :where [?x :a ?y] [(q '[:find ?z :where [?z :b]] $) [[?x]]]]").where
