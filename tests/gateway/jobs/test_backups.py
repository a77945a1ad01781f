"""`adalog backup`, `restore` and `check`, and backups that a server takes: who may, where, and what is told."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from pydantic import SecretStr

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import stopping
from adalog.executor.pool import Pool
from adalog.gateway.settings.backup_places import BackupPlaces
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError, Settings
from adalog.store.backup.backup_writer import BackupWriter
from adalog.store.backup.catalogue import catalogue
from adalog.store.database import Database
from adalog.store.files.place import LocalPlace
from tests.gateway.bounds import bounded
from tests.gateway.cli.command_line import adalog
from tests.gateway.jobs.test_imports import read
from tests.gateway.support import Gateway, served

SECONDS = 30.0
SECRET = "a secret of more than thirty-two bytes"


def data_in(path: Path) -> Path:
    with Database.open(str(path)) as database:
        for number in range(3):
            database.transact(f"[[:db/add 1 :n {number}]]")
    return path


def last(text: str) -> Any:
    return json.loads(text.strip().splitlines()[-1])


# The command line


def test_there_and_back(tmp_path: Path) -> None:
    data, out = data_in(tmp_path / "data"), tmp_path / "out"
    done = adalog("backup", "--data", str(data), str(out))
    assert done.exit_code == 0, done.output
    said = last(done.stdout)
    assert (said["backup"], said["t"], said["removed"]) == (1, 3, [])
    assert said["bytes"] == said["written"] > 0
    assert last(adalog("backup", "--data", str(data), str(out), "--keep", "1").stdout)["removed"] == [1]
    [line] = adalog("backup", "--list", str(out)).stdout.splitlines()
    assert (json.loads(line)["backup"], json.loads(line)["t"]) == (2, 3)
    assert last(adalog("check", str(out), "--deep").stdout)["damaged"] == 0
    assert last(adalog("restore", str(out), "--data", str(tmp_path / "new")).stdout)["t"] == 3
    assert last(adalog("restore", str(out), "--data", str(tmp_path / "old"), "--t", "2").stdout)["t"] == 2
    found = adalog("query", "--data", str(tmp_path / "old"), "[:find ?v . :where [1 :n ?v]]", "--format", "edn")
    assert found.stdout.strip() == "1"
    then = adalog("restore", str(out), "--data", str(tmp_path / "then"), "--t", "1999-01-01")
    assert last(then.stdout)["t"] == 0
    assert last(adalog("check", "--data", str(tmp_path / "new"), "--deep").stdout)["damaged"] == 0


def test_what_is_refused(tmp_path: Path) -> None:
    data, out = data_in(tmp_path / "data"), tmp_path / "out"
    assert adalog("backup", "--data", str(data), str(out)).exit_code == 0
    missing = adalog("backup", "--data", str(tmp_path / "nothing"), str(out))
    assert (missing.exit_code, "there is no database" in missing.stderr) == (3, True)
    inside = adalog("backup", "--data", str(data), str(data / "out"))
    assert (inside.exit_code, "lies in the data folder" in inside.stderr) == (1, True)
    full = adalog("restore", str(out), "--data", str(data))
    assert (full.exit_code, "is not empty" in full.stderr) == (1, True)
    later = adalog("restore", str(out), "--data", str(tmp_path / "x"), "--t", "9")
    assert (later.exit_code, "BASIS_FUTURE" in later.stderr) == (1, True)
    assert adalog("restore", str(out)).exit_code == 2
    assert adalog("restore", str(out), "--data", ":memory:").exit_code == 2
    assert adalog("backup", "--data", str(data), str(out), "--keep", "0").exit_code == 2
    assert adalog("check", "--data", str(data), str(out)).exit_code == 2
    assert adalog("check", "--data", str(tmp_path / "nothing")).exit_code == 3
    assert adalog("check", str(tmp_path / "nothing")).exit_code == 1
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "nothing").exists()


def test_damage_is_told_with_what_to_do(tmp_path: Path) -> None:
    data, out = data_in(tmp_path / "data"), tmp_path / "out"
    assert adalog("backup", "--data", str(data), str(out)).exit_code == 0
    [chunk] = (out / "log").iterdir()
    chunk.write_bytes(chunk.read_bytes()[:-3])
    done = adalog("check", str(out))
    assert done.exit_code == 1
    where, remedy, summary = done.stdout.strip().splitlines()
    assert where.startswith(f"log/{chunk.name}: it has ")
    assert remedy.startswith("  → it is of backup 1")
    assert json.loads(summary)["damaged"] == 1
    restored = adalog("restore", str(out), "--data", str(tmp_path / "x"))
    assert (restored.exit_code, chunk.name in restored.stderr) == (1, True)
    (data / "cursor.key").write_bytes(b"x")
    folder = adalog("check", "--data", str(data))
    assert (folder.exit_code, "cursor.key: it has 1 bytes" in folder.stdout) == (1, True)


# A server


class Serving:
    """A gateway over a folder, with a place that it may write backups to."""

    def __init__(self, opened: Gateway, address: str, out: Path) -> None:
        self.opened = opened
        self.database = opened.database
        self.address = address
        self.out = out

    def ask(self, to: Any = None, **more: Any) -> httpx.Response:
        headers = more.pop("headers", {})
        wish = {"to": str(self.out) if to is None else to, **more}
        return httpx.post(f"{self.address}/backup", json=wish, timeout=SECONDS, headers=headers)

    def events(self, **more: Any) -> list[tuple[str, Any]]:
        response = self.ask(**more)
        assert response.headers["content-type"].startswith("text/event-stream"), response.text
        return list(read(response.text))


@contextmanager
def serving(tmp_path: Path, **settings: Any) -> Iterator[Serving]:
    out = tmp_path / "backups" / "mine"
    data = data_in(tmp_path / "data")
    with pytest.MonkeyPatch.context() as patch:
        given = bounded(patch, **{"data": str(data), "backup_folders": str(out.parent), **settings})
        yield from _served(given, out)


def _served(given: Settings, out: Path) -> Iterator[Serving]:
    with Database.open(given.data) as database:
        pool = Pool(database)
        opened = Gateway(database, pool, given)
        try:
            with opened.app.state.hub, served(opened.app, given) as address:
                yield Serving(opened, address, out)
            opened.http.close()
        finally:
            opened.app.state.backups.jobs.join()
            pool.close()


def test_a_server_backs_up_while_it_serves(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        events = server.events()
        assert {kind for kind, _ in events[:-1]} == {"progress"}
        assert events[-1][0] == "done"
        assert (events[-1][1]["backup"], events[-1][1]["t"]) == (1, 3)
        server.database.transact("[[:db/add 1 :n 77]]")
        done = adalog("backup", "--url", server.address, str(server.out), "--keep", "1")
        assert done.exit_code == 0, done.output
        assert (last(done.stdout)["t"], last(done.stdout)["removed"]) == (4, [1])
        # And so may whoever can read the folder, though it is served.
        beside = adalog("backup", "--data", str(tmp_path / "data"), str(server.out))
        assert last(beside.stdout)["t"] == 4
        assert last(adalog("check", "--data", str(tmp_path / "data"), "--deep").stdout)["damaged"] == 0
    assert last(adalog("restore", str(server.out), "--data", str(tmp_path / "new")).stdout)["t"] == 4


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        (server.out.parent / "full").mkdir(parents=True)
        (server.out.parent / "full" / "notes").write_text("")
        [(kind, said)] = server.events(to=str(server.out.parent / "full"))[-1:]
        assert kind == "error"
        assert "holds something else" in said["errors"][0]["message"]
        for wish in ({"to": 5}, {"to": ""}, {"keep": 0}, {"keep": True}, {"other": 1}, {"to": "relative"}):
            assert server.ask(**wish).status_code == 400, wish
        for to in ("x\0y", "/x\0y", "file:///x%00y", "file://[::1/x", "s3://bucket/x\0y"):
            assert server.ask(to=to).status_code == 400, to
        got = httpx.get(f"{server.address}/backup")
        assert (got.status_code, got.headers["allow"]) == (405, "POST")
        plain = httpx.post(f"{server.address}/backup", content=b"{}", timeout=SECONDS)
        assert plain.status_code == 400
        for headers in ({"Origin": server.address}, {"Sec-Fetch-Site": "same-origin"}):
            assert server.ask(headers=headers).status_code == 403
        done = adalog("backup", "--url", server.address, str(tmp_path / "elsewhere"))
        assert (done.exit_code, "ADALOG_BACKUP_FOLDERS" in done.stderr) == (1, True)
        assert not (tmp_path / "elsewhere").exists()


def test_roles(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    lines = [f"{role}:{role}:{hashlib.sha256(role.encode()).hexdigest()}" for role in ("read", "write", "admin")]
    tokens.write_text("\n".join(lines))
    tokens.chmod(0o600)
    with serving(tmp_path, auth=str(tokens)) as server:
        assert server.ask().status_code == 401
        for role in ("read", "write"):
            refused = server.ask(headers={"Authorization": f"Bearer {role}"})
            assert refused.status_code == 403
            assert "needs the role admin" in refused.json()["errors"][0]["message"]
        assert not server.out.exists()
        assert server.ask(headers={"Authorization": "Bearer admin"}).status_code == 200
    with serving(tmp_path / "more", auth=str(tokens), backup_folders=None) as server:
        assert server.ask(headers={"Authorization": "Bearer admin"}).status_code == 403


def test_without_a_setting_the_servers_own_user_may_name_any_folder(tmp_path: Path) -> None:
    with serving(tmp_path, backup_folders=None) as server:
        assert server.events()[-1][0] == "done"
        assert server.ask(to="s3://bucket/x").status_code == 403
        proxied = server.ask(headers={"X-Forwarded-For": "192.0.2.1"})
        assert proxied.status_code == 403
    with serving(tmp_path / "more", backup_folders="off") as server:
        assert server.ask().status_code == 403


class Gate:
    """Has a backup wait before its first file."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached = threading.Event()
        self.go_on = threading.Event()
        self.ended = threading.Event()
        real = BackupWriter.run

        def run(own: Any) -> Any:
            self.reached.set()
            try:
                while not self.go_on.wait(0.01):
                    own._watching.bytes(0, 0)
            except BaseException:
                self.ended.set()
                raise
            return real(own)

        monkeypatch.setattr(BackupWriter, "run", run)


