"""docs/how-to/javascript.md: recipes for typed documents compile, and keep a list up to date.

Each shows the first issues by points. They stay equal to the query asked afresh through random transactions, a
restart of the server, and tokens that expire.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.clients.npm import needs_node
from tests.clients.typed_project import (
    SECONDS,
    TrackerServer,
    make_project,
    put_through,
    served_pages,
    text_of,
    without_types,
)
from tests.protocols.node import missing

pytestmark = [needs_node, pytest.mark.usefixtures("built"), pytest.mark.skipif(missing() is not None, reason="npm")]

RECIPES: Final = (
    "list",
    "page",
    "apollo",
    "urql",
    "urql-stream",
    "relay",
    "changes-websocket",
    "changes-event-stream",
)


@dataclass(frozen=True)
class Tracker:
    """The server, the address of its pages, and the project in a folder. document: of the list."""

    server: TrackerServer
    pages: str
    project: Path
    document: str


@pytest.fixture(scope="module")
def tracker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracker]:
    project = tmp_path_factory.mktemp("project")
    with served_pages(project) as pages:
        server = TrackerServer(tmp_path_factory.mktemp("server") / "data", pages)
        server.start()
        try:
            yield Tracker(server, pages, project, make_project(project, server))
        finally:
            server.stop(signal.SIGKILL)


class Page:
    """A recipe in a process of its own, and what it shows."""

    def __init__(self, tracker: Tracker, recipe: str) -> None:
        node = shutil.which("node")
        assert node is not None
        self.recipe = recipe
        self.requests: list[str] = []
        self.warnings: list[str] = []
        self.tokens = 0
        self._shown: queue.SimpleQueue[list[Any] | None] = queue.SimpleQueue()
        self._last: list[Any] | None = None
        self._process = subprocess.Popen(
            [node, "page.mjs", recipe],
            cwd=tracker.project,
            env=os.environ | {"PAGES": tracker.pages, "URL": tracker.server.address},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def shows(self, issues: list[dict[str, Any]]) -> None:
        """Waits until the page shows them."""
        expected = [text_of(issue) for issue in issues] if self.recipe == "page" else issues
        while self._last != expected:
            try:
                self._last = self._shown.get(timeout=SECONDS)
            except queue.Empty:
                assert self._last == expected, self.recipe
            assert self._last is not None, f"{self.recipe} has ended"

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(SECONDS)
        self._thread.join()
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            if "asked" in event:
                self.requests.append(event["asked"])
            elif "renewed" in event:
                self.tokens += 1
            elif "warned" in event:
                self.warnings.append(event["warned"])
            else:
                self._shown.put(without_types(event["shown"]) if "shown" in event else event["texts"])
        self._shown.put(None)


@pytest.mark.slow
def test_each_recipe_follows_the_list_through_a_restart_and_under_new_tokens(tracker: Tracker) -> None:
    pages = [Page(tracker, recipe) for recipe in RECIPES]
    try:
        put_through(
            tracker.server,
            tracker.document,
            lambda issues: [page.shows(issues) for page in pages],
            lambda: min(page.tokens for page in pages),
        )
    finally:
        for page in pages:
            page.close()
    for page in pages:
        assert not page.warnings, page.recipe
        assert not any("query Issues" in request for request in page.requests), page.recipe
