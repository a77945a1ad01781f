"""The pause of the cycle collector ends with the last of those that asked for it, whatever happens to them."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator

import pytest

from adalog.store.files import gc_pause
from adalog.store.files.gc_pause import collect, uncollected


class Cycle:
    itself: Cycle


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """10,000 young objects are very many, and none are set aside yet. What the tests' process has frozen is frozen
    again afterwards."""
    monkeypatch.setattr(gc_pause, "_MANY", 10_000)
    monkeypatch.setattr(gc_pause, "_aside", False)
    gc.unfreeze()
    gc.collect()
    yield
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def test_the_pause_ends() -> None:
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_ends_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), uncollected():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_several_threads() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with uncollected():
            inside.set()
            leave.wait(20)

    thread = threading.Thread(target=other)
    with uncollected():
        thread.start()
        assert inside.wait(20)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_what_was_off_stays_off() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_work_that_never_ceases_does_not_keep_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc_pause, "_LONGEST_SECONDS", 0.0)

    class Ring:
        def __init__(self) -> None:
            self.itself = self

    with uncollected():
        ring = weakref.ref(Ring())
        with uncollected():
            pass
        assert ring() is None
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.usefixtures("few_are_many")
def test_very_many_objects_are_set_aside_and_collected_when_few_are_left() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with uncollected():
        made: list[list[int]] = [[] for _ in range(50_000)]
        cycle = Cycle()
        cycle.itself = cycle
        lost = weakref.ref(cycle)
        del cycle
    assert gc.get_count()[0] < 10_000
    # Some that were frozen before may be gone.
    assert gc.get_freeze_count() > frozen + 45_000
    assert not collect(whole=True)
    assert lost() is not None
    made.clear()
    assert collect(whole=True)
    assert lost() is None
    assert gc.get_freeze_count() < frozen + 10_000


@pytest.mark.usefixtures("few_are_many")
def test_very_many_objects_are_old_where_nothing_is_frozen() -> None:
    with uncollected():
        made: list[list[int]] = [[] for _ in range(50_000)]
    assert gc.get_count()[0] < 10_000
    assert gc.get_freeze_count() == 0
    assert len(made) == 50_000


_LEFT = """
import gc, weakref
from adalog.store.files import gc_pause
from adalog.store.files.gc_pause import collect, uncollected

class Node:
    pass

gc.freeze()
with uncollected():
    first = Node()
    first.others = [[first] for _ in range(400_000)]
gone = weakref.ref(first)
del first
assert not collect(whole=False) and gone() is not None, "so many may go by themselves"
gc_pause._PATIENCE_SECONDS = 0.0
assert collect(whole=False) and gone() is None, "they did not"
"""


def test_very_many_that_do_not_go_by_themselves_are_garbage() -> None:
    done = subprocess.run([sys.executable, "-c", _LEFT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


_OLD = """
import gc, weakref
from adalog.store.files import gc_pause
from adalog.store.files.gc_pause import collect, spare_old

class Node:
    def __init__(self):
        self.itself = self

looked_through = []
gc.set_threshold(1_000, 2, 10)
gc.collect()
gc.freeze()
gc.callbacks.append(lambda phase, info: looked_through.append(info["generation"]) if phase == "start" else None)
kept, frozen = [], gc.get_freeze_count()
# As many as would have Python look through all of them again and again.
for number in range(100_000):
    kept.append(Node())
    if number % 3_000 == 0:
        spare_old()
assert 1 in looked_through and 2 not in looked_through, "what is old is looked through"
assert gc.get_freeze_count() - frozen > 80_000
old, young = weakref.ref(kept[0]), Node()
late = weakref.ref(young)
del young, kept
looked_through.clear()
assert collect(whole=False) and looked_through == [1]
assert late() is None and old() is not None
assert collect(whole=True) and old() is None
"""


def test_what_is_old_is_looked_through_by_whole_collections_alone() -> None:
    done = subprocess.run([sys.executable, "-c", _OLD], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
