"""A typed root field runs one query, and one for each list in its selection, however many parents these have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from adalog.executor.join.driver import Driver
from adalog.executor.pool import Pool
from tests.typed.tracker import Tracker, tracker_texts

SIZES = (1, 300)


@pytest.fixture(scope="module", params=SIZES)
def tracker(request: pytest.FixtureRequest) -> Iterator[Tracker]:
    """Issues in a ring, each with two labels, three comments and the next issue that blocks it."""
    declared, _ = tracker_texts()
    parts = [f'{{:db/id "l{each}" :label/name "{each}"}}' for each in range(3)]
    parts += [
        f'{{:db/id "u{each}" :user/id #uuid "00000000-0000-4000-8001-{each:012}" :user/name "{each}"}}'
        for each in range(4)
    ]
    parts += ['{:db/id "p" :project/key "p"}']
    for number in range(request.param):
        parts.append(
            f'{{:db/id "i{number}" :issue/id #uuid "00000000-0000-4000-8000-{number:012}" :issue/number {number}'
            f' :issue/points {number % 7} :issue/assignee "u{number % 4}" :issue/project "p"'
            f' :issue/labels ["l{number % 3}" "l{(number + 1) % 3}"]'
            f' :issue/blocked-by "i{(number + 1) % request.param}"}}'
        )
        parts += [
            f'{{:comment/id #uuid "00000000-0000-4000-9000-{number * 3 + each:012}" :comment/issue "i{number}"'
            f' :comment/author "u{each}" :comment/body "{each}"}}'
            for each in range(3)
        ]
    with Tracker.opened(declared, f"[{' '.join(parts)}]") as opened:
        # Queries of one answer are counted.
        opened.checks_alone = False
        yield opened


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many requests the pool got, and joins were run for them."""
    counts: Counter[str] = Counter()
    ask, join = Pool.arun, Driver.run

    async def asked(pool: Pool, request: Any) -> Any:
        counts["requests"] += 1
        return await ask(pool, request)

    def joined(driver: Driver, *arguments: Any) -> None:
        counts["joins"] += 1
        join(driver, *arguments)

    monkeypatch.setattr(Pool, "arun", asked)
    monkeypatch.setattr(Driver, "run", joined)
    return counts


PLAIN = "blockedBy(first: 9, offset: 0)"
BLOCKERS = "blockedBy(where: {points: {gte: 0}}, orderBy: [{points: DESC}], first: 5)"
LABELS = "labels(orderBy: [{name: DESC}]) { name }"
COMMENTS = 'comments(where: {body: {gte: "1"}}, first: 1) { body author { name } }'


@pytest.mark.parametrize(
    ("document", "requests", "joins"),
    [
        ("issues { number title assignee { name email } project { key lead { name } } }", 1, 1),
        # Lists as they are need no query of their own.
        ("issues { labels { name } comments(first: 2) { body author { name issues { number } } } }", 1, 1),
        (f"issues(first: 300) {{ {LABELS} }}", 1, 2),
        (f"issues {{ {LABELS} {COMMENTS} }}", 1, 3),
        (f"issues {{ assignee {{ issues(offset: 1) {{ {LABELS} {COMMENTS} }} }} project {{ key }} }}", 1, 4),
        (f"issues {{ {PLAIN} {{ {PLAIN} {{ {PLAIN} {{ {LABELS} }} }} }} }}", 1, 2),
        (f"issues {{ {BLOCKERS} {{ {BLOCKERS} {{ {BLOCKERS} {{ {LABELS} }} }} }} }}", 1, 5),
        # Lists of one field with different arguments are several; equal ones are one.
        (f"issues {{ {LABELS} a: {LABELS} b: labels(orderBy: [{{name: ASC}}]) {{ name }} }}", 1, 3),
        ("issues { history(first: 2) { nodes { t } } attributes }", 1, 3),
        (f"issue(number: 0) {{ {LABELS} {COMMENTS} }}", 1, 3),
        (f"node(id: 1) {{ id ... on Issue {{ {LABELS} }} }}", 1, 2),
        # Of a connection the page, the number, the aggregates and the groups, as far as they are selected.
        (f"issuesConnection {{ nodes {{ {LABELS} }} pageInfo {{ endCursor }} edges {{ cursor }} }}", 1, 2),
        ("issuesConnection { totalCount nodes { number } }", 2, 2),
        ("issuesConnection { totalCount }", 1, 1),
        ("issuesConnection { aggregate { count points { sum min } number { max } } }", 1, 1),
        ("issuesConnection { totalCount aggregate { count } groupBy(by: [POINTS]) { key } nodes { id } }", 4, 4),
        ("users { issuesConnection { totalCount nodes { number } aggregate { points { sum } } } }", 1, 4),
    ],
)
def test_queries_of_one_root_field(
    tracker: Tracker, ran: Counter[str], document: str, requests: int, joins: int
) -> None:
    found = tracker.data(f"{{ all: {document} }}")["all"]
    assert ran["requests"] == requests
    # A list of no parents is not asked.
    assert ran["joins"] <= joins if isinstance(found, list) and len(found) == 1 else ran["joins"] == joins


def test_equal_root_fields_are_one(tracker: Tracker, ran: Counter[str]) -> None:
    tracker.data(
        f"""{{ a: issues {{ ...F }} b: issues {{ {LABELS} }} c: issues(first: 100, where: null) {{ ...F }} }}
            fragment F on Issue {{ {LABELS} }}"""
    )
    assert ran["requests"] in (1, 2)
    assert ran["joins"] == 2 * ran["requests"]
