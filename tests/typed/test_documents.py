"""Documents as clients write them: aliases, fragments, directives, variables, ids and cursors of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.typed.tracker import Tracker, tracker_texts

MOST = 200


@pytest.fixture(scope="module")
def tracker() -> Iterator[Tracker]:
    with Tracker.opened(*tracker_texts(), rows=MOST) as opened:
        yield opened


def refusal(answer: dict[str, Any]) -> str:
    (error,) = answer["errors"]
    assert error["extensions"]["code"] in ("ARG_INVALID", "LIMIT_EXCEEDED"), error
    return str(error["message"])


def test_one_root_field_under_several_names(tracker: Tracker) -> None:
    found = tracker.data(
        """{ a: issue(number: 1) { title } b: issue(number: 2) { title } c: issue(number: 9) { title }
             d: issues(first: 1) { number } e: issues(offset: 3) { n: number number }
             f: issuesConnection(first: 1) { nodes { number } }
             g: issuesConnection(last: 1) { nodes { number } } }"""
    )
    assert found == {
        "a": {"title": "Login fails"},
        "b": {"title": "Dark mode"},
        "c": None,
        "d": [{"number": 1}],
        "e": [{"n": 4, "number": 4}, {"n": 5, "number": 5}],
        "f": {"nodes": [{"number": 1}]},
        "g": {"nodes": [{"number": 5}]},
    }


def test_selections_of_one_field_are_merged(tracker: Tracker) -> None:
    found = tracker.data(
        """{ issue(number: 1) { ...A labels { name } } issue(number: 1) { ...B } }
           fragment A on Issue { labels { color } assignee { name } }
           fragment B on Entity { ... on Issue { assignee { email ... on Node { id } } } }"""
    )
    labels = [{"name": "bug", "color": ":red"}, {"name": "docs", "color": ":blue"}]
    ada = {"name": "Ada", "email": "ada@example.org", "id": tracker.entity('[:user/email "ada@example.org"]')}
    assert found == {"issue": {"labels": labels, "assignee": ada}}
    assert "differing arguments" in tracker.error("{ issues { a: labels { id } a: labels(first: 1) { id } } }")


@pytest.mark.parametrize("shown", [False, True])
def test_directives_on_everything(tracker: Tracker, shown: bool) -> None:
    document = """query ($y: Boolean!) {
      issues(first: 1) {
        number
        title @skip(if: $y)
        labels(where: {name: {eq: "bug"}}) @include(if: $y) { name color @include(if: $y) }
        commentsConnection(first: 1) @include(if: $y) { totalCount nodes @skip(if: $y) { body } }
        ... @include(if: $y) { points }
        ...F @skip(if: $y)
      }
      users(first: 1) @include(if: $y) { name @skip(if: $y) }
    }
    fragment F on Issue { assignee { name } }"""
    left = {"number": 1, "title": "Login fails", "assignee": {"name": "Ada"}}
    right = {
        "number": 1,
        "labels": [{"name": "bug", "color": ":red"}],
        "commentsConnection": {"totalCount": 3},
        "points": 5,
    }
    expected = {"issues": [right], "users": [{}]} if shown else {"issues": [left]}
    assert tracker.data(document, y=shown) == expected


@pytest.mark.parametrize(
    ("variables", "numbers"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"w": None, "o": None, "f": None, "n": None, "b": None}, [1, 2, 3, 4, 5]),
        ({"w": {}, "o": [], "b": {}}, [1, 2, 3, 4, 5]),
        ({"f": 0}, []),
        ({"f": 2, "n": 1}, [2, 3]),
        ({"n": 99}, []),
        ({"w": {"points": {"gt": 3}}, "o": [{"number": "DESC"}]}, [5, 1]),
        # As in any list of GraphQL, one element stands for itself.
        ({"w": {"or": {"number": {"in": 4}}}, "o": {"number": "DESC"}}, [4]),
        ({"w": {"status": {"in": ["OPEN"]}, "assigneeIsNull": False}}, [1]),
        ({"w": {"id": {"in": []}}}, []),
        ({"b": {"t": 2}}, [1, 2, 3, 4, 5]),
        ({"b": {"t": 1}}, []),
        ({"b": {"asOf": "2000-01-01T00:00:00Z"}}, []),
    ],
)
def test_variables_of_whole_arguments(tracker: Tracker, variables: dict[str, Any], numbers: list[int]) -> None:
    document = """query ($w: IssueWhere, $o: [IssueOrderBy!], $f: Int, $n: Int, $b: BasisInput) {
      issues(where: $w, orderBy: $o, first: $f, offset: $n, basis: $b) { number } }"""
    assert [each["number"] for each in tracker.data(document, **variables)["issues"]] == numbers


@pytest.mark.parametrize(
    ("variables", "numbers"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"title": "Dark mode"}, [2]),
        ({"points": 5}, [1, 5]),
        ({"points": "5", "urgent": True}, [1]),
        ({"status": "OPEN"}, [1, 3]),
        ({"names": ["bug", "idea"]}, [1, 2, 4]),
        ({"names": []}, []),
        ({"least": 3}, [4]),
    ],
)
def test_variables_within_a_filter(tracker: Tracker, variables: dict[str, Any], numbers: list[int]) -> None:
    document = """query (
      $title: String, $points: Long, $urgent: Boolean, $status: Status, $least: Long, $names: [String!]
    ) {
      issues(where: {
        title: {eq: $title}, points: {eq: $points}, and: [{urgent: {eq: $urgent}}, {status: {eq: $status}}]
        labels: {some: {name: {in: $names}}, count: {gte: $least}}
      }) { number } }"""
    # A list without a condition is one that has an entity.
    if not variables.keys() & {"names"}:
        document = document.replace("some: {name: {in: $names}}, ", "").replace(", $names: [String!]", "")
    assert [each["number"] for each in tracker.data(document, **variables)["issues"]] == numbers


def test_null_in_a_filter_is_refused_as_a_variable_too(tracker: Tracker) -> None:
    document = "query ($title: String) { issues(where: {title: {eq: $title}}) { number } }"
    assert refusal(tracker.ask(document, title=None)).startswith("where.title.eq is null; isNull: true selects")


def test_nodes_come_in_the_order_of_their_ids(tracker: Tracker) -> None:
    user, label = tracker.entity('[:user/email "ada@example.org"]'), tracker.entity('[:label/name "bug"]')
    ids = [label, user, "999999", label, "0", user, "9223372036854775807"]
    found = tracker.data("query ($ids: [ID!]!) { nodes(ids: $ids) { id __typename } }", ids=ids)["nodes"]
    assert [each and each["id"] for each in found] == [label, user, None, label, None, user, None]
    assert tracker.data("{ nodes(ids: []) { id } }") == {"nodes": []}
    assert tracker.data("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", ids=[int(user)])["nodes"] == [
        {"id": user}
    ]
    assert "more than 200 ids" in refusal(
        tracker.ask("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", ids=["1"] * (MOST + 1))
    )


@pytest.mark.parametrize("given", ["", "x", "-1", "1.5", " 1", "９", "1" * 20, "9223372036854775808", "[:a 1]"])
def test_what_is_no_id_is_refused(tracker: Tracker, given: str) -> None:
    for document, place in (
        ("query ($id: ID!) { node(id: $id) { id } }", "id"),
        ("query ($id: ID!) { nodes(ids: [1, $id]) { id } }", "ids[1]"),
        ("query ($id: ID!) { issue(id: $id) { id } }", "id"),
        ("query ($id: ID!) { issues(where: {id: {ne: $id}}) { id } }", "where.id.ne"),
        ("mutation ($id: ID!) { deleteIssue(by: {id: $id}) { t } }", "by.id"),
        (
            "mutation ($id: ID!) { updateIssue(by: {number: 1}, set: {assignee: {connect: {id: $id}}}) { t } }",
            "set.",
        ),
    ):
        message = refusal(tracker.ask(document, id=given))
        assert message.startswith(place)
        assert "an id is the text of a number" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("first: -1", "first is -1; give 0 or more"),
        ("last: -1", "last is -1; give 0 or more"),
        ("first: 201", "more than 200 rows asked for with first: 201"),
        ("last: 201", "more than 200 rows asked for with last: 201"),
        ("first: 1, last: 1", "a page is read forward"),
        ('first: 1, before: "x"', "a page is read forward"),
        ('after: "x", last: 1', "a page is read forward"),
        ('after: ""', "`after` was not made by this database"),
        ('before: "x"', "`before` is not a cursor; hand back pageInfo.startCursor"),
    ],
)
def test_wrong_pages_are_refused_at_any_depth(tracker: Tracker, arguments: str, message: str) -> None:
    nodes = "{ nodes { id } }"
    for document in (
        f"{{ issuesConnection({arguments}) {nodes} }}",
        f"{{ users {{ them: issuesConnection({arguments}) {nodes} }} }}",
        f"{{ users {{ them: history({arguments}) {{ nodes {{ t }} }} }} }}",
    ):
        found = refusal(tracker.ask(document))
        assert message.replace("`", "") in found.replace("them.", "").replace("`", "")


def test_pages_of_nothing(tracker: Tracker) -> None:
    page = "nodes { number } edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
    user = 'user(email: "cyd@example.org")'
    nothing: dict[str, Any] = {"nodes": [], "edges": []}
    edges = {"startCursor": None, "endCursor": None}
    found = tracker.data(
        f"""{{ first: issuesConnection(first: 0) {{ {page} totalCount }}
               last: issuesConnection(last: 0) {{ {page} }}
               none: issuesConnection(where: {{or: []}}) {{ {page} totalCount }}
               {user} {{ issuesConnection(where: {{number: {{lt: 0}}}}) {{ {page} }} }} }}"""
    )
    forward = edges | {"hasNextPage": True, "hasPreviousPage": False}
    backward = edges | {"hasNextPage": False, "hasPreviousPage": True}
    alone = edges | {"hasNextPage": False, "hasPreviousPage": False}
    assert found == {
        "first": nothing | {"pageInfo": forward, "totalCount": 5},
        "last": nothing | {"pageInfo": backward},
        "none": nothing | {"pageInfo": alone, "totalCount": 0},
        "user": {"issuesConnection": nothing | {"pageInfo": alone}},
    }


def test_a_cursor_is_of_one_list_and_unchanged(tracker: Tracker) -> None:
    edges = "edges { cursor }"
    found = tracker.data(
        f"""{{ issuesConnection(first: 2) {{ {edges} }} usersConnection(first: 1) {{ {edges} }}
               issue(number: 1) {{ commentsConnection {{ {edges} }} history {{ {edges} }} }} }}"""
    )
    own = found["issuesConnection"]["edges"][0]["cursor"]
    others = [found["usersConnection"], found["issue"]["commentsConnection"], found["issue"]["history"]]
    document = "query ($at: String) { issuesConnection(first: 1, after: $at) { nodes { number } } }"
    assert tracker.data(document, at=own) == {"issuesConnection": {"nodes": [{"number": 2}]}}
    for other in others:
        assert "belongs to another query" in refusal(tracker.ask(document, at=other["edges"][0]["cursor"]))
    for place in range(0, len(own), 7):
        changed = own[:place] + ("A" if own[place] != "A" else "B") + own[place + 1 :]
        assert refusal(tracker.ask(document, at=changed)).startswith("`after` ")
    # What says the same in other words is the same list.
    for arguments in ("where: {}", "where: null", "orderBy: []", "orderBy: null, last: null, before: null"):
        same = document.replace("first: 1,", f"{arguments}, first: 1,")
        assert tracker.data(same, at=own) == {"issuesConnection": {"nodes": [{"number": 2}]}}


def test_before_without_last_is_a_page_of_the_default_size(tracker: Tracker) -> None:
    found = tracker.data("{ issuesConnection(last: 1) { pageInfo { startCursor } } }")["issuesConnection"]
    document = "query ($at: String) { issuesConnection(before: $at) { nodes { number } pageInfo { hasNextPage } } }"
    page = tracker.data(document, at=found["pageInfo"]["startCursor"])["issuesConnection"]
    assert page == {"nodes": [{"number": each} for each in (1, 2, 3, 4)], "pageInfo": {"hasNextPage": True}}


def test_the_names_of_types_everywhere(tracker: Tracker) -> None:
    found = tracker.data(
        """{ __typename issuesConnection(first: 1) {
               __typename nodes { __typename } edges { __typename node { __typename } } pageInfo { __typename }
               aggregate { __typename points { __typename } }
               groupBy(by: [NUMBER]) { __typename aggregate { __typename } } }
             issue(number: 1) { history(first: 1) { __typename nodes { __typename } } } }"""
    )
    assert found["__typename"] == "Query"
    connection = found["issuesConnection"]
    assert connection.pop("groupBy")[0] == {
        "__typename": "IssueGroup",
        "aggregate": {"__typename": "IssueAggregate"},
    }
    assert connection == {
        "__typename": "IssueConnection",
        "nodes": [{"__typename": "Issue"}],
        "edges": [{"__typename": "IssueEdge", "node": {"__typename": "Issue"}}],
        "pageInfo": {"__typename": "PageInfo"},
        "aggregate": {"__typename": "IssueAggregate", "points": {"__typename": "LongAggregate"}},
    }
    assert found["issue"]["history"] == {"__typename": "ChangeConnection", "nodes": [{"__typename": "Change"}]}
