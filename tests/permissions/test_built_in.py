"""The attributes of policies: built in, declared by their first use, and those that a database had before."""

from __future__ import annotations

from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import Keyword
from adalog.schema.typed.declarations import model_of
from adalog.store.database import Database
from adalog.store.values import bootstrap
from tests.pipeline.exports_in_process import exported, loaded

POLICY = """[{:policy/name "everybody reads" :policy/roles [:*] :policy/ops [:read :update]
              :policy/on [:user :user/name] :policy/rules "[[(allow ?e) [?e]]]" :policy/effect :require}]"""


def test_they_are_known_before_their_first_use() -> None:
    with Database.open(":memory:") as database:
        snapshot = database.snapshot()
        assert not snapshot.datom_count
        roles, name = (snapshot.attribute(Keyword(each)) for each in ("policy/roles", "policy/name"))
        assert roles is not None
        assert name is not None
        assert (roles.id, roles.is_many, name.kind.unique) == (bootstrap.POLICY_ROLES, True, "identity")
        assert not len(snapshot.columns_of(bootstrap.POLICY_NAME))


def test_the_first_use_declares_them(tmp_path: Path) -> None:
    folder = str(tmp_path)
    with Database.open(folder) as database:
        database.transact("[{:db/ident :user/name :db/valueType :db.type/string}]")
        before = database.snapshot().datom_count
        e = database.transact(POLICY).datoms[-1].e
        # With the instant.
        assert database.snapshot().datom_count == before + 9
        assert database.snapshot().schema.declared == 1
        # A unique name is upserted.
        database.transact('[{:policy/name "everybody reads" :policy/ops :create}]')
        assert len(database.snapshot().trie(bootstrap.POLICY_OPS, inverse=False).row(e)) == 3
        database.compact()
    with Database.open(folder) as database:
        assert len(database.snapshot().trie(bootstrap.POLICY_OPS, inverse=False).row(e)) == 3
        assert "Policy" not in model_of(database.snapshot()).types


def test_the_switch_is_an_entity_that_its_first_use_makes() -> None:
    with Database.open(":memory:") as database:
        database.transact("[[:db/add :policy/enforcement :policy/enforced false]]")
        e = database.snapshot().entid(bootstrap.POLICY_ENFORCEMENT)
        assert e is not None
        database.transact("[{:db/ident :policy/enforcement :policy/enforced true}]")
        assert database.snapshot().entid(bootstrap.POLICY_ENFORCEMENT) == e
        [value] = database.snapshot().trie(bootstrap.POLICY_ENFORCED, inverse=False).row(e)
        assert database.snapshot().codes.decode(int(value)) is True


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{:policy/name "a" :policy/roles "member"}]', "is not a keyword, as :policy/roles wants"),
        ("[{:policy/name 5}]", "5 is not a string, as :policy/name wants"),
        ("[{:db/ident :policy/rules :db/valueType :db.type/string}]", "declared by its first use"),
    ],
)
def test_what_is_wrong_is_refused(text: str, said: str) -> None:
    with Database.open(":memory:") as database, pytest.raises(AdalogError) as refused:
        database.transact(text)
    assert said in refused.value.message


def test_own_attributes_of_earlier_versions_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    with Database.open(":memory:") as database:
        with monkeypatch.context() as earlier:
            earlier.setattr(bootstrap, "DECLARED_BY_USE", {})
            database.transact("[{:db/ident :policy/name :db/valueType :db.type/long}]")
        database.transact("[[:db/add 1 :policy/name 5]]")
        [warning] = model_of(database.snapshot()).warnings
        assert (warning.code, "and decides nothing" in warning.message) == ("OWN_ATTRIBUTE", True)
        database.transact("[[:db/add :policy/name :db/ident :my/name]]")
        database.transact('[{:policy/name "now built in"}]')
        assert len(database.snapshot().columns_of(bootstrap.POLICY_NAME)) == 1


@pytest.mark.parametrize("ids", ["new", "keep"])
def test_policies_are_exported_and_imported(tmp_path: Path, ids: str) -> None:
    text = f"{POLICY[:-1]} [:db/add :policy/enforcement :policy/enforced false]]"
    with Database.open(":memory:") as database, Database.open(str(tmp_path / "other")) as other:
        database.transact("[{:db/ident :user/name :db/valueType :db.type/string}]")
        database.transact(text)
        exported(database.snapshot(), tmp_path / "exported")
        source = {"path": str(tmp_path / "exported"), "format": "adalog", **({"ids": ids} if ids == "keep" else {})}
        loaded(other, tmp_path, source)
        for attribute in bootstrap.POLICY_ATTRIBUTES:
            before, after = (
                set(each.codes.decode_many(each.columns_of(attribute).v))
                for each in (database.snapshot(), other.snapshot())
            )
            assert before == after
            assert after
        assert other.snapshot().entid(bootstrap.POLICY_ENFORCEMENT) is not None
