"""Nested data: paths into structs, structs as entities of their own, entries of maps; what goes with its owner."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.pipeline.importing.decide import decision as deciding
from adalog.pipeline.importing.read.mapping_reader import read_mapping
from adalog.pipeline.importing.write.loading import ImportOutcome, load
from adalog.store.database import Database
from tests.pipeline.pipeline_in_process import InProcess

SCHEMA = """[
 {:db/ident :o/id :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :part/id :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :line/n :db/valueType :db.type/long}
 {:db/ident :part/n :db/valueType :db.type/long}]"""

Tree = tuple[tuple[str, Any], ...]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        yield database


def source(path: str, attributes: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "sources": {
            "o": {"path": path, "entity": {"attribute": "o/id", "column": "id"}, "attributes": attributes, **more}
        }
    }


def written(folder: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema | None = None) -> str:
    """A file of JSON; with a schema of Parquet."""
    if schema is None:
        (folder / "o.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return "o.jsonl"
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema), folder / "o.parquet")
    return "o.parquet"


def imported(database: Database, folder: Path, mapping: Mapping[str, Any], **options: Any) -> ImportOutcome:
    (folder / "mapping.yaml").write_text(json.dumps(mapping))
    plan = read_mapping(folder / "mapping.yaml", {})
    return load(database, InProcess(), plan, quarantine=folder / "quarantine", **options)


def reasons(folder: Path) -> list[str]:
    return [
        json.loads(line)["reason"]
        for path in sorted((folder / "quarantine").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def trees(database: Database) -> dict[str, Tree]:
    """By :o/id, the attributes of each entity, those of its components in their place. No component is without an
    owner."""
    snapshot, found, used = database.snapshot(), {}, set()
    own: dict[int, list[tuple[str, Any]]] = {}
    refs = {str(each.ident) for each in snapshot.attributes() if each.is_ref}
    for datom in snapshot.datoms("EAVT"):
        if not str(datom.a).startswith(":db"):
            own.setdefault(datom.e, []).append((str(datom.a).removeprefix(":"), datom.v))

    def tree(entity: int) -> Tree:
        used.add(entity)
        return tuple(sorted(((a, tree(v) if f":{a}" in refs else v) for a, v in own[entity]), key=repr))

    for entity, pairs in own.items():
        key = dict(pairs).get("o/id")
        if key is not None:
            found[key] = tree(entity)
    assert used == own.keys()
    return found


def tree(**pairs: Any) -> Tree:
    """Of names with __ for /; lists are several values."""
    every = [
        (name.replace("__", "/"), value)
        for name, given in pairs.items()
        for value in (given if isinstance(given, list) else [given])
    ]
    return tuple(sorted(every, key=repr))


LINE = pa.struct([("sku", pa.string()), ("n", pa.int64()), ("tags", pa.list_(pa.string()))])
ORDER = pa.schema(
    {
        "id": pa.string(),
        "nested": pa.struct([("section", pa.string()), ("deep", pa.struct([("x", pa.int64())]))]),
        "lines": pa.list_(LINE),
        "prices": pa.map_(pa.string(), pa.int64()),
        "address": pa.struct([("city", pa.string()), ("geo", pa.struct([("lat", pa.float64())]))]),
    }
)
ATTRIBUTES = {
    "o/section": "nested.section",
    "o/x": "nested.deep.x",
    "o/euro": "prices.EUR",
    "o/sku": "lines.sku",
    "o/line": {
        "column": "lines",
        "mode": "replace",
        "attributes": {"line/sku": "sku", "line/n": "n", "line/tag": "tags", "line/kind": {"value": "k"}},
    },
    "o/price": {
        "column": "prices",
        "entries": True,
        "mode": "replace",
        "attributes": {"price/currency": "key", "price/amount": "value"},
    },
    "o/address": {
        "column": "address",
        "nulls": "retract",
        "attributes": {
            "address/city": "city",
            "address/geo": {"column": "geo", "attributes": {"geo/lat": "lat"}},
        },
    },
}
ROWS: list[dict[str, Any]] = [
    {
        "id": "a",
        "nested": {"section": "s", "deep": {"x": 5}},
        "lines": [{"sku": "p", "n": 1, "tags": ["t", "u"]}, None, {"sku": "q", "n": 2}],
        "prices": {"EUR": 5, "USD": 6},
        "address": {"city": "Bonn", "geo": {"lat": 1.5}},
    },
    {"id": "b", "nested": {"deep": None}, "lines": [], "prices": {}, "address": {"city": "Bonn"}},
    {"id": "c", "lines": [{"sku": "p", "n": 1}, {"sku": "p", "n": 1}]},
]
PRICES = {name: tree(price__currency=name, price__amount=n) for name, n in (("EUR", 5), ("USD", 6))}
FIRST = tree(line__sku="p", line__n=1, line__tag=["t", "u"], line__kind="k")
PLAIN = tree(line__sku="p", line__n=1, line__kind="k")
EXPECTED = {
    "a": tree(
        o__id="a",
        o__section="s",
        o__x=5,
        o__euro=5,
        o__sku=["p", "q"],
        o__line=[FIRST, tree(line__sku="q", line__n=2, line__kind="k")],
        o__price=[PRICES["EUR"], PRICES["USD"]],
        o__address=tree(address__city="Bonn", address__geo=tree(geo__lat=1.5)),
    ),
    "b": tree(o__id="b", o__address=tree(address__city="Bonn")),
    "c": tree(o__id="c", o__sku="p", o__line=[PLAIN, PLAIN]),
}


@pytest.mark.parametrize("schema", [None, ORDER], ids=["json", "parquet"])
def test_nested_values_are_values_or_components(
    database: Database, tmp_path: Path, schema: pa.Schema | None
) -> None:
    path = written(tmp_path, ROWS, schema)
    outcome = imported(database, tmp_path, source(path, ATTRIBUTES))
    assert (outcome.rows, outcome.entities, outcome.rejected) == (3, 3, 0)
    assert trees(database) == EXPECTED
    components = {str(each.ident) for each in database.snapshot().attributes() if each.kind.component}
    assert components == {":o/line", ":o/price", ":o/address", ":address/geo"}
    # Structs without a key are the components with the same values, so nothing changes.
    again = imported(database, tmp_path, source(path, ATTRIBUTES))
    assert (again.datoms, again.t) == (0, outcome.t)
    changed = [
        {**ROWS[0], "lines": [ROWS[0]["lines"][0]], "address": {"city": "Bonn", "geo": None}},
        {"id": "b"},
        {"id": "c"},
    ]
    path = written(tmp_path, changed, schema)
    preview = imported(database, tmp_path, source(path, ATTRIBUTES), dry_run=True)
    assert preview.going == 1 + 2 + 1
    samples = {each["attribute"]: each["samples"] for each in preview.report}
    assert samples[":address/city"][0] == 'in "a" + "Bonn"'
    imported(database, tmp_path, source(path, ATTRIBUTES))
    assert trees(database) == {
        "a": tree(
            o__id="a",
            o__section="s",
            o__x=5,
            o__euro=5,
            o__sku=["p", "q"],
            o__line=FIRST,
            o__price=[PRICES["EUR"], PRICES["USD"]],
            o__address=tree(address__city="Bonn"),
        ),
        "b": tree(o__id="b"),
        "c": EXPECTED["c"],
    }
    path = written(
        tmp_path,
        [{"id": "c", "op": "D"}],
        None if schema is None else pa.schema({"id": pa.string(), "op": pa.string()}),
    )
    imported(database, tmp_path, source(path, {}, delete={"when": {"column": "op", "equals": "D"}}))
    assert trees(database).keys() == {"a", "b"}


def test_a_column_really_named_so_wins(database: Database, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "x.y": "name", "x": {"y": "path"}},
        {"id": "b", "x": {"y": "path", "y.z": "z"}},
        {"id": "c", "x.y": {"z": "deep"}, "x": {"y": {"z": "other"}}},
        {"id": "d", "x.y": None, "x": {"y": "path"}},
    ]
    path = written(tmp_path, rows)
    outcome = imported(database, tmp_path, source(path, {"o/y": "x.y", "o/z": "x.y.z"}), max_errors=9)
    assert trees(database) == {"b": tree(o__id="b", o__y="path", o__z="z"), "d": tree(o__id="d")}
    assert outcome.rejected == 2
    imported(database, tmp_path, source(path, {"o/z": "x.y.z"}), max_errors=9)
    assert {key: dict(own).get("o/z") for key, own in trees(database).items()} == {"b": "z", "c": "deep", "d": None}
    table = pa.table({"id": ["a"], "x.y": ["name"], "x": [{"y": "path", "z": 1}]})
    pq.write_table(table, tmp_path / "o.parquet")
    imported(database, tmp_path, source("o.parquet", {"o/y": "x.y", "o/n": "x.z"}))
    assert trees(database)["a"] == tree(o__id="a", o__y="name", o__n=1)


def test_structs_with_a_key_are_entities_that_others_may_describe_too(database: Database, tmp_path: Path) -> None:
    parts = {
        "o/part": {
            "column": "parts",
            "entity": {"attribute": "part/id", "column": "id"},
            "mode": "replace",
            "attributes": {"part/n": {"column": "n", "nulls": "retract"}},
        }
    }
    rows: list[dict[str, Any]] = [
        {"id": "a", "parts": [{"id": "p", "n": 1}, {"id": "q", "n": 2}, {"id": "r"}]},
        {"id": "b", "parts": [{"id": "p", "n": 1}]},
        {"id": "c", "parts": [{"id": "p", "n": 9}]},
        {"id": "d", "parts": [{"n": 9}]},
        {"id": "e", "parts": ["p"]},
        {"id": "f", "parts": [{"id": "f", "n": "x"}]},
    ]
    outcome = imported(database, tmp_path, source(written(tmp_path, rows), parts), max_errors=4)
    assert outcome.rejected == 4
    assert [reason.split(",")[0] for reason in reasons(tmp_path)] == [
        ":part/n has cardinality one",
        "there is no value for :part/id",
        ":o/part: column parts has something else than an object",
        ":part/n: a value cannot be read as a long",
    ]
    of = {name: tree(part__id=name, part__n=n) for name, n in (("p", 1), ("q", 2), ("s", 4))}
    third = tree(part__id="r")
    assert trees(database) == {
        "a": tree(o__id="a", o__part=[of["p"], of["q"], third]),
        "b": tree(o__id="b", o__part=of["p"]),
    }
    # p moves, q goes, s comes, r gets a number and loses it again.
    rows = [
        {"id": "a", "parts": [{"id": "r", "n": 3}]},
        {"id": "b", "parts": [{"id": "p", "n": 1}, {"id": "s", "n": 4}]},
    ]
    imported(database, tmp_path, source(written(tmp_path, rows), parts))
    rows[0]["parts"] = [{"id": "r"}]
    imported(database, tmp_path, source(written(tmp_path, rows), parts))
    assert trees(database) == {
        "a": tree(o__id="a", o__part=third),
        "b": tree(o__id="b", o__part=[of["p"], of["s"]]),
    }


def test_what_is_wrong_with_nested_columns_is_said(database: Database, tmp_path: Path) -> None:
    path = written(tmp_path, ROWS)
    for attributes, message in (
        ({"o/y": "nested.sectoin"}, "no column nested.sectoin (did you mean nested.section?)"),
        (
            {"o/l": {"column": "lines", "attributes": {"l/s": "skew"}}},
            "no column lines[].skew (did you mean lines[].sku?",
        ),
        ({"o/l": {"column": "line", "attributes": {"l/s": "sku"}}}, "no column line (did you mean lines?)"),
    ):
        with pytest.raises(AdalogError) as refused:
            imported(database, tmp_path, source(path, attributes))
        assert refused.value.code is Code.ARG_INVALID
        assert message in refused.value.message
    path = written(tmp_path, ROWS, ORDER)
    for attributes, message in (
        ({"o/y": "nested.sectoin"}, "no column nested.sectoin (did you mean nested.section?)"),
        ({"o/y": "nested"}, "holds structs; map the columns in them, as `column: nested.x`"),
        ({"o/y": "prices"}, "holds maps; map the columns in them"),
        (
            {"o/l": {"column": "lines", "attributes": {"l/s": "skew"}}},
            "no column lines[].skew (did you mean lines[].sku?",
        ),
        ({"o/l": {"column": "id", "attributes": {"l/s": "skew"}}}, "no column id[].skew"),
        (
            {"o/l": {"column": "prices", "attributes": {"l/s": "value"}}},
            "with `entries: true` each entry is an entity",
        ),
    ):
        with pytest.raises(AdalogError) as refused:
            imported(database, tmp_path, source(path, attributes))
        assert message in refused.value.message


class NestedModel:
    """Orders by id: lines and an address without keys, parts with keys."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.lines: dict[str, Counter[Tree]] = {}
        self.addresses: dict[str, Tree | None] = {}
        self.parts: dict[str, set[str]] = {}
        self.numbers: dict[str, int] = {}

    def rows(self) -> list[dict[str, Any]]:
        """One version: lists may be missing, a row may be bad, an order may be deleted."""
        rng = self.rng
        numbers = {f"p{n}": rng.choice([1, 2, 3]) for n in range(6)}
        found = []
        for key in rng.sample([f"o{n}" for n in range(8)], rng.randrange(1, 6)):
            row: dict[str, Any] = {"id": key, "op": rng.choice(["D", None, None, None])}
            row |= {"lines": None, "address": None, "parts": None}
            if rng.random() < 0.8:
                row["lines"] = [self._line() for _ in range(rng.randrange(4))]
            if rng.random() < 0.7:
                row["address"] = {
                    "city": rng.choice("AB"),
                    "geo": rng.choice([None, {"lat": "1.5"}, {"lat": None}]),
                }
            if rng.random() < 0.8:
                own = rng.sample(sorted(numbers), rng.randrange(3))
                row["parts"] = [{"id": name, "n": str(numbers[name])} for name in own]
            found.append(row)
        return found

    def _line(self) -> dict[str, Any] | None:
        rng = self.rng
        if rng.random() < 0.1:
            return None
        return {
            "sku": rng.choice(["s", "t", None]),
            "n": rng.choice(["1", "2", "x" if rng.random() < 0.2 else "1.0"]),
            "tags": rng.choice([None, [], ["u"], ["u", "v", "u"]]),
        }

    def take(self, rows: Sequence[Mapping[str, Any]], *, replace: bool, sync: bool) -> int:
        """What an import of the rows leaves; the number of rejected ones."""
        # Also rows that retract, as with other columns.
        bad = {
            row["id"]
            for row in rows
            if any(line is not None and line["n"] == "x" for line in row.get("lines") or ())
        }
        good = [row for row in rows if row["id"] not in bad]
        deleted = {row["id"] for row in good if row["op"] == "D"}
        if sync:
            deleted |= self.lines.keys() - {row["id"] for row in rows}
        described = [row for row in good if row["op"] != "D"]
        named = {part["id"] for row in described for part in row.get("parts") or ()}
        gone = {part for key in deleted for part in self.parts.get(key, ())}
        if replace:
            for row in described:
                if row.get("parts") is not None:
                    gone |= self.parts.get(row["id"], set()) - named
        for key in deleted:
            for kind in (self.lines, self.addresses, self.parts):
                kind.pop(key, None)
        for part in gone:
            self.numbers.pop(part, None)
        for own in self.parts.values():
            own -= gone
        for row in described:
            key = row["id"]
            lines = self.lines.setdefault(key, Counter())
            if row.get("lines") is not None:
                given = Counter(self._tree(line) for line in row["lines"] if line is not None)
                self.lines[key] = given if replace else lines | given
            self.addresses.setdefault(key, None)
            if row.get("address") is not None:
                self.addresses[key] = self._address(row["address"])
            parts = self.parts.setdefault(key, set())
            if row.get("parts") is not None:
                own = {part["id"] for part in row["parts"]}
                self.parts[key] = own if replace else parts | own
                self.numbers |= {part["id"]: int(part["n"]) for part in row["parts"]}
        return len(bad)

    def _tree(self, line: Mapping[str, Any]) -> Tree:
        return tree(
            line__sku=[] if line["sku"] is None else line["sku"],
            line__n=int(float(line["n"])),
            line__tag=sorted(set(line["tags"] or ())),
        )

    def _address(self, address: Mapping[str, Any]) -> Tree:
        geo = address["geo"]
        # A struct without values is no entity.
        empty = geo is None or geo["lat"] is None
        return tree(address__city=address["city"], address__geo=[] if empty else tree(geo__lat=float(geo["lat"])))

    def trees(self) -> dict[str, Tree]:
        return {
            key: tree(
                o__id=key,
                o__line=list(own.elements()),
                o__address=[] if self.addresses[key] is None else [self.addresses[key]],
                o__part=[tree(part__id=name, part__n=self.numbers[name]) for name in self.parts[key]],
            )
            for key, own in self.lines.items()
        }


