"""Clients that transact at the same time, in all forms of a request, are answered as if each had been alone: their
transactions, one after the other in the order of `t` and by the long way, make the same datoms."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from adalog.datalog.edn import write
from adalog.executor.pool import Pool
from adalog.gateway.app import create_app
from adalog.gateway.settings.config import Settings
from adalog.schema.writing.encoding import Encoding, encode
from adalog.store.database import Database
from adalog.store.transact import resolve
from tests.datascript.replayed import Fact, facts
from tests.datascript.transactions import FIRST, SCHEMA, Transaction
from tests.gateway.support import served
from tests.property.model import examples

_REPORT = "t tempids datoms { e a v added }"
_CLIENTS = 4

Form = Callable[[str, str], tuple[str, dict[str, str]]]
FORMS: tuple[Form, ...] = (
    lambda tx, _: (f"mutation ($tx: EDN!) {{ transact(tx: $tx) {{ {_REPORT} }} }}", {"tx": tx}),
    lambda tx, key: (
        f"mutation M($tx: EDN!, $key: String) {{ x: transact(tx: $tx, idempotencyKey: $key) {{ {_REPORT} }} }}",
        {"tx": tx, "key": key},
    ),
    lambda tx, _: (f"mutation {{ transact(tx: {json.dumps(tx)}) {{ {_REPORT} }} }}", {}),
    lambda tx, _: (
        f"mutation ($tx: EDN!) {{ transact(tx: $tx) {{ ...R }} }} fragment R on TxReport {{ {_REPORT} }}",
        {"tx": tx},
    ),
    lambda tx, _: (
        f"mutation ($tx: EDN!, $no: EDN!) {{ a: transact(tx: $tx) {{ {_REPORT} }} b: transact(tx: $no) {{ t }} }}",
        {"tx": tx, "no": "[]"},
    ),
)


class Client:
    """Sends transactions made from the state that it sees, and keeps those that were applied, by their t."""

    def __init__(self, number: int, database: Database, url: str) -> None:
        self.number = number
        self.database = database
        self.url = url
        self.applied: dict[int, tuple[str, dict[str, Any]]] = {}
        self.refused = 0

    def write(self, times: int) -> None:
        rng = Random(self.number)
        with httpx.Client(base_url=self.url, timeout=120) as http:
            for time in range(times):
                text = self.text(rng)
                document, variables = rng.choice(FORMS)(text, f"{self.number} {time}")
                request = {"query": document, "variables": variables}
                answer = http.post("/graphql", json=request).json()
                if "key" in variables and "errors" not in answer:
                    # It is applied once.
                    assert http.post("/graphql", json=request).json() == answer
                if answer.get("data") is None:
                    assert all(error["extensions"]["code"] != "INTERNAL" for error in answer["errors"])
                    self.refused += 1
                    continue
                for name, report in answer["data"].items():
                    self.applied[report["t"]] = ("[]" if name == "b" else text), report

    def text(self, rng: Random) -> str:
        if rng.random() < 0.4:
            label = rng.choice((rng.randint(1, 9), 1000 * self.number + rng.randint(1, 9)))
            return f'[{{:g/label {label} :g/n {rng.randint(1, 3)} :g/s "s"}}]'
        state = facts(self.database.snapshot().datoms("EAVT"))
        labelled = {v: e for e, a, v in state if a == ":g/label"}
        held = {e: str(v) for e, a, v in state if a == ":g/n"}
        owner = {write(v): e for e, a, v in state if a == ":g/u"}
        transaction = Transaction(rng, labelled, held, owner)
        transaction.fresh += 10_000 * (self.number + 1)
        return transaction.text()


def test_clients_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact(SCHEMA)
        begun = database.transact(FIRST).t
        with closing(Pool(database)) as pool, served(create_app(database, pool, Settings(data=":memory:"))) as url:
            clients = [Client(number, database, url) for number in range(_CLIENTS)]
            with ThreadPoolExecutor(_CLIENTS) as threads:
                list(threads.map(lambda client: client.write(examples(12)), clients))
        state = facts(database.snapshot().datoms("EAVT"))
    applied = {t: each for client in clients for t, each in client.applied.items()}
    assert sorted(applied) == list(range(begun + 1, begun + 1 + len(applied)))
    assert len(applied) > sum(client.refused for client in clients)
    monkeypatch.setattr(resolve, "few_adds", lambda *_: None)
    with Database.open(":memory:") as alone:
        alone.transact(SCHEMA)
        alone.transact(FIRST)
        for t, (text, report) in sorted(applied.items()):
            again = alone.transact(text)
            assert again.t == t
            if "datoms" in report:
                assert report["tempids"] == again.tempids, text
                assert shown(report) == [
                    (d.e, write(d.a), encode(d.v, Encoding.PLAIN), d.added) for d in again.datoms[1:]
                ], text
        assert facts(alone.snapshot().datoms("EAVT")) == state
    with Database.open(str(tmp_path)) as database:
        assert facts(database.snapshot().datoms("EAVT")) == state


def shown(report: dict[str, Any]) -> list[Fact]:
    """A report's datoms but the transaction's instant."""
    return [(datom["e"], datom["a"], datom["v"], datom["added"]) for datom in report["datoms"][1:]]
