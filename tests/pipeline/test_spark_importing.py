"""Imports and exports through Spark: files of all formats, rejected rows with their lines, one session for all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from adalog.cluster.session import Session
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.executor.pool import Pool
from adalog.executor.spark.engine import SparkEngine
from adalog.gateway.cli import main
from adalog.gateway.settings.config import Settings
from adalog.pipeline.exporting.export import export
from adalog.pipeline.importing.read.mapping import ImportPlan
from adalog.pipeline.importing.read.mapping_reader import read_mapping
from adalog.pipeline.importing.read.spark_runner import SparkRunner
from adalog.pipeline.importing.write import streaming
from adalog.pipeline.importing.write.loading import ImportOutcome, load
from adalog.pipeline.importing.write.streaming import Streaming
from adalog.spark import register
from adalog.store.database import Database
from pyspark_adalog import DefaultSource
from tests.gateway.support import Gateway, served
from tests.pipeline.exports_in_process import held, in_edn, in_parquet, said
from tests.pipeline.test_importing import SCHEMA, facts

pytestmark = [
    pytest.mark.spark,
    # What py4j's threads have to say when Java is killed under them.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

MAPPING = """
sources:
  people:
    path: PATH
    options: {header: true, comment: "#"}
    entity: {attribute: person/id, column: id}
    attributes:
      person/name: name
      person/age: age
      person/tag: {column: tags, split: ";"}
      person/boss: {column: boss, ref: person/id}
      person/born: born
"""


class Silent:
    """Nobody is told anything; but what the stages were is kept."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, name: str) -> None:
        self.stages.append(name)

    def tasks(self, done: int, total: int, rows: int) -> None:
        assert done <= total
        assert rows >= 0


@pytest.fixture
def session(spark: SparkEngine) -> Session:
    return spark.session


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        yield database


def imported(database: Database, session: Session, folder: Path, path: str, max_errors: int = 0) -> ImportOutcome:
    file = folder / "mapping.yaml"
    options = "" if path.endswith(".csv") else '    options: {header: true, comment: "#"}\n'
    file.write_text(MAPPING.replace(options, "").replace("PATH", path))
    watching = Silent()
    runner = SparkRunner(session.live(), watching)
    outcome = load(
        database, runner, read_mapping(file, {}), max_errors=max_errors, quarantine=folder / "quarantine"
    )
    assert watching.stages[0] in ("looking at people", "reading people")
    return outcome


