"""The recipes of docs/javascript.md for typed documents: compiled with generated types, and run against a server.

Each shows the first issues by points. They stay equal to the query asked afresh through random transactions and a
restart of the server.
"""

from __future__ import annotations

import json
import queue
import random
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.clients.npm import CLIENT, ROOT, needs_node, run
from tests.protocols.node import HERE as PROTOCOLS
from tests.protocols.node import missing
from tests.protocols.test_restart import Server
from tests.typed.tracker import tracker_texts

pytestmark = [needs_node, pytest.mark.usefixtures("built"), pytest.mark.skipif(missing() is not None, reason="npm")]

TEMPLATE: Final = Path(__file__).parent / "typed"
ADDRESS: Final = "127.0.0.1:8080"
SECONDS: Final = 30.0
TRANSACTIONS: Final = 100
SHOWN: Final = 20
RECIPES: Final = ("list", "page", "apollo", "urql")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    opened = Server(tmp_path_factory.mktemp("server") / "data")
    opened.start()
    for text in tracker_texts():
        opened.transact(text)
    yield opened
    if opened.process is not None:
        opened.stop(signal.SIGKILL)


@pytest.fixture(scope="module")
def project(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the files of the document, compiled: of strict TypeScript, with types of the served schema."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(TEMPLATE, folder, dirs_exist_ok=True)
    text = (ROOT / "docs" / "javascript.md").read_text("utf-8")
    for name, block in re.findall(r"^```\w+\n(?://|#) (\S+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        (folder / name).write_text(block.replace(ADDRESS, f"127.0.0.1:{server.port}"), encoding="utf-8")
    modules = folder / "node_modules"
    (modules / "@adalog").mkdir(parents=True)
    (modules / "@adalog" / "client").symlink_to(CLIENT)
    for installed in (PROTOCOLS, CLIENT):
        for path in (installed / "node_modules").iterdir():
            if not (modules / path.name).exists():
                (modules / path.name).symlink_to(path)
    (folder / "schema.graphql").write_text(httpx.get(f"{server.address}/schema").text, encoding="utf-8")
    options = {
        "rootDir": ".",
        "outDir": "built",
        "declaration": False,
        "jsx": "react-jsx",
        "preserveSymlinks": True,
    }
    settings = {"extends": str(CLIENT / "tsconfig.json"), "compilerOptions": options, "include": ["*.ts", "*.tsx"]}
    (folder / "tsconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    run("node", "documents.mjs", folder=folder)
    run("node", str(CLIENT / "node_modules" / "typescript" / "bin" / "tsc"), "-p", ".", folder=folder)
    return folder


class Page:
    """A recipe in a process of its own, and what it shows."""

    def __init__(self, project: Path, recipe: str) -> None:
        node = shutil.which("node")
        assert node is not None
        self.recipe = recipe
        self.requests: list[str] = []
        self.warnings: list[str] = []
        self._shown: queue.SimpleQueue[list[Any] | None] = queue.SimpleQueue()
        self._last: list[Any] | None = None
        self._process = subprocess.Popen(
            [node, "page.mjs", recipe], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
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
            elif "warned" in event:
                self.warnings.append(event["warned"])
            else:
                self._shown.put(without_types(event["shown"]) if "shown" in event else event["texts"])
        self._shown.put(None)


def text_of(issue: dict[str, Any]) -> str:
    return f"{issue['title'] or ''} {' '.join(label['name'] for label in issue['labels'])}"


def without_types(value: Any) -> Any:
    """Without what the clients add to each entity."""
    if isinstance(value, list):
        return [without_types(each) for each in value]
    if isinstance(value, dict):
        return {name: without_types(each) for name, each in value.items() if name != "__typename"}
    return value


class RandomChanges:
    """Transactions over issues and all that the page shows of them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._issues = [1, 2, 3, 4, 5]
        self._comments = [f"00000000-0000-4000-8000-00000000020{number}" for number in range(1, 5)]
        self._number = 5

    def transaction(self) -> str:
        """Some changes, which do not contradict each other: each is of another attribute."""
        issues, comments = self._issues[:], self._comments[:]
        kinds = self._random.sample(range(10), self._random.randint(1, 3))
        return f"[{' '.join(self._change(kind, issues, comments) for kind in kinds)}]"

    def _change(self, kind: int, issues: list[int], comments: list[str]) -> str:
        choose = self._random.choice
        self._number += 1
        issue = f"[:issue/number {choose(issues)}]"
        comment = f'[:comment/id #uuid "{choose(comments)}"]'
        user = f'[:user/email "{choose(["ada", "bob", "cyd"])}@example.org"]'
        label = f'[:label/name "{choose(["bug", "idea", "docs"])}"]'
        match kind:
            case 0 | 1:
                self._issues.append(self._number)
                key = f'#uuid "00000000-0000-4000-9000-{self._number:012}"'
                more = f':issue/title "issue {self._number}" :issue/labels [{label}]'
                return f"{{:issue/id {key} :issue/number {self._number} {more}}}"
            case 2:
                return f'[:db/add {issue} :issue/title "renamed {self._number}"]'
            case 3:
                return f"[:db/add {issue} :issue/points {self._random.randrange(10)}]"
            case 4:
                return f"[:db/add {issue} :issue/status :status/{choose(['open', 'done'])}]"
            case 5:
                return f"[:db/add {issue} :issue/assignee {user}]"
            case 6:
                return f"[:db/{choose(['add', 'retract'])} {issue} :issue/labels {label}]"
            case 7:
                self._comments.append(f"00000000-0000-4000-8000-{self._number:012}")
                created = f'#inst "2026-01-01T00:00:00.{self._number:03}Z"'
                return (
                    f'{{:comment/id #uuid "{self._comments[-1]}" :comment/issue {issue} :comment/author {user}'
                    f' :comment/body "comment {self._number}" :comment/created {created}}}'
                )
            case 8:
                return f"[:db/add {comment} :comment/issue {issue}]"
            case _:
                return f'[:db/add {user} :user/name "user {self._number}"]'


def issues(server: Server, document: str) -> list[dict[str, Any]]:
    """The list, asked afresh."""
    body = {"query": document, "variables": {"first": SHOWN}, "operationName": "Issues"}
    answer = httpx.post(server.address, json=body, timeout=SECONDS).json()
    assert "errors" not in answer, answer
    shown: list[dict[str, Any]] = answer["data"]["issues"]
    return shown


@pytest.mark.slow
def test_each_recipe_follows_the_list_through_a_restart(server: Server, project: Path) -> None:
    document = (project / "issues.graphql").read_text("utf-8")
    pages = [Page(project, recipe) for recipe in RECIPES]
    try:
        changes = RandomChanges(25)
        for page in pages:
            page.shows(issues(server, document))
        for number in range(TRANSACTIONS):
            server.transact(changes.transaction())
            if number == TRANSACTIONS // 2:
                server.stop(signal.SIGKILL)
                server.start()
            if number % 10 == 9:
                expected = issues(server, document)
                for page in pages:
                    page.shows(expected)
        assert len(expected) == SHOWN
    finally:
        for page in pages:
            page.close()
    for page in pages:
        assert not page.warnings, page.recipe
        assert sum("query Issues" in request for request in page.requests) <= 1, page.recipe
