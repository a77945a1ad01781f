"""Transactions that are read from the log draw on the memory of the process, and give it back."""

from __future__ import annotations

import pytest

from adalog.executor.bounds.budget import Memory
from adalog.gateway.settings.config import Settings
from adalog.store.log.payload import Logged
from tests.gateway.support import gateway

MIB = 1 << 20
TEXTS = "[" + " ".join(f'[:db/add {i} :s "{"x" * 900}{i}"]' for i in range(1, 1001)) + "]"
ASK = "{ transactions { t datoms { e a v } } }"


def test_a_transaction_is_weighed_before_it_is_decoded() -> None:
    with gateway(Settings(data=":memory:", timeout_ms=60_000), TEXTS) as opened:
        memory = opened.pool.memory = Memory(16 * MIB)
        assert "errors" not in opened.post(ASK).json()
        assert memory.held == 0
        others = [memory.budget(), memory.budget()]
        for each in others:
            each.take(7 * MIB)
        assert opened.code(ASK) == "RATE_LIMITED"
        for each in others:
            each.close()
        assert "errors" not in opened.post(ASK).json()
        assert memory.held == 0


def test_the_weight_is_that_of_what_is_compressed() -> None:
    made = Logged([(1, 2, "x" * 100_000, True)], {})
    assert Logged.weight(made.encoded()) > 100_000
    assert Logged.weight(Logged([(1, 2, 3, True)], {}).encoded()) < 1_000


def test_the_database_s_figures_cost_nothing_of_its_last_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    with gateway(Settings(data=":memory:"), TEXTS) as opened:

        def decoded(_: bytes) -> Logged:
            raise AssertionError("as large as the transaction")

        monkeypatch.setattr(Logged, "decoded", staticmethod(decoded))
        shown = opened.data("{ database { basisT txInstant } }")["database"]
        assert shown["basisT"] == 1
        assert shown["txInstant"].endswith("Z")
