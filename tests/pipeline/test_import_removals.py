"""Imports that retract: entities that rows delete, entities that a whole table lacks, values of whole lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.pipeline.importing.decide import decision as deciding
from adalog.store.database import Database
from adalog.store.values import layout
from tests.pipeline.pipeline_in_process import imported
from tests.pipeline.test_importing import SCHEMA, facts, mapping

Facts = set[tuple[str, str, Any]]

NAME = {"person/name": "name"}
DELETES = {"delete": {"when": {"column": "op", "equals": "D"}}}
ALL = {"sync": {"most": "100%"}}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        yield database


def people(database: Database) -> set[str]:
    return {e for e, a, _ in facts(database) if a == ":person/id"}


def test_rows_retract_their_entities_with_all_they_have_and_all_refs_to_them(
    database: Database, tmp_path: Path
) -> None:
    database.transact(
        """[{:person/id "a" :person/name "Ada" :person/age 36 :person/tag [:x :y] :person/knows "b"}
        {:db/id "b" :person/id "b" :person/name "Bob" :person/boss "c"}
        {:db/id "c" :person/id "c" :person/knows "b"}]"""
    )
    table = pa.table({"id": ["b", "zoe", "a", "d"], "op": ["D", "D", "U", None], "name": ["x", "y", "Eve", "Dee"]})
    outcome, rejected = imported(database, tmp_path, mapping(NAME, **DELETES), {"people": table})
    assert not rejected
    assert outcome.entities == 2
    assert facts(database) == {
        ("a", ":person/id", "a"),
        ("a", ":person/name", "Eve"),
        ("a", ":person/age", 36),
        *(("a", ":person/tag", v) for _, a, v in facts(database) if a == ":person/tag"),
        ("c", ":person/id", "c"),
        ("d", ":person/id", "d"),
        ("d", ":person/name", "Dee"),
    }
    # Of b: an id, a name, a boss, and two refs to it; a name for another; an id and a name of d.
    assert outcome.datoms == 5 + 2 + 2
    assert {"b", "Eve"} <= texts_known(database)
    assert "zoe" not in texts_known(database)


def texts_known(database: Database) -> set[str]:
    """The texts that the dictionary has."""
    own = database.snapshot().codes.dictionaries()[layout.TAG_STRING]
    return {key.decode() for key in own.some(np.arange(len(own)))}


def test_a_source_of_keys_retracts_their_entities(database: Database, tmp_path: Path) -> None:
    database.transact('[{:person/id "a"} {:person/id "b" :person/name "Bob"} {:person/id "c"}]')
    given = mapping({}, delete=True)
    del given["sources"]["people"]["attributes"]
    outcome, _ = imported(database, tmp_path, given, {"people": pa.table({"id": ["b", "c", "x"]})})
    assert (people(database), outcome.datoms, outcome.rows) == ({"a"}, 3, 3)
    again, _ = imported(database, tmp_path, given, {"people": pa.table({"id": ["b", "c", "x"]})})
    assert (again.datoms, again.t) == (0, outcome.t)


def test_an_entity_is_retracted_as_by_a_transaction(database: Database, tmp_path: Path) -> None:
    """Components, components of components, rings of them, and refs from everywhere."""
    database.transact(
        """[{:db/ident :order/line :db/valueType :db.type/ref :db/cardinality :db.cardinality/many
         :db/isComponent true} {:db/ident :line/text :db/valueType :db.type/string}
         {:db/ident :seen/line :db/valueType :db.type/ref}]"""
    )
    text = """[{:db/id "o" :person/id "o" :order/line ["l" "m"]} {:db/id "l" :line/text "one" :order/line "n"}
     {:db/id "m" :line/text "two"} {:db/id "n" :line/text "three" :order/line "o"}
     {:person/id "w" :seen/line "n" :person/knows ["o" "w2"]} {:db/id "w2" :person/id "w2" :order/line "p"}
     {:db/id "p" :line/text "four"}]"""
    database.transact(text)
    given = mapping({}, delete=True)
    del given["sources"]["people"]["attributes"]
    before = database.snapshot()
    outcome, _ = imported(database, tmp_path, given, {"people": pa.table({"id": ["o"]})})
    after = database.snapshot()
    with Database.open(str(tmp_path / "other")) as other:
        other.transact(SCHEMA)
        other.transact(
            """[{:db/ident :order/line :db/valueType :db.type/ref :db/cardinality :db.cardinality/many
             :db/isComponent true} {:db/ident :line/text :db/valueType :db.type/string}
             {:db/ident :seen/line :db/valueType :db.type/ref}]"""
        )
        other.transact(text)
        other.transact('[[:db/retractEntity [:person/id "o"]]]')
        assert own_datoms(after) == own_datoms(other.snapshot())
        assert own_datoms(before) != own_datoms(after)
    assert outcome.datoms == len(own_datoms(before)) - len(own_datoms(after)) == 1 + 4 + 3 + 2


def own_datoms(snapshot: Any) -> set[tuple[Any, ...]]:
    return {(d.e, str(d.a), d.v) for d in snapshot.datoms("EAVT") if not str(d.a).startswith(":db")}


def test_rows_that_describe_what_others_retract_are_rejected_but_the_first(
    database: Database, tmp_path: Path
) -> None:
    database.transact('[{:person/id "a" :person/name "Ada"} {:person/id "b" :person/name "Bob"}]')
    table = pa.table(
        {
            "id": ["a", "b", "a", "b", "n", "n", "c"],
            "op": ["D", "U", "U", "D", "U", "D", "U"],
            "name": ["Ada", "Bea", "Ann", "", "New", "", "Cay"],
        }
    )
    outcome, rejected = imported(database, tmp_path, mapping(NAME, **DELETES), {"people": table}, max_errors=3)
    assert [(row, "retracts the entity" in why) for _, row, why in rejected] == [(2, True), (3, True), (5, True)]
    assert outcome.accepted
    assert {(e, v) for e, a, v in facts(database) if a == ":person/name"} == {
        ("b", "Bea"),
        ("n", "New"),
        ("c", "Cay"),
    }


def test_a_column_that_does_not_tell_rejects_its_row(database: Database, tmp_path: Path) -> None:
    database.transact('[{:person/id "a"} {:person/id "b"} {:person/id "c"}]')
    table = pa.table({"id": ["a", "b", "c"], "gone": ["true", "maybe", None], "name": ["A", "B", "C"]})
    given = mapping(NAME, delete={"when": {"column": "gone", "equals": True}})
    _, rejected = imported(database, tmp_path, given, {"people": table}, max_errors=1)
    assert rejected == [("people", 1, "`delete`: the value of gone cannot be read as a boolean")]
    assert people(database) == {"b", "c"}


def test_refs_to_what_goes_reject_their_rows(database: Database, tmp_path: Path) -> None:
    database.transact('[{:person/id "a"} {:person/id "b"} {:person/id "c"}]')
    table = pa.table({"id": ["a", "b", "c"], "op": ["D", "U", "U"], "boss": [None, "a", "b"]})
    attributes = {"person/boss": {"column": "boss", "ref": "person/id"}}
    _, rejected = imported(database, tmp_path, mapping(attributes, **DELETES), {"people": table}, max_errors=1)
    assert [row for _, row, _ in rejected] == [1]
    assert facts(database) == {("b", ":person/id", "b"), ("c", ":person/id", "c"), ("c", ":person/boss", "b")}
    created = {"person/boss": {"column": "boss", "ref": "person/id", "create": True}}
    table = pa.table({"id": ["b", "c"], "op": ["D", "U"], "boss": [None, "b"]})
    outcome, _ = imported(database, tmp_path, mapping(created, **DELETES), {"people": table})
    assert outcome.datoms == 0
    assert people(database) == {"b", "c"}


def test_lists_replace_what_was_there_and_nulls_retract(database: Database, tmp_path: Path) -> None:
    database.transact(
        """[{:person/id "a" :person/tag [:x :y] :person/name "Ada" :person/age 1}
        {:person/id "b" :person/tag [:x] :person/name "Bob" :person/age 2}
        {:person/id "c" :person/tag [:z] :person/age 3} {:person/id "d" :person/tag [:z] :person/age 4}]"""
    )
    table = pa.table(
        {"id": ["a", "b", "c"], "tags": [["y", "w"], [], None], "name": ["Ada", None, ""], "age": ["", "2", None]}
    )
    attributes = {
        "person/tag": {"column": "tags", "mode": "replace"},
        "person/name": {"column": "name", "nulls": "retract"},
        "person/age": {"column": "age", "nulls": "retract"},
    }
    outcome, _ = imported(database, tmp_path, mapping(attributes), {"people": table})
    found = {(e, a[8:], str(v)) for e, a, v in facts(database) if a != ":person/id"}
    assert found == {
        ("a", "tag", ":y"),
        ("a", "tag", ":w"),
        ("a", "name", "Ada"),
        ("b", "age", "2"),
        ("c", "name", ""),
        ("c", "tag", ":z"),
        ("d", "tag", ":z"),
        ("d", "age", "4"),
    }
    again, _ = imported(database, tmp_path, mapping(attributes), {"people": table})
    assert (again.datoms, again.t) == (0, outcome.t)
    refused = mapping({"person/name": {"column": "name", "mode": "replace"}})
    with pytest.raises(AdalogError, match="one value at most"):
        imported(database, tmp_path, refused, {"people": table})


def test_a_table_loses_what_it_does_not_have_any_more(database: Database, tmp_path: Path) -> None:
    database.transact('[{:person/id "other" :person/name "of another table"} {:person/number 7}]')
    given = mapping({"person/name": "name", "person/score": {"value": 1.5}}, **ALL)
    table = pa.table({"id": ["a", "b", "c"], "name": ["Ada", "Bob", "Cay"]})
    imported(database, tmp_path, given, {"people": table})
    assert people(database) == {"a", "b", "c", "other"}
    outcome, _ = imported(database, tmp_path, given, {"people": table.slice(1)})
    assert (people(database), outcome.datoms) == ({"b", "c", "other"}, 3)
    outcome, _ = imported(database, tmp_path, mapping(NAME, **ALL), {"people": table.slice(1)})
    assert (people(database), outcome.datoms) == ({"b", "c"}, 2)


def test_too_large_a_share_is_refused_with_the_figures(database: Database, tmp_path: Path) -> None:
    table = pa.table({"id": [f"p{n}" for n in range(10)], "name": ["n"] * 10})
    imported(database, tmp_path, mapping(NAME), {"people": table})
    t = database.snapshot().t
    with pytest.raises(
        AdalogError, match=r"source people lacks 3 of the 10 entities of its table, 30.0%"
    ) as caught:
        imported(database, tmp_path, mapping(NAME, sync=True), {"people": table.slice(3)}, dry_run=True)
    assert caught.value.code is Code.LIMIT_EXCEEDED
    assert database.snapshot().t == t
    imported(database, tmp_path, mapping(NAME, sync=True), {"people": table.slice(2)})
    assert len(people(database)) == 8
    imported(database, tmp_path, mapping(NAME, sync={"most": "50%"}), {"people": table.slice(6)})
    assert len(people(database)) == 4


def test_a_rejected_row_keeps_its_entity(database: Database, tmp_path: Path) -> None:
    database.transact('[{:person/id "a" :person/age 1} {:person/id "b" :person/age 2} {:person/id "c"}]')
    attributes = {"person/age": "age", "person/boss": {"column": "boss", "ref": "person/id"}}
    table = pa.table({"id": ["a", "b"], "age": ["x", "3"], "boss": [None, "zoe"]})
    _, rejected = imported(database, tmp_path, mapping(attributes, **ALL), {"people": table}, max_errors=2)
    assert [row for _, row, _ in rejected] == [0, 1]
    assert {(e, v) for e, a, v in facts(database) if a == ":person/age"} == {("a", 1), ("b", 2)}
    assert people(database) == {"a", "b"}
    nameless = pa.table({"id": ["a", None], "age": ["1", "3"], "boss": [None, None]})
    with pytest.raises(AdalogError, match="1 of its rows do not name their entities"):
        imported(database, tmp_path, mapping(attributes, **ALL), {"people": nameless}, max_errors=2)
    assert people(database) == {"a", "b"}


def test_what_only_a_transaction_may_retract_is_refused(database: Database, tmp_path: Path) -> None:
    database.transact('[{:db/ident :status/open :person/id "a"}]')
    given = mapping({}, delete=True)
    del given["sources"]["people"]["attributes"]
    with pytest.raises(AdalogError, match=":db/ident, and only transactions change that"):
        imported(database, tmp_path, given, {"people": pa.table({"id": ["a"]})})
    database.transact(
        """[{:db/ident :person/both :db/valueType :db.type/tuple :db/tupleAttrs [:person/age :person/boss]}
        {:db/id "b" :person/id "b"} {:person/id "c" :person/age 1 :person/boss "b"}]"""
    )
    with pytest.raises(AdalogError, match="by :person/boss, a part of a composite tuple"):
        imported(database, tmp_path, given, {"people": pa.table({"id": ["b"]})})
    imported(database, tmp_path, given, {"people": pa.table({"id": ["b", "c"]})})
    assert people(database) == {"a"}
    assert not [d for d in database.snapshot().datoms("EAVT") if str(d.a) == ":person/both"]


def test_what_others_write_meanwhile_goes_too(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, (written, repeated) in enumerate(
        [
            (
                """[[:db/add [:person/id "b"] :person/age 77]
                [:db/add [:person/id "a"] :person/boss [:person/id "b"]]]""",
                0,
            ),
            ('[{:person/number 5 :person/knows [:person/id "b"]}]', 0),
            ('[{:person/id "later"}]', 1),
        ]
    ):
        with Database.open(str(tmp_path / f"data-{number}")) as own:
            own.transact(SCHEMA)
            own.transact(
                '[{:person/id "a" :person/name "Ada"} {:person/id "b" :person/name "Bob" :person/score 1.0}]'
            )
            stages = disturbed(own, written, monkeypatch)
            table = pa.table({"id": ["a", "c"], "name": ["Ada", "Cay"]})
            imported(own, tmp_path, mapping(NAME, **ALL), {"people": table}, leeway=9)
            assert stages.count("keys") == 1 + repeated
            assert people(own) == {"a", "c"}
            left = {str(d.a) for d in own.snapshot().datoms("EAVT") if not str(d.a).startswith(":db")}
            assert left <= {":person/id", ":person/name", ":person/number"}


def disturbed(database: Database, written: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Has a transaction made once the attributes are written; the stages as they come."""
    from tests.pipeline import pipeline_in_process

    stages: list[str] = []

    class Disturbed(pipeline_in_process.InProcess):
        def each(self, stage: str, work: Any, items: Any, *rows: Any) -> Any:
            made = super().each(stage, work, items, *rows)
            stages.append(stage)
            if stage == "attributes" and stages.count("attributes") == 1:
                database.transact(written)
            return made

    monkeypatch.setattr(pipeline_in_process, "InProcess", Disturbed)
    return stages


