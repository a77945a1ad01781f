"""Issue trackers in memory, and typed mutations of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adalog.datalog import edn
from adalog.executor.pool import Pool
from adalog.schema.typed.declarations import model_of
from adalog.schema.typed.model import Model
from adalog.schema.typed.mutations import TypedMutation
from adalog.schema.typed.roots import RootKind
from adalog.store.database import Database
from adalog.store.values.datom import TxReport

TRANSACTIONS = edn.read(Path(__file__).with_name("issue_tracker.edn").read_text(encoding="utf-8"))


@dataclass
class Tracker:
    database: Database
    model: Model

    def mutation(self, root: RootKind, kind: str, **arguments: Any) -> TypedMutation:
        return TypedMutation(self.model, self.model.types[kind], root, arguments)

    def mutate(self, root: RootKind, kind: str, **arguments: Any) -> TxReport:
        key, basis = arguments.pop("idempotencyKey", None), arguments.pop("expectedBasisT", None)
        mutation = self.mutation(root, kind, **arguments)
        return self.database.transact(mutation, idempotency_key=key, expected_basis_t=basis)


@contextmanager
def tracker() -> Iterator[Tracker]:
    with Database.open(":memory:") as database:
        pool = Pool(database)
        try:
            for each in TRANSACTIONS:
                database.transact(each)
            yield Tracker(database, model_of(database.snapshot()))
        finally:
            pool.close()
