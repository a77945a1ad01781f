"""Transactions: how the field `transact` applies one, and how a document that is nothing else is answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adalog.datalog import tracing
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.client import ASKING
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.viewers import may_excise, viewer_asking
from adalog.schema.fields.single_field import SingleField
from adalog.schema.fields.types import OneReport
from adalog.schema.request.background import elsewhere
from adalog.schema.request.context import Context, Services, check_asks_for
from adalog.schema.request.thread_results import arrived
from adalog.schema.writing.columnar import ColumnarWriter, FieldShape, free
from adalog.schema.writing.encoding import Encoding
from adalog.store.transact.resolve import TransactionData
from adalog.store.values.datom import TxReport

# Of the pool's cost: a transaction's way to the disk, and what is read, resolved and kept of it.
_COST: Final = 10_000.0
_CHARACTER_COST: Final = 10.0
_DATOM_COST: Final = 200.0
TRANSACT: Final = frozenset({"tx", "expectedBasisT", "idempotencyKey", "encoding"})
"""The arguments with which a document's only field may be `transact`."""


async def transacted(
    services: Services,
    tx: TransactionData,
    expected_basis_t: int | None,
    idempotency_key: str | None,
    viewer: Viewer | None = None,
) -> TxReport:
    """The report of a transaction that is durable. viewer: whose permissions count, where they are not the
    client's own. Raises what refuses it."""
    check_asks_for(viewer)
    client = ASKING.get()
    meter = client.meter
    if meter is not None:
        meter.admit(_COST + _CHARACTER_COST * len(tx))
    with tracing.span("adalog.transact"):
        future = services.database.submit(
            tx,
            expected_basis_t=expected_basis_t,
            idempotency_key=idempotency_key,
            principal=client.author,
            viewer=viewer or viewer_asking(),
            may_excise=may_excise(viewer or viewer_asking()),
        )
        # A client that goes away does not undo what is on its way to the disk.
        report = await arrived(future)
    if meter is not None:
        meter.pay(_DATOM_COST * len(report.datoms))
    return report


async def reported(report: TxReport, encoding: Encoding, shape: FieldShape) -> dict[str, Any]:
    """A report as orjson writes it."""
    one = OneReport(report, encoding)

    def write(cancel: Cancel) -> dict[str, Any]:
        # What a transaction did has to be told, whatever its size: it is as large as the request that made it.
        return ColumnarWriter(free, cancel).row(one, shape)

    return write(Cancel()) if one.short else await elsewhere(write)


async def transaction_alone(single: SingleField, context: Context, given: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a document that is one `transact`."""
    assert single.shape is not None, "it shows a report"
    try:
        services, tx = context.services, given["tx"]
        report = await transacted(services, tx, given.get("expectedBasisT"), given.get("idempotencyKey"))
        shown = await reported(report, given.get("encoding") or Encoding.PLAIN, single.shape)
    except Exception as error:  # noqa: BLE001 - as in GraphQL: it is the field's
        return single.nothing(single.failed(error))
    return {"data": {single.alias: shown}}
