"""A transaction steps the views whose patterns it touches with an argument that some feed has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from adalog.datalog.values import Keyword
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.maintained_view import MaintainedView
from adalog.executor.live.subscribers.event import EventKind
from adalog.store.database import Database
from tests.live.following import Reader, hub_over

SCHEMA = """[{:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :age :db/valueType :db.type/long}
             {:db/ident :likes :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
PEOPLE = "[" + " ".join(f'{{:db/id {e} :name "n{e}" :age {e}}}' for e in range(1, 10)) + "]"


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        opened.transact(SCHEMA)
        opened.transact(PEOPLE)
        yield opened


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the views that were stepped."""
    texts: list[str] = []
    step = MaintainedView.step

    def noting(view: MaintainedView, tick: Moments, cancel: Cancel) -> Mapping[int, Any]:
        texts.append(view._question.request.query)
        return step(view, tick, cancel)

    monkeypatch.setattr(MaintainedView, "step", noting)
    return texts


def after(readers: list[Reader], database: Database, stepped: list[str], text: str) -> list[int]:
    """The places of the readers whose views a transaction steps. Each reads up to it."""
    stepped.clear()
    t = database.transact(text).t
    for reader in readers:
        reader.until(t)
    return [place for place, reader in enumerate(readers) if reader.query in stepped]


def test_views_with_an_argument_each(database: Database, stepped: list[str]) -> None:
    with hub_over(database) as hub:
        readers = [
            Reader(database, hub.pool, f"[:find ?a{e} :in $ ?e :where [?e :age ?a{e}]]", (e,)) for e in range(1, 6)
        ]
        of_ages = [
            Reader(database, hub.pool, f"[:find ?e{a} :in $ [?a ...] :where [?e{a} :age ?a]]", ([a, a + 1],))
            for a in range(1, 6)
        ]
        readers += of_ages
        for reader in readers:
            reader.read()
        assert after(readers, database, stepped, "[[:db/add 2 :age 40]]") == [1, 5, 6]
        assert after(readers, database, stepped, "[[:db/add 9 :age 41]]") == []
        assert after(readers, database, stepped, "[[:db/add 9 :age 5]]") == [8, 9]
        assert after(readers, database, stepped, '[{:name "other" :age 99}]') == []
        # Another feed of a view.
        readers.append(Reader(database, hub.pool, readers[0].query, (9,)))
        readers[-1].read()
        assert after(readers, database, stepped, "[[:db/add 9 :age 6]]") == [0, 8, 9, 10]


def test_a_not_and_an_or_of_an_argument(database: Database, stepped: list[str]) -> None:
    with hub_over(database) as hub:
        readers = [
            Reader(database, hub.pool, "[:find ?n :in $ ?e :where [?e :name ?n] (not [?e :likes 7])]", (1,)),
            Reader(database, hub.pool, "[:find ?x :in $ ?e :where (or [?e :age ?x] [?x :likes ?e])]", (2,)),
            Reader(
                database, hub.pool, "[:find ?x :in $ ?e ?x :where [?e :name] [(get-else $ ?e :age 0) ?x]]", (3, 0)
            ),
        ]
        for reader in readers:
            reader.read()
        assert after(readers, database, stepped, "[[:db/add 1 :likes 7]]") == [0]
        assert after(readers, database, stepped, "[[:db/add 5 :likes 2] [:db/add 4 :likes 7]]") == [1]
        assert after(readers, database, stepped, "[[:db/retract 3 :age 3]]") == [2]
        assert [reader.kinds() for reader in readers] == [["SNAPSHOT", "DELTA"]] * 3


def test_a_value_that_the_database_learns_later(database: Database, stepped: list[str]) -> None:
    with hub_over(database) as hub:
        readers = [
            Reader(database, hub.pool, f"[:find ?e{i} :in $ ?n :where [?e{i} :name ?n]]", (f"later {i}",))
            for i in range(3)
        ]
        for reader in readers:
            reader.read()
        assert after(readers, database, stepped, '[[:db/add 1 :name "later 1"]]') == [0, 1, 2]
        assert after(readers, database, stepped, '[[:db/add 1 :name "later 2"]]') == [0, 1, 2]
        # Two of the views know their values by now.
        assert after(readers, database, stepped, '[[:db/add 2 :name "other"]]') == [0]
        assert after(readers, database, stepped, '[[:db/add 2 :name "later 1"]]') == [0, 1]
        assert [reader.kinds().count("DELTA") for reader in readers] == [0, 3, 1]


def test_a_lookup_ref_that_comes_to_another_entity(database: Database, stepped: list[str]) -> None:
    with hub_over(database) as hub:
        query = "[:find ?a :in $ ?e :where [?e :age ?a]]"
        readers = [Reader(database, hub.pool, query, ((Keyword("name"), "n1"),))]
        readers[0].read()
        assert after(readers, database, stepped, "[[:db/add 2 :age 20]]") == []
        assert after(readers, database, stepped, '[[:db/add 1 :name "none"] [:db/add 2 :name "n1"]]') == [0]
        assert after(readers, database, stepped, "[[:db/add 1 :age 10]]") == []
        assert after(readers, database, stepped, "[[:db/add 2 :age 30]]") == [0]
        assert readers[0].rows == {(30,)}


def test_who_was_away_while_an_argument_was_touched(database: Database) -> None:
    with hub_over(database) as hub:
        reader = Reader(database, hub.pool, "[:find ?a :in $ ?e :where [?e :age ?a]]", (1,))
        reader.read()
        reader.close()
        for e in (2, 1, 3, 1):
            database.transact(f"[[:db/add {e} :age {database.snapshot().t + 100}]]")
        again = Reader(database, hub.pool, reader.query, reader.args, resume=reader.resume)
        again.rows = reader.rows
        again.until(database.snapshot().t)
        assert [each.basis_t for each in again.seen if each.kind is EventKind.DELTA] == [4, 6]
