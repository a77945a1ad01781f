"""`adalog import`: what is wrong before Spark is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from adalog.gateway.cli import main


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        (["people"], 2, "'people' is no NAME=PATH"),
        (["--url", "localhost", "--data", "data"], 1, "the mapping none.yaml cannot be read"),
        ([], 1, "the mapping none.yaml cannot be read: No such file or directory"),
    ],
)
def test_refusals(
    tmp_path: Path, given: list[str], status: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["import", "--mapping", "none.yaml", *given])
    assert result.exit_code == status
    assert message in result.stderr
    assert not (tmp_path / "data").exists()


def test_a_server_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text("sources: {a: {path: a.csv, entity: {attribute: a/b, column: c}}}")
    told = CliRunner().invoke(main, ["import", "--mapping", "m.yaml", "--url", "http://127.0.0.1:9"])
    assert told.exit_code == 3
    assert "no adalog answers at http://127.0.0.1:9" in told.stderr
    both = CliRunner().invoke(main, ["import", "--mapping", "m.yaml", "--url", "x", "--data", "y"])
    assert both.exit_code == 2
    assert "--data and --url are both given" in both.stderr


def test_a_stream_that_cannot_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(main, ["stream", "--mapping", "none.yaml"])
    assert (told.exit_code, "the mapping none.yaml cannot be read" in told.stderr) == (1, True)
    (tmp_path / "m.yaml").write_text("sources: {a: {path: a.csv, entity: {attribute: a/b, column: c}}}")
    both = CliRunner().invoke(main, ["stream", "--mapping", "m.yaml", "--url", "x", "--data", "y"])
    assert (both.exit_code, "--data and --url are both given" in both.stderr) == (2, True)
    assert not (tmp_path / "data").exists()


def test_a_stream_brings_no_whole_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text("sources: {a: {path: a.csv, entity: {attribute: a/b, column: c}, sync: true}}")
    told = CliRunner().invoke(main, ["stream", "--mapping", "m.yaml", "--data", "data"])
    assert told.exit_code == 1
    assert "source a has `sync`, and a stream brings a part of a table at a time" in told.stderr
    assert not (tmp_path / "data").exists()
