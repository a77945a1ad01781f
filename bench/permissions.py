"""What policies cost: a page of issues, one check, everything that an identity may see, a step of a live query for
many identities, and no policies at all.

In this process, without HTTP and without kept answers. Ratios are of the least CPU times of alternating rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from adalog.datalog.values import Keyword
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import LiveView
from adalog.executor.follow.view_choice import view_of
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from bench.line import Line

_ENTITIES: Final = 1_000_000
_QUICK: Final = 50_000
_ROUNDS: Final = 30
_TICKS: Final = 10
_USER, _GROUP, _PROJECT, _FIRST = 10_000_000, 11_000_000, 12_000_000, 20_000_000
_USERS, _DEEP, _GROUPS, _PROJECTS = 2_000, 5, 200, 100
_MEMBERS: Final = _USERS // _GROUPS

_SCHEMA: Final = """[
  {:db/ident :user/id :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :group/member :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
  {:db/ident :group/parent :db/valueType :db.type/ref}
  {:db/ident :project/group :db/valueType :db.type/ref}
  {:db/ident :issue/project :db/valueType :db.type/ref}
  {:db/ident :issue/title :db/valueType :db.type/long}
  {:db/ident :issue/status :db/valueType :db.type/long}
  {:db/ident :folder/name :db/valueType :db.type/long}
  {:db/ident :folder/parent :db/valueType :db.type/ref}
  {:db/ident :folder/viewer :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""

_WITHIN: Final = r"""[(within ?g) (claim :sub ?sub) [?u :user/id ?sub] [?g :group/member ?u]]
  [(within ?g) [?h :group/parent ?g] (within ?h)]"""
_POLICIES: Final = f"""[
  {{:policy/name "issues" :policy/roles [:member] :policy/ops [:read] :policy/on [:issue]
    :policy/rules "[[(allow ?i) [?i :issue/project ?p] [?p :project/group ?g] (within ?g)] {_WITHIN}]"}}
  {{:policy/name "folders" :policy/roles [:member] :policy/ops [:read] :policy/on [:folder]
    :policy/rules "[[(allow ?f) (seen ?f)] [(seen ?f) [?f :folder/viewer ?g] (within ?g)]
      [(seen ?f) [?f :folder/parent ?p] (seen ?p)] {_WITHIN}]"}}]"""

PAGE: Final = """[:find ?i ?t :where [?i :issue/status 1] [?i :issue/title ?t] :order-by [?i] :limit 50]"""
LIST: Final = """[:find ?i ?t :in $ ?p
  :where [?i :issue/project ?p] [?i :issue/title ?t] :order-by [[?i :desc]] :limit 50]"""
CHECK: Final = "[:find ?n :in $ ?f :where [?f :folder/name ?n]]"
ALL: Final = "[:find (count ?f) . :where [?f :folder/name]]"
BELOW: Final = "[:find (count ?f) . :in $ ?top :where [?f :folder/parent+ ?top]]"

LIVE: Final = "[:find ?i ?t :where [?i :issue/status 1] [?i :issue/title ?t]]"
# As many answers without policies, of which as many change: ten clients ask about a project, as ten see each.
LIVE_BARE: Final = "[:find ?i ?t :in $ ?p :where [?i :issue/status 1] [?i :issue/project ?p] [?i :issue/title ?t]]"
LIVE_PULLS: Final = """[:find (pull ?i [:db/id :issue/title {:issue/project [{:project/group [:db/id]}]}])
  :where [?i :issue/status 1] [?i :issue/title ?t] :order-by [[?i :desc]] :limit 50]"""

# Bars: a page and a list against the same without policies, a check and all that is visible in milliseconds, a step
# of a live query against the same for as many arguments.
_LINES: Final = (
    ("page guarded", "page bare", 1.5),
    ("list guarded", "list bare", 1.5),
    ("page guarded, another identity", "", 10.0),
    ("check, asked before", "", 2.0),
    ("check, another identity", "", 2.0),
    ("all, another identity", "", 100.0),
    ("all below one, asked before", "all below one, bare", 1.5),
    ("live, one identity", "live bare, one", 1.5),
    ("live, 100 identities", "live bare, 100", 1.5),
    ("live, 1,000 identities", "live bare, 1,000", 1.5),
    ("live page with pulls, guarded", "live page with pulls, bare", 1.5),
)


@contextmanager
def _issues(size: int) -> Iterator[tuple[Database, Pool]]:
    """Users in groups five deep, projects of groups, issues of projects."""
    rng = np.random.default_rng(1)
    users, issues = np.arange(_USER, _USER + _USERS), np.arange(_FIRST, _FIRST + size)
    groups = np.arange(_GROUP, _GROUP + _GROUPS * _DEEP)
    deeper = groups[_GROUPS:]
    projects = np.arange(_PROJECT, _PROJECT + _PROJECTS)
    with Database.open(":memory:") as database:
        database.bulk_load(
            _SCHEMA,
            {
                Keyword("user/id"): (users, [f"u{n}" for n in range(_USERS)]),
                Keyword("group/member"): (groups[-_GROUPS:].repeat(10), users.repeat(1)[: _GROUPS * 10]),
                Keyword("group/parent"): (deeper, deeper - _GROUPS),
                Keyword("project/group"): (projects, groups[:_PROJECTS]),
                Keyword("issue/project"): (issues, rng.choice(projects, size)),
                Keyword("issue/title"): (issues, rng.integers(0, size, size)),
                Keyword("issue/status"): (issues, rng.integers(0, 10, size)),
            },
        )
        with _pool(database) as pool:
            yield database, pool


@contextmanager
def _folders(size: int) -> Iterator[tuple[Database, Pool]]:
    """Folders ten deep, a hundred trees of which are seen by a group each, groups three deep."""
    users = np.arange(_USER, _USER + _USERS)
    groups = np.arange(_GROUP, _GROUP + _GROUPS * 3)
    folders = np.arange(_FIRST, _FIRST + size)
    roots = 100
    # Three within each; of 10⁶ the last are ten deep.
    parents = np.arange(size - roots) // 3
    with Database.open(":memory:") as database:
        database.bulk_load(
            _SCHEMA,
            {
                Keyword("user/id"): (users, [f"u{n}" for n in range(_USERS)]),
                Keyword("group/member"): (groups[-_GROUPS:].repeat(10), users),
                Keyword("group/parent"): (groups[_GROUPS:], groups[_GROUPS:] - _GROUPS),
                Keyword("folder/name"): (folders, np.arange(size)),
                Keyword("folder/parent"): (folders[roots:], folders[parents]),
                Keyword("folder/viewer"): (folders[:roots], groups[:roots]),
            },
        )
        with _pool(database) as pool:
            yield database, pool


@contextmanager
def _pool(database: Database) -> Iterator[Pool]:
    pool = Pool(database)
    try:
        yield pool
    finally:
        pool.close()


def _view(database: Database, pool: Pool, number: int) -> Snapshot:
    """As a request gets it: anew."""
    now = database.snapshot()
    guard = pool.permissions.guard(_viewer(number), now)
    return now if guard is None else guard.view(now)


def _least(works: dict[str, Callable[[int], object]], rounds: int) -> dict[str, tuple[float, float]]:
    """(median, least) milliseconds of CPU of each, in alternating rounds."""
    took: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds):
        for name, work in works.items():
            start = time.process_time()
            work(turn)
            took[name].append(1000 * (time.process_time() - start))
    return {name: (float(np.median(each)), min(each)) for name, each in took.items()}


def _viewer(number: int) -> Viewer:
    return Viewer(frozenset(("member",)), {"sub": f"u{number}"})


def _followed(database: Database, pool: Pool, text: str, feeds: int, *, guarded: bool) -> LiveView:
    """A view for so many identities, or arguments."""
    at, takes_project = database.snapshot(), ":in $ ?p" in text
    found: LiveView | None = None
    for number in range(feeds):
        visible = VisibleMoments(pool.permissions, _viewer(number)) if guarded else None
        args = [_PROJECT + number // _MEMBERS] if takes_project else []
        request = QueryRequest(text, args, snapshot=at if visible is None else visible.of(at))
        question = pool.question(request)
        if found is None:
            found = view_of(question, pool.engine, visible)
        found.add(number, UndatedQuestion.of(question, visible), at, Cancel())
    assert found is not None
    return found


def _live(database: Database, pool: Pool, say: Callable[[str], None]) -> dict[str, tuple[float, float]]:
    """(median, least) milliseconds of CPU of a step after an issue was added, in alternating rounds."""
    views: dict[str, LiveView] = {}
    for feeds, named in ((1, "one"), (100, "100"), (1_000, "1,000")):
        identities = "one identity" if feeds == 1 else f"{named} identities"
        views[f"live bare, {named}"] = _followed(database, pool, LIVE_BARE, feeds, guarded=False)
        views[f"live, {identities}"] = _followed(database, pool, LIVE, feeds, guarded=True)
    for kind in ("bare", "guarded"):
        views[f"live page with pulls, {kind}"] = _followed(database, pool, LIVE_PULLS, 1, guarded=kind == "guarded")
    took: dict[str, list[float]] = {name: [] for name in views}
    first = _followed(database, pool, LIVE_PULLS, 1, guarded=False)
    for turn in range(_TICKS):
        old = database.snapshot()
        database.transact(f"[{{:issue/title {turn} :issue/status 1 :issue/project {_PROJECT}}}]")
        tick = Moments(old, database.snapshot())
        # Whichever view is first reads the transaction for all others.
        first.step(tick, Cancel())
        for name, view in views.items():
            start = time.process_time()
            view.step(tick, Cancel())
            took[name].append(1000 * (time.process_time() - start))
    for name, view in views.items():
        say(f"{name}: {view.nbytes():,} bytes")
    return {name: (float(np.median(each)), min(each)) for name, each in took.items()}


def measured(quick: bool, say: Callable[[str], None]) -> dict[str, tuple[float, float]]:
    size = _QUICK if quick else _ENTITIES
    found: dict[str, tuple[float, float]] = {}
    with _issues(size) as (database, pool):
        project = _PROJECT + 7
        member = 75

        def ask(text: str, view: Snapshot, *args: object) -> int:
            return len(pool.run(QueryRequest(text, args, snapshot=view)).rows())

        bare = database.snapshot()
        database.transact(_POLICIES)
        works: dict[str, Callable[[int], object]] = {
            "page bare": lambda _: ask(PAGE, bare),
            "page guarded": lambda _: ask(PAGE, _view(database, pool, member)),
            "page guarded, another identity": lambda n: ask(PAGE, _view(database, pool, 100 + n)),
            "list bare": lambda _: ask(LIST, bare, project),
            "list guarded": lambda _: ask(LIST, _view(database, pool, member), project),
            "list guarded, another identity": lambda n: ask(LIST, _view(database, pool, 70 + n % 10), project),
        }
        for name, work in works.items():
            say(f"{name}: {work(0)} rows")
        found |= _least(works, _ROUNDS)
        found |= _live(database, pool, say)
    with _folders(size) as (database, pool):
        bare = database.snapshot()
        database.transact(_POLICIES)
        rng = np.random.default_rng(2)
        some = rng.integers(_FIRST, _FIRST + size, 10_000).tolist()
        works = {
            "check bare": lambda n: ask(CHECK, bare, some[n]),
            "check, asked before": lambda n: ask(CHECK, _view(database, pool, 75), some[n]),
            "check, another identity": lambda n: ask(CHECK, _view(database, pool, n), some[n]),
            "all bare": lambda _: ask(ALL, bare),
            "all, asked before": lambda _: ask(ALL, _view(database, pool, 75)),
            "all, another identity": lambda n: ask(ALL, _view(database, pool, 100 + n)),
            # The tree that this identity sees.
            "all below one, bare": lambda _: ask(BELOW, bare, _FIRST + 7),
            "all below one, asked before": lambda _: ask(BELOW, _view(database, pool, 75), _FIRST + 7),
        }
        view = _view(database, pool, 75)
        say(f"visible: {pool.run(QueryRequest(ALL, snapshot=view)).rows()}")
        found |= _least(works, _ROUNDS)
    return found


def permissions(quick: bool, say: Callable[[str], None]) -> list[Line]:
    found = measured(quick, say)
    lines = []
    for name, against, bar in _LINES:
        theirs = found[against][1] if against else None
        lines.append(Line("permissions", name, "ms", found[name][0 if not against else 1], against, theirs, bar))
    return lines


if __name__ == "__main__":
    import sys

    for each, (middle, least) in measured("--quick" in sys.argv, print).items():
        print(f"{each:36} {middle:9.2f} {least:9.2f}")
