"""docs/reference/builtins.md: each call has the value beside it, and no built-in is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adalog.datalog.aggregates import AGGREGATES
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.builtins.conditionals import CONDITIONALS
from adalog.datalog.errors import AdalogError
from tests.support import World

_PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "builtins.md").read_text("utf-8")
_CALLS, _AGGREGATES = _PAGE.split("## Aggregates")
_ROW = re.compile(r"^\| `\((\S+) (.*)\)` \| (?:`(.+?)`|refused) \|", re.MULTILINE)
_FACTS = re.findall(r"^\[\{:db/.+$", _CALLS, re.MULTILINE)
_VALUES = '[[1 1 "a"] [2 2 "b"] [3 2 "c"] [4 4 "d"]]'
_HEAD = "[[true #{1 2}] [false #{2 3}]]"


@pytest.fixture
def people(db: World) -> World:
    db.tx(*_FACTS)
    return db


def test_the_page_has_every_name() -> None:
    names = {name for name, _, _ in _ROW.findall(_CALLS)} | set(re.findall(r"\((tx-data) ", _CALLS))
    assert names == {each.name for each in BUILTINS.values()} | CONDITIONALS.keys()
    assert {name for name, _, _ in _ROW.findall(_AGGREGATES)} == AGGREGATES.keys()
    assert len(re.findall(r"^\| `\(", _PAGE, re.MULTILINE)) == len(_ROW.findall(_PAGE))


@pytest.mark.parametrize(("name", "rest", "value"), _ROW.findall(_CALLS), ids=lambda text: text[:40])
def test_a_call(people: World, name: str, rest: str, value: str) -> None:
    query = f"[:find ?r . :where [(vector ({name} {rest})) ?r]]"
    if not value:
        with pytest.raises(AdalogError, match="QUERY_INVALID"):
            people.q(query)
    else:
        assert people.q(query) == f"[{value}]"


@pytest.mark.parametrize(("name", "rest", "value"), _ROW.findall(_AGGREGATES), ids=lambda text: text[:40])
def test_an_aggregate(db: World, name: str, rest: str, value: str) -> None:
    if AGGREGATES[name].in_find:
        answer = db.q(f"[:find ({name} {rest}) . :with ?i :in $ [[?i ?n ?name]]]", _VALUES)
    else:
        rule = f"[(r ({name} {rest})) [?i :n ?n] [$list ?flag ?set]]"
        db.tx("[{:db/id 1 :n 1} {:db/id 2 :n 2}]")
        answer = db.q(f"[:find ?r . :in $ $list :rules [{rule}] :where (r ?r)]", _HEAD)
    if AGGREGATES[name].by_chance:
        assert len(str(answer).split()) == len(value.split())
    else:
        assert answer == value
