"""Pull: patterns, options, nesting, recursion, components, and what is refused."""

from __future__ import annotations

import re

import pytest

from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.pool import PullRequest
from tests.support import World

SCHEMA = """
[{:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/one :db/unique :db.unique/identity}
 {:db/ident :born :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :alias :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
 {:db/ident :friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :boss :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
 {:db/ident :part :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :db/isComponent true}
 {:db/ident :core :db/valueType :db.type/ref :db/cardinality :db.cardinality/one :db/isComponent true}
 {:db/ident :colour :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
 {:db/ident :colour/red}]
"""
DATA = """
[{:db/id 1 :name "Ada" :born 1815 :alias ["Countess" "AAL"] :friend [2 3] :colour :colour/red}
 {:db/id 2 :name "Byron" :boss 1}
 {:db/id 3 :name "Cara" :boss 1 :friend [4]}
 {:db/id 4 :name "Dora" :boss 3}
 {:db/id 10 :name "Car" :part [{:db/id 11 :name "Door" :part [{:db/id 12 :name "Lock" :friend [1]}]}
                               {:db/id 13 :name "Wheel"}]
  :core {:db/id 14 :name "Engine"}}]
"""
COMPONENT = "{:db/ident :part :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :db/isComponent true}"


@pytest.fixture
def world(db: World) -> World:
    db.tx(SCHEMA, DATA)
    return db


# Attributes


def test_attributes_that_are_there(world):
    assert world.pull("[:name :born]", 1) == '{:name "Ada" :born 1815}'
    assert world.pull("[:name :born]", 2) == '{:name "Byron"}'


def test_nothing_of_what_is_asked_is_nil(world):
    assert world.pull("[:born]", 2) == "nil"
    assert world.pull("[:name]", 99) == "nil"


def test_many_entities_in_their_order_with_repeats(world):
    assert world.pull("[:name]", 3, 99, 1, 3) == '[{:name "Cara"} nil {:name "Ada"} {:name "Cara"}]'


def test_no_entities(world):
    assert world.pull("[:name]") == "[]"


def test_an_attribute_that_no_schema_knows_is_not_there(world):
    assert world.pull("[:name :nmae :_frend {:frend [:name]}]", 1) == '{:name "Ada"}'


def test_many_values_are_a_vector_in_order(world):
    assert world.pull("[:alias]", 1) == '{:alias ["AAL" "Countess"]}'


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("long", "-9000000000000000000 -3 0 2 9000000000000000000"),
        ("double", "-1.5 0.0 2.25 1.0e300"),
        ("keyword", ":a :b :a/a :b/a"),
        ("instant", '#inst "1815-12-10T00:00:00.000-00:00" #inst "2024-01-01T00:00:00.000-00:00"'),
        ("boolean", "false true"),
    ],
)
def test_values_of_every_type_come_in_their_order(db, kind, values):
    db.tx(f"[{{:db/ident :v :db/valueType :db.type/{kind} :db/cardinality :db.cardinality/many}}]")
    for value in reversed(re.findall(r'#inst "[^"]*"|\S+', values)):
        db.tx(f"[[:db/add 1 :v {value}]]")
    assert db.pull("[:v]", 1) == f"{{:v [{values}]}}"


def test_db_id(world):
    assert world.pull("[:db/id :name]", 1) == '{:db/id 1 :name "Ada"}'
    assert world.pull("[:db/id]", 99) == "{:db/id 99}"


def test_refs_are_ids(world):
    assert world.pull("[:friend :boss]", 3) == "{:friend [{:db/id 4}] :boss {:db/id 1}}"


def test_entities_by_lookup_ref_and_ident(world):
    assert world.pull("[:born]", '[:name "Ada"]') == "{:born 1815}"
    assert world.pull("[:born]", '[:name "Nobody"]', '[:name "Ada"]') == "[nil {:born 1815}]"
    assert world.pull("[:db/ident]", ":colour/red") == "{:db/ident :colour/red}"
    assert world.pull("[*]", ":colour/none") == "nil"


