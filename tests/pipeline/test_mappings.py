"""Mappings: what they say, and where one is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import Keyword
from adalog.pipeline.importing.read.import_folders import ImportFolders
from adalog.pipeline.importing.read.mapping import ColumnMapping, DeleteRule, ImportPlan, SyncRule
from adalog.pipeline.importing.read.mapping_reader import mapping_of, read_mapping
from adalog.pipeline.importing.read.row_intake import check_parts
from adalog.pipeline.importing.sql.table import SqlPartition
from adalog.pipeline.importing.write.loading import check_alone

WHOLE = """\
schema: people.edn
sources:
  people:
    path: people/*.csv
    options: {header: true, sep: ";"}
    entity: {attribute: person/id, column: id}
    attributes:
      person/name: name
      ":person/born": {column: born, type: instant}
      person/tag: {column: tags, split: ";"}
      person/knows: {column: knows, split: ",", ref: person/id, create: true}
      person/source: {value: "census"}
      person/n: {value: 5}
  places:
    path: s3a://bucket/places
    format: parquet
    entity: {attribute: place/id, column: id, type: long}
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "mapping.yaml"
    file.write_text(text)
    return file


def test_a_whole_mapping(tmp_path: Path) -> None:
    plan = read_mapping(written(tmp_path, WHOLE), {})
    assert plan.schema == tmp_path / "people.edn"
    people, places = plan.sources
    assert (people.name, people.path, people.format) == ("people", str(tmp_path / "people/*.csv"), "csv")
    assert people.options == {"header": "true", "sep": ";"}
    assert people.entity == ColumnMapping(Keyword("person/id"), "id")
    knows = ColumnMapping(Keyword("person/knows"), "knows", split=",", ref=Keyword("person/id"), create=True)
    assert people.columns == (
        ColumnMapping(Keyword("person/name"), "name"),
        ColumnMapping(Keyword("person/born"), "born", type="instant"),
        ColumnMapping(Keyword("person/tag"), "tags", split=";"),
        knows,
        ColumnMapping(Keyword("person/source"), value="census"),
        ColumnMapping(Keyword("person/n"), value=5),
    )
    assert (places.path, places.format, places.columns) == ("s3a://bucket/places", "parquet", ())
    assert places.entity.type == "long"


def test_paths_of_the_command_line_win(tmp_path: Path) -> None:
    plan = read_mapping(written(tmp_path, WHOLE), {"people": "other.jsonl.gz"})
    assert (plan.sources[0].path, plan.sources[0].format) == ("other.jsonl.gz", "jsonl")
    assert plan.sources[0].options == {}
    with pytest.raises(
        AdalogError, match=r"no source peopel \(did you mean people\?\) in .*; it has people, places"
    ):
        read_mapping(written(tmp_path, WHOLE), {"peopel": "x.csv"})


NESTED = """sources:
  s:
    path: x.jsonl
    entity: {{attribute: a/id, column: id}}
    attributes:
      a/b: {{column: x, attributes: {{c/d: d}}, {}}}"""
ONE = "sources:\n  s:\n    path: x.csv\n    entity: {attribute: a/id, column: id}\n"


TABLE = "sources:\n  s:\n    jdbc: jdbc:postgresql://h/d\n    entity: {attribute: a/id, column: id}\n"


def test_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLE_PASSWORD", "very secret")
    more = "    query: SELECT 1 AS id;\n    user: ada\n    password: {env: TABLE_PASSWORD}\n"
    more += "    driver: [a.jar, /b.jar]\n"
    file = written(tmp_path, TABLE + more + "    partition: {column: id, count: 2, to: 9}\n    since: id\n")
    [source] = read_mapping(file, {}).sources
    table = source.sql
    assert table is not None
    assert (table.url, table.rows) == ("jdbc:postgresql://h/d", "(SELECT 1 AS id) adalog_query")
    assert (table.user, table.password, table.since) == ("ada", "very secret", "id")
    assert table.drivers == (str(tmp_path / "a.jar"), "/b.jar")
    assert table.partition == SqlPartition("id", 2, None, 9)
    assert "secret" not in repr(source)
    assert source.names == {"id"}
    with pytest.raises(AdalogError, match="a stream follows files"):
        check_parts(ImportPlan(None, (source,)))
    # A server has the password from its client, and takes no code; drivers' options may read files.
    with pytest.raises(AdalogError, match="variable TABLE_PASSWORD is not set"):
        mapping_of(file.read_text(), file, {}, {})
    plan = mapping_of(file.read_text(), file, {}, {"TABLE_PASSWORD": "x"})
    for allowed, why in (
        ("jdbc:postgresql://h", "takes no `driver`"),
        ("jdbc:postgresql://other", "imports nothing"),
    ):
        with pytest.raises(AdalogError, match=why):
            ImportFolders.of(allowed).checked(plan)
    plain = ImportPlan(None, (replace(source, sql=replace(table, drivers=())),))
    assert ImportFolders.of("/in,jdbc:postgresql://h/d").checked(plain) == plain


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{TABLE}", "source s has either a `table` or a `query`"),
        (f"{TABLE}    table: t\n    path: x\n", "line 6, column 11: `path` does not go with `jdbc`"),
        (f"{TABLE}    table: t\n    sync: true\n    since: x\n", "`since` reads a part of the table"),
        (f"{TABLE}    table: t\n    password: {{env: NONE_SUCH}}\n", "variable NONE_SUCH is not set"),
        (
            f"{TABLE}    table: t\n    partition: {{column: x, count: 0}}\n",
            "`count` is a whole number from 1 to 1000",
        ),
        (f"{TABLE}    table: t\n    partition: {{column: x}}\n", "`partition` has no `count`"),
        (f"{TABLE}    table: t\n    options: {{dbtable: x}}\n", "dbtable is no option here: say `table`"),
        (TABLE.replace("//h", "//a:b@h") + "    table: t\n", "the address has a password or a user"),
        (TABLE.replace("/d", "/d?user=a&password=b") + "    table: t\n", "the address has a password or a user"),
        (TABLE.replace("jdbc:post", "post") + "    table: t\n", "`jdbc` is an address of JDBC"),
        (f"{ONE}    since: x\n", "line 5, column 12: `since` goes with `jdbc`"),
        ("", "is empty"),
        ("sources: {a: [", "line 1, column 15: "),
        ("- 1", "line 1, column 1: a mapping is a map"),
        ("sources: {}", "line 1, column 10: `sources` names none"),
        (
            "sourcs: {}",
            "line 1, column 1: a mapping has no `sourcs` (did you mean sources?); it has schema, sources",
        ),
        ("shema: x\nsources: {}", "line 1, column 1: a mapping has no `shema` (did you mean schema?)"),
        ("sources: [a]", "line 1, column 10: `sources` is a map"),
        ("sources:\n\ts: 1", "line 2, column 1: found character"),
        ("sources:\n  s: x.csv", "line 2, column 6: source s is a map"),
        ("sources:\n  s:\n    pth: x.csv", "line 3, column 5: source s has no `pth` (did you mean path?)"),
        (ONE.replace("x.csv", ""), "line 3, column 10: `path` is empty"),
        (ONE.replace("column:", "colum:"), "line 4, column 31: `entity` has no `colum` (did you mean column?)"),
        (ONE.replace("{attribute: a/id, column: id}", "a/id"), "line 4, column 13: `entity` is an attribute and a"),
        (ONE.replace("column: id", "column: [a, b]"), "line 4, column 39: `column` is text"),
        (ONE + "    snyc: true", "line 5, column 5: source s has no `snyc` (did you mean sync?)"),
        (ONE + "    format: CSV", "line 5, column 13: there is no format CSV (did you mean csv?)"),
        (ONE + "    format: parquett", "line 5, column 13: there is no format parquett (did you mean parquet?)"),
        (
            ONE + "    options: {header: yes please}",
            "line 5, column 23: `header` is true or false, and not yes please",
        ),
        (
            ONE + "    options: {headr: true}",
            "line 5, column 15: the format csv has no option headr (did you mean header?)",
        ),
        (
            ONE + "    options: {zip: true}",
            "line 5, column 15: the format csv has no option zip; it has header, sep, quote,",
        ),
        (ONE + "    options: {encoding: utf8x}", "line 5, column 25: `encoding` is the name of an encoding"),
        (ONE + "    options: {encoding: base64}", "line 5, column 25: `encoding` is the name of an encoding"),
        (ONE + "    options: {quote: abc}", "line 5, column 22: `quote` is one ASCII character, and not 'abc'"),
        (ONE + "    options: {sep: ab}", "line 5, column 20: `sep` is one ASCII character, and not 'ab'"),
        (ONE + "    attributes: {a/b: {column: x, round: s}}", "line 5, column 42: `round` is milliseconds"),
        (ONE + "    options: {mode: FAILFAST}", "line 5, column 15: the format csv has no option mode"),
        (
            ONE + "    options: {dateFormat: yyyy}",
            "line 5, column 15: dateFormat is no option of files: say `format` beside the column",
        ),
        (ONE + "    options: [header]", "line 5, column 14: `options` is a map"),
        (ONE + "    options: {header:}", "line 5, column 22: an option is one value"),
        (ONE + "    attributes: [a/b]", "line 5, column 17: `attributes` is a map"),
        (ONE + "    attributes: {a/b: }", "line 5, column 22: a/b is empty"),
        (ONE + "    attributes: {a/b: null}", "line 5, column 23: a/b is empty; null as a text stands in quotes"),
        (
            ONE + "    attributes: {a/b: {colunm: x}}",
            "line 5, column 24: a/b has no `colunm` (did you mean column?)",
        ),
        (
            ONE + "    attributes: {a/b: {column: x, type: int}}",
            "line 5, column 41: there is no type int to read values",
        ),
        (
            ONE + "    attributes: {a/b: {column: x, type: int}}",
            "(did you mean long?); it is bigdec, bigint, boolean",
        ),
        (ONE + "    attributes: {a/b: {column: x, type: strng}}", "(did you mean string?)"),
        (ONE + "    attributes: {a/b: {column: x, ref: }}", "line 5, column 39: an attribute is empty"),
        (ONE + "    attributes: {a/b: {column: x, split: [a]}}", "line 5, column 42: `split` is text"),
        (ONE + "    attributes: {a/b: {value: 2020-01-01}}", "line 5, column 31: `value` is one text, number"),
        (ONE + "    delete: {wen: {}}", "line 5, column 14: `delete` has no `wen` (did you mean when?)"),
        ("sources:\n  s: {path: x.edn, format: edn, ids: kep}", "line 2, column 38: `ids` is keep, or new"),
        ("sources:\n  s: {path: x.csv}", "line 2, column 6: source s has no `entity`"),
        ("sources:\n  s: {entity: {attribute: a/id, column: id}}", "source s has no `path`"),
        (ONE.replace("x.csv", "x.bin"), "line 3, column 5: source s needs a `format`: csv, jsonl, parquet"),
        (ONE + "    format: xml", "line 5, column 13: there is no format xml"),
        (ONE.replace("a/id", '"a b"'), "line 4, column 25: 'a b' is no keyword"),
        (ONE + "    attributes: {a/id: x}", ":a/id is given by `entity`"),
        (ONE + "    attributes: {a/b: {}}", "line 5, column 23: a/b has either a `column` or a `value`"),
        (ONE + "    attributes: {a/b: x, a/b: y}", "line 5, column 26: a/b is given twice"),
        (ONE + "    attributes: {a/b: {column: x, create: true}}", "`create` goes with `ref`"),
        (ONE + "    attributes: {a/b: {column: x, type: text}}", "there is no type text to read values as"),
        (ONE + '    attributes: {a/b: {column: x, split: ""}}', "`split` is empty"),
        (ONE + "    attributes: {a/b: {value: [1]}}", "`value` is one text, number"),
        (ONE + "    attributes: {a/b: {column: x, mode: whole}}", "line 5, column 41: `mode` is add, or replace"),
        (ONE + "    attributes: {a/b: {column: x, nulls: drop}}", "line 5, column 42: `nulls` is keep, or retract"),
        (ONE + "    attributes: {a/b: {value: x, nulls: keep}}", "`nulls` goes with `column`"),
        (
            ONE.replace("column: id", "columns: [id]"),
            "line 4, column 40: `columns` is a list of two columns or more",
        ),
        (
            ONE.replace("}", ", columns: [a, b]}"),
            "line 4, column 13: `entity` has a `column`, or several `columns`",
        ),
        (ONE + "    attributes: {a/b: {columns: [a, b], split: x}}", "`split` does not go with `columns`"),
        (
            ONE.replace("{attribute: a/id, column: id}", "new") + "    sync: true",
            "line 5, column 11: `sync` needs an",
        ),
        (
            ONE + "    attributes: {a/b: {column: x, attributes: {}}}",
            "line 5, column 23: columns of CSV have no structs",
        ),
        (NESTED.format("entries: 1"), "line 6, column 55: `entries` is true if the column is a map"),
        (ONE + "    attributes: {a/b: {column: x, atributes: {}}}", "(did you mean attributes?)"),
        (NESTED.format("split: x"), "line 6, column 46: a/b, whose values are entities, has no `split`"),
        (NESTED.format("entity: old"), "line 6, column 54: `entity` is an attribute and a column"),
        (NESTED.format("entity: {attribute: c/d, column: d}"), "line 6, column 36: :c/d is given by `entity`"),
        (NESTED.replace("column: x, ", "").format("mode: add"), "a/b, whose values are entities, has no `column`"),
        (ONE + "    delete: D", "line 5, column 13: `delete` is true, or has `when`"),
        (ONE + "    delete: {when: {column: op}}", "line 5, column 20: `when` has no `equals`"),
        (ONE + "    delete: {when: {column: op, equals: [D]}}", "`equals` is a text, a number, true or false"),
        (ONE + "    delete: true\n    sync: true", "each row of source s retracts its entity"),
        (ONE + "    sync: 10%", "line 5, column 11: `sync` is true, or has `most`"),
        (ONE + "    sync: {most: 120%}", "line 5, column 18: `most` is the share of entities that may go, from 0%"),
        (
            ONE + "    options: {header: !!python/object:os.system x}",
            "line 5, column 23: could not determine a constructor",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(AdalogError) as caught:
        read_mapping(written(tmp_path, text), {})
    assert message in caught.value.message


def test_options_of_what_spark_uses_are_its_own(tmp_path: Path) -> None:
    text = ONE + "    options: {fs.s3a.endpoint: x, HEADER: true, encoding: windows-1252}\n"
    [source] = read_mapping(written(tmp_path, text), {}).sources
    assert source.options == {"fs.s3a.endpoint": "x", "HEADER": "true", "encoding": "windows-1252"}
    text = ONE.replace("x.csv", "topic") + "    format: kafka\n    options: {minPartitions: 2}\n"
    [source] = read_mapping(written(tmp_path, text), {}).sources
    assert source.options == {"minPartitions": "2"}


def test_rules_of_what_goes(tmp_path: Path) -> None:
    text = ONE + "    delete: {when: {column: op, equals: D}}\n    sync: {most: 2.5%}\n"
    [source] = read_mapping(written(tmp_path, text), {}).sources
    assert (source.delete, source.sync) == (DeleteRule("op", "D"), SyncRule(0.025))
    [source] = read_mapping(written(tmp_path, ONE + "    delete: false\n    sync: true\n"), {}).sources
    assert (source.delete, source.sync) == (None, SyncRule(0.2))
    with pytest.raises(AdalogError, match="source s has `sync`, and a stream brings a part of a table"):
        check_alone(ImportPlan(None, (source.of_files(["x.csv"]),)))


def test_who_is_who_must_not_depend_on_another_source(tmp_path: Path) -> None:
    text = ONE + "  t:\n    path: y.csv\n    entity: {attribute: b/id, column: id}\n    attributes: {a/id: x}\n"
    with pytest.raises(AdalogError, match="source t: :a/id is also what entities are named"):
        check_alone(read_mapping(written(tmp_path, text), {}))
