"""Live pages and live pulls: what a step shows as added and removed, and what it asks the engine for."""

from __future__ import annotations

from typing import Any

import pytest

from adalog.datalog.edn import read, write
from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.engine import QueryEngine
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.presentation.kept_rows_view import KeptRowsView
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change
from adalog.executor.follow.view_choice import view_key, view_of
from adalog.executor.question.request import QueryRequest
from tests.support import World

SCHEMA = """[{:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
             {:db/ident :age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
             {:db/ident :boss :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
             {:db/ident :part :db/valueType :db.type/ref :db/cardinality :db.cardinality/many
              :db/isComponent true}]"""
PEOPLE = (
    """[{:db/id 1 :name "a" :age 10} {:db/id 2 :name "b" :age 20 :boss 1} {:db/id 3 :name "c" :age 30 :boss 2}]"""
)


class Followed:
    """A view with one feed, stepped from transaction to transaction."""

    def __init__(self, db: World, query: str, *args: str, **more: Any) -> None:
        self.db = db
        question = db.pool.question(QueryRequest(query, [read(each) for each in args], **more))
        self.view = view_of(question, db.pool.engine)
        assert isinstance(self.view, KeptRowsView)
        self.at = db.database.snapshot()
        self.view.add(7, UndatedQuestion.of(question), self.at, Cancel())

    def change(self, *texts: str) -> Change | None:
        self.db.tx(*texts)
        new = self.db.database.snapshot()
        found = self.view.step(Moments(self.at, new), Cancel()).get(7)
        self.at = new
        if isinstance(found, AdalogError):
            raise found
        return found

    def tx(self, *texts: str) -> str:
        change = self.change(*texts)
        if change is None:
            return "nothing"
        added, removed = (sorted(write(row) for row in each.rows()) for each in (change.added, change.removed))
        return " ".join(["+", *added, "-", *removed])


@pytest.fixture
def people(db: World) -> World:
    db.tx(SCHEMA, PEOPLE)
    return db


def test_a_page_and_its_order(people: World) -> None:
    page = Followed(people, "[:find ?n ?a :where [?e :name ?n] [?e :age ?a] :order-by [[?a :desc]] :limit 2]")
    assert page.tx('[{:db/id 4 :name "d" :age 40}]') == '+ ["d" 40] - ["b" 20]'
    assert page.tx('[{:db/id 5 :name "e" :age 5}]') == "nothing"
    assert page.tx("[[:db/retractEntity 4]]") == '+ ["b" 20] - ["d" 40]'
    change = page.change("[[:db/add 2 :age 31]]")
    assert change is not None
    assert change.order is not None
    assert people.database.snapshot().codes.decode_many(change.order) == ["b", "c"]
    assert page.tx("[[:db/add 5 :age 6]]") == "nothing"


def test_an_order_that_changes_alone_is_told_by_the_columns_that_order(people: World) -> None:
    swap = "[[:db/add 1 :age 20] [:db/add 2 :age 10]]"
    page = "[:find {} :where [?e :age ?a] :order-by [?a] :limit 2]"
    hidden, shown = (Followed(people, page.format(find)) for find in ("(pull ?e [:name])", "(pull ?e [:name]) ?a"))
    assert hidden.tx(swap) == "nothing"
    assert (
        shown.tx("[{:db/id 3 :age 31}]")
        == '+ [{:name "a"} 20] [{:name "b"} 10] - [{:name "a"} 10] [{:name "b"} 20]'
    )


def same_rows(db: World, one: str, other: str, *args: str) -> bool:
    """Whether two queries with the same arguments share a view."""
    questions = (db.pool.question(QueryRequest(each, [read(arg) for arg in args])) for each in (one, other))
    return len(set(map(view_key, questions))) == 1


