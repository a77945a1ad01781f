"""What DROPPED_DUPLICATES says is true: as many values fell together as a query with and without them has rows."""

from __future__ import annotations

import re
from random import Random

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.pool import Pool
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from tests.property.model import examples
from tests.support import World

SCHEMA = """[{:db/ident :n :db/valueType :db.type/long}
 {:db/ident :u :db/valueType :db.type/long :db/unique :db.unique/value}
 {:db/ident :m :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
 {:db/ident :one :db/valueType :db.type/ref}
 {:db/ident :many :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
CLAUSES = (
    "[?a :n ?x]",
    "[?a :n ?x]",
    "[?a :m ?x]",
    "[?a :one ?b]",
    "[?b :one ?a]",
    "[?a :many ?b]",
    "[?b :many ?a]",
    "[?b :n ?y]",
    "[?b :m ?y]",
    "[?b :u ?u]",
    "[?a :u ?u]",
    "[?a :m]",
    "[?b :one ?c]",
    "[?c :n ?z]",
    "[(> ?x 1)]",
    "[(+ ?x ?y) ?v]",
    "[(* 2 ?x) ?v]",
    "(or [?a :one ?b] [?a :many ?b])",
    "(or-join [?a] [?a :m 1] (and [?a :many ?t] [?t :n 2]))",
    "(not [?a :n 2])",
    "(r ?a ?x)",
)
RULES = "[[(r ?e ?v) [?e :m ?v]] [(r ?e ?v) [?e :one ?f] (r ?f ?v)]]"
FOUND = re.compile(
    r" (at least )?([\d,]+) rows? that differs? from (?:others|another) "
    r"only in (\?\w+(?: \?\w+)*) (?:is|are) left out"
)


def data(rng: Random) -> str:
    forms = []
    for e in range(1, 9):
        forms.append(f"[:db/add {e} :u {e * 10}]")
        for a, values in ((":n", 3), (":one", 8)):
            forms += [f"[:db/add {e} {a} {rng.randint(1, values)}]"] if rng.random() < 0.8 else []
        for a, values in ((":m", 3), (":many", 8)):
            chosen = rng.sample(range(1, values + 1), rng.choice((0, 1, 1, 2)))
            forms += [f"[:db/add {e} {a} {v}]" for v in chosen]
    return f"[{' '.join(forms)}]"


def test_numbers_are_true() -> None:
    said = 0
    for seed in range(examples(40)):
        rng = Random(seed)
        with Database.open(":memory:") as database:
            pool = Pool(database)
            world = World(database, pool)
            world.tx(SCHEMA, data(rng))
            for _ in range(12):
                said += check(world, rng)
            pool.close()
    assert said > examples(40)


def check(world: World, rng: Random) -> int:
    clauses = " ".join(rng.sample(CLAUSES, rng.randint(1, 4)))
    names = sorted(set(re.findall(r"\?[abcxyzuv]\b", clauses)))
    numbers = [name for name in names if name in ("?x", "?y", "?z", "?v")]
    if not numbers:
        return 0
    summed = rng.choice(numbers)
    keys = rng.sample([name for name in names if name != summed], min(len(names) - 1, rng.choice((0, 1, 1))))
    with_ = f":with {rng.choice(names)}" if rng.random() < 0.2 else ""
    kept = {*keys, summed, *with_.split()[1:]}
    options = Options(reorder=rng.random() < 0.8, project=rng.random() < 0.9, budget=rng.choice((1, 7, 1 << 19)))
    query = f"[:find {' '.join(keys)} (sum {summed}) {with_} :in $ % :where {clauses}]"
    try:
        result = world.run(query, RULES, options=options)
    except AdalogError as error:
        if error.code is not Code.UNBOUND_VARIABLE:
            raise
        return 0
    (*_, found) = (None, *world.pool.found_out(result.question, result.dropped))
    if found is None:
        return 0
    least, number, owners = FOUND.search(found.message).groups()

    def rows(names: set[str]) -> int:
        return len(world.run(f"[:find {' '.join(sorted(names))} :in $ % :where {clauses}]", RULES))

    fell = rows(kept | set(owners.split())) - rows(kept)
    assert (fell >= int(number)) if least else (fell == int(number)), f"{found.message} not {fell}: {query}"
    return 1
