"""Imports, without Spark: rows become datoms as the mapping says, or are rejected with a reason."""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.pipeline.importing.write.loading import load
from adalog.store.checkpoint import adoption
from adalog.store.database import Database
from tests.pipeline.pipeline_in_process import InProcess, imported, planned

SCHEMA = """[
 {:db/ident :person/id :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :person/number :db/valueType :db.type/long :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :person/email :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/value}
 {:db/ident :person/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :person/age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :person/score :db/valueType :db.type/double :db/cardinality :db.cardinality/one}
 {:db/ident :person/born :db/valueType :db.type/instant :db/cardinality :db.cardinality/one}
 {:db/ident :person/tag :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
 {:db/ident :person/knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :person/boss :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}]"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        yield database


def mapping(attributes: dict[str, Any], entity: str = "person/id", **more: Any) -> dict[str, Any]:
    source = {"path": "x.parquet", "entity": {"attribute": entity, "column": "id"}, "attributes": attributes}
    return {"sources": {"people": {**source, **more}}}


def facts(database: Database) -> set[tuple[str, str, Any]]:
    """(the entity's person/id or number, attribute, value or the same of what it refers to)."""
    snapshot = database.snapshot()
    names: dict[int, Any] = {}
    found = []
    for attribute in snapshot.attributes():
        if str(attribute.ident).startswith(":db"):
            continue
        held = snapshot.columns(attribute)
        values = held.v.tolist() if attribute.is_ref else snapshot.codes.decode_many(held.v)
        for e, value in zip(held.e.tolist(), values, strict=True):
            if str(attribute.ident) in (":person/id", ":person/number"):
                names[e] = value
            found.append((e, attribute, value))
    return {(names[e], str(a.ident), names[v] if a.is_ref else v) for e, a, v in found}


def test_rows_become_entities(database: Database, tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "name": ["Ada", "Bob", None, "Dee"],
            "age": ["36", "", None, "-4"],
            "tags": ["x; y", "x", None, ""],
            "knows": ["b,c", None, "a", "d"],
        }
    )
    attributes = {
        "person/name": "name",
        "person/age": "age",
        "person/tag": {"column": "tags", "split": ";"},
        "person/knows": {"column": "knows", "split": ",", "ref": "person/id"},
        "person/score": {"value": 1.5},
    }
    outcome, rejected = imported(database, tmp_path, mapping(attributes), {"people": table})
    assert not rejected
    assert (outcome.rows, outcome.entities, outcome.rejected, outcome.accepted) == (4, 4, 0, True)
    assert outcome.t == database.snapshot().t == 2
    known = facts(database)
    assert outcome.datoms == len(known) == 4 + 3 + 2 + 3 + 4 + 4
    assert {("a", ":person/knows", "b"), ("a", ":person/knows", "c"), ("d", ":person/knows", "d")} <= known
    assert {(e, v) for e, a, v in known if a == ":person/age"} == {("a", 36), ("d", -4)}
    assert {str(v) for _, a, v in known if a == ":person/tag"} == {":x", ":y"}