def test_a_ref_to_an_ident_shows_it_where_it_is_asked(world):
    assert world.pull("[{:colour [:db/ident]}]", 1) == "{:colour {:db/ident :colour/red}}"
    red = world.q("[:find ?e . :where [?e :db/ident :colour/red]]").value
    assert world.pull("[:colour]", 1) == f"{{:colour {{:db/id {red}}}}}"


def test_quoted_patterns(world):
    assert world.pull("'[:name]", 1) == '{:name "Ada"}'
    assert world.pull("(quote [:name])", 1) == '{:name "Ada"}'


# The wildcard


def test_wildcard(world):
    assert world.pull("[*]", 3) == '{:db/id 3 :name "Cara" :boss {:db/id 1} :friend [{:db/id 4}]}'


@pytest.mark.parametrize("pattern", ["[*]", '["*"]', "[[*]]", "'[*]"])
def test_wildcard_forms(world, pattern):
    assert world.pull(pattern, 2) == '{:db/id 2 :name "Byron" :boss {:db/id 1}}'


def test_wildcard_of_nothing_is_its_id(world):
    assert world.pull("[*]", 99) == "{:db/id 99}"


def test_what_is_written_overrides_the_wildcard(world):
    assert world.pull("[* {:boss [:name]}]", 2) == '{:db/id 2 :name "Byron" :boss {:name "Ada"}}'
    assert world.pull("[[:name :as :title] *]", 2) == '{:db/id 2 :title "Byron" :boss {:db/id 1}}'
    assert world.pull("[* [:db/id :as :id]]", 2) == '{:id 2 :name "Byron" :boss {:db/id 1}}'


def test_of_two_under_one_key_the_later_is_shown(world):
    assert world.pull("[{:friend [:name]} :friend]", 3) == "{:friend [{:db/id 4}]}"
    assert world.pull("[{:boss ...} :name [:name :as :boss]]", 3) == '{:name "Cara" :boss "Cara"}'
    assert world.pull("[* [:born :as :name]]", 2) == '{:db/id 2 :name "Byron" :boss {:db/id 1}}'


def test_wildcard_with_reverse(world):
    assert world.pull("[* :_friend]", 2) == '{:db/id 2 :name "Byron" :boss {:db/id 1} :_friend [{:db/id 1}]}'


# Nesting and reverse


def test_nesting(world):
    assert world.pull("[:name {:friend [:name {:friend [:name]}]}]", 1) == (
        '{:name "Ada" :friend [{:name "Byron"} {:name "Cara" :friend [{:name "Dora"}]}]}'
    )


def test_several_entries_in_one_map(world):
    assert world.pull("[{:friend [:name] :boss [:born]}]", 3) == '{:friend [{:name "Dora"}] :boss {:born 1815}}'


def test_nested_entities_without_anything_are_left_out(world):
    assert world.pull("[{:friend [:friend]}]", 1) == "{:friend [{:friend [{:db/id 4}]}]}"
    assert world.pull("[:name {:friend [:born]}]", 1) == '{:name "Ada"}'
    assert world.pull("[:name {:boss [:alias]}]", 4) == '{:name "Dora"}'


def test_reverse(world):
    assert world.pull("[:_boss]", 1) == "{:_boss [{:db/id 2} {:db/id 3}]}"
    assert world.pull("[{:_boss [:name {:_boss [:name]}]}]", 1) == (
        '{:_boss [{:name "Byron"} {:name "Cara" :_boss [{:name "Dora"}]}]}'
    )


def test_reverse_with_a_namespace(db):
    db.tx(
        "[{:db/ident :person/friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}]",
        "[{:db/id 1 :person/friend 2}]",
    )
    assert db.pull("[:person/_friend]", 2) == "{:person/_friend [{:db/id 1}]}"