def test_one_at_a_time_and_none_is_left_when_the_client_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    with serving(tmp_path) as server:
        asked = {"to": str(server.out)}
        with httpx.stream("POST", f"{server.address}/backup", json=asked, timeout=SECONDS) as first:
            assert first.status_code == 200
            assert gate.reached.wait(SECONDS)
            second = server.ask()
            assert (second.status_code, "retry-after" in second.headers) == (429, True)
            # Whoever writes is not in its way.
            server.database.transact("[[:db/add 1 :n 5]]")
        assert gate.ended.wait(SECONDS)
        server.opened.app.state.backups.jobs.join()
        assert catalogue(LocalPlace(server.out)).backups == []
        gate.go_on.set()
        assert server.events()[-1][1]["t"] == 4


def test_a_server_that_stops_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    with serving(tmp_path) as server:
        asked = {"to": str(server.out)}
        with httpx.stream("POST", f"{server.address}/backup", json=asked, timeout=SECONDS) as stream:
            assert gate.reached.wait(SECONDS)
            server.opened.app.state.backups.jobs.close(stopping())
            events = list(read("".join(stream.iter_text())))
        assert events[-1][0] == "error"
        assert events[-1][1]["errors"][0]["extensions"]["code"] == "BACKEND_UNAVAILABLE"


