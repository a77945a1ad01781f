"""A soak: minutes of mixed load on one gateway, and what it holds at the end compared with what it held early on.

Queries of texts that never come again, failures, timeouts, clients that leave, transactions, pulls, pages, `with`,
documents and arguments that are refused. `ADALOG_SOAK` is for how many seconds; ten minutes by default.
"""

# A request is a line, however long its query.
# ruff: noqa: E501

from __future__ import annotations

import itertools
import json
import os
import random
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from bench import folder, server
from bench.attacks import until_ready
from bench.hostile import Sent, asked, document, post_of, transacted
from bench.line import Line
from bench.process import Use, use

Say = Callable[[str], None]

_SECONDS: Final = 600.0
_CLIENTS: Final = 6
# Caches are full, and everything was loaded, when this share of the time is over.
_WARM: Final = 0.4
_REST_SECONDS: Final = 30.0
_BAR: Final = 1.1
# What a pool of threads or connections may differ by.
_FEW: Final = 8
_JOIN: Final = "[:find (count ?a) . :with ?b ?c :where [?a :package/depends ?b] [?b :package/depends ?c] [?a :package/size ?s] [(< {} ?s)]]"


@dataclass
class _Load:
    """What was asked so far, and how it went."""

    codes: Counter[str] = field(default_factory=Counter)
    number: Iterator[int] = field(default_factory=itertools.count)
    stop: threading.Event = field(default_factory=threading.Event)


def _light(n: int) -> Sent:
    return asked(f"[:find ?p ?v{n} :where [?p :package/size {n}] [?p :package/version ?v{n}]]")


def _rows(n: int) -> Sent:
    query = f"[:find ?p ?n ?s :where [?p :package/name ?n] [?p :package/size ?s] [(< {n * 7} ?s)]]"
    text = "query($q: EDN!) { q(query: $q, first: %d) { rows pageInfo { endCursor } stats { cache } } }"
    return document(text % (n % 3_000 + 1), q=query)


def _pull(n: int) -> Sent:
    return document(f'{{ a{n}: pull(pattern: "[* {{:package/depends [*]}}]", eid: "{n % 60_000 + 1}") }}')


def _in_find(n: int) -> Sent:
    return asked(
        f"[:find (pull ?p [* {{:package/_depends [:package/name]}}]) :where [?p :package/size ?s] [(< {n * 1_000} ?s)] :limit 50]"
    )


def _late(n: int) -> Sent:
    return asked(_JOIN.format(n), ms=50)


def _failing(n: int) -> Sent:
    texts = (
        f"[:find ?x{n} :where [?y :a{n} 1]]",
        f"[:find ?x :where [?x {n}",
        f"[:find ?x :where [(nope{n} 1) ?x]]",
    )
    return asked(texts[n % len(texts)])


def _refused(n: int) -> Sent:
    return document("{" + f"x{n}: database{{basisT}}" * 900 + "}")


def _arguments(n: int) -> Sent:
    return asked("[:find (sum ?x) . :in $ [?x ...]]", list(range(n, n + 2_000)))


def _strings(n: int) -> Sent:
    return asked(f'[:find (count ?t) . :where [?p :package/name ?s] [(str ?s "-{n}") ?t] :limit 5000]')


def _datoms(n: int) -> Sent:
    return document(
        f'{{ datoms(index: AEVT, components: [":package/size"], first: {n % 5_000}) {{ datoms {{ e v }} }} }}'
    )


def _with(n: int) -> Sent:
    return asked("[:find ?x . :where [1 :soak/with ?x]]", **{"with": f"[[:db/add 1 :soak/with {n}]]"})


def _transaction(n: int) -> Sent:
    return transacted(
        f'[[:db/add {n % 500 + 1} :soak/n {n}] [:db/add {n % 500 + 1} :soak/s "{n % 1_000}"]]', k=f"soak {n}"
    )


def _conflict(n: int) -> Sent:
    return transacted(f'[[:db/add 1 :package/size "wrong {n}"]]')


