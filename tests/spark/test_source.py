"""The data source `adalog` as Spark uses it, without Spark: schema, filters, partitions, rows."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pyspark.sql import types
from pyspark.sql.datasource import (
    CaseInsensitiveDict,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
)
from pyspark.util import handle_worker_exception

from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.values import Keyword
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.executor.source.answers import _types
from adalog.executor.source.arrow_types import EDN
from adalog.executor.source.data_source import AdalogSource, FilteredSource
from adalog.executor.source.refusals import HIDING
from adalog.store.database import Database
from adalog.store.sources import read_folder

SCHEMA = """[
 {:db/ident :p/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :p/age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :p/score :db/valueType :db.type/double :db/cardinality :db.cardinality/one}
 {:db/ident :p/tag :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
 {:db/ident :p/born :db/valueType :db.type/instant :db/cardinality :db.cardinality/one}
 {:db/ident :p/key :db/valueType :db.type/uuid :db/cardinality :db.cardinality/one}
 {:db/ident :p/takes :db/valueType :db.type/duration :db/cardinality :db.cardinality/one}
 {:db/ident :p/large :db/valueType :db.type/bigdec :db/cardinality :db.cardinality/one}
 {:db/ident :p/boss :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}]"""
ADA = """[{:p/name "Ada" :p/age 36 :p/score 1.5 :p/tag [:x :y] :p/born #inst "1815-12-10" :p/boss {:p/name "Bob"}
 :p/key #uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6" :p/large 12.50M
 :p/takes #duration "P1M2DT3H"}]"""
MANY = "[" + " ".join(f'{{:p/name "n{i}" :p/age {i} :p/tag [:x]}}' for i in range(300)) + "]"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with Database.open(str(tmp_path_factory.mktemp("source") / "data")) as database:
        database.transact(SCHEMA)
        database.transact(ADA)
        database.transact(MANY)
        database.compact()
        database.transact('[{:p/name "Ada" :p/age 37} [:db/retract [:p/name "n7"] :p/age 7]]')
        yield database


def _columns(text: str) -> types.StructType:
    name, kind = text.split()
    return types.StructType(
        [types.StructField(name, {"bigint": types.LongType, "double": types.DoubleType}[kind]())]
    )


class Frame:
    """What Spark makes of some options: each step in a process of its own, as far as pickling shows that."""

    def __init__(
        self, database: Database, filters: Sequence[Filter] = (), schema: str | None = None, **options: str
    ) -> None:
        given = CaseInsensitiveDict()
        assert database._folder is not None
        given["data"] = str(database._folder.path)
        for name, value in options.items():
            given[name] = value
        source = (FilteredSource if filters else AdalogSource)(given)
        self.schema = _columns(schema) if schema else source.schema()
        reader = pickle.loads(pickle.dumps(source)).reader(self.schema)
        self.left = list(reader.pushFilters(list(filters))) if filters else []
        self.partitions = pickle.loads(pickle.dumps(reader.partitions()))
        again = pickle.loads(pickle.dumps(reader))
        self.by_partition = [
            [tuple(row.values()) for batch in again.read(each) for row in batch.to_pylist()]
            for each in self.partitions
        ]
        self.rows = [row for rows in self.by_partition for row in rows]


def test_all_datoms(database: Database) -> None:
    frame = Frame(database)
    assert frame.schema.simpleString() == "struct<e:bigint,a:string,v:string,t:bigint>"
    expected = {(d.e, str(d.a), d.v, d.t) for d in database.snapshot().datoms("EAVT")}
    found = {(e, a, v, t) for e, a, v, t in frame.rows}
    assert found == {(e, a, write(v), t) for e, a, v, t in expected}
    assert len(frame.rows) == len(found)


@pytest.mark.parametrize(
    ("attribute", "kind", "value"),
    [
        (":p/name", "string", "Ada"),
        ("p/age", "bigint", 37),
        ("p/score", "double", 1.5),
        ("p/tag", "string", ":y"),
        ("p/born", "timestamp", datetime(1815, 12, 10, tzinfo=UTC)),
        ("p/key", "string", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
        ("p/large", "string", "12.5"),
        ("p/takes", "string", "P1M2DT3H"),
    ],
)
def test_values_of_one_attribute_have_its_type(database: Database, attribute: str, kind: str, value: Any) -> None:
    frame = Frame(database, attribute=attribute)
    assert frame.schema.simpleString() == f"struct<e:bigint,v:{kind},t:bigint>"
    ada = database.snapshot().entid(_lookup("Ada"))
    assert (ada, value) in {(e, v) for e, v, _ in frame.rows}
    known = database.snapshot().attribute(_ident(attribute))
    assert known is not None
    assert len(frame.rows) == len(database.snapshot().columns(known))


def _ident(name: str) -> Any:
    from adalog.datalog.values import Keyword

    return Keyword(name.removeprefix(":"))


def _lookup(name: str) -> Any:
    return (_ident("p/name"), name)


def test_partitions_are_ranges_of_entities(database: Database) -> None:
    whole = Frame(database, attribute=":p/tag")
    frame = Frame(database, attribute=":p/tag", rowsPerPartition="50")
    assert len(whole.partitions) == 1
    assert 6 <= len(frame.partitions) <= 8
    assert frame.rows == whole.rows
    ranges = [(min(row[0] for row in rows), max(row[0] for row in rows)) for rows in frame.by_partition]
    assert all(before[1] < after[0] for before, after in pairwise(ranges))
    assert sorted(Frame(database, rowsPerPartition="50").rows) == sorted(Frame(database).rows)
    history = Frame(database, attribute=":p/age", history="true", rowsPerPartition="50")
    assert sorted(history.rows) == sorted(Frame(database, attribute=":p/age", history="true").rows)


@pytest.mark.parametrize(
    ("filters", "keeps", "left"),
    [
        ([EqualTo(("v",), 37)], lambda e, v, t: v == 37, 0),
        ([In(("v",), (1, 2, 1 << 70))], lambda e, v, t: v in (1, 2), 0),
        ([EqualTo(("v",), "x")], lambda e, v, t: True, 1),
        ([GreaterThan(("e",), 100), LessThanOrEqual(("e",), 110)], lambda e, v, t: 100 < e <= 110, 0),
        ([GreaterThanOrEqual(("e",), 100), LessThan(("e",), 50)], lambda e, v, t: False, 0),
        ([EqualTo(("e",), 5), IsNotNull(("e",)), IsNotNull(("v",))], lambda e, v, t: e == 5, 0),
        ([In(("e",), (3, 4, 1 << 70))], lambda e, v, t: e in (3, 4), 0),
        ([GreaterThan(("t",), 3)], lambda e, v, t: t > 3, 0),
        ([GreaterThan(("v",), 290)], lambda e, v, t: True, 1),
        ([Not(EqualTo(("v",), 37))], lambda e, v, t: True, 1),
    ],
)
def test_filters(database: Database, filters: list[Filter], keeps: Any, left: int) -> None:
    every = Frame(database, attribute=":p/age").rows
    frame = Frame(database, filters, attribute=":p/age", rowsPerPartition="50")
    assert frame.rows == [row for row in every if keeps(*row)]
    assert len(frame.left) == left


def test_filters_of_other_types(database: Database) -> None:
    def names(*filters: Filter, attribute: str = ":p/name") -> list[Any]:
        return [v for _, v, _ in Frame(database, filters, attribute=attribute).rows]

    assert names(EqualTo(("v",), "Ada"), StringContains(("v",), "zzz")) == ["Ada"]
    assert names(EqualTo(("v",), "nobody")) == []
    assert names(EqualTo(("v",), ":y"), attribute=":p/tag") == [":y"]
    assert names(EqualTo(("v",), 1.5), attribute=":p/score") == [1.5]
    born = datetime(1815, 12, 10, tzinfo=UTC)
    assert names(EqualTo(("v",), born), attribute=":p/born") == [born]
    bob = database.snapshot().entid(_lookup("Bob"))
    assert names(EqualTo(("v",), bob), attribute=":p/boss") == [bob]
    by_attribute = Frame(database, [In(("a",), (":p/key", ":p/large", "other"))])
    assert {a for _, a, _, _ in by_attribute.rows} == {":p/key", ":p/large"}
    assert by_attribute.left == []


def test_moments_and_history(database: Database) -> None:
    ada = database.snapshot().entid(_lookup("Ada"))

    def ages(**options: str) -> list[Any]:
        return [row[1:] for row in Frame(database, attribute=":p/age", **options).rows if row[0] == ada]

    assert ages() == [(37, 4)]
    assert ages(asOf="2") == [(36, 2)]
    assert ages(asOf="1") == []
    assert ages(history="true") == [(36, 2, True), (36, 4, False), (37, 4, True)]
    assert ages(asOf=datetime.now(UTC).isoformat()) == [(37, 4)]
    with pytest.raises(AdalogError) as caught:
        Frame(database, asOf="99")
    assert caught.value.code is Code.BASIS_FUTURE


def test_it_stays_as_it_was_when_it_was_named(database: Database) -> None:
    given = CaseInsensitiveDict()
    assert database._folder is not None
    given["data"], given["attribute"] = str(database._folder.path), ":other/one"
    database.transact("[{:other/one 1}]")
    source = AdalogSource(given)
    schema = source.schema()
    database.transact("[{:other/one 2}]")
    database.compact()
    reader = pickle.loads(pickle.dumps(source)).reader(schema)
    [partition] = reader.partitions()
    assert [v for batch in reader.read(partition) for v in batch.column("v").to_pylist()] == [1]


@pytest.mark.parametrize(
    ("query", "schema"),
    [
        (
            "[:find ?n ?a ?e ?k :where [?e :p/name ?n] [?e :p/age ?a] [?e :p/key ?k]]",
            "struct<?n:string,?a:bigint,?e:bigint,?k:string>",
        ),
        (
            "[:find (count ?t) (max ?a) (avg ?a) (sum ?a) (median ?a) :where [?e :p/tag ?t] [?e :p/age ?a]]",
            "struct<(count ?t):bigint,(max ?a):bigint,(avg ?a):double,(sum ?a):bigint,(median ?a):string>",
        ),
        ("[:find ?v ?t ?op :where [?e :p/age ?v ?t ?op]]", "struct<?v:bigint,?t:bigint,?op:boolean>"),
        ("[:find ?a ?v :where [_ ?a ?v]]", "struct<?a:string,?v:string>"),
        (
            "[:find ?n ?h :keys name half :where [?e :p/name ?n] [?e :p/age ?a] [(/ ?a 2) ?h]]",
            "struct<name:string,half:string>",
        ),
        ("[:find (pull ?e [:p/name]) ?b :where [?e :p/boss ?b]]", "struct<(pull ?e [:p/name]):string,?b:bigint>"),
    ],
)
def test_answers(database: Database, query: str, schema: str) -> None:
    frame = Frame(database, query=query)
    assert frame.schema.simpleString() == schema
    pool = Pool(database)
    try:
        expected = pool.run(QueryRequest(query)).rows()
    finally:
        pool.close()
    edn = [name for name, kind in _types(parse_query(query), database.snapshot()) if kind == EDN]
    places = [number for number, field in enumerate(frame.schema) if field.name in edn]
    assert set(frame.rows) == {_shown(row, places) for row in expected}
    assert len(frame.rows) == len(expected)


@pytest.mark.parametrize(
    ("query", "args", "is_divided"),
    [
        ("[:find ?e ?n ?a :where [?e :p/name ?n] [?e :p/age ?a]]", "[]", True),
        ("[:find ?n ?a :where [?e :p/name ?n] [?e :p/age ?a]]", "[]", True),
        ("[:find ?n ?m :where [?e :p/name ?n] [?f :p/name ?m] [?e :p/tag ?t] [?f :p/tag ?t]]", "[]", None),
        ("[:find ?e ?x :in $ ?least [?x ...] :where [?e :p/age ?a] [(> ?a ?least)]]", '[100 ["new" "x"]]', None),
        ('[:find ?e ?b :where [?e :p/name ?n] [?e :p/age ?a] [(str ?n "!" ?a) ?b]]', "[]", True),
        ("[:find ?a ?t :where [?e :p/age ?a] [?e :p/tag ?t]]", "[]", None),
        ("[:find ?e ?n :where [?e :p/name ?n] (or [?e :p/age 5] [?e :p/tag :y] [?e :p/tag :x])]", "[]", None),
        ("[:find (count ?e) :where [?e :p/name]]", "[]", False),
        ("[:find ?e ?n :order-by [?n] :where [?e :p/name ?n]]", "[]", False),
        ("[:find ?e :limit 250 :where [?e :p/name]]", "[]", False),
        ("[:find ?e ?b :where (r ?e ?b) :rules [[(r ?e ?b) [?e :p/tag ?b]]]]", "[]", None),
        ("[:find ?e (pull ?e [:p/name]) :where [?e :p/age]]", "[]", False),
    ],
)
def test_a_large_answer_is_divided(database: Database, query: str, args: str, is_divided: bool | None) -> None:
    whole = Frame(database, query=query, args=args)
    for rows in ("20", "100"):
        frame = Frame(database, query=query, args=args, rowsPerPartition=rows)
        assert sorted(frame.rows, key=repr) == sorted(whole.rows, key=repr)
        if is_divided is not None:
            assert (len(frame.partitions) > 1) == is_divided


def _shown(row: Sequence[Any], edn: Sequence[int]) -> tuple[Any, ...]:
    return tuple(
        write(value) if place in edn else str(value) if isinstance(value, UUID | Keyword) else value
        for place, value in enumerate(row)
    )


def test_arguments_and_chosen_columns(database: Database) -> None:
    query = "[:find ?n ?a :in $ [?n ...] :where [?e :p/name ?n] [?e :p/age ?a]]"
    frame = Frame(database, query=query, args='[["Ada" "n5"]]', schema="?a bigint")
    assert sorted(frame.rows) == [(5,), (37,)]
    assert sorted(Frame(database, attribute=":p/score", schema="v double").rows) == [(1.5,)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"atribute": ":p/name"}, "there is no option atribute"),
        ({"attribute": ":p/none"}, "there is no attribute :p/none"),
        ({"attribute": "1 2"}, "attribute is 1 2"),
        ({"asOf": "yesterday"}, "asOf is 'yesterday'"),
        ({"rowsPerPartition": "0"}, "rowsPerPartition is 0"),
        ({"query": "[:find ?x"}, ""),
        (
            {"query": "[:find ?a :where [_ :p/age ?a]]", "schema": "b bigint"},
            "the query has no column b; it has ?a",
        ),
        ({"schema": "b bigint"}, "datoms have no column b; they have e, a, v, t"),
        ({"query": "[:find ?a :in $ ?a]", "args": "1"}, "args is 1"),
    ],
)
def test_what_is_refused(database: Database, options: dict[str, str], message: str) -> None:
    with pytest.raises(AdalogError) as caught:
        Frame(database, **options)  # type: ignore[arg-type]
    assert message in caught.value.message


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    for location in (str(tmp_path), str(tmp_path / "none"), "postgresql://x/y"):
        with pytest.raises(AdalogError) as caught:
            read_folder(location)
        assert caught.value.code is Code.BACKEND_UNAVAILABLE
    assert list(tmp_path.iterdir()) == []


def test_files_stay_while_somebody_reads_them(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact(SCHEMA)
        database.transact(MANY)
        for i in range(8):
            database.transact("[" + " ".join(f'{{:p/name "m{i}-{j}"}}' for j in range(200)) + "]")
        database.compact()
        held = read_folder(str(tmp_path))
        before = held.datom_count
        names = {path.name for path in (tmp_path / "segments").iterdir()}
        for i in range(8):
            database.transact("[" + " ".join(f'{{:p/name "o{i}-{j}"}}' for j in range(400)) + "]")
        database.compact()
        assert held.datom_count == before
        assert read_folder(str(tmp_path)).datom_count == database.snapshot().datom_count > before
        del held
        database.compactor.make_room()
        assert {path.name for path in (tmp_path / "segments").iterdir()} != names


def test_errors_are_shown_without_a_traceback(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HIDING, "")
    shown = io.BytesIO()
    try:
        AdalogSource(CaseInsensitiveDict({"data": "/nowhere"})).schema()
    except AdalogError as error:
        handle_worker_exception(error, shown)
    said = shown.getvalue()[8:].decode()
    assert (
        said == "adalog.datalog.errors.AdalogError: BACKEND_UNAVAILABLE: there is no database to read in /nowhere\n"
    )
