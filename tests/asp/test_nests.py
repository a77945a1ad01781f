"""The engine against clingo: random nests of connectives and rules of several heads, whatever the switches."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.parsing.parser import parse_query
from adalog.planner.model.plan import Options
from tests.asp.compared import check, compared, filled
from tests.asp.nests import datoms, query, switches
from tests.asp.translated import solved
from tests.property.model import examples
from tests.support import pool_on

SEEDS = st.integers(0, 2**48)


@settings(max_examples=examples(110))
@given(SEEDS)
def test_nests(seed):
    rng = Random(seed)
    forms = datoms(rng)
    check(forms, query(rng), switches(rng, 3))


@settings(max_examples=examples(20))
@given(SEEDS)
def test_nests_on_two_threads(seed):
    rng = Random(seed)
    forms = datoms(rng)
    check(forms, query(rng), switches(rng, 2), threads=2)


@pytest.mark.spark
def test_nests_on_spark(spark):
    rng = Random(3)
    with filled(datoms(rng)) as database, pool_on(database, spark) as pool:
        for _ in range(max(8, examples(8))):
            wrong, _ = compared(pool, query(rng), (Options(), rng.choice(switches(rng, 3))), engine="SPARK")
            assert wrong is None, wrong


def test_the_oracle_itself():
    """A row satisfies one whole branch; what a `not` shares is unified, the rest is its own; rules recur."""
    facts = [(1, ":e", 2), (2, ":e", 3), (3, ":n", 0), (1, ":n", 0)]

    def answer(where, rules="[]", *args, find="?a", given=""):
        named = [(e, parse_query(f"[:find ?x :where [?x {a}]]").where[0].terms[1].value, v) for e, a, v in facts]
        return solved(parse_query(f"[:find {find} :in $ {given} % :where {where}]", rules), named, args)

    assert answer("[?a :e _] (not [?a :n ?x])") == {(2,)}
    assert answer("(or (and [?a :e ?b] [?b :e _]) (and [?a :n ?b] [?b :n _]))") == {(1,)}
    assert answer("[?a :e] (or-join [?a] (and [?a :n ?x] [(< ?x 1)]) [3 :e])") == {(1,)}
    reach = "[[(r ?x ?y) [?x :e ?y]] [(r ?x ?z) (r ?x ?y) [?y :e ?z]]]"
    assert answer("(r ?a ?b) [(not= ?b 2)]", reach, find="?a ?b") == {(1, 3), (2, 3)}
    assert answer("[?a :e] (not-join [?a] (r ?a ?b) [?b :n 0])", reach) == set()
    assert answer("[?b :e ?a]", "[]", [1, 7], given="[?b ...]") == {(2,)}
