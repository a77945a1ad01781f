"""What the schema says of values is made use of, and only while it holds: answers with hidden variables are those
that the rows over all variables give, on every kind of view, before and after the schema changed."""

from __future__ import annotations

from contextlib import closing
from random import Random

import pytest

from adalog.datalog.errors import AdalogError
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot

SCHEMA = """[{:db/ident :size :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
             {:db/ident :by :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
             {:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
             {:db/ident :tag :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
             {:db/ident :short :db/valueType :db.type/long :db/noHistory true}]"""
CLAUSES = (
    "[?p :size ?size]",
    "[?p :by ?m]",
    "[?m :name ?name]",
    "[?p :tag ?tag]",
    "[?p :short ?s]",
    "[?q :size ?size]",
    "[?q :by ?m]",
    "[?p :size ?size ?t]",
    "[?p :by ?m ?t ?op]",
    "[(inc ?size) ?more]",
    "[(str ?name) ?text]",
    "[(max ?size 2) ?size]",
    "(not [?p :tag 1])",
    "(or [?p :tag 1] [?p :tag 2])",
    "(or-join [?p] [?p :tag 1] (and [?p :by ?z] [?z :name _]))",
)
OPTIONS = (Options(), Options(), Options(reorder=False), Options(budget=1), Options(project=False))


def transaction(rng: Random) -> str:
    forms = {}
    for _ in range(rng.randint(2, 8)):
        e = rng.randint(1, 5)
        attribute, value = rng.choice(((":size", rng.randint(1, 3)), (":by", rng.randint(6, 8)),
                                       (":tag", rng.randint(1, 3)), (":short", rng.randint(1, 2))))  # fmt: skip
        kind = rng.choice(("add", "add", "retract"))
        forms[e, attribute] = f"[:db/{kind} {e} {attribute} {value}]"
    e = rng.randint(6, 8)
    forms[e, ":name"] = f'[:db/add {e} :name "n{rng.randint(1, 3)}"]'
    return f"[{' '.join(forms.values())}]"


def schema_change(rng: Random) -> str:
    """Refused by the store where the data does not allow it."""
    return rng.choice(
        (
            "[{:db/id :size :db/cardinality :db.cardinality/one}]",
            "[{:db/id :size :db/cardinality :db.cardinality/many}]",
            "[{:db/id :size :db/cardinality :db.cardinality/one} [:db/add 1 :size 1] [:db/add 2 :size 3]]",
            "[{:db/id :by :db/cardinality :db.cardinality/many} [:db/add 1 :by 6] [:db/add 1 :by 7]]",
            "[{:db/id :by :db/cardinality :db.cardinality/one}]",
            "[{:db/id :name :db/unique :db.unique/value}]",
            "[[:db/retract :name :db/unique :db.unique/value]]",
        )
    )


def body(rng: Random) -> list[str]:
    chosen = {
        *rng.choice(((0, 5), (1, 2), (1, 2), (1, 6), (0, 9))),
        *rng.sample(range(len(CLAUSES)), rng.randint(0, 3)),
    }
    # What the others need of it.
    chosen |= {
        place
        for needs, place in ((2, 1), (9, 0), (10, 2), (10, 1), (11, 0), (12, 0), (13, 0), (14, 0))
        if needs in chosen
    }
    return [CLAUSES[i] for i in sorted(chosen)]


def names_in(clauses: list[str]) -> list[str]:
    words = " ".join(clauses).replace("[", " ").replace("]", " ").replace("(", " ").replace(")", " ").split()
    return [name for name in dict.fromkeys(words) if name.startswith("?") and name != "?z"]


def view(database: Database, rng: Random) -> Snapshot:
    t = rng.randint(1, database.snapshot().t)
    since = rng.choice((None, None, rng.randint(1, t)))
    return database.at(t=t, since=since, history=rng.random() < 0.3) if rng.random() < 0.7 else database.snapshot()


def rows(pool: Pool, text: str, snapshot: Snapshot, options: Options) -> list[tuple[object, ...]]:
    return pool.run(QueryRequest(text, (), snapshot, engine="LOCAL", options=options, cached=False)).rows()


def check(pool: Pool, rng: Random, snapshot: Snapshot, clauses: list[str], shown: list[str], hidden: str) -> None:
    names = names_in(clauses)
    where = " ".join(clauses)
    every = rows(pool, f"[:find {' '.join(names)} :where {where}]", snapshot, Options())
    assert len(every) == len(set(every))
    options = rng.choice(OPTIONS)
    places = [names.index(name) for name in shown]
    tuples = {tuple(row[i] for i in places) for row in every}
    found = rows(pool, f"[:find {' '.join(shown)} :where {where}]", snapshot, options)
    assert len(found) == len(tuples), (where, shown)
    assert set(found) == tuples, (where, shown)
    # The first is shown, the others are counted.
    tuples = {(row[names.index(hidden)], *(row[i] for i in places)) for row in every}
    first, *others = shown
    if others:
        asked = f"[:find {first} (count {hidden}) :with {' '.join(others)} :where {where}]"
        counts: dict[object, int] = {}
        for row in tuples:
            counts[row[1]] = counts.get(row[1], 0) + 1
        assert dict(rows(pool, asked, snapshot, options)) == counts, asked


@pytest.mark.parametrize("seed", range(10))
def test_answers_with_hidden_variables(seed: int) -> None:
    rng = Random(seed)
    with Database.open(":memory:") as database, closing(Pool(database)) as pool:
        database.transact(SCHEMA)
        questions = []
        while len(questions) < 12:
            clauses = body(rng)
            names = names_in(clauses)
            if "?p" in names and len(names) > 2:
                others = rng.sample([name for name in names if name != "?p"], rng.randint(1, 2))
                shown, hidden = rng.choice((["?p", *others[:1]], others)), "?p"
                questions.append((clauses, shown, hidden if hidden not in shown else others[-1]))
        for _ in range(12):
            try:
                database.transact(schema_change(rng) if rng.random() < 0.35 else transaction(rng))
            except AdalogError:
                continue
            if rng.random() < 0.1:
                database.compact()
            for clauses, shown, hidden in questions:
                if hidden not in shown:
                    check(pool, rng, view(database, rng), clauses, shown, hidden)
