"""What deletions do to recursion: data, rules, and what holds after each transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.compile import Compiler
from adalog.executor.evaluation.fixpoint import Fixpoint
from adalog.executor.extenders.changes import Moments
from adalog.executor.facts.facts import whole
from adalog.executor.follow.closure import ClosureStratum
from adalog.executor.follow.program import MaintainedProgram, UnmaintainableError
from adalog.executor.question.inputs import Inputs, bind_inputs
from adalog.executor.question.question import Questions
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from adalog.store.values.codes import Scratch

SCHEMA = """[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :far :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
             {:db/ident :mark :db/valueType :db.type/string}]"""

PATH = "[(path ?a ?b) [?a :to ?b]] [(path ?a ?c) (path ?a ?b) [?b :to ?c]]"
TURNED = "[(path ?a ?b) [?a :to ?b]] [(path ?a ?c) [?a :to ?b] (path ?b ?c)]"
DOUBLE = "[(path ?a ?b) [?a :to ?b]] [(path ?a ?c) (path ?a ?b) (path ?b ?c)]"
FEWEST = """[(path ?a ?b (min ?n)) [?a :to ?b] [(ground 1) ?n]]
            [(path ?a ?c (min ?n)) (path ?a ?b ?m) [?b :to ?c] [(inc ?m) ?n]]"""

Row = tuple[Any, ...]


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        yield database


class Followed:
    """A rule kept from transaction to transaction, compared with a fixpoint from nothing at each."""

    def __init__(self, database: Database, rules: str, find: str, *, magic: bool = False):
        self.database = database
        self.at = database.snapshot()
        text = f"[:find {find} :where (path {find}) :rules [{rules}]]"
        request = QueryRequest(text, (), self.at, options=Options(magic=magic))
        self.question = Questions().of(request, self.at, Cancel())
        self.plan = Compiler().compile(self.question)
        self.names = [each.name for each in self.plan.program.relations]
        (self.name,) = [name for name in self.names if name.split("^")[0] == "path"]
        given, run = self._given()
        self.program = MaintainedProgram(self.plan)
        self.program.begin(given.databases, given.relations, run, {})
        self._compare(given, run)

    def _given(self) -> tuple[Inputs, QueryRun]:
        values = Scratch(self.at.codes)
        return bind_inputs(self.plan, self.question.args, self.at, values), QueryRun(values)

    def _compare(self, given: Inputs, run: QueryRun) -> None:
        assert given.start is not None
        expected = Fixpoint(self.plan, given, given.start, run).relations_read()
        for name in self.names:
            held = expected[name]
            assert rows_of(self.program.columns(name)) == rows_of(whole(held) if len(held) else [])

    @property
    def rows(self) -> set[Row]:
        return rows_of(self.program.columns(self.name))

    def transact(self, text: str) -> tuple[set[Row], set[Row]]:
        """(the rows that came, the rows that went)."""
        self.database.transact(text)
        old, self.at = self.at, self.database.snapshot()
        given, run = self._given()
        self.program.step({"$": Moments(old, self.at)}, run, {})
        self._compare(given, run)
        return rows_of(self.program.came(self.name)), rows_of(self.program.went(self.name))


def rows_of(columns: Sequence[np.ndarray]) -> set[Row]:
    return set(zip(*(column.tolist() for column in columns), strict=True))


def edges(*pairs: tuple[int, int]) -> str:
    return f"[{' '.join(f'[:db/add {a} :to {b}]' for a, b in pairs)}]"


def without(*pairs: tuple[int, int]) -> str:
    return f"[{' '.join(f'[:db/retract {a} :to {b}]' for a, b in pairs)}]"


def pairs(firsts: Sequence[int], seconds: Sequence[int]) -> set[Row]:
    return {(a, b) for a in firsts for b in seconds}


RULES = pytest.mark.parametrize("rules", [PATH, TURNED, DOUBLE], ids=["left", "right", "twice"])
MAGIC = pytest.mark.parametrize("magic", [False, True])


@RULES
@MAGIC
def test_an_edge_of_a_cycle(database: Database, rules: str, magic: bool) -> None:
    database.transact(edges((1, 2), (2, 3), (3, 1)))
    kept = Followed(database, rules, "?a ?b", magic=magic)
    assert kept.rows == pairs([1, 2, 3], [1, 2, 3])
    came, went = kept.transact(without((3, 1)))
    assert (came, went) == (set(), {(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)})
    assert kept.transact(edges((3, 1))) == (went, set())


@RULES
def test_a_bridge_into_a_cycle(database: Database, rules: str) -> None:
    database.transact(edges((1, 2), (2, 3), (3, 4), (4, 2)))
    kept = Followed(database, rules, "?a ?b")
    assert kept.transact(without((1, 2))) == (set(), pairs([1], [2, 3, 4]))
    assert kept.rows == pairs([2, 3, 4], [2, 3, 4])
    assert kept.transact(edges((1, 4))) == (pairs([1], [2, 3, 4]), set())


@RULES
def test_a_cycle_does_not_keep_itself_alive(database: Database, rules: str) -> None:
    database.transact(edges((1, 2), (2, 3), (3, 2)))
    kept = Followed(database, rules, "?a ?b")
    assert kept.transact(without((1, 2)))[1] == {(1, 2), (1, 3)}
    assert kept.transact(without((2, 3), (3, 2)))[1] == pairs([2, 3], [2, 3])


@RULES
def test_an_edge_to_itself(database: Database, rules: str) -> None:
    database.transact(edges((1, 1), (1, 2)))
    kept = Followed(database, rules, "?a ?b")
    assert kept.transact(without((1, 1))) == (set(), {(1, 1)})
    assert kept.transact(edges((2, 2))) == ({(2, 2)}, set())
    assert kept.transact(without((1, 2), (2, 2))) == (set(), {(1, 2), (2, 2)})


@RULES
def test_one_of_two_supports(database: Database, rules: str) -> None:
    database.transact(edges((1, 2), (2, 4), (1, 3), (3, 4), (4, 5)))
    kept = Followed(database, rules, "?a ?b")
    assert kept.transact(without((2, 4))) == (set(), {(2, 4), (2, 5)})
    assert kept.transact(without((3, 4)))[1] == {(1, 4), (1, 5), (3, 4), (3, 5)}


@RULES
def test_a_longer_way_holds_when_the_shorter_one_is_gone(database: Database, rules: str) -> None:
    database.transact(edges((1, 5), (5, 6), (6, 5), (1, 2), (2, 3), (3, 4), (4, 5)))
    kept = Followed(database, rules, "?a ?b")
    assert kept.transact(without((1, 5))) == (set(), set())
    assert kept.transact(edges((1, 5))) == (set(), set())
    assert kept.transact(without((3, 4)))[1] == pairs([2, 3], [4, 5, 6]) | {(1, 4)}


def test_the_base_of_a_least_value_that_goes_through_a_cycle(database: Database) -> None:
    database.transact(edges((1, 2), (2, 3), (3, 4), (4, 2), (1, 5), (5, 6), (6, 7), (7, 3)))
    kept = Followed(database, FEWEST, "?a ?b ?n")
    assert {(1, 2, 1), (1, 3, 2), (1, 4, 3)} <= kept.rows
    came, went = kept.transact(without((1, 2)))
    assert came == {(1, 3, 4), (1, 4, 5), (1, 2, 6)}
    assert went == {(1, 2, 1), (1, 3, 2), (1, 4, 3)}
    assert kept.transact(without((7, 3)))[1] >= {(1, 3, 4), (1, 4, 5), (1, 2, 6)}
    assert kept.transact(edges((1, 4)))[0] == {(1, 4, 1), (1, 2, 2), (1, 3, 3)}


def test_what_is_bettered_step_by_step(database: Database) -> None:
    rules = """[(path ?a ?b (min ?n)) [?a :to ?b] [?b :far ?n]]
               [(path ?a ?c (min ?n)) (path ?a ?b ?m) [?b :to ?c] [(max ?m 3) ?n]]"""
    database.transact(edges((1, 2), (2, 3), (3, 2), (3, 4)))
    database.transact("[[:db/add 2 :far 9] [:db/add 3 :far 8] [:db/add 4 :far 8]]")
    kept = Followed(database, rules, "?a ?b ?n")
    kept.transact("[[:db/add 2 :far 5]]")
    assert (1, 4, 5) in kept.rows
    kept.transact("[[:db/add 2 :far 2]]")
    assert {(1, 2, 2), (1, 3, 3), (1, 4, 3)} <= kept.rows
    # What rests on the values that were bettered rests on better ones now, which can go, too.
    kept.transact("[[:db/retract 2 :far 2]]")
    assert {(1, 2, 5), (1, 3, 5), (1, 4, 5)} <= kept.rows


def test_plain_rules_in_a_recursion_through_a_least_value(database: Database) -> None:
    rules = """[(path ?a ?b (min ?n)) [?a :to ?b] [?b :far ?n]] [(path ?a ?c (min ?n)) (way ?a ?c ?n)]
               [(way ?a ?c ?n) (path ?a ?b ?m) [?b :to ?c] [?c :far ?w] [(+ ?m ?w) ?n]]"""
    database.transact(edges((1, 2), (2, 3), (3, 1)))
    database.transact("[[:db/add 1 :far 1] [:db/add 2 :far 5] [:db/add 3 :far 1]]")
    kept = Followed(database, rules, "?a ?b ?n")
    for change in ("[[:db/add 2 :far 2]]", "[[:db/retract 2 :far 2]]", without((3, 1)), edges((3, 3))):
        assert any(kept.transact(change))


@pytest.mark.parametrize(
    ("base", "step", "why"),
    [
        ("(path ?a ?b (min ?n))", "(path ?a ?b ?m) [?b :to ?c] [(- 9 ?m) ?n]", "another way"),
        ("(path ?a ?b (min ?n))", "(path ?a ?b ?m) [?b :to ?c] [?c :far ?m] [(inc ?m) ?n]", "another way"),
        ("(path ?a ?b (choice ?n))", "(path ?a ?b ?n) [?b :to ?c]", "(choice …)"),
        ("(path ?a ?b ?n)", "(path ?a ?b ?m) [?b :to ?c] [(get-else $ ?c :far ?m) ?n]", "other than by a data"),
    ],
)
def test_what_is_not_maintained_says_why(database: Database, base: str, step: str, why: str) -> None:
    rules = f"[{base} [?a :to ?b] [?b :far ?n]] [{base.replace('?b', '?c')} {step}]"
    with pytest.raises(UnmaintainableError) as refused:
        Followed(database, rules, "?a ?b ?n")
    assert why in str(refused.value)


def test_what_is_kept_is_drawn_from_the_budget_of_the_step(database: Database) -> None:
    database.transact(edges(*((i, i + 1) for i in range(1, 400))))
    kept = Followed(database, PATH, "?a ?b")
    assert MaintainedProgram(kept.plan).nbytes() == 0
    assert 16 * len(kept.rows) < kept.program.nbytes() < 100 * len(kept.rows)
    given, run = kept._given()
    cancel = Cancel(budget=Memory(2 << 20).budget())
    with pytest.raises(AdalogError, match="would hold more than"):
        kept.program.begin(given.databases, given.relations, replace(run, cancel=cancel), {})
    assert kept.program.nbytes() < 100_000
    for _ in range(2):
        # It is not tried again each time.
        with pytest.raises(AdalogError, match="would hold more than"):
            kept.program.begin(given.databases, given.relations, run, {})
    kept.program.begin(given.databases, given.relations, run, {})
    kept._compare(given, run)


def test_a_closure_lets_go_of_tries_that_were_folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adalog.store.checkpoint.compactor._LEAST", 1)
    with Database.open(str(tmp_path)) as database:
        database.transact(SCHEMA)
        database.transact(edges((1, 2), (2, 3)))
        database.compact()
        kept = Followed(database, PATH, "?a ?b")
        (stratum,) = kept.program._strata
        assert isinstance(stratum, ClosureStratum)
        before = stratum.edges
        kept.transact(edges((3, 4)))
        assert stratum.edges is before
        database.compact()
        assert kept.transact(without((1, 2)))[1] == pairs([1], [2, 3, 4])
        assert stratum.edges is not before
        assert kept.transact(edges((4, 2)))[0] == {(2, 2), (3, 2), (3, 3), (4, 2), (4, 3), (4, 4)}
