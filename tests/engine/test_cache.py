"""When an answer given before is given again, and when it must not be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.lru_cache import ENTRY_BYTES, LruCache
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from tests.support import World, refused

SCHEMA = """[{:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :age :db/valueType :db.type/long}
             {:db/ident :town :db/valueType :db.type/keyword}
             {:db/ident :friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :part :db/valueType :db.type/ref :db/isComponent true}
             {:db/ident :log :db/valueType :db.type/long :db/noHistory true}
             {:db/ident :other :db/valueType :db.type/long}]"""
PEOPLE = """[{:db/id 1 :name "Ada" :age 36 :town :london :friend [2 3]}
             {:db/id 2 :name "Bob" :age 20 :town :paris :part {:db/id 9 :age 1}}
             {:db/id 3 :name "Cid" :age 50 :town :london :log 7}]"""
ELSEWHERE = "[[:db/add 70 :other {}]]"


@pytest.fixture
def people() -> Iterator[World]:
    with Database.open(":memory:") as database:
        pool = Pool(database, cache=CacheSettings())
        try:
            world = World(database, pool)
            world.tx(SCHEMA, PEOPLE)
            yield world
        finally:
            pool.close()


def unrelated(world: World) -> None:
    """Somebody writes what no query here reads."""
    world.tx(ELSEWHERE.format(world.database.snapshot().t))


READING = {
    "a pattern": ("[:find ?n ?a :where [?e :name ?n] [?e :age ?a]]", "[[:db/add 1 :age 37]]"),
    "a constant": ("[:find ?n :where [?e :name ?n] [?e :age 36]]", "[[:db/add 1 :age 37]]"),
    "a retraction": ("[:find ?n :where [?e :name ?n]]", "[[:db/retract 1 :name]]"),
    "not": ("[:find ?n :where [?e :name ?n] (not [?e :age 36])]", "[[:db/add 1 :age 37]]"),
    "not-join": ("[:find ?n :where [?e :name ?n] (not-join [?e] [?e :age 36])]", "[[:db/add 1 :age 37]]"),
    "or": ("[:find ?e :where (or [?e :age 37] [?e :town :rome])]", "[[:db/add 1 :age 37]]"),
    "or-join": ("[:find ?e :where [?e :name _] (or-join [?e] [?e :age 37])]", "[[:db/add 1 :age 37]]"),
    "a rule": ("[:find ?e :where (r ?e) :rules [[(r ?x) [?x :age ?n] [(> ?n 40)]]]]", "[[:db/add 1 :age 77]]"),
    "a lookup ref that is made": (
        """[:find ?a :where [(tuple :name "Dan") ?ref]
            [(q [:find ?a :in $ ?e :where [?e :age ?a]] $ ?ref) [[?a]]]]""",
        "[[:db/add 2 :name \"Dan\"]]",
    ),
    "get-else": ("[:find ?a :where [?e :name _] [(get-else $ ?e :age 0) ?a]]", "[[:db/add 1 :age 37]]"),
    "get-some": ("[:find ?a :where [?e :name _] [(get-some $ ?e :log :age) ?a]]", "[[:db/add 1 :age 37]]"),
    "missing?": ("[:find ?e :where [?e :name _] [(missing? $ ?e :log)]]", "[[:db/add 1 :log 3]]"),
    "a lookup ref": ('[:find ?a . :where [[:name "Ada"] :age ?a]]', '[[:db/add 1 :name "A"]]'),
    "a lookup ref as a value": ('[:find ?e :where [?e :friend [:name "Bob"]]]', '[[:db/add 2 :name "B"]]'),
    "an ident": ("[:find ?i . :where [:age :db/ident ?i]]", "[[:db/add 80 :db/ident :eighty]]"),
    "a query within": (
        "[:find ?r . :where [(q [:find (max ?a) . :where [_ :age ?a]] $) ?r]]",
        "[[:db/add 1 :age 77]]",
    ),
    "a pull within": (
        "[:find ?r . :where [(q [:find (pull ?e [:age]) . :where [?e :name \"Ada\"]] $) ?r]]",
        "[[:db/add 1 :age 77]]",
    ),
    "a pull": ("[:find (pull ?e [:town {:friend [:age]}]) :where [?e :name]]", "[[:db/add 2 :age 77]]"),
    "a pull, backwards": ("[:find (pull ?e [{:_friend [:name]}]) :where [?e :age]]", "[[:db/add 2 :friend 1]]"),
}  # fmt: skip


@pytest.mark.parametrize("name", READING)
def test_what_is_read_decides(people: World, name: str) -> None:
    """The answer is kept while others write, and no longer once what it reads is written."""
    query, writing = READING[name]
    before = people.q(query)
    assert before.result.cache == "MISS"
    unrelated(people)
    again = people.q(query)
    assert again.result.cache == "HIT"
    assert again.result.t == people.database.snapshot().t
    assert repr(again) == repr(before)
    past = people.at()
    past.snapshot = people.database.snapshot()
    people.tx(writing)
    after = people.q(query)
    assert after.result.cache == "MISS"
    assert repr(after) == repr(World(people.database, Pool(people.database)).q(query))
    assert past.q(query).result.cache == "HIT"
    assert repr(past.q(query)) == repr(before)


EVERYTHING = [
    "[:find ?a :where [1 ?a _]]",
    "[:find ?e :where [?e]]",
    "[:find ?n ?tx :where [?e :name ?n ?tx]]",
    "[:find ?n :where [?e :name ?n _ true]]",
    "[:find ?n ?a :in $ ?a :where [?e ?a ?n]]",
    "[:find ?t :where [(tx-ids $ 1 nil) [?t ...]]]",
    "[:find ?v :where [(tx-data $ 2) [[_ _ ?v]]]]",
    "[:find ?v :in $ ?a :where [?e :name] [(get-else $ ?e ?a 0) ?v]]",
    "[:find (pull ?e [*]) :where [?e :name]]",
    "[:find (pull ?e [:part]) :where [?e :name]]",
    '[:find ?r . :where [(q [:find (pull ?e [*]) . :where [?e :name "Ada"]] $) ?r]]',
]


@pytest.mark.parametrize("query", EVERYTHING)
def test_what_cannot_be_told_reads_everything(people: World, query: str) -> None:
    args = [":name"] if "$ ?a" in query else []
    assert people.q(query, *args).result.cache == "MISS"
    assert people.q(query, *args).result.cache == "HIT"
    unrelated(people)
    assert people.q(query, *args).result.cache == "MISS"


def test_history_and_since_read_everything(people: World) -> None:
    query = "[:find ?n :where [?e :name ?n]]"
    for basis in ({"history": True}, {"since": 1}):
        assert people.at(**basis).q(query).result.cache == "MISS"
        assert people.at(**basis).q(query).result.cache == "HIT"
        unrelated(people)
        assert people.at(**basis).q(query).result.cache == "MISS"


def test_what_keeps_no_history_in_the_past(people: World) -> None:
    query, then = "[:find ?v :where [_ :log ?v]]", people.database.snapshot().t
    unrelated(people)
    assert people.at(t=then).q(query) == "#{[7]}"
    people.tx("[[:db/add 3 :log 8]]")
    fresh = Pool(people.database)
    assert repr(people.at(t=then).q(query)) == repr(
        World(people.database, fresh, people.database.at(t=then)).q(query)
    )
    assert people.q(query) == "#{[8]}"


def test_a_change_of_the_schema_touches_everything(people: World) -> None:
    query = "[:find ?n :where [?e :name ?n]]"
    people.q(query)
    people.tx("[{:db/ident :new :db/valueType :db.type/long}]")
    assert people.q(query).result.cache == "MISS"


def test_an_unknown_attribute_becomes_known(people: World) -> None:
    query = "[:find ?v :where [?e :unknown ?v]]"
    assert people.q(query) == "#{}"
    assert people.q(query).result.cache == "HIT"
    people.tx("[[:db/add 1 :unknown 5]]")
    assert people.q(query) == "#{[5]}"


SHARED = "[:find ?n ?a :where [?e :name ?n] [?e :age ?a]]"


def test_renamed_and_reordered_under_its_own_names(people: World) -> None:
    people.q(SHARED)
    other = people.q("[:find ?who ?years :where [?p :age ?years] [?p :name ?who]]")
    assert other.result.cache == "HIT"
    assert [column.name for column in other.result.columns] == ["?who", "?years"]
    keyed = people.q("[:find ?who ?years :keys who years :where [?p :age ?years] [?p :name ?who]]")
    assert keyed.result.cache == "MISS"


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "1.0"), ("1", "1N"), ('"a"', ":a"), ("[1 2]", "(1 2)"), ("#{1 2}", "[1 2]"), ("nil", "false"),
     ("1.0M", "1.00M"), ("\\a", '"a"'), ("[1]", "[1 nil]")],
)  # fmt: skip
def test_arguments_by_their_type(people: World, one: str, other: str) -> None:
    query = "[:find ?x . :in $ ?x]"
    first, second = people.q(query, one), people.q(query, other)
    assert [first.result.cache, second.result.cache] == ["MISS", "MISS"]
    assert repr(first) != repr(second)
    assert people.q(query, one).result.cache == "HIT"
    assert repr(people.q(query, one)) == repr(first)


def test_arguments_that_name_entities(people: World) -> None:
    query = "[:find ?a . :in $ ?e :where [?e :age ?a]]"
    assert people.q(query, '[:name "Ada"]') == "36"
    unrelated(people)
    assert people.q(query, '[:name "Ada"]').result.cache == "HIT"
    people.tx('[[:db/add 1 :name "A"] [:db/add 2 :name "Ada"]]')
    assert people.q(query, '[:name "Ada"]') == "20"


def test_sources_each_with_its_own_moment(people: World) -> None:
    query = "[:find ?n :in $ $old :where [?e :age 37] [$old ?e :age 36] [?e :name ?n]]"
    old = people.at(t=people.database.snapshot().t)
    old.snapshot = people.database.snapshot()
    assert people.q(query, old) == "#{}"
    people.tx("[[:db/add 1 :age 37]]")
    assert people.q(query, old) == '#{["Ada"]}'
    assert people.q(query, old).result.cache == "HIT"
    assert people.q(query, people) == "#{}"


def test_lists_as_sources(people: World) -> None:
    query = "[:find ?y :in $ $l :where [$l ?x ?y] [?e :age ?x]]"
    assert people.q(query, "[[36 1] [20 2]]") == "#{[1] [2]}"
    assert people.q(query, "[[36 1] [21 2]]") == "#{[1]}"
    assert people.q(query, "[[36 1] [20 2]]").result.cache == "HIT"


def test_rules_given_as_an_argument(people: World) -> None:
    query = "[:find ?e :in $ % :where (r ?e)]"
    assert people.q(query, "[[(r ?x) [?x :age 36]]]") == "#{[1]}"
    assert people.q(query, "[[(r ?x) [?x :age 20]]]") == "#{[2]}"
    assert people.q(query, "[[(r ?e) [?e :age 36]]]").result.cache == "HIT"


BYPASSING = [
    "[:find (rand ?a) . :where [_ :age ?a]]",
    "[:find (sample 2 ?a) . :where [_ :age ?a]]",
    "[:find ?r . :where [(q [:find (rand ?a) . :where [_ :age ?a]] $) ?r]]",
]


def test_rules_that_call_each_other_deeper_than_a_stack_goes(people: World) -> None:
    chain = " ".join(f"[(r{i} ?e ?f) (r{i + 1} ?e ?f)]" for i in range(1500))
    query = f"[:find ?f :where (r0 1 ?f) :rules [{chain} [(r1500 ?e ?f) [?e :friend ?f]]]]"
    assert [people.run(query).cache for _ in range(2)] == ["MISS", "HIT"]
    unrelated(people)
    assert people.run(query).cache == "HIT"
    people.tx("[[:db/add 1 :friend 9]]")
    assert people.q(query) == "#{[2] [3] [9]}"


@pytest.mark.parametrize("query", BYPASSING)
def test_chance_is_never_kept(people: World, query: str) -> None:
    assert [people.q(query).result.cache for _ in range(2)] == ["BYPASS", "BYPASS"]
    assert len(people.pool.cache.memory) == 0


def test_what_is_only_tried_is_never_kept(people: World) -> None:
    query = "[:find ?a . :where [1 :age ?a]]"
    assert people.q(query) == "36"
    tried, _ = people.database.speculate(people.database.snapshot(), "[[:db/add 1 :age 99]]")
    world = World(people.database, people.pool, tried)
    assert world.q(query) == "99"
    assert world.q(query).result.cache == "BYPASS"
    people.tx("[[:db/add 1 :age 40]]")
    assert people.q(query) == "40"


def test_a_request_may_ask_to_be_computed(people: World) -> None:
    people.pool.run(QueryRequest(SHARED, cached=False))
    assert len(people.pool.cache.memory) == 0


def test_switches_of_the_evaluation_are_not_answered_from_what_was_kept(people: World) -> None:
    people.q(SHARED)
    assert people.q(SHARED, options=Options(reorder=False)).result.cache == "BYPASS"


def test_explain_analyze_runs(people: World) -> None:
    people.q(SHARED)
    shown = people.pool.explain(QueryRequest(SHARED), analyze=True)
    assert shown.plan["levels"][0]["actual"]["rows"] > 0


def test_refusals_are_not_kept_and_point_into_their_own_text(people: World) -> None:
    for text in (
        '[:find ?x :where [?e :age ?n] [(+ ?n "a") ?x]]',
        '[:find ?x\n :where [?e :age ?n] [(+ ?n "a") ?x]]',
    ):
        with pytest.raises(AdalogError) as caught:
            people.q(text)
        assert caught.value.position is not None
        assert caught.value.position.line == text.count("\n") + 1
    assert len(people.pool.cache.memory) == 0
    refused("UNBOUND_VARIABLE", "[:find ?x :where [?e :age ?n] [(inc ?y) ?x]]", "", people.q)


def test_a_limit_on_rows_counts_for_what_was_kept(people: World) -> None:
    people.q(SHARED, max_rows=10)
    with pytest.raises(AdalogError, match="more than 2 rows"):
        people.q(SHARED, max_rows=2)


def test_pages_are_cut_from_what_was_kept(people: World) -> None:
    asked: dict[str, Any] = {"ordered": True}
    first = people.run("[:find ?e (pull ?e [:name]) :where [?e :age]]", shown=(0, 2), **asked)
    second = people.run("[:find ?e (pull ?e [:name]) :where [?e :age]]", shown=(2, 4), **asked)
    assert [row[0] for row in first.rows(0, 2) + second.rows(2, 4)] == [1, 2, 3, 9]
    assert first.rows(0, 2)[0][1] is not None
    # The join was not run again: only what the second page shows was pulled.
    assert people.pool.cache.tally.all()["process", "hit"] == 1
    again = people.run("[:find ?e (pull ?e [:name]) :where [?e :age]]", shown=(2, 4), **asked)
    assert again.cache == "HIT"


def test_a_pull_is_kept_for_its_entities_whoever_found_them(people: World) -> None:
    people.q("[:find (pull ?e [:name]) :where [?e :age 36]]")
    found = people.q('[:find (pull ?x [:name]) :where [?x :name "Ada"]]')
    assert found.result.cache == "MISS"
    assert people.pool.cache.tally.all()["process", "hit"] == 1


def test_without_a_cache_there_is_none(db: World) -> None:
    assert db.q("[:find ?x . :in $ ?x]", "1").result.cache == "BYPASS"


# What is kept in this process


def test_memory_is_bounded_by_bytes() -> None:
    memory: LruCache[bytes, str] = LruCache(100 + 2 * ENTRY_BYTES, 60 + ENTRY_BYTES)
    assert memory.put(b"a", "a", 40)
    assert memory.put(b"b", "b", 40)
    assert memory.get(b"a") == "a"
    assert memory.put(b"c", "c", 40)
    assert [memory.get(key) for key in (b"a", b"b", b"c")] == ["a", None, "c"]
    assert not memory.put(b"d", "d", 61)
    assert memory.put(b"a", "again", 60)
    assert (memory.get(b"a"), memory.get(b"c"), memory.nbytes, len(memory)) == (
        "again",
        "c",
        100 + 2 * ENTRY_BYTES,
        2,
    )


def test_answers_above_the_bound_are_not_kept() -> None:
    with Database.open(":memory:") as database:
        pool = Pool(database, cache=CacheSettings(memory_bytes=1 << 20, entry_bytes=3000))
        world = World(database, pool)
        query = "[:find ?x :in $ [?x ...]]"
        for count, outcome in ((10, "HIT"), (1000, "MISS")):
            numbers = str(list(range(count))).replace(",", "")
            world.q(query, numbers)
            assert world.q(query, numbers).result.cache == outcome
        assert pool.cache is not None
        assert pool.cache.tally.all()["process", "too large"] == 2
        pool.close()


def test_the_cache_stays_within_its_bytes_under_many_queries() -> None:
    with Database.open(":memory:") as database:
        pool = Pool(database, cache=CacheSettings(memory_bytes=20_000, entry_bytes=5_000))
        world = World(database, pool)
        assert pool.cache is not None
        for number in range(200):
            world.q('[:find ?y :in $ [?x ...] ?n :where [(str "long enough " ?n ?x) ?y]]', "[1 2 3 4]", str(number))
            assert 0 < pool.cache.memory.nbytes <= 20_000
        pool.close()