def test_queries_that_pull_something_else_of_the_same_rows_share_these(people: World) -> None:
    page = "[:find {} :in $ ?least {} :where [?e :age ?a] [(>= ?a ?least)] :order-by [?a ?e] :limit 2]"
    one = page.format("(pull ?e [:name])", "")
    assert same_rows(people, one, page.format("(pull ?e [:name {:boss [:name]}])", ""), "1")
    assert same_rows(people, one, page.format("?e (pull ?e [:age])", ""), "1")
    assert same_rows(people, one, page.format("?e", ""), "1")
    counted = '(q "n" [:find (count ?x) . :in $ ?e ?most :where [?x :boss ?e] [?x :age ?b] [(< ?b ?most)]])'
    asked = (
        (page.format("(pull ?e [:name])", ""), "1"),
        (page.format(f"(pull ?e [:name {counted}])", "?most"), "1", "100"),
        (page.format("(pull ?e ?pattern)", "?pattern"), "1", "[:age]"),
    )
    view, at = Followed(people, *asked[0]).view, people.database.snapshot()
    assert isinstance(view, KeptRowsView)
    for number, (text, *args) in enumerate(asked):
        question = people.pool.question(QueryRequest(text, [read(arg) for arg in args]))
        view.add(number, UndatedQuestion.of(question), at, Cancel())
    assert len(view._shared) == 1
    people.tx('[{:db/id 1 :age 25 :name "z"}]')
    changes = view.step(Moments(at, people.database.snapshot()), Cancel())
    told = {number: [write(row) for row in change.added.rows()] for number, change in changes.items()}
    assert told == {
        7: ['[{:name "z"}]'],
        0: ['[{:name "z"}]'],
        1: ['[{:name "z", "n" 1}]'],
        2: ["[{:age 25}]"],
    }
    for number in (7, 0, 1):
        view.drop(number)
    assert len(view._shared) == 1
    view.drop(2)
    assert not view._shared


def test_other_rows_are_not_shared(people: World) -> None:
    page = "[:find (pull ?e [:name]) :in $ ?x :where [?e :age ?a] [(> ?a ?x)] :order-by [?a] :limit 2]"
    for one, other in (
        (":limit 2", ":limit 3"),
        ("[?a]", "[[?a :desc]]"),
        ("(> ?a ?x)", "(>= ?a ?x)"),
        ("[(> ?a ?x)]", "[(> ?a ?x)] [(> ?a 1)]"),
        ("(pull ?e [:name])", "?a (pull ?e [:name])"),
    ):
        assert not same_rows(people, page, page.replace(one, other), "1")
    for one, other in (("1", "1.0"), ("1", "true"), ("0.0", "-0.0"), ("1.0M", "1.00M"), ('"a"', ":a")):
        text = "[:find (pull ?e [:name]) :where [?e :age ?a] [(= ?a {})]]"
        assert not same_rows(people, text.format(one), text.format(other))
    # As JSON, what a pull takes names an entity.
    named = "[:find {} :in $ ?v :where [?e :age _] [(ground ?v) ?x]]"
    assert not same_rows(people, named.format("(pull ?v [:name])"), named.format("(pull ?e [:name]) ?v"), "1")


def test_ties_go_by_the_other_columns(people: World) -> None:
    page = Followed(people, "[:find ?e :where [?e :age ?a] :order-by [?a] :limit 2]")
    assert page.tx("[[:db/add 3 :age 10]]") == "+ [3] - [2]"
    assert page.tx("[{:db/id 9 :age 10}]") == "nothing"
    assert page.tx("[[:db/retractEntity 1]]") == "+ [9] - [1]"


def test_values_that_are_absent_come_last(people: World) -> None:
    people.tx('[{:db/id 4 :name "d"}]')
    page = Followed(
        people, "[:find ?n :where [?e :name ?n] (optional [?e :age ?a]) :order-by [[?a :desc]] :limit 3]"
    )
    assert page.tx("[[:db/retract 3 :age 30]]") == "nothing"
    assert page.tx("[[:db/add 4 :age 50]]") == '+ ["d"] - ["c"]'


