"""The errors of transactions that are not applied, or in doubt."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final

from adalog.datalog.errors import AdalogError, Code, invalid_argument, unavailable
from adalog.store.files.disk_errors import refused_by_disk
from adalog.store.log.entry import UsedKey
from adalog.store.transact.resolve import digest_of
from adalog.store.values.datom import TxReport
from adalog.store.writer.request import TransactionRequest

_LOGGER: Final = logging.getLogger("adalog.store")


@contextmanager
def answering(future: Future[TxReport]) -> Iterator[None]:
    """Gives what goes wrong to the future: refusals as they are, anything else as INTERNAL and to the log."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - it goes to the waiter
        future.set_exception(refusal(error))


def check_same(request: TransactionRequest, t: int, used: UsedKey) -> None:
    if used.digest not in (None, digest_of(request.data)):
        raise invalid_argument(
            f"the idempotency key was used for transaction {t}, with other data, and this was not applied; give it "
            "a key of its own, or send the same data again to have that transaction's report"
        )


def in_doubt(why: str, failed: str, *, has_key: bool) -> AdalogError:
    what_next = (
        "read what you need before you transact it again; with an idempotencyKey that would be safe"
        if not has_key
        else "transact it again with the same idempotencyKey, and it is applied once"
    )
    return unavailable(
        f"it is unknown whether the transaction was applied, as {failed} while it was written ({why}); {what_next}",
        retryable=has_key,
    )


def overtaken(times: int) -> AdalogError:
    return unavailable(f"nothing was applied: {times} times others wrote to the log first; try again in a moment")


def read_only(why: str, failed: str) -> AdalogError:
    return AdalogError(
        Code.READ_ONLY,
        f"nothing is written, and this was not, until the log can be read again: {failed} ({why}). It is "
        "looked at every second; reading goes on",
        retryable=True,
    )


def refusal(error: Exception) -> AdalogError:
    if isinstance(error, AdalogError):
        return error
    by_disk = refused_by_disk(error)
    if by_disk is not None:
        return AdalogError(by_disk.code, f"nothing was applied: {by_disk.message}")
    _LOGGER.error("a transaction failed", exc_info=error)
    return AdalogError(Code.INTERNAL, "the transaction failed and nothing was applied; the server's log says why")
