"""A transaction in the writer's queue, with the future of its report."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import Future
from contextvars import Context, copy_context
from dataclasses import dataclass, field

from adalog.datalog.values import Keyword
from adalog.store.checkpoint.adoption import Adoption
from adalog.store.excision.logged_past import LoggedPast
from adalog.store.files.folder import Folder
from adalog.store.log.entry import UsedKey
from adalog.store.state.idempotency import owned_key
from adalog.store.state.settings import RehearsedQueries
from adalog.store.transact.bulk import BulkData
from adalog.store.transact.resolve import TransactionData, digest_of
from adalog.store.values.datom import TxReport


@dataclass(eq=False)
class TransactionRequest:
    """Transaction data, what it depends on, and the future of its report."""

    data: TransactionData
    expected_basis_t: int | None = None
    idempotency_key: str | None = None
    # Whose it is, where a server authenticates its clients.
    principal: str | None = None
    # For whom it is checked by policies, and its report is made; None: for one that may do everything.
    viewer: object | None = None
    # Whether its idempotency key is the principal's alone, as it is once there are policies.
    owns_key: bool = False
    # As in `resolve`.
    types: Collection[Keyword] = ()
    # Whether it may be an excision.
    may_excise: bool = False
    # The part of the log that a step of retention has read; planning the step takes it.
    past: LoggedPast | None = None
    future: Future[TxReport] = field(default_factory=Future)
    # The client's context, for accounting of slow stored queries.
    asking: Context = field(default_factory=copy_context)
    rehearsal: RehearsedQueries | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """What the log may call the idempotency key, the name that it gets first."""
        key, principal = self.idempotency_key, self.principal
        if key is None:
            return ()
        return (key,) if principal is None or not self.owns_key else (owned_key(key, principal), key)

    def used_key(self) -> UsedKey | None:
        """The idempotency key with the digest of the data."""
        return None if self.idempotency_key is None else UsedKey(self.keys[0], digest_of(self.data))

    def begin(self) -> bool:
        """Starts it; False if it was cancelled."""
        return self.rehearsal is not None or self.future.set_running_or_notify_cancel()


@dataclass(eq=False)
class BulkRequest(TransactionRequest):
    """A transaction with columns besides its forms; a group of its own."""

    columns: BulkData = field(default_factory=dict)


@dataclass(eq=False)
class AdoptionRequest(TransactionRequest):
    """A transaction whose datoms, besides those of its forms, are in segments of the folder; a group of its own."""

    adoption: Adoption | None = None
    folder: Folder | None = None
