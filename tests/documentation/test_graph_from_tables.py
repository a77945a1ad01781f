"""docs/tutorials/graph-from-tables.md: from files, and tables of PostgreSQL, to the answers that it shows."""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path

import pytest

from tests.documentation.pages import blocks, commands, printed, settled
from tests.postgres_servers import running

BLOCKS = blocks("tutorials/graph-from-tables.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "firms").mkdir()
    for block in BLOCKS:
        if block.file:
            tmp_path.joinpath(block.file).write_text(block.text, encoding="utf-8")
    return tmp_path


def test_the_commands_print_what_the_page_shows(folder: Path) -> None:
    typed = [pair for block in BLOCKS if block.language == "console" for pair in commands(block.text)]
    assert len(typed) > 10
    for command, shown in typed:
        assert settled(printed(command, folder)) == settled(shown)


def test_tables_of_postgresql_become_the_same_files(folder: Path) -> None:
    expected = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("firms/*.csv")}
    assert len(expected) == 2
    (export,) = (block.text for block in BLOCKS if "psql" in block.text)
    with running() as server:
        address = server.new_database()
        for name, text in expected.items():
            (header, *rows) = csv.reader(text.splitlines())
            table = name.removesuffix(".csv")
            columns = ", ".join(f"{column} {'int' if column == 'percent' else 'text'}" for column in header)
            values = ", ".join(f"({', '.join(repr(cell) for cell in row)})" for row in rows)
            server.ask_at(address, f"CREATE TABLE {table} ({columns}); INSERT INTO {table} VALUES {values}")
            folder.joinpath("firms", name).unlink()
        path = f"{server.programs}:{os.environ['PATH']}"
        environ = os.environ | {"PATH": path, "DATABASE_URL": address}
        subprocess.run(["bash", "-eu", "-c", export], cwd=folder, env=environ, check=True, capture_output=True)
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.glob("firms/*.csv")} == expected
