"""Files made for one transaction and moved to another hold the same with other numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adalog.store.backup.integrity import relation_faults
from adalog.store.log.imported import write_logged
from adalog.store.tries.base import Base
from adalog.store.tries.relation import Relation
from adalog.store.tries.relation_files import load_base, save_relation
from adalog.store.tries.renumbering import MovedKeys, Renumbering, shifted
from adalog.store.tries.trie import Csr
from adalog.store.values import layout
from adalog.store.values.codes import Codes

COUNT = 6000


@pytest.mark.parametrize("first", [0, 40, COUNT - 1, COUNT])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("stamps", [1, 2])
def test_a_base_that_is_moved_is_sound(tmp_path: Path, first: int, step: int, stamps: int) -> None:
    e = np.arange(10, 10 + COUNT)
    numbers = np.random.default_rng(1).permutation(COUNT // step)[np.arange(COUNT) % (COUNT // step)] * step
    v = layout.code_of(layout.TAG_STRING, 0) + numbers
    since = 7 - np.arange(COUNT) % stamps
    base = Base(ev=Csr.from_sorted(e, v), ve=Csr.from_pairs(v, e), since=since, t=7, last=7)
    saved = save_relation(tmp_path, 5, Relation(base), Codes()).base
    assert saved.segment is not None
    made = load_base(shifted(saved.segment, Renumbering(7, 9, (MovedKeys(layout.TAG_STRING, first, 500),))))
    assert list(relation_faults(Relation(made))) == []
    expected = np.where(numbers >= first, v + 500, v)
    columns = made.current()
    assert (columns.e.tolist(), columns.v.tolist()) == (e.tolist(), expected.tolist())
    assert columns.t.tolist() == np.where(since == 7, 9, since).tolist()
    assert columns.t.flags.writeable
    assert (made.t, made.last) == (9, 9)


def test_a_file_of_the_log_that_is_moved_has_the_same_values(tmp_path: Path) -> None:
    then, now = Codes(), Codes()
    texts = [f"text {n}" for n in range(300)]
    for text in texts[:100]:
        then.intern(text)
        now.intern(text)
    for n in range(50):
        now.intern(f"of another transaction {n}")
    v = np.array([then.intern(text) for text in texts])
    for text in texts:
        now.intern(text)
    e = np.arange(300) * 3
    file = write_logged(tmp_path, 5, 7, (e, v, e % 2 == 0), then)
    moved = shifted(file.segment, Renumbering(7, 8, (MovedKeys(layout.TAG_STRING, 100, 50),)))
    assert moved.file.startswith("imported-5-8-")
    own = type(file)(5, moved, 300)
    assert own.values() == texts
    assert own.values(90, 110) == texts[90:110]
    assert now.decode_many(own.codes(now)) == texts
    assert own.e.tolist() == e.tolist()
    assert own.added.tolist() == (e % 2 == 0).tolist()