def test_a_dry_run_reports_by_attribute(database: Database, tmp_path: Path) -> None:
    database.transact(
        """[{:person/id "a" :person/name "Ada" :person/age 1 :person/tag [:x :y]}
        {:db/id "b" :person/id "b" :person/name "Bob"} {:person/id "c" :person/name "Cay" :person/boss "b"}]"""
    )
    attributes = {
        "person/name": "name",
        "person/age": "age",
        "person/tag": {"column": "tags", "mode": "replace", "split": " "},
        "person/boss": {"column": "boss", "ref": "person/id"},
    }
    table = pa.table(
        {
            "id": ["a", "c", "n", "x"],
            "name": ["Ann", "Cay", "New", "Bad"],
            "age": ["1", "3", "4", "x"],
            "tags": ["x z", None, "z", None],
            "boss": ["n", "a", None, None],
        }
    )
    given = mapping(attributes, **ALL)
    outcome, rejected = imported(database, tmp_path, given, {"people": table}, max_errors=1, dry_run=True)
    assert len(rejected) == 1
    report = {each["attribute"]: each for each in outcome.report}
    counts = {
        name: tuple(each[kind] for kind in ("come", "change", "go", "rejected")) for name, each in report.items()
    }
    assert counts == {
        ":person/id": (1, 0, 1, 0),
        ":person/name": (1, 1, 1, 0),
        ":person/age": (2, 0, 0, 1),
        ":person/tag": (2, 0, 1, 0),
        ":person/boss": (1, 1, 0, 0),
    }
    assert report[":person/name"]["samples"] == ['"n" + "New"', '"b" - "Bob"', '"a": "Ada" -> "Ann"']
    assert report[":person/boss"]["samples"] == ['"a" + a new entity', '"c": "b" -> "a"']
    assert report[":person/age"]["samples"][1:] == ["rejected: :person/age: a value cannot be read as a long"]
    assert (outcome.going, outcome.t) == (1, 2)
    done, _ = imported(database, tmp_path, given, {"people": table}, max_errors=1)
    assert not done.report
    [made] = database.transactions(3, 4, 1)
    assert (
        len(made.datoms) - 1
        == done.datoms
        == sum(come + 2 * change + go for come, change, go, _ in counts.values())
    )
    again, _ = imported(database, tmp_path, given, {"people": table}, max_errors=9, dry_run=True)
    assert [each["attribute"] for each in again.report] == [":person/age"]


