"""Imports while others write: what they find in the end is what was written before them, all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.backup.check import check_data
from adalog.store.database import Database
from tests.pipeline import pipeline_in_process
from tests.pipeline.pipeline_in_process import InProcess, imported
from tests.pipeline.test_importing import SCHEMA, facts, mapping

T = TypeVar("T")
R = TypeVar("R")

NAME = {"person/name": "name"}
PEOPLE = pa.table({"id": ["a", "b"], "name": ["Ada", "Bob"]})


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        yield database


@pytest.fixture
def meanwhile(database: Database, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Has a transaction made after the first time that attributes were written; gives the stages as they come."""

    def arrange(transaction: str) -> list[str]:
        stages: list[str] = []

        class Disturbed(InProcess):
            def each(
                self, stage: str, work: Callable[[T], R], items: Sequence[T], rows: Callable[[], int] = lambda: 0
            ) -> list[R]:
                made = super().each(stage, work, items, rows)
                stages.append(stage if items else f"{stage}: none")
                if stages.count("attributes") == 1 and stages[-1] == "attributes":
                    database.transact(transaction)
                return made

        monkeypatch.setattr(pipeline_in_process, "InProcess", Disturbed)
        return stages

    return arrange


def test_what_depends_on_the_database_is_done_again(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]]
) -> None:
    stages = meanwhile('[{:person/id "z" :person/name "Zed"}]')
    outcome, _ = imported(database, tmp_path, mapping(NAME), {"people": PEOPLE}, leeway=1)
    assert (stages.count("keys"), stages.count("attributes")) == (1, 2)
    assert (outcome.t, outcome.datoms) == (3, 4)
    assert facts(database) == {
        (e, a, v)
        for e, name in (("a", "Ada"), ("b", "Bob"), ("z", "Zed"))
        for a, v in ((":person/id", e), (":person/name", name))
    }
    before = database.at(t=2)
    assert before.datom_count < database.at(t=3).datom_count
    with pytest.raises(StopIteration):
        next(iter(database.at(t=2, since=2).datoms("EAVT")))


MORE = {"person/name": "name", "person/tag": "tag", "person/boss": {"column": "boss", "ref": "person/id"}}
TABLE = pa.table({"id": ["a", "b"], "name": ["Ada", "Bob"], "tag": ["new", "x"], "boss": ["b", "z"]})
ELSEWHERE = """[[:db/add "n" :person/email "one"] [:db/add "n" :person/age 3] [:db/add "n" :person/score 2.5]
 {:person/number 77 :person/email "two"}]"""


def test_what_is_written_elsewhere_leaves_it_as_it_is(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]]
) -> None:
    database.transact('[{:person/id "z" :person/name "Zed" :person/tag :x} {:person/id "a" :person/name "Old"}]')
    stages = meanwhile(ELSEWHERE)
    outcome, _ = imported(database, tmp_path, mapping(MORE), {"people": TABLE}, leeway=2)
    assert stages[-4:] == ["keys", "values", "attributes", "attributes: none"]
    known = facts_by_id(database)
    assert known == {
        ("a", ":person/name", "Ada"),
        ("a", ":person/tag", ":new"),
        ("a", ":person/boss", "b"),
        ("b", ":person/name", "Bob"),
        ("b", ":person/tag", ":x"),
        ("b", ":person/boss", "z"),
        ("z", ":person/name", "Zed"),
        ("z", ":person/tag", ":x"),
    }
    assert outcome.t == 4
    assert {d.v for d in database.at(t=3).datoms("AEVT", [pipeline_keyword("person/name")])} == {"Zed", "Old"}
    [report] = database.transactions(4, 5, 1)
    assert sorted((str(d.a), str(d.v)) for d in report.datoms if d.a.name == "person/name") == [
        (":person/name", "Ada"),
        (":person/name", "Bob"),
        (":person/name", "Old"),
    ]
    assert {d.t for d in report.datoms} == {4}
    database.close()
    assert not check_data(str(tmp_path / "data"), deep=True).findings


