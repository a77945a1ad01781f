"""The traps of joins one variable at a time, for answers that are followed by changes: after each transaction the
rows that entered and left are the difference of the answers."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from adalog.datalog.edn import read, write
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import identity, sort_key
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.maintained_view import MaintainedView
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change
from adalog.executor.follow.view_choice import MAINTAINED, view_of
from adalog.executor.question.arguments import GivenArgument
from adalog.executor.question.request import QueryRequest
from tests.support import World

MANY = ":db/valueType :db.type/ref :db/cardinality :db.cardinality/many"


REACHED = "[[(it ?e ?w) [?e :name ?v] [$list ?v ?w]] [(it ?e ?w) [?e :to ?f] (it ?f ?w)]]"


class Live:
    """A question that is maintained, and checked against the query run afresh at each step."""

    def __init__(self, db: World, query: str, *args: str, json: tuple[Any, ...] = ()) -> None:
        self.db = db
        self.request = QueryRequest(query, [*map(read, args), *(GivenArgument(each, json=True) for each in json)])
        question = db.pool.question(self.request)
        self.view = view_of(question, db.pool.engine)
        assert isinstance(self.view, MaintainedView)
        self.at = db.database.snapshot()
        self.view.add(0, UndatedQuestion.of(question), self.at, Cancel())
        self.rows = self.fresh()

    def fresh(self) -> set[Any]:
        return {tuple(map(identity, row)) for row in self.db.pool.run(self.request).rows()}

    def tx(self, *texts: str) -> str:
        """What the transactions together made of the answer: `+rows -rows`."""
        self.db.tx(*texts)
        old, self.at = self.at, self.db.database.snapshot()
        change = self.view.step(Moments(old, self.at), Cancel()).get(0)
        before, self.rows = self.rows, self.fresh()
        if change is None:
            assert self.rows == before
            return ""
        assert isinstance(change, Change), change
        added, removed = change.added.rows(), change.removed.rows()
        assert {tuple(map(identity, row)) for row in added} == self.rows - before
        assert {tuple(map(identity, row)) for row in removed} == before - self.rows
        assert len(added) + len(removed) == len(self.rows ^ before)
        signed = (("+", sorted(added, key=sort_key)), ("-", sorted(removed, key=sort_key)))
        return " ".join(sign + write(row) for sign, rows in signed for row in rows)


@pytest.fixture
def graph(db: World) -> World:
    names = " ".join(f"{{:db/ident :{name} {MANY}}}" for name in ("to", "by", "via"))
    db.tx(f"[{names} {{:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}}]")
    return db


def edges(*pairs: tuple[int, int], attribute: str = "to", sign: str = "add") -> str:
    return "[" + " ".join(f"[:db/{sign} {a} :{attribute} {b}]" for a, b in pairs) + "]"


TRIANGLES = "[:find ?a ?b ?c :where [?a :to ?b] [?b :to ?c] [?a :to ?c]]"
COUNTED = "[:find (count ?a) :with ?b ?c :where [?a :to ?b] [?b :to ?c] [?a :to ?c]]"


def test_trap_7_an_edge_that_closes_a_triangle(graph: World) -> None:
    """The published join multiplies the changes of the levels, of which two are nothing here."""
    graph.tx(edges((1, 2), (1, 3)))
    rows, counted = Live(graph, TRIANGLES), Live(graph, COUNTED)
    assert rows.tx(edges((2, 3))) == "+[1 2 3]"
    counted.tx(edges((7, 8)))
    assert counted.rows == {(1,)}


def test_trap_7_all_edges_of_a_triangle_at_once(graph: World) -> None:
    """Three of three edges gone is one triangle less, not three."""
    graph.tx(edges((1, 2), (2, 3), (1, 3), (4, 5), (5, 6), (4, 6)))
    rows, counted = Live(graph, TRIANGLES), Live(graph, COUNTED)
    assert rows.tx(edges((1, 2), (2, 3), (1, 3), sign="retract")) == "-[1 2 3]"
    assert counted.tx("[]") == "+[1] -[2]"
    assert counted.tx(edges((4, 5), (5, 6), (4, 6), sign="retract")) == "-[1]"
    assert counted.tx(edges((4, 5), (5, 6), (4, 6))) == "+[1]"


def test_trap_7_edges_that_replace_each_other(graph: World) -> None:
    graph.tx(edges((1, 2), (2, 3), (1, 3)))
    rows = Live(graph, TRIANGLES)
    mixed = edges((2, 3), sign="retract")[:-1] + " " + edges((2, 4), (1, 4))[1:]
    assert rows.tx(mixed) == "+[1 2 4] -[1 2 3]"
    assert rows.tx(edges((2, 3)), edges((2, 3), sign="retract")) == ""


def test_trap_1_no_row_of_two_halves_of_branches(graph: World) -> None:
    live = Live(graph, "[:find ?a ?c :where (or (and [?a :to ?b] [?b :by ?c]) (and [?a :by ?b] [?b :to ?c]))]")
    assert live.tx(edges((1, 2))) == ""
    assert live.tx(edges((2, 3))) == ""
    assert live.tx(edges((2, 3), attribute="by")) == "+[1 3]"
    assert live.tx(edges((1, 2), attribute="by")) == ""
    assert live.tx(edges((1, 2), sign="retract")) == ""
    assert live.tx(edges((2, 3), sign="retract")) == "-[1 3]"


def test_trap_2_an_and_within_an_or(graph: World) -> None:
    query = "[:find ?a ?b :where [?a :via ?b] (or [?a :to ?b] (and [?a :by ?b] (not [?b :to ?a])))]"
    live = Live(graph, query)
    assert live.tx(edges((1, 2), attribute="via")) == ""
    assert live.tx(edges((1, 2), attribute="by")) == "+[1 2]"
    assert live.tx(edges((1, 2))) == ""
    assert live.tx(edges((2, 1))) == ""
    assert live.tx(edges((1, 2), sign="retract")) == "-[1 2]"
    assert live.tx(edges((2, 1), sign="retract")) == "+[1 2]"


def test_trap_3_branches_that_only_filter(graph: World) -> None:
    live = Live(graph, "[:find ?a :where [?a :to ?b] (or-join [?a ?b] [(= ?a 1)] [(= ?b 1)] [?a :by ?b])]")
    assert live.tx(edges((1, 2), (3, 1), (4, 5))) == "+[1] +[3]"
    assert live.tx(edges((4, 5), attribute="by")) == "+[4]"
    assert live.tx(edges((3, 1), (4, 5), sign="retract")) == "-[3] -[4]"


def test_trap_4_a_not_counts_the_other_way_round(graph: World) -> None:
    live = Live(graph, "[:find ?a :where [?a :to ?b] (not-join [?a ?b] [?b :by ?c] [?a :via ?c])]")
    assert live.tx(edges((1, 2))) == "+[1]"
    assert live.tx(edges((2, 3), attribute="by"), edges((1, 3), attribute="via")) == "-[1]"
    assert live.tx(edges((2, 4), attribute="by"), edges((1, 4), attribute="via")) == ""
    assert live.tx(edges((2, 3), attribute="by", sign="retract")) == ""
    assert live.tx(edges((1, 4), attribute="via", sign="retract")) == "+[1]"
    assert live.tx(edges((1, 9)), edges((1, 2), sign="retract")) == ""


def test_trap_4_a_not_within_a_not(graph: World) -> None:
    live = Live(graph, "[:find ?a :where [?a :to _] (not [?a :by ?b] (not [?b :via ?a]))]")
    assert live.tx(edges((1, 2))) == "+[1]"
    assert live.tx(edges((1, 3), attribute="by")) == "-[1]"
    assert live.tx(edges((3, 1), attribute="via")) == "+[1]"
    assert live.tx(edges((1, 4), attribute="by")) == "-[1]"
    assert live.tx(edges((1, 4), attribute="by", sign="retract")) == "+[1]"


def test_trap_5_the_diagonal_repeated_arguments_and_gates(graph: World) -> None:
    loops = Live(graph, "[:find ?a :where [?a :to ?a]]")
    asked = Live(graph, "[:find ?a ?b :in $ [?a ...] :where [?a :to ?b]]", "[1 1 2]")
    gate = Live(graph, "[:find ?a :where [?a :to _] [9 :by 9] (not [8 :via 8])]")
    assert loops.tx(edges((1, 1), (1, 2))) == "+[1]"
    assert asked.tx(edges((3, 4))) == "+[1 1] +[1 2]"
    assert gate.tx(edges((5, 5), (9, 9), attribute="by")) == "+[1] +[3]"
    assert gate.tx(edges((8, 8), attribute="via")) == "-[1] -[3]"
    assert gate.tx(edges((8, 8), attribute="via", sign="retract")) == "+[1] +[3]"
    assert loops.tx(edges((1, 1), sign="retract")) == "-[1]"


def test_trap_6_a_row_that_several_changes_lead_to_is_one_row(graph: World) -> None:
    live = Live(graph, "[:find ?a :where [?a :to ?b] [?a :by ?b]]")
    assert live.tx(edges((1, 2), (1, 3))[:-1] + edges((1, 2), (1, 3), attribute="by")[1:]) == "+[1]"
    assert live.tx(edges((1, 2), sign="retract")) == ""
    assert live.tx(edges((1, 3), attribute="by", sign="retract")) == "-[1]"


def test_a_blank_is_there_while_any_value_is(graph: World) -> None:
    live = Live(graph, "[:find ?a :where [?a :to _]]")
    assert live.tx(edges((1, 2))) == "+[1]"
    assert live.tx(edges((1, 3))) == ""
    assert live.tx(edges((1, 2), sign="retract")) == ""
    assert live.tx(edges((1, 3), sign="retract")) == "-[1]"


def test_a_lookup_ref_that_means_another_entity(graph: World) -> None:
    graph.tx('[[:db/add 1 :name "a"] [:db/add 1 :to 5] [:db/add 2 :to 6]]')
    constant = Live(graph, '[:find ?b :where [[:name "a"] :to ?b]]')
    argument = Live(graph, "[:find ?b :in $ ?a :where [?a :to ?b]]", '[:name "a"]')
    assert constant.tx('[[:db/retract 1 :name "a"]]', '[[:db/add 2 :name "a"]]') == "+[6] -[5]"
    assert argument.tx("[]") == "+[6] -[5]"
    assert argument.tx(edges((2, 7))) == "+[7]"


@pytest.mark.parametrize(
    ("binding", "given"),
    [
        ("?e", (":name", "it")),
        ("?e", ":it"),
        ("[?e ...]", ((":name", "it"), ":nobody")),
        ("[[_ ?e]]", ((1, ":it"),)),
    ],
)
def test_an_argument_of_json_that_names_an_entity(graph: World, binding: str, given: Any) -> None:
    graph.tx("[{:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}]")
    live = Live(graph, f"[:find ?x :in $ {binding} :where [?e :to ?x]]", json=(given,))
    assert live.tx('[{:db/id 1 :name "it" :db/ident :it :to 2}]') == "+[2]"
    assert live.tx('[[:db/add 1 :name "no more"] [:db/add 1 :db/ident :no-more]]') == "-[2]"
    assert live.tx('[{:db/id 3 :name "it" :db/ident :it :to 4}]') == "+[4]"


@pytest.mark.parametrize("rules", ["[[(it ?e ?w) [?e :name ?v] [$list ?v ?w]]]", REACHED])
def test_a_list_with_values_that_the_database_learns_later(graph: World, rules: str) -> None:
    graph.tx("[{:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/many}]")
    live = Live(graph, f"[:find ?e ?w :in $ $list :where (it ?e ?w) :rules {rules}]", '[["a" "b"] ["c" "d"]]')
    assert live.tx('[[:db/add 1 :name "a"]]') == '+[1 "b"]'
    assert live.tx('[[:db/add 2 :name "b"]]') == ""
    assert live.tx('[[:db/add 1 :name "d"] [:db/add 3 :name "c"]]') == '+[3 "d"]'
    assert live.tx('[[:db/retract 1 :name "a"]]') == '-[1 "b"]'


def test_transactions_are_values_too(graph: World) -> None:
    live = Live(graph, "[:find ?a ?t :where [?a :name _ ?t]]")
    first = live.tx('[[:db/add 1 :name "a"]]')
    assert first.startswith("+[1 ")
    assert live.tx('[[:db/add 1 :name "b"]]').count("-[1 ") == 1
    assert live.tx('[[:db/add 1 :name "b"]]') == ""


def test_what_a_call_looks_up(graph: World) -> None:
    live = Live(graph, '[:find ?a ?n :where [?a :to _] [(get-else $ ?a :name "none") ?n]]')
    missing = Live(graph, "[:find ?a :where [?a :to _] [(missing? $ ?a :name)]]")
    assert live.tx(edges((1, 2))) == '+[1 "none"]'
    assert missing.tx("[]") == "+[1]"
    assert live.tx('[[:db/add 1 :name "x"]]') == '+[1 "x"] -[1 "none"]'
    assert missing.tx("[]") == "-[1]"
    assert live.tx('[[:db/add 1 :name "y"]]') == '+[1 "y"] -[1 "x"]'


def test_values_that_the_database_learns_after_it_was_asked_for_them(graph: World) -> None:
    live = Live(graph, "[:find ?a ?s :in $ ?s :where [?a :label ?s]]", '"later"')
    made = Live(graph, "[:find ?s :where [?a :n ?n] [(str ?n) ?s] [?a :label ?s]]")
    assert live.tx('[{:db/id 1 :label "later"}]') == '+[1 "later"]'
    assert made.tx("[{:db/id 2 :n 5}]") == ""
    assert made.tx('[{:db/id 2 :label "5"}]') == '+["5"]'
    assert live.tx('[[:db/add 1 :label "other"]]') == '-[1 "later"]'


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("[:find ?e (count ?x) :where [?e :to ?x] [?x :n ?n] :order-by ?n :limit 2]", "no column"),
        ("[:find (+ ?e (count ?x)) :where [?e :to ?x]]", "hidden"),
        ("[:find (sample 1 ?e) :where [?e :to]]", "answers something else"),
        ("[:find ?n :where [?e :to] [(q [:find (count ?x) . :in $ ?e :where [?e :to ?x]] $ ?e) ?n]]", "within"),
        ("[:find ?d :where [?t :to] [(tx-data $ ?t) ?d]]", "whole database"),
    ],
)
def test_explain_says_why_a_query_is_asked_again(graph: World, query: str, why: str) -> None:
    explained = graph.pool.explain(QueryRequest(query))
    assert explained.plan["live"]["how"] == "recomputed and compared"
    assert why in explained.plan["live"]["reason"]
    assert f"live   recomputed and compared: {explained.plan['live']['reason']}" in explained.text


def test_explain_says_that_a_query_is_maintained(graph: World) -> None:
    explained = graph.pool.explain(QueryRequest(COUNTED))
    assert explained.plan["live"] == {"how": MAINTAINED, "reason": None}
    assert "live   maintained" in explained.text


def test_a_feed_with_an_error_leaves_the_others_alone(graph: World) -> None:
    graph.tx("[{:db/id 1 :n 1 :m 1} {:db/id 2 :n 2 :m 2}]")
    request = QueryRequest("[:find ?e ?x :in $ ?n :where [?e :n ?n] [?e :m ?m] [(/ 10 ?m) ?x]]", [1])
    view = view_of(graph.pool.question(request), graph.pool.engine)
    at = graph.database.snapshot()
    for feed in (1, 2):
        question = graph.pool.question(QueryRequest(request.query, [feed]))
        view.add(feed, UndatedQuestion.of(question), at, Cancel())
    graph.tx("[[:db/add 1 :m 0] [:db/add 2 :m 5]]")
    changes = view.step(Moments(at, graph.database.snapshot()), Cancel())
    assert isinstance(changes[1], AdalogError)
    change = changes[2]
    assert isinstance(change, Change)
    assert change.added.rows() == [(2, 2)]


@pytest.mark.parametrize(
    ("find", "change"), [("(count ?a) .", "+[2] -[1]"), ("[(count ?a) (max ?b)]", "+[2 3] -[1 2]")]
)
def test_one_row_of_aggregates_follows_changes(graph: World, find: str, change: str) -> None:
    graph.tx(edges((1, 2)))
    live = Live(graph, f"[:find {find} :where [?a :to ?b]]")
    assert live.tx(edges((2, 3))) == change
    assert live.tx(edges((1, 2), (2, 3), sign="retract")).startswith("-")
    assert live.rows == set()


def test_a_view_that_waits_keeps_no_moment_alive(graph: World) -> None:
    queries = (
        (TRIANGLES, ()),
        (COUNTED, ()),
        ("[:find ?b :in $ ?a :where [?a :to ?b]]", ("1",)),
        ("[:find ?b :in $ ?a :where (reach ?a ?b) :rules " + REACH + "]", ("1",)),
        ("[:find (pull ?b [:name]) :where [?a :to ?b]]", ()),
    )
    views = []
    for query, args in queries:
        question = graph.pool.question(QueryRequest(query, [read(each) for each in args]))
        views.append(view_of(question, graph.pool.engine))
        views[-1].add(0, UndatedQuestion.of(question), graph.database.snapshot(), Cancel())
    at = graph.database.snapshot()
    graph.tx(edges((1, 2), (2, 3), (1, 3)))
    after = graph.database.snapshot()
    for view in views:
        assert view.step(Moments(at, after), Cancel())
    followed = [weakref.ref(each) for each in (at, after)]
    graph.tx(edges((8, 9), attribute="by"))
    del at, after, question, view
    gc.collect()
    assert [each() for each in followed] == [None, None]
    assert views


REACH = "[[(reach ?a ?b) [?a :to ?b]] [(reach ?a ?c) (reach ?a ?b) [?b :to ?c]]]"


def test_recursion_for_several_arguments(graph: World) -> None:
    text = "[:find ?b :in $ ?a :where (reach ?a ?b) :rules " + REACH + "]"
    graph.tx(edges((1, 2), (2, 3), (5, 6)))
    view = view_of(graph.pool.question(QueryRequest(text, [1])), graph.pool.engine)
    assert isinstance(view, MaintainedView)
    at = graph.database.snapshot()
    for feed in (1, 5):
        view.add(feed, UndatedQuestion.of(graph.pool.question(QueryRequest(text, [feed]))), at, Cancel())

    def step(text: str) -> dict[int, tuple[list[Any], list[Any]]]:
        nonlocal at
        graph.tx(text)
        old, at = at, graph.database.snapshot()
        found = view.step(Moments(old, at), Cancel())
        return {
            feed: (sorted(change.added.rows()), sorted(change.removed.rows()))
            for feed, change in found.items()
            if isinstance(change, Change)
        }

    assert step(edges((3, 1), (6, 2))) == {1: ([(1,)], []), 5: ([(1,), (2,), (3,)], [])}
    assert step(edges((1, 2), sign="retract")) == {1: ([], [(1,), (2,), (3,)])}
    view.drop(1)
    view.add(2, UndatedQuestion.of(graph.pool.question(QueryRequest(text, [2]))), at, Cancel())
    assert step(edges((1, 2))) == {2: ([(2,)], [])}
    assert step(edges((6, 2), sign="retract")) == {5: ([], [(1,), (2,), (3,)])}


def test_a_limit_on_rows_is_noticed_when_it_is_passed(graph: World) -> None:
    graph.tx(edges((1, 2), (1, 3)))
    request = QueryRequest("[:find ?b :in $ ?a :where [?a :to ?b]]", [1], max_rows=3)
    question = graph.pool.question(request)
    view = view_of(question, graph.pool.engine)
    at = graph.database.snapshot()
    view.add(1, UndatedQuestion.of(question), at, Cancel())
    for b, kind in ((4, Change), (5, AdalogError)):
        graph.tx(edges((1, b)))
        new = graph.database.snapshot()
        assert isinstance(view.step(Moments(at, new), Cancel())[1], kind)
        at = new
