"""The view that asks again and compares: what it shows as added and removed, whatever the query."""

from __future__ import annotations

from typing import Any

import pytest

from adalog.datalog.edn import read, write
from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.recomputed import RecomputedView
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change, Interest
from adalog.executor.follow.view_choice import feed_key, view_key
from adalog.executor.question.arguments import BasisArgument
from adalog.executor.question.request import QueryRequest
from adalog.store.values.bootstrap import IDENT
from tests.support import World


class Followed:
    """A view with one feed, stepped from transaction to transaction."""

    def __init__(self, db: World, query: str, *args: Any, **more: Any) -> None:
        self.db = db
        request = QueryRequest(query, [read(each) if isinstance(each, str) else each for each in args], **more)
        self.question = db.pool.question(request)
        self.view = RecomputedView(UndatedQuestion.of(self.question), db.pool.engine)
        self.at = db.database.snapshot()
        self.view.add(7, UndatedQuestion.of(self.question), self.at, Cancel())

    def tx(self, *texts: str) -> str:
        self.db.tx(*texts)
        return self.stepped()

    def stepped(self) -> str:
        new = self.db.database.snapshot()
        changes = self.view.step(Moments(self.at, new), Cancel())
        self.at = new
        if not changes:
            return "nothing"
        change = changes[7]
        if isinstance(change, AdalogError):
            raise change
        return said(change)

    def interests(self) -> list[Interest]:
        return list(self.view.interests(self.at))

    def id_of(self, ident: str) -> int:
        found = self.at.attribute(read(ident))
        assert found is not None
        return found.id


def said(change: Change) -> str:
    added, removed = (sorted(write(row) for row in each.rows()) for each in (change.added, change.removed))
    return " ".join(["+", *added, "-", *removed])


def test_rows_that_enter_and_leave(db: World) -> None:
    db.tx('[{:db/id 1 :name "a" :age 1} {:db/id 2 :name "b" :age 2}]')
    followed = Followed(db, "[:find ?n ?age :where [?e :name ?n] [?e :age ?age]]")
    assert followed.tx('[[:db/add 1 :age 3] {:db/id 3 :name "c" :age 1}]') == '+ ["a" 3] ["c" 1] - ["a" 1]'
    assert followed.tx('[{:db/id 4 :name "d"}]') == "nothing"
    assert followed.tx("[[:db/retractEntity 2]]") == '+ - ["b" 2]'


def test_values_that_a_function_makes_and_the_database_learns_later(db: World) -> None:
    db.tx("[{:db/id 1 :age 1}]")
    followed = Followed(db, "[:find ?s :where [_ :age ?age] [(str ?age) ?s]]")
    assert followed.tx('[{:db/id 9 :name "1"}]') == "nothing"
    assert followed.tx("[{:db/id 2 :age 2}]") == '+ ["2"] -'


def test_pulls_are_compared_as_they_are_shown(db: World) -> None:
    db.tx('[{:db/id 1 :name "a" :age 1} {:db/id 2 :name "a" :age 2}]')
    followed = Followed(db, "[:find (pull ?e [:name]) :where [?e :age]]")
    assert followed.tx('[[:db/add 1 :name "b"]]') == '+ [{:name "b"}] -'
    assert followed.tx('[[:db/add 2 :name "c"]]') == '+ [{:name "c"}] - [{:name "a"}]'
    assert followed.tx("[[:db/add 2 :age 9]]") == "nothing"


def test_a_limit_without_an_order_takes_the_same_rows(db: World) -> None:
    db.tx("[{:db/id 1 :age 5} {:db/id 2 :age 4} {:db/id 3 :age 3}]")
    followed = Followed(db, "[:find ?age :where [_ :age ?age] :limit 2]")
    assert [write(row) for row in followed.view.answer(7).rows()] == ["[3]", "[4]"]
    assert followed.tx("[{:db/id 4 :age 1}]") == "+ [1] - [4]"


