"""What a step of a live answer is spared: binding its joins, and checking what the schema makes certain.

Joins that are bound once are right when what they read has moved, and hold nothing of a moment that is over.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest

from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import identity
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.evaluation.bind import Binding
from adalog.executor.evaluation.lasting_binding import LastingBinding
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow import small_answers
from adalog.executor.follow.maintained_view import MaintainedView
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view_choice import view_of
from adalog.executor.question.request import QueryRequest
from adalog.store.checkpoint import compactor
from adalog.store.snapshot.snapshot import Snapshot
from tests.support import World

SCHEMA = """[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :by :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :label :db/valueType :db.type/string}
             {:db/ident :age :db/valueType :db.type/long}]"""

BESIDE = "[:find ?a ?c :where [?a :to ?b] [?b :to ?c] (not [?a :by ?c])]"
REACH = "[:find ?b :in $ ?a :where (reach ?a ?b) :rules [[(reach ?a ?b) [?a :to ?b]] %s]]"
WALKED = REACH % "[(reach ?a ?c) (reach ?a ?b) [?b :to ?c]]"
JOINED = REACH % "[(reach ?a ?c) (reach ?a ?b) [?b :to ?c] [?c :name _]]"


@pytest.fixture
def world(db: World, monkeypatch: pytest.MonkeyPatch) -> World:
    # What rules derive is maintained, be it ever so little.
    monkeypatch.setattr(small_answers, "_FEW_FEEDS", -1)
    db.tx(SCHEMA)
    return db


class Bindings:
    """How often joins were bound for views."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = 0
        join_of = Binding.join_of

        def counted(binding: Binding, *args: Any, **more: Any) -> Any:
            self.made += isinstance(binding, LastingBinding) and not binding.moves
            return join_of(binding, *args, **more)

        monkeypatch.setattr(Binding, "join_of", counted)

    def taken(self) -> int:
        """How many since the last time."""
        found, self.made = self.made, 0
        return found


@pytest.fixture
def bindings(monkeypatch: pytest.MonkeyPatch) -> Bindings:
    return Bindings(monkeypatch)


class Followed:
    """A maintained question and its feeds, compared with the query run afresh after each step."""

    def __init__(self, world: World, query: str, *args: str, at: Snapshot | None = None) -> None:
        self.world, self.query = world, query
        self.at = at or world.database.snapshot()
        view = view_of(world.pool.question(QueryRequest(query, [*map(read, args)])), world.pool.engine)
        assert isinstance(view, MaintainedView)
        self.view = view
        self.args: dict[int, list[Any]] = {}
        self.rows: dict[int, set[Any]] = {}
        self.add(*args)

    def add(self, *args: str) -> int:
        number = len(self.args)
        self.args[number] = [*map(read, args)]
        question = self.world.pool.question(QueryRequest(self.query, self.args[number]))
        self.view.add(number, UndatedQuestion.of(question), self.at, Cancel())
        self.rows[number] = self.fresh(number, self.at)
        return number

    def drop(self, number: int) -> None:
        self.view.drop(number)
        del self.rows[number]

    def fresh(self, number: int, at: Snapshot) -> set[Any]:
        result = self.world.pool.run(QueryRequest(self.query, self.args[number], at))
        return {tuple(map(identity, row)) for row in result.rows()}

    def tx(self, *texts: str) -> None:
        self.world.tx(*texts)
        self.go(self.world.database.snapshot())

    def go(self, new: Snapshot, cancel: Cancel | None = None) -> None:
        old, self.at = self.at, new
        changes = self.view.step(Moments(old, new), cancel or Cancel())
        assert changes.keys() <= self.rows.keys(), "changes of feeds that went"
        for number, before in self.rows.items():
            change, now = changes.get(number), self.fresh(number, new)
            assert not isinstance(change, AdalogError), change
            for rows, expected in (
                (() if change is None else change.added.rows(), now - before),
                (() if change is None else change.removed.rows(), before - now),
            ):
                found = [tuple(map(identity, row)) for row in rows]
                assert len(found) == len(expected)
                assert set(found) == expected
            self.rows[number] = now

    def edges(self, *pairs: tuple[int, int], attribute: str = "to", sign: str = "add") -> None:
        self.tx(edges(*pairs, attribute=attribute, sign=sign))


