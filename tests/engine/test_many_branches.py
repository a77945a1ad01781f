"""An `or` looks only at the branches that know a variable: the others, nearly all, go together."""

from __future__ import annotations

from unittest.mock import patch

from adalog.executor.join.batch import Batch
from adalog.executor.pool import Pool, PoolSettings
from adalog.store.database import Database
from tests.support import World


def taken(number: int) -> int:
    """How often rows are taken from batches for an `or` of so many branches, each with a variable of its own."""
    branches = " ".join(f"(and [?e :size ?v{each}] [(< ?v{each} {each})])" for each in range(number))
    with Database.open(":memory:") as database:
        pool = Pool(database, PoolSettings(threads=1))
        world = World(database, pool)
        world.tx("[{:db/id 1 :size 3} {:db/id 2 :size 5} {:db/id 3 :size 1000}]")
        with patch.object(Batch, "take_all", autospec=True, side_effect=Batch.take_all) as takes:
            assert world.q(f"[:find ?e :where (or-join [?e] {branches})]") == "#{[1] [2]}"
        pool.close()
    return takes.call_count


def test_work_is_in_proportion_to_the_number_of_branches() -> None:
    few, many = taken(20), taken(80)
    assert few < many < 6 * few
