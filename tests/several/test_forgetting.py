"""After an excision no process on one log, and no place that several share, has files with what went."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from adalog.store.backup.check import check_data
from adalog.store.backup.creation import take
from adalog.store.backup.restoration import restore
from adalog.store.database import Database
from adalog.store.files.place import LocalPlace
from adalog.store.values.blocks.sparse_block import SparseBlock
from tests.gateway.cli.command_line import adalog
from tests.pipeline.pipeline_in_process import imported
from tests.pipeline.test_importing import mapping
from tests.postgres_servers import PostgresServer
from tests.property.excised_model import shown, state
from tests.several.fleet import Fleet, ask, serving
from tests.store.writer.test_excision import EXCISE, MAPPING, SCHEMA, SECRET, filled, holding
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
        # As gateways leave behind that are killed while they send a checkpoint, or an import.
        (shared,) = (path.parent for path in (tmp_path / "shared").glob("*/files"))
        (shared / "imported").mkdir()
        for name in (
            "files/.dictionary-9-00000000.seg.tmp",
            "files/dictionary-9-00000000.seg",
            "imported/.9-0.tmp",
        ):
            (shared / name).write_text(SECRET)
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


def test_workers_read_dictionaries_that_lack_what_went(tmp_path: Path) -> None:
    data, count = tmp_path / "data", 40
    with Database.open(str(data)) as database:
        database.transact("[{:db/ident :v :db/valueType :db.type/string}]")
        for number in range(5):
            forms = (
                f'[:db/add {e} :v "{"last" if number == 4 else SECRET} {number} of {e}"]' for e in range(count)
            )
            database.transact(f"[{' '.join(forms)}]")
        database.transact("[{:db/ident :v :db/retainTransactions 1}]")
        database.retain()
        database.compact()
        assert any(isinstance(each, SparseBlock) for each in database.snapshot().codes.dictionaries()[1].parts()[0])

    def entities(fleet: Fleet, text: str) -> list[Any]:
        query = f'[:find ?e :where [?e :v "{text}"]]'
        asked = [
            ask(fleet.url, "query($q: EDN!) { q(query: $q) { rows } }", q=query)["q"]["rows"] for _ in range(6)
        ]
        assert all(each == asked[0] for each in asked), text
        return list(asked[0])

    with serving(data, 2) as fleet:
        fleet.until_ready(2)
        for e in (0, 7, count - 1):
            assert entities(fleet, f"last 4 of {e}") == [[e]]
            assert entities(fleet, f"{SECRET} 2 of {e}") == []
        write = "mutation($tx: EDN!) { transact(tx: $tx) { t } }"
        ask(fleet.url, write, tx=f'[[:db/add 100 :v "{SECRET} 2 of 7"] [:db/add 101 :v "last 4 of 7"]]')
        assert entities(fleet, f"{SECRET} 2 of 7") == [[100]]
        assert sorted(entities(fleet, "last 4 of 7")) == [[7], [101]]
        ask(fleet.url, write, tx="[{:db/excise 100}]")
        until(lambda: not holding(data))
        assert entities(fleet, f"{SECRET} 2 of 7") == []
    assert check_data(str(data), deep=True).findings == []


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


def test_imports_that_stay_are_left_on_a_server(tmp_path: Path, postgres: PostgresServer) -> None:
    """An excision removes the files of imports that the log does not name any more, and no other one."""
    address, segments = postgres.new_database(), str(tmp_path / "shared")
    people = pa.table({"email": [f"ada@{SECRET}", "bob"], "name": [f"Ada {SECRET}", "Bob"]})
    others = pa.table({"email": ["eve"], "name": ["Eve"]})

    def gateway(name: str) -> Database:
        return Database.open(address, segments=segments, copy=str(tmp_path / name))

    with gateway("one") as one:
        one.transact(SCHEMA)
        imported(one, tmp_path, MAPPING, {"people": people})
        imported(one, tmp_path, MAPPING, {"people": others})
        one.transact(EXCISE)
        until(lambda: not holding(tmp_path / "shared") + holding(tmp_path / "one"))
        one.compactor._clean()
        expected = state(one)
        checked = check_data(address, segments=segments, deep=True)
        assert (checked.findings, checked.unread) == ([], None)
        logged = [str(list(report.datoms)) for report in one.transactions(2, 4, 2)]
    assert ["bob" in logged[0], "eve" in logged[1]] == [True, True]
    with gateway("three") as three:
        assert state(three) == expected
        place = LocalPlace(tmp_path / "backups")
        take(three.source(), place)
    restore(place, tmp_path / "restored")
    with Database.open(str(tmp_path / "restored")) as restored:
        assert shown(restored.snapshot()) == expected[0]
