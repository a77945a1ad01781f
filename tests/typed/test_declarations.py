"""The model of declared attributes: types, fields, enums, and what is left out with which warning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from graphql import build_schema as read_sdl
from graphql import print_schema, validate_schema

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import Keyword
from adalog.schema.surface import build_schema
from adalog.schema.typed.declarations import model_of
from adalog.schema.typed.model import Model
from adalog.schema.typed.surface import Surface, SurfaceFactory
from adalog.store.database import Database
from adalog.store.values import bootstrap
from tests.pipeline.exports_in_process import exported, loaded

SCHEMA = """[
 {:db/ident :user/email :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :user/name :db/valueType :db.type/string :db/doc "Full name."}
 {:db/ident :issue/id :db/valueType :db.type/uuid :db/unique :db.unique/identity}
 {:db/ident :issue/title :db/valueType :db.type/string}
 {:db/ident :issue/assignee :db/valueType :db.type/ref :graphql/type :user}
 {:db/ident :issue/reviewer :db/valueType :db.type/ref :graphql/type :user}
 {:db/ident :issue/status :db/valueType :db.type/ref :graphql/enum :status}
 {:db/ident :issue/tags :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
 {:db/ident :issue/secret :db/valueType :db.type/string :graphql/hidden true}
 {:db/ident :issue/items :db/valueType :db.type/ref :db/isComponent true :db/cardinality :db.cardinality/many
  :graphql/type :line-item}
 {:db/ident :issue/about :db/valueType :db.type/ref}
 {:db/ident :line-item/text :db/valueType :db.type/string}
 {:graphql/namespace :line-item :graphql/name "Item" :db/doc "A line."}
 {:db/ident :status/open} {:db/ident :status/in-progress}]"""


@contextmanager
def declared(*transactions: str) -> Iterator[Database]:
    with Database.open(":memory:") as database:
        for text in transactions:
            database.transact(text)
        yield database


def model(*transactions: str) -> Model:
    with declared(*transactions) as database:
        return model_of(database.snapshot())


def surface(*transactions: str) -> Surface:
    with declared(*transactions) as database:
        return SurfaceFactory(build_schema()._schema).surface(database.snapshot())


def shown(of: Model, name: str) -> dict[str, str]:
    """The fields of a type in GraphQL's notation."""
    found = {}
    for each in of.types[name].fields.values():
        kind = each.scalar or each.enum or each.target or "Entity"
        found[each.name] = f"[{kind}]" if each.many else kind
    return found


def test_types_fields_and_enums() -> None:
    found = model(SCHEMA)
    assert list(found.types) == ["User", "Issue", "Item"]
    assert shown(found, "Issue") == {
        "key": "UUID", "title": "String", "assignee": "User", "reviewer": "User", "status": "Status",
        "tags": "[String]", "items": "[Item]", "about": "Entity",
    }  # fmt: skip
    assert shown(found, "User") == {
        "email": "String", "name": "String", "issues": "[Issue]", "issuesByReviewer": "[Issue]"
    }  # fmt: skip
    assert shown(found, "Item") == {"text": "String", "issue": "Issue"}
    assert found.enums["Status"].members == {
        "OPEN": Keyword("status/open"), "IN_PROGRESS": Keyword("status/in-progress")
    }  # fmt: skip
    issue, item = found.types["Issue"], found.types["Item"]
    assert (issue.anchors, issue.key, list(issue.uniques)) == ((Keyword("issue/id"),), "key", ["key"])
    assert (item.anchors, item.key, item.doc) == ((Keyword("line-item/text"),), None, "A line.")
    assert (item.singular, item.plural) == ("item", "items")
    assert found.types["User"].fields["name"].doc == "Full name."
    assert found.hidden == {Keyword("issue/secret")}
    assert found.warnings == ()


def test_scalars() -> None:
    kinds = {
        "string": "String", "boolean": "Boolean", "double": "Float", "float": "Float", "long": "Long",
        "bigint": "BigInt", "bigdec": "Decimal", "instant": "DateTime", "duration": "Duration", "uuid": "UUID",
        "uri": "URI", "bytes": "Bytes", "keyword": "Keyword", "symbol": "Symbol",
    }  # fmt: skip
    text = " ".join(f"{{:db/ident :a/of-{each} :db/valueType :db.type/{each}}}" for each in kinds)
    pair = "{:db/ident :a/pair :db/valueType :db.type/tuple :db/tupleTypes [:db.type/long :db.type/string]}"
    late = "{:db/ident :a/late :db/cardinality :db.cardinality/one}"
    found = shown(model(f"[{text} {pair} {late}]"), "A")
    assert list(found.values()) == [*kinds.values(), "JSON", "JSON"]


@pytest.mark.parametrize(
    ("declarations", "code", "said"),
    [
        ("{:db/ident :a/ok? :db/valueType :db.type/long}", "NAME_INVALID", ":a/ok? is no field"),
        ('{:db/ident :a/x :db/valueType :db.type/long :graphql/name "1"}', "NAME_INVALID", "the name 1 cannot"),
        ('{:db/ident :a/x :db/valueType :db.type/long :graphql/name "id"}', "NAME_INVALID", "belongs to every"),
        (
            "{:db/ident :a/b-c :db/valueType :db.type/long} {:db/ident :a/b_c :db/valueType :db.type/long}",
            "NAME_TAKEN", ":a/b_c is no field: :a/b-c has the name A.bC",
        ),
        ("{:db/ident :a/and :db/valueType :db.type/long}", "NAME_TAKEN", "A.and has no condition"),
        ("{:db/ident :a/count :db/valueType :db.type/long}", "NAME_TAKEN", "A.count has no aggregate"),
        ("{:db/ident :a/x :db/valueType :db.type/long :graphql/type :b}", "NO_REF", ":a/x is no ref"),
        ("{:db/ident :a/x :db/valueType :db.type/long :graphql/enum :b}", "NO_REF", ":a/x is no ref"),
        ("{:db/ident :a/x :db/valueType :db.type/ref :graphql/type :b}", "UNKNOWN_NAMESPACE", ":a/x shows any"),
        ("{:graphql/namespace :b}", "UNKNOWN_NAMESPACE", "no attribute is in this namespace"),
        ("{:graphql/namespace :a :graphql/anchor :a/b}", "UNKNOWN_ANCHOR", "no attribute: :a/b"),
        ('{:graphql/namespace :a :graphql/name "A B"}', "NAME_INVALID", "has no type"),
        ('{:graphql/namespace :a :graphql/plural "a"}', "NAME_TAKEN", "is its singular; as is used"),
        ("{:db/ident :a/x :db/valueType :db.type/ref :graphql/enum :b}", "ENUM_EMPTY", "Keyword is used"),
        (
            "{:db/ident :a/x :db/valueType :db.type/ref :graphql/enum :b} {:db/ident :b/c-d} {:db/ident :b/c_d}",
            "ENUM_CLASH", ":b/c-d and :b/c_d have one name",
        ),
        (
            "{:db/ident :a/x :db/valueType :db.type/ref :graphql/enum :b} {:db/ident :b/c} {:db/ident :b/d?}",
            "NAME_INVALID", ":b/d? is no member",
        ),
        ("{:db/ident :warning/x :db/valueType :db.type/long}", "NAME_TAKEN", "no type for the namespace :warning"),
        ("{:db/ident :a-edge/x :db/valueType :db.type/long}", "NAME_TAKEN", "the name AEdge is given already"),
        ("{:db/ident :transaction/x :db/valueType :db.type/long}", "NAME_TAKEN", "Query.transactions is no field"),
    ],
)  # fmt: skip
def test_what_is_left_out(declarations: str, code: str, said: str) -> None:
    """The surface without it is valid, and says what is missing."""
    found = surface(f"[{{:db/ident :a/first :db/valueType :db.type/string}} {declarations}]")
    assert [(each.code, said in each.message) for each in found.model.warnings] == [(code, True)]
    assert validate_schema(read_sdl(print_schema(found.schema))) == []


def test_a_whole_surface_is_valid() -> None:
    found = surface(SCHEMA)
    assert validate_schema(read_sdl(found.sdl)) == []
    assert found.model.warnings == ()


def test_without_declarations_there_are_the_fixed_fields() -> None:
    found = surface()
    base = build_schema()._schema
    for name in ("Query", "Mutation", "Subscription"):
        more = {
            "Query": {"node", "nodes", "schemaWarnings", "schemaProposal"},
            "Subscription": {"schemaChanged"},
        }.get(name, set())
        assert set(found.schema.type_map[name].fields) == set(base.type_map[name].fields) | more
    for name, kind in base.type_map.items():
        assert found.schema.type_map[name] is kind or name in ("Query", "Mutation", "Subscription")


def test_equal_declarations_have_one_version() -> None:
    with declared(SCHEMA) as database, declared(SCHEMA) as other:
        first, same = model_of(database.snapshot()), model_of(other.snapshot())
        assert first.version == same.version
        database.transact("[{:db/ident :user/age :db/valueType :db.type/long} {:db/ident :other/ident}]")
        later = model_of(database.snapshot(), before=first)
        assert later.version != first.version
        assert later.types["Item"] is first.types["Item"]
        assert later.types["User"] is not first.types["User"]


def test_in_the_strict_schema_untyped_attributes_are_left_out() -> None:
    with declared("[{:db/ident :a/x :db/cardinality :db.cardinality/one}]") as database:
        assert list(model_of(database.snapshot()).types) == ["A"]
        assert not model_of(database.snapshot(), strict=True).types


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[{:db/ident :a/x :graphql/type 5}]", "5 is not a keyword, as :graphql/type wants"),
        ('[{:db/ident :a/x :graphql/hidden "no"}]', "is not a boolean, as :graphql/hidden wants"),
        ("[{:db/ident :graphql/type :db/valueType :db.type/string}]", "declared by its first use"),
        ("[[:db/add 5 :db/ident :graphql/name]]", "declared by its first use"),
    ],
)
def test_wrong_declarations_are_refused(text: str, said: str) -> None:
    with declared() as database, pytest.raises(AdalogError) as refused:
        database.transact(text)
    assert said in refused.value.message
    assert refused.value.position is not None


