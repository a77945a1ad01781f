"""What the database costs: a transaction as it grows, memory a datom, the wait for a first answer."""

from __future__ import annotations

import gc
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from adalog.datalog.values import Keyword
from adalog.examples.debian.load import load as load_debian
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from bench import folder, server
from bench.line import Line

_SCHEMA: Final = """[{:db/ident :item/key :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :item/count :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :item/next :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :item/label :db/valueType :db.type/string :db/cardinality :db.cardinality/one}]"""
_ATTRIBUTES: Final = 4
_SMALL, _LARGE = 10_000, 1_000_000
_READ: Final = "[:find ?count . :in $ ?key :where [?i :item/key ?key] [?i :item/count ?count]]"
_FIRST: Final = '[:find ?version . :where [?p :package/name "bash"] [?p :package/version ?version]]'


def transaction(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """The same transactions on a large and a small database in turn, and a bound read after each."""
    repeats = 100 if quick else 500
    sizes = (_SMALL, _LARGE // 10 if quick else _LARGE)
    writes: dict[int, list[float]] = {size: [] for size in sizes}
    reads: dict[int, list[float]] = {size: [] for size in sizes}
    databases = {size: _filled(size) for size in sizes}
    pools = {size: Pool(database) for size, database in databases.items()}
    random = np.random.default_rng(1)
    for number in range(-20, repeats):
        key = int(random.integers(_SMALL // _ATTRIBUTES - 1)) + 1
        tx = f'[{{:item/key "item {key}" :item/count {number}}} [:db/add [:item/key "item 1"] :item/next {key}]]'
        for size, database in databases.items():
            start = time.perf_counter()
            database.transact(tx)
            wrote = time.perf_counter()
            answer = pools[size].run(QueryRequest(_READ, (f"item {key}",), engine="LOCAL")).rows()
            done = time.perf_counter()
            assert answer == [(number,)], f"read {answer} after writing {number}"
            if number >= 0:
                writes[size].append(wrote - start)
                reads[size].append(done - wrote)
    for size in sizes:
        pools[size].close()
        databases[size].close()
    small, large = sizes
    say(f"    medians: {_ms(writes[small]):.3f} ms at {small:,}, {_ms(writes[large]):.3f} ms at {large:,} datoms")
    at = f"adalog at {small:,}"
    return [
        Line("transaction", f"one transaction at {large:,} datoms, in memory", "ms",
             _ms(writes[large]), at, _ms(writes[small]), bar=1.3),
        Line("read-after", f"a bound read after each transaction, at {large:,} datoms", "ms",
             _ms(reads[large]), at, _ms(reads[small])),
    ]  # fmt: skip


def memory(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Of the sample data with all its tries built: as the database counts, and as the process grows."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        counted, grown, datoms = pool.apply(_weigh)
    say(f"    {counted / datoms:.1f} bytes a datom counted, {grown / datoms:.1f} by growth of the process")
    note = f"{datoms:,} datoms"
    return [
        Line("memory", "bytes a datom, tries and dictionary, sample data", "B", counted / datoms, "", None,
             bar=100.0, note=note),
        Line("memory", "the same by growth of the process, in memory", "B", grown / datoms, "", None, note=note),
    ]  # fmt: skip


def startup(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """From starting the process to the first answer over HTTP, the sample data on disk, kernels compiled before."""
    seconds = []
    with folder.with_sample() as data:
        for number in range(2 if quick else 6):
            port = server.free_port()
            start = time.perf_counter()
            with server.adalog(data, port) as process:
                answer = server.first_answer(process, port, server.q(_FIRST))
                if number:
                    seconds.append(time.perf_counter() - start)
                assert answer["q"]["rows"], "no first answer"
    say(f"    {statistics.median(seconds):.2f} s")
    return [
        Line("startup", "start-up with the sample data to first answer", "s", statistics.median(seconds), "", None,
             bar=3.0, note=f"slowest of {len(seconds)}: {max(seconds):.2f} s")
    ]  # fmt: skip


def _filled(datoms: int) -> Database:
    items = np.arange(1, datoms // _ATTRIBUTES + 1, dtype=np.int64)
    database = Database.open(":memory:")
    database.bulk_load(
        _SCHEMA,
        {
            Keyword("item/key"): (items, [f"item {i}" for i in items]),
            Keyword("item/count"): (items, items),
            Keyword("item/next"): (items, np.roll(items, 1)),
            Keyword("item/label"): (items, [f"label {i % 1000}" for i in items]),
        },
    )
    return database


def _weigh() -> tuple[int, int, int]:
    """(bytes that the database counts, bytes that the process grew, datoms)."""
    # What loading needs once (Arrow, Parquet) is not the data's.
    with Database.open(":memory:") as database:
        load_debian(database)
    del database
    gc.collect()
    before = _resident()
    database = Database.open(":memory:")
    load_debian(database)
    snapshot = database.snapshot()
    for attribute in snapshot.attributes():
        snapshot.ev(attribute)
        snapshot.ve(attribute)
    gc.collect()
    return database.snapshot().nbytes(), _resident() - before, database.snapshot().datom_count


def _resident() -> int:
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _ms(seconds: list[float]) -> float:
    return statistics.median(seconds) * 1000
