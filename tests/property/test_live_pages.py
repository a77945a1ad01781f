"""Random live pages and live pulls, followed through random transactions: what a view says was added and removed is
what the query, run afresh, has more and less than before; step by step, and in one step over all of them."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel, StartAgain
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.presentation.kept_rows_view import KeptRowsView
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import LiveView
from adalog.executor.follow.view_choice import view_key, view_of
from adalog.executor.pool import Pool
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from tests.property.model import examples
from tests.property.test_maintained import GivenUp, Rows, applied, rows_of
from tests.property.test_pulls import SCHEMA, patterns

MARGIN = "adalog.executor.follow.presentation.kept_rows._LEAST_MARGIN"
FINDS = (
    "(pull ?e P)",
    "?e (pull ?e P)",
    "?e ?n",
    "?n",
    "(pull ?e P) ?n",
    "(pull ?o P)",
    "(pull ?e P) (pull ?o Q)",
    "(pull ?e P) (count ?o)",
    "?o (max ?n) (pull ?o Q)",
    "[(pull ?e P) ...]",
    "(pull ?e P) .",
    "[?e (pull ?o P)]",
)
BODIES = (
    "[?e :n ?n] [?e :one ?o]",
    "[?e :n ?n] [?e :many ?o]",
    "[?e :n ?n] (optional [?e :one ?o])",
    "(optional [?e :n ?n]) [?e :many ?o]",
    "[?e :n ?n] [?e :one ?o] [(>= ?n ?least)]",
    "[?e :s ?n] (or [?e :one ?o] [?o :part ?e])",
    "(reach ?e ?o) [?e :n ?n]",
    "[?e :n ?m] [?e :many ?o] [(+ ?m 1000000000000000000000) ?n]",
)
RULES = ":rules [[(reach ?a ?b) [?a :one ?b]] [(reach ?a ?c) (reach ?a ?b) [?b :many ?c]]]"
ORDERS = ("?n", "[?n :desc]", "?e", "?n ?e", "[?o :desc] ?n", "(count ?o)", "(* 2 (max ?n)) [(count ?o) :desc]")
WINDOWS = (":limit 2", ":limit ?limit", ":limit 1 :offset 1", ":offset 2", ":limit 3 :offset 4", ":limit 0")


WITHIN = (
    '(q "k" [:find [?c ...] :in $ ?x :where [?x :many ?c]])',
    '(q "k" [:find (count ?c) . :in $ ?x ?least :where [?c :many ?x] [?c :n ?m] [(>= ?m ?least)]])',
    '(q "k" [:find ?c (sum ?m) :in $ ?x :where [?x :many ?c] [?c :n ?m]])',
    '(q "k" [:find [(pull ?c P) ...] :in $ ?x :where [?c :one ?x] (optional [?c :n ?m]) :order-by ?m ?c :limit 1])',
    '(q "k" [:find ?m . :in $ ?x :where [(get-else $ ?x :n 0) ?m]])',
    '{:one [:n (q "k" [:find (pull ?c P) ?m :in $ ?x :where [?c :many ?x] [?c :n ?m]])]}',
    '(q "k" [:find (pull ?c [(q "l" [:find ?d :in $ ?c :where [?d :one ?c]])]) :in $ ?x :where [?x :many ?c]])',
)


def with_query(rng: Random, pattern: str, other: str) -> str:
    """A pattern, sometimes with a query in it."""
    return pattern if rng.random() < 0.6 else f"{pattern[:-1]} {rng.choice(WITHIN).replace('P', other)}]"


def texts_of(rng: Random, pulls: tuple[str, str]) -> list[str]:
    """A query, and others that pull something else of the same rows."""
    find = rng.choice(FINDS)
    body, tail = rng.choice(BODIES), ""
    if "reach" in body:
        tail += f" {RULES}"
    if rng.random() < 0.7:
        tail += f" :order-by [{rng.choice(ORDERS)}]"
    if rng.random() < 0.7:
        tail += f" {rng.choice(WINDOWS)}"
    texts = []
    for one, other in (pulls, pulls[::-1], pulls):
        shown = find.replace("P", with_query(rng, one, other)).replace(
            "Q", "?pattern" if rng.random() < 0.2 else other
        )
        texts.append(f"[:find {shown} :in $ ?least ?limit ?pattern :where {body}{tail}]")
    return texts


def written(rng: Random) -> str:
    """A few datoms of a few entities, so that maps and keys are often equal."""
    datoms = []
    for _ in range(rng.choice((1, 1, 2, 5))):
        entity, attribute = rng.randint(1, 9), rng.choice(("n", "n", "s", "one", "many", "part"))
        value = f'"v{rng.randint(1, 3)}"' if attribute == "s" else rng.randint(1, 9 if attribute != "n" else 4)
        operation = rng.choice((":db/add", ":db/add", ":db/add", ":db/retract"))
        datoms.append(f"[{operation} {entity} :{attribute} {value}]")
        if rng.random() < 0.08:
            datoms = [f"[:db/retractEntity {entity}]"]
            break
    return f"[{' '.join(datoms)}]"


class Followed:
    """A view with its feeds, and the rows that each has accumulated."""

    def __init__(self, database: Database, pool: Pool, texts: list[str], pattern: str, rng: Random) -> None:
        self.pool, self.texts, self.text, self.rng = pool, texts, texts[0], rng
        self.at = database.snapshot()
        # Of all feeds, and of those that no error has ended.
        self.given: dict[int, list[Any]] = {}
        self.arguments: dict[int, list[Any]] = {}
        self.rows: dict[int, Rows] = {}
        for number in range(rng.choice((1, 1, 3))):
            self.given[number] = self.arguments[number] = [rng.randint(0, 3), rng.randint(1, 3), read(pattern)]
        shared = view_key(self.question(0))
        self.texts = [text for text in texts if view_key(self.question(0, text)) == shared]
        self.view = self.made(self.at)
        for number in self.arguments:
            rows = self.fresh(number, self.at)
            assert rows is not None, "the view was made of them"
            self.rows[number] = rows

    def question(self, number: int, text: str | None = None) -> Question:
        text = text or self.texts[number % len(self.texts)]
        return self.pool.question(QueryRequest(text, self.given[number], ordered=True))

    def asked(self, number: int) -> UndatedQuestion:
        return UndatedQuestion.of(self.question(number))

    def fresh(self, number: int, at: Snapshot) -> Rows | None:
        """What the query answers; None where it is refused."""
        return rows_of(self.pool, self.asked(number).at(at, Cancel().check), at)

    def made(self, at: Snapshot) -> LiveView:
        view = view_of(self.asked(0).unbound_at(at, Cancel().check), self.pool.engine)
        for number in self.arguments:
            view.add(number, self.asked(number), at, Cancel())
        return view

    def step(self, new: Snapshot) -> None:
        tick = Moments(self.at, new)
        while self.rng.random() < 0.2:
            with suppress(StartAgain):
                self.view.step(tick, GivenUp(self.rng.randrange(20)))
                self.view = self.made(self.at)
            if not self.view.intact:
                self.view = self.made(self.at)
        changes = self.view.step(tick, Cancel())
        self.at = new
        for number, rows in list(self.rows.items()):
            change, where = changes.get(number), (self.text, self.arguments[number], new.t)
            expected = self.fresh(number, new)
            if expected is None or isinstance(change, AdalogError):
                assert expected is None, (where, change)
                del self.rows[number], self.arguments[number]
                self.view.drop(number)
                continue
            now = rows if change is None else applied(change, rows, where)
            assert now == expected, (where, "missing", expected - now, "too many", now - expected)
            self.rows[number] = expected


@settings(max_examples=examples(25))
@given(st.integers(0, 2**32), patterns, patterns)
def test_changes_of_pages_and_pulls_add_up_to_the_answer(seed: int, one: str, other: str) -> None:
    rng = Random(seed)
    margin = rng.choice((0, 1, 3, 64))
    with (
        Database.open(":memory:") as database,
        patch("adalog.executor.follow.presentation.kept_rows._LEAST_MARGIN", margin),
    ):
        database.transact(SCHEMA)
        for _ in range(8):
            with suppress(AdalogError):
                database.transact(written(rng))
        pool = Pool(database)
        views = []
        while len(views) < 3:
            with suppress(AdalogError):
                views.append(Followed(database, pool, texts_of(rng, (one, other)), other, rng))
        begun = [(each, each.at, dict(each.rows)) for each in views]
        for _ in range(8):
            for _ in range(rng.choice((1, 1, 1, 3))):
                with suppress(AdalogError):
                    database.transact(written(rng))
            new = database.snapshot()
            for each in views:
                each.step(new)
        for each, at, rows in begun:
            changes = each.made(at).step(Moments(at, each.at), Cancel())
            for number, expected in each.rows.items():
                change = changes.get(number)
                assert not isinstance(change, AdalogError)
                found = rows[number] if change is None else applied(change, rows[number], each.text)
                assert found == expected, (each.text, each.arguments[number])
        pool.close()


def test_most_pages_and_pulls_are_maintained() -> None:
    rng = Random(1)
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        database.transact(written(rng))
        pool = Pool(database)
        views = []
        while len(views) < 40:
            with suppress(AdalogError):
                views.append(Followed(database, pool, texts_of(rng, ("[:n]", "[:s]")), "[:n]", rng))
        assert sum(isinstance(each.view, KeptRowsView) for each in views) > 25
        assert sum(len(each.texts) > 1 and len(each.given) > 1 for each in views) > 5
        pool.close()
