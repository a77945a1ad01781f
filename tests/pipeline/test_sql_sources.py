"""Tables of PostgreSQL as sources, through Spark: types, parts, new rows alone, passwords."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.executor.spark.engine import SparkEngine
from adalog.pipeline.importing.read.mapping_reader import read_mapping
from adalog.pipeline.importing.read.spark_runner import SparkRunner
from adalog.pipeline.importing.write.loading import ImportOutcome, load
from adalog.store.database import Database
from tests.postgres_servers import PASSWORD, PostgresServer, running

DRIVER = Path("/usr/share/java/postgresql.jar")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        not DRIVER.exists(), reason="no JDBC driver; apt-get install libpostgresql-jdbc-java has one"
    ),
]

TYPES = """
CREATE TYPE mood AS ENUM ('ok', 'sad');
CREATE TYPE pair AS (a int, b text);
CREATE TABLE kinds (
  id int PRIMARY KEY, number numeric, price numeric(10, 2), local timestamp, seen timestamptz, born date, hour time,
  key uuid, body bytea, ints int[], sums numeric[], texts text[], doc jsonb, flag boolean, half real,
  double double precision, mood mood, span interval, many bigint, small smallint, code char(4), pair pair,
  times timestamptz[]
);
INSERT INTO kinds VALUES
  (1, 12345678901234567890.123456789012345678901234567890, 1.50, '2024-03-31 02:30', '2024-05-01 10:00:00.123+02',
   '2024-05-01', '10:00:01', '6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21', '\\x00ff', '{1,2,NULL}', '{1.50,1e-10}',
   '{"a,b",c}', '{"a": 1}', true, 0.5, 'NaN', 'ok', '1 day', 9223372036854775807, -5, 'ab');
INSERT INTO kinds (id, number, price, local, seen, born, ints, double) VALUES
  (3, 1e-20, -0.01, '1500-01-01', '1500-02-28 00:00+00', '0001-01-01', '{}', '-Infinity');
