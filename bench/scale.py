"""What 10⁸ datoms cost: 25 million people with id, name, age and friend, imported, opened, queried, written.

DuckDB has the same people in this process, with two threads, and takes turns with the server. The yardstick of
light requests is an empty Strawberry resolver in the same run. At the end the server is killed and started again.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench import folder, server
from bench.line import Line
from bench.process import Use, memory, use
from bench.work import THREADS

_PEOPLE: Final = 25_000_000
_QUICK: Final = 250_000
_AT_ONCE: Final = 1_000_000
_AGES: Final = 100
_AGE: Final = 30
_REQUESTS: Final = 1_200
_ON_TOP: Final = 4_000
_WRITERS: Final = 16
_ROUNDS: Final = 6
_REST_SECONDS: Final = 20.0
_GB: Final = 1e9

_SCHEMA: Final = """[
 {:db/ident :person/id :db/valueType :db.type/long :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :person/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :person/age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :person/friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}]"""
_MAPPING: Final = """
schema: schema.edn
sources:
  people:
    path: people.parquet
    entity: {attribute: person/id, column: id}
    attributes:
      person/name: name
      person/age: age
      person/friend: {column: friend, ref: person/id}
"""
_OPEN: Final = """
import sys, time
from adalog.store.database import Database
began = time.perf_counter()
with Database.open(sys.argv[1]):
    print(time.perf_counter() - began)
"""
_EMPTY: Final = '{"query":"{ empty }"}'
_COUNTED: Final = "query ($query: EDN!) { q(query: $query) { rows stats { engine } } }"
_ANY: Final = "[:find ?e . :where [?e :db/ident :db/ident]]"
_NAME: Final = "[:find ?n . :in $ ?i :where [?p :person/id ?i] [?p :person/name ?n]]"
_TWO_HOPS: Final = (
    "[:find ?n . :in $ ?i :where"
    " [?p :person/id ?i] [?p :person/friend ?f] [?f :person/friend ?g] [?g :person/name ?n]]"
)
_AGE_OF: Final = "[:find ?a . :in $ ?i :where [?p :person/id ?i] [?p :person/age ?a]]"
_FRIENDS: Final = "from people p join people f on p.friend = f.id"


@dataclass(frozen=True)
class _Question:
    """The same for the server and DuckDB. The bar is milliseconds, or a multiple of DuckDB's time."""

    title: str
    query: str
    sql: str
    bar: float
    milliseconds: bool = False


_QUESTIONS: Final = (
    _Question(
        "friends of one age, counted",
        f"[:find (count ?p) . :where [?p :person/friend ?f] [?f :person/age {_AGE}]]",
        f"select count(*) {_FRIENDS} where f.age = {_AGE}",
        bar=1.0,
    ),
    _Question(
        "friends of each age, counted",
        "[:find ?a (count ?p) :where [?p :person/friend ?f] [?f :person/age ?a]]",
        f"select f.age, count(*) {_FRIENDS} group by f.age",
        bar=1.0,
    ),
    _Question(
        "names by starts-with?, counted",
        '[:find (count ?p) . :where [?p :person/name ?n] [(starts-with? ?n "person 99999")]]',
        "select count(*) from people where starts_with(name, 'person 99999')",
        bar=5.0,
        milliseconds=True,
    ),
    _Question(
        "names by like, counted",
        '[:find (count ?p) . :where [?p :person/name ?n] [(like ?n "person 99999%")]]',
        "select count(*) from people where name like 'person 99999%'",
        bar=5.0,
        milliseconds=True,
    ),
    _Question(
        "names by includes?, counted",
        '[:find (count ?p) . :where [?p :person/name ?n] [(includes? ?n "99999")]]',
        "select count(*) from people where contains(name, '99999')",
        bar=2.0,
    ),
)

Say = Callable[[str], None]


@dataclass(frozen=True)
class _Light:
    """Milliseconds of a kind of request: by the clock, and of the server's CPU for each."""

    p50: float
    p99: float
    cpu: float

    def beside(self, empty: _Light) -> str:
        return (
            f"p99 {self.p99:.2f} ms; empty Strawberry resolver {empty.p50:.2f} ms: {self.p50 / empty.p50:.2f} ×;"
            f" CPU {self.cpu:.2f} ms : {empty.cpu:.2f}"
        )


@dataclass(frozen=True)
class _Server:
    process: server.Process
    port: int

    def load(self, bodies: list[str]) -> _Light:
        used = server.cpu_seconds(self.process)
        report = server.load(self.port, 1, bodies)
        cpu = (server.cpu_seconds(self.process) - used) / len(bodies) * 1000
        return _Light(report.p50, report.p99, cpu)


def scale(quick: bool, say: Say) -> list[Line]:
    """Imports, opens, asks, writes on top, asks again, kills the server and starts another."""
    people = _QUICK if quick else _PEOPLE
    with folder.empty() as work:
        bench = _Scale(work, people, say)
        bench.import_people()
        bench.open_twice()
        bench.serve()
        bench.recover()
    return bench.lines


