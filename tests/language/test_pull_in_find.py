"""Pull in `:find`: beside variables and aggregates, in every shape, with order and limit, over several sources."""

from __future__ import annotations

import pytest

from adalog.datalog.values import Keyword
from adalog.executor.pull.puller import Puller
from tests.support import World

SCHEMA = """
[{:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/one :db/unique :db.unique/identity}
 {:db/ident :friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]
"""
DATA = """
[{:db/id 1 :name "Ada" :age 36 :friend [2 3]} {:db/id 2 :name "Byron" :age 36} {:db/id 3 :name "Cara" :age 9}
 {:db/id 4 :age 9}]
"""


_AGE = Keyword("age")


@pytest.fixture
def world(db: World) -> World:
    db.tx(SCHEMA, DATA)
    return db


def test_relation(world):
    assert world.q("[:find (pull ?e [:name]) :where [?e :age 36]]") == '#{[{:name "Ada"}] [{:name "Byron"}]}'


def test_among_variables_in_the_written_order(world):
    assert world.q("[:find ?a (pull ?e [:name]) ?e :where [?e :age ?a] [?e :name]]") == (
        '#{[36 {:name "Ada"} 1] [36 {:name "Byron"} 2] [9 {:name "Cara"} 3]}'
    )


def test_two_pulls_of_one_variable_and_of_two(world):
    assert world.q("[:find (pull ?e [:name]) (pull ?e [:age]) :where [?e :age 9] [?e :name]]") == (
        '#{[{:name "Cara"} {:age 9}]}'
    )
    assert world.q("[:find (pull ?e [:name]) (pull ?f [:age]) :where [?e :friend ?f]]") == (
        '#{[{:name "Ada"} {:age 36}] [{:name "Ada"} {:age 9}]}'
    )


def test_an_entity_without_any_of_it_is_nil(world):
    assert world.q("[:find ?e (pull ?e [:name]) :where [?e :age 9]]") == '#{[3 {:name "Cara"}] [4 nil]}'


def test_entities_that_look_the_same_are_rows_of_their_own(world):
    """As in Datomic: a set of tuples of variables is found, and shown. Live queries tell such rows once."""
    rows = world.run("[:find (pull ?e [:age]) :where [?e :age 36]]").rows()
    assert [dict(row[0]) for row in rows] == [{_AGE: 36}, {_AGE: 36}]


def test_shapes(world):
    assert world.q("[:find [(pull ?e [:name]) ...] :where [?e :age 36]]") == '#{{:name "Ada"} {:name "Byron"}}'
    assert world.q("[:find (pull ?e [:name]) . :where [?e :age 9] [?e :name]]") == '{:name "Cara"}'
    assert world.q("[:find [(pull ?e [:name]) ?a] :where [?e :age ?a] [(= ?e 3)]]") == '[{:name "Cara"} 9]'
    assert world.q("{:find [(pull ?e [:name]) .] :where [[?e :friend]]}") == '{:name "Ada"}'
    assert world.q("{:find (pull ?e [:name]) :where [[?e :friend]]}") == '#{[{:name "Ada"}]}'
    assert world.q("[:find (pull ?e [:name]) . :where [?e :age 7]]") == "nil"


def test_keys(world):
    assert world.q("[:find ?a (pull ?e [:name]) :keys age who :where [?e :age ?a] [?e :friend]]") == (
        '#{{:age 36 :who {:name "Ada"}}}'
    )


def test_beside_aggregates_the_entity_groups(world):
    assert world.q("[:find (pull ?e [:name]) (count ?f) :where [?e :friend ?f]]") == '#{[{:name "Ada"} 2]}'
    assert world.q("[:find (max ?a) (pull ?e [:name]) :where [?e :friend ?f] [?f :age ?a]]") == (
        '#{[36 {:name "Ada"}]}'
    )


def test_order_limit_and_offset(world):
    query = "[:find (pull ?e [:name]) ?a :where [?e :age ?a] [?e :name] :order-by [[?a :desc] [?e :desc]]"
    assert world.q(query + "]") == '[[{:name "Byron"} 36] [{:name "Ada"} 36] [{:name "Cara"} 9]]'
    assert world.q(query + " :limit 1 :offset 1]") == '[[{:name "Ada"} 36]]'
    assert world.q("[:find [(pull ?e [:name]) ...] :where [?e :name] :order-by [(pull ?e [:name])] :limit 2]") == (
        '[{:name "Ada"} {:name "Byron"}]'
    )


