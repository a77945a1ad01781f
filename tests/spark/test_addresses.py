"""Exports to an object store: the same files as in a folder, and nothing where it fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adalog.cluster.addresses import check_address, file_system_at
from adalog.datalog.errors import AdalogError, Code
from adalog.pipeline.exporting.export import export
from adalog.pipeline.importing.read.export_files import read_export
from adalog.pipeline.importing.read.mapping import DatomSource
from adalog.store.database import Database
from adalog.store.files.addresses import shown
from tests.pipeline.exports_in_process import held, in_edn, in_parquet, loaded, said
from tests.pipeline.pipeline_in_process import InProcess
from tests.pipeline.test_exporting import Failing, Twice
from tests.pipeline.test_importing import SCHEMA
from tests.s3_server import Objects, s3_server


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Objects]:
    with s3_server(monkeypatch) as objects:
        yield objects


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        database.transact(
            """[{:person/id "a" :person/name "Ada" :person/age 36 :person/tag [:x :y]
                 :person/knows {:person/id "b"}}
                {:person/id "ü" :person/born #inst "1815-12-10" :person/score 1.5}]"""
        )
        database.compact()
        database.transact('[[:db/retract [:person/id "a"] :person/age 36] {:person/id "c" :person/name "Cy"}]')
        yield database


def fetched(objects: Objects, prefix: str, to: Path) -> Path:
    for name, content in objects.held.items():
        path = to / name.removeprefix(f"{prefix}/")
        if name.startswith(f"{prefix}/") and not name.endswith("/"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return to


@pytest.mark.parametrize(("form", "runner"), [("parquet", InProcess), ("edn", InProcess), ("parquet", Twice)])
def test_an_export_to_an_object_store(
    s3: Objects, database: Database, tmp_path: Path, form: str, runner: Any
) -> None:
    view = database.snapshot().history()
    outcome = export(view, runner(), s3.address("back/up"), form, 2)
    read = in_parquet if form == "parquet" else in_edn
    assert read(fetched(s3, "back/up", tmp_path / "here")) == said(view)
    assert outcome.files == sum("/part-" in name for name in s3.held)
    with pytest.raises(AdalogError, match="is not empty") as caught:
        export(view, InProcess(), s3.address("back/up"), form)
    assert caught.value.code is Code.ARG_INVALID
    assert "endpoint" not in caught.value.message


@pytest.mark.parametrize("form", ["parquet", "edn"])
def test_an_export_is_imported_from_there(s3: Objects, database: Database, tmp_path: Path, form: str) -> None:
    export(database.snapshot(), InProcess(), s3.address("back/up"), form, 2)
    source = {"path": s3.address("back/up"), "format": "adalog", "ids": "keep"}
    with Database.open(str(tmp_path / "again")) as again:
        outcome, rejected = loaded(again, tmp_path, source)
        assert (outcome.accepted, rejected) == (True, [])
        assert held(again.snapshot()) == held(database.snapshot(), moved=True)
        assert loaded(again, tmp_path, source)[0].datoms == 0
    part = next(name for name in s3.held if "/part-" in name)
    del s3.held[part]
    with pytest.raises(AdalogError, match="the export is not whole") as caught:
        read_export(DatomSource("all", s3.address("back/up"), "adalog", {}, keep=True))
    assert caught.value.code is Code.ARG_INVALID
    assert "endpoint" not in caught.value.message


def test_what_fails_leaves_nothing(s3: Objects, database: Database) -> None:
    s3.held["other"] = b"stays"
    with pytest.raises(AdalogError, match="gone"):
        export(database.snapshot(), Failing({}), s3.address("backup"), "parquet")
    assert {name for name in s3.held if not name.endswith("/")} == {"other"}


def test_what_the_store_refuses_is_said(s3: Objects, database: Database) -> None:
    s3.refused = True
    with pytest.raises(AdalogError, match=r"s3://bucket/backup cannot be used") as caught:
        export(database.snapshot(), InProcess(), s3.address("backup"), "parquet")
    assert caught.value.code is Code.BACKEND_UNAVAILABLE


@pytest.mark.parametrize("address", ["nowhere://bucket/x", "s3://"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(AdalogError) as caught:
        file_system_at(address)
    assert caught.value.code is Code.ARG_INVALID


def test_keys_are_not_said() -> None:
    assert shown("s3://key:secret@bucket/a/b?scheme=http&access_key=x") == "s3://bucket/a/b"


@pytest.mark.parametrize("address", ["s3://bucket/adalog", "S3://key:secret@bucket/a?region=x", "file:///srv/x"])
def test_what_may_be_an_address(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize(
    "address", ["", "/srv/x", "s3:bucket", "s3://", "s3://?region=secret", "s3://key:secret@/", "ftp://secret/x"]
)
def test_what_cannot_be_an_address_is_said_without_it(address: str) -> None:
    with pytest.raises(ValueError, match="s3://bucket/adalog") as caught:
        check_address(address)
    assert "secret" not in str(caught.value)
