"""The tours of the docs: their queries run, and those of tables have the answers beside them, over the data of
docs/coming-from/sql.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.language.test_from_sql import filled
from tests.support import World

_DOCS = Path(__file__).parents[2] / "docs" / "reference"
_PAGES = ("queries.md", "rules.md", "sources-and-time.md", "pull.md", "builtins.md")
_BLOCKS = [
    pytest.param(block, id=f"{page}-{place}")
    for page in _PAGES
    for place, block in enumerate(
        re.findall(r"```(?:clojure|edn)\n(\[:find.+?)```", (_DOCS / page).read_text("utf-8"), re.DOTALL)
    )
]
_ROWS = re.findall(
    r"^\| `(\[:find [^`]+)` \| `([^`]+)` \|", (_DOCS / "queries.md").read_text("utf-8"), re.MULTILINE
)


@pytest.mark.parametrize("query", _BLOCKS)
def test_a_query_of_the_docs_runs(db: World, query: str) -> None:
    given = [db.at(history=True)] if "$hist" in query else [1900] if ":in $ ?year" in query else []
    assert set(db.warnings(query, *given)) <= {"UNKNOWN_ATTRIBUTE"}


def test_the_rules_of_the_docs_run(db: World) -> None:
    db.tx("[{:db/ident :road/to :db/valueType :db.type/ref} {:db/id 1 :road/to {:db/id 2 :road/to 1}}]")
    (rules,) = re.findall(r"```clojure\n(\[\(.+?)```", (_DOCS / "rules.md").read_text("utf-8"), re.DOTALL)
    assert db.q(f"[:find ?b ?d :rules [{rules}] :where (distance 1 ?b ?d)]") == "#{[1 2] [2 1]}"


@pytest.mark.parametrize(("query", "answer"), _ROWS)
def test_an_answer_of_the_tour(db: World, query: str, answer: str) -> None:
    tracker = filled(db)
    arguments = ["[[1 0.1M] [2 0.2M]]"] if ":in [[" in query else [2] if ":in" in query else []
    assert tracker.q(query, *arguments) == answer
    assert tracker.warnings(query, *arguments) == []


def test_first_steps(db: World) -> None:
    blocks = re.findall(
        r"```clojure\n(.+?)```", (_DOCS.parent / "tutorials" / "first-steps.md").read_text("utf-8"), re.DOTALL
    )
    assert len(blocks) > 20
    answered = 0
    for text, following in zip(blocks, [*blocks[1:], ""], strict=True):
        if text.startswith("[:find"):
            assert db.q(text, *([1815] if "?year" in text else [])) == following
            assert db.warnings(text, *([1815] if "?year" in text else [])) == []
            answered += 1
        elif re.match(r"\[\{|\[\[:db", text):
            db.tx(text)
    assert answered > 9
    assert db.at(as_of=1).q(next(each for each in blocks if ":find ?city ." in each)) == '"London"'