def test_csv_with_rejected_rows(database: Database, session: Session, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text(
        'id,name,age,tags,boss,born\na,"A, B",1,x;y,b,\n\n# none\nb,B,,,,\n,nobody,,,,\n'
    )
    (tmp_path / "in" / "2.csv").write_text(
        "id,name,age,tags,boss,born\nc,C,three,,,\nd,D,4,,nobody,\na,other,,,,\ne,E,,x,a,2024-05-01\n"
    )
    outcome = imported(database, session, tmp_path, "in/*.csv", max_errors=4)
    assert (outcome.rows, outcome.entities, outcome.rejected) == (7, 3, 4)
    known = facts(database)
    assert {(e, a, str(v)) for e, a, v in known} == {
        *((e, ":person/id", e) for e in "abe"),
        ("a", ":person/name", "A, B"),
        ("b", ":person/name", "B"),
        ("e", ":person/name", "E"),
        ("a", ":person/age", "1"),
        ("a", ":person/tag", ":x"),
        ("a", ":person/tag", ":y"),
        ("e", ":person/tag", ":x"),
        ("a", ":person/boss", "b"),
        ("e", ":person/boss", "a"),
        ("e", ":person/born", "2024-05-01 00:00:00+00:00"),
    }
    written = [
        json.loads(line)
        for file in sorted((tmp_path / "quarantine").iterdir())
        for line in file.read_text().splitlines()
    ]
    told = {(Path(each["file"]).name, each["line"]): (each["row"]["name"], each["reason"]) for each in written}
    assert told == {
        ("1.csv", 6): ("nobody", "there is no value for :person/id, which names the entity"),
        ("2.csv", 2): ("C", ':person/age: "three" of column age cannot be read as a long'),
        ("2.csv", 3): ("D", ":person/boss: no entity has this :person/id, in the database or in this import"),
        ("2.csv", 4): (
            "other",
            ":person/name has cardinality one, and an earlier row gives this entity another value",
        ),
    }
    assert all(each["source"] == "people" for each in written)


def test_formats_agree(database: Database, session: Session, tmp_path: Path) -> None:
    rows = [
        {
            "id": f"p{i}",
            "name": f"n{i % 7}",
            "age": i,
            "tags": ["x", "y"] if i % 3 else None,
            "boss": f"p{i // 2}",
            "born": f"2024-05-01T00:00:{i % 60:02}Z",
        }
        for i in range(500)
    ]
    (tmp_path / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = pa.Table.from_pylist(rows)
    born = pa.array([datetime.fromisoformat(row["born"]) for row in rows], pa.timestamp("us", "UTC"))
    pq.write_table(table.set_column(5, "born", born), tmp_path / "people.parquet", row_group_size=100)
    first = imported(database, session, tmp_path, "people.jsonl")
    assert (first.entities, first.rejected) == (500, 0)
    assert first.datoms == 500 * 5 + 2 * len([row for row in rows if row["tags"]])
    again = imported(database, session, tmp_path, "people.parquet")
    assert (again.datoms, again.t) == (0, first.t)


def test_files_that_cannot_be_read_are_refused(database: Database, session: Session, tmp_path: Path) -> None:
    with pytest.raises(AdalogError) as caught:
        imported(database, session, tmp_path, "none.csv")
    assert caught.value.code is Code.ARG_INVALID
    assert "source people cannot be read" in caught.value.message
    (tmp_path / "few.csv").write_text("id,name\na,A\n")
    with pytest.raises(AdalogError, match="source people has no column age; its columns are id, name"):
        imported(database, session, tmp_path, "few.csv")
    assert not (tmp_path / "data" / "importing").exists()


def test_an_export_and_back(database: Database, session: Session, tmp_path: Path) -> None:
    database.transact(
        '[{:db/id 1 :person/id "a" :person/name "A" :person/tag [:x :y] :person/boss "b"}'
        ' {:db/id "b" :person/id "b" :person/born #inst "2024-05-01" :person/score 1.5}]'
    )
    database.transact('[{:person/id "a" :person/name "Ada"} [:db/retract 1 :person/tag :x]]')
    runner = SparkRunner(session.live(), Silent())
    for form in ("parquet", "edn"):
        history = database.at(history=True)
        outcome = export(history, runner, tmp_path / form, form, rows=2)
        assert outcome.files > outcome.attributes == 11
        assert (in_parquet if form == "parquet" else in_edn)(tmp_path / form) == said(history)
        mapping = tmp_path / "mapping.yaml"
        mapping.write_text(f"sources: {{all: {{path: {tmp_path / form}, format: adalog, ids: keep}}}}")
        with Database.open(str(tmp_path / f"from-{form}")) as other:
            plan = read_mapping(mapping, {})
            first = load(other, SparkRunner(session.live(), Silent()), plan)
            assert held(other.snapshot()) == held(database.snapshot())
            again = load(other, SparkRunner(session.live(), Silent()), plan)
            assert (again.datoms, again.t) == (0, first.t)
    for name in ("person.name", "person.tag"):
        frame = session.live().spark.read.parquet(str(tmp_path / "parquet" / name))
        assert frame.columns == ["e", "v", "t", "added"]


def test_lines_with_rejected_rows(database: Database, session: Session, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.edn").write_text(
        '; people\n[1 :person/id "a"]\r\n\n[1 :person/age "x"]\n[1 :person/tag :é]\n'
    )
    (tmp_path / "in" / "2.edn").write_text('[1 :person/boss 2]\n[2 :person/id "b"]\nnothing\n[2 :new/one 5]')
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text("sources: {people: {path: in/*.edn}}")
    quarantine = tmp_path / "quarantine"
    outcome = load(
        database,
        SparkRunner(session.live(), Silent()),
        read_mapping(mapping, {}),
        max_errors=2,
        quarantine=quarantine,
    )
    assert (outcome.rows, outcome.entities, outcome.rejected) == (7, 2, 2)
    known = {
        (datom.e, str(datom.a), str(datom.v))
        for datom in database.snapshot().datoms("AEVT")
        if datom.t == outcome.t
    }
    assert {
        *((1, ":person/id", "a"), (1, ":person/tag", ":é"), (1, ":person/boss", "2")),
        *((2, ":person/id", "b"), (2, ":new/one", "5")),
    } <= known
    written = [json.loads(line) for file in quarantine.iterdir() for line in file.read_text().splitlines()]
    assert {(Path(each["file"]).name, each["line"]): each["row"] for each in written} == {
        ("1.edn", 4): {"value": '[1 :person/age "x"]'},
        ("2.edn", 3): {"value": "nothing"},
    }


def test_a_server_imports_on_its_session(session: Session, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = "".join(f"p{i},n{i % 7},{i},x;y,p{i // 2},\n" for i in range(400))
    (tmp_path / "in" / "1.csv").write_text("id,name,age,tags,boss,born\n" + rows)
    (tmp_path / "in" / "2.csv").write_text("id,name,age,tags,boss,born\nq,Q,three,,,\n")
    (tmp_path / "in" / "mapping.yaml").write_text(MAPPING.replace("PATH", "'*.csv'"))
    settings = Settings(data=str(tmp_path / "data"), port=0, import_folders=str(tmp_path / "in"))
    with Database.open(settings.data) as database:
        database.transact(SCHEMA)
        pool = Pool(database)
        opened = Gateway(database, pool, settings)
        opened.app.state.imports.runner = lambda told, _: SparkRunner(session.live(), told)
        command = ["import", "--mapping", str(tmp_path / "in" / "mapping.yaml"), "--max-errors", "1"]
        command += ["--quarantine", str(tmp_path / "quarantine")]
        try:
            with opened.app.state.hub, served(opened.app, settings) as address:
                done = CliRunner().invoke(main, [*command, "--url", address])
                again = CliRunner().invoke(main, [*command, "--url", address])
            opened.http.close()
        finally:
            opened.app.state.imports.jobs.join()
            pool.close()
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout.splitlines()[-1])
        assert (told["t"], told["rows"], told["entities"], told["rejected"]) == (2, 401, 400, 1)
        assert json.loads(again.stdout.splitlines()[-1])["datoms"] == 0
        files = (tmp_path / "quarantine").iterdir()
        [line] = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        assert (line["row"]["name"], line["line"], Path(line["file"]).name) == ("Q", 2, "2.csv")
        assert len({e for e, _, _ in facts(database)}) == 400


def test_other_programs_read_data_frames(database: Database, session: Session, tmp_path: Path) -> None:
    people = " ".join(f'{{:person/id "p{i}" :person/age {i} :person/tag [:x :y]}}' for i in range(500))
    database.transact(f"[{people}]")
    database.compact()
    # As any program's session; the engine's own has a task for each row.
    spark = session.live().spark.newSession()
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
    spark.dataSource.register(DefaultSource)

    def read(**options: str) -> Any:
        return spark.read.format("adalog").options(data=str(tmp_path / "data"), **options).load()

    ages = read(attribute=":person/age", rowsPerPartition="100")
    some = ages.where("v >= 490 and e > 0").select("v")
    assert sorted(some.toArrow().column("v").to_pylist()) == list(range(490, 500))

    register(spark)
    filtered = read(attribute=":person/age", rowsPerPartition="100")
    [one] = filtered.where("v = 77 and e > 0").toArrow().to_pylist()
    assert database.snapshot().entid((Keyword("person/id"), "p77")) == one["e"]

    query = "[:find ?id ?a :in $ ?least :where [?e :person/id ?id] [?e :person/age ?a] [(<= ?least ?a)]]"
    answer = read(query=query, args="[498]")
    assert answer.schema.simpleString() == "struct<?id:string,?a:bigint>"
    assert sorted(map(tuple, (row.values() for row in answer.toArrow().to_pylist()))) == [
        ("p498", 498),
        ("p499", 499),
    ]

    before = read()
    joined = filtered.join(before.where("a = ':person/id'").withColumnRenamed("v", "id"), "e")
    database.transact('[{:person/id "p1" :person/age 1000}]')
    found = {(row["id"], row["v"]) for row in joined.select("id", filtered["v"]).toArrow().to_pylist()}
    assert found == {(f'"p{i}"', i) for i in range(500)}


class Sink:
    """Imports into a database; fails, after it has, when that is wanted."""

    def __init__(self, database: Database, session: Session) -> None:
        self.database = database
        self.session = session
        self.keys: list[str] = []
        self.fails = False

    def imported(self, plan: ImportPlan, key: str, quarantine: Path) -> ImportOutcome:
        self.keys.append(key)
        runner = SparkRunner(self.session.live(), Silent())
        outcome = load(self.database, runner, plan, max_errors=100, quarantine=quarantine, key=key)
        if self.fails:
            raise AdalogError(Code.INTERNAL, "killed, so to speak")
        return outcome


def test_a_stream_takes_each_file_once(database: Database, session: Session, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "mapping.yaml").write_text(MAPPING.replace("PATH", "in/*.csv"))
    sink = Sink(database, session)
    told: list[tuple[int, ImportOutcome]] = []

    def tell(source: str, number: int, came: ImportOutcome | AdalogError) -> None:
        assert source == "people"
        assert isinstance(came, ImportOutcome)
        told.append((number, came))

    def run() -> None:
        plan = read_mapping(tmp_path / "mapping.yaml", {})
        places = (tmp_path / "checkpoint", tmp_path / "quarantine")
        Streaming(session.live(), plan, *places, sink, tell).run(once=True)

    def appear(name: str, *rows: str) -> None:
        (tmp_path / name).write_text("\n".join(["id,name,age,tags,boss,born", *rows, ""]))
        (tmp_path / name).rename(tmp_path / "in" / name)

    appear("1.csv", "a,A,1,,,", "b,B,two,,,")
    run()
    assert {e for e, _, _ in facts(database)} == {"a"}
    [rejected] = (tmp_path / "quarantine" / "people" / "0").iterdir()
    assert json.loads(rejected.read_text())["row"]["id"] == "b"
    assert [(number, came.t) for number, came in told] == [(0, 2)]

    # What was imported, but whose end nobody has heard of, is handed on again, and not done again.
    appear("2 [x].csv", "a,Other,1,,,", "c,C,3,,a,")
    sink.fails = True
    with pytest.raises(AdalogError, match="killed, so to speak"):
        run()
    assert database.snapshot().t == 3
    database.transact('[{:person/id "a" :person/name "Newer"}]')
    sink.fails = False
    run()
    assert [(number, came.t, came.datoms) for number, came in told[1:]] == [(1, 3, 0)]
    assert sink.keys[1] == sink.keys[2] != sink.keys[0]
    assert {v for e, a, v in facts(database) if (e, a) == ("a", ":person/name")} == {"Newer"}

    appear("3.csv", "d,D,4,,c,")
    run()
    assert [came.t for _, came in told] == [2, 3, 5]
    assert not (tmp_path / "data" / "importing").exists()


def test_a_topic_without_its_connector(database: Database, session: Session, tmp_path: Path) -> None:
    topic = MAPPING.replace("PATH", "people").replace(
        'options: {header: true, comment: "#"}',
        'format: kafka\n    options: {kafka.bootstrap.servers: "localhost:9"}',
    )
    (tmp_path / "mapping.yaml").write_text(topic)
    plan = read_mapping(tmp_path / "mapping.yaml", {})
    places = (tmp_path / "checkpoint", tmp_path / "quarantine")
    stream = Streaming(session.live(), plan, *places, Sink(database, session), lambda *_: None)
    with pytest.raises(AdalogError, match="a topic of Kafka, and Spark has no connector for it") as caught:
        stream.run(once=True)
    assert caught.value.code is Code.BACKEND_UNAVAILABLE
    with pytest.raises(AdalogError, match="which `adalog stream` reads"):
        load(database, SparkRunner(session.live(), Silent()), plan)


def test_a_topics_values_are_lines(session: Session) -> None:
    frame = session.live().spark.createDataFrame([(bytearray(b'{"id":\r\n"a"}\n'),), (None,)], "value BINARY")
    assert sorted(row["value"] or "" for row in frame.selectExpr(streaming._VALUE).collect()) == [
        "",
        '{"id": "a"} ',
    ]
