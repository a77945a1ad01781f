"""Fixtures of the tests of backups: a database with a checkpoint and an import, and an empty place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adalog.store.checkpoint import compactor
from adalog.store.database import Database
from adalog.store.files.place import LocalPlace
from tests.pipeline.pipeline_in_process import imported
from tests.pipeline.test_importing import SCHEMA, mapping
from tests.store.backup.support import PEOPLE, grow


@pytest.fixture(autouse=True)
def folds_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactor, "_ENOUGH", 10**9)
    monkeypatch.setattr(compactor, "_LEAST", 1)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a checkpoint, an import in its log, and entries after it."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch, Database.open(str(folder / "data")) as database:
        patch.setattr(compactor, "_LEAST", 1)
        database.transact(SCHEMA)
        imported(database, folder, mapping({"person/name": "name"}), {"people": PEOPLE})
        for number in range(5):
            grow(database, number)
        database.compact()
        for number in range(5, 8):
            grow(database, number)
        database.submit("[[:db/add 1 :n 99]]", idempotency_key="once").result()
    return folder / "data"


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "data")


@pytest.fixture
def place(tmp_path: Path) -> LocalPlace:
    return LocalPlace(tmp_path / "out")
