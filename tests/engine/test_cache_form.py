"""Which queries have one canonical form, and which do not."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog import ast
from adalog.datalog.errors import AdalogError
from adalog.datalog.parsing.parser import parse_query
from adalog.executor.cache.canonical_form import form_of
from tests.property.generated import query as random_query

SAME = [
    # Names.
    ("[:find ?x :where [?x :a ?y]]", "[:find ?who :where [?who :a ?what]]"),
    ("[:find ?x :where [?x :a ?y]]", "{:find [person] :where [[person :a y]]}"),
    # Order of clauses and of branches.
    ("[:find ?x :where [?x :a ?y] [?y :b 1]]", "[:find ?x :where [?y :b 1] [?x :a ?y]]"),
    (
        "[:find ?x :where (or [?x :a ?y] (and [?x :b ?y] [?y :c 2]))]",
        "[:find ?x :where (or (and [?z :c 2] [?x :b ?z]) [?x :a ?z])]",
    ),
    (
        "[:find ?x :where [?x :a _] (not [?x :b 1] [?x :c 2])]",
        "[:find ?x :where (not [?x :c 2] [?x :b 1]) [?x :a _]]",
    ),
    # Variables that look alike until one looks far.
    (
        "[:find (count ?a) . :where [?a :to ?b] [?b :to ?c] [?c :to ?a]]",
        "[:find (count ?z) . :where [?y :to ?z] [?z :to ?x] [?x :to ?y]]",
    ),
    (
        "[:find ?x :where [?x :a ?p] [?x :a ?q] [?x :a ?r] [?p :b ?q] [?q :b ?r] [?r :b ?p]]",
        "[:find ?x :where [?c :b ?b] [?x :a ?a] [?x :a ?b] [?b :b ?a] [?x :a ?c] [?a :b ?c]]",
    ),
    # Names of a scope of their own.
    (
        "[:find ?x :where [?x :a ?y] (or-join [?x] [?x :b ?y] [?x :c ?y])]",
        "[:find ?x :where [?x :a ?y] (or-join [?x] [?x :b ?z] [?x :c ?w])]",
    ),
    (
        "[:find ?x :where [?x :a ?y] (not-join [?x] [?x :b ?y])]",
        "[:find ?v :where (not-join [?v] [?v :b ?w]) [?v :a ?z]]",
    ),
    (
        "[:find ?x :where (r ?x) :rules [[(r ?x) [?x :a ?y] (r ?y)] [(r ?x) [?x :b 1]]]]",
        "[:find ?e :where (r ?e) :rules [[(r ?q) [?q :b 1]] [(r ?z) (r ?x) [?z :a ?x]]]]",
    ),
    (
        "[:find ?r :where [?x :a ?n] [(q [:find (count ?x) . :in $ ?n :where [?x :b ?n]] $ ?n) ?r]]",
        "[:find ?r :where [(q [:find (count ?e) . :in $ ?v :where [?e :b ?v]] $ ?n) ?r] [?e :a ?n]]",
    ),
    # What says nothing of the rows.
    ("[:find ?x :where [?x :a 1] :timeout 10]", "[:find ?x :where [?x :a 1]]"),
    ("[:find ?x :where [?x :a 1.0M]]", "[:find ?x :where [?x :a 1.0M]]"),
]

OTHER = [
    ("[:find ?x :where [?x :a ?y]]", "[:find ?y :where [?x :a ?y]]"),
    ("[:find ?x ?y :where [?x :a ?y]]", "[:find ?y ?x :where [?x :a ?y]]"),
    ("[:find ?x :where [?x :a 1]]", "[:find ?x :where [?x :a 1.0]]"),
    ("[:find ?x :where [?x :a 1]]", "[:find ?x :where [?x :a 1N]]"),
    ('[:find ?x :where [?x :a ":b"]]', "[:find ?x :where [?x :a :b]]"),
    ("[:find ?x :where [?x :a [1 2]]]", "[:find ?x :where [(identity (1 2)) ?l] [?x :a ?l]]"),
    ("[:find ?x :where [?x :a ?y]]", "[:find [?x ...] :where [?x :a ?y]]"),
    ("[:find ?x :keys x :where [?x :a ?y]]", "[:find ?x :keys y :where [?x :a ?y]]"),
    ("[:find ?x :keys x :where [?x :a ?y]]", "[:find ?x :strs x :where [?x :a ?y]]"),
    ("[:find (sum ?y) :where [?x :a ?y]]", "[:find (sum ?y) :with ?x :where [?x :a ?y]]"),
    ("[:find (min 2 ?y) :where [?x :a ?y]]", "[:find (min 3 ?y) :where [?x :a ?y]]"),
    ("[:find ?x :where [?x :a ?y] :limit 1]", "[:find ?x :where [?x :a ?y] :limit 2]"),
    ("[:find ?x :where [?x :a ?y] :limit 1]", "[:find ?x :where [?x :a ?y] :limit 1 :offset 1]"),
    ("[:find ?x ?y :where [?x :a ?y] :order-by [?x]]", "[:find ?x ?y :where [?x :a ?y] :order-by [[?x :desc]]]"),
    ("[:find ?x ?y :where [?x :a ?y] :order-by [?x]]", "[:find ?x ?y :where [?x :a ?y] :order-by [?y]]"),
    ("[:find ?x :where [?x :a ?y] [?y :b ?z]]", "[:find ?x :where [?x :a ?y] [?z :b ?y]]"),
    ("[:find ?x :where [?x :a ?y] (not [?x :b ?y])]", "[:find ?x :where [?x :a ?y] (not [?x :b ?z])]"),
    (
        "[:find ?x :where [?x :a ?y] (or-join [?x ?y] [?x :b ?y])]",
        "[:find ?x :where [?x :a ?y] (or-join [?x] [?x :b ?y])]",
    ),
    (
        "[:find ?x :where [?x :a ?y] (not [?x :b 1] [?x :c 1])]",
        "[:find ?x :where [?x :a ?y] (not [?x :b 1]) (not [?x :c 1])]",
    ),
    ("[:find ?x :where (or [?x :a 1] [?x :b 1])]", "[:find ?x :where [?x :a 1] [?x :b 1]]"),
    ("[:find ?x :in $ $b :where [?x :a 1] [$b ?x :b 1]]", "[:find ?x :in $ $b :where [$b ?x :a 1] [?x :b 1]]"),
    ("[:find ?x :in $ ?a ?b :where [?x :a ?a] [?x :b ?b]]", "[:find ?x :in $ ?a ?b :where [?x :a ?b] [?x :b ?a]]"),
    ("[:find ?x :in $ ?a :where [?x :a ?a]]", "[:find ?x :in $ [?a ...] :where [?x :a ?a]]"),
    ("[:find ?z :where [?x :a ?y] [(- ?x ?y) ?z]]", "[:find ?z :where [?x :a ?y] [(- ?y ?x) ?z]]"),
    (
        "[:find ?r :where [?x :a ?n] [(q [:find (pull ?x [:b]) . :in $ ?x :where [?x :a _]] $ ?x) ?r]]",
        "[:find ?r :where [?x :a ?n] [(q [:find (pull ?x [:c]) . :in $ ?x :where [?x :a _]] $ ?x) ?r]]",
    ),
    (
        "[:find ?r :where [?x :a _] [(q [:find [(pull ?x [(:b :default 1)])] :in $ ?x :where [?x :a]] $ ?x) ?r]]",
        "[:find ?r :where [?x :a _] [(q [:find [(pull ?x [(:b :default 1N)])] :in $ ?x :where [?x :a]] $ ?x) ?r]]",
    ),
    (
        "[:find ?x :where (r ?x 1) :rules [[(r ?x ?y) [?x :a ?y]]]]",
        "[:find ?x :where (r ?x 1) :rules [[(r ?x ?y) [?y :a ?x]]]]",
    ),
    (
        "[:find ?a (max ?b) :where (r ?a ?b) :rules [[(r ?a (max ?b)) [?a :n ?b]]]]",
        "[:find ?a (max ?b) :where (r ?a ?b) :rules [[(r ?a (min ?b)) [?a :n ?b]]]]",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_form(one: str, other: str) -> None:
    assert form_of(parse_query(one)) == form_of(parse_query(other))


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_forms_of_their_own(one: str, other: str) -> None:
    assert form_of(parse_query(one)) != form_of(parse_query(other))


@given(st.integers(0, 2**32))
def test_a_random_query_renamed_and_shuffled(seed: int) -> None:
    rng = Random(seed)
    asked = random_query(rng)
    renamed = asked.text
    for name in ("?a", "?b", "?c", "?d", "?l"):
        renamed = renamed.replace(name, f"?z{name[1:]}")
    try:
        one, other = parse_query(asked.text), parse_query(renamed)
    except AdalogError:
        return
    where = list(other.where)
    rng.shuffle(where)
    assert form_of(one) == form_of(replace(other, where=tuple(where)))


def test_a_query_too_large_to_compare_has_a_form_all_the_same() -> None:
    clauses = " ".join(f"[?v{i} :to ?v{j}]" for i in range(20) for j in range(20) if i != j)
    one = parse_query(f"[:find (count ?v0) . :where {clauses}]")
    assert form_of(one) == form_of(parse_query(one.text.replace("?v", "?w")))
    assert isinstance(one, ast.Query)
