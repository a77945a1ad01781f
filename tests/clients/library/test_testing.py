"""What the library offers to tests of others."""

from __future__ import annotations

from datetime import timedelta

import adalog
from adalog import testing
from adalog.testing import adalog_clock, adalog_db

__all__ = ["adalog_clock", "adalog_db"]
FORMS = [{"db/id": "a", "n/x": 1, "n/to": {"db/id": "b", "n/x": 2}}, {"n/x": 3}]


def test_the_fixtures(adalog_db: adalog.Connection, adalog_clock: testing.FrozenClock) -> None:
    assert adalog_db.transact(FORMS).tx_instant == adalog_clock.now
    later = adalog_clock.advance(timedelta(milliseconds=1))
    assert adalog_db.transact(FORMS).tx_instant == later
    adalog_clock.advance(-timedelta(days=1))
    assert adalog_db.transact(FORMS).tx_instant == later
    assert len(adalog_db.as_of(later).q("[:find ?x :where [_ :n/x ?x]]")) == 3
    assert adalog_db.with_(FORMS).q("[:find (max ?t) . :where [_ :db/txInstant ?t]]").value == later


def test_equal_transactions_give_equal_reports() -> None:
    with testing.memory() as one, testing.memory() as other:
        assert one.transact(FORMS) == other.transact(FORMS)