def test_a_source_relative_to_the_default_one_moves_with_it(db: World) -> None:
    db.tx("[{:db/id 1 :age 1}]")
    database = db.database
    before = BasisArgument("before", lambda now: database.at(t=now.t - 1))
    followed = Followed(db, "[:find ?e :in $ $old :where [?e :age ?a] (not [$old ?e :age ?a])]", before)
    assert followed.tx("[{:db/id 2 :age 1}]") == "+ [2] - [1]"
    assert followed.tx("[{:db/id 2 :name 1}]") == "+ - [2]"
    still = Followed(db, "[:find ?e :in $ $old :where [?e :age ?a] (not [$old ?e :age ?a])]", database.at(t=2))
    assert still.tx("[{:db/id 3 :age 1}]") == "+ [3] -"


def test_arguments_are_settled_anew(db: World) -> None:
    db.tx("[{:db/ident :mail :db/valueType :db.type/string :db/unique :db.unique/identity}]")
    db.tx('[{:db/id 1 :mail "a" :likes "x"} {:db/id 2 :mail "b" :likes "y"}]')
    followed = Followed(db, "[:find ?x :in $ ?e :where [?e :likes ?x]]", '[:mail "a"]')
    assert followed.tx('[[:db/retract 1 :mail "a"]]') == '+ - ["x"]'
    assert followed.tx('[[:db/retract 2 :mail "b"]]', '[[:db/add 2 :mail "a"]]') == '+ ["y"] -'


def test_an_attribute_that_is_not_there_yet(db: World) -> None:
    followed = Followed(db, "[:find ?x :where [_ :later ?x]]")
    assert followed.tx("[{:db/id 1 :later 5}]") == "+ [5] -"


def test_too_many_rows_are_an_error_of_the_feed_and_may_pass(db: World) -> None:
    db.tx("[{:db/id 1 :age 1}]")
    followed = Followed(db, "[:find ?e :where [?e :age]]", max_rows=2)
    with pytest.raises(AdalogError, match="more than 2 rows"):
        followed.tx("[{:db/id 2 :age 1} {:db/id 3 :age 1}]")
    assert followed.tx("[[:db/retractEntity 1]]") == "+ [2] [3] - [1]"


def test_interests_are_the_attributes_that_are_read(db: World) -> None:
    db.tx('[{:db/id 1 :name "a" :age 1 :boss 2} {:db/id 2 :mail "x"}]')
    followed = Followed(db, "[:find ?e (pull ?e [:name]) :where [?e :age] (not [?e :boss])]")
    named = {followed.id_of(each) for each in (":name", ":age", ":boss")}
    assert named | {IDENT} <= {each.attribute for each in followed.interests()}
    assert followed.id_of(":mail") not in {each.attribute for each in followed.interests()}
    assert Followed(db, "[:find ?e ?a :where [?e ?a 1]]").interests() == [Interest(None)]
    assert Followed(db, "[:find (pull ?e [*]) :where [?e :age]]").interests() == [Interest(None)]


def test_what_shares_a_view_and_a_feed(db: World) -> None:
    def question(query: str, *args: str, **more: Any) -> Any:
        return db.pool.question(QueryRequest(query, [read(each) for each in args], **more))

    text = "[:find ?e :in $ ?x [?y ...] :where [?e :a ?x] [?e :b ?y]]"
    one, two = question(text, "1", "[1 2]"), question(text, "1.0", "[1 2]")
    assert view_key(one) == view_key(two)
    shared = view_key(one)
    assert feed_key(one, shared) != feed_key(two, shared)
    assert feed_key(one, shared) == feed_key(question(text, "1", "[1 2]"), shared)
    assert view_key(one) != view_key(question(text, "1", "[1 2]", max_rows=3))
    relation = "[:find ?x :in $ $r :where [$r ?x]]"
    assert view_key(question(relation, "[[1]]")) != view_key(question(relation, "[[2]]"))
