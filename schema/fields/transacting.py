"""Transactions: how the field `transact` applies one, and how a document that is nothing else is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
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
    with tracing.span("adalog.transact"):
        # A client that goes away does not undo what is on its way to the disk.
        report = await arrived(_submitted(services, tx, expected_basis_t, idempotency_key, viewer))
    _pay(report)
    return report


def _submitted(
    services: Services,
    tx: TransactionData,
    expected_basis_t: int | None,
    idempotency_key: str | None,
    viewer: Viewer | None = None,
) -> Future[TxReport]:
    client, viewer = ASKING.get(), viewer or viewer_asking()
    if client.meter is not None:
        client.meter.admit(_COST + _CHARACTER_COST * len(tx))
    return services.database.submit(
        tx,
        expected_basis_t=expected_basis_t,
        idempotency_key=idempotency_key,
        principal=client.author,
        viewer=viewer,
        may_excise=may_excise(viewer),
    )


def _pay(report: TxReport) -> None:
    meter = ASKING.get().meter
    if meter is not None:
        meter.pay(_DATOM_COST * len(report.datoms))


async def reported(report: TxReport, encoding: Encoding, shape: FieldShape) -> dict[str, Any]:
    """A report as orjson writes it."""
    one = OneReport(report, encoding)
    return (
        _written(one, shape, Cancel())
        if one.short
        else await elsewhere(lambda cancel: _written(one, shape, cancel))
    )


def _written(one: OneReport, shape: FieldShape, cancel: Cancel) -> dict[str, Any]:
    # What a transaction did has to be told, whatever its size: it is as large as the request that made it.
    return ColumnarWriter(free, cancel).row(one, shape)


async def transaction_alone(single: SingleField, context: Context, given: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a document that is one `transact`."""
    try:
        services, tx = context.services, given["tx"]
        report = await transacted(services, tx, given.get("expectedBasisT"), given.get("idempotencyKey"))
        return await _answer(single, report, given)
    except Exception as error:  # noqa: BLE001 - as in GraphQL: it is the field's
        return single.nothing(single.failed(error))


async def _answer(single: SingleField, report: TxReport, given: Mapping[str, Any]) -> dict[str, Any]:
    assert single.shape is not None, "it shows a report"
    return {"data": {single.alias: await reported(report, given.get("encoding") or Encoding.PLAIN, single.shape)}}


class SubmittedTransaction:
    """The same document, whose transaction was submitted without a coroutine: an event loop serves many of these.

    report: arrives there; cancelling the wait does not undo the transaction."""

    def __init__(self, single: SingleField, services: Services, given: Mapping[str, Any]) -> None:
        """In the context of the client. Raises nothing."""
        self._single = single
        self._given = given
        try:
            work = _submitted(services, given["tx"], given.get("expectedBasisT"), given.get("idempotencyKey"))
        except Exception as error:  # noqa: BLE001 - likewise
            work = Future()
            work.set_exception(error)
        self.report: asyncio.Future[TxReport] = arrived(work)

    def answer(self) -> dict[str, Any] | None:
        """The answer to the document once there is a report or a refusal; None where `answer_later` has to make it.
        In the context of the client."""
        single = self._single
        try:
            report = self.report.result()
            _pay(report)
            one = OneReport(report, self._given.get("encoding") or Encoding.PLAIN)
            if not one.short:
                return None
            assert single.shape is not None, "it shows a report"
            return {"data": {single.alias: _written(one, single.shape, Cancel())}}
        except Exception as error:  # noqa: BLE001 - likewise
            return single.nothing(single.failed(error))

    async def answer_later(self) -> dict[str, Any]:
        """The answer with a report that takes a while to write."""
        try:
            return await _answer(self._single, self.report.result(), self._given)
        except Exception as error:  # noqa: BLE001 - likewise
            return self._single.nothing(self._single.failed(error))