def test_what_principals_write_elsewhere_leaves_it_as_it_is(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.submit('[[:db/add "n" :person/email "one"]]', principal="eve").result()
    stages: list[str] = []

    class Disturbed(InProcess):
        def each(self, stage: str, work: Callable[[T], R], items: Sequence[T], *rows: Any) -> list[R]:
            made = super().each(stage, work, items, *rows)
            stages.append(stage)
            if stages[-3:] == ["keys", "values", "attributes"] and stages.count("keys") == 1:
                database.submit('[[:db/add "n" :person/email "two"]]', principal="eve").result()
            return made

    monkeypatch.setattr(pipeline_in_process, "InProcess", Disturbed)
    outcome, _ = imported(database, tmp_path, mapping(NAME), {"people": PEOPLE}, leeway=2, principal="ann")
    assert (stages.count("keys"), outcome.datoms) == (1, 4)
    named = [
        [each.v for each in report.datoms if str(each.a) == ":db/principal"]
        for report in database.transactions(2, outcome.t + 1, 9)
    ]
    assert named == [["eve"], ["eve"], ["ann"]]
    database.close()
    assert not check_data(str(tmp_path / "data"), deep=True).findings


def test_a_value_that_others_bring_too_has_one_number(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]]
) -> None:
    stages = meanwhile('[[:db/add "n" :person/email "Ada"]]')
    imported(database, tmp_path, mapping(NAME), {"people": PEOPLE}, leeway=9)
    assert stages.count("keys") == 2
    assert set(codes_of(database, "person/email")) < set(codes_of(database, "person/name"))


def codes_of(database: Database, ident: str) -> list[int]:
    snapshot = database.snapshot()
    attribute = snapshot.attribute(pipeline_keyword(ident))
    assert attribute is not None
    codes: list[int] = snapshot.columns(attribute).v.tolist()
    return codes


def facts_by_id(database: Database) -> set[Any]:
    """What is true of those who have a :person/id."""
    snapshot = database.snapshot()
    ids = {d.e: d.v for d in snapshot.datoms("AEVT", [pipeline_keyword("person/id")])}
    shown = {"person/boss": ids.get, "person/tag": str}
    return {
        (ids[d.e], str(d.a), shown.get(d.a.name, str)(d.v))
        for d in snapshot.datoms("EAVT")
        if d.e in ids and d.a.name != "person/id"
    }


def test_an_entity_made_meanwhile_is_the_same(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]]
) -> None:
    meanwhile('[{:person/id "a" :person/name "Other" :person/age 3}]')
    outcome, _ = imported(database, tmp_path, mapping(NAME), {"people": PEOPLE})
    assert {fact for fact in facts(database) if fact[0] == "a"} == {
        ("a", ":person/id", "a"),
        ("a", ":person/name", "Ada"),
        ("a", ":person/age", 3),
    }
    # A name for another, and both of b.
    assert outcome.datoms == 2 + 2
    assert database.at(t=2).entid((pipeline_keyword("person/id"), "a")) is not None


def pipeline_keyword(name: str) -> Any:
    from adalog.datalog.values import Keyword

    return Keyword(name)


def test_a_unique_value_taken_meanwhile_rejects_the_row(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]]
) -> None:
    meanwhile('[{:person/id "z" :person/email "m"}]')
    table = pa.table({"id": ["a", "b"], "mail": ["m", "n"]})
    outcome, rejected = imported(
        database, tmp_path, mapping({"person/email": "mail"}), {"people": table}, max_errors=1
    )
    assert rejected == [("people", 0, ":person/email is unique, and another entity has this value")]
    assert (outcome.accepted, outcome.rejected) == (True, 1)
    assert {(e, v) for e, a, v in facts(database) if a == ":person/email"} == {("z", "m"), ("b", "n")}


def test_a_row_that_was_wrong_may_be_right_meanwhile(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]]
) -> None:
    stages = meanwhile('[{:person/id "z"}]')
    table = pa.table({"id": ["a", "b", "c"], "boss": ["z", "a", None]})
    attributes = {"person/boss": {"column": "boss", "ref": "person/id"}}
    # Two rows are rejected at first, as nobody is z, and then nobody a.
    outcome, rejected = imported(database, tmp_path, mapping(attributes), {"people": table}, max_errors=2)
    assert stages.count("rejecting") >= 2
    assert (outcome.rejected, rejected) == (0, [])
    assert {(e, v) for e, a, v in facts(database) if a == ":person/boss"} == {("a", "z"), ("b", "a")}


def test_a_target_that_goes_meanwhile_rejects_the_row(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]]
) -> None:
    database.transact('[{:person/id "z"}]')
    meanwhile('[[:db/retractEntity [:person/id "z"]]]')
    table = pa.table({"id": ["a"], "boss": ["z"]})
    attributes = {"person/boss": {"column": "boss", "ref": "person/id"}}
    outcome, rejected = imported(database, tmp_path, mapping(attributes), {"people": table})
    assert (outcome.accepted, outcome.rejected, len(rejected)) == (False, 1, 1)
    assert facts(database) == set()


