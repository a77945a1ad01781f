"""Typed mutations as transactions: atomic, nested, refused with the path of what is wrong, and safe to repeat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.writer import writer
from tests.typed.mutating import mutate, mutation
from tests.typed.tracker import Tracker, tracker_texts

ISSUE = UUID("00000000-0000-4000-8000-000000000101")
ADA = {"email": "ada@example.org"}


def key(number: int) -> UUID:
    return UUID(int=number)


@pytest.fixture(scope="module")
def shared() -> Iterator[Tracker]:
    """For tests that change nothing, or only what they made."""
    with Tracker.opened(*tracker_texts()) as made:
        yield made


@pytest.fixture
def own() -> Iterator[Tracker]:
    with Tracker.opened(*tracker_texts()) as made:
        yield made


def refusal(tracker: Tracker, root: Any, kind: str, **arguments: Any) -> tuple[Code, str]:
    """The refusal of a mutation, which changes nothing."""
    before = tracker.database.snapshot().t
    with pytest.raises(AdalogError) as refused:
        mutate(tracker, root, kind, **arguments)
    assert tracker.database.snapshot().t == before
    return refused.value.code, refused.value.message


def holds(tracker: Tracker, e: int, attribute: str) -> list[Any]:
    snapshot = tracker.database.snapshot()
    found = snapshot.attribute(Keyword(attribute))
    assert found is not None
    codes = snapshot.ev(found).row(e).tolist()
    return codes if found.is_ref else [snapshot.codes.decode(code) for code in codes]


def test_creates_nest_three_deep_in_one_transaction(own: Tracker) -> None:
    author = {"create": {"key": key(3), "name": "Eve", "nickname": ["e", "v"]}}
    report = mutate(
        own,
        "create",
        "Project",
        input={
            "key": "NEW",
            "issues": {"create": [{"key": key(1), "comments": {"create": [{"key": key(2), "author": author}]}}]},
        },
    )
    ids = report.tempids
    assert list(ids) == [
        "input",
        "input.issues.create[0]",
        "input.issues.create[0].comments.create[0]",
        "input.issues.create[0].comments.create[0].author.create",
    ]
    project, issue, comment, eve = ids.values()
    assert holds(own, issue, "issue/project") == [project]
    assert holds(own, comment, "comment/issue") == [issue]
    assert holds(own, comment, "comment/author") == [eve]
    assert holds(own, eve, "user/nickname") == ["e", "v"]


def test_created_entities_may_refer_to_each_other(own: Tracker) -> None:
    blocked = {"create": [{"key": key(2), "blockedBy": {"connect": [{"key": key(1)}, {"key": key(2)}]}}]}
    ids = mutate(own, "create", "Issue", input={"key": key(1), "blockedBy": blocked}).tempids
    first, second = ids.values()
    assert holds(own, first, "issue/blocked-by") == [second]
    assert holds(own, second, "issue/blocked-by") == [first, second]


def test_an_upsert_that_creates_may_be_connected_within_itself(own: Tracker) -> None:
    for t in (3, 4):
        report = mutate(own, "upsert", "Issue", input={"key": key(1), "blockedBy": {"connect": [{"key": key(1)}]}})
        assert report.t == t
        assert len(report.datoms) == (3 if t == 3 else 1)


@pytest.mark.parametrize(
    ("input_", "path"),
    [
        ({"key": ISSUE}, "input.key: :issue/id"),
        ({"key": key(1), "number": 3}, "input.number: :issue/number 3 belongs to entity"),
        ({"key": key(1), "labels": {"create": [{"name": "x"}, {"name": "bug"}]}}, "input.labels.create[1].name: "),
        (
            {"key": key(1), "labels": {"create": [{"name": "x"}, {"name": "x"}]}},
            "belongs to input.labels.create[0]",
        ),
        ({"key": key(1), "blockedBy": {"create": [{"key": key(1)}]}}, "input.blockedBy.create[0].key: "),
    ],
)
def test_a_create_of_what_is_there_is_a_conflict(shared: Tracker, input_: Any, path: str) -> None:
    code, message = refusal(shared, "create", "Issue", input=input_)
    assert code is Code.UNIQUE_CONFLICT
    assert path in message


@pytest.mark.parametrize(
    ("root", "kind", "arguments", "message"),
    [
        ("update", "Issue", {"by": {"key": key(9)}, "set": {}}, "by: there is no Issue with key: '00"),
        (
            "update",
            "Issue",
            {"by": {"id": "999999"}, "set": {"title": "x"}},
            "by: there is no Issue with id: '999999'",
        ),
        (
            "update",
            "Issue",
            {"by": {"id": "2199023256581"}, "set": {"title": "x"}},
            "by: there is no Issue with id",
        ),
        (
            "delete",
            "User",
            {"by": {"email": "eve@example.org"}},
            "by: there is no User with email: 'eve@example.org'",
        ),
        (
            "update",
            "Issue",
            {"by": {"key": ISSUE}, "set": {"labels": {"connect": [{"name": "bug"}, {"name": "nope"}]}}},
            "set.labels.connect[1]: there is no Label with name: 'nope'",
        ),
        (
            "update",
            "Issue",
            {"by": {"key": ISSUE}, "set": {"labels": {"disconnect": [{"name": "nope"}]}}},
            "set.labels.disconnect[0]: there is no Label",
        ),
        (
            "update",
            "Issue",
            {"by": {"key": ISSUE}, "set": {"assignee": {"connect": {"id": "7"}}}},
            "set.assignee.connect: there is no User with id: '7'",
        ),
        ("update", "Issue", {"by": {"key": ISSUE}, "set": {"key": None}}, "set.key: Issue has this anchor always"),
        ("update", "Issue", {"by": {"key": None}, "set": {}}, "by.key: null names no entity"),
        ("create", "User", {"input": {}}, "input: a new User has at least one value"),
        (
            "create",
            "User",
            {"input": {"key": key(1), "nickname": ["a", None]}},
            "input.nickname[1]: a list of values",
        ),
        ("create", "Issue", {"input": {"key": key(1), "points": "five"}}, "input.points: 'five' is no long"),
        ("create", "Issue", {"input": {"key": key(1), "points": 2**63}}, "input.points: "),
    ],
)
def test_wrong_input_is_refused_with_its_path(
    shared: Tracker, root: Any, kind: str, arguments: Any, message: str
) -> None:
    code, told = refusal(shared, root, kind, **arguments)
    assert code is Code.TX_INVALID
    assert message in told


def test_a_refused_part_refuses_the_whole(shared: Tracker) -> None:
    comments = {"create": [{"key": key(1)}, {"key": key(2), "author": {"connect": {"email": "nope"}}}]}
    code, message = refusal(
        shared, "update", "Issue", by={"key": ISSUE}, set={"title": "changed", "comments": comments}
    )
    assert code is Code.TX_INVALID
    assert message.startswith("set.comments.create[1].author.connect: there is no User")


def test_null_removes_and_what_is_absent_stays(own: Tracker) -> None:
    e = own.database.snapshot().entid((Keyword("issue/id"), ISSUE))
    assert e is not None
    mutate(own, "update", "Issue", by={"id": str(e)}, set={"title": None, "assignee": None, "labels": None})
    assert [holds(own, e, f"issue/{each}") for each in ("title", "assignee", "labels")] == [[], [], []]
    assert holds(own, e, "issue/points") == [5]


def test_set_connect_disconnect_and_create_together(own: Tracker) -> None:
    e = own.database.snapshot().entid((Keyword("issue/id"), ISSUE))
    assert e is not None
    labels = {
        "set": [{"name": "bug"}],
        "connect": [{"name": "idea"}],
        "disconnect": [{"name": "docs"}],
        "create": [{"name": "new", "color": ":red"}],
    }
    report = mutate(own, "update", "Issue", by={"number": 1}, set={"labels": labels, "comments": {"set": []}})
    named = [holds(own, each, "label/name") for each in holds(own, e, "issue/labels")]
    assert sorted(named) == [["bug"], ["idea"], ["new"]]
    assert [d.added for d in report.datoms if d.a == Keyword("comment/issue")] == [False] * 3


def test_what_gets_and_loses_a_reference_is_a_conflict(shared: Tracker) -> None:
    labels = {"connect": [{"name": "bug"}], "disconnect": [{"name": "bug"}]}
    code, message = refusal(shared, "update", "Issue", by={"key": ISSUE}, set={"labels": labels})
    assert code is Code.TX_CONFLICT
    assert message.startswith("set.labels.disconnect[0]: ")


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ({}, "where"),
        ({"and": []}, "where.and"),
        ({"or": [{"points": {"eq": 5}}, {}]}, "where.or[1]"),
        ({"not": {}}, "where.not"),
        ({"not": {"not": {"title": {}}}}, "where.not.not.title"),
        ({"title": {"ignoreCase": True}}, "where.title"),
        ({"labels": {"some": {}}}, "where.labels.some"),
        ({"points": {"notIn": []}}, "where.points.notIn"),
        ({"not": {"points": {"in": []}}}, "where.not.points.in"),
        ({"labels": {"every": {"name": {"in": []}}}}, "where.labels.every.name.in"),
        ({"points": {"gt": 1}, "or": []}, "where.or"),
        ({"assignee": {"name": {}}, "points": {"eq": 5}}, "where.assignee.name"),
    ],
)
def test_a_bulk_change_takes_no_empty_filter(shared: Tracker, where: Any, place: str) -> None:
    for root, more in (("delete_many", {}), ("update_many", {"set": {"title": "x"}})):
        code, message = refusal(shared, root, "Issue", where=where, expected=5, **more)
        assert code is Code.ARG_INVALID
        assert message.startswith(f"{place} is empty")


def test_a_bulk_change_of_nothing_that_a_list_names_changes_nothing(own: Tracker) -> None:
    for root, more in (("delete_many", {}), ("update_many", {"set": {"title": "x"}})):
        report = mutate(own, root, "Issue", where={"id": {"in": []}}, expected=0, **more)  # type: ignore[arg-type]
        assert report.datoms[1:] == []
        code, message = refusal(own, root, "Issue", where={"id": {"in": []}}, expected=1, **more)
        assert code is Code.TX_INVALID
        assert message.startswith("where selects 0 issues, not 1")


def test_a_bulk_change_is_refused_unless_it_reaches_as_many_as_expected(own: Tracker) -> None:
    where = {"points": {"eq": 5}}
    code, message = refusal(own, "update_many", "Issue", where=where, set={"points": 6}, expected=3)
    assert code is Code.TX_INVALID
    assert message.startswith("where selects 2 issues, not 3 as expected")
    report = mutate(own, "update_many", "Issue", where=where, set={"points": 6}, expected=2)
    assert [d.v for d in report.datoms[1:]] == [5, 6, 5, 6]
    assert mutate(own, "delete_many", "Issue", where=where, expected=0).datoms[1:] == []


def test_each_entity_of_a_bulk_change_gets_what_is_created_for_it(own: Tracker) -> None:
    author = {"create": {"name": "Eve", "nickname": ["e"]}}
    where = {"points": {"eq": 5}}
    set_ = {"comments": {"create": [{"key": key(1), "author": author}]}}
    code, _ = refusal(own, "update_many", "Issue", where=where, set=set_, expected=2)
    assert code is Code.UNIQUE_CONFLICT
    del set_["comments"]["create"][0]["key"]
    report = mutate(own, "update_many", "Issue", where=where, set=set_, expected=2)
    assert len(report.tempids) == 4
    assert len(set(report.tempids.values())) == 4


def test_a_slow_filter_does_not_hold_other_transactions(own: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_BRIEF", 0.0)
    report = mutate(own, "update_many", "Issue", where={"points": {"eq": 5}}, set={"points": 6}, expected=2)
    assert len(report.datoms) == 5


def test_an_idempotency_key_is_for_one_input(own: Tracker) -> None:
    first = mutate(own, "create", "Label", input={"name": "x"}, idempotencyKey="k")
    again = mutate(own, "create", "Label", input={"name": "x"}, idempotencyKey="k")
    assert (again.t, again.tempids) == (first.t, first.tempids)
    for root, kind, arguments in (
        ("create", "Label", {"input": {"name": "y"}}),
        ("upsert", "Label", {"input": {"name": "x"}}),
        ("create", "Project", {"input": {"name": "x"}}),
    ):
        code, message = refusal(own, root, kind, idempotencyKey="k", **arguments)
        assert code is Code.ARG_INVALID
        assert "was used for transaction 3" in message


def test_a_repeated_bulk_change_is_applied_once(own: Tracker) -> None:
    arguments: dict[str, Any] = {"where": {"points": {"eq": 5}}, "set": {"points": 6}, "expected": 2}
    first = mutate(own, "update_many", "Issue", **arguments, idempotencyKey="k")
    assert mutate(own, "update_many", "Issue", **arguments, idempotencyKey="k").t == first.t
    assert refusal(own, "update_many", "Issue", **arguments)[0] is Code.TX_INVALID


def test_optimistic_locking(own: Tracker) -> None:
    mutate(own, "update", "Issue", by={"key": ISSUE}, set={"title": "mine"}, expectedBasisT=2)
    code, _ = refusal(own, "update", "Issue", by={"key": ISSUE}, set={"title": "his"}, expectedBasisT=2)
    assert code is Code.BASIS_CONFLICT


def test_mutations_of_one_group_see_each_other(own: Tracker) -> None:
    """What is submitted together is resolved against states that are not durable yet."""
    futures = [
        own.database.submit(mutation(own, "upsert", "Label", input={"name": "x", "color": f":c{number}"}))
        for number in range(20)
    ]
    futures.append(own.database.submit(mutation(own, "create", "Label", input={"name": "x"})))
    reports = [each.result() for each in futures[:-1]]
    assert len({report.datoms[1].e for report in reports}) == 1
    assert futures[-1].exception().code is Code.UNIQUE_CONFLICT  # type: ignore[union-attr]


def test_an_input_is_as_large_as_a_transaction_may_be(shared: Tracker) -> None:
    labels = {"create": [{"name": f"{number}"} for number in range(20_000)]}
    code, message = refusal(shared, "update", "Issue", by={"key": ISSUE}, set={"labels": labels})
    assert code is Code.LIMIT_EXCEEDED
    assert message.endswith("send it in parts")


def test_a_part_that_is_connected_moves_to_its_new_owner(own: Tracker) -> None:
    own.transact(
        "[{:db/ident :bill/number :db/valueType :db.type/long :db/unique :db.unique/identity}"
        " {:db/ident :bill/lines :db/valueType :db.type/ref :db/cardinality :db.cardinality/many"
        "  :db/isComponent true :graphql/type :line}"
        " {:db/ident :line/number :db/valueType :db.type/long :db/unique :db.unique/identity}]"
    )
    lines = {"create": [{"number": 1}, {"number": 2}]}
    first, line, other = mutate(own, "create", "Bill", input={"number": 1, "lines": lines}).tempids.values()
    connected = {"connect": [{"number": 1}]}
    (second,) = mutate(own, "create", "Bill", input={"number": 2, "lines": connected}).tempids.values()
    assert holds(own, first, "bill/lines") == [other]
    assert holds(own, second, "bill/lines") == [line]
    mutate(own, "update", "Line", by={"number": 2}, set={"bill": {"connect": {"number": 2}}})
    assert holds(own, first, "bill/lines") == []
    mutate(own, "delete", "Bill", by={"number": 1})
    assert holds(own, second, "bill/lines") == [line, other]
