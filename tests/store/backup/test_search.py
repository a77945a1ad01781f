"""A search finds a text wherever it is, and nothing where it is not."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from adalog.store.backup.creation import take
from adalog.store.backup.progress import NO_PROGRESS
from adalog.store.backup.rewriting import rewrite
from adalog.store.backup.search import TextSearch, search_backups, search_data
from adalog.store.database import Database
from adalog.store.files.place import LocalPlace
from tests.store.writer.test_excision import EXCISE, SECRET, filled


def places(search: Callable[[TextSearch], None], *texts: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    search(TextSearch(texts, lambda where, number: found.append((where, number))))
    return found


def in_data(path: Path, *texts: str) -> list[tuple[str, int]]:
    return places(lambda search: search_data(str(path), search, NO_PROGRESS), *texts)


def in_backups(place: LocalPlace, *texts: str) -> list[tuple[str, int]]:
    return places(lambda search: search_backups(place, search, NO_PROGRESS), *texts)


def test_a_text_is_found_until_it_is_excised_everywhere(tmp_path: Path) -> None:
    place = LocalPlace(tmp_path / "backups")
    with filled(tmp_path / "data") as database:
        take(database.source(), place)
        found = [where for where, _ in in_data(tmp_path / "data", SECRET)]
        assert {"log.sqlite: transaction 2", "log.sqlite: transaction 5"} <= set(found)
        assert any(where.startswith("segments/dictionary") for where in found)
        assert any(where.endswith(": transaction 2") for where, _ in in_backups(place, SECRET))
        assert any(where.startswith("files/") for where, _ in in_backups(place, SECRET))
        database.transact(EXCISE)
        database.compactor._clean()
        rewrite(database.source(), place)
        assert in_data(tmp_path / "data", SECRET) == in_backups(place, SECRET) == []
        assert in_data(tmp_path / "data", "Bob", SECRET) != []


def test_what_is_compressed_is_found(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact(f'[{{:name "{SECRET}"}} {" ".join(f"{{:n {each}}}" for each in range(2000))}]')
        assert ("log.sqlite: transaction 1", 1) in in_data(tmp_path, SECRET)
        assert SECRET.encode() not in next(database.log.entries(1, 2, 1)).payload


def test_uuids_and_keywords(tmp_path: Path) -> None:
    uuid = uuid4()
    with Database.open(str(tmp_path)) as database:
        database.transact(f'[{{:id #uuid "{uuid}" :is :some/keyword}}]')
    assert {number for _, number in in_data(tmp_path, str(uuid), "some/keyword", str(uuid4()))} == {1, 2}


def test_neighbouring_values_are_not_a_text(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact('[[:db/add 1 :name "xyAda"]]')
        database.transact('[[:db/add 1 :name "Byron"]]')
        database.compact()
        [segment] = [
            path for path in (tmp_path / "segments").glob("dictionary*") if b"AdaByron" in path.read_bytes()
        ]
        assert in_data(tmp_path, "AdaByron") == []
        assert (f"segments/{segment.name}", 1) in in_data(tmp_path, "xyAda")


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_a_text_across_pieces_is_counted_once(piece: int) -> None:
    found: list[tuple[str, int]] = []
    search = TextSearch(["abab"], lambda *told: found.append(told))
    content = b"--abab--" * 3
    search.read("it", (content[at : at + piece] for at in range(0, len(content), piece)))
    assert found == [("it", 1)]
    search.read("other", (b"aba", b"-b"))
    assert found == [("it", 1)]


def test_free_pages_are_searched(tmp_path: Path) -> None:
    """As an earlier version left them, and also halves of a text that two pages had."""
    with Database.open(str(tmp_path)) as database:
        database.transact("[{:n 1}]")
    text = "a text that is long enough to be in two pages"
    log = sqlite3.connect(tmp_path / "log.sqlite")
    log.execute("PRAGMA secure_delete = OFF")
    log.execute("CREATE TABLE t (v)")
    log.execute("INSERT INTO t VALUES (?)", (f"{text} " * 1000,))
    log.commit()
    log.execute("DELETE FROM t")
    log.commit()
    log.close()
    assert {where for where, _ in in_data(tmp_path, text)} == {"log.sqlite", "log.sqlite, in part"}