INSERT INTO kinds (id, number) VALUES (10, 'NaN');
INSERT INTO kinds (id, local) VALUES (11, 'infinity'), (12, '2024-05-01 10:00:00.123456');
INSERT INTO kinds (id, seen) VALUES (13, '-infinity'), (14, '2024-05-01 10:00:00.0001+02');
INSERT INTO kinds (id, born) VALUES (15, '0044-03-15 BC'), (16, '10000-01-01')
"""
FIRST = {
    "number": {"12345678901234567890.12345678901234567890123456789M"},
    "price": {"1.5M"},
    "local": {'#inst "2024-03-31T02:30:00.000-00:00"'},
    "seen": {'#inst "2024-05-01T08:00:00.123-00:00"'},
    "born": {'#inst "2024-05-01T00:00:00.000-00:00"'},
    "hour": {'"10:00:01"'},
    "key": {'#uuid "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21"'},
    "body": {'#bytes "AP8="'},
    "ints": {"1", "2"},
    "sums": {"1.5M", "1E-10M"},
    "texts": {'"a,b"', '"c"'},
    "doc": {'"{\\"a\\": 1}"'},
    "flag": {"true"},
    "half": {"0.5"},
    "double": {"##NaN"},
    "mood": {'"ok"'},
    "span": {'"1 day"'},
    "many": {"9223372036854775807"},
    "small": {"-5"},
    "code": {'"ab  "'},
}
THIRD = {
    "number": {"1E-20M"},
    "price": {"-0.01M"},
    "local": {'#inst "1500-01-01T00:00:00.000-00:00"'},
    "seen": {'#inst "1500-02-28T00:00:00.000-00:00"'},
    "born": {'#inst "0001-01-01T00:00:00.000-00:00"'},
    "double": {"##-Inf"},
}


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as server:
        server.ask("postgres", TYPES)
        yield server


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        yield database


def url_of(server: PostgresServer) -> str:
    return f"jdbc:postgresql://127.0.0.1:{server.port}/postgres"


def mapping(server: PostgresServer, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    source = {
        "jdbc": url_of(server),
        "user": "ada",
        "password": PASSWORD,
        "driver": str(DRIVER),
        "entity": {"attribute": "row/id", "column": "id"},
        "attributes": attributes,
    }
    return {"schema": "schema.edn", "sources": {"rows": {**source, **more}}}


def written(folder: Path, said: dict[str, Any]) -> Path:
    (folder / "schema.edn").write_text(
        "[{:db/ident :row/id :db/valueType :db.type/long :db/cardinality :db.cardinality/one"
        " :db/unique :db.unique/identity}]"
    )
    file = folder / "mapping.yaml"
    file.write_text(yaml.safe_dump(said))
    return file


def imported(database: Database, spark: SparkEngine, folder: Path, said: dict[str, Any]) -> ImportOutcome:
    plan, runner = read_mapping(written(folder, said), {}), SparkRunner(spark.session.live())
    return load(database, runner, plan, max_errors=100, quarantine=folder / "quarantine")


def values(database: Database, row: int) -> dict[str, set[str]]:
    """What an entity has, in EDN."""
    snapshot = database.snapshot()
    found: dict[str, set[str]] = {}
    for datom in snapshot.datoms("EAVT", [(Keyword("row/id"), row)]):
        name = str(snapshot.name_of(datom.a)).removeprefix(":row/")
        found.setdefault(name, set()).add(write(datom.v))
    found.pop("id", None)
    return found


def rejected(folder: Path) -> dict[int, str]:
    """The reasons by the rows' ids."""
    files = sorted((folder / "quarantine").glob("*.jsonl"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return {line["row"]["id"]: line["reason"] for line in lines}


def test_types(server: PostgresServer, database: Database, spark: SparkEngine, tmp_path: Path) -> None:
    attributes: dict[str, Any] = {f"row/{column}": column for column in FIRST}
    said = mapping(server, {**attributes, "row/key": {"column": "key", "type": "uuid"}}, table="kinds")
    outcome = imported(database, spark, tmp_path, said)
    found = rejected(tmp_path)
    assert sorted(found) == [10, 11, 12, 13, 14, 15, 16]
    assert found[10] == ':row/number: "NaN" of column number cannot be read as a bigdec'
    assert re.match(':row/local: ".*" of column local cannot be read as an instant, as 1815', found[11]), found[11]
    assert (outcome.rows, outcome.rejected) == (9, 7)
    assert values(database, 1) == FIRST
    assert values(database, 3) == THIRD
    # Lists of times are refused by name, and no one else's columns matter.
    said = mapping(server, {"row/times": "times"}, table="kinds")
    with pytest.raises(AdalogError, match="column times has lists of timestamp"):
        imported(database, spark, tmp_path, said)


def test_new_rows_alone(server: PostgresServer, database: Database, spark: SparkEngine, tmp_path: Path) -> None:
    server.ask("postgres", "CREATE TABLE news (id int PRIMARY KEY, text text, at timestamptz)")
    server.ask(
        "postgres",
        "INSERT INTO news SELECT n, 'text ' || n, timestamptz '2024-05-01 00:00+00' + n * interval '1 microsecond'"
        " FROM generate_series(1, 100) n",
    )
    partition = {"column": "id", "count": 3}
    said = mapping(server, {"row/text": "text"}, table="news", since="at", partition=partition)
    first = imported(database, spark, tmp_path, said)
    assert (first.rows, first.entities) == (100, 100)
    # How far the table was read is known since the same transaction.
    marks = [datom.t for datom in database.snapshot().datoms("AEVT", [Keyword("adalog.source/since")])]
    texts = {datom.t for datom in database.snapshot().datoms("AEVT", [Keyword("row/text")])}
    assert {*marks} == texts
    assert len(marks) == 1
    again = imported(database, spark, tmp_path, said)
    assert (again.rows, again.datoms, again.t) == (0, 0, first.t)
    server.ask("postgres", "UPDATE news SET text = 'new', at = now() WHERE id = 7")
    server.ask("postgres", "UPDATE news SET text = 'unseen' WHERE id = 8")
    changed = imported(database, spark, tmp_path, said)
    assert changed.rows == 1
    assert values(database, 7) == {"text": {'"new"'}}
    assert values(database, 8) == {"text": {'"text 8"'}}
    # An import that is refused leaves the mark where it was.
    server.ask("postgres", "INSERT INTO news VALUES (101, 'late', now() + interval '1 day')")
    said["sources"]["rows"]["attributes"]["row/number"] = {"column": "text", "type": "long"}
    plan, runner = read_mapping(written(tmp_path, said), {}), SparkRunner(spark.session.live())
    assert not load(database, runner, plan).accepted
    del said["sources"]["rows"]["attributes"]["row/number"]
    assert imported(database, spark, tmp_path, said).rows == 1


def test_what_cannot_be_read(
    server: PostgresServer, database: Database, spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWS_PASSWORD", "not-the-password")
    for more, why in (
        ({"table": "kinds", "password": {"env": "ROWS_PASSWORD"}}, "password authentication failed for user"),
        ({"table": "none"}, 'relation "none" does not exist'),
        ({"query": "SELECT id, number AS xs FROM kinds;"}, "has no column x; its columns are id, xs"),
        ({"query": "SELECT 1 AS id, '{NaN}'::numeric[] AS x"}, "cannot show a value"),
        ({"table": "kinds", "driver": "none.jar"}, "there is no driver at .*none.jar"),
    ):
        said = mapping(server, {"row/x": "x"}, **more)
        with pytest.raises(AdalogError, match=why) as error:
            imported(database, spark, tmp_path, said)
        assert error.value.code is Code.ARG_INVALID
        assert "not-the-password" not in error.value.message
        assert PASSWORD not in error.value.message
