"""Aggregates whose groups are told apart by values that the database knows in part."""

from __future__ import annotations

import pytest

from adalog.store.database import Database
from tests.live.following import Reader, hub_over

BEGUN = '[[:db/add 90 :text "n1"] [:db/add 1 :n 1] [:db/add 2 :n 2] [:db/add 3 :n 3] [:db/add 4 :n 1]]'


@pytest.mark.parametrize("aggregate", ["(count ?e)", "(sum ?e)", "(count ?e) (avg ?e)"])
def test_a_group_moves_together_with_one_of_a_value_that_is_nowhere_written(aggregate: str) -> None:
    with Database.open(":memory:") as database:
        database.transact(BEGUN)
        with hub_over(database) as hub:
            reader = Reader(
                database, hub.pool, f'[:find ?k {aggregate} :where [?e :n ?n] [(str "n" ?n) ?k] [(not= ?e 90)]]'
            )
            reader.until(1)
            for text in (
                "[[:db/add 5 :n 1]]",
                "[[:db/add 6 :n 1] [:db/add 7 :n 2]]",
                "[[:db/add 8 :n 1]]",
                "[[:db/retract 1 :n 1] [:db/retract 2 :n 2] [:db/retract 7 :n 2]]",
                "[[:db/add 9 :n 1]]",
                '[[:db/add 91 :text "n2"]]',
                "[[:db/add 2 :n 2] [:db/add 10 :n 1]]",
                "[[:db/add 7 :n 2]]",
            ):
                database.transact(text)
                reader.until(database.snapshot().t)
            assert reader.kinds().count("DELTA") == 7
