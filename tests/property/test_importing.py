"""Imports of random tables give what a naive loader gives, which looks at one row after the other, and reject the
same rows."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.values import EdnMap, Keyword
from adalog.store.database import Database
from tests.pipeline.pipeline_in_process import imported
from tests.property.model import examples

SCHEMA = """[
 {:db/ident :p/id :db/valueType :db.type/string :db/cardinality :db.cardinality/one :db/unique :db.unique/identity}
 {:db/ident :q/id :db/valueType :db.type/long :db/cardinality :db.cardinality/one :db/unique :db.unique/identity}
 {:db/ident :p/mail :db/valueType :db.type/string :db/cardinality :db.cardinality/one :db/unique :db.unique/value}
 {:db/ident :p/age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :p/tag :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
 {:db/ident :p/boss :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
 {:db/ident :p/near :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""

MAPPING = {
    "sources": {
        "people": {
            "path": "p.parquet",
            "entity": {"attribute": "p/id", "column": "id"},
            "attributes": {
                "p/mail": "mail",
                "p/age": "age",
                "p/tag": {"column": "tags", "split": ","},
                "p/boss": {"column": "boss", "ref": "p/id"},
                "p/near": {"column": "near", "split": ",", "ref": "q/id", "create": True},
            },
        },
        "places": {
            "path": "q.parquet",
            "entity": {"attribute": "q/id", "column": "id"},
            "attributes": {"p/age": "age", "p/tag": {"value": "place"}},
        },
    }
}

names = st.sampled_from(["a", "b", "c", "d"])
ages = st.one_of(st.none(), st.sampled_from(["1", "2", " 3 ", "x", ""]))
people = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.one_of(names, names, st.sampled_from([None, ""])),
            "mail": st.one_of(st.none(), st.sampled_from(["m", "n", "o"])),
            "age": ages,
            "tags": st.one_of(st.none(), st.sampled_from(["x", "x,y", ",", "y", "no key"])),
            "boss": st.one_of(st.none(), names, st.just("nobody")),
            "near": st.one_of(st.none(), st.sampled_from(["1", "1,2", "z"])),
        }
    ),
    max_size=7,
)
places = st.lists(st.fixed_dictionaries({"id": st.one_of(st.none(), st.integers(1, 3)), "age": ages}), max_size=3)

PEOPLE = pa.schema([(name, pa.string()) for name in ("id", "mail", "age", "tags", "boss", "near")])
PLACES = pa.schema([("id", pa.int64()), ("age", pa.string())])

Row = dict[str, Any]


class Naive:
    """A loader that knows one row after the other. Rows are (source, number)."""

    def __init__(self, database: Database, people: list[Row], places: list[Row]) -> None:
        self.database = database
        self.rows = {("people", i): row for i, row in enumerate(people)}
        self.rows |= {("places", i): row for i, row in enumerate(places)}
        self.read = {key: read(key[0], row) for key, row in self.rows.items()}
        self.lost = {key for key, value in self.read.items() if value is None}

    def load(self) -> None:
        while True:
            missing = {key for key, (who, said) in self.kept() if not self.targets(said)}
            self.lost |= missing
            if not missing:
                unjust = self.contested()
                if not unjust:
                    break
                self.lost |= unjust
        forms: list[Any] = []
        ids: dict[tuple[str, Any], str] = {}
        for _, (who, said) in self.kept():
            ids.setdefault(who, str(who))
            for _, value in said:
                if isinstance(value, tuple) and value not in ids:
                    ids[value] = str(value)
        forms = [EdnMap({Keyword("db/id"): name, Keyword(a): v}) for (a, v), name in ids.items()]
        for _, (who, said) in self.kept():
            for attribute, value in said:
                given = ids[value] if isinstance(value, tuple) else value
                forms.append((Keyword("db/add"), ids[who], Keyword(attribute), given))  # type: ignore[arg-type]
        if forms:
            self.database.transact(forms)

    def kept(self) -> list[tuple[tuple[str, int], Any]]:
        return [(key, self.read[key]) for key in sorted(self.read) if key not in self.lost]

    def entity(self, who: tuple[str, Any]) -> int | None:
        return self.database.snapshot().entid((Keyword(who[0]), who[1]))

    def targets(self, said: list[tuple[str, Any]]) -> bool:
        here = {who for _, (who, _) in self.kept()}
        return all(
            value in here or self.entity(value) is not None for attribute, value in said if attribute == "p/boss"
        )

    def contested(self) -> set[tuple[str, int]]:
        """Rows that are not granted a value or a unique one: the first to claim gets it."""
        snapshot = self.database.snapshot()
        mail = snapshot.attribute(Keyword("p/mail"))
        assert mail is not None
        columns = snapshot.columns(mail)
        held = dict(zip(snapshot.codes.decode_many(columns.v), columns.e.tolist(), strict=True))
        claims: dict[Any, set[Any]] = {}
        for _, (who, said) in self.kept():
            for attribute, value in said:
                if attribute not in ("p/tag", "p/near"):
                    claims.setdefault((who, attribute), set()).add(value)
        owners = {}
        for value, e in held.items():
            whose = [who for who, _ in claims if self.entity(who) == e]
            replaced = any(claims.get((who, "p/mail"), {value}) - {value} for who in whose)
            keeps = not replaced or any(value in claims.get((who, "p/mail"), ()) for who in whose)
            if keeps:
                owners[value] = e
        lost = set()
        granted: dict[Any, Any] = {}
        taken: dict[Any, Any] = {}
        for key, (who, said) in self.kept():
            wrong = False
            for attribute, value in said:
                if attribute in ("p/tag", "p/near"):
                    continue
                wrong |= granted.get((who, attribute), value) != value
                if attribute == "p/mail":
                    if value in owners:
                        wrong |= owners[value] != self.entity(who)
                    wrong |= taken.get(value, who) != who
            if wrong:
                lost.add(key)
                continue
            for attribute, value in said:
                if attribute not in ("p/tag", "p/near"):
                    granted[who, attribute] = value
                if attribute == "p/mail":
                    taken[value] = who
        return lost


def read(source: str, row: Row) -> Any:
    """((identity, value), [(attribute, value)]), refs as (identity, value); None for a row that cannot be read."""
    if row["id"] in (None, ""):
        return None
    said: list[tuple[str, Any]] = []
    age = (row["age"] or "").strip()
    if age:
        if age == "x":
            return None
        said.append(("p/age", int(age)))
    if source == "places":
        return ("q/id", row["id"]), [*said, ("p/tag", Keyword("place"))]
    if row["mail"] is not None:
        said.append(("p/mail", row["mail"]))
    for tag in filter(None, (row["tags"] or "").split(",")):
        if " " in tag:
            return None
        said.append(("p/tag", Keyword(tag)))
    if row["boss"] is not None:
        said.append(("p/boss", ("p/id", row["boss"])))
    for near in filter(None, (row["near"] or "").split(",")):
        if near == "z":
            return None
        said.append(("p/near", ("q/id", int(near))))
    return ("p/id", row["id"]), said


def facts(database: Database) -> set[Any]:
    snapshot = database.snapshot()
    found, names = [], {}
    for attribute in snapshot.attributes():
        if attribute.ident.namespace not in ("p", "q"):
            continue
        columns = snapshot.columns(attribute)
        values = columns.v.tolist() if attribute.is_ref else snapshot.codes.decode_many(columns.v)
        for e, value in zip(columns.e.tolist(), values, strict=True):
            if attribute.ident.local == "id":
                names[e] = (attribute.ident.name, value)
            found.append((e, attribute, value))
    return {(names.get(e), a.ident.name, names.get(v) if a.is_ref else v) for e, a, v in found}


@settings(max_examples=examples(60))
@given(
    before=people,
    before_places=places,
    people=people,
    places=places,
    buckets=st.integers(1, 4),
    partitions=st.integers(1, 3),
    rows=st.integers(1, 4),
)
def test_an_import_is_what_a_naive_loader_makes(
    before: list[Row],
    before_places: list[Row],
    people: list[Row],
    places: list[Row],
    buckets: int,
    partitions: int,
    rows: int,
) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        with Database.open(str(folder / "data")) as ours, Database.open(":memory:") as theirs:
            for database in (ours, theirs):
                database.transact(SCHEMA)
                Naive(database, before, before_places).load()
            naive = Naive(theirs, people, places)
            naive.load()
            tables = {
                "people": pa.Table.from_pylist(people, PEOPLE),
                "places": pa.Table.from_pylist(places, PLACES),
            }
            sizes = {"buckets": buckets, "partitions": partitions, "rows": rows}
            outcome, rejected = imported(ours, folder, MAPPING, tables, max_errors=100, **sizes)
            assert {(source, row) for source, row, _ in rejected} == naive.lost
            assert facts(ours) == facts(theirs)
            again, _ = imported(ours, folder, MAPPING, tables, max_errors=100, **sizes)
            assert (again.datoms, again.t, again.rejected) == (0, outcome.t, outcome.rejected)
    finally:
        shutil.rmtree(folder)
