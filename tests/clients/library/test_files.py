"""Imports and exports by the library: over HTTP, into folders and memory, with their progress."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import adalog
from adalog.client.progress import told
from adalog.executor.pool import Pool
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from tests.gateway.support import Gateway, gateway, served

SCHEMA = """[{:db/ident :person/id :db/valueType :db.type/long :db/unique :db.unique/identity}
             {:db/ident :person/born :db/valueType :db.type/long}]"""
NAMES = "[:find ?name ?born :where [?p :person/name ?name] [?p :person/born ?born] :order-by [?born]]"
ROWS = [("Ada", 1815), ("Grace", 1906)]


@pytest.fixture
def people(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "people.csv"
    path.write_text("id,name,born\n7,Ada,1815\n8,Grace,1906\n")
    source = {
        "path": str(path),
        "options": {"header": True},
        "entity": {"attribute": "person/id", "column": "id"},
        "attributes": {"person/name": "name", "person/born": "born"},
    }
    return {"sources": {"people": source}}


@pytest.fixture(params=["folder", "http"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[adalog.Connection]:
    if request.param == "folder":
        with adalog.connect(tmp_path / "data") as opened:
            opened.transact(SCHEMA)
            yield opened
        return
    settings = Settings(data=str(tmp_path / "data"), port=0, import_folders=str(tmp_path))
    with Database.open(settings.data) as database:
        database.transact(SCHEMA)
        pool = Pool(database)
        made = Gateway(database, pool, settings)
        try:
            hub = made.app.state.hub
            with hub, served(made.app, settings) as url, adalog.connect(url) as opened:
                yield opened
            made.http.close()
        finally:
            made.app.state.imports.jobs.join()
            made.app.state.surfaces.close()
            pool.close()


def test_a_mapping_is_a_dict_or_a_file(db: adalog.Connection, people: dict[str, Any], tmp_path: Path) -> None:
    stages: list[str] = []
    report = db.import_(people, progress=lambda stage, done, total, rows: stages.append(stage))
    assert (report.rows, report.entities, report.rejected, report.warnings) == (2, 2, 0, [])
    assert stages
    assert db.q(NAMES).rows == ROWS
    assert db.q(NAMES).basis_t == report.t
    file = tmp_path / "people.yaml"
    file.write_text(
        """sources: {people: {path: none.csv, entity: {attribute: person/id, column: id}, options: {header: true},
                              attributes: {person/born: born}}}"""
    )
    (tmp_path / "later.csv").write_text("id,born\n8,1907\n")
    assert db.import_(file, {"people": tmp_path / "later.csv"}).t == report.t + 1
    assert db.pull("[:person/born]", ("person/id", 8)) == {":person/born": 1907}


def test_a_table_stands_for_a_file(
    db: adalog.Connection, people: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    del people["sources"]["people"]["options"]
    table = pa.table({"id": [7, 8], "name": ["Ada", "Grace"], "born": [1815, 1906]})
    assert db.import_(people, {"people": table}).rows == 2
    assert db.q(NAMES).rows == ROWS
    assert not list(tmp_path.glob("adalog-tables-*"))


@pytest.mark.filterwarnings("ignore::adalog.QueryWarning")
def test_rejected_rows(db: adalog.Connection, people: dict[str, Any], tmp_path: Path) -> None:
    path = Path(people["sources"]["people"]["path"])
    path.write_text("id,name,born\n7,Ada,1815\n8,Grace,soon\n")
    with pytest.raises(adalog.Error) as refused:
        db.import_(people)
    assert refused.value.code == "ARG_INVALID"
    assert "1 rows were rejected, max_errors is 0" in refused.value.message
    assert 'people.csv:3: :person/born: "soon" of column born cannot be read as a long' in refused.value.message
    assert refused.value.message.startswith(
        "1 rows were rejected, max_errors is 0, and nothing was imported; quarantine=FOLDER keeps all of them, "
    )
    assert not db.q(NAMES)
    dry = db.import_(people, max_errors=1, dry_run=True)
    assert {each["attribute"] for each in dry.attributes} >= {":person/name"}
    assert not db.q(NAMES)
    report = db.import_(people, max_errors=1, quarantine=tmp_path / "rejected")
    assert (report.rows, report.rejected) == (2, 1)
    [file] = (tmp_path / "rejected").iterdir()
    assert "soon" in file.read_text()
    assert db.q(NAMES).rows == ROWS[:1]


def test_some_of_many_rejected_rows(
    db: adalog.Connection, people: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(people["sources"]["people"]["path"])
    path.write_text("id,name,born\n" + "".join(f"{at},Ada,in {at}\n" for at in range(1, 6)))
    with pytest.raises(adalog.Error) as refused:
        db.import_(people, quarantine="rejected")
    said = refused.value.message
    assert '"in 3" of column born' in said
    assert '"in 4"' not in said
    assert said.startswith(
        "5 rows were rejected, max_errors is 0, and nothing was imported; rejected has all of them, with reasons. "
        'The first 3: people.csv:2: :person/born: "in 1" of column born cannot be read as a long. people.csv:3: '
    )


def test_what_is_no_mapping(db: adalog.Connection, tmp_path: Path) -> None:
    for mapping in (7, {}, {"sources": {}}, {"sources": {"people": object()}}, tmp_path / "none.yaml"):
        with pytest.raises(adalog.Error) as refused:
            db.import_(mapping)  # type: ignore[arg-type]
        assert refused.value.code == "ARG_INVALID", mapping


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"nme": "name"}, "in the mapping at sources.people.nme: source people has no `nme`"),
        (
            {"attributes": {"person/age": {"colunm": "age"}}},
            "in the mapping at sources.people.attributes.person/age.colunm: person/age has no `colunm`",
        ),
        (
            {"entity": {"attribute": "person/id", "columns": ["id", ["x"]]}},
            "in the mapping at sources.people.entity.columns[1]: a column is text",
        ),
        (
            {"attributes": {"person/born": "brn"}},
            "in the mapping at sources.people.attributes.person/born: source people has no column brn",
        ),
    ],
)
def test_an_error_of_a_dict_names_its_keys(
    db: adalog.Connection, people: dict[str, Any], wrong: dict[str, Any], place: str
) -> None:
    source = people["sources"]["people"] | wrong
    with pytest.raises(adalog.Error) as caught:
        db.import_({"sources": {"people": source}})
    assert caught.value.message.startswith(place)


def test_a_dict_without_sources(db: adalog.Connection, people: dict[str, Any]) -> None:
    with pytest.raises(adalog.Error) as caught:
        db.import_({})
    assert caught.value.message == "in the mapping: a mapping has `sources`"
    with pytest.raises(adalog.Error) as caught:
        db.import_(people, {"persons": "people.csv"})
    assert caught.value.message.startswith("there is no source persons in the mapping; it has people")


def test_a_task_awaits_an_import(people: dict[str, Any], tmp_path: Path) -> None:
    async def work() -> Any:
        async with adalog.aconnect(tmp_path / "data") as db:
            await db.transact(SCHEMA)
            report = await db.import_(people)
            exported = await db.export(tmp_path / "out")
            return report.rows, exported.t == report.t, (await db.q(NAMES)).rows

    assert asyncio.run(work()) == (2, True, ROWS)


@pytest.mark.parametrize("place", ["folder", "memory"])
@pytest.mark.parametrize("form", ["parquet", "edn"])
def test_an_export_is_read_back(tmp_path: Path, place: str, form: str) -> None:
    with adalog.connect(":memory:" if place == "memory" else tmp_path / "data") as db:
        db.transact(SCHEMA)
        t = db.transact([{"person/id": 7, "person/name": "Ada", "person/born": 1815}]).t
        db.transact([{"person/id": 8, "person/name": "Grace", "person/born": 1906}])
        report = db.export(tmp_path / "out", format=form)
        assert (report.t, report.datoms) == (t + 1, 6)
        assert db.as_of(t).export(tmp_path / "past").datoms == 3
        assert db.history().export(str(tmp_path / "history")).datoms > 6
        for wrong in (
            lambda: db.export(tmp_path / "out"),
            lambda: db.export(tmp_path / "other", format="csv"),
            lambda: db.since(t).export(tmp_path / "other"),
            lambda: db.as_user({}).export(tmp_path / "other"),
            lambda: db.with_([{"person/id": 9}]).export(tmp_path / "other"),
        ):
            with pytest.raises(adalog.Error) as refused:
                wrong()
            assert refused.value.code == "ARG_INVALID"
    with adalog.connect(tmp_path / "again") as db:
        source = {"path": str(tmp_path / "out"), "format": "adalog", "ids": "keep"}
        db.import_({"sources": {"all": source}})
        assert db.q(NAMES).rows == ROWS


def test_an_export_of_a_served_database_says_where_it_is_made() -> None:
    with (
        gateway() as made,
        served(made.app) as url,
        adalog.connect(url) as db,
        pytest.raises(adalog.Error, match="adalog export --data FOLDER out"),
    ):
        db.export("out")


def test_memory_has_files_for_as_long_as_it_is_open(
    people: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = people["sources"]["people"]
    with adalog.connect(":memory:") as db:
        db.transact(SCHEMA)
        assert not list(tmp_path.glob("adalog-*")), "without an import there is no folder"
        first = db.import_(people)
        Path(source["path"]).write_text("id,name,born\n8,Hopper,1906\n9,Alan,1912\n")
        # Its tasks read what the import before it wrote.
        db.import_(people)
        db.transact([{"person/id": 10, "person/name": "Edsger", "person/born": 1930}])
        assert db.q(NAMES).rows == [("Ada", 1815), ("Hopper", 1906), ("Alan", 1912), ("Edsger", 1930)]
        assert db.as_of(first.t).q(NAMES).rows == ROWS
        assert db.history().q("[:find [?n ...] :where [_ :person/name ?n _ false]]").value == ["Grace"]
        assert db.revert(first.t + 1).t == first.t + 3
        assert db.q(NAMES).rows == [*ROWS, ("Edsger", 1930)]
        frame = pa.table({"id": [11], "name": ["Barbara"], "born": [1939]})
        del source["options"]
        assert db.import_(people, {"people": frame}).rows == 1
        assert db.export(tmp_path / "out").datoms > 8
        assert len(list(tmp_path.glob("adalog-memory-*"))) == 1
    assert not list(tmp_path.glob("adalog-*"))


KEPT_OPEN = """
import os, sys, adalog
db = adalog.connect(":memory:")
db.transact('[{:db/ident :p/id :db/valueType :db.type/long :db/unique :db.unique/identity}]')
open("p.csv", "w").write("id,n\\n1,2\\n")
source = {"path": "p.csv", "options": {"header": True}, "attributes": {"p/n": "n"},
          "entity": {"attribute": "p/id", "column": "id"}}
