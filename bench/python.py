"""The Python library: how soon it answers in a new process, and what data frames take, here and over HTTP."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

import adalog
from adalog.datalog.values import Keyword
from adalog.executor.kernels import disk
from adalog.store.database import Database
from bench import folder, server
from bench.line import Line

_ROWS: Final = 1_000_000
_ROUNDS: Final = 5
_LIGHT: Final = 400
_SCHEMA: Final = " ".join(
    f"{{:db/ident :row/{name} :db/valueType :db.type/{kind} :db/cardinality :db.cardinality/one}}"
    for name, kind in (("number", "long"), ("name", "string"), ("price", "double"), ("at", "instant"))
)
_ALL: Final = """[:find ?number ?name ?price ?at
  :where [?r :row/number ?number] [?r :row/name ?name] [?r :row/price ?price] [?r :row/at ?at]]"""
_LIGHT_QUERY: Final = """[:find ?name ?price :in $ ?number
  :where [?r :row/number ?number] [?r :row/name ?name] [?r :row/price ?price]]"""
_LIGHT_SQL: Final = "select name, price from row where number = ?"
_LIGHT_CYPHER: Final = "MATCH (r:R) WHERE r.number = $number RETURN r.name, r.price"
_IMPORT: Final = "import time; t = time.perf_counter(); import adalog; print(time.perf_counter() - t)"
_ANSWER: Final = """import sys, adalog
with adalog.connect(sys.argv[1]) as db:
    assert len(db.q('[:find ?v :where [?p :package/name "bash"] [?p :package/version ?v]]')) == 1"""

# As where no kernel stands beside the sources, which is where a checkout has them.
_GROUPED: Final = """import pathlib, sys, adalog
from adalog.executor.kernels import disk
disk.INSTALLED = pathlib.Path(sys.argv[2])
with adalog.connect(sys.argv[1]) as db:
    assert len(db.q('[:find ?s (count ?p) :where [?p :package/section ?s]]')) > 10"""


def library(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Least of alternating rounds; light queries are medians of theirs."""
    rounds = 1 if quick else _ROUNDS
    lines = [_line("import adalog, a new process", "s", _import_seconds(rounds), bar=0.3)]
    with folder.with_sample() as data:
        _run(_ANSWER, str(data))
        seconds = min(_timed(lambda: _run(_ANSWER, str(data))) for _ in range(rounds))
        lines.append(_line("a new process: connect to the sample's folder, first answer", "s", seconds, bar=1.0))
        lines.append(
            _line("the very first answer after an installation, of groups", "s", _installed(data), bar=5.0)
        )
    rows = _ROWS // 10 if quick else _ROWS
    table = _rows(rows)
    with folder.empty() as data:
        _load(data, table)
        with adalog.connect(data) as db:
            lines += _frames(db, table, rounds)
            lines += _light(db, table, rounds)
        lines.append(_over_http(data, rows, rounds))
    return lines


def _line(
    title: str,
    unit: str,
    ours: float,
    against: str = "",
    theirs: float | None = None,
    *,
    bar: float | None = None,
    note: str = "",
) -> Line:
    return Line("python", title, unit, ours, against, theirs, bar=bar, note=note)


def _run(program: str, *arguments: str, **environment: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **environment}
    ).stdout


def _installed(data: Path) -> float:
    """Seconds of a new process for which no kernel was ever compiled."""
    with folder.empty() as kernels:
        places = {disk.VARIABLE: str(kernels / "own")}
        return _timed(lambda: _run(_GROUPED, str(data), str(kernels / "installed"), **places))


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _import_seconds(rounds: int) -> float:
    return min(float(_run(_IMPORT)) for _ in range(rounds))


def _rows(count: int) -> pa.Table:
    numbers = np.arange(count)
    start = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp() * 1000)
    columns: Mapping[str, Any] = {
        "number": pa.array(numbers),
        "name": pa.array([f"name {number % 1000}" for number in range(count)]),
        "price": pa.array(np.random.default_rng(1).random(count).round(3)),
        "at": pa.array(start + numbers).cast(pa.timestamp("ms", "UTC")),
    }
    return pa.table(dict(columns))


def _load(data: Path, table: pa.Table) -> None:
    entities = np.arange(1, table.num_rows + 1)
    with Database.open(str(data)) as database:
        given = {Keyword(f"row/{name}"): (entities, table[name].combine_chunks()) for name in table.column_names}
        database.bulk_load(f"[{_SCHEMA}]", given)
        database.compact()


