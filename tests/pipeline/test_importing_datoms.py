"""Imports of datoms, without Spark: lines of EDN and exports; whose ids they have, and what is rejected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from tests.pipeline.exports_in_process import exported, held, loaded

SCHEMA = """[
 {:db/ident :p/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :p/mail :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :p/ssn :db/valueType :db.type/long :db/cardinality :db.cardinality/one :db/unique :db.unique/value}
 {:db/ident :p/tag :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
 {:db/ident :p/score :db/valueType :db.type/double :db/cardinality :db.cardinality/one}
 {:db/ident :p/knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :open}]"""
KEEP = {"format": "edn", "ids": "keep"}
NEW = {"format": "edn"}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        yield database


def facts(database: Database) -> set[tuple[Any, ...]]:
    """What holds of :p/…, entities by their names."""
    rows = [(datom.e, str(datom.a), datom.v) for datom in database.snapshot().datoms("AEVT")]
    names = {e: v for e, a, v in rows if a == ":p/name"}
    names |= {e: v for e, a, v in rows if a == ":db/ident"}
    return {
        (names.get(e, e), a, names.get(v, v) if a == ":p/knows" else v) for e, a, v in rows if a.startswith(":p/")
    }


def test_ids_are_kept(database: Database, tmp_path: Path) -> None:
    lines = ('[7 :p/name "Ada"]', "[7 :p/knows 900]", "[7 :p/knows :open]", '[:open :p/name "o"]', "[8 :p/score 2]")
    outcome, rejected = loaded(database, tmp_path, KEEP, *lines)
    assert (outcome.rows, outcome.entities, outcome.datoms, rejected) == (5, 3, 5, [])
    opened = database.snapshot().entid(Keyword("open"))
    assert held(database.snapshot()) >= {
        *((7, ":p/name", "Ada"), (7, ":p/knows", 900), (7, ":p/knows", opened)),
        *((opened, ":p/name", "o"), (8, ":p/score", ("double", 2.0))),
    }
    new = database.transact('[{:db/id "a" :p/name "A"} {:db/id "b" :p/name "B"}]').tempids
    assert not set(new.values()) & {7, 8, 900}
    again, _ = loaded(database, tmp_path, KEEP, *lines)
    assert again.datoms == 0


def test_new_ids_kept_apart(database: Database, tmp_path: Path) -> None:
    database.transact('[{:db/id 7 :p/name "mine"}]')
    lines = ('[7 :p/name "Ada"]', "[7 :p/knows -4]", '[-4 :p/name "Bob"]', "[17592186045418 :p/knows 7]")
    outcome, rejected = loaded(database, tmp_path, NEW, *lines, rows=1, buckets=2)
    assert (outcome.entities, rejected) == (3, [])
    told = facts(database)
    assert {("mine", ":p/name", "mine"), ("Ada", ":p/name", "Ada"), ("Ada", ":p/knows", "Bob")} <= told
    (third,) = [e for e, a, v in told if a == ":p/knows" and v == "Ada"]
    assert type(third) is int
    assert 0 < third < 100


def test_a_unique_value_means_who_has_it(database: Database, tmp_path: Path) -> None:
    database.transact('[{:p/mail "a@x" :p/name "Ada" :p/score 1.0}]')
    lines = ('[5 :p/mail "a@x"]', "[5 :p/score 2.5]", '[6 :p/mail "b@x"]', '[6 :p/name "Bob"]', "[6 :p/knows 5]")
    outcome, rejected = loaded(database, tmp_path, NEW, *lines, rows=2)
    assert (outcome.datoms, rejected) == (5, [])
    assert facts(database) == {
        *(("Ada", ":p/mail", "a@x"), ("Ada", ":p/name", "Ada"), ("Ada", ":p/score", 2.5)),
        *(("Bob", ":p/mail", "b@x"), ("Bob", ":p/name", "Bob"), ("Bob", ":p/knows", "Ada")),
    }
    again, _ = loaded(database, tmp_path, NEW, *lines)
    assert again.datoms == 0


def test_two_ids_with_one_unique_value(database: Database, tmp_path: Path) -> None:
    outcome, rejected = loaded(database, tmp_path, NEW, '[1 :p/mail "a"]', '[2 :p/mail "a"]', max_errors=1)
    assert (outcome.rejected, rejected) == (1, [("all", 1, ":p/mail is unique, and another entity has this value")])


def test_lines_that_are_rejected(database: Database, tmp_path: Path) -> None:
    no_datom = 'the line is no datom; one is [1 :person/name "Ada"], or [1 :person/name "Ada" 7 true]'
    nobody = "the entity is none: entities are named below 2^41, and no number of adalog's own"
    own = "the attribute is adalog's own, or none; a schema is given in the mapping's `schema`"
    wrong = {
        "[1 :p/name": no_datom,
        '{:p/name "x"}': no_datom,
        '[1 :p/name "x" 5]': ":p/name: the value is not a string",
        '["a" :p/name "x"]': no_datom,
        "[1 2 3]": no_datom,
        '[-1 :p/name "x"]': nobody,
        '[99999999999999 :p/name "x"]': nobody,
        '[:nobody :p/name "x"]': nobody,
        '[:db.type/long :p/name "x"]': nobody,
        "[1 :p/knows :nobody]": ":p/knows: the value is not a ref",
        "[1 :p/knows -1]": ":p/knows: the value is not a ref",
        '[1 :p/knows "x"]': ":p/knows: the value is not a ref",
        "[1 :p/name :x]": ":p/name: the value is not a string",
        "[1 :p/name x y]": ":p/name: the value is not a string",
        "[1 :p/score nil]": ":p/score: the value is not a double",
        "[1 :p/score 1 true]": ":p/score: the value is not a double",
        "[1 :db/doc 1]": own,
    }
    good = '[1 :p/name "x"]'
    for rows in (1, 100):
        outcome, rejected = loaded(database, tmp_path, KEEP, good, *wrong, max_errors=len(wrong), rows=rows)
        assert {row: reason for _, row, reason in rejected} == dict(enumerate(wrong.values(), 1))
    assert (outcome.rows, outcome.rejected) == (len(wrong) + 1, len(wrong))
    refused, _ = loaded(database, tmp_path, KEEP, '[2 :p/name "y"]', "x")
    assert not refused.accepted
    assert facts(database) == {("x", ":p/name", "x")}


def test_spellings_of_a_line(database: Database, tmp_path: Path) -> None:
    lines = (
        '  [1, :p/name , "a b" , 5, true ] ',
        '[ 2 :p/name "a\\"b\\n\\u00e9" ]',
        '[+3 :p/name #_"x" "c" 7 true] ; said',
        "[1 :p/score 1] ",
        "[2 :p/score 1e3]",
        "[3 :p/score -0.25M]",
        "[1 :p/tag #_:a :b]",
        "[2 :p/tag :a.b/c?d]",
        '[4 :p/name "[5 :p/name 6 true]"]',
    )
    _, rejected = loaded(database, tmp_path, KEEP, *lines, max_errors=1)
    assert rejected == [("all", 5, ":p/score: the value is not a double")]
    assert facts(database) == {
        *(("a b", ":p/name", "a b"), ('a"b\né', ":p/name", 'a"b\né'), ("c", ":p/name", "c")),
        *(("a b", ":p/score", 1.0), ('a"b\né', ":p/score", 1000.0)),
        *(("a b", ":p/tag", Keyword("b")), ('a"b\né', ":p/tag", Keyword("a.b/c?d"))),
        ("[5 :p/name 6 true]", ":p/name", "[5 :p/name 6 true]"),
    }


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_lines_are_applied_in_the_order_of_t(database: Database, tmp_path: Path, rows: int) -> None:
    database.transact("[{:db/id 1 :p/tag [:had :keeps]} {:db/id 9 :p/ssn 77}]")
    lines = (
        "[1 :p/tag :c 8 false]",
        "[1 :p/tag :a 5 true]",
        "[1 :p/tag :a 6 false]",
        "[1 :p/tag :a 9 true]",
        "[1 :p/tag :c 5 true]",
        "[1 :p/tag :had 5 false]",
        "[1 :p/tag :never 5 false]",
        '[1 :p/name "new" 9 true]',
        '[1 :p/name "old" 5 true]',
        '[2 :p/name "two" 5 true]',
        '[2 :p/name "two" 6 false]',
        "[9 :p/ssn 77 6 false]",
        "[8 :p/ssn 77 6 true]",
    )
    outcome, rejected = loaded(database, tmp_path, KEEP, *lines, rows=rows)
    assert rejected == []
    assert facts(database) == {
        *(("new", ":p/tag", Keyword("a")), ("new", ":p/tag", Keyword("keeps"))),
        *(("new", ":p/name", "new"), (8, ":p/ssn", 77)),
    }
    again, _ = loaded(database, tmp_path, KEEP, *lines, rows=rows)
    assert (again.datoms, again.t) == (0, outcome.t)
    ended, _ = loaded(database, tmp_path, KEEP, "[8 :p/ssn 77 9 false]", "[8 :p/ssn 76 9 false]")
    assert (ended.datoms, ended.entities) == (1, 1)
    assert not any(a == ":p/ssn" for _, a, _ in facts(database))


def test_two_values_at_one_time_are_contested(database: Database, tmp_path: Path) -> None:
    lines = ('[1 :p/name "a" 5 true]', '[1 :p/name "b" 5 true]', '[1 :p/name "c" 4 true]')
    _, rejected = loaded(database, tmp_path, KEEP, *lines, max_errors=1)
    reason = ":p/name has cardinality one, and an earlier row gives this entity another value"
    assert rejected == [("all", 1, reason)]
    assert facts(database) == {("a", ":p/name", "a")}


def test_attributes_are_declared_by_their_first_use(tmp_path: Path) -> None:
    lines = ('[1 :a "x"]', "[1 :b 1]", "[2 :b 2.5]", '[1 :c #inst "2024"]', "[1 :d [1 2]]", "[1 :e 5N]")
    with Database.open(str(tmp_path / "data")) as database:
        loaded(database, tmp_path, KEEP, *lines)
        types = {
            str(each.ident): (each.kind.value_type, each.kind.cardinality)
            for each in database.snapshot().attributes()
        }
        wanted = {":a": "string", ":b": "double", ":c": "instant", ":d": "tuple", ":e": "bigint"}
        assert {name: types[name] for name in wanted} == {name: (kind, "one") for name, kind in wanted.items()}
        with pytest.raises(AdalogError, match=r"give :z values of several types \(long, string\)"):
            loaded(database, tmp_path, KEEP, "[1 :z 1]", '[2 :z "x"]')
    with (
        Database.open(str(tmp_path / "strict"), schema="strict") as database,
        pytest.raises(AdalogError, match="does not declare :a, :b"),
    ):
        loaded(database, tmp_path, KEEP, '[1 :a "x"]', "[1 :b 1]")


def test_what_an_import_cannot_keep_is_refused(database: Database, tmp_path: Path) -> None:
    database.transact(
        "[{:db/ident :q/even :db/valueType :db.type/long :db.attr/preds [even?]}"
        " {:db/ident :q/both :db/valueType :db.type/tuple :db/tupleAttrs [:p/name :p/ssn]}"
        " {:db/ident :q/refs :db/valueType :db.type/tuple :db/tupleType :db.type/ref}]"
    )
    for source, line, message in (
        (KEEP, "[1 :q/even 2]", ":q/even has :db.attr/preds"),
        (KEEP, '[1 :p/name "x"]', ":p/name is part of :q/both"),
        (KEEP, '[1 :q/both ["x" 1]]', ":q/both is part of :q/both"),
        (NEW, "[1 :q/refs [1 2]]", ":q/refs has tuples that name entities"),
    ):
        with pytest.raises(AdalogError, match=message) as caught:
            loaded(database, tmp_path, source, line)
        assert caught.value.code is Code.ARG_INVALID
    loaded(database, tmp_path, KEEP, "[1 :q/refs [2 500]]")
    assert database.transact('[{:db/id "x" :p/score 1.0}]').tempids["x"] not in (1, 2, 500)


def test_the_schema_may_not_make_entities_beside_ids_that_are_kept(database: Database, tmp_path: Path) -> None:
    schema = tmp_path / "more.edn"
    schema.write_text('[{:p/name "somebody"} {:db/ident :q/n :db/valueType :db.type/long}]')
    with pytest.raises(AdalogError, match="makes entities that have no ident"):
        loaded(database, tmp_path, KEEP, "[1 :q/n 2]", schema=schema)
    schema.write_text("[{:db/ident :q/n :db/valueType :db.type/long}]")
    outcome, _ = loaded(database, tmp_path, KEEP, "[1 :q/n 2]", schema=schema)
    assert outcome.accepted


def test_an_export_into_a_database_with_other_idents(database: Database, tmp_path: Path) -> None:
    database.transact('[{:db/id 1 :p/name "Ada" :p/knows [:open 2]} [:db/add "datomic.tx" :p/name "tx"]]')
    for form in ("parquet", "edn"):
        exported(database.snapshot(), tmp_path / form, form)
        for ids in ("keep", "new"):
            with Database.open(str(tmp_path / f"{form}-{ids}")) as other:
                other.transact("[{:db/ident :other/thing :db/valueType :db.type/long} {:db/ident :open}]")
                opened = other.snapshot().entid(Keyword("open"))
                source = {"format": "adalog", "path": str(tmp_path / form), "ids": ids}
                _, rejected = loaded(other, tmp_path, source)
                assert rejected == []
                assert other.snapshot().entid(Keyword("open")) == opened
                told = facts(other)
                assert ("Ada", ":p/knows", Keyword("open")) in told
                assert {v for _, a, v in told if a == ":p/name"} == {"Ada", "tx"}
                if ids == "keep":
                    assert {v for _, a, v in told if a == ":p/knows"} == {Keyword("open"), 2}
                assert other.transact("[{:db/ident :newer}]").t == 3


@pytest.mark.parametrize("ids", ["keep", "new"])
def test_an_export_beside_its_schema(database: Database, tmp_path: Path, ids: str) -> None:
    database.transact('[{:db/id 1 :p/name "Ada"}]')
    exported(database.snapshot(), tmp_path / "out")
    source = {"format": "adalog", "path": str(tmp_path / "out"), "ids": ids}
    with Database.open(str(tmp_path / "other")) as other:
        for _ in range(2):
            outcome, _ = loaded(other, tmp_path, source, schema=tmp_path / "out" / "schema.edn")
            assert outcome.accepted
            assert {v for _, a, v in facts(other) if a == ":p/name"} == {"Ada"}


def test_composites_come_whole_or_not_at_all(tmp_path: Path) -> None:
    schema = (
        "[{:db/ident :a :db/valueType :db.type/long} {:db/ident :b :db/valueType :db.type/string}"
        " {:db/ident :a+b :db/valueType :db.type/tuple :db/tupleAttrs [:a :b] :db/unique :db.unique/identity}]"
    )
    source = {"format": "adalog", "path": str(tmp_path / "out"), "ids": "keep"}
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(schema)
        database.transact('[{:db/id 1 :a 1 :b "x"} {:db/id 2 :a 2}]')
        exported(database.snapshot(), tmp_path / "out")
        wanted = held(database.snapshot())
    with Database.open(str(tmp_path / "other")) as other:
        loaded(other, tmp_path, source)
        assert held(other.snapshot()) == wanted
        again, _ = loaded(other, tmp_path, source)
        assert again.datoms == 0
        other.transact("[[:db/add 1 :a 5]]")
        with pytest.raises(AdalogError, match=":a\\+b is made of attributes that the database has values of"):
            loaded(other, tmp_path, source)


def test_rows_of_an_export_that_are_rejected(database: Database, tmp_path: Path) -> None:
    database.transact('[{:db/id 1 :p/ssn 5 :p/name "Ada"}]')
    exported(database.snapshot(), tmp_path / "out")
    with Database.open(str(tmp_path / "other")) as other:
        other.transact(SCHEMA)
        other.transact("[{:db/id 2 :p/ssn 5}]")
        source = {"format": "adalog", "path": str(tmp_path / "out"), "ids": "keep"}
        outcome, _ = loaded(other, tmp_path, source, max_errors=1)
        assert (outcome.rejected, outcome.accepted) == (1, True)
        (file,) = (tmp_path / "quarantine").iterdir()
        import json

        written = json.loads(file.read_text())
        assert written["row"] == {"a": ":p/ssn", "e": 1, "v": 5, "t": 2}
        assert written["reason"] == ":p/ssn is unique, and another entity has this value"
        assert written["file"].endswith(".parquet")


def test_what_is_told_of_a_mapping(database: Database, tmp_path: Path) -> None:
    from adalog.pipeline.importing.read.mapping_reader import read_mapping

    file = tmp_path / "mapping.yaml"
    rows = "  r: {path: r.csv, entity: {attribute: p/mail, column: m}}\n"
    for text, message in (
        ("sources:\n  s: {path: x.edn, ids: maybe}\n", "`ids` is keep, or new"),
        ("sources:\n  s: {path: x.edn, entity: {attribute: a, column: b}}\n", "say what they are about"),
        ("sources:\n  s: {path: x.csv, ids: keep, entity: {attribute: a, column: b}}\n", "goes with the formats"),
        (f"sources:\n  s: {{path: x.edn}}\n{rows}", "r has rows and s datoms"),
        ("sources:\n  s: {path: x.edn}\n  t: {path: y.edn, ids: keep}\n", "of all sources or of none"),
        ("sources:\n  s: {path: x.edn}\n  t: {path: y, format: adalog}\n", "is imported alone"),
    ):
        file.write_text(text)
        with pytest.raises(AdalogError) as caught:
            read_mapping(file, {})
        assert message in caught.value.message
    file.write_text("sources:\n  s: {path: x.edn}\n")
    assert read_mapping(file, {"s": "s3a://b/y.edn"}).datoms[0].path == "s3a://b/y.edn"
    with pytest.raises(AdalogError, match="is no address that PyArrow reads and writes"):
        loaded(database, tmp_path, {"format": "adalog", "path": "s3a://bucket/out"})


def test_a_server_reads_datoms_from_its_places_only(database: Database, tmp_path: Path) -> None:
    from adalog.pipeline.importing.read.import_folders import ImportFolders
    from adalog.pipeline.importing.read.mapping_reader import read_mapping

    inside, mapping = tmp_path / "in", tmp_path / "mapping.yaml"
    inside.mkdir()
    (inside / "a.edn").write_text('[1 :p/name "Ada"]\n')
    (tmp_path / "b.edn").write_text("")
    exported(database.snapshot(), inside / "out")
    places = ImportFolders.of(str(inside))

    def checked(source: str) -> tuple[str, ...]:
        mapping.write_text(f"sources: {{s: {{{source}}}}}")
        return places.checked(read_mapping(mapping, {})).datoms[0].files

    assert checked("path: in/*.edn") == (str((inside / "a.edn").resolve()),)
    assert checked("path: in/out, format: adalog") == (str((inside / "out").resolve()),)
    (folder, *_) = (inside / "out").glob("p.*")
    for source in (
        "path: b.edn",
        "path: in/../b.edn",
        "path: out, format: adalog",
        "path: 's3a://bucket/a.edn'",
        "path: in/a.edn, options: {fs.defaultFS: x}",
    ):
        with pytest.raises(AdalogError) as caught:
            checked(source)
        assert caught.value.code is Code.FORBIDDEN
    (folder / "part-9.parquet").symlink_to(tmp_path / "b.edn")
    with pytest.raises(AdalogError, match="imports nothing from"):
        checked("path: in/out, format: adalog")
    (folder / "part-9.parquet").unlink()
    (inside / "b").mkdir()
    with pytest.raises(AdalogError, match="an export is one folder"):
        checked("path: 'in/*', format: adalog")
