"""docs/coming-from/cypher.md: each query has the answer beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.language.test_from_sql import filled
from tests.support import World

PAGE = Path(__file__).parents[2] / "docs" / "coming-from" / "cypher.md"
_ROWS = re.findall(r"^\| `MATCH [^`]+` \| `([^`]+)` \| `([^`]*)` \|$", PAGE.read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("query", "answer"), _ROWS)
def test_a_query_has_the_answer_of_the_page(db: World, query: str, answer: str) -> None:
    tracker = filled(db)
    assert tracker.q(query) == answer
    assert tracker.warnings(query) == []


def test_the_page_has_queries() -> None:
    assert len(_ROWS) > 7
