"""The example of docs/how-to/permissions.md: its queries have the answers beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adalog.executor.permissions.grants import Viewer
from tests.support import Answer, World

_PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "permissions.md").read_text("utf-8")
_ROWS = re.findall(r"^\| `(\[:find [^`]+)` \| `([^`]+)` \| `([^`]+)` \|", _PAGE, re.MULTILINE)


def filled(world: World) -> World:
    """The example's schema, data and policies."""
    for text in re.findall(r"```clojure\n(.+?)```", _PAGE, re.DOTALL):
        world.tx(text)
    return world


@pytest.fixture
def tracker(db: World) -> World:
    return filled(db)


@pytest.mark.parametrize(("query", "ada", "bob"), _ROWS)
def test_an_answer_of_the_page(tracker: World, query: str, ada: str, bob: str) -> None:
    assert len(_ROWS) == 6
    assert _answer(tracker, "ada", query) == ada
    assert _answer(tracker, "bob", query) == bob


def _answer(db: World, sub: str, query: str) -> Answer:
    now = db.database.snapshot()
    guard = db.pool.permissions.guard(Viewer(frozenset({"member"}), {"sub": sub}), now)
    assert guard is not None
    return World(db.database, db.pool, guard.view(now)).q(query)
