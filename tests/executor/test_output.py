"""Rows as Parquet files: written here and by tasks, with one type for a column in all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datalog.errors import AdalogError, Code
from executor.answer.parquet import Part
from executor.pool import Pool, PoolSettings
from executor.question.request import Request
from executor.spark import gathering
from store.database import Database
from tests.executor.spark_in_process import spark_in_process

SCHEMA = """[{:db/ident :p/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :p/age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :p/kind :db/valueType :db.type/keyword :db/cardinality :db.cardinality/one}
 {:db/ident :p/born :db/valueType :db.type/instant :db/cardinality :db.cardinality/one}
 {:db/ident :p/knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
PEOPLE = " ".join(
    f'{{:db/id "{i}" :p/name "n{i}" :p/age {i % 9} :p/kind :k/a{i % 3} :p/born #inst "2020-01-0{i % 9 + 1}"'
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


def read(folder: Path, parts: list[Part]) -> pa.Table:
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
    "[:find ?n ?a :where [?p :p/name ?n] [?p :p/age ?a] :order-by [?a :desc] ?n :limit 5]",
    "[:find ?p :where [?p :p/age 99]]",
]  # fmt: skip


@pytest.mark.parametrize("engine", ["LOCAL", "SPARK"])
@pytest.mark.parametrize("query", QUERIES)
def test_the_files_hold_the_rows_of_the_answer(pool: Pool, tmp_path: Path, engine: str, query: str) -> None:
    parts = pool.write(Request(query, engine=engine), str(tmp_path))
    expected = pool.run(Request(query, engine="LOCAL"))
    if not len(expected):
        assert parts == []
        assert list(tmp_path.iterdir()) == []
        return
    table = read(tmp_path, parts)
    assert table.column_names == [column.name for column in expected.columns]
    assert rows(table) == rows(expected.to_arrow())


def test_tasks_write_where_their_rows_are_apart(pool: Pool, tmp_path: Path) -> None:
    parts = pool.write(Request(QUERIES[1], engine="SPARK"), str(tmp_path))
    assert len(parts) > 1
    assert [part.file for part in parts[:2]] == ["part-00000.parquet", "part-00001.parquet"]


def test_tasks_make_distinct_what_several_of_them_have(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    seen = gathering.translated
    monkeypatch.setattr(gathering, "translated", lambda rows, *rest: sent.append(rows.size) or seen(rows, *rest))
    parts = pool.write(Request(QUERIES[2], engine="SPARK"), str(tmp_path))
    assert len(parts) > 1
    assert not sent
    (tmp_path / "made").mkdir()
    made = "[:find ?s :where [?p :p/knows ?q] [?q :p/age ?a] [(str ?a) ?s]]"
    parts = pool.write(Request(made, engine="SPARK"), str(tmp_path / "made"))
    assert sum(part.rows for part in parts) == 9
    assert sent
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [part.file for part in parts]


def test_what_fails_leaves_no_file(pool: Pool, tmp_path: Path) -> None:
    wrong = "[:find ?n ?x :where [?p :p/name ?n] [?p :p/age ?a] [(/ 1 ?a) ?x]]"
    for engine in ("LOCAL", "SPARK"):
        with pytest.raises(AdalogError):
            pool.write(Request(wrong, engine=engine), str(tmp_path))
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(AdalogError) as caught:
        pool.write(Request(QUERIES[1], engine="SPARK"), str(tmp_path / "none"))
    assert caught.value.code is Code.BACKEND_UNAVAILABLE
    assert "cannot write into" in caught.value.message
