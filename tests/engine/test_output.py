"""Rows as Parquet files: written here and by tasks, with one type for a column in all of them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.answer.parquet import ParquetPart
from adalog.executor.join.batch import concatenate
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.executor.spark import engine as engines
from adalog.executor.spark import exchange, gathering
from adalog.executor.spark import task as tasks
from adalog.executor.spark.shares import Share, SharedQuery
from adalog.store.database import Database
from tests.spark.spark_in_process import spark_in_process

SCHEMA = """[{:db/ident :p/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :p/age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :p/kind :db/valueType :db.type/keyword :db/cardinality :db.cardinality/one}
 {:db/ident :p/born :db/valueType :db.type/instant :db/cardinality :db.cardinality/one}
 {:db/ident :p/price :db/valueType :db.type/bigdec :db/cardinality :db.cardinality/one}
 {:db/ident :p/takes :db/valueType :db.type/duration :db/cardinality :db.cardinality/one}
 {:db/ident :p/knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
PEOPLE = " ".join(
    f'{{:db/id "{i}" :p/name "n{i}" :p/age {i % 9} :p/kind :k/a{i % 3} :p/born #inst "2020-01-0{i % 9 + 1}"'
    f' :p/takes #duration "P{i % 4}MT{i}S"'
    f" :p/price {i}.{'1' * (i // 10)}5M"
    f' :p/knows ["{(i * 7 + 1) % 60}" "{(i * 11 + 5) % 60}" "0"]}}'
    for i in range(60)
)


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    with Database.open(":memory:") as database, spark_in_process(monkeypatch) as engine:
        database.transact(SCHEMA)
        database.transact(f"[{PEOPLE}]")
        made = Pool(database, PoolSettings(threads=1), spark=engine)
        try:
            yield made
        finally:
            made.scheduler.close()


def read(folder: Path, parts: list[ParquetPart]) -> pa.Table:
    assert sorted(path.name for path in folder.iterdir()) == [part.file for part in parts]
    tables = [pq.read_table(folder / part.file) for part in parts]
    assert [len(table) for table in tables] == [part.rows for part in parts]
    return pa.concat_tables(tables)


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


QUERIES = [
    "[:find ?n ?a ?k ?b :where [?p :p/name ?n] [?p :p/age ?a] [?p :p/kind ?k] [?p :p/born ?b]]",
    "[:find ?p ?q ?r :where [?p :p/knows ?q] [?q :p/knows ?r]]",
    # Rows of different tasks may be the same one: tasks make them distinct.
    "[:find ?r :where [?p :p/knows ?q] [?q :p/knows ?r]]",
    # Values of two types, in one file or in several: EDN text in all.
    "[:find ?p ?v :where (or [?p :p/age ?v] [?p :p/name ?v])]",
    "[:find ?p ?v :where [?p :p/age ?a] (or (and [?p :p/age ?v] [(< ?a 5)]) (and [?p :p/name ?v] [(> ?a 4)]))]",
    "[:find ?n ?s :where [?p :p/name ?n] [?p :p/age ?a] [(str ?a \"!\") ?s]]",
    "[:find ?a (count ?p) :where [?p :p/age ?a]]",
    # Nil is null, also where all of a file's are.
    "[:find ?n ?a :where [?p :p/name ?n] (optional [?p :p/age ?a] [(> ?a 7)])]",
    "[:find ?p ?q ?x :where [?p :p/knows ?q] (optional [?q :p/price ?x] [?q :p/kind :k/a1])]",
    # Decimals of one type in all files.
    "[:find ?p ?q ?x :where [?p :p/knows ?q] [?q :p/price ?x]]",
    "[:find ?p ?d ?x :where [?p :p/takes ?d] [?p :p/age ?a] [(- ?d) ?y] [(if (> ?a 3) ?y nil) ?x]]",
    "[:find ?n ?a :where [?p :p/name ?n] [?p :p/age ?a] :order-by [?a :desc] ?n :limit 5]",
    "[:find ?p :where [?p :p/age 99]]",
]  # fmt: skip


@pytest.mark.parametrize("engine", ["LOCAL", "SPARK"])
@pytest.mark.parametrize("query", QUERIES)
def test_the_files_hold_the_rows_of_the_answer(pool: Pool, tmp_path: Path, engine: str, query: str) -> None:
    parts = pool.write(QueryRequest(query, engine=engine), str(tmp_path))
    expected = pool.run(QueryRequest(query, engine="LOCAL"))
    if not len(expected):
        assert parts == []
        assert list(tmp_path.iterdir()) == []
        return
    table = read(tmp_path, parts)
    assert table.column_names == [column.name for column in expected.columns]
    assert rows(table) == rows(expected.to_arrow())


def test_tasks_write_where_their_rows_are_apart(pool: Pool, tmp_path: Path) -> None:
    parts = pool.write(QueryRequest(QUERIES[1], engine="SPARK"), str(tmp_path))
    assert len(parts) > 1
    assert [part.file for part in parts[:2]] == ["part-00000.parquet", "part-00001.parquet"]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each task sends to the driver. The tasks of later jobs have a few rows each."""
    monkeypatch.setattr(gathering, "_ROWS_OF_A_TASK", 3)
    monkeypatch.setattr(exchange, "_FEW", 3)
    rows: list[int] = []
    seen = gathering.received
    monkeypatch.setattr(
        gathering, "received", lambda task, values: rows.append(task.rows().size) or seen(task, values)
    )
    return rows


TOGETHER = [
    "[:find ?r :where [?p :p/knows ?q] [?q :p/knows ?r]]",
    "[:find ?s :where [?p :p/knows ?q] [?q :p/age ?a] [(str ?a) ?s]]",
    "[:find ?s ?r :where [?p :p/knows ?r] [?r :p/age ?a] [(tuple ?a 1 2) ?s]]",
    "[:find ?a (count ?p) (median ?p) :where [?p :p/knows ?q] [?q :p/age ?a]]",
    "[:find ?k (count ?q) (sum ?a) :with ?p :where [?p :p/kind ?k] [?p :p/knows ?q] [?q :p/age ?a]]",
    "[:find ?s (count-distinct ?r) :where [?p :p/knows ?r] [?r :p/age ?a] [(str ?a) ?s]]",
    '[:find ?s (max ?t) :where [?p :p/age ?a] [?p :p/name ?n] [(str "s" ?a) ?s] [(str ?n "!") ?t]]',
    "[:find ?p :with ?q :where [?p :p/knows ?q] [?q :p/knows ?r]]",
]
IN_ORDER = [
    "[:find ?n ?a :where [?p :p/name ?n] [?p :p/age ?a] :order-by ?a ?n]",
    "[:find ?n ?a :where [?p :p/name ?n] [?p :p/age ?a] :order-by [[?a :desc] ?n]]",
    "[:find ?p ?r :where [?p :p/knows ?q] [?q :p/knows ?r] :order-by [[?r :desc]]]",
    "[:find ?v :where (or [?p :p/age ?v] [?p :p/name ?v] [?p :p/born ?v]) :order-by [[?v :desc]]]",
    "[:find ?s ?p :where [?p :p/knows ?q] [?q :p/age ?a] [(str ?a) ?s] :order-by ?s [?p :desc]]",
    "[:find ?a (count ?p) :where [?p :p/knows ?q] [?q :p/age ?a] :order-by [[?a :desc]]]",
    "[:find ?p ?q :where [?p :p/knows ?q] :order-by ?q :offset 7]",
    "[:find ?x ?p :where [?p :p/price ?x] :order-by ?x :offset 7]",
    "[:find ?p ?q :where [?p :p/knows ?q] :order-by ?q :offset 7 :limit 20]",
    "[:find ?p ?q :where [?p :p/knows ?q] :order-by ?q :offset 1000]",
    "[:find ?a (count ?p) :where [?p :p/age ?a] :order-by ?a :offset 2 :limit 4]",
]


@pytest.mark.parametrize("query", TOGETHER)
def test_what_several_tasks_have_comes_together_in_others(
    pool: Pool, tmp_path: Path, sent: list[int], query: str
) -> None:
    parts = pool.write(QueryRequest(query, engine="SPARK"), str(tmp_path))
    assert len(parts) > 1
    assert not sent
    assert rows(read(tmp_path, parts)) == rows(pool.run(QueryRequest(query, engine="LOCAL")).to_arrow())


def test_sums_of_tasks_that_are_the_same_are_two(
    pool: Pool, tmp_path: Path, sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value of a unique attribute tells rows apart, so that they are not made distinct; its sums do not."""
    pool.database.transact(
        """[{:db/ident :c/code :db/valueType :db.type/long :db/unique :db.unique/value}
            {:db/ident :c/kind :db/valueType :db.type/keyword}]"""
    )
    pool.database.transact("[" + " ".join(f"{{:c/code {i} :c/kind :k/only}}" for i in range(1, 9)) + "]")
    divided = engines.divided

    def in_two(*args: Any) -> SharedQuery:
        parts = divided(*args)
        whole = concatenate([share.prefixes for share in parts.shares])
        whole = whole.take(np.argsort(next(iter(whole.columns.values()))))
        halves = [np.array([0, 3, 5, 6]), np.array([1, 2, 4, 7])]
        return replace(parts, shares=[Share(parts.shares[0].depth, whole.take(half), 1.0) for half in halves])

    monkeypatch.setattr(engines, "divided", in_two)
    query = "[:find ?k (sum ?c) :where [?p :c/kind ?k] [?p :c/code ?c]]"
    table = read(tmp_path, pool.write(QueryRequest(query, engine="SPARK"), str(tmp_path)))
    assert rows(table) == [(":k/only", 36)]


@pytest.mark.parametrize("query", IN_ORDER)
def test_files_in_order_hold_the_rows_in_order(pool: Pool, tmp_path: Path, sent: list[int], query: str) -> None:
    parts = pool.write(QueryRequest(query, engine="SPARK"), str(tmp_path))
    expected = pool.run(QueryRequest(query, engine="LOCAL")).to_arrow()
    if not len(expected):
        assert parts == []
        return
    assert len(parts) > 1
    assert sum(sent) > 0
    assert [tuple(row.values()) for row in read(tmp_path, parts).to_pylist()] == [
        tuple(row.values()) for row in expected.to_pylist()
    ]


def test_a_large_limit_in_no_order_ends_all_tasks(pool: Pool, tmp_path: Path, sent: list[int]) -> None:
    query = "[:find ?p ?q ?r :where [?p :p/knows ?q] [?q :p/knows ?r]"
    table = read(tmp_path, pool.write(QueryRequest(f"{query} :offset 3 :limit 10]", engine="SPARK"), str(tmp_path)))
    assert len(table) == 10
    assert not sent
    assert set(rows(table)) <= set(pool.run(QueryRequest(f"{query}]", engine="LOCAL")).rows())


@pytest.mark.parametrize("query", [TOGETHER[0], IN_ORDER[0]])
def test_a_failure_on_the_way_leaves_no_file(
    pool: Pool, tmp_path: Path, sent: list[int], monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tasks, "write_part", full)
    with pytest.raises(AdalogError, match="No space left") as caught:
        pool.write(QueryRequest(query, engine="SPARK"), str(tmp_path))
    assert caught.value.code is Code.BACKEND_UNAVAILABLE
    assert list(tmp_path.iterdir()) == []


def test_what_fails_leaves_no_file(pool: Pool, tmp_path: Path) -> None:
    wrong = "[:find ?n ?x :where [?p :p/name ?n] [?p :p/age ?a] [(/ 1 ?a) ?x]]"
    for engine in ("LOCAL", "SPARK"):
        with pytest.raises(AdalogError):
            pool.write(QueryRequest(wrong, engine=engine), str(tmp_path))
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(AdalogError) as caught:
        pool.write(QueryRequest(QUERIES[1], engine="SPARK"), str(tmp_path / "none"))
    assert caught.value.code is Code.BACKEND_UNAVAILABLE
    assert "cannot write into" in caught.value.message
