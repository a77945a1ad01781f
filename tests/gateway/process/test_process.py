"""The process and its files: what it makes is private, what is damaged is one sentence, and files that run out."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import resource
import socket
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.gateway.connections.wire import Wire
from adalog.gateway.identity.auth import Tokens, check_tokens
from adalog.gateway.process import descriptors
from adalog.gateway.process.cursor_key import cursor_key
from adalog.gateway.server import _unheard
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError, Settings
from adalog.store.database import Database
from tests.gateway.connections.test_wire import Client, refusal
from tests.gateway.process.test_shutdown import SERVE, serving
from tests.gateway.support import gateway

KEY = "cursor.key"


def settings_of(folder: Path) -> Settings:
    folder.mkdir(exist_ok=True)
    return Settings(data=str(folder))


# The key of cursors


def test_the_key_is_made_once_and_private(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "data")
    before = os.umask(0)
    try:
        key = cursor_key(settings)
    finally:
        os.umask(before)
    assert cursor_key(settings) == key
    assert stat.S_IMODE((tmp_path / "data" / KEY).stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "data") == [KEY]


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_key_that_is_none_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    settings = settings_of(tmp_path / "data")
    (tmp_path / "data" / KEY).write_bytes(content)
    with pytest.raises(SettingError, match=f"has 32 bytes, this file {len(content)}. Delete it"):
        cursor_key(settings)


def test_a_key_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "data")
    (tmp_path / "data" / KEY).mkdir()
    with pytest.raises(SettingError, match="cannot be used: Is a directory"):
        cursor_key(settings)


def test_the_command_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    Database.open(str(folder)).close()
    (folder / KEY).write_bytes(b"")
    ended = subprocess.run(
        [sys.executable, "-c", SERVE, "serve", "--port", "0", "--data", str(folder)],
        env={**os.environ, "ADALOG_SPARK": "off"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert "cursor.key is damaged" in line


# The file of tokens

LINE = f"ann:read:{hashlib.sha256(b'red').hexdigest()}\n"


def test_tokens_that_are_no_utf_8(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_bytes(b"\xff\xfe" + LINE.encode("utf-16-le"))
    with pytest.raises(SettingError, match="no text in UTF-8"):
        Tokens.load(str(tmp_path / "tokens"))


def test_tokens_that_are_a_folder(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no file of bearer tokens"):
        checked(Settings(auth=str(tmp_path)))
    with pytest.raises(SettingError, match="cannot be read: Is a directory"):
        Tokens.load(str(tmp_path))


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, False), (0o644, True), (0o620, True)])
def test_tokens_that_others_can_read(
    tmp_path: Path, mode: int, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokens"
    path.write_text(LINE)
    path.chmod(mode)
    check_tokens(Settings(auth=str(path)))
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * warned
    assert warned == ("chmod 600" in caplog.text)
    assert "ann" not in caplog.text


def test_failed_logins_are_counted_and_tokens_stay_unsaid(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "tokens"
    path.write_text(LINE)
    path.chmod(0o600)
    body = {"query": "{ database { basisT } }"}
    with caplog.at_level(logging.DEBUG), gateway(Settings(data=":memory:", auth=str(path))) as opened:
        for authorization in ("Bearer guessed-token", "Basic guessed-token", "Bearer guessed-again", None):
            headers = {} if authorization is None else {"Authorization": authorization}
            answer = opened.http.post("/graphql", json=body, headers=headers)
            assert answer.status_code == 401
            assert "guessed" not in answer.text
        text = opened.http.get("/metrics", headers={"Authorization": "Bearer red"}).text
    for why, count in (("missing", 1), ("malformed", 1), ("unknown", 2)):
        assert f'adalog_authentication_failures_total{{why="{why}"}} {count}.0' in text
    assert "guessed" not in caplog.text
    assert "red" not in text.replace("adalog_query", "")[: text.find("adalog_requests")]


# What is not foreseen


def test_an_unforeseen_error_has_graphql_s_form_and_the_headers() -> None:
    with gateway() as opened:

        async def fails(*_: object) -> None:
            raise RuntimeError("a secret detail")

        opened.app.router.routes[-1].app = fails  # type: ignore[attr-defined]
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(opened.app, raise_app_exceptions=False), base_url="http://localhost"
        )
        answer = opened.http._runner.run(client.get("/metrics"))
        opened.http._runner.run(client.aclose())
    assert answer.status_code == 500
    (error,) = answer.json()["errors"]
    assert error["extensions"]["code"] == "INTERNAL"
    assert "secret detail" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"},
        {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"},
    ],
)
def test_preflights_have_the_headers(headers: dict[str, str]) -> None:
    with gateway(Settings(data=":memory:", allowed_origins="https://app.example")) as opened:
        answer = opened.http.request("OPTIONS", "/graphql", headers=headers)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_a_refused_coding_has_the_headers() -> None:
    with gateway() as opened:
        answer = opened.http.get("/healthz", headers={"Accept-Encoding": "identity;q=0, br"})
    assert answer.status_code == 406
    assert "frame-ancestors" in answer.headers["content-security-policy"]


# Files that run out


def test_fewer_connections_where_there_are_fewer_descriptors(caplog: pytest.LogCaptureFixture) -> None:
    wire = Wire(Settings(data=":memory:", connections=1000))
    wire.fit(5000)
    assert wire.most == 1000
    wire.fit(1000)
    assert wire.most == 744
    wire.fit(30)
    assert wire.most == 15
    assert "ulimit -n" in caplog.text


def test_the_soft_limit_is_raised() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = descriptors.free()
    assert 0 < free < before[0]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[0] // 2, before[1]))
        assert descriptors.free() < free
        descriptors.allow_many()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= before[0] // 2
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_descriptors_used_up(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Database.open(str(folder)) as database:
        database.transact("[[:db/add 1 :n 1]]")
    most = 80
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({most}, {most})); {SERVE}"
    with serving(folder, program=limited) as server, contextlib.ExitStack() as stack:
        host, port = server.address.removeprefix("http://").split(":")

        def check() -> None:
            answer = server.q("[:find ?e . :where [?e :n 1]]").json()
            assert answer == {"data": {"q": {"value": 1}}}

        check()
        for _ in range(3 * most):
            with contextlib.suppress(ConnectionError):
                half = stack.enter_context(socket.create_connection((host, int(port)), timeout=20))
                half.sendall(b"POST /graphql HTTP/1.1\r\nHost: localhost\r\n")
        with contextlib.closing(Client(server.address)) as another:
            headers = refusal(another, 503, "RATE_LIMITED")
            assert headers["retry-after"] == "1"
        stack.close()
        server.until("adalog_connections", 1)
        check()
        assert server.transact("[[:db/add 2 :n 2]]").json() == {"data": {"transact": {"t": 2}}}
        server.stop()
        assert server.process.returncode == 0
        assert "Traceback" not in server.log()


def test_a_refusal_that_nobody_hears_is_no_incident(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.new_event_loop()
    try:
        _unheard(loop, {"message": "never retrieved", "exception": AdalogError(Code.TIMEOUT, "too late")})
        assert not caplog.records
        _unheard(loop, {"message": "never retrieved", "exception": ValueError("a defect")})
        assert "a defect" in caplog.text
    finally:
        loop.close()
