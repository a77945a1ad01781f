"""Over HTTP an identity is answered as an admin is by a gateway to the visible datoms alone: typed fields, pages by
cursors, the log, the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from graphql import build_schema

from tests.permissions.compared import numbers
from tests.permissions.compared import opened as database_of
from tests.permissions.conditions import CLAIMS
from tests.permissions.random_documents import DocumentWriter
from tests.permissions.random_worlds import history, typed
from tests.permissions.visible_database import VisibleDatabase
from tests.permissions.visible_gateway import Client, both

_DOCUMENTS = 25
_FIXED = (
    "{ attributes { ident valueType cardinality unique isComponent doc datomCount } }",
    "{ database { basisT datomCount entityCount } }",
    "{ schemaWarnings { message } }",
    "{ __schema { types { name fields { name } inputFields { name } enumValues { name } } } }",
)
_LOG = """query($from: Long, $to: Long, $first: Int) { transactions(from: $from, to: $to, first: $first) {
  t basisBefore txInstant tempids datoms { e a v t added } } }"""
_DATOMS = """query($index: Index!, $at: String) { page: datoms(index: $index, first: 7, after: $at) {
  datoms { e a v t added } pageInfo { hasNextPage endCursor } } }"""
_CURSORS = ("startCursor", "endCursor", "cursor")


@pytest.mark.parametrize("number", numbers(share=7))
def test_a_gateway_answers_as_one_of_the_visible_database(number: int, tmp_path: Path) -> None:
    rng = Random(f"gateway {number}")
    texts, policies = history(rng)
    texts.insert(2, typed(rng))
    with database_of(texts) as (database, pool, _):
        roles, claims = rng.choice(CLAIMS)
        now = database.snapshot()
        visible = VisibleDatabase(now, policies, roles, claims)
        about = f"gateway {number} {roles} {claims}\n" + "\n".join(each.form for each in policies)
        with both(tmp_path, database, pool, visible) as clients:
            compared = _Compared(clients, about)
            compared.ask_all(rng, now.t)


class _Compared:
    def __init__(self, clients: tuple[Client, Client], about: str) -> None:
        self.clients = clients
        self.about = about

    def ask_all(self, rng: Random, t: int) -> None:
        texts = [each.schema() for each in self.clients]
        assert texts[0] == texts[1], self.about
        for text in _FIXED:
            self.answer(text)
        start = rng.randint(0, t)
        self.answer(_LOG)
        self.answer(_LOG, **{"from": start, "to": start + rng.randint(0, 4), "first": rng.randint(0, 3)})
        self.pages(_DATOMS, index=rng.choice(("EAVT", "AEVT", "AVET", "VAET")))
        writer = DocumentWriter(rng, build_schema(texts[0]))
        for _ in range(_DOCUMENTS):
            text = writer.document(t)
            if "$at" in text:
                self.pages(text)
            else:
                self.answer(text)

    def answer(self, document: str, *cursors: str | None, **variables: Any) -> list[Any]:
        """What both answer; `cursors`: that of each."""
        given = cursors or (None, None)
        found = [
            client.answer(document, at=cursor, **variables)
            for client, cursor in zip(self.clients, given, strict=True)
        ]
        shown = [_without_cursors(each) for each in found]
        differing = "\n".join(differences(*shown))
        assert not differing, f"{self.about}\n{document} {variables}\n{differing}"
        return found

    def pages(self, document: str, most: int = 4, **variables: Any) -> None:
        """One page after the other, each by the cursor that its own gateway gave."""
        ends = ("hasPreviousPage", "startCursor") if "before: $at" in document else ("hasNextPage", "endCursor")
        cursors: tuple[str | None, ...] = (None, None)
        for _ in range(most):
            found = self.answer(document, *cursors, **variables)
            if "errors" in found[0] or not found[0]["data"]["page"]["pageInfo"][ends[0]]:
                return
            cursors = tuple(each["data"]["page"]["pageInfo"][ends[1]] for each in found)


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two answers differ: first what the guarded one says."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from differences(one[name], other[name], f"{path}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, values in enumerate(zip(one, other, strict=True)):
            yield from differences(*values, f"{path}[{place}]")
    elif one != other:
        yield f"{path}: {one} is not {other}"


def _without_cursors(answer: Any) -> Any:
    """The answer, with whether there is a cursor in the place of each."""

    def shown(found: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value is not None if name.rstrip("0123456789") in _CURSORS else value
            for name, value in found.items()
        }

    return json.loads(json.dumps(answer), object_hook=shown)
