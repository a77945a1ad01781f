"""The Lovelace family and the triangles: seed them, ask every query, get the answer that stands beside it."""

from __future__ import annotations

import pytest

from tests.examples.asked import EXAMPLES, Asked, asked
from tests.support import World


@pytest.mark.parametrize("example", asked("lovelace"))
def test_lovelace(db: World, example: Asked) -> None:
    db.tx(EXAMPLES.joinpath("lovelace", "seed.edn").read_text(encoding="utf-8"))
    example.check(db)


@pytest.mark.parametrize("example", asked("triangles"))
def test_triangles(db: World, example: Asked) -> None:
    db.tx(EXAMPLES.joinpath("triangles", "seed.edn").read_text(encoding="utf-8"))
    example.check(db)
