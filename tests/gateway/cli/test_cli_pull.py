"""The commands `pull` and `attributes`, and EDN broken into lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog import edn
from adalog.gateway.cli.output.pretty import pretty
from tests.datalog.strategies import values as edn_values
from tests.gateway.cli.command_line import adalog

ADA = '[:person/name "Ada"]'
CHILDREN = "[:person/name {:person/child [:person/name]}]"


@pytest.fixture(params=["folder", "address"])
def where(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The family in a folder and served, as an option."""
    return ("--data" if request.param == "folder" else "--url", request.getfixturevalue(request.param))


def test_a_pulled_entity_is_edn_over_several_lines(where: tuple[str, str]) -> None:
    result = adalog("pull", *where, CHILDREN, ADA)
    assert result.stdout == (
        '{:person/name "Ada"\n'
        ' :person/child [{:person/name "Byron"} {:person/name "Anne"} {:person/name "Ralph"}]}\n'
    )
    assert result.stderr == ""


def test_one_that_fits_is_one_line(where: tuple[str, str]) -> None:
    assert adalog("pull", *where, "[:person/name :person/born]", ADA).stdout == (
        '{:person/name "Ada", :person/born 1815}\n'
    )


def test_several_in_their_order(where: tuple[str, str]) -> None:
    result = adalog("pull", *where, "--format", "edn", "[:person/name]", '[:person/name "Anne"]', "77", ADA)
    assert result.stdout == '{:person/name "Anne"}\nnil\n{:person/name "Ada"}\n'
    assert result.stderr == "nothing to show of 77\n"
    assert result.exit_code == 0


def test_json(where: tuple[str, str]) -> None:
    say = ("pull", *where, "--format", "json", "[:person/name]")
    assert json.loads(adalog(*say, ADA).stdout) == {":person/name": "Ada"}
    assert json.loads(adalog(*say, ADA, "77").stdout) == [{":person/name": "Ada"}, None]


def test_warnings(where: tuple[str, str]) -> None:
    result = adalog("pull", *where, "--format", "edn", "[:person/name\n :person/nmae]", ADA, ":no/ident")
    assert result.stdout == '{:person/name "Ada"}\nnil\n'
    lines = result.stderr.splitlines()
    assert lines[0] == "nothing to show of :no/ident"
    assert lines[1].startswith("warning UNKNOWN_ATTRIBUTE no attribute :person/nmae is declared (did you mean")
    assert lines[1].endswith("(2:2)")
    assert lines[2] == "warning UNKNOWN_IDENT eids[1]: no entity has the ident :no/ident"
    future = adalog("pull", *where, "--as-of", "2199-01-01", "--format", "json", "[:person/name]", ADA)
    assert json.loads(future.stdout) == {":person/name": "Ada"}
    assert future.stderr.startswith("warning BASIS_FUTURE basis.asOf 2199-01-01T00:00:00.000Z is in the future")


def test_points_in_time(folder: str) -> None:
    adalog("transact", "--data", folder, f"[[:db/add {ADA} :person/born 1816]]")
    say = ("pull", "--data", folder, "--format", "edn", "[:person/born]", ADA)
    assert adalog(*say).stdout == "{:person/born 1816}\n"
    assert adalog(*say, "--as-of", "2").stdout == "{:person/born 1815}\n"
    assert adalog(*say, "--since", "3").stdout == "nil\n"
    assert adalog(*say, "--with", f"[[:db/add {ADA} :person/born 1817]]").stdout == "{:person/born 1817}\n"
    assert adalog(*say, "--timeout", "1m").stdout == "{:person/born 1816}\n"


def test_what_is_refused(folder: str) -> None:
    result = adalog("pull", "--data", folder, "[:person/name\n 5]", ADA)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-2:] == ["   2 │  5]", "        ^"]
    result = adalog("pull", "--data", folder, "[*]", "[:person/name")
    assert result.exit_code == 1
    assert "eids[0]" in result.stderr
    assert adalog("pull", "--data", folder, "[*]").exit_code == 2
    refused = adalog("pull", "--data", folder, "[*]", ADA, "--history")
    assert (refused.exit_code, "history" in refused.stderr) == (1, True)


def test_attributes(where: tuple[str, str]) -> None:
    lines = [line.split() for line in adalog("attributes", *where).stdout.splitlines()]
    assert lines[0] == ["ident", "type", "cardinality", "unique", "component", "count", "past", "doc"]
    assert lines[2] == [":person/name", ":string", ":one", ":identity", "4", "What", "they", "are", "called"]
    assert lines[4] == [":person/child", ":ref", ":many", "3"]
    assert " ".join(lines[-2]).endswith("of adalog's own, :db/…, are not listed; --all lists them")
    assert lines[-1] == ["3", "attributes"]


def test_attributes_of_a_prefix(folder: str) -> None:
    def idents(*words: str) -> list[str]:
        return [each["ident"] for each in json.loads(adalog("attributes", "--data", folder, *words).stdout)]

    assert idents("--format", "json", "person/b") == [":person/born"]
    assert idents("--format", "json", ":person/c") == [":person/child"]
    assert idents("--format", "json", "none") == []
    assert ":db/ident" in idents("--format", "json", ":db/")
    assert set(idents("--format", "json")) < set(idents("--format", "json", "--all"))


def test_attributes_in_other_formats(folder: str) -> None:
    say = ("attributes", "--data", folder, "person/name", "--format")
    assert json.loads(adalog(*say, "json").stdout) == [
        {
            "ident": ":person/name",
            "type": ":string",
            "cardinality": ":one",
            "unique": ":identity",
            "component": False,
            "count": 4,
            "past": None,
            "doc": "What they are called",
        }
    ]
    assert adalog(*say, "edn").stdout == (
        "[{:ident :person/name, :type :string, :cardinality :one, :unique :identity, :component false, :count 4, "
        ':past nil, :doc "What they are called"}]\n'
    )
    assert adalog(*say, "csv").stdout.splitlines()[1] == (
        ":person/name,:string,:one,:identity,false,4,,What they are called"
    )
    assert "ident         :person/name" in adalog(*say, "expanded").stdout
    assert adalog(*say, "arrow").exit_code == 0


@given(edn_values, st.integers(1, 100))
def test_pretty_text_reads_back(value: object, width: int) -> None:
    assert edn.read(pretty(value, width)) == edn.read(edn.write(value))
