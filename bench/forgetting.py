"""What an excision costs: its answer, light queries meanwhile, and how soon no file has what went.

Ten million datoms of a million persons, loaded as columns and served. One of them has some fifty, which are excised
while two clients ask light questions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from adalog.datalog.values import Keyword
from adalog.store.database import Database
from bench import folder, server
from bench.line import Line

_DATOMS: Final = 10_000_000
_QUICK: Final = 400_000
_EACH: Final = 10
_FRIENDS: Final = 6
_AT_ONCE: Final = 16_000
_FIRST: Final = 1_000
_PERSONS: Final = 6
# Datoms that a person gets by a transaction, beside those of the load.
_NOTES: Final = 40
_CLIENTS: Final = 2
_SLICE: Final = 400
_SLICES: Final = 5
_SECRET: Final = "a secret of person"
_PROMISED_SECONDS: Final = 2.0
_PROMISED_LATENCY: Final = 2.0
_CLEAN_SECONDS: Final = 600.0

_SCHEMA: Final = """[
 {:db/ident :person/key :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :person/age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :person/since :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :person/active :db/valueType :db.type/boolean :db/cardinality :db.cardinality/one}
 {:db/ident :person/note :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
 {:db/ident :person/friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""

Say = Callable[[str], None]


def forgetting(quick: bool, say: Say) -> list[Line]:
    """Loads, serves, excises some persons one after the other, and waits until no file has them."""
    persons = (_QUICK if quick else _DATOMS) // _EACH
    with folder.empty() as work:
        data = work / "data"
        _load(data, persons, say)
        port = server.free_port()
        tokens = {**server.UNCACHED, "ADALOG_RATE_LIMIT": "0"}
        with server.adalog(data, port, **tokens) as process:
            server.first_answer(process, port, server.q("[:find ?e . :where [?e :db/ident :db/ident]]"))
            server.until_ready(port)
            for number in range(_PERSONS):
                notes = " ".join(f'"{_SECRET} {number}, note {each}"' for each in range(_NOTES))
                server.ask(port, server.transact(f'[{{:person/key "{_key(number)}" :person/note [{notes}]}}]'))
            _slice(port, persons)
            alone = [_slice(port, persons) for _ in range(_SLICES)]
            answers, cleaned, during = [], [], list[float]()
            for number in range(_PERSONS):
                answered, clean, slices = _excised(port, data, persons, number)
                say(f"    answered in {answered:.2f} s, in no file after {clean:.1f} s, p99 {max(slices):.1f} ms")
                answers.append(answered)
                cleaned.append(clean)
                during += slices
    size = f"{persons * _EACH / 1e6:.2g} million datoms"
    each = f"a person of {persons:,}, {_NOTES + _EACH} datoms of {size}"
    alone_ms, during_ms = float(np.median(alone)), float(np.median(during))
    say(f"    p99 of light queries {alone_ms:.1f} ms alone, {during_ms:.1f} beside, at most {max(during):.1f}")
    return [
        Line("forgetting", f"{each}: answered", "s", max(answers), "", None, bar=_PROMISED_SECONDS),
        Line(
            "forgetting",
            f"light queries, {_CLIENTS} clients, beside an excision: p99",
            *("ms", during_ms, "without", alone_ms),
            bar=_PROMISED_LATENCY,
            note=f"{len(during)} times {_SLICE} queries, at most {max(during):.1f} ms",
        ),
        Line("forgetting", f"{each}: in no file", "s", max(cleaned), "", None),
    ]


def _key(number: int) -> str:
    return f"person number {number * 17 + 5}"


def _load(data: Path, persons: int, say: Say) -> None:
    began = time.perf_counter()
    dice = np.random.default_rng(11)
    with Database.open(str(data)) as database:
        database.transact(_SCHEMA)
        for first in range(0, persons, _AT_ONCE):
            numbers = np.arange(first, min(first + _AT_ONCE, persons))
            e = _FIRST + numbers
            friends = _FIRST + dice.integers(0, persons, len(numbers) * _FRIENDS)
            pairs = np.unique(np.stack((np.repeat(e, _FRIENDS), friends)), axis=1)
            database.bulk_load(
                "[]",
                {
                    Keyword("person/key"): (e, pa.array([f"person number {n}" for n in numbers.tolist()])),
                    Keyword("person/age"): (e, numbers % 90),
                    Keyword("person/since"): (e, 1_600_000_000 + numbers),
                    Keyword("person/active"): (e, pa.array([True] * len(e))),
                    Keyword("person/friend"): (pairs[0], pairs[1]),
                },
            )
        count = database.snapshot().datom_count
    say(f"    {count:,} datoms loaded in {time.perf_counter() - began:.0f} s")


def _slice(port: int, persons: int) -> float:
    """The p99 of some light queries, in milliseconds."""
    query = (
        "[:find [?age ...] :in $ ?key :where [?p :person/key ?key] [?p :person/friend ?f] [?f :person/age ?age]]"
    )
    bodies = [server.q(query, f"person number {(each * 7919 + 13) % persons}") for each in range(_SLICE)]
    return server.load(port, _CLIENTS, bodies).p99


def _excised(port: int, data: Path, persons: int, number: int) -> tuple[float, float, list[float]]:
    """Seconds until the excision was answered and until no file has the person's texts, and p99s meanwhile."""
    began, answered = time.perf_counter(), list[float]()

    def ask() -> None:
        server.ask(port, server.transact(f'[{{:db/excise [:person/key "{_key(number)}"]}}]'))
        answered.append(time.perf_counter() - began)

    asking, ended, slices = threading.Thread(target=ask), threading.Event(), list[float]()

    def query() -> None:
        while not ended.is_set():
            slices.append(_slice(port, persons))

    querying = threading.Thread(target=query)
    querying.start()
    asking.start()
    asking.join()
    secret = f"{_SECRET} {number}, note".encode()
    while _holds(data, secret):
        if time.perf_counter() - began > _CLEAN_SECONDS:
            raise RuntimeError("a file still has what was excised")
        time.sleep(0.2)
    clean = time.perf_counter() - began
    ended.set()
    querying.join()
    if not answered:
        raise RuntimeError("the excision was not answered")
    return answered[0], clean, slices


def _holds(data: Path, secret: bytes) -> bool:
    """Whether a file has it: those that are read are few, as the texts are in the log and in dictionaries alone."""
    for path in (data / "log.sqlite-wal", *data.glob("segments/dictionary*"), data / "log.sqlite"):
        try:
            if secret in path.read_bytes():
                return True
        except FileNotFoundError:
            continue
    return False