def test_the_same_again_changes_nothing(database: Database, tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b"], "name": ["Ada", "Bob"]})
    first, _ = imported(database, tmp_path, mapping({"person/name": "name"}), {"people": table})
    again, _ = imported(database, tmp_path, mapping({"person/name": "name"}), {"people": table})
    assert (first.t, first.datoms) == (2, 4)
    assert (again.t, again.datoms, again.entities) == (2, 0, 2)


def test_what_was_there_is_upserted(database: Database, tmp_path: Path) -> None:
    database.transact(
        '[{:person/id "a" :person/name "Old" :person/age 1 :person/tag [:x]} {:person/id "z" :person/name "Zed"}]'
    )
    table = pa.table(
        {"id": ["a", "b"], "name": ["Ada", "Bob"], "age": [1, 2], "tag": ["y", "y"], "boss": ["z", "a"]}
    )
    attributes = {
        "person/name": "name",
        "person/age": "age",
        "person/tag": "tag",
        "person/boss": {"column": "boss", "ref": "person/id"},
    }
    outcome, _ = imported(database, tmp_path, mapping(attributes), {"people": table})
    known = facts(database)
    assert {fact for fact in known if fact[0] == "a" and "tag" not in fact[1]} == {
        ("a", ":person/id", "a"),
        ("a", ":person/name", "Ada"),
        ("a", ":person/age", 1),
        ("a", ":person/boss", "z"),
    }
    assert len([1 for fact in known if fact[:2] == ("a", ":person/tag")]) == 2
    # Of a: a name for another, a tag, a boss; all five of b.
    assert outcome.datoms == 2 + 1 + 1 + 5
    [report] = database.transactions(outcome.t, outcome.t + 1, 1)
    assert len(report.datoms) == outcome.datoms + 1
    gone = [(str(d.a), d.v) for d in report.datoms if not d.added]
    assert gone == [(":person/name", "Old")]
    before = database.at(t=2)
    assert {d.v for d in before.datoms("AEVT", [edn(":person/name")])} == {"Old", "Zed"}


def edn(text: str) -> Any:
    from adalog.datalog import edn

    return edn.read(text)


def test_rows_that_cannot_be_read_are_rejected_whole(database: Database, tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "", None, "d"], "age": ["1", "2", "3", "four"], "name": ["A", "B", "C", "D"]})
    attributes = {"person/age": "age", "person/name": "name"}
    outcome, rejected = imported(database, tmp_path, mapping(attributes), {"people": table}, max_errors=3)
    assert [(row, why.split(" ")[0]) for _, row, why in rejected] == [
        (1, "there"),
        (2, "there"),
        (3, ":person/age:"),
    ]
    assert outcome.accepted
    assert {e for e, _, _ in facts(database)} == {"a"}


@pytest.mark.parametrize(
    ("given", "cell", "why"),
    [
        ("age", "three", '"three" of column value cannot be read as a long'),
        (
            "born",
            "14.3.1815",
            (
                '"14.3.1815" of column value cannot be read as an instant, as 1815-12-10 or 1815-12-10T13:45:00Z; '
                "`format` reads other texts, as `format: dd.MM.yyyy`"
            ),
        ),
        (
            "born",
            "1815-12-10T00:00:00.0001Z",
            (
                '"1815-12-10T00:00:00.0001Z" of column value has more than milliseconds; '
                "`round: milliseconds` reads it"
            ),
        ),
        ("luck", "1;two;3", '"two" of column value cannot be read as a long'),
        ("age", "x" * 100, f'"{"x" * 59}… of column value cannot be read as a long'),
    ],
)
def test_a_reason_has_the_value(database: Database, tmp_path: Path, given: str, cell: str, why: str) -> None:
    database.transact(
        "[{:db/ident :person/born :db/valueType :db.type/instant} "
        "{:db/ident :person/luck :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]"
    )
    attributes = {f"person/{given}": {"column": "value", **({"split": ";"} if given == "luck" else {})}}
    tables = {"people": pa.table({"id": ["a"], "value": [cell]})}
    _, rejected = imported(database, tmp_path, mapping(attributes), tables)
    assert [reason for _, _, reason in rejected] == [f":person/{given}: {why}"]


def test_more_errors_than_allowed_import_nothing(database: Database, tmp_path: Path) -> None:
    table = pa.table({"id": ["a", None], "name": ["A", "B"]})
    outcome, rejected = imported(database, tmp_path, mapping({"person/name": "name"}), {"people": table})
    assert (outcome.accepted, outcome.rejected, outcome.datoms, outcome.t) == (False, 1, 0, 1)
    assert len(rejected) == 1
    assert not facts(database)
    assert not list((tmp_path / "data").glob("importing*"))


