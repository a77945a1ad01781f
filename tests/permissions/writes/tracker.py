"""An issue tracker whose clients have tokens and policies, to write to over HTTP."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from adalog.datalog.values import Keyword
from adalog.gateway.settings.config import Settings
from tests.gateway.support import Gateway, gateway

SCHEMA: Final = """[
 {:db/ident :user/auth-id :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :user/name :db/valueType :db.type/string}
 {:db/ident :project/key :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :project/members :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :issue/id :db/valueType :db.type/long :db/unique :db.unique/identity}
 {:db/ident :issue/title :db/valueType :db.type/string}
 {:db/ident :issue/votes :db/valueType :db.type/long}
 {:db/ident :issue/project :db/valueType :db.type/ref :graphql/type :project}
 {:db/ident :issue/assignee :db/valueType :db.type/ref :graphql/type :user}
 {:db/ident :issue/labels :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
 {:db/ident :issue/parts :db/valueType :db.type/ref :db/isComponent true :db/cardinality :db.cardinality/many}
 {:db/ident :issue/place :db/valueType :db.type/tuple :db/tupleAttrs [:issue/project :issue/title]
  :db/unique :db.unique/value}
 {:db/ident :part/text :db/valueType :db.type/string}
 {:db/ident :hidden/note :db/valueType :db.type/string}
 {:db/ident :hidden/code :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :feedback/text :db/valueType :db.type/string}
]"""
# Ada is in the project of entity 10, Bob in that of entity 20.
DATA: Final = """[
 {:db/id 1 :user/auth-id "ada" :user/name "Ada"} {:db/id 2 :user/auth-id "bob" :user/name "Bob"}
 {:db/id 10 :project/key "OURS" :project/members 1} {:db/id 20 :project/key "THEIRS" :project/members 2}
 {:db/id 11 :issue/id 1 :issue/title "Ours" :issue/project 10 :issue/votes 3 :hidden/note "secret"}
 {:db/id 12 :issue/id 2 :issue/title "Also ours" :issue/project 10 :issue/parts [{:db/id 13 :part/text "a part"}]}
 {:db/id 21 :issue/id 3 :issue/title "Theirs" :issue/project 20 :hidden/code "X"}
 {:db/id 50 :hidden/code "Y"}
]"""
MEMBER: Final = r"""[[(allow ?i) [?i :issue/project ?p] (member ?p)]
 [(member ?p) (claim :sub ?sub) [?u :user/auth-id ?sub] [?p :project/members ?u]]]"""
POLICIES: Final = f"""[
 {{:policy/name "issues of projects" :policy/roles :member
  :policy/ops [:read :create :update :delete] :policy/on :issue :policy/rules "{MEMBER}"}}
 {{:policy/name "parts" :policy/roles :member :policy/ops [:read :create] :policy/on :part}}
 {{:policy/name "projects" :policy/roles :member :policy/ops :read :policy/on :project
  :policy/rules "[[(allow ?p) (claim :sub ?sub) [?u :user/auth-id ?sub] [?p :project/members ?u]]]"}}
 {{:policy/name "users" :policy/roles :* :policy/ops :read :policy/on :user}}
 {{:policy/name "feedback" :policy/roles :* :policy/ops :create :policy/on :feedback}}
]"""

_TRANSACT: Final = """mutation($tx: EDN!, $key: String, $t: Long) {
  transact(tx: $tx, idempotencyKey: $key, expectedBasisT: $t) {
    t tempids datoms { e a v added } warnings { code message } } }"""


class Tracker:
    """Requests of the clients `ada`, `bob` (members), `eve` (a reader of nothing) and `root` (admin)."""

    def __init__(self, server: Gateway) -> None:
        self.server = server

    def post(self, who: str, document: str, **variables: Any) -> Any:
        return self.server.post(document, {"authorization": f"Bearer {who}"}, **variables).json()

    def transact(self, who: str, tx: str, **more: Any) -> Any:
        """The report of a transaction that is not refused."""
        answer = self.post(who, _TRANSACT, tx=tx, **more)
        assert "errors" not in answer, answer["errors"]
        return answer["data"]["transact"]

    def refusal(self, who: str, tx: str, **more: Any) -> tuple[str, str]:
        """(code, message) of a transaction that is refused, and changes nothing."""
        before = self.server.database.snapshot().t
        answer = self.post(who, _TRANSACT, tx=tx, **more)
        assert answer.get("data") is None, answer
        [error] = answer["errors"]
        assert self.server.database.snapshot().t == before
        return error["extensions"]["code"], error["message"]

    def values(self, attribute: str, entity: int) -> list[Any]:
        """What an entity has, for those that see everything."""
        snapshot = self.server.database.snapshot()
        found = snapshot.attribute(Keyword(attribute.removeprefix(":")))
        assert found is not None
        codes = snapshot.values_of(found, entity)
        return codes.tolist() if found.is_ref else snapshot.codes.decode_many(codes)


ROLES: Final[Mapping[str, str]] = {"ada": "member,write", "bob": "member,write", "eve": "write", "root": "admin"}


def settings_of(folder: Path) -> Settings:
    tokens = folder / "tokens"
    lines = (f"{who}:{roles}:{hashlib.sha256(who.encode()).hexdigest()}" for who, roles in ROLES.items())
    tokens.write_text("\n".join(lines) + "\n")
    return Settings(data=":memory:", auth=str(tokens))


@contextmanager
def tracker(tmp_path: Path, *transactions: str, policies: str = POLICIES) -> Iterator[Tracker]:
    with gateway(settings_of(tmp_path), SCHEMA, DATA, *([policies] if policies else []), *transactions) as server:
        yield Tracker(server)
