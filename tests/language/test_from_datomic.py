"""Pages of docs/coming-from/ for Datalog databases: a text runs as it stands, or the one beside it runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError
from tests.language.test_from_sql import filled
from tests.support import World

_FOLDER = Path(__file__).parents[2] / "docs" / "coming-from"
_PAGES = {
    name: (_FOLDER / f"{name}.md").read_text("utf-8") for name in ("datomic", "datascript", "xtdb", "datalevin")
}
_BOTH = re.compile(r"^\| `([\[{][^`]+)` \| (?:(the same)|`([^`]+)`)", re.MULTILINE)
_QUERIES = [row for page in _PAGES.values() for row in _BOTH.findall(page) if ":find" in row[0]]
_TRANSACTIONS = [
    row
    for page in _PAGES.values()
    for row in _BOTH.findall(page.partition("## Transactions")[2])
    if ":find" not in row[0]
]
_ANSWERS = re.findall(
    r"^\| `(\[:find [^`]+)` \| `([^`]+)` \| [^|]*\|$", (_FOLDER / "datalog.md").read_text("utf-8"), re.MULTILINE
)


@pytest.fixture
def tracker(db: World) -> World:
    return filled(db)


def test_the_page_has_texts() -> None:
    assert len(_QUERIES) > 30
    assert len(_TRANSACTIONS) > 10
    assert len(_ANSWERS) > 10


@pytest.mark.parametrize(("text", "answer"), _ANSWERS)
def test_an_answer(tracker: World, text: str, answer: str) -> None:
    assert tracker.q(text) == answer


@pytest.mark.parametrize(("there", "same", "here"), _QUERIES)
def test_a_query(tracker: World, there: str, same: str, here: str) -> None:
    if same:
        assert len(tracker.run(there)) > 0
        assert tracker.warnings(there) == []
        return
    with pytest.raises(AdalogError) as caught:
        tracker.q(there, *([1] if "$ ?f" in there else []))
    assert str(caught.value.code) == "QUERY_INVALID"
    assert ";" in caught.value.message or ":" in caught.value.message
    assert len(tracker.run(here)) > 0


@pytest.mark.parametrize(("there", "same", "here"), _TRANSACTIONS)
def test_a_transaction(tracker: World, there: str, same: str, here: str) -> None:
    if same:
        assert len(tracker.tx(there).datoms) > 1
        return
    with pytest.raises(AdalogError, match="no attribute"):
        tracker.tx(there)
    assert len(tracker.tx(here).datoms) > 1


def test_documents_of_xtdb(db: World) -> None:
    put, delete = re.findall(r"^\| `\[\[::xt/(?:put|delete) .+?\| `([^`]+)`", _PAGES["xtdb"], re.MULTILINE)
    db.tx("[{:db/ident :xt/id :db/unique :db.unique/identity}]", put, put)
    assert db.q("[:find ?n . :where [?e :xt/id :ada] [?e :person/name ?n]]") == '"Ada"'
    db.tx(delete)
    assert db.q("[:find ?n . :where [_ :person/name ?n]]") == "nil"
