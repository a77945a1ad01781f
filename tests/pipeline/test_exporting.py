"""Exports, without Spark: folders and files, what is in them, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword, identity
from adalog.pipeline.exporting.edn_columns import texts_of
from adalog.pipeline.exporting.export import export
from adalog.pipeline.exporting.folder import folder_names, read_manifest
from adalog.pipeline.exporting.origin import ExportOrigin
from adalog.pipeline.exporting.schema import movable
from adalog.pipeline.exporting.value_columns import TooLarge, column_of
from adalog.store.database import Database
from adalog.store.tries.columns import Columns
from tests.pipeline.exports_in_process import exported, held, in_edn, in_parquet, lines, loaded, said
from tests.pipeline.pipeline_in_process import InProcess

SCHEMA = """[
 {:db/ident :person/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one :db/doc "a \\"name\\""}
 {:db/ident :person/tag :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
 {:db/ident :person/knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :person/empty :db/valueType :db.type/uuid :db/cardinality :db.cardinality/one}]"""
DATA = '[{:db/id 1 :person/name "Ada" :person/tag [:x :y] :person/knows [2 3]} {:db/id 2 :person/name "Bob"}]'


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        database.transact(DATA)
        yield database


def test_a_folder_for_each_attribute(database: Database, tmp_path: Path) -> None:
    outcome, manifest = exported(database.snapshot(), tmp_path / "out")
    assert (outcome.t, outcome.datoms, outcome.attributes, outcome.files) == (2, 6, 4, 4)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("manifest.json", "person.empty", "person.knows", "person.name", "person.tag", "schema.edn")
    ]
    (name,) = (tmp_path / "out" / "person.name").iterdir()
    table = pq.read_table(name)
    assert table.schema.remove_metadata() == pa.schema(
        [
            pa.field(name, kind, nullable=False)
            for name, kind in (("e", pa.int64()), ("v", pa.string()), ("t", pa.int64()))
        ]
    )
    assert table.to_pylist() == [{"e": 1, "v": "Ada", "t": 2}, {"e": 2, "v": "Bob", "t": 2}]
    (empty,) = (tmp_path / "out" / "person.empty").iterdir()
    assert pq.read_table(empty).num_rows == 0
    assert outcome.bytes == sum(path.stat().st_size for path in (tmp_path / "out").glob("*/*.parquet"))
    assert {each.attribute: each.datoms for each in manifest.attributes}[":person/tag"] == 2
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "out").rglob("*"))


def test_lines_of_edn_and_the_schema(database: Database, tmp_path: Path) -> None:
    database.transact('[[:db/add 1 :person/name "Eve"] [:db/add "datomic.tx" :db/doc "why"]]')
    exported(database.at(history=True), tmp_path / "out", "edn")
    assert list(lines(tmp_path / "out")) == [
        *("[1 :person/knows 2 2 true]", "[1 :person/knows 3 2 true]"),
        *('[1 :person/name "Ada" 2 true]', '[1 :person/name "Ada" 3 false]'),
        *('[1 :person/name "Eve" 3 true]', '[2 :person/name "Bob" 2 true]'),
        *("[1 :person/tag :x 2 true]", "[1 :person/tag :y 2 true]"),
    ]
    instants = (tmp_path / "out" / "db.txInstant").glob("*")
    assert len(next(instants).read_text().splitlines()) == 3
    schema = edn.read((tmp_path / "out" / "schema.edn").read_text())
    assert schema[0] == edn.read(SCHEMA)[0]
    # What is said of a transaction is said of what stands for it.
    assert schema[-1] == edn.read(f'{{:db/id {2**41 - 2**38 + 3} :db/doc "why"}}')
    with Database.open(":memory:") as other:
        other.transact((tmp_path / "out" / "schema.edn").read_text())
        assert {
            str(each.ident): each.kind.value_type
            for each in other.snapshot().attributes()
            if ":db" not in str(each.ident)
        } == {
            ":person/name": "string",
            ":person/tag": "keyword",
            ":person/knows": "ref",
            ":person/empty": "uuid",
        }


def test_as_of_with_the_schema_of_then(database: Database, tmp_path: Path) -> None:
    database.transact('[{:db/ident :late :db/valueType :db.type/long} [:db/add 1 :person/name "Eve"]]')
    exported(database.at(t=2), tmp_path / "out")
    assert in_parquet(tmp_path / "out") == said(database.at(t=2))
    assert not (tmp_path / "out" / "late").exists()


def test_no_history_shows_what_still_holds(tmp_path: Path) -> None:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact("[{:db/ident :n :db/valueType :db.type/long :db/noHistory true}]")
        for number in (1, 2):
            database.transact(f"[[:db/add 1 :n {number}] [:db/add 2 :n 5]]")
        exported(database.at(history=True), tmp_path / "all", "edn")
        exported(database.at(t=2), tmp_path / "then", "edn")
        assert in_edn(tmp_path / "all") == said(database.at(history=True))
        assert in_edn(tmp_path / "then") == said(database.at(t=2))


def test_entity_ranges(tmp_path: Path) -> None:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact("[{:db/ident :n :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]")
        e = np.repeat(np.arange(0, 900, 3), 10)
        database.bulk_load([], {Keyword("n"): (e, np.arange(len(e)))})
        database.compact()
        database.transact("[[:db/retract 0 :n 0] [:db/add 901 :n 5] [:db/add 3 :n -1]]")
        for view in (database.snapshot(), database.at(history=True), database.at(t=2)):
            out = tmp_path / f"{view.t}-{view.is_history}"
            _, manifest = exported(view, out, rows=700)
            (attribute,) = [each for each in manifest.attributes if each.attribute == ":n"]
            assert len(attribute.files) == 5
            assert all(file.datoms < 1400 for file in attribute.files)
            assert in_parquet(out) == said(view)


def test_values_of_another_time(tmp_path: Path) -> None:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact('[{:db/ident :v :db/valueType :db.type/string} {:db/id 1 :v "a"}]')
        database.transact('[[:db/retract 1 :v "a"]]')
        database.transact("[{:db/ident :v :db/valueType :db.type/long} {:db/id 1 :v 5}]")
        history = database.at(history=True)
        exported(history, tmp_path / "edn", "edn")
        assert in_edn(tmp_path / "edn") == said(history)
        with pytest.raises(AdalogError) as caught:
            exported(history, tmp_path / "parquet")
        assert caught.value.code is Code.ARG_INVALID
        assert ":v had values of other types before it became a long" in caught.value.message
        assert not (tmp_path / "parquet").exists()
        exported(database.snapshot(), tmp_path / "parquet")
        wanted = held(database.snapshot())
    with Database.open(str(tmp_path / "other")) as other:
        outcome, _ = loaded(
            other, tmp_path, {"format": "adalog", "path": str(tmp_path / "edn"), "ids": "keep"}, max_errors=2
        )
        # What it was before it was a long is not read; nothing of it holds.
        assert (outcome.rejected, held(other.snapshot())) == (2, wanted)
        [file] = (tmp_path / "quarantine").iterdir()
        told = [json.loads(line) for line in file.read_text().splitlines()]
        assert {each["reason"] for each in told} == {":v: the value is not a long"}
        written = Path(told[0]["file"]).read_text().splitlines()
        assert [each["row"]["value"] for each in told] == [written[each["line"] - 1] for each in told]


@pytest.mark.parametrize("value_type", ["string", "bytes"])
def test_large_values_are_cut(value_type: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adalog.pipeline.exporting.value_columns._MOST_BYTES", 40)
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(f"[{{:db/ident :v :db/valueType :db.type/{value_type}}}]")
        values = [f"{n}: not few letters" for n in range(9)]
        given = values if value_type == "string" else [value.encode() for value in values]
        database.bulk_load([], {Keyword("v"): (np.arange(9), given)})
        view = database.snapshot()
        with pytest.raises(TooLarge):
            column_of(view.codes, view.columns_of(view.schema.get(Keyword("v")).id).v, value_type)  # type: ignore[union-attr]
        exported(view, tmp_path / "parquet")
        exported(view, tmp_path / "edn", "edn")
        assert in_parquet(tmp_path / "parquet") == in_edn(tmp_path / "edn") == said(view)


def test_texts_are_what_the_writer_writes() -> None:
    with Database.open(":memory:") as database:
        codes = database.snapshot().codes.fork()
        for value_type, texts in {
            "string": ['""', '"a"', '"\\\\ \\" \\n\\t\\r\\b\\f\\u0000\\u007f"', '"é😀"'],
            "long": ["0", "-9223372036854775808", "9223372036854775807", "7"],
            "double": ["0.0", "-1.5", "##NaN", "##Inf", "##-Inf", "1.0"],
            "keyword": [":a", ":a/b"],
            "symbol": ["a", "a/b"],
            "boolean": ["true", "false"],
            "uuid": ['#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"'],
            "instant": ['#inst "2024-05-01T00:00:00.123-00:00"', '#inst "0001-01-01T00:00:00.000-00:00"'],
            "bigint": ["5N", "-123456789012345678901234567890N"],
            "bigdec": ["1.5M", "0M"],
            "uri": ['#uri "http://a/b"'],
            "duration": ['#duration "P1M-2DT3H"', '#duration "PT0S"'],
            "bytes": ['#bytes "AAEC"', '#bytes ""'],
            "tuple": ['[1 "a" nil :k]'],
        }.items():
            values = [edn.read(text) for text in texts]
            v = np.array([codes.intern(value) for value in values], np.int64)
            assert texts_of(codes, v, value_type).to_pylist() == [edn.write(value) for value in values] == texts


def test_folder_names() -> None:
    idents = [
        *("person/name", "name", "a.b/c", "a/b.c", "..", "../x", "_x/y", "ns/Name", "ns/name", "naïve/é"),
        *("manifest/json", "schema/edn", "Schema/edn", "database"),
        *("a/b?", "a/b!", "x/" + "long" * 60, "x/" + "long" * 60 + "er", "camelCase/keeps", "a-b/c_d", "a/%b"),
    ]
    names = folder_names(map(Keyword, idents))
    assert len({name.lower() for name in names.values()}) == len(idents)
    assert all(name.isascii() and len(name) < 200 and name[0] not in "._" for name in names.values())
    assert not any(set(name) & set('/\\:*?"<>| ') for name in names.values())
    told = {ident: names[Keyword(ident)] for ident in idents}
    assert (told["person/name"], told["name"], told["a-b/c_d"]) == ("person.name", "name", "a-b.c_d")
    assert not {"manifest.json", "schema.edn"} & {name.lower() for name in names.values()}
    assert told["camelCase/keeps"] == "camelCase.keeps"
    assert (told["ns/Name"], told["ns/name"]) == ("ns.%4eame", "ns.name")
    assert (told[".."], told["../x"], told["_x/y"]) == ("%2e%2e", "%2e%2e.x", "%5fx.y")
    assert (told["a.b/c"], told["a/b.c"]) == ("a%2eb.c", "a.b%2ec")


def test_ids_that_move() -> None:
    ids = np.array([0, 5, 2**41 - 1, 2**41 + 1000, 2**42 + 7, -1, 2**43, -(2**63)])
    assert movable(ids).tolist() == [0, 5, 2**41 - 1, 2**41 - 2**37 + 1000, 2**41 - 2**38 + 7, -1, -1, -1]


class Failing(InProcess):
    """A runner whose second task fails, as some attempts at a task do."""

    def each(self, stage: str, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        assert items
        work(items[0])
        raise AdalogError(Code.BACKEND_UNAVAILABLE, "gone")


def test_what_fails_leaves_nothing(database: Database, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    for name in ("here", "there"):
        with pytest.raises(AdalogError, match="gone"):
            export(database.snapshot(), Failing(), tmp_path / name, "parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "here"]
    assert not any((tmp_path / "here").iterdir())
    exported(database.snapshot(), tmp_path / "here")


class Twice(InProcess):
    """A runner that does each task twice, and knows the files of the second time."""

    def each(self, stage: str, work: Callable[[Any], Any], items: Sequence[Any], *rows: Any) -> list[Any]:
        super().each(stage, work, items, *rows)
        return super().each(stage, work, items, *rows)


def test_a_task_done_twice(database: Database, tmp_path: Path) -> None:
    outcome = export(database.snapshot(), Twice(), tmp_path / "out", "parquet")
    assert len(list((tmp_path / "out").glob("*/*.parquet"))) == outcome.files
    assert in_parquet(tmp_path / "out") == said(database.snapshot())


def test_a_folder_with_something_in_it_is_refused(database: Database, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    (tmp_path / "file").write_text("")
    for name, message in (("full", "full is not empty"), ("file", "file is no folder")):
        with pytest.raises(AdalogError, match=message) as caught:
            exported(database.snapshot(), tmp_path / name)
        assert caught.value.code is Code.ARG_INVALID


def test_an_export_that_is_not_whole_is_not_imported(database: Database, tmp_path: Path) -> None:
    exported(database.snapshot(), tmp_path / "out")
    (name,) = (tmp_path / "out" / "person.name").iterdir()
    source = {"format": "adalog", "path": str(tmp_path / "out")}
    content = name.read_bytes()
    manifest = tmp_path / "out" / "manifest.json"
    said = manifest.read_text()
    for spoil, message in (
        (lambda: name.write_bytes(content[:-1]), "the export is not whole: .* bytes, and had"),
        (name.unlink, "the export is not whole: .*No such file"),
        (lambda: manifest.write_text(said.replace('"person.name"', '"../x"')), r"names '\.\./x', which is no name"),
        (lambda: manifest.write_text("{}"), "does not say what an export holds"),
        (lambda: manifest.write_text(json.dumps({"version": 9})), "is of format 9, made by a later version"),
        (manifest.unlink, "is no folder that `adalog export` wrote"),
    ):
        spoil()
        with pytest.raises(AdalogError, match=message) as caught:
            loaded(database, tmp_path, source)
        assert caught.value.code is Code.ARG_INVALID


def test_columns_between_and_cuts(tmp_path: Path) -> None:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact("[{:db/ident :n :db/valueType :db.type/long}]")
        for number in range(40):
            database.transact(f"[[:db/add {number % 7} :n {number}] [:db/add {number + 9} :n {number % 3}]]")
            if number % 9 == 0:
                database.compact()
        attribute = database.snapshot().schema.get(Keyword("n"))
        assert attribute is not None
        for view in (
            database.snapshot(),
            database.at(t=12),
            database.at(history=True),
            database.at(t=30, history=True),
        ):
            whole = view.columns_of(attribute.id)
            for size in (1, 10, 1000):
                cuts = view.data_of(attribute.id).cuts(size)
                assert cuts == sorted(set(cuts))
                bounds = [-(2**63), *cuts, 2**63 - 1]
                parts = [view.columns_between(attribute.id, *each) for each in pairwise(bounds)]
                _same(Columns.concat(parts), whole)
        since = database.at(t=30, since=20)
        _same(since.columns_between(attribute.id, 0, 99), since.columns_of(attribute.id))


def _same(one: Columns, other: Columns) -> None:
    for name in ("e", "v", "t", "added"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


def test_the_manifest_names_idents(database: Database, tmp_path: Path) -> None:
    database.transact("[{:db/id 5 :db/ident :five} {:db/ident :open}]")
    _, manifest = exported(database.snapshot(), tmp_path / "out")
    assert manifest.idents[":five"] == 5
    assert manifest.idents[":open"] == database.snapshot().entid(Keyword("open"))
    assert read_manifest(ExportOrigin(str(tmp_path / "out"))) == manifest
    assert identity(manifest.t) == 3


@pytest.mark.parametrize("form", ["parquet", "edn"])
@pytest.mark.parametrize("history", [False, True])
def test_principals_are_in_histories_and_no_obstacle_to_an_import(
    form: str, history: bool, database: Database, tmp_path: Path
) -> None:
    t = database.submit('[[:db/add 1 :person/name "Countess"]]', principal="ann").result().t
    out = tmp_path / "out"
    _, manifest = exported(database.at(history=history), out, form)
    own = [each for each in manifest.attributes if each.attribute == ":db/principal"]
    assert [each.datoms for each in own] == ([1] if history else [])
    assert "principal" not in (out / "schema.edn").read_text()
    if history and form == "edn":
        (file,) = (out / "db.principal").iterdir()
        assert edn.read(file.read_text()) == (2**42 + t, Keyword("db/principal"), "ann", t, True)
    with Database.open(str(tmp_path / "other")) as other:
        loaded(other, tmp_path, {"path": str(out), "format": "adalog", "ids": "keep"}, principal="bob")
        assert held(other.snapshot()) == held(database.snapshot())
        assert [each.v for each in other.snapshot().datoms("AEVT", [Keyword("db/principal")])] == ["bob"]