def test_reverse_of_a_component_is_the_one_it_belongs_to(world):
    assert world.pull("[:_part]", 11) == "{:_part {:db/id 10}}"
    assert world.pull("[{:_part [:name]}]", 12) == '{:_part {:name "Door"}}'


# Components


def test_components_are_shown_in_full(world):
    door = '{:db/id 11 :name "Door" :part [{:db/id 12 :name "Lock" :friend [{:db/id 1}]}]}'
    wheel, engine = '{:db/id 13 :name "Wheel"}', '{:db/id 14 :name "Engine"}'
    assert world.pull("[:part]", 10) == f"{{:part [{door} {wheel}]}}"
    assert world.pull("[:core]", 10) == f"{{:core {engine}}}"
    assert world.pull("[*]", 10) == f'{{:db/id 10 :name "Car" :part [{door} {wheel}] :core {engine}}}'
    assert world.pull("[* [:name :as :n]]", 10) == f'{{:db/id 10 :n "Car" :part [{door} {wheel}] :core {engine}}}'


def test_a_pattern_overrides_components(world):
    assert world.pull("[{:part [:name]}]", 10) == '{:part [{:name "Door"} {:name "Wheel"}]}'
    assert world.pull("[:name {:part 1}]", 10) == '{:name "Car" :part [{:name "Door"} {:name "Wheel"}]}'


def test_components_in_a_circle_stop(world):
    world.tx("[[:db/add 12 :part 10]]")
    assert world.pull("[*]", 12) == (
        '{:db/id 12 :name "Lock" :friend [{:db/id 1}] :part [{:db/id 10 :name "Car" '
        ':core {:db/id 14 :name "Engine"} :part [{:db/id 11 :name "Door" :part [{:db/id 12}]} '
        '{:db/id 13 :name "Wheel"}]}]}'
    )


@pytest.mark.parametrize("pattern", ["[*]", "[:age *]", "[* :age]", "[:age :part *]", "[* [:age :as :age]]"])
def test_components_in_a_circle_stop_under_any_pattern(db, pattern):
    db.tx(f"[{COMPONENT}]", "[[:db/add 1 :part 2] [:db/add 2 :part 1] [:db/add 3 :part 3] [:db/add 1 :age 5]]")
    assert db.pull(pattern, 1) == "{:db/id 1 :age 5 :part [{:db/id 2 :part [{:db/id 1}]}]}"
    assert db.pull(pattern, 2) == "{:db/id 2 :part [{:db/id 1 :age 5 :part [{:db/id 2}]}]}"
    assert db.pull(pattern, 3) == "{:db/id 3 :part [{:db/id 3}]}"


def test_a_component_by_name_stops_where_its_path_began(db):
    db.tx(f"[{COMPONENT}]", "[[:db/add 1 :part 2] [:db/add 2 :part 1] [:db/add 3 :part 1] [:db/add 4 :part 4]]")
    part = "{:db/id 2 :part [{:db/id 1}]}"
    assert db.pull("[:part]", 1, 3, 4) == (
        f"[{{:part [{part}]}} {{:part [{{:db/id 1 :part [{part}]}}]}} {{:part [{{:db/id 4}}]}}]"
    )
    assert db.pull("[[:part :limit 1 :as :p :xform count]]", 1) == "{:p 1}"


# Options


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ("[[:name :as :x] [:born :as :x]]", "{:x 1815}"),
        ("[[:name :as :x] [:gone :as :x]]", '{:x "Ada"}'),
        ("[[:gone :as :x] [:name :as :x]]", '{:x "Ada"}'),
        ("[[:gone :as :x] [:name :as :x] [:gone :as :x]]", '{:x "Ada"}'),
        ("[[:name :as :x] [:gone :as :x :default 0]]", "{:x 0}"),
        ("[[:gone :as :x :default 0] [:name :as :x]]", '{:x "Ada"}'),
        ("[[:name :as :x] [:born :as :x :xform zero?]]", "{:x false}"),
        ("[[:name :as :x] [:_nobody :as :x] [:db/id :as :y]]", '{:x "Ada" :y 1}'),
        ("[[:db/id :as :x] [:gone :as :x]]", "{:x 1}"),
        ("[[:name :as :x] {[:gone :as :x] [:name]}]", '{:x "Ada"}'),
        ("[[:name :as :x] {[:boss :as :x] ...}]", '{:x "Ada"}'),
        ("[:name {[:boss :as :name] ...}]", '{:name "Ada"}'),
    ],
)
def test_of_several_under_one_key_the_last_that_is_there(world, pattern, shown):
    assert world.pull(pattern, 1) == shown


