"""The pause of the cycle collector ends with the last of those that asked for it, whatever happens to them."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from store import collecting
from store.collecting import uncollected


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
    monkeypatch.setattr(collecting, "_LONGEST_SECONDS", 0.0)

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