def test_refs_that_mean_nobody_reject_their_rows_and_those_that_mean_them(
    database: Database, tmp_path: Path
) -> None:
    database.transact('[{:person/id "old"}]')
    table = pa.table({"id": ["a", "b", "c", "d"], "boss": ["nobody", "a", "b", "old"]})
    attributes = {"person/boss": {"column": "boss", "ref": "person/id"}}
    outcome, rejected = imported(database, tmp_path, mapping(attributes), {"people": table}, max_errors=9)
    assert [row for _, row, _ in rejected] == [0, 1, 2]
    assert facts(database) == {("old", ":person/id", "old"), ("d", ":person/id", "d"), ("d", ":person/boss", "old")}
    assert outcome.rejected == 3


def test_refs_create_where_they_may(database: Database, tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b"], "boss": ["x", "b"]})
    attributes = {"person/boss": {"column": "boss", "ref": "person/id", "create": True}}
    outcome, rejected = imported(database, tmp_path, mapping(attributes), {"people": table})
    assert not rejected
    assert facts(database) == {
        *((e, ":person/id", e) for e in "abx"),
        ("a", ":person/boss", "x"),
        ("b", ":person/boss", "b"),
    }
    assert outcome.entities == 2


def test_refs_mean_idents_too_but_create_none(database: Database, tmp_path: Path) -> None:
    forms = [
        "{:db/ident :status/open} {:db/ident :person/status :db/valueType :db.type/ref",
        " :db/cardinality :db.cardinality/one}",
    ]
    database.transact(f"[{''.join(forms)}]")
    table = pa.table({"id": ["a", "b"], "status": ["status/open", ":status/shut"]})
    given = {"column": "status", "ref": "db/ident"}
    _, rejected = imported(database, tmp_path, mapping({"person/status": given}), {"people": table}, max_errors=1)
    assert [row for _, row, _ in rejected] == [1]
    snapshot = database.snapshot()
    status = snapshot.attribute(edn(":person/status"))
    assert status is not None
    assert snapshot.columns(status).v.tolist() == [snapshot.entid(edn(":status/open"))]
    with pytest.raises(AdalogError, match="cannot create entities by their :db/ident"):
        imported(database, tmp_path, mapping({"person/status": {**given, "create": True}}), {"people": table})


@pytest.mark.parametrize(
    ("attributes", "entity", "message"),
    [
        ({}, "person/name", ":person/name names the source's entities, and has to be :db.unique/identity"),
        ({}, "person/none", "by :person/none, which the schema does not declare"),
        ({"person/boss": "name"}, "person/id", ":person/boss refers to entities: say by which"),
        ({"person/age": {"column": "name", "ref": "person/number"}}, "person/id", "but its values are longs"),
        ({"person/boss": {"column": "name", "ref": "person/age"}}, "person/id", ":person/age, which is not unique"),
        ({"db/doc": "name"}, "person/id", ":db/doc is adalog's own"),
        ({"person/checked": "name"}, "person/id", ":person/checked has :db.attr/preds"),
        ({"person/part": "name"}, "person/id", ":person/part is part of :person/whole"),
        ({"person/age": {"value": "many"}}, "person/id", "'many' cannot be read as a long"),
        (
            {"person/name": "nome"},
            "person/id",
            "source people has no column nome (did you mean name?); its columns are id, name",
        ),
    ],
)
def test_mappings_that_do_not_fit_the_schema(
    database: Database, tmp_path: Path, attributes: dict[str, Any], entity: str, message: str
) -> None:
    database.transact(
        "[{:db/ident :person/checked :db/valueType :db.type/string :db.attr/preds [even?]}"
        " {:db/ident :person/part :db/valueType :db.type/string}"
        " {:db/ident :person/whole :db/valueType :db.type/tuple :db/tupleAttrs [:person/part :person/age]}]"
        if "person/checked" in attributes or "person/part" in attributes
        else "[]"
    )
    table = pa.table({"id": ["a"], "name": ["A"]})
    with pytest.raises(AdalogError) as caught:
        imported(database, tmp_path, mapping(attributes, entity), {"people": table})
    assert message in caught.value.message
    assert not facts(database)


def test_a_strict_schema_declares_nothing_by_use(tmp_path: Path) -> None:
    with Database.open(str(tmp_path / "data"), schema="strict") as database:
        database.transact(SCHEMA)
        table = pa.table({"id": ["a"], "nick": ["A"]})
        with pytest.raises(AdalogError, match="the schema does not declare :person/nick"):
            imported(database, tmp_path, mapping({"person/nick": "nick"}), {"people": table})
        assert database.snapshot().t == 1


def test_history_forgotten_and_kept(database: Database, tmp_path: Path) -> None:
    database.transact(
        "[{:db/ident :person/seen :db/valueType :db.type/long :db/noHistory true"
        " :db/cardinality :db.cardinality/one}]"
    )
    for number in (1, 2):
        table = pa.table({"id": ["a"], "seen": [number], "age": [number]})
        attributes = {"person/seen": "seen", "person/age": "age"}
        imported(database, tmp_path, mapping(attributes), {"people": table})
    history = database.at(history=True)
    assert sorted((d.v, d.added) for d in history.datoms("AEVT", [edn(":person/age")])) == [
        (1, False),
        (1, True),
        (2, True),
    ]
    assert [(d.v, d.added) for d in history.datoms("AEVT", [edn(":person/seen")])] == [(2, True)]


def test_the_first_of_two_values_wins(database: Database, tmp_path: Path) -> None:
    table = pa.table(
        {"id": ["a", "b", "a", "a", "b"], "name": ["1", "2", "3", "1", None], "age": [None, None, 5, 6, 7]}
    )
    attributes = {"person/name": "name", "person/age": "age"}
    for sizes in ({}, {"rows": 1}, {"partitions": 1, "buckets": 1, "rows": 100}):
        with Database.open(str(tmp_path / f"data{len(sizes)}")) as fresh:
            fresh.transact(SCHEMA)
            outcome, rejected = imported(
                fresh, tmp_path, mapping(attributes), {"people": table}, max_errors=1, **sizes
            )
            assert [row for _, row, _ in rejected] == [2]
            assert outcome.accepted
            assert ("a", ":person/age", 6) in facts(fresh)


def test_unique_values_are_taken_once(database: Database, tmp_path: Path) -> None:
    database.transact('[{:person/id "old" :person/email "o@x"} {:person/id "gives" :person/email "g@x"}]')
    table = pa.table(
        {"id": ["a", "b", "c", "d", "gives", "e"], "email": ["a@x", "a@x", "o@x", "c@x", "new@x", "g@x"]}
    )
    outcome, rejected = imported(
        database, tmp_path, mapping({"person/email": "email"}), {"people": table}, max_errors=2
    )
    assert [row for _, row, _ in rejected] == [1, 2]
    emails = {e: v for e, a, v in facts(database) if a == ":person/email"}
    assert emails == {"a": "a@x", "d": "c@x", "old": "o@x", "gives": "new@x", "e": "g@x"}
    assert outcome.accepted


def test_numbers_name_entities_too(database: Database, tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2, 2**61, 1], "boss": [2, 2**61, 1, 2]})
    attributes = {"person/boss": {"column": "boss", "ref": "person/number"}}
    outcome, _ = imported(database, tmp_path, mapping(attributes, "person/number"), {"people": table})
    assert outcome.entities == 3
    assert {(e, v) for e, a, v in facts(database) if "boss" in a} == {(1, 2), (2, 2**61), (2**61, 1)}


