"""A project with the files of docs/how-to/javascript.md, its server with tokens of seconds, and changes of data."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import httpx
import jwt

from bench.live_tabs import SECRET, WITHOUT_SKEW
from tests.clients.npm import CLIENT, ROOT, run
from tests.protocols.node import HERE as PROTOCOLS
from tests.protocols.test_restart import Server
from tests.typed.tracker import tracker_texts

TEMPLATE: Final = Path(__file__).parent / "typed"
ADDRESS: Final = "127.0.0.1:8080"
SECONDS: Final = 30.0
TOKEN_SECONDS: Final = 3.0
SHOWN: Final = 20
TRANSACTIONS: Final = 100
_CHECKED: Final = 20
_TOKENS: Final = 4
_TOKEN_PATH: Final = "/session/token"


def token() -> str:
    now = time.time()
    return jwt.encode({"sub": "ada", "roles": ["admin"], "iat": now, "exp": now + TOKEN_SECONDS}, SECRET, "HS256")


class TrackerServer(Server):
    """An issue tracker that accepts no token beyond its expiry. origin: of its pages."""

    def __init__(self, folder: Path, origin: str) -> None:
        settings = {"ADALOG_JWT_ALGORITHMS": "HS256", "ADALOG_JWT_SECRET": SECRET, "ADALOG_ALLOWED_ORIGINS": origin}
        super().__init__(folder, **settings)

    def command(self, *arguments: str) -> Sequence[str]:
        return [sys.executable, "-c", WITHOUT_SKEW, *arguments]

    def start(self) -> None:
        is_new = not self.port
        super().start()
        if is_new:
            for text in tracker_texts():
                self.transact(text)

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {token()}"}

    def issues(self, document: str) -> list[dict[str, Any]]:
        """The list, asked afresh."""
        body = {"query": document, "variables": {"first": SHOWN}, "operationName": "Issues"}
        answer = httpx.post(self.address, json=body, headers=self.headers(), timeout=SECONDS).json()
        assert "errors" not in answer, answer
        shown: list[dict[str, Any]] = answer["data"]["issues"]
        return shown


class _Pages(SimpleHTTPRequestHandler):
    """The project's files, and a token for whoever asks."""

    def do_GET(self) -> None:
        if self.path != _TOKEN_PATH:
            super().do_GET()
            return
        text = token().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served_pages(folder: Path) -> Iterator[str]:
    """The address of a web server with the files of a folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Pages, directory=str(folder))) as pages:
        thread = threading.Thread(target=pages.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{pages.server_address[1]}"
        finally:
            pages.shutdown()
            thread.join()


def make_project(folder: Path, server: TrackerServer) -> str:
    """Writes the files and compiles them: strict TypeScript, with types of the served schema. Returns the document
    with the query and the subscription."""
    shutil.copytree(TEMPLATE, folder, dirs_exist_ok=True)
    text = (ROOT / "docs" / "how-to" / "javascript.md").read_text("utf-8")
    for name, block in re.findall(r"^```\w+\n(?://|#) (\S+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        (folder / name).write_text(block.replace(ADDRESS, f"127.0.0.1:{server.port}"), encoding="utf-8")
    # The same over event streams.
    over_streams = (folder / "urql.ts").read_text("utf-8").replace("./socket.js", "./stream.js")
    (folder / "urql-stream.ts").write_text(over_streams, encoding="utf-8")
    modules = folder / "node_modules"
    (modules / "@adalog").mkdir(parents=True)
    (modules / "@adalog" / "client").symlink_to(CLIENT)
    for installed in (PROTOCOLS, CLIENT):
        for path in (installed / "node_modules").iterdir():
            if not (modules / path.name).exists():
                (modules / path.name).symlink_to(path)
    schema = httpx.get(f"{server.address}/schema", headers=server.headers()).text
    (folder / "schema.graphql").write_text(schema, encoding="utf-8")
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
    _compile_relay(folder)
    return (folder / "issues.graphql").read_text("utf-8")


def _compile_relay(folder: Path) -> None:
    """What Relay's compiler and its plugin for Babel do: the compiler writes a module for each document, and these
    come in place of the texts."""
    settings = {"src": "relay", "schema": "schema.graphql", "language": "javascript", "eagerEsModules": True}
    (folder / "relay.config.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "relay").mkdir()
    (folder / "relay.js").rename(folder / "relay" / "relay.js")
    run("node", str(folder / "node_modules" / "relay-compiler" / "cli.js"), "relay.config.json", folder=folder)
    built = folder / "built"
    (folder / "relay" / "__generated__").rename(built / "__generated__")
    imports: list[str] = []

    def module_of(found: re.Match[str]) -> str:
        imports.append(f'import {found[1]} from "./__generated__/{found[1]}.graphql.js";\n')
        return found[1]

    text = re.sub(
        r"graphql`\s*\w+ (\w+).*?`", module_of, (folder / "relay" / "relay.js").read_text(), flags=re.DOTALL
    )
    (built / "relay.js").write_text("".join(imports) + text, encoding="utf-8")
    (folder / "environment.js").rename(built / "environment.js")


def text_of(issue: dict[str, Any]) -> str:
    """The issue as `page.tsx` shows it."""
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


def put_through(
    server: TrackerServer,
    document: str,
    until_shown: Callable[[list[dict[str, Any]]], object],
    tokens: Callable[[], int],
) -> None:
    """Random transactions, and a server that is killed and started again, while tokens expire. until_shown: waits
    for the issues. tokens: how many were fetched by the page that fetched the fewest."""
    changes = RandomChanges(25)
    until_shown(server.issues(document))
    number = 0
    # There are more of them where tokens have not expired by then.
    while number < TRANSACTIONS or number % _CHECKED or tokens() < _TOKENS:
        server.transact(changes.transaction())
        if number == TRANSACTIONS // 2:
            server.stop(signal.SIGKILL)
            server.start()
        number += 1
        if number % _CHECKED == 0:
            issues = server.issues(document)
            until_shown(issues)
    assert len(issues) == SHOWN