def test_attributes_declared_meanwhile(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]]
) -> None:
    meanwhile('[{:person/id "z" :person/nick "Zed"} {:other/thing 1}]')
    attributes = {"person/nick": "name"}
    outcome, _ = imported(database, tmp_path, mapping(attributes), {"people": PEOPLE})
    assert outcome.accepted
    assert {v for _, a, v in facts_of(database, ":person/nick")} == {"Ada", "Bob", "Zed"}


def facts_of(database: Database, ident: str) -> set[Any]:
    snapshot = database.snapshot()
    attribute = snapshot.attribute(pipeline_keyword(ident.removeprefix(":")))
    assert attribute is not None
    held = snapshot.columns(attribute)
    return {(e, ident, v) for e, v in zip(held.e.tolist(), snapshot.codes.decode_many(held.v), strict=True)}


def test_attributes_declared_otherwise_refuse_it(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]]
) -> None:
    meanwhile("[{:db/ident :person/nick :db/valueType :db.type/keyword :db/cardinality :db.cardinality/one}]")
    with pytest.raises(AdalogError, match="attributes that the mapping names were changed") as caught:
        imported(database, tmp_path, mapping({"person/nick": "name"}), {"people": PEOPLE})
    assert caught.value.code is Code.BASIS_CONFLICT
    assert facts(database) == set()
    assert not (tmp_path / "data" / "importing").exists()


def test_transactions_do_not_wait_for_ever(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = meanwhile('[{:person/id "z"}]')
    waited: list[int] = []
    each = pipeline_in_process.InProcess.each

    def slow(self: InProcess, stage: str, work: Callable[[T], R], items: Sequence[T], *more: Any) -> list[R]:
        if stages.count("attributes") == 1 and not waited:
            # Longer than it may take: the transaction is made before the import goes on.
            waited.append(database.transact('[{:person/id "y"}]').t)
        return each(self, stage, work, items, *more)

    monkeypatch.setattr(pipeline_in_process.InProcess, "each", slow)
    with pytest.raises(AdalogError) as caught:
        imported(database, tmp_path, mapping(NAME), {"people": PEOPLE}, hold_seconds=0.05)
    assert caught.value.code is Code.TIMEOUT
    assert (waited, database.snapshot().t) == ([3], 3)
    assert {e for e, _, _ in facts(database)} == {"y", "z"}
    assert not (tmp_path / "data" / "importing").exists()


DATOMS = """[
 {:db/ident :p/mail :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :p/name :db/valueType :db.type/string} {:db/ident :p/knows :db/valueType :db.type/ref}]"""
LINES = pa.table({"value": ['[1 :p/mail "a"]', '[1 :p/name "Ada"]', '[2 :p/name "Bob"]', "[2 :p/knows 1]"]})


def datoms(database: Database) -> set[tuple[int, str, Any]]:
    return {(each.e, str(each.a), each.v) for each in database.snapshot().datoms("AEVT") if ":p/" in str(each.a)}


def lines(ids: str) -> dict[str, Any]:
    return {"sources": {"all": {"path": "x.edn", "format": "edn", "ids": ids}}}


def test_datoms_are_of_who_was_made_meanwhile(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]]
) -> None:
    database.transact(DATOMS)
    meanwhile('[{:db/id 7 :p/mail "a" :p/name "other"} {:db/id "x" :p/name "new"}]')
    imported(database, tmp_path, lines("new"), {"all": LINES})
    told = datoms(database)
    assert {(7, ":p/mail", "a"), (7, ":p/name", "Ada")} <= told
    (bob,) = [e for e, a, v in told if v == "Bob"]
    assert (bob, ":p/knows", 7) in told
    assert len({e for e, _, _ in told}) == 3


def test_datoms_keep_their_ids_beside_what_was_made_meanwhile(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]]
) -> None:
    database.transact(DATOMS)
    meanwhile('[{:db/id 1 :p/name "mine"} {:db/id "x" :p/name "new"}]')
    imported(database, tmp_path, lines("keep"), {"all": LINES})
    told = datoms(database)
    assert {(1, ":p/mail", "a"), (1, ":p/name", "Ada"), (2, ":p/name", "Bob"), (2, ":p/knows", 1)} <= told
    made = database.transact('[{:db/id "y" :p/name "newer"}]').tempids["y"]
    assert made not in {e for e, _, _ in told}


def test_idents_made_meanwhile_may_be_what_ids_mean(
    database: Database, tmp_path: Path, meanwhile: Callable[[str], list[str]]
) -> None:
    database.transact(DATOMS)
    meanwhile("[{:db/ident :fresh}]")
    with pytest.raises(AdalogError) as caught:
        imported(database, tmp_path, lines("keep"), {"all": LINES})
    assert caught.value.code is Code.BASIS_CONFLICT
    assert datoms(database) == set()