def test_undeclared_attributes_are_declared_by_use(database: Database, tmp_path: Path) -> None:
    table = pa.table({"id": ["a"], "nick": [["x", "y"]], "height": [1.5], "alive": [True]})
    attributes = {"p/nick": "nick", "p/height": "height", "p/alive": "alive"}
    outcome, _ = imported(database, tmp_path, mapping(attributes), {"people": table})
    snapshot = database.snapshot()
    found = {str(each.ident): (each.kind.value_type, each.kind.cardinality) for each in snapshot.attributes()}
    assert found[":p/nick"] == ("string", "many")
    assert found[":p/height"] == ("double", "one")
    assert found[":p/alive"] == ("boolean", "one")
    assert outcome.t == 2


def test_a_dry_run_changes_nothing(database: Database, tmp_path: Path) -> None:
    table = pa.table({"id": ["a"], "name": ["Ada"]})
    outcome, _ = imported(database, tmp_path, mapping({"person/name": "name"}), {"people": table}, dry_run=True)
    assert (outcome.datoms, outcome.t, database.snapshot().t) == (2, 1, 1)
    assert not facts(database)


def test_it_is_there_after_a_restart_and_without_checkpoint(database: Database, tmp_path: Path) -> None:
    database.transact('[{:person/id "a" :person/name "Old" :person/tag :gone} {:person/id "c" :person/name "Cy"}]')
    table = pa.table({"id": ["a", "b"], "name": ["Ada", "Bob"], "score": [0.5, -0.0]})
    attributes = {"person/name": "name", "person/score": "score"}
    imported(database, tmp_path, mapping(attributes), {"people": table})
    free = database._head.free
    database.transact('[{:person/id "a" :person/name "Later"}]')
    known = facts(database)
    told = [list(report.datoms) for report in database.transactions(1, 9, 9)]
    database.close()
    with Database.open(str(tmp_path / "data")) as again:
        assert facts(again) == known
        assert [list(report.datoms) for report in again.transactions(1, 9, 9)] == told
    (tmp_path / "data" / "checkpoint.json").unlink()
    for file in (tmp_path / "data" / "segments").iterdir():
        file.unlink()
    with Database.open(str(tmp_path / "data")) as again:
        assert again._head.free == free
        assert facts(again) == known
        assert [list(report.datoms) for report in again.transactions(1, 9, 9)] == told


