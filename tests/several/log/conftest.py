"""`open_one`: opens a database on a log that several share, on PostgreSQL and in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.several.log.logs import Opening, file_opening, server_opening


@pytest.fixture(params=["postgresql", "folder"])
def open_one(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    if request.param == "folder":
        return file_opening(tmp_path / "data")
    return server_opening(request.getfixturevalue("postgres").new_database())
