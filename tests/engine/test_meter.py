"""Buckets of units: what is admitted, what is in debt, and how many buckets there are."""

from __future__ import annotations

import threading

import pytest

from adalog.datalog.errors import Code
from adalog.executor.bounds import meter
from adalog.executor.bounds.client import Client
from adalog.executor.bounds.meter import Buckets, Charge, OverdrawnError, Tab


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def buckets(clock: Clock) -> Buckets:
    return Buckets(rate=10, burst=100, threads=2, clock=clock)


def test_a_bucket_is_emptied_and_refilled(buckets: Buckets, clock: Clock) -> None:
    ada, bob = buckets.of("ada"), buckets.of("bob")
    buckets.of("ada").admit(70)
    with pytest.raises(OverdrawnError, match=r"30 are left .* 'ada' may use: 10 a second, up to 100") as refused:
        ada.admit(45)
    assert (refused.value.code, refused.value.retry_after, buckets.refused) == (Code.RATE_LIMITED, 2, 1)
    bob.admit(45)
    clock.now = 1.5
    ada.admit(45)
    clock.now = 1000
    ada.admit(50)
    ada.admit(50)
    with pytest.raises(OverdrawnError):
        ada.admit(1)


def test_what_is_larger_than_half_a_bucket_wants_half_of_one(buckets: Buckets, clock: Clock) -> None:
    buckets.of("ada").admit(50)
    buckets.of("ada").admit(1000)
    ada = buckets.of("ada")
    with pytest.raises(OverdrawnError) as refused:
        ada.admit(1)
    # Out of a debt of 950, and one more.
    assert refused.value.retry_after == 96
    clock.now = 99
    with pytest.raises(OverdrawnError) as refused:
        ada.admit(1000)
    assert refused.value.retry_after == 1
    clock.now = 100
    ada.admit(1000)


@pytest.mark.parametrize("rate", [0.7, 3, 10, 1_000.1, 1e7])
@pytest.mark.parametrize("costs", [(10, 30), (10, 30, 40), (10, 39, 1_000), (1, 1, 1, 1, 90)])
def test_a_request_that_waits_as_long_as_told_is_admitted(
    clock: Clock, rate: float, costs: tuple[float, ...]
) -> None:
    """What of it was admitted before a part of it was refused costs again. Each part tells for itself, once."""
    buckets = Buckets(rate, 100, 1, clock)
    buckets.take("ada", 95)
    told = []

    def ask() -> None:
        ada = buckets.of("ada")
        for cost in costs:
            ada.admit(cost)

    while len(told) <= len(costs):
        try:
            ask()
        except OverdrawnError as refused:
            told.append(int(refused.retry_after or 0))
            clock.now += told[-1]
        else:
            break
    assert len(told) <= len(costs), told


def test_work_is_settled_for_what_it_did(buckets: Buckets) -> None:
    ada = buckets.of("ada")
    charge = Charge(ada)
    charge.expect(60)
    # Begun once more, and expected to be less by then.
    charge.expect(50)
    charge.expect(90)
    with pytest.raises(OverdrawnError):
        charge.expect(150)
    charge.spend(0.000_002)
    charge.settle()
    # What was not spent came back: of 100 units there were taken 2 threads for 2 µs, 40 of them.
    ada.admit(40)
    ada.admit(20)
    with pytest.raises(OverdrawnError):
        ada.admit(1)


def test_a_tab_is_never_refused_and_always_counted(buckets: Buckets) -> None:
    ada = buckets.of("ada")
    client = Client("ada", 1, ada)
    assert client.admitted == client
    assert isinstance(client.admitted.meter, Tab)
    for _ in range(3):
        client.admitted.meter.admit(80)
    with pytest.raises(OverdrawnError):
        ada.admit(1)
    assert Client("ada").admitted.meter is None


def test_only_those_who_used_something_lately_are_kept(
    buckets: Buckets, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meter, "_MOST_BUCKETS", 50)
    for number in range(200):
        buckets.of(f"address {number}").admit(1)
    assert len(buckets) == 50
    # Somebody in debt is not forgotten because others come.
    debtor = buckets.of("debtor")
    debtor.admit(1000)
    for number in range(40):
        buckets.of(f"other {number}").admit(1)
    with pytest.raises(OverdrawnError):
        debtor.admit(1)
    assert len(buckets) <= 50
    clock.now = 1000
    buckets.of("last").admit(1)
    assert len(buckets) == 1


def test_threads_take_no_more_than_there_is() -> None:
    buckets = Buckets(rate=1e-9, burst=1000, threads=1)
    admitted: list[int] = []

    def take() -> None:
        ada = buckets.of("ada")
        for _ in range(400):
            try:
                ada.admit(1)
            except OverdrawnError:
                continue
            admitted.append(1)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(admitted), buckets.refused) == (1000, 2200)
