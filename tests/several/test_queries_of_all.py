"""The queries that run in several workers: any worker lists all of them, and ends any of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from adalog.store.database import Database
from tests.gateway.test_running_queries import ASK, CANCEL, LIST, NUMBERS, SLOW, post
from tests.several.fleet import Fleet, serving
from tests.waiting import until

_WORKERS = 3
_MOST_CLIENTS = 12


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    folder = tmp_path / "data"
    with Database.open(str(folder)) as database:
        database.transact(NUMBERS)
    # A worker that computes on a busy machine is no worker that hangs.
    with serving(folder, _WORKERS, silent_seconds=60) as opened:
        opened.until_ready(_WORKERS)
        yield opened


def test_any_worker_lists_and_cancels_the_queries_of_all(fleet: Fleet) -> None:
    with contextlib.ExitStack() as opened:
        # Connections are spread evenly, so each worker has some of these.
        admins = [opened.enter_context(httpx.Client(base_url=fleet.url, timeout=60)) for _ in range(2 * _WORKERS)]
        assert [listed(admin) for admin in admins] == [{}] * len(admins)
        clients = opened.enter_context(ThreadPoolExecutor(_MOST_CLIENTS))
        # Nothing that fails keeps the clients waiting.
        opened.callback(until, lambda: _all_cancelled(admins[0]))
        answers: dict[str, Future[Any]] = {}
        while len({worker_of(name) for name in listed(admins[0])}) < _WORKERS:
            assert len(answers) < _MOST_CLIENTS, "the queries are not spread over the workers"
            # Another text: the same one would be computed once.
            text = f"{SLOW} ; {len(answers)}"
            answers[text] = clients.submit(post, fleet.url, ASK, query=text)
            until(lambda expected=set(answers): set(listed(admins[0]).values()) == expected)  # type: ignore[misc]
        for admin in admins:
            until(lambda admin=admin: set(listed(admin).values()) == set(answers))  # type: ignore[misc]

        names = {name for admin in admins for name in listed(admin)}
        # One worker is asked, and ends those of the others.
        for name in names:
            until(lambda name=name: cancelled(admins[0], name) or name not in listed(admins[0]))  # type: ignore[misc]
        for answer in answers.values():
            (error,) = answer.result()["errors"]
            assert error["extensions"]["code"] == "CANCELLED"
            assert error["message"] == "an admin cancelled the query"
        assert [listed(admin) for admin in admins] == [{}] * len(admins)
        assert not cancelled(admins[0], name)


def listed(admin: httpx.Client) -> dict[str, str]:
    """The text of each query, by its id."""
    answer = admin.post("/graphql", json={"query": LIST}).json()
    return {each["id"]: each["text"] for each in answer["data"]["runningQueries"]}


def cancelled(admin: httpx.Client, name: str) -> bool:
    answer = admin.post("/graphql", json={"query": CANCEL, "variables": {"id": name}}).json()
    is_known: bool = answer["data"]["cancelQuery"]
    return is_known


def worker_of(name: str) -> str:
    """The ids of a worker's queries begin alike."""
    return name.partition("-")[0]


def _all_cancelled(admin: httpx.Client) -> bool:
    names = list(listed(admin))
    for name in names:
        cancelled(admin, name)
    return not names
