"""docs/coming-from/sql.md: each query answers what SQLite answers to the SQL above it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import World

_PAGE = Path(__file__).parents[2] / "docs" / "coming-from" / "sql.md"
_PAIRS = re.findall(r"```sql\n(.+?)```.*?```clojure\n(.+?)```", _PAGE.read_text(), re.DOTALL)
_FORMS = re.findall(r"^\| `.+?` \| `(\[[^`]+)`", _PAGE.read_text(), re.MULTILINE)

_PEOPLE = [(1, "Ada"), (2, "Bob"), (3, "Cy")]
_ISSUES = [
    (1, "Login fails", "open", 5, 1, None),
    (2, "Slow login page", "closed", 3, 1, 1),
    (3, "Dark mode", "open", 5, 2, 2),
    (4, "Export", "blocked", None, None, 1),
    (5, "Docs", "closed", 1, 1, None),
]
# Another person of the same name, with an open issue and a closed one.
_NAMESAKES = [(4, "Ada")]
_ISSUES_OF_NAMESAKES = [(6, "Search", "open", 2, 4, None), (7, "Icons", "closed", 2, 4, None)]
_SCHEMA = re.findall(r"```clojure\n(\[\{:db/ident.+?)```", _PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def sql() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA case_sensitive_like = on")
    connection.execute("CREATE TABLE person (id, name)")
    connection.execute("CREATE TABLE issue (id, title, status, estimate, owner, parent)")
    connection.executemany("INSERT INTO person VALUES (?, ?)", _PEOPLE + _NAMESAKES)
    connection.executemany("INSERT INTO issue VALUES (?, ?, ?, ?, ?, ?)", _ISSUES + _ISSUES_OF_NAMESAKES)
    yield connection
    connection.close()


@pytest.fixture
def tracker(db: World) -> World:
    filled(db)
    add(db, _NAMESAKES, _ISSUES_OF_NAMESAKES)
    return db


def filled(db: World) -> World:
    """The database with the rows of the page's tables."""
    db.tx(*_SCHEMA)
    add(db, _PEOPLE, _ISSUES)
    return db


def add(db: World, people: list[Any], issues: list[Any]) -> None:
    for number, name in people:
        db.tx(f'[{{:person/id {number} :person/name "{name}"}}]')
    for number, title, status, estimate, owner, parent in issues:
        values = [f':issue/id {number} :issue/title "{title}" :issue/status "{status}"']
        values += [f":issue/estimate {estimate}"] * (estimate is not None)
        values += [f":issue/owner [:person/id {owner}]"] * (owner is not None)
        values += [f":issue/parent [:issue/id {parent}]"] * (parent is not None)
        db.tx(f"[{{{' '.join(values)}}}]")


@pytest.mark.parametrize(("statement", "query"), _PAIRS, ids=[statement[:40] for statement, _ in _PAIRS])
def test_a_query_answers_as_its_sql(tracker: World, sql: sqlite3.Connection, statement: str, query: str) -> None:
    expected = [list(row) for row in sql.execute(statement)]
    assert expected
    found = [list(row) for row in tracker.run(query).rows()]
    if ":order-by" not in query:
        expected, found = sorted(expected), sorted(found)
    assert found == expected


def test_the_forms_are_transactions(tracker: World) -> None:
    assert len(_FORMS) == 5
    for form in _FORMS:
        tracker.tx(form)
    assert tracker.q("[:find ?i . :where [?i :issue/id 9]]") == "nil"