assert db.import_({"sources": {"p": source}}).rows == 1
if sys.argv[1] == "fork":
    child = os.fork()
    if not child:
        sys.exit()
    os.waitpid(child, 0)
    assert [each for each in os.listdir() if each.startswith("adalog-memory-")]
if sys.argv[1] == "kill":
    os.kill(os.getpid(), 9)
"""


def test_files_of_memory_go_with_the_process(tmp_path: Path) -> None:
    def ends(how: str) -> int:
        return subprocess.run(
            [sys.executable, "-W", "ignore", "-c", KEPT_OPEN, how],
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            check=False,
        ).returncode

    assert ends("kill") == -9
    assert len(list(tmp_path.glob("adalog-memory-*"))) == 1
    # The next one removes what a killed process left, and its own at its end.
    for how in ("fork", "end"):
        assert ends(how) == 0
        assert not list(tmp_path.glob("adalog-memory-*"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    with told(True) as show:
        show("reading", 0, 0, 0)
        show("reading", 1, 4, 10)
    written = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "reading ━━━━━━──────────────────  1/4".replace("  ", " ") in written.replace("  ", " ")
    assert "rows/s" in written
    assert written.endswith("\r\x1b[K")


def test_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    with told(True) as show:
        show("reading", 1, 4, 10)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with told(False) as show:
        show("reading", 1, 4, 10)
    assert capsys.readouterr().err == sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


def test_a_bar_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)

    def display(html: str, *, display_id: bool) -> Any:
        assert display_id
        shown.append(html)
        return handle

    module = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel=object()), display=SimpleNamespace(HTML=str, display=display)
    )
    monkeypatch.setitem(sys.modules, "IPython", module)  # type: ignore[arg-type]
    with told(True) as show:
        show("<reading>", 0, 0, 0)
        show("writing", 1, 4, 0)
    assert shown == [
        "<progress></progress> &lt;reading&gt;",
        '<progress value="1" max="4"></progress> writing 1/4',
        "",
    ]
    with told(True):
        # Nothing was told.
        pass
    assert len(shown) == 3
