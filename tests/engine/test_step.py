"""The reference step, run as it stands, level after level, gives the rows of the join with all its shortcuts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.join.batch import Batch
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.level import Level
from adalog.executor.join.protocol import START, UNBOUNDED, Extender, accepted
from adalog.executor.join.step import extend
from tests.engine.test_extender_laws import TAG, a_conjunction, prefixes, tagged
from tests.property.model import examples


def reference(parts: Sequence[Extender], variables: Sequence[str], batch: Batch) -> Batch:
    """Binds one variable after another by the reference step alone."""
    batch = accepted(batch, START, [part for part in parts if part.participates(START)])
    for variable in variables:
        taking = [part for part in parts if part.participates(variable)]
        assume(taking or not batch.size)
        counts = [part.count(batch, variable) for part in taking]
        assume(not batch.size or (np.min(counts, axis=0) < UNBOUNDED).all())
        batch = extend(taking, batch, variable, counts)
    return batch


def rows_of(batch: Batch, names: Sequence[str]) -> Counter[tuple[int, ...]]:
    """How often each row is there, with its weight."""
    return Counter(zip(*(batch.columns[name].tolist() for name in names), batch.weights().tolist(), strict=True))


@pytest.mark.parametrize("budget", [1, 1 << 19])
@settings(max_examples=examples(150))
@given(data=st.data())
def test_the_join_gives_the_rows_of_the_reference_step(budget: int, data: st.DataObject) -> None:
    case = a_conjunction(data.draw)
    assert isinstance(case.extender, Conjunction)
    batch = tagged(prefixes(data.draw, case, case.first))
    names = (TAG, *case.first, *case.levels)
    expected = rows_of(reference(case.extender.parts, case.levels, batch), names)
    found: Counter[tuple[int, ...]] = Counter()

    def sink(rows: Batch) -> bool:
        found.update(rows_of(rows, names))
        return True

    join = GenericJoin(case.extender, [Level(name) for name in case.levels], budget=budget)
    Driver(join, sink, Cancel()).run(batch)
    assert found == expected
