"""Freed memory is returned to the system: when, and how often it is tried where nothing is to be had."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from adalog.gateway.process.trimming import FullCollection, MemoryTrimming, heap_trimmer, resident

MIB = 1 << 20


class Process:
    """`used` bytes, and `free` ones that its allocator keeps."""

    def __init__(self, used: int, free: int = 0) -> None:
        self.used = used
        self.free = free
        self.trims = 0

    def resident(self) -> int:
        return self.used + self.free

    def trim(self) -> None:
        self.trims += 1
        self.free = 0


def test_what_is_free_is_returned() -> None:
    process = Process(400 * MIB, 100 * MIB)
    trimming = MemoryTrimming(process.resident, process.trim)
    trimming.look()
    assert (process.resident(), process.trims) == (400 * MIB, 1)
    trimming.look()
    assert process.trims == 1, "nothing was added since"


COLUMNS = """
import resource
import numpy as np
from adalog.gateway.process.trimming import MemoryTrimming, heap_trimmer, resident

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        columns = [np.ones(1 << 20) for _ in range(6)]
        del columns
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

trimming = MemoryTrimming(lambda: 0, heap_trimmer())
trimming.start()
trimming.stop()
faults()
kept, held = faults(), resident()
heap_trimmer()()
print(kept, held - resident())
"""


@pytest.mark.skipif(resident() is None or heap_trimmer() is None, reason="the system does not tell")
def test_freed_columns_are_kept_until_they_are_returned() -> None:
    """20 times six columns of 8 MiB are some 250,000 pages, if each column has new ones."""
    process = subprocess.run([sys.executable, "-c", COLUMNS], capture_output=True, text=True, check=True)
    faults, returned = map(int, process.stdout.split())
    assert faults < 20_000
    assert returned > 32 * MIB


def test_what_was_in_use_is_returned_once_it_is_free() -> None:
    process = Process(400 * MIB)
    trimming = MemoryTrimming(process.resident, process.trim)
    trimming.look()
    process.used += 500 * MIB
    trimming.look()
    process.used, process.free = 400 * MIB, 500 * MIB
    trimming.look()
    assert process.resident() == 400 * MIB


def test_where_nothing_is_free_it_is_tried_less_and_less_often() -> None:
    process = Process(400 * MIB)
    trimming = MemoryTrimming(process.resident, process.trim)
    trimming.look()
    process.used += 100 * MIB
    pauses = [trimming.look() for _ in range(8)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == pauses[-2] >= 8 * pauses[0]
    process.free = 50 * MIB
    assert trimming.look() == 1.0, "much was returned: it is worth another look soon"


def test_a_process_ends_with_its_thread() -> None:
    trimming = MemoryTrimming()
    trimming.start()
    trimming.stop()
    trimming.stop()


def test_glibc_trims_its_heap() -> None:
    trim = heap_trimmer()
    if trim is not None:
        trim()
        gc.unfreeze()
    assert resident() is None or resident() > MIB


def test_all_objects_are_looked_through_while_nothing_is_done() -> None:
    clock = {"now": 0.0, "computed": 0.0}
    whole = FullCollection(lambda: clock["now"], lambda: clock["computed"])

    def after(seconds: float, computed: float) -> bool:
        clock["now"] += seconds
        clock["computed"] += computed
        return whole.is_due()

    assert not after(30, 0.1), "too soon"
    assert not after(60, 30), "busy"
    assert after(30, 0.1)
    assert not after(30, 0.1)
    assert [after(32, 20) for _ in range(60)].count(True) == 1, "busy for half an hour"


def test_all_objects_are_looked_through_when_there_are_many_more_than_were_left() -> None:
    blocks = {"now": 3_000_000}
    whole = FullCollection(lambda: 0.0, lambda: 0.0, lambda: blocks["now"])
    blocks["now"] += 1_400_000
    assert not whole.is_due()
    blocks["now"] += 200_000
    assert whole.is_due()
    assert whole.is_due(), "nothing was collected"
    whole.ended()
    assert not whole.is_due()


def test_what_stays_is_looked_through_once() -> None:
    script = """
import gc, weakref
from adalog.store.files.gc_pause import collect
class Cycle:
    def __init__(self): self.own = self
old = [Cycle() for _ in range(1000)]
gone = weakref.ref(old[0])
assert collect(whole=False) and gc.get_freeze_count() >= 1000
young = Cycle()
late = weakref.ref(young)
del young, old
assert collect(whole=False) and late() is None and gone() is not None, "only what is new"
assert collect(whole=True) and gone() is None, "everything"
"""
    subprocess.run([sys.executable, "-c", script], check=True)