def test_as(world):
    assert world.pull('[[:name :as "n"] [:born :as 7]]', 1) == '{"n" "Ada" 7 1815}'
    assert world.pull("[(:name :as :n) [:name :as [1 2]] :name]", 1) == '{:n "Ada" [1 2] "Ada" :name "Ada"}'
    assert world.pull("[[:name :as nil]]", 1) == '{nil "Ada"}'


def test_limit(world):
    assert world.pull("[[:alias :limit 1]]", 1) == '{:alias ["AAL"]}'
    assert world.pull("[(:friend :limit 1)]", 1) == "{:friend [{:db/id 2}]}"
    assert world.pull("[[:_boss :limit 1]]", 1) == "{:_boss [{:db/id 2}]}"
    assert world.pull("[{[:friend :limit 1 :as :best] [:name]}]", 1) == '{:best [{:name "Byron"}]}'
    assert world.pull("[[:name :limit 1]]", 1) == '{:name "Ada"}'


def test_the_limit_is_a_thousand_unless_it_is_given(db):
    db.tx(
        "[{:db/ident :n :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]",
        f"[{{:db/id 1 :n [{' '.join(map(str, range(1500)))}]}}]",
    )
    for pattern, count in (
        ("[:n]", 1000),
        ("[*]", 1000),
        ("[[:n :limit 1200]]", 1200),
        ("[[:n :limit nil]]", 1500),
    ):
        shown = next(v for k, v in db.pull(pattern, 1).value.items() if k.name == "n")
        assert list(shown) == list(range(count)), pattern


def test_default(world):
    assert world.pull("[:name [:born :default 0]]", 1, 2, 99) == (
        '[{:name "Ada" :born 1815} {:name "Byron" :born 0} {:born 0}]'
    )
    assert world.pull("[[:x :default false :as :y]]", 1) == "{:y false}"
    assert world.pull("[{[:boss :default :none] [:name]}]", 1, 2) == '[{:boss :none} {:boss {:name "Ada"}}]'
    assert world.pull("[[:_boss :default []]]", 2) == "{:_boss []}"


def test_the_older_forms(world):
    assert world.pull("[(limit :alias 1)]", 1) == '{:alias ["AAL"]}'
    assert world.pull("[(limit :alias nil)]", 1) == '{:alias ["AAL" "Countess"]}'
    assert world.pull('[["limit" :alias 1] (default :x "none") ["default" :y 0]]', 1) == (
        '{:alias ["AAL"] :x "none" :y 0}'
    )
    assert world.pull("[{(limit :friend 1) [:name]}]", 1) == '{:friend [{:name "Byron"}]}'


def test_xform(world):
    assert world.pull("[[:name :xform upper-case] [:born :xform str]]", 1) == '{:name "ADA" :born "1815"}'
    assert world.pull("[[:alias :xform count] [:name :xform clojure.string/lower-case]]", 1) == (
        '{:alias 2 :name "ada"}'
    )
    assert world.pull("[{[:friend :xform count :as :friends] [:name]}]", 1) == "{:friends 2}"
    assert world.pull("[{:colour [[:db/ident :xform name]]}]", 1) == '{:colour {:db/ident "red"}}'
    assert world.pull("[[:db/id :xform inc]]", 1) == "{:db/id 2}"


