"""The record of turns that `tests/conftest.py` looks at after each test: that it sees what holds a loop."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.turns import turn_records
from tests.turns.turn_records import Turn, read

_HELD = """
import asyncio, time, uvloop

def hold(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass

async def main():
    loop = asyncio.get_running_loop()
    loop.call_soon(hold, 0.1)
    await asyncio.sleep(0)
    loop.call_later(0.001, hold, 0.2)
    await asyncio.sleep(0.01)
    hold(0.3)
    await asyncio.sleep(0)
    await asyncio.to_thread(hold, 0.8)

uvloop.run(main())
"""


def recorded(folder: Path, program: str) -> list[Turn]:
    environ = {**os.environ, **turn_records.environment(folder, os.environ)}
    subprocess.run([sys.executable, "-c", program], env=environ, check=True, timeout=60)
    return list(read(folder))


def test_a_turn_that_holds_the_loop_is_recorded(tmp_path: Path) -> None:
    turns = recorded(tmp_path, _HELD)
    # One for each that is long; the thread's work is none of the loop's.
    assert [round(turn.seconds, 1) for turn in turns if turn.seconds > 0.05] == [0.1, 0.2, 0.3]
    assert turns[-1].where.endswith(" hold")
    assert "coroutine" in turns[-1].what
    assert all(0 < turn.cost <= turn.seconds for turn in turns)


def test_collections_are_no_cost(tmp_path: Path) -> None:
    program = """
import asyncio, gc, uvloop
kept = [[n] for n in range(400_000)]
async def main():
    await asyncio.sleep(0)
    for _ in range(5): gc.collect()
    await asyncio.sleep(0)
uvloop.run(main())
"""
    for turn in recorded(tmp_path, program):
        assert turn.cost <= max(0.0, turn.seconds - turn.collecting)
        assert turn.cost < 0.02, turn


def test_waiting_is_no_cost(tmp_path: Path) -> None:
    program = """
import asyncio, time, uvloop
async def main():
    time.sleep(0.3)
uvloop.run(main())
"""
    assert all(turn.seconds < 0.1 for turn in recorded(tmp_path, program))


def test_it_is_installed_here() -> None:
    """Servers of this process are watched, too."""
    import uvloop

    async def held() -> float:
        began = time.thread_time()
        while time.thread_time() - began < 0.05:
            pass
        return await asyncio.sleep(0, time.thread_time() - began)

    assert uvloop.run(held()) >= 0.05
    folder = Path(os.environ[turn_records.FOLDER])
    assert max(read(folder), key=lambda turn: turn.seconds).seconds >= 0.05
