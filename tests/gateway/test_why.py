"""The field `why`: from what a row follows, or which clause no row passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.support import Gateway
from tests.permissions.issues import code, data, issues

WHY = """query($query: EDN!, $row: [JSON]!, $args: [JSON!], $as: AsInput) {
  why(query: $query, row: $row, args: $args, as: $as) }"""
TRANSACT = "mutation($tx: EDN!) { transact(tx: $tx) { t } }"
ABOVE = """[[(above ?p ?q) [?p :project/parent ?q]]
 [(above ?p ?q) [?p :project/parent ?r] (above ?r ?q)]]"""
NAMES = "[:find ?n ?m :in $ % :where [?p :project/name ?n] [?q :project/name ?m] (above ?p ?q)]"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder: Path = tmp_path_factory.mktemp("why")
    with issues(folder) as found:
        chain = " ".join(
            f'{{:db/id "p{number}" :project/name "p{number}" :project/parent "p{number + 1}"}}'
            for number in range(60)
        )
        data(found, "root", TRANSACT, tx=f'[{chain} {{:db/id "p60" :project/name "p60" :project/parent "p58"}}]')
        yield found


def why(opened: Gateway, query: str, row: list[Any], *args: Any, by: str = "root", **given: Any) -> Any:
    return data(opened, by, WHY, query=query, row=row, args=list(args), **given)["why"]


def test_each_clause_has_a_witness(opened: Gateway) -> None:
    query = "[:find ?t ?n :where [?i :issue/title ?t] [?i :issue/points ?n] [(< ?n 3)]]"
    found = why(opened, query, ["two", 2])
    assert found["holds"]
    title, points, least = found["steps"]
    assert (title["clause"], title["datom"]["a"], title["datom"]["v"]) == (
        "[?i :issue/title ?t]",
        ":issue/title",
        '"two"',
    )
    assert (points["line"], points["column"]) == (1, query.index("[?i :issue/points") + 1)
    assert least["fact"] == "[(< 2 3)]"
    assert found["with"]["?n"] == "2"


@pytest.mark.parametrize(
    ("cell", "holds"),
    [
        ({"#edn": '[:project/name "p1"]'}, True), ({"#edn": '[:project/name "p2"]'}, False), ("p1", False),
        ({":project/name": "p1"}, True), (None, True),
    ],
)  # fmt: skip
def test_a_pull_is_of_one_entity(opened: Gateway, cell: Any, holds: bool) -> None:
    query = '[:find (pull ?p [:project/name]) :where [?p :project/name "p1"]]'
    assert why(opened, query, [cell])["holds"] is holds


def test_a_recursive_rule_is_followed_down_its_shortest_way(opened: Gateway) -> None:
    found = why(opened, NAMES, ["p56", "p60"], ABOVE)
    depth, step = 0, found["steps"][2]
    while step is not None:
        depth += 1
        step = next((each for each in step["steps"] if "rule" in each), None)
    assert depth == 4


def test_a_row_over_a_circle_ends(opened: Gateway) -> None:
    found = why(opened, NAMES, ["p58", "p58"], ABOVE)
    facts = [each["fact"] for each in calls(found)]
    assert len(facts) == len(set(facts)) == 3


def calls(found: Any) -> list[Any]:
    own = [each for each in found["steps"] if "rule" in each]
    return [call for each in own for call in (each, *calls(each))]


def test_a_long_way_is_cut_and_goes_on_where_it_is_asked(opened: Gateway) -> None:
    found = why(opened, NAMES, ["p0", "p59"], ABOVE)
    last = found["steps"][2]
    while "steps" in last:
        last = next(each for each in last["steps"] if each["clause"].startswith("("))
    assert last["more"]
    _, one, other = last["fact"].strip("()").split()
    query = "[:find ?p ?q :in $ % :where (above ?p ?q)]"
    assert why(opened, query, [int(one), int(other)], ABOVE)["holds"]


JOINED = """[[(above ?p ?q) [?p :project/parent ?q]]
 [(above ?p ?q) (above ?p ?r) (above ?r ?q)]]"""


def test_a_rule_that_is_joined_with_itself_is_followed_by_halves(opened: Gateway) -> None:
    found = why(opened, NAMES, ["p0", "p48"], JOINED)
    facts = [each["fact"] for each in calls(found)]
    assert len(set(facts)) == len(facts) == 95
    steps = [datom for each in calls(found) for datom in each["steps"] if "datom" in datom]
    assert [each["clause"] for each in steps] == ["[?p :project/parent ?q]"] * 48
    ends = [int(each["datom"]["v"]) for each in steps]
    assert [each["datom"]["e"] for each in steps][1:] == ends[:-1]


def test_what_is_joined_is_visible(opened: Gateway) -> None:
    assert why(opened, NAMES, ["inner", "open"], JOINED, by="ann")["holds"]
    assert why(opened, NAMES, ["p0", "p5"], JOINED)["holds"]
    assert not why(opened, NAMES, ["p0", "p5"], JOINED, by="ann")["holds"]
    below = '[{:project/name "lower" :project/parent [:project/name "inner"]}]'
    data(opened, "root", TRANSACT, tx=below)
    found = why(opened, NAMES, ["lower", "open"], JOINED, by="ann")
    assert [each["rule"].count("above") for each in calls(found)] == [3, 1, 1]


def test_what_is_missing_names_the_first_clause_that_no_row_passes(opened: Gateway) -> None:
    query = "[:find ?t :where [?i :issue/title ?t] [?i :issue/points ?n] [(< 3 ?n)]]"
    found = why(opened, query, ["two"])
    assert (found["holds"], found["clause"], found["column"]) == (False, "[(< 3 ?n)]", query.index("[(<") + 1)
    assert found["with"]["?n"] == "2"
    assert why(opened, query, ["no such title"])["clause"] == "[?i :issue/title ?t]"


def test_of_a_call_that_does_not_hold_every_rule_says_what_fails(opened: Gateway) -> None:
    found = why(opened, NAMES, ["open", "inner"], ABOVE)
    assert found["clause"] == "(above ?p ?q)"
    assert [each["clause"] for each in found["fails"]] == ["[?p :project/parent ?q]", "[?p :project/parent ?r]"]


def test_groups_say_how_many_rows_they_are_of(opened: Gateway) -> None:
    query = (
        "[:find ?m (count ?i) (sum ?n) :where [?p :project/name ?m] [?i :issue/project ?p] [?i :issue/points ?n]]"
    )
    assert (found := why(opened, query, ["open", 1, 1]))["holds"]
    assert found["rows"] == 1
    assert why(opened, query, ["open", 1, 2])["why"] == "of this group (sum ?n) is 1"


def test_arguments_ors_negations_and_values_that_are_missing(opened: Gateway) -> None:
    query = """[:find ?t ?l :in $ ?t [?least ...] :where [?i :issue/title ?t] [?i :issue/points ?n] [(<= ?least ?n)]
      (or [?i :issue/points 1] [?i :issue/points 4]) (not [?i :issue/project [:project/name "open"]])
      (optional [?i :user/name ?l])]"""
    text = WHY.replace("[JSON!]!", "[JSON]!")
    given = {"query": query, "row": ["three", None], "args": ["three", [3, 9]]}
    found = data(opened, "root", text, **given)["why"]
    assert found["holds"]
    assert [each.get("branch") for each in found["steps"]][3] == 2
    assert [each.get("absent") for each in found["steps"]][4:] == [True, True]
    given["row"] = ["two", None]
    assert not data(opened, "root", text, **given)["why"]["holds"]


@pytest.mark.parametrize(
    ("clause", "facts"),
    [
        ("(or [?a :db/doc] [?a :db/valueType :db.type/long])", ["[:issue/points :db/valueType :db.type/long]"]),
        ("(or-join [?a] (and [?a :db/ident ?i] [?a :db/valueType :db.type/long]))", None),
        ("(or [?i ?a 1] [?i ?a 2])", None),
    ],
)
def test_the_variable_of_an_attribute_stands_for_it_in_branches(
    opened: Gateway, clause: str, facts: list[str] | None
) -> None:
    query = f'[:find ?a :where [?i :issue/title "two"] [?i ?a _] {clause}]'
    found = why(opened, query, [":issue/points"])
    assert found["holds"]
    assert "?a" in found["with"]
    assert not any("(" in name for name in found["with"])
    steps = found["steps"][2]["steps"]
    assert all("datom" in each for each in steps)
    if facts is not None:
        assert [each["fact"] for each in steps] == facts


def test_a_pull_is_named_by_its_entity(opened: Gateway) -> None:
    query = "[:find (pull ?i [:db/id :issue/title]) :where [?i :issue/points 2]]"
    answer = data(opened, "root", "query($query: EDN!) { q(query: $query) { rows } }", query=query)["q"]["rows"]
    assert why(opened, query, answer[0])["holds"]


def test_only_what_is_visible_is_a_reason(opened: Gateway) -> None:
    query = "[:find ?t :where [?i :issue/title ?t] [?i :issue/project ?p]]"
    assert why(opened, query, ["one"], by="ann")["holds"]
    hidden = why(opened, query, ["three"], by="ann")
    assert hidden == why(opened, query, ["never"], by="ann") | {"with": {"?t": '"three"'}}
    assert why(opened, query, ["three"], **{"as": {"claims": {"sub": "bob"}, "roles": ["guest"]}})["holds"]


@pytest.mark.parametrize(
    ("query", "row", "refused"),
    [
        ("[:find ?t :where [_ :issue/title ?t]]", ["one", 2], "ARG_INVALID"),
        ("[:find ?t :where [_ :issue/title ?t]", ["one"], "EDN_SYNTAX"),
        ("[:find ?t :where [(< ?t 3)]]", [1], "UNBOUND_VARIABLE"),
    ],
)
def test_what_is_wrong_is_refused(opened: Gateway, query: str, row: list[Any], refused: str) -> None:
    assert code(opened, "root", WHY, query=query, row=row) == refused