def edges(*pairs: tuple[int, int], attribute: str = "to", sign: str = "add") -> str:
    return "[" + " ".join(f"[:db/{sign} {a} :{attribute} {b}]" for a, b in pairs) + "]"


def turns() -> Iterator[tuple[Sequence[tuple[int, int]], str]]:
    """Edges in and out, all of which make the same reactions."""
    for i in range(4):
        yield ((1, 2), (2, 3 + i), (3 + i, 1)), "add"
        yield ((2, 3 + i), (3 + i, 1)), "retract"


QUERIES = {
    "a not": (BESIDE, ()),
    "an or": ("[:find ?a ?c :where [?a :to ?b] (or [?b :to ?c] (and [?c :to ?b] [?b :by ?c]))]", ()),
    "a constant": ("[:find ?a ?c :where [?a :to 2] [2 :to ?c]]", ()),
    "a diagonal": ("[:find ?a :where [?a :to ?b] [?b :to ?c] (not [?c :to ?c])]", ()),
    "a function": ("[:find ?a ?n :where [?a :to ?b] [?b :to ?c] [(+ ?b ?c) ?n] [(> ?n 3)]]", ()),
    "new values": ("[:find ?a ?s :where [?a :to ?b] [?b :to ?c] [(str ?c) ?s]]", ()),
    "arguments": ("[:find ?c :in $ ?a [?n ...] :where [?a :to ?b] [?b :to ?c] [(<= ?c ?n)]]", ("1", "[3 4 9]")),
    "groups": ("[:find ?a (count ?c) :where [?a :to ?b] [?b :to ?c]]", ()),
    "other aggregates": ("[:find ?a (max ?c) :where [?a :to ?b] [?b :to ?c]]", ()),
    "rules": (JOINED, ("1",)),
    "a closure": (WALKED, ("1",)),
    "rules that aggregate": (
        (
            "[:find ?b ?n :in $ ?a :where (far ?a ?b ?n) :rules [[(far ?a ?b (min ?n)) [?a :to ?b] [(ground 1) ?n]]"
            " [(far ?a ?c (min ?n)) (far ?a ?b ?m) [?b :to ?c] [(inc ?m) ?n] [(< ?n 9)]]]]"
        ),
        ("1",),
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_joins_are_bound_once(name: str, world: World, bindings: Bindings) -> None:
    query, args = QUERIES[name]
    world.tx('[[:db/add 1 :name "a"] [:db/add 2 :name "b"] [:db/add 3 :name "c"] [:db/add 4 :name "d"]]')
    while world.database.snapshot().t < 32:
        # The next plans for another number of transactions are far away.
        world.tx("[]")
    followed = Followed(world, query, *args)
    counts = []
    for pairs, sign in [*turns(), *turns()]:
        followed.edges(*pairs, sign=sign)
        counts.append(bindings.taken())
    assert sum(counts[:4]) > 0
    # Once everything has happened.
    assert counts[-1] == counts[-2] == 0


def test_between_steps_nothing_of_a_moment_is_held(world: World) -> None:
    world.tx('[[:db/add 1 :name "a"] [:db/add 2 :name "b"] [:db/add 3 :name "c"]]')
    followed = [Followed(world, query, *args) for query, args in QUERIES.values()]
    for pairs, sign in turns():
        world.tx(edges(*pairs, sign=sign))
        new = world.database.snapshot()
        for each in followed:
            each.go(new)
    attribute = new.attribute(read(":to"))
    assert attribute is not None
    last = [new, new.ev(attribute), new.ve(attribute)]
    gone = [weakref.ref(each) for each in last]
    world.tx(edges((8, 9), (9, 8)))
    for _ in range(8):
        # So many that the attribute itself has let go of its tries of that moment.
        world.tx(edges((8, 9), sign="retract"))
        world.tx(edges((8, 9)))
        snapshot = world.database.snapshot()
        _ = snapshot.ev(attribute), snapshot.ve(attribute)
    for each in followed:
        each.at = snapshot
    del new, last, snapshot, each
    gc.collect()
    assert [each() for each in gone] == [None, None, None]
    assert all(each.view.nbytes() for each in followed)


def test_folded_data_is_let_go(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactor, "_LEAST", 1)
    monkeypatch.setattr(compactor, "_SHARE", 0.0)
    world.tx(edges(*((i, i + 1) for i in range(1, 60))))
    followed = [Followed(world, query, *args) for query, args in QUERIES.values()]

    def step(*pairs: tuple[int, int], sign: str) -> None:
        world.tx(edges(*pairs, sign=sign))
        new = world.database.snapshot()
        for each in followed:
            each.go(new)

    world.database.compact()
    step((1, 5), (2, 7), sign="add")
    attribute = world.database.snapshot().attribute(read(":to"))
    assert attribute is not None
    for _ in range(2):
        folded = world.database.snapshot().data_of(attribute.id).relation
        base = weakref.ref(world.database.snapshot().ev(attribute).base)
        world.database.compact()
        assert world.database.snapshot().data_of(attribute.id).relation is not folded
        step((1, 5), sign="retract")
        step((1, 5), (3, 9), sign="add")
        step((3, 9), sign="retract")
        assert base() is not world.database.snapshot().ev(attribute).base
        del folded
        gc.collect()
        assert base() is None


def test_a_constant_that_the_database_learns_meanwhile(world: World, bindings: Bindings) -> None:
    followed = Followed(world, '[:find ?a :where [?a :to ?b] [?b :label "late"]]')
    followed.edges((1, 2), (3, 4))
    followed.edges((1, 4))
    followed.tx('[[:db/add 4 :label "late"]]')
    followed.edges((5, 4))
    assert followed.rows[0] == {(identity(1),), (identity(3),), (identity(5),)}
    bindings.taken()
    followed.edges((6, 4))
    assert bindings.taken() == 0


def test_an_attribute_that_gets_its_first_datom(world: World) -> None:
    followed = Followed(world, BESIDE)
    followed.edges((1, 2), (2, 3))
    followed.edges((1, 3), attribute="by")
    followed.edges((1, 3), attribute="by", sign="retract")


def test_an_attribute_that_is_declared_meanwhile(world: World) -> None:
    followed = Followed(world, "[:find ?a ?c :where [?a :to ?b] [?b :to ?c] (not [?a :later ?c])]")
    followed.edges((1, 2), (2, 3))
    followed.edges((2, 4))
    followed.tx("[{:db/ident :later :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    followed.edges((2, 5))
    followed.tx("[[:db/add 1 :later 3] [:db/add 1 :later 5]]")
    followed.tx("[{:db/ident :latest :db/valueType :db.type/long} [:db/add 1 :later 4] [:db/add 2 :to 6]]")
    followed.edges((1, 3), attribute="later", sign="retract")


def test_an_ident_that_names_another_entity_meanwhile(world: World) -> None:
    world.tx("[[:db/add 10 :db/ident :one] [:db/add 11 :db/ident :other]]")
    followed = Followed(world, "[:find ?a :where [?a :to :one] [?a :by ?b]]")
    looked = Followed(world, '[:find ?a :where [?a :to [:name "x"]] [?a :by ?b]]')
    for each in (followed, looked):
        each.tx('[[:db/add 10 :name "x"] [:db/add 1 :to 10] [:db/add 1 :by 2] [:db/add 2 :to 11]]')
        each.edges((2, 3), attribute="by")
        each.tx("[[:db/retract 10 :db/ident :one] [:db/add 11 :db/ident :one]]")
        each.tx('[[:db/retract 10 :name "x"] [:db/add 11 :name "x"]]')
        each.edges((2, 3), (1, 2), attribute="by", sign="retract")
        each.edges((2, 3), attribute="by")
        each.edges((1, 11))
        each.tx("[[:db/add 10 :db/ident :one] [:db/add 11 :db/ident :other] [:db/add 1 :by 2]]")
        each.tx('[[:db/retract 11 :name "x"] [:db/add 10 :name "x"] [:db/add 2 :to 10]]')


def test_arguments_that_come_and_go(world: World) -> None:
    for query in (WALKED, JOINED, "[:find ?c :in $ ?a :where [?a :to ?b] [?b :to ?c]]"):
        followed = Followed(world, query, "1")
        followed.edges((1, 2), (2, 3), (5, 6))
        five = followed.add("5")
        followed.edges((6, 7), (3, 5))
        followed.add("9")
        followed.edges((9, 5), (6, 7), sign="add")
        followed.drop(five)
        followed.edges((6, 7), sign="retract")
        followed.add("5")
        followed.edges((6, 7))


NAMED = "[:find ?b ?n :in $ ?a :where [?a :to ?b] [?a :name ?n]]"
COUNTED = "[:find (count ?b) ?n :in $ ?a [?n ...] :where [?a :to ?b] [?a :age ?n]]"


@pytest.mark.parametrize(("query", "more"), [(NAMED, ()), (COUNTED, ("[1 2]",))])
def test_joins_are_bound_anew_for_feeds_that_came_when_a_row_asks_for_one(
    query: str, more: tuple[str, ...], world: World, bindings: Bindings
) -> None:
    world.tx("[" + " ".join(f'{{:db/id {e} :name "n{e}" :age 1 :to 90}}' for e in range(1, 60)) + "]")
    followed = Followed(world, query, "1", *more)
    numbers = [0, *(followed.add(str(e), *more) for e in range(2, 20))]
    for e in (19, 18, 19):
        followed.edges((e, 40 + e))
    bindings.taken()
    for e in range(20, 40):
        numbers.append(followed.add(str(e), *more))
        followed.drop(numbers.pop(0))
        # Of one that was there, of one that went, and of none.
        before = e - 5 if e < 30 else 90 + e
        followed.edges((before, 100 + e), (1, 100 + e))
        if e < 24:
            assert query == COUNTED or not bindings.taken(), e
    bindings.taken()
    followed.edges((39, 200))
    assert bindings.taken()
    followed.edges((39, 201), (38, 201))
    assert not bindings.taken()


def test_very_many_feeds_that_come_and_go(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adalog.executor.follow.arguments._FEW_FEEDS", 3)
    world.tx("[" + " ".join(f'{{:db/id {e} :name "n{e}" :to 90}}' for e in range(1, 60)) + "]")
    followed = Followed(world, NAMED, "1")
    for e in range(2, 40):
        number = followed.add(str(e))
        if e % 3 and number - e % 2 in followed.rows:
            followed.drop(number - e % 2)
        followed.edges((e - e % 4, 100 + e), (1, 100 + e))


def test_a_step_that_was_given_up_is_made_again(world: World) -> None:
    class GivenUpError(BaseException):
        """Whatever ends a step that is begun again."""

    class Stops(Cancel):
        def check(self) -> None:
            raise GivenUpError

    for name in ("a not", "new values", "arguments", "rules", "a closure"):
        query, args = QUERIES[name]
        followed = Followed(world, query, *args)
        followed.edges((1, 2), (2, 3))
        world.tx(edges((2, 4), (4, 1)))
        new = world.database.snapshot()
        with suppress(GivenUpError):
            followed.view.step(Moments(followed.at, new), Stops())
            assert "rules" in query, "it never looked"
        followed.go(new)
        followed.edges((2, 4), (1, 2), sign="retract")
        followed.edges((2, 3), (4, 1), sign="retract")


def test_what_is_kept_is_counted_and_given_back(world: World) -> None:
    followed = Followed(world, BESIDE)
    before = followed.view.nbytes()
    followed.edges((1, 2), (2, 3))
    kept = followed.view.nbytes()
    assert kept > before + 2_500
    for _ in range(10):
        followed.edges((2, 4))
        followed.edges((2, 4), sign="retract")
    assert followed.view.nbytes() < 4 * kept
    steady = followed.view.nbytes()
    for _ in range(10):
        followed.edges((2, 4))
        followed.edges((2, 4), sign="retract")
    assert followed.view.nbytes() == steady
    followed.view.lighten()
    assert followed.view.nbytes() < steady


def test_moments_of_the_past_are_followed_one_by_one(world: World) -> None:
    begun = world.database.snapshot()
    for pairs, sign in turns():
        world.tx(edges(*pairs, sign=sign))
        world.tx("[{:db/ident :since :db/valueType :db.type/long} [:db/add 1 :since 2]]")
    now = world.database.snapshot()
    for query, args in QUERIES.values():
        followed = Followed(world, query, *args, at=begun)
        for t in range(begun.t + 1, now.t + 1):
            followed.go(now.as_of(t))


UNIQUE = {
    "shown": "[:find ?n ?b :where [?p :name ?n] [?p :to ?b]]",
    "through both": "[:find ?n ?m :where [?p :name ?n] [?p :to ?q] [?q :name ?m]]",
    "of one value": "[:find ?p ?g :where [?p :to ?q] [?p :label ?l] [?q :label ?l] [?q :age ?g]]",
    "under a not": "[:find ?n :where [?p :name ?n] [?p :age ?g] (not [?p :to ?g])]",
    "by an argument": "[:find ?m :in $ ?n :where [?p :name ?n] [?q :to ?p] [?q :name ?m]]",
    "derived": (
        "[:find ?m :in $ ?n :where [?p :name ?n] (needs ?q ?p) [?q :name ?m]"
        " :rules [[(needs ?a ?b) [?a :to ?b]] [(needs ?a ?c) (needs ?a ?b) [?b :to ?c]]]]"
    ),
}


@pytest.mark.parametrize("name", UNIQUE)
def test_rows_that_the_schema_ties_to_the_head(name: str, world: World) -> None:
    query = UNIQUE[name]
    followed = Followed(world, query, *(['"a"'] if ":in" in query else []))
    followed.tx('[[:db/add 1 :name "a"] [:db/add 2 :name "b"] [:db/add 1 :age 2] [:db/add 2 :age 2]]')
    followed.edges((1, 2), (2, 1), (1, 3))
    followed.tx('[[:db/add 1 :label "x"] [:db/add 2 :label "x"]]')
    followed.edges((1, 1), (2, 2))
    # The value goes to another entity, whose edges come with it or were there.
    followed.tx('[[:db/add 1 :name "c"] [:db/add 2 :name "a"]]')
    followed.tx('[[:db/add 1 :name "b"] [:db/retract 1 :to 2] [:db/add 2 :to 3]]')
    followed.tx('[[:db/add 1 :name "a"] [:db/add 2 :name "d"] [:db/add 1 :to 2] [:db/retract 2 :to 1]]')
    followed.tx('[[:db/add 2 :label "y"] [:db/add 1 :age 3] [:db/add 3 :name "b"]]')
    followed.edges((1, 3), (3, 1))
    followed.tx("[[:db/retractEntity 2]]")


def test_a_schema_that_ties_rows_to_the_head_only_later(world: World) -> None:
    """Plans are made under the newest schema, and followed from a moment before it."""
    world.tx("[{:db/ident :key :db/valueType :db.type/string} {:db/ident :link :db/valueType :db.type/ref}]")
    begun = world.database.snapshot()
    world.tx('[[:db/add 1 :key "k"] [:db/add 2 :key "k"] [:db/add 1 :link 5]]')
    world.tx("[[:db/add 2 :link 5]]")
    world.tx("[[:db/retract 1 :link 5]]")
    world.tx('[[:db/retract 2 :key "k"] [:db/add 2 :link 6]]')
    world.tx("[[:db/add :key :db/unique :db.unique/value]]")
    world.tx("[[:db/add 1 :link 6]]")
    now = world.database.snapshot()
    followed = Followed(world, "[:find ?k ?b :where [?p :key ?k] [?p :link ?b]]", at=begun)
    assert any(each.sure is not None for each in followed.view.maintenance.reactions)
    for t in range(begun.t + 1, now.t + 1):
        followed.go(now.as_of(t))


def test_checks_are_left_out_where_the_schema_makes_them_needless(world: World) -> None:
    def sure(query: str, *args: str) -> dict[str, set[str]]:
        """By the attribute that changed, those that must not have; for any entity that changed."""
        followed = Followed(world, query, *args)
        return {
            str(reaction.changed.terms[1].value): {str(each.ident) for each in reaction.still}  # type: ignore[union-attr]
            for reaction in followed.view.maintenance.reactions
            if reaction.sure is not None and reaction.alone is None
        }

    assert sure(UNIQUE["shown"]) == {":to": {":name"}}
    assert sure(UNIQUE["through both"]) == {":to": {":name"}, ":name": {":name"}} or sure(
        UNIQUE["through both"]
    ) == {":to": {":name"}}
    assert sure("[:find ?l ?b :where [?p :label ?l] [?p :to ?b]]") == {}
    assert sure("[:find ?p :where [?p :label ?l] [?q :label ?l] [?q :to ?p]]") == {}
    assert sure("[:find ?n :where (or [?p :name ?n] [?p :label ?n]) [?p :to ?b]]") == {}