MODEL = pa.schema(
    {
        "id": pa.string(),
        "op": pa.string(),
        "lines": pa.list_(pa.struct([("sku", pa.string()), ("n", pa.string()), ("tags", pa.list_(pa.string()))])),
        "address": pa.struct([("city", pa.string()), ("geo", pa.struct([("lat", pa.string())]))]),
        "parts": pa.list_(pa.struct([("id", pa.string()), ("n", pa.string())])),
    }
)


def model_mapping(path: str, *, replace: bool, sync: bool) -> dict[str, Any]:
    mode = {"mode": "replace" if replace else "add"}
    attributes = {
        "o/line": {
            "column": "lines",
            **mode,
            "attributes": {"line/sku": "sku", "line/n": "n", "line/tag": "tags"},
        },
        "o/address": {
            "column": "address",
            "attributes": {
                "address/city": "city",
                "address/geo": {"column": "geo", "attributes": {"geo/lat": {"column": "lat", "type": "double"}}},
            },
        },
        "o/part": {
            "column": "parts",
            **mode,
            "entity": {"attribute": "part/id", "column": "id"},
            "attributes": {"part/n": "n"},
        },
    }
    more: dict[str, Any] = {"sync": {"most": "100%"}} if sync else {}
    return source(path, attributes, delete={"when": {"column": "op", "equals": "D"}}, **more)


@pytest.mark.parametrize("ranged", [False, True])
def test_versions_of_nested_tables_against_a_model(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranged: bool
) -> None:
    if ranged:
        monkeypatch.setattr(deciding, "is_large", lambda *_: True)
    rng = Random(11)
    model = NestedModel(rng)
    database.transact(
        """[{:db/ident :o/line :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :db/isComponent true}
        {:db/ident :o/part :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :db/isComponent true}
        {:db/ident :line/tag :db/valueType :db.type/string :db/cardinality :db.cardinality/many}]"""
    )
    for version in range(2 if ranged else 8):
        rows, replace, sync = model.rows(), rng.random() < 0.6, rng.random() < 0.2
        path = written(tmp_path, rows, rng.choice([None, MODEL]))
        given = model_mapping(path, replace=replace, sync=sync)
        rejected = model.take(rows, replace=replace, sync=sync)
        outcome = imported(database, tmp_path, given, max_errors=99)
        assert outcome.rejected == rejected, version
        assert trees(database) == model.trees(), version
        again = imported(database, tmp_path, given, max_errors=99)
        assert again.datoms == 0, version
