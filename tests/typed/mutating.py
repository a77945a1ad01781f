"""Typed mutations of a tracker by their arguments, without GraphQL."""

from __future__ import annotations

from typing import Any

from adalog.schema.typed.mutating.mutations import TypedMutation
from adalog.schema.typed.roots import RootKind
from adalog.store.values.datom import TxReport
from tests.typed.tracker import Tracker


def mutation(tracker: Tracker, root: RootKind, kind: str, **arguments: Any) -> TypedMutation:
    model = tracker.surface.model
    return TypedMutation(model, model.types[kind], root, arguments)


def mutate(tracker: Tracker, root: RootKind, kind: str, **arguments: Any) -> TxReport:
    key, basis = arguments.pop("idempotencyKey", None), arguments.pop("expectedBasisT", None)
    given = mutation(tracker, root, kind, **arguments)
    return tracker.database.transact(given, idempotency_key=key, expected_basis_t=basis)