def test_xform_sees_neither_what_is_missing_nor_a_default(world):
    assert world.pull("[:name [:born :xform str]]", 2) == '{:name "Byron"}'
    assert world.pull("[[:born :xform str :default 0]]", 2) == "{:born 0}"


def test_an_xform_that_gives_nil_leaves_the_attribute_out(world):
    assert world.pull("[:born [:name :xform not-empty :as :n]]", 1) == '{:born 1815 :n "Ada"}'
    assert world.pull("[{:colour [[:db/ident :xform namespace]]}]", 1) == '{:colour {:db/ident "colour"}}'
    world.tx('[{:db/id 20 :name "" :born 1}]')
    assert world.pull("[:born [:name :xform not-empty]]", 20) == "{:born 1}"


# Recursion


def test_recursion_by_depth(world):
    one, two = '{:name "Dora" :boss {:name "Cara"}}', '{:name "Dora" :boss {:name "Cara" :boss {:name "Ada"}}}'
    assert world.pull("[:name {:boss 1}]", 4) == one
    assert world.pull("[:name {:boss 2}]", 4) == two
    assert world.pull("[:name {:boss 9}]", 4) == two


@pytest.mark.parametrize("dots", ["...", '"..."', "'..."])
def test_recursion_without_a_bound(world, dots):
    assert world.pull(f"[:name {{:_boss {dots}}}]", 1) == (
        '{:name "Ada" :_boss [{:name "Byron"} {:name "Cara" :_boss [{:name "Dora"}]}]}'
    )


def test_recursion_with_options(world):
    assert world.pull("[:name {[:_boss :limit 1 :as :staff] ...}]", 1) == ('{:name "Ada" :staff [{:name "Byron"}]}')
    assert world.pull("[:name {[:_boss :xform count] ...}]", 1) == '{:name "Ada" :_boss 2}'
    assert world.pull("[:name {[:boss :default :top] ...}]", 2) == (
        '{:name "Byron" :boss {:name "Ada" :boss :top}}'
    )


def test_recursion_stops_where_it_has_been(world):
    world.tx("[[:db/add 4 :friend 1]]")
    assert world.pull("[:name {:friend ...}]", 1) == (
        '{:name "Ada" :friend [{:name "Byron"} {:name "Cara" :friend [{:name "Dora" :friend [{:db/id 1}]}]}]}'
    )
    assert world.pull("[:name {:friend ...}]", 3) == (
        '{:name "Cara" :friend [{:name "Dora" :friend [{:name "Ada" :friend [{:name "Byron"} {:db/id 3}]}]}]}'
    )
    world.tx("[[:db/add 2 :boss 2]]")
    assert world.pull("[:name {:boss ...}]", 2) == '{:name "Byron" :boss {:db/id 2}}'
    assert world.pull("[:name {:boss 3}]", 2) == '{:name "Byron" :boss {:db/id 2}}'


def test_two_ways_to_one_entity_are_no_circle(world):
    world.tx("[[:db/add 2 :friend 4]]")
    dora = '{:name "Dora"}'
    assert world.pull("[:name {:friend ...}]", 1) == (
        f'{{:name "Ada" :friend [{{:name "Byron" :friend [{dora}]}} {{:name "Cara" :friend [{dora}]}}]}}'
    )


def test_two_recursions_have_depths_of_their_own(db):
    db.tx(
        """[{:db/ident :a :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
            {:db/ident :b :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}]""",
        "[{:db/id 1 :a 2} {:db/id 2 :b 3} {:db/id 3 :a 4} {:db/id 4 :b 5} {:db/id 5 :a 6} {:db/id 6 :b 7}]",
    )
    assert db.pull("[:db/id {:a ...}]", 1) == "{:db/id 1 :a {:db/id 2}}"
    assert db.pull("[:db/id {:a 1 :b 1}]", 1) == "{:db/id 1 :a {:db/id 2 :b {:db/id 3}}}"
    assert db.pull("[:db/id {:a 2 :b 1}]", 1) == "{:db/id 1 :a {:db/id 2 :b {:db/id 3 :a {:db/id 4}}}}"
    assert db.pull("[:db/id {:a 2} {:b 2}]", 1) == (
        "{:db/id 1 :a {:db/id 2 :b {:db/id 3 :a {:db/id 4 :b {:db/id 5}}}}}"
    )


