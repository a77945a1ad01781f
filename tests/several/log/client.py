"""A process of its own with a database on a shared log, for `test_processes`: told by its standard input, and
telling what was answered, a line of JSON each.

    python -m tests.several.log.client LOCATION SEED THREADS TRANSACTIONS [stop]

`stop`: it stops itself, as by SIGSTOP, when it has had its first turn and before it commits.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
from random import Random
from typing import Any

from adalog.datalog.errors import RETRYABLE, AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.log import server, shared_log
from tests.several.log.logs import state

PEOPLE = 5
_N = Keyword("n")
_lock = threading.Lock()


def say(**told: Any) -> None:
    with _lock:
        print(json.dumps(told), flush=True)


def digest(database: Database) -> str:
    """A short name of all that is the same wherever one log is read."""
    return hashlib.sha256(repr(state(database)).encode()).hexdigest()


def asked(rng: Random, database: Database) -> tuple[str, str]:
    """What is done, and the transaction that does it."""
    kind = rng.choice(["count", "count", "swap", "person", "function"])
    match kind:
        case "count":
            return kind, "[[:db.fn/inc 1 :n]]"
        case "swap":
            now = next((each.v for each in database.snapshot().datoms("EAVT", [2, _N])), None)
            return kind, f"[[:db/cas 2 :n {'nil' if now is None else now} {(now or 0) + 1}]]"
        case "person":
            name = rng.randrange(PEOPLE)
            return kind, f'[{{:email "{name}@x" :said "{rng.random()}"}} [:db.fn/inc [:email "{name}@x"] :n]]'
        case _:
            return kind, '[{:db/id "new" :n 0 :said "new"}]'


def act(database: Database, rng: Random, name: str, number: int) -> None:
    key = f"{name}-{number}"
    kind, tx = asked(rng, database)
    while True:
        try:
            report = database.transact(tx, idempotency_key=key)
        except AdalogError as error:
            if error.code in (Code.CAS_FAILED, Code.TX_INVALID):
                say(refused=key, kind=kind)
                return
            if error.code not in RETRYABLE and error.code is not Code.READ_ONLY:
                say(failed=str(error))
                return
        else:
            say(key=key, kind=kind, t=report.t, instant=report.tx_instant.timestamp())
            return


def stop_in_the_turn(number: int) -> None:
    """Has this process stop before its append of that number."""
    appends = iter(range(1, 1 << 30))

    def stopping(append: Any) -> Any:
        def stopped(self: Any, *given: Any) -> None:
            if next(appends) == number:
                say(stopping=True)
                os.kill(os.getpid(), signal.SIGSTOP)
            append(self, *given)

        return stopped

    server.ServerLog._commit = stopping(server.ServerLog._commit)  # type: ignore[method-assign]
    own = stopping(shared_log.SharedFileLog._append_by_driver)
    shared_log.SharedFileLog._append_by_driver = own  # type: ignore[method-assign]


def main(location: str, seed: str, threads: str, transactions: str, stop: str = "") -> None:
    # Quicker than by default, so that nobody has to wait for long.
    server._SESSION = server._SESSION.replace(b"'5s'", b"'1s'")  # type: ignore[misc]
    server._SIGN_SECONDS = 0.2  # type: ignore[misc]
    if stop:
        stop_in_the_turn(3)
    with Database.open(location, shared=True) as database:
        say(ready=True)
        sys.stdin.readline()

        def run(number: int) -> None:
            rng = Random(f"{seed}/{number}")
            for each in range(int(transactions)):
                act(database, rng, f"{seed}.{number}", each)

        running = [threading.Thread(target=run, args=(number,)) for number in range(int(threads))]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        say(done=True)
        while (line := sys.stdin.readline()).strip():
            waiting = database.reached(int(line))
            if waiting is not None:
                waiting.result(30)
            say(t=database.snapshot().t, state=digest(database))


if __name__ == "__main__":
    main(*sys.argv[1:])
