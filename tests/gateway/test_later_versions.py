"""Every command refuses a folder, a place of backups and an export that a later version wrote, and names it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from adalog.store.backup.catalogue import OWNER
from adalog.store.database import Database
from adalog.store.files.formats import BACKUPS
from tests.gateway.cli.command_line import adalog, command, environ
from tests.store.backup.support import back_up
from tests.store.log.test_earlier_versions import content
from tests.store.log.test_later_versions import raise_checkpoint, raise_log

SAID = "made by adalog 0.9.1; this is adalog"
MAPPING = "sources: {a: {path: a.parquet, entity: {attribute: n, column: n}, attributes: {}}}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with Database.open(str(tmp_path / "data")) as database:
        database.transact("[{:db/ident :n :db/unique :db.unique/identity :db/valueType :db.type/long}]")
        database.transact("[[:db/add 1 :n 1]]", idempotency_key="k")
        database.compact()
    (tmp_path / "mapping.yaml").write_text(MAPPING)
    (tmp_path / "tx.edn").write_text("[[:db/add 1 :n 1]]")
    return tmp_path / "data"


COMMANDS = (
    ("query", "[:find ?v :where [1 :n ?v]]"),
    ("live", "[:find ?v :where [1 :n ?v]]"),
    ("explain", "[:find ?v :where [1 :n ?v]]"),
    ("pull", "[:n]", "1"),
    ("attributes",),
    ("transact", "--idempotency-key", "k", "tx.edn"),
    ("check",),
    ("backup", "out"),
    ("export", "exported"),
    ("import", "--mapping", "mapping.yaml"),
    ("sample",),
)


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: str(arguments[0]))
def test_a_command_refuses_a_later_folder(folder: Path, arguments: tuple[str, ...]) -> None:
    raise_log(folder)
    before = content(folder)
    name, *more = arguments
    done = adalog(name, "--data", str(folder), *more)
    assert done.exit_code == 1, done.output
    assert SAID in " ".join(done.output.split())
    assert content(folder) == before
    # Neither without a checkpoint, which versions before looked at alone.
    (folder / "checkpoint.json").unlink()
    assert SAID in " ".join(adalog(name, "--data", str(folder), *more).output.split())
    assert not (folder / "checkpoint.json").exists()


@pytest.mark.parametrize(("raised", "workers"), [(raise_log, "1"), (raise_checkpoint, "2")])
def test_serve_refuses_a_later_folder(folder: Path, raised: Callable[[Path], None], workers: str) -> None:
    raised(folder)
    before = content(folder)
    arguments = command("serve", "--data", str(folder), "--port", "0", "--workers", workers)
    done = subprocess.run(
        arguments, capture_output=True, text=True, timeout=60, env=environ(ADALOG_SPARK="off"), check=False
    )
    assert done.returncode == 1, done.stderr
    assert SAID in " ".join(done.stderr.split())
    assert content(folder) == before


def test_commands_refuse_later_backups(folder: Path, tmp_path: Path) -> None:
    from adalog.store.files.place import LocalPlace

    place = LocalPlace(tmp_path / "out")
    back_up(folder, place)
    path = place.path / OWNER
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": BACKUPS.newest + 1, "adalog": "0.9.1"}))
    before = content(place.path)
    for arguments in (
        ("restore", "out", "--data", "restored"),
        ("check", "out"),
        ("backup", "--list", "out"),
        ("backup", "--data", str(folder), "out"),
    ):
        done = adalog(*arguments)
        assert done.exit_code == 1, done.output
        assert SAID in " ".join(done.output.split())
        assert content(place.path) == before
    assert not (tmp_path / "restored").exists()
