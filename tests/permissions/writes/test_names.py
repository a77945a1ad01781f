"""Names in a transaction mean what the client may see; what it does not see is told by no answer."""

from __future__ import annotations

import pytest

from tests.permissions.writes.tracker import Tracker

ABSENT = "is not there, or nothing of it is visible to you"


@pytest.mark.parametrize("entity", [21, 50, 5000, 20, 2_199_023_255_700, 4_398_046_511_107])
@pytest.mark.parametrize(
    "tx",
    [
        "[[:db/add ?E :issue/votes 1]]",
        "[[:db/add 11 :issue/assignee ?E]]",
        '[{:db/id ?E :issue/title "x"}]',
        "[{:db/id 11 :issue/assignee {:db/id ?E}}]",
        "[{:db/id 11 :issue/_parts ?E}]",
        "[[:db/retract ?E :issue/votes 1]]",
        "[[:db/retractEntity ?E]]",
        "[[:db/cas ?E :issue/votes nil 1]]",
        "[[:db/cas 11 :issue/assignee nil ?E]]",
        "[[:db.fn/default 11 :issue/assignee ?E]]",
        "[[:db.fn/inc ?E :issue/votes]]",
        "[{:db/id 11 :db/ensure ?E}]",
        '[[:db/add "new" :issue/id 77] [:db/add "new" :issue/project ?E]]',
    ],
)
def test_numbers_of_what_is_not_visible_are_refused(issues: Tracker, tx: str, entity: int) -> None:
    """Whether they are there (21, 20, 50, an attribute, the policies' transaction) or not (5000)."""
    code, message = issues.refusal("ada", tx.replace("?E", str(entity)))
    assert (code, message.endswith(f"entity {entity} {ABSENT}")) == ("FORBIDDEN", True)


@pytest.mark.parametrize(
    ("tx", "code", "said"),
    [
        ("[[:db/add [:issue/id 3] :issue/votes 1]]", "TX_INVALID", "no entity has [:issue/id 3]"),
        ("[[:db/add [:issue/id 4] :issue/votes 1]]", "TX_INVALID", "no entity has [:issue/id 4]"),
        ('[[:db/add [:hidden/code "Y"] :issue/votes 1]]', "UNKNOWN_ATTRIBUTE", "no attribute :hidden/code"),
        ('[[:db/add [:absent/code "Y"] :issue/votes 1]]', "UNKNOWN_ATTRIBUTE", "no attribute :absent/code"),
        ('[[:db/add 11 :hidden/note "x"]]', "FORBIDDEN", "no attribute :hidden/note; while policies are enforced"),
        ('[[:db/add 11 :absent/note "x"]]', "FORBIDDEN", "no attribute :absent/note; while policies are enforced"),
        ('[{:issue/id 9 :hidden/code "X"}]', "FORBIDDEN", "no attribute :hidden/code; while"),
    ],
)
def test_other_names_of_what_is_not_visible_mean_nothing(issues: Tracker, tx: str, code: str, said: str) -> None:
    refused, message = issues.refusal("ada", tx)
    assert (refused, said in message) == (code, True)


@pytest.mark.parametrize("name", ["hidden", "absent"])
def test_retracting_of_attributes_that_are_not_visible_finds_nothing(issues: Tracker, name: str) -> None:
    report = issues.transact("ada", f"[[:db/retract 11 :{name}/note] [:db/add 11 :issue/votes 7]]")
    [warning] = report["warnings"]
    assert warning["code"] == "UNKNOWN_ATTRIBUTE"
    assert issues.values(":hidden/note", 11) == ["secret"]


def test_an_upsert_finds_what_is_visible(issues: Tracker) -> None:
    report = issues.transact("ada", '[{:db/id "t" :issue/id 1 :issue/votes 8}]')
    assert report["tempids"] == {"t": 11}


def test_a_unique_value_of_what_is_not_visible_is_taken_by_nobody_in_particular(issues: Tracker) -> None:
    code, message = issues.refusal("ada", '[{:db/id "t" :issue/id 3 :issue/project 10}]')
    assert (code, message) == ("UNIQUE_CONFLICT", ":issue/id is unique, and 3 is taken")
    # Of what is visible it is named.
    code, message = issues.refusal("ada", "[[:db/add 12 :issue/id 1]]")
    assert (code, "entity 11 already has 1" in message) == ("UNIQUE_CONFLICT", True)


def test_permission_comes_before_uniqueness(issues: Tracker) -> None:
    for taken in (3, 4):
        code, message = issues.refusal("ada", f'[{{:db/id "t" :issue/id {taken}}}]')
        assert (code, "no policy grants you :create of :issue/id" in message) == ("FORBIDDEN", True)


def test_cas_compares_what_is_visible(issues: Tracker) -> None:
    """The old value of an attribute that the client may write and not see is nothing to it."""
    write_only = '[{:policy/name "w" :policy/roles :member :policy/ops [:create :update] :policy/on :hidden/note}]'
    issues.transact("root", write_only)
    code, message = issues.refusal("ada", '[[:db/cas 11 :hidden/note "secret" "mine"]]')
    assert (code, "is nothing, not" in message) == ("CAS_FAILED", True)
    report = issues.transact("ada", '[[:db/cas 11 :hidden/note nil "mine"]]')
    assert report["datoms"] == []
    assert issues.values(":hidden/note", 11) == ["mine"]
    issues.transact("ada", "[[:db/retract 11 :hidden/note] [:db/add 11 :issue/votes 9]]")
    assert issues.values(":hidden/note", 11) == ["mine"]


def test_hidden_values_of_a_visible_entity_stay(issues: Tracker) -> None:
    """A policy of datoms that shows one label of two."""
    allow = '(allow ?e ?a ?v) [?e ?a ?v] [(not= ?v \\"internal\\")]'
    policy = f':policy/roles :member :policy/ops :read :policy/on :issue/labels :policy/rules "[[{allow}]]"'
    labels = '[:db/add 11 :issue/labels "internal"] [:db/add 11 :issue/labels "open"]'
    issues.transact("root", f'[{{:policy/name "l" :policy/effect :require {policy}}} {labels}]')
    issues.transact("ada", "[[:db/retract 11 :issue/labels]]")
    assert issues.values(":issue/labels", 11) == ["internal"]
    report = issues.transact("ada", '[[:db/retract 11 :issue/labels "internal"]]')
    assert [warning["code"] for warning in report["warnings"]] == ["NOTHING_RETRACTED"]
    assert issues.values(":issue/labels", 11) == ["internal"]


def test_predicates_see_everything_and_tell_their_name_alone(issues: Tracker) -> None:
    spec = "{:db/ident :issue/spec :db.entity/attrs [:hidden/note]}"
    issues.transact("root", f"[{spec} [:db/add :issue/votes :db.attr/preds pos?]]")
    assert issues.transact("ada", "[{:db/id 11 :issue/votes 4 :db/ensure :issue/spec}]")["datoms"]
    code, message = issues.refusal("ada", "[{:db/id 12 :issue/votes 4 :db/ensure :issue/spec}]")
    assert (code, message) == ("TX_INVALID", "it does not satisfy :issue/spec")
    assert issues.refusal("ada", "[[:db/add 12 :issue/votes -1]]") == ("TX_INVALID", "it does not satisfy pos?")
