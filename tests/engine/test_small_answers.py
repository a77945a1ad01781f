"""Answers that rules derive from little data are derived again at each step and compared; others are maintained."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.values import Keyword
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow import small_answers
from adalog.executor.follow.program import Derivation
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Change, LiveView
from adalog.executor.follow.view_choice import view_of
from adalog.executor.kernels.distinct_rows import rows_apart
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.kernels.seed import SEED
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from tests.property.model import examples
from tests.support import World

SCHEMA = """[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}]"""
RULES = ":rules [[(reach ?a ?b) [?a :to ?b]] [(reach ?a ?c) (reach ?a ?b) [?b :to ?c]]]"
EVERY = f"[:find ?a ?b :where (reach ?a ?b) {RULES}]"
REACHED = f"[:find ?b :in $ ?a :where (reach ?a ?b) {RULES}]"
NAMED = f"[:find ?b :in $ ?name :where [?a :name ?name] (reach ?a ?b) {RULES}]"
# Rows that differ in what is not shown.
ENDS = f"[:find ?b :with ?a :where (reach ?a ?b) {RULES}]"
CHAIN = "[[:db/add 1 :to 2] [:db/add 2 :to 3] [:db/add 4 :to 5] [:db/add 5 :to 4]]"


class Followed:
    """A view, and the rows of each of its feeds by what it said."""

    def __init__(self, world: World, text: str, *args: tuple[object, ...]) -> None:
        self.world, self.text, self.args = world, text, args
        self.at = world.database.snapshot()
        self.view: LiveView = view_of(self._question(args[0]), world.pool.engine)
        self.rows = [self._afresh(arguments) for arguments in args]
        for number, arguments in enumerate(args):
            self.view.add(number, UndatedQuestion.of(self._question(arguments)), self.at, Cancel())

    def _question(self, given: tuple[object, ...]) -> Question:
        return self.world.pool.question(QueryRequest(self.text, given, engine="LOCAL", cached=False))

    def _afresh(self, given: tuple[object, ...]) -> set[tuple[object, ...]]:
        return set(map(tuple, self.world.pool.engine.run(self._question(given), Cancel()).rows()))

    def after(self, tx: str) -> None:
        """A transaction and the view's step, compared with fresh answers."""
        self.world.tx(tx)
        old, self.at = self.at, self.world.database.snapshot()
        changes = self.view.step(Moments(old, self.at), Cancel())
        for number, arguments in enumerate(self.args):
            change = changes.get(number)
            if change is not None:
                assert isinstance(change, Change)
                added, removed = (set(map(tuple, each.rows())) for each in (change.added, change.removed))
                assert removed <= self.rows[number]
                assert not added & self.rows[number]
                self.rows[number] = (self.rows[number] - removed) | added
            assert self.rows[number] == self._afresh(arguments), (number, tx)


class Steps:
    """How many steps of views maintained what rules derive."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.maintained = 0
        go = Derivation.go

        def counted(derivation: Derivation, *args: object) -> None:
            self.maintained += 1
            go(derivation, *args)  # type: ignore[arg-type]

        monkeypatch.setattr(Derivation, "go", counted)


@pytest.fixture
def world(db: World) -> World:
    SMALL_JOIN.load()
    db.tx(SCHEMA)
    db.tx(CHAIN)
    return db


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    return Steps(monkeypatch)


@pytest.mark.parametrize(
    ("text", "args"),
    [(EVERY, ()), (ENDS, ()), (REACHED, (1,))],
    ids=["all pairs", "ends of pairs", "of one vertex"],
)
def test_small_answers_are_derived_again(world: World, steps: Steps, text: str, args: tuple[object, ...]) -> None:
    followed = Followed(world, text, args)
    for tx in ("[[:db/add 3 :to 4]]", "[[:db/retract 2 :to 3]]", "[[:db/add 2 :to 5]]", "[[:db/add 5 :to 1]]"):
        followed.after(tx)
    followed.after("[[:db/retract 5 :to 1] [:db/add 1 :to 6] [:db/retractEntity 4]]")
    assert steps.maintained == 0


def test_an_answer_that_grows_is_maintained(world: World, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    followed = Followed(world, REACHED, (1,))
    followed.after("[[:db/add 3 :to 4]]")
    assert steps.maintained == 0
    monkeypatch.setattr(small_answers, "_MOST_WORK", 16)
    followed.after("[" + " ".join(f"[:db/add {n} :to {n + 1}]" for n in range(5, 40)) + "]")
    assert steps.maintained == 1
    monkeypatch.undo()
    followed.after("[[:db/retract 2 :to 3]]")
    # Not even where it is small again.
    assert followed.view.nbytes() > 0


def test_many_feeds_are_maintained_and_few_are_not(world: World, steps: Steps) -> None:
    followed = Followed(world, REACHED, *((n,) for n in range(1, 7)))
    followed.after("[[:db/add 3 :to 4]]")
    assert steps.maintained == 1
    held = followed.view.nbytes()
    for number in (5, 4, 3):
        followed.view.drop(number)
    followed.args = followed.args[:3]
    followed.after("[[:db/retract 2 :to 3]]")
    assert steps.maintained == 1
    assert followed.view.nbytes() < held
    followed.after("[[:db/add 2 :to 4]]")


def test_a_value_that_the_database_does_not_know_yet(world: World) -> None:
    followed = Followed(world, NAMED, ("new",))
    followed.after("[[:db/add 3 :to 4]]")
    followed.after('[[:db/add 1 :name "new"]]')
    followed.after("[[:db/retract 2 :to 3]]")


def test_an_entity_that_is_named_otherwise(world: World) -> None:
    world.tx('[[:db/add 1 :name "one"]]')
    followed = Followed(world, REACHED, ((Keyword("name"), "one"),))
    followed.after("[[:db/add 3 :to 4]]")
    followed.after('[[:db/retract 1 :name "one"] [:db/add 4 :name "one"]]')
    followed.after("[[:db/retract 5 :to 4]]")


def test_kept_answers_count_as_memory(world: World) -> None:
    followed = Followed(world, EVERY, ())
    followed.after("[[:db/add 3 :to 4]]")
    before = followed.view.nbytes()
    followed.after("[" + " ".join(f"[:db/add {n} :to {n + 1}]" for n in range(10, 40)) + "]")
    assert followed.view.nbytes() >= before + 2 * 8 * 400
    held = followed.view.nbytes()
    followed.view.lighten()
    assert followed.view.nbytes() < held
    followed.after("[[:db/retract 3 :to 4]]")


ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


@settings(max_examples=examples(100))
@given(ROWS, ROWS, st.booleans())
def test_rows_apart(before: list[tuple[int, int]], after: list[tuple[int, int]], are_distinct: bool) -> None:
    if are_distinct:
        before, after = (list(dict.fromkeys(each)) for each in (before, after))
    old, new = (np.array(each, np.int64).reshape(-1, 2).T.copy() for each in (before, after))
    came, went = rows_apart(old, new, are_distinct, SEED)
    for places, rows, others in ((came, after, before), (went, before, after)):
        found = [rows[place] for place in places.tolist()]
        assert len(set(found)) == len(found)
        assert set(found) == set(rows) - set(others)
