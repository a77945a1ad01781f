"""A gateway over projects, issues and policies, with a token for each of some identities.

Ann is a member of the project "open" and its subproject "inner", Bob a guest of "secret"; root is admin, and the
role of Nobody has no policy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adalog.executor.cache.settings import CacheSettings
from adalog.gateway.settings.config import Settings
from tests.gateway.support import Gateway, gateway

SCHEMA = """
[{:db/ident :user/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :user/salary :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :project/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :project/parent :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
 {:db/ident :project/members :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :issue/title :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :issue/points :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :issue/project :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}]
"""
DATA = """
[{:db/id "ann" :user/name "ann" :user/salary 10} {:db/id "bob" :user/name "bob" :user/salary 20}
 {:db/id "open" :project/name "open" :project/members "ann"}
 {:db/id "inner" :project/name "inner" :project/parent "open"}
 {:db/id "secret" :project/name "secret" :project/members "bob"}
 {:issue/title "one" :issue/points 1 :issue/project "open"}
 {:issue/title "two" :issue/points 2 :issue/project "inner"}
 {:issue/title "three" :issue/points 4 :issue/project "secret"}]
"""
MEMBER = """
 [(member ?p) (claim :sub ?sub) [?u :user/name ?sub] [?p :project/members ?u]]
 [(member ?p) [?p :project/parent ?q] (member ?q)]
"""
POLICIES = rf"""
[{{:policy/name "members read their projects" :policy/roles [:member :guest] :policy/ops [:read]
  :policy/on [:project] :policy/rules "[[(allow ?p) (member ?p)] {MEMBER}]"}}
 {{:policy/name "members read issues" :policy/roles [:member :guest] :policy/ops [:read]
  :policy/on [:issue/title :issue/project]
  :policy/rules "[[(allow ?i) [?i :issue/project ?p] (member ?p)] {MEMBER}]"}}
 {{:policy/name "members read points" :policy/roles [:member] :policy/ops [:read] :policy/on [:issue/points]
  :policy/rules "[[(allow ?i) [?i :issue/project ?p] (member ?p)] {MEMBER}]"}}
 {{:policy/name "all read names" :policy/roles [:*] :policy/ops [:read] :policy/on [:user/name]}}]
"""
ROLES = {"ann": "member,read", "bob": "guest,write", "nobody": "read", "root": "admin"}


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {name}"}


def settings_of(folder: Path, **more: Any) -> Settings:
    path = folder / "tokens"
    lines = (f"{name}:{roles}:{hashlib.sha256(name.encode()).hexdigest()}" for name, roles in ROLES.items())
    path.write_text("\n".join(lines))
    return Settings(data=":memory:", auth=str(path), **more)


@contextmanager
def issues(folder: Path, *transactions: str, cached: bool = False, **settings: Any) -> Iterator[Gateway]:
    """The gateway; a token is the name of its identity. cached: answers are kept."""
    kept = CacheSettings(64 << 20) if cached else None
    with gateway(settings_of(folder, **settings), SCHEMA, DATA, POLICIES, *transactions, cache=kept) as opened:
        yield opened


def data(opened: Gateway, name: str, document: str, **variables: Any) -> Any:
    """What an identity is answered, without errors."""
    answer = opened.post(document, bearer(name), **variables).json()
    assert "errors" not in answer, answer["errors"]
    return answer["data"]


def code(opened: Gateway, name: str, document: str, **variables: Any) -> str:
    """The code of the one error that an identity is answered."""
    [error] = opened.post(document, bearer(name), **variables).json()["errors"]
    found: str = error["extensions"]["code"]
    return found


def rows(opened: Gateway, name: str, query: str, more: str = "", **variables: Any) -> list[list[Any]]:
    """The rows of a query, as an identity is answered."""
    document = f"query($query: EDN!) {{ q(query: $query {more}) {{ rows }} }}"
    found: list[list[Any]] = data(opened, name, document, query=query, **variables)["q"]["rows"]
    return found
