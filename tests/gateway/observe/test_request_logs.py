"""Numbers of requests, and lines of the log: as text and as JSON, of requests and of slow queries."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from adalog.executor.bounds.client import ASKING, Client
from adalog.gateway.observe.logs import JsonLines, TextLines
from adalog.gateway.opening import open_database, start_pool
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import Settings
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway, served

Q = "query ($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args) { rows } }"
BORN = "[:find ?n :in $ ?word :where [?p :person/name ?n] [(not= ?n ?word)]]"
HEAVY = "[:find (count ?a) . :where [?a :n ?x] [?b :n ?y] [?c :n ?z] [(+ ?x ?y ?z) ?s] [(< ?s 0)]]"
NUMBERS = "[" + " ".join(f"{{:n {number}}}" for number in range(250)) + "]"


class Lines:
    """What is logged meanwhile, by one formatter."""

    def __init__(self, formatter: logging.Formatter) -> None:
        self._stream = io.StringIO()
        self.handler = logging.StreamHandler(self._stream)
        self.handler.setFormatter(formatter)

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    def of(self, logger: str) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.text.splitlines()]
        return [each for each in found if each["logger"] == logger]


@contextmanager
def logged(formatter: logging.Formatter) -> Iterator[Lines]:
    lines = Lines(formatter)
    root = logging.getLogger()
    level = root.level
    root.addHandler(lines.handler)
    root.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        root.removeHandler(lines.handler)
        root.setLevel(level)


@contextmanager
def opened_with(*transactions: str, **more: Any) -> Iterator[Gateway]:
    """A gateway whose pool, too, is as the settings say."""
    settings = checked(Settings(data=":memory:", **more))
    with open_database(settings) as database:
        pool = start_pool(database, settings, spark=False)
        try:
            for text in transactions:
                database.transact(text)
            opened = Gateway(database, pool, settings)
            with opened.app.state.hub:
                yield opened
            opened.http.close()
        finally:
            pool.close()


# Numbers


@pytest.fixture(scope="module")
def plain() -> Iterator[Gateway]:
    with gateway(Settings(data=":memory:"), SCHEMA, FAMILY) as found:
        yield found


@pytest.mark.parametrize("given", ["a", "req-1", "4bf92f3577b34da6", "a:b/c=d.e_f+g", "x" * 128])
def test_an_answer_repeats_the_number_of_its_request(plain: Gateway, given: str) -> None:
    for path in ("/graphql?query={__typename}", "/graphql?query={", "/healthz", "/nowhere"):
        assert plain.http.get(path, headers={"X-Request-Id": given}).headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", " ", "a b", "x" * 129, "a\tb", '"a"', "é", "-a", "{}", "a\x1b[2J"])
def test_what_is_no_number_is_replaced(plain: Gateway, given: str) -> None:
    headers = [(b"x-request-id", given.encode())]
    first, second = (plain.http.get("/healthz", headers=headers).headers["x-request-id"] for _ in range(2))
    assert first != second
    assert len(first) == 16
    assert int(first, 16) >= 0


def test_refusals_and_handshakes_have_numbers(plain: Gateway) -> None:
    refused = plain.http.get("/healthz", headers={"Host": "evil.example", "X-Request-Id": "n1"})
    assert (refused.status_code, refused.headers["x-request-id"]) == (403, "n1")
    with served(plain.app) as address:
        url = address.replace("http", "ws", 1) + "/graphql"
        given = {"X-Request-Id": "n2"}
        with connect(url, subprotocols=["graphql-transport-ws"], additional_headers=given) as socket:  # type: ignore[list-item]
            assert socket.response is not None
            assert socket.response.headers["x-request-id"] == "n2"
        assert httpx.get(f"{address}/graphql", headers=given).headers["x-request-id"] == "n2"


# Lines


def test_requests_are_logged_if_asked_for_and_without_their_arguments() -> None:
    with opened_with(SCHEMA, FAMILY, log_requests=True) as opened, logged(JsonLines()) as lines:
        for number in range(2):
            asked = {"query": BORN, "args": ["a secret argument"]}
            body = {"query": Q, "variables": asked}
            opened.http.post("/graphql", json=body, headers={"X-Request-Id": f"r{number}"})
        opened.http.post("/graphql", json={"query": "{ nope }"}, headers={"X-Request-Id": "bad"})
    first, second, bad = lines.of("adalog.requests")
    assert (first["requestId"], second["requestId"], bad["requestId"]) == ("r0", "r1", "bad")
    assert (first["fields"], first["codes"], bad["codes"]) == (["q"], ["OK"], ["QUERY_INVALID"])
    assert first["principal"] == "127.0.0.1"
    assert first["level"] == "info"
    assert first["seconds"] > 0
    assert (first["status"], first["client"], first["operation"]) == (200, "127.0.0.1", None)
    assert "secret argument" not in lines.text
    with gateway(Settings(data=":memory:")) as quiet, logged(JsonLines()) as lines:
        quiet.post("{ __typename }")
    assert not lines.of("adalog.requests")


def test_a_request_s_line_has_its_operation_and_its_status() -> None:
    graphql = {"Accept": "application/graphql-response+json"}
    with opened_with(SCHEMA, log_requests=True) as opened, logged(JsonLines()) as lines:
        body = {"query": "query One { __typename } query Two { __typename }", "operationName": "Two"}
        opened.http.post("/graphql", json=body, headers=graphql)
        opened.http.post("/graphql", json={"query": "{ nope }"}, headers=graphql)
        opened.http.post("/graphql", content=b"{", headers={**graphql, "Content-Type": "application/json"})
    found = [(each["operation"], each["status"], each["client"]) for each in lines.of("adalog.requests")]
    assert found == [("Two", 200, "127.0.0.1"), (None, 400, "127.0.0.1"), (None, 400, "127.0.0.1")]


def test_unforeseen_errors_are_logged_with_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened_with(SCHEMA) as opened, logged(JsonLines()) as lines:

        def broken(*_: Any) -> None:
            raise ZeroDivisionError("a bug")

        monkeypatch.setattr(opened.pool.engine, "rows", broken)
        monkeypatch.setattr(opened.pool.engine, "run", broken)
        body = {"query": Q, "variables": {"query": BORN, "args": [""]}}
        answer = opened.http.post("/graphql", json=body, headers={"X-Request-Id": "oops"})
    assert answer.json()["errors"][0]["extensions"]["code"] == "INTERNAL"
    (line,) = lines.of("adalog.graphql")
    assert line["requestId"] == "oops"
    assert "ZeroDivisionError" in line["exception"]


def test_no_text_from_outside_looks_like_a_line_of_the_log() -> None:
    record = logging.makeLogRecord({"msg": "a query:\n2026-01-01 ERROR adalog forged", "levelname": "INFO"})
    ASKING.set(Client("ada", 1, id="r1"))
    try:
        first, *rest = TextLines().format(record).split("\n")
        assert first.endswith("a query: [r1]")
        assert rest == ["    2026-01-01 ERROR adalog forged"]
        assert json.loads(JsonLines().format(record))["message"].endswith("forged")
        assert "\n" not in JsonLines().format(record)
    finally:
        ASKING.set(Client())


def test_a_line_says_which_worker_writes_it() -> None:
    record = logging.makeLogRecord({"msg": "said", "levelname": "INFO", "name": "adalog"})
    assert TextLines(2).format(record).endswith("INFO adalog worker 2: said")
    assert json.loads(JsonLines(2).format(record))["worker"] == 2
    assert TextLines().format(record).endswith("INFO adalog said")
    assert "worker" not in json.loads(JsonLines().format(record))


def test_nothing_from_outside_says_anything_to_a_terminal() -> None:
    record = logging.makeLogRecord({"msg": "a query: \x1b[2J\x07\x9b1m\u202eevil\ttab é", "levelname": "INFO"})
    assert TextLines().format(record).endswith("a query: \\x1b[2J\\x07\\x9b1m\\u202eevil\ttab é")


def test_whatever_a_server_says_is_json(tmp_path: Path) -> None:
    """Its first line, what threads and finalisers fail with, warnings, and why it ends."""
    code = (
        "import sys, threading, warnings\n"
        "from adalog.gateway import cli, server\n"
        "from adalog.gateway.observe.logs import start_logging\n"
        "from adalog.datalog.errors import AdalogError, Code\n"
        "class Odd:\n    def __del__(self): raise ValueError('in a finaliser')\n"
        "def run(settings, out, begins):\n"
        "    start_logging(settings)\n    begins()\n"
        "    thread = threading.Thread(target=lambda: 1 / 0, name='odd')\n"
        "    thread.start()\n    thread.join()\n    Odd()\n"
        "    warnings.warn('a\\nwarning', UserWarning)\n"
        "    raise AdalogError(Code.BACKEND_UNAVAILABLE, 'the folder is taken')\n"
        "server.run = run\n"
        "cli.main(['serve', '--data', sys.argv[1], '--log-format', 'json'])\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "new")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    new, thread, finaliser, warning, last = lines
    assert new["message"].startswith("creating a new database in ")
    assert "ZeroDivisionError" in thread["exception"]
    assert thread["message"] == "the thread odd failed"
    assert "in a finaliser" in finaliser["exception"]
    assert "a\nwarning" in warning["message"]
    assert (last["level"], last["code"], last["message"]) == (
        "critical",
        "BACKEND_UNAVAILABLE",
        "the folder is taken",
    )
    assert done.returncode == 3


# Slow queries


def test_slow_queries_are_logged_with_their_plan() -> None:
    with opened_with(SCHEMA, FAMILY, slow_query_seconds=0.000_001) as opened:
        with logged(JsonLines()) as lines:
            for number in range(2):
                # The second is answered from the cache, which takes no time.
                asked = {"query": BORN, "args": ["hunter2"]}
                opened.http.post(
                    "/graphql", json={"query": Q, "variables": asked}, headers={"X-Request-Id": f"r{number}"}
                )
        with logged(TextLines()) as text:
            opened.q(BORN + " ", "other")
    (line,) = lines.of("adalog.slow")
    assert line["requestId"] == "r0"
    assert (line["query"], line["arguments"], line["rows"]) == (BORN, 1, 4)
    assert (line["engine"], line["cache"], line["code"], line["basisT"]) == ("LOCAL", "miss", "OK", 2)
    assert line["seconds"] > 0
    assert line["waitedSeconds"] >= 0
    assert line["lane"] == "LIGHT"
    assert ":person/name ?n]" in line["plan"]
    assert "hunter2" not in lines.text
    assert "\n    1. ?n: about" in text.text


def test_a_slow_query_that_fails_is_logged_too() -> None:
    with opened_with(NUMBERS, slow_query_seconds=0.05, timeout_ms=100) as opened, logged(JsonLines()) as lines:
        answer = opened.post(Q, query=HEAVY).json()
        assert answer["errors"][0]["extensions"]["code"] == "TIMEOUT"
        while not lines.of("adalog.slow"):
            opened.post("{ __typename }")
    (line,) = lines.of("adalog.slow")
    # The client may have left before the deadline.
    assert line["code"] in ("TIMEOUT", "CANCELLED")
    assert line["rows"] is None
    assert "?a :n ?x" in line["plan"]


def test_long_texts_are_shortened_and_quick_queries_are_not_logged() -> None:
    long = '[:find ?n :where [?p :person/name ?n] [(not= ?n "' + "x" * 5_000 + '")]]'
    with opened_with(SCHEMA, FAMILY, slow_query_seconds=0.000_001) as opened, logged(JsonLines()) as lines:
        opened.q(long)
    (line,) = lines.of("adalog.slow")
    assert len(line["query"]) < 2_100
    with opened_with(SCHEMA, FAMILY, slow_query_seconds=3600.0) as opened, logged(JsonLines()) as lines:
        opened.q(BORN, "a")
    assert not lines.of("adalog.slow")


@pytest.mark.parametrize("formatter", [TextLines(), JsonLines()], ids=["text", "json"])
def test_keys_within_addresses_are_in_no_line(formatter: logging.Formatter) -> None:
    logger = logging.getLogger("adalog.test")
    with logged(formatter) as lines:
        logger.warning(
            "cannot open %s", "s3://key:s3cret@bucket/in?secret_key=s3cret", extra={"place": "s3://k:s3cret@b"}
        )
        try:
            raise OSError("redis://:s3cret@redis:6379 is away, password=s3cret")
        except OSError:
            logger.exception("an incident")
    assert "s3://***@bucket/in?secret_key=***" in lines.text
    assert "redis://***@redis:6379 is away" in lines.text
    assert "s3cret" not in lines.text.replace('redis://:s3cret@redis:6379 is away, password=s3cret")\n', "")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_every_line_of_a_server_is_json(tmp_path: Path, workers: str) -> None:
    environment = {
        "ADALOG_LOG_FORMAT": "json",
        "ADALOG_WORKERS": workers,
        "ADALOG_NONE": "1",
        "ADALOG_SPARK": "off",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", "from adalog.gateway.cli import main; main()", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment, "ADALOG_SPARK": "off", "ADALOG_DATA": str(tmp_path / "data")},
    )
    assert process.stdout is not None
    banner = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert banner["message"].startswith("adalog serves")
    assert banner["level"] == "info"
    lines = [json.loads(line) for line in (out + err).splitlines()]
    assert any("ADALOG_NONE is no setting" in line["message"] for line in lines)


def test_settings_that_are_wrong_are_told_as_json(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from adalog.gateway.cli import main; main()", "serve", "--port", "http"]
    done = subprocess.run(
        [*words, "--log-format", "json"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    (line,) = map(json.loads, done.stderr.splitlines())
    assert line["level"] == "critical"
    assert "--port" in line["message"]
