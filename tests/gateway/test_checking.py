"""`check`: what is wrong with a query that is being written, without running it; `builtins`: what it may call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from adalog.datalog.aggregates import AGGREGATES
from adalog.datalog.builtins import BUILTINS
from adalog.executor.engine import QueryEngine
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway, place_of

CHECK = "query ($query: EDN!, $argsEdn: [EDN]) { check(query: $query, argsEdn: $argsEdn) { code line column } }"
RULES = "[[(older ?a ?b) [?a :person/child ?b]]]"


@pytest.fixture
def family() -> Iterator[Gateway]:
    with gateway(None, SCHEMA, FAMILY) as opened:
        yield opened


def check(family: Gateway, query: str, *args: str | None) -> Any:
    return family.data(CHECK, query=query, argsEdn=list(args))["check"]


def test_a_query_that_is_right(family: Gateway) -> None:
    assert check(family, "[:find ?n :where [?p :person/name ?n]]") == []


def test_arguments_may_be_lacking(family: Gateway) -> None:
    query = "[:find ?n :in $ ?n [?b ...] [[?x ?y]] $past :where [?p :person/name ?n] [$past ?p :person/born ?b]]"
    assert check(family, query) == []
    assert check(family, query, None, "[1 2]", None, "{:basis {:t 1}}") == []


def test_what_is_probably_not_meant(family: Gateway) -> None:
    found = check(family, "[:find ?n\n :where [?p :person/nmae ?n]]")
    assert [(each["line"], each["column"]) for each in found] == [(2, 13)]


@pytest.mark.parametrize(
    ("query", "code", "place"),
    [
        ("[:find ?n\n :where [?p :person/name ?n", "EDN_SYNTAX", (2, 9)),
        ("[:find ?x\n :where [?p :person/name ?n]]", "UNBOUND_VARIABLE", (1, 8)),
        ("[:find ?n\n :where [?p :person/name ?n]\n [(upper ?n) ?u]]", "QUERY_INVALID", (3, 4)),
        ("[:find ?n\n :where [?p :person/name ?n]\n [(< ?n ?y)]]", "UNBOUND_VARIABLE", (3, 9)),
        (
            "[:find ?a :where (r ?a)\n :rules [[(r ?a) [?a] (not (s ?a))] [(s ?a) [?a] (r ?a)]]]",
            "UNSTRATIFIABLE",
            (2, 10),
        ),
    ],
)
def test_what_is_wrong(family: Gateway, query: str, code: str, place: tuple[int, int]) -> None:
    error = family.error(CHECK, query=query)
    assert (error["extensions"]["code"], place_of(error)[1:]) == (code, place)


def test_calls_of_rules_are_checked_once_the_rules_are_there(family: Gateway) -> None:
    query = "[:find ?a :in $ % :where (elder ?a _)]"
    assert check(family, query) == []
    assert family.error(CHECK, query=query, argsEdn=[RULES])["extensions"]["code"] == "QUERY_INVALID"
    assert check(family, query.replace("elder", "older"), RULES) == []


def test_nothing_is_planned_and_nothing_runs(family: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a plan was made")

    monkeypatch.setattr(QueryEngine, "_plan", refuse)
    monkeypatch.setattr(QueryEngine, "_joined", refuse)
    assert check(family, "[:find ?n :where [?p :person/child ?c] [?c :person/name ?n]]") == []


def test_built_ins_are_those_of_the_reference(family: Gateway) -> None:
    found = family.data("{ builtins { name kind section usage value doc } }")["builtins"]
    names = {kind: {each["name"] for each in found if each["kind"] == kind} for kind in ("FUNCTION", "AGGREGATE")}
    assert {each.name for each in BUILTINS.values()} <= names["FUNCTION"]
    assert names["AGGREGATE"] == AGGREGATES.keys()
    assert next(each for each in found if each["name"] == "mod") == {
        "name": "mod",
        "kind": "FUNCTION",
        "section": "Numbers",
        "usage": "(mod -7 2)",
        "value": "1",
        "doc": "with the sign of the divisor",
    }