def test_the_whole_is_asked_where_the_margin_is_used_up(people: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adalog.executor.follow.presentation.kept_rows._LEAST_MARGIN", 4)
    people.tx("[" + " ".join(f"{{:db/id {100 + i} :age {100 + i}}}" for i in range(20)) + "]")
    page = Followed(people, "[:find ?e ?a :where [?e :age ?a] :order-by [?a] :limit 2]")
    asked: list[str] = []
    original = QueryEngine.rows

    def rows(engine: QueryEngine, question: Any, cancel: Cancel) -> Any:
        asked.append(question.text)
        return original(engine, question, cancel)

    monkeypatch.setattr(QueryEngine, "rows", rows)
    for entity in (1, 2, 3, 100):
        assert page.tx(f"[[:db/retractEntity {entity}]]") != "nothing"
    assert asked == []
    assert page.tx("[[:db/retractEntity 101]]") == "+ [103 103] - [101 101]"
    assert len(asked) == 1


def test_an_offset_counts_the_rows_before_it(people: World) -> None:
    page = Followed(people, "[:find ?e ?a :where [?e :age ?a] :order-by [?a] :limit 1 :offset 1]")
    assert page.tx("[{:db/id 4 :age 1}]") == "+ [1 10] - [2 20]"
    assert page.tx("[[:db/retractEntity 1]]") == "+ [2 20] - [1 10]"


def test_maps_change_while_rows_stay(people: World) -> None:
    pulls = Followed(people, "[:find (pull ?e [:name {:boss [:name]}]) :where [?e :age]]")
    assert pulls.tx('[[:db/add 1 :name "A"]]') == (
        '+ [{:name "A"}] [{:name "b", :boss {:name "A"}}] - [{:name "a"}] [{:name "b", :boss {:name "a"}}]'
    )
    assert pulls.tx("[[:db/add 3 :boss 1]]") == (
        '+ [{:name "c", :boss {:name "A"}}] - [{:name "c", :boss {:name "b"}}]'
    )
    assert pulls.tx('[{:db/id 8 :name "x"}]') == "nothing"


def test_recursion_parts_and_reverse_steps(people: World) -> None:
    chain = Followed(people, "[:find (pull ?e [:name {:boss ...}]) :where [?e :age 30]]")
    whole = Followed(people, "[:find (pull ?e [*]) :where [?e :age 10]]")
    staff = Followed(people, "[:find (pull ?e [:name {:_boss [:age]}]) :where [?e :age 10]]")
    assert '{:name "z"}' in chain.tx('[[:db/add 1 :name "z"]]')
    assert ':name "z"' in whole.tx("[]")
    assert whole.tx('[{:db/id 50 :name "part"} [:db/add 1 :part 50]]').endswith("}]")
    assert ':name "other"' in whole.tx('[[:db/add 50 :name "other"]]')
    assert "{:age 21}" in staff.tx("[[:db/add 2 :age 21]]")


def test_entities_that_look_alike_are_one_row(people: World) -> None:
    alike = Followed(people, "[:find (pull ?e [:name]) :where [?e :age]]")
    assert alike.tx('[{:db/id 4 :name "a" :age 40}]') == "nothing"
    assert alike.tx("[[:db/retractEntity 1]]") == "nothing"
    assert alike.tx('[[:db/add 2 :name "a"]]') == '+ - [{:name "b"}]'
    assert alike.tx('[[:db/add 4 :name "d"]]') == '+ [{:name "d"}] -'


def test_the_pattern_and_the_limit_may_be_arguments(people: World) -> None:
    query = "[:find (pull ?e ?p) :in $ ?p ?l :where [?e :age ?a] :order-by [?a] :limit ?l]"
    page = Followed(people, query, "[:name]", "2")
    assert page.tx('[[:db/add 2 :name "B"]]') == '+ [{:name "B"}] - [{:name "b"}]'
    assert page.tx('[[:db/add 3 :name "C"]]') == "nothing"


def test_queries_in_patterns(people: World) -> None:
    within = '(q "staff" [:find [(pull ?s [:name {:boss [:age]}]) ...] :in $ ?e :where [?s :boss ?e] :order-by ?s])'
    page = Followed(people, f"[:find (pull ?e [:db/id {within}]) :where [?e :age ?a] :order-by ?a :limit 1]")
    assert page.tx('[{:db/id 4 :name "d" :boss 1}]') == (
        '+ [{:db/id 1, "staff" [{:name "b", :boss {:age 10}} {:name "d", :boss {:age 10}}]}]'
        ' - [{:db/id 1, "staff" [{:name "b", :boss {:age 10}}]}]'
    )
    assert '{:name "dd", :boss {:age 10}}' in page.tx('[[:db/add 4 :name "dd"]]')
    assert "{:age 9}" in page.tx("[[:db/add 1 :age 9]]")
    assert page.tx('[[:db/add 3 :name "cc"]]') == "nothing"


def test_an_attribute_that_means_something_else(people: World) -> None:
    pulls = Followed(people, "[:find (pull ?e [:db/id :nick]) :where [?e :age]]")
    assert (
        pulls.tx("[{:db/ident :nick :db/valueType :db.type/string :db/cardinality :db.cardinality/one}]")
        == "nothing"
    )
    assert pulls.tx('[[:db/add 1 :nick "N"]]') == '+ [{:db/id 1, :nick "N"}] - [{:db/id 1}]'
    assert pulls.tx("[[:db/add :nick :db/cardinality :db.cardinality/many]]") == (
        '+ [{:db/id 1, :nick ["N"]}] - [{:db/id 1, :nick "N"}]'
    )


def test_too_many_rows_are_an_error_of_the_feed(people: World) -> None:
    pulls = Followed(people, "[:find (pull ?e [:name]) :where [?e :age]]", max_rows=3)
    with pytest.raises(AdalogError, match="more than 3 rows"):
        pulls.tx("[{:db/id 4 :age 1}]")
