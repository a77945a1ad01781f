"""What names mean moves from one entity to another, and attributes are renamed and renamed back: while somebody
follows, while somebody is away, and within one group of transactions."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import pytest

from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change
from adalog.executor.follow.view_choice import view_of
from adalog.executor.live.hub.views import LiveQuestion
from adalog.executor.live.subscribers.event import EventKind
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.schema.arguments.values import read_arguments
from adalog.store.database import Database
from tests.live.following import Reader, hub_over, together

BEGUN: Final = """[{:db/ident :u :db/valueType :db.type/string :db/unique :db.unique/identity}
                   {:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
                   {:db/ident :n :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
                   [:db/add 1 :u "a"] [:db/add 1 :n 1] [:db/add 2 :n 2] [:db/add 1 :to 2] [:db/add 2 :to 1]
                   [:db/add 3 :u "c"] [:db/add 1 :db/ident :who]]"""
# "a" and :who go from entity 1 to entity 2; then something happens to 2, and to 1.
MOVED: Final = (
    '[[:db/retract 1 :u "a"] [:db/add 2 :db/ident :who] [:db/retract 1 :db/ident :who]]',
    '[[:db/add 2 :u "a"]]',
    "[[:db/add 2 :n 9] [:db/add 4 :to 2] [:db/add 4 :n 3]]",
    "[[:db/add 1 :n 8] [:db/add 5 :to 1] [:db/add 2 :to 5]]",
    '[[:db/add 3 :u "d"]]',
)
QUERIES: Final[list[tuple[str, list[str]]]] = [
    ('[:find ?n :where [[:u "a"] :n ?n]]', []),
    ('[:find ?e :where [?e :to [:u "a"]]]', []),
    ('[:find ?e :where [?e :n] (not [?e :to [:u "a"]])]', []),
    ('[:find (count ?n) . :where [[:u "a"] :n ?n]]', []),
    ("[:find ?n :where [:who :n ?n]]", []),
    ("[:find ?e :where [?e :to :who]]", []),
    # What the lookup ref goes by is read of one entity elsewhere.
    ('[:find ?n ?u :where [[:u "a"] :n ?n] [3 :u ?u]]', []),
    ("[:find ?n ?u :in $ ?e :where [?e :n ?n] [3 :u ?u]]", ['[:u "a"]']),
    ('[:find ?b :where (p [:u "a"] ?b) :rules [[(p ?a ?b) [?a :to ?b]] [(p ?a ?c) (p ?a ?b) [?b :to ?c]]]]', []),
    ("[:find ?e :in $ ?a ?v :where [?e ?a ?v]]", [":to", ":who"]),
    ("[:find ?e :in $ ?a ?v :where [?e ?a ?v]]", [":to", '[:u "a"]']),
    ("[:find ?e :in $ [?a ?v] :where [?e ?a ?v]]", ["[:to :who]"]),
    ("[:find ?e :in $ ?a [?v ...] :where [?e ?a ?v]]", [":to", '[[:u "a"] :who]']),
    ("[:find ?e :in $ [[?a ?v]] :where [?e ?a ?v]]", ['[[:to [:u "a"]] [:n 7]]']),
    ("[:find ?e (count ?v) :in $ ?a ?w :where [?e ?a ?w] [?e :to ?v]]", [":to", ":who"]),
    ("[:find ?e ?n :in $ [?e ...] :where [?e :n ?n]]", ['#{[:u "a"] :who 4}']),
    ("[:find ?e ?n :in $ [[?e ?x]] :where [?e :n ?n]]", ['{[:u "a"] 1, :who 2}']),
    ("[:find ?e :in $ [?w ...] :where [?e :to ?w]]", ["(:who)"]),
    ('[:find ?m :where [(q [:find ?x . :in $ ?e :where [?e :n ?x]] $ [:u "a"]) ?m]]', []),
    ('[:find ?m :where [(tuple :u "a") ?r] [(q [:find ?x . :in $ ?e :where [?e :n ?x]] $ ?r) ?m]]', []),
    ("[:find (pull ?e [:n {:to [:n]}]) . :in $ ?e]", ['[:u "a"]']),
    (
        "[:find (pull ?e [(q :k [:find (count ?y) . :in $ ?x ?w :where [?y :to ?w]])]) :in $ ?w :where [?e :n]]",
        [":who"],
    ),
    ("[:find (pull ?e [(q :k [:find ?n . :in $ ?x :where [?x :n] [:who :n ?n]])]) :where [?e :n]]", []),
]


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("asks", ["edn", "json"])
def test_answers_follow_a_name_to_another_entity(size: int, asks: str) -> None:
    with Database.open(":memory:") as database:
        database.transact(BEGUN)
        with hub_over(database) as hub:
            readers = [
                Reader(database, hub.pool, query, arguments(database, args, asks)) for query, args in QUERIES
            ]
            for reader in readers:
                reader.until(1)
            for first in range(0, len(MOVED), size):
                with together(database):
                    told = [database.submit(text) for text in MOVED[first : first + size]]
                for each in told:
                    each.result()
                for reader in readers:
                    reader.until(database.snapshot().t)
            assert [reader.query for reader in readers if "DELTA" not in reader.kinds()] == []


@pytest.mark.parametrize("replayed", [0, 100])
@pytest.mark.parametrize("passed", [1, 2, 3, 5])
def test_who_was_away_hears_that_a_name_went_to_another_entity(replayed: int, passed: int) -> None:
    with Database.open(":memory:") as database:
        database.transact(BEGUN)
        with hub_over(database, replayed=replayed) as hub:
            readers = [
                Reader(database, hub.pool, query, arguments(database, args, "edn")) for query, args in QUERIES
            ]
            for reader in readers:
                reader.until(1)
                reader.close()
            for text in MOVED[:passed]:
                database.transact(text)
            for reader in readers:
                again(database, hub.pool, reader).until(database.snapshot().t)


def test_each_transaction_since_long_ago_is_told_whoever_had_the_name() -> None:
    with Database.open(":memory:") as database:
        for text in (BEGUN, "[[:db/add 1 :n 5]]", "[[:db/add 1 :n 6]]", *MOVED[:3]):
            database.transact(text)
        with hub_over(database) as hub:
            for query in ("[:find ?n :where [:who :n ?n]]", '[:find ?n :where [[:u "a"] :n ?n]]'):
                reader = Reader(database, hub.pool, query, from_t=1)
                reader.until(6)
                told = [change.basis_t for change in reader.seen if change.kind is EventKind.DELTA]
                assert told[:2] == [2, 3], query


RENAMED: Final = (
    "[[:db/add :n :db/ident :was/n]]",
    "[[:db/add 7 :was/n 7] [:db/add 2 :was/n 7]]",
    "[[:db/add :was/n :db/ident :n]]",
    "[[:db/add 7 :n 8]]",
)
OF_N: Final = (
    "[:find ?e ?n :where [?e :n ?n]]",
    "[:find ?e :where [?e :to] (not [?e :n 7])]",
    "[:find (count ?n) . :where [?e :n ?n]]",
    "[:find ?e ?n :where (p ?e ?n) :rules [[(p ?e ?n) [?e :n ?n]] [(p ?e ?n) [?e :to ?f] (p ?f ?n)]]]",
    "[:find (pull ?e [:n]) :where [?e :to]]",
)


@pytest.mark.parametrize("grouped", [False, True])
def test_an_attribute_that_is_renamed_and_renamed_back(grouped: bool) -> None:
    with Database.open(":memory:") as database:
        database.transact(BEGUN)
        with hub_over(database) as hub:
            readers = [Reader(database, hub.pool, query) for query in OF_N]
            for reader in readers:
                reader.until(1)
            if grouped:
                with together(database):
                    for text in RENAMED:
                        database.submit(text)
            else:
                for text in RENAMED:
                    database.transact(text)
            for reader in readers:
                reader.until(database.snapshot().t)
            assert [reader.query for reader in readers if "DELTA" not in reader.kinds()] == []


@pytest.mark.parametrize("replayed", [0, 100])
def test_who_was_away_while_an_attribute_was_renamed_and_renamed_back(replayed: int) -> None:
    with Database.open(":memory:") as database:
        database.transact(BEGUN)
        with hub_over(database, replayed=replayed) as hub:
            readers = [Reader(database, hub.pool, query) for query in OF_N]
            for reader in readers:
                reader.until(1)
                reader.close()
            for text in RENAMED[:3]:
                database.transact(text)
            for reader in readers:
                again(database, hub.pool, reader).until(database.snapshot().t)


LATER: Final = (
    """[{:db/ident :when :db/valueType :db.type/instant}
        {:db/ident :link :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]""",
    '[[:db/add 1 :when #inst "2020-01-01"] [:db/add 4 :link 1] [:db/add 6 :link 2]]',
)
OF_LATER: Final[list[tuple[str, list[Any]]]] = [
    ("[:find ?e :in $ $list :where [$list ?w] [?e :when ?w]]", [[["2020-01-01T00:00:00Z"]]]),
    ("[:find ?e :in $ ?w :where [?e :when ?w]]", ["2020-01-01T00:00:00Z"]),
    ("[:find ?e :in $ ?w :where [?e :link ?w]]", [":who"]),
    ("[:find ?e ?x :in $ [[?w ?x]] :where [?e :link ?w]]", [[[[":u", "a"], 1]]]),
]


def test_who_falls_behind_after_attributes_were_declared() -> None:
    with Database.open(":memory:") as database:
        database.transact(BEGUN)
        with hub_over(database, mailbox_events=1) as hub:
            readers = [
                Reader(database, hub.pool, query, read_arguments(database, args, None)) for query, args in OF_LATER
            ]
            for text in LATER:
                for reader in readers:
                    reader.until(database.snapshot().t)
                database.transact(text)
            for reader in readers:
                reader.until(database.snapshot().t)
            for e in range(10, 15):
                database.transact(f'[[:db/add {e} :when #inst "2020-01-01"] [:db/add {e} :link 1]]')
            for reader in readers:
                reader.until(database.snapshot().t)
            assert hub.figures.overflows


@pytest.mark.parametrize("query", ["[:find ?e :where (p ?e) :rules [[(p ?e) [?e :n _]]]]", *OF_N])
@pytest.mark.parametrize("many", [False, True])
def test_the_schema_changes_before_a_query_that_was_made_ready_is_followed(query: str, many: bool) -> None:
    now, then = ("many", "one") if many else ("one", "many")
    with Database.open(":memory:") as database:
        database.transact(
            f"[{{:db/ident :n :db/valueType :db.type/long :db/cardinality :db.cardinality/{then}}}"
            " {:db/ident :to :db/valueType :db.type/ref} [:db/add 1 :n 1] [:db/add 2 :n 1] [:db/add 1 :to 2]]"
        )
        with hub_over(database) as hub:
            ready = hub.asked

            def asked(request: QueryRequest, cancel: Cancel) -> LiveQuestion:
                made = ready(request, cancel)
                database.transact(f"[[:db/add :n :db/cardinality :db.cardinality/{now}]]")
                database.transact("[[:db/add 2 :n 5]]")
                return made

            with patch.object(hub, "asked", asked):
                reader = Reader(database, hub.pool, query)
            reader.until(3)
            database.transact("[[:db/add 1 :n 7] [:db/add 2 :n 6] [:db/add 3 :n 6] [:db/add 3 :to 2]]")
            reader.until(4)
            database.transact("[[:db/retract 2 :n] [:db/retractEntity 1]]")
            reader.until(5)
            assert "DELTA" in reader.kinds()


def test_what_keeps_no_history_is_not_taken_for_unchanged_when_it_is_folded(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact("[{:db/ident :seen :db/valueType :db.type/long :db/noHistory true}]")
        database.transact("[[:db/add 1 :seen 1] [:db/add 2 :seen 2]]")
        with hub_over(database) as hub:
            reader = Reader(database, hub.pool, "[:find ?e ?v :where [?e :seen ?v]]")
            reader.until(2)
            reader.close()
            database.transact("[[:db/retract 1 :seen 1]]")
            database.compact()
            resumed = again(database, hub.pool, reader)
            resumed.until(3)
            assert resumed.kinds() == ["RESET", "SNAPSHOT"]


@pytest.mark.parametrize(
    "query",
    [
        "[:find (rand ?n) . :where [_ :n ?n]]",
        "[:find ?e (sample 1 ?n) :where [?e :n ?n]]",
        "[:find ?r :where [(q [:find (rand ?n) . :where [_ :n ?n]] $) ?r]]",
    ],
)
def test_what_is_chosen_anew_each_time_is_not_followed(query: str) -> None:
    with Database.open(":memory:") as database:
        database.transact(BEGUN)
        with hub_over(database) as hub, pytest.raises(AdalogError, match="choose anew") as refused:
            database.live(query)
        assert refused.value.code is Code.QUERY_INVALID
        assert not hub.figures.subscriptions


def test_rows_are_counted_once_when_an_argument_names_another_entity() -> None:
    with Database.open(":memory:") as database:
        database.transact(BEGUN)
        pool = Pool(database)
        query = "[:find ?n :in $ ?e :where [?e :n ?n]]"
        question = pool.question(QueryRequest(query, (read('[:u "a"]'),), max_rows=2))
        view, at = view_of(question, pool.engine), database.snapshot()
        view.add(0, UndatedQuestion.of(question), at, Cancel())
        for text in (
            '[[:db/retract 1 :u "a"] [:db/add 2 :n 4]]',
            '[[:db/add 2 :u "a"] [:db/retract 2 :n 4] [:db/add 2 :n 3]]',
            "[[:db/retract 2 :n 3] [:db/add 2 :n 5]]",
        ):
            database.transact(text)
            new = database.snapshot()
            assert isinstance(view.step(Moments(at, new), Cancel()).get(0), Change)
            at = new
        pool.close()


def arguments(database: Database, texts: list[str], asks: str) -> tuple[Any, ...]:
    """Arguments as EDN, or within JSON."""
    if asks == "edn":
        return read_arguments(database, None, texts)
    return read_arguments(database, [as_json(read(text)) for text in texts], None)


def as_json(value: Any) -> Any:
    if isinstance(value, Keyword):
        return str(value)
    if isinstance(value, int | str):
        return value
    if isinstance(value, tuple):
        return list(map(as_json, value))
    if hasattr(value, "items"):
        return [list(map(as_json, pair)) for pair in value.items()]
    if hasattr(value, "__iter__"):
        return {"#set": list(map(as_json, value))}
    raise AssertionError(value)


def again(database: Database, pool: Any, before: Reader) -> Reader:
    """A subscriber that goes on where another left."""
    reader = Reader(database, pool, before.query, before.args, resume=before.resume)
    reader.rows, reader.t = set(before.rows), before.t
    return reader


def test_a_source_as_of_an_instant_to_come_moves_with_the_database() -> None:
    query = "[:find ?e ?v :in $ $new :where [$new ?e :n ?v]]"
    with Database.open(":memory:") as database:
        database.transact("[[:db/add 1 :n 1]]")
        args = read_arguments(database, [{"basis": {"asOf": "2100-01-01"}}], None)
        with hub_over(database) as hub:
            changes = database.live(query, *args)
            rows = set(next(changes).rows or ())
            for e in range(2, 7):
                database.transact(f"[[:db/add {e} :n {e}]]")
            for change in changes:
                assert rows.isdisjoint(change.added or ())
                rows |= set(change.added or ())
                if change.basis_t == 6:
                    break
            assert rows == {(e, e) for e in range(1, 7)}
            assert hub.figures.feeds == 1
            changes.close()
