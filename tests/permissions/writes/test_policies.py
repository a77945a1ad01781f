"""What a policy may be, who may change it, and what holds while policies come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.permissions.writes.tracker import MEMBER, Tracker, tracker

RULES = "[[(allow ?e) [?e :issue/title]]]"


def policy(**changed: str) -> str:
    parts = {"roles": "[:member]", "ops": "[:read]", "on": "[:issue]", "rules": f'"{RULES}"', "effect": ":grant"}
    parts |= changed
    return '[{:policy/name "P" ' + " ".join(f":policy/{name} {value}" for name, value in parts.items()) + "}]"


@pytest.mark.parametrize(
    ("changed", "code", "said"),
    [
        ({"ops": "[:write]"}, "TX_INVALID", "policy \"P\": :policy/ops :write is none of :read, :create, :update"),
        ({"effect": ":deny"}, "TX_INVALID", ":policy/effect :deny is none of :grant, :require"),
        ({"roles": '["member"]'}, "TX_INVALID", "is not a keyword, as :policy/roles wants"),
        ({"on": "[:isue]"}, "UNKNOWN_ATTRIBUTE", ":policy/on :isue is no attribute and no namespace of one"),
        ({"on": "[:issue/titel]"}, "UNKNOWN_ATTRIBUTE", ":issue/titel is no attribute"),
        ({"rules": '"[[(allow ?e) [?e :issue/title]"'}, "EDN_SYNTAX", ":policy/rules 1:"),
        ({"rules": '"[[(allow ?e)\n  [?e :issue/titel]]]"'}, "UNKNOWN_ATTRIBUTE", ":policy/rules 2:7: no"),
        ({"rules": '"[[(allows ?e) [?e :issue/title]]]"'}, "QUERY_INVALID", "(allow ?e)"),
        ({"rules": '"[[(allow ?e ?v) [?e :issue/title ?v]]]"'}, "QUERY_INVALID", "(allow ?e ?a ?v)"),
        ({"rules": '"[[(allow ?e) (member ?e)]]"'}, "QUERY_INVALID", "member"),
        (
            {"rules": '"[[(allow ?e) [?e :issue/title]] [(allow ?e ?a ?v) [?e ?a ?v]]]"'},
            "QUERY_INVALID", "allow",
        ),
        ({"rules": '"[[(allow ?e) (q ?e)] [(q ?e) [?e :issue/id] (not (q ?e))]]"'}, "UNSTRATIFIABLE", "q"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_policy_is_said(
    issues: Tracker, changed: dict[str, str], code: str, said: str
) -> None:
    refused, message = issues.refusal("root", policy(**changed))
    assert (refused, said in message) == (code, True), message


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"effect": ":require", "ops": "[:read :create :update :delete]", "on": "[:* :issue/title :user]"},
        {"rules": f'"{MEMBER}"'.replace("?i", "?e")},
        {"rules": '"[[(allow ?e ?a ?v) (claim ?name ?value) [?e ?a ?v] [?e :issue/title ?value]]]"'},
        {"rules": '"[[(allow ?e) (claim \\"org.unit\\" ?unit) [?e :issue/title ?unit]]]"'},
    ],
)
def test_policies_are_applied(issues: Tracker, changed: dict[str, str]) -> None:
    issues.transact("root", policy(**changed))


@pytest.mark.parametrize(
    ("tx", "said"),
    [
        ("[{:policy/roles :member}]", "a policy has a :policy/name"),
        ('[[:db/retract [:policy/name "parts"] :policy/name]]', "a policy has a :policy/name"),
        ("[{:db/id 11 :policy/enforced false}]", "is of the entity :policy/enforcement alone"),
        ("[[:db/add :part/text :db/ident :part/words]]", None),
        (
            "[[:db/add :feedback/text :db/ident :comment/text]]",
            'policy "feedback": :policy/on :feedback is no',
        ),
    ],
)
def test_policies_stay_whole(issues: Tracker, tx: str, said: str | None) -> None:
    """Also where what they name is renamed: a requirement of nothing would require nothing."""
    if said is None:
        issues.transact("root", tx)
    else:
        assert said in issues.refusal("root", tx)[1]


@pytest.mark.parametrize(
    "tx",
    [
        "[[:db/add :policy/enforcement :policy/enforced false]]",
        "[{:policy/enforced true}]",
        "[[:db/retract 11 :policy/enforced true]]",
        "[[:db/cas 11 :policy/enforced nil true]]",
        "[[:db/retract 11 :policy/enforced]]",
    ],
)
def test_that_a_part_of_policies_was_used_is_not_told(issues: Tracker, tx: str) -> None:
    """It is declared by its first use, of which others than admins hear nothing."""
    document = "mutation($tx: EDN!) { transact(tx: $tx) { datoms { a } warnings { message } } }"
    before = issues.post("ada", document, tx=tx)
    issues.transact("root", "[[:db/add :policy/enforcement :policy/enforced true]]")
    assert issues.post("ada", document, tx=tx) == before


@pytest.mark.parametrize("who", ["ada", "eve"])
@pytest.mark.parametrize(
    "tx",
    [
        policy(),
        '[[:db/retractEntity [:policy/name "parts"]]]',
        "[[:db/add :policy/enforcement :policy/enforced false]]",
        "[{:db/ident :policy/enforcement :policy/enforced false}]",
        "[{:db/ident :my/attribute :db/valueType :db.type/string}]",
        '[{:my/attribute "first use"}]',
        "[[:db/add :issue/title :db/ident :issue/name]]",
        '[[:db/add :issue/title :db/doc "d"]]',
        "[[:db/retractEntity :issue/title]]",
        '[{:graphql/namespace :issue :graphql/name "Ticket"}]',
        "[[:db/add :issue/title :graphql/hidden true]]",
    ],
)
def test_admins_alone_declare_attributes_and_change_policies(issues: Tracker, who: str, tx: str) -> None:
    code, _ = issues.refusal(who, tx)
    assert code in ("FORBIDDEN", "TX_INVALID", "UNKNOWN_ATTRIBUTE")
    if ':policy/name "parts"' not in tx and ":issue/title" not in tx:
        assert code == "FORBIDDEN"


def test_policies_go_with_no_component(issues: Tracker) -> None:
    """Who sees policies and may make one a part of an issue cannot retract it with the issue."""
    policies = '[{:policy/name "see" :policy/roles :member :policy/ops :read :policy/on :policy}]'
    issues.transact("root", policies)
    issues.transact("ada", '[[:db/add 11 :issue/parts [:policy/name "see"]]]')
    code, message = issues.refusal("ada", "[[:db/retractEntity 11]]")
    assert (code, "admins alone change policies" in message) == ("FORBIDDEN", True)


def test_without_a_policy_ever_everything_is_as_before(tmp_path: Path) -> None:
    with tracker(tmp_path, policies="") as issues:
        assert issues.transact("eve", '[{:db/id 5000 :my/attribute "x"} [:db/add 21 :issue/project 10]]')["datoms"]
        code, _ = issues.refusal("eve", policy())
        assert code == "FORBIDDEN"
        assert issues.transact("root", policy())["datoms"]
        assert issues.refusal("eve", '[{:db/id 5000 :my/attribute "x"}]')[0] == "FORBIDDEN"


def test_the_last_policy_leaves_default_deny(issues: Tracker) -> None:
    names = ("issues of projects", "parts", "projects", "users", "feedback")
    issues.transact("root", "[" + " ".join(f'[:db/retractEntity [:policy/name "{each}"]]' for each in names) + "]")
    assert issues.refusal("ada", "[[:db/add 11 :issue/votes 4]]")[0] == "FORBIDDEN"
    assert issues.refusal("ada", '[{:feedback/text "x"}]')[0] == "FORBIDDEN"
    issues.transact("root", "[[:db/add :policy/enforcement :policy/enforced false]]")
    assert issues.transact("ada", "[[:db/add 21 :issue/votes 4] [:db/add 5000 :my/own 1]]")["datoms"]
    # Also then policies are for admins.
    assert issues.refusal("ada", policy())[0] == "FORBIDDEN"
    issues.transact("root", "[[:db/add :policy/enforcement :policy/enforced true]]")
    assert issues.refusal("ada", "[[:db/add 11 :issue/votes 5]]")[0] == "FORBIDDEN"


def test_a_policy_decides_for_the_transaction_after_it(issues: Tracker) -> None:
    issues.transact("root", '[[:db/retractEntity [:policy/name "issues of projects"]]]')
    assert issues.refusal("ada", "[[:db/add 11 :issue/votes 4]]")[0] == "FORBIDDEN"
    issues.transact("root", policy(ops="[:read :update]"))
    assert issues.transact("ada", "[[:db/add 21 :issue/votes 4]]")["datoms"]
