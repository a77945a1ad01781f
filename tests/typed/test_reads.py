"""Typed reads of the issue tracker: documents as clients write them, and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from adalog.executor.pool import Pool
from tests.typed.tracker import Tracker, tracker_texts


@pytest.fixture(scope="module")
def tracker() -> Iterator[Tracker]:
    with Tracker.opened(*tracker_texts()) as opened:
        yield opened


def numbers(tracker: Tracker, where: str, rest: str = "") -> list[int]:
    return [each["number"] for each in tracker.data(f"{{ issues(where: {where} {rest}) {{ number }} }}")["issues"]]


def test_a_page_with_nested_lists(tracker: Tracker) -> None:
    found = tracker.data(
        """{ issues(where: {status: {eq: OPEN}, assignee: {name: {startsWith: "A"}}}, orderBy: [{dueDate: DESC}]) {
               __typename key title status dueDate risk budget urgent assignee { name nickname }
               labels(orderBy: [{name: DESC}]) { name color }
               comments(where: {body: {contains: "i"}}, first: 1) { body author { name } } } }"""
    )
    assert found["issues"] == [
        {
            "__typename": "Issue",
            "key": "00000000-0000-4000-8000-000000000101",
            "title": "Login fails",
            "status": "OPEN",
            "dueDate": "2026-03-01T00:00:00.000Z",
            "risk": 0.5,
            "budget": "10.5",
            "urgent": True,
            "assignee": {"name": "Ada", "nickname": ["al", "countess"]},
            "labels": [{"name": "docs", "color": ":blue"}, {"name": "bug", "color": ":red"}],
            "comments": [{"body": "I see it, too", "author": {"name": "Bob"}}],
        }
    ]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("{}", [1, 2, 3, 4, 5]),
        ("{and: []}", [1, 2, 3, 4, 5]),
        ("{or: []}", []),
        ("{not: {or: []}}", [1, 2, 3, 4, 5]),
        ('{title: {eq: ""}}', [3]),
        ('{title: {ne: ""}}', [1, 2, 4, 5]),
        ("{title: {isNull: true}}", [4]),
        ('{title: {contains: "LOGIN", ignoreCase: true}}', [1, 5]),
        ('{title: {matches: "[lL]ogin.*"}}', [1, 5]),
        ("{title: {in: []}}", []),
        ("{title: {notIn: []}}", [1, 2, 3, 4, 5]),
        ("{risk: {lt: 0}}", [4]),
        ("{risk: {gte: -1}}", [1, 4]),
        ("{status: {ne: OPEN}}", [2, 4, 5]),
        ("{status: {in: [OPEN, DONE]}}", [1, 3, 5]),
        ("{labels: {some: {}}}", [1, 2, 4]),
        ('{labels: {every: {name: {in: ["bug", "docs"]}}}}', [1, 3, 5]),
        ("{labels: {none: {}}}", [3, 5]),
        ("{labels: {count: {gte: 2}}}", [1, 4]),
        ("{labels: {count: {eq: 0}}}", [3, 5]),
        ("{assignee: {}}", [1, 2, 4, 5]),
        ('{assignee: {name: {ne: "Ada"}}}', [2, 4]),
        ('{not: {assignee: {name: {eq: "Ada"}}}}', [2, 3, 4]),
        ("{assigneeIsNull: true}", [3]),
        ('{assignee: {nickname: {eq: "al"}}}', [1, 5]),
        ('{assignee: {nickname: {ne: "al"}}}', [2, 4]),
        ('{comments: {some: {author: {name: {eq: "Bob"}}}}}', [1]),
        ('{issues: {some: {title: {eq: ""}}}, or: [{points: {gt: 4}}, {points: {lt: 0}}]}', [1]),
        ('{dueDate: {lte: "2026-02-01T00:00:00Z"}}', [2, 5]),
        ('{budget: {lt: "0.31"}}', [3]),
    ],
)
def test_filters(tracker: Tracker, where: str, expected: list[int]) -> None:
    assert numbers(tracker, where) == expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("[{points: DESC}]", [1, 5, 2, 3, 4]),
        ("[{status: ASC}, {risk: DESC}]", [1, 3, 2, 5, 4]),
        ("[{assignee: {name: ASC}}, {number: DESC}]", [5, 1, 2, 4, 3]),
        ("[{id: DESC}]", [5, 4, 3, 2, 1]),
    ],
)
def test_orders_show_absent_values_last_and_ties_by_id(tracker: Tracker, order: str, expected: list[int]) -> None:
    assert numbers(tracker, "{}", f"orderBy: {order}") == expected
    found = tracker.data(f"{{ issuesConnection(orderBy: {order}, last: 3) {{ nodes {{ number }} }} }}")
    assert [each["number"] for each in found["issuesConnection"]["nodes"]] == expected[2:]


def test_a_variable_that_is_not_given_leaves_its_filter_out(tracker: Tracker) -> None:
    document = "query ($t: String, $w: IssueWhere) { issues(where: {title: {eq: $t}, not: $w}) { number } }"
    assert len(tracker.data(document)["issues"]) == 5
    assert len(tracker.data(document, t="")["issues"]) == 1
    assert len(tracker.data(document, t="", w={"number": {"eq": 3}})["issues"]) == 0


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{ issues(where: {title: {eq: null}}) { id } }", "where.title.eq is null; isNull: true selects"),
        ("{ issues(where: {assignee: null}) { id } }", "where.assignee is null; use assigneeIsNull: true"),
        ("{ issues(where: {or: [{not: null}]}) { id } }", "where.or[0].not is null"),
        ('{ issues(where: {title: {matches: "("}}) { id } }', "where.title.matches: "),
        ('{ issues(where: {id: {in: ["x"]}}) { id } }', "where.id.in is 'x', which names no entity"),
        ("{ issues(first: -1) { id } }", "first is -1; give 0 or more"),
        ("{ issues(first: 2000000) { id } }", "ADALOG_ROWS"),
        ("{ issues { issues { issues { issues { issues { id } } } } } }", "smaller values of `first`"),
        ("{ issue { id } }", "exactly one of id, key, number names the entity; none"),
        ('{ issue(id: "9", number: 1) { id } }', "exactly one of id, key, number names the entity; id and number"),
        ("{ issues(basis: {since: 1}) { id } }", "basis takes t and asOf"),
        (
            "{ issuesConnection(first: 1, last: 1) { totalCount } }",
            "forward, with `first` and `after`, or backward",
        ),
        ("{ issuesConnection { groupBy(by: []) { key } } }", "groupBy.by is empty"),
        ("{ issues(orderBy: [{title: ASC, number: ASC}]) { id } }", "IssueOrderBy has id, key, number, title, "),
        ("{ issues(orderBy: [{}]) { id } }", "several orders are several elements of the list"),
        ("mutation { deleteIssue(by: {}) { t } }", "IssueUnique has id, key, number"),
        ('{ issues(where: {assignee: {eq: "Ada"}}) { id } }', "UserWhere has and, not, or, id, key, email, "),
        ("{ issues(where: {labels: {all: {}}}) { id } }", "LabelListWhere has some, every, none, count"),
    ],
)
def test_refusals_name_the_argument(tracker: Tracker, document: str, message: str) -> None:
    assert message in tracker.error(document)


def test_one_entity_by_what_names_it(tracker: Tracker) -> None:
    user, label = tracker.entity('[:user/email "ada@example.org"]'), tracker.entity('[:label/name "bug"]')
    found = tracker.data(
        """query ($user: ID!, $label: ID!) {
             byId: user(id: $user) { name } byEmail: user(email: "ada@example.org") { id }
             none: user(email: "x") { id } other: user(id: $label) { id }
             node(id: $user) { __typename id ... on User { email } }
             nodes(ids: [$label, "999999", $user, $label]) { __typename ... on Label { name } } }""",
        user=user,
        label=label,
    )
    assert found == {
        "byId": {"name": "Ada"},
        "byEmail": {"id": user},
        "none": None,
        "other": None,
        "node": {"__typename": "User", "id": user, "email": "ada@example.org"},
        "nodes": [
            {"__typename": "Label", "name": "bug"},
            None,
            {"__typename": "User"},
            {"__typename": "Label", "name": "bug"},
        ],
    }


def test_a_ref_without_a_type_shows_any_entity(tracker: Tracker) -> None:
    tracker.transact('[{:db/id "x" :thing-without-namespace 1} [:db/add [:issue/number 5] :issue/subject "x"]]')
    found = tracker.data(
        """{ issues { subject { __typename ... on User { shown: email } ... on Project { shown: key }
                                ... on Issue { shown: title labels { name } } ... on Entity { ident } } } }"""
    )["issues"]
    assert [each["subject"] for each in found] == [
        {"__typename": "User", "shown": "ada@example.org", "ident": None},
        {"__typename": "Project", "shown": "WEB", "ident": None},
        {
            "__typename": "Issue",
            "shown": "Login fails",
            "labels": [{"name": "bug"}, {"name": "docs"}],
            "ident": None,
        },
        {"__typename": "Comment", "ident": None},
        {"__typename": "OtherEntity", "ident": None},
    ]


def test_hidden_attributes_are_nowhere(tracker: Tracker) -> None:
    found = tracker.data(
        '{ user(email: "ada@example.org") { attributes history { nodes { attribute value added t } } } }'
    )["user"]
    assert set(found["attributes"]) == {":db/id", ":user/id", ":user/email", ":user/name", ":user/nickname"}
    changes = found["history"]["nodes"]
    assert {each["attribute"] for each in changes} == set(found["attributes"]) - {":db/id"}
    assert {(each["t"], each["added"]) for each in changes} == {(2, True)}
    assert "password" in tracker.error("{ users { password } }")


def test_history_in_pages(tracker: Tracker) -> None:
    tracker.transact("[[:db/add [:issue/number 2] :issue/points 8]]")
    page = """query ($after: String) { issue(number: 2) {
                history(attributes: [POINTS], first: 2, after: $after) {
                  edges { cursor node { value added } } pageInfo { hasNextPage endCursor } } } }"""
    first = tracker.data(page)["issue"]["history"]
    assert [each["node"] for each in first["edges"]] == [{"value": 3, "added": True}, {"value": 3, "added": False}]
    assert first["pageInfo"]["hasNextPage"]
    second = tracker.data(page, after=first["pageInfo"]["endCursor"])["issue"]["history"]
    assert [each["node"] for each in second["edges"]] == [{"value": 8, "added": True}]
    assert not second["pageInfo"]["hasNextPage"]
    tracker.transact("[[:db/add [:issue/number 2] :issue/points 3]]")


@pytest.mark.parametrize("backward", [False, True])
def test_pages_are_of_one_snapshot(tracker: Tracker, backward: bool) -> None:
    size, place = ("last", "before") if backward else ("first", "after")
    edge = "startCursor" if backward else "endCursor"
    document = f"""query ($at: String) {{ issuesConnection(orderBy: [{{risk: DESC}}], {size}: 2, {place}: $at) {{
        totalCount nodes {{ number }} pageInfo {{ {edge} hasNextPage hasPreviousPage }} }} }}"""
    pages, at = [], None
    while True:
        found = tracker.data(document, at=at)["issuesConnection"]
        assert found["totalCount"] == 5
        pages.append([each["number"] for each in found["nodes"]])
        at = found["pageInfo"][edge]
        if not found["pageInfo"]["hasPreviousPage" if backward else "hasNextPage"]:
            break
        tracker.transact('[{:issue/id #uuid "00000000-0000-4000-8000-000000000999" :issue/risk 0.4}]')
    # NaN is after every number.
    assert pages == ([[3, 5], [1, 4], [2]] if backward else [[2, 1], [4, 3], [5]])
    tracker.transact('[[:db/retractEntity [:issue/id #uuid "00000000-0000-4000-8000-000000000999"]]]')


def test_pages_turn_at_any_cursor(tracker: Tracker) -> None:
    def page(arguments: str) -> tuple[list[int], dict[str, Any]]:
        found = tracker.data(
            f"""{{ issuesConnection({arguments}) {{ edges {{ cursor node {{ number }} }}
                   pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"""
        )["issuesConnection"]
        return [each["node"]["number"] for each in found["edges"]], found["pageInfo"]

    shown, info = page("last: 3")
    assert (shown, info["hasPreviousPage"], info["hasNextPage"]) == ([3, 4, 5], True, False)
    shown, info = page(f'first: 1, after: "{info["startCursor"]}"')
    assert (shown, info["hasPreviousPage"], info["hasNextPage"]) == ([4], True, True)
    shown, info = page(f'last: 9, before: "{info["startCursor"]}"')
    assert (shown, info["hasPreviousPage"], info["hasNextPage"]) == ([1, 2, 3], False, True)
    shown, info = page("first: 3")
    shown, info = page(f'last: 1, before: "{info["endCursor"]}"')
    assert (shown, info["hasPreviousPage"], info["hasNextPage"]) == ([2], True, True)


def test_nested_cursors_are_of_the_snapshot_of_their_root(tracker: Tracker) -> None:
    document = """query ($at: String) { issue(number: 1) { title commentsConnection(first: 1, after: $at) {
                    totalCount nodes { body } pageInfo { endCursor } } } }"""
    first = tracker.data(document)["issue"]
    tracker.transact('[{:db/id [:issue/number 1] :issue/title "Renamed"}]')
    second = tracker.data(document, at=first["commentsConnection"]["pageInfo"]["endCursor"])["issue"]
    assert (first["title"], second["title"]) == ("Login fails", "Login fails")
    assert second["commentsConnection"]["nodes"] == [{"body": "Fixed?"}]
    tracker.transact('[{:db/id [:issue/number 1] :issue/title "Login fails"}]')


def test_a_cursor_belongs_to_one_question(tracker: Tracker) -> None:
    found = tracker.data("{ issuesConnection(first: 1) { pageInfo { endCursor } } }")["issuesConnection"]
    at = found["pageInfo"]["endCursor"]
    for other in (f'first: 1, after: "{at}", orderBy: [{{title: ASC}}]', f'first: 1, after: "{at}x"'):
        assert "`after`" in tracker.error(f"{{ issuesConnection({other}) {{ totalCount }} }}")


def test_aggregates_and_groups(tracker: Tracker) -> None:
    found = tracker.data(
        """{ issuesConnection {
               aggregate { count points { count min max sum avg } title { count min } budget { sum avg } }
               groupBy(by: [STATUS]) { key aggregate { count points { sum } } } }
             usersConnection { aggregate { count nickname { count max } } }
             none: issuesConnection(where: {or: []}) { totalCount aggregate { count points { count sum } } } }"""
    )
    assert found["issuesConnection"] == {
        "aggregate": {
            "count": 5,
            "points": {"count": 4, "min": -2, "max": 5, "sum": 11, "avg": 2.75},
            "title": {"count": 4, "min": ""},
            "budget": {"sum": "10.8", "avg": "5.4"},
        },
        "groupBy": [
            {"key": {"status": "DONE"}, "aggregate": {"count": 1, "points": {"sum": 5}}},
            {"key": {"status": "IN_PROGRESS"}, "aggregate": {"count": 1, "points": {"sum": 3}}},
            {"key": {"status": "OPEN"}, "aggregate": {"count": 2, "points": {"sum": 3}}},
            {"key": {"status": None}, "aggregate": {"count": 1, "points": {"sum": None}}},
        ],
    }
    assert found["usersConnection"] == {"aggregate": {"count": 3, "nickname": {"count": 3, "max": "countess"}}}
    assert found["none"] == {"totalCount": 0, "aggregate": {"count": 0, "points": {"count": 0, "sum": None}}}


def test_a_sum_of_longs_may_have_more_than_64_bits() -> None:
    most = 2**63 - 1
    with Tracker.opened(*tracker_texts()) as own:
        own.transact(f"[[:db/add [:issue/number 1] :issue/points {most}]]")
        found = own.data("{ issuesConnection { aggregate { count points { count sum avg max } } } }")
        points = {"count": 4, "sum": str(most + 6), "avg": (most + 6) / 4, "max": str(most)}
        assert found == {"issuesConnection": {"aggregate": {"count": 5, "points": points}}}
        nested = "{ users(orderBy: [{email: ASC}]) { issuesConnection { aggregate { points { sum } } } } }"
        sums = [each["issuesConnection"]["aggregate"]["points"]["sum"] for each in own.data(nested)["users"]]
        assert sums == [str(most + 5), 3, None]
        grouped = "{ issuesConnection { groupBy(by: [URGENT]) { key aggregate { points { sum } } } } }"
        groups = own.data(grouped)["issuesConnection"]["groupBy"]
        assert {each["key"]["urgent"]: each["aggregate"]["points"]["sum"] for each in groups} == {
            None: 8,
            False: -2,
            True: str(most),
        }


@pytest.mark.parametrize(
    ("literal", "kind", "value"),
    [
        ('{points: {eq: "x"}}', "IssueWhere", {"points": {"eq": "x"}}),
        ('{budget: {eq: "x"}}', "IssueWhere", {"budget": {"eq": "x"}}),
        ("{status: {eq: NOPE}}", "IssueWhere", {"status": {"eq": "NOPE"}}),
        ("{title: {eq: 5}}", "IssueWhere", {"title": {"eq": 5}}),
        ("{title: 5}", "IssueWhere", {"title": 5}),
        ("{urgent: {eq: 1}}", "IssueWhere", {"urgent": {"eq": 1}}),
        ("{title: {eq: null}}", "IssueWhere", {"title": {"eq": None}}),
        ("{nope: {}}", "IssueWhere", {"nope": {}}),
    ],
)
def test_a_wrong_value_has_one_code_as_a_literal_and_as_a_variable(
    tracker: Tracker, literal: str, kind: str, value: Any
) -> None:
    answers = (
        tracker.ask(f"{{ issues(where: {literal}) {{ id }} }}"),
        tracker.ask(f"query ($given: {kind}) {{ issues(where: $given) {{ id }} }}", given=value),
    )
    assert [each["errors"][0]["extensions"]["code"] for each in answers] == ["ARG_INVALID"] * 2


def test_equal_roots_and_lists_are_read_once(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    run = Pool.arun

    async def recorded(pool: Pool, request: Any) -> Any:
        texts.append(request.query)
        return await run(pool, request)

    monkeypatch.setattr(Pool, "arun", recorded)
    found = tracker.data(
        """{ one: issues { ...L } two: issues { ...L } other: issues(first: 1) { number } }
           fragment L on Issue { a: labels(offset: 1) { name } b: labels(offset: 1) { name } }"""
    )
    assert found["one"] == found["two"]
    assert all(each["a"] == each["b"] for each in found["one"])
    assert len(texts) == 2
    assert sum(text.count("(q ") for text in texts) == 1


def test_the_past(tracker: Tracker) -> None:
    found = tracker.data(
        "{ now: users { name } then: users(basis: {t: 1}) { name } issue(number: 1, basis: {t: 1}) { id } }"
    )
    assert len(found["now"]) == 3
    assert (found["then"], found["issue"]) == ([], None)


def test_a_past_without_the_type_has_none_of_it_in_the_strict_schema() -> None:
    first, *others = ("[{:db/ident :a/b :db/valueType :db.type/string}]", *tracker_texts())
    with Tracker.opened(first, *others, schema="strict") as tracker:
        found = tracker.data(
            """{ issues(basis: {t: 1}, where: {points: {gt: 1}}, orderBy: [{dueDate: ASC}]) { id labels { name } }
                 issue(number: 1, basis: {t: 1}) { id }
                 issuesConnection(basis: {t: 1}) { totalCount nodes { id } aggregate { points { sum count } } } }"""
        )
    assert found == {
        "issues": [],
        "issue": None,
        "issuesConnection": {"totalCount": 0, "nodes": [], "aggregate": {"points": {"sum": None, "count": 0}}},
    }


def test_a_cursor_and_another_basis(tracker: Tracker) -> None:
    document = """query ($at: String, $basis: BasisInput) { issue(number: 1, basis: $basis) {
                    commentsConnection(first: 1, after: $at) { nodes { body } pageInfo { endCursor } } } }"""
    found = tracker.data(document)["issue"]["commentsConnection"]
    at, t = found["pageInfo"]["endCursor"], tracker.database.snapshot().t
    for basis in ({"t": 1}, {"asOf": "1999-01-01T00:00:00Z"}):
        assert "leave one of them out" in tracker.error(document, at=at, basis=basis)
    second = [{"body": "Fixed?"}]
    for same in (None, {}, {"t": None}, {"t": t}, {"asOf": "2999-01-01T00:00:00Z"}):
        assert tracker.data(document, at=at, basis=same)["issue"]["commentsConnection"]["nodes"] == second


def test_pages_of_an_instant_to_come_are_of_one_snapshot(tracker: Tracker) -> None:
    document = """query ($at: String, $basis: BasisInput) { issuesConnection(basis: $basis, first: 3, after: $at) {
                    totalCount pageInfo { endCursor } } }"""
    basis = {"asOf": "2999-01-01T00:00:00Z"}
    found = tracker.data(document, basis=basis)["issuesConnection"]
    tracker.transact('[{:issue/id #uuid "00000000-0000-4000-8000-000000000998"}]')
    at = found["pageInfo"]["endCursor"]
    assert tracker.data(document, basis=basis, at=at)["issuesConnection"]["totalCount"] == found["totalCount"]
    assert "`after`" in tracker.error(document, basis={"t": 2}, at=at)
    tracker.transact('[[:db/retractEntity [:issue/id #uuid "00000000-0000-4000-8000-000000000998"]]]')


def test_reads_that_were_kept_show_what_an_excision_left() -> None:
    asked = "{ issues(where: {}) { number title assignee { name nickname } } }"
    with Tracker.opened(*tracker_texts()) as tracker:
        for number in range(3):
            before = {each["number"]: each for each in tracker.data(asked)["issues"]}
            tracker.transact(f"[{{:db/excise [:issue/number {number + 1}] :db.excise/attrs [:issue/title]}}]")
            tracker.transact(f'[[:db/add [:issue/number {number + 1}] :issue/title "new {number}"]]')
            for _ in range(2):
                now = {each["number"]: each for each in tracker.data(asked)["issues"]}
                assert now == before | {number + 1: before[number + 1] | {"title": f"new {number}"}}