def test_the_schema_comes_first_and_may_hold_data(database: Database, tmp_path: Path) -> None:
    forms = (
        '[{:db/ident :person/nick :db/valueType :db.type/string} {:person/id "a" :person/nick "one" :person/age 1}]'
    )
    (tmp_path / "schema.edn").write_text(forms)
    given = {
        "schema": "schema.edn",
        **mapping({"person/nick": "nick", "person/boss": {"column": "boss", "ref": "person/id"}}),
    }
    table = pa.table({"id": ["a", "b"], "nick": ["two", "one"], "boss": ["b", "a"]})
    outcome, _ = imported(database, tmp_path, given, {"people": table})
    expected = {
        *((e, ":person/id", e) for e in "ab"),
        ("a", ":person/nick", "two"),
        ("b", ":person/nick", "one"),
        ("a", ":person/age", 1),
        ("a", ":person/boss", "b"),
        ("b", ":person/boss", "a"),
    }
    assert facts(database) == expected
    (tmp_path / "data" / "checkpoint.json").unlink()
    database.close()
    with Database.open(str(tmp_path / "data")) as again:
        assert facts(again) == expected
        assert again.snapshot().t == outcome.t == 2


def test_a_damaged_file_of_the_log_is_never_read_as_data(database: Database, tmp_path: Path) -> None:
    imported(
        database, tmp_path, mapping({"person/name": "name"}), {"people": pa.table({"id": ["a"], "name": ["A"]})}
    )
    database.close()
    (tmp_path / "data" / "checkpoint.json").unlink()
    damaged = max((tmp_path / "data" / "imported").iterdir())
    damaged.write_bytes(damaged.read_bytes()[:-9] + b"123456789")
    with pytest.raises(
        AdalogError, match=r"the log is damaged: it names a file of 1 datoms, and imported.* is damaged"
    ):
        Database.open(str(tmp_path / "data"))


