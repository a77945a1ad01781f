"""Typed mutations as documents: coercion of inputs, payloads, and refusals before anything is applied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.typed.tracker import Tracker, tracker_texts

ISSUE = "00000000-0000-4000-8000-000000000101"
KEY = "00000000-0000-4000-8000-0000000009"


@pytest.fixture
def own() -> Iterator[Tracker]:
    with Tracker.opened(*tracker_texts(), rows=200) as made:
        yield made


def code(answer: dict[str, Any]) -> str:
    (error,) = answer["errors"]
    return str(error["extensions"]["code"])


def test_a_payload_is_read_at_its_transaction(own: Tracker) -> None:
    document = """mutation ($key: UUID!) {
      createIssue(input: {
        key: $key, title: "New", status: IN_PROGRESS, points: 3, budget: "10.50", dueDate: "2026-05-01T00:00:00Z"
        assignee: {connect: {email: "ada@example.org"}}
        labels: {connect: [{name: "bug"}], create: [{name: "new", color: ":red"}]}
        comments: {create: [{key: "00000000-0000-4000-8000-000000000999", body: "b"}]}
      }) {
        __typename
        made: issue {
          __typename key title status points budget dueDate assignee { name }
          labels(orderBy: [{name: DESC}]) { name color } comments { body issue { title } }
        }
        t
        report { t basisBefore tempids datoms { e a v added } warnings { code } }
      }
    }"""
    made = own.data(document, key=KEY + "01")["createIssue"]
    assert made["made"] == {
        "__typename": "Issue",
        "key": KEY + "01",
        "title": "New",
        "status": "IN_PROGRESS",
        "points": 3,
        "budget": "10.5",
        "dueDate": "2026-05-01T00:00:00.000Z",
        "assignee": {"name": "Ada"},
        "labels": [{"name": "new", "color": ":red"}, {"name": "bug", "color": ":red"}],
        "comments": [{"body": "b", "issue": {"title": "New"}}],
    }
    assert (made["__typename"], made["t"], made["report"]["t"], made["report"]["basisBefore"]) == (
        "IssuePayload",
        3,
        3,
        2,
    )
    assert list(made["report"]["tempids"]) == ["input", "input.labels.create[0]", "input.comments.create[0]"]
    assert made["report"]["warnings"] == []
    assert {"e": made["report"]["tempids"]["input"], "a": ":issue/points", "v": 3, "added": True} in made["report"][
        "datoms"
    ]


def test_a_repeated_request_gets_the_payload_of_the_first(own: Tracker) -> None:
    create = 'mutation { createLabel(input: {name: "x"}, idempotencyKey: "k") { t label { id name color } } }'
    first = own.data(create)
    own.data('mutation { updateLabel(by: {name: "x"}, set: {color: ":red"}) { t } }')
    assert own.data(create) == first
    update = """mutation {
      updateIssues(where: {points: {eq: 5}}, set: {points: 6}, expected: 2, idempotencyKey: "u") {
        t issues { number points } } }"""
    changed = own.data(update)
    assert changed["updateIssues"]["issues"] == [{"number": 1, "points": 6}, {"number": 5, "points": 6}]
    assert own.data(update) == changed
    delete = """mutation { deleteLabel(by: {name: "x"}, idempotencyKey: "d") { ids t } }"""
    deleted = own.data(delete)
    assert own.data(delete) == deleted
    assert len(deleted["deleteLabel"]["ids"]) == 1
    other = 'mutation { deleteLabel(by: {name: "bug"}, idempotencyKey: "d") { ids t } }'
    assert code(own.ask(other)) == "ARG_INVALID"


def test_an_upsert_changes_or_creates(own: Tracker) -> None:
    document = 'mutation ($c: Keyword) { upsertLabel(input: {name: "bug", color: $c}) { label { name color } } }'
    assert own.data(document, c=":blue")["upsertLabel"]["label"]["color"] == ":blue"
    assert own.data(document)["upsertLabel"]["label"]["color"] == ":blue"
    assert own.data(document, c=None)["upsertLabel"]["label"]["color"] is None


def test_several_mutations_of_a_document_are_one_after_the_other(own: Tracker) -> None:
    found = own.data("""mutation {
      a: createLabel(input: {name: "x"}) { t }
      b: updateIssue(by: {number: 4}, set: {labels: {set: [{name: "x"}]}}) { t issue { labels { name } } }
      c: deleteLabel(by: {name: "x"}) { t }
      d: updateIssue(by: {number: 4}, set: {points: 1}) { issue { labels { name } } }
    }""")
    assert [found[each]["t"] for each in "abc"] == [3, 4, 5]
    assert found["b"]["issue"]["labels"] == [{"name": "x"}]
    assert found["d"]["issue"]["labels"] == []


def test_a_refused_mutation_keeps_the_earlier_ones_and_stops_the_later_ones(own: Tracker) -> None:
    answer = own.ask("""mutation {
      a: createLabel(input: {name: "x"}) { t }
      b: createLabel(input: {name: "x"}) { t }
      c: createLabel(input: {name: "y"}) { t }
    }""")
    (error,) = answer["errors"]
    assert (answer["data"], error["path"], error["extensions"]["code"]) == (None, ["b"], "UNIQUE_CONFLICT")
    found = own.data('{ labels(where: {name: {in: ["x", "y"]}}) { name } database { basisT } }')
    assert found == {"labels": [{"name": "x"}], "database": {"basisT": 3}}


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ('createIssue(input: {title: "x"}) { t }', "ARG_INVALID"),
        (f'createIssue(input: {{key: "{ISSUE}"}}) {{ t }}', "UNIQUE_CONFLICT"),
        ('updateIssue(by: {number: 77}, set: {title: "x"}) { t }', "TX_INVALID"),
        ('updateIssue(by: {id: "x"}, set: {title: "x"}) { t }', "ARG_INVALID"),
        ('updateIssues(where: {}, set: {title: "x"}, expected: 5) { t }', "ARG_INVALID"),
        ("deleteIssues(where: {points: {eq: null}}, expected: 5) { t }", "ARG_INVALID"),
        ("deleteIssues(where: {points: {eq: 5}}, expected: 5) { t }", "TX_INVALID"),
        ('updateIssue(by: {number: 1}, set: {title: "x"}, expectedBasisT: 1) { t }', "BASIS_CONFLICT"),
        (
            'updateIssue(by: {number: 1}, set: {title: "x"}) { issue { labels(first: 201) { name } } }',
            "LIMIT_EXCEEDED",
        ),
        ('updateIssue(by: {number: 1}, set: {title: "x"}) { issue { labels(first: -1) { name } } }', "ARG_INVALID"),
        (
            "updateIssues(where: {points: {eq: 5}}, set: {points: 1}, expected: 201) { issues { id } }",
            "LIMIT_EXCEEDED",
        ),
    ],
)
def test_what_is_refused_changes_nothing(own: Tracker, field: str, wanted: str) -> None:
    answer = own.ask(f"mutation {{ {field} }}")
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == wanted, error
    assert own.database.snapshot().t == 2


def test_a_variable_that_is_not_given_leaves_the_value(own: Tracker) -> None:
    document = """mutation ($title: String, $points: Long) {
      updateIssue(by: {number: 1}, set: {title: $title, points: $points}) { issue { title points } } }"""
    assert own.data(document, points=None)["updateIssue"]["issue"] == {"title": "Login fails", "points": None}


def test_a_bulk_change_whose_variable_is_not_given_is_refused(own: Tracker) -> None:
    document = """mutation ($title: String) {
      deleteIssues(where: {title: {eq: $title}}, expected: 5) { t } }"""
    assert "where.title is empty" in own.error(document)
    assert code(own.ask(document)) == "ARG_INVALID"


def test_the_database_is_that_of_the_other_fields(own: Tracker) -> None:
    """So that its `basisT` is the one to expect of a mutation."""
    document = "{ a: issue(number: 1) { title } database { basisT } b: issue(number: 1) { title } }"
    found = own.data(document)
    own.data('mutation { updateIssue(by: {number: 1}, set: {title: "x"}) { t } }')
    assert found["database"] == {"basisT": 2}
    assert own.data(document) == {"a": {"title": "x"}, "database": {"basisT": 3}, "b": {"title": "x"}}