class _Scale:
    """The steps in order; each adds its lines. Clocks in milliseconds unless a unit says otherwise."""

    def __init__(self, work: Path, people: int, say: Say) -> None:
        self.lines: list[Line] = []
        self._work, self._data, self._people, self._say = work, work / "data", people, say
        # What the transactions wrote, by person.
        self._ages: dict[int, int] = {}
        self._names: dict[int, str] = {}

    def import_people(self) -> None:
        (self._work / "schema.edn").write_text(_SCHEMA)
        (self._work / "mapping.yaml").write_text(_MAPPING)
        _write_people(self._work / "people.parquet", self._people)
        cli = ("-c", "from adalog.gateway.cli import main; main()")
        arguments = ("import", "--data", str(self._data), "--mapping", str(self._work / "mapping.yaml"))
        done = subprocess.run([sys.executable, *cli, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the import failed: {done.stderr[-600:]}")
        told = json.loads(done.stdout.strip().splitlines()[-1])
        self._add(f"import of {told['datoms']:,} datoms", "s", told["seconds"])
        size = folder.size(self._data)
        note = f"{size / told['datoms']:.0f} bytes a datom"
        self._add("disk after the import", "GB", size / _GB, bar=6.0, note=note)

    def open_twice(self) -> None:
        for title, bar in (("opened after the import", 3.0), ("opened again", 1.0)):
            done = subprocess.run(
                [sys.executable, "-c", _OPEN, str(self._data)], capture_output=True, text=True, check=True
            )
            self._add(title, "s", float(done.stdout), bar=bar)

    def serve(self) -> None:
        with self._served("started") as (process, port), ExitStack() as stack:
            empty = server.free_port()
            strawberry = stack.enter_context(server.strawberry(empty))
            server.first_answer(strawberry, empty, _EMPTY)
            peer = _Server(strawberry, empty)
            ours = _Server(process, port)
            duck = stack.enter_context(duckdb.connect(":memory:", config={"threads": THREADS}))
            duck.execute("set enable_progress_bar = false")
            self._light(ours, peer, "")
            server.ask(port, server.q(_QUESTIONS[0].query))
            self._tell_memory(process, f"after {_REQUESTS:,} of each and a count", bar=3.0)
            duck.execute(f"create table people as from '{self._work / 'people.parquet'}'")
            self._compare(ours, duck, "")
            self._tell_memory(process, "after the questions", bar=3.0)
            self._write_on_top(port)
            later = f", {_ON_TOP:,} transactions later"
            self._light(ours, peer, later)
            self._compare(ours, duck, later)
            self._tell_memory(process, "in the end", bar=3.0)
            before = use(process.pid)
            time.sleep(_REST_SECONDS)
            after = use(process.pid)
            self._say(f"    in the end {_said(before)}; after a rest {_said(after)}")
            process.kill()
            process.wait()

    def recover(self) -> None:
        with self._served("started after kill -9") as (_, port):
            connection = HTTPConnection("127.0.0.1", port, timeout=30)
            for person, age in self._ages.items():
                kept = server.answered(connection, server.q(_AGE_OF, person))["q"]["rows"]
                if kept != [[age]]:
                    raise AssertionError(f"person {person} has {kept} after a restart, not {age}")
            connection.close()
        self._add("disk in the end", "GB", folder.size(self._data) / _GB, bar=6.0)

    @contextmanager
    def _served(self, title: str) -> Any:
        port, began = server.free_port(), time.perf_counter()
        with server.adalog(self._data, port, ADALOG_CACHE_BYTES="0", ADALOG_RATE_LIMIT="0") as process:
            server.first_answer(process, port, server.q(_ANY))
            self._add(f"{title}: first answer", "s", time.perf_counter() - began)
            server.until_ready(port)
            self._add(f"{title}: ready", "s", time.perf_counter() - began)
            self._tell_memory(process, title, bar=None)
            yield process, port

    def _light(self, ours: _Server, peer: _Server, when: str) -> None:
        people = [(each * 7_919_993 + 13) % self._people for each in range(_REQUESTS)]
        beside = peer.load([_EMPTY] * _REQUESTS)
        for title, query, bar in (("lookup", _NAME, 1.3), ("two hops", _TWO_HOPS, 1.2)):
            found = ours.load([server.q(query, person) for person in people])
            self._add(f"{title}{when}: p50", "ms", found.p50, bar=bar, note=found.beside(beside))
        times = []
        connection = HTTPConnection("127.0.0.1", ours.port, timeout=30)
        used = server.cpu_seconds(ours.process)
        for number, person in enumerate(people):
            # Another one each time.
            age = self._ages.get(person, _AGES) + number + 1
            began = time.perf_counter()
            server.answered(connection, server.transact(f"[{{:person/id {person} :person/age {age}}}]"))
            read = server.answered(connection, server.q(_AGE_OF, person))["q"]["rows"]
            times.append((time.perf_counter() - began) * 1000)
            if read != [[age]]:
                raise AssertionError(f"person {person} has {read}, not {age}")
            self._ages[person] = age
        cpu = (server.cpu_seconds(ours.process) - used) / len(people) * 1000
        connection.close()
        found = _Light(statistics.median(times), float(np.percentile(times, 99)), cpu)
        self._add(f"write and read{when}: p50", "ms", found.p50, bar=2.0, note=found.beside(beside))

    def _compare(self, ours: _Server, duck: Any, when: str) -> None:
        changed = pa.table({"id": list(self._ages), "age": list(self._ages.values())})
        names = pa.table({"id": list(self._names), "name": pa.array(self._names.values(), pa.string())})
        for column, values in (("age", changed), ("name", names)):
            duck.register("changed", values)
            duck.execute(f"update people set {column} = changed.{column} from changed where people.id = changed.id")
        for question in _QUESTIONS:
            self._ask(question, ours, duck, when)

    def _ask(self, question: _Question, ours: _Server, duck: Any, when: str) -> None:
        mine, theirs, cpu, their_cpu = [], [], [], []
        body, engines = json.dumps({"query": _COUNTED, "variables": {"query": question.query}}), []
        for _ in range(_ROUNDS):
            began, used = time.perf_counter(), server.cpu_seconds(ours.process)
            found = server.ask(ours.port, body)["q"]
            rows = found["rows"]
            engines.append(found["stats"]["engine"])
            mine.append((time.perf_counter() - began) * 1000)
            cpu.append((server.cpu_seconds(ours.process) - used) * 1000)
            began, used = time.perf_counter(), time.process_time()
            expected = duck.execute(question.sql).fetchall()
            theirs.append((time.perf_counter() - began) * 1000)
            their_cpu.append((time.process_time() - used) * 1000)
        if sorted(map(tuple, rows)) != sorted(expected):
            raise AssertionError(f"{question.title}: {rows[:3]}, DuckDB {expected[:3]}")
        note = f"the first {mine[0]:,.0f} ms; CPU {min(cpu):,.0f} ms : {min(their_cpu):,.0f}"
        if set(engines) != {"LOCAL"}:
            note += f"; engines {', '.join(engines)}"
        title = f"{question.title}{when}"
        if question.milliseconds:
            self._add(title, "ms", min(mine), bar=question.bar, note=f"{note}; DuckDB {min(theirs):.1f} ms")
        else:
            self._add(title, "ms", min(mine), bar=question.bar, against="DuckDB", theirs=min(theirs), note=note)

    def _write_on_top(self, port: int) -> None:
        step = max(1, self._people // _ON_TOP)
        people = range(1, self._people, step)[:_ON_TOP]
        bodies = [
            server.transact(f'[{{:person/id {each} :person/age {each % 50} :person/name "renamed {each}"}}]')
            for each in people
        ]
        report = server.load(port, _WRITERS, bodies)
        self._ages |= {each: each % 50 for each in people}
        self._names |= {each: f"renamed {each}" for each in people}
        self._add(f"{_ON_TOP:,} transactions on top, {_WRITERS} clients", "1/s", report.per_second, more=True)

    def _tell_memory(self, process: server.Process, when: str, bar: float | None) -> None:
        now, all_of_it = memory(process.pid), sum(memory(each).proportional for each in _family(process.pid))
        note = (
            f"proportional {now.proportional / _GB:.2f}, private {now.private / _GB:.2f}, not of files"
            f" {now.anonymous / _GB:.2f}; with Spark's processes {all_of_it / _GB:.2f}"
        )
        self._add(f"resident, {when}", "GB", now.resident / _GB, bar=bar, note=note)

    def _add(
        self,
        title: str,
        unit: str,
        ours: float,
        *,
        bar: float | None = None,
        note: str = "",
        against: str = "",
        theirs: float | None = None,
        more: bool = False,
    ) -> None:
        beside = f"; {against} {theirs:,.1f}" if theirs is not None else ""
        self._say(f"    {title}: {ours:,.3g} {unit}{beside}{'; ' if note else ''}{note}")
        size = f"{self._people * 4 / 1e6:.3g} million datoms"
        self.lines.append(
            Line("scale", f"{title} ({size})", unit, ours, against, theirs, bar=bar, more=more, note=note)
        )


def _said(now: Use) -> str:
    return f"{now.threads} threads, {now.descriptors} descriptors, {now.rss / _GB:.2f} GB"


def _write_people(path: Path, count: int) -> None:
    dice = np.random.default_rng(7)
    writer = None
    for first in range(0, count, _AT_ONCE):
        ids = np.arange(first, min(first + _AT_ONCE, count))
        table = pa.table(
            {
                "id": ids,
                "name": pc.binary_join_element_wise("person", pa.array(ids).cast(pa.string()), " "),
                "age": dice.integers(0, _AGES, len(ids)),
                "friend": dice.integers(0, count, len(ids)),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def _family(pid: int) -> list[int]:
    """A process and those it started, in turn."""
    found = [pid]
    for each in found:
        try:
            for thread in os.listdir(f"/proc/{each}/task"):
                found += map(int, Path(f"/proc/{each}/task/{thread}/children").read_text().split())
        except OSError:
            continue
    return found
