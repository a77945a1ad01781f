"""Writers on a database whose disk fails; run with the shim loaded, and told what to do by lines of JSON.

Each line begins a life: a process of its own, forked, that opens the folder and writes with four threads until it
is killed. What it asks and is answered goes to its output, line by line, before anything else is done.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import time
from typing import Any

from adalog.datalog.errors import AdalogError
from adalog.store.checkpoint import compactor, replay
from adalog.store.database import Database
from adalog.store.tries import relation
from adalog.store.writer import in_doubt

WRITERS = 4


def say(out: int, *what: Any) -> None:
    os.write(out, (json.dumps(what) + "\n").encode())


def live(out: int, folder: str, life: int) -> None:
    """Writes until it is killed. Every number is written once, and every third is written without a key."""
    try:
        database = Database.open(folder)
    except AdalogError as error:
        say(out, "closed", error.code, error.message)
        return
    say(out, "open", database.snapshot().t)

    def write(worker: int) -> None:
        newest = database.snapshot().t
        for turn in range(1_000_000):
            number = (life * WRITERS + worker) * 1_000_000 + turn
            key = None if number % 3 == 0 else f"key {number}"
            tx = f'[[:db/add "a" :n {number}] [:db/add "b" :worker {worker}] [:db/add 1 :last {number}]]'
            for _ in range(1000):
                say(out, "asked", number)
                try:
                    report = database.transact(tx, idempotency_key=key)
                except AdalogError as error:
                    say(out, "refused", number, error.code, error.message, error.retryable)
                    if not error.retryable or (key is None and turn % 2):
                        break
                    time.sleep(0.002)
                else:
                    say(out, "answered", number, report.t, report.tempids["a"])
                    newest = report.t
                    break
            # What is read is what was there before, whatever the disk does.
            assert database.snapshot().t >= newest

    for worker in range(WRITERS):
        threading.Thread(target=write, args=(worker,), daemon=True).start()
    threading.Event().wait()


def main() -> None:
    compactor._LEAST = compactor._ENOUGH = relation._LEAST = 40  # type: ignore[misc, attr-defined]
    replay._APART_SECONDS = 0.02  # type: ignore[misc]
    in_doubt._REST = 0.01  # type: ignore[misc]
    shim = ctypes.CDLL(None)
    # A fork inherits no threads, so there are none yet.
    for line in sys.stdin:
        told = json.loads(line)
        out = os.open(told["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            journal = told["journal"].encode()
            shim.faults_begin(told["folder"].encode(), journal, ctypes.c_uint64(told["seed"]))
            try:
                live(out, told["folder"], told["life"])
            finally:
                os._exit(0)
        os.close(out)
        print(child, flush=True)
        # Until its end was seen, nobody else has its number.
        if not sys.stdin.readline():
            # The test is gone.
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print("over", flush=True)


if __name__ == "__main__":
    main()
