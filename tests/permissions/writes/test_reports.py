"""What a client is told of its own transactions, of repeated ones, and of those that it tries."""

from __future__ import annotations

from adalog.datalog.values import Keyword
from adalog.store.writer.request import TransactionRequest
from tests.permissions.writes.tracker import Tracker


def attributes(report: dict[str, list[dict[str, str]]]) -> list[str]:
    return [datom["a"] for datom in report["datoms"] if not datom["a"].startswith(":db/")]


# Reports


def test_a_report_shows_what_was_and_what_is_visible(issues: Tracker) -> None:
    report = issues.transact("ada", "[[:db/retractEntity 11]]")
    assert attributes(report) == [":issue/id", ":issue/title", ":issue/votes", ":issue/project", ":issue/place"]
    assert not issues.values(":hidden/note", 11)
    # The whole of it is there for those that see everything.
    full = issues.server.database.transactions(report["t"], report["t"] + 1, 1)
    assert "hidden/note" in [datom.a.name for datom in next(full).datoms]


def test_components_and_references_go_unchecked(issues: Tracker) -> None:
    """As foreign keys cascade: no policy grants :delete of parts, and the hidden reference is told to nobody."""
    issues.transact("root", '[[:db/add 20 :project/members 12] [:db/add 13 :hidden/note "n"]]')
    report = issues.transact("ada", "[[:db/retractEntity 12]]")
    assert ":project/members" not in attributes(report)
    assert ":hidden/note" not in attributes(report)
    assert not issues.values(":part/text", 13)
    assert issues.values(":project/members", 20) == [2]


def test_the_report_of_what_its_author_does_not_see_is_empty(issues: Tracker) -> None:
    report = issues.transact("eve", '[{:db/id "f" :feedback/text "x"}]')
    assert (report["tempids"], report["datoms"]) == ({}, [])
    [row] = issues.server.database.snapshot().datoms("AEVT", [Keyword("feedback/text")])
    assert row.v == "x"


# Idempotency


def test_an_idempotency_key_is_of_one_principal(issues: Tracker) -> None:
    tx = "[[:db/add [:issue/id 1] :issue/votes 50]]"
    first = issues.transact("ada", tx, key="k")
    assert issues.transact("ada", tx, key="k") == {**first, "warnings": []}
    # To another it is a key that was never used.
    assert issues.refusal("bob", tx, key="k")[0] == "TX_INVALID"
    report = issues.transact("bob", "[[:db/add [:issue/id 3] :issue/votes 60]]", key="k")
    assert report["t"] == first["t"] + 1
    assert issues.transact("root", "[[:db/add 12 :issue/votes 9]]", key="k")["t"] == first["t"] + 2


def test_a_repeated_report_is_filtered_anew(issues: Tracker) -> None:
    tx = '[{:db/id "i" :issue/id 9 :issue/title "T" :issue/project 10}]'
    first = issues.transact("ada", tx, key="k")
    assert attributes(first)
    issues.transact("root", "[[:db/retract 10 :project/members 1]]")
    again = issues.transact("ada", tx, key="k")
    assert (again["t"], again["tempids"], again["datoms"]) == (first["t"], {}, [])


def test_a_key_from_before_there_were_policies_is_of_its_user(issues: Tracker) -> None:
    tx = "[[:db/add 11 :issue/votes 5]]"
    # As a server without policies wrote it.
    request = TransactionRequest(tx, None, "old", "ada")
    issues.server.database.writer.submit(request)
    t = request.future.result().t
    assert issues.transact("ada", tx, key="old")["t"] == t
    assert issues.refusal("bob", tx, key="old")[0] == "FORBIDDEN"


# Tried ones


def titles(issues: Tracker, who: str, tx: str, t: int | None = None) -> object:
    """What is there once a transaction was tried, at a past basis if there is one."""
    document = """query($tx: EDN, $basis: BasisInput) {
        q(query: "[:find [?t ...] :where [_ :issue/title ?t]]", with: $tx, basis: $basis) { rows } }"""
    answer = issues.post(who, document, tx=tx, basis=t and {"t": str(t)})
    if "errors" in answer:
        return answer["errors"][0]["extensions"]["code"]
    return sorted(row[0] for row in answer["data"]["q"]["rows"])


