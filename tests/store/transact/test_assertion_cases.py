"""One table of what assertions come to. Every case runs through each way of making them, which have to agree.

A transaction is resolved step by step (`expand`, `tempids`, `effects`), in one pass where it is small
(`small_assertions`), or by the column where it is long (`column_assertions`). Where a case consists of plain
assertions of numbered entities, it is also a bulk load and an import, whose outcome differs only as the case says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog import edn
from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.transact import resolve
from tests.pipeline.exports_in_process import loaded

SCHEMA = """[
 {:db/ident :name :db/valueType :db.type/string}
 {:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :key :db/valueType :db.type/long :db/unique :db.unique/value}
 {:db/ident :age :db/valueType :db.type/long}
 {:db/ident :score :db/valueType :db.type/double}
 {:db/ident :on :db/valueType :db.type/boolean}
 {:db/ident :tags :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
 {:db/ident :knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :boss :db/valueType :db.type/ref}
 {:db/ident :part :db/valueType :db.type/ref :db/isComponent true}
 {:db/ident :small :db/valueType :db.type/long :db.attr/preds pos?}
 {:db/ident :at :db/valueType :db.type/tuple :db/tupleTypes [:db.type/long :db.type/long]}
 {:db/ident :row :db/valueType :db.type/long}
 {:db/ident :column :db/valueType :db.type/long}
 {:db/ident :cell :db/valueType :db.type/tuple :db/tupleAttrs [:row :column] :db/unique :db.unique/identity}]"""


@dataclass(frozen=True)
class Refusal:
    """A code, and what the message says; None for no error: the offending rows alone are left out."""

    code: Code | None
    says: str = ""


@dataclass(frozen=True)
class Case:
    """before: what holds. forms: the transaction. then: all that holds afterwards, tempids by name, or a refusal.
    bulk, imported: what a bulk load or an import comes to where that differs; None where it cannot say the case."""

    name: str
    before: str
    forms: str
    then: set[str] | Refusal
    bulk: set[str] | Refusal | str | None = "same"
    imported: set[str] | Refusal | str | None = "same"


CONFLICT = Refusal(Code.TX_CONFLICT)
INVALID = Refusal(Code.TX_INVALID)
TWICE = Refusal(Code.UNIQUE_CONFLICT)
REJECTED = Refusal(None)

CASES = [
    Case("new", "", '[:db/add 1 :name "a"] [:db/add 2 :age 3]', {'1 :name "a"', "2 :age 3"}),
    Case("the same twice", "", "[:db/add 1 :age 3] [:db/add 1 :age 3]", {"1 :age 3"}),
    Case(
        "what holds already",
        "[:db/add 1 :age 3]",
        "[:db/add 1 :age 3] [:db/add 2 :age 4]",
        {"1 :age 3", "2 :age 4"},
    ),
    Case("one replaces", "[:db/add 1 :age 3]", "[:db/add 1 :age 4]", {"1 :age 4"}, bulk=CONFLICT),
    Case("two of one", "", "[:db/add 1 :age 3] [:db/add 1 :age 4]", CONFLICT, imported=REJECTED),
    Case("many adds", "[:db/add 1 :tags :a]", "[:db/add 1 :tags :b]", {"1 :tags :a", "1 :tags :b"}),
    Case("several of many", "", "[:db/add 1 :tags :a] [:db/add 1 :tags :b]", {"1 :tags :a", "1 :tags :b"}),
    Case("refs", "", "[:db/add 1 :knows 2] [:db/add 1 :knows 1]", {"1 :knows 2", "1 :knows 1"}),
    Case("a ref replaced", "[:db/add 1 :boss 2]", "[:db/add 1 :boss 3]", {"1 :boss 3"}, bulk=CONFLICT),
    Case("a whole double", "", "[:db/add 1 :age 3.0]", {"1 :age 3"}),
    Case("a long as a double", "", "[:db/add 1 :score 3]", {"1 :score 3.0"}),
    Case("a fraction as a long", "", "[:db/add 1 :age 3.5]", INVALID, imported=REJECTED),
    Case("text as a long", "", '[:db/add 1 :age "3"]', INVALID, imported=REJECTED),
    Case("a long as a boolean", "", "[:db/add 1 :on 1]", INVALID, imported=REJECTED),
    Case("an id that is none", "", "[:db/add 4398046511103 :age 3]", INVALID, imported=REJECTED),
    Case("a predicate fails", "", "[:db/add 1 :small -1]", INVALID, imported=None),
    Case("a predicate holds", "", "[:db/add 1 :small 1]", {"1 :small 1"}, imported=None),
    Case("a unique value", "", "[:db/add 1 :key 7]", {"1 :key 7"}),
    Case("a unique value taken", "[:db/add 1 :key 7]", "[:db/add 2 :key 7]", TWICE, imported=REJECTED),
    Case("a unique value twice", "", "[:db/add 1 :key 7] [:db/add 2 :key 7]", TWICE, imported=REJECTED),
    Case("an identity taken", '[:db/add 1 :email "a"]', '[:db/add 2 :email "a"]', TWICE, imported=REJECTED),
    Case("a tuple", "", "[:db/add 1 :at [1 2]]", {"1 :at [1 2]"}),
    Case("a tuple of others", "", "[:db/add 1 :at [1 :x]]", INVALID, imported=REJECTED),
    Case(
        "a composite",
        "",
        "[:db/add 1 :row 1] [:db/add 1 :column 2]",
        {"1 :row 1", "1 :column 2", "1 :cell [1 2]"},
        bulk=INVALID,
        imported=None,
    ),
    # What only transactions can say.
    Case("a unique value moves", "[:db/add 1 :key 7]", "[:db/retract 1 :key 7] [:db/add 2 :key 7]", {"2 :key 7"}),
    Case("a map", "", '{:db/id 1 :name "a" :tags [:a :b]}', {'1 :name "a"', "1 :tags :a", "1 :tags :b"}),
    Case(
        "tempids", "", '{:db/id "x" :age 1 :knows "y"} {:db/id "y" :age 2}', {"x :age 1", "x :knows y", "y :age 2"}
    ),
    Case("an upsert", '[:db/add 1 :email "a"]', '{:db/id "x" :email "a" :age 2}', {'1 :email "a"', "1 :age 2"}),
    Case("an upsert of nobody", "", '{:db/id "x" :email "a" :age 2}', {'x :email "a"', "x :age 2"}),
    Case(
        "tempids unify",
        "",
        '{:db/id "x" :email "a" :age 1} {:db/id "y" :email "a" :on true}',
        {'x :email "a"', "x :age 1", "y :on true"},
    ),
    Case("unified ones differ", "", '{:db/id "x" :email "a" :age 1} {:db/id "y" :email "a" :age 2}', CONFLICT),
    Case(
        "one tempid, two entities",
        '[:db/add 1 :email "a"] [:db/add 2 :key 7]',
        '{:db/id "x" :email "a" :key 7}',
        TWICE,
    ),
    Case("a tempid that is only a value", "", '[:db/add 1 :knows "x"]', INVALID),
    Case(
        "a lookup ref",
        '[:db/add 1 :email "a"]',
        '[:db/add [:email "a"] :knows [:email "a"]]',
        {'1 :email "a"', "1 :knows 1"},
    ),
    Case("a lookup ref of nobody", "", '[:db/add [:email "a"] :age 1]', INVALID),
    Case("retract and assert", "[:db/add 1 :age 3]", "[:db/retract 1 :age 3] [:db/add 1 :age 4]", {"1 :age 4"}),
    Case("both of one datom", "[:db/add 1 :age 3]", "[:db/retract 1 :age 3] [:db/add 1 :age 3]", CONFLICT),
    Case(
        "all values, and one anew",
        "[:db/add 1 :tags :a]",
        "[:db/retract 1 :tags] [:db/add 1 :tags :a]",
        {"1 :tags :a"},
    ),
    Case("a component", "", '{:db/id 1 :part {:db/id "p" :age 2}}', {"1 :part p", "p :age 2"}),
    Case(
        "components go, too",
        "[:db/add 1 :part 2] [:db/add 2 :age 3] [:db/add 3 :knows 1]",
        "[:db/retractEntity 1]",
        set(),
    ),
    Case(
        "a composite follows",
        "[:db/add 1 :row 1] [:db/add 1 :column 2]",
        "[:db/retract 1 :column]",
        {"1 :row 1", "1 :cell [1 nil]"},
    ),
    Case(
        "a composite upserts",
        "[:db/add 1 :row 1] [:db/add 1 :column 2]",
        '{:db/id "x" :row 1 :column 2 :age 3}',
        {"1 :row 1", "1 :column 2", "1 :cell [1 2]", "1 :age 3"},
    ),
    Case("a composite by hand", "", "[:db/add 1 :cell [1 2]]", INVALID, bulk=INVALID, imported=None),
    Case("an ident", "", '[:db/add :age :name "n"]', {':age :name "n"'}),
    Case("a reverse key", "", "{:db/id 1 :_knows 2}", {"2 :knows 1"}),
    Case("nil", "", "[:db/add 1 :age nil]", INVALID, imported=REJECTED),
]
IDS = [case.name for case in CASES]


@pytest.fixture
def database() -> Iterable[Database]:
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        yield database


@pytest.fixture
def stored(tmp_path: Path) -> Iterable[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        yield database


def held(database: Database, names: dict[str, int]) -> set[str]:
    """What holds of the attributes of the table, entities by their names where they have one."""
    snapshot = database.snapshot()
    own = {str(form[Keyword("db/ident")]) for form in edn.read(SCHEMA)}
    by_id = {e: name for name, e in reversed(names.items())}
    rows = set()
    for datom in snapshot.datoms("AEVT"):
        if str(datom.a) in own:
            e = by_id.get(datom.e) or snapshot.ident(datom.e) or datom.e
            attribute = snapshot.attribute(datom.a)
            is_ref = attribute is not None and attribute.is_ref
            rows.add(f"{e} {datom.a} {by_id.get(datom.v, datom.v) if is_ref else write(datom.v)}")
    return rows


def check(database: Database, then: Any, names: dict[str, int], before: set[str]) -> None:
    if isinstance(then, Refusal):
        assert held(database, names) == before
    else:
        wanted = {" ".join(str(names.get(word, word)) for word in row.split(" ")) for row in then}
        assert held(database, {}) == wanted


def plain_rows(case: Case) -> list[tuple[int, Keyword, Any]] | None:
    """The case as (entity, attribute, value), if it is one of plain assertions of numbered entities."""
    forms = edn.read(f"[{case.forms}]")
    is_plain = all(
        type(form) is tuple and form[0] == Keyword("db/add") and len(form) == 4 and type(form[1]) is int
        for form in forms
    ) and not any(type(form[3]) is str and form[2] == Keyword("knows") for form in forms)
    return [form[1:] for form in forms] if is_plain else None


def no_way(_forms: Any, _state: Any) -> None:
    """Has the next way be taken."""


@pytest.mark.parametrize("way", ["long", "small", "columns"])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_transactions(case: Case, way: str, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.transact(f"[{case.before}]")
    before = held(database, {})
    if way == "long":
        monkeypatch.setattr(resolve, "few_adds", no_way)
    elif way == "columns":
        monkeypatch.setattr(resolve, "LEAST", 1)
    names: dict[str, int] = {}
    if isinstance(case.then, Refusal):
        with pytest.raises(AdalogError) as refused:
            database.transact(f"[{case.forms}]")
        assert refused.value.code is case.then.code
    else:
        names = dict(database.transact(f"[{case.forms}]").tempids)
    check(database, case.then, names, before)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_bulk_loads(case: Case, database: Database) -> None:
    rows = plain_rows(case)
    if rows is None or case.bulk is None:
        pytest.skip("a bulk load cannot say this")
    database.transact(f"[{case.before}]")
    before = held(database, {})
    then = case.then if case.bulk == "same" else case.bulk
    columns: dict[Keyword, tuple[Any, Any]] = {}
    for e, a, v in rows:
        entities, values = columns.setdefault(a, ([], []))
        entities.append(e)
        values.append(v)
    if isinstance(then, Refusal):
        with pytest.raises(AdalogError) as refused:
            database.bulk_load("[]", columns)
        assert refused.value.code is then.code
    else:
        database.bulk_load("[]", columns)
    check(database, then, {}, before)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_imports(case: Case, stored: Database, tmp_path: Path) -> None:
    rows = plain_rows(case)
    if rows is None or case.imported is None:
        pytest.skip("an import cannot say this")
    stored.transact(f"[{case.before}]")
    before = held(stored, {})
    then = case.then if case.imported == "same" else case.imported
    lines = [write((e, a, v)) for e, a, v in rows]
    outcome, rejected = loaded(stored, tmp_path, {"format": "edn", "ids": "keep"}, *lines)
    assert outcome.accepted is not isinstance(then, Refusal)
    assert bool(rejected) is isinstance(then, Refusal)
    check(stored, then, {}, before)