def test_a_backup_ends_with_the_token_that_asked_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    signed = {"jwt_algorithms": "HS256", "jwt_secret": SecretStr(SECRET), "jwt_clock_skew_seconds": 0.0}
    with serving(tmp_path, **signed) as server:
        claims = {"sub": "ada", "roles": ["admin"]}
        token = jwt.encode({**claims, "exp": time.time() + 1.5}, SECRET, "HS256")
        headers = {"Authorization": f"Bearer {token}"}
        [(kind, said)] = server.events(headers=headers)[-1:]
        assert kind == "error"
        assert said["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
        assert "no backup was taken" in said["errors"][0]["message"]
        assert gate.ended.is_set()
        assert server.ask(headers=headers).status_code == 401
        gate.go_on.set()
        longer = jwt.encode({**claims, "exp": time.time() + 600}, SECRET, "HS256")
        assert server.events(headers={"Authorization": f"Bearer {longer}"})[-1][0] == "done"


def test_a_backup_costs_whoever_asks_for_it(tmp_path: Path) -> None:
    with serving(tmp_path, rate_units=1.0, rate_burst_units=3_000.0) as server:
        assert server.events()[-1][0] == "done"
        refused = server.ask()
        assert (refused.status_code, int(refused.headers["retry-after"]) > 0) == (429, True)
        assert "ADALOG_RATE_UNITS" in refused.json()["errors"][0]["message"]
        assert [each.number for each in catalogue(LocalPlace(server.out)).backups] == [1]


# Places


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("/srv/backups", "/srv/backups"),
        ("/srv/backups/a/../b", "/srv/backups/b"),
        ("file:///srv/backups/a%20b", "/srv/backups/a b"),
        ("s3://bucket/adalog", "s3://bucket/adalog"),
        ("s3://bucket/adalog/x", "s3://bucket/adalog/x"),
        ("s3://own/x", "s3://own/x?region=eu&scheme=http"),
        ("s3://own/x?region=eu&scheme=http", "s3://own/x?region=eu&scheme=http"),
    ],
)
def test_places_that_are_listed(wanted: str, found: str) -> None:
    assert _places().checked(wanted) == found


@pytest.mark.parametrize(
    "wanted",
    [
        *("/srv", "/srv/backups2", "/srv/backups/../x", "/", "file:///etc", "s3://bucket", "s3://bucket/adalog2"),
        *("s3://bucket/adalog/../x", "s3://bucket/adalog/%2e%2e/x", "s3://bucket/adalog?endpoint_override=evil"),
        *("s3://own/x?region=us", "s3://user:secret@bucket/adalog", "gs://bucket/adalog", "s3://bucket/adalog#x"),
    ],
)
def test_places_elsewhere_are_refused(wanted: str) -> None:
    with pytest.raises(AdalogError) as raised:
        _places().checked(wanted)
    assert raised.value.code is Code.FORBIDDEN
    assert "secret" not in raised.value.message


def _places() -> BackupPlaces:
    return BackupPlaces.of("/srv/backups, s3://bucket/adalog ,s3://own?region=eu&scheme=http")


def test_the_setting() -> None:
    with pytest.raises(SettingError, match="ADALOG_BACKUP_FOLDERS: 'out' is neither an absolute path nor"):
        checked(Settings(backup_folders="out"))
    assert BackupPlaces.of("off") == BackupPlaces()
