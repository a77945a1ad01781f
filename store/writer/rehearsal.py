"""Transactions whose stored queries are slow: tried aside, on the durable database, while others go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Final

from adalog.datalog.errors import AdalogError, Code
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.settings import SECONDS, Evaluation, RehearsedQueries, TransactionSettings, Watch, overdue
from adalog.store.state.speculation import SpeculativeState
from adalog.store.transact.resolve import resolve, transaction_of
from adalog.store.writer.refusals import answering
from adalog.store.writer.request import TransactionRequest

_TRIES: Final = 2


class Rehearser:
    """put_back: gives a request that was tried another turn, when its stored queries are known."""

    def __init__(self, setting: TransactionSettings, put_back: Callable[[TransactionRequest], None]) -> None:
        self._setting = setting
        self._put_back = put_back

    def put(self, request: TransactionRequest, durable: Snapshot) -> None:
        """Has the transaction tried on the durable database, so that its stored queries are known in its next turn.
        Raises TIMEOUT where that was done before and what they read has changed since, RATE_LIMITED where too much
        is tried at once."""
        rehearsal = request.rehearsal = request.rehearsal or RehearsedQueries(time.monotonic() + SECONDS)
        rehearsal.tries += 1
        if rehearsal.tries > _TRIES or time.monotonic() > rehearsal.until:
            raise overdue()
        evaluator = self._setting.evaluator
        assert evaluator is not None, "what overran was evaluated"

        def rehearse(watch: Watch) -> None:
            evaluation = Evaluation(self._setting, watch, rehearsal=rehearsal, viewer=request.viewer)
            try:
                state = evaluation.guarded(SpeculativeState(durable))
                transaction = transaction_of(request.data, state, evaluation, self._setting.limits)
                resolve(transaction, state, evaluation, self._setting.policy)
            except AdalogError as error:
                # Any other refusal is the same in its turn, unless what it is about has changed by then.
                if error.code is Code.RATE_LIMITED:
                    raise

        tried = request.asking.run(evaluator.aside, rehearse, rehearsal.until)
        tried.add_done_callback(lambda done: self._tried(request, done))

    def _tried(self, request: TransactionRequest, done: Future[None]) -> None:
        failure = CancelledError() if done.cancelled() else done.exception()
        with answering(request.future):
            if failure is not None:
                raise failure
            self._put_back(request)
