"""`--url`: how an address may be written, and one clear sentence for each thing that is no adalog."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from adalog.gateway.settings.config import Settings
from tests.gateway.cli.command_line import adalog
from tests.gateway.support import FAMILY, SCHEMA, gateway, served

COUNT = "[:find (count ?n) . :where [_ :person/name ?n]]"


@contextmanager
def answering(status: int, body: bytes, **headers: str) -> Iterator[str]:
    """The address of a server that answers everything so."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("ending", ["", "/", "/graphql", "/graphql/"])
@pytest.mark.parametrize("scheme", ["http://", ""])
def test_ways_to_write_an_address(address: str, scheme: str, ending: str) -> None:
    url = scheme + address.removeprefix("http://") + ending
    assert adalog("query", "--url", url, "--format", "json", COUNT).stdout == "4\n"


@pytest.mark.parametrize(
    ("status", "body", "headers", "why"),
    [
        (404, b"<h1>Not Found</h1>", {}, "answered 404 with something that is not GraphQL"),
        (200, b'{"status": "ok"}', {}, "answered 200 with something that is not GraphQL"),
        (200, b"[1]", {}, "not GraphQL"),
        (200, b"", {}, "not GraphQL"),
        (200, b'{"data": [1]}', {}, "not GraphQL"),
        (500, b'{"errors": "no"}', {}, "answered 500 with something that is not GraphQL"),
        (500, b'{"errors": ["no"]}', {}, "not GraphQL"),
        (301, b"", {"Location": "https://db.example.org/graphql"}, "points to https://db.example.org/graphql"),
    ],
)
def test_other_servers(status: int, body: bytes, headers: dict[str, str], why: str) -> None:
    with answering(status, body, **headers) as url:
        result = adalog("query", "--url", url, COUNT)
    assert result.exit_code == 3
    assert result.stderr.count("\n") == 1
    assert why in result.stderr
    assert url in result.stderr


def test_messages_do_not_steer_the_terminal() -> None:
    with answering(200, b'{"errors": [{"message": "a\\u001b[31m\\nb", "extensions": {"code": "TIMEOUT"}}]}') as url:
        assert adalog("query", "--url", url, COUNT).stderr == "TIMEOUT a\\x1b[31m\nb\n"


def test_errors_that_say_little() -> None:
    with answering(200, b'{"errors": [{"extensions": {"code": "ODD"}}]}') as url:
        result = adalog("query", "--url", url, COUNT)
    assert (result.exit_code, result.stderr) == (1, "INTERNAL no message\n")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9", "https://127.0.0.1:9", "127.0.0.1:9/graphql", "ftp://x", "http://["]
)
def test_nobody_there(url: str) -> None:
    result = adalog("query", "--url", url, COUNT)
    assert result.exit_code == 3
    assert result.stderr.count("\n") == 1
    assert "adalog serve" in result.stderr


def test_https_to_a_server_without_it(address: str) -> None:
    result = adalog("query", "--url", address.replace("http:", "https:"), COUNT)
    assert result.exit_code == 3
    assert "SSL" in result.stderr


def test_tokens(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"reader:read:{hashlib.sha256(b'secret').hexdigest()}\n", "utf-8")
    settings = Settings(data=":memory:", port=0, auth=str(tokens))
    with gateway(settings, SCHEMA, FAMILY) as opened, served(opened.app, settings) as url:
        say = ("query", "--url", url, "--format", "json", COUNT)
        for words in ((), ("--token", "wrong"), ("--token", "sécret")):
            result = adalog(*say, *words)
            assert result.exit_code == 1
            assert result.stderr.startswith("UNAUTHENTICATED ")
            assert "--token" in result.stderr
        assert adalog(*say, "--token", "secret").stdout == "4\n"
        assert adalog(*say, ADALOG_TOKEN="secret").stdout == "4\n"
        refused = adalog("transact", "--url", url, "--token", "secret", "[]")
        assert (refused.exit_code, refused.stderr.startswith("FORBIDDEN")) == (1, True)
