"""Forms that other dialects bring, against the same said in other words: random graphs, all planner switches, live
changes, cached answers."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.values import identity
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.language.test_live_traps import Live
from tests.property.model import SWITCHES, examples
from tests.support import World

SCHEMA = """[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :db/doc "edges"}
             {:db/ident :n :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
             {:db/ident :k :db/valueType :db.type/keyword :db/cardinality :db.cardinality/one :db/doc "kinds"}
             {:db/ident :on :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
REACH = "[(reach ?a ?b) [?a :to ?b]] [(reach ?a ?b) [?a :to ?c] (reach ?c ?b)]"
GROUPS = ":where [?e :n ?n] [?e :k ?k]"

SAME = [
    ("[:find ?a ?b :where [?a :to+ ?b]]", f"[:find ?a ?b :where (reach ?a ?b) :rules [{REACH}]]"),
    ("[:find ?b :where [1 :to+ ?b]]", f"[:find ?b :where (reach 1 ?b) :rules [{REACH}]]"),
    (
        "[:find ?a ?b :where [?a :n 1] [?a :to* ?b]]",
        (
            "[:find ?a ?b :where [?a :n 1] (or-join [?a ?b] (reach ?a ?b) (and [?a :n] [(identity ?a) ?b])) "
            f":rules [{REACH}]]"
        ),
    ),
    (
        "[:find ?a ?b :where [?b :n 1] [?a :to* ?b]]",
        (
            "[:find ?a ?b :where [?b :n 1] (or-join [?a ?b] (reach ?a ?b) (and [?b :n] [(identity ?b) ?a])) "
            f":rules [{REACH}]]"
        ),
    ),
    (
        "[:find ?a :where [?a :n] (not [?a :to+ ?a])]",
        f"[:find ?a :where [?a :n] (not (reach ?a ?a)) :rules [{REACH}]]",
    ),
    (
        (
            "[:find ?a ?b :where [reach ?a ?b] :rules [[[reach ?a ?b] [?a :to ?b]] "
            "[[reach ?a ?b] [reach ?a ?c] [?c :to ?b]]]]"
        ),
        f"[:find ?a ?b :where (reach ?a ?b) :rules [{REACH}]]",
    ),
    (
        "[:find ?e ?v ?d :where [?e ?a ?v] [?a :db/doc ?d]]",
        "[:find ?e ?v ?d :where [?e ?a ?v] [?i :db/ident ?a] [?i :db/doc ?d]]",
    ),
    (
        "[:find ?f ?e ?v :where [?f :on ?a] [?e ?a ?v]]",
        "[:find ?f ?e ?v :where [?f :on ?i] [?i :db/ident ?a] [?e ?a ?v]]",
    ),
    # A branch is its own scope for a variable of which the clauses beside it ask for no entity.
    (
        "[:find ?f ?a :where [?f :n] (or [?f :on ?a] [?f ?a 1])]",
        "[:find ?f ?a :where [?f :n] (e ?f ?a) :rules [[(e ?f ?a) [?f :on ?a]] [(e ?f ?a) [?f ?a 1]]]]",
    ),
    (
        "[:find ?f ?a :where (or-join [?f ?a] [?f :on ?a] (and [?f ?a ?v] [?a :db/doc]))]",
        (
            "[:find ?f ?a :where (e ?f ?a) "
            ":rules [[(e ?f ?a) [?f :on ?a]] [(e ?f ?a) [?f ?a] [?i :db/ident ?a] [?i :db/doc]]]]"
        ),
    ),
    (
        "[:find ?f ?a :where (or [?f :on ?a] [?f ?a 1]) [?a :db/doc]]",
        (
            "[:find ?f ?a :where (e ?f ?a) [?i :db/ident ?a] [?i :db/doc] "
            ":rules [[(e ?f ?a) [?f :on ?i] [?i :db/ident ?a]] [(e ?f ?a) [?f ?a 1]]]]"
        ),
    ),
    (
        "[:find ?e ?a :where [?e ?a] (not [?a :db/doc])]",
        "[:find ?e ?a :where [?e ?a] (not-join [?a] [?i :db/ident ?a] [?i :db/doc])]",
    ),
    (
        f"[:find ?k ?s ?c :where (sums ?k ?s ?c) :rules [[(sums ?k (sum ?n) (count ?n)) :with ?e {GROUPS[7:]}]]]",
        f"[:find ?k (sum ?n) (count ?n) :with ?e {GROUPS}]",
    ),
    (
        f"[:find ?k ?e :where (least ?k ?e) :rules [[(least ?k (min-by ?n ?e)) {GROUPS[7:]}]]]",
        f"[:find ?k (min-by ?n ?e) {GROUPS}]",
    ),
    (
        f"[:find ?k (max-by ?n ?e) {GROUPS}]",
        (
            "[:find ?k ?e :where (most ?k ?t) [(untuple ?t) [_ ?e]] "
            f":rules [[(most ?k (max ?t)) {GROUPS[7:]} [(tuple ?n ?e) ?t]]]]"
        ),
    ),
    (f"[:find ?k (sum ?n) {GROUPS} :order-by [?e :desc]]", f"[:find ?k (sum ?n) {GROUPS}]"),
    (f"[:find ?k {GROUPS} :order-by [?n ?e :desc]]", f"[:find ?k {GROUPS}]"),
]


def written(rng: Random) -> str:
    """A transaction over a few nodes."""

    def form() -> str:
        e, v = rng.randint(1, 6), rng.randint(1, 6)
        sign = rng.choice(("add", "add", "retract"))
        return rng.choice(
            (
                f"[:db/{sign} {e} :to {v}]",
                f"[:db/{sign} {e} :to {v}]",
                f"[:db/{sign} {e} :on {rng.choice((':k', ':n', ':to', v))}]",
                f"[:db/add {e} :n {v % 3}]",
                f"[:db/add {e} :k {rng.choice((':x', ':y'))}]",
            )
        )

    forms = {" ".join(each.split()[1:3]): each for each in (form() for _ in range(rng.randint(1, 6)))}
    return f"[{' '.join(forms.values())}]"


@pytest.mark.parametrize(("text", "other"), SAME)
@settings(max_examples=examples(6))
@given(st.integers(0, 2**48))
def test_it_means_the_same(text, other, seed):
    rng = Random(seed)
    with Database.open(":memory:") as database:
        pool = Pool(database, PoolSettings(threads=1))
        db = World(database, pool)
        db.tx(SCHEMA, "[{:db/id 1 :n 1 :k :x :to [2 3] :on [:k]} {:db/id 2 :n 1 :k :x :to 3} {:db/id 3 :n 2}]")
        live = Live(db, text)
        for _ in range(5):
            live.tx(written(rng))
            wanted = {tuple(map(identity, row)) for row in pool.run(QueryRequest(other)).rows()}
            assert live.rows == wanted
            for options, cached in ((rng.choice(SWITCHES), False), (SWITCHES[0], True)):
                rows = pool.run(QueryRequest(text, options=options, cached=cached)).rows()
                assert {tuple(map(identity, row)) for row in rows} == wanted
                assert len(rows) == len(wanted)
        pool.close()
