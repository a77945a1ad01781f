"""A folder that another process has can be read: its newest snapshot, with nothing written or waited for."""

from __future__ import annotations

from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.sources import read_folder


def numbers(snapshot: Snapshot) -> list[int]:
    return [datom.v for datom in snapshot.datoms("AEVT", [Keyword("n")])]


def test_what_another_has_open(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact("[{:db/ident :n :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]")
        database.transact("[{:db/id 1 :n [1 2 3]}]")
        assert numbers(read_folder(str(tmp_path))) == [1, 2, 3]
        database.compact()
        database.transact("[{:db/id 1 :n 4}]")
        held = read_folder(str(tmp_path))
        assert (numbers(held), held.t) == ([1, 2, 3, 4], 3)
        database.transact("[[:db/retract 1 :n 1]]")
        database.compact()
        database.compact()
        # What was read stays readable while the other goes on.
        assert numbers(held) == [1, 2, 3, 4]
        assert numbers(Snapshot.from_manifest(held.manifest())) == [1, 2, 3, 4]
        assert numbers(read_folder(str(tmp_path))) == [2, 3, 4]
        assert numbers(read_folder(str(tmp_path)).as_of(2)) == [1, 2, 3]
    with Database.open(str(tmp_path)) as database:
        assert numbers(database.snapshot()) == [2, 3, 4]


@pytest.mark.parametrize("name", ["nowhere", "postgresql://host/db", "file"])
def test_no_database(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    location = name if "://" in name else str(tmp_path / name)
    with pytest.raises(AdalogError) as caught:
        read_folder(location)
    assert caught.value.code is Code.BACKEND_UNAVAILABLE
    assert not (tmp_path / "nowhere").exists()
