"""The number of entities, counted from what changed since somebody asked last."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.store.database import Database

Step = list[tuple[bool, int, str, int]]


@given(st.lists(st.lists(st.tuples(st.booleans(), st.integers(1, 5), st.sampled_from("ab"), st.integers(1, 2)))))
@settings(max_examples=40, deadline=None)
def test_entities_are_counted_from_what_changed(steps: list[Step]) -> None:
    declared = "".join(
        f"{{:db/ident :{name} :db/valueType :db.type/long :db/cardinality :db.cardinality/many}}" for name in "ab"
    )
    with Database.open(":memory:") as database:
        database.transact(f"[{declared}]")
        assert database.entity_count(database.snapshot()) == database.snapshot().entity_count
        for number, step in enumerate(steps):
            ops = {(e, a, v): "add" if added else "retract" for added, e, a, v in step}
            database.transact(f"[{' '.join(f'[:db/{op} {e} :{a} {v}]' for (e, a, v), op in ops.items())}]")
            if number % 2:
                assert database.entity_count(database.snapshot()) == database.snapshot().entity_count


def test_what_everything_else_forgot_is_counted_once() -> None:
    with Database.open(":memory:") as database:
        before = database.entity_count(database.snapshot())
        database.transact("[[:db/add 7 :a 1]]")
        database.transact("[[:db/add 7 :b 1] [:db/add 8 :b 1]]")
        database.transact("[[:db/retract 7 :a] [:db/retract 8 :b]]")
        # 7, the transactions, and what declares :a and :b.
        assert database.entity_count(database.snapshot()) == before + 1 + 3 + 2
        assert database.entity_count(database.snapshot()) == database.snapshot().entity_count
