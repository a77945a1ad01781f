"""Exports of random databases say what their datoms are; imported with their ids they give the same database."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import edn_format
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import Keyword, Symbol, Value
from adalog.store.database import Database
from tests.pipeline.exports_in_process import exported, held, in_edn, in_parquet, lines, loaded, said
from tests.property.model import examples

TYPES = [
    "string",
    "long",
    "double",
    "float",
    "boolean",
    "instant",
    "uuid",
    "keyword",
    "symbol",
    "bigint",
    "bigdec",
    "uri",
    "bytes",
    "duration",
    "ref",
    "tuple",
]
KINDS = [(case, kind) for case in ("one", "Many.y") for kind in TYPES]


def _declared(case: str, kind: str) -> str:
    items = {
        ("one", "tuple"): ":db/tupleTypes [:db.type/long :db.type/ref :db.type/string]",
        ("Many.y", "tuple"): ":db/tupleType :db.type/keyword",
    }.get((case, kind), "")
    many = "one" if case == "one" else "many"
    return (
        f"{{:db/ident :{case}/{kind} :db/valueType :db.type/{kind} :db/cardinality :db.cardinality/{many} {items}}}"
    )


OTHERS = """
 {:db/ident :id/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :id/code :db/valueType :db.type/long :db/cardinality :db.cardinality/many :db/unique :db.unique/value}
 {:db/ident :no/history :db/valueType :db.type/long :db/cardinality :db.cardinality/one :db/noHistory true}
 {:db/ident :pair/a+b :db/valueType :db.type/tuple :db/cardinality :db.cardinality/one
  :db/tupleAttrs [:part/a :part/b]}
 {:db/ident :part/a :db/valueType :db.type/long} {:db/ident :part/b :db/valueType :db.type/ref}
 {:db/ident :naïve :db/valueType :db.type/string :db/cardinality :db.cardinality/one :db.attr/preds [string?]}
 {:db/id 7 :db/ident :seven :db/doc "an entity \\"with\\" an ident"} {:db/ident :open} {:db/id 8 :db/doc "none"}"""

texts = st.one_of(
    st.sampled_from(["", "a", 'a "b"', "\\", "\n\t\r\x01", "5 true]", "[1 :a 2]", "é😀", "\u2028", ";", "#_"]),
    st.text(st.characters(codec="utf-8"), max_size=6),
)
VALUES: dict[str, st.SearchStrategy[str]] = {
    "string": texts.map(write),
    "long": st.sampled_from([0, -1, 7, 2**59, -(2**59) - 1, 2**63 - 1, -(2**63)]).map(str),
    "double": st.sampled_from(
        [
            "0.0",
            "-0.0",
            "1.0",
            "1e20",
            "1e-7",
            "5e-324",
            "1.7976931348623157e308",
            "##NaN",
            "##Inf",
            "##-Inf",
            "0.1",
        ]
    ),
    "float": st.sampled_from(["0.0", "0.1", "3.4e38", "1e-40", "##NaN", "##Inf", "##-Inf", "16777216.0"]),
    "boolean": st.sampled_from(["true", "false"]),
    "instant": st.sampled_from(["0001-01-01", "1969-12-31T23:59:59.999Z", "2024-05-01", "9999-12-31"]).map(
        '#inst "{}"'.format
    ),
    "duration": st.sampled_from(["PT0S", "P1M-2DT3H", "-P1Y2M3DT4H5M6.789S", "P2W", "PT9223372036854775.807S"]).map(
        '#duration "{}"'.format
    ),
    "uuid": st.uuids().map('#uuid "{}"'.format),
    "keyword": st.sampled_from([":a", ":a/b", ":+", ":a.b/c-d?", ":é", ":true", ":b/1"]),
    "symbol": st.sampled_from(["a", "a/b", "+", "é"]),
    "bigint": st.sampled_from([0, -5, 10**30]).map("{}N".format),
    "bigdec": st.sampled_from(["0M", "1.50M", "-1e-9M", "123456789012345678901234567890.1M", "1e9M"]),
    "uri": st.sampled_from(['#uri "http://a/b?c=d"', '#uri "x"']),
    "bytes": st.sampled_from(['#bytes ""', '#bytes "AAEC"']),
    "ref": st.sampled_from(["1", "2", "900", ":open", ":seven", ":db.type/long"]),
}
tuples = {
    "one": st.tuples(VALUES["long"], VALUES["ref"], VALUES["string"]).map(lambda items: f"[{' '.join(items)}]"),
    "Many.y": st.lists(VALUES["keyword"], min_size=2, max_size=3).map(lambda items: f"[{' '.join(items)}]"),
}
entities = st.sampled_from(["1", "2", "3", "1099511627776", '"new"', ":open", ":seven", '"datomic.tx"'])


def _operation(case: str, kind: str) -> st.SearchStrategy[str]:
    value = tuples[case] if kind == "tuple" else VALUES[kind]
    return st.tuples(st.sampled_from(["db/add", "db/add", "db/retract"]), entities, value).map(
        lambda each: f"[:{each[0]} {each[1]} :{case}/{kind} {each[2]}]"
    )


def _said(attribute: str, values: str) -> st.SearchStrategy[str]:
    return st.tuples(entities, st.sampled_from(values.split())).map(
        lambda each: f"[:db/add {each[0]} :{attribute} {each[1]}]"
    )


OPERATIONS = {kind: _operation(*kind) for kind in KINDS}
OTHER = st.one_of(
    _said("id/name", '"a" "b" "c"'),
    _said("id/code", "1 2 3"),
    _said("no/history", "1 2 3"),
    _said("naïve", '"x" "y"'),
    _said("part/a", "1 2"),
    _said("part/b", "1 :open"),
    st.sampled_from(["[:db/retractEntity 1]", "[:db/retractEntity 2]"]),
)


@st.composite
def databases(draw: st.DrawFn) -> tuple[str, list[list[str]]]:
    """A schema, and transactions."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True))
    operation = st.one_of(OTHER, *(OPERATIONS[kind] for kind in kinds))
    schema = " ".join(_declared(*kind) for kind in kinds)
    return schema, draw(st.lists(st.lists(operation, min_size=1, max_size=8), min_size=1, max_size=4))