def test_what_was_not_adopted_goes_when_the_folder_is_opened(database: Database, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    database.close()
    for name in ("imported", "importing/1"):
        (folder / name).mkdir(parents=True)
        (folder / name / "left").write_bytes(b"x")
    (folder / "segments" / "run-1-1-00000000.seg").write_bytes(b"x")
    with Database.open(str(folder)) as again:
        assert not list(folder.glob("import*/**/left"))
        again.transact("[{:x/y 1}]")
    assert not (folder / "segments" / "run-1-1-00000000.seg").exists()


@pytest.mark.parametrize("room", [0, 300, 2000])
def test_a_disk_that_takes_no_more(database: Database, tmp_path: Path, room: int) -> None:
    """No file may be longer, as on a full disk: it is said, nothing is left, and the next import goes well."""
    table = pa.table({"id": [f"p{n}" for n in range(200)], "name": [f"name {n}" for n in range(200)]})
    before, t = facts(database), database.snapshot().t
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    plan = planned(tmp_path, mapping({"person/name": "name"}), {"people": table})
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, unlimited[1]))
    try:
        with pytest.raises(AdalogError) as refused:
            load(database, InProcess(rows=50), plan)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert (refused.value.code, refused.value.retryable) == (Code.BACKEND_UNAVAILABLE, True)
    assert (facts(database), database.snapshot().t) == (before, t)
    assert not (tmp_path / "data" / "importing").exists()
    outcome = load(database, InProcess(rows=50), plan)
    assert (outcome.accepted, outcome.entities) == (True, 200)


