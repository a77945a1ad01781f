"""A query in two parts, one within the other, answers as the two parts written as one."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import identity
from adalog.executor.pool import Pool
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from tests.property.generated import SCHEMA, VARIABLES, Writer, transactions
from tests.support import World

SWITCHES = (
    Options(),
    Options(reorder=False),
    Options(project=False),
    Options(budget=3),
    Options(magic=False, semi_naive=False),
)


def rows(world: World, query: str, *args: str, options: Options = SWITCHES[0]):
    """The rows by typed identity, or the code of the refusal."""
    try:
        return {identity(row) for row in world.q(query, *args, options=options, max_rows=5000).rows}
    except AdalogError as error:
        return str(error.code)


@given(st.integers(0, 2**32))
def test_a_part_of_a_query_may_be_a_query_within(seed):
    rng = Random(seed)
    writer = Writer(rng)
    names = tuple(rng.sample(VARIABLES, rng.randint(1, 2)))
    inner = [writer.pattern((name, "_"), must=name) for name in names]
    outer = [writer.pattern((names[0], "_"), must=names[0])]
    (inner if writer.chance(50) else outer).append(writer.clause(names, 1))
    if writer.partial:
        return  # which rows a function is tried on, and refuses, is not said
    outside = " ".join(outer)
    within = " ".join(inner)
    shared = [name for name in names if name in outside]
    whole = f"[:find {' '.join(names)} :where {outside} {within}]"
    for given_names in (shared, shared[:1], []):
        parts = (
            f"[:find {' '.join(names)} :where {outside} [(q [:find {' '.join(names)} "
            f":in $ {' '.join(given_names)} :where {within}] $ {' '.join(given_names)}) [[{' '.join(names)}]]]]"
        )
        compare(rng, whole, parts)


@given(st.integers(0, 2**32))
def test_an_aggregate_within_is_that_of_the_group(seed):
    rng = Random(seed)
    writer = Writer(rng)
    key, value = rng.sample(VARIABLES, 2)
    clauses = f"{writer.pattern((key, value), must=key)} {writer.pattern((key, value), must=value)}"
    aggregate = rng.choice(("count", "min", "max", "count-distinct", "distinct", "min 2"))
    keys = writer.pattern((key,), must=key)
    whole = f"[:find {key} ({aggregate} {value}) :where {keys} {clauses}]"
    parts = (
        f"[:find {key} ?result :where {keys} "
        f"[(q [:find ({aggregate} {value}) . :in $ {key} :where {clauses}] $ {key}) ?result]]"
    )
    compare(rng, whole, parts)


def compare(rng: Random, whole: str, parts: str) -> None:
    with Database.open(":memory:") as database:
        pool = Pool(database)
        try:
            world = World(database, pool)
            world.tx(SCHEMA, *transactions(rng))
            expected = rows(world, whole)
            if isinstance(expected, str):
                return
            for options in SWITCHES:
                found = rows(world, parts, options=options)
                # One part may leave unbound what only the other binds.
                assert found in (expected, "UNBOUND_VARIABLE"), (whole, parts, options)
        finally:
            pool.close()


RULES = (
    "[[(r ?a ?b) [?a :to ?b]] [(r ?a ?b) [?a :to ?c] (r ?c ?b)]]",
    "[[(r ?a ?b) [?a :to ?b]] [(r ?a ?b) (r ?a ?c) [?c :to ?b]]]",
    "[[(r ?a ?b) [?a :to ?b]] [(r ?a ?b) (r ?a ?c) (r ?c ?b)]]",
    """[[(r ?a ?b) (odd ?a ?b)] [(odd ?a ?b) [?a :to ?b]] [(odd ?a ?b) (even ?a ?c) [?c :to ?b]]
        [(even ?a ?b) (odd ?a ?c) [?c :to ?b]]]""",
    """[[(r ?a ?b) (way ?a ?b ?k) [(even? ?k)]] [(way ?a ?b (min ?k)) [?a :to ?b] [(ground 1) ?k]]
        [(way ?a ?b (min ?k)) (way ?a ?c ?j) [?c :to ?b] [(inc ?j) ?k]]]""",
    "[[(r ?a ?b) [?a :to ?b] (not (up ?b ?a))] [(up ?a ?b) [?a :r ?b]] [(up ?a ?b) [?a :r ?c] (up ?c ?b)]]",
    "[[(r [?a] ?b) [?a :to ?b]] [(r [?a] ?b) [?a :r ?c] (r ?c ?b)]]",
    "[[(r ?a ?b) (many ?a ?n) [?b :n ?n]] [(many ?a (count ?b)) [?a :to ?b]]]",
    "[[(r ?a ?b) [?a :to ?b]] [(r ?b ?a) (r ?a ?b)]]",
)


@given(st.integers(0, 2**32), st.sampled_from(RULES))
def test_rules_within(seed, rules):
    rng = Random(seed)
    find = rng.choice(("?b", "?b", "(count ?b)", "(max ?b)"))
    out = "?b" if find == "?b" else "?x"
    start, call = (
        rng.choice(("[?a :to]", "[?a :n _]", "[_ :r ?a]", "[_ :n ?a]")),
        rng.choice(("(r ?a ?b)", "(r ?a ?b) [?b]")),
    )
    if rng.random() < 0.3:
        call = call.replace("(r ?a ?b)", "(r ?b ?a) [?b :to]")
    whole = f"[:find ?a {find} :rules {rules} :where {start} {call}]"
    parts = (
        f"[:find ?a {out} :rules {rules} :where {start} "
        f"[(q [:find {find} :in % $ ?a :where {call}] % $ ?a) [[{out}]]]]"
    )
    compare(rng, whole, parts)