@settings(max_examples=examples(20))
@given(
    databases(),
    st.integers(0, 6),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 2, 100]),
    st.sampled_from(["parquet", "edn"]),
)
def test_an_export_says_what_there_is_and_comes_back(
    given: tuple[str, list[list[str]]], moment: int, history: bool, fold: bool, rows: int, form: str
) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        with Database.open(str(folder / "data")) as database:
            database.transact(f"[{given[0]} {OTHERS}]")
            for number, tx in enumerate(given[1]):
                _apply(database, tx)
                if fold and number == 1:
                    database.compact()
            newest = database.snapshot()
            t = newest.t if moment == 0 else min(moment, newest.t)
            plain = database.at(t=t)
            view = plain.history() if history else plain
            outcome, manifest = exported(view, folder / "out", form, rows)
            assert (outcome.t, manifest.t, manifest.history) == (t, t, history)
            if form == "parquet":
                assert in_parquet(folder / "out") == said(view)
            else:
                _check_lines(folder / "out")
                assert in_edn(folder / "out") == _as_edn(said(view))
            wanted = held(plain, moved=True)
        _check_import(folder, wanted)
    finally:
        shutil.rmtree(folder)


def _apply(database: Database, tx: list[str]) -> None:
    """As one transaction; where that is refused, form by form, as far as they are not."""
    try:
        database.transact(f"[{' '.join(tx)}]")
    except AdalogError:
        for form in tx:
            try:
                database.transact(f"[{form}]")
            except AdalogError:
                continue


def _as_edn(rows: set[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    """As lines say it, which know no floats."""
    return {
        (e, a, ("double", _shortest(v[1])) if isinstance(v, tuple) and v[0] == "float" else v, t, added)
        for e, a, v, t, added in rows
    }


def _shortest(number: Any) -> Any:
    import numpy as np

    return number if isinstance(number, str) else float(str(np.float32(number)))


def _check_import(folder: Path, wanted: set[Any]) -> None:
    source = {"format": "adalog", "path": str(folder / "out"), "ids": "keep"}
    with Database.open(str(folder / "from")) as database:
        outcome, rejected = loaded(database, folder, source)
        assert not rejected
        assert held(database.snapshot(), moved=True) == held(database.snapshot()) == wanted
        again, _ = loaded(database, folder, source)
        assert (again.datoms, again.t) == (0, outcome.t)
        # New entities get ids that nothing has.
        named = database.transact('[{:db/id "x" :part/a 1} {:db/id "i" :db/ident :fresh}]').tempids
        assert not {named["x"], named["i"]} & {e for e, _, _ in wanted}
    # Also from the log alone.
    (folder / "from" / "checkpoint.json").unlink()
    with Database.open(str(folder / "from")) as database:
        assert held(database.at(t=outcome.t)) == wanted
        assert database.transact('[{:db/id "x" :part/a 1}]').tempids["x"] == named["x"] + 1


def _check_lines(folder: Path) -> None:
    """The third-party reader reads them, too, but for what it does not know."""
    for line in lines(folder):
        if "##" in line or "#bytes" in line or "#uri" in line or "\\u" in line:
            continue
        ours = _plain(_read(line))
        assert _plain(edn_format.loads(line)) == ours, line


def _read(line: str) -> Value:
    from adalog.datalog import edn

    return edn.read(line)


def _plain(value: Any) -> Any:
    if isinstance(value, Keyword | edn_format.Keyword):
        return ("keyword", value.name)
    if isinstance(value, Symbol | edn_format.Symbol):
        return ("symbol", value.name)
    if isinstance(value, tuple | list) or type(value).__name__ == "ImmutableList":
        return [_plain(each) for each in value]
    return value
