"""Mappings: what they say, and where one is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import Keyword
from adalog.pipeline.importing.read.mapping import ColumnMapping, DeleteRule, ImportPlan, SyncRule
from adalog.pipeline.importing.read.mapping_reader import read_mapping
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
    with pytest.raises(AdalogError, match=r"no source persons in .*; its sources are people, places"):
        read_mapping(written(tmp_path, WHOLE), {"persons": "x.csv"})


ONE = "sources:\n  s:\n    path: x.csv\n    entity: {attribute: a/id, column: id}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("sources: {a: [", "line 1, column 15: "),
        ("- 1", "line 1, column 1: a mapping is a map"),
        ("sources: {}", "line 1, column 10: `sources` names none"),
        ("sourcs: {}", "line 1, column 1: a mapping has no `sourcs`; it has schema, sources"),
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
        (ONE + "    attributes: {a/b: {value: [1]}}", "`value` is one value"),
        (ONE + "    attributes: {a/b: {column: x, mode: whole}}", "line 5, column 41: `mode` is add, or replace"),
        (ONE + "    attributes: {a/b: {column: x, nulls: drop}}", "line 5, column 42: `nulls` is keep, or retract"),
        (ONE + "    attributes: {a/b: {value: x, nulls: keep}}", "`nulls` goes with `column`"),
        (ONE + "    delete: D", "line 5, column 13: `delete` is true, or has `when`"),
        (ONE + "    delete: {when: {column: op}}", "line 5, column 20: `when` has no `equals`"),
        (ONE + "    delete: {when: {column: op, equals: [D]}}", "`equals` is a text, a number, true or false"),
        (ONE + "    delete: true\n    sync: true", "each row of source s retracts its entity"),
        (ONE + "    sync: 10%", "line 5, column 11: `sync` is true, or has `most`"),
        (ONE + "    sync: {most: 120%}", "line 5, column 18: `most` is the share of entities that may go, from 0%"),
        (
            ONE + "    options: {a: !!python/object:os.system x}",
            "line 5, column 18: could not determine a constructor",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(AdalogError) as caught:
        read_mapping(written(tmp_path, text), {})
    assert message in caught.value.message


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