class Model:
    """A table's people by id, each with a name, an age, tags and a boss, as plain data."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}

    def facts(self) -> Facts:
        found: Facts = set()
        for key, row in self.rows.items():
            found.add((key, ":person/id", key))
            found |= {
                (key, f":person/{name}", row[name]) for name in ("name", "age", "boss") if row[name] is not None
            }
            found |= {(key, ":person/tag", tag) for tag in row["tags"]}
        return found

    def change(self, rng: Random) -> None:
        for key in [key for key in self.rows if rng.random() < 0.2]:
            del self.rows[key]
        for key in (f"p{rng.randrange(30)}" for _ in range(rng.randrange(8))):
            self.rows[key] = {
                "name": rng.choice([None, "Ada", "Bob"]),
                "age": rng.choice([None, 1, 2]),
                "tags": [f"t{n}" for n in range(4) if rng.random() < 0.4],
                "boss": rng.choice([None, *self.rows]),
            }
        for row in self.rows.values():
            if row["boss"] not in self.rows:
                row["boss"] = None

    def table(self, rng: Random) -> pa.Table:
        rows = [{"id": key, **row} for key, row in self.rows.items()]
        rng.shuffle(rows)
        columns = {"id": pa.string(), "name": pa.string(), "age": pa.int64(), "tags": pa.list_(pa.string())}
        return pa.Table.from_pylist(rows, pa.schema([*columns.items(), ("boss", pa.string())]))


WHOLE = {
    "person/name": {"column": "name", "nulls": "retract"},
    "person/age": {"column": "age", "nulls": "retract"},
    "person/tag": {"column": "tags", "mode": "replace", "nulls": "retract"},
    "person/boss": {"column": "boss", "ref": "person/id", "nulls": "retract"},
}


@pytest.mark.parametrize("ranged", [False, True])
def test_versions_of_a_table_against_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranged: bool) -> None:
    """After each version the database has the facts of that version, and no others; and so it has of the past."""
    rng, model, versions = Random(7), Model(), []
    count = 15 if ranged else 100
    if ranged:
        monkeypatch.setattr(deciding, "is_large", lambda *_: True)
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA.replace(":db.type/keyword", ":db.type/string"))
        for version in range(count):
            model.change(rng)
            given = mapping(WHOLE, **ALL)
            outcome, rejected = imported(database, tmp_path, given, {"people": model.table(rng)})
            assert not rejected
            assert facts(database) == model.facts(), version
            versions.append((outcome.t, model.facts()))
            if version % 10 == 0:
                again, _ = imported(database, tmp_path, given, {"people": model.table(rng)})
                assert again.datoms == 0
        for t, known in versions[:: count // 5]:
            assert {v for e, a, v in known if a == ":person/id"} == {
                d.v for d in database.at(t=t).datoms("AEVT", [ident("person/id")])
            }


def ident(name: str) -> Any:
    from adalog.datalog.values import Keyword

    return Keyword(name)