def _frames(db: adalog.Connection, table: pa.Table, rounds: int) -> list[Line]:
    """To Polars, beside DuckDB where both are installed."""
    title = f"{table.num_rows:,} rows of four columns"
    try:
        connection = _duckdb(table)
        import_module("polars")
    except ModuleNotFoundError as missing:
        ours = min(_timed(lambda: db.q(_ALL).arrow()) for _ in range(rounds))
        return [_line(f"{title} to Arrow", "ms", ours * 1000, note=f"no {missing.name}")]
    ours, theirs = [], []
    db.q(_ALL).polars()
    for _ in range(rounds):
        ours.append(_timed(lambda: db.q(_ALL).polars()))
        theirs.append(_timed(lambda: connection.sql("select * from row").pl()))
    return [_line(f"{title} to Polars", "ms", min(ours) * 1000, "DuckDB", min(theirs) * 1000, bar=1.5)]


def _light(db: adalog.Connection, table: pa.Table, rounds: int) -> list[Line]:
    """Medians of light queries, the least of alternating rounds, beside the peers that are installed."""
    numbers = np.random.default_rng(2).integers(0, table.num_rows, _LIGHT).tolist()
    asked: dict[str, Callable[[int], Any]] = {"adalog": lambda number: db.q(_LIGHT_QUERY, number).rows}
    missing = []
    for name, peer in (("DuckDB", _light_duckdb), ("Ladybug", _light_ladybug)):
        try:
            asked[name] = peer(table)
        except ModuleNotFoundError as absent:
            missing.append(absent.name)
    for ask in asked.values():
        assert len(ask(numbers[0])) == 1
    took: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(rounds):
        for name, ask in asked.items():
            took[name].append(_median(ask, numbers))
    ours, *theirs = ((name, min(each) * 1000) for name, each in took.items())
    title = "a light query in process, median"
    if not theirs:
        return [_line(title, "ms", ours[1], note=f"no {', '.join(map(str, missing))}")]
    return [_line(title, "ms", ours[1], name, each, bar=0.3) for name, each in theirs]


def _light_duckdb(table: pa.Table) -> Callable[[int], Any]:
    connection = _duckdb(table)
    return lambda number: connection.execute(_LIGHT_SQL, [number]).fetchall()


def _light_ladybug(table: pa.Table) -> Callable[[int], Any]:
    ladybug = import_module("ladybug")
    connection = ladybug.Connection(ladybug.Database(":memory:", max_num_threads=1), num_threads=1)
    connection.execute(
        "CREATE NODE TABLE R(number INT64, name STRING, price DOUBLE, at TIMESTAMP, PRIMARY KEY(number))"
    )
    connection.execute("COPY R FROM $incoming", {"incoming": table})
    return lambda number: connection.execute(_LIGHT_CYPHER, {"number": number}).get_all()


def _median(work: Callable[[int], object], numbers: list[int]) -> float:
    return float(np.median([_timed(lambda number=number: work(number)) for number in numbers]))  # type: ignore[misc]


def _over_http(data: Path, rows: int, rounds: int) -> Line:
    """The same rows from two copies of the data, here and from a server, in alternating rounds."""
    port = server.free_port()
    settings = {"ADALOG_SPARK": "off", "ADALOG_RESULT_BYTES": str(1 << 30), "ADALOG_CACHE_BYTES": "0"}
    with folder.empty() as copy:
        shutil.copytree(data, copy, dirs_exist_ok=True)
        with server.adalog(copy, port, **settings) as process:
            server.first_answer(process, port, server.q(_LIGHT_QUERY, 1))
            with adalog.connect(data) as here, adalog.connect(f"http://127.0.0.1:{port}") as there:
                took: dict[adalog.Connection, list[float]] = {there: [], here: []}
                for _ in range(3 * rounds):
                    for db, each in took.items():
                        each.append(_timed(lambda db=db: db.q(_ALL).arrow()))  # type: ignore[misc]
                ours, theirs = (1000 * min(each) for each in took.values())
    title = f"{rows:,} rows of four columns to Arrow, over HTTP"
    return _line(title, "ms", ours, "in process", theirs, bar=2.0)


def _duckdb(table: pa.Table) -> Any:
    connection = import_module("duckdb").connect(":memory:", config={"threads": 1})
    connection.register("incoming", table)
    connection.execute("create or replace table row as select * from incoming")
    connection.execute("create index by_number on row (number)")
    return connection
