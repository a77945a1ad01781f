"""The command `schema`: the schema as SDL, and the declarations that data suggest."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphql import build_schema, validate_schema

from adalog.datalog import edn
from adalog.store.database import Database
from tests.gateway.cli.command_line import adalog

SCHEMA = """[
 {:db/ident :user/email :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :issue/id :db/valueType :db.type/long :db/unique :db.unique/identity}
 {:db/ident :issue/assignee :db/valueType :db.type/ref} {:db/ident :issue/status :db/valueType :db.type/ref}
 {:db/ident :issue/any :db/valueType :db.type/ref} {:db/ident :issue/none :db/valueType :db.type/ref}
 {:db/ident :issue/ok? :db/valueType :db.type/boolean}
 {:db/ident :line/text :db/valueType :db.type/string} {:db/ident :line/more :db/valueType :db.type/string}
 {:db/ident :status/open} {:db/ident :status/done}]"""
DATA = """[
 {:db/id "a" :user/email "a"} {:db/id "x" :line/text "t"} {:line/text "u" :line/more "v"}
 {:issue/id 1 :issue/assignee "a" :issue/status :status/open :issue/any "a" :issue/ok? true}
 {:issue/id 2 :issue/assignee {:user/email "b"} :issue/status :status/done :issue/any "x"}]"""


def test_declarations_that_the_data_suggest(tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    with Database.open(folder) as database:
        database.transact(SCHEMA)
        database.transact(DATA)
    said = adalog("schema", "--data", folder, "--propose").stdout
    assert said == (
        "[\n"
        " {:db/ident :issue/assignee, :graphql/type :user} ; all 2 entities that it refers to have :user/email\n"
        " {:db/ident :issue/status, :graphql/enum :status} ; all values are idents in :status\n"
        " {:graphql/namespace :line, :graphql/anchor :line/text}"
        " ; all 2 entities with an attribute in :line have it\n"
        ' {:db/ident :issue/ok?, :graphql/name "ok"} ; GraphQL cannot spell ok?\n'
        "]\n"
    )
    with Database.open(folder) as database:
        database.transact(edn.read(said))
    assert adalog("schema", "--data", folder, "--propose").stdout.startswith("[] ;")
    printed = build_schema(adalog("schema", "--data", folder).stdout)
    assert validate_schema(printed) == []
    assert str(printed.type_map["Issue"].fields["assignee"].type) == "User"
    assert str(printed.type_map["Issue"].fields["ok"].type) == "Boolean"


@pytest.fixture(params=["folder", "address"])
def where(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The family in a folder and served, as an option."""
    return ("--data" if request.param == "folder" else "--url", request.getfixturevalue(request.param))


def test_the_schema_of_a_folder_and_of_a_server(where: tuple[str, str]) -> None:
    printed = adalog("schema", *where)
    assert printed.exit_code == 0, printed.stderr
    assert "type Person implements Node & Entity" in printed.stdout
    assert validate_schema(build_schema(printed.stdout)) == []


def test_a_server_proposes_nothing(address: str) -> None:
    refused = adalog("schema", "--url", address, "--propose")
    assert refused.exit_code == 2
    assert "--data" in refused.stderr
