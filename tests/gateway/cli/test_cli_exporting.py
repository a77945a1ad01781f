"""Refusals of `adalog export` before it writes anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from adalog.gateway.cli import main
from adalog.store.database import Database


@pytest.mark.parametrize(("as_of", "warned"), [("2199-01-01", True), ("2001-01-01", False), ("0", False)])
def test_a_moment_in_the_future(tmp_path: Path, as_of: str, warned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Database.open("held"):
        pass
    result = CliRunner().invoke(main, ["export", "--data", "held", "--as-of", as_of, "out"])
    assert result.exit_code == 0
    said = "warning BASIS_FUTURE --as-of 2199-01-01T00:00:00.000Z is in the future"
    assert result.stderr.startswith(said) == warned


@pytest.mark.parametrize(
    ("given", "warned"), [((), False), (("--as-of", "2"), True), (("--as-of", "4"), False), (("--history",), True)]
)
def test_what_retention_may_have_taken(tmp_path: Path, given: tuple[str, ...], warned: bool) -> None:
    data = str(tmp_path / "data")
    with Database.open(data) as database:
        database.transact("[{:db/ident :v :db/valueType :db.type/long :db/retainTransactions 1}]")
        for number in (1, 2, 3):
            database.transact(f"[[:db/add 1 :v {number}]]")
        database.retain()
    result = CliRunner().invoke(main, ["export", "--data", data, *given, str(tmp_path / "out")])
    assert result.exit_code == 0
    assert ("warning PAST_FORGOTTEN" in result.stderr) == warned
    assert ("values of :v that had ended before t = 4" in " ".join(result.stderr.split())) == warned


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        (["out"], 3, "there is no database to read: data (/"),
        (["--data", "held", "full"], 1, "full is not empty, and an export is a folder of its own"),
        (["--data", "held", "--format", "csv", "out"], 2, "'csv' is not one of 'parquet', 'edn'"),
        (["--data", "held", "--as-of", "yesterday", "out"], 1, "--as-of"),
        (["--data", "held", "--as-of", "9", "out"], 1, "t = 9 is not reached yet: the newest transaction is 0"),
        (["--data", "held"], 2, "Missing argument 'OUT'"),
    ],
)
def test_refusals(
    tmp_path: Path, given: list[str], status: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Database.open("held"):
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "x").touch()
        result = CliRunner().invoke(main, ["export", *given])
    assert result.exit_code == status
    assert message in result.stderr
    assert not (tmp_path / "out").exists()
