"""What the hub has the pool do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, cast

import pytest

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.client import ASKING
from adalog.executor.live.hub import pool_jobs
from adalog.executor.live.hub.pool_jobs import PoolJob, PoolJobs
from adalog.executor.pool import Pool


class AtOnce:
    """A pool that does everything when it is asked to."""

    def submit(self, cancel: Cancel, work: Callable[[Cancel], Any], cost: float = 0.0) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(cancel))
        return done


def test_an_outcome_that_cannot_be_handed_on_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pool_jobs, "_AT_ONCE", 1)
    jobs: list[Callable[[], None]] = []
    of_the_hub = PoolJobs(cast(Pool, AtOnce()), jobs.append, 1_000)
    got = []

    def fails(made: str | None, why: BaseException | None) -> None:
        raise RuntimeError("a mistake")

    of_the_hub.send(PoolJob(ASKING.get(), lambda _: "first", fails))
    of_the_hub.send(PoolJob(ASKING.get(), lambda _: "second", lambda made, why: got.append(made)))
    while jobs:
        with suppress(RuntimeError):
            jobs.pop(0)()
    assert got == ["second"]
    assert "a mistake" in caplog.text
