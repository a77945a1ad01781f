"""The arrays in docs/explanation/architecture.md are those of the engine, and its files are there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adalog.executor.join.generic_join import GenericJoin
from adalog.store.tries.trie import Trie
from tests.support import World

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
TRIANGLES = "[:find ?x ?y ?z :where [?x :g/to ?y] [?y :g/to ?z] [?x :g/to ?z]]"
SCHEMA = """[{:db/ident :g/to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :g/name :db/valueType :db.type/string :db/unique :db.unique/identity}]"""


def _shown(array: Any) -> str:
    return "[" + " ".join(map(str, np.asarray(array).tolist())) + "]"


def _trie(world: World, *, inverse: bool) -> Trie:
    snapshot = world.database.snapshot()
    (attribute,) = (each for each in snapshot.attributes() if str(each.ident) == ":g/to")
    return snapshot.trie(attribute.id, inverse=inverse)


@pytest.fixture
def graph(db: World) -> World:
    """The data of the page."""
    data = re.search(r"```clojure\n(.*?)```", PAGE, re.DOTALL)
    assert data is not None
    db.tx(SCHEMA, data[1])
    return db


def test_the_tries(graph: World) -> None:
    words = " ".join(PAGE.split())
    for inverse in (False, True):
        whole = _trie(graph, inverse=inverse).merged
        arrays = zip(("keys", "offsets", "values"), (whole.keys, whole.offsets, whole.values), strict=True)
        assert ", ".join(f"`{name} {_shown(array)}`" for name, array in arrays) in words


def test_the_levels_of_the_query(graph: World, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Mapping[str, Any]] = []
    extend = GenericJoin.extend

    def watched(join: GenericJoin, *args: Any) -> Any:
        for batch in extend(join, *args):
            seen.append(batch.columns)
            yield batch

    monkeypatch.setattr(GenericJoin, "extend", watched)
    assert graph.q(TRIANGLES) == "#{[1 2 3]}"
    for columns in seen:
        assert ", ".join(f"`{name} {_shown(column)}`" for name, column in columns.items()) + " |" in PAGE


def test_the_transaction(graph: World) -> None:
    text = re.search(r"\*Example:\* `(\[\[:db/add 3 .*?\]\])`", PAGE)
    assert text is not None
    graph.tx(text[1])
    (level,) = _trie(graph, inverse=False).levels
    words = " ".join(PAGE.split())
    assert (
        f"`keys {_shown(level.keys)}`, `offsets {_shown(level.offsets)}`, `values {_shown(level.values)}`" in words
    )
    assert f"`counts {_shown(level.counts)}`" in words
    assert graph.q(TRIANGLES) == "#{[1 2 3] [3 4 1]}"
    assert "`added [[3 4 1]]`" in words