def test_only_the_rows_shown_are_pulled(world, monkeypatch):
    asked = []
    level = Puller.level
    monkeypatch.setattr(
        Puller, "level", lambda self, pattern, ids: asked.append(len(ids)) or level(self, pattern, ids)
    )
    world.q("[:find (pull ?e [:name]) :where [?e :age] :limit 2]")
    result = world.run("[:find (pull ?e [:name]) :where [?e :age]]", ordered=True, shown=(1, 3))
    assert result.column(0, 1, 3) == [read for (read,) in result.rows(1, 3)]
    assert asked == [2, 2]


def test_the_pattern_as_an_argument(world):
    assert world.q("[:find (pull ?e ?p) . :in $ ?p :where [?e :friend]]", "[:name {:friend [:age]}]") == (
        '{:name "Ada" :friend [{:age 36} {:age 9}]}'
    )
    assert world.q("[:find [(pull ?e pattern) ...] :in $ pattern :where [?e :friend]]", "[:age]") == "#{{:age 36}}"
    # Text is read as EDN, as JSON has no keywords.
    assert world.q("[:find (pull ?e ?p) . :in $ ?p :where [?e :friend]]", '"[:age]"') == "{:age 36}"


def test_one_entity_by_its_name(world):
    query = "[:find (pull ?e [:age]) . :in $ ?e]"
    assert world.q(query, "1") == "{:age 36}"
    assert world.q(query, '[:name "Cara"]') == "{:age 9}"
    assert world.q(query, '[:name "Nobody"]') == "nil"
    assert world.q("[:find (pull ?e [:db/ident]) . :in $ ?e]", ":friend") == "{:db/ident :friend}"


def test_a_named_source(world):
    before = world.at(t=world.database.snapshot().t)
    world.tx('[{:db/id 1 :name "Augusta"}]')
    assert world.q("[:find (pull ?e [:name]) (pull $old ?e [:name]) :in $ $old :where [?e :friend]]", before) == (
        '#{[{:name "Augusta"} {:name "Ada"}]}'
    )
    assert before.q("[:find (pull ?e [:name]) . :where [?e :friend]]") == '{:name "Ada"}'


def test_columns_are_maps_under_the_written_name(world):
    result = world.run("[:find ?e (pull ?e [:name]) :where [?e :friend]]")
    assert [(column.name, column.type) for column in result.columns] == [
        ("?e", "long"),
        ("(pull ?e [:name])", "map"),
    ]
    assert result.to_arrow().to_pylist() == [{"?e": 1, "(pull ?e [:name])": '{:name "Ada"}'}]


def test_refusals(world):
    world.refuses("QUERY_INVALID", "[:find ‸(pull ?e) :where [?e :age]]", says="(pull ?e [*])")
    world.refuses("QUERY_INVALID", "[:find ‸(pull [*] ?e) :where [?e :age]]", says="a variable and a pattern")
    world.refuses("QUERY_INVALID", "[:find (pull ?e [:name ‸7]) :where [?e :age]]", says="not 7")
    world.refuses("QUERY_INVALID", "[:find (pull ?e ‸:name) :where [?e :age]]", says="is a vector")
    world.refuses("QUERY_INVALID", "[:find (pull ?e [{‸:age [:name]}]) :where [?e :age]]", says="takes no pattern")
    world.refuses("QUERY_INVALID", "[:find (pull ‸$b ?e [*]) :where [?e :age]]", says="$b is no source")
    world.refuses("QUERY_INVALID", "[:find (pull ?e ‸?p) :where [?e :age]]", says=":in $ ?p")
    world.refuses(
        "QUERY_INVALID", "[:find (pull ?e ‸?p) :in $ [?p ...] :where [?e :age]]", "[[:a]]", says="by itself"
    )
    world.refuses("UNBOUND_VARIABLE", "[:find (pull ‸?x [*]) :where [?e :age]]", says="?x is in :find")
    world.refuses("QUERY_INVALID", "[:find ‸(pull ?n [*]) :where [?e :name ?n]]", says='"Ada" is none')
    world.refuses(
        "QUERY_INVALID", "[:find (pull ?e ‸?p) :in $ ?p :where [?e :age]]", '"[:age 7]"', says="?p at 1:7:"
    )
    world.refuses(
        "QUERY_INVALID", "[:find (pull ‸$r ?e [*]) :in $ $r :where [$r ?e]]", "[[1]]", says="a relation here"
    )


def test_a_history_is_no_one_moment(world):
    world.at(history=True).refuses("ARG_INVALID", "[:find ‸(pull ?e [*]) :where [?e :age]]", says="history")
