"""Random clients of some gateways while these are killed and paused, and then the checker's word on it."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from tests.several.checker import QUERY, SCHEMA, check, replayed, rows_of
from tests.several.clients import Address, Caller, Client, Subscriber, log_of, patiently
from tests.several.history import History
from tests.waiting import until

# So many seconds in the suite, and in longer runs; and until so many transactions were answered.
SECONDS: Final = float(os.environ.get("STORM_SECONDS", "5"))
_ENOUGH: Final = 20
SEED: Final = int(os.environ.get("STORM_SEED", "1"))
_TRANSACT: Final = "mutation($tx: EDN!) { transact(tx: $tx) { t } }"
_Q: Final = "query($q: EDN!, $t: Long) { q(query: $q, basis: {t: $t}) { rows basisT } }"

Trouble = Callable[[random.Random, threading.Event], None]
"""Makes trouble until the event is set, and leaves all gateways running."""


def storm(
    addresses: Sequence[Address],
    trouble: Trouble,
    *,
    fresh: bool,
    clients: int = 6,
    seed: int = SEED,
    seconds: float = SECONDS,
    history: History | None = None,
) -> Counter[str]:
    """How much was looked at. Raises Broken where the history is none of one database.

    seconds: after which the storm ends, unless the trouble has ended before or too little was answered. history: an
    empty one, to be looked at meanwhile and afterwards.
    """
    chance = random.Random(f"trouble {seed}")
    first = Caller(addresses, chance)
    patiently(lambda: first.ask(_TRANSACT, tx=SCHEMA))
    history, stopped = history or History(), threading.Event()
    writers = [Client(number, seed, addresses, history, stopped) for number in range(clients)]
    followers = [Subscriber(number, seed, addresses, history) for number in range(2)]
    clock = threading.Thread(target=_end, args=(seconds, history, stopped))
    for thread in (*writers, *followers, clock):
        thread.start()
    try:
        trouble(chance, stopped)
    finally:
        stopped.set()
        clock.join()
        for writer in writers:
            writer.join(60)
    log = log_of(addresses[0])
    states, _ = replayed(log)
    last = len(states) - 1
    changed = next((t for t in range(last, 0, -1) if states[t] != states[t - 1]), 0)
    for follower in followers:
        follower.finish(changed, 60)
        follower.join(60)
    threads: list[Client | Subscriber] = [*writers, *followers]
    for thread in threads:
        assert not thread.is_alive(), thread.name
        assert thread.failure is None, thread.failure
    # All gateways end in one state.
    for address in addresses:
        own = Caller([address], chance)
        for _ in range(6):
            found = patiently(partial(own.ask, _Q, q=QUERY, t=last))["q"]
            assert frozenset(map(tuple, found["rows"])) == rows_of(states[last])
            own.move()
        own.close()
    first.close()
    return check(history, log, fresh=fresh)


def _end(seconds: float, history: History, stopped: threading.Event) -> None:
    stopped.wait(seconds)
    until(lambda: stopped.is_set() or history.has_answered(_ENOUGH))
    stopped.set()
