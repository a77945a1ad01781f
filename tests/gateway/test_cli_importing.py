"""`adalog import`: what is wrong before Spark is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import main


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        (["people"], 2, "'people' is no NAME=PATH"),
        (["--url", "localhost"], 2, "an import does not run through a server"),
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
