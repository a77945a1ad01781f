"""How many attributes there may be, and how many one transaction may declare: whatever way they come into being."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError, Code, Position
from adalog.store.database import Database
from adalog.store.values.schema_policy import SchemaMode

MOST = 10
AT_ONCE = 5_000


def opened(location: str = ":memory:", schema: SchemaMode = "open", most: int = MOST) -> Database:
    return Database.open(location, schema=schema, attributes=most)


@pytest.fixture
def full() -> Iterator[Database]:
    """A database with as many attributes as it may have."""
    with opened() as database:
        database.transact("[" + " ".join(f"[:db/add 1 :a/b{number} 1]" for number in range(MOST)) + "]")
        yield database


def refusal(database: Database, text: str) -> AdalogError:
    before = database.snapshot()
    for attempt in (database.transact, lambda text: database.speculate(database.snapshot(), text)):
        with pytest.raises(AdalogError) as caught:
            attempt(text)
        assert caught.value.code is Code.LIMIT_EXCEEDED
    assert database.snapshot().t == before.t
    assert database.snapshot().schema.key == before.schema.key
    return caught.value


@pytest.mark.parametrize(
    ("text", "name", "column"),
    [
        ("[[:db/add 1 :c/d 1]]", ":c/d", 13),
        ("[{:db/id 1 :a/b1 2 :c/d 1}]", ":c/d", 20),
        ("[{:db/id 1 :c/_d 2}]", ":c/d", 12),
        ("[{:db/ident :c/d :db/valueType :db.type/long}]", ":c/d", 13),
        ('[[:db/add "d" :db/ident :c/d] [:db/add "d" :db/isComponent true]]', ":c/d", 25),
        ("[[:db.fn/inc 1 :c/d]]", ":c/d", 16),
        ("[[:db/cas 1 :c/d nil 1]]", ":c/d", 13),
        ("[[:db/add [:db/ident :plain/ident] :db/cardinality :db.cardinality/one]]", ":plain/ident", None),
    ],
)
def test_no_way_of_declaring_an_attribute_passes_the_limit(
    full: Database, text: str, name: str, column: int | None
) -> None:
    full.transact("[{:db/ident :plain/ident}]")
    error = refusal(full, text)
    assert error.message == (
        f"{name} is one attribute too many: there are 10 besides the built-in ones, and at most 10 are allowed "
        "(ADALOG_ATTRIBUTES); if misspelt names declared them by their use, set ADALOG_SCHEMA=strict, which "
        "refuses such names"
    )
    assert error.position is not None
    assert column is None or error.position == Position(1, column)


def test_the_position_is_that_of_the_first_attribute_past_the_limit() -> None:
    with opened() as database:
        lines = [f"[:db/add 1 :a/b{number} 1]" for number in range(12)]
        error = refusal(database, "[" + "\n".join(lines) + "]")
        assert error.message.startswith(":a/b10 is one attribute too many: there are 0 besides")
        assert error.position == Position(11, 12)


def test_what_declares_nothing_new_goes_on(full: Database) -> None:
    full.transact('[[:db/add 2 :a/b1 7] {:db/id :a/b2 :db/doc "the second"} {:db/ident :another/ident}]')
    full.transact("[{:db/id :a/b3 :db/ident :a/renamed}]")


def test_an_attribute_that_goes_makes_room(full: Database) -> None:
    full.transact("[[:db/retract 1 :a/b0]]")
    gone = "[:db/retract :a/b0 :db/valueType :db.type/long] [:db/retract :a/b0 :db/cardinality :db.cardinality/one]"
    full.transact(f"[{gone} [:db/add 1 :c/d 1]]")
    refusal(full, "[[:db/add 1 :e/f 1]]")


def test_a_strict_schema_is_not_advised_to_be_strict() -> None:
    with opened(schema="strict", most=1) as database:
        declared = "{{:db/ident :a/b{} :db/valueType :db.type/long :db/cardinality :db.cardinality/one}}"
        error = refusal(database, f"[{declared.format(1)} {declared.format(2)}]")
        assert "ADALOG_ATTRIBUTES" in error.message
        assert "strict" not in error.message


@pytest.mark.parametrize("form", ["[:db/add 1 :a/b{} 1]", "{{:db/ident :a/b{} :db/valueType :db.type/long}}"])
def test_one_transaction_declares_only_so_many(form: str) -> None:
    with opened(most=20_000) as database:
        text = "[" + "\n".join(form.format(number) for number in range(AT_ONCE + 1)) + "]"
        error = refusal(database, text)
        assert error.message == (
            ":a/b5000 is one attribute too many: a transaction declares at most 5,000 of them; declare them in "
            "several"
        )
        assert error.position is not None
        assert error.position.line == AT_ONCE + 1
        database.transact("[" + "\n".join(form.format(number) for number in range(AT_ONCE)) + "]")
        assert database.snapshot().schema.declared == AT_ONCE


def test_a_folder_with_more_opens_and_takes_what_declares_nothing(tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    with opened(folder, most=50) as database:
        database.transact("[" + " ".join(f"[:db/add 1 :a/b{number} 1]" for number in range(50)) + "]")
    for _ in range(2):
        with opened(folder) as database:
            assert database.snapshot().schema.declared == 50
            database.transact("[[:db/add 2 :a/b49 1]]")
            error = refusal(database, "[[:db/add 2 :a/b50 1]]")
            assert "there are 50 besides the built-in ones, and at most 10 are allowed" in error.message
        (tmp_path / "data" / "checkpoint.json").unlink(missing_ok=True)
