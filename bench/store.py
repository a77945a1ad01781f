"""What the store costs: a transaction at two sizes, many writers, bulk loads, bytes, start-up, reads after writes.

`python -m bench.store` prints a table; a folder for the durable parts is made under the system's temporary one.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.files.segment import synced

SCHEMA = """[
 {:db/ident :item/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :item/size :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :item/weight :db/valueType :db.type/double :db/cardinality :db.cardinality/one}
 {:db/ident :item/needs :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""

Row = tuple[str, str]


def filled(location: str, datoms: int) -> Database:
    """A database with so many datoms: a name, a size and a weight each, and as many references again."""
    entities = datoms // 6
    dice = np.random.default_rng(7)
    e = np.arange(1, entities + 1)
    columns = {
        Keyword("item/name"): (e, np.array([f"item number {i}" for i in range(entities)])),
        Keyword("item/size"): (e, dice.integers(0, 1 << 30, entities)),
        Keyword("item/weight"): (e, dice.random(entities).round(3)),
        Keyword("item/needs"): (np.repeat(e, 3), dice.integers(1, entities + 1, 3 * entities)),
    }
    database = Database.open(location)
    database.bulk_load(SCHEMA, columns)
    return database


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def transactions(databases: list[Database], count: int) -> list[float]:
    """The median of one mixed transaction, in milliseconds: an upsert, a new entity, references, a retraction.

    The databases take turns, so that what else the machine does falls on all of them.
    """

    def one(database: Database, i: int) -> float:
        text = (
            f'[{{:item/name "item number {i}" :item/size {i}}}'
            f' {{:db/id "new" :item/name "new {i}" :item/needs [1 2]}}'
            f" [:db/retract {i + 1} :item/weight]]"
        )
        return seconds(lambda: database.transact(text))

    took = [[one(database, i) for database in databases] for i in range(count)]
    return [statistics.median(times) * 1000 for times in zip(*took, strict=True)]


def reading(database: Database, count: int) -> float:
    """The median of writing one value and reading it back in both directions, in milliseconds."""

    def one(i: int) -> float:
        def work() -> None:
            t = database.transact(f"[[:db/add {i + 1} :item/size {-i - 1}]]").t
            snapshot = database.snapshot()
            size = snapshot.attribute(Keyword("item/size"))
            assert size is not None
            assert snapshot.t == t
            assert snapshot.ev(size).row(i + 1).tolist() == [-i - 1]
            assert snapshot.ve(size).row(-i - 1).tolist() == [i + 1]

        return seconds(work)

    return statistics.median(one(i) for i in range(count)) * 1000


def writers(database: Database, threads: int, each: int) -> float:
    """Durable single-datom transactions a second from so many threads."""
    first = database.transact("[[:db/add 1 :counter 0]]").t

    def write(worker: int) -> None:
        for number in range(each):
            database.transact(f"[[:db/add {worker + 1} :counter {number + 1}]]")

    workers = [threading.Thread(target=write, args=(worker,)) for worker in range(threads)]

    def work() -> None:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    took = seconds(work)
    assert database.snapshot().t == first + threads * each
    return threads * each / took


def fsyncs(folder: Path) -> float:
    """Appends of 4 KiB with fdatasync a second: what the disk allows one after the other."""
    with (folder / "fsync").open("wb") as file:

        def work() -> None:
            for _ in range(200):
                file.write(bytes(4096))
                file.flush()
                os.fdatasync(file.fileno())

        return 200 / seconds(work)


def measured(folder: Path) -> list[Row]:
    rows: list[Row] = []
    small, large = filled(":memory:", 10_000), filled(":memory:", 1_000_000)
    at_small, at_large = transactions([small, large], 600)
    rows.append(("a transaction at 10,000 datoms", f"{at_small:.3f} ms"))
    rows.append(("a transaction at 1,000,000 datoms", f"{at_large:.3f} ms, {at_large / at_small:.2f} times that"))
    rows.append(("write one, read it back, at 10,000", f"{reading(small, 300):.3f} ms"))
    rows.append(("write one, read it back, at 1,000,000", f"{reading(large, 300):.3f} ms"))
    small.close()
    large.close()
    rows.append(("fdatasyncs of 4 KiB, one after the other", f"{fsyncs(folder):,.0f} a second"))
    path = str(folder / "bulk")
    started = time.perf_counter()
    database = filled(path, 1_000_000)
    rows.append(("bulk load of 1,000,000 datoms, durable", f"{time.perf_counter() - started:.2f} s"))
    rows.append(("closing, with the segments written", f"{seconds(database.close):.2f} s"))
    database = Database.open(path)
    rows.append(("bytes a datom", f"{database.snapshot().nbytes() / database.snapshot().datom_count:.1f}"))
    database.close()
    rows.append(("start-up from segments", f"{seconds(lambda: Database.open(path).close()) * 1000:.0f} ms"))
    (Path(path) / "checkpoint.json").unlink()
    rows.append(("start-up from the log alone", f"{seconds(lambda: Database.open(path).close()):.2f} s"))
    for threads in (1, 64):
        with Database.open(str(folder / f"writers-{threads}")) as database:
            rate = writers(database, threads, 300)
        rows.append((f"durable single-datom transactions, {threads} threads", f"{rate:,.0f} a second"))
    with Database.open(str(folder / "large")) as database:
        forms = " ".join(f'{{:item/name "n{i}" :item/size {i}}}' for i in range(20_000))
        database.transact(SCHEMA)
        rows.append(
            ("one transaction of 40,000 datoms", f"{seconds(lambda: database.transact(f'[{forms}]')):.2f} s")
        )
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        synced(folder)
        for what, figure in measured(folder):
            print(f"{what:50} {figure}")


if __name__ == "__main__":
    main()
