"""Every pass by example: a query, and what it is after each of them (`fixtures/*.edn`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adalog.store.database import Database
from tests.planner.staged import FIXTURES, database, stages, texts_of, written


@pytest.fixture(scope="module")
def shop() -> Iterator[Database]:
    with database() as made:
        yield made


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.edn")), ids=lambda path: path.stem)
def test_a_query_after_each_pass(path: Path, shop: Database) -> None:
    query, *_ = texts_of(path)
    assert written(query, stages(query, shop)).splitlines() == path.read_text(encoding="utf-8").splitlines(), (
        "`python -m tests.planner.staged` writes the fixtures anew"
    )
