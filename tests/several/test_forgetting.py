"""After an excision no process on one log, and no place that several share, has files with what went."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from adalog.store.database import Database
from tests.gateway.cli.command_line import adalog
from tests.pipeline.pipeline_in_process import imported
from tests.pipeline.test_importing import mapping
from tests.postgres_servers import PostgresServer
from tests.property.excised_model import shown
from tests.store.writer.test_excision import EXCISE, SECRET, filled, holding
from tests.waiting import until


def test_processes_that_share_a_folder(tmp_path: Path) -> None:
    with filled(tmp_path):
        pass
    with Database.open(str(tmp_path), shared=True) as one, Database.open(str(tmp_path), shared=True) as other:
        one.compact()
        kept = other.snapshot()
        rows = shown(kept)
        t = other.transact(EXCISE).t
        until(lambda: not holding(tmp_path))
        until(lambda: one.snapshot().t == t)
        assert shown(one.snapshot()) == shown(other.snapshot()) < rows
        assert shown(kept) == rows
        one.transact('[{:name "After"}]')
        assert other.transact('[{:name "Last"}]').t == t + 2
    with Database.open(str(tmp_path)) as database:
        assert SECRET not in str(shown(database.snapshot()))


def test_gateways_that_share_files_on_a_server(tmp_path: Path, postgres: PostgresServer) -> None:
    address, segments = postgres.new_database(), str(tmp_path / "shared")

    def gateway(name: str) -> Database:
        return Database.open(address, segments=segments, copy=str(tmp_path / name))

    with gateway("one") as one, gateway("two") as two, gateway("three") as three:
        one.transact("[{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}]")
        one.transact(f'[{{:email "ada@{SECRET}" :name "Ada {SECRET}"}} {{:name "Bob"}}]')
        one.compact()
        two.transact(f'[{{:email "ada@{SECRET}" :name "Augusta {SECRET}"}}]')
        one.compact()
        two.compactor.follow()
        assert {path.split("-")[0] for path in holding(tmp_path)} == {"dictionary"}
        t = three.transact(f'[{{:db/excise [:email "ada@{SECRET}"]}}]').t
        until(lambda: not holding(tmp_path))
        for each in (one, two, three):
            future = each.reached(t)
            if future is not None:
                future.result(20)
            assert SECRET not in str(shown(each.snapshot()))
            each.transact('[{:name "After"}]')
    with gateway("four") as database:
        assert SECRET not in str(shown(database.snapshot()))


def test_files_of_imports(tmp_path: Path) -> None:
    data = tmp_path / "data"
    people = pa.table({"id": ["a", "b"], "name": [f"Ada {SECRET}", "Bob"]})
    with Database.open(str(data)) as database:
        database.transact(
            "[{:db/ident :person/id :db/valueType :db.type/string :db/unique :db.unique/identity}"
            " {:db/ident :person/name :db/valueType :db.type/string}]"
        )
        imported(database, tmp_path, mapping({"person/name": "name"}), {"people": people})
        assert any(name.startswith("imported") for name in holding(data))
        database.transact('[{:db/excise [:person/id "a"]}]')
        until(lambda: not holding(data))
        assert {row[2] for row in shown(database.snapshot())} == {"'b'", "'Bob'"}


def last(text: str) -> dict[str, object]:
    said: dict[str, object] = json.loads(text.strip().splitlines()[-1])
    return said


def test_the_command_line(tmp_path: Path) -> None:
    data, out, texts = str(tmp_path / "data"), str(tmp_path / "out"), tmp_path / "texts"
    with filled(Path(data)):
        pass
    texts.write_text(f"ada@{SECRET}\nNot there\n")
    assert adalog("backup", "--data", data, out).exit_code == 0
    found = adalog("check", "--data", data, "--search-file", str(texts))
    assert found.exit_code == 1
    assert "text 1 is there" in found.stdout
    assert SECRET not in found.stdout
    assert adalog("check", out, "--search", SECRET).exit_code == 1
    done = adalog("transact", "--data", data, EXCISE)
    assert done.exit_code == 0, done.output
    clean = adalog("check", "--data", data, "--search-file", "-", stdin=texts.read_text())
    assert clean.exit_code == 0, clean.output
    assert last(clean.stdout)["found"] == 0
    listed = adalog("backup", "--list", "--data", data, out)
    assert last(listed.stdout)["holds"] == [6]
    assert "holds" not in last(adalog("backup", "--list", out).stdout)
    rewritten = adalog("backup", "--rewrite", "--data", data, out)
    assert last(rewritten.stdout)["rewritten"] == [1]
    assert last(adalog("backup", "--list", "--data", data, out).stdout)["holds"] == []
    assert adalog("check", out, "--search", SECRET).exit_code == 0
    for wrong in (
        ("backup", "--rewrite", "--list", out),
        ("backup", "--rewrite", "--keep", "1", "--data", data, out),
        ("backup", "--rewrite", "--url", "http://127.0.0.1:9", out),
        ("check", "--data", data, "--deep", "--search", "a"),
        ("check", "--data", data, "--search", ""),
    ):
        assert adalog(*wrong).exit_code == 2, wrong
