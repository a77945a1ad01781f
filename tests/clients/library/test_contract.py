"""The contract of `import adalog`: the same calls, values and errors on every kind of connection."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

import adalog
from adalog import Keyword
from tests.clients.library.places import KINDS

ID = UUID("6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21")
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
SCHEMA = """[
  {:db/ident :issue/id :db/valueType :db.type/uuid :db/unique :db.unique/identity}
  {:db/ident :issue/title :db/valueType :db.type/string}
  {:db/ident :issue/status :db/valueType :db.type/keyword}
  {:db/ident :issue/labels :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
  {:db/ident :issue/at :db/valueType :db.type/instant}
  {:db/ident :issue/price :db/valueType :db.type/bigdec}
  {:db/ident :issue/assignee :db/valueType :db.type/ref}
  {:db/ident :user/name :db/valueType :db.type/string :db/unique :db.unique/identity}]"""
ISSUE = {
    "issue/id": ID,
    "issue/title": "x",
    "issue/status": ":open",
    "issue/labels": ["a", ":b"],
    "issue/at": NOON,
    "issue/price": Decimal("9.90"),
    "issue/assignee": {"user/name": "Ada"},
}
TITLES = "[:find [?t ...] :where [_ :issue/title ?t]]"


@pytest.fixture(params=sorted(KINDS))
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[adalog.Connection]:
    with KINDS[request.param](tmp_path, lambda: request.getfixturevalue("postgres")) as opened:
        opened.transact(SCHEMA)
        yield opened


def refused(call: Any, *args: Any, **more: Any) -> adalog.Error:
    with pytest.raises(adalog.Error) as error:
        call(*args, **more)
    return error.value


def test_maps_and_lists_are_transactions(db: adalog.Connection) -> None:
    report = db.transact([{"db/id": "i", **ISSUE}, ["db/add", "i", "issue/labels", "c"]])
    assert (report.t, report.basis_before) == (2, 1)
    assert report.tx_instant.tzinfo is not None
    told = {(datom.a, datom.v) for datom in report.datoms if datom.e == report.tempids["i"]}
    assert (":issue/id", ID) in told
    assert {v for a, v in told if a == ":issue/labels"} == {":a", ":b", ":c"}
    assert all(datom.added and datom.t == 2 and isinstance(datom.a, Keyword) for datom in report.datoms)


@pytest.mark.parametrize(
    "query",
    [
        """[:find ?i ?id ?title ?status ?labels ?at ?who :in $ ?title
            :where [?i :issue/id ?id] [?i :issue/title ?title] [?i :issue/status ?status] [?i :issue/labels ?labels]
                   [?i :issue/at ?at] [?i :issue/assignee ?who]]""",
        """[:find ?status (count ?i) (max ?at) (pull ?i [:issue/title]) :in $ ?title :keys status n at i
            :where [?i :issue/title ?title] [?i :issue/status ?status] [?i :issue/at ?at]]""",
        "[:find ?a ?tx :in $ ?title :where [?i :issue/title ?title] [?i ?a _ ?tx]]",
    ],
)
def test_an_empty_answer_has_the_columns_of_others(db: adalog.Connection, query: str) -> None:
    db.transact([ISSUE])
    there, none = db.q(query, "x"), db.q(query, "y")
    for _ in range(2):
        assert (len(there) > 0, len(none)) == (True, 0)
        assert [each.type for each in none.columns] == [each.type for each in there.columns]
        assert none.arrow().schema == there.arrow().schema
        assert none.arrow(dictionaries=False).schema == there.arrow(dictionaries=False).schema
        # A kept answer, too.
        none = db.q(query, "y")
    assert none.rows == []
    again = pickle.loads(pickle.dumps(none))
    assert (again.rows, again.arrow().schema) == ([], there.arrow().schema)


def test_an_empty_column_of_bigdecs_is_one_of_decimals(db: adalog.Connection) -> None:
    none = db.q("[:find ?price :where [_ :issue/price ?price]]")
    assert [each.type for each in none.columns] == ["bigdec"]
    assert pa.types.is_decimal(none.arrow().schema.field(0).type)
    assert none.rows == []


def test_text_with_values(db: adalog.Connection) -> None:
    db.transact(
        "[{:issue/id ?id :issue/title ?title :issue/status ?s}]", args={"id": ID, "title": '"]', "s": "open"}
    )
    db.transact("[[:db/add [:issue/id ?id] :issue/status ?s]]", args={"?id": str(ID), "s": Keyword("shut")})
    assert db.pull("[:issue/title :issue/status]", ("issue/id", ID)) == {
        ":issue/title": '"]',
        ":issue/status": ":shut",
    }
    error = refused(db.transact, "[{:issue/title ?title}]", args={"title": "x", "titel": 1})
    assert (error.code, error.retryable) == ("ARG_INVALID", False)
    assert "titel" in error.message
    assert refused(db.transact, [{"issue/title": "x"}], args={"a": 1}).code == "ARG_INVALID"


def test_a_str_becomes_no_keyword_without_a_type(db: adalog.Connection) -> None:
    db.transact([{"new/status": ":open"}, {"new/kind": Keyword("open")}])
    assert db.q("[:find ?v . :where [_ :new/status ?v]]").value == ":open"
    assert not isinstance(db.q("[:find ?v . :where [_ :new/status ?v]]").value, Keyword)
    assert isinstance(db.q("[:find ?v . :where [_ :new/kind ?v]]").value, Keyword)


@pytest.mark.filterwarnings("ignore::adalog.QueryWarning")
def test_answers(db: adalog.Connection) -> None:
    db.transact([ISSUE, {"issue/title": "y", "issue/price": 1}])
    result = db.q("[:find ?t ?p :where [?i :issue/title ?t] [?i :issue/price ?p]]")
    assert sorted(result) == [("x", Decimal("9.90")), ("y", Decimal(1))] == sorted(result.rows)
    assert result.columns == (("?t", "string"), ("?p", "bigdec"))
    assert (len(result), result.basis_t, result.warnings, bool(result)) == (2, 2, [], True)
    assert sorted(result.value) == sorted(result.rows)
    assert sorted(db.q(TITLES).value) == ["x", "y"]
    assert db.q("[:find ?t . :in $ ?p :where [?i :issue/price ?p] [?i :issue/title ?t]]", "9.9").value == "x"
    assert db.q("[:find [?t ?p] :where [?i :issue/title ?t] [?i :issue/price ?p] [(> ?p 5)]]").value == (
        "x",
        Decimal("9.90"),
    )
    assert db.q("[:find ?t ?s :keys title status :where [?i :issue/title ?t] [?i :issue/status ?s]]").value == [
        {"title": "x", "status": ":open"}
    ]
    assert db.q('[:find ?t . :where [?t :issue/title "no"]]').value is None
    assert not db.q('[:find ?t :where [?t :issue/title "no"]]')
    [warning] = db.q("[:find ?x :where [?x :issue/titel]]").warnings
    assert (warning.code, warning.line, warning.column) == ("UNKNOWN_ATTRIBUTE", 1, 22)


def test_arguments(db: adalog.Connection) -> None:
    db.transact([ISSUE])
    one = "[:find ?t . :in $ ?x :where [?i {} ?x] [?i :issue/title ?t]]"
    for attribute, value in (
        (":issue/status", "open"), (":issue/status", Keyword("open")), (":issue/id", ID), (":issue/id", str(ID)),
        (":issue/at", NOON), (":issue/at", NOON.astimezone(timezone(timedelta(hours=2)))), (":issue/price", 9.9),
        (":issue/assignee", (":user/name", "Ada")),
    ):  # fmt: skip
        value = ":open" if value == "open" else value
        assert db.q(one.format(attribute), value).value == "x", (attribute, value)
    assert sorted(db.q("[:find [?x ...] :in $ [?x ...]]", {3, 4}).value) == [3, 4]
    assert db.q("[:find ?a ?b :in $ [[?a ?b]]]", [(1, "x"), [2, "y"]]).rows == [(1, "x"), (2, "y")]
    assert db.q("[:find [?x ...] :in $ % :where (r ?x)]", "[[(r ?t) [_ :issue/title ?t]]]").value == ["x"]


def test_pulls(db: adalog.Connection) -> None:
    report = db.transact([{"db/id": "i", **ISSUE}])
    shown = db.pull("[:issue/title :issue/labels {:issue/assignee [:user/name]}]", ("issue/id", ID))
    assert shown.pop(":issue/labels") in ([":a", ":b"], [":b", ":a"])
    assert shown == {":issue/title": "x", ":issue/assignee": {":user/name": "Ada"}}
    assert db.pull("[:issue/at]", report.tempids["i"]) == {":issue/at": NOON}
    assert db.pull("[:issue/at]", {":db/id": report.tempids["i"]}) == {":issue/at": NOON}
    assert db.pull("[:db/ident]", ":issue/at") == {":db/ident": ":issue/at"} == db.pull("[:db/ident]", "issue/at")
    assert db.pull_many("[:user/name]", [("user/name", "Ada"), 99]) == [{":user/name": "Ada"}, None]
    assert db.q("[:find (pull ?i [:issue/title]) :where [?i :issue/title]]").rows == [({":issue/title": "x"},)]
    error = refused(db.pull_many, "[:user/name]", [1, ("user/name", 7)])
    assert (error.code, error.origin, error.line) == ("ARG_INVALID", "eids[1]", 1)
    assert refused(db.pull, "[:user/name", 1).code == "EDN_SYNTAX"


def test_edn_text_of_a_lookup_ref_is_refused_with_what_to_write(db: adalog.Connection) -> None:
    for call in (
        lambda text: db.pull("[*]", text),
        lambda text: db.pull_many("[*]", [1, text]),
        lambda text: db.datoms("eavt", text),
    ):
        error = refused(call, '[:user/name "Ada"]')
        assert error.code == "ARG_INVALID"
        assert "a str as an entity is an ident" in error.message
        assert error.message.endswith("write ('user/name', 'Ada')")
        for text in ("", "[1", "a b", "#{1}"):
            assert "a lookup ref as a tuple such as ('issue/id', 7)" in refused(call, text).message


@pytest.mark.filterwarnings("ignore::adalog.QueryWarning")
def test_moments(db: adalog.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    # Another process may have committed what this one has not read yet.
    monkeypatch.setattr("adalog.client.local._PATIENCE", 0.05)
    t = db.transact([{"db/id": 1, "issue/title": "old"}]).t
    report = db.transact([{"db/id": 1, "issue/title": "new"}])
    past = db.as_of(t)
    assert past.q(TITLES).value == ["old"] == db.q(TITLES, as_of=t).value
    assert past.pull("[:issue/title]", 1) == {":issue/title": "old"}
    assert db.as_of(report.tx_instant).q(TITLES).value == ["new"]
    text = report.tx_instant.isoformat()
    assert db.as_of(text).q(TITLES).value == ["new"] == db.q(TITLES, as_of=text).value
    assert db.since(text).q(TITLES).value == db.since(report.tx_instant).q(TITLES).value
    assert db.since(t).q(TITLES).value == ["new"] == db.q(TITLES, since=t).value
    assert sorted(db.history().q("[:find ?v ?added :where [1 :issue/title ?v _ ?added]]").rows) == [
        ("new", True), ("old", False), ("old", True),
    ]  # fmt: skip
    assert db.q(
        "[:find ?was ?is :in $ $old :where [1 :issue/title ?is] [$old 1 :issue/title ?was]]", past
    ).rows == [("old", "new")]
    assert refused(db.as_of(99).q, TITLES).code == "BASIS_FUTURE"
    assert refused(db.as_of(99).q, TITLES).retryable
    assert refused(db.as_of(-1).q, TITLES).code == "ARG_INVALID"
    assert db.q(TITLES).value == ["new"]


def test_transactions_are_undone(db: adalog.Connection) -> None:
    db.transact([{"db/id": 1, "issue/title": "old"}])
    t = db.transact([{"db/id": 1, "issue/title": "new", "issue/status": "open"}]).t
    undone = db.revert(t, expected_basis_t=t, idempotency_key="once")
    assert undone == db.revert(t, expected_basis_t=t, idempotency_key="once")
    assert db.pull("[:issue/title :issue/status]", 1) == {":issue/title": "old"}
    error = refused(db.revert, t)
    assert (error.code, error.retryable, error.line) == ("TX_CONFLICT", False, None)
    assert f"since transaction {undone.t}" in str(error)
    assert db.revert(undone.t).t == undone.t + 1
    assert db.pull("[:issue/title :issue/status]", 1) == {":issue/title": "new", ":issue/status": ":open"}
    assert [refused(db.revert, each).code for each in (99, 0, -1)] == ["BASIS_FUTURE", "ARG_INVALID", "ARG_INVALID"]


def test_transactions_that_are_tried(db: adalog.Connection) -> None:
    db.transact([{"issue/title": "x"}])
    assert sorted(db.with_([{"issue/title": "y"}]).q(TITLES).value) == ["x", "y"]
    tried = db.with_("[{:issue/title ?t :issue/status ?s}]", args={"t": "z", "s": "open"})
    assert sorted(tried.q(TITLES).value) == ["x", "z"]
    assert tried.q("[:find ?s . :where [_ :issue/status ?s]]").value == ":open"
    assert db.q(TITLES).value == ["x"]
    error = refused(db.with_([{"issue/title": 7}]).q, TITLES)
    assert (error.code, error.origin) == ("TX_INVALID", "with")
    assert refused(tried.with_, [{"issue/title": "y"}]).code == "ARG_INVALID"


def test_plans_attributes_and_datoms(db: adalog.Connection) -> None:
    db.transact([{"db/id": 1, "issue/title": "x", "issue/status": "open"}])
    explained = db.explain("[:find ?t :where [_ :issue/title ?t]]")
    assert str(explained) == explained.text
    assert explained.plan["engine"]
    assert "levels" in str(db.explain("[:find ?t :where [_ :issue/title ?t]]", analyze=True).plan)
    [title] = [each for each in db.attributes() if each.ident == ":issue/title"]
    assert (title.value_type, title.cardinality, title.unique, title.datom_count) == ("string", "one", None, 1)
    datoms = db.datoms("eavt", 1)
    assert {(each.e, each.a, each.v, each.t, each.added) for each in datoms} == {
        (1, ":issue/title", "x", 2, True),
        (1, ":issue/status", ":open", 2, True),
    }
    assert db.datoms("avet", "issue/title", "x") == db.datoms("aevt", Keyword("issue/title"), 1, limit=5)
    assert len(db.datoms("eavt", limit=3)) == 3
    assert refused(db.datoms, "aevx").code == "ARG_INVALID"
    assert refused(db.datoms, "aevt", "issue/titel").code == "UNKNOWN_ATTRIBUTE"


def test_changes(db: adalog.Connection) -> None:
    with db.live("[:find ?t ?s :where [?i :issue/title ?t] [?i :issue/status ?s]]") as changes:
        first = next(changes)
        assert (first.kind, first.added, first.last) == ("SNAPSHOT", [], True)
        t = db.transact([{"db/id": 1, "issue/title": "x", "issue/status": "open"}]).t
        change = next(changes)
        assert (change.kind, change.added, change.retracted, change.basis_t) == ("DELTA", [("x", ":open")], [], t)
        assert isinstance(change.added[0][1], Keyword)
        db.transact([["db/add", 1, "issue/title", "y"]])
        later = next(changes)
        assert (later.added, later.retracted) == ([("y", ":open")], [("x", ":open")])
    with db.live("[:find ?t ?s :where [?i :issue/title ?t] [?i :issue/status ?s]]", resume=change.resume) as again:
        assert next(again).added == [("y", ":open")]
    assert refused(lambda: next(iter(db.live("[:find ?t")))).code == "EDN_SYNTAX"


@pytest.mark.filterwarnings("ignore::adalog.QueryWarning")
def test_users(db: adalog.Connection) -> None:
    db.transact([{"issue/title": "x", "issue/status": "open"}])
    db.transact(
        '[{:policy/name "titles" :policy/roles [:member] :policy/ops [:read] :policy/on [:issue/title] '
        ':policy/rules "[[(allow ?i) (claim :sub \\"ada\\") [?i :issue/title]]]"}]'
    )
    ada, bob = (db.as_user({"sub": name}, roles=["member"]) for name in ("ada", "bob"))
    assert ada.q(TITLES).value == ["x"]
    assert bob.q(TITLES).value == []
    statuses = "[:find ?s :where [_ :issue/status ?s]]"
    assert ada.q(statuses).rows == []
    assert "guarded" in ada.explain(TITLES).text
    issue = db.q('[:find ?i . :where [?i :issue/title "x"]]').value
    assert ada.pull("[*]", issue) == {":db/id": issue, ":issue/title": "x"}
    assert bob.pull("[:issue/title]", issue) is None
    assert ada.pull_many("[:issue/title :issue/status]", [issue]) == [{":issue/title": "x"}]
    assert [datom.a for datom in ada.datoms("eavt", issue)] == [":issue/title"]
    assert bob.datoms("eavt", issue) == []
    assert ":issue/title" in {each.ident for each in ada.attributes()}
    assert ":issue/status" not in {each.ident for each in ada.attributes()}
    assert ada.why(TITLES, row=["x"]).holds
    assert not bob.why(TITLES, row=["x"]).holds
    assert not ada.as_of(1).q(TITLES)
    both = "[:find [?t ...] :in $ $old :where [?i :issue/title ?t] [$old ?i :issue/title ?t] [$old ?i ?a _]]"
    assert ada.q(both, ada.as_of(2)).value == ada.q(both, db.as_of(2)).value == ["x"]
    assert not bob.q(both, bob.as_of(2))
    assert refused(ada.q, both, bob.as_of(2)).code == refused(db.q, both, ada.as_of(2)).code == "ARG_INVALID"
    assert sorted(ada.with_([{"issue/title": "y"}]).q(TITLES).value) == ["x", "y"]


def test_what_users_write_and_follow(db: adalog.Connection) -> None:
    db.transact(
        '[{:policy/name "titles" :policy/roles [:member] :policy/ops [:read :create] :policy/on [:issue/title]}]'
    )
    member, other = (db.as_user({"sub": "ada"}, roles=[role]) for role in ("member", "other"))
    with member.live(TITLES) as changes, other.live(TITLES) as hidden:
        assert next(changes).added == next(hidden).added == []
        assert {datom.a for datom in member.transact([{"issue/title": "x"}]).datoms} >= {":issue/title"}
        change = next(changes)
        assert change.added == [("x",)]
        for user, form in ((other, {"issue/title": "y"}), (member, {"issue/status": "open"})):
            assert refused(user.transact, [form]).code == "FORBIDDEN"
        assert refused(member.transact, "[{:issue/status ?s}]", args={"s": "open"}).code == "FORBIDDEN"
        db.transact([{"issue/status": "open"}, {"issue/title": "z"}])
        assert next(changes).added == [("z",)]
        db.transact('[{:policy/name "all" :policy/roles [:other] :policy/ops [:read] :policy/on [:issue]}]')
        assert sorted(next(hidden).added) == [("x",), ("z",)]
    with member.live(TITLES, resume=change.resume) as again:
        assert next(again).added == [("z",)]
    with db.live(TITLES, resume=change.resume) as own:
        assert next(own).kind == "RESET"


def test_why(db: adalog.Connection) -> None:
    db.transact([{"db/id": 1, **ISSUE}])
    query = "[:find ?t ?s ?at :in $ ?n :where [?u :user/name ?n] [?i :issue/assignee ?u]"
    query += " [?i :issue/title ?t] [?i :issue/status ?s] [?i :issue/at ?at]]"
    row = db.q(query, "Ada").rows[0]
    found = db.why(query, "Ada", row=row)
    assert found.holds
    assert [step["clause"] for step in found.plain["steps"]][-1] == "[?i :issue/at ?at]"
    assert '[1 :issue/title "x"], transaction 2' in found.text == str(found)
    assert "<pre>the row is in the answer" in found._repr_html_()
    other = db.why(query, "Ada", row=("y", *row[1:]))
    assert not other.holds
    assert str(other).splitlines()[1].startswith("  no row passes [?i :issue/title ?t], at 1:")
    assert not db.as_of(1).why(query, "Ada", row=row).holds
    [[pulled]] = db.q("[:find (pull ?i [:db/id :issue/title]) :where [?i :issue/title]]").rows
    assert db.why("[:find (pull ?i [:issue/title]) :where [?i :issue/title]]", row=[pulled]).holds
    rules = "[[(named ?i ?n) [?i :issue/assignee ?u] [?u :user/name ?n]]]"
    called = db.why("[:find ?n :in $ % :where (named ?i ?n)]", rules, row=["Ada"])
    assert '(named 1 "Ada"), by ' in str(called)
    error = refused(db.why, query, "Ada", row=["x"])
    assert error.message == "row has 1 cells, but :find has 3 columns"
    assert refused(db.why, TITLES, row="x").code == "ARG_INVALID"


def test_why_of_a_rule_that_is_joined_with_itself(db: adalog.Connection) -> None:
    db.transact([{"db/id": number, "issue/assignee": number + 1} for number in range(1, 5)])
    rules = "[[(near ?a ?b) [?a :issue/assignee ?b]] [(near ?a ?b) (near ?a ?c) (near ?c ?b)]]"
    found = db.why("[:find ?a ?b :in $ % :where (near ?a ?b)]", rules, row=[1, 5])
    [step] = found.plain["steps"]
    assert (step["rule"], step["with"]["?c"]) == ("[(near ?a ?b) (near ?a ?c) (near ?c ?b)]", "3")
    assert [each["fact"] for each in step["steps"]] == ["(near 1 3)", "(near 3 5)"]
    assert "[4 :issue/assignee 5], transaction 2" in str(found)


@pytest.mark.filterwarnings("ignore::adalog.QueryWarning")
def test_what_is_probably_not_meant(db: adalog.Connection) -> None:
    db.transact([{"db/id": 1, "issue/title": "x"}])
    pulled = db.pull("[:issue/title :issue/titel]", 1)
    assert pulled == {":issue/title": "x"}
    assert pulled is not None
    [warning] = pulled.warnings
    assert (warning.code, warning.line, warning.column) == ("UNKNOWN_ATTRIBUTE", 1, 15)
    assert db.pull("[:issue/title]", 1).warnings == []  # type: ignore[union-attr]
    many = db.pull_many("[:user/name]", [":issue/nobody", 1])
    assert many == [None, None]
    [warning] = many.warnings
    assert "eids[0]" in warning.message
    assert pickle.loads(pickle.dumps(many)).warnings == many.warnings
    assert pickle.loads(pickle.dumps(pulled)) == pulled
    assert [each.code for each in db.as_of(NOON + timedelta(days=99_999)).pull_many("[*]", [1]).warnings]
    found = db.datoms("eavt", ":issue/nobody")
    assert found == []
    [warning] = found.warnings
    assert "components[0]" in warning.message
    assert db.datoms("eavt", 1).warnings == []


def test_conditions(db: adalog.Connection) -> None:
    t = db.transact([{"issue/title": "x"}], idempotency_key="k").t
    assert db.transact([{"issue/title": "x"}], idempotency_key="k").t == t
    error = refused(db.transact, [{"issue/title": "y"}], expected_basis_t=0)
    assert (error.code, error.retryable) == ("BASIS_CONFLICT", True)


@pytest.mark.parametrize(
    ("query", "code", "place"),
    [
        ("[:find ?x\n :where [?x", "EDN_SYNTAX", (2, 9)),
        ("[:find ?y :where [?x :issue/title]]", "UNBOUND_VARIABLE", (1, 8)),
        ('[:find ?x :where [?x :issue/title "a"] [(nope ?x)]]', "QUERY_INVALID", (1, 42)),
    ],
)
def test_errors_have_places(db: adalog.Connection, query: str, code: str, place: tuple[int, int]) -> None:
    error = refused(db.q, query)
    assert (error.code, error.line, error.column, error.retryable) == (code, *place, False)
    assert str(error).startswith(f"{code} at {place[0]}:{place[1]}: ")
    assert pickle.loads(pickle.dumps(error)).__dict__ == error.__dict__


def test_wrong_calls(db: adalog.Connection) -> None:
    for call, args in (
        (db.q, ("[:find ?x :in $ ?x]",)), (db.q, ("[:find ?x . :in $ ?x]", object())), (db.q, (7,)),
        (db.q, ("[:find ?x . :in $ ?x]", datetime(2024, 1, 1))),  # noqa: DTZ001
        (db.transact, ({"issue/title": "x"},)), (db.pull, ("[*]", ("user/name", 7))),
    ):  # fmt: skip
        assert refused(call, *args).code == "ARG_INVALID", args
    assert refused(db.q, TITLES, timeout=0).code == "ARG_INVALID"
    error = refused(db.transact, [{"issue/title": "x"}, {"issue/title": 7}])
    assert (error.code, error.line) == ("TX_INVALID", None)
    assert error.message.startswith("tx[1]: 7 is not a string")
    error = refused(db.transact, "[{:issue/title ?t}]", args={"t": 7})
    assert (error.code, error.line, error.column) == ("TX_INVALID", 1, 16)


def test_a_timeout(db: adalog.Connection) -> None:
    query = """[:find (count ?e) . :with ?a ?b ?c ?d :in $ [?a ...] [?b ...] [?c ...] [?d ...]
                :where [(+ ?a ?b ?c ?d) ?e]]"""
    numbers = list(range(300))
    error = refused(db.q, query, numbers, numbers, numbers, numbers, timeout=0.2)
    assert (error.code, error.retryable) == ("TIMEOUT", True)


def test_one_object_serves_all_threads(db: adalog.Connection) -> None:
    found: list[int] = []

    def work(number: int) -> None:
        db.transact([{"issue/title": f"t{number}"}])
        found.append(len(db.q(TITLES)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 8
    assert len(db.q(TITLES)) == 8


def test_columns_for_other_libraries(db: adalog.Connection) -> None:
    db.transact([{"n/x": 1, "n/s": "a", "n/k": Keyword("k"), "n/d": 0.5, "n/at": NOON, "n/b": True}])
    result = db.q(
        "[:find ?x ?s ?k ?d ?at ?b"
        " :where [?e :n/x ?x] [?e :n/s ?s] [?e :n/k ?k] [?e :n/d ?d] [?e :n/at ?at] [?e :n/b ?b]]"
    )
    table = result.arrow()
    assert table.column_names == ["?x", "?s", "?k", "?d", "?at", "?b"]
    assert table.to_pylist() == [{"?x": 1, "?s": "a", "?k": ":k", "?d": 0.5, "?at": NOON, "?b": True}]
    assert pa.table(result).equals(table)
    mixed = db.q("[:find ?v :where [_ ?a ?v] [(in ?a [:n/x :n/s])]]")
    assert sorted(mixed.arrow()["?v"].to_pylist()) == ['"a"', "1"]
    assert sorted(map(str, mixed.value and [row[0] for row in mixed])) == ["1", "a"]
    named = db.q("[:find ?x ?s :keys number text :where [?e :n/x ?x] [?e :n/s ?s]]")
    assert named.arrow().to_pylist() == named.value == [{"number": 1, "text": "a"}]
    assert pa.table(named).column_names == ["number", "text"]
    assert "<th>number</th>" in named._repr_html_()
    empty = db.q("[:find ?x :where [?x :n/x 99]]")
    assert empty.arrow().num_rows == 0


@pytest.mark.filterwarnings("ignore::adalog.QueryWarning")
def test_notebooks(db: adalog.Connection) -> None:
    db.transact([{"issue/title": "<b>"}])
    result = db.q("[:find ?t :where [_ :issue/title ?t]]")
    assert "&lt;b&gt;" in result._repr_html_()
    many = db.q("[:find ?n :in $ [?n ...]]", list(range(30)))
    assert many._repr_html_().count("<tr>") == 21
    assert "10 more rows" in many._repr_html_()
    assert "rows" not in vars(many)
    assert "Warning: " in db.q("[:find ?t :where [_ :issue/titel ?t]]")._repr_html_()
    assert "newest transaction" in db._repr_html_()
    assert "<pre>" in db.explain("[:find ?t :where [_ :issue/title ?t]]")._repr_html_()
    assert "as_of=1" in repr(db.as_of(1))


def test_transactions_and_changes_in_notebooks(db: adalog.Connection) -> None:
    query = '[:find ?t :where [_ :issue/title ?t] [(not= ?t "<i>")]]'
    with db.live(query) as changes:
        assert repr(changes) == f"<live query {query!r}, nothing read>"
        assert next(changes)._repr_html_() == "<p>SNAPSHOT at transaction 1: 0 added, 0 retracted</p>"
        report = db.transact([{"db/id": "<a>", "issue/title": "<b>"}, {"issue/titel": "<i>"}])
        shown = report._repr_html_()
        assert f"<tr><th>transaction</th><td>{report.t}</td></tr>" in shown
        assert f"<tr><th>&lt;a&gt;</th><td>{report.tempids['<a>']}</td></tr>" in shown
        assert "<td>:issue/title</td><td>&lt;b&gt;</td>" in shown
        assert "<td>:issue/titel</td><td>&lt;i&gt;</td>" in shown
        assert "<a>" not in shown
        assert "Warning: " in shown
        change = next(changes)
        assert "<tr><td>+</td><td>&lt;b&gt;</td></tr>" in change._repr_html_()
        assert f"DELTA at transaction {report.t}: 1 added, 0 retracted" in repr(changes)
        assert "[(not= ?t &quot;&lt;i&gt;&quot;)]" in changes._repr_html_()
        assert "<td>open</td>" in changes._repr_html_()
        db.transact([["db/retract", report.tempids["<a>"], "issue/title", "<b>"], {"issue/title": "<c>"}])
        moved = next(changes)._repr_html_()
        assert "<tr><td>−</td><td>&lt;b&gt;</td></tr>" in moved
    assert "<td>closed</td>" in changes._repr_html_()
    assert repr(changes).endswith(", closed>")
    many = db.transact([{"issue/title": str(number)} for number in range(30)])._repr_html_()
    assert "11 more datoms" in many
    with db.live(query) as later:
        assert "11 more rows" in next(later)._repr_html_()
