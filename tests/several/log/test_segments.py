"""Gateways on one server share what one of them folded; the log stays the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.log.publication import Publication, Published
from adalog.store.log.server import ServerLog
from tests.pipeline.pipeline_in_process import imported
from tests.pipeline.test_importing import SCHEMA
from tests.postgres_servers import PostgresServer
from tests.several.log.logs import caught_up, file_opening, state

Opening = Callable[..., Database]


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.fixture
def opening(address: str, tmp_path: Path) -> Iterator[Opening]:
    with ExitStack() as opened:

        def one(copy: str | None = None, **more: Any) -> Database:
            folder = None if copy is None else str(tmp_path / copy)
            segments = str(tmp_path / "shared")
            return opened.enter_context(Database.open(address, segments=segments, copy=folder, **more))

        yield one


def fill(database: Database, start: int, count: int) -> None:
    ids = range(start, start + count)
    adds = " ".join(f'[:db/add {n} :n {n % 97}] [:db/add {n} :name "name {n}"]' for n in ids)
    database.transact(f"[{adds}]")


def files(database: Database) -> set[str]:
    """The names of the files that its relations are mapped from."""
    data = database.snapshot().data()
    return {segment.file for each in data.values() for segment in each.relation.segments}


def test_what_one_folded_the_others_take_over(opening: Opening) -> None:
    a, b = opening(), opening()
    # Too few for b to fold them in the background first.
    fill(a, 1, 3000)
    a.transact("[[:db/retract 1 :n 1]]")
    caught_up([a, b])
    a.compact()
    assert files(a)
    b.compactor.follow()
    assert files(b) == files(a)
    assert state(a) == state(b)
    fill(b, 9000, 10)
    c = opening()
    assert files(c) == files(a), "a new gateway begins with it"
    caught_up([a, b, c])
    assert state(a) == state(b) == state(c)


def test_one_folds_and_another_when_it_has_gone(opening: Opening, tmp_path: Path) -> None:
    a, b = opening("a"), opening("b")
    fill(a, 1, 3000)
    caught_up([a, b])
    a.compact()
    before = {path.name for path in (tmp_path / "shared").rglob("*.seg")}
    fill(a, 5000, 3000)
    caught_up([a, b])
    b.compact()
    assert {path.name for path in (tmp_path / "shared").rglob("*.seg")} == before, "it is not its turn"
    a.close()
    b.compact()
    assert {path.name for path in (tmp_path / "shared").rglob("*.seg")} > before
    again = opening("a")
    caught_up([b, again])
    assert files(again) == files(b)
    assert state(again) == state(b)


def test_a_holder_that_was_paused_publishes_nothing(address: str) -> None:
    log = ServerLog(address)
    first, second = Publication(log.engine), Publication(log.engine)
    try:
        token = first.lease()
        assert token == 1
        assert second.lease() is None
        assert first.publish(Published(5, token), keep=2)
        expire(log)
        assert second.lease() == 2
        assert not first.publish(Published(6, token), keep=2)
        assert first.lease() is None
        assert second.publish(Published(7, 2), keep=2)
        assert second.publish(Published(8, 2), keep=2)
        assert second.published() == [(8, 2), (7, 2)]
        expire(log)
        assert second.lease() == 3, "whoever comes back late is another one"
    finally:
        first.close()
        second.close()
        log.close()


def expire(log: ServerLog) -> None:
    with log.engine.connect() as connection:
        connection.exec_driver_sql("UPDATE leases SET until = now() - interval '1 second'")


@pytest.mark.parametrize("harm", ["cut", "changed", "missing", "checkpoint"])
def test_damaged_shared_files_are_done_without(opening: Opening, tmp_path: Path, harm: str) -> None:
    a = opening("a")
    fill(a, 1, 3000)
    a.compact()
    shared = tmp_path / "shared"
    largest = max(shared.rglob("*.seg"), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    if harm == "cut":
        largest.write_bytes(content[: len(content) // 2])
    elif harm == "changed":
        content[len(content) // 2] ^= 1
        largest.write_bytes(content)
    elif harm == "missing":
        largest.unlink()
    else:
        next(shared.rglob("*.json")).write_text("{}")
    b = opening("b")
    assert not files(b)
    assert state(a) == state(b)


def test_a_place_that_is_away_stops_nobody(opening: Opening, tmp_path: Path, address: str) -> None:
    a = opening("a")
    fill(a, 1, 3000)
    (tmp_path / "file").write_text("no folder")
    with Database.open(address, segments=str(tmp_path / "file"), copy=str(tmp_path / "b")) as b:
        fill(b, 4000, 3000)
        b.compact()
        caught_up([a, b])
        assert state(a) == state(b)


def test_a_copy_is_of_one_database(postgres: PostgresServer, opening: Opening, tmp_path: Path) -> None:
    opening("a").close()
    with pytest.raises(AdalogError) as caught:
        Database.open(postgres.new_database(), segments=str(tmp_path / "shared"), copy=str(tmp_path / "a"))
    assert caught.value.code is Code.ARG_INVALID
    file_opening(tmp_path / "own")().close()
    with pytest.raises(AdalogError) as caught:
        opening("own")
    assert "a database of its own" in caught.value.message


def test_old_files_go_when_nothing_names_them(opening: Opening, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("adalog.store.checkpoint.shared_checkpoints._LEFT_SECONDS", -60.0)
    a = opening("a")
    for round_ in range(6):
        fill(a, 1 + 20_000 * round_, 4000)
        a.compact()
    published = a.compactor._folding._publication.published()  # type: ignore[attr-defined]
    assert len(published) == 2
    shared = {path.name for path in (tmp_path / "shared").rglob("*.json")}
    assert shared == {each.file for each in published}
    b = opening("b")
    assert state(a) == state(b)


def test_neighbours_in_one_folder(tmp_path: Path) -> None:
    one = file_opening(tmp_path / "data")
    with one() as a, one() as b:
        fill(a, 1, 6000)
        caught_up([a, b])
        a.compact()
        b.compactor.follow()
        assert files(b) == files(a) != set()
        fill(b, 9000, 3000)
        caught_up([a, b])
        assert state(a) == state(b)
        a.compact()
        a.compact()
        b.compactor.follow()
        assert files(b) == files(a)
        assert state(a) == state(b)


def test_an_import_is_everywhere(opening: Opening, tmp_path: Path) -> None:
    a, b = opening("a"), opening("b")
    a.transact(SCHEMA)
    caught_up([a, b])
    mapping = {
        "sources": {
            "people": {
                "path": "people.parquet",
                "entity": {"attribute": "person/id", "column": "id"},
                "attributes": {"person/name": "name"},
            }
        }
    }
    for database, people in ((a, ["x", "y", "z"]), (b, ["y", "new"])):
        table = pa.table({"id": people, "name": [f"{each} {len(people)}" for each in people]})
        outcome, rejected = imported(database, tmp_path, mapping, {"people": table})
        assert outcome.accepted
        assert not rejected
        caught_up([a, b])
    assert state(a) == state(b)
    names = sorted(each.v for each in b.snapshot().datoms("AEVT", [Keyword("person/name")]))
    assert names == ["new 2", "x 3", "y 2", "z 3"]
    c = opening("c")
    assert state(c) == state(a)


def test_an_import_without_a_place_is_refused(address: str, tmp_path: Path) -> None:
    with Database.open(address, copy=str(tmp_path / "copy")) as database:
        with pytest.raises(AdalogError) as caught, database.unfinished():
            pass
        assert "ADALOG_SEGMENTS" in caught.value.message