def test_recursion_within_a_nested_pattern(world):
    assert world.pull("[:born {:friend [:name {:boss ...}]}]", 1) == (
        '{:born 1815 :friend [{:name "Byron" :boss {:name "Ada"}} {:name "Cara" :boss {:name "Ada"}}]}'
    )


def test_recursion_with_the_wildcard(world):
    assert world.pull("[* {:boss ...}]", 4) == (
        '{:db/id 4 :name "Dora" :boss {:db/id 3 :name "Cara" :friend [{:db/id 4}] :boss '
        + repr(world.pull("[*]", 1))
        + "}}"
    )


# Other moments


def test_as_of_and_since(world):
    before = world.database.snapshot().t
    world.tx('[{:db/id 1 :name "Augusta" :friend [4]}]')
    assert world.pull("[:name :friend]", 1) == '{:name "Augusta" :friend [{:db/id 2} {:db/id 3} {:db/id 4}]}'
    assert world.at(t=before).pull("[:name :friend]", 1) == '{:name "Ada" :friend [{:db/id 2} {:db/id 3}]}'
    assert world.at(since=before).pull("[:name :born :friend]", 1) == '{:name "Augusta" :friend [{:db/id 4}]}'
    assert world.at(since=before).pull("[:name {:_friend [:name]}]", 4) == '{:_friend [{:name "Augusta"}]}'
    assert world.at(since=before).pull("[:name]", 2) == "nil"


def test_a_history_is_no_one_moment(world):
    world.at(history=True).pull_refuses("ARG_INVALID", "[:name]", says="history holds many")


# What is refused


@pytest.mark.parametrize(
    ("marked", "says"),
    [
        ("‸:name", "a pull pattern is a vector such as [:name], not :name"),
        ("‸*", "a pull pattern is a vector"),
        ("‸[]", "needs an attribute or *"),
        ("[:name ‸name]", "takes attributes such as :person/name"),
        ("[:name ‸7]", "not 7"),
        ("[:name ‸{}]", "{:person/friend [:person/name]}"),
        ("[{:friend ‸[]}]", "needs an attribute or *"),
        ("[{:friend ‸0}]", "a depth from 1 on, or ..., not 0"),
        ("[{:friend ‸:name}]", "not :name"),
        ("[{:friend ‸..}]", "not .."),
        ("[{‸:db/id [:name]}]", ":db/id refers to no other entity"),
        ("[{‸* [:name]}]", "not *"),
        ("[‸[:name]]", "has no options here"),
        ("[‸[]]", "begins with the attribute"),
        ("[[:name ‸:as]]", "has no value"),
        ("[[:name ‸:limits 3]]", "not :limits (did you mean :limit?)"),
        ("[[:name ‸7 3]]", "an option is"),
        ("[[:name :as :x ‸:as :y]]", ":as is there twice"),
        ("[[:alias :limit ‸0]]", "a limit is a whole number from 1 on, or nil for none, not 0"),
        ("[[:alias :limit ‸2.0]]", "not 2.0"),
        ("[(limit :alias ‸-1)]", "not -1"),
        ("[‸(limit :alias)]", "(limit :person/alias 10)"),
        ("[‸(default :alias)]", "(default :person/alias 10)"),
        ("[[‸* :limit 3]]", "options follow an attribute"),
        ("[[:name :xform ‸upper-cas]]", "there is no function upper-cas for :xform (did you mean upper-case?)"),
        ("[[:name :xform ‸my.app/shout]]", "there is no function my.app/shout"),
        ("[[:name :xform ‸subs]]", "with one argument, which subs cannot be"),
        ("[[:name :xform ‸:name]]", "the name of a function"),
        ("[[:born :xform ‸upper-case]]", "upper-case takes strings"),
        ("[‸:_]", "names no attribute"),
        ("[‸:db/_id]", ":db/id is no attribute"),
        ("[{‸:name [:born]}]", ":name holds values of the type string, not refs, so :name takes no pattern"),
        ("[{‸:name ...}]", "takes no pattern"),
        ("[:born\n ‸:_name]", "nothing refers through it"),
        ("[{:friend [:name {:friend [‸:_name]}]}]", "nothing refers through it"),
    ],
)
def test_refusals(world, marked, says):
    world.pull_refuses("QUERY_INVALID", marked, says=says)