def test_what_is_tried_is_checked_as_a_transaction(issues: Tracker) -> None:
    assert titles(issues, "ada", '[[:db/add 11 :issue/title "New"]]') == ["Also ours", "New"]
    # Nobody makes a member of itself by trying it.
    for tx in (
        "[[:db/add 20 :project/members 1]]",
        '[[:db/add [:project/key "THEIRS"] :project/members 1]]',
        '[[:db/add 10 :project/members 1] [:db/add 1 :user/auth-id "bob"]]',
        '[[:db/add 1 :user/auth-id "bob"]]',
        '[{:policy/name "all" :policy/roles :* :policy/ops :read :policy/on :*}]',
        "[[:db/add :policy/enforcement :policy/enforced false]]",
        "[[:db/add 21 :issue/project 10]]",
        "[[:db/add 5000 :issue/project 10]]",
    ):
        assert titles(issues, "ada", tx) in ("FORBIDDEN", "TX_INVALID")
    # The state after it decides what follows.
    assert titles(issues, "ada", "[[:db/retract 11 :issue/project 10]]") == ["Also ours"]


def test_hidden_orphans_are_not_captured(issues: Tracker) -> None:
    """An entity with hidden datoms and no project is nobody's, and does not become somebody's by one more datom."""
    issues.transact("root", '[{:db/id 5000 :issue/title "Orphan"}]')
    for entity in (5000, 5001, 50):
        code, message = issues.refusal("ada", f"[[:db/add {entity} :issue/project 10]]")
        assert (code, f"entity {entity} is not there, or nothing of it" in message) == ("FORBIDDEN", True)
    # Also if something of it is visible.
    issues.transact("root", '[[:db/add 5000 :user/name "Visible"]]')
    code, message = issues.refusal("ada", "[[:db/add 5000 :issue/project 10]]")
    assert (code, "no policy grants you :update of :issue/project of entity 5000" in message) == ("FORBIDDEN", True)


# Typed mutations


def test_typed_mutations_go_the_same_way(issues: Tracker) -> None:
    create = (
        'mutation($id: Long!, $key: String!) { createIssue(input: {key: $id, title: "typed", '
        "project: {connect: {key: $key}}}) { issue { id title } report { tempids } } }"
    )
    made = issues.post("ada", create, id="77", key="OURS")
    assert made["data"]["createIssue"]["issue"]["title"] == "typed"
    refused = issues.post("ada", create, id="78", key="THEIRS")["errors"][0]
    absent = issues.post("ada", create, id="78", key="NOBODY")["errors"][0]
    assert refused["extensions"]["code"] == absent["extensions"]["code"] == "TX_INVALID"
    assert refused["message"].replace("THEIRS", "NOBODY") == absent["message"]
    update = "mutation($id: ID!) { updateIssue(by: {id: $id}, set: {votes: 5}) { issue { votes } } }"
    assert issues.post("ada", update, id="11")["data"]["updateIssue"]["issue"]
    codes = [issues.post("ada", update, id=each)["errors"][0]["extensions"]["code"] for each in ("21", "5000")]
    assert codes == ["FORBIDDEN", "FORBIDDEN"]
    bulk = (
        "mutation { updateIssues(where: {votes: {isNull: false}}, expected: 1, set: {votes: 6}) { issues { id } } }"
    )
    issues.transact("root", "[[:db/add 21 :issue/votes 1] [:db/retract 77 :issue/votes]]")
    assert issues.post("ada", bulk)["data"]["updateIssues"]["issues"] == [{"id": "11"}]
    assert issues.values(":issue/votes", 21) == [1]


def test_what_is_tried_on_the_past_has_to_be_granted_now_too(issues: Tracker) -> None:
    t = issues.server.database.snapshot().t
    issues.transact("root", '[[:db/add 12 :issue/title "Later"] [:db/add 20 :project/members 1]]')
    # Ada sees the other project now, and did not then.
    assert titles(issues, "ada", "[]", t) == ["Also ours", "Ours"]
    assert titles(issues, "ada", '[[:db/add 11 :issue/title "New"]]', t) == ["Also ours", "New"]
    assert titles(issues, "ada", '[{:issue/title "Made" :issue/project 10}]', t) == ["Also ours", "Made", "Ours"]
    assert titles(issues, "ada", '[[:db/add 21 :issue/title "Not theirs"]]', t) == "FORBIDDEN"
    assert titles(issues, "ada", "[[:db/add 20 :project/members 1]]", t) == "FORBIDDEN"
    t = issues.server.database.snapshot().t
    issues.transact("root", "[[:db/retract 10 :project/members 1]]")
    # Nor what she saw then, and does not see now, whatever she tries there.
    assert titles(issues, "ada", "[]", t) == ["Theirs"]
    for tx in (
        '[[:db/add 11 :issue/title "New"]]',
        '[{:issue/title "Made" :issue/project 10}]',
        '[{:issue/title "Made" :issue/project [:project/key "OURS"]}]',
        "[[:db/add 21 :issue/project 10]]",
    ):
        assert titles(issues, "ada", tx, t) in ("FORBIDDEN", "TX_INVALID")
    assert titles(issues, "ada", '[{:issue/title "Made" :issue/project 20}]', t) == ["Made", "Theirs"]
