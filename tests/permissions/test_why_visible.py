"""`whyVisible`: for each policy a derivation, or the clause that nothing passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.support import Gateway
from tests.permissions.issues import code, data, issues

WHY = "query($entity: EDN!, $as: AsInput!) { whyVisible(entity: $entity, as: $as) }"
ANN = {"claims": {"sub": "ann"}, "roles": ["member"]}
BOB = {"claims": {"sub": "bob"}, "roles": ["guest"]}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Gateway]:
    with issues(tmp_path) as found:
        yield found


def why(opened: Gateway, entity: str, viewer: Any) -> Any:
    return data(opened, "root", WHY, entity=entity, **{"as": viewer})["whyVisible"]


def test_a_derivation_goes_down_to_claims_and_facts(opened: Gateway) -> None:
    found = why(opened, '[:project/name "inner"]', ANN)
    assert found["visible"] == [":project/name", ":project/parent"]
    assert found["hidden"] == []
    [policy] = found["policies"]
    assert (policy["policy"], policy["holds"]) == ("members read their projects", True)
    [above] = [each for each in policy["derivation"]["steps"] if "rule" in each]
    assert above["rule"] == "[(member ?p) [?p :project/parent ?q] (member ?q)]"
    [below] = [each for each in above["steps"] if "rule" in each]
    assert below["with"]["?sub"] == '"ann"'
    assert below["with"]["?p"] == above["with"]["?q"]


def test_a_circle_of_parents_is_no_reason(opened: Gateway) -> None:
    circle = '[[:db/add [:project/name "open"] :project/parent [:project/name "inner"]]]'
    data(opened, "root", "mutation($tx: EDN!) { transact(tx: $tx) { t } }", tx=circle)
    assert why(opened, '[:project/name "inner"]', ANN)["policies"][0]["holds"]
    [policy] = why(opened, '[:project/name "inner"]', BOB)["policies"]
    assert policy["holds"] is False


def test_a_rule_that_is_joined_with_itself_is_followed_to_its_end(opened: Gateway) -> None:
    policy = r"""[{:policy/name "above" :policy/roles [:member] :policy/ops [:read] :policy/on [:project]
      :policy/rules "[[(allow ?p) (above ?p ?q) (claim :sub ?sub) [?u :user/name ?sub] [?q :project/members ?u]]
        [(above ?p ?q) [?p :project/parent ?q]] [(above ?p ?q) (above ?p ?r) (above ?r ?q)]]"}]"""
    ring = """[{:db/id "low" :project/name "low" :project/parent "lower"}
      {:db/id "lower" :project/name "lower" :project/parent [:project/name "inner"]}
      [:db/add [:project/name "open"] :project/parent "low"]]"""
    for text in (policy, ring):
        data(opened, "root", "mutation($tx: EDN!) { transact(tx: $tx) { t } }", tx=text)
    [found] = [each for each in why(opened, '[:project/name "low"]', ANN)["policies"] if each["policy"] == "above"]
    assert found["holds"]
    parents, steps = [], [*found["derivation"]["steps"]]
    while steps:
        step = steps.pop(0)
        parents += (
            [(step["datom"]["e"], int(step["datom"]["v"]))] if step["clause"].startswith("[?p :project") else []
        )
        steps = [*step.get("steps", []), *steps]
    assert len(parents) == 3
    assert [start for start, _ in parents[1:]] == [end for _, end in parents[:-1]]


def test_what_fails_is_the_clause_that_nothing_passes(opened: Gateway) -> None:
    found = why(opened, '[:issue/title "one"]', BOB)
    assert found["visible"] == []
    assert found["hidden"] == [":issue/points", ":issue/project", ":issue/title"]
    [policy] = found["policies"]
    assert policy["attributes"] == [":issue/project", ":issue/title"]
    [failed] = policy["fails"]
    assert failed["clause"] == "(member ?p)"
    assert (failed["line"], failed["column"] > 1) == (1, True)


def test_it_is_for_admins(opened: Gateway) -> None:
    assert code(opened, "ann", WHY, entity="1", **{"as": BOB}) == "FORBIDDEN"


@pytest.mark.parametrize(("entity", "refused"), [('[:project/name "no"]', "ARG_INVALID"), ("(", "EDN_SYNTAX")])
def test_an_entity_has_to_be_there(opened: Gateway, entity: str, refused: str) -> None:
    assert code(opened, "root", WHY, entity=entity, **{"as": BOB}) == refused


def test_admins_see_everything(opened: Gateway) -> None:
    assert "everything" in why(opened, "1", {"claims": {}, "roles": ["admin"]})