def test_what_is_no_edn(world):
    world.pull_refuses("EDN_SYNTAX", "[:name")
    world.pull_refuses("EDN_SYNTAX", "[:name] ‸[:born]")


def test_what_is_no_entity(world):
    world.pull_refuses("ARG_INVALID", "[:name]", '"Ada"', says="is no entity")
    world.pull_refuses("ARG_INVALID", "[:name]", "[:born 1815]", says="not unique")


def test_numbers_that_are_no_entity_ids(world):
    assert world.pull("[:name]", -5, 2**62) == "[nil nil]"


def test_strict_schema(strict):
    strict.tx("[{:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}]")
    strict.pull_refuses("UNKNOWN_ATTRIBUTE", "[‸:nmae]", says="did you mean :name?")
    strict.pull_refuses("UNKNOWN_ATTRIBUTE", "[{‸:frend [:name]}]", says="no attribute :frend")


# Limits


def chain(world: World, length: int) -> None:
    world.tx("[" + " ".join(f"{{:db/id {n} :boss {n + 1}}}" for n in range(1000, 1000 + length - 1)) + "]")


def test_how_deep_a_pull_may_go(world):
    chain(world, 150)
    assert repr(world.pull("[{:boss 98} :db/id]", 1000)).count(":boss") == 98
    says = "more than 100 levels deep"
    world.pull_refuses("LIMIT_EXCEEDED", "[:db/id {:boss ...}]", 1000, says=says)
    world.pull_refuses("LIMIT_EXCEEDED", "[:db/id {:boss 120}]", 1000, says=says)
    # The last hundred of the chain, reached from its end and from its middle.
    assert repr(world.pull("[:db/id {:boss ...}]", 1051, 1149)).count(":boss") == 98
    world.pull_refuses("LIMIT_EXCEEDED", "[:db/id {:boss ...}]", 1100, 1000, says=says)


def test_how_much_a_pull_may_come_to(world):
    # Each level refers twice to both entities of the next: few entities, and 2^40 paths.
    world.tx(
        "["
        + " ".join(f"[:db/add {n} :friend {m}]" for n in range(100, 180) for m in (n // 2 * 2 + 2, n // 2 * 2 + 3))
        + "]"
    )
    assert repr(world.pull("[:db/id {:friend 4}]", 100)).count(":db/id") == 31
    world.pull_refuses("LIMIT_EXCEEDED", "[:db/id {:friend ...}]", 100, says="more than 4,000,000 values")
    nested = "[:db/id]"
    for _ in range(25):
        nested = f"[:db/id {{:friend {nested}}}]"
    world.pull_refuses("LIMIT_EXCEEDED", nested, 100, says="more than 4,000,000 values")


def test_a_pull_over_circles_can_be_stopped(world):
    every = range(200, 220)
    world.tx("[" + " ".join(f"[:db/add {n} :friend {m}]" for n in every for m in every) + "]")
    snapshot = world.database.snapshot()
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(AdalogError) as caught:
        world.pool.pull(PullRequest("[:db/id {:friend ...}]", [200], snapshot), cancel)
    assert caught.value.code == "CANCELLED"
    with pytest.raises(AdalogError) as caught:
        world.pool.pull(PullRequest("[:db/id {:friend ...}]", [200], snapshot, timeout_ms=50))
    assert caught.value.code == "TIMEOUT"
