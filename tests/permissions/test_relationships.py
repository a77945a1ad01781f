"""Models of relations between users, groups and documents, as Zanzibar (USENIX ATC 2019) has them, written as
policies. The situations and the expected answers of the drive, the repositories and the block list are those that
OpenFGA publishes with its sample stores and its guides; each is asked as a check, and as a list."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from adalog.datalog.values import Keyword
from adalog.executor.permissions.guards import Guard, Viewer
from adalog.executor.pool import Pool, PullRequest
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database

READ, UPDATE = Keyword("read"), Keyword("update")
_SCHEMA = """[
  {:db/ident :user/id :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :group/member :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
  {:db/ident :file/name :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :file/parent :db/valueType :db.type/ref}
  {:db/ident :file/owner :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
  {:db/ident :file/writer :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
  {:db/ident :file/viewer :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
  {:db/ident :file/blocked :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
  {:db/ident :file/public :db/valueType :db.type/boolean}]"""
# Whoever it is, and all groups, however far up.
_ME = "[(me ?m) (claim :sub ?s) [?m :user/id ?s]] [(me ?g) [?g :group/member ?m] (me ?m)]"


class Relations:
    """A database of relations, asked on behalf of its users."""

    def __init__(self, database: Database, pool: Pool) -> None:
        self.database = database
        self.pool = pool

    def guard(self, user: str) -> Guard:
        viewer = Viewer(frozenset(("user",)), {"sub": user})
        found = self.pool.permissions.guard(viewer, self.database.snapshot())
        assert found is not None
        return found

    def seen(self, user: str) -> set[str]:
        """The names of all files that a user may read."""
        view = self.guard(user).view(self.database.snapshot())
        request = QueryRequest("[:find [?n ...] :where [_ :file/name ?n]]", snapshot=view)
        found = {row[0] for row in self.pool.run(request).rows()}
        for name in self.names():
            # Listing and checking agree.
            assert (view.entid((Keyword("file/name"), name)) is not None) == (name in found)
            maps, _ = self.pool.pull(PullRequest("[:file/name]", [self.file(name)], snapshot=view))
            assert (maps[0] is not None) == (name in found)
        return found

    def names(self) -> list[str]:
        return [row[0] for row in self.pool.run(QueryRequest("[:find [?n ...] :where [_ :file/name ?n]]")).rows()]

    def file(self, name: str) -> int:
        found = self.database.snapshot().entid((Keyword("file/name"), name))
        assert found is not None
        return found

    def may(self, user: str, op: Keyword, name: str) -> bool:
        now = self.database.snapshot()
        attribute = now.attribute(Keyword("file/name"))
        assert attribute is not None
        e, v = np.array([self.file(name)]), np.array([now.value_code(attribute, name)])
        return bool(self.guard(user).allows(op, attribute, e, v, now)[0])

    def readers(self, name: str, users: str) -> set[str]:
        return {user for user in users.split() if name in self.seen(user)}

    def writers(self, name: str, users: str) -> set[str]:
        return {user for user in users.split() if self.may(user, UPDATE, name)}


def policy(name: str, ops: str, rules: str, effect: str = "") -> str:
    text = rules.replace('"', '\\"')
    return f"""{{:policy/name "{name}" :policy/roles [:user] :policy/ops [{ops}] :policy/on [:file]
                :policy/rules "[{text} {_ME}]" {effect}}}"""


@contextmanager
def relations(*texts: str) -> Iterator[Relations]:
    with Database.open(":memory:") as database:
        pool = Pool(database)
        try:
            for text in (_SCHEMA, *texts):
                database.transact(text)
            yield Relations(database, pool)
        finally:
            pool.close()


VIEWERS = policy(
    "viewers read, as those of folders above do",
    ":read",
    """[(allow ?f) (viewer ?f)] [(viewer ?f) [?f :file/public true]]
       [(viewer ?f) (or [?f :file/viewer ?m] [?f :file/owner ?m]) (me ?m)]
       [(viewer ?f) [?f :file/parent ?p] (viewer ?p)]""",
)
OWNERS = policy(
    "owners write, as those of the folder do",
    ":update",
    """[(allow ?f) [?f :file/owner ?m] (me ?m)] [(allow ?f) [?f :file/parent ?p] [?p :file/owner ?m] (me ?m)]""",
)
DRIVE = """[
  {:db/id "anne" :user/id "anne"} {:db/id "beth" :user/id "beth"} {:db/id "charles" :user/id "charles"}
  {:user/id "dana"}
  {:db/id "contoso" :group/member ["anne" "beth"]} {:db/id "fabrikam" :group/member ["charles"]}
  {:db/id "product" :file/name "product" :file/viewer "fabrikam" :file/owner "anne"}
  {:file/name "public roadmap" :file/parent "product" :file/public true}
  {:file/name "roadmap" :file/parent "product" :file/viewer "beth"}]"""


@pytest.fixture(scope="module")
def drive() -> Iterator[Relations]:
    with relations(DRIVE, f"[{VIEWERS} {OWNERS}]") as made:
        yield made


@pytest.mark.parametrize(
    ("user", "seen"),
    [
        ("anne", {"product", "public roadmap", "roadmap"}),
        ("beth", {"public roadmap", "roadmap"}),
        ("charles", {"product", "public roadmap", "roadmap"}),
        ("dana", {"public roadmap"}),
        ("nobody", {"public roadmap"}),
    ],
)
def test_folders_hand_down_their_viewers(drive: Relations, user: str, seen: set[str]) -> None:
    assert drive.seen(user) == seen


def test_who_reads_and_writes_a_document_of_a_folder(drive: Relations) -> None:
    assert drive.readers("roadmap", "anne beth charles dana") == {"anne", "beth", "charles"}
    assert drive.writers("roadmap", "anne beth charles dana") == {"anne"}


READERS = policy(
    "readers, and whoever writes",
    ":read",
    "[(allow ?f) (or [?f :file/viewer ?m] [?f :file/writer ?m] [?f :file/owner ?m]) (me ?m)]",
)
WRITERS = policy(
    "writers, and owners", ":update", "[(allow ?f) (or [?f :file/writer ?m] [?f :file/owner ?m]) (me ?m)]"
)
REPOSITORIES = """[
  {:db/id "anne" :user/id "anne"} {:db/id "beth" :user/id "beth"} {:db/id "charles" :user/id "charles"}
  {:db/id "diane" :user/id "diane"} {:db/id "erik" :user/id "erik"}
  {:db/id "organization" :group/member ["erik"]}
  {:db/id "backend" :group/member ["diane"]} {:db/id "core" :group/member ["charles" "backend"]}
  {:file/name "repository" :file/viewer "anne" :file/writer "beth" :file/owner ["core" "organization"]}]"""


def test_teams_within_teams_have_a_repository() -> None:
    users = "anne beth charles diane erik"
    with relations(REPOSITORIES, f"[{READERS} {WRITERS}]") as made:
        assert made.readers("repository", users) == {"anne", "beth", "charles", "diane", "erik"}
        assert made.writers("repository", users) == {"beth", "charles", "diane", "erik"}
        assert made.seen("diane") == {"repository"}
        assert made.seen("fred") == set()


BLOCKED = """[
  {:db/id "becky" :user/id "becky"} {:db/id "carl" :user/id "carl"}
  {:db/id "product" :group/member ["becky" "carl"]}
  {:file/name "planning" :file/writer "product" :file/blocked "carl"}]"""
NOT_BLOCKED = "(not-join [?f] [?f :file/blocked ?b] (me ?b))"


@pytest.mark.parametrize(
    "policies",
    [
        # As part of the grant, and as a policy of its own that must hold as well.
        policy("editors", ":read :update", f"[(allow ?f) [?f :file/writer ?m] (me ?m) {NOT_BLOCKED}]"),
        policy("editors", ":read :update", "[(allow ?f) [?f :file/writer ?m] (me ?m)]")
        + policy("not blocked", ":read :update", f"[(allow ?f) {NOT_BLOCKED}]", ":policy/effect :require"),
    ],
)
def test_who_is_blocked_is_excluded(policies: str) -> None:
    with relations(BLOCKED, f"[{policies}]") as made:
        assert made.readers("planning", "becky carl") == {"becky"}
        assert made.writers("planning", "becky carl") == {"becky"}
        made.database.transact('[[:db/retract [:file/name "planning"] :file/blocked [:user/id "carl"]]]')
        assert made.writers("planning", "becky carl") == {"becky", "carl"}
        made.database.transact(
            '[{:db/id "g" :group/member [[:user/id "carl"]]} [:db/add [:file/name "planning"] :file/blocked "g"]]'
        )
        assert made.writers("planning", "becky carl") == {"becky"}


def test_groups_in_a_circle_and_deep_folders_end() -> None:
    deep = " ".join(f'{{:db/id "f{n}" :file/name "{n}" :file/parent "f{n - 1}"}}' for n in range(1, 60))
    circle = """{:db/id "a" :group/member ["b" "ada"]} {:db/id "b" :group/member ["c"]}
                {:db/id "c" :group/member ["a" "eve"]}"""
    users = '{:db/id "ada" :user/id "ada"} {:db/id "eve" :user/id "eve"} {:db/id "bob" :user/id "bob"}'
    root = '{:db/id "f0" :file/name "0" :file/viewer "b"} {:db/id "own" :file/name "own" :file/owner "bob"}'
    with relations(f"[{users} {circle} {root} {deep}]", f"[{VIEWERS}]") as made:
        every = {str(n) for n in range(60)}
        assert made.seen("ada") == made.seen("eve") == every
        assert made.seen("bob") == {"own"}
        # A folder in itself, and one that moves.
        made.database.transact('[[:db/add [:file/name "0"] :file/parent [:file/name "59"]]]')
        assert made.seen("eve") == every
        made.database.transact('[[:db/add [:file/name "30"] :file/parent [:file/name "own"]]]')
        # It took what is below along, and so the way back to the first.
        assert made.seen("bob") == every | {"own"}
        assert made.seen("eve") == {str(n) for n in range(30)}