_KINDS: Final[tuple[tuple[Callable[[int], Sent], int], ...]] = (
    (_light, 60), (_rows, 4), (_pull, 6), (_in_find, 2), (_late, 2), (_failing, 8), (_refused, 1), (_arguments, 2),
    (_strings, 1), (_datoms, 2), (_with, 2), (_transaction, 6), (_conflict, 2),
)  # fmt: skip


def soak(quick: bool, say: Say) -> list[Line]:
    """What it holds at the end, by what it held when it was warm."""
    seconds = 60.0 if quick else float(os.environ.get("ADALOG_SOAK", _SECONDS))
    load = _Load()
    with folder.with_sample() as data, ExitStack() as stack:
        port = server.free_port()
        log = stack.enter_context((data.parent / f"{data.name}.log").open("wb"))
        stack.callback(Path(log.name).unlink)
        process = stack.enter_context(server.adalog(data, port, log, ADALOG_SPARK="off"))
        until_ready(port)
        threads = [threading.Thread(target=_client, args=(port, load, seed)) for seed in range(_CLIENTS)]
        threads.append(threading.Thread(target=_leaving, args=(port, load)))
        for thread in threads:
            thread.start()
        try:
            began = time.monotonic()
            warm = Use()
            while (passed := time.monotonic() - began) < seconds:
                time.sleep(min(5.0, seconds - passed))
                now = use(process.pid)
                if passed < seconds * _WARM:
                    warm = warm.or_more(now)
                say(
                    f"    {passed:4.0f} s: {_said(now)}; {_files(data)} files; {sum(load.codes.values()):,} requests"
                )
                _check(process)
        finally:
            load.stop.set()
            for thread in threads:
                thread.join()
        after = _rested(process.pid, warm)
        said = Path(log.name).read_text(errors="replace")
    say(f"    warm: {_said(warm)}; rested: {_said(after)}; {dict(load.codes)}")
    unforeseen = load.codes["INTERNAL"] + said.count("Traceback")
    return [
        Line("soak", "memory at the end, by that when warm", "MiB", after.rss / (1 << 20), "warm", warm.rss / (1 << 20), bar=_BAR),
        Line("soak", "threads beyond those when warm", "", max(0, after.threads - warm.threads), "", None, bar=_FEW),
        Line("soak", "descriptors beyond those when warm", "", max(0, after.descriptors - warm.descriptors), "", None, bar=_FEW),
        Line("soak", "unforeseen errors", "", unforeseen, "", None, bar=0.0),
    ]  # fmt: skip


def _client(port: int, load: _Load, seed: int) -> None:
    chance = random.Random(seed)
    kinds, weights = zip(*_KINDS, strict=True)
    connection = HTTPConnection("127.0.0.1", port, timeout=90, source_address=(f"127.0.0.{seed + 10}", 0))
    while not load.stop.is_set():
        [kind] = chance.choices(kinds, weights)
        sent = kind(next(load.number))
        try:
            connection.request("POST", "/graphql", sent.body, dict(sent.headers))
            answer = json.loads(connection.getresponse().read())
        except (OSError, HTTPException, ValueError) as failure:
            load.codes[type(failure).__name__] += 1
            connection.close()
            continue
        codes = {error["extensions"]["code"] for error in answer.get("errors", ())} or {"OK"}
        load.codes.update(codes)
    connection.close()


def _leaving(port: int, load: _Load) -> None:
    """Clients that are gone before their answer is there."""
    while not load.stop.wait(0.05):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 10, ("127.0.0.9", 0)) as left:
            left.sendall(post_of(asked(_JOIN.format(-next(load.number)), ms=60_000)))
            load.codes["left"] += 1


def _check(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        raise RuntimeError(f"the server ended with {process.returncode}")


def _rested(pid: int, warm: Use) -> Use:
    until = time.monotonic() + _REST_SECONDS
    while time.monotonic() < until:
        time.sleep(1.0)
        now = use(pid)
        if now.rss <= warm.rss and now.descriptors <= warm.descriptors:
            break
    return use(pid)


def _files(data: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(data))


def _said(now: Use) -> str:
    return f"{now.rss >> 20} MiB, {now.threads} threads, {now.descriptors} descriptors"