def test_files_that_cannot_be_taken_over_are_no_accident(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"id": ["a"], "name": ["Ada"]})

    def fails(_: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(adoption, "synced", fails)
        with pytest.raises(AdalogError, match="nothing was applied") as refused:
            imported(database, tmp_path, mapping({"person/name": "name"}), {"people": table})
    assert refused.value.code is Code.BACKEND_UNAVAILABLE
    assert facts(database) == set()
    imported(database, tmp_path, mapping({"person/name": "name"}), {"people": table})
    assert facts(database) == {("a", ":person/id", "a"), ("a", ":person/name", "Ada")}


def test_misspelt_names_are_told_with_their_place(database: Database, tmp_path: Path) -> None:
    table = pa.table({"id": ["a"], "name": ["Ada"]})
    outcome, _ = imported(database, tmp_path, mapping({"person/nmae": "name"}), {"people": table}, dry_run=True)
    [warning] = outcome.warnings
    assert "mapping.yaml, line 1, column " in warning
    assert "the import declares :person/nmae (did you mean :person/name?)" in warning
    assert "warnings" not in outcome.told()
    outcome, _ = imported(database, tmp_path, mapping({"person/height": "name"}), {"people": table}, dry_run=True)
    assert not outcome.warnings
    # :person/age is declared, which is alike on the whole, but another word.
    outcome, _ = imported(database, tmp_path, mapping({"person/made": "name"}), {"people": table}, dry_run=True)
    assert not outcome.warnings
    with pytest.raises(
        AdalogError, match=r"line 1, column .* has no column nmae \(did you mean name\?\); its columns"
    ):
        imported(database, tmp_path, mapping({"person/name": "nmae"}), {"people": table})
    with pytest.raises(
        AdalogError, match=r"line 1, column .* by :person/idd, which .* \(did you mean :person/id\?\)"
    ):
        imported(database, tmp_path, mapping({}, entity="person/idd"), {"people": table})


def test_keys_of_several_columns(database: Database, tmp_path: Path) -> None:
    parts = ["a", "a|", "|a", "\\", "\\|", "a\\|a", "1", ""]
    pairs = [(one, other) for one in parts for other in parts]
    table = pa.table(
        {
            "one": [one for one, _ in pairs],
            "other": [other for _, other in pairs],
            "number": pa.array(range(len(pairs)), pa.int32()),
            "before": [pairs[at - 1][0] for at in range(len(pairs))],
        }
    )
    source = {
        "path": "x.parquet",
        "entity": {"attribute": "person/id", "columns": ["one", "other"]},
        "attributes": {"person/number": "number"},
    }
    outcome, rejected = imported(
        database, tmp_path, {"sources": {"people": source}}, {"people": table}, max_errors=99
    )
    empty = [at for at, pair in enumerate(pairs) if "" in pair]
    assert [(row, why) for _, row, why in rejected] == [
        (at, "there is no value for :person/id, which names the entity") for at in empty
    ]
    assert outcome.entities == len(pairs) - len(empty) == 49
    assert {v for _, a, v in facts(database) if a == ":person/id"} >= {"a|a", "a\\||1", "1|\\\\\\|"}
    bosses = {
        "path": "x.parquet",
        "entity": {"attribute": "person/number", "column": "number"},
        "attributes": {"person/boss": {"columns": ["before", "other"], "ref": "person/id"}},
    }
    again = table.filter(pc.not_equal(table.column("one"), "")).slice(1)
    outcome, rejected = imported(
        database, tmp_path, {"sources": {"people": bosses}}, {"people": again}, max_errors=99
    )
    known = {(e, v) for e, a, v in facts(database) if a == ":person/boss"}
    assert len(known) == len(again) - sum(
        "" in pair for pair in zip(again["before"].to_pylist(), again["other"].to_pylist(), strict=True)
    )
    wrong = {**source, "entity": {"attribute": "person/number", "columns": ["one", "other"]}, "attributes": {}}
    with pytest.raises(
        AdalogError, match=r":person/number is given by several columns, and has to be a :db.type/string"
    ):
        imported(database, tmp_path, {"sources": {"people": wrong}}, {"people": table})
    doubles = table.set_column(1, "other", pa.array([1.5] * len(pairs)))
    with pytest.raises(AdalogError, match="column other of source people has values of the type double"):
        imported(database, tmp_path, {"sources": {"people": source}}, {"people": doubles})


def test_each_row_is_a_new_entity(database: Database, tmp_path: Path) -> None:
    database.transact('[{:person/id "boss"}]')
    rows = 40
    notes = pa.table(
        {
            "text": [f"note {at % 7}" for at in range(rows)],
            "size": [str(at) if at % 10 else "x" for at in range(rows)],
            "by": ["boss", "new"] * (rows // 2),
        }
    )
    attributes = {
        "note/text": "text",
        "note/size": {"column": "size", "type": "long"},
        "note/by": {"column": "by", "ref": "person/id"},
    }
    people = {"path": "y.parquet", "entity": {"attribute": "person/id", "column": "id"}}
    given = {
        "sources": {"notes": {"path": "x.parquet", "entity": "new", "attributes": attributes}, "people": people}
    }
    tables = {"notes": notes, "people": pa.table({"id": ["new"]})}
    dry, _ = imported(database, tmp_path, given, tables, max_errors=4, dry_run=True)
    assert {each["attribute"]: each["come"] for each in dry.report} == {
        ":person/id": 1,
        ":note/text": 36,
        ":note/size": 36,
        ":note/by": 36,
    }
    outcome, rejected = imported(database, tmp_path, given, tables, max_errors=4)
    assert [row for _, row, _ in rejected] == [0, 10, 20, 30]
    # Nine datoms declare the attributes.
    assert (outcome.entities, outcome.datoms) == (37, 36 * 3 + 1 + 9)

    def found() -> list[tuple[Any, ...]]:
        by_entity: dict[int, dict[str, Any]] = {}
        for d in database.snapshot().datoms("EAVT"):
            if str(d.a).startswith(":note"):
                by_entity.setdefault(d.e, {})[str(d.a)] = d.v
        names = {d.e: d.v for d in database.snapshot().datoms("AEVT", [edn(":person/id")])}
        return sorted((own[":note/size"], own[":note/text"], names[own[":note/by"]]) for own in by_entity.values())

    wanted = [(at, f"note {at % 7}", ("boss", "new")[at % 2]) for at in range(rows) if at % 10]
    assert found() == wanted
    again, _ = imported(database, tmp_path, given, tables, max_errors=4)
    assert again.datoms == 36 * 3
    assert found() == sorted(wanted * 2)


def test_an_outcome_in_a_log_has_no_values_of_the_data(database: Database, tmp_path: Path) -> None:
    table = pa.table({"id": ["a"], "name": ["Ada"]})
    outcome, _ = imported(database, tmp_path, mapping({"person/name": "name"}), {"people": table}, dry_run=True)
    assert "Ada" in str(outcome.report)
    assert "Ada" not in repr(outcome)
