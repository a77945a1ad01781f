"""What lies between two snapshots, settled: whatever was undone in between is no change."""

from __future__ import annotations

import pytest

from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.snapshot.difference import Difference, pairs_between, rows_between
from adalog.store.snapshot.snapshot import Snapshot

SCHEMA = """[{:db/ident :ns :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
             {:db/ident :short :db/valueType :db.type/long :db/noHistory true}]"""


def pairs(found: Difference) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    added, removed = (list(zip(*(column.tolist() for column in side[:2]), strict=True)) for side in
                      (found.added, found.removed))  # fmt: skip
    return sorted(added), sorted(removed)


def of(old: Snapshot, new: Snapshot, name: str = "ns") -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    attribute = new.attribute(Keyword(name))
    assert attribute is not None
    return pairs(pairs_between(old, new, attribute.id))


@pytest.mark.parametrize("folded", [False, True])
def test_what_came_and_what_went(folded: bool) -> None:
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        database.transact("[{:db/id 1 :ns [1 2 3]} {:db/id 2 :ns 1 :short 1}]")
        old = database.snapshot()
        database.transact("[[:db/retract 1 :ns 1] [:db/retract 1 :ns 2] [:db/add 2 :ns 5] [:db/add 3 :ns 6]]")
        database.transact("[[:db/add 1 :ns 1] [:db/retract 3 :ns 6] [:db/add 2 :short 2]]")
        if folded:
            database.compact()
        new = database.snapshot()
        assert of(old, new) == ([(2, 5)], [(1, 2)])
        assert of(new, old) == ([(1, 2)], [(2, 5)])
        assert of(old, old) == ([], [])
        assert of(old, new, "short") == ([(2, 2)], [(2, 1)])
        assert of(old, new.history()) == ([(2, 5), (3, 6)], [])
        attribute = new.attribute(Keyword("ns"))
        assert attribute is not None
        # Asserted again, a datom is of another transaction.
        assert pairs(rows_between(old, new, attribute.id)) == ([(1, 1), (2, 5)], [(1, 1), (1, 2)])


def test_of_a_speculation() -> None:
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        database.transact("[{:db/id 1 :ns [1 2]}]")
        basis = database.snapshot()
        after, _ = database.speculate(basis, "[[:db/retract 1 :ns 1] [:db/add 1 :ns 3]]")
        other, _ = database.speculate(basis, "[[:db/add 1 :ns 4]]")
        assert of(basis, after) == ([(1, 3)], [(1, 1)])
        assert of(after, other) == ([(1, 1), (1, 4)], [(1, 3)])
