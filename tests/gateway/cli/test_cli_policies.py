"""The command `policies`: the policies of a folder or a server, and what a change of them does to identities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adalog.store.database import Database
from tests.gateway.cli.command_line import adalog
from tests.gateway.support import served
from tests.permissions.issues import DATA, POLICIES, SCHEMA, issues

TITLES = "[:find ?title :where [_ :issue/title ?title]]"
CHANGE = (
    """[{:policy/name "members read issues" :policy/rules "[[(allow ?i) [?i :issue/points ?n] [(> ?n 1)]]]"}]"""
)
IDENTITIES = json.dumps([{"sub": "ann", "roles": ["member"]}, {"sub": "bob", "roles": "guest read"}])


@pytest.fixture
def folder(tmp_path: Path) -> str:
    path = str(tmp_path / "data")
    with Database.open(path) as database:
        for each in (SCHEMA, DATA, POLICIES):
            database.transact(each)
    return path


def test_policies_are_listed(folder: str, tmp_path: Path) -> None:
    said = adalog("policies", "--data", folder, "--format", "json")
    assert said.exit_code == 0, said.output
    found = json.loads(said.stdout)
    assert [each["name"] for each in found] == [
        "all read names",
        "members read issues",
        "members read points",
        "members read their projects",
    ]
    assert found[0] == {
        "name": "all read names", "roles": ":*", "ops": ":read", "on": ":user/name", "effect": "", "rules": ""
    }  # fmt: skip
    assert found[1]["rules"].startswith("[[(allow ?i)")
    assert "4 policies" in adalog("policies", "--data", folder).output


def test_a_change_is_tried(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "identities.json"
    file.write_text(IDENTITIES)
    asked = ("policies", "try", CHANGE, "--as", str(file), TITLES)
    said = adalog(*asked, "--data", folder)
    assert said.exit_code == 0, said.output
    assert said.stdout.splitlines() == [
        "ann: 1 stay, 1 gained, 1 lost",
        '+ ["three"]',
        '- ["one"]',
        "bob: 1 stay, 1 gained, 0 lost",
        '+ ["two"]',
    ]
    shown = json.loads(adalog(*asked, "--data", folder, "--format", "json").stdout)
    assert [(each["as"], len(each["gained"]), len(each["lost"])) for each in shown] == [
        ("ann", 1, 1),
        ("bob", 1, 0),
    ]
    # Nothing was committed.
    assert adalog("policies", "--data", folder, "--format", "json").stdout.count("points ?n") == 0


def test_a_server_is_asked_as_an_admin(tmp_path: Path) -> None:
    with issues(tmp_path, port=0) as opened, served(opened.app, opened.settings) as address:
        asked = ("policies", "try", CHANGE, "--as", '{"sub": "ann", "roles": ["member"]}', TITLES, "--url", address)
        assert "ann: 1 stay" in adalog(*asked, "--token", "root").stdout
        refused = adalog(*asked, "--token", "bob")
        assert refused.exit_code == 1
        assert "`as` asks for others" in refused.output
        assert (
            len(json.loads(adalog("policies", "--url", address, "--token", "root", "--format", "json").stdout)) == 4
        )


@pytest.mark.parametrize(("given", "says"), [("[1]", "has to hold the claims"), ("{", "is no JSON of claims")])
def test_identities_that_are_none(folder: str, given: str, says: str) -> None:
    said = adalog("policies", "try", CHANGE, "--as", given, TITLES, "--data", folder)
    assert said.exit_code == 1
    assert says in said.output
