"""docs/coming-from/datomic.md: each text runs as it stands, or is refused and the text beside it runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError
from tests.language.test_from_sql import filled
from tests.support import World

_PAGE = (Path(__file__).parents[2] / "docs" / "coming-from" / "datomic.md").read_text("utf-8")
_ROWS = re.findall(r"^\| `([\[{][^`]+)` \| (?:(the same)|`([^`]+)`)", _PAGE, re.MULTILINE)
_ANSWERS = re.findall(r"^\| `(\[:find [^`]+)` \| `([^`]+)` \| [^|]*\|$", _PAGE, re.MULTILINE)
_QUERIES = [row for row in _ROWS if ":find" in row[0] and (row[0], row[2]) not in _ANSWERS]
_TRANSACTIONS = [row for row in _ROWS if row[0] in _PAGE.split("## Transactions")[1]]


@pytest.fixture
def tracker(db: World) -> World:
    return filled(db)


def test_the_page_has_texts() -> None:
    assert len(_QUERIES) > 20
    assert len(_TRANSACTIONS) > 5
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
    put, delete = re.findall(r"^\| `\[\[::xt/(?:put|delete) .+?\| `([^`]+)`", _PAGE, re.MULTILINE)
    db.tx("[{:db/ident :xt/id :db/unique :db.unique/identity}]", put, put)
    assert db.q("[:find ?n . :where [?e :xt/id :ada] [?e :person/name ?n]]") == '"Ada"'
    db.tx(delete)
    assert db.q("[:find ?n . :where [_ :person/name ?n]]") == "nil"