def test_built_in_attributes_are_declared_by_their_first_use(tmp_path: Path) -> None:
    folder = str(tmp_path)
    with Database.open(folder) as database:
        assert not database.snapshot().datom_count
        attribute = database.snapshot().attribute(Keyword("graphql/type"))
        assert attribute is not None
        assert attribute.kind.value_type == "keyword"
        database.transact("[{:db/ident :a/x :db/valueType :db.type/ref :graphql/type :a}]")
        database.transact('[{:graphql/namespace :a :graphql/name "B"}]')
        database.transact('[{:graphql/namespace :a :graphql/plural "bees"}]')
        # With three instants.
        assert database.snapshot().datom_count == 3 + 2 + 1 + 3
        with pytest.raises(AdalogError, match="is built in and cannot be changed"):
            database.transact("[{:db/ident :graphql/type :db/valueType :db.type/string}]")
        database.compact()
    with Database.open(folder) as database:
        found = model_of(database.snapshot())
        assert [(each.name, each.plural) for each in found.types.values()] == [("B", "bees")]
        assert shown(found, "B") == {"x": "B", "bees": "[B]"}


def test_own_attributes_of_earlier_versions_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that had declared such a name keeps it, is told, and gets the built-in one after a renaming."""
    folder = str(tmp_path)
    with monkeypatch.context() as earlier, Database.open(folder) as database:
        earlier.setattr(bootstrap, "DECLARED_BY_USE", {})
        database.transact(
            "[{:db/ident :graphql/type :db/valueType :db.type/string} {:db/ident :a/x :db/valueType :db.type/ref}]"
        )
        database.transact('[[:db/add 1 :graphql/type "mine"]]')
    with Database.open(folder) as database:
        found = model_of(database.snapshot())
        [warning] = found.warnings
        assert warning.code == "OWN_ATTRIBUTE"
        assert "[:db/add :graphql/type :db/ident :my/type]" in warning.message
        database.transact("[[:db/add :graphql/type :db/ident :my/type]]")
        database.transact("[[:db/add :a/x :graphql/type :a]]")
        found = model_of(database.snapshot())
        assert found.warnings == ()
        assert shown(found, "A") == {"x": "A", "as": "[A]"}
        mine = database.snapshot().attribute(Keyword("my/type"))
        assert mine is not None
        assert database.snapshot().count(mine) == 1


@pytest.mark.parametrize("ids", ["new", "keep"])
def test_declarations_are_exported_and_imported(tmp_path: Path, ids: str) -> None:
    with declared(SCHEMA, '[{:user/email "a@x"}]') as database, Database.open(str(tmp_path / "other")) as other:
        exported(database.snapshot(), tmp_path / "exported")
        source = {"path": str(tmp_path / "exported"), "format": "adalog", **({"ids": ids} if ids == "keep" else {})}
        assert loaded(other, tmp_path, source)[0].datoms
        found, before = model_of(other.snapshot()), model_of(database.snapshot())
        assert [shown(found, name) for name in found.types] == [shown(before, name) for name in before.types]
        assert found.types["Item"].doc == "A line."
