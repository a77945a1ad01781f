"""Live answers under policies: with guards among their clauses they are those of the guarded snapshot."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from adalog.datalog.values import Keyword
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel, StartAgain
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.guarded_view import GuardedView
from adalog.executor.follow.presentation.kept_rows_view import KeptRowsView
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change
from adalog.executor.follow.view_choice import MAINTAINED, live_of, view_of
from adalog.executor.permissions.evaluation import PolicyAnswers
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.question.request import QueryRequest
from adalog.store.snapshot.snapshot import Snapshot
from tests.permissions.test_page import filled
from tests.support import World

_STEPS = 12
_UP = "[(up ?a ?b) [?a :project/parent ?b]] [(up ?a ?b) [?a :project/parent ?c] (up ?c ?b)]"
_DEEP = "{:issue/project [:project/name {:project/members [:user/name]}]}"
_NUMBER = "[:find (count ?i) . :in $ ?p :where [?i :issue/project ?p]]"
_QUERIES = [
    "[:find ?title ?name :where [?i :issue/title ?title] [?i :issue/project ?p] [?p :project/name ?name]]",
    "[:find ?name :where [?p :project/name ?name] (not [_ :project/parent ?p])]",
    "[:find ?name (count ?i) :where [?i :issue/project ?p] [?p :project/name ?name]]",
    "[:find ?x :where (or [_ :project/name ?x] [_ :user/name ?x] [_ :user/salary ?x])]",
    "[:find ?title :where [?i :issue/title ?title] :order-by [?title :desc] :limit 2]",
    f"[:find ?a ?b :rules [{_UP}] :where (up ?a ?b)]",
    "[:find ?title ?ident :where [?i :issue/title ?title] [?i :issue/status ?s] [?s :db/ident ?ident]]",
    "[:find (pull ?i [:issue/title {:issue/project [:project/name]}]) :where [?i :issue/title]]",
    f"[:find (pull ?i [:db/id {_DEEP}]) ?title :where [?i :issue/title ?title] :order-by ?title :limit 3]",
    "[:find (pull ?p [*]) :where [?p :project/name]]",
    f'[:find (pull ?p [:project/name (q "n" {_NUMBER})]) :where [?p :project/name]]',
    "[:find ?p ?a ?v :where [?p :project/name] [?p ?a ?v]]",
]
_RECOMPUTED = 1
_TITLES = """[:find ?t ?n :in $ ?u :where [?p :project/members ?u] [?p :project/name ?n] [?i :issue/project ?p]
  [?i :issue/title ?t] :order-by [?t] :limit 2]"""
_ISSUES = """[:find [(pull ?i [:issue/title {:issue/status [:db/ident]}]) ...] :in $ ?p
  :where [?i :issue/project ?p]]"""
_WITHOUT_TITLE = "(optional [?i :issue/project ?p] [?i :issue/title ?title])"
_SHARED = [
    *_QUERIES[:-_RECOMPUTED],
    "[:find ?title :in $ ?name :where [?i :issue/title ?title] [?i :issue/project ?p] [?p :project/name ?name]]",
    "[:find (count ?i) . :where [?i :issue/title]]",
    f'[:find (pull ?u [:user/name (q "titles" {_TITLES})]) :where [?u :user/name]]',
    f'[:find (pull ?p [:project/name (q "issues" {_ISSUES})]) :where [?p :project/name]]',
    "[:find ?title :where [?i :issue/title ?title] (not [?i :issue/status :status/done])]",
    f"[:find ?name ?title :where [?p :project/name ?name] {_WITHOUT_TITLE}]",
    f"[:find ?a ?title :rules [{_UP}] :where (up ?a ?b) [?i :issue/project ?b] [?i :issue/title ?title]]",
]
_ISSUE_TITLE, _POLICY_NAME = Keyword("issue/title"), Keyword("policy/name")


@pytest.fixture
def tracker(db: World) -> Iterator[World]:
    db.tx("[{:db/ident :issue/status :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}]")
    db.tx("[{:db/ident :status/open} {:db/ident :status/done}]")
    return filled(db)


@pytest.mark.parametrize("query", _QUERIES)
@pytest.mark.parametrize("sub", ["ada", "eve"])
def test_changes_lead_from_one_answer_to_the_next(tracker: World, query: str, sub: str) -> None:
    choose = random.Random(f"{query} {sub}")
    visible = VisibleMoments(tracker.pool.permissions, Viewer(frozenset({"member"}), {"sub": sub}))
    at = tracker.database.snapshot()
    question = tracker.pool.question(QueryRequest(query, snapshot=visible.of(at), ordered=":limit" in query))
    assert (live_of(question)["how"] == MAINTAINED) == (query not in _QUERIES[-_RECOMPUTED:])
    view, undated = view_of(question, tracker.pool.engine, visible), UndatedQuestion.of(question, visible)
    assert isinstance(view, GuardedView)
    view.add(1, undated, at, Cancel())
    shown = _rows(undated.answer(tracker.pool.engine, at, Cancel()))
    for _ in range(_STEPS):
        for _ in range(choose.choice((1, 1, 1, 3))):
            tracker.tx(transaction(choose, at))
        tick = Moments(at, tracker.database.snapshot())
        change = view.step(tick, Cancel()).get(1)
        at = tick.new
        if change is not None:
            assert isinstance(change, Change)
            shown = shown - _rows(change.removed) + _rows(change.added)
        assert shown == _rows(undated.answer(tracker.pool.engine, at, Cancel()))


@pytest.mark.parametrize("query", _SHARED)
def test_viewers_share_a_view_and_see_their_own(tracker: World, query: str) -> None:
    choose, engine = random.Random(query), tracker.pool.engine
    viewers = [_viewer(tracker, sub) for sub in ("ada", "bob", "eve", "nobody")]
    # Claims that no policy reads make no other viewer.
    viewers.append(_viewer(tracker, "ada", exp=5))
    at = tracker.database.snapshot()
    shown: dict[int, Counter[str]] = {}
    asked: dict[int, UndatedQuestion] = {}

    def question(number: int) -> UndatedQuestion:
        visible = viewers[number % len(viewers)]
        args = ("web" if number % 2 else "shop",) if ":in $ ?name" in query else ()
        request = QueryRequest(query, args, snapshot=visible.of(at), ordered=":limit" in query)
        return UndatedQuestion.of(tracker.pool.question(request), visible)

    first = question(0)
    view = view_of(first.at(at, lambda: None), engine, first.visible)
    assert isinstance(view, GuardedView)
    assert view.is_shared
    for step in range(_STEPS):
        for number in choose.sample(range(10), 3):
            if number in shown and len(shown) > 1:
                view.drop(number)
                del shown[number]
            elif number not in shown:
                asked[number] = question(number)
                view.add(number, asked[number], at, Cancel())
                shown[number] = _rows(asked[number].answer(engine, at, Cancel()))
        tracker.tx(transaction(choose, at))
        tick = Moments(at, tracker.database.snapshot())
        changes = view.step(tick, Cancel())
        at = tick.new
        assert changes.keys() <= shown.keys()
        for number in shown:
            change = changes.get(number)
            if change is not None:
                assert isinstance(change, Change)
                shown[number] = shown[number] - _rows(change.removed) + _rows(change.added)
            assert shown[number] == _rows(asked[number].answer(engine, at, Cancel())), (step, number)


def test_a_step_that_is_made_again_knows_what_guards_decided(
    tracker: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "[:find (pull ?u [:user/name {:project/_members [:project/name]}]) :where [?u :user/name]]"
    at, bob, engine = tracker.database.snapshot(), _viewer(tracker, "bob"), tracker.pool.engine
    question = tracker.pool.question(QueryRequest(query, snapshot=bob.of(at)))
    view, undated = view_of(question, engine, bob), UndatedQuestion.of(question, bob)
    view.add(1, undated, at, Cancel())
    parents = ('[[:db/add [:project/name "web"] :project/parent [:project/name "mail"]]]',)
    for text in (*parents, '[[:db/retract [:project/name "web"] :project/parent]]', *parents):
        tracker.tx(text)
        tick = Moments(at, tracker.database.snapshot())
        at = tick.new
        with monkeypatch.context() as patch:
            patch.setattr(KeptRowsView, "step", _start_again)
            with pytest.raises(StartAgain):
                view.step(tick, Cancel())
        assert view.intact
        change = view.step(tick, Cancel())[1]
        assert isinstance(change, Change)
        before, after = (_rows(undated.answer(engine, each, Cancel())) for each in (tick.old, tick.new))
        assert _rows(change.added) == after - before


_NOTES = """[{:db/ident :note/title :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
  {:db/ident :note/body :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
  {:db/ident :note/owner :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
  {:db/ident :note/public :db/valueType :db.type/boolean :db/cardinality :db.cardinality/one}
  {:policy/name "titles" :policy/roles [:member] :policy/ops [:read] :policy/on [:note/title]
   :policy/rules "[[(allow ?n) (claim :sub ?s) [?u :user/auth-id ?s] [?n :note/owner ?u] [?n :note/body]]]"}
  {:policy/name "bodies" :policy/roles [:member] :policy/ops [:read] :policy/on [:note/body]
   :policy/rules "[[(allow ?n) [?n :note/public true]]]"}]"""


def test_a_pull_shows_no_more_of_an_entity_than_its_own_guards_allow(tracker: World) -> None:
    tracker.tx(_NOTES)
    query = "[:find (pull ?n [*]) ?title :where [?n :note/title ?title]]"
    at, bob, engine = tracker.database.snapshot(), _viewer(tracker, "bob"), tracker.pool.engine
    question = tracker.pool.question(QueryRequest(query, snapshot=bob.of(at)))
    view, undated = view_of(question, engine, bob), UndatedQuestion.of(question, bob)
    view.add(1, undated, at, Cancel())
    shown: Counter[str] = Counter()
    for text, keys in (
        (
            '[{:db/id 900 :note/title "a" :note/body "b" :note/owner [:user/auth-id "bob"]}]',
            {"db/id", "note/title"},
        ),
        ("[[:db/add 900 :note/public true]]", {"db/id", "note/title", "note/body"}),
        ("[[:db/add 900 :note/public false]]", {"db/id", "note/title"}),
        ('[[:db/add 900 :note/title "c"] [:db/add 900 :note/body "d"]]', {"db/id", "note/title"}),
        ('[[:db/add 900 :note/owner [:user/auth-id "ada"]] [:db/add 900 :note/public true]]', None),
    ):
        tracker.tx(text)
        tick = Moments(at, tracker.database.snapshot())
        at = tick.new
        change = view.step(tick, Cancel())[1]
        assert isinstance(change, Change)
        shown = shown - _rows(change.removed) + _rows(change.added)
        assert shown == _rows(undated.answer(engine, at, Cancel()))
        pulled = [{str(key)[1:] for key in row[0]} for row in change.added.rows()]
        assert pulled == ([] if keys is None else [keys])


def test_what_a_row_shows_to_be_visible_is_pulled_without_its_guard(
    tracker: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "[:find (pull ?i [:issue/title :issue/project]) :where [?i :issue/title]]"
    at, bob, engine = tracker.database.snapshot(), _viewer(tracker, "bob"), tracker.pool.engine
    question = tracker.pool.question(QueryRequest(query, snapshot=bob.of(at)))
    view = view_of(question, engine, bob)
    view.add(1, UndatedQuestion.of(question, bob), at, Cancel())
    monkeypatch.setattr(PolicyAnswers, "entities", _start_again)
    tracker.tx('[{:issue/title "new" :issue/project [:project/name "mail"]}]')
    change = view.step(Moments(at, tracker.database.snapshot()), Cancel())[1]
    assert isinstance(change, Change)
    ((pulled,),) = change.added.rows()
    assert {str(key) for key in pulled} == {":issue/title", ":issue/project"}


def _start_again(*_: object) -> None:
    raise StartAgain


def _viewer(tracker: World, sub: str, **claims: int) -> VisibleMoments:
    return VisibleMoments(tracker.pool.permissions, Viewer(frozenset({"member"}), {"sub": sub, **claims}))


def _rows(result: Result) -> Counter[str]:
    return Counter(map(repr, result.rows()))


def transaction(choose: random.Random, at: Snapshot) -> str:
    """Of projects, members, issues, and now and then of policies and the schema."""
    project = choose.choice(["web", "shop", "mail"])
    other, user = choose.choice(["web", "shop", "mail"]), choose.choice(["ada", "bob", "eve"])
    named = f'[:project/name "{project}"]'
    number = choose.randrange(1_000)
    kinds = [
        f'[{{:issue/title "t{number}" :issue/project {named} :issue/status :status/open}}]',
        f'[{{:issue/title "u{number}" :issue/project {named}}}]',
        f'[{{:db/id "u" :user/auth-id "{user}"}} [:db/add {named} :project/members "u"]]',
        f'[{{:db/id "u" :user/auth-id "{user}"}} [:db/retract {named} :project/members "u"]]',
        f'[[:db/add {named} :project/parent [:project/name "{other}"]]]' if other != project else "[]",
        f"[[:db/retract {named} :project/parent]]",
        f'[{{:user/auth-id "{user}" :user/name "{user}{number % 3}"}}]',
    ]
    issues = at.attribute(_ISSUE_TITLE)
    if issues is not None and at.ev(issues).rows:
        issue = choose.choice(at.ev(issues).keys.tolist())
        kinds += [
            f"[[:db/add {issue} :issue/project {named}]]",
            f"[[:db/add {issue} :issue/status :status/done]]",
            f"[[:db/retractEntity {issue}]]",
        ]
    policies = [
        '[[:db/retract [:policy/name "everybody reads names"] :policy/on :user/name]]',
        '[{:policy/name "everybody reads names" :policy/on :user/name}]',
        '[{:policy/name "salaries" :policy/roles [:member] :policy/ops [:read] :policy/on [:user/salary]}]',
        '[[:db/retract [:policy/name "salaries"] :policy/roles :member]]',
        f"[[:db/add :policy/enforcement :policy/enforced {choose.choice(('true', 'false', 'true'))}]]",
        f"[{{:db/ident :extra/a{number} :db/valueType :db.type/string}}]",
    ]
    chosen = choose.choice(policies if choose.random() < 0.1 else kinds)
    if "salaries" in chosen and "retract" in chosen and at.entid((_POLICY_NAME, "salaries")) is None:
        return "[]"
    return chosen
