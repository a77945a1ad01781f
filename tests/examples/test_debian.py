"""The sample data: loaded once, then asked what stands in `examples/debian/queries`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.examples.debian.load import load
from adalog.executor.pool import Pool
from adalog.store.database import Database
from tests.examples.asked import EXAMPLES, Asked, asked
from tests.support import World
from tests.typed.tracker import Tracker


@pytest.fixture(scope="module")
def debian() -> Iterator[World]:
    with Database.open(":memory:") as database:
        load(database)
        pool = Pool(database)
        try:
            yield World(database, pool)
        finally:
            pool.close()


@pytest.mark.parametrize("example", asked("debian"))
def test_answers(debian: World, example: Asked) -> None:
    example.check(debian)


def test_everything_is_loaded_in_one_transaction(debian: World) -> None:
    assert debian.database.snapshot().t == 1
    assert debian.q("[:find (count ?p) . :where [?p :package/name]]") == "63666"
    assert debian.q("[:find (count ?q) . :with ?p :where [?p :package/depends ?q]]") == "264830"
    assert debian.q("[:find (count ?m) . :where [?m :maintainer/name]]") == "2099"


def test_a_second_load_is_refused(debian: World) -> None:
    with pytest.raises(AdalogError, match="loaded already") as caught:
        load(debian.database)
    assert caught.value.code == Code.TX_INVALID


def test_loading_leaves_entities_that_are_there_alone(db: World) -> None:
    db.tx('[[:db/add 7 :person/name "Ada"]]')
    steps: list[tuple[int, int]] = []
    load(db.database, lambda done, total: steps.append((done, total)))
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert db.q("[:find ?a ?v :where [7 ?a ?v]]") == '#{[:person/name "Ada"]}'
    assert db.q('[:find ?p . :where [?p :package/name "0ad"]]') == "8"


def test_the_explorer_asks_the_same_questions() -> None:
    tabs = EXAMPLES.parent.joinpath("gateway", "explorer", "sample.js").read_text(encoding="utf-8")
    known = {_words(path.read_text(encoding="utf-8")) for path in EXAMPLES.glob("debian/queries/*.edn")}
    shown = re.findall(r'\bq\(\s*query: """(.*?)"""', tabs, re.DOTALL)
    assert shown
    assert {_words(text) for text in shown} <= known


def test_the_explorer_shows_a_typed_query(debian: World) -> None:
    tabs = EXAMPLES.parent.joinpath("gateway", "explorer", "sample.js").read_text(encoding="utf-8")
    found = re.search(r"^query Typed .*?^}", tabs, re.DOTALL | re.MULTILINE)
    assert found is not None
    shown = Tracker.of(debian.database, debian.pool).data(found[0])["packages"]
    assert len(shown) == 10
    needs = [{"name": "python3-fife", "size": 3260624}, {"name": "fonts-unifont", "size": 2019152}]
    assert shown[0] == {
        "name": "unknown-horizons",
        "installedSize": 369183744,
        "maintainer": {"name": "Debian Games Team"},
        "depends": [*needs, {"name": "python3-future", "size": 348428}],
    }


def test_attributes_are_documented(debian: World) -> None:
    readme = EXAMPLES.joinpath("debian", "README.md").read_text(encoding="utf-8")
    for attribute in debian.database.snapshot().attributes():
        if attribute.ident.namespace in ("package", "section", "maintainer"):
            assert f"`:{attribute.ident.name}`" in readme
    assert debian.database.snapshot().attribute(Keyword("package/name")) is not None


def _words(text: str) -> str:
    """The query without its comments and its layout."""
    return " ".join(re.sub(r"^\s*;.*$", "", text, flags=re.MULTILINE).split())
