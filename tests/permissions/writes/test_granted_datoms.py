"""Each datom that a transaction changes is granted by a policy: before it, after it, or both."""

from __future__ import annotations

import pytest

from tests.permissions.writes.tracker import Tracker

FORBIDDEN = "FORBIDDEN"


@pytest.mark.parametrize(
    "tx",
    [
        "[[:db/add 11 :issue/votes 4]]",
        '[[:db/add [:issue/id 1] :issue/title "New"]]',
        "[[:db.fn/inc 11 :issue/votes]]",
        "[[:db/cas 11 :issue/votes 3 4]]",
        "[[:db/retract 11 :issue/votes 3]]",
        "[[:db/retract 11 :issue/votes]]",
        '[{:issue/id 1 :issue/labels ["a" "b"]}]',
        '[{:issue/id 9 :issue/title "Created" :issue/project 10}]',
        '[{:issue/id 1 :issue/parts [{:part/text "of it"}]}]',
        # What goes is looked at before, and not after.
        "[[:db/retract 11 :issue/project 10]]",
        "[[:db/add 11 :issue/assignee 2]]",
        "[[:db/retractEntity 11]]",
    ],
)
def test_what_is_granted_is_applied(issues: Tracker, tx: str) -> None:
    assert issues.transact("ada", tx)["datoms"]


@pytest.mark.parametrize(
    ("tx", "said"),
    [
        # The entity is another project's, or would become it.
        ("[[:db/add [:issue/id 1] :issue/project 20]]", "entity 20 is not there, or nothing of it is visible"),
        ("[[:db/add 21 :issue/votes 1]]", "entity 21 is not there, or nothing of it is visible to you"),
        # No policy is on the attribute.
        ('[[:db/add 1 :user/name "Me"]]', "no policy grants you :update of :user/name of entity 1"),
        ("[[:db/add 10 :project/members 2]]", "no policy grants you :update of :project/members of entity 10"),
        ('[{:issue/id 9 :issue/title "Nobody\'s"}]', "no policy grants you :create of :issue/id of a new entity"),
        ('[{:db/id "x" :issue/id 9}]', 'no policy grants you :create of :issue/id of "x"'),
        ('[[:db/add [:user/auth-id "bob"] :user/name "B"]]', 'of :user/name of [:user/auth-id "bob"]'),
        ('[[:db/add 13 :part/text "b"]]', "no policy grants you :update of :part/text of entity 13"),
        ("[[:db/retract 13 :part/text]]", "no policy grants you :delete of :part/text of entity 13"),
        ("[[:db/retractEntity 13]]", "no policy grants you :delete of :part/text of entity 13"),
        ("[[:db/retractEntity 1]]", "no policy grants you :delete of :user/"),
    ],
)
def test_what_is_not_granted_is_refused(issues: Tracker, tx: str, said: str) -> None:
    code, message = issues.refusal("ada", tx)
    assert code == FORBIDDEN
    assert said in message
