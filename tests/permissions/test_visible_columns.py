"""Columns that are read as they are, and numbers computed after the join, have the visible datoms alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tests.permissions.compared import Comparison, answer, guard_of, moments, numbers, opened
from tests.permissions.conditions import CLAIMS
from tests.permissions.random_questions import RULES, Asker
from tests.permissions.random_worlds import history, transaction
from tests.permissions.visible_database import VisibleDatabase
from tests.short_columns import read_as_long

NUMBERS = (":doc/rank", ":num/n", ":num/n", ":num/ns", ":num/brief", ":loose")
_QUESTIONS = 12


@pytest.fixture(scope="module")
def taken() -> Iterator[Counter[str]]:
    with read_as_long() as paths:
        yield paths
    assert paths["column"]
    assert paths["late"]


def question(rng: Random) -> str:
    """Sums over numbers of an entity, or of one that it refers to, and computed from these."""
    a, b = rng.choice(NUMBERS), rng.choice(NUMBERS)
    clauses = [f"[?e {a} ?v] [?e {b} ?w]", f"[?e {a} ?v] [?e :doc/parent ?f] [?f {b} ?w]"]
    clause = rng.choice((clauses[0], *clauses))
    group = rng.choice(("", "?g "))
    if group:
        clause += f" [?e {rng.choice((':doc/title', ':doc/kind', ':doc/owner'))} ?g]"
    if rng.random() < 0.4:
        asker = Asker(rng)
        condition = asker.filter()
        clause += f" {condition}" if "?x" not in condition and not asker.partial else ""
    rules = f" :rules [{rng.choice(RULES)}]" if "(up " in clause else ""
    call = rng.choice(("(* ?v ?w)", "(+ ?v ?w)", "(- 1 ?v)", "(* ?v (- 3 ?w))"))
    find = rng.choice(("(sum ?y)", "(sum ?y) (count ?e)", "(avg ?y) (max ?w)", "(sum ?y) (sum ?v)"))
    with_ = rng.choice((":with ?e", ":with ?e", ":with ?e ?w"))
    if rng.random() < 0.15:
        find, with_, group = "?e ?v ?w ?y", "", ""
    return f"[:find {group}{find} {with_} :where {clause} [{call} ?y]{rules}]"


@pytest.mark.parametrize("number", numbers())
def test_sums_are_those_of_the_visible_database(taken: Counter[str], number: int) -> None:
    rng = Random(f"columns {number}")
    texts, policies = history(rng)
    with opened(texts) as (database, own, other):
        database.compact()
        for _ in range(2):
            now = database.snapshot()
            roles, claims = rng.choice(CLAIMS)
            guard, visible = guard_of(own, now, roles, claims), VisibleDatabase(now, policies, roles, claims)
            for moment in moments(rng, now.t):
                view = database.at(**moment)
                about = f"columns {number} {roles} {claims} {moment}\n" + "\n".join(each.form for each in policies)
                compared = Comparison((own, other), (guard.view(view), visible.at(view)), about)
                for _ in range(_QUESTIONS):
                    text = question(rng)
                    compared.check(text, answer(text))
            database.transact(transaction(rng, least=1))
