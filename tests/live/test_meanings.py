"""Live queries through changes of what their names mean: attributes that are declared and renamed after the query
was asked, entities that get and lose names, one transaction at a time and several in one group."""

from __future__ import annotations

from typing import Any, Final

import pytest

from adalog.schema.arguments.values import read_arguments
from adalog.store.database import Database
from tests.live.following import Reader, hub_over, together

BEGUN: Final = """[[:db/add 1 :n 1] [:db/add 2 :n 2] {:db/ident :r :db/valueType :db.type/ref}
                   {:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
QUERIES: Final[list[tuple[str, list[Any]]]] = [
    ("[:find ?e ?v :where [?e :later ?v]]", []),
    ("[:find ?e :where [?e :n] (not [?e :later])]", []),
    ("[:find ?e :where [?e :n] [(missing? $ ?e :later)]]", []),
    ("[:find ?e ?v :where (p ?e ?v) :rules [[(p ?e ?v) [?e :later ?v]] [(p ?e ?v) [?e :to ?f] (p ?f ?v)]]]", []),
    ("[:find ?e ?v :where [?e :n] [(get-attr $ ?e :later 0) ?v]]", []),
    ("[:find (count *) . :where [?e :n ?n] (optional [?e :to ?f])]", []),
    ("[:find ?n :where [?e :n ?n] :args [{?e :who}]]", []),
    ("[:find (pull ?e [:n :later {:part [*]}]) :where [?e :n]]", []),
    ("[:find (pull ?e [:n (q :v [:find [?v ...] :in $ ?x :where [?x :later ?v]])]) :where [?e :n]]", []),
    ("[:find (count ?e) . :where [?e :later]]", []),
    ("[:find ?x :in $ ?e :where [?e :n ?x]]", [[":name", "x"]]),
    ("[:find ?e :in $ ?w :where (or [?e :r ?w] [?e :link ?w])]", [":who"]),
    ("[:find ?e ?v :in $ ?a :where [?e ?a ?v]]", [":later"]),
    ("[:find ?e :in $ [?v ...] :where [?e :later ?v]]", [[5, 6, "x"]]),
    ("[:find ?e ?f :in $ $list :where [$list ?x ?y] [?e :later ?x] [?f :name ?y]]", [[[5, "x"], [6, "y"]]]),
    ("[:find ?e ?f :where [?e :link ?f] [?f :link ?e] (not [?e :r ?f])]", []),
]
TRANSACTIONS: Final = [
    "[[:db/add 2 :later 5]]",
    "[{:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}]",
    '[[:db/add 3 :name "x"] [:db/add 3 :n 7]]',
    '[[:db/add 3 :name "y"] [:db/add 2 :name "x"]]',
    "[{:db/ident :link :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]",
    "[[:db/add 1 :link 2] [:db/add 2 :link 1] [:db/add 1 :to 2] [:db/add 3 :link 3]]",
    "[[:db/add 3 :db/ident :who] [:db/add 1 :r 3]]",
    "[{:db/ident :part :db/valueType :db.type/ref :db/isComponent true}]",
    "[[:db/add 1 :part 2]]",
    "[[:db/add :later :db/cardinality :db.cardinality/many]]",
    "[[:db/add 2 :later 6] [:db/add 2 :n 9]]",
    "[[:db/add :later :db/ident :before]]",
    "[{:db/ident :later :db/valueType :db.type/string}]",
    '[[:db/add 1 :later "x"]]',
    "[[:db/retract 3 :db/ident :who] [:db/add 2 :db/ident :who]]",
    '[[:db/retract 2 :name "x"] [:db/retract 1 :link 2]]',
    '[[:db/add 1 :name "x"]]',
    "[[:db/retractEntity 1]]",
]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_answers_follow_what_names_mean(size: int) -> None:
    with Database.open(":memory:") as database:
        database.transact(BEGUN)
        with hub_over(database) as hub:
            readers = [
                Reader(database, hub.pool, query, read_arguments(database, args, None)) for query, args in QUERIES
            ]
            for reader in readers:
                reader.until(1)
            for first in range(0, len(TRANSACTIONS), size):
                with together(database):
                    told = [database.submit(text) for text in TRANSACTIONS[first : first + size]]
                for each in told:
                    each.result()
                for reader in readers:
                    reader.until(database.snapshot().t)
            assert all("DELTA" in reader.kinds() for reader in readers)
