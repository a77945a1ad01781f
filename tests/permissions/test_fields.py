"""Every root field that reads shows what the identity may see, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.guards import Guard
from adalog.schema.request.visible_database import VisibleDatabase
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from tests.gateway.support import Gateway
from tests.permissions.issues import bearer, code, data, issues, rows

TITLES = "[:find ?title :where [_ :issue/title ?title]]"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Gateway]:
    with issues(tmp_path) as found:
        yield found


def test_q(opened: Gateway) -> None:
    assert sorted(rows(opened, "root", TITLES)) == [["one"], ["three"], ["two"]]
    assert sorted(rows(opened, "ann", TITLES)) == [["one"], ["two"]]
    assert rows(opened, "bob", TITLES) == [["three"]]
    assert rows(opened, "nobody", TITLES) == []
    assert rows(opened, "ann", "[:find (sum ?n) :where [?i :issue/points ?n]]") == [[3]]
    assert rows(opened, "bob", "[:find ?n :where [_ :issue/points ?n]]") == []
    assert rows(opened, "ann", '[:find ?a :where [[:issue/title "three"] ?a _]]') == []


def test_as(opened: Gateway) -> None:
    ann = 'as: {roles: ["member"], claims: {sub: "ann"}}'
    assert sorted(rows(opened, "root", TITLES, ann)) == [["one"], ["two"]]
    assert rows(opened, "root", TITLES, 'as: {roles: ["guest"], claims: {sub: "bob"}}') == [["three"]]
    assert len(rows(opened, "root", TITLES, 'as: {roles: ["admin"], claims: {}}')) == 3
    query = f"query($q: EDN!) {{ q(query: $q, {ann}) {{ rows }} }}"
    assert code(opened, "ann", query, q=TITLES) == "FORBIDDEN"
    assert code(opened, "bob", f'{{ pull(pattern: "[*]", eid: "1", {ann}) }}') == "FORBIDDEN"
    assert code(opened, "root", '{ pull(pattern: "[*]", eid: "1", as: {roles: [], claims: 1}) }') == "ARG_INVALID"
    pulled = '{ pull(pattern: "[:issue/points]", eid: "[:issue/title \\"%s\\"]", %s) }'
    assert data(opened, "root", pulled % ("two", ann)) == {"pull": {":issue/points": 2}}
    assert data(opened, "root", pulled % ("three", ann)) == {"pull": None}


def test_datoms_and_attributes_for_another(opened: Gateway) -> None:
    document = 'query($as: AsInput) { datoms(index: AVET, components: [":issue/title"], as: $as) { datoms { v } } '
    document += "attributes(as: $as) { ident } }"
    guest = {"roles": ["guest"], "claims": {"sub": "bob"}}
    asked = data(opened, "root", document, **{"as": guest})
    assert asked == data(opened, "bob", document)
    assert asked["datoms"]["datoms"] == [{"v": "three"}]
    assert {"ident": ":issue/points"} not in asked["attributes"]
    assert len(data(opened, "root", document)["datoms"]["datoms"]) == 3
    page = "query($as: AsInput, $after: String) { datoms(index: EAVT, first: 1, after: $after, as: $as) "
    page += "{ pageInfo { endCursor } } }"
    cursor = data(opened, "root", page, **{"as": guest})["datoms"]["pageInfo"]["endCursor"]
    assert code(opened, "root", page, after=cursor) == "ARG_INVALID"


def test_transactions_for_another(opened: Gateway) -> None:
    grant = '[{:policy/name "create" :policy/roles [:member] :policy/ops [:create] :policy/on [:issue/points]}]'
    opened.database.transact(grant)
    member = {"roles": ["member"], "claims": {"sub": "ann"}}
    forms = "mutation($as: AsInput, $tx: [JSON!]!) { transactJson(tx: $tx, as: $as) { t datoms { a v } } }"
    text = "mutation($as: AsInput, $tx: EDN!) { transact(tx: $tx, as: $as) { t datoms { a v } } }"
    for document, tx in ((forms, [{"issue/points": 9}]), (text, "[{:issue/points 9}]")):
        assert data(opened, "root", document, tx=tx, **{"as": member})
        assert code(opened, "root", document, tx=tx, **{"as": {"roles": ["guest"], "claims": {}}}) == "FORBIDDEN"
        assert code(opened, "bob", document, tx=tx, **{"as": member}) == "FORBIDDEN"
    found = rows(opened, "root", "[:find ?who :where [_ :issue/points 9 ?t] [?t :db/principal ?who]]")
    assert found == [["root"]]


def test_fields_that_read_at_once_are_all_guarded(opened: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """On threads of their own: one reads while another one still makes the guard."""
    permissions, made, begun = opened.pool.permissions, threading.Event(), threading.Event()
    guard = permissions.guard

    def slow(viewer: Viewer | None, now: Snapshot) -> Guard | None:
        if not begun.is_set():
            begun.set()
            made.wait(20)
        return guard(viewer, now)

    monkeypatch.setattr(permissions, "guard", slow)
    ann = Viewer(frozenset({"member"}), {"sub": "ann"})
    visible, raw = VisibleDatabase(opened.database, permissions, ann), opened.database.snapshot()
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(visible.see, raw)
        begun.wait()
        second = visible.see(raw)
        made.set()
        assert isinstance(second, GuardedSnapshot)
        assert isinstance(first.result(), GuardedSnapshot)


def test_claims_beyond_64_bits(opened: Gateway) -> None:
    levels = """[{:policy/name "levels" :policy/roles [:leveled] :policy/ops [:read] :policy/on [:issue]
      :policy/rules "[[(allow ?i) (claim :level ?n) [?i :issue/points ?p] [(<= ?p ?n)]]]"}]"""
    data(opened, "root", "mutation($tx: EDN!) { transact(tx: $tx) { t } }", tx=levels)
    for level, count in ((2**63 - 1, 3), (2**63, 3), (10**30, 3), (-(2**63), 0), (-(10**30), 0), ([2, 10**30], 3)):
        whom = f'as: {{roles: ["leveled"], claims: {{level: {level}}}}}'
        assert len(rows(opened, "root", TITLES, whom)) == count, level


def test_pull(opened: Gateway) -> None:
    whole = """{ pullMany(pattern: "[* {:issue/project [:project/name]}]",
                          eids: ["[:issue/title \\"one\\"]", "[:issue/title \\"three\\"]"]) }"""
    ann, bob = (data(opened, name, whole)["pullMany"] for name in ("ann", "bob"))
    assert ann[1] is None
    assert ann[0][":issue/project"] == {":project/name": "open"}
    assert ann[0][":issue/points"] == 1
    assert bob[0] is None
    assert bob[1].keys() == {":db/id", ":issue/title", ":issue/project"}


def test_datoms_attributes_and_counts(opened: Gateway) -> None:
    listed = "query($a: [EDN!]) { datoms(index: AEVT, components: $a) { datoms { v } } }"
    assert [each["v"] for each in data(opened, "ann", listed, a=[":issue/title"])["datoms"]["datoms"]] == [
        "one",
        "two",
    ]
    assert code(opened, "ann", listed, a=[":user/salary"]) == code(opened, "ann", listed, a=[":user/nothing"])
    found = data(opened, "ann", "{ attributes { ident datomCount } }")["attributes"]
    counts = {each["ident"]: each["datomCount"] for each in found if not each["ident"].startswith(":db")}
    assert counts == {
        ":user/name": 2, ":project/name": 2, ":project/parent": 1, ":project/members": 1,
        ":issue/title": 2, ":issue/points": 2, ":issue/project": 2,
    }  # fmt: skip
    ann, nobody = (data(opened, name, "{ database { entityCount } }")["database"] for name in ("ann", "nobody"))
    assert ann["entityCount"] > nobody["entityCount"]


def test_transactions(opened: Gateway) -> None:
    opened.database.transact('[{:issue/title "four" :issue/project [:project/name "secret"]}]')
    opened.database.transact('[{:issue/title "five" :issue/points 5 :issue/project [:project/name "open"]}]')
    listed = "{ transactions(first: 2, from: 4) { t datoms { a v } tempids } }"
    [ann] = data(opened, "ann", listed)["transactions"]
    assert ann["t"] == 5
    assert {each["a"] for each in ann["datoms"]} == {
        ":db/txInstant",
        ":issue/title",
        ":issue/points",
        ":issue/project",
    }
    [bob] = data(opened, "bob", listed)["transactions"]
    assert bob["t"] == 4
    [first] = data(opened, "nobody", "{ transactions(from: 2) { t datoms { a } } }")["transactions"]
    assert first["t"] == 2
    assert {each["a"] for each in first["datoms"]} == {":db/txInstant", ":user/name"}


def test_a_transaction_of_which_only_what_it_says_of_itself_is_visible(opened: Gateway) -> None:
    opened.database.transact("[{:db/ident :tx/why :db/valueType :db.type/string}]")
    why = '[:db/add "datomic.tx" :tx/why "hidden so far"]'
    opened.database.transact(f'[{{:issue/title "four" :issue/project [:project/name "secret"]}} {why}]')
    listed = "{ transactions(from: 5) { t datoms { a } } }"
    assert data(opened, "nobody", listed)["transactions"] == []
    opened.database.transact('[{:policy/name "why" :policy/roles :* :policy/ops :read :policy/on :tx/why}]')
    shown = {"t": 5, "datoms": [{"a": ":db/txInstant"}, {"a": ":tx/why"}]}
    assert data(opened, "nobody", listed)["transactions"] == [shown]
    assert rows(opened, "nobody", "[:find ?t :where [?tx :tx/why] [(tx->t ?tx) ?t]]") == [[5]]


def test_explain(opened: Gateway) -> None:
    plain = "query($q: EDN!) { explain(query: $q) { text } }"
    analyzed = "query($q: EDN!) { explain(query: $q, analyze: true) { text } }"
    assert data(opened, "ann", plain, q=TITLES)
    assert code(opened, "ann", analyzed, q=TITLES) == "FORBIDDEN"
    assert data(opened, "root", analyzed, q=TITLES)
    texts = [data(opened, "ann", plain, q=TITLES)["explain"]["text"]]
    points = '[:find ?i ?n :where [?i :issue/title "nine"] [?i :issue/points ?n]]'
    texts.append(data(opened, "ann", plain, q=points)["explain"]["text"])
    assert "guarded $: every pattern reads what the identity may see" in texts[0]
    many = " ".join(f'{{:issue/title "{n}" :issue/project [:project/name "secret"]}}' for n in range(300))
    opened.database.transact(f'[{many} {{:issue/title "nine" :issue/points 9}}]')
    assert data(opened, "ann", plain, q=TITLES)["explain"]["text"] == texts[0]
    assert data(opened, "ann", plain, q=points)["explain"]["text"] == texts[1]
    ann = 'as: {roles: ["member"], claims: {sub: "ann"}}'
    analyzed = f"query($q: EDN!) {{ explain(query: $q, analyze: true, {ann}) {{ text }} }}"
    assert "2 rows in" in data(opened, "root", analyzed, q=TITLES)["explain"]["text"]


def test_metrics_are_for_admins(opened: Gateway) -> None:
    """They count what is hidden, too."""
    assert opened.http.get("/metrics", headers=bearer("root")).status_code == 200
    assert opened.http.get("/metrics", headers=bearer("ann")).status_code == 403
    opened.database.transact("[[:db/add :policy/enforcement :policy/enforced false]]")
    assert opened.http.get("/metrics", headers=bearer("ann")).status_code == 200


def test_the_past_and_other_sources(opened: Gateway) -> None:
    opened.database.transact('[[:db/retract [:issue/title "one"] :issue/title "one"]]')
    past = "[:find ?title :in $ $old :where [$old _ :issue/title ?title]]"
    document = "query($q: EDN!, $args: [JSON!]) { q(query: $q, args: $args) { rows } }"
    for given in ({"basis": {"asOf": 3}}, {"basis": {"history": True}}):
        found = data(opened, "ann", document, q=past, args=[given])["q"]["rows"]
        assert sorted(found) == [["one"], ["two"]]
    assert sorted(rows(opened, "ann", TITLES, "basis: {t: 3}")) == [["one"], ["two"]]
    assert sorted(rows(opened, "ann", TITLES, "basis: {t: 2}")) == [["one"], ["two"]]


def test_with(opened: Gateway) -> None:
    ann = 'as: {roles: ["member"], claims: {sub: "ann"}}'
    joined = '[[:db/add [:project/name \\"secret\\"] :project/members [:user/name \\"ann\\"]]]'
    assert len(rows(opened, "root", TITLES, f'{ann}, with: "{joined}"')) == 3
    assert len(rows(opened, "root", TITLES, ann)) == 2
    # On the past, what is so now decides as well.
    assert len(rows(opened, "root", TITLES, f'{ann}, with: "{joined}", basis: {{t: 2}}')) == 2
    assert len(rows(opened, "ann", TITLES, 'with: "[]", basis: {t: 2}')) == 2
    assert rows(opened, "nobody", TITLES, 'with: "[]", basis: {t: 2}') == []


def test_cursors(opened: Gateway) -> None:
    page = f"""query($after: String) {{
        q(query: "{TITLES}", first: 1, after: $after) {{ rows pageInfo {{ endCursor }} }}
    }}"""
    cursor = data(opened, "ann", page)["q"]["pageInfo"]["endCursor"]
    assert data(opened, "ann", page, after=cursor)["q"]["rows"] == [["two"]]
    assert code(opened, "bob", page, after=cursor) == "ARG_INVALID"
    assert code(opened, "root", page, after=cursor) == "ARG_INVALID"


def test_an_answer_of_one_identity_is_none_of_another(tmp_path: Path) -> None:
    """Answers are kept, and by what an identity sees."""
    with issues(tmp_path, cached=True) as opened:
        pulled = "[:find (pull ?i [:issue/title]) :where [?i :issue/title]]"
        for _ in range(3):
            for query in (TITLES, pulled):
                assert len(rows(opened, "root", query)) == 3
                assert len(rows(opened, "ann", query)) == 2
                assert len(rows(opened, "bob", query)) == 1
                assert rows(opened, "nobody", query) == []
        assert opened.pool.cache.tally.all()
        opened.database.transact('[[:db/add [:project/name "secret"] :project/members [:user/name "ann"]]]')
        assert [len(rows(opened, "ann", query)) for query in (TITLES, pulled)] == [3, 3]


@pytest.mark.parametrize(
    "query",
    [
        "[:find ?n :where [_ %s ?n]]",
        "[:find ?t :where [?i :issue/title ?t] [?i :issue/project %s]]",
        "[:find ?t :where [%s :issue/title ?t]]",
        "[:find ?t :where [?i :issue/title ?t] [?i :issue/title %s]]",
    ],
)
def test_a_plan_says_the_same_of_a_hidden_name_and_of_none(opened: Gateway, query: str) -> None:
    explained = "query($query: EDN!) { explain(query: $query) { text plan } }"
    hidden, absent = (
        str(data(opened, "ann", explained, query=query % name)).replace(name, "")
        for name in (":user/salary", ":user/income")
    )
    assert hidden == absent
