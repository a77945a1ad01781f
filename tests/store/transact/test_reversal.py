"""Undoing a transaction: what comes back, what forbids it, and random histories against sets of triples."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.values.attribute import TX_BASE

SCHEMA = """[
  {:db/ident :p/name :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :p/age :db/valueType :db.type/long}
  {:db/ident :p/tag :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
  {:db/ident :p/boss :db/valueType :db.type/ref}
  {:db/ident :p/friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
  {:db/ident :p/part :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :db/isComponent true}]"""
Triple = tuple[int, str, object]


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        opened.transact(SCHEMA)
        yield opened


def triples(database: Database, t: int | None = None) -> set[Triple]:
    snapshot = database.at(t=t)
    return {
        (each.e, str(each.a), each.v)
        for each in snapshot.datoms("EAVT")
        if str(each.a).startswith(":p/") and each.e < TX_BASE
    }


def undo(database: Database, t: int) -> int:
    return database.transact(database.reversal(t)).t


def refusal(database: Database, t: int) -> str:
    with pytest.raises(AdalogError) as refused:
        undo(database, t)
    return f"{refused.value.code.value}: {refused.value.message}"


def test_what_it_asserted_goes_and_what_it_retracted_comes_back(database: Database) -> None:
    database.transact('[{:db/id 1 :p/name "a" :p/age 1 :p/tag ["x" "y"]}]')
    before = triples(database)
    t = database.transact(
        '[[:db/add 1 :p/age 2] [:db/retract 1 :p/tag "x"] [:db/add 1 :p/tag "z"] {:p/name "b" :p/boss 1}]'
    ).t
    after = triples(database)
    undone = undo(database, t)
    assert triples(database) == before
    assert undo(database, undone) == undone + 1
    assert triples(database) == after


def test_a_retracted_entity_comes_back_with_its_components_and_references(database: Database) -> None:
    database.transact('[{:db/id 1 :p/name "a" :p/part [{:p/name "part"}]} {:db/id 2 :p/boss 1}]')
    before = triples(database)
    t = database.transact("[[:db/retractEntity 1]]").t
    assert triples(database) == set()
    undo(database, t)
    assert triples(database) == before


def test_later_transactions_of_other_things_stay(database: Database) -> None:
    t = database.transact('[{:db/id 1 :p/name "a"}]').t
    database.transact('[{:db/id 2 :p/name "b"}]')
    undo(database, t)
    assert triples(database) == {(2, ":p/name", "b")}


@pytest.mark.parametrize(
    ("undone", "since", "reason"),
    [
        ("[[:db/add 1 :p/age 2]]", "[[:db/add 1 :p/age 3]]", "[1 :p/age 2] is gone since transaction 4"),
        ("[[:db/retract 1 :p/age 1]]", "[[:db/add 1 :p/age 1]]", "[1 :p/age 1] is there again since transaction 4"),
        (
            "[[:db/retract 1 :p/age 1]]",
            "[[:db/add 1 :p/age 3]]",
            ":p/age of entity 1 has another value since transaction 4",
        ),
        (
            '[{:db/id 5 :p/name "new"}]',
            "[[:db/add 5 :p/age 3]]",
            "entity 5, which it made, has :p/age since transaction 4",
        ),
        (
            '[{:db/id 5 :p/name "new"}]',
            "[[:db/add 1 :p/friend 5]]",
            "entity 5, which it made, is :p/friend of entity 1 since transaction 4",
        ),
        (
            "[[:db/retract 1 :p/friend 2]]",
            "[[:db/retractEntity 2]]",
            "[1 :p/friend 2] would refer to an entity that is gone",
        ),
        (
            '[[:db/retract 1 :p/tag "x"] [:db/retract 1 :p/tag "y"] [:db/add 1 :p/tag "u"] [:db/add 1 :p/tag "v"]]',
            '[{:db/id 1 :p/tag ["x" "y"]} [:db/retract 1 :p/tag "u"] [:db/retract 1 :p/tag "v"]]',
            "and more",
        ),
    ],
)
def test_what_came_since_forbids_it(database: Database, undone: str, since: str, reason: str) -> None:
    database.transact('[{:db/id 1 :p/name "a" :p/age 1 :p/tag ["x" "y"] :p/friend {:db/id 2 :p/name "b"}}]')
    t = database.transact(undone).t
    database.transact(since)
    before = database.snapshot().t
    message = refusal(database, t)
    assert message.startswith(f"TX_CONFLICT: transaction {t} cannot be undone: ")
    assert reason in message
    assert database.snapshot().t == before


def test_a_unique_value_that_another_has_since_is_a_conflict(database: Database) -> None:
    database.transact('[{:db/id 1 :p/name "a"}]')
    t = database.transact('[[:db/add 1 :p/name "b"]]').t
    database.transact('[{:db/id 2 :p/name "a"}]')
    assert refusal(database, t).startswith("UNIQUE_CONFLICT: to undo transaction 3, [1 :p/name ")


def test_attributes_stay_declared_and_may_be_changed_back(database: Database) -> None:
    t = database.transact("[{:db/id 1 :q/new 5}]").t
    undo(database, t)
    assert [str(each.a) for each in database.snapshot().datoms("EAVT", [1])] == []
    assert database.snapshot().attribute(Keyword("q/new")) is not None
    assert refusal(database, 1).startswith("TX_INVALID: transaction 1 has nothing to undo")
    t = database.transact(
        '[[:db/add :p/age :db/doc "years"] [:db/add :p/age :db/cardinality :db.cardinality/many]]'
    ).t
    undo(database, t)
    attribute = database.snapshot().attribute(Keyword("p/age"))
    assert attribute is not None
    assert (attribute.doc, attribute.is_many) == (None, False)


def test_numbers_that_no_transaction_has(database: Database) -> None:
    assert refusal(database, 9).startswith("BASIS_FUTURE: t = 9 is not reached yet: the newest transaction is 1")
    assert refusal(database, 0).startswith("ARG_INVALID: ")
    assert refusal(database, -1).startswith("ARG_INVALID: ")
    t = database.transact("[[:db/add 1 :p/age 1]]").t
    database.transact(database.reversal(TX_BASE + t))
    assert triples(database) == set()


def test_it_can_be_tried(database: Database) -> None:
    t = database.transact("[[:db/add 1 :p/age 1]]").t
    after, report = database.speculate(database.snapshot(), database.reversal(t))
    assert [(each.e, str(each.a), each.v, each.added) for each in report.datoms if each.e < TX_BASE] == [
        (1, ":p/age", 1, False)
    ]
    assert list(after.datoms("EAVT", [1])) == []
    assert triples(database) == {(1, ":p/age", 1)}


@pytest.mark.parametrize("seed", range(40))
def test_random_histories_as_sets_of_triples(database: Database, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(25):
        newest = database.snapshot().t
        if newest < 3 or chance.random() < 0.6:
            _random_transaction(database, chance)
            continue
        t = chance.randint(2, newest)
        now, before = triples(database), triples(database, t - 1)
        came = {(e, a, v) for e, a, v in triples(database, t) - before}
        went = before - triples(database, t)
        wanted = _undone(now, came, went, before)
        if not came and not went:
            assert refusal(database, t).startswith("TX_INVALID")
        elif wanted is None:
            assert refusal(database, t).split(":")[0] in ("TX_CONFLICT", "UNIQUE_CONFLICT")
        else:
            undo(database, t)
            assert triples(database) == wanted
            if t == newest:
                assert wanted == before
        # The newest can always be undone, if it did something.
        newest = database.snapshot().t
        if chance.random() < 0.3 and triples(database) != triples(database, newest - 1):
            undo(database, newest)
            assert triples(database) == triples(database, newest - 1)


_SINGLE = (":p/name", ":p/age", ":p/boss")
_REFS = (":p/boss", ":p/friend", ":p/part")


def _undone(now: set[Triple], came: set[Triple], went: set[Triple], before: set[Triple]) -> set[Triple] | None:
    """What undoing gives; None where something came since that forbids it."""
    if came - now or went & now:
        return None
    after = (now - came) | went
    held = [(e, a) for e, a, _ in after if a in _SINGLE]
    names = [v for _, a, v in after if a == ":p/name"]
    if len(set(held)) < len(held) or len(set(names)) < len(names):
        return None

    def mentioned(triples: set[Triple], e: int) -> bool:
        """Other than by references from before it was made."""
        return any(e == s or (a in _REFS and e == v) for s, a, v in triples - before)

    def exists(triples: set[Triple], e: object) -> bool:
        return any(e == s for s, _, _ in triples)

    made = {e for e, _, _ in came if not exists(before, e)}
    if any(mentioned(after, e) for e in made):
        return None
    back = {v for _, a, v in went if a in _REFS}
    if any(exists(before, v) and not exists(now | went, v) for v in back):
        return None
    return after


def _random_transaction(database: Database, chance: random.Random) -> None:
    forms = []
    for _ in range(chance.randint(1, 4)):
        e, other = chance.randint(1, 6), chance.randint(1, 6)
        form = chance.choice(
            [
                f"[:db/add {e} :p/age {chance.randint(1, 3)}]",
                f'[:db/add {e} :p/name "{chance.choice("abcdefgh")}"]',
                f'[:db/add {e} :p/tag "{chance.choice("xyz")}"]',
                f'[:db/retract {e} :p/tag "{chance.choice("xyz")}"]',
                f"[:db/retract {e} :p/age]",
                f"[:db/add {e} :p/boss {other}]",
                f"[:db/add {e} :p/friend {other}]",
                f"[:db/retract {e} :p/friend {other}]",
                f"[:db/add {e} :p/part {other}]",
                f"[:db/retractEntity {e}]",
            ]
        )
        forms.append(form)
    # Forms that contradict each other, and names that are taken.
    with suppress(AdalogError):
        database.transact(f"[{' '.join(forms)}]")


def test_what_was_excised_meanwhile_does_not_come_back(database: Database) -> None:
    database.transact('[{:db/id 1 :p/name "Ada"} {:db/id 2 :q/also "Ada"}]')
    t = database.transact('[[:db/add 1 :p/name "Augusta"]]').t
    read = database.reversal(t)
    database.transact("[{:db/excise 1}]")
    with pytest.raises(AdalogError, match="something was excised") as refused:
        database.transact(read)
    assert (refused.value.code, refused.value.retryable) == (Code.TX_CONFLICT, True)
    assert refusal(database, t).startswith("TX_INVALID: transaction 3 has nothing to undo")
    assert not [datom for datom in database.snapshot().history().datoms("EAVT") if datom.e == 1]
    assert refusal(database, t + 1) == f"TX_INVALID: transaction {t + 1} is an excision, which cannot be undone"
